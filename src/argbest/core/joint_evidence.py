"""The log evidence of one GP over alternatives × contexts from a study's tally, with its gradient.

Cov(f_k(c), f_k′(c′)) = scale · κ_A(k, k′) · κ_C(c, c′). For the m observed cells, D = diag(N/σ²),
B = I + D½ K D½ and A = D½ B⁻¹ D½, the nugget part of K. θ = (embeddings, log lengths of
alternatives, log lengths of contexts, log scale, log noise). Alternatives have given coordinates and no
embeddings, or learned ones: then κ_A depends on |e_k − e_k′|/l. Compiled by Numba, which importing this
module imports.
"""

import numpy as np

from argbest.core.evidence import (
    add_log_prior,
    compiled,
    doubt_of,
    factorise,
    greatest_diagonal,
    profiled_mean,
)
from argbest.core.kernels import NUGGET
from argbest.core.trend_evidence import correlations

BLOCK = 48  # plain loops inside blocks of this many rows, matrix products between them


@compiled
def _times(a, b):  # type: ignore[no-untyped-def]
    """Return the product of two contiguous matrices; the only place that calls BLAS, dear to compile."""
    return np.dot(a, b)


@compiled
def _part(a, top, bottom, left, right):  # type: ignore[no-untyped-def]
    """Return a contiguous copy of a part of the matrix."""
    out = np.empty((bottom - top, right - left))
    for i in range(top, bottom):
        for j in range(left, right):
            out[i - top, j - left] = a[i, j]
    return out


@compiled
def _transposed(a):  # type: ignore[no-untyped-def]
    out = np.empty((a.shape[1], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j, i] = a[i, j]
    return out


@compiled
def _put(a, top, left, part):  # type: ignore[no-untyped-def]
    for i in range(part.shape[0]):
        for j in range(part.shape[1]):
            a[top + i, left + j] = part[i, j]


@compiled
def factorise_in_blocks(b, factor, inverse, least):  # type: ignore[no-untyped-def]
    """Replace ``b`` by its Cholesky factor L, fill ``inverse`` with b⁻¹ and return log|b|.

    ``factor`` receives L⁻¹. As `factorise`, to which the blocks on the diagonal go: no pivot is below
    ``least``. Everything off the diagonal is a product of matrices, 4/3 m³ operations in all.
    """
    m, log_determinant = b.shape[0], 0.0
    if m <= BLOCK:
        return factorise(b, factor, inverse, least)
    for start in range(0, m, BLOCK):
        stop = min(start + BLOCK, m)
        corner, row = _part(b, start, stop, start, stop), _part(b, start, stop, 0, start)
        across = _transposed(row)
        _subtract(corner, _times(row, across))
        upper = np.zeros(corner.shape)  # the transposed inverse of the corner's factor
        log_determinant += factorise(corner, upper, np.empty(corner.shape), least)
        _put(b, start, start, corner)
        below = _part(b, stop, m, start, stop)
        _subtract(below, _times(_part(b, stop, m, 0, start), across))
        _put(b, stop, start, _times(below, upper))
        lower = _transposed(upper)
        done = _times(lower, _times(row, _part(factor, 0, start, 0, start)))
        _put(factor, start, 0, -done)
        _put(factor, start, start, lower)
        _put(factor, 0, start, np.zeros((start, stop - start)))
    for start in range(0, m, BLOCK):
        stop = min(start + BLOCK, m)
        rows = _times(_transposed(_part(factor, start, m, start, stop)), _part(factor, start, m, 0, stop))
        _put(inverse, start, 0, rows)
        _put(inverse, 0, start, _transposed(_part(rows, 0, stop - start, 0, start)))
    return log_determinant


@compiled
def _subtract(a, b):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] -= b[i, j]


@compiled
def observed_cells(count, mean, m2, noise):  # type: ignore[no-untyped-def]
    """Return the observed cells of a study, in contiguous arrays.

    ``place`` [2, cell] holds alternative and context; ``cells`` [3, cell] count, mean and relative noise;
    ``totals`` n, Σ W/noise and Σ N log noise.
    """
    m = 0
    for k in range(count.shape[0]):
        for c in range(count.shape[1]):
            m += count[k, c] > 0
    place, cells, totals = np.empty((2, m), np.int64), np.empty((3, m)), np.zeros(3)
    i = 0
    for k in range(count.shape[0]):
        for c in range(count.shape[1]):
            if count[k, c] > 0:
                place[0, i], place[1, i] = k, c
                cells[0, i], cells[1, i], cells[2, i] = count[k, c], mean[k, c], noise[k, c]
                totals[0] += count[k, c]
                totals[1] += m2[k, c] / noise[k, c]
                totals[2] += count[k, c] * np.log(noise[k, c])
                i += 1
    return place, cells, totals


@compiled
def prepare(alternatives, contexts, count, mean, m2, noise):  # type: ignore[no-untyped-def]
    """Return distances, the data of the observed cells, and scratch space."""
    place, cells, totals = observed_cells(count, mean, m2, noise)
    m = cells.shape[1]
    work = np.empty((m, m)), np.empty((m, m)), np.empty((m, m))
    return alternatives.copy(), contexts.copy(), place, cells, totals, work


@compiled
def _embed(theta, dimensions, alternatives):  # type: ignore[no-untyped-def]
    """Fill the squared distances of the alternatives' learned coordinates, [1, alternative, alternative]."""
    for k in range(alternatives.shape[1]):
        for j in range(alternatives.shape[1]):
            total = 0.0
            for g in range(dimensions):
                step = theta[k * dimensions + g] - theta[j * dimensions + g]
                total += step * step
            alternatives[0, k, j] = total


