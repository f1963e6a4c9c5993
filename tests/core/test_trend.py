"""The compiled log evidence of the shared trend against dense algebra over all cells, and differences."""

from typing import NamedTuple

import numpy as np
import oracles
import pytest

from argbest.core import priors, trend
from argbest.core.arrays import Array, IntArray
from argbest.core.kernels import KERNELS
from argbest.core.search import CONVERGED
from argbest.core.tally import Tally, empty, from_observations
from argbest.models.shared_gp import hyperprior


class Case(NamedTuple):
    x: Array  # [context, coordinate]
    where: IntArray  # [observation]: flat cell
    y: Array
    tally: Tally
    noise: Array  # [alternative, context], relative

    @property
    def separation(self) -> Array:
        return np.moveaxis((self.x[:, None] - self.x) ** 2, -1, 0).copy()


def case(rng: np.random.Generator) -> Case:
    """Draw a study: 2 to 5 alternatives, 2 to 8 contexts, 1 to 3 coordinates, some cells unobserved."""
    k, c, d = int(rng.integers(2, 6)), int(rng.integers(2, 9)), int(rng.integers(1, 4))
    where = np.repeat(np.arange(k * c), rng.integers(0, 4, k * c))
    where = np.append(where, [0, 0, k * c - 1])
    y = (
        rng.normal(size=c)[where % c]
        + 0.5 * rng.normal(size=k * c)[where]
        + 0.3 * rng.normal(size=len(where))
    )
    y = (y - y.mean()) / y.std(ddof=1)
    noise = np.exp(rng.normal(0, 0.5, (k, c)))
    return Case(rng.random((c, d)), where, y, from_observations(np.divmod(where, c), y, (k, c)), noise)


def flat_prior(d: int) -> priors.Hyperprior:
    usual = hyperprior(d)
    rules = usual.rules.copy()
    rules[:, 0] = priors.FLAT
    return priors.Hyperprior(rules, usual.starts)


def whole_covariance(kernel: str, x: Array, theta: Array, k: int) -> Array:
    """The definition: J ⊗ K_g + I ⊗ K_d."""
    d = x.shape[1]
    value = np.exp(theta)
    shared = oracles.kernel(kernel, x, x, value[:d], float(value[d]))
    own = oracles.kernel(kernel, x, x, value[d + 1 : 2 * d + 1], float(value[-3])) + value[-2]
    return np.asarray(np.kron(np.ones((k, k)), shared) + np.kron(np.eye(k), own), float)


def dense_value(kernel: str, one: Case, theta: Array, constant: float) -> float:
    cov = whole_covariance(kernel, one.x, theta, one.tally.shape[0])
    noise = np.exp(theta[-1]) * one.noise.ravel()
    data = oracles.Data(np.zeros((len(cov), 1)), one.where, one.y)
    return oracles.log_likelihood(cov, data, constant, noise)


