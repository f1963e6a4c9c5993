"""The noise of the additive GP: rates, levels that the scatter within pairs tells, and kinds side by side."""

from dataclasses import replace

import common_cases
import numpy as np
import pytest
from core.test_pair_noise import side_by_side, told
from models.test_additive_gp import PLACES, TRUTH, setting

from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.decision import Decision
from argbest.core.noise import enough_within, pair_noise
from argbest.core.tally import Tally
from argbest.models.additive_gp import AdditiveGP, AdditiveGPParams

MODEL = AdditiveGP()
RATES = (TRUTH - 6.0) / 8.0  # 1/8 to 7/8


def zeros_and_ones(seed: int, n: int = 8) -> Tally:
    rng = np.random.default_rng(seed)
    return told((rng.random((*TRUTH.shape, n)) < RATES[..., None]).astype(float))


def normal(seed: int, n: int, sd: float | Array = 0.5) -> Tally:
    rng = np.random.default_rng(seed)
    return told(TRUTH[..., None] + np.broadcast_to(sd, TRUTH.shape)[..., None] * rng.normal(size=(4, 6, n)))


def skewed(seed: int, n: int) -> Tally:
    return told(TRUTH[..., None] + np.random.default_rng(seed).exponential(size=(4, 6, n)) ** 1.5)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("z", [PLACES, None])
@pytest.mark.parametrize("n", [8, 40])
def test_zeros_and_ones_have_the_noise_of_their_expected_rate(n: int, z: Array | None, sign: float) -> None:
    """(m p + ½)/(m + 1), p and its variance V being the belief's and m = p(1 − p)/V, at least the values."""
    for seed in range(3):
        tally = zeros_and_ones(seed, n)
        tally = tally if sign > 0 else tallies.negated(tally)
        params = MODEL.fit(tally, setting(z=z))
        assert params.theta[-1] == 0.0
        belief = MODEL.posterior(tally, setting(z=z), params)
        worth = np.maximum(n, params.noise / belief.var)
        rate = (worth * np.clip(sign * belief.mean, 0.0, 1.0) + 0.5) / (worth + 1)
        np.testing.assert_allclose(params.noise, rate * (1.0 - rate), rtol=0.2)
        if n == 40:  # what is known of a rate no longer matters
            plain = sign * belief.mean * (1.0 - sign * belief.mean)
            np.testing.assert_allclose(params.noise, plain, rtol=0.2)


def test_the_noise_of_a_rate_is_nearer_the_truth_than_that_of_pairs_by_themselves() -> None:
    truth, ours, own = RATES * (1 - RATES), [], []
    for seed in range(10):
        tally = zeros_and_ones(seed, 4)
        ours.append(np.abs(np.log(MODEL.fit(tally, setting()).noise / truth)).mean())
        rate = (tally.mean * 4 + 0.5) / 5
        own.append(np.abs(np.log(rate * (1 - rate) / truth)).mean())
    assert np.mean(ours) < 0.8 * np.mean(own)


def test_where_the_scatter_within_pairs_tells_the_noise_its_level_is_not_searched() -> None:
    tally = normal(1, 4, np.exp(np.random.default_rng(2).normal(-1, 1, TRUTH.shape)))
    params = MODEL.fit(tally, setting())
    assert params.theta[-1] == 0.0
    np.testing.assert_allclose(params.noise, pair_noise(tally).variance, rtol=1e-12)
    few = normal(1, 2)
    assert not enough_within(few)
    assert MODEL.fit(few, setting()).theta[-1] != 0.0


