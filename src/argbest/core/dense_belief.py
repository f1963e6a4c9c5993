"""The additive GP given its data, dense in the observed cells: exact, and the table may be of any size."""

from collections.abc import Callable

import numpy as np

from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array
from argbest.core.common_noise import blocks
from argbest.core.foundations import ROOM, ByFormula, Stack
from argbest.core.scipys import cholesky, solve_triangular
from argbest.core.seen_cells import Data

_UNKNOWN = 100.0  # standard deviations of an observation: the constant while nothing is known of it


def dense(prior: AdditivePrior, data: Data) -> AdditiveBelief:
    """Return the belief at the contexts."""
    mean, var, level, rows, n_rows = _reduced(prior, None, data)
    stack = Stack(rows, n_rows)
    foundation = ByFormula(prior, level)
    return AdditiveBelief(mean, var, data.noise, foundation, stack, n_rows, shocks=data.shocks)


def dense_at(prior: AdditivePrior, cross: AdditivePrior, data: Data) -> AdditiveBelief:
    """Return the belief at X new contexts, each by itself: arrays [X, ..., alternative, 1].

    ``cross`` has the tables [..., context, X] in place of [..., context, context′]. The noise at a point is
    the alternative's average.
    """
    mean, var, level, rows, n_rows = _reduced(prior, cross, data)
    tables = mean, var, level, rows[..., :n_rows, :, :]
    mean, var, level, rows = (np.moveaxis(each, -1, 0)[..., None] for each in tables)
    noise = np.broadcast_to(data.noise.mean(axis=-1, keepdims=True), mean.shape)
    foundation = ByFormula(prior.alone(len(mean)), level)
    return AdditiveBelief(mean, var, noise, foundation, Stack(np.ascontiguousarray(rows)), n_rows)


def _reduced(
    prior: AdditivePrior, cross: AdditivePrior | None, data: Data
) -> tuple[Array, Array, Array, Array, int]:
    """Return mean, variance, q, the rows with room for more, and their number, study by study."""
    there = prior if cross is None else cross
    lead, n_alternatives = data.tally.shape[:-2], data.tally.shape[-2]
    shape = (*lead, n_alternatives, there.trend.shape[-1])
    n_rows = int((data.tally.count > 0).sum(axis=(-2, -1)).max())
    rows = np.zeros((*lead, n_rows + ROOM + n_rows // 8, *shape[-2:]))
    mean, var, level = np.empty(shape), np.empty(shape), np.empty(shape)
    for study in np.ndindex(lead):
        own, other = prior.study(study), None if cross is None else cross.study(study)
        half, mean[study], level[study] = _reduced_study(own, other, data.study(study))
        var[study] = own.variance - np.sum(half**2, axis=0) + level[study] ** 2
        rows[study][: len(half)] = half
    return mean, np.maximum(var, 0.0), level, rows, n_rows


def _reduced_study(
    prior: AdditivePrior, cross: AdditivePrior | None, data: Data
) -> tuple[Array, Array, Array]:
    """Return w = L⁻¹ D½ K_o* [cell, alternative, context], the mean and q of one study.

    L is the Cholesky factor of I + D½ K_oo D½, whose eigenvalues are at least 1. With e = L⁻¹ D½ 1 and
    u = L⁻¹ D½ Ȳ the constant is m = eᵀu / eᵀe, the mean m + wᵀ(u − m e), and q = (1 − wᵀe) / √(eᵀe). Before
    anything is observed the constant is as good as unknown. Where noise is common, D½ has blocks.
    """
    tally, noise, shift, _ = data
    k, c = np.nonzero(tally.count > 0)
    if not len(k):
        table = tally.shape[-2], (prior if cross is None else cross).trend.shape[-1]
        level = np.full(table, _UNKNOWN * np.sqrt(prior.variance + noise.max()))
        return np.empty((0, *table)), np.full(table, shift), level
    near = prior.rows(k, c, tally.shape[-2])
    rows = near if cross is None else cross.rows(k, c, tally.shape[-2])
    if data.shares_noise:
        halve, means = halving(data, prior.variance)
        bracket, right = halve(halve(near[:, k, c]).T), [halve(rows.reshape(len(k), -1))]
        right += [halve(np.ones(len(k))), halve(means - shift)]
    else:
        root = data.root(prior.variance)[k, c]
        bracket, right = root[:, None] * near[:, k, c] * root, [root[:, None] * rows.reshape(len(k), -1)]
        right += [root, root * (tally.mean[k, c] - shift)]
    bracket.flat[:: len(k) + 1] += 1.0
    solved = solve_triangular(
        cholesky(bracket, lower=True, check_finite=False),
        np.column_stack(right),
        lower=True,
        check_finite=False,
    )
    half, ones, values = solved[:, :-2], solved[:, -2], solved[:, -1]
    below = ones @ ones
    constant = ones @ values / below
    mean = shift + constant + half.T @ (values - constant * ones)
    level = (1.0 - half.T @ ones) / np.sqrt(below)
    table = rows.shape[1:]
    return half.reshape(-1, *table), mean.reshape(table), level.reshape(table)


def halving(data: Data, variance: Array) -> tuple[Callable[[Array], Array], Array]:
    """Return the function that multiplies rows, one per observed cell, by R S⁻¹ (`Block`), and the means."""
    found = blocks(data.tally, data.floored(variance), np.asarray(data.correlation))
    k, c = np.nonzero(data.tally.count > 0)
    rank = np.full(data.tally.shape, -1)
    rank[k, c] = np.arange(len(k))
    cells = [rank[block.alternative, block.context] for block in found]
    mean = np.empty(len(k))
    for where, block in zip(cells, found, strict=True):
        mean[where] = block.mean

    def halve(rows: Array) -> Array:
        out = np.empty_like(rows)
        for where, block in zip(cells, found, strict=True):
            out[where] = (block.root / block.sd) @ rows[where]
        return out

    return halve, mean
