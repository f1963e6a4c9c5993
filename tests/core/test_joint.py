"""The compiled log evidence of the joint GP against the density of the raw observations, and differences."""

from typing import NamedTuple

import numpy as np
import oracles
import pytest
from scipy.optimize import minimize

from argbest.core import joint, priors
from argbest.core.arrays import Array, IntArray
from argbest.core.kernels import KERNELS
from argbest.core.search import CONVERGED
from argbest.core.setting import Setting
from argbest.core.tally import Tally, empty, from_observations
from argbest.models.joint_gp import JointGP
from argbest.models.latent_gp import LatentGP


class Case(NamedTuple):
    z: Array  # [alternative, coordinate]
    x: Array  # [context, coordinate]
    where: IntArray  # [observation]: flat cell
    y: Array
    tally: Tally
    noise: Array  # [alternative, context]: relative

    @property
    def setting(self) -> Setting:
        c = len(self.x)
        return Setting(np.full(c, 1 / c), squares(self.x), np.ones(c, bool), squares(self.z))

    def product(self, kernel: str = "matern52", dimensions: int = 0) -> joint.Product:
        if dimensions:
            return joint.Product(
                "rbf", np.zeros((1, len(self.z), len(self.z))), kernel, squares(self.x), dimensions
            )
        return joint.Product(kernel, squares(self.z), kernel, squares(self.x))

    def prior(self, dimensions: int = 0) -> priors.Hyperprior:
        model = LatentGP(dimensions=dimensions) if dimensions else JointGP()
        return model._hyperprior(len(self.z), self.setting)


def squares(points: Array) -> Array:
    return np.moveaxis((points[:, None] - points) ** 2, -1, 0).copy()


def case(rng: np.random.Generator, most: tuple[int, int] = (5, 8)) -> Case:
    """Draw a study: some alternatives and contexts, 1 or 2 coordinates each, some cells unobserved."""
    k, c = int(rng.integers(2, most[0] + 1)), int(rng.integers(2, most[1] + 1))
    z, x = rng.random((k, int(rng.integers(1, 3)))), rng.random((c, int(rng.integers(1, 3))))
    where = np.append(np.repeat(np.arange(k * c), rng.integers(0, 4, k * c)), [0, 0, k * c - 1])
    truth = np.sin(4 * z[:, :1] + 3 * x[:, 0]) + 0.3 * rng.normal(size=(k, c))
    y = truth.ravel()[where] + 0.3 * rng.normal(size=len(where))
    y = (y - y.mean()) / y.std(ddof=1)
    noise = np.exp(rng.normal(0, 0.5, (k, c)))
    return Case(z, x, where, y, from_observations(np.divmod(where, c), y, (k, c)), noise)


def flat(prior: priors.Hyperprior) -> priors.Hyperprior:
    rules = prior.rules.copy()
    rules[:, 0] = priors.FLAT
    return priors.Hyperprior(rules, prior.starts)


def whole_covariance(kernel: str, one: Case, theta: Array, dimensions: int) -> Array:
    """The definition: κ_A ⊗ κ_C over all cells."""
    n = dimensions * len(one.z)
    value = np.exp(theta[n:])
    if dimensions:
        place = theta[:n].reshape(-1, dimensions)
        relation = oracles.kernel("rbf", place, place, np.full(dimensions, value[0]), 1.0)
        a = 1
    else:
        a = one.z.shape[1]
        relation = oracles.kernel(kernel, one.z, one.z, value[:a], 1.0)
    near = oracles.kernel(kernel, one.x, one.x, value[a:-2], float(value[-2]))
    return np.asarray(np.kron(relation, near), float)


def dense_value(kernel: str, one: Case, theta: Array, constant: float, dimensions: int = 0) -> float:
    cov = whole_covariance(kernel, one, theta, dimensions)
    data = oracles.Data(np.zeros((len(cov), 1)), one.where, one.y)
    return oracles.log_likelihood(cov, data, constant, np.exp(theta[-1]) * one.noise.ravel())


