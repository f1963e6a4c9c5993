"""What a study has learned: a pure function of its records and its refit schedule."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argbest.core import schedule
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
    n_fitted: int  # observations at the last refit
    n_records: int  # records the belief has taken in


def learn(
    model: Model[Any],
    setting: Setting,
    known: Knowledge | None,
    tally: Tally,
    records: Sequence[Record],
    *,
    refit_every: schedule.Schedule,
    sign: float,
) -> Knowledge:
    """Return the knowledge that takes in all records.

    Hyper-parameters and standardisation are refreshed when `schedule.due` says so; until then every record
    enters by exact conditioning, in the order of telling.
    """
    n = int(tally.count.sum())
    if known is not None:
        belief = known.belief
        for entry in records[known.n_records :]:
            belief = belief.update(entry.trial.decision, np.asarray(sign * entry.mean), entry.n)
        known = Knowledge(known.params, belief, known.n_fitted, len(records))
        if not schedule.due(model, refit_every, n, known.n_fitted):
            return known
    params = model.fit(tally, setting, known.params if known else None)
    belief = model.posterior(tally, setting, params, known.belief if known else None)
    return Knowledge(params, belief, n, len(records))
