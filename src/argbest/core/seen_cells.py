"""What was observed, and what follows from it at any cell of a table of any size."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array, IntArray, dpstrf
from argbest.core.priors import NUGGET
from argbest.core.replications import Shocks, shocks
from argbest.core.square_root_form import (
    SquareRootForm,
    by_diagonal,
    precision_root,
    solve_lower,
    square_root_form,
)
from argbest.core.tally import Tally

_BLOCK = 2**21  # numbers in one temporary array, 16 MB
_WORK = 5e9  # operations that the variances of all cells may take
_FEWEST_CELLS = 32  # from which these variances are worked out in any case


class Data(NamedTuple):
    """What the posterior of a study follows from; arrays [..., alternative, context], ``shift`` [...]."""

    tally: Tally
    noise: Array
    shift: Array  # near the rewards: residuals from it keep their digits
    correlation: Array | None = None  # [..., context]: of replications of equal number; None: there is none

    def study(self, index: tuple[int, ...]) -> "Data":
        """Return the data of one of several studies."""
        shared = None if self.correlation is None else self.correlation[index]
        return Data(self.tally[index], self.noise[index], self.shift[index], shared)

    @property
    def shares_noise(self) -> bool:
        """Whether alternatives of some study share noise."""
        known = self.tally.common is not None and self.correlation is not None
        return known and bool(np.any(self.correlation))

    @property
    def shocks(self) -> Shocks | None:
        """What later replications share with those told; None where they share nothing."""
        if self.tally.common is None or self.correlation is None or not self.shares_noise:
            return None
        ahead = np.maximum(self.correlation, 0.0)  # what goes against each other is not shared any more
        return shocks(self.tally.common, self.noise, ahead) if ahead.any() else None

    def floored(self, variance: Array) -> Array:
        """Return the noise of one study; no cell is known better than rounding allows (`NUGGET`)."""
        count = self.tally.count
        least = int((count > 0).sum()) * NUGGET * count * variance
        if self.correlation is not None:  # what alternatives do not share is the smaller part
            least = least / (1.0 - self.correlation)
        return np.asarray(np.maximum(self.noise, least))

    def root(self, variance: Array) -> Array:
        """Return the diagonal of D½, √(N/σ²), of the cells of one study."""
        return precision_root(self.tally.count, self.floored(variance), np.zeros(()))


class Seen(NamedTuple):
    """What was observed in one study: the cells, their means less the shift, and the variances of these."""

    alternative: IntArray  # [cell]
    context: IntArray
    value: Array
    noise: Array
    shift: float

    def add(self, k: int, c: int, value: float, noise: float) -> "Seen":
        """Return all that was observed, and one more value."""
        where = np.append(self.alternative, k), np.append(self.context, c)
        return Seen(
            *where, np.append(self.value, value - self.shift), np.append(self.noise, noise), self.shift
        )

    def some(self, order: IntArray) -> "Seen":
        """Return what was observed at some of the cells."""
        where = self.alternative[order], self.context[order]
        return Seen(*where, self.value[order], self.noise[order], self.shift)


def seen_of(count: IntArray, mean: Array, noise: Array, shift: float) -> Seen:
    """Return what one study has observed from its tables [alternative, context]."""
    k, c = np.nonzero(count)
    return Seen(k, c, mean[k, c] - shift, noise[k, c] / count[k, c], shift)


def _among(prior: AdditivePrior, seen: Seen) -> Array:
    """Return the prior covariances of the observed cells, [cell, cell]."""
    return prior.between((seen.alternative, seen.context), (seen.alternative, seen.context))


def solve(prior: AdditivePrior, seen: Seen) -> SquareRootForm:
    """Return the data under a prior."""
    return square_root_form(_among(prior, seen), by_diagonal(_root(prior, seen)), seen.value)


def _root(prior: AdditivePrior, seen: Seen) -> Array:
    """Return the diagonal of D½, [cell]; no cell is known better than rounding allows (`NUGGET`)."""
    n = len(seen.noise)
    return precision_root(np.ones(n), seen.noise, np.asarray(NUGGET * n * float(prior.variance)))


def mean_of(prior: AdditivePrior, seen: Seen, solved: SquareRootForm, shape: tuple[int, ...]) -> Array:
    """Return m + K_*o A (Y − m): sums over observed cells, by products of tables of either side."""
    weight = _root(prior, seen) * solve_lower(solved.lower, solved.residuals, transposed=True)
    trend, near = prior.trend[seen.context], prior.nearness[seen.context]
    mean = np.tile(seen.shift + solved.constant + weight @ trend, (shape[-2], 1))
    shared = weight[:, None] * (prior.offset + prior.joint * near)
    for some in _blocks(shape[-2], len(weight)):
        mean[some] += prior.relation(seen.alternative, shape[-2], some).T @ shared
    np.add.at(mean, seen.alternative, prior.own * weight[:, None] * near)
    return mean


def variance_of(prior: AdditivePrior, seen: Seen, solved: SquareRootForm, shape: tuple[int, ...]) -> Array:
    """Return what some observed cells leave of the prior variance, at least what all would.

    They are those by which the others are told best: the first pivots of the Cholesky factor.
    """
    n_cells = shape[-2] * shape[-1]
    n = min(len(seen.value), max(_FEWEST_CELLS, int(np.sqrt(_WORK / n_cells))))
    order = dpstrf(solved.bracket, lower=1)[1][:n] - 1
    some = seen.some(order)
    fewer, var = solve(prior, some), np.empty(shape)
    for block in _blocks(shape[-2], n * shape[-1]):
        half = fewer.half(prior.rows_to(some.alternative, some.context, block))
        _, level = fewer.posterior(half)
        left = prior.variance - np.einsum("oc,oc->c", half, half) + level**2
        var[block] = left.reshape(len(block), shape[-1])
    return np.maximum(var, 0.0)


def _blocks(n: int, size: int) -> Iterator[IntArray]:
    """Yield the alternatives in portions of which each takes ``size`` numbers."""
    step = max(1, _BLOCK // size)
    return (np.arange(start, min(start + step, n)) for start in range(0, n, step))


def at_observed(prior: AdditivePrior, seen: Seen) -> tuple[Array, Array]:
    """Return mean and variance of one study at the observed cells, [cell]."""
    solved = solve(prior, seen)
    half = solved.half(_among(prior, seen))
    mean, level = solved.posterior(half)
    return seen.shift + mean, np.maximum(prior.variance - np.sum(half**2, axis=0) + level**2, 0.0)
