"""How a study came to know what it knows: its certificate along the records."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from argbest.checks import whole
from argbest.core import tally as tallies
from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief, of_selected
from argbest.core.certificate import Certificate
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.models.base import Model
from argbest.problems.base import Problem
from argbest.study.learning import Knowledge
from argbest.study.trial import Record

if TYPE_CHECKING:
    from argbest.study.study import Study

LEVEL = 0.9  # of the intervals
_BEGINNING = 2  # replications of every alternative, and of every pair that has so many in the end


def of_study(study: "Study", *, points: int = 12) -> pd.DataFrame:
    """Return the certificate of a study at some points of its course, a row each; the last one is today's."""
    if not study._records:
        raise InputError("nothing is known yet: tell the value of at least one trial first.")
    return history(
        study.problem,
        study.model,
        study._records,
        study._learned(),
        study.certificate().normals,
        points=points,
    )


def history(
    problem: Problem,
    model: Model[Any],
    records: Sequence[Record],
    known: Knowledge,
    normals: Array,
    *,
    points: int,
) -> pd.DataFrame:
    """Return one row per checkpoint: observations, PCS_E, PCS_M and EOC as certified then.

    ``pcs_e_low`` to ``pcs_e_high`` holds the weighted share of contexts selected right, and ``eoc_low`` to
    ``eoc_high`` the opportunity cost, with posterior probability 0.9, by joint draws of all rewards. The
    model is fitted at every checkpoint, going on from the one before; the last row rests on ``known``.
    """
    whole("points", points, at_least=1)
    rows, params = [], None
    looks = checkpoints(problem.shape, records, points)
    for n in looks[:-1].tolist():
        tally = _tally(problem, records[:n])
        try:
            params = model.fit(tally, problem.setting, params)
            belief = model.posterior(tally, problem.setting, params)
        except InputError:  # too few data for this model
            continue
        rows.append(_row(tally, belief, problem.weights, normals))
    rows.append(_row(_tally(problem, records), known.belief, problem.weights, normals))
    return pd.DataFrame(rows)


def checkpoints(shape: tuple[int, int], records: Sequence[Record], points: int) -> IntArray:
    """Return numbers of records, evenly spread over the observations, all records last.

    The first is where every alternative has two replications, and every pair that many too or as few as the
    least sampled pair has in the end; before that little is known.
    """
    told = np.cumsum([0, *(entry.n for entry in records)])
    wanted = np.linspace(told[_ready(shape, records)], told[-1], points)
    return np.unique(np.append(np.searchsorted(told, wanted), len(records)))


def _ready(shape: tuple[int, int], records: Sequence[Record]) -> int:
    """Return the number of records after which every alternative and every pair has enough."""
    final, count = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for entry in records:
        final[entry.trial.pair] += entry.n
    per_pair, per_alternative = (min(_BEGINNING, int(each.min())) for each in (final, final.sum(axis=1)))
    for i, entry in enumerate(records):
        count[entry.trial.pair] += entry.n
        if count.min() >= per_pair and count.sum(axis=1).min() >= per_alternative:
            return i + 1
    return len(records)


def _tally(problem: Problem, records: Sequence[Record]) -> Tally:
    where = np.array([entry.trial.pair for entry in records]).T
    mean, n, m2 = np.array([(problem.sign * entry.mean, entry.n, entry.m2) for entry in records]).T
    return tallies.from_observations((where[0], where[1]), mean, problem.shape, n=n, m2=m2)


def _row(tally: Tally, belief: Belief, weights: Array, normals: Array) -> dict[str, float]:
    certificate = Certificate(belief, weights, normals)
    draws = belief.draw(normals)
    selected = np.broadcast_to(certificate.selected, (len(draws), len(weights)))
    loss = draws.max(axis=-2) - of_selected(draws, selected)
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    right = np.quantile((loss <= 0) @ weights, tails, method="inverted_cdf")
    cost = np.quantile(loss @ weights, tails, method="inverted_cdf")
    return {
        "observations": int(tally.count.sum()),
        "pcs_e": float(certificate.pcs_e),
        "pcs_e_low": float(right[0]),
        "pcs_e_high": float(right[1]),
        "pcs_m": float(certificate.pcs_m),
        "p_all": float(certificate.p_all),
        "eoc": float(certificate.eoc),
        "eoc_low": float(cost[0]),
        "eoc_high": float(cost[1]),
    }
