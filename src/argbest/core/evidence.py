"""The log evidence of one alternative's GP with its gradient, and what all evidences share, by Numba.

Evidences are in the square-root form (`argbest.core.square_root_form`) of the m cells with replications, the
nugget part of K: B = I + D½ K D½ and A = D½ B⁻¹ D½. They gather, weigh and solve the cells with the functions
below, and differ in K alone: here that of one alternative over its contexts, in
`argbest.core.additive_evidence` that of all cells of a study, in `argbest.core.structured_evidence` that of
very many cells by its structure.

Why the model `gp` has an evidence of its own, although alternatives as a leading axis with the own part alone
make it a case of the additive one: that evaluates four parts, of which three would be absent. Measured so,
the fits of an alternative take 1.6 to 1.9 times as long (10 to 100 contexts, first and later fits alike), and
each carries 2d + 7 parameters for the d + 2 that are learned. To leave the absent parts out the additive
evidence would need a branch at every step, and one more because the paper profiles the constant where the
additive model integrates it. So both remain, each short, on common ground.

Importing this module imports Numba, so only `argbest.core.fitting` and `argbest.core.additive` do, and only
when a fit is asked for.
"""

import functools
from typing import Any

import numpy as np

from argbest.compilation import compile_function
from argbest.core import priors
from argbest.core.by_address import CUBE, POINTER, ROW, TABLE, call, carray, passage, types
from argbest.core.cholesky import compiled, inlined, invert, invert_root
from argbest.core.priors import FLAT, GAMMA, NUGGET
from argbest.core.square_root_form import add_identity as _add_identity
from argbest.core.square_root_form import halve_both_sides as _halve_both_sides

_rbf, _rbf_slope = (inlined(f) for f in priors.KERNELS["rbf"])
_matern12, _matern12_slope = (inlined(f) for f in priors.KERNELS["matern12"])
_matern32, _matern32_slope = (inlined(f) for f in priors.KERNELS["matern32"])
_matern52, _matern52_slope = (inlined(f) for f in priors.KERNELS["matern52"])
_RBF, _MATERN12, _MATERN32, _ = range(4)
# NumPy's integers: for every other constant Numba would compile a function once more.
_THREE = np.int64(3)
ROOT, ALPHA, BETA, OF_MEAN, OF_ONE, ROWS = np.arange(6)  # scratch space [ROWS, cell]
halve_both_sides, add_identity = inlined(_halve_both_sides), inlined(_add_identity)
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


@compiled
def observed(separation, count, mean, m2, noise):  # type: ignore[no-untyped-def]
    """Return the data of the contexts with replications: only those enter the evidence.

    Squared distances [context, context, coordinate], cells and totals as of `observed_cells`, scratch space.
    """
    d, m = separation.shape[0], 0
    kept = np.empty(count.size, np.int64)
    for c in range(count.size):
        if count[c] > 0:
            kept[m] = c
            m += 1
    between, cells, totals = np.empty((m, m, d)), np.empty((_THREE, m)), np.zeros(3)
    for i in range(m):
        c = kept[i]
        cells[0, i], cells[1, i], cells[2, i] = count[c], mean[c], noise[c]
        totals[0] += count[c]
        totals[1] += m2[c] / noise[c]
        totals[2] += count[c] * np.log(noise[c])
        for j in range(m):
            for g in range(d):
                between[i, j, g] = separation[g, c, kept[j]]
    work = (
        np.empty((m, m)),
        np.empty((m, m)),
        np.empty((m, m)),
        np.empty((m, m)),
        np.empty((m, m)),
        np.empty((ROWS, m)),
    )
    return between, cells, totals, work


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
def _fill_kernel(theta, code, between, b, correlation, slope):  # type: ignore[no-untyped-def]
    """Fill the upper triangles of K, in ``b``, of the correlation, both with the nugget, and of the slope."""
    m, d = between.shape[0], between.shape[2]
    precision, scale = inverse_squares(theta, d), np.exp(theta[d])
    for i in range(m):
        for j in range(i, m):
            r2 = 0.0
            for g in range(d):
                r2 += between[i, j, g] * precision[g]
            correlation[i, j], slope[i, j] = correlate(code, r2)
            b[i, j] = scale * correlation[i, j]
        correlation[i, i] += m * NUGGET
        b[i, i] = scale * correlation[i, i]


