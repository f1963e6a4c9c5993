"""What a study has learned: a pure function of its records and its refit schedule."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argbest.core.arrays import IntArray
from argbest.core.belief import Belief
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.models.base import Model
from argbest.study.trial import Record


@dataclass(frozen=True)
class Knowledge:
    """The belief, and the last refit it rests on."""

    params: Any
    belief: Belief
    fitted: IntArray  # [alternative]: observations of each alternative at its last fit
    n_fitted: int  # observations in all at the last refit
    n_records: int  # records the belief has taken in


def learn(
    model: Model[Any],
    setting: Setting,
    known: Knowledge | None,
    tally: Tally,
    records: Sequence[Record],
    *,
    refit_every: int,
    sign: float,
) -> Knowledge:
    """Return the knowledge that takes in all records.

    Hyper-parameters and standardisation are refreshed when ``refit_every`` observations have come since the
    last time; until then every record enters by exact conditioning, in the order of telling.
    """
    n = int(tally.count.sum())
    if known is None or n - known.n_fitted >= refit_every:
        return _refit(model, setting, known, tally, n, len(records))
    belief = known.belief
    for entry in records[known.n_records :]:
        belief = belief.update(entry.trial.decision, np.asarray(sign * entry.mean), entry.n)
    return Knowledge(known.params, belief, known.fitted, known.n_fitted, len(records))


def _refit(
    model: Model[Any], setting: Setting, known: Knowledge | None, tally: Tally, n: int, n_records: int
) -> Knowledge:
    count = tally.count.sum(axis=-1)
    if known is None:
        params = model.fit(tally, setting)
        belief = model.posterior(tally, setting, params)
    else:
        # An alternative without its own spread borrows the study's, which every observation changes.
        stale = (count != known.fitted) | (count < 2)
        params = model.fit(tally, setting, known.params, stale)
        belief = model.posterior(tally, setting, params, known.belief, stale)
    return Knowledge(params, belief, count, n, n_records)
