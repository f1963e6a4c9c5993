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

from argbest.core.arrays import Array, BoolArray, IntArray, fdtr, fdtrc, gammaincinv
from argbest.core.integration import latin
from argbest.core.shrinkage import draw_variances, shrunk
from argbest.core.tally import Tally

LARGEST_CORRELATION = 0.999  # of the correlation: differences are never taken as free of noise
_CAUTION = 4.0  # degrees of freedom of a doubt that anything is common: it matters while data are few
FOUND = 0.01  # chance of independent noise to be as alike: what is less likely is taken for common noise
CHANCE = 1e-3  # and to be as unlike: what is less likely is taken for noise that goes against each other
_ENOUGH_NUMBERS = 100  # numbers that tell the correlation
_AT_ONCE = 1 << 20  # entries of tables
_ROUNDING = 1e-12  # of the squares: less is no noise of alternatives of their own
_FEWEST_DEGREES = 4  # degrees of freedom that tell how noise is spread
_FARTHEST = 0.9  # of the most negative correlation that so many alternatives can have


class _Contexts(NamedTuple):
    """The replications of g contexts with equally many alternatives, standardised: z = (y − ȳ_k)/s_k."""

    alternative: IntArray  # [g, k]: those observed
    context: IntArray  # [g, 1]
    sd: Array  # [g, k]: s
    present: Array  # [g, k, r]: 1 where alternative k has the r-th replication of its context
    z: Array  # [g, k, r], 0 where absent
    rest: Array  # [g, k]: replications of which no number is known
    rest_squares: Array  # [g, k]: their Σ z²


@dataclass(frozen=True)
class Block:
    """What the data say of the rewards in g contexts: N(mean, (S⁻¹ R R S⁻¹)⁻¹) each, S = diag(sd)."""

    alternative: IntArray  # [g, k]
    context: IntArray  # [g, 1]
    mean: Array  # [g, k]: generalised least squares
    sd: Array  # [g, k]
    root: Array  # [g, k, k]: R, symmetric
    within: Array  # [g]: Σ_r y_rᵀ Λ_r y_r − meanᵀ Λ mean, about the mean
    log_noise: Array  # [g]: Σ_r log|Cov(y_r)|, and Σ log s² of those without a number

    @property
    def precision(self) -> Array:
        """Λ, [g, k, k]."""
        return np.asarray(self.root @ self.root / (self.sd[..., :, None] * self.sd[..., None, :]))


def blocks(tally: Tally, noise: Array, correlation: Array) -> list[Block]:
    """Return what the data of one study say of the contexts in which something was observed.

    Those with equally many alternatives come together. ``noise`` is s² [alternative, context],
    ``correlation`` ρ [context].
    """
    return [_block(here, tally, correlation[here.context]) for here in _contexts(tally, noise)]


def _block(here: _Contexts, tally: Tally, rho: Array) -> Block:
    """Return the blocks of contexts with the correlations ``rho`` [g, 1]."""
    present, z, alone = here.present, here.z, 1.0 - rho
    own, shared, by_row = present.sum(axis=-1), present.sum(axis=-2), z.sum(axis=-1)
    weight, total = rho / (alone + shared * rho), z.sum(axis=-2)
    precision = -(present * weight[:, None]) @ np.swapaxes(present, -1, -2) / alone[..., None]
    np.einsum("gkk->gk", precision)[...] += own / alone + here.rest
    # All deviations of a cell add up to 0, with and without a number.
    information = (by_row - np.einsum("gkr,gr->gk", present, weight * total)) / alone
    information -= np.where(here.rest > 0, by_row, 0.0)
    values, vectors = np.linalg.eigh(precision)
    step = np.einsum("gki,gi->gk", vectors, np.einsum("gki,gk->gi", vectors, information) / values)
    squares = (np.sum(z**2, axis=(-2, -1)) - np.sum(weight * total**2, axis=-1)) / alone[:, 0]
    squares += here.rest_squares.sum(axis=-1) - np.sum(information * step, axis=-1)
    log_noise = 2.0 * np.sum((own + here.rest) * np.log(here.sd), axis=-1)
    log_noise += own.sum(axis=-1) * np.log1p(-rho[:, 0]) + np.log1p(shared * rho / alone).sum(axis=-1)
    mean = tally.mean[here.alternative, here.context] + here.sd * step
    root = (vectors * np.sqrt(values)[:, None]) @ np.swapaxes(vectors, -1, -2)
    return Block(*here[:2], mean, here.sd, root, np.maximum(squares, 0.0), log_noise)


