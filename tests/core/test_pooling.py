"""Hyper-parameters in common: the evidence is a sum, the gradient its slope, the maximum a maximum."""

import numpy as np
import oracles
import pytest
from scipy.optimize import minimize

from argbest.core import fitting, pooling, priors
from argbest.core.arrays import Array
from argbest.core.tally import Tally

KINDS = [
    (True, True, True),
    (True, False, True),
    (False, False, True),
    (True, True, False),
    (False, True, True),
]


def study(seed: int, k: int = 4, c: int = 6) -> tuple[Array, Tally, Array]:
    """Return contexts, a standardised tally and relative noise of one study."""
    rng = np.random.default_rng(seed)
    x = rng.random((c, 2))
    prior = oracles.kernel("matern52", x, x, np.array([0.4, 0.8]), 1.0) + 1e-9 * np.eye(c)
    reward = rng.standard_normal((k, c)) @ np.linalg.cholesky(prior).T
    count = rng.integers(0, 5, (k, c))
    spread = 0.3 * rng.standard_normal((k, c)) / np.sqrt(np.maximum(count, 1))
    mean = np.where(count > 0, reward + spread, 0.0)
    m2 = 0.09 * rng.chisquare(np.maximum(count - 1, 1)) * (count > 1)
    return x, Tally(count, mean, m2), np.exp(rng.normal(0, 0.3, (k, c)))


def separation(x: Array) -> Array:
    return np.moveaxis((x[:, None] - x) ** 2, -1, 0).copy()


def owners(kind: tuple[bool, bool, bool], k: int = 4) -> pooling.Ownership:
    lengths, scale, noise = kind
    return pooling.ownership(k, 2, lengths=lengths, scale=scale, noise=noise)


def test_ownership_of_two_alternatives_by_hand() -> None:
    who = pooling.ownership(2, 1, lengths=True, scale=False, noise=True)
    assert who.owner.tolist() == [[0, 1, 3], [0, 2, 3]]
    assert who.column.tolist() == [0, 1, 1, 2]
    theta = np.array([[10.0, 20.0, 21.0, 30.0]])
    own = who.gather(theta)
    assert own.tolist() == [[[10.0, 20.0, 30.0], [10.0, 21.0, 30.0]]]
    np.testing.assert_array_equal(who.collect(own), theta)
    single = priors.hyperprior("paper", 1)
    np.testing.assert_array_equal(who.prior(single).rules, single.rules[[0, 1, 1, 2]])


@pytest.mark.parametrize("kind", KINDS)
def test_the_evidence_is_the_sum_and_the_prior_counts_once(kind: tuple[bool, bool, bool]) -> None:
    x, tally, noise = study(1)
    who, single = owners(kind), priors.hyperprior("paper", 2)
    flat = priors.Hyperprior(np.array([[priors.FLAT, 0.0, 0.0, -20.0, 20.0]] * 4), single.starts)
    prior = who.prior(single)
    rng = np.random.default_rng(2)
    for _ in range(5):
        theta = np.clip(rng.normal(-0.7, 0.7, len(who.column)), prior.rules[:, 3], prior.rules[:, 4])
        value, _, constant = pooling.log_evidence(
            "matern52", separation(x), tally, noise, prior, who.owner, theta
        )
        each, _, means = fitting.log_evidence(
            "matern52", separation(x), tally, noise, flat, who.gather(theta)
        )
        expected = float(each.sum()) + _log_prior(prior, theta)
        assert float(value) == pytest.approx(expected, rel=1e-11)
        np.testing.assert_allclose(constant, means, rtol=1e-10)


def _log_prior(prior: priors.Hyperprior, theta: Array) -> float:
    """The log density of Gamma priors without constants, written out."""
    a, b = prior.rules[:, 1], prior.rules[:, 2]
    return float(np.sum((a - 1) * theta - b * np.exp(theta)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_that_of_differences(kind: tuple[bool, bool, bool]) -> None:
    x, tally, noise = study(3)
    who = owners(kind)
    prior = who.prior(priors.hyperprior("paper", 2))
    theta = np.random.default_rng(4).normal(-0.7, 0.5, len(who.column))

    def value(at: Array) -> float:
        return float(pooling.log_evidence("matern52", separation(x), tally, noise, prior, who.owner, at)[0])

    gradient = pooling.log_evidence("matern52", separation(x), tally, noise, prior, who.owner, theta)[1]
    for i in range(len(theta)):
        step = 1e-5 * np.eye(len(theta))[i]
        assert gradient[i] == pytest.approx(
            (value(theta + step) - value(theta - step)) / 2e-5, rel=1e-5, abs=1e-6
        )


def best_by_scipy(seed: int, who: pooling.Ownership, prior: priors.Hyperprior) -> float:
    x, tally, noise = study(seed)

    def minus(theta: Array) -> tuple[float, Array]:
        value, gradient, _ = pooling.log_evidence(
            "matern52", separation(x), tally, noise, prior, who.owner, theta
        )
        return -float(value), -gradient

    bounds = [(float(low), float(high)) for low, high in prior.rules[:, 3:]]
    runs = [minimize(minus, s, jac=True, bounds=bounds, method="L-BFGS-B") for s in prior.starts]
    return -min(float(run.fun) for run in runs)


@pytest.mark.parametrize("kind", KINDS)
def test_the_search_finds_what_scipy_finds(kind: tuple[bool, bool, bool]) -> None:
    who = owners(kind)
    prior = who.prior(priors.hyperprior("paper", 2))
    for seed in range(10, 16):
        x, tally, noise = study(seed)
        found = pooling.fit_map("matern52", separation(x), tally, noise, prior, who.owner, prior.starts)
        assert float(found.value) >= best_by_scipy(seed, who, prior) - 1e-4


def test_sharing_nothing_is_fitting_every_alternative_by_itself() -> None:
    x, tally, noise = study(5)
    who, single = owners((False, False, False)), priors.hyperprior("paper", 2)
    prior = who.prior(single)
    together = pooling.fit_map("matern52", separation(x), tally, noise, prior, who.owner, prior.starts)
    alone = fitting.fit_map(
        "matern52",
        separation(x),
        tally,
        noise,
        single,
        np.broadcast_to(single.starts, (4, *single.starts.shape)),
    )
    assert float(together.value) <= float(alone.value.sum()) + 1e-8  # each may prefer a start of its own
    warm = pooling.fit_map(
        "matern52", separation(x), tally, noise, prior, who.owner, who.collect(alone.theta)[None]
    )
    np.testing.assert_allclose(who.gather(warm.theta), alone.theta, atol=1e-4)
    assert float(warm.value) == pytest.approx(float(alone.value.sum()), abs=1e-7)
