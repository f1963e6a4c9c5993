"""The log evidence of the shared-trend GP from a study's tally, with its gradient; compiled by Numba.

f_k = g + δ_k with K_g and K_d = scale · correlation + offset + nugget the C×C prior covariances of g and of
every δ_k. With D_k = diag(N_k/σ²): B_k = I + D_k½ K_d D_k½, A_k = D_k½ B_k⁻¹ D_k½, Λ = Σ A_k, and
−½ [n log 2πσ² + Σ log|B_k| + log|M| + W/σ² + Σ r_kᵀA_k r_k − hᵀS_g h], h = Σ A_k r_k, is the log evidence.
Where the noise of the cells is σ² v, N/v takes the place of N, W/v that of W, and Σ N log v is added inside.
K_g = F Fᵀ by Cholesky with complete pivoting, cut where nothing is left: smooth kernels are singular to
rounding, and so M = I + Fᵀ Λ F, whose eigenvalues are at least 1, needs no jitter. S_g = F M⁻¹ Fᵀ.

θ = log(l_g 1 … l_g d, scale_g, l_δ 1 … l_δ d, scale_δ, offset, noise). Importing this module imports Numba.
"""

import numpy as np

from argbest.core.correlations import correlations
from argbest.core.evidence import (
    add_log_prior,
    compiled,
    doubt_of,
    factorise,
    greatest_diagonal,
    inverse_squares,
)
from argbest.core.kernels import NUGGET


@compiled
def prepare(separation, count, mean, m2, noise):  # type: ignore[no-untyped-def]
    """Return contiguous copies, for which all below is compiled only once, and sums over the cells.

    N observations of relative noise v weigh as much as N/v of noise 1: the counts returned are these. The
    sums are n, Σ W/v, the number of observed cells, and Σ N log v.
    """
    weight, sums = np.empty(count.shape), np.zeros(4)
    for a in range(count.shape[0]):
        for i in range(count.shape[1]):
            weight[a, i] = count[a, i] / noise[a, i]
            sums[0] += count[a, i]
            sums[1] += m2[a, i] / noise[a, i]
            sums[2] += count[a, i] > 0
            sums[3] += count[a, i] * np.log(noise[a, i])
    return separation.copy(), weight, mean.copy(), sums


@compiled
def _product(a, b):  # type: ignore[no-untyped-def]
    """Return the matrix product; far quicker to compile than Numba's own, and quick enough."""
    out = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for q in range(b.shape[0]):
            for j in range(b.shape[1]):
                out[i, j] += a[i, q] * b[q, j]
    return out


@compiled
def _apply(a, vector):  # type: ignore[no-untyped-def]
    """Return the product of a matrix and a vector."""
    out = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i] += a[i, j] * vector[j]
    return out


@compiled
def _smooth(half, vector):  # type: ignore[no-untyped-def]
    """Return S_g · vector = H Hᵀ · vector."""
    inner = np.zeros(half.shape[1])
    for i in range(half.shape[0]):
        for r in range(half.shape[1]):
            inner[r] += half[i, r] * vector[i]
    return _apply(half, inner)


@compiled
def _pivoted_root(correlation):  # type: ignore[no-untyped-def]
    """Return F with F Fᵀ = correlation to rounding, and its rank: the number of columns that are not 0.

    The largest remaining variance comes first, so what is cut off is nowhere larger than rounding.
    """
    c = correlation.shape[0]
    left, root, rank = np.ones(c), np.zeros((c, c)), 0
    for r in range(c):
        pivot = 0
        for i in range(c):
            pivot = i if left[i] > left[pivot] else pivot
        if left[pivot] <= 4e-16 * c:
            break
        size = np.sqrt(left[pivot])
        for i in range(c):
            # A context already taken has nothing left but rounding, which must not come back.
            if left[i] > 0.0:
                total = correlation[i, pivot]
                for j in range(r):
                    total -= root[i, j] * root[pivot, j]
                root[i, r] = total / size
                left[i] -= root[i, r] * root[i, r]
        root[pivot, r] = size
        left[pivot] = 0.0
        rank += 1
    return root, rank


