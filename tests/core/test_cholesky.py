"""Inverse factor, inverse and determinant block by block, against NumPy's."""

import numpy as np
import pytest
from numba import njit

from argbest.core.cholesky import invert, invert_root


@njit
def whole(b, lower, inverse, least):  # type: ignore[no-untyped-def]
    return invert(b, lower, inverse, least)


@njit
def root_alone(b, lower, least):  # type: ignore[no-untyped-def]
    return invert_root(b, lower, least)


@pytest.mark.parametrize("m", [1, 2, 7, 24, 25, 48, 80, 81, 150])
def test_inverse_factor_inverse_and_determinant_follow_from_the_upper_triangle(m: int) -> None:
    rng = np.random.default_rng(m)
    root = rng.normal(size=(m, m))
    b = np.eye(m) + root @ root.T
    upper, lower, inverse = np.where(np.tri(m, k=-1), np.nan, b), np.empty((m, m)), np.empty((m, m))
    expected = pytest.approx(np.linalg.slogdet(b)[1], rel=1e-12)
    assert whole(upper.copy(), lower, inverse, 1.0) == expected
    np.testing.assert_allclose(inverse, np.linalg.inv(b), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(inverse, inverse.T, rtol=1e-12, atol=1e-15)
    assert root_alone(upper, lower, 1.0) == expected
    np.testing.assert_allclose(lower @ np.linalg.cholesky(b), np.eye(m), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("m", [20, 100])
def test_no_pivot_falls_below_the_least(m: int) -> None:
    """A matrix that rounding has robbed of its identity: all pivots after the first are at least 1."""
    b, room = np.full((m, m), 1e20), np.empty((m, m))
    for found in (whole(b.copy(), room, room.copy(), 1.0), root_alone(b.copy(), room, 1.0)):
        assert found == pytest.approx(np.log(1e20), rel=1e-12)
