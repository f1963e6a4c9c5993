"""The square-root form against the textbook's inverse of K + D⁻¹."""

import numpy as np
import pytest

from argbest.core import square_root_form as forms
from argbest.core.arrays import Array

N = 7


@pytest.fixture
def cov() -> Array:
    root = np.random.default_rng(1).standard_normal((N, N))
    return np.asarray(root @ root.T)


def in_blocks(root: Array) -> forms.Halve:
    def halve(rows: Array, out: Array | None) -> Array:
        found = np.empty(rows.shape) if out is None else out
        found[:] = root @ rows
        return found

    return halve


@pytest.mark.parametrize("shared", [False, True])
def test_mean_and_covariance_integrate_an_unknown_constant(cov: Array, shared: bool) -> None:
    rng = np.random.default_rng(2)
    values, across, variance = rng.standard_normal(N), rng.standard_normal((N, 3)), 40.0
    root = np.diag(rng.uniform(0.5, 2.0, N))
    if shared:
        root = rng.standard_normal((N, N))
    form = forms.square_root_form(
        cov, in_blocks(root) if shared else forms.by_diagonal(np.diag(root)), values
    )
    half = form.half(across)
    mean, level = form.posterior(half)

    weight = np.linalg.inv(cov + np.linalg.inv(root.T @ root))
    below = np.ones(N) @ weight @ np.ones(N)
    constant = np.ones(N) @ weight @ values / below
    left = 1.0 - across.T @ weight @ np.ones(N)
    assert form.constant == pytest.approx(constant)
    np.testing.assert_allclose(mean, constant + across.T @ weight @ (values - constant), rtol=1e-9)
    expected = variance - np.sum(across * (weight @ across), axis=0) + left**2 / below
    np.testing.assert_allclose(variance - np.sum(half**2, axis=0) + level**2, expected, rtol=1e-9)


def test_a_half_is_written_to_its_place(cov: Array) -> None:
    form = forms.square_root_form(cov, forms.by_diagonal(np.full(N, 0.7)), np.zeros(N))
    place = np.empty((N, N))
    assert form.half(cov, place) is place
    np.testing.assert_array_equal(place, form.half(cov))


def test_a_cell_without_observations_says_nothing(cov: Array) -> None:
    root = forms.precision_root(np.array([2] * (N - 1) + [0]), np.full(N, 0.5), np.zeros(N))
    assert root[-1] == 0.0
    whole, without = (forms.bracket(cov[:n, :n], root[:n]) for n in (N, N - 1))
    np.testing.assert_array_equal(whole[:-1, :-1], without)
    np.testing.assert_array_equal(whole[-1], np.eye(N)[-1])


def test_no_noise_is_taken_as_less_than_the_least() -> None:
    root = forms.precision_root(np.array([4, 4]), np.array([1e-9, 4.0]), np.array([1.0, 1.0]))
    np.testing.assert_array_equal(root, [2.0, 1.0])


def test_the_loops_for_numba_do_what_numpy_does(cov: Array) -> None:
    root = np.random.default_rng(3).uniform(0.5, 2.0, N)
    expected, found = forms.bracket(cov, root), cov.copy()
    forms.halve_both_sides(found, root)
    largest = forms.add_identity(found)
    np.testing.assert_allclose(np.triu(found), np.triu(expected), rtol=1e-15)
    assert largest == pytest.approx(expected.max(), rel=1e-15)


@pytest.mark.parametrize("n", [5, 300])
def test_small_and_large_matrices_have_the_factor_of_cholesky(n: int) -> None:
    root = np.random.default_rng(4).standard_normal((n, n))
    matrix = root @ root.T / n + np.eye(n)
    lower = forms.cholesky_factor(matrix)
    np.testing.assert_array_equal(lower, np.tril(lower))
    np.testing.assert_allclose(lower @ lower.T, matrix, rtol=1e-10, atol=1e-12)
