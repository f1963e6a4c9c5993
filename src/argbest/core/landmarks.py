"""Landmarks: a few points that carry the correlations of all, and when that is cheaper than dense algebra.

Q = κ(·, P) (κ(P, P) + ε I)⁻¹ κ(P, ·) = F Fᵀ never exceeds κ, whatever the landmarks P: κ − Q is itself a
covariance. P is chosen greedily: next comes the point that is least explained by the others (Cholesky with
pivots).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array, IntArray
from argbest.core.square_root_form import cholesky_factor, solve_lower

MOST_FEATURES = 768  # features of the joint part, and of the offset
FEWER_FEATURES = 256  # for the first steps of a search
MOST_TREND = 128  # contexts that carry the trend
_JITTER = 1e-12  # ε: smooth kernels are singular to rounding
LEAST_MISSED = 1e-5  # share of the variance of joint part and offset below which nothing is missed
_LEAST_MISSED_TREND = 1e-6  # the same of the trend, which all alternatives depend on
LEAST_LEVEL = 1e-9  # of the variance of a level: less is rounding, and no further source
_ABSENT = 1e-12  # share of the variance below which a part is not there


class Landmarks(NamedTuple):
    """Positions of the landmarks of each kernel, none for a part that is not there or needs none."""

    trend: IntArray
    alternatives: IntArray
    contexts: IntArray
    levels: IntArray = np.zeros(0, np.int64)  # a context of every source, where there are several


class Root(NamedTuple):
    """F = κ(·, P) L⁻ᵀ, L Lᵀ = κ(P, P) + ε I."""

    landmarks: IntArray  # P
    lower: Array  # L
    features: Array  # F, [point, landmark]

    def pull(self, on_features: Array) -> Array:
        """Return the pull on κ(·, P) from one on F, of the form (symmetric matrix) · F.

        ⟨F̄, dF⟩ = ⟨T, dκ(·, P)⟩ − ½ ⟨Wᵀ T, dκ(P, P)⟩ with T = F̄ L⁻¹ and W = F L⁻¹.
        """
        weights, pull = (_divided_by(self.lower, rows) for rows in (self.features, on_features))
        pull[self.landmarks] -= 0.5 * (weights.T @ pull)
        return pull


def root_of(columns: Array, landmarks: IntArray) -> Root:
    """Return the root of a correlation from its columns κ(·, P)."""
    corner = columns[landmarks] + _JITTER * np.eye(len(landmarks))
    lower = cholesky_factor(corner)
    return Root(landmarks, lower, features_of(columns, lower))


def features_of(columns: Array, lower: Array) -> Array:
    """Return the features of points from their correlations with the landmarks, [point, landmark]."""
    return solve_lower(lower, columns.T).T


def innovation(table: Array, cross: Array) -> Array:
    """Return the share of variance 1 at new points [X] that the points of the table do not explain.

    ``table`` [point, point] and ``cross`` [point, X] are correlations.
    """
    known = features_of(cross.T, root_of(table, np.arange(len(table))).lower)
    return np.asarray(np.maximum(1.0 - np.sum(known**2, axis=1), 0.0))


def _divided_by(lower: Array, rows: Array) -> Array:
    """Return rows · L⁻¹."""
    return solve_lower(lower, rows.T, transposed=True).T


def landmarks_of(
    prior: AdditivePrior, n_alternatives: int, most: int | None = MOST_FEATURES, least: float = LEAST_MISSED
) -> Landmarks:
    """Return the landmarks of one study's prior; ``most`` None sets no limit to the features."""
    none, bar = np.zeros(0, np.int64), _ABSENT * prior.variance
    cap = n_alternatives * len(prior.nearness) if most is None else most
    trend, scale = none, prior.trend[0, 0]
    if scale > bar:
        limit = len(prior.trend) if most is None else MOST_TREND
        bound = 0.0 if most is None else _LEAST_MISSED_TREND
        trend, _ = _greedy(len(prior.trend), lambda i: prior.trend[i] / scale, limit, bound)
    levels = none
    if (table := prior.level) is not None:
        levels, _ = _greedy(len(table), lambda i: table[i], len(table), LEAST_LEVEL)
    if prior.alternatives is None or prior.offset + prior.joint <= bar:
        return Landmarks(trend, none, none, levels)
    least = 0.0 if most is None else least
    first, missed = _greedy(
        n_alternatives, lambda i: prior.relation(np.array([i]), n_alternatives)[0], cap, least
    )
    if prior.joint <= bar:
        return Landmarks(trend, first, none, levels)
    second, missed_too = _greedy(len(prior.nearness), lambda i: prior.nearness[i], cap, least)
    a, c = _shares(missed, missed_too, cap)
    return Landmarks(trend, first[:a], second[:c], levels)


