"""The log evidence of the additive GP from the observed cells of a study, with its gradient.

Cov(f_k(c), f_j(c′)) = s_g κ_g(c, c′) + κ_A(k, j) (s_a + s_h κ_C(c, c′)) + s_d 1{k = j} κ_C(c, c′): trend,
offset, joint part and own deviation. Of names κ_A(k, j) = 1{k = j}. For the m observed cells,
D = diag(N/σ²), B = I + D½ K D½ and A = D½ B⁻¹ D½, the nugget part of K. θ = (log lengths of the trend, of the
alternatives, of the contexts; log s_g, s_a, s_h, s_d; log λ; log noise). The constant is flat and integrated.
Where noise is common to alternatives, D has blocks (`argbest.core.common_noise`), and K another part:
1{c = c′} λ ρ_c s_k s_j, which moves the rewards of a context as the noise they share does.
Compiled by Numba, which importing this module imports.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from argbest.core.cholesky import compiled, inlined, invert, part, product, put, transposed
from argbest.core.evidence import (
    add_lengths,
    add_log_prior,
    correlations,
    doubt_of,
    observed_cells,
)
from argbest.core.priors import NUGGET

PARTS = 4  # trend, offset, joint, own
SCALES = PARTS + 2  # at the end of θ: those of the parts, of what is like the noise, and of the noise


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

    Squared distances of alternatives and contexts; ``place``: the cells' alternatives, by their rank among
    those observed, and where the cells of each context begin; `observed_cells`.
    """
    alternative, kept, first, cells, totals = observed_cells(count, mean, m2, noise)
    m = alternative.size
    alternatives = _distances(points, categorical, _numbered(alternative, count.shape[0]))
    contexts = np.empty((separation.shape[0], kept.size, kept.size))
    for g in range(separation.shape[0]):
        for i in range(kept.size):
            for j in range(kept.size):
                contexts[g, i, j] = separation[g, kept[i], kept[j]]
    work = np.empty((m, m)), np.empty((m, m)), np.empty((m, m))
    return alternatives, contexts, (alternative, first), cells, totals, work


@compiled
def prepare_common(points, categorical, separation, count, mean, noise, totals, factor, shared):  # type: ignore[no-untyped-def]
    """Return the same where noise is common, with R by rows (`_carry`) and the totals worked out before.

    ``mean`` is that of generalised least squares, ``shared`` the share ρ of the noise of every cell.
    """
    data = prepare(points, categorical, separation, count, mean, np.zeros(mean.shape), noise)
    data[4][1], data[4][2] = totals[0], totals[1]
    return (*data, factor, shared)


@compiled
def _relation(lengths, code, alternatives):  # type: ignore[no-untyped-def]
    """Return κ_A and its slope; of names (``code[1]`` set) the identity, which has none."""
    if code[1] == 0:
        return correlations(lengths, code[0], alternatives)
    n = alternatives.shape[1]
    return np.eye(n), np.zeros((n, n))


@compiled
def _fill(place, root, scales, tables, b):  # type: ignore[no-untyped-def]
    """Fill the upper triangle of D½ K D½, nugget included."""
    (alternative, first), (trend, relation, nearness) = place, tables
    nugget = root.size * NUGGET * scales.sum()
    for c in range(first.size - 1):
        for cc in range(c, first.size - 1):
            common, own = scales[0] * trend[c, cc], scales[3] * nearness[c, cc]
            related = scales[1] + scales[2] * nearness[c, cc]
            for i in range(first[c], first[c + 1]):
                k = alternative[i]
                for j in range(max(i, first[cc]), first[cc + 1]):
                    kk = alternative[j]
                    total = common + relation[k, kk] * related
                    if k == kk:
                        total += own
                    b[i, j] = root[i] * root[j] * total
    for i in range(root.size):
        b[i, i] += nugget * root[i] * root[i]


@compiled
def _solved(inverse, of_mean, of_one):  # type: ignore[no-untyped-def]
    """Return (u, e, constant, eᵀ1, |u|² + |e|²/eᵀ1, tr B⁻¹) with e = B⁻¹1, u = B⁻¹y − constant · e.

    y is ``of_mean``, 1 is ``of_one``, and the constant makes uᵀ1 = 0.
    """
    m = of_one.size
    u, e = np.empty(m), np.empty(m)
    above, below, squared, trace = 0.0, 0.0, 0.0, 0.0
    for i in range(m):
        first, second = 0.0, 0.0
        for j in range(m):
            first += inverse[i, j] * of_mean[j]
            second += inverse[i, j] * of_one[j]
        u[i], e[i] = first, second
        above += of_one[i] * first
        below += of_one[i] * second
        trace += inverse[i, i]
    constant = above / below
    for i in range(m):
        u[i] -= constant * e[i]
        squared += u[i] * u[i] + e[i] * e[i] / below
    return u, e, constant, below, squared, trace


