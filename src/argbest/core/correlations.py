"""Correlations of all pairs of points, and what their lengthscales add to a gradient; compiled by Numba."""

import numpy as np

from argbest.core.cholesky import compiled
from argbest.core.evidence import correlate, inverse_squares


@compiled
def correlations(lengths, code, separation):  # type: ignore[no-untyped-def]
    """Return correlation and slope of all pairs of points for the log lengthscales."""
    d, c = separation.shape[0], separation.shape[1]
    precision = inverse_squares(lengths, d)
    correlation, slope = np.empty((c, c)), np.empty((c, c))
    for i in range(c):
        for j in range(i + 1):
            r2 = 0.0
            for g in range(d):
                r2 += separation[g, i, j] * precision[g]
            correlation[i, j], slope[i, j] = correlate(code, r2)
            correlation[j, i], slope[j, i] = correlation[i, j], slope[i, j]
    return correlation, slope


@compiled
def add_lengths(lengths, separation, pull, slope, gradient):  # type: ignore[no-untyped-def]
    """Add Σ pull · dκ/d log l for every lengthscale."""
    for g in range(separation.shape[0]):
        precision = np.exp(-2.0 * lengths[g])
        for i in range(pull.shape[0]):
            for j in range(pull.shape[1]):
                gradient[g] += pull[i, j] * slope[i, j] * separation[g, i, j] * precision
