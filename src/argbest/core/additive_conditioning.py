"""The additive GP given its data, each study in the representation that suits it: dense, or by structure.

With the solution of `argbest.core.structured`, f_k = m + Φ_k u + δ_k: given u and m, alternatives are
independent, with mean and covariance E_k from their own data; u and m have the covariance M⁻¹ and 1/1ᵀA1.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from argbest.core.abilities import offers
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array
from argbest.core.binomial import Expected
from argbest.core.conditioning import dense, dense_at, observed_form
from argbest.core.focused_belief import FocusedBelief, Summarised, at_points, focused
from argbest.core.foundations import ByStructure, SideBySide, Stack
from argbest.core.landmarks import MOST_FEATURES, innovation, landmarks_of, structured, too_large
from argbest.core.noise import observed_once
from argbest.core.seen_cells import Data, at_observed, observed_cells_of
from argbest.core.square_root_form import solve_lower
from argbest.core.structured import Solution, Solved, blocks_of, features, features_elsewhere, solve
from argbest.core.tally import Tally
from argbest.core.whole_tables import ConditionedOn

_Index = tuple[int, ...]


def conditioned(prior: AdditivePrior, data: Data, known: object = None) -> AdditiveBelief | FocusedBelief:
    """Return the belief at the contexts, of very large tables one about the foremost alternatives.

    Several such studies side by side keep exactly the alternatives that ``known`` keeps exactly.
    """
    if too_large(data.tally.count, names=prior.alternatives is None):
        if not data.tally.shape[:-2]:
            return focused(prior, observed_cells_of(data), data.noise)
        if known is not None and offers(known, Summarised):
            studies = [observed_cells_of(data.study(study)) for study in np.ndindex(data.tally.shape[:-2])]
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
    if () in each:
        return each[()]
    return replace(
        _side_by_side(prior, each), shocks=data.shocks, past=ConditionedOn(prior, data, observed_form)
    )


def expected(prior: AdditivePrior, data: Data) -> Expected:
    """Return the belief about every cell that was observed; elsewhere any numbers."""
    tally = data.tally
    if not too_large(tally.count, names=prior.alternatives is None):
        belief = condition(prior, data)
        return Expected(belief.mean, belief.var, data.noise)
    mean, var = tally.mean.copy(), data.noise.copy()
    for study in np.ndindex(tally.shape[:-2]):
        own = observed_cells_of(data.study(study))
        where = own.alternative, own.context
        mean[study][where], var[study][where] = at_observed(prior.study(study), own)
    return Expected(mean, var, data.noise)


def squared_misses(prior: AdditivePrior, tally: Tally, belief: Expected) -> Array:
    """Return E(Ȳ − f)² of every cell [..., alternative, context], 0 where nothing was observed.

    With names and a single context it is NaN where a pair was observed once and others show its noise: its f
    is then known almost from that replication alone, which says nothing of how far they are apart.
    """
    squares = np.where(tally.count > 0, (tally.mean - belief.mean) ** 2 + belief.var, 0.0)
    unrelated = prior.alternatives is None and tally.shape[-1] == 1
    return np.where(observed_once(tally), np.nan, squares) if unrelated else squares


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
    return _side_by_side(prior.alone(n_points), alone)


def _structured(prior: AdditivePrior, data: Data) -> dict[_Index, bool]:
    """Return which studies are better represented by structure, which cannot represent common noise."""
    names = prior.alternatives is None
    return {
        study: not data.study(study).shares_noise and structured(data.tally.count[study], names=names)
        for study in np.ndindex(data.tally.shape[:-2])
    }


def _side_by_side(prior: AdditivePrior, each: Mapping[_Index, AdditiveBelief]) -> AdditiveBelief:
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


class _Points(NamedTuple):
    """Contexts at which the belief is asked for: X points, by their features and covariances."""

    by_context: Array  # Ψ, [X, q]
    own: Array  # [context, X]
    carried: Array  # Ψ_t Ψ_tᵀ, [context, X]


def by_features(prior: AdditivePrior, data: Data, most: int | None = MOST_FEATURES) -> AdditiveBelief:
    """Return the belief of one study at its contexts."""
    solution = _solution(prior, data, most)
    known = solution.features
    points = _Points(known.by_context, known.own, known.carried)
    own = known.own - known.shared[:, None, None] * known.carried
    left = _unexplained(solution, points)
    for one in solution.solved:
        cross = _across(one, points, solution)
        weighed = one.inverse @ (one.root[..., None] * cross)
        own[one.blocks.alternatives] -= np.swapaxes(one.root[..., None] * cross, 1, 2) @ weighed
    mean, rows = _means_and_rows(solution, left)
    if (n := data.wanted) is not None:
        prior, mean, rows, own = prior.first(n), mean[:, :n], rows[:, :n], own[:, :n, :n]
    var = np.einsum("kcc->kc", own) + np.sum(rows**2, axis=-1)
    foundation, stack = ByStructure(prior, own, rows, known.left_out_share), Stack(np.empty((0, *mean.shape)))
    return AdditiveBelief(data.shift + mean, np.maximum(var, 0.0), data.noise_wanted, foundation, stack, 0)


def by_features_at(
    prior: AdditivePrior, cross: AdditivePrior, data: Data, most: int | None = MOST_FEATURES
) -> AdditiveBelief:
    """Return the belief of one study at X new contexts, each by itself: arrays [X, alternative, 1].

    ``cross`` has the tables [context, X]. The noise at a point is the alternative's average.
    """
    solution = _solution(prior, data, most)
    known = solution.features
    at_points, own_across = features_elsewhere(prior, cross, known)
    g = known.n_trend
    points = _Points(at_points, own_across, known.by_context[:, g:] @ at_points[:, g:].T)
    own = prior.variance - np.sum(at_points[:, :g] ** 2, axis=1)
    own = own - known.shared[:, None] * np.sum(at_points[:, g:] ** 2, axis=1)  # [alternative, X]
    left = _unexplained(solution, points)
    for one in solution.solved:
        across = one.root[..., None] * _across(one, points, solution)
        own[one.blocks.alternatives] -= np.sum(across * (one.inverse @ across), axis=1)
    mean, rows = _means_and_rows(solution, left)
    beyond = _beyond_contexts(prior, cross, known.relation.features)
    own, rows = own - np.sum(beyond**2, axis=-1), np.concatenate([rows, beyond], axis=2)
    mean, own, rows = (np.moveaxis(each, 1, 0)[:, :, None] for each in (mean, own, rows))
    var = own + np.sum(rows**2, axis=-1)
    noise = np.broadcast_to(data.noise_wanted.mean(axis=-1, keepdims=True), mean.shape)
    foundation = ByStructure(prior.alone(len(mean)), own[..., None], rows, known.left_out_share)
    stack = Stack(np.empty((len(mean), 0, *mean.shape[1:])))
    return AdditiveBelief(data.shift + mean, np.maximum(var, 0.0), noise, foundation, stack, 0)


def _beyond_contexts(prior: AdditivePrior, cross: AdditivePrior, relation: Array) -> Array:
    """Return features of what alternatives share at the points beyond the contexts, [k, X, 1 + r]."""
    scale = prior.trend[0, 0]
    trend = scale * innovation(prior.trend / scale, cross.trend / scale)
    joint = prior.joint * innovation(prior.nearness, cross.nearness)
    common = np.broadcast_to(np.sqrt(trend)[:, None], (len(relation), len(trend), 1))
    return np.concatenate([common, np.sqrt(joint)[:, None] * relation[:, None, :]], axis=2)


def _solution(prior: AdditivePrior, data: Data, most: int | None) -> Solution:
    n_alternatives = data.tally.shape[0]
    found = features(prior, landmarks_of(prior, n_alternatives, most), n_alternatives)
    value = np.where(data.tally.count > 0, data.tally.mean - data.shift, 0.0)
    return solve(found, blocks_of(data.tally.count), data.root(prior.variance), value, 0.0)


def _across(one: Solved, points: _Points, solution: Solution) -> Array:
    """Return the covariance of observed cells with the points that features do not carry, [g, n, X]."""
    share = solution.features.shared[one.blocks.alternatives, None, None]
    return np.asarray(points.own[one.blocks.contexts] - share * points.carried[one.blocks.contexts])


def _unexplained(solution: Solution, points: _Points) -> Array:
    """Return what an alternative's data do not explain of (Ψ, 1, 0) at the points, [alternative, X, q + 2].

    The last column is minus the mean of δ_k if u and m were 0.
    """
    n = len(points.by_context)
    whole = np.concatenate([points.by_context, np.ones((n, 1)), np.zeros((n, 1))], axis=1)
    left = np.repeat(whole[None], len(solution.gram), axis=0)
    for one in solution.solved:
        left[one.blocks.alternatives] -= np.swapaxes(_across(one, points, solution), 1, 2) @ one.weighed
    return left


def _means_and_rows(solution: Solution, left: Array) -> tuple[Array, Array]:
    """Return the means, counted from the shift, and the rows R, whose last entry stands for the constant."""
    found, q = solution.features, left.shape[2] - 2
    identity = np.eye(len(solution.lower))
    half = solve_lower(solution.lower, identity).T  # L⁻ᵀ
    ones, values = solution.coefficients.T
    given = np.stack([values - solution.constant * ones, ones], axis=1)
    expanded = left[..., :q] @ found.expand(np.concatenate([half, given], axis=1))
    rows, of_values, of_ones = expanded[..., :-2], expanded[..., -2], expanded[..., -1]
    mean = of_values + solution.constant * left[..., q] - left[..., q + 1]
    level = (left[..., q] - of_ones) / np.sqrt(solution.below)
    return mean, np.concatenate([rows, level[..., None]], axis=2)
