"""Alternatives with processes of their own, joined by the noise they share: the posterior of all at once."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from argbest.core.additive_belief import ROOM, AdditiveBelief, Data, Stack
from argbest.core.arrays import Array
from argbest.core.dense_belief import halving
from argbest.core.foundations import ByAlternative


def joined(prior: Array, constant: Array, data: Data) -> AdditiveBelief:
    """Return the belief at the contexts.

    ``prior`` [..., alternative, context, context′] is each alternative's own, about ``constant``
    [..., alternative]. Dense in the observed cells, as `argbest.core.dense_belief`, the constants known.
    """
    mean, rows, n_rows = _reduced(prior, prior, constant, data)
    var = np.einsum("...cc->...c", prior) - np.sum(rows**2, axis=-3)
    tables = mean, np.maximum(var, 0.0), data.noise
    return AdditiveBelief(*tables, ByAlternative(prior), Stack(rows, n_rows), n_rows, shocks=data.shocks)


def joined_at(prior: Array, cross: Array, scale: Array, constant: Array, data: Data) -> AdditiveBelief:
    """Return the belief at X new contexts, each by itself: arrays [X, ..., alternative, 1].

    ``cross`` [..., alternative, context, X] is the prior covariance with the contexts, ``scale``
    [..., alternative] the variance of a reward. The noise at a point is the alternative's average.
    """
    mean, rows, n_rows = _reduced(prior, cross, constant, data)
    var = np.maximum(scale[..., None] - np.sum(rows**2, axis=-3), 0.0)
    tables = mean, var, rows[..., :n_rows, :, :]
    mean, var, rows = (np.moveaxis(each, -1, 0)[..., None] for each in tables)
    noise = np.broadcast_to(data.noise.mean(axis=-1, keepdims=True), mean.shape)
    own = np.broadcast_to(scale[..., None, None], (*mean.shape, 1))
    return AdditiveBelief(mean, var, noise, ByAlternative(own), Stack(np.ascontiguousarray(rows)), n_rows)


def _reduced(prior: Array, cross: Array, constant: Array, data: Data) -> tuple[Array, Array, int]:
    """Return the mean, the rows w = L⁻¹ Λ½ K_o* with room for more, and their number, study by study."""
    lead, (n_alternatives, there) = prior.shape[:-3], (prior.shape[-3], cross.shape[-1])
    n_rows = int((data.tally.count > 0).sum(axis=(-2, -1)).max())
    rows = np.zeros((*lead, n_rows + ROOM + n_rows // 8, n_alternatives, there))
    mean = np.broadcast_to(constant[..., None], (*lead, n_alternatives, there)).copy()
    for study in np.ndindex(lead):
        own = data.study(study)
        k, c = np.nonzero(own.tally.count > 0)
        halve, means = halving(own, np.einsum("kcc->kc", prior[study]))
        near = np.where(k[:, None] == k, prior[study][k[:, None], c[:, None], c], 0.0)
        bracket = halve(halve(near).T)
        bracket.flat[:: len(k) + 1] += 1.0
        towards = np.zeros((len(k), n_alternatives, there))
        towards[np.arange(len(k)), k] = cross[study][k, c]
        right = [halve(towards.reshape(len(k), -1)), halve(means - constant[study][k])]
        factor = cholesky(bracket, lower=True, check_finite=False)
        solved = solve_triangular(factor, np.column_stack(right), lower=True, check_finite=False)
        rows[study][: len(k)] = solved[:, :-1].reshape(towards.shape)
        mean[study] += (solved[:, :-1].T @ solved[:, -1]).reshape(n_alternatives, there)
    return mean, rows, n_rows