def random_theta(rng: np.random.Generator, prior: priors.Hyperprior) -> Array:
    theta: Array = prior.starts[rng.integers(3)] + rng.normal(0, 0.8, len(prior.rules))
    return np.clip(theta, prior.rules[:, 3], prior.rules[:, 4])


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_value_is_the_dense_one_and_the_mean_the_best(kernel: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(15):
        one = case(rng)
        prior = flat_prior(one.x.shape[1])
        theta = random_theta(rng, prior)
        value, _, constant = trend.log_evidence(kernel, one.separation, one.tally, one.noise, prior, theta)
        dense = dense_value(kernel, one, theta, float(constant))
        assert float(value) == pytest.approx(dense, rel=1e-8, abs=1e-8)
        for other in (float(constant) - 0.1, float(constant) + 0.1):
            assert dense_value(kernel, one, theta, other) < dense


def test_the_priors_are_added() -> None:
    rng = np.random.default_rng(2)
    for _ in range(5):
        one = case(rng)
        prior = hyperprior(one.x.shape[1])
        a, b = random_theta(rng, prior), random_theta(rng, prior)
        gap = [
            float(trend.log_evidence("matern52", one.separation, one.tally, one.noise, rules, a)[0])
            - float(trend.log_evidence("matern52", one.separation, one.tally, one.noise, rules, b)[0])
            for rules in (prior, flat_prior(one.x.shape[1]))
        ]
        expected = oracles.log_prior(prior.rules, a) - oracles.log_prior(prior.rules, b)
        assert gap[0] - gap[1] == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_is_that_of_differences(kernel: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(8):
        one = case(rng)
        prior = hyperprior(one.x.shape[1])
        theta = np.clip(random_theta(rng, prior), prior.rules[:, 3] + 1e-4, prior.rules[:, 4] - 1e-4)
        steps = np.concatenate(
            [theta[None], theta + 1e-5 * np.eye(len(theta)), theta - 1e-5 * np.eye(len(theta))]
        )
        values, gradients, _ = trend.log_evidence(kernel, one.separation, one.tally, one.noise, prior, steps)
        numeric = (values[1 : len(theta) + 1] - values[len(theta) + 1 :]) / 2e-5
        np.testing.assert_allclose(gradients[0], numeric, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_singular_covariances_and_precise_data_need_no_jitter(kernel: str) -> None:
    """Long lengthscales make K_g singular to rounding, coinciding contexts exactly so."""
    rng = np.random.default_rng(4)
    x = np.sort(np.append(rng.random((12, 1)), [[0.3], [0.3]], axis=0), axis=0)
    separation = np.moveaxis((x[:, None] - x) ** 2, -1, 0).copy()
    tally = Tally(
        np.full((3, 14), 10**5), np.sin(3 * x[:, 0]) + np.array([[0.0], [0.1], [0.3]]), np.zeros((3, 14))
    )
    prior = hyperprior(1)
    theta = np.log([5.0, 1.0, 5.0, 0.1, 0.1, 1e-4])
    value, gradient, _ = trend.log_evidence(kernel, separation, tally, np.ones((3, 14)), prior, theta)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))
    found = trend.fit_map(kernel, separation, tally, np.ones((3, 14)), prior, prior.starts)
    assert np.isfinite(found.value)


def test_the_search_ends_where_the_gradient_vanishes_or_a_bound_holds() -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        one = case(rng)
        prior = hyperprior(one.x.shape[1])
        found = trend.fit_map("matern52", one.separation, one.tally, one.noise, prior, prior.starts)
        assert found.status == CONVERGED
        value, gradient, _ = trend.log_evidence(
            "matern52", one.separation, one.tally, one.noise, prior, found.theta
        )
        assert value == pytest.approx(float(found.value), abs=1e-9)
        inside = (found.theta > prior.rules[:, 3]) & (found.theta < prior.rules[:, 4])
        assert np.max(np.abs(gradient[inside]), initial=0.0) < 1e-3
        assert np.all(gradient[found.theta <= prior.rules[:, 3]] <= 0)
        starts, _, _ = trend.log_evidence(
            "matern52", one.separation, one.tally, one.noise, prior, prior.starts
        )
        assert found.value >= starts.max()


def test_scipy_finds_no_better_maximum_from_the_same_start() -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(6)
    one = case(rng)
    prior = hyperprior(one.x.shape[1])
    found = trend.fit_map("matern52", one.separation, one.tally, one.noise, prior, prior.starts)

    def objective(theta: Array) -> tuple[float, Array]:
        value, gradient, _ = trend.log_evidence(
            "matern52", one.separation, one.tally, one.noise, prior, theta
        )
        return -float(value), -gradient

    limits = [(float(low), float(high)) for low, high in prior.rules[:, 3:5]]
    for start in prior.starts:
        theirs = minimize(objective, start, jac=True, bounds=limits, method="L-BFGS-B")
        assert found.value >= -theirs.fun - 1e-6


def test_many_studies_at_once_equal_single_ones() -> None:
    rng = np.random.default_rng(7)
    shape = (4, 3, 5)
    tally = Tally(rng.integers(1, 5, shape), rng.normal(size=shape), rng.random(shape))
    x = rng.random((5, 2))
    separation = np.moveaxis((x[:, None] - x) ** 2, -1, 0).copy()
    prior = hyperprior(2)
    found = trend.fit_map("matern32", separation, tally, np.ones(shape), prior, prior.starts)
    for i in range(4):
        one = Tally(tally.count[i], tally.mean[i], tally.m2[i])
        alone = trend.fit_map("matern32", separation, one, np.ones((3, 5)), prior, prior.starts)
        np.testing.assert_array_equal(found.theta[i], alone.theta)
        assert found.value[i] == alone.value


def test_no_observation_leaves_the_prior_alone() -> None:
    prior = flat_prior(1)
    value, gradient, constant = trend.log_evidence(
        "matern52", np.zeros((1, 3, 3)), empty((2, 3)), np.ones((2, 3)), prior, prior.starts[0]
    )
    assert float(value) == 0.0
    assert float(constant) == 0.0
    np.testing.assert_array_equal(gradient, np.zeros(6))