def _greedy(n: int, row: Callable[[int], Array], most: int, least: float) -> tuple[IntArray, Array]:
    """Return landmarks among n points of variance 1, and the average variance missed after each.

    They end where no point has more than ``least`` left.
    """
    size = min(n, most)
    left, factor = np.ones(n), np.empty((n, size))
    chosen: list[int] = []
    missed: list[float] = []
    for r in range(size):
        pivot = int(np.argmax(left))
        if left[pivot] <= least:
            break
        step = row(pivot) - factor[:, :r] @ factor[pivot, :r]
        factor[:, r] = step / np.sqrt(left[pivot])
        left = np.maximum(left - factor[:, r] ** 2, 0.0)
        left[chosen], left[pivot] = 0.0, 0.0
        chosen.append(pivot)
        missed.append(float(left.mean()))
    return np.array(chosen, np.int64), np.array(missed)


def _shares(first: Array, second: Array, cap: int) -> tuple[int, int]:
    """Return how many landmarks of two factors together miss least with no more than ``cap`` products.

    Greedily: the factor whose next landmark saves more variance per product.
    """
    a = c = 1
    while True:
        more_a = (first[a - 1] - first[a]) / c if a < len(first) and (a + 1) * c <= cap else -1.0
        more_c = (second[c - 1] - second[c]) / a if c < len(second) and a * (c + 1) <= cap else -1.0
        if max(more_a, more_c) < 0.0:
            return a, c
        a, c = (a + 1, c) if more_a >= more_c else (a, c + 1)


# Operations per evaluation of an evidence with its gradient.
_DENSE = 1500.0**3  # beyond this dense algebra takes too long, and structure may be approximate
_CELLS = 2**15  # cells of the alternatives that are kept exactly
_FEWEST_FOLLOWED, _MOST_FOLLOWED = 32, 512  # alternatives that are kept exactly
_MOST_OWN_NUMBERS = 10**8  # numbers in the covariances of every alternative with itself, 0.8 GB
_CALLS = 2e7  # operations that the calls of structured algebra cost, however small its matrices


def structured(count: IntArray, *, names: bool) -> bool:
    """Return whether cells [alternative, context] with replications are better represented by structure.

    With names it is exact, and used where it is cheaper. With coordinates features carry what alternatives
    have in common and their number is limited: used where the dense form would take too long.
    """
    if names:
        return _structure_is_cheaper(count, 0)
    return _dense_cost(count) > _DENSE and _structure_is_cheaper(count, MOST_FEATURES)


def structure_helps_search(count: IntArray, *, names: bool) -> bool:
    """Return whether few features would cost less than the dense algebra that a search ends with."""
    return not names and _structure_is_cheaper(count, FEWER_FEATURES)


def affords_common_noise(count: IntArray) -> bool:
    """Return whether dense algebra, the only one that represents shared noise, is quick enough."""
    return _dense_cost(count) <= _DENSE


def affords_blocks(shape: tuple[int, ...]) -> bool:
    """Return whether noise that alternatives share is quick enough to weigh context by context."""
    return bool(shape[-1] * float(shape[-2]) ** 3 <= _DENSE)


def n_followed(shape: tuple[int, ...]) -> int:
    """Return how many alternatives of a large table [..., alternative, context] are kept exactly."""
    return int(np.clip(_CELLS // shape[-1], _FEWEST_FOLLOWED, _MOST_FOLLOWED))


def one_by_one(shape: tuple[int, ...]) -> bool:
    """Return whether tables [..., alternative, context] are so tall that studies are computed one by one.

    What is left out of a tall table, for speed, depends on what was observed in its study.
    """
    return shape[-2] >= 2 * n_followed(shape)


def follows_all(shape: tuple[int, ...]) -> bool:
    """Return whether a table [..., alternative, context] is small enough to keep all cells exactly."""
    return shape[-2] <= 2 * n_followed(shape)


def too_large(count: IntArray, *, names: bool = False) -> bool:
    """Return whether a table [..., alternative, context] has too many cells to keep all of them exactly.

    Where many cells are observed, structure keeps all, unless it would need too many covariances.
    """
    if follows_all(count.shape) or not np.all(count.any(axis=(-2, -1))):
        return False
    if count.shape[-2] * count.shape[-1] ** 2 > _MOST_OWN_NUMBERS:
        return True
    each = count.reshape(-1, *count.shape[-2:])
    return not any(structured(one, names=names) for one in each)


def _structure_is_cheaper(count: IntArray, most: int) -> bool:
    """Return whether so many features, beside the trend's, take less time than dense algebra."""
    seen = count > 0
    sizes, contexts = seen.sum(axis=1), float(seen.any(axis=0).sum())
    trend = min(contexts, float(MOST_TREND))
    r = trend + most
    of_blocks = float(np.sum(sizes.astype(float) ** 3 + sizes**2 * trend))
    of_features = float((sizes > 0).sum()) * r**2 + r**3
    return _dense_cost(count) > _CALLS * (1 + len(set(sizes.tolist()))) + 2.0 * of_blocks + of_features


def _dense_cost(count: IntArray) -> float:
    """Return the operations of dense algebra."""
    return float((count > 0).sum()) ** 3
