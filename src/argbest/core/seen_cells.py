"""What was observed, and what follows from it at any cell of a table of any size."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array, BoolArray, IntArray, dpstrf
from argbest.core.common_noise import blocks
from argbest.core.decision import Decision
from argbest.core.priors import NUGGET
from argbest.core.replications import Shocks, shocks
from argbest.core.square_root_form import (
    Halve,
    SquareRootForm,
    by_diagonal,
    precision_root,
    solve_lower,
    square_root_form,
)
from argbest.core.tally import Tally, add

_BLOCK = 2**21  # numbers in one temporary array, 16 MB
_WORK = 5e9  # operations that the variances of all cells may take
_FEWEST_CELLS = 32  # from which these variances are worked out in any case


class Data(NamedTuple):
    """What a posterior is computed from; arrays [..., alternative, context], ``shift`` [...]."""

    tally: Tally
    noise: Array
    shift: Array  # near the rewards: residuals from it keep their digits
    correlation: Array | None = None  # [..., context]: of replications of equal number; None: there is none
    wanted: int | None = None  # how many contexts, the first ones, are asked about; None: all

    def study(self, index: tuple[int, ...]) -> "Data":
        """Return the data of one of several studies."""
        shared = None if self.correlation is None else self.correlation[index]
        return Data(self.tally[index], self.noise[index], self.shift[index], shared, self.wanted)

    @property
    def noise_wanted(self) -> Array:
        """The noise in the contexts that are asked about."""
        return self.noise[..., : self.wanted]

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
        ahead = np.maximum(self.correlation, 0.0)  # where it is negative, seeds are not shared any more
        ahead = ahead[..., : self.wanted]
        return shocks(self.tally.common, self.noise_wanted, ahead) if ahead.any() else None

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


class RootOfPrecision(NamedTuple):
    """D½ of the observed cells: its product with rows [cell, m], that of its transpose, and means [cell]."""

    halve: Halve
    transposed: Halve
    mean: Array


def halving(data: Data, variance: Array) -> RootOfPrecision:
    """Return D½ = R S⁻¹ (`argbest.core.common_noise.Block`) of one study whose alternatives share noise."""
    found = blocks(data.tally, data.floored(variance), np.asarray(data.correlation))
    k, c = np.nonzero(data.tally.count > 0)
    rank = np.full(data.tally.shape, -1)
    rank[k, c] = np.arange(len(k))
    mean, factors = np.empty(len(k)), []
    for block in found:
        where = rank[block.alternative, block.context]
        mean[where] = block.mean
        factors.append((where, block.root / block.sd[:, None]))

    def product(rows: Array, out: Array | None, *, transposed: bool) -> Array:
        found = np.empty(rows.shape) if out is None else out
        for where, root in factors:
            found[where] = (np.swapaxes(root, -1, -2) if transposed else root) @ rows[where]
        return found

    return RootOfPrecision(
        lambda rows, out: product(rows, out, transposed=False),
        lambda rows, out: product(rows, out, transposed=True),
        mean,
    )


class ObservedCells(NamedTuple):
    """What was observed in one study: the cells, their means less the shift, and the variances of these.

    Where alternatives share noise that is not all the information: then ``data`` has it.
    """

    alternative: IntArray  # [cell]
    context: IntArray
    value: Array
    noise: Array
    shift: float
    data: Data | None = None  # of noise that alternatives share; None where they share none

    def add(
        self, k: int, c: int, value: float, noise: float, n: float = 1.0, number: int = -1
    ) -> "ObservedCells":
        """Return this with the mean of n more replications, which has the variance ``noise``.

        A ``number`` says which replication it was, because others may share its noise.
        """
        if self.data is None:
            where = np.append(self.alternative, k), np.append(self.context, c)
            values = np.append(self.value, value - self.shift), np.append(self.noise, noise)
            return ObservedCells(*where, *values, self.shift)
        decision, known = Decision(np.asarray(k), np.asarray(c)), self.data.tally
        shown = known.replications
        if number >= 0 and shown is not None:
            shown = shown.add(decision, np.asarray(number), np.asarray(value))
        later = add(known, decision, np.asarray(value), n=int(n), replications=shown)
        return observed_cells_of(self.data._replace(tally=later))

    def some(self, order: IntArray) -> "ObservedCells":
        """Return what was observed at some of the cells."""
        where = self.alternative[order], self.context[order]
        if self.data is None:
            return ObservedCells(*where, self.value[order], self.noise[order], self.shift)
        kept = np.zeros(self.data.tally.shape, bool)
        kept[where] = True
        return observed_cells_of(self.data._replace(tally=_only(self.data.tally, kept)))

    def solved(self, prior: AdditivePrior) -> "SolvedCells":
        """Return the data under a prior."""
        among = prior.between((self.alternative, self.context), (self.alternative, self.context))
        if self.data is None:
            root = by_diagonal(_root(prior, self))
            return SolvedCells(square_root_form(among, root, self.value), root)
        halve, transposed, mean = halving(self.data, prior.variance)
        return SolvedCells(square_root_form(among, halve, mean - self.shift), transposed)


class SolvedCells(NamedTuple):
    """The observed cells of one study under a prior."""

    form: SquareRootForm
    transposed: Halve  # the product with the transpose of D½

    @property
    def weights(self) -> Array:
        """A (Y − m), [cell]: what multiplies prior covariances with the cells in a posterior mean."""
        inside = solve_lower(self.form.lower, self.form.residuals, transposed=True)
        return self.transposed(inside[:, None], None)[:, 0]


def observed_cells_of(data: Data) -> ObservedCells:
    """Return what one study has observed."""
    count, mean, noise = data.tally.count, data.tally.mean, data.noise
    k, c = np.nonzero(count)
    shift = float(data.shift)
    shared = data if data.shares_noise else None
    return ObservedCells(k, c, mean[k, c] - shift, noise[k, c] / count[k, c], shift, shared)


def _only(tally: Tally, kept: BoolArray) -> Tally:
    """Return the tally of one study as if only some cells had been observed."""
    tables = (np.where(kept, each, 0) for each in (tally.count, tally.mean, tally.m2))
    shown = tally.replications
    if shown is not None:
        shown = shown[(shown.alternative >= 0) & kept[shown.alternative, shown.context]]
    return Tally(*tables, replications=shown)


def _root(prior: AdditivePrior, seen: ObservedCells) -> Array:
    """Return the diagonal of D½, [cell]; no cell is known better than rounding allows (`NUGGET`)."""
    n = len(seen.noise)
    return precision_root(np.ones(n), seen.noise, np.asarray(NUGGET * n * float(prior.variance)))


def mean_of(prior: AdditivePrior, seen: ObservedCells, solved: SolvedCells, shape: tuple[int, ...]) -> Array:
    """Return m + K_*o A (Y − m): sums over observed cells, by products of tables of either side."""
    weight = solved.weights
    trend, near = prior.trend[seen.context], prior.nearness[seen.context]
    mean = np.tile(seen.shift + solved.form.constant + weight @ trend, (shape[-2], 1))
    levels = prior.offset if prior.level is None else prior.offset * prior.level[seen.context]
    shared = weight[:, None] * (levels + prior.joint * near)
    for some in _blocks(shape[-2], len(weight)):
        mean[some] += prior.relation(seen.alternative, shape[-2], some).T @ shared
    np.add.at(mean, seen.alternative, prior.own * weight[:, None] * near)
    if (like := prior.noise_like) is not None:
        moved = np.bincount(seen.context, weight * like[seen.alternative, seen.context], shape[-1])
        mean += moved * like
    return mean


def variance_of(
    prior: AdditivePrior, seen: ObservedCells, solved: SolvedCells, shape: tuple[int, ...]
) -> Array:
    """Return the prior variance that some observed cells do not explain: an upper bound of the posterior's.

    These cells are the ones that explain the others best: the first pivots of the Cholesky factor.
    """
    n_cells = shape[-2] * shape[-1]
    n = min(len(seen.value), max(_FEWEST_CELLS, int(np.sqrt(_WORK / n_cells))))
    order = dpstrf(solved.form.bracket, lower=1)[1][:n] - 1
    some = seen.some(order)
    fewer, var = some.solved(prior).form, np.empty(shape)
    for block in _blocks(shape[-2], n * shape[-1]):
        half = fewer.half(prior.rows_to(some.alternative, some.context, block))
        _, level = fewer.posterior(half)
        taken = (level**2 - np.einsum("oc,oc->c", half, half)).reshape(len(block), shape[-1])
        var[block] = prior.whole_variance(block) + taken
    return np.maximum(var, 0.0)


def _blocks(n: int, size: int) -> Iterator[IntArray]:
    """Yield the alternatives in portions of which each takes ``size`` numbers."""
    step = max(1, _BLOCK // size)
    return (np.arange(start, min(start + step, n)) for start in range(0, n, step))


def at_observed(prior: AdditivePrior, seen: ObservedCells) -> tuple[Array, Array]:
    """Return mean and variance of one study at the observed cells, [cell]."""
    solved, cells = seen.solved(prior).form, (seen.alternative, seen.context)
    half = solved.half(prior.between(cells, cells))
    mean, level = solved.posterior(half)
    before = prior.variance if prior.noise_like is None else prior.whole_variance()[cells]
    return seen.shift + mean, np.maximum(before - np.sum(half**2, axis=0) + level**2, 0.0)
