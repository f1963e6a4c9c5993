"""Noise that alternatives share: replications of equal number in a context have random numbers in common.

y_kcr = f_k(c) + s_kc (√ρ_c b_cr + √(1−ρ_c) e_kcr), b and e standard normal, so that
Cov(y_kcr, y_jcr) = ρ_c s_kc s_jc. With M the presence of replications [alternative, number] in a context, n_r
the alternatives that have number r and w_r = ρ/(1−ρ+n_r ρ), the data have the precision
Λ = S⁻¹ [diag(N) − M diag(w) Mᵀ] S⁻¹ / (1−ρ) about f_·(c), S = diag(s): block by block, a context each.
Cell means are not sufficient here. Replications known by a summary alone count as independent.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from argbest.core.arrays import Array, BoolArray, IntArray, fdtr, fdtrc
from argbest.core.noise import shrunk
from argbest.core.tally import Tally

MOST = 0.999  # of the correlation: differences are never taken as free of noise
_CAUTION = 4.0  # degrees of freedom of a doubt that anything is common: it matters while data are few
FOUND = 0.01  # chance of independent noise to be as alike: what is less likely is taken for common noise
CHANCE = 1e-3  # and to be as unlike: what is less likely is taken for noise that goes against each other
_ENOUGH = 100  # numbers that tell the correlation
_AT_ONCE = 1 << 20  # entries of tables
_FEWEST = 4  # degrees of freedom that tell how noise is spread
_FARTHEST = 0.9  # of the most negative correlation that so many alternatives can have


class _Context(NamedTuple):
    """The replications of one context, standardised: z = (y − ȳ_k)/s_k."""

    alternative: IntArray  # [k]: those observed
    sd: Array  # [k]: s
    present: Array  # [k, r]: 1 where alternative k has replication r
    z: Array  # [k, r], 0 where absent
    rest: Array  # [k]: observations of which no number is known
    rest_squares: Array  # [k]: their Σ z²


@dataclass(frozen=True)
class Block:
    """What the data say of the rewards in one context: N(mean, (S⁻¹ R R S⁻¹)⁻¹), S = diag(sd)."""

    alternative: IntArray  # [k]
    context: int
    mean: Array  # [k]: generalised least squares
    sd: Array  # [k]
    root: Array  # [k, k]: R, symmetric
    within: float  # Σ_r y_rᵀ Λ_r y_r − meanᵀ Λ mean, about the mean
    log_noise: float  # Σ_r log|Cov(y_r)|, and Σ log s² of those without a number

    @property
    def precision(self) -> Array:
        """Λ, [k, k]."""
        return np.asarray(self.root @ self.root / (self.sd[:, None] * self.sd))


def blocks(tally: Tally, noise: Array, correlation: Array) -> list[Block]:
    """Return what the data of one study say, context by context in which something was observed.

    ``noise`` is s² [alternative, context], ``correlation`` ρ [context].
    """
    found = _contexts(tally, noise, tally.count > 0)
    return [_block(here, tally, c, float(correlation[c])) for c, here in found]


def _block(here: _Context, tally: Tally, c: int, rho: float) -> Block:
    own, shared = here.present.sum(axis=1), here.present.sum(axis=0)
    weight = rho / (1.0 - rho + shared * rho)
    total = here.z.sum(axis=0)
    precision = -(here.present * weight) @ here.present.T / (1.0 - rho)
    precision.flat[:: len(own) + 1] += own / (1.0 - rho) + here.rest
    # All deviations of a cell add up to 0, with and without a number.
    without = np.where(here.rest > 0, -here.z.sum(axis=1), 0.0)
    information = (here.z.sum(axis=1) - here.present @ (weight * total)) / (1.0 - rho) + without
    values, vectors = np.linalg.eigh(precision)
    step = vectors @ (vectors.T @ information / values)
    squares = (np.sum(here.z**2) - weight @ total**2) / (1.0 - rho) + here.rest_squares.sum()
    n = own + here.rest
    log_noise = 2.0 * float(n @ np.log(here.sd)) + float(own.sum()) * np.log1p(-rho)
    log_noise += float(np.sum(np.log1p(shared * rho / (1.0 - rho))))
    return Block(
        alternative=here.alternative,
        context=c,
        mean=tally.mean[here.alternative, c] + here.sd * step,
        sd=here.sd,
        root=(vectors * np.sqrt(values)) @ vectors.T,
        within=max(float(squares - information @ step), 0.0),
        log_noise=log_noise,
    )


class Rows(NamedTuple):
    """The blocks of studies [...] side by side, by observed cells m in the order of a flat table."""

    mean: Array  # [..., alternative, context]: generalised least squares
    totals: Array  # [..., 2]: Σ within, Σ log noise
    same: IntArray  # [..., m, i]: the cells of the same context, then −1
    factor: Array  # [..., m, i]: the row of R there


def rows(tally: Tally, noise: Array, correlation: Array) -> Rows:
    """Return the blocks of all studies as rows, which a compiled search can take."""
    lead, observed = tally.shape[:-2], tally.count > 0
    m = int(observed.sum(axis=(-2, -1)).max(initial=0))
    width = int(observed.sum(axis=-2).max(initial=0))
    shape = (*lead, m, width)
    found = Rows(tally.mean.copy(), np.zeros((*lead, 2)), np.full(shape, -1), np.zeros(shape))
    for study in np.ndindex(lead):
        rank = np.cumsum(observed[study].ravel()).reshape(observed[study].shape) - 1
        for block in blocks(tally[study], noise[study], correlation[study]):
            cells, n = rank[block.alternative, block.context], len(block.alternative)
            found.mean[study][block.alternative, block.context] = block.mean
            found.totals[study] += block.within, block.log_noise
            found.same[study][cells, :n] = cells
            found.factor[study][cells, :n] = block.root
    return found


class Layout(NamedTuple):
    """Analysis of variance of the replications of studies: [..., context] each."""

    apart: Array  # sum of squares that neither alternatives nor replication numbers explain
    apart_freedom: Array
    common: Array  # what the numbers explain beyond the alternatives
    common_freedom: Array
    together: Array  # the most alternatives that have the same replication

    @property
    def ratio(self) -> tuple[Array, Array, Array]:
        """F, the mean square in common over that apart, with its degrees of freedom, [...]; 1 if unknown."""
        (apart, n), (common, m) = (
            (squares.sum(axis=-1), freedom.sum(axis=-1))
            for squares, freedom in ((self.apart, self.apart_freedom), (self.common, self.common_freedom))
        )
        known = (n > 0) & (m > 0) & (apart + common > 0)
        n, m = np.where(known, n, 1.0), np.where(known, m, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(known, common * n / (apart * m), 1.0), m, n

    @property
    def chance(self) -> Array:
        """P(replications of equal number are as unlike each other as these, if they were independent)."""
        ratio, common, apart = self.ratio
        return np.asarray(fdtr(common, apart, ratio))


def layout(tally: Tally, noise: Array) -> Layout:
    """Return the two-way analysis z_kr = f_k + b_r + e of every study and context, in units of ``noise``.

    Exact for any presence of replications: ``apart`` is (1 − ρ) χ² of its degrees of freedom, and without
    correlation the two are independent with the same mean square. The first `_ENOUGH` numbers tell enough.
    """
    shape = (*tally.shape[:-2], tally.shape[-1])
    found = np.zeros((5, int(np.prod(shape))))
    for groups, present, z in _tables(tally, noise):
        own, shared = present.sum(axis=-1), present.sum(axis=-2)
        z = present * (z - (z.sum(axis=-1) / np.maximum(own, 1.0))[..., None])
        apart, freedom = _two_way(present, z)
        all_freedom = own.sum(axis=-1) - (own > 0).sum(axis=-1)
        squares = np.maximum(np.sum(z**2, axis=(-2, -1)) - apart, 0.0)
        found[:, groups] = apart, freedom, squares, all_freedom - freedom, shared.max(axis=-1)
    return Layout(*found.reshape(5, *shape))


def _tables(tally: Tally, noise: Array) -> Iterator[tuple[IntArray, Array, Array]]:
    """Yield portions of contexts of all studies: their places, presence and z, [g, alternative, number]."""
    shown = tally.common
    if shown is None or not (kept := shown.alternative >= 0).any():
        return
    *_, n_alternatives, n_contexts = tally.shape
    study = np.flatnonzero(kept) // kept.shape[-1]
    k, c = shown.alternative[kept], shown.context[kept]
    groups, group = np.unique(study * n_contexts + c, return_inverse=True)
    # Numbers and alternatives count from 0 in every context: of a large table few may have been observed.
    number = np.unique(shown.number[kept], return_inverse=True)[1]
    rank, row = _ranked(group, number), _ranked(group, k)
    some = rank < _ENOUGH
    group, row, rank = group[some], row[some], rank[some]
    where, flat = (study[some], k[some], c[some]), (-1, n_alternatives, n_contexts)
    z = (shown.value[kept][some] - tally.mean.reshape(flat)[where]) / np.sqrt(noise.reshape(flat)[where])
    height, width = int(row.max()) + 1, int(rank.max()) + 1
    step = max(1, _AT_ONCE // (height * width))
    for begin in range(0, len(groups), step):
        some = (group >= begin) & (group < begin + step)
        size = min(step, len(groups) - begin), height, width
        present, table = np.zeros(size), np.zeros(size)
        where = group[some] - begin, row[some], rank[some]
        present[where], table[where] = 1.0, z[some]
        yield groups[begin : begin + step], present, table


def _ranked(group: IntArray, value: IntArray) -> IntArray:
    """Return the rank of every value among the different ones of its group, from 0."""
    n = int(value.max()) + 1
    different, which = np.unique(group * n + value, return_inverse=True)
    _, first, owner = np.unique(different // n, return_index=True, return_inverse=True)
    return np.asarray((np.arange(len(different)) - first[owner])[which])


def _two_way(present: Array, z: Array) -> tuple[Array, Array]:
    """Return the squares [g] that rows and columns [g, row, column] together leave, and their freedom."""
    if present.shape[-2] > present.shape[-1]:  # the system to solve is that of the rows
        present, z = np.swapaxes(present, -1, -2), np.swapaxes(z, -1, -2)
    own, shared = present.sum(axis=-1), present.sum(axis=-2)
    average = present / np.maximum(shared, 1.0)[..., None, :]
    left = present * (z - np.sum(z, axis=-2, keepdims=True) / np.maximum(shared, 1.0)[..., None, :])
    laplacian = -average @ np.swapaxes(present, -1, -2)
    np.einsum("...kk->...k", laplacian)[...] += own
    values, vectors = np.linalg.eigh(laplacian)
    used = values > 1e-10 * np.maximum(values[..., -1:], 1.0)
    pull = np.sum(vectors * left.sum(axis=-1)[..., None], axis=-2)
    explained = np.sum(np.where(used, pull**2 / np.where(used, values, 1.0), 0.0), axis=-1)
    freedom = own.sum(axis=-1) - (shared > 0).sum(axis=-1) - used.sum(axis=-1)
    return np.maximum(np.sum(left**2, axis=(-2, -1)) - explained, 0.0), freedom


def estimate(tally: Tally, noise: Array) -> Array:
    """Return ρ per context, [..., context] from studies [..., alternative, context]; 0 where none is seen.

    Above and below 0 only where chance would hardly do that. 1 − ρ_c is the variance that alternatives do not
    share over all of it: the first by context, shrunk (`argbest.core.noise.shrunk`), the second pooled. Where
    data are few, ρ is drawn towards 0.
    """
    rho = np.zeros((*tally.shape[:-2], tally.shape[-1]))
    if tally.common is None:
        return rho
    found = layout(tally, noise)
    ratio, common, apart = found.ratio
    alike, against = fdtrc(common, apart, ratio) < FOUND, found.chance < CHANCE
    for study in zip(*np.nonzero(np.atleast_1d(alike | against)), strict=True):
        at = study if rho.ndim > 1 else ()
        seen = Layout(*(each[at] for each in found))
        freedom = seen.apart_freedom.sum()
        level = (seen.apart + seen.common).sum() / (freedom + seen.common_freedom.sum())
        by_context = seen.apart.sum() / freedom * shrunk(seen.apart, seen.apart_freedom)
        cautious = (freedom * by_context + _CAUTION * level) / (freedom + _CAUTION)
        least = -_FARTHEST / np.maximum(seen.together - 1.0, 1.0) if against[at] else 0.0
        rho[at] = np.clip(1.0 - cautious / level, least, 0.0 if against[at] else MOST)
    return rho


def unevenness(tally: Tally, noise: Array, rho: Array) -> Array:
    """Return [...] how unevenly the noise that is not common to all is spread; 1 where it is even.

    With E the covariance of what is left of z when its mean over alternatives is taken away, that is
    g = (K − 1) tr E² / (tr E)²: 1 for the independent noise of the model, K − 1 if all of it lies in one
    direction, as it nearly does where neighbours have the same luck. tr E² is estimated without bias from the
    replications that all alternatives have, as in John's test of sphericity. A model that averages over
    neighbours takes such noise for signal unless it counts g times.
    """
    found = np.ones(tally.shape[:-2])
    for study in np.ndindex(found.shape):
        if rho[study].max(initial=0.0) > 0:
            found[study] = _uneven(tally[study], noise[study])
    return found


def counted(rho: Array, uneven: Array | None) -> tuple[Array, Array]:
    """Return how often the noise counts, [..., context], and its correlation then (`unevenness`)."""
    if uneven is None:
        return np.ones_like(rho), rho
    level = rho + (1.0 - rho) * uneven[..., None]
    return level, rho / level


def _uneven(tally: Tally, noise: Array) -> float:
    n_alternatives, freedom = tally.shape[0], 0
    cov = np.zeros((n_alternatives, n_alternatives))
    for _, here in _contexts(tally, noise, tally.count > 0):
        shared = here.present.all(axis=0)
        if len(here.alternative) == n_alternatives and shared.sum() > 1:
            z = here.z[:, shared]
            z = z - z.mean(axis=1, keepdims=True) - z.mean(axis=0) + z.mean()
            cov += z @ z.T
            freedom += int(shared.sum()) - 1
    trace = np.trace(cov)
    if freedom < _FEWEST or not trace > 0:
        return 1.0
    ratio = np.sum((cov / trace) ** 2)
    unbiased = (ratio - 1.0 / freedom) * freedom**2 / ((freedom - 1) * (freedom + 2))
    return float(np.clip((n_alternatives - 1) * unbiased, 1.0, max(n_alternatives - 1, 1)))


def likeness(tally: Tally, noise: Array) -> Array:
    """Return [...] P(replications of equal number are as alike as these, if they were independent)."""
    ratio, common, apart = layout(tally, noise).ratio
    return np.asarray(fdtrc(common, apart, ratio))


def goes_against(tally: Tally, noise: Array) -> BoolArray:
    """Return [...] whether common random numbers clearly make alternatives go against each other."""
    if tally.common is None:
        return np.zeros(tally.shape[:-2], bool)
    return np.asarray(layout(tally, noise).chance < CHANCE)


def _contexts(tally: Tally, noise: Array, observed: BoolArray) -> Iterator[tuple[int, _Context]]:
    """Yield the replications of every context in which something was observed."""
    common = tally.common
    for c in np.flatnonzero(observed.any(axis=0)).tolist():
        cells = np.flatnonzero(observed[:, c])
        sd = np.sqrt(noise[cells, c])
        rows = np.zeros(0, np.int64)
        if common is not None:
            rows = np.flatnonzero((common.context == c) & (common.alternative >= 0))
        if common is None or not rows.size:
            present = z = np.zeros((len(cells), 0))
        else:
            k = np.searchsorted(cells, common.alternative[rows])
            numbers, r = np.unique(common.number[rows], return_inverse=True)
            present, z = np.zeros((len(cells), len(numbers))), np.zeros((len(cells), len(numbers)))
            present[k, r] = 1.0
            z[k, r] = (common.value[rows] - tally.mean[cells, c][k]) / sd[k]
        rest = tally.count[cells, c] - present.sum(axis=1)
        squares = np.where(rest > 0, tally.m2[cells, c] / sd**2 - np.sum(z**2, axis=1), 0.0)
        yield c, _Context(cells, sd, present, z, rest, np.maximum(squares, 0.0))
