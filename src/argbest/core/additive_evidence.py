"""The log evidence of the additive GP from the observed cells of a study, with its gradient.

Cov(f_k(c), f_j(c′)) = s_g κ_g(c, c′) + κ_A(k, j) (s_a + s_h κ_C(c, c′)) + s_d 1{k = j} κ_C(c, c′): trend,
offset, joint part and own deviation. Of names κ_A(k, j) = 1{k = j}. Where the last coordinates of contexts
are sources (`argbest.core.earlier`), s_a is multiplied by the correlation κ_S of their distances alone: an
alternative has a level in every source. For the m observed cells,
D = diag(N/σ²), B = I + D½ K D½ and A = D½ B⁻¹ D½, the nugget part of K. θ = (log lengths of the trend, of the
alternatives, of the contexts; log s_g, s_a, s_h, s_d; log λ; log noise). The constant is flat and integrated.
Where noise is common to alternatives, D has blocks (`argbest.core.common_noise`), and K another part:
1{c = c′} λ ρ_c s_k s_j, which moves the rewards of a context as the noise they share does.
Compiled by Numba, which importing this module imports.
"""

import numpy as np

from argbest.core.by_address import CUBE, NUMBERS, ROW, TABLE, call, carray, passage, types
from argbest.core.cholesky import FIRST, compiled, inlined, part, product, put, transposed
from argbest.core.evidence import (
    ALPHA,
    BETA,
    OF_MEAN,
    OF_ONE,
    ROOT,
    ROWS,
    add_identity,
    add_log_prior,
    correlate,
    doubt_of,
    halve_both_sides,
    log_likelihood,
    noise_slope,
    observed_cells,
    solve,
    weigh,
)
from argbest.core.priors import NUGGET

PARTS = 4  # trend, offset, joint, own
SCALES = PARTS + 2  # at the end of θ: those of the parts, of what is like the noise, and of the noise

# Scratch space: tables of contexts [·, c, c′] and of alternatives [·, k, j].
# NumPy's integers: for every other constant Numba would compile a function once more.
_TREND, _TREND_SLOPE, _NEAR, _NEAR_SLOPE, _LEVEL, _LEVEL_SLOPE = np.arange(6)
_TREND_PULL, _NEAR_PULL, _LEVEL_PULL, _OF_CONTEXTS = np.arange(6, 10)
_RELATION, _RELATION_SLOPE, _RELATION_PULL, _OF_ALTERNATIVES = np.arange(4)


@inlined
def _numbered(of, size):  # type: ignore[no-untyped-def]
    """Return which entries occur, in order, and replace every entry by its rank among them."""
    rank, kept, m = np.empty(size, np.int64), np.empty(size, np.int64), 0
    for k in range(size):
        rank[k] = -1
    for i in range(of.size):
        rank[of[i]] = 0
    for k in range(size):
        if rank[k] == 0:
            rank[k], kept[m] = m, k
            m += 1
    for i in range(of.size):
        of[i] = rank[of[i]]
    return kept[:m]


@inlined
def _distances(points, categorical, kept):  # type: ignore[no-untyped-def]
    """Return squared distances [coordinate, i, j] of the kept points; a category's is 0 or 1."""
    out = np.empty((points.shape[1], kept.size, kept.size))
    for g in range(points.shape[1]):
        for i in range(kept.size):
            for j in range(kept.size):
                step = points[kept[i], g] - points[kept[j], g]
                out[g, i, j] = step * step if categorical[g] == 0.0 or step == 0.0 else 1.0
    return out


@inlined
def prepare(points, categorical, separation, count, mean, m2, noise, common):  # type: ignore[no-untyped-def]
    """Return the data of the observed cells, in contiguous arrays, and scratch space: none depends on K·C.

    Squared distances of alternatives and contexts; ``place``: the cells' alternatives, by their rank among
    those observed, and where the cells of each context begin; `observed_cells`. Where noise is ``common``,
    that is the totals worked out before, R by rows (`_carry`) and the share ρ of the noise of every cell, and
    ``mean`` is that of generalised least squares; else R is empty.
    """
    alternative, kept, first, cells, totals = observed_cells(count, mean, m2, noise)
    shared_totals, factor, shared = common
    if factor.size > 0:
        totals[1], totals[2] = shared_totals[0], shared_totals[1]
        for i in range(cells.shape[1]):
            cells[0, i] = 1.0  # R knows the counts
    m, g = alternative.size, kept.size
    alternatives = _distances(points, categorical, _numbered(alternative, count.shape[0]))
    contexts = np.empty((separation.shape[0], g, g))
    for d in range(separation.shape[0]):
        for i in range(g):
            for j in range(g):
                contexts[d, i, j] = separation[d, kept[i], kept[j]]
    k = alternatives.shape[1]
    work = np.empty((m, m)), np.empty((m, m)), np.empty((m, m)), np.empty((ROWS, m))
    tables = np.empty((_OF_CONTEXTS, g, g)), np.empty((_OF_ALTERNATIVES, k, k))
    rest = factor.copy(), shared.copy()
    return (alternatives, contexts), (alternative, first), (cells, totals), rest, work, tables


