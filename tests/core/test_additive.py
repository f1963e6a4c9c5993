"""The compiled log evidence of the additive GP against the density of the raw observations."""

import numpy as np
import pytest
from additive_cases import Case, Scales, case, log_density, log_prior, random_theta
from scipy.optimize import minimize

from argbest.core import additive, priors
from argbest.core.arrays import Array
from argbest.core.priors import KERNELS
from argbest.core.search import CONVERGED
from argbest.core.tally import Tally, empty


def dense_value(kernel: str, one: Case, theta: Array) -> tuple[float, float]:
    """log ∫ N(y; m, S) dm, the constant flat, and its estimate."""
    scales = Scales.of(theta, one.x.shape[1])
    whole = one.covariance(kernel, scales)[np.ix_(one.where, one.where)]
    noisy = whole + np.diag(scales.noise * one.noise.ravel()[one.where])
    return log_density(noisy, one.y)


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_value_is_that_of_the_raw_observations_with_the_constant_integrated(
    kernel: str, names: bool
) -> None:
    rng = np.random.default_rng(1)
    for most in ((6, 8),) * 6 + ((9, 14),):  # the last in several blocks
        one = case(rng, names=names, most=most)
        prior = one.prior()
        theta = random_theta(rng, prior)
        value, _, constant = additive.log_evidence(one.inputs(kernel), one.tally, one.noise, prior, theta)
        expected, mean = dense_value(kernel, one, theta)
        assert float(value) == pytest.approx(expected + log_prior(prior.rules, theta), rel=1e-9, abs=1e-9)
        assert float(constant) == pytest.approx(mean, rel=1e-9, abs=1e-9)


def test_the_constant_is_integrated_and_not_merely_the_best() -> None:
    """One observation says nothing of the parameters once the constant is integrated."""
    one = case(np.random.default_rng(2))
    single = Case(one.z, one.x, one.shape, one.where[:1], one.y[:1], one.noise)
    prior = one.prior()
    flat = priors.Hyperprior(np.where(np.arange(5) == 0, priors.FLAT, prior.rules), prior.starts)
    values, gradients, _ = additive.log_evidence(
        single.inputs(), single.tally, one.noise, flat, np.log(np.full((1, len(prior.rules)), 0.7))
    )
    assert float(values[0]) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(gradients, 0.0, atol=1e-12)


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_is_that_of_differences(kernel: str, names: bool) -> None:
    rng = np.random.default_rng(3)
    for most in ((6, 8), (6, 8), (9, 14)):
        one = case(rng, names=names, most=most)
        prior = one.prior()
        theta = random_theta(rng, prior)
        jumps = 1e-5 * np.eye(len(theta))
        steps = np.concatenate([theta[None], theta + jumps, theta - jumps])
        values, gradients, _ = additive.log_evidence(one.inputs(kernel), one.tally, one.noise, prior, steps)
        numeric = (values[1 : len(theta) + 1] - values[len(theta) + 1 :]) / 2e-5
        np.testing.assert_allclose(gradients[0], numeric, rtol=2e-6, atol=2e-5)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_singular_covariances_and_precise_data_need_no_jitter(kernel: str) -> None:
    rng = np.random.default_rng(4)
    x, z = (
        np.append(rng.random((8, 1)), [[0.3], [0.3]], axis=0),
        np.column_stack([rng.random(6), np.zeros(6)]),
    )
    one = Case(z, x, (6, 10), np.zeros(0, np.int64), np.zeros(0), np.ones((6, 10)))
    tally = Tally(np.full((6, 10), 10**5), np.sin(3 * x[:, 0] + z[:, :1]), np.zeros((6, 10)))
    prior = one.prior()
    found = additive.fit_map(
        one.inputs(kernel), tally, one.noise, prior, additive.search_from(prior.starts, 25)
    )
    assert np.isfinite(found.value)
    assert np.all(np.isfinite(found.theta))


def test_nothing_observed_leaves_the_prior() -> None:
    one = case(np.random.default_rng(5))
    prior = one.prior()
    theta = prior.starts[0]
    value, gradient, constant = additive.log_evidence(one.inputs(), empty(one.shape), one.noise, prior, theta)
    assert float(value) == pytest.approx(log_prior(prior.rules, theta), rel=1e-12)
    assert float(constant) == 0.0
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.fast_cases("True")
def test_the_optimum_is_as_good_as_a_multi_start_search(names: bool) -> None:
    """On 20 data sets of each kind (`pytest -rP`)."""
    found = margins(20, names=names)
    assert np.median(found) > -1e-6
    assert sum(margin < -0.01 for margin in found) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("names", [False, True])
def test_on_many_data_sets_the_optimum_is_as_good_as_a_multi_start_search(names: bool) -> None:
    """On 100 data sets of each kind."""
    found = margins(100, names=names)
    assert np.median(found) > -1e-6
    assert sum(margin < -0.01 for margin in found) <= 3


def margins(n: int, *, names: bool) -> list[float]:
    """How much higher our search ends than L-BFGS-B from the presets and three random points does at best."""
    rng = np.random.default_rng(6)
    found = []
    for _ in range(n):
        one = case(rng, names=names)
        prior = one.prior()
        ours = additive.fit_map(
            one.inputs(), one.tally, one.noise, prior, additive.search_from(prior.starts, 25)
        )
        assert ours.status == CONVERGED
        found.append(float(ours.value) - best_of_many(one, prior, rng))
    low = sum(margin < -0.01 for margin in found)
    print(f"margins: worst {min(found):.2g}, best {max(found):.2g}, below -0.01: {low} of {n}")
    return found


def best_of_many(one: Case, prior: priors.Hyperprior, rng: np.random.Generator) -> float:
    low, high = prior.rules[:, 3], prior.rules[:, 4]

    def objective(theta: Array) -> tuple[float, Array]:
        value, gradient, _ = additive.log_evidence(one.inputs(), one.tally, one.noise, prior, theta)
        return -float(value), -gradient

    begin = [*prior.starts, *(random_theta(rng, prior) for _ in range(3))]
    reached = [
        minimize(
            objective,
            np.clip(s, low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
        )
        for s in begin
    ]
    return max(-float(result.fun) for result in reached)
