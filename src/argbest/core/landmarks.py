"""Landmarks: a few points by which all others are related, so that tables of correlations have small roots.

Q = κ(·, P) (κ(P, P) + ε I)⁻¹ κ(P, ·) = F Fᵀ never exceeds κ, whatever the landmarks P: κ − Q is a covariance
of its own. P is chosen greedily, the point that is known least from the others first (Cholesky with pivots).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array, IntArray
from argbest.core.conditioning import solve_lower
from argbest.core.scipys import cholesky

MOST = 768  # features of the joint part, and of the offset
FEWER = 256  # where a search only finds its way
MOST_TREND = 128  # contexts by which the trend is known
_JITTER = 1e-12  # ε: smooth kernels are singular to rounding
LEAST = 1e-5  # share of the variance of joint part and offset below which nothing is missed
_LEAST_TREND = 1e-6  # all alternatives lean on the trend
_ABSENT = 1e-12  # share of the variance below which a part is not there


class Landmarks(NamedTuple):
    """Positions of the landmarks of each kernel, none for a part that is not there or needs none."""

    trend: IntArray
    alternatives: IntArray
    contexts: IntArray


class Root(NamedTuple):
    """F = κ(·, P) L⁻ᵀ, L Lᵀ = κ(P, P) + ε I."""

    landmarks: IntArray  # P
    lower: Array  # L
    features: Array  # F, [point, landmark]

    def pull(self, on_features: Array) -> Array:
        """Return the pull on κ(·, P) from one on F, of the form (symmetric matrix) · F.

        ⟨F̄, dF⟩ = ⟨T, dκ(·, P)⟩ − ½ ⟨Wᵀ T, dκ(P, P)⟩ with T = F̄ L⁻¹ and W = F L⁻¹.
        """
        weights, pull = (_over(self.lower, rows) for rows in (self.features, on_features))
        pull[self.landmarks] -= 0.5 * (weights.T @ pull)
        return pull


def root_of(columns: Array, landmarks: IntArray) -> Root:
    """Return the root of a correlation from its columns κ(·, P)."""
    corner = columns[landmarks] + _JITTER * np.eye(len(landmarks))
    lower = cholesky(corner, lower=True, check_finite=False) if len(landmarks) else corner
    return Root(landmarks, lower, features_of(columns, lower))


def features_of(columns: Array, lower: Array) -> Array:
    """Return the features of points from their correlations with the landmarks, [point, landmark]."""
    return solve_lower(lower, columns.T).T


def innovation(table: Array, cross: Array) -> Array:
    """Return the share of variance 1 at new points [X] that no point of the table tells of.

    ``table`` [point, point] and ``cross`` [point, X] are correlations.
    """
    known = features_of(cross.T, root_of(table, np.arange(len(table))).lower)
    return np.asarray(np.maximum(1.0 - np.sum(known**2, axis=1), 0.0))


def _over(lower: Array, rows: Array) -> Array:
    """Return rows · L⁻¹."""
    return solve_lower(lower, rows.T, transposed=True).T


def landmarks_of(
    prior: AdditivePrior, n_alternatives: int, most: int | None = MOST, least: float = LEAST
) -> Landmarks:
    """Return the landmarks of one study's prior; ``most`` None sets no limit to the features."""
    none, bar = np.zeros(0, np.int64), _ABSENT * prior.variance
    cap = n_alternatives * len(prior.nearness) if most is None else most
    trend, scale = none, prior.trend[0, 0]
    if scale > bar:
        limit = len(prior.trend) if most is None else MOST_TREND
        bound = 0.0 if most is None else _LEAST_TREND
        trend, _ = _greedy(len(prior.trend), lambda i: prior.trend[i] / scale, limit, bound)
    if prior.alternatives is None or prior.offset + prior.joint <= bar:
        return Landmarks(trend, none, none)
    least = 0.0 if most is None else least
    first, missed = _greedy(
        n_alternatives, lambda i: prior.relation(np.array([i]), n_alternatives)[0], cap, least
    )
    if prior.joint <= bar:
        return Landmarks(trend, first, none)
    second, missed_too = _greedy(len(prior.nearness), lambda i: prior.nearness[i], cap, least)
    a, c = _shares(missed, missed_too, cap)
    return Landmarks(trend, first[:a], second[:c])


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