@compiled
def _correlations(theta, code, separation, tables, at):  # type: ignore[no-untyped-def]
    """Fill a table with the correlations of all pairs for the log lengthscales, and the next by slopes."""
    for g in range(separation.shape[0]):
        precision = np.exp(-2.0 * theta[g])
        for i in range(separation.shape[1]):
            for j in range(i + 1):
                r2 = tables[at, i, j] if g > 0 else 0.0
                tables[at, i, j] = r2 + separation[g, i, j] * precision
    for i in range(separation.shape[1]):
        for j in range(i + 1):
            tables[at, i, j], tables[at + 1, i, j] = correlate(code, tables[at, i, j])
            tables[at, j, i], tables[at + 1, j, i] = tables[at, i, j], tables[at + 1, i, j]


@inlined
def _relate(theta, code, alternatives, tables):  # type: ignore[no-untyped-def]
    """Fill κ_A and its slope; of names (``code[1]`` set) the identity, which has none."""
    if code[1] == 0:
        _correlations(theta, code[0], alternatives, tables, _RELATION)
    else:
        for i in range(alternatives.shape[1]):
            for j in range(alternatives.shape[1]):
                tables[_RELATION, i, j] = 1.0 if i == j else 0.0
                tables[_RELATION_SLOPE, i, j] = 0.0


@inlined
def _relate_levels(theta, code, contexts, tables):  # type: ignore[no-untyped-def]
    """Fill κ_S and its slope from the coordinates of sources, the last ``code[3]`` ones; 1 without any."""
    if code[3] > 0:
        first = contexts.shape[0] - code[3]
        _correlations(theta[first:], code[0], contexts[first:], tables, _LEVEL)
    else:
        for i in range(contexts.shape[1]):
            for j in range(contexts.shape[1]):
                tables[_LEVEL, i, j] = 1.0


@inlined
def _fill(place, scales, tables, b):  # type: ignore[no-untyped-def]
    """Fill the upper triangle of K, nugget included."""
    (alternative, first), (of_contexts, of_alternatives) = place, tables
    nugget = alternative.size * NUGGET * (scales[0] + scales[1] + scales[2] + scales[3])
    for c in range(first.size - 1):
        for cc in range(c, first.size - 1):
            nearness = of_contexts[_NEAR, c, cc]
            common, own = scales[0] * of_contexts[_TREND, c, cc], scales[3] * nearness
            related = scales[1] * of_contexts[_LEVEL, c, cc] + scales[2] * nearness
            for i in range(first[c], first[c + 1]):
                k = alternative[i]
                for j in range(max(i, first[cc]), first[cc + 1]):
                    kk = alternative[j]
                    total = common + of_alternatives[_RELATION, k, kk] * related
                    if k == kk:
                        total += own
                    b[i, j] = total
    for i in range(alternative.size):
        b[i, i] += nugget


