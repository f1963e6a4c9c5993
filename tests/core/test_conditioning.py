"""The posterior from sufficient statistics against n×n algebra and scikit-learn."""

import numpy as np
import oracles
import pytest

from argbest.core import conditioning, fitting, priors, square_root_form
from argbest.core.square_root_form import solve_in_place
from argbest.core.tally import Tally


def draw_model(
    rng: np.random.Generator, data: oracles.Data
) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    lengthscale = np.exp(rng.normal(-0.7, 0.7, data.x.shape[1]))
    prior = oracles.kernel("matern52", data.x, data.x, lengthscale, 2.0)
    return lengthscale, prior, 0.3, np.exp(rng.normal(-1, 1, len(data.x)))


def test_mean_and_covariance_are_the_dense_ones() -> None:
    rng = np.random.default_rng(15)
    for _ in range(50):
        data = oracles.random_data(rng)
        _, prior, constant, noise = draw_model(rng, data)
        mean, cov = conditioning.posterior(prior, np.array(constant), noise, data.tally)
        dense_mean, dense_cov = oracles.posterior(prior, data, constant, noise)
        np.testing.assert_allclose(mean, dense_mean, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(cov, dense_cov, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("lead", [(), (2, 3)])
def test_many_contexts_are_solved_as_few_are(lead: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(16)
    root = rng.standard_normal((*lead, 40, 40))
    shape = (*lead, 40)
    seen = Tally(rng.poisson(1.0, shape), rng.standard_normal(shape), rng.random(shape))
    given = root @ np.swapaxes(root, -1, -2), rng.standard_normal(lead), 0.1 + rng.random(shape), seen
    by_triangles = conditioning.posterior(*given)
    monkeypatch.setattr(square_root_form, "_TRIANGULAR", 41)
    for one, other in zip(by_triangles, conditioning.posterior(*given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("n_contexts", [12, 70])
@pytest.mark.parametrize("kernel", priors.KERNELS)
def test_compiled_posteriors_of_many_alternatives_are_those_of_numpy(kernel: str, n_contexts: int) -> None:
    rng = np.random.default_rng(17)
    shape, x = (3, 5, n_contexts), rng.random((n_contexts, 2))
    separation = np.moveaxis((x[:, None] - x) ** 2, -1, 0)
    seen = Tally(rng.poisson(1.0, shape), rng.standard_normal(shape), rng.random(shape))
    seen.count[0, 0] = 0
    lengthscale, scale = np.exp(rng.normal(-1, 0.5, (3, 5, 2))), np.exp(rng.normal(0, 1, (3, 5)))
    constant, noise = rng.standard_normal((3, 5)), np.exp(rng.normal(-2, 2, shape))
    prior = priors.covariance(kernel, separation, lengthscale, scale)
    expected = conditioning.posterior(prior, constant, noise, seen)
    found = fitting.posterior(kernel, separation, seen, noise, lengthscale, scale, constant)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(found[1], np.swapaxes(found[1], -1, -2))


def test_scikit_learn_predicts_the_same_at_contexts_and_new_points() -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern

    rng = np.random.default_rng(16)
    for _ in range(10):
        data = oracles.random_data(rng)
        lengthscale, prior, constant, noise = draw_model(rng, data)
        kernel = ConstantKernel(2.0, "fixed") * Matern(lengthscale, "fixed", nu=2.5)
        regressor = GaussianProcessRegressor(kernel, alpha=noise[data.where], optimizer=None)
        regressor.fit(data.x[data.where], data.y - constant)
        theirs, their_cov = regressor.predict(data.x, return_cov=True)
        mean, cov = conditioning.posterior(prior, np.array(constant), noise, data.tally)
        np.testing.assert_allclose(mean, theirs + constant, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(cov, their_cov, rtol=1e-8, atol=1e-8)
        new = rng.random((5, data.x.shape[1])) * 2 - 0.5
        theirs, their_sd = regressor.predict(new, return_std=True)
        cross = priors.covariance(
            "matern52", np.moveaxis((data.x[:, None] - new) ** 2, -1, 0), lengthscale, np.array(2.0)
        )
        mean, var = conditioning.predict(prior, cross, np.full(5, 2.0), np.array(constant), noise, data.tally)
        np.testing.assert_allclose(mean, theirs + constant, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(var, their_sd**2, rtol=1e-8, atol=1e-8)


def test_one_context_by_hand() -> None:
    # Prior N(0, 4), noise 1, four observations with mean 2: precision 1/4 + 4, mean 8 / 4.25.
    tally = Tally(np.array([4]), np.array([2.0]), np.array([0.0]))
    mean, cov = conditioning.posterior(np.array([[4.0]]), np.array(0.0), np.array([1.0]), tally)
    assert mean[0] == pytest.approx(8 / 4.25, rel=1e-14)
    assert cov[0, 0] == pytest.approx(1 / 4.25, rel=1e-14)


def test_without_observations_the_prior_remains() -> None:
    prior = np.array([[2.0, 1.0], [1.0, 2.0]])
    tally = Tally(np.zeros(2, np.int64), np.zeros(2), np.zeros(2))
    mean, cov = conditioning.posterior(prior, np.array(5.0), np.ones(2), tally)
    np.testing.assert_array_equal(mean, [5.0, 5.0])
    np.testing.assert_array_equal(cov, prior)


def test_exact_data_pin_the_reward() -> None:
    prior = np.array([[2.0, 1.0], [1.0, 2.0]])
    tally = Tally(np.array([1, 0]), np.array([3.0, 0.0]), np.zeros(2))
    mean, cov = conditioning.posterior(prior, np.array(0.0), np.zeros(2), tally)
    np.testing.assert_allclose(mean, [3.0, 1.5], rtol=1e-12)
    np.testing.assert_allclose(cov, [[0.0, 0.0], [0.0, 1.5]], atol=1e-12)


def test_a_million_replications_keep_the_digits() -> None:
    rng = np.random.default_rng(17)
    x = rng.random((5, 1))
    prior = oracles.kernel("matern52", x, x, np.array([0.5]), 2.0)
    count = np.array([10**6, 0, 10**6, 3, 10**6])
    tally = Tally(count, rng.normal(0, 1, 5), np.zeros(5))
    mean, cov = conditioning.posterior(prior, np.array(0.1), np.ones(5), tally)
    seen = count > 0
    a = np.linalg.inv(prior[np.ix_(seen, seen)] + np.diag(1 / count[seen]))
    np.testing.assert_allclose(mean, 0.1 + prior[:, seen] @ a @ (tally.mean[seen] - 0.1), rtol=1e-9)
    np.testing.assert_allclose(cov, prior - prior[:, seen] @ a @ prior[seen], rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(np.diag(cov)[count == 10**6], 1e-6, rtol=1e-2)


def test_leading_axes_broadcast() -> None:
    rng = np.random.default_rng(18)
    data = oracles.random_data(rng)
    _, prior, constant, noise = draw_model(rng, data)
    scale = np.array([0.5, 1.0, 2.0])
    mean, cov = conditioning.posterior(
        scale[:, None, None] * prior,
        np.full(3, constant),
        np.broadcast_to(noise, (3, len(noise))),
        data.tally,
    )
    for i in range(3):
        one, one_cov = conditioning.posterior(scale[i] * prior, np.array(constant), noise, data.tally)
        np.testing.assert_allclose(mean[i], one, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(cov[i], one_cov, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_contexts", [10, 300])
def test_exact_data_under_a_kernel_singular_to_rounding_are_met(n_contexts: int) -> None:
    x = np.linspace(0.0, 1.0, n_contexts)[:, None]
    prior = oracles.kernel("rbf", x, x, np.array([0.5]), 1.0)
    truth = np.sin(3.0 * x[:, 0])
    tally = Tally(np.ones(n_contexts, int), truth, np.zeros(n_contexts))
    mean, cov = conditioning.posterior(prior, np.array(0.0), np.zeros(n_contexts), tally)
    np.testing.assert_allclose(mean, truth, atol=1e-6)
    assert np.all(np.diag(cov) > 0.0)


@pytest.mark.parametrize("n", [0, 1, 19, 20, 21, 45, 100, 200])
def test_triangles_are_solved_in_place_few_rows_at_a_time_or_by_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    lower, right = np.linalg.cholesky(np.eye(n) + root @ root.T), rng.normal(size=(n, 30))
    solved = right.copy()
    solve_in_place(lower, solved)
    np.testing.assert_allclose(lower @ solved, right, rtol=1e-10, atol=1e-11)
