import additive_cases
import common_cases
import numpy as np
import pytest

from argbest.core import additive
from argbest.core.arrays import Array


def cases(seed: int, *, names: bool) -> tuple[additive_cases.Case, common_cases.Runs, Array]:
    """A study with its places, replications there, and a point of the parameter space."""
    rng = np.random.default_rng(seed)
    one = additive_cases.case(rng, names=names, most=(5, 5))
    case = common_cases.runs(rng, one.shape, most=4)
    return one, case, additive_cases.random_theta(rng, one.prior(case.correlation))


def by_definition(one: additive_cases.Case, case: common_cases.Runs, theta: Array) -> tuple[float, float]:
    """The log evidence of all observations with their joint covariance, observation by observation."""
    scales = additive_cases.Scales.of(theta, one.x.shape[1])
    prior = one.covariance("matern52", scales) + scales.like * scales.noise * case.noise_like()
    noisy = prior[np.ix_(case.cells, case.cells)] + scales.noise * case.noise_covariance()
    value, constant = additive_cases.log_density(noisy, case.y)
    return value + additive_cases.log_prior(one.prior().rules, theta), constant


@pytest.mark.parametrize("names", [True, False])
def test_the_evidence_is_that_of_all_observations_with_their_joint_covariance(names: bool) -> None:
    for seed in range(4):
        one, case, theta = cases(seed, names=names)
        value, gradient, constant = additive.log_evidence(
            one.inputs(), case.tally, case.noise, one.prior(case.correlation), theta, case.correlation
        )
        np.testing.assert_allclose([value, constant], by_definition(one, case, theta), rtol=1e-6)
        rules = one.prior(case.correlation).rules
        free = np.flatnonzero(rules[:, 3] < rules[:, 4])
        assert len(theta) - 2 in free  # the scale of what is like the noise
        for i in free:
            step = 1e-5 * (np.arange(len(theta)) == i)
            slope = by_definition(one, case, theta + step)[0] - by_definition(one, case, theta - step)[0]
            np.testing.assert_allclose(gradient[i], slope / 2e-5, rtol=1e-4, atol=1e-3)


def test_without_correlation_the_evidence_is_the_one_of_cell_means() -> None:
    one, case, theta = cases(5, names=True)
    plain = additive.log_evidence(one.inputs(), case.tally.statistics_alone, case.noise, one.prior(), theta)
    none = np.zeros(one.shape[1])
    for ours, theirs in zip(
        additive.log_evidence(one.inputs(), case.tally, case.noise, one.prior(), theta, none),
        plain,
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)  # the very same code
    tiny = np.full(one.shape[1], 1e-12)
    near = additive.log_evidence(one.inputs(), case.tally, case.noise, one.prior(), theta, tiny)
    for ours, theirs in zip(near, plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-7)


def test_large_and_small_studies_are_searched_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    one, case, _ = cases(6, names=True)
    prior = one.prior()
    search = additive.search_from(prior.starts, 25)
    found = additive.fit_map(one.inputs(), case.tally, case.noise, prior, search, case.correlation)
    monkeypatch.setattr(additive, "SMALL", 1)
    slow = additive.fit_map(one.inputs(), case.tally, case.noise, prior, search, case.correlation)
    np.testing.assert_allclose(slow.value, found.value, rtol=1e-7)