@inlined
def _pull(place, rows, inverse, scales, tables, slopes, last):  # type: ignore[no-untyped-def]
    """Add the slopes of the four scales and fill the pulls on κ_g, κ_A, κ_C and κ_S.

    Σ pull · κ′ over all pairs is ½ tr[(ααᵀ + ββᵀ − A) K′]: the m × m pull, each pair of cells once, is
    contracted with the other factor; O(m²).
    """
    (alternative, first), (of_contexts, of_alternatives) = place, tables
    diagonal, on_trend, on_offset, on_joint, on_own = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(of_alternatives.shape[1]):
        for kk in range(of_alternatives.shape[1]):
            of_alternatives[_RELATION_PULL, k, kk] = 0.0
    for c in range(first.size - 1):
        for cc in range(c, first.size - 1):
            nearness = of_contexts[_NEAR, c, cc]
            level, total, shared, alone = of_contexts[_LEVEL, c, cc], 0.0, 0.0, 0.0
            related = scales[1] * level + scales[2] * nearness
            for i in range(first[c], first[c + 1]):
                k = alternative[i]
                for j in range(max(i, first[cc]), first[cc + 1]):
                    kk = alternative[j]
                    pull = rows[ALPHA, i] * rows[ALPHA, j] + rows[BETA, i] * rows[BETA, j]
                    pull -= rows[ROOT, i] * inverse[i, j] * rows[ROOT, j]
                    if i == j:
                        pull *= 0.5
                        diagonal += pull
                    total += pull
                    shared += pull * of_alternatives[_RELATION, k, kk]
                    of_alternatives[_RELATION_PULL, k, kk] += pull * related
                    if k == kk:
                        alone += pull
            for table in range(_TREND_PULL, _OF_CONTEXTS):
                of_contexts[table, cc, c] = 0.0
            of_contexts[_TREND_PULL, c, cc] = scales[0] * total
            of_contexts[_NEAR_PULL, c, cc] = scales[2] * shared + scales[3] * alone
            on_trend += total * of_contexts[_TREND, c, cc]
            of_contexts[_LEVEL_PULL, c, cc] = scales[1] * shared
            on_offset += shared * level
            on_joint += shared * nearness
            on_own += alone * nearness
    nugget = alternative.size * NUGGET * diagonal
    slopes[last] += scales[0] * (nugget + on_trend)
    slopes[last + 1] += scales[1] * (nugget + on_offset)
    slopes[last + 2] += scales[2] * (nugget + on_joint)
    slopes[last + 3] += scales[3] * (nugget + on_own)


@compiled
def _add_lengths(theta, separation, tables, pull, slope, gradient):  # type: ignore[no-untyped-def]
    """Add Σ pull · dκ/d log l for every lengthscale."""
    for g in range(separation.shape[0]):
        precision, total = np.exp(-2.0 * theta[g]), 0.0
        for i in range(separation.shape[1]):
            for j in range(separation.shape[1]):
                total += tables[pull, i, j] * tables[slope, i, j] * separation[g, i, j]
        gradient[g] += total * precision


@inlined
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
        put(out, start, FIRST, product(part(factor, start, stop, FIRST, stop - start), matrix[start:stop]))


@compiled
def _sandwich(first, factor, matrix, work):  # type: ignore[no-untyped-def]
    """Replace a symmetric matrix X by R X R = R (R X)ᵀ, R being symmetric."""
    _carry(first, factor, matrix, work)
    _carry(first, factor, transposed(work), matrix)


@compiled
def _times(first, factor, rows):  # type: ignore[no-untyped-def]
    """Replace both right-hand sides x by R x; the rows of α and β are room for that."""
    for c in range(first.size - 1):
        for i in range(first[c], first[c + 1]):
            one, other = 0.0, 0.0
            for j in range(first[c], first[c + 1]):
                one += factor[i, j - first[c]] * rows[OF_MEAN, j]
                other += factor[i, j - first[c]] * rows[OF_ONE, j]
            rows[ALPHA, i], rows[BETA, i] = one, other
    for i in range(rows.shape[1]):
        rows[OF_MEAN, i], rows[OF_ONE, i] = rows[ALPHA, i], rows[BETA, i]


@inlined
def _add_noise_like(first, shared, like, b):  # type: ignore[no-untyped-def]
    """Add λ ρ_c to the upper triangle of S⁻¹ K S⁻¹, between all cells of a context."""
    for c in range(first.size - 1):
        for i in range(first[c], first[c + 1]):
            for j in range(i, first[c + 1]):
                b[i, j] += like * shared[i]


@inlined
def _noise_like_slope(first, shared, like, rows, inverse):  # type: ignore[no-untyped-def]
    """Return ½ tr[(ααᵀ + ββᵀ − A) K′] for log λ, K′ being λ ρ_c s_k s_j within contexts and s = 1/root."""
    slope = 0.0
    for c in range(first.size - 1):
        along_alpha, along_beta, taken = 0.0, 0.0, 0.0
        for i in range(first[c], first[c + 1]):
            along_alpha += rows[ALPHA, i] / rows[ROOT, i]
            along_beta += rows[BETA, i] / rows[ROOT, i]
            for j in range(first[c], first[c + 1]):
                taken += inverse[i, j]
        if first[c] < first[c + 1]:
            total = along_alpha * along_alpha + along_beta * along_beta - taken
            slope += 0.5 * like * shared[first[c]] * total
    return slope


