"""The compiled log evidence against plain n×n algebra, differences, and scikit-learn."""

import numpy as np
import oracles
import pytest

from argbest.core import fitting, priors
from argbest.core.arrays import Array
from argbest.core.priors import KERNELS
from argbest.core.tally import Tally


def evaluate(
    data: oracles.Data,
    prior: priors.Hyperprior,
    theta: Array,
    kernel: str = "matern52",
    noise: Array | None = None,
) -> tuple[float, Array, float]:
    relative = np.ones(len(data.x)) if noise is None else noise
    value, gradient, constant = fitting.log_evidence(
        kernel, data.separation, data.tally, relative, prior, theta
    )
    return float(value), gradient, float(constant)


def random_theta(rng: np.random.Generator, prior: priors.Hyperprior) -> Array:
    low, high = prior.rules[:, 3], prior.rules[:, 4]
    theta: Array = np.clip(prior.starts[0] + rng.normal(0, 0.8, len(low)), low, high)
    return theta


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("preset", priors.PRIORS)
@pytest.mark.fast_cases("paper-rbf", "modern-matern52", "none-matern12")
def test_the_value_is_the_dense_one(kernel: str, preset: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        data = oracles.random_data(rng, standardised=True)
        d = data.x.shape[1]
        prior = priors.hyperprior(preset, d)
        theta, other = random_theta(rng, prior), random_theta(rng, prior)
        relative = np.exp(rng.normal(0, 0.5, len(data.x)))
        value, _, constant = evaluate(data, prior, theta, kernel, relative)
        matrix = oracles.kernel(kernel, data.x, data.x, np.exp(theta[:d]), float(np.exp(theta[d])))
        dense = oracles.log_likelihood(matrix, data, constant, np.exp(theta[d + 1]) * relative)
        # Constants of the priors are left out, so priors are compared by their differences.
        reference = evaluate(data, prior, other, kernel, relative)[0]
        matrix = oracles.kernel(kernel, data.x, data.x, np.exp(other[:d]), float(np.exp(other[d])))
        m = evaluate(data, prior, other, kernel, relative)[2]
        dense -= oracles.log_likelihood(matrix, data, m, np.exp(other[d + 1]) * relative)
        dense += oracles.log_prior(prior.rules, theta) - oracles.log_prior(prior.rules, other)
        assert value - reference == pytest.approx(dense, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_contexts", [1, 8, 60])
def test_the_value_is_the_same_without_its_slopes(kernel: str, n_contexts: int) -> None:
    rng = np.random.default_rng(n_contexts)
    x = rng.random((n_contexts, 2))
    count = rng.integers(0, 4, (3, n_contexts))
    count[0] = 0
    mean = np.where(count > 0, rng.normal(size=count.shape), 0.0)
    tally = Tally(count, mean, np.where(count > 1, rng.gamma(2.0, size=count.shape), 0.0))
    prior = priors.hyperprior("paper", 2)
    theta = np.stack([random_theta(rng, prior) for _ in range(3)])
    known = kernel, ((x[:, None] - x) ** 2).transpose(2, 0, 1), tally, rng.gamma(3.0, size=count.shape), prior
    value, _, constant = fitting.log_evidence(*known, theta)
    density, centre = fitting.log_density(*known, theta)
    np.testing.assert_allclose(density, value, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(centre, constant, rtol=1e-8, atol=1e-10)


def test_without_priors_the_value_is_the_likelihood_itself() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        data = oracles.random_data(rng, standardised=True)
        d = data.x.shape[1]
        prior = priors.hyperprior("none", d)
        theta = random_theta(rng, prior)
        value, _, constant = evaluate(data, prior, theta)
        matrix = oracles.kernel("matern52", data.x, data.x, np.exp(theta[:d]), float(np.exp(theta[d])))
        noise = np.full(len(data.x), np.exp(theta[-1]))
        assert value == pytest.approx(
            oracles.log_likelihood(matrix, data, constant, noise), rel=1e-8, abs=1e-8
        )
        for other in (constant - 0.1, constant + 0.1):  # the mean is profiled out: any other is worse
            assert oracles.log_likelihood(matrix, data, other, noise) < value


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("preset", priors.PRIORS)
def test_the_gradient_is_that_of_differences(kernel: str, preset: str) -> None:
    rng = np.random.default_rng(6)
    for _ in range(10):
        data = oracles.random_data(rng, standardised=True)
        prior = priors.hyperprior(preset, data.x.shape[1])
        theta = random_theta(rng, prior)
        _, gradient, _ = evaluate(data, prior, theta, kernel)
        for i in range(len(theta)):
            step = 1e-5 * np.eye(len(theta))[i]
            up, down = (
                evaluate(data, prior, theta + step, kernel),
                evaluate(data, prior, theta - step, kernel),
            )
            numeric = (up[0] - down[0]) / 2e-5
            assert gradient[i] == pytest.approx(numeric, rel=1e-6, abs=1e-5)


def test_scikit_learn_finds_the_same_likelihood_and_gradient() -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    rng = np.random.default_rng(7)
    for _ in range(10):
        data = oracles.random_data(rng, standardised=True)
        d = data.x.shape[1]
        prior = priors.hyperprior("none", d)
        theta = random_theta(rng, prior)
        value, gradient, constant = evaluate(data, prior, theta)
        matern = Matern(np.exp(theta[:d]), (1e-9, 1e9), nu=2.5)
        kernel = ConstantKernel(np.exp(theta[d]), (1e-9, 1e9)) * matern + WhiteKernel(
            np.exp(theta[-1]), (1e-9, 1e9)
        )
        regressor = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None)
        regressor.fit(data.x[data.where], data.y - constant)
        theirs, slope = regressor.log_marginal_likelihood(regressor.kernel_.theta, eval_gradient=True)
        assert value == pytest.approx(theirs, rel=1e-8, abs=1e-8)
        ordered = np.concatenate([slope[1 : d + 1], slope[:1], slope[-1:]])  # theirs: scale, lengths, noise
        np.testing.assert_allclose(gradient, ordered, rtol=1e-6, atol=1e-8)


def test_no_observation_leaves_the_prior_alone() -> None:
    prior = priors.hyperprior("none", 1)
    empty = Tally(np.zeros(3, np.int64), np.zeros(3), np.zeros(3))
    value, gradient, constant = fitting.log_evidence(
        "matern52", np.zeros((1, 3, 3)), empty, np.ones(3), prior, prior.starts[0]
    )
    assert float(value) == 0.0
    assert float(constant) == 0.0
    np.testing.assert_array_equal(gradient, np.zeros(3))


def test_leading_axes_broadcast_exactly() -> None:
    rng = np.random.default_rng(8)
    data = oracles.random_data(rng, standardised=True)
    prior = priors.hyperprior("paper", data.x.shape[1])
    thetas = np.stack([random_theta(rng, prior) for _ in range(6)]).reshape(2, 3, -1)
    ones = np.ones(len(data.x))
    values, gradients, _ = fitting.log_evidence("rbf", data.separation, data.tally, ones, prior, thetas)
    for i in np.ndindex(2, 3):
        value, gradient, _ = evaluate(data, prior, thetas[i], "rbf")
        assert values[i] == value
        np.testing.assert_array_equal(gradients[i], gradient)
