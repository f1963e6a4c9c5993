"""Linear prediction from a few design contexts, and the constants of the two-stage procedures TS and TS+."""

from itertools import product
from typing import NamedTuple

import numpy as np

from argbest.core.arrays import (
    Array,
    BoolArray,
    IntArray,
    gammaincc,
    gammainccinv,
    gammaincinv,
    gammaln,
    ndtr,
    xlogy,
)
from argbest.core.tally import Tally
from argbest.errors import InputError, TooFewDataError

_SINGULAR = 1e-12  # smallest over largest eigenvalue of ZᵀZ below which no line is determined
_MOST_COORDINATES = 12  # a box has 2^d corners
_TAIL = 1e-13  # probability left out at either end of the integrals
_NODES = 128  # of the integrals: h to nine digits, even with a single degree of freedom
_LARGEST_H = 1e12


def coordinates(separation: Array, rows: Array | None = None) -> Array:
    """Return the contexts' coordinates, 0 to 1 between two ends of the context set, [context, d].

    With the `ends` a and b and L their distance, x_c = (|c − a|² − |c − b|² + L²) / (2L²): the coordinate
    itself up to sign, shift and unit, which is all that a linear model with intercept needs. A category is 0
    at a, 1 at b and ½ elsewhere, once for every b, so that each one has an effect of its own; one that was
    never seen gets the average of them.

    ``separation`` is [d, context, context]; with ``rows`` [d, X, context], of other contexts, theirs [X, d].
    """
    rows = separation if rows is None else rows
    columns = [
        0.5 * ((rows[j, :, a] - rows[j, :, b]) / separation[j, a, b] + 1.0) for j, a, b in ends(separation)
    ]
    return np.stack(columns, axis=-1) if columns else np.zeros((rows.shape[1], 0))


def ends(separation: Array) -> list[tuple[int, int, int]]:
    """Return (j, a, b): along coordinate j, from context a to context b.

    Of numbers a is a context farthest from context 0, and b one farthest from a. Of three or more categories,
    which are all at distance 1, every other one is a b. Coordinates in which no two contexts differ are left
    out.
    """
    found = []
    for j, between in enumerate(separation):
        a = int(np.argmax(between[0]))
        others = [int(np.argmax(between[a]))]
        if np.all((between == 0) | (between == 1)):
            others = [int(b) for b in np.unique(np.argmin(between, axis=1)) if between[a, b] > 0]
        found += [(j, a, b) for b in others if between[a, b] > 0]
    return found


def regressors(x: Array) -> Array:
    """Return the rows z = (1, x), [..., d + 1]."""
    return np.concatenate([np.ones((*x.shape[:-1], 1)), x], axis=-1)


def extreme_design(x: Array) -> IntArray:
    """Return the positions of the contexts nearest to the corners of the box around all, each once, sorted.

    Two ends in one dimension. Distances count with every side of the box as 1; the first context wins ties.
    """
    n_contexts, d = x.shape
    if d > _MOST_COORDINATES:
        raise InputError(
            f"the contexts vary in {d} coordinates, so that their box has 2^{d} corners; the extreme design "
            f"serves up to {_MOST_COORDINATES}. Drop coordinates, or use another policy, such as 'gp-c-ocba'."
        )
    span = np.ptp(x, axis=0)
    unit = (x - x.min(axis=0)) / np.where(span > 0, span, 1.0)
    corners = np.array(list(product((0.0, 1.0), repeat=d))).reshape(2**d, d)
    # |x − corner|² up to what is the same for all contexts: no table [corner, context, d] is needed.
    distance = (unit**2).sum(axis=-1) - 2.0 * corners @ unit.T
    design: IntArray = np.unique(np.argmin(distance, axis=-1))
    if _is_singular(_normal_matrix(regressors(unit[design]), np.ones(len(design), bool))):
        raise InputError(
            f"the corners of the {n_contexts} contexts' box are nearest to contexts {design.tolist()} (by "
            f"position), which do not determine a linear function of {d} coordinate(s): {d + 1} of them must "
            "not lie in one plane. Add contexts near corners, or drop coordinates that follow from others."
        )
    return design


