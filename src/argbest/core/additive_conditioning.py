"""The additive GP given its data, each study in the representation that suits it."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array
from argbest.core.conditioning import dense, dense_at
from argbest.core.focused_belief import FocusedBelief, at_points, focused
from argbest.core.foundations import SideBySide, Stack
from argbest.core.landmarks import structured, too_large
from argbest.core.noise import lone
from argbest.core.seen_cells import Data, Seen, at_observed, seen_of
from argbest.core.structured_belief import by_features, by_features_at

_Index = tuple[int, ...]


def conditioned(prior: AdditivePrior, data: Data, known: object = None) -> AdditiveBelief | FocusedBelief:
    """Return the belief at the contexts, of very large tables one about the foremost alternatives.

    Several such studies side by side follow the alternatives that ``known`` follows.
    """
    if too_large(data.tally.count, names=prior.alternatives is None):
        if not data.tally.shape[:-2]:
            return focused(prior, _seen(data), data.noise)
        if isinstance(known, FocusedBelief):
            studies = [_seen(data.study(study)) for study in np.ndindex(data.tally.shape[:-2])]
            return at_points(prior, studies, data.noise, known)
    return condition(prior, data)


def condition(prior: AdditivePrior, data: Data) -> AdditiveBelief:
    """Return the belief at the contexts; the cost grows with the observed cells alone."""
    suits = _structured(prior, data)
    if not any(suits.values()):
        return dense(prior, data)
    each = {
        study: (by_features if fits else dense)(prior.study(study), data.study(study))
        for study, fits in suits.items()
    }
    return each[()] if () in each else replace(_beside(prior, each), shocks=data.shocks)


def missed(prior: AdditivePrior, data: Data) -> Array:
    """Return E(Ȳ − f)² of every cell [..., alternative, context], 0 where nothing was observed.

    NaN where one observation of a name has others to tell its noise: f there is mostly what it says itself.
    """
    tally = data.tally
    found = _missed(prior, data)
    return np.where(lone(tally), np.nan, found) if prior.alternatives is None else found


def _missed(prior: AdditivePrior, data: Data) -> Array:
    tally = data.tally
    if not too_large(tally.count, names=prior.alternatives is None):
        belief = condition(prior, data)
        return np.where(tally.count > 0, (tally.mean - belief.mean) ** 2 + belief.var, 0.0)
    out = np.zeros(tally.shape)
    for study in np.ndindex(tally.shape[:-2]):
        own = _seen(data.study(study))
        mean, var = at_observed(prior.study(study), own)
        out[study][own.alternative, own.context] = (own.value + own.shift - mean) ** 2 + var
    return out


def predict(prior: AdditivePrior, cross: AdditivePrior, data: Data) -> AdditiveBelief:
    """Return the belief at X new contexts, each by itself: arrays [X, ..., alternative, 1].

    ``cross`` has the tables [..., context, X] in place of [..., context, context′]. The noise at a point is
    the alternative's average.
    """
    suits = _structured(prior, data)
    if not any(suits.values()):
        return dense_at(prior, cross, data)
    each = {
        study: (by_features_at if fits else dense_at)(
            prior.study(study), cross.study(study), data.study(study)
        )
        for study, fits in suits.items()
    }
    if () in each:
        return each[()]
    n_points = cross.trend.shape[-1]
    alone = {(x, *study): one.study((x,)) for x in range(n_points) for study, one in each.items()}
    return _beside(prior.alone(n_points), alone)


def _seen(data: Data) -> Seen:
    return seen_of(data.tally.count, data.tally.mean, data.noise, float(data.shift))


def _structured(prior: AdditivePrior, data: Data) -> dict[_Index, bool]:
    """Return which studies are better represented by structure; it knows no noise that is common."""
    names = prior.alternatives is None
    return {
        study: not data.study(study).shares_noise and structured(data.tally.count[study], names=names)
        for study in np.ndindex(data.tally.shape[:-2])
    }


def _beside(prior: AdditivePrior, each: Mapping[_Index, AdditiveBelief]) -> AdditiveBelief:
    """Return the belief of several studies from those of each; the rows of some are padded."""
    lead = prior.own.shape
    table = next(iter(each.values())).mean.shape
    n_rows = max(one.n_rows for one in each.values())
    mean, var, noise = (np.empty((*lead, *table)) for _ in range(3))
    rows = np.zeros((*lead, n_rows, *table))
    for study, one in each.items():
        mean[study], var[study], noise[study] = one.mean, one.var, one.noise
        rows[study][: one.n_rows] = one.rows
    foundation = SideBySide(prior, {study: one.foundation for study, one in each.items()})
    return AdditiveBelief(mean, var, noise, foundation, Stack(rows), n_rows)
