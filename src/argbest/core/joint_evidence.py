"""The log evidence of one GP over alternatives × contexts from a study's tally, with its gradient.

Cov(f_k(c), f_k′(c′)) = scale · κ_A(k, k′) · κ_C(c, c′). For the m observed cells, D = diag(N/σ²),
B = I + D½ K D½ and A = D½ B⁻¹ D½, the nugget part of K. θ = (embeddings, log lengths of
alternatives, log lengths of contexts, log scale, log noise). Alternatives have given coordinates and no
embeddings, or learned ones: then κ_A depends on |e_k − e_k′|/l. Compiled by Numba, which importing this
module imports.
"""

import numpy as np

from argbest.core.blocked_cholesky import factorise_in_blocks
from argbest.core.correlations import add_lengths, correlations
from argbest.core.evidence import (
    add_log_prior,
    compiled,
    doubt_of,
    greatest_diagonal,
    profiled_mean,
)
from argbest.core.kernels import NUGGET
from argbest.core.observed_cells import observed_cells


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