_TWO_CUBES = types.UniTuple(CUBE, 2)
_DATA = types.Tuple(
    (
        _TWO_CUBES,
        types.UniTuple(NUMBERS, 2),
        types.Tuple((TABLE, ROW)),
        types.Tuple((TABLE, ROW)),
        types.UniTuple(TABLE, 4),
        _TWO_CUBES,
    )
)
lend, _borrow = passage(types.Tuple((types.UniTuple(types.int64, 4), _DATA, TABLE)))  # code, data, rules


def evaluate(given, theta_at, gradient_at, found):  # type: ignore[no-untyped-def]
    """Return log evidence + log prior, fill the gradient in θ and (constant, doubt), for a search.

    −½ [n log 2πσ² + Σ N log noise + log|B| + W/σ² + rᵀAr + log 1ᵀA1 − log 2π], r = Ȳ − 1ᵀAȲ / 1ᵀA1.
    ``code`` is (kernel, whether alternatives are names, address of `invert`, coordinates that are sources),
    ``data`` what `prepare` returns. The rows become D½, α = A(Ȳ − constant) with the constant 1ᵀAȲ / 1ᵀA1 and
    β = A1 / √(1ᵀA1), and ``inverse`` becomes B⁻¹.

    Where noise is common Λ = S⁻¹ R R S⁻¹ takes the place of D, and B = I + R S⁻¹ K S⁻¹ R. What takes the
    place of D½ is then S⁻¹, and ``inverse`` becomes R B⁻¹ R.
    """
    code, data, rules = _borrow(given)
    (alternatives, contexts), place, (cells, totals), (factor, shared), work, tables = data
    p, m, common = rules.shape[0], cells.shape[1], factor.size > 0
    theta, gradient = carray(theta_at, p), carray(gradient_at, p)
    for i in range(p):
        gradient[i] = 0.0
    prior = add_log_prior(theta, rules, gradient)
    if m == 0:
        found[0], found[1] = 0.0, 0.0
        return prior
    of_contexts, of_alternatives = tables
    d, second, last = contexts.shape[0], contexts.shape[0] + alternatives.shape[0], p - SCALES
    _correlations(theta, code[0], contexts, of_contexts, _TREND)
    _relate(theta[d:], code, alternatives, of_alternatives)
    _correlations(theta[second:], code[0], contexts, of_contexts, _NEAR)
    _relate_levels(theta[second:], code, contexts, of_contexts)
    scales = np.exp(theta[last]), np.exp(theta[last + 1]), np.exp(theta[last + 2]), np.exp(theta[last + 3])
    like, variance = np.exp(theta[p - 2]), np.exp(theta[p - 1])

    b, room, inverse, rows = work
    first, quadratic, slope = place[1], 0.0, 0.0
    weigh(cells, variance, rows)
    _fill(place, scales, tables, b)
    halve_both_sides(b, rows[ROOT])
    if common:
        _add_noise_like(first, shared, like, b)
        _mirror(b)
        _sandwich(first, factor, b, room)
        _times(first, factor, rows)
    largest = add_identity(b)
    log_determinant = call(code[2], b, room, inverse, m, 1.0)
    constant, below, of_mean, of_one, trace = solve(inverse, rows)
    squared = of_mean + of_one
    if common:
        _times(first, factor, rows)
        _sandwich(first, factor, inverse, room)
    for i in range(m):
        rows[ALPHA, i] = rows[ROOT, i] * rows[OF_MEAN, i]
        rows[BETA, i] = rows[ROOT, i] * rows[OF_ONE, i] / np.sqrt(below)
        quadratic += rows[ALPHA, i] * (cells[1, i] - constant)

    if common:
        slope = _noise_like_slope(first, shared, like, rows, inverse)
    _pull(place, rows, inverse, scales, tables, gradient, last)
    _add_lengths(theta, contexts, of_contexts, _TREND_PULL, _TREND_SLOPE, gradient)
    _add_lengths(theta[d:], alternatives, of_alternatives, _RELATION_PULL, _RELATION_SLOPE, gradient[d:])
    _add_lengths(theta[second:], contexts, of_contexts, _NEAR_PULL, _NEAR_SLOPE, gradient[second:])
    if code[3] > 0:
        source = last - code[3]
        _add_lengths(
            theta[source:], contexts[d - code[3] :], of_contexts, _LEVEL_PULL, _LEVEL_SLOPE, gradient[source:]
        )
    gradient[p - 2] += slope
    gradient[p - 1] += slope + noise_slope(totals, variance, m, trace, squared)  # λ multiplies the noise
    found[0], found[1] = constant, doubt_of(m, largest, trace + squared)
    value = log_likelihood(totals, variance, log_determinant, quadratic)
    return prior + value - 0.5 * np.log(below / (2.0 * np.pi))