def completed(tally: Tally, excluded: BoolArray | None) -> tuple[Tally, BoolArray]:
    """Return the tally with stand-ins for alternatives that are lost, and [..., alternative] which are.

    These have no value and all their pairs are set aside: no line can be fitted to them, and they are not
    selected whatever is said of them.
    """
    lost = np.zeros(tally.shape[:-1], bool)
    if excluded is not None:
        lost = np.all(excluded & (tally.count == 0), axis=-1)
    if not lost.any():
        return tally, lost
    count, mean = np.where(lost[..., None], 1, tally.count), np.where(lost[..., None], 0.0, tally.mean)
    return Tally(count, mean, tally.m2), lost


def estimator(x: Array, observed: BoolArray) -> Array:
    """Return A = (ZᵀZ)⁻¹Zᵀ over the observed contexts, 0 for others, [..., d + 1, context].

    β = A ȳ: ordinary least squares from context averages, unweighted however the counts differ (Shen, Hong
    and Zhang 2021). ``x`` is [context, d], ``observed`` [..., context].
    """
    z = regressors(x)
    normal = _normal_matrix(z, observed)
    bad = _is_singular(normal)
    if np.any(bad):
        where = np.argwhere(bad)[0].tolist() if bad.ndim else []
        seen = np.flatnonzero(observed[tuple(where)]).tolist()
        raise TooFewDataError(
            f"the alternative at position {where} was observed at contexts {seen} only, which do not "
            f"determine a linear function of {x.shape[-1]} coordinate(s). Simulate every alternative at "
            "contexts that do, such as the corners of the context set."
        )
    return np.asarray(np.linalg.solve(normal, z.T * observed[..., None, :]), np.float64)


def least_squares(x: Array, mean: Array, observed: BoolArray) -> Array:
    """Return β [..., alternative, d + 1] by unweighted least squares from the observed contexts' averages."""
    return np.asarray(np.einsum("...pc,...c->...p", estimator(x, observed), np.where(observed, mean, 0.0)))


def prediction(x: Array, tally: Tally, noise: Array, at: Array) -> tuple[Array, Array]:
    """Return mean [..., X] and sampling covariance [..., X, X] of the fitted line at coordinates ``at``.

    With z_x the rows at ``at``: mean z_xᵀβ, covariance z_xᵀ A diag(v/N) Aᵀ z_x', v the ``noise`` of one
    replication, which is [..., alternative, context]. Every observed context is a design point.
    """
    observed = tally.count > 0
    weights: Array = regressors(at) @ estimator(x, observed)
    mean: Array = np.einsum("...xc,...c->...x", weights, np.where(observed, tally.mean, 0.0))
    var = np.where(observed, noise / np.maximum(tally.count, 1), 0.0)
    cov: Array = (weights * var[..., None, :]) @ np.swapaxes(weights, -1, -2)
    return mean, cov


def residuals(x: Array, tally: Tally, observed: BoolArray) -> tuple[Array, IntArray]:
    """Return Σ(Y − zᵀβ)² over the replications at the observed contexts, and its degrees of freedom N − p.

    Both [..., alternative]. From the tally: Σ_j W_j + N_j (ȳ_j − z_jᵀβ)².
    """
    # Around their average, so that large values that lie close together keep their differences.
    number = np.maximum(observed.sum(axis=-1, keepdims=True), 1)
    offset = tally.mean - np.where(observed, tally.mean, 0.0).sum(axis=-1, keepdims=True) / number
    fitted: Array = np.einsum("cp,...p->...c", regressors(x), least_squares(x, offset, observed))
    squares = np.where(observed, tally.m2 + tally.count * (offset - fitted) ** 2, 0.0).sum(axis=-1)
    return squares, np.where(observed, tally.count, 0).sum(axis=-1) - x.shape[-1] - 1


def leverage(design: Array, covariates: Array) -> Array:
    """Return zᵀ(ZᵀZ)⁻¹z [X]: variance of the prediction at each covariate for one unit-variance batch."""
    weights = regressors(covariates) @ estimator(design, np.ones(len(design), bool))
    return np.asarray(np.sum(weights**2, axis=-1))  # as A Aᵀ = (ZᵀZ)⁻¹, without forming an inverse


