"""The log evidence of one alternative's GP with its gradient, and what other evidences share, by Numba.

For the m contexts with observations, D = diag(N_c/σ_c²), B = I + D½ K D½ and A = D½ B⁻¹ D½, the nugget part
of K. Importing this module imports Numba, so only `argbest.core.fitting` does, and only when a fit is asked
for.
"""

import functools
from typing import Any

import numpy as np

from argbest.compilation import compile_function
from argbest.core import priors
from argbest.core.by_address import CUBE, POINTER, ROW, TABLE, call, carray, passage, types
from argbest.core.cholesky import compiled, inlined, invert, invert_root
from argbest.core.priors import FLAT, GAMMA, NUGGET

_rbf, _rbf_slope = (inlined(f) for f in priors.KERNELS["rbf"])
_matern12, _matern12_slope = (inlined(f) for f in priors.KERNELS["matern12"])
_matern32, _matern32_slope = (inlined(f) for f in priors.KERNELS["matern32"])
_matern52, _matern52_slope = (inlined(f) for f in priors.KERNELS["matern52"])
_RBF, _MATERN12, _MATERN32, _ = range(4)
_THREE = np.int64(3)  # not a literal: for that Numba would compile `np.empty` once more
_EPSILON = float(np.finfo(float).eps)


@inlined
def correlate(code, r2):  # type: ignore[no-untyped-def]
    """Return (correlation, slope) of the kernel with this code."""
    if code == _RBF:
        return _rbf(r2), _rbf_slope(r2)
    if code == _MATERN12:
        return _matern12(r2), _matern12_slope(r2)
    if code == _MATERN32:
        return _matern32(r2), _matern32_slope(r2)
    return _matern52(r2), _matern52_slope(r2)


@inlined
def _workspace(m):  # type: ignore[no-untyped-def]
    """Return the scratch arrays of ``log_posterior`` for m observed contexts."""
    return (
        np.empty((m, m)),
        np.empty((m, m)),
        np.empty((m, m)),
        np.empty((m, m)),
        np.empty((m, m)),
        np.empty((2, m)),
    )


@inlined
def observed(separation, count, mean, m2, noise):  # type: ignore[no-untyped-def]
    """Return the data of the contexts that hold observations: only those enter the evidence.

    The last but one entry is (n, Σ W_c/noise_c, Σ N_c log noise_c), the last is scratch space.
    """
    d, m = separation.shape[0], 0
    kept = np.empty(count.size, np.int64)
    for c in range(count.size):
        if count[c] > 0:
            kept[m] = c
            m += 1
    between, totals = np.empty((m, m, d)), np.zeros(3)
    counts, means, noises = np.empty(m), np.empty(m), np.empty(m)
    for i in range(m):
        c = kept[i]
        counts[i], means[i], noises[i] = count[c], mean[c], noise[c]
        totals[0] += count[c]
        totals[1] += m2[c] / noise[c]
        totals[2] += count[c] * np.log(noise[c])
        for j in range(m):
            for g in range(d):
                between[i, j, g] = separation[g, c, kept[j]]
    return between, counts, means, noises, totals, _workspace(m)


@inlined
def add_log_prior(theta, rules, gradient):  # type: ignore[no-untyped-def]
    """Add the priors' derivatives in log θ to the gradient and return Σ log p(θ), constants dropped."""
    value = 0.0
    for i in range(theta.size):
        family, a, b = rules[i, 0], rules[i, 1], rules[i, 2]
        if family == FLAT:
            continue
        if family == GAMMA:
            x = np.exp(theta[i])
            value += (a - 1.0) * theta[i] - b * x
            gradient[i] += (a - 1.0) - b * x
        else:
            z = (theta[i] - a) / b
            value += -theta[i] - 0.5 * z * z
            gradient[i] += -1.0 - z / b
    return value


@compiled
def inverse_squares(theta, d):  # type: ignore[no-untyped-def]
    """Return 1/l² of every coordinate."""
    precision = np.empty(d)
    for g in range(d):
        precision[g] = np.exp(-2.0 * theta[g])
    return precision


