"""How a study stands, and how it came to that: progress, workers, failures; certainty over time."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from argbest.answers import doubts, guarantee, model_summary
from argbest.checks import whole
from argbest.core.arrays import AnyArray, BoolArray, IntArray
from argbest.core.certificate import Certificate
from argbest.core.states import INTERVAL, counts
from argbest.errors import TooFewDataError
from argbest.jsonable import value
from argbest.simulators.program import COMMAND
from argbest.storage.base import Worker
from argbest.study.trial import Records, Trials
from argbest.study.workers import alive

if TYPE_CHECKING:
    from argbest.study.study import Study
    from argbest.study.view import View

_HISTORY_COLUMNS = ("pcs_e", "pcs_e_low", "pcs_e_high", "pcs_m", "p_all", "eoc", "eoc_low", "eoc_high")
# Of every alternative, and of every pair that has so many in the end, before the first checkpoint.
_FEWEST_REPLICATIONS = 2
_MOST_CAUSES = 5  # causes of failures told
# A pace is measured over the last seconds, and over at least so many records.
_RECENT_SECONDS, _FEWEST_RECORDS = 300.0, 5
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
    view = study.view()
    return {
        "problem": view.problem.name,
        **dict(zip(("n_alternatives", "n_contexts"), view.problem.in_use, strict=True)),
        "retired": study.retired,
        "initial_design": view.initial_design,
        **progress(study),
        "certainty": _certainty(view) if view.n_replications else None,
        "guarantee": _guarantee(view) if view.n_replications else None,
        "model": model_summary.of_study(view).plain() if view.n_replications else None,
        **failures(view),
        "set_aside": [list(pair) for pair in study.set_aside],
    }


def progress(study: "Study") -> dict[str, Any]:
    """Return how far a study is and who works on it: what can be told at once, without fitting a model.

    ``to_come`` are the replications of the budget that are neither told nor under way; without a budget, what
    the initial design still wants and trials that were given back. ``per_second`` and ``seconds_left`` are
    None where they are not known, because nobody simulates or hardly anything was told.
    """
    view, now = study.view(), time.time()
    budget, seconds = view.plan.get("budget"), view.plan.get("seconds")
    workers = _workers(study.workers(), list(view.held.values()), now)
    busy = bool(view.held) or any(worker["alive"] for worker in workers)
    done = _reached(view.n_replications, budget) or _reached(view.spent, seconds)
    n, told, took = (view.records.columns.numbers(name) for name in ("n", "time", "seconds"))
    paces = pace(told, n, now), pace(told, np.nan_to_num(took), now)
    per_second, spent_per_second = paces if busy and not done else (0.0, 0.0)
    waits = [
        (limit - amount) / speed
        for amount, limit, speed in (
            (view.n_replications, budget, per_second),
            (view.spent, seconds, spent_per_second),
        )
        if limit is not None and speed > 0
    ]
    queued = view.n_queued + len(view.given_back)
    return {
        "replications": view.n_replications,
        "observations": view.n_replications,  # deprecated: the name in version 0.2
        "budget": budget,
        "seconds_spent": view.spent,
        "seconds_budget": seconds,
        "finished": done,
        "queued": view.n_queued,
        "to_come": queued if budget is None else max(budget - view.n_replications - len(view.held), 0),
        "per_second": per_second or None,
        "seconds_left": min(waits, default=None),
        "trials": view.counts,
        "workers": workers,
    }


def pace(told: AnyArray, amounts: AnyArray, now: float) -> float:
    """Return how much comes in per second, of late; 0 where that is not known.

    ``told`` are the times at which the amounts came. What counts is the last five minutes, or the last
    records where these are few: a pause before them is forgotten soon.
    """
    some = max(int((told > now - _RECENT_SECONDS).sum()), _FEWEST_RECORDS)
    recent = np.sort(told)[-some:]
    if len(recent) < 2:
        return 0.0
    lasted = max(now, recent[-1]) - recent[0]
    return float(amounts[np.argsort(told, kind="stable")][-some:][1:].sum() / lasted) if lasted > 0 else 0.0


def _reached(amount: float, limit: float | None) -> bool:
    return limit is not None and amount >= limit


def failures(view: "View") -> dict[str, Any]:
    """Return the most frequent causes of failures, how often and where last, and the number of others."""
    found = causes(view.reasons)
    return {
        "failures": [asdict(each) for each in found[:_MOST_CAUSES]],
        "other_causes": len(found[_MOST_CAUSES:]),
    }


def _certainty(view: "View") -> dict[str, Any]:
    """Return the figures of the certificate, and how many contexts are in which state."""
    certificate, delta = view.certificate(), view.indifference()
    return {
        **{name: float(getattr(certificate, name)) for name in ("pcs_e", "pcs_m", "p_all", "eoc")},
        **counts(doubts.states(view, delta)),
        "doubts": doubts.sentences(view),
        "delta": delta,
        "unanswered": certificate.n_unanswered,
    }


def _guarantee(view: "View") -> dict[str, Any]:
    """Return what the data alone certify, with the alpha and delta that the study was planned with."""
    found = guarantee.planned(view)
    return {
        **{name: getattr(found, name) for name in ("alpha", "delta", "assume", "certified", "n_certified")},
        "smallest_delta": value(found.smallest_delta),
        "replications": found.replications,
        "sentence": str(found),
        "notes": list(found.notes),
    }


def _workers(workers: Sequence[Worker], held: Sequence[str], now: float) -> list[dict[str, Any]]:
    """Return every worker: whether it is alive, what it has, and the share of its time that it simulated."""
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
        for worker in workers
    ]


def causes(reasons: Mapping[int, str]) -> list[Cause]:
    """Return the causes of failures, given their reasons by trial: the most frequent first."""
    groups: dict[str, list[int]] = {}
    for trial in sorted(reasons):
        groups.setdefault(_VARYING.sub("#", reasons[trial]), []).append(trial)
    found = [Cause(len(group), group[-1], reasons[group[-1]]) for group in groups.values()]
    return sorted(found, key=lambda cause: (-cause.count, -cause.trial))


def history(view: "View", *, points: int = 12) -> pd.DataFrame:
    """Return one row per checkpoint of a study: replications, PCS_E, PCS_M and EOC as certified then.

    ``pcs_e_low`` to ``pcs_e_high`` holds the weighted share of contexts selected right, and ``eoc_low`` to
    ``eoc_high`` the opportunity cost, with posterior probability 0.9, by joint draws of all rewards. The
    model is fitted at every checkpoint, going on from the one before; the last row is today's. Pairs that are
    ruled out today never had a value, so they are out all along.
    """
    whole("points", points, at_least=1, at_most=10**4)
    rows, params, n = [], None, view.records.columns["n"]
    pairs = _pairs(view.trials, view.records)
    looks = checkpoints(view.problem.shape, pairs, n, points, view.ruled_out)
    for n_records in looks[:-1].tolist():
        then = view.inference_after(n_records, params)
        try:
            params = then.knowledge.learned.params
        except TooFewDataError:
            continue
        rows.append(_row(sum(n[:n_records]), then.certificate(0.0, integrate=True)))
    return pd.DataFrame([*rows, _row(view.n_replications, view.certificate())])


def checkpoints(
    shape: tuple[int, int],
    pairs: Sequence[tuple[int, int]],
    n: Sequence[int],
    points: int,
    ruled_out: BoolArray | None = None,
) -> IntArray:
    """Return numbers of records, evenly spread over the replications, all records last.

    ``pairs`` and ``n`` are those of the records, in the order of telling. The first is where every
    alternative has two replications, and every pair that many too or as few as the least simulated pair has
    in the end; before that little is known. What is ruled out is not waited for.
    """
    told = np.cumsum([0, *n])
    due = np.ones(shape, bool) if ruled_out is None else ~ruled_out
    wanted = np.linspace(told[_ready(due, pairs, n)], told[-1], points)
    return np.unique(np.append(np.searchsorted(told, wanted), len(n)))


def _ready(due: BoolArray, pairs: Sequence[tuple[int, int]], n: Sequence[int]) -> int:
    """Return the number of records after which every alternative and every pair that is due has enough."""

    def least(count: IntArray) -> tuple[int, int]:
        return int(count[due].min()), int(count.sum(axis=1)[due.any(axis=1)].min())

    final, count = np.zeros(due.shape, np.int64), np.zeros(due.shape, np.int64)
    for pair, more in zip(pairs, n, strict=True):
        final[pair] += more
    per_pair, per_alternative = (min(_FEWEST_REPLICATIONS, fewest) for fewest in least(final))
    for i, (pair, more) in enumerate(zip(pairs, n, strict=True)):
        count[pair] += more
        of_pairs, of_alternatives = least(count)
        if of_pairs >= per_pair and of_alternatives >= per_alternative:
            return i + 1
    return len(n)


def _pairs(trials: Trials, records: Records) -> list[tuple[int, int]]:
    return [trials.pair(trial) for trial in records.columns["trial"]]


def _row(replications: int, certificate: Certificate) -> dict[str, float]:
    """Return the row of `history` for a certificate."""
    loss, weights = certificate.drawn_losses, certificate.counted
    tails = [(1 - INTERVAL) / 2, (1 + INTERVAL) / 2]
    right = np.quantile(certificate.right_in_draws @ weights, tails, method="inverted_cdf")
    cost = np.quantile(loss @ weights, tails, method="inverted_cdf")
    values = certificate.pcs_e, *right, certificate.pcs_m, certificate.p_all, certificate.eoc, *cost
    return {
        "replications": int(replications),
        **dict(zip(_HISTORY_COLUMNS, map(float, values), strict=True)),
    }
