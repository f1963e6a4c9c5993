"""The GP posterior from a tally, exact and at a cost that does not depend on the number of observations."""

import numpy as np

from argbest.core.arrays import Array
from argbest.core.kernels import NUGGET
from argbest.core.tally import Tally
from argbest.core.triangular import solve_lower

_TRIANGULAR = 32  # rows from which a call of LAPACK's triangular solver for each matrix pays


def posterior(prior: Array, constant: Array, noise: Array, tally: Tally) -> tuple[Array, Array]:
    """Return mean [..., C] and covariance [..., C, C] at the contexts.

    μ = m + K A (Ȳ − m), S = K − K A K with A = D½ (I + D½ K D½)⁻¹ D½, D = diag(N/σ²). All eigenvalues of the
    bracket are at least 1: it needs no jitter, and contexts without observations need no special care; only
    data more exact than the kernel in doubles (`argbest.core.kernels.NUGGET`) are taken as less exact.
    ``prior`` is K [..., C, C], ``constant`` m [...], ``noise`` σ² [..., C]; the tally's arrays are [..., C].
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
    """Return L⁻¹ D½ K and L⁻¹ D½ r, where L is the Cholesky factor of I + D½ K D½."""
    observed = tally.count > 0
    floor = NUGGET * tally.shape[-1] * tally.count * np.einsum("...cc->...c", prior)
    root = np.sqrt(np.where(observed, tally.count / np.maximum(noise, np.where(observed, floor, 1.0)), 0.0))
    bracket = root[..., :, None] * prior * root[..., None, :]
    np.einsum("...cc->...c", bracket)[...] += 1.0
    residual = np.where(observed, tally.mean - constant[..., None], 0.0)
    right = np.concatenate(
        [root[..., None] * (prior if cross is None else cross), (root * residual)[..., None]], axis=-1
    )
    solved = _solved(np.asarray(np.linalg.cholesky(bracket), float), right)
    return solved[..., :-1], solved[..., -1]


def _solved(lower: Array, right: Array) -> Array:
    """Return L⁻¹ R of lower triangles L [..., n, n] and columns R [..., n, m]."""
    if lower.shape[-1] < _TRIANGULAR:
        return np.asarray(np.linalg.solve(lower, right), float)
    solved = np.empty(right.shape)
    for each in np.ndindex(right.shape[:-2]):
        solved[each] = solve_lower(lower[each], right[each])
    return solved
