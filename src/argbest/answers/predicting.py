"""What a study can say of any contexts, simulated or not, each by itself: arrays [row, alternative, 1]."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from argbest.core.arrays import Array, BoolArray
from argbest.core.belief import Belief
from argbest.core.certificate import Certificate
from argbest.core.setting import among_the_rest
from argbest.errors import ExtrapolationNotice
from argbest.models import base as models
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.labels import never_seen
from argbest.study.learning import grounds

if TYPE_CHECKING:
    from argbest.study.study import Study


_NUMBERS = 2**20  # of alternatives by observed pairs, over the contexts that are looked at together


class Prediction(NamedTuple):
    """The contexts asked for, how sure selections there are, and what cannot be selected there."""

    rows: Axis
    certificate: Certificate
    ruled_out: BoolArray | None


def predicted(
    study: "Study", contexts: object, made: Callable[[Prediction], pd.DataFrame], *, integrate: bool
) -> pd.DataFrame:
    """Return the frame ``made`` of any contexts, some at a time; see `warn_of_the_unknown`."""
    rows = study.problem.contexts.rows(contexts)
    observed = int(np.count_nonzero(study._tally.count))
    frames = [
        made(Prediction(some, certificate_at(study, some, integrate=integrate), ruled_out_at(study, some)))
        for some in rows.blocks(max(1, _NUMBERS // (study.problem.n_alternatives * max(observed, 1))))
    ]
    warn_of_the_unknown(study, rows)
    return frames[0] if len(frames) == 1 else pd.concat(frames)


def posterior(study: "Study", contexts: object = None) -> pd.DataFrame:
    """Return one row per alternative and context: mean and sd of the mean reward, noise_sd, P(best).

    Contexts vary fastest. ``contexts`` may be new to the study; by default they are its own. ``noise_sd`` is
    the standard deviation of one replication. Numbers are in the user's unit and sign. What cannot be
    selected has P(best) 0, and NaN where there is no answer.
    """
    problem = study.problem
    if contexts is None:
        rows, belief = problem.contexts, study._learned().belief
        chance = study.certificate().best_probability
        tables = [belief.mean, belief.var, belief.noise, chance]
    else:
        rows = problem.contexts.rows(contexts)
        belief = model_at(study, rows)
        chance = certificate_at(study, rows).best_probability
        given = (belief.mean, belief.var, belief.noise, chance)
        tables = [np.moveaxis(each[..., 0], 0, -1) for each in given]  # of [context, alternative, 1]
        warn_of_the_unknown(study, rows)
    mean, var, noise, chance = (each.ravel() for each in tables)
    k, c = np.indices((problem.n_alternatives, len(rows))).reshape(2, -1)
    frame = pd.concat([problem.alternatives.frame(k), rows.frame(c)], axis=1)
    frame["mean"], frame["sd"] = problem.sign * mean, np.sqrt(var)
    frame["noise_sd"], frame["p_best"] = np.sqrt(noise), chance
    return frame


def knows_new_contexts(study: "Study") -> bool:
    """Return whether the model of a study can speak of contexts that were never simulated."""
    return models.knows_new_contexts(study.model)


def coordinate(problem: Problem) -> str | None:
    """Return the name of the contexts' one coordinate if it is a number that varies."""
    names = list(problem.contexts.coordinates)
    if len(names) != 1 or isinstance(problem.contexts.coordinates[names[0]][0], bool):
        return None
    low, high = problem.bounds.get(names[0], (0.0, 0.0))
    return names[0] if low < high else None


def evenly(problem: Problem, points: int) -> list[Any]:
    """Return contexts on an even grid over the bounds of that coordinate; none where there is no such."""
    name = coordinate(problem)
    if name is None:
        return []
    grid: list[Any] = np.linspace(*problem.bounds[name], points).tolist()
    return [{name: x} for x in grid] if problem.contexts.columns else grid


def warn_of_the_unknown(study: "Study", rows: Axis) -> None:
    """Warn of categories that no simulated context has, in the name of whoever called the study."""
    if said := never_seen(study.problem.contexts, rows):
        warnings.warn(said, ExtrapolationNotice, stacklevel=4)


def certificate_at(study: "Study", rows: Axis, *, integrate: bool = True) -> Certificate:
    """Return how sure the selections are, [row, 1]; what cannot be selected is far below all others."""
    out, points = ruled_out_at(study, rows), grounds(study).integrated if integrate else None
    mixture = None if points is None else points.at(_separation(study, rows), out)
    belief = among_the_rest(model_at(study, rows), out)
    answered = None if out is None else np.any(~out, axis=-2)
    return Certificate(belief, np.ones(1), np.empty((0, *belief.mean.shape)), 0.0, answered, mixture)


def model_at(study: "Study", rows: Axis) -> Belief:
    """Return what the model says of the contexts, whether or not all of it can be selected."""
    params, setting = study._learned().params, study._journal.open_setting()
    return study.model.predict(study._tally, setting, params, _separation(study, rows))


def _separation(study: "Study", rows: Axis) -> Array:
    """Return the squared scaled distances to the contexts of the study, [coordinate, row, context]."""
    return study.problem.contexts.separation(study.problem.bounds, rows)


def ruled_out_at(study: "Study", rows: Axis) -> BoolArray | None:
    """Return which alternatives cannot be selected; None where all can.

    At a context of the study those ruled out there, at any other those that are ruled out `elsewhere`.
    """
    out = study._ruled_out
    if out is None:
        return None
    same = np.all(_separation(study, rows) == 0, axis=0)
    at = np.where(same.any(axis=1)[:, None], out.T[np.argmax(same, axis=1)], elsewhere(study))
    return np.asarray(at[..., None])


def elsewhere(study: "Study") -> BoolArray:
    """Return [alternative] whether it has no value anywhere, and pairs that were set aside."""
    ledger = study._journal.ledger
    return np.asarray(ledger.set_aside.any(axis=1) & (ledger.live.count.sum(axis=1) == 0))
