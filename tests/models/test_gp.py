from dataclasses import replace

import numpy as np
import oracles
import pytest
from oracles import Data

from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import FitError, InputError
from argbest.models.gp import GP, GPParams
from argbest.testing import assert_valid_model

CONTEXTS = np.linspace(0.0, 1.0, 6)[:, None]
TRUTH = np.stack([np.sin(4 * CONTEXTS[:, 0] + k) for k in range(3)])


def setting(x: Array = CONTEXTS) -> Setting:
    c = len(x)
    return Setting(np.full(c, 1 / c), np.moveaxis((x[:, None] - x) ** 2, -1, 0).copy(), np.ones(c, bool))


def observe(seed: int, per_cell: int = 3, noise: float = 0.2) -> Tally:
    rng = np.random.default_rng(seed)
    k, c = np.indices(TRUTH.shape).reshape(2, -1).repeat(per_cell, axis=1)
    return tallies.from_observations((k, c), TRUTH[k, c] + noise * rng.standard_normal(len(k)), TRUTH.shape)


def stack(*single: Tally) -> Tally:
    return Tally(*(np.stack(v) for v in zip(*((t.count, t.mean, t.m2) for t in single), strict=True)))


def assert_same(a: GPParams, b: GPParams, rtol: float) -> None:
    np.testing.assert_allclose(a.lengthscale, b.lengthscale, rtol=rtol)
    np.testing.assert_allclose(a.scale, b.scale, rtol=rtol)
    np.testing.assert_allclose(a.noise, b.noise, rtol=rtol)
    np.testing.assert_allclose(a.constant, b.constant, rtol=rtol)


def test_parameters_and_posterior_come_in_the_units_of_the_rewards() -> None:
    """The belief is the dense posterior under the reported parameters, without any standardisation."""
    rng = np.random.default_rng(1)
    where = np.repeat(np.arange(6), 4)
    y = 1000.0 + 50.0 * (np.sin(5 * CONTEXTS[where, 0]) + 0.3 * rng.standard_normal(24))
    data = Data(CONTEXTS, where, y)
    tally = stack(data.tally)
    params = GP().fit(tally, setting())
    belief = GP().posterior(tally, setting(), params)
    prior = oracles.kernel("matern52", CONTEXTS, CONTEXTS, params.lengthscale[0], float(params.scale[0]))
    mean, cov = oracles.posterior(prior, data, float(params.constant[0]), params.noise[0])
    np.testing.assert_allclose(belief.mean[0], mean, rtol=1e-8)
    np.testing.assert_allclose(belief.cov[0], cov, rtol=1e-6, atol=1e-8 * cov.max())
    within = np.sqrt(data.tally.m2.sum() / 18)
    assert np.sqrt(params.noise[0, 0]) == pytest.approx(within, rel=0.3)


