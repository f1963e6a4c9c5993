"""Factor, inverse and determinant block by block, against NumPy's."""

from typing import Any

import numpy as np
import pytest

from argbest.core.cholesky import factorise_alone, factorise_in_blocks, solve_in_blocks, squared

in_blocks: Any = factorise_in_blocks.py_func  # its parts are compiled
alone: Any = factorise_alone.py_func
solve: Any = solve_in_blocks.py_func


def test_blocks_give_the_factor_the_inverse_and_the_determinant() -> None:
    rng = np.random.default_rng(0)
    for m in (1, 7, 24, 25, 48, 96, 150):
        root = rng.normal(size=(m, m))
        b = np.eye(m) + root @ root.T
        lower, factor, inverse = b.copy(), np.empty((m, m)), np.empty((m, m))
        log_determinant = in_blocks(lower, factor, inverse, 1.0)
        assert log_determinant == pytest.approx(np.linalg.slogdet(b)[1], rel=1e-12)
        np.testing.assert_allclose(np.tril(lower), np.linalg.cholesky(b), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(inverse, np.linalg.inv(b), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(inverse, inverse.T, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("m", [1, 7, 24, 25, 48, 97])
def test_systems_are_solved_block_by_block(m: int) -> None:
    rng = np.random.default_rng(m)
    root, right = rng.normal(size=(m, m)), rng.normal(size=(m, 5))
    b = np.eye(m) + root @ root.T
    lower, factor, solved = b.copy(), b.copy(), right.copy()
    assert alone(lower, 1.0) == pytest.approx(np.linalg.slogdet(b)[1], rel=1e-12)
    solve(factor, solved, 1.0)
    np.testing.assert_allclose(np.tril(lower), np.linalg.cholesky(b), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(np.tril(factor), np.tril(lower))
    np.testing.assert_allclose(np.linalg.cholesky(b) @ solved, right, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(squared(solved), right.T @ np.linalg.inv(b) @ right, rtol=1e-8, atol=1e-9)


def test_no_pivot_falls_below_the_least() -> None:
    """A matrix that rounding has robbed of its identity: all pivots after the first are at least 1."""
    m = 100
    b = np.full((m, m), 1e20)
    log_determinant = in_blocks(b, np.empty((m, m)), np.empty((m, m)), 1.0)
    assert log_determinant == pytest.approx(np.log(1e20), rel=1e-12)
