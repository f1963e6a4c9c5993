"""How a study stands: progress, certainty, workers and failures, as plain values."""

import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from argbest.answers import guarantee
from argbest.core.states import counts
from argbest.jsonable import value
from argbest.simulators.program import COMMAND
from argbest.study.workers import alive

if TYPE_CHECKING:
    from argbest.study.study import Study

_MOST = 5  # causes of failures told
# What differs between failures of one cause: the command that was run, numbers, addresses, identifiers.
_VARYING = re.compile(
    rf"^{COMMAND}.*$|\b0x[0-9a-f]+|\b(?=[a-f-]*\d)[0-9a-f-]{{8,}}\b|[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class Cause:
    """Failures that say the same but for numbers and addresses."""

    count: int
    trial: int  # the last of them
    reason: str  # which it gave


def overview(study: "Study") -> dict[str, Any]:
    """Return how a study stands, as JSON-ready values; certainty and model are None until a value came."""
    return {
        "problem": study.problem.name,
        "n_alternatives": study.problem.n_alternatives,
        "n_contexts": study.problem.n_contexts,
        "initial_design": study.initial_design,
        **progress(study),
        "certainty": _certainty(study) if study.n_observations else None,
        "guarantee": _guarantee(study) if study.n_observations else None,
        "model": study.model_summary().plain() if study.n_observations else None,
        **failures(study),
        "set_aside": [list(pair) for pair in study.set_aside],
    }


def progress(study: "Study") -> dict[str, Any]:
    """Return how far a study is and who works on it: what can be told at once, without fitting a model."""
    ledger, budget, seconds = study._journal.ledger, study.plan.get("budget"), study.plan.get("seconds")
    return {
        "observations": study.n_observations,
        "budget": budget,
        "seconds_spent": ledger.spent,
        "seconds_budget": seconds,
        "finished": _reached(study.n_observations, budget) or _reached(ledger.spent, seconds),
        "queued": study.n_queued,
        "trials": ledger.counts,
        "workers": _workers(study, time.time()),
    }


def _reached(amount: float, limit: float | None) -> bool:
    return limit is not None and amount >= limit


def failures(study: "Study") -> dict[str, Any]:
    """Return the most frequent causes of failures, how often and where last, and the number of others."""
    found = causes(study._journal.ledger.reasons)
    return {"failures": [asdict(each) for each in found[:_MOST]], "other_causes": len(found[_MOST:])}


def _certainty(study: "Study") -> dict[str, Any]:
    certificate, delta = study.certificate(), study.indifference()
    return {
        **{name: float(getattr(certificate, name)) for name in ("pcs_e", "pcs_m", "p_all", "eoc")},
        **counts(certificate.states(delta)),
        "delta": delta,
        "unanswered": certificate.n_unanswered,
    }


def _guarantee(study: "Study") -> dict[str, Any]:
    """Return what the data alone certify, of the wish that the study was planned with."""
    found = guarantee.planned(study)
    return {
        **{name: getattr(found, name) for name in ("alpha", "delta", "certified", "n_certified")},
        "smallest_delta": value(found.smallest_delta),
        "replications": found.replications,
        "sentence": str(found),
        "notes": list(found.notes),
    }


def _workers(study: "Study", now: float) -> list[dict[str, Any]]:
    """Return every worker: whether it is alive, what it has, and the share of its time that it simulated."""
    held = list(study._journal.ledger.held.values())
    return [
        {
            "name": worker.name,
            "host": worker.host,
            "alive": alive(worker, now),
            "slots": worker.slots,
            "under_way": held.count(worker.name),
            "seen": worker.seen,
            "silent": max(0.0, now - worker.seen),
            "utilisation": min(1.0, worker.busy / max(worker.slots * (worker.seen - worker.started), 1e-9)),
        }
        for worker in study._journal.storage.workers()
    ]


def causes(reasons: Mapping[int, str]) -> list[Cause]:
    """Return the causes of failures, given their reasons by trial: the most frequent first."""
    groups: dict[str, list[int]] = {}
    for trial in sorted(reasons):
        groups.setdefault(_VARYING.sub("#", reasons[trial]), []).append(trial)
    found = [Cause(len(group), group[-1], reasons[group[-1]]) for group in groups.values()]
    return sorted(found, key=lambda cause: (-cause.count, -cause.trial))
