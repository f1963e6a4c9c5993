"""The log evidence of the additive GP from the observed cells of a study, with its gradient.

Cov(f_k(c), f_j(c′)) = s_g κ_g(c, c′) + κ_A(k, j) (s_a + s_h κ_C(c, c′)) + s_d 1{k = j} κ_C(c, c′): trend,
offset, joint part and own deviation. Of names κ_A(k, j) = 1{k = j}. For the m observed cells,
D = diag(N/σ²), B = I + D½ K D½ and A = D½ B⁻¹ D½, the nugget part of K. θ = (log lengths of the trend, of the
alternatives, of the contexts; log s_g, s_a, s_h, s_d; log noise). The constant is flat and integrated.
Compiled by Numba, which importing this module imports.
"""

import numpy as np

from argbest.core.blocked_cholesky import factorise_in_blocks
from argbest.core.correlations import add_lengths, correlations
from argbest.core.evidence import add_log_prior, compiled, doubt_of, greatest_diagonal
from argbest.core.kernels import NUGGET
from argbest.core.observed_cells import observed_cells

PARTS = 4  # trend, offset, joint, own: their scales stand before the noise


@compiled
def _numbered(of, size):  # type: ignore[no-untyped-def]
    """Return which entries occur, in order, and replace every entry by its rank among them."""
    rank, kept, m = np.full(size, -1), np.empty(size, np.int64), 0
    for i in range(of.size):
        rank[of[i]] = 0
    for k in range(size):
        if rank[k] == 0:
            rank[k], kept[m] = m, k
            m += 1
    for i in range(of.size):
        of[i] = rank[of[i]]
    return kept[:m]


@compiled
def _distances(points, categorical, kept):  # type: ignore[no-untyped-def]
    """Return squared distances [coordinate, i, j] of the kept points; a category's is 0 or 1."""
    out = np.empty((points.shape[1], kept.size, kept.size))
    for g in range(points.shape[1]):
        for i in range(kept.size):
            for j in range(kept.size):
                step = points[kept[i], g] - points[kept[j], g]
                out[g, i, j] = step * step if categorical[g] == 0.0 or step == 0.0 else 1.0
    return out


@compiled
def prepare(points, categorical, separation, count, mean, m2, noise):  # type: ignore[no-untyped-def]
    """Return the data of the observed cells, in contiguous arrays, and scratch space: none depends on K·C.

    As `observed_cells`, but ``place`` holds alternative and context by their rank among the observed ones.
    """
    place, cells, totals = observed_cells(count, mean, m2, noise)
    m = cells.shape[1]
    alternatives = _distances(points, categorical, _numbered(place[0], count.shape[0]))
    kept = _numbered(place[1], count.shape[1])
    contexts = np.empty((separation.shape[0], kept.size, kept.size))
    for g in range(separation.shape[0]):
        for i in range(kept.size):
            for j in range(kept.size):
                contexts[g, i, j] = separation[g, kept[i], kept[j]]
    work = np.empty((m, m)), np.empty((m, m)), np.empty((m, m))
    return alternatives, contexts, place, cells, totals, work


@compiled
def _relation(lengths, code, alternatives):  # type: ignore[no-untyped-def]
    """Return κ_A and its slope; of names (``code[1]`` set) the identity, which has none."""
    if code[1] == 0:
        return correlations(lengths, code[0], alternatives)
    n = alternatives.shape[1]
    return np.eye(n), np.zeros((n, n))


@compiled
def _fill(place, root, scales, tables, b):  # type: ignore[no-untyped-def]
    """Fill the lower triangle of B = I + D½ K D½, nugget included."""
    trend, relation, nearness = tables
    nugget = root.size * NUGGET * scales.sum()
    for i in range(root.size):
        k, c = place[0, i], place[1, i]
        for j in range(i + 1):
            kk, cc = place[0, j], place[1, j]
            total = scales[0] * trend[c, cc] + relation[k, kk] * (scales[1] + scales[2] * nearness[c, cc])
            if k == kk:
                total += scales[3] * nearness[c, cc]
            b[i, j] = root[i] * root[j] * total
        b[i, i] += 1.0 + nugget * root[i] * root[i]


