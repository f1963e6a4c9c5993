"""How far a study is: what can be told at once, without fitting a model."""

import time
from collections.abc import Sequence
from typing import Any, TypeAlias

from argbest.report.curves import row_labels
from argbest.storage.base import Worker
from argbest.study.presence import alive
from argbest.study.study import Study

Plain: TypeAlias = dict[str, Any]

MOST_FAILURES = 20  # the last ones, told in detail
MOST_SET_ASIDE = 100
_LONGEST = 500  # characters of a reason


def standing(study: Study, workers: Sequence[Worker]) -> Plain:
    """Return progress, workers and failures of a study, as JSON-ready values."""
    ledger, plan = study._journal.ledger, study.plan
    budget, seconds = plan.get("budget"), plan.get("seconds")
    return {
        "observations": study.n_observations,
        "budget": budget,
        "seconds_spent": ledger.spent,
        "seconds_budget": seconds,
        "finished": _reached(study.n_observations, budget) or _reached(ledger.spent, seconds),
        "design_left": study.n_waiting,
        "trials": ledger.counts,
        "workers": [_worker(worker, list(ledger.held.values())) for worker in workers],
        "failures": _failures(study),
        "set_aside": _set_aside(study),
    }


def _reached(amount: float, limit: float | None) -> bool:
    return limit is not None and amount >= limit


def _worker(worker: Worker, holders: Sequence[str]) -> Plain:
    """Return what is known of a worker; ``busy`` is the share of its slots' time spent simulating."""
    now = time.time()
    return {
        "name": worker.name,
        "host": worker.host,
        "alive": alive(worker, now),
        "slots": worker.slots,
        "under_way": holders.count(worker.name),
        "busy": min(1.0, worker.busy / max(worker.slots * (worker.seen - worker.started), 1e-9)),
        "silent": max(0.0, now - worker.seen),
    }


def _failures(study: Study) -> list[list[Any]]:
    """Return the last failures, the latest first: trial, alternative, context, reason."""
    ledger = study._journal.ledger
    alternatives, contexts = row_labels(study.problem.alternatives), row_labels(study.problem.contexts)
    rows = []
    for trial in sorted(ledger.failed, reverse=True)[:MOST_FAILURES]:
        k, c = ledger.trials.pair(trial)
        rows.append([trial, alternatives[k], contexts[c], ledger.failed[trial].reason[:_LONGEST]])
    return rows


def _set_aside(study: Study) -> Plain:
    problem = study.problem
    alternatives, contexts = row_labels(problem.alternatives), row_labels(problem.contexts)
    pairs = [
        [alternatives[problem.alternatives.index(k)], contexts[problem.contexts.index(c)]]
        for k, c in study.set_aside
    ]
    return {"total": len(pairs), "pairs": pairs[:MOST_SET_ASIDE]}