@inlined
def _fill_kernel(theta, code, between, root, b, correlation, slope):  # type: ignore[no-untyped-def]
    """Fill the upper triangles of B = I + D½ K D½, of correlation, nugget included, and of slope."""
    m, d = between.shape[0], between.shape[2]
    precision, scale = inverse_squares(theta, d), np.exp(theta[d])
    for i in range(m):
        for j in range(i, m):
            r2 = 0.0
            for g in range(d):
                r2 += between[i, j, g] * precision[g]
            correlation[i, j], slope[i, j] = correlate(code, r2)
            b[i, j] = root[i] * root[j] * scale * correlation[i, j]
        correlation[i, i] += m * NUGGET
        b[i, i] = 1.0 + root[i] * root[i] * scale * correlation[i, i]


@inlined
def _fill_gradient(theta, between, alpha, root, inverse, correlation, slope, gradient):  # type: ignore[no-untyped-def]
    """Fill ½ αᵀK'α − ½ tr(A K') for every kernel parameter (the derivatives in logarithms)."""
    m, d = between.shape[0], between.shape[2]
    precision, scale = inverse_squares(theta, d), np.exp(theta[d])
    for i in range(m):
        for j in range(i, m):
            pull = scale * (alpha[i] * alpha[j] - root[i] * inverse[i, j] * root[j])
            if i == j:
                pull *= 0.5
            gradient[d] += pull * correlation[i, j]
            for g in range(d):
                gradient[g] += pull * slope[i, j] * between[i, j, g] * precision[g]


@inlined
def log_posterior(theta, code, data, rules, gradient):  # type: ignore[no-untyped-def]
    """Return (log evidence + log prior, constant mean, doubt) and fill the gradient in the log parameters.

    −½ [n log 2πσ² + Σ N_c log noise_c + log|B| + W/σ² + rᵀA r], the mean profiled out: m = 1ᵀAȲ / 1ᵀA1.
    The noise variance of context c is exp(θ_last) · noise_c. ``code`` is (kernel, address of `invert`).
    """
    between, count, mean, noise, totals, work = data
    d, m, n = between.shape[2], count.size, totals[0]
    for i in range(d + 2):
        gradient[i] = 0.0
    prior = add_log_prior(theta, rules, gradient)
    if m == 0:
        return prior, 0.0, 0.0
    variance = np.exp(theta[d + 1])
    b, lower, inverse, correlation, slope, vectors = work
    root, alpha = vectors[0], vectors[1]
    for i in range(m):
        root[i] = np.sqrt(count[i] / (variance * noise[i]))
    _fill_kernel(theta, code[0], between, root, b, correlation, slope)
    largest = greatest_diagonal(b)
    log_determinant = call(code[1], b, lower, inverse, m, 1.0)
    constant = profiled_mean(root, inverse, mean)
    quadratic, squared, trace = 0.0, 0.0, 0.0
    for i in range(m):
        u = 0.0
        for j in range(m):
            u += inverse[i, j] * root[j] * (mean[j] - constant)
        alpha[i] = root[i] * u
        quadratic += alpha[i] * (mean[i] - constant)
        squared += u * u
        trace += inverse[i, i]
    _fill_gradient(theta, between, alpha, root, inverse, correlation, slope, gradient)
    within = totals[1] / variance
    gradient[d + 1] -= 0.5 * (n - m + trace - within - squared)
    total = n * np.log(2.0 * np.pi * variance) + totals[2] + log_determinant + within + quadratic
    return prior - 0.5 * total, constant, doubt_of(m, largest, trace + squared)


def _invert_body(b, lower, inverse, m, least):  # type: ignore[no-untyped-def]
    """Do what `invert` does."""
    shape = (m, m)
    return invert(carray(b, shape), carray(lower, shape), carray(inverse, shape), least)


@functools.cache
def inverting() -> Any:
    """Return the compiled `invert`, which evidences know by its address."""
    return compile_function(
        _invert_body, types.float64(POINTER, POINTER, POINTER, types.int64, types.float64)
    )


lend, _borrow = passage(
    types.Tuple(
        (types.UniTuple(types.int64, 2), types.Tuple((CUBE, *[ROW] * 4, types.UniTuple(TABLE, 6))), TABLE)
    )
)  # code, data and rules of `log_posterior`


def evaluate(given, theta, gradient, found):  # type: ignore[no-untyped-def]
    """Return the log posterior, fill its gradient and (constant, doubt): an objective for a search."""
    code, data, rules = _borrow(given)
    p = rules.shape[0]
    value, found[0], found[1] = log_posterior(carray(theta, p), code, data, rules, carray(gradient, p))
    return value