class Rows(NamedTuple):
    """The blocks of studies [...] side by side, by observed cells m, context by context."""

    mean: Array  # [..., alternative, context]: generalised least squares
    totals: Array  # [..., 2]: Σ within, Σ log noise
    factor: Array  # [..., m, i]: the row of R at the cells of the same context, then 0
    shared: Array  # [..., m]: ρ of the cell's context, 0 where alternatives go against each other


def rows(tally: Tally, noise: Array, correlation: Array) -> Rows:
    """Return the blocks of all studies as rows, which a compiled search can take."""
    lead, observed = tally.shape[:-2], tally.count > 0
    m = int(observed.sum(axis=(-2, -1)).max(initial=0))
    width = int(observed.sum(axis=-2).max(initial=0))
    shape = (*lead, m, width)
    found = Rows(tally.mean.copy(), np.zeros((*lead, 2)), np.zeros(shape), np.zeros(shape[:-1]))
    for study in np.ndindex(lead):
        rank = (np.cumsum(observed[study].T) - 1).reshape(observed[study].T.shape).T
        for block in blocks(tally[study], noise[study], correlation[study]):
            cells, n = rank[block.alternative, block.context], block.alternative.shape[1]
            found.mean[study][block.alternative, block.context] = block.mean
            found.totals[study] += block.within.sum(), block.log_noise.sum()
            found.factor[study][cells, :n] = block.root
            found.shared[study][cells] = np.maximum(correlation[study][block.context], 0.0)
    return found