@inlined
def _fill_gradient(theta, between, rows, inverse, correlation, slope, gradient):  # type: ignore[no-untyped-def]
    """Fill ½ αᵀK'α − ½ tr(A K') for every kernel parameter (the derivatives in logarithms)."""
    m, d = between.shape[0], between.shape[2]
    precision, scale = inverse_squares(theta, d), np.exp(theta[d])
    for i in range(m):
        for j in range(i, m):
            pull = rows[ALPHA, i] * rows[ALPHA, j] - rows[ROOT, i] * inverse[i, j] * rows[ROOT, j]
            pull *= scale
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
    between, cells, totals, work = data
    d, m = between.shape[2], cells.shape[1]
    for i in range(d + 2):
        gradient[i] = 0.0
    prior = add_log_prior(theta, rules, gradient)
    if m == 0:
        return prior, 0.0, 0.0
    variance = np.exp(theta[d + 1])
    b, lower, inverse, correlation, slope, rows = work
    weigh(cells, variance, rows)
    _fill_kernel(theta, code[0], between, b, correlation, slope)
    halve_both_sides(b, rows[ROOT])
    largest = add_identity(b)
    log_determinant = call(code[1], b, lower, inverse, m, 1.0)
    constant, _, squared, _, trace = solve(inverse, rows)
    quadratic = 0.0
    for i in range(m):
        rows[ALPHA, i] = rows[ROOT, i] * rows[OF_MEAN, i]
        quadratic += rows[ALPHA, i] * (cells[1, i] - constant)
    _fill_gradient(theta, between, rows, inverse, correlation, slope, gradient)
    gradient[d + 1] += noise_slope(totals, variance, m, trace, squared)
    value = log_likelihood(totals, variance, log_determinant, quadratic)
    return prior + value, constant, doubt_of(m, largest, trace + squared)


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
        (
            types.UniTuple(types.int64, 2),
            types.Tuple((CUBE, TABLE, ROW, types.UniTuple(TABLE, 6))),
            TABLE,
        )
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
    between, cells, totals, work = data
    d, m = between.shape[2], cells.shape[1]
    prior = add_log_prior(theta, rules, np.zeros(theta.size))
    if m == 0:
        return prior, 0.0
    variance = np.exp(theta[d + 1])
    b, lower, _, correlation, slope, rows = work
    weigh(cells, variance, rows)
    _fill_kernel(theta, code, between, b, correlation, slope)
    halve_both_sides(b, rows[ROOT])
    add_identity(b)
    log_determinant, above, below, quadratic = invert_root(b, lower, 1.0), 0.0, 0.0, 0.0
    ones, values = np.zeros(m), np.zeros(m)
    for i in range(m):
        for j in range(i + 1):
            ones[i] += lower[i, j] * rows[OF_ONE, j]
            values[i] += lower[i, j] * rows[OF_MEAN, j]
        above += ones[i] * values[i]
        below += ones[i] * ones[i]
    constant = above / below
    for i in range(m):
        quadratic += (values[i] - constant * ones[i]) ** 2
    return prior + log_likelihood(totals, variance, log_determinant, quadratic), constant


@inlined
def weigh(cells, variance, rows):  # type: ignore[no-untyped-def]
    """Fill the diagonal of D½, D½ Ȳ and D½ 1; σ² is ``variance`` times the relative noise of a cell."""
    for i in range(cells.shape[1]):
        rows[ROOT, i] = np.sqrt(cells[0, i] / (variance * cells[2, i]))
        rows[OF_MEAN, i], rows[OF_ONE, i] = rows[ROOT, i] * cells[1, i], rows[ROOT, i]


@compiled
def solve(inverse, rows):  # type: ignore[no-untyped-def]
    """Replace y and o by u and e, and return (constant, eᵀo, |u|², |e|²/eᵀo, tr B⁻¹).

    e = B⁻¹o, u = B⁻¹y − constant · e, and the constant makes uᵀo = 0. y is what the rows hold of the means, o
    what they hold of ones.
    """
    m = rows.shape[1]
    above, below, of_mean, of_one, trace = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(m):
        first, second = 0.0, 0.0
        for j in range(m):
            first += inverse[i, j] * rows[OF_MEAN, j]
            second += inverse[i, j] * rows[OF_ONE, j]
        rows[ALPHA, i], rows[BETA, i] = first, second
        above += rows[OF_ONE, i] * first
        below += rows[OF_ONE, i] * second
        trace += inverse[i, i]
    constant = above / below
    for i in range(m):
        rows[OF_ONE, i] = rows[BETA, i]
        rows[OF_MEAN, i] = rows[ALPHA, i] - constant * rows[BETA, i]
        of_mean += rows[OF_MEAN, i] * rows[OF_MEAN, i]
        of_one += rows[BETA, i] * rows[BETA, i] / below
    return constant, below, of_mean, of_one, trace


@inlined
def log_likelihood(totals, variance, log_determinant, quadratic):  # type: ignore[no-untyped-def]
    """Return −½ [n log 2πσ² + Σ N log noise + log|B| + Σ W/(σ² noise) + rᵀA r], the constant known.

    ``totals`` are those of `observed_cells`, σ² is the ``variance``.
    """
    total = totals[0] * np.log(2.0 * np.pi * variance) + totals[2] + log_determinant
    return -0.5 * (total + totals[1] / variance + quadratic)


@inlined
def noise_slope(totals, variance, m, trace, squared):  # type: ignore[no-untyped-def]
    """Return the derivative of the log evidence in log σ², where alternatives share no noise.

    ``trace`` is tr B⁻¹, ``squared`` is |u|², and |e|²/eᵀo more where the constant is integrated (`solve`).
    """
    return -0.5 * (totals[0] - m + trace - totals[1] / variance - squared)


@inlined
def doubt_of(m, largest, weight):  # type: ignore[no-untyped-def]
    """Return how much rounding may change a log evidence, in nats.

    Rounding perturbs B by E, whose entries are about ε times the largest of B and whose norm is then about
    2√m of that. log|B| changes by tr(B⁻¹E), rᵀA r by uᵀE u, u = B⁻¹D½r; ``weight`` is tr B⁻¹ + |u|².
    """
    return np.sqrt(m) * _EPSILON * largest * weight
