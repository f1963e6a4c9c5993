"""Inverse factor, inverse and determinant block by block, against NumPy's."""

from typing import Any

import numpy as np
import pytest

from argbest.core.cholesky import invert

in_blocks: Any = invert.py_func  # its parts are compiled


def test_blocks_give_the_factor_the_inverse_and_the_determinant() -> None:
    """From the upper triangle alone."""
    rng = np.random.default_rng(0)
    for m in (1, 7, 24, 25, 48, 96, 150):
        root = rng.normal(size=(m, m))
        b = np.eye(m) + root @ root.T
        lower, inverse = np.empty((m, m)), np.empty((m, m))
        log_determinant = in_blocks(np.where(np.tri(m, k=-1), np.nan, b), lower, inverse, 1.0)
        assert log_determinant == pytest.approx(np.linalg.slogdet(b)[1], rel=1e-12)
        np.testing.assert_allclose(lower @ np.linalg.cholesky(b), np.eye(m), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(inverse, np.linalg.inv(b), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(inverse, inverse.T, rtol=1e-12, atol=1e-15)


def test_no_pivot_falls_below_the_least() -> None:
    """A matrix that rounding has robbed of its identity: all pivots after the first are at least 1."""
    m = 100
    b = np.full((m, m), 1e20)
    log_determinant = in_blocks(b, np.empty((m, m)), np.empty((m, m)), 1.0)
    assert log_determinant == pytest.approx(np.log(1e20), rel=1e-12)