@compiled
def _precisions(count, variance, scale, correlation, offset, nugget):  # type: ignore[no-untyped-def]
    """Return all A_k, their sum Λ, Σ log|B_k|, the largest entry of any B_k, and Σ tr B_k⁻¹."""
    k, c = count.shape
    each, total = np.empty((k, c, c)), np.zeros((c, c))
    b, upper, inverse = np.empty((c, c)), np.empty((c, c)), np.empty((c, c))
    root = np.empty(c)
    log_determinant, largest, trace = 0.0, 0.0, 0.0
    for a in range(k):
        for i in range(c):
            root[i] = np.sqrt(count[a, i] / variance)
            for j in range(i + 1):
                b[i, j] = root[i] * root[j] * (scale * correlation[i, j] + offset)
            b[i, i] += 1.0 + root[i] * root[i] * nugget
        largest = max(largest, greatest_diagonal(b))
        log_determinant += factorise(b, upper, inverse, 1.0)
        for i in range(c):
            trace += inverse[i, i]
            for j in range(c):
                each[a, i, j] = root[i] * inverse[i, j] * root[j]
                total[i, j] += each[a, i, j]
    return each, total, log_determinant, largest, trace


@compiled
def _trend_half(total, correlation, scale):  # type: ignore[no-untyped-def]
    """Return H with H Hᵀ = S_g = F M⁻¹ Fᵀ, and log|M|, M = I + Fᵀ Λ F, F Fᵀ = K_g = scale · correlation."""
    root, rank = _pivoted_root(correlation)
    c = total.shape[0]
    product, m = _product(total, root), np.zeros((rank, rank))
    for q in range(c):
        for i in range(rank):
            for j in range(i + 1):
                m[i, j] += scale * root[q, i] * product[q, j]
    for i in range(rank):
        m[i, i] += 1.0
    upper = np.zeros((rank, rank))  # receives the transposed inverse factor of M
    log_determinant = factorise(m, upper, np.empty((rank, rank)), 1.0)
    for i in range(rank):
        for j in range(i, rank):
            upper[i, j] *= np.sqrt(scale)
    return _product(root, upper), log_determinant


@compiled
def _profiled_mean(each, total, half, mean):  # type: ignore[no-untyped-def]
    """Return m = 1ᵀA Ȳ / 1ᵀA 1 over all cells, with A_kj = 1{k=j} A_k − A_k S_g A_j, and the trend S_g h.

    h = Σ A_k (Ȳ_k − m).
    """
    k, c = mean.shape
    sums, pulled = _apply(total, np.ones(c)), np.zeros(c)
    for a in range(k):
        weighted = _apply(each[a], mean[a])
        for i in range(c):
            pulled[i] += weighted[i]
    smooth = _smooth(half, sums)
    above, below = 0.0, 0.0
    for i in range(c):
        above += pulled[i] * (1.0 - smooth[i])
        below += sums[i] * (1.0 - smooth[i])
    for i in range(c):
        pulled[i] -= above / below * sums[i]
    return above / below, _smooth(half, pulled)


@compiled
def _add_pull(precision, alpha, half, pull):  # type: ignore[no-untyped-def]
    """Add α αᵀ − A + A S_g A, of which ½ tr(· K') is the derivative along K', to the lower triangle."""
    product = _product(precision, half)
    for i in range(alpha.size):
        for j in range(i + 1):
            total = alpha[i] * alpha[j] - precision[i, j]
            for r in range(half.shape[1]):
                total += product[i, r] * product[j, r]
            pull[i, j] += total