@inlined
def log_value(theta, code, data, rules):  # type: ignore[no-untyped-def]
    """Return (log evidence + log prior, constant mean): what `log_posterior` does, without slopes.

    With B = LLᵀ, e = L⁻¹ D½ 1 and u = L⁻¹ D½ Ȳ, the mean is eᵀu / eᵀe and rᵀA r = |u − m e|².
    """
    between, count, mean, noise, totals, work = data
    d, m, n = between.shape[2], count.size, totals[0]
    prior = add_log_prior(theta, rules, np.zeros(theta.size))
    if m == 0:
        return prior, 0.0
    variance = np.exp(theta[d + 1])
    b, lower, _, correlation, slope, vectors = work
    root = vectors[0]
    for i in range(m):
        root[i] = np.sqrt(count[i] / (variance * noise[i]))
    _fill_kernel(theta, code, between, root, b, correlation, slope)
    log_determinant, above, below, quadratic = invert_root(b, lower, 1.0), 0.0, 0.0, 0.0
    ones, values = np.zeros(m), np.zeros(m)
    for i in range(m):
        for j in range(i + 1):
            ones[i] += lower[i, j] * root[j]
            values[i] += lower[i, j] * root[j] * mean[j]
        above += ones[i] * values[i]
        below += ones[i] * ones[i]
    constant = above / below
    for i in range(m):
        quadratic += (values[i] - constant * ones[i]) ** 2
    total = n * np.log(2.0 * np.pi * variance) + totals[2] + log_determinant
    return prior - 0.5 * (total + totals[1] / variance + quadratic), constant


@inlined
def greatest_diagonal(b):  # type: ignore[no-untyped-def]
    """Return the largest entry of a covariance matrix, which stands on its diagonal."""
    largest = 0.0
    for i in range(b.shape[0]):
        largest = max(largest, b[i, i])
    return largest


@inlined
def doubt_of(m, largest, weight):  # type: ignore[no-untyped-def]
    """Return how much rounding may change a log evidence, in nats.

    Rounding perturbs B by E, whose entries are about ε times the largest of B and whose norm is then about
    2√m of that. log|B| changes by tr(B⁻¹E), rᵀA r by uᵀE u, u = B⁻¹D½r; ``weight`` is tr B⁻¹ + |u|².
    """
    return np.sqrt(m) * _EPSILON * largest * weight


@inlined
def profiled_mean(root, inverse, mean):  # type: ignore[no-untyped-def]
    """Return 1ᵀAȲ / 1ᵀA1."""
    above, below = 0.0, 0.0
    for i in range(root.size):
        weight = 0.0
        for j in range(root.size):
            weight += inverse[i, j] * root[j]
        above += weight * root[i] * mean[i]
        below += weight * root[i]
    return above / below


@inlined
def observed_cells(count, mean, m2, noise):  # type: ignore[no-untyped-def]
    """Return the observed cells of a study, context by context, in contiguous arrays.

    ``alternative`` [cell]; ``context`` [g], those observed, and ``first`` [g + 1], where the cells of each
    begin; ``cells`` [3, cell]: count, mean and relative noise; ``totals``: n, Σ W/noise and Σ N log noise.
    """
    n_alternatives, n_contexts = count.shape
    context, first, g, m = np.empty(n_contexts, np.int64), np.empty(n_contexts + 1, np.int64), 0, 0
    alternative, cells, totals = np.empty(count.size, np.int64), np.empty((_THREE, count.size)), np.empty(3)
    first[0], totals[0], totals[1], totals[2] = 0, 0.0, 0.0, 0.0
    for c in range(n_contexts):
        for k in range(n_alternatives):
            if count[k, c] > 0:
                alternative[m] = k
                cells[0, m], cells[1, m], cells[2, m] = count[k, c], mean[k, c], noise[k, c]
                totals[0] += count[k, c]
                totals[1] += m2[k, c] / noise[k, c]
                totals[2] += count[k, c] * np.log(noise[k, c])
                m += 1
        if m > first[g]:
            context[g], first[g + 1] = c, m
            g += 1
    return alternative[:m], context[:g], first[: g + 1], cells[:, :m].copy(), totals
