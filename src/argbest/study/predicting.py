"""What a study can say of any contexts, simulated or not, each by itself: arrays [row, alternative, 1]."""

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from argbest.core.arrays import BoolArray
from argbest.core.belief import Belief
from argbest.core.selectable import among_the_rest
from argbest.errors import ExtrapolationNotice
from argbest.problems.axis import Axis
from argbest.problems.categories import never_seen

if TYPE_CHECKING:
    from argbest.study.study import Study


class Prediction(NamedTuple):
    """The contexts asked for, what is believed there, and what cannot be selected there."""

    rows: Axis
    belief: Belief
    ruled_out: BoolArray | None


def predicted(study: "Study", contexts: object) -> Prediction:
    """Return what answers at any contexts rest on; see `warn_of_the_unknown`."""
    rows = study.problem.contexts.rows(contexts)
    found = Prediction(rows, belief_at(study, rows), ruled_out_at(study, rows))
    warn_of_the_unknown(study, rows)
    return found


def warn_of_the_unknown(study: "Study", rows: Axis) -> None:
    """Warn of categories that no simulated context has, in the name of whoever called the study."""
    if said := never_seen(study.problem.contexts, rows):
        warnings.warn(said, ExtrapolationNotice, stacklevel=4)


def belief_at(study: "Study", rows: Axis) -> Belief:
    """Return the belief that answers rest on: what cannot be selected is far below all others."""
    return among_the_rest(model_at(study, rows), ruled_out_at(study, rows))


def model_at(study: "Study", rows: Axis) -> Belief:
    """Return what the model says of the contexts, whether or not all of it can be selected."""
    params = study._learned().params
    separation = study.problem.contexts.separation(study.problem.bounds, rows)
    return study.model.predict(study._tally, study._journal.open_setting(), params, separation)


def ruled_out_at(study: "Study", rows: Axis) -> BoolArray | None:
    """Return which alternatives cannot be selected; None where all can.

    At a context of the study those ruled out there, at any other those that are ruled out `elsewhere`.
    """
    out = study._ruled_out
    if out is None:
        return None
    same = np.all(study.problem.contexts.separation(study.problem.bounds, rows) == 0, axis=0)
    at = np.where(same.any(axis=1)[:, None], out.T[np.argmax(same, axis=1)], elsewhere(study))
    return np.asarray(at[..., None])


def elsewhere(study: "Study") -> BoolArray:
    """Return [alternative] whether it has no value anywhere, and pairs that were set aside."""
    ledger = study._journal.ledger
    return np.asarray(ledger.set_aside.any(axis=1) & (ledger.tally.count.sum(axis=1) == 0))
