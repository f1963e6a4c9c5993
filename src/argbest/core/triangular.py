"""Triangular systems, empty ones too."""

import numpy as np
from scipy.linalg import solve_triangular

from argbest.core.arrays import Array


def solve_lower(lower: Array, right: Array, *, transposed: bool = False) -> Array:
    """Return L⁻¹ R, or L⁻ᵀ R, of a lower triangle L [n, n] and columns R [n, m]."""
    if not right.size:  # which LAPACK refuses
        return np.zeros(right.shape)
    solved: Array = solve_triangular(
        lower, right, lower=True, trans="T" if transposed else "N", check_finite=False
    )
    return solved