@compiled
def _add_slopes(theta, separation, pull, correlation, slope, gradient):  # type: ignore[no-untyped-def]
    """Add ½ tr(pull · K') for the log lengthscales and the log scale of one kernel; return ½ Σ pull."""
    d, c = separation.shape[0], separation.shape[1]
    precision, scale = inverse_squares(theta, d), np.exp(theta[d])
    everything = 0.0
    for i in range(c):
        for j in range(i + 1):
            weight = 0.5 * pull[i, j] if i == j else pull[i, j]
            everything += weight
            weight *= scale
            gradient[d] += weight * correlation[i, j]
            for g in range(d):
                gradient[g] += weight * slope[i, j] * separation[g, i, j] * precision[g]
    return everything


@compiled
def _pulls(count, mean, constant, variance, each, total, half, trend):  # type: ignore[no-untyped-def]
    """Return the pulls on K_d and on K_g, and (Σ rᵀα, Σ [α² − A_cc]/D over observed cells).

    r_k = Ȳ_k − m and α_k = A_k (r_k − S_g h); ``trend`` is S_g h.
    """
    k, c = count.shape
    on_deviation, on_trend = np.zeros((c, c)), np.zeros((c, c))
    residual, summed, before = np.empty(c), np.zeros(c), np.empty(c)
    quadratic, excess = 0.0, 0.0
    for a in range(k):
        for i in range(c):
            residual[i] = mean[a, i] - constant - trend[i]
            before[i] = on_deviation[i, i]
        alpha = _apply(each[a], residual)
        _add_pull(each[a], alpha, half, on_deviation)
        for i in range(c):
            summed[i] += alpha[i]
            quadratic += alpha[i] * (mean[a, i] - constant)
            if count[a, i] > 0:
                excess += (on_deviation[i, i] - before[i]) * variance / count[a, i]
    _add_pull(total, summed, half, on_trend)
    return on_deviation, on_trend, quadratic, excess


@compiled
def log_posterior(theta, code, data, rules, gradient):  # type: ignore[no-untyped-def]
    """Return (log evidence + log prior, constant mean, doubt) and fill the gradient in the log parameters.

    −½ [n log 2πσ² + Σ log|B_k| + log|M| + W/σ² + Σ r_kᵀA_k r_k − hᵀS_g h], the mean profiled out.
    In log σ²: ½ [W/σ² + Σ (α² − A_cc)/D], + ½ (cells − n), as tr(D S) = Σ (1 − A_cc/D).
    """
    separation, count, mean, sums = data
    n, within, cells = sums[0], sums[1], sums[2]
    d, p = separation.shape[0], theta.size
    for i in range(p):
        gradient[i] = 0.0
    prior = add_log_prior(theta, rules, gradient)
    if n == 0:
        return prior, 0.0, 0.0
    variance, offset = np.exp(theta[p - 1]), np.exp(theta[p - 2])
    near, near_slope = correlations(theta[d + 1 :], code, separation)
    far, far_slope = correlations(theta, code, separation)
    scale, trend_scale = np.exp(theta[p - 3]), np.exp(theta[d])
    share = NUGGET * count.size
    nugget = share * (trend_scale + scale + offset)
    each, total, log_b, largest, trace = _precisions(count, variance, scale, near, offset, nugget)
    half, log_m = _trend_half(total, far, trend_scale)
    constant, trend = _profiled_mean(each, total, half, mean)
    on_deviation, on_trend, quadratic, excess = _pulls(
        count, mean, constant, variance, each, total, half, trend
    )
    _add_slopes(theta, separation, on_trend, far, far_slope, gradient)
    rest = _add_slopes(theta[d + 1 :], separation, on_deviation, near, near_slope, gradient[d + 1 :])
    gradient[p - 2] += offset * rest
    for i in range(near.shape[0]):
        by_nugget = 0.5 * share * on_deviation[i, i]
        gradient[d] += trend_scale * by_nugget
        gradient[p - 3] += scale * by_nugget
        gradient[p - 2] += offset * by_nugget
    gradient[p - 1] += 0.5 * (within / variance + excess + cells - n)
    value = n * np.log(2.0 * np.pi * variance) + sums[3] + log_b + log_m + within / variance + quadratic
    return prior - 0.5 * value, constant, doubt_of(cells, largest, max(excess, 0.0) + 2.0 * trace)
