"""What models are unsure of: hyper-parameters and noise as likely as the data leave them."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from argbest.core import fitting, priors
from argbest.core.arrays import IntArray
from argbest.core.setting import Coordinates, Setting
from argbest.core.tally import Tally, standardisation, standardise
from argbest.models.additive_gp import AdditiveGP
from argbest.models.base import Integrated, entries, integrated
from argbest.models.frequentist import Independent, Linear
from argbest.models.gp import GP

K, C = 3, 6
X = np.linspace(0.0, 1.0, C)
SETTING = Setting(np.full(C, 1 / C), ((X[:, None] - X) ** 2)[None], np.ones(C, bool))
MODELS = [AdditiveGP(), AdditiveGP(noise="pooled"), GP(), GP(noise="pair"), Independent()]


def tally(seed: int = 0, n: int = 3) -> Tally:
    rng = np.random.default_rng(seed)
    truth = np.sin(4 * X) + np.array([[0.0], [0.3], [0.1]]) * np.cos(3 * X)
    values = truth + 0.4 * rng.normal(size=(n, K, C))
    mean = values.mean(axis=0)
    return Tally(np.full((K, C), n), mean, np.sum((values - mean) ** 2, axis=0))


def found(model: Any, data: Tally, seed: int = 1) -> Integrated:
    several = integrated(model, data, SETTING, model.fit(data, SETTING), np.random.default_rng(seed))
    assert several is not None
    return several


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_points_are_the_model_s_own_parameters_and_the_same_for_the_same_seed(model: Any) -> None:
    data = tally()
    one, two = found(model, data).points, found(model, data).points
    assert type(one.params) is type(model.fit(data, SETTING))
    for each in fields(one.params):
        values = getattr(one.params, each.name)
        assert len(values) == one.n
        np.testing.assert_array_equal(values, getattr(two.params, each.name))
    assert np.all((one.effective >= 1) & (one.effective <= one.n))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_point_that_is_the_fit_gives_the_plug_in_belief(model: Any) -> None:
    data = tally()
    params, several = model.fit(data, SETTING), found(model, data)
    single = type(params)(**{f.name: getattr(params, f.name)[None] for f in fields(params)})
    only = several._replace(points=several.points._replace(params=single, n=1)).at_own_contexts()
    plain = model.posterior(data, SETTING, params)
    chosen = plain.mean.argmax(axis=-2)
    np.testing.assert_allclose(only.good_probability(chosen), plain.good_probability(chosen), atol=0.02)
    np.testing.assert_allclose(only.expected_loss(chosen), plain.expected_loss(chosen), atol=0.01)


def test_a_part_that_was_left_out_stays_out_and_known_noise_stays_known() -> None:
    model = AdditiveGP(parts=("offset", "own"), noise_sd=0.4)
    params = found(model, tally()).points.params
    assert np.all(params.trend < 1e-100)
    np.testing.assert_allclose(params.noise, 0.16, rtol=1e-12)
    assert np.ptp(np.log(params.own)) > 0.1
    known = found(GP(noise_sd=0.4), tally()).points.params
    np.testing.assert_allclose(known.noise, 0.16, rtol=1e-12)


def test_points_of_a_gp_have_the_moments_of_brute_force_quadrature() -> None:
    """Length and scale of one alternative with known noise, a grid over both against many points."""
    data, model = tally(n=2), GP(noise_sd=0.4)
    params = model.fit(data, SETTING)
    scale = standardisation(data)
    prior = priors.with_known_noise(priors.of_logarithms(priors.hyperprior("paper", 1)))
    length, size = np.meshgrid(np.linspace(-4, 3, 71), np.linspace(-4, 6, 71), indexing="ij")
    grid = np.stack([length, size, np.zeros_like(length)], axis=-1)[:, :, None]
    standard, noise = standardise(data, scale), 0.16 / scale.spread[:, None] ** 2
    value = fitting.log_evidence(
        model.kernel, SETTING.separation, standard, np.broadcast_to(noise, (K, C)), prior, grid
    )[0]
    weight = np.exp(value - value.max(axis=(0, 1)))
    weight /= weight.sum(axis=(0, 1))
    points = np.concatenate(
        [
            model.plausible(data, SETTING, params, np.random.default_rng(seed)).params.theta
            for seed in range(20)
        ]
    )
    for place, axis in ((0, length), (1, size)):
        mean = np.einsum("ijk,ij->k", weight, axis)
        std = np.sqrt(np.einsum("ijk,ijk->k", weight, (axis[..., None] - mean) ** 2))
        # 20 × 64 points, worth at least 400: four standard errors and the steps of the grid.
        np.testing.assert_array_less(np.abs(points[..., place].mean(axis=0) - mean), 0.2 * std + 0.05)
        np.testing.assert_allclose(points[..., place].std(axis=0), std, rtol=0.25)


def test_at_its_own_contexts_a_prediction_averages_over_the_same_points() -> None:
    for model in (GP(), AdditiveGP(noise="pooled")):
        several = found(model, tally())
        here, there = several.at_own_contexts(), several.at(SETTING.separation, None)
        chosen = np.zeros(C, int)
        close = 1e-8 if isinstance(model, GP) else 0.01  # correlated ones look at other Sobol points
        np.testing.assert_allclose(
            there.good_probability(chosen[:, None])[:, 0], here.good_probability(chosen), atol=close
        )


def test_looking_at_very_many_contexts_takes_as_many_points() -> None:
    several = found(GP(), tally())
    for n_contexts in (10, 1000):
        assert several.at(np.zeros((1, n_contexts, C)), None).n_points == several.points.n


def test_large_beliefs_are_made_in_portions() -> None:
    several = found(GP(), tally())
    count: IntArray = np.ones((2000, 500), np.int64)
    huge = several._replace(tally=Tally(count, np.zeros(count.shape), np.zeros(count.shape)))
    assert several.at_own_contexts().portion == several.points.n
    assert huge.at_own_contexts().portion == 1


def test_the_size_of_a_belief_counts_every_pair_that_was_simulated() -> None:
    several = found(AdditiveGP(noise="pooled"), tally())
    count: IntArray = np.ones((60, 20), np.int64)
    many = several._replace(tally=Tally(count, np.zeros(count.shape), np.zeros(count.shape)))
    line = Coordinates(np.linspace(0.0, 1.0, 60)[:, None], np.zeros(1, bool))
    dense = many._replace(setting=replace(SETTING, alternatives=line))
    assert dense.at_own_contexts().size >= count.size**2 > many.at_own_contexts().size  # names: by context


def test_a_model_that_takes_all_for_known_has_nothing_to_average_over() -> None:
    data = tally()
    model = Linear()
    assert integrated(model, data, SETTING, model.fit(data, SETTING), np.random.default_rng(0)) is None


def test_with_few_replications_an_average_claims_less_than_the_estimates_do() -> None:
    """Mean over contexts and eight studies; claims are never far above a half here, so there is room."""
    gains = []
    for seed in range(8):
        data, model = tally(seed, n=2), Independent()
        plain = model.posterior(data, SETTING, model.fit(data, SETTING))
        chosen = plain.mean.argmax(axis=-2)
        gains.append(
            np.mean(
                found(model, data).at_own_contexts().good_probability(chosen) - plain.good_probability(chosen)
            )
        )
    assert np.mean(gains) < -0.03


def test_entries_of_parameters_are_those_of_all_their_arrays() -> None:
    params = found(GP(), tally()).points.params
    some = entries(params, slice(2, 5))
    np.testing.assert_array_equal(some.theta, params.theta[2:5])
    assert all(len(getattr(some, each.name)) == 3 for each in fields(some))