class Law(NamedTuple):
    """The law of νS²/σ² on which stage two is based, as a quadrature rule."""

    freedom: int
    nodes: Array
    weights: Array


def pooled_law(n0: int, n_points: int, n_coefficients: int) -> Law:
    """Return the law of TS: χ² with ν = n0·m − p, one variance per alternative."""
    return _least_chi2(n0 * n_points - n_coefficients, 1)


def pointwise_law(n0: int, n_points: int) -> Law:
    """Return the law of TS+: the least of m independent χ² with ν = n0 − 1, one variance per design point."""
    return _least_chi2(n0 - 1, n_points)


def constant_h(
    n_alternatives: int, design: Array, covariates: Array, law: Law, *, weights: Array, alpha: float = 0.05
) -> float:
    """Return the h at which the two-stage procedure of that law attains PCS 1 − alpha.

    E_X ∫ [∫ Φ(h / √(ν (1/t + 1/s) z_Xᵀ(ZᵀZ)⁻¹z_X)) g(s) ds]^(k−1) g(t) dt = 1 − α
    (Shen, Hong and Zhang 2021; g is the density of ``law``). X takes the ``covariates`` [X, d] with
    ``weights`` [X]; for the worst context give the covariate of largest `leverage` all the weight.
    """
    if not 0 < alpha < 1 - 1 / n_alternatives:
        raise InputError(
            f"alpha={alpha} with {n_alternatives} alternatives; expected a number above 0 and below "
            f"{1 - 1 / n_alternatives:g}, where choosing at random would do. The usual one is 0.05."
        )
    kept = weights > 0
    share = weights[kept] / weights[kept].sum()
    std = np.sqrt(leverage(design, covariates[kept]))
    spread = np.sqrt(law.freedom * (1 / law.nodes[:, None] + 1 / law.nodes))

    def excess(h: float) -> float:
        # One covariate at a time: the integrand's table stays small however many contexts there are.
        inner = [(ndtr(h / s / spread) @ law.weights) ** (n_alternatives - 1) for s in std]
        return float(share @ (np.stack(inner) @ law.weights)) - (1 - alpha)

    high = 1.0
    while excess(high) < 0:
        high *= 2.0
        if high > _LARGEST_H:
            raise InputError(
                f"alpha={alpha} needs a constant h beyond {_LARGEST_H:g} with {law.freedom} degree(s) of "
                "freedom; take more first-stage replications, or a larger alpha."
            )
    from scipy.optimize import brentq  # takes long, and only this procedure needs it

    return float(brentq(excess, 0.0, high, xtol=1e-10))


def _least_chi2(freedom: int, number: int) -> Law:
    """Return the law of the least of some independent χ²: density m g(t) (1 − G(t))^(m−1)."""
    if freedom < 1:
        raise TooFewDataError(
            f"the first stage leaves {freedom} degree(s) of freedom for a variance; at least 1 is needed. "
            "Take more first-stage replications at every design context."
        )
    half = 0.5 * freedom
    low = np.log(2.0 * gammaincinv(half, -np.expm1(np.log1p(-_TAIL) / number)))
    high = np.log(2.0 * gammainccinv(half, _TAIL ** (1 / number)))
    # In log t the densities are smooth bells, also with the few degrees of freedom for which 1/t has no mean.
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    log_t = low + 0.5 * (high - low) * (nodes + 1.0)
    t = np.exp(log_t)
    log_density = (half - 1) * (log_t - np.log(2.0)) - 0.5 * t - gammaln(half) - np.log(2.0)
    log_density += np.log(number) + xlogy(number - 1, gammaincc(half, 0.5 * t))
    return Law(freedom, t, 0.5 * (high - low) * weights * np.exp(log_density + log_t))


def _normal_matrix(z: Array, observed: BoolArray) -> Array:
    """Return ZᵀZ over the observed contexts, [..., p, p]."""
    return (z.T * observed[..., None, :]) @ z


def _is_singular(normal: Array) -> BoolArray:
    """Return whether the observed contexts determine no linear function, [...]."""
    values = np.linalg.eigvalsh(normal)
    return np.asarray(values[..., 0] <= _SINGULAR * values[..., -1])
