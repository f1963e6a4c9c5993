"""Posteriors of Gaussian processes, dense in the observed cells: exact for any number of replications.

All are in the square-root form (`argbest.core.square_root_form`). `posterior` and `predict` are for many
alternatives, each by itself, about constants that are known; `joined` and `joined_at` for alternatives that
share nothing but noise; `dense` and `dense_at` for all cells of a study together, the constant integrated.
"""

import numpy as np

from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_prior import AdditivePrior, loadings_at
from argbest.core.arrays import Array, BoolArray
from argbest.core.foundations import ROOM, ByAlternative, ByFormula, Stack
from argbest.core.priors import NUGGET
from argbest.core.seen_cells import Data, halving
from argbest.core.square_root_form import (
    SquareRootForm,
    bracket,
    by_diagonal,
    cholesky_factor,
    precision_root,
    solve_each,
    square_root_form,
)
from argbest.core.tally import Tally
from argbest.core.whole_tables import ConditionedOn, ObservedForm


def posterior(prior: Array, constant: Array, noise: Array, tally: Tally) -> tuple[Array, Array]:
    """Return mean [..., C] and covariance [..., C, C] at the contexts.

    μ = m + K A (Ȳ − m) and S = K − K A K. Only data more exact than the kernel in doubles
    (`argbest.core.priors.NUGGET`) are taken as less exact. ``prior`` is K [..., C, C], ``constant`` m [...],
    ``noise`` σ² [..., C]; the tally's arrays are [..., C].
    """
    half, weighted = reduce(prior, constant, noise, tally)
    mean = constant[..., None] + np.einsum("...ic,...i->...c", half, weighted)
    return mean, prior - np.swapaxes(half, -1, -2) @ half


def predict(
    prior: Array, cross: Array, variance: Array, constant: Array, noise: Array, tally: Tally
) -> tuple[Array, Array]:
    """Return mean and variance [..., X] of the reward at new points.

    ``cross`` [..., C, X] is the prior covariance of contexts and points, ``variance`` [..., X] the points'.
    """
    half, weighted = reduce(prior, constant, noise, tally, cross)
    mean = constant[..., None] + np.einsum("...ix,...i->...x", half, weighted)
    return mean, np.maximum(variance - np.sum(half**2, axis=-2), 0.0)


def reduce(
    prior: Array, constant: Array, noise: Array, tally: Tally, cross: Array | None = None
) -> tuple[Array, Array]:
    """Return L⁻¹ D½ K and L⁻¹ D½ (Ȳ − m); with ``cross`` the first is L⁻¹ D½ ``cross``."""
    floor = NUGGET * tally.shape[-1] * tally.count * prior.diagonal(axis1=-2, axis2=-1)
    root = precision_root(tally.count, noise, floor)
    lower = cholesky_factor(bracket(prior, root))
    covariances = root[..., None] * (prior if cross is None else cross)
    right = np.concatenate([covariances, (root * (tally.mean - constant[..., None]))[..., None]], axis=-1)
    solved = solve_each(lower, right)
    return solved[..., :-1], solved[..., -1]


def joined(prior: Array, constant: Array, data: Data, noise_like: Array | None = None) -> AdditiveBelief:
    """Return the belief at the contexts.

    ``prior`` [..., alternative, context, context′] is each alternative's own, about ``constant``
    [..., alternative]; ``noise_like`` [..., alternative, context] are the loadings of what is like the noise.
    Dense in the observed cells, as `argbest.core.conditioning`, the constants known.
    """
    same = np.eye(prior.shape[-1], dtype=bool)
    mean, rows, n_rows = _joined_rows(prior, prior, constant, data, noise_like, same)
    whole = np.einsum("...cc->...c", prior) + (0.0 if noise_like is None else noise_like**2)
    tables = mean, np.maximum(whole - np.sum(rows**2, axis=-3), 0.0), data.noise
    foundation = ByAlternative(prior, noise_like)
    return AdditiveBelief(*tables, foundation, Stack(rows, n_rows), n_rows, shocks=data.shocks)