def random_theta(rng: np.random.Generator, prior: priors.Hyperprior) -> Array:
    theta: Array = prior.starts[rng.integers(len(prior.starts))] + rng.normal(0, 0.7, len(prior.rules))
    return np.clip(theta, prior.rules[:, 3] + 1e-4, prior.rules[:, 4] - 1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dimensions", [0, 2])
def test_the_value_is_that_of_the_raw_observations_and_the_mean_the_best(
    kernel: str, dimensions: int
) -> None:
    rng = np.random.default_rng(1)
    for most in ((5, 8),) * 8 + ((9, 14),):  # the last in several blocks
        one = case(rng, most)
        prior = flat(one.prior(dimensions))
        theta = random_theta(rng, prior)
        value, _, constant = joint.log_evidence(
            one.product(kernel, dimensions), one.tally, one.noise, prior, theta
        )
        dense = dense_value(kernel, one, theta, float(constant), dimensions)
        assert float(value) == pytest.approx(dense, rel=1e-8, abs=1e-8)
        for other in (float(constant) - 0.1, float(constant) + 0.1):
            assert dense_value(kernel, one, theta, other, dimensions) < dense


def test_the_priors_are_added() -> None:
    rng = np.random.default_rng(2)
    for dimensions in (0, 0, 1, 2):
        one = case(rng)
        prior = one.prior(dimensions)
        a, b = random_theta(rng, prior), random_theta(rng, prior)
        gap = []
        for rules in (prior, flat(prior)):
            values, _, _ = joint.log_evidence(
                one.product(dimensions=dimensions), one.tally, one.noise, rules, np.stack([a, b])
            )
            gap.append(float(values[0] - values[1]))
        expected = oracles.log_prior(prior.rules, a) - oracles.log_prior(prior.rules, b)
        assert gap[0] - gap[1] == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dimensions", [0, 1, 2])
def test_the_gradient_is_that_of_differences(kernel: str, dimensions: int) -> None:
    rng = np.random.default_rng(3)
    for most in ((5, 8), (5, 8), (5, 8), (9, 14)):  # the last in several blocks
        one = case(rng, most)
        prior = one.prior(dimensions)
        theta = random_theta(rng, prior)
        jumps = 1e-5 * np.eye(len(theta))
        steps = np.concatenate([theta[None], theta + jumps, theta - jumps])
        values, gradients, _ = joint.log_evidence(
            one.product(kernel, dimensions), one.tally, one.noise, prior, steps
        )
        numeric = (values[1 : len(theta) + 1] - values[len(theta) + 1 :]) / 2e-5
        np.testing.assert_allclose(gradients[0], numeric, rtol=2e-6, atol=2e-5)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_singular_covariances_and_precise_data_need_no_jitter(kernel: str) -> None:
    rng = np.random.default_rng(4)
    x, z = np.append(rng.random((8, 1)), [[0.3], [0.3]], axis=0), rng.random((6, 1))
    one = Case(z, x, np.zeros(0, np.int64), np.zeros(0), empty((6, 10)), np.ones((6, 10)))
    tally = Tally(np.full((6, 10), 10**5), np.sin(3 * x[:, 0] + z), np.zeros((6, 10)))
    theta = np.log([5.0, 5.0, 1.0, 1e-4])
    prior = one.prior()
    value, gradient, _ = joint.log_evidence(one.product(kernel), tally, one.noise, prior, theta)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))
    assert np.isfinite(joint.fit_map(one.product(kernel), tally, one.noise, prior, prior.starts).value)


def test_the_optimum_is_as_good_as_a_multi_start_search() -> None:
    """L-BFGS-B from the three presets and two random points, on 20 data sets (`pytest -rP`)."""
    rng = np.random.default_rng(5)
    margins = []
    for _ in range(20):
        one = case(rng)
        prior, product = one.prior(), one.product()
        found = joint.fit_map(product, one.tally, one.noise, prior, prior.starts)
        assert found.status == CONVERGED
        low, high = prior.rules[:, 3], prior.rules[:, 4]
        inside = (found.theta > low) & (found.theta < high)
        value, gradient, _ = joint.log_evidence(product, one.tally, one.noise, prior, found.theta)
        assert float(value) == pytest.approx(float(found.value), abs=1e-9)
        assert np.max(np.abs(gradient[inside]), initial=0.0) < 1e-3

        def objective(
            theta: Array, one: Case = one, prior: priors.Hyperprior = prior, product: joint.Product = product
        ) -> tuple[float, Array]:
            value, gradient, _ = joint.log_evidence(product, one.tally, one.noise, prior, theta)
            return -float(value), -gradient

        jumps = np.clip(prior.starts[:1] + rng.normal(0, 1.5, (2, len(low))), low, high)
        limits = list(zip(low, high, strict=True))
        best = min(
            float(minimize(objective, start, jac=True, method="L-BFGS-B", bounds=limits).fun)
            for start in [*prior.starts, *jumps]
        )
        margins.append(float(found.value) + best)
    print(f"worse in {sum(m < -1e-5 for m in margins)} of 20, at most by {-min(margins):.3g}")
    assert min(margins) > -1e-5


def test_many_studies_at_once_equal_single_ones() -> None:
    rng = np.random.default_rng(7)
    shape = (3, 7, 8)
    tally = Tally(rng.integers(0, 5, shape), rng.normal(size=shape), rng.random(shape))
    noise = np.exp(rng.normal(0, 0.3, shape))
    one = Case(rng.random((7, 1)), rng.random((8, 2)), np.zeros(0, np.int64), np.zeros(0), tally, noise)
    for dimensions in (0, 1):
        prior = one.prior(dimensions)
        starts = prior.starts + np.where(prior.starts == 0, 0.1 * rng.normal(size=prior.starts.shape), 0.0)
        product = one.product("matern32", dimensions)
        found = joint.fit_map(product, tally, noise, prior, starts)
        for i in range(3):
            single = Tally(tally.count[i], tally.mean[i], tally.m2[i])
            alone = joint.fit_map(product, single, noise[i], prior, starts)
            np.testing.assert_array_equal(found.theta[i], alone.theta)
            assert found.value[i] == alone.value


def test_no_observation_leaves_the_prior_alone() -> None:
    one = case(np.random.default_rng(8))
    prior = flat(one.prior())
    value, gradient, constant = joint.log_evidence(
        one.product(), empty(one.tally.shape), one.noise, prior, prior.starts[0]
    )
    assert (float(value), float(constant)) == (0.0, 0.0)
    np.testing.assert_array_equal(gradient, np.zeros(len(prior.rules)))


def test_known_noise_stays_fixed_and_a_row_of_nan_is_no_start() -> None:
    one = case(np.random.default_rng(9))
    prior = priors.with_known_noise(one.prior())
    found = joint.fit_map(one.product(), one.tally, one.noise, prior, prior.starts)
    assert found.theta[-1] == 0.0
    padded = np.vstack([np.full((1, prior.starts.shape[1]), np.nan), prior.starts])
    again = joint.fit_map(one.product(), one.tally, one.noise, prior, padded)
    np.testing.assert_array_equal(again.theta, found.theta)