@compiled
def _weigh(root, inverse, mean):  # type: ignore[no-untyped-def]
    """Return (α, β, constant, 1ᵀA1, rᵀAr, |B⁻¹D½r|² + |B⁻¹D½1|²/1ᵀA1, tr B⁻¹).

    α = A(Ȳ − constant) with the constant 1ᵀAȲ / 1ᵀA1, β = A1 / √(1ᵀA1).
    """
    u, e, constant, below, squared, trace = _solved(inverse, root * mean, root)
    alpha, beta, quadratic = root * u, root * e / np.sqrt(below), 0.0
    for i in range(root.size):
        quadratic += alpha[i] * (mean[i] - constant)
    return alpha, beta, constant, below, quadratic, squared, trace


@compiled
def _pulls(place, root, alpha, beta, inverse, scales, tables, slopes):  # type: ignore[no-untyped-def]
    """Fill the slopes of the four scales and return the pulls on κ_g, κ_A and κ_C.

    Σ pull · κ′ over all pairs is ½ tr[(ααᵀ + ββᵀ − A) K′]: the m × m pull, each pair of cells once, is
    contracted with the other factor; O(m²).
    """
    (alternative, first), (trend, relation, nearness) = place, tables
    plain, joint, own = np.zeros(trend.shape), np.zeros(trend.shape), np.zeros(trend.shape)
    on_relation, diagonal = np.zeros(relation.shape), 0.0
    for c in range(first.size - 1):
        for cc in range(c, first.size - 1):
            related, total, shared, alone = scales[1] + scales[2] * nearness[c, cc], 0.0, 0.0, 0.0
            for i in range(first[c], first[c + 1]):
                k = alternative[i]
                for j in range(max(i, first[cc]), first[cc + 1]):
                    kk = alternative[j]
                    pull = alpha[i] * alpha[j] + beta[i] * beta[j] - root[i] * inverse[i, j] * root[j]
                    if i == j:
                        pull *= 0.5
                        diagonal += pull
                    total += pull
                    shared += pull * relation[k, kk]
                    on_relation[k, kk] += pull * related
                    if k == kk:
                        alone += pull
            plain[c, cc], joint[c, cc], own[c, cc] = total, shared, alone
    slopes += root.size * NUGGET * diagonal * scales
    slopes[0] += scales[0] * np.sum(plain * trend)
    slopes[1] += scales[1] * np.sum(joint)
    slopes[2] += scales[2] * np.sum(joint * nearness)
    slopes[3] += scales[3] * np.sum(own * nearness)
    return scales[0] * plain, on_relation, scales[2] * joint + scales[3] * own


@compiled
def _mirror(matrix):  # type: ignore[no-untyped-def]
    """Fill the lower triangle with what stands in the upper one."""
    for i in range(matrix.shape[0]):
        for j in range(i):
            matrix[i, j] = matrix[j, i]