def joined_at(
    prior: Array,
    cross: Array,
    scale: Array,
    constant: Array,
    data: Data,
    like: tuple[Array | None, BoolArray],
) -> AdditiveBelief:
    """Return the belief at X new contexts, each by itself: arrays [X, ..., alternative, 1].

    ``cross`` [..., alternative, context, X] is the prior covariance with the contexts, ``scale``
    [..., alternative] the variance of a reward, ``like`` the loadings of what is like the noise at the
    contexts, and which of these the points are, [context, X]. The noise at a point is the alternative's
    average.
    """
    mean, rows, n_rows = _joined_rows(prior, cross, constant, data, *like)
    loadings = None if like[0] is None else loadings_at(like[0], like[1])
    whole = scale[..., None] + (0.0 if loadings is None else loadings**2)
    var = np.maximum(whole - np.sum(rows**2, axis=-3), 0.0)
    tables = mean, var, rows[..., :n_rows, :, :]
    mean, var, rows = (np.moveaxis(each, -1, 0)[..., None] for each in tables)
    noise = np.broadcast_to(data.noise.mean(axis=-1, keepdims=True), mean.shape)
    own = np.broadcast_to(scale[..., None, None], (*mean.shape, 1))
    at_points = None if loadings is None else np.moveaxis(loadings, -1, 0)[..., None]
    stack = Stack(np.ascontiguousarray(rows))
    return AdditiveBelief(mean, var, noise, ByAlternative(own, at_points), stack, n_rows)