def assert_same(one: AdditiveGPParams, other: AdditiveGPParams, where: int) -> None:
    for name in ("theta", "noise", "constant", "trend", "offset", "joint", "own", "fitted", "searched"):
        found, alone = np.asarray(getattr(one, name))[where], getattr(other, name)
        np.testing.assert_allclose(found, alone, rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("z", [PLACES, None])
def test_studies_of_different_kinds_side_by_side_are_fitted_as_each_by_itself(z: Array | None) -> None:
    """A rate, enough and few values within pairs, skewed ones, and a rate with 30 degrees of freedom."""
    each = [
        zeros_and_ones(1, 2),
        normal(2, 4),
        normal(3, 2),
        skewed(4, 6),
        normal(5, 3),
        zeros_and_ones(6, 5),
    ]
    whole = MODEL.fit(side_by_side(each), setting(z=z))
    assert (whole.theta[:, -1] == 0.0).tolist() == [True, True, False, True, True, True]
    for i, tally in enumerate(each):
        assert_same(whole, MODEL.fit(tally, setting(z=z)), i)


def one_more(tally: Tally, seed: int) -> Tally:
    """One more value of every pair."""
    rng, shape = np.random.default_rng(seed), tally.shape
    for k, c in np.ndindex(TRUTH.shape):
        cell = Decision(*(np.full(shape[:-2], i) for i in (k, c)))
        value = TRUTH[k, c] + 0.5 * rng.normal(size=shape[:-2])
        tally = common_cases.numbered(tally, cell, value, np.zeros(shape[:-2], int))
    return tally


def test_later_fits_of_studies_side_by_side_are_those_of_each_by_itself_too() -> None:
    """With a value more the second leaves the few behind, and the rate is one no longer."""
    each = [normal(2, 4), normal(3, 2), zeros_and_ones(6, 2)]
    together = side_by_side(each)
    first = MODEL.fit(together, setting())
    later = one_more(together, 8)
    whole = MODEL.fit(later, setting(), first)
    assert (whole.theta[:, -1] == 0.0).tolist() == [True, True, True]
    for i, tally in enumerate(each):
        assert_same(whole, MODEL.fit(later[i], setting(), MODEL.fit(tally, setting())), i)


@pytest.mark.parametrize("level", [-2.0, 0.7])
def test_parameters_of_a_time_when_the_level_was_searched_go_on_with_a_known_one(level: float) -> None:
    before, tally = normal(3, 3), normal(3, 5)
    fresh = MODEL.fit(before, setting())
    theta = fresh.theta.copy()
    theta[-1] = level
    old = replace(fresh, theta=theta, noise=np.full(TRUTH.shape, np.exp(level) * fresh.spread**2))
    found, anew = MODEL.fit(tally, setting(), old), MODEL.fit(tally, setting())
    assert found.theta[-1] == 0.0
    assert found.status == 0
    np.testing.assert_allclose(found.noise, pair_noise(tally).variance, rtol=1e-12)
    belief, expected = (MODEL.posterior(tally, setting(), params) for params in (found, anew))
    np.testing.assert_allclose(belief.mean, expected.mean, atol=0.05)
    assert not MODEL.fit(tally, setting(), found).changed


def test_known_and_pooled_noise_are_not_learned_within_pairs() -> None:
    tally = normal(1, 4)
    given = AdditiveGP(noise_sd=0.3).fit(tally, setting())
    np.testing.assert_allclose(given.noise, np.full(TRUTH.shape, 0.09))
    assert given.theta[-1] == 0.0
    pooled = AdditiveGP(noise="pooled").fit(tally, setting())
    assert np.ptp(pooled.noise) == 0.0
    assert pooled.theta[-1] != 0.0


@pytest.mark.parametrize("kind", ["rate", "within", "few"])
def test_plausible_parameters_have_noise_about_the_fitted_one(kind: str) -> None:
    tally = {"rate": zeros_and_ones(1), "within": normal(2, 6), "few": normal(3, 2)}[kind]
    params = MODEL.fit(tally, setting())
    found = MODEL.plausible(tally, setting(), params, np.random.default_rng(4))
    ratio = np.log(found.params.noise / params.noise)
    assert np.abs(np.median(ratio)) < 0.25
    assert 0.01 < ratio.std() < 1.5
    if kind != "few":
        np.testing.assert_array_equal(found.params.theta[..., -1], 0.0)