@compiled
def _carry(first, factor, matrix, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with R X; R has a block per context, whose rows begin those of ``factor``."""
    for c in range(first.size - 1):
        start, stop = first[c], first[c + 1]
        put(out, start, 0, product(part(factor, start, stop, 0, stop - start), matrix[start:stop]))


@compiled
def _sandwich(first, factor, matrix, work):  # type: ignore[no-untyped-def]
    """Replace a symmetric matrix X by R X R = R (R X)ᵀ, R being symmetric."""
    _carry(first, factor, matrix, work)
    _carry(first, factor, transposed(work), matrix)


@compiled
def _times(first, factor, values):  # type: ignore[no-untyped-def]
    """Return R x."""
    out = np.zeros(values.size)
    for c in range(first.size - 1):
        for i in range(first[c], first[c + 1]):
            for j in range(first[c], first[c + 1]):
                out[i] += factor[i, j - first[c]] * values[j]
    return out


@compiled
def _add_identity(b):  # type: ignore[no-untyped-def]
    """Add 1 to the diagonal and return its largest entry, the largest of a covariance matrix."""
    largest = 0.0
    for i in range(b.shape[0]):
        b[i, i] += 1.0
        largest = max(largest, b[i, i])
    return largest


@compiled
def _add_noise_like(first, shared, like, b):  # type: ignore[no-untyped-def]
    """Add λ ρ_c to the upper triangle of S⁻¹ K S⁻¹, between all cells of a context."""
    for c in range(first.size - 1):
        for i in range(first[c], first[c + 1]):
            for j in range(i, first[c + 1]):
                b[i, j] += like * shared[i]


@compiled
def _noise_like_slope(first, shared, like, root, alpha, beta, inverse):  # type: ignore[no-untyped-def]
    """Return ½ tr[(ααᵀ + ββᵀ − A) K′] for log λ, K′ being λ ρ_c s_k s_j within contexts and s = 1/root."""
    slope = 0.0
    for c in range(first.size - 1):
        along_alpha, along_beta, taken = 0.0, 0.0, 0.0
        for i in range(first[c], first[c + 1]):
            along_alpha += alpha[i] / root[i]
            along_beta += beta[i] / root[i]
            for j in range(first[c], first[c + 1]):
                taken += inverse[i, j]
        if first[c] < first[c + 1]:
            total = along_alpha * along_alpha + along_beta * along_beta - taken
            slope += 0.5 * like * shared[first[c]] * total
    return slope


@inlined
def _cell_by_cell(data, variance, scales, like, tables):  # type: ignore[no-untyped-def]
    """Return D½, the largest entry of B, log|B|, `_weigh` and the slope in log λ, which is 0 here.

    The last matrix of the scratch space is B⁻¹.
    """
    _, _, place, cells, _, work = data
    root = np.sqrt(cells[0] / (variance * cells[2]))
    _fill(place, root, scales, tables, work[0])
    largest = _add_identity(work[0])
    log_determinant = invert(work[0], work[1], work[2], 1.0)
    return root, largest, log_determinant, _weigh(root, work[2], cells[1]), 0.0 * like


@compiled
def _context_by_context(data, variance, scales, like, tables):  # type: ignore[no-untyped-def]
    """Return the same where noise is common: Λ = S⁻¹ R R S⁻¹ takes the place of D.

    B = I + R S⁻¹ K S⁻¹ R. What is returned as D½ is S⁻¹, and the last matrix of the scratch space R B⁻¹ R.
    """
    _, _, place, cells, _, work, factor, shared = data
    b, first, inverse = work[0], place[1], work[2]
    root = 1.0 / np.sqrt(variance * cells[2])
    _fill(place, root, scales, tables, b)
    _add_noise_like(first, shared, like, b)
    _mirror(b)
    _sandwich(first, factor, b, work[1])
    largest = _add_identity(b)
    log_determinant = invert(b, work[1], inverse, 1.0)
    of_mean, of_one = _times(first, factor, root * cells[1]), _times(first, factor, root)
    u, e, constant, below, squared, trace = _solved(inverse, of_mean, of_one)
    alpha, beta = root * _times(first, factor, u), root * _times(first, factor, e) / np.sqrt(below)
    quadratic = 0.0
    for i in range(root.size):
        quadratic += alpha[i] * (cells[1, i] - constant)
    _sandwich(first, factor, inverse, work[1])
    slope = _noise_like_slope(first, shared, like, root, alpha, beta, inverse)
    return root, largest, log_determinant, (alpha, beta, constant, below, quadratic, squared, trace), slope


def evidence_by(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """Return the objective for noise of cells by themselves, or of contexts (`prepare`, `prepare_common`)."""

    @compiled
    def log_posterior(theta, code, data, rules, gradient):  # type: ignore[no-untyped-def]
        """Return (log evidence + log prior, constant mean, doubt) and fill the gradient in θ.

        −½ [n log 2πσ² + Σ N log noise + log|B| + W/σ² + rᵀAr + log 1ᵀA1 − log 2π], r = Ȳ − 1ᵀAȲ / 1ᵀA1.
        ``code`` is (kernel, whether alternatives are names).
        """
        alternatives, contexts, place, cells, totals, work = data[:6]
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
        last = p - SCALES
        scales, like, variance = (
            np.exp(theta[last : last + PARTS]),
            np.exp(theta[p - 2]),
            np.exp(theta[p - 1]),
        )
        root, largest, log_determinant, weighed, slope = reduce(data, variance, scales, like, tables)
        alpha, beta, constant, below, quadratic, squared, trace = weighed
        on_trend, on_relation, on_nearness = _pulls(
            place, root, alpha, beta, work[2], scales, tables, gradient[last : last + PARTS]
        )
        add_lengths(theta, contexts, on_trend, trend_slope, gradient)
        add_lengths(theta[first:], alternatives, on_relation, relation_slope, gradient[first:])
        add_lengths(theta[second:], contexts, on_nearness, nearness_slope, gradient[second:])
        within, n = totals[1] / variance, totals[0]
        gradient[p - 2] += slope
        gradient[p - 1] += slope - 0.5 * (n - m + trace - within - squared)  # λ multiplies the noise
        total = n * np.log(2.0 * np.pi * variance) + totals[2] + log_determinant + within + quadratic
        value = prior - 0.5 * (total + np.log(below / (2.0 * np.pi)))
        return value, constant, doubt_of(m, largest, trace + squared)

    objective: Callable[..., Any] = log_posterior
    return objective


log_posterior = evidence_by(_cell_by_cell)
log_posterior_common = evidence_by(_context_by_context)