def _joined_rows(
    prior: Array, cross: Array, constant: Array, data: Data, noise_like: Array | None, same: BoolArray
) -> tuple[Array, Array, int]:
    """Return the mean, the rows w = L⁻¹ D½ K_o* with room for more, and their number, study by study."""
    lead, (n_alternatives, there) = prior.shape[:-3], (prior.shape[-3], cross.shape[-1])
    n_rows = int((data.tally.count > 0).sum(axis=(-2, -1)).max())
    rows = np.zeros((*lead, n_rows + ROOM + n_rows // 8, n_alternatives, there))
    mean = np.broadcast_to(constant[..., None], (*lead, n_alternatives, there)).copy()
    for study in np.ndindex(lead):
        like = None if noise_like is None else noise_like[study]
        own = data.study(study)
        k, c = np.nonzero(own.tally.count > 0)
        form = _joined_form(prior[study], constant[study], own, like)
        covariances = np.zeros((len(k), n_alternatives, there))
        covariances[np.arange(len(k)), k] = cross[study][k, c]
        if like is not None:
            covariances += (like[k, c, None] * like[:, c].T)[..., None] * same[c][:, None, :]
        half = form.half(covariances)
        rows[study][: len(k)] = half.reshape(covariances.shape)
        mean[study] += (half.T @ form.values).reshape(n_alternatives, there)
    return mean, rows, n_rows


def _joined_form(prior: Array, constant: Array, data: Data, noise_like: Array | None) -> SquareRootForm:
    """Return the observed cells of one study, their values less the constants."""
    k, c = np.nonzero(data.tally.count > 0)
    halve, _, means = halving(data, np.einsum("kcc->kc", prior))
    near = np.where(k[:, None] == k, prior[k[:, None], c[:, None], c], 0.0)
    if noise_like is not None:
        near += np.where(c[:, None] == c, np.outer(noise_like[k, c], noise_like[k, c]), 0.0)
    return square_root_form(near, halve, means - constant[k])


def evidence_of_noise_like(
    prior: Array, constant: Array, data: Data, loadings: Array, scales: Array
) -> Array:
    """Return the log evidence [scale] of λ times what is like the noise, less that without it, of one study.

    ``loadings`` v [alternative, context] are those of λ = 1. With V their columns, one of a context, and
    W = L⁻¹ D½ V, the data have the covariance I + λ W Wᵀ in the square-root form.
    """
    k, c = np.nonzero(data.tally.count > 0)
    form = _joined_form(prior, constant, data, None)
    half = form.half(np.where(c[:, None] == np.arange(prior.shape[-1]), loadings[k, c][:, None], 0.0))
    values, vectors = np.linalg.eigh(half.T @ half)
    pull = (vectors.T @ (half.T @ form.values)) ** 2
    spread = 1.0 + scales[:, None] * np.maximum(values, 0.0)
    return np.asarray(0.5 * np.sum(scales[:, None] * pull / spread - np.log(spread), axis=-1))


_UNKNOWN = 100.0  # standard deviations of a replication: the constant while nothing is known of it


def dense(prior: AdditivePrior, data: Data) -> AdditiveBelief:
    """Return the belief at the contexts that are asked about."""
    asked_about, cross = prior, None
    if data.wanted is not None:
        asked_about, cross = prior.first(data.wanted), prior.with_first(data.wanted)
    mean, var, level, rows, n_rows = _reduced(prior, cross, data)
    foundation, past = ByFormula(asked_about, level), ConditionedOn(prior, data, observed_form)
    rest = foundation, Stack(rows, n_rows), n_rows
    return AdditiveBelief(mean, var, data.noise_wanted, *rest, shocks=data.shocks, past=past)


def observed_form(prior: AdditivePrior, data: Data) -> ObservedForm:
    """Return the observed cells of one study in the square-root form, values left out."""
    k, c = np.nonzero(data.tally.count > 0)
    if data.shares_noise:
        halve = halving(data, prior.variance)[0]
    else:
        halve = by_diagonal(data.root(prior.variance)[k, c])
    return ObservedForm(k, c, square_root_form(prior.between((k, c), (k, c)), halve, np.zeros(len(k))))


def dense_at(prior: AdditivePrior, cross: AdditivePrior, data: Data) -> AdditiveBelief:
    """Return the belief at X new contexts, each by itself: arrays [X, ..., alternative, 1].

    ``cross`` has the tables [..., context, X] in place of [..., context, context′]. The noise at a point is
    the alternative's average.
    """
    mean, var, level, rows, n_rows = _reduced(prior, cross, data)
    tables = mean, var, level, rows[..., :n_rows, :, :]
    mean, var, level, rows = (np.moveaxis(each, -1, 0)[..., None] for each in tables)
    noise = np.broadcast_to(data.noise_wanted.mean(axis=-1, keepdims=True), mean.shape)
    loadings = None if cross.loadings is None else np.moveaxis(cross.loadings, -1, 0)[..., None]
    foundation = ByFormula(prior.alone(len(mean), loadings), level)
    return AdditiveBelief(mean, var, noise, foundation, Stack(np.ascontiguousarray(rows)), n_rows)


def _reduced(
    prior: AdditivePrior, cross: AdditivePrior | None, data: Data
) -> tuple[Array, Array, Array, Array, int]:
    """Return mean, variance, q, the rows with room for more, and their number, study by study."""
    target = prior if cross is None else cross
    lead, n_alternatives = data.tally.shape[:-2], data.tally.shape[-2]
    shape = (*lead, n_alternatives, target.trend.shape[-1])
    n_rows = int((data.tally.count > 0).sum(axis=(-2, -1)).max())
    rows = np.empty((*lead, n_rows + ROOM + n_rows // 8, *shape[-2:]))
    mean, var, level = np.empty(shape), np.empty(shape), np.empty(shape)
    whole = prior.variance[..., None, None] + (0.0 if target.loadings is None else target.loadings**2)
    for study in np.ndindex(lead):
        own, other = prior.study(study), None if cross is None else cross.study(study)
        half, mean[study], level[study] = _reduced_study(own, other, data.study(study), rows[study])
        rows[study][len(half) : n_rows] = 0.0  # of studies that have fewer
        var[study] = whole[study] - np.einsum("rkc,rkc->kc", half, half) + level[study] ** 2
    return mean, np.maximum(var, 0.0), level, rows, n_rows


def _reduced_study(
    prior: AdditivePrior, cross: AdditivePrior | None, data: Data, place: Array
) -> tuple[Array, Array, Array]:
    """Return w = L⁻¹ D½ K_o* [cell, alternative, context] in ``place``, the mean and q of one study.

    Before anything is observed the constant is as good as unknown.
    """
    tally, noise, shift = data[:3]
    k, c = np.nonzero(tally.count > 0)
    if not len(k):
        table = tally.shape[-2], (prior if cross is None else cross).trend.shape[-1]
        level = np.full(table, _UNKNOWN * np.sqrt(prior.variance + noise.max()))
        return np.empty((0, *table)), np.full(table, shift), level
    near = prior.rows(k, c, tally.shape[-2])
    rows = near if cross is None else cross.rows(k, c, tally.shape[-2])
    if data.shares_noise:
        halve, _, means = halving(data, prior.variance)
    else:
        halve, means = by_diagonal(data.root(prior.variance)[k, c]), tally.mean[k, c]
    form = square_root_form(near[:, k, c], halve, means - shift)
    half = form.half(rows, place[: len(k)].reshape(len(k), -1))
    mean, level = form.posterior(half)
    table = rows.shape[1:]
    return half.reshape(-1, *table), shift + mean.reshape(table), level.reshape(table)