class Layout(NamedTuple):
    """Analysis of variance of the replications of studies: [..., context] each."""

    unshared: Array  # sum of squares that neither alternatives nor replication numbers explain
    unshared_freedom: Array
    common: Array  # what the numbers explain beyond the alternatives
    common_freedom: Array
    together: Array  # the most alternatives that have the same replication

    @property
    def ratio(self) -> tuple[Array, Array, Array]:
        """F, the mean square in common over the unshared one, with their degrees of freedom; 1 if unknown."""
        (unshared, n), (common, m) = (
            (squares.sum(axis=-1), freedom.sum(axis=-1))
            for squares, freedom in (
                (self.unshared, self.unshared_freedom),
                (self.common, self.common_freedom),
            )
        )
        known = (n > 0) & (m > 0) & (unshared + common > 0)
        n, m = np.where(known, n, 1.0), np.where(known, m, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(known, common * n / (unshared * m), 1.0), m, n

    @property
    def chance(self) -> Array:
        """P(replications of equal number are as unlike each other as these, if they were independent)."""
        ratio, common, unshared = self.ratio
        return np.asarray(fdtr(common, unshared, ratio))


def layout(tally: Tally, noise: Array) -> Layout:
    """Return the two-way analysis z_kr = f_k + b_r + e of every study and context, in units of ``noise``.

    Exact for any presence of replications: ``unshared`` is (1 − ρ) χ² of its degrees of freedom, and without
    correlation the two are independent with the same mean square. The first `_ENOUGH_NUMBERS` are enough.
    """
    shape = (*tally.shape[:-2], tally.shape[-1])
    found = np.zeros((5, int(np.prod(shape))))
    for groups, present, z in _tables(tally, noise):
        own, shared = present.sum(axis=-1), present.sum(axis=-2)
        z = present * (z - (z.sum(axis=-1) / np.maximum(own, 1.0))[..., None])
        unshared, freedom = _two_way(present, z)
        all_freedom = own.sum(axis=-1) - (own > 0).sum(axis=-1)
        squares = np.maximum(np.sum(z**2, axis=(-2, -1)) - unshared, 0.0)
        found[:, groups] = unshared, freedom, squares, all_freedom - freedom, shared.max(axis=-1)
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
    some = rank < _ENOUGH_NUMBERS
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


def estimate(tally: Tally, noise: Array, divisor: Array | float = 1.0) -> Array:
    """Return ρ per context, [..., context] from studies [..., alternative, context]; 0 where none is seen.

    Above and below 0 only where chance would hardly do that. 1 − ρ_c is the variance that alternatives do not
    share over all of it: the first by context, shrunk (`argbest.core.shrinkage`), the second pooled. Where
    data are few, ρ is drawn towards 0. ``divisor`` [...] divides the degrees of freedom of skewed rewards
    (`argbest.core.noise.PairNoise`): where rare events have not come yet, all noise seems to be common.
    """
    rho = np.zeros((*tally.shape[:-2], tally.shape[-1]))
    if tally.common is None:
        return rho
    found = layout(tally, noise)
    ratio, common, unshared = found.ratio
    common, unshared = common / divisor, unshared / divisor
    alike, against = fdtrc(common, unshared, ratio) < FOUND, fdtr(common, unshared, ratio) < CHANCE
    times = np.broadcast_to(divisor, rho.shape[:-1])
    for study in zip(*np.nonzero(np.atleast_1d(alike | against)), strict=True):
        at = study if rho.ndim > 1 else ()
        seen = Layout(*(each[at] for each in found))
        freedom = seen.unshared_freedom.sum()
        level = (seen.unshared + seen.common).sum() / (freedom + seen.common_freedom.sum())
        by_context = (
            seen.unshared.sum()
            / freedom
            * shrunk(seen.unshared / times[at], seen.unshared_freedom / times[at])
        )
        caution = _CAUTION * times[at]
        cautious = (freedom * by_context + caution * level) / (freedom + caution)
        least = -_FARTHEST / np.maximum(seen.together - 1.0, 1.0) if against[at] else 0.0
        rho[at] = np.clip(1.0 - cautious / level, least, 0.0 if against[at] else LARGEST_CORRELATION)
    return rho


def plausible(
    tally: Tally,
    tables: Array,
    generator: np.random.Generator,
    *,
    divisor: Array | float = 1.0,
    shown: Array | float = 1.0,
) -> Array:
    """Return correlations [n, context] as likely as the data of one study leave them, one for each table.

    ``tables`` [n, alternative, context] are plausible variances of the noise. Replications that share their
    numbers tell the part of the noise that alternatives do not share far better than all of it, so it is this
    part that is drawn, and ρ is what a table has beyond it. In units of a table it is v_c = W_c/χ²_ν, from
    the squares and degrees of freedom that alternatives and numbers leave, shrunk over contexts and as
    cautious as `estimate`; ρ_c = 1 − v_c. ``divisor`` is that of `estimate`; ``shown`` [context] the share of
    the noise that replications have shown.
    """
    found = layout(tally[None][np.zeros(len(tables), np.int64)], tables)
    squares, freedom = found.unshared / divisor, found.unshared_freedom[0] / divisor
    total = float(freedom.sum())
    if total == 0.0:
        return np.zeros((len(tables), tally.shape[-1]))
    mean_square, firmness = squares.sum(axis=-1, keepdims=True) / total, total + _CAUTION
    cautious = (total * mean_square * draw_variances(squares, freedom, generator) + _CAUTION) / firmness
    level = 0.5 * firmness / gammaincinv(0.5 * firmness, latin(generator, (len(tables), 1)))
    return np.asarray(np.clip(1.0 - cautious * level, 0.0, LARGEST_CORRELATION) * shown)


class OfRates(NamedTuple):
    """What the noise p(1 − p) of rates is multiplied by: a, noise that is shared; b, noise that is not."""

    shared: Array  # [..., context]: a
    unshared: Array  # [..., context]: b; what nobody knows to be either counts as both, so that a + b ≥ 1
    rates: BoolArray  # [...]: whether a study is one of rates; others have a = 0 and b = 1
    found: BoolArray  # [...]: whether chance would hardly make replications so alike
    together: Array  # [..., alternative, context]: the share of a pair's values whose seed others have met

    @property
    def level(self) -> Array:
        """What p(1 − p) is multiplied by, [..., alternative, context]: 1 for values with own seeds."""
        return 1.0 + (self.shared + self.unshared - 1.0)[..., None, :] * self.together

    @property
    def correlation(self) -> Array:
        """ρ of the noise of values that share a seed, [..., context]."""
        return np.clip(self.shared / (self.shared + self.unshared), 0.0, LARGEST_CORRELATION)

    def without(self, contexts: BoolArray) -> "OfRates":
        """Return what it is if nothing is shared in the ``contexts`` that are marked, [context]."""
        shared, unshared = np.where(contexts, 0.0, self.shared), np.where(contexts, 1.0, self.unshared)
        return self._replace(shared=shared, unshared=unshared)


def of_rates(tally: Tally, noise: Array, events: Array) -> OfRates:
    """Return how the noise of rates is shared, where seeds with ``events`` [...] are few (NaN: no rate).

    Cov(y_k, y_j) = a s_k s_j, and s_k² (a + b) for k = j, of values that share a seed; s_k² of others. A seed
    without an event says nothing of who would have been hit, however many alternatives met it, so degrees of
    freedom are those of events E. As in `estimate` 1 − ρ is what alternatives do not share over all, by
    context, and there is a doubt of four degrees, u = 4/(E + 4): b = (1 − u)(1 − ρ) + u, where chance would
    hardly make replications so alike, and 1 elsewhere. Here the doubt goes both ways, a = (1 − u) ρ + u:
    averages over alternatives, of which limits are judged, are as uncertain as the seeds are few, and so are
    differences.
    """
    shape = (*tally.shape[:-2], tally.shape[-1])
    shared, unshared, rates = np.zeros(shape), np.ones(shape), ~np.isnan(events)
    found, whole = np.zeros(shape[:-1], bool), layout(tally, noise)
    ratio, common_freedom, _ = whole.ratio
    for study in zip(*np.nonzero(np.atleast_1d(rates)), strict=True):
        at = study if rates.ndim else ()
        seen, told, rho = Layout(*(each[at] for each in whole)), float(events[at]), np.zeros(shape[-1])
        freedom, squares = seen.unshared_freedom.sum(), (seen.unshared + seen.common).sum()
        if told > 0 and freedom > 0 and squares > 0:
            level = squares / (freedom + seen.common_freedom.sum())
            by_context = shrunk(told / freedom * seen.unshared, told / freedom * seen.unshared_freedom)
            rho = np.clip(1.0 - seen.unshared.sum() / freedom / level * by_context, 0.0, 1.0)
            found[at] = fdtrc(min(float(common_freedom[at]), told), told, ratio[at]) < FOUND
        doubt = _doubt(told)
        shared[at] = (1.0 - doubt) * rho + doubt
        unshared[at] = (1.0 - doubt) * (1.0 - rho) + doubt if found[at] else 1.0
    return OfRates(shared, unshared, rates, found, _together(tally, rates))


def _together(tally: Tally, rates: BoolArray) -> Array:
    """Return the share of every pair's values whose seed other alternatives have met, of the ``rates``."""
    found, shown = np.zeros(tally.shape), tally.common
    for study in np.ndindex(tally.shape[:-2]):
        if not rates[study] or shown is None:
            continue
        own = shown[study]
        k, c, number = (part[own.alternative >= 0] for part in (own.alternative, own.context, own.number))
        _, which, many = np.unique(np.stack([c, number]), axis=1, return_inverse=True, return_counts=True)
        np.add.at(found[study], (k, c), many[which.ravel()] > 1)
    return found / np.maximum(tally.count, 1)


def plausible_of_rates(
    tally: Tally, tables: Array, generator: np.random.Generator, known: OfRates, events: float
) -> OfRates:
    """Return how the noise of one study of rates may be shared, [n, context], for ``tables`` of p(1 − p).

    What alternatives do not share is drawn as in `plausible`, with the degrees of freedom of ``events``, and
    the doubt goes both ways. Where nothing is found to be shared it is as it is ``known``.
    """
    n = len(tables)
    shared, unshared = (np.repeat(each[None], n, axis=0) for each in (known.shared, known.unshared))
    if known.found:
        freedom = float(layout(tally, tables[0]).unshared_freedom.sum())
        rho = plausible(tally, tables, generator, divisor=freedom / events)
        shared, unshared = np.minimum(rho + _doubt(events), 1.0), 1.0 - rho
    together = np.repeat(known.together[None], n, axis=0)
    return OfRates(shared, unshared, np.repeat(known.rates, n), np.repeat(known.found, n), together)


def _doubt(events: float) -> float:
    """Return the share of noise of which nobody knows whether it is common."""
    return _CAUTION / (events + _CAUTION)


def pooled(tally: Tally, noise: Array) -> Array:
    """Return [...] ρ of studies as if it were the same in all contexts; 0 where chance would do as much."""
    found = layout(tally, noise)
    ratio, common, unshared = found.ratio
    alike = fdtrc(common, unshared, ratio) < FOUND
    mean_square = found.unshared.sum(axis=-1) / unshared
    level = (found.unshared + found.common).sum(axis=-1) / (unshared + common)
    return np.where(alike, np.clip(1.0 - mean_square / np.where(alike, level, 1.0), 0.0, 1.0), 0.0)


def unevenness(tally: Tally, noise: Array, rho: Array) -> Array:
    """Return [...] how unevenly the noise that is not common to all is spread; 1 where it is even.

    With E the covariance of what is left of z when its mean over alternatives is taken away, that is
    g = (K − 1) tr E² / (tr E)²: 1 for the independent noise of the model, K − 1 if all of it lies in one
    direction, as it nearly does where neighbours have the same luck. tr E² is estimated without bias from the
    replications that all alternatives have, as in John's test of sphericity. A model that averages over
    neighbours takes such noise for signal unless its variance is multiplied by g.
    """
    found = np.ones(tally.shape[:-2])
    for study in np.ndindex(found.shape):
        if rho[study].max(initial=0.0) > 0:
            found[study] = _uneven(tally[study], noise[study])
    return found


def counted(rho: Array, uneven: Array | None) -> tuple[Array, Array]:
    """Return what the noise is multiplied by, [..., context], and its correlation after that.

    What is not common is multiplied by ``uneven`` (`unevenness`), what is common stays as it is.
    """
    if uneven is None:
        return np.ones_like(rho), rho
    level = rho + (1.0 - rho) * uneven[..., None]
    return level, rho / level


def _uneven(tally: Tally, noise: Array) -> float:
    """Return the `unevenness` of one study."""
    n_alternatives, freedom = tally.shape[0], 0
    cov, whole = np.zeros((n_alternatives, n_alternatives)), 0.0
    for part in _contexts(tally, noise):
        if part.alternative.shape[1] == n_alternatives:
            shared = part.present.all(axis=1, keepdims=True)
            n, z = shared.sum(axis=-1, keepdims=True), part.z * shared
            z = shared * (z - z.sum(axis=-1, keepdims=True) / np.maximum(n, 1))
            whole += float(np.sum(z**2))
            z -= z.mean(axis=1, keepdims=True)
            cov += np.tensordot(z, z, ((0, 2), (0, 2)))
            freedom += int(np.maximum(n - 1, 0).sum())
    trace = np.trace(cov)
    if freedom < _FEWEST_DEGREES or not trace > _ROUNDING * whole:
        return 1.0
    ratio = np.sum((cov / trace) ** 2)
    unbiased = (ratio - 1.0 / freedom) * freedom**2 / ((freedom - 1) * (freedom + 2))
    return float(np.clip((n_alternatives - 1) * unbiased, 1.0, max(n_alternatives - 1, 1)))


def likeness(tally: Tally, noise: Array) -> Array:
    """Return [...] P(replications of equal number are as alike as these, if they were independent)."""
    ratio, common, unshared = layout(tally, noise).ratio
    return np.asarray(fdtrc(common, unshared, ratio))


def goes_against(tally: Tally, noise: Array) -> BoolArray:
    """Return [...] whether common random numbers clearly make alternatives go against each other."""
    if tally.common is None:
        return np.zeros(tally.shape[:-2], bool)
    return np.asarray(layout(tally, noise).chance < CHANCE)


def _contexts(tally: Tally, noise: Array) -> Iterator[_Contexts]:
    """Yield the replications of the contexts in which something was observed, many contexts at once."""
    observed, shown = tally.count > 0, tally.common
    n, row = observed.sum(axis=0), np.cumsum(observed, axis=0) - 1
    k = c = rank = np.zeros(0, np.int64)
    z = np.zeros(0)
    if shown is not None and (kept := shown.alternative >= 0).any():
        k, c = shown.alternative[kept], shown.context[kept]
        rank = _ranked(c, np.unique(shown.number[kept], return_inverse=True)[1])
        z = (shown.value[kept] - tally.mean[k, c]) / np.sqrt(noise[k, c])
    for size in np.unique(n[n > 0]).tolist():
        alike, width = np.flatnonzero(n == size), int(rank[n[c] == size].max(initial=-1)) + 1
        step = max(1, _AT_ONCE // (size * max(width, size)))
        for begin in range(0, len(alike), step):
            context, place = alike[begin : begin + step], np.full(len(n), -1)
            place[context] = np.arange(len(context))
            own = place[c] >= 0
            where = place[c[own]], row[k[own], c[own]], rank[own]
            present, table = np.zeros((2, len(context), size, width))
            present[where], table[where] = 1.0, z[own]
            pairs = np.nonzero(observed[:, context].T)[1].reshape(-1, size), context[:, None]
            sd, rest = np.sqrt(noise[pairs]), tally.count[pairs] - present.sum(axis=-1)
            squares = np.where(rest > 0, tally.m2[pairs] / sd**2 - np.sum(table**2, axis=-1), 0.0)
            yield _Contexts(*pairs, sd, present, table, rest, np.maximum(squares, 0.0))
