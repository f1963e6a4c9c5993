"""Tally: count, mean and sum of squared deviations per (alternative, context), all that normal data can say.

Where alternatives share random numbers, or rewards are not normal, the values themselves matter, too: a tally
also gives access to the replications, where they are known.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from argbest.core.arrays import AnyArray, Array, IntArray
from argbest.core.decision import Decision, cell
from argbest.core.replications import Replications, none
from argbest.errors import InputError

if TYPE_CHECKING:
    from argbest.core.earlier import Earlier

# Rewards are at most so large, and differ by at least so much if they do: squares of differences, their sums
# and their reciprocals are then ordinary numbers.
LARGEST, SMALLEST = 1e130, 1e-130
EQUAL = 1e-12  # rewards that differ by less than this share of their size differ by rounding


@dataclass(frozen=True)
class Tally:
    """Sufficient statistics of normal replications, every array [..., alternative, context]."""

    count: IntArray  # replications
    mean: Array  # their mean, 0 where nothing was observed
    m2: Array  # sum of squared deviations from the cell's mean
    replications: Replications | None = field(default=None, kw_only=True)  # their values; None: not known
    earlier: "Earlier | None" = field(default=None, kw_only=True)  # runs of other sources; None: none

    @property
    def common(self) -> Replications | None:
        """The replications that share random numbers; None: no alternatives do, or it is not known."""
        return None if self.replications is None else self.replications.common

    @property
    def single(self) -> Replications | None:
        """The values that were told one by one; None: not known."""
        return None if self.replications is None else self.replications.single

    @property
    def shape(self) -> tuple[int, ...]:
        """The common shape [..., alternative, context]."""
        return self.count.shape

    def __getitem__(self, index: Any) -> "Tally":
        """Return the entries that an index of the arrays picks: some studies, alternatives or cells.

        Where replications are kept only whole studies can be picked: see `statistics_alone`. Earlier runs are
        those of whole studies.
        """
        kept = None if self.replications is None else self.replications[index]
        count = self.count[index]
        earlier = self.earlier if count.shape[-2:] == self.shape[-2:] else None
        return Tally(count, self.mean[index], self.m2[index], replications=kept, earlier=earlier)

    def copy(self) -> "Tally":
        """Return a tally that shares no table with this one."""
        return replace(self, count=self.count.copy(), mean=self.mean.copy(), m2=self.m2.copy())

    @property
    def statistics_alone(self) -> "Tally":
        """The same replications by their statistics alone, as if no alternatives shared random numbers."""
        return self if self.replications is None else replace(self, replications=None)

    @property
    def unshared(self) -> "Tally":
        """The same replications, each with its value, as if no alternatives shared random numbers."""
        if self.common is None or self.replications is None:
            return self
        return replace(self, replications=replace(self.replications, shared=None))


def check_spread(tally: Tally) -> None:
    """Raise an InputError if the rewards of a study differ by less than can be squared."""
    axes = (-2, -1)
    if tally.m2.max(axis=axes, initial=0.0).min(initial=np.inf) >= SMALLEST**2:  # by far the most common
        return
    observed = tally.count > 0
    top = np.max(tally.mean, axis=axes, where=observed, initial=-np.inf)
    low = np.min(tally.mean, axis=axes, where=observed, initial=np.inf)
    size = np.maximum(np.abs(top), np.abs(low))
    widest = np.maximum(top - low, np.sqrt(np.max(tally.m2, axis=axes, initial=0.0)))
    tiny = (widest > EQUAL * size) & (widest < SMALLEST)
    if np.any(tiny):
        raise InputError(
            f"the rewards differ by at most {np.max(widest[tiny]):.1e}; differences below {SMALLEST:g} are "
            "too small to be squared. Give rewards in a smaller unit: multiply all by the same large number."
        )


def empty(shape: tuple[int, ...], *, common: bool = False) -> Tally:
    """Return the tally of no replications, for alternatives that have ``common`` random numbers or not."""
    kept = none(shape[:-2], common=common)
    return Tally(np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape), replications=kept)


def from_observations(
    where: tuple[AnyArray, ...],
    mean: AnyArray,
    shape: tuple[int, ...],
    *,
    n: AnyArray | int = 1,
    m2: AnyArray | float = 0.0,
) -> Tally:
    """Return the tally of a list of replications, in two passes so that nothing cancels.

    ``where`` holds one index array per axis of ``shape`` [..., alternative, context]. An entry is a single
    value, or the ``mean`` of ``n`` replications with the sum of squared deviations ``m2``.
    """
    flat = np.ravel_multi_index(tuple(np.asarray(index) for index in where), shape)
    mean, size = np.asarray(mean, float), int(np.prod(shape))
    weight, within = np.broadcast_to(n, mean.shape), np.broadcast_to(m2, mean.shape)
    count = np.bincount(flat, weight, size)
    # Deviations from the first value of a cell keep the sums small when the values are large and close.
    origin = np.zeros(size)
    origin[flat[::-1]] = mean[::-1]
    average = origin + np.bincount(flat, weight * (mean - origin[flat]), size) / np.maximum(count, 1)
    squares = np.bincount(flat, within + weight * (mean - average[flat]) ** 2, size).astype(float)
    return Tally(count.astype(np.int64).reshape(shape), average.reshape(shape), squares.reshape(shape))


def merge(a: Tally, b: Tally) -> Tally:
    """Return the tally of both sets of replications (Chan, Golub and LeVeque's pairwise rule)."""
    count = a.count + b.count
    share = b.count / np.maximum(count, 1)
    step = b.mean - a.mean  # an empty side has mean 0 and share 0 or 1, so the other's mean stays exact
    return Tally(count, a.mean + step * share, a.m2 + b.m2 + step * step * (a.count * share))


def add(
    tally: Tally,
    decision: Decision,
    mean: AnyArray,
    *,
    n: AnyArray | int = 1,
    m2: AnyArray | float = 0.0,
    replications: Replications | None = None,
) -> Tally:
    """Return the tally with n more replications of one cell per leading index.

    ``mean`` and ``m2`` summarise the new replications; a single value is ``n = 1, m2 = 0``. The tally shows
    the ``replications``, these included, where they are given, and otherwise those that it showed before.
    """
    where = cell(decision, tally.shape)
    merged = merge(tally.statistics_alone[where], Tally(np.asarray(n), np.asarray(mean), np.asarray(m2)))
    count, average, squares = tally.count.copy(), tally.mean.copy(), tally.m2.copy()
    count[where], average[where], squares[where] = merged.count, merged.mean, merged.m2
    kept = tally.replications if replications is None else replications
    return Tally(count, average, squares, replications=kept, earlier=tally.earlier)


def put(tally: Tally, pair: tuple[int, int], mean: float, *, n: int = 1, m2: float = 0.0) -> None:
    """Add n more replications of one cell to the tables of one study, which nobody else may hold.

    By the rule of `merge`, in numbers of Python: five times quicker for one cell.
    """
    before, centre = int(tally.count[pair]), float(tally.mean[pair])
    share, step = n / max(before + n, 1), mean - centre
    tally.count[pair] = before + n
    tally.mean[pair] = centre + step * share
    tally.m2[pair] = float(tally.m2[pair]) + m2 + step * step * (before * share)


def negated(tally: Tally) -> Tally:
    """Return the tally of the same replications with the opposite sign."""
    kept = tally.replications
    kept = None if kept is None else replace(kept, value=-kept.value)
    return Tally(tally.count, -tally.mean, tally.m2, replications=kept)


def summarise(values: Array) -> tuple[int, float, float]:
    """Return (n, mean, m2) of a list of replications of one cell."""
    mean = float(values[0] + np.mean(values - values[0]))
    return len(values), mean, float(np.sum((values - mean) ** 2))


class Scaling(NamedTuple):
    """Standardised = (value − shift) / spread, both [..., alternative]."""

    shift: Array
    spread: Array


def standardisation(tally: Tally) -> Scaling:
    """Return each alternative's mean and standard deviation (ddof 1) of all its replications.

    With fewer than two replications, or none that differ, the standard deviation is that of the whole study;
    with none at all the mean is, too; and 1 where the whole study shows no spread.
    """
    check_spread(tally)
    axes = (-2, -1)
    n, mean, std = (v[..., 0] for v in moments(tally, (-1,)))
    size = np.abs(tally.mean).max(axis=-1, initial=0.0)
    varied = (n > 1) & (std > EQUAL * np.maximum(size, SMALLEST))
    if varied.all():
        return Scaling(mean, std)
    pooled_n, pooled_mean, pooled_std = (v[..., 0] for v in moments(tally, axes))
    largest = size.max(axis=-1, initial=0.0, keepdims=True)
    fallback = np.where((pooled_n > 1) & (pooled_std > EQUAL * largest), pooled_std, 1.0)
    return Scaling(np.where(n > 0, mean, pooled_mean), np.where(varied, std, fallback))


def standardisation_of_study(tally: Tally) -> Scaling:
    """Return mean and standard deviation of all replications of a study, [..., 1], for all alternatives."""
    flat = (*tally.shape[:-2], 1, tally.shape[-2] * tally.shape[-1])
    return standardisation(Tally(tally.count.reshape(flat), tally.mean.reshape(flat), tally.m2.reshape(flat)))


def standardise(tally: Tally, scaling: Scaling) -> Tally:
    """Return the tally of the standardised outcomes; replications only where they share random numbers."""
    shift, spread = scaling.shift[..., None], scaling.spread[..., None]
    mean = np.where(tally.count > 0, (tally.mean - shift) / spread, 0.0)
    kept = tally.common
    if kept is not None:  # then all alternatives have one scale
        kept = kept.moved(scaling.shift[..., 0], scaling.spread[..., 0])
    return Tally(tally.count, mean, tally.m2 / spread**2, replications=kept)


def moments(tally: Tally, axes: tuple[int, ...]) -> tuple[AnyArray, Array, Array]:
    """Return the count, mean and standard deviation of all replications along ``axes`` (kept)."""
    n = tally.count.sum(axis=axes, keepdims=True)
    # Around a reference cell, so that large values that lie close together keep their differences.
    origin = np.where(tally.count > 0, tally.mean, -np.inf).max(axis=axes, keepdims=True)
    origin[n == 0] = 0.0
    offset = tally.mean - origin  # of empty cells too: it counts for nothing
    centre = (tally.count * offset).sum(axis=axes, keepdims=True) / np.maximum(n, 1)
    squares = (tally.m2 + tally.count * (offset - centre) ** 2).sum(axis=axes, keepdims=True)
    return n, origin + centre, np.sqrt(squares / np.maximum(n - 1, 1))