@compiled
def _weigh(root, inverse, mean):  # type: ignore[no-untyped-def]
    """Return (α, β, constant, 1ᵀA1, rᵀAr, |B⁻¹D½r|² + |B⁻¹D½1|²/1ᵀA1, tr B⁻¹).

    α = A(Ȳ − constant) with the constant 1ᵀAȲ / 1ᵀA1, β = A1 / √(1ᵀA1).
    """
    m = root.size
    of_mean, of_one = np.zeros(m), np.zeros(m)
    above, below, trace = 0.0, 0.0, 0.0
    for i in range(m):
        for j in range(m):
            of_mean[i] += inverse[i, j] * root[j] * mean[j]
            of_one[i] += inverse[i, j] * root[j]
        above += root[i] * of_mean[i]
        below += root[i] * of_one[i]
        trace += inverse[i, i]
    constant = above / below
    alpha, beta, quadratic, squared = np.empty(m), np.empty(m), 0.0, 0.0
    for i in range(m):
        u = of_mean[i] - constant * of_one[i]
        alpha[i] = root[i] * u
        beta[i] = root[i] * of_one[i] / np.sqrt(below)
        quadratic += alpha[i] * (mean[i] - constant)
        squared += u * u + of_one[i] * of_one[i] / below
    return alpha, beta, constant, below, quadratic, squared, trace


@compiled
def _pulls(place, root, alpha, beta, inverse, scales, tables, slopes):  # type: ignore[no-untyped-def]
    """Fill the slopes of the four scales and return the pulls on κ_g, κ_A and κ_C.

    Σ pull · κ′ over all pairs is ½ tr[(ααᵀ + ββᵀ − A) K′]: the m × m pull, each pair of cells once, is
    contracted with the other factor; O(m²).
    """
    trend, relation, nearness = tables
    on_trend, on_relation, on_nearness = (
        np.zeros(trend.shape),
        np.zeros(relation.shape),
        np.zeros(trend.shape),
    )
    for i in range(root.size):
        k, c = place[0, i], place[1, i]
        for j in range(i + 1):
            kk, cc = place[0, j], place[1, j]
            pull = alpha[i] * alpha[j] + beta[i] * beta[j] - root[i] * inverse[i, j] * root[j]
            if i == j:
                pull *= 0.5
            near, related = nearness[c, cc], relation[k, kk]
            on_trend[c, cc] += pull * scales[0]
            on_relation[k, kk] += pull * (scales[1] + scales[2] * near)
            on_nearness[c, cc] += pull * scales[2] * related
            slopes[0] += pull * scales[0] * trend[c, cc]
            slopes[1] += pull * scales[1] * related
            slopes[2] += pull * scales[2] * related * near
            if k == kk:
                on_nearness[c, cc] += pull * scales[3]
                slopes[3] += pull * scales[3] * near
            if i == j:
                slopes += root.size * NUGGET * pull * scales
    return on_trend, on_relation, on_nearness


@compiled
def log_posterior(theta, code, data, rules, gradient):  # type: ignore[no-untyped-def]
    """Return (log evidence + log prior, constant mean, doubt) and fill the gradient in θ.

    −½ [n log 2πσ² + Σ N log noise + log|B| + W/σ² + rᵀAr + log 1ᵀA1 − log 2π], r = Ȳ − 1ᵀAȲ / 1ᵀA1.
    ``code`` is (kernel, whether alternatives are names).
    """
    alternatives, contexts, place, cells, totals, work = data
    m, p = cells.shape[1], theta.size
    first, second = contexts.shape[0], contexts.shape[0] + alternatives.shape[0]
    for i in range(p):
        gradient[i] = 0.0
    prior = add_log_prior(theta, rules, gradient)
    if m == 0:
        return prior, 0.0, 0.0
    trend, trend_slope = correlations(theta, code[0], contexts)
    relation, relation_slope = _relation(theta[first:], code, alternatives)
    nearness, nearness_slope = correlations(theta[second:], code[0], contexts)
    tables = (trend, relation, nearness)
    scales, variance = np.exp(theta[p - 1 - PARTS : p - 1]), np.exp(theta[p - 1])
    b, inverse = work[0], work[2]
    root = np.sqrt(cells[0] / (variance * cells[2]))
    _fill(place, root, scales, tables, b)
    largest = greatest_diagonal(b)
    log_determinant = factorise_in_blocks(b, work[1], inverse, 1.0)
    alpha, beta, constant, below, quadratic, squared, trace = _weigh(root, inverse, cells[1])
    on_trend, on_relation, on_nearness = _pulls(
        place, root, alpha, beta, inverse, scales, tables, gradient[p - 1 - PARTS : p - 1]
    )
    add_lengths(theta, contexts, on_trend, trend_slope, gradient)
    add_lengths(theta[first:], alternatives, on_relation, relation_slope, gradient[first:])
    add_lengths(theta[second:], contexts, on_nearness, nearness_slope, gradient[second:])
    within, n = totals[1] / variance, totals[0]
    gradient[p - 1] -= 0.5 * (n - m + trace - within - squared)
    total = n * np.log(2.0 * np.pi * variance) + totals[2] + log_determinant + within + quadratic
    value = prior - 0.5 * (total + np.log(below / (2.0 * np.pi)))
    return value, constant, doubt_of(m, largest, trace + squared)
