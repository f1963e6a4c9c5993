"""Tally: count, mean and sum of squared deviations per (alternative, context); all the data can say."""

from dataclasses import dataclass

import numpy as np

from argbest.core.arrays import AnyArray, Array, IntArray
from argbest.core.decision import Decision, cell


@dataclass(frozen=True)
class Tally:
    """Sufficient statistics of normal observations, every array [..., alternative, context]."""

    count: IntArray
    mean: Array  # 0 where nothing was observed
    m2: Array  # sum of squared deviations from the cell's mean

    @property
    def shape(self) -> tuple[int, ...]:
        """The common shape [..., alternative, context]."""
        return self.count.shape


def empty(shape: tuple[int, ...]) -> Tally:
    """Return the tally of no observations."""
    return Tally(np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape))


def from_observations(
    alternative: IntArray, context: IntArray, value: Array, shape: tuple[int, int]
) -> Tally:
    """Return the tally of a list of observations, in two passes so that nothing cancels."""
    flat = np.ravel_multi_index((np.asarray(alternative), np.asarray(context)), shape)
    value = np.asarray(value, float)
    size = shape[0] * shape[1]
    count = np.bincount(flat, minlength=size)
    # Deviations from the first value of a cell keep the sums small when the values are large and close.
    origin = np.zeros(size)
    origin[flat[::-1]] = value[::-1]
    mean = origin + np.bincount(flat, value - origin[flat], size) / np.maximum(count, 1)
    m2 = np.bincount(flat, (value - mean[flat]) ** 2, size).astype(float)  # whole numbers where empty
    return Tally(count.reshape(shape), mean.reshape(shape), m2.reshape(shape))


def merge(a: Tally, b: Tally) -> Tally:
    """Return the tally of both sets of observations (Chan, Golub and LeVeque's pairwise rule)."""
    count = a.count + b.count
    share = b.count / np.maximum(count, 1)
    step = b.mean - a.mean  # an empty side has mean 0 and share 0 or 1, so the other's mean stays exact
    return Tally(count, a.mean + step * share, a.m2 + b.m2 + step**2 * (a.count * share))


def add(
    tally: Tally, decision: Decision, mean: AnyArray, *, n: AnyArray | int = 1, m2: AnyArray | float = 0.0
) -> Tally:
    """Return the tally with n more observations of one cell per leading index.

    ``mean`` and ``m2`` summarise the new observations; a single value is ``n = 1, m2 = 0``.
    """
    where = cell(decision, tally.shape)
    old = Tally(tally.count[where], tally.mean[where], tally.m2[where])
    merged = merge(old, Tally(np.asarray(n), np.asarray(mean), np.asarray(m2)))
    count, average, squares = tally.count.copy(), tally.mean.copy(), tally.m2.copy()
    count[where], average[where], squares[where] = merged.count, merged.mean, merged.m2
    return Tally(count, average, squares)


def summarise(values: Array) -> tuple[int, float, float]:
    """Return (n, mean, m2) of a list of replications of one cell."""
    mean = float(values[0] + np.mean(values - values[0]))
    return len(values), mean, float(np.sum((values - mean) ** 2))