def test_the_noise_is_found_where_it_is_and_given_where_known() -> None:
    tally = observe(2, per_cell=200)
    learned = GP().fit(tally, setting())
    np.testing.assert_allclose(np.sqrt(learned.noise), 0.2, rtol=0.05)
    table = np.full(TRUTH.shape, 0.2)
    table[1, 2] = 0.7
    known = GP(noise_sd=table).fit(tally, setting())
    np.testing.assert_allclose(np.sqrt(known.noise), table, rtol=1e-12)
    scalar = GP(noise_sd=0.2).fit(tally, setting())
    np.testing.assert_allclose(np.sqrt(scalar.noise), 0.2, rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_unit_of_the_rewards_does_not_matter(unit: float) -> None:
    plain = observe(3)
    scaled = Tally(plain.count, plain.mean * unit, plain.m2 * unit**2)
    a, b = GP().fit(plain, setting()), GP().fit(scaled, setting())
    np.testing.assert_allclose(b.lengthscale, a.lengthscale, rtol=1e-5)
    np.testing.assert_allclose(b.scale, a.scale * unit**2, rtol=1e-5)
    belief, other = GP().posterior(plain, setting(), a), GP().posterior(scaled, setting(), b)
    np.testing.assert_allclose(other.mean, unit * belief.mean, rtol=1e-5, atol=1e-6 * unit)


def test_many_studies_at_once_equal_single_ones() -> None:
    single = [observe(seed, per_cell=2) for seed in range(5)]
    model, many = GP(), stack(*single)
    params = model.fit(many, setting())
    belief = model.posterior(many, setting(), params)
    grown = [tallies.add(t, Decision(np.array(0), np.array(1)), np.array(0.3)) for t in single]
    later = model.fit(stack(*grown), setting(), params)
    for i, tally in enumerate(single):
        alone = model.fit(tally, setting())
        np.testing.assert_array_equal(params.theta[i], alone.theta)
        one = model.posterior(tally, setting(), alone)
        np.testing.assert_allclose(belief.mean[i], one.mean, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(belief.cov[i], one.cov, rtol=1e-10, atol=1e-10)
        np.testing.assert_array_equal(later.theta[i], model.fit(grown[i], setting(), alone).theta)


def test_only_alternatives_with_new_data_are_refitted() -> None:
    first = observe(4)
    params = GP().fit(first, setting())
    before = GP().posterior(first, setting(), params)
    where, value = Decision(np.array(1), np.array(2)), np.array(0.3)
    second = tallies.add(first, where, value)
    again = GP().fit(second, setting(), params)
    assert again.changed.tolist() == [False, True, False]
    for k in (0, 2):
        np.testing.assert_array_equal(again.theta[k], params.theta[k])
        np.testing.assert_array_equal(again.noise[k], params.noise[k])
    assert np.any(again.theta[1] != params.theta[1])
    partial = GP().posterior(second, setting(), again, before.update(where, value))
    whole = GP().posterior(second, setting(), again)
    np.testing.assert_allclose(partial.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(partial.cov, whole.cov, rtol=1e-12, atol=1e-14)


def test_a_fit_to_the_same_data_changes_nothing() -> None:
    tally = observe(4)
    params = GP().fit(tally, setting())
    again = GP().fit(tally, setting(), params)
    assert not again.changed.any()
    np.testing.assert_array_equal(again.theta, params.theta)
    belief = GP().posterior(tally, setting(), params)
    np.testing.assert_array_equal(GP().posterior(tally, setting(), again, belief).cov, belief.cov)


def test_an_alternative_that_borrows_its_spread_follows_the_study() -> None:
    """One alternative shows no spread of its own; when the others' grows, its noise and scale must too."""
    equal = [(0, c, 5.0) for c in range(6)]
    narrow = empty_cells(*equal, *[(k, c, 0.01 * (c + k)) for k in (1, 2) for c in range(6)])
    params = GP().fit(narrow, setting())
    wide = tallies.merge(narrow, empty_cells(*[(k, c, 300.0 * (c - k)) for k in (1, 2) for c in range(6)]))
    warm, cold = GP().fit(wide, setting(), params), GP().fit(wide, setting())
    assert warm.changed.all()
    np.testing.assert_allclose(warm.scale, cold.scale, rtol=1e-3)


def test_a_search_that_did_not_converge_is_made_in_full_again() -> None:
    tally = observe(24)
    params = GP().fit(tally, setting())
    stuck = replace(params, status=np.array([0, 2, 0]), theta=params.theta + 3.0)
    grown = tallies.merge(tally, empty_cells(*[(k, 0, 0.1) for k in range(3)]))
    assert GP().fit(grown, setting(), stuck).searched.tolist() == [18, 19, 18]


def test_data_that_nothing_fits_are_refused() -> None:
    tally = observe(25)
    broken = Tally(tally.count, np.full(tally.shape, np.nan), tally.m2)
    with pytest.raises(FitError, match="the likelihood is not finite anywhere"):
        GP().fit(broken, setting())


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize(("count", "noise_sd"), [(100, 1e-8), (10**5, 1e-6), (10**8, None), (1, 1e-8)])
def test_data_of_any_precision_give_finite_numbers(kernel: str, count: int, noise_sd: float | None) -> None:
    """Warnings are errors here, so rounding below the square root would show."""
    c = 10
    where = setting(np.linspace(0, 1, c)[:, None])
    tally = Tally(
        np.full((2, c), count), np.stack([np.sin(np.arange(c)), np.cos(np.arange(c))]), np.zeros((2, c))
    )
    for prior in ("paper", "none"):
        model = GP(kernel=kernel, prior=prior, noise_sd=noise_sd)
        belief = model.posterior(tally, where, model.fit(tally, where))
        np.testing.assert_allclose(belief.mean, tally.mean, atol=0.02)
        assert np.all(np.isfinite(belief.cov))


def test_warm_fits_end_where_cold_ones_do() -> None:
    params, tally = None, observe(6, per_cell=1)
    for seed in range(7, 17):
        tally = tallies.merge(tally, observe(seed, per_cell=1))
        params = GP().fit(tally, setting(), params)
    assert_same(GP().fit(tally, setting()), params, rtol=1e-3)  # type: ignore[arg-type]


def test_a_full_search_comes_back_when_the_data_have_grown_by_half() -> None:
    tally = observe(17, per_cell=2)
    params = GP().fit(tally, setting())
    assert params.searched.tolist() == [12, 12, 12]
    grown = tallies.merge(tally, observe(18, per_cell=1))
    again = GP().fit(grown, setting(), params)
    assert again.searched.tolist() == [18, 18, 18]
    little = tallies.add(grown, Decision(np.array(0), np.array(0)), np.array(0.0))
    assert GP().fit(little, setting(), again).searched.tolist() == [18, 18, 18]


def test_predictions_at_the_contexts_are_the_posterior() -> None:
    tally = observe(19)
    params = GP().fit(tally, setting())
    belief = GP().posterior(tally, setting(), params)
    there = GP().predict(tally, setting(), params, setting().separation)
    assert there.mean.shape == (6, 3, 1)
    np.testing.assert_allclose(there.mean[:, :, 0].T, belief.mean, rtol=1e-9)
    np.testing.assert_allclose(there.var[:, :, 0].T, belief.var, rtol=1e-6)


def test_far_from_all_data_the_prior_returns() -> None:
    tally = observe(20)
    params = GP().fit(tally, setting())
    far = GP().predict(tally, setting(), params, np.full((1, 1, 6), 1e6))
    np.testing.assert_allclose(far.mean[0, :, 0], params.constant)
    np.testing.assert_allclose(far.var[0, :, 0], params.scale)


@pytest.mark.parametrize("prior", ["paper", "modern", "none"])
@pytest.mark.parametrize("kernel", ["rbf", "matern12", "matern32", "matern52"])
def test_every_kernel_and_prior_recovers_a_smooth_truth(kernel: str, prior: str) -> None:
    tally = observe(21, per_cell=20, noise=0.1)
    model = GP(kernel=kernel, prior=prior)
    belief = model.posterior(tally, setting(), model.fit(tally, setting()))
    assert np.max(np.abs(belief.mean - TRUTH)) < 0.12


def empty_cells(*rows: tuple[int, int, float]) -> Tally:
    k, c, y = (np.array(v) for v in zip(*rows, strict=True))
    return tallies.from_observations((k, c), y, TRUTH.shape)


@pytest.mark.parametrize(
    "tally",
    [
        tallies.empty(TRUTH.shape),
        empty_cells((0, 0, 1.0)),
        empty_cells((0, 0, 1.0), (1, 3, 2.0), (2, 5, 0.5)),
        empty_cells(*[(k, c, 7.0) for k in range(3) for c in range(6)] * 2),
        empty_cells(*[(0, 2, y) for y in (1.0, 2.0, 3.0)]),
    ],
    ids=["nothing", "one observation", "one per alternative", "all equal", "one context of one alternative"],
)
@pytest.mark.parametrize("prior", ["paper", "modern", "none"])
def test_the_smallest_data_give_a_usable_belief(tally: Tally, prior: str) -> None:
    model = GP(prior=prior)
    belief = model.posterior(tally, setting(), model.fit(tally, setting()))
    assert np.all(np.isfinite(belief.mean))
    assert np.all(belief.var > 0)
    assert np.all(belief.noise > 0)


def test_contexts_without_range_or_with_categories_work() -> None:
    same = Setting(np.full(6, 1 / 6), np.zeros((1, 6, 6)), np.ones(6, bool))
    apart = Setting(np.full(6, 1 / 6), 1.0 - np.eye(6)[None], np.ones(6, bool))
    for where in (same, apart):
        params = GP().fit(observe(22), where)
        assert np.all(np.isfinite(GP().posterior(observe(22), where, params).cov))


def test_options_are_checked() -> None:
    with pytest.raises(InputError, match="unknown kernel 'matern5'.*Did you mean 'matern52'"):
        GP(kernel="matern5")
    with pytest.raises(InputError, match="unknown prior 'papers'.*Did you mean 'paper'"):
        GP(prior="papers")
    with pytest.raises(InputError, match="noise_sd must be positive and finite, got -1"):
        GP(noise_sd=-1.0)
    with pytest.raises(InputError, match="noise_sd must be positive and finite, got 'x'"):
        GP(noise_sd="x")  # type: ignore[arg-type]
    table = np.ones(TRUTH.shape)
    model = GP(noise_sd=table)
    table[:] = -5.0
    assert np.all(np.asarray(model.noise_sd) == 1.0)
    with pytest.raises(
        InputError, match=r"noise_sd has shape \(2, 2\), expected a number or a table \(3, 6\)"
    ):
        GP(noise_sd=np.ones((2, 2))).check(TRUTH.shape, setting())


def test_the_suite_passes_with_noise_per_pair() -> None:
    assert_valid_model(GP(noise="pair"))


@pytest.mark.parametrize("model", [GP(noise="pair"), GP(noise_sd=0.2)], ids=repr)
def test_many_studies_equal_single_ones_whatever_their_noise(model: GP) -> None:
    single = [observe(seed, per_cell=3) for seed in range(3)]
    params = model.fit(stack(*single), setting())
    grown = [tallies.add(t, Decision(np.array(0), np.array(1)), np.array(0.3)) for t in single]
    later = model.fit(stack(*grown), setting(), params)
    for i, tally in enumerate(single):
        alone = model.fit(tally, setting())
        np.testing.assert_allclose(params.theta[i], alone.theta, rtol=1e-9)
        np.testing.assert_allclose(later.theta[i], model.fit(grown[i], setting(), alone).theta, rtol=1e-9)


def test_a_study_whose_pairs_lean_on_each_other_is_refitted_as_a_whole() -> None:
    model = GP(noise="pair")
    first = observe(6)
    params = model.fit(first, setting())
    assert not model.fit(first, setting(), params).changed.any()
    second = tallies.add(first, Decision(np.array(1), np.array(2)), np.array(0.3))
    assert model.fit(second, setting(), params).changed.all()


def test_noise_per_pair_is_found_where_contexts_differ() -> None:
    """Six replications of each pair, 40 studies; two contexts are ten times as noisy as the others."""
    rng = np.random.default_rng(7)
    std = np.where(np.arange(6) < 2, 1.0, 0.1) * np.ones(TRUTH.shape)
    k, c = np.indices(TRUTH.shape).reshape(2, -1).repeat(6, axis=1)
    tally = stack(
        *(
            tallies.from_observations(
                (k, c), TRUTH[k, c] + std[k, c] * rng.standard_normal(len(k)), TRUTH.shape
            )
            for _ in range(40)
        )
    )
    pair, plain = GP(noise="pair"), GP()
    belief = pair.posterior(tally, setting(), pair.fit(tally, setting()))
    ratio = np.log(np.sqrt(belief.noise) / std)
    assert np.sqrt(np.mean(ratio**2)) < np.log(1.3)
    other = plain.posterior(tally, setting(), plain.fit(tally, setting()))
    assert np.mean((belief.mean - TRUTH) ** 2) < 0.9 * np.mean((other.mean - TRUTH) ** 2)
    # What matters most is to know how sure one is: squared standardised errors, noisy and quiet contexts.
    squared, plain_squared = ((b.mean - TRUTH) ** 2 / b.var for b in (belief, other))
    for part in (slice(None, 2), slice(2, None)):
        assert 0.7 < np.mean(squared[..., part]) < 1.5
    assert np.mean(plain_squared[..., :2]) > 2.5
    assert np.mean(plain_squared[..., 2:]) < 0.3


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="kernel"):
        GP(kernel=["rbf"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="noise 'pairs'"):
        GP(noise="pairs")
    with pytest.raises(InputError, match="either known or learned"):
        GP(noise="pair", noise_sd=1.0)