@compiled
def _fill(place, root, scale, relation, nearness, b):  # type: ignore[no-untyped-def]
    """Fill the lower triangle of B = I + D½ K D½, nugget included."""
    for i in range(root.size):
        k, c = place[0, i], place[1, i]
        size = root[i] * scale
        for j in range(i + 1):
            b[i, j] = size * root[j] * relation[k, place[0, j]] * nearness[c, place[1, j]]
        b[i, i] += 1.0 + root.size * NUGGET * size * root[i]


@compiled
def _pulls(place, root, alpha, inverse, relation, nearness):  # type: ignore[no-untyped-def]
    """Return the pulls on κ_A and on κ_C: what Σ pull · κ′ over all pairs gives is ½ tr[(ααᵀ − A) K′]/scale.

    The m × m pull, each pair of cells once, is contracted with the other factor; O(m²).
    """
    on_relation, on_nearness = np.zeros(relation.shape), np.zeros(nearness.shape)
    for i in range(root.size):
        k, c = place[0, i], place[1, i]
        for j in range(i + 1):
            pull = alpha[i] * alpha[j] - root[i] * inverse[i, j] * root[j]
            if i == j:
                pull *= 0.5
            on_relation[k, place[0, j]] += pull * nearness[c, place[1, j]]
            on_nearness[c, place[1, j]] += pull * relation[k, place[0, j]]
    return on_relation, on_nearness


@compiled
def add_lengths(lengths, separation, pull, slope, gradient):  # type: ignore[no-untyped-def]
    """Add Σ pull · dκ/d log l for every lengthscale."""
    for g in range(separation.shape[0]):
        precision = np.exp(-2.0 * lengths[g])
        for i in range(pull.shape[0]):
            for j in range(pull.shape[1]):
                gradient[g] += pull[i, j] * slope[i, j] * separation[g, i, j] * precision


@compiled
def _add_embeddings(theta, dimensions, pull, slope, gradient):  # type: ignore[no-untyped-def]
    """Add the derivatives in the embeddings: dκ(k, j)/de_k = −slope · (e_k − e_j)/l²."""
    n = pull.shape[0]
    precision = np.exp(-2.0 * theta[n * dimensions])
    for k in range(n):
        for j in range(n):
            both = (pull[k, j] + pull[j, k]) * slope[k, j] * precision
            for g in range(dimensions):
                gradient[k * dimensions + g] -= both * (theta[k * dimensions + g] - theta[j * dimensions + g])


@compiled
def log_posterior(theta, code, data, rules, gradient):  # type: ignore[no-untyped-def]
    """Return (log evidence + log prior, constant mean, doubt) and fill the gradient in θ.

    −½ [n log 2πσ² + Σ N log noise + log|B| + W/σ² + rᵀA r], the mean profiled out: m = 1ᵀAȲ / 1ᵀA1.
    ``code`` is (kernel of alternatives, kernel of contexts, dimensions of the embeddings, 0 for none).
    """
    alternatives, contexts, place, cells, totals, work = data
    dimensions, m, p = code[2], cells.shape[1], theta.size
    first = dimensions * alternatives.shape[1]
    second = first + alternatives.shape[0]
    for i in range(p):
        gradient[i] = 0.0
    prior = add_log_prior(theta, rules, gradient)
    if m == 0:
        return prior, 0.0, 0.0
    if dimensions > 0:
        _embed(theta, dimensions, alternatives)
    relation, relation_slope = correlations(theta[first:], code[0], alternatives)
    nearness, nearness_slope = correlations(theta[second:], code[1], contexts)
    scale, variance, b, inverse = np.exp(theta[p - 2]), np.exp(theta[p - 1]), work[0], work[2]
    root = np.sqrt(cells[0] / (variance * cells[2]))
    _fill(place, root, scale, relation, nearness, b)
    largest = greatest_diagonal(b)
    log_determinant = factorise_in_blocks(b, work[1], inverse, 1.0)
    constant = profiled_mean(root, inverse, cells[1])
    alpha, quadratic, squared, trace = _weights(root, inverse, cells[1], constant)
    on_relation, on_nearness = _pulls(
        place, scale**0.5 * root, scale**0.5 * alpha, inverse, relation, nearness
    )
    for k in range(relation.shape[0]):
        for j in range(relation.shape[0]):
            gradient[p - 2] += on_relation[k, j] * relation[k, j]
    for i in range(m):
        gradient[p - 2] += 0.5 * m * NUGGET * scale * (alpha[i] ** 2 - root[i] ** 2 * inverse[i, i])
    add_lengths(theta[first:], alternatives, on_relation, relation_slope, gradient[first:])
    add_lengths(theta[second:], contexts, on_nearness, nearness_slope, gradient[second:])
    _add_embeddings(theta, dimensions, on_relation, relation_slope, gradient)
    within, n = totals[1] / variance, totals[0]
    gradient[p - 1] -= 0.5 * (n - m + trace - within - squared)
    total = n * np.log(2.0 * np.pi * variance) + totals[2] + log_determinant + within + quadratic
    return prior - 0.5 * total, constant, doubt_of(m, largest, trace + squared)


@compiled
def _weights(root, inverse, mean, constant):  # type: ignore[no-untyped-def]
    """Return α = A r, rᵀα, |B⁻¹ D½ r|² and tr B⁻¹."""
    alpha, quadratic, squared, trace = np.empty(root.size), 0.0, 0.0, 0.0
    for i in range(root.size):
        u = 0.0
        for j in range(root.size):
            u += inverse[i, j] * root[j] * (mean[j] - constant)
        alpha[i] = root[i] * u
        quadratic += alpha[i] * (mean[i] - constant)
        squared += u * u
        trace += inverse[i, i]
    return alpha, quadratic, squared, trace
