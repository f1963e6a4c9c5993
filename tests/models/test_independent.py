import tracemalloc
from dataclasses import replace

import common_cases
import numpy as np
import pytest
from scipy.optimize import brentq

from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.belief import Belief, CellBelief, take_in
from argbest.core.decision import Decision
from argbest.core.noise import sample_variance
from argbest.core.replications import Replications, none
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.models.frequentist import Independent, IndependentParams, context_by_context

MODEL = Independent()
CONTEXTS = np.array([[0.0, 0.0], [0.5, 1.0], [1.0, 1.0]])


def separation(rows: Array) -> Array:
    return np.moveaxis((rows[:, None] - CONTEXTS) ** 2, -1, 0)


SETTING = Setting(np.full(3, 1 / 3), separation(CONTEXTS), np.ones(3, bool))


def observed(values: Array) -> Tally:
    """The tally of replications [..., alternative, context, replication]."""
    mean = values.mean(axis=-1)
    count = np.full(mean.shape, values.shape[-1], np.int64)
    return Tally(count, mean, ((values - mean[..., None]) ** 2).sum(axis=-1))


def ragged(rng: np.random.Generator, lead: tuple[int, ...] = ()) -> Tally:
    """A tally of 2 to 5 replications per pair."""
    shape = (*lead, 2, 3)
    count = rng.integers(2, 6, shape)
    return Tally(count, rng.standard_normal(shape), rng.chisquare(count - 1))


def test_the_belief_is_the_sample_mean_with_its_standard_error() -> None:
    rng = np.random.default_rng(0)
    replications = rng.normal(3.0, 2.0, (2, 3, 7))
    tally = observed(replications)
    params = MODEL.fit(tally, SETTING)
    belief = MODEL.posterior(tally, SETTING, params)
    for k, c in np.ndindex(2, 3):
        v = np.var(replications[k, c], ddof=1)
        assert belief.mean[k, c] == pytest.approx(np.mean(replications[k, c]))
        assert belief.noise[k, c] == pytest.approx(v)
        assert belief.var[k, c] == pytest.approx(v / 7)
    MODEL.check((2, 3), SETTING)


def test_a_small_case_by_eye() -> None:
    tally = observed(np.array([[[1.0, 3.0], [0.0, 4.0]], [[5.0, 6.0], [2.0, 2.5]]]))
    np.testing.assert_allclose(sample_variance(tally), [[2.0, 8.0], [0.5, 0.125]])


@pytest.mark.parametrize("earlier", [None, IndependentParams(np.ones((2, 3)))])
def test_every_fit_starts_afresh(earlier: IndependentParams | None) -> None:
    tally = ragged(np.random.default_rng(1))
    np.testing.assert_array_equal(MODEL.fit(tally, SETTING, earlier).noise, sample_variance(tally))


def test_between_refits_conditioning_and_updating_agree() -> None:
    rng = np.random.default_rng(2)
    tally = ragged(rng)
    params = MODEL.fit(tally, SETTING)
    belief: Belief = MODEL.posterior(tally, SETTING, params)
    for _ in range(20):
        where = Decision(np.array(rng.integers(2)), np.array(rng.integers(3)))
        value, n = np.array(rng.standard_normal()), int(rng.integers(1, 4))
        tally, belief = tallies.add(tally, where, value, n=n), belief.update(where, value, n)
    direct = MODEL.posterior(tally, SETTING, params, known=None)
    np.testing.assert_allclose(belief.mean, direct.mean, atol=1e-12)
    np.testing.assert_allclose(belief.var, direct.var, rtol=1e-12)


@pytest.mark.parametrize(("count", "pair"), [(0, (1, 0)), (1, (0, 2))])
def test_fewer_than_two_observations_of_a_pair_are_refused(count: int, pair: tuple[int, int]) -> None:
    tally = ragged(np.random.default_rng(3))
    tally.count[pair] = count
    message = (
        rf"alternative {pair[0]} and context {pair[1]} \(by position\) has {count} rep.*initial=2 or more"
    )
    with pytest.raises(InputError, match=message):
        MODEL.fit(tally, SETTING)


def test_among_many_studies_the_run_is_named_and_the_first_pair() -> None:
    tally = ragged(np.random.default_rng(3), (4,))
    tally.count[2, 0, 1] = tally.count[2, 1, 1] = tally.count[3] = 1
    with pytest.raises(InputError, match=r"alternative 0 and context 1 \(by position\) of run \(2,\) has 1"):
        MODEL.fit(tally, SETTING)


def test_many_studies_at_once_equal_single_ones() -> None:
    many = ragged(np.random.default_rng(4), (5, 2))
    belief = MODEL.posterior(many, SETTING, MODEL.fit(many, SETTING))
    places = separation(CONTEXTS[[2, 0]])
    there = MODEL.predict(many, SETTING, MODEL.fit(many, SETTING), places)
    assert there.mean.shape == there.var.shape == there.noise.shape == (2, 5, 2, 2, 1)
    for i in np.ndindex(5, 2):
        one = Tally(many.count[i], many.mean[i], many.m2[i])
        params = MODEL.fit(one, SETTING)
        alone, alone_there = (
            MODEL.posterior(one, SETTING, params),
            MODEL.predict(one, SETTING, params, places),
        )
        np.testing.assert_array_equal(belief.mean[i], alone.mean)
        np.testing.assert_allclose(belief.var[i], alone.var, rtol=1e-14)
        np.testing.assert_allclose(there.var[:, *i], alone_there.var, rtol=1e-14)


def test_a_pair_without_spread_gets_a_share_of_the_pooled_variance() -> None:
    """Two of four pairs of two values are tied, so a value differs with q = ½, and in these with ½/3."""
    tally = observed(np.array([[[1.0, 3.0], [0.0, 4.0]], [[5.0, 5.0], [2.0, 2.0]]]))
    pooled, share = (2.0 + 8.0) / 4, 0.5 / 3 / 0.5
    np.testing.assert_allclose(sample_variance(tally), [[2.0, 8.0], [share * pooled, share * pooled]])


def test_a_pair_that_agrees_for_longer_gets_less_and_never_more_than_the_pooled_variance() -> None:
    count, m2 = np.array([[2, 2, 2, 2], [2, 2, 20, 5]]), np.array([[3.0, 0, 0, 0], [0, 0, 0, 4.0]])
    found = sample_variance(Tally(count, np.zeros((2, 4)), m2))
    pooled = 7.0 / (count - 1).sum()
    assert found[0, 0] == 3.0
    assert found[1, 3] == 1.0
    q = brentq(lambda q: float(np.sum((1 - q) ** (count - 1))) - 6, 0.0, 1.0)
    np.testing.assert_allclose(found[1, 2], pooled * 0.5 / 21 / q, rtol=1e-9)
    np.testing.assert_allclose(found[0, 1], pooled * min(1.0, 0.5 / 3 / q), rtol=1e-9)
    assert found[0, 1] == pytest.approx(pooled)  # so many ties say little


def test_a_study_without_noise_gets_a_trace_of_the_range_of_its_means() -> None:
    tally = Tally(np.full((2, 2), 3), np.array([[1.0, 5.0], [2.0, 2.0]]), np.zeros((2, 2)))
    np.testing.assert_allclose(sample_variance(tally), 1e-24 * 16.0)


@pytest.mark.parametrize("value", [0.0, 1e-170, 1.0])
def test_a_study_whose_observations_all_agree_has_unit_variance(value: float) -> None:
    tally = Tally(np.full((2, 2), 3), np.full((2, 2), value), np.zeros((2, 2)))
    np.testing.assert_array_equal(sample_variance(tally), np.ones((2, 2)))


def test_differences_whose_squares_vanish_are_refused() -> None:
    tally = Tally(np.full((2, 2), 3), np.array([[0.0, 1.0], [2.0, 3.0]]) * 1e-170, np.zeros((2, 2)))
    with pytest.raises(
        InputError, match=r"differ by at most 3\.0e-170; differences below 1e-130 are too small"
    ):
        sample_variance(tally)


@pytest.mark.parametrize("noisy", [0, 1, 4])
@pytest.mark.parametrize(("shift", "unit"), [(100.0, 1.0), (0.0, 1e-6), (0.0, 1e6)])
def test_variances_ignore_shifts_and_follow_the_unit(noisy: int, shift: float, unit: float) -> None:
    rng = np.random.default_rng(5)
    tally = Tally(np.full((2, 2), 3), rng.standard_normal((2, 2)), np.zeros((2, 2)))
    tally.m2.flat[:noisy] = rng.random(noisy)
    moved = Tally(tally.count, (tally.mean + shift) * unit, tally.m2 * unit**2)
    np.testing.assert_allclose(sample_variance(moved), sample_variance(tally) * unit**2, rtol=1e-9)


def test_known_contexts_are_predicted_and_others_refused() -> None:
    tally = ragged(np.random.default_rng(6))
    params = MODEL.fit(tally, SETTING)
    belief = MODEL.posterior(tally, SETTING, params)
    found = MODEL.predict(tally, SETTING, params, separation(CONTEXTS[[2, 0, 2]]))
    for x, c in enumerate([2, 0, 2]):
        np.testing.assert_array_equal(found.mean[x, :, 0], belief.mean[:, c])
        np.testing.assert_array_equal(found.var[x, :, 0], belief.var[:, c])
        np.testing.assert_array_equal(found.noise[x, :, 0], belief.noise[:, c])
    # The second shares a coordinate with one known context and the other coordinate with another.
    mixed = separation(np.array([[0.5, 1.0], [0.5, 0.0]]))
    with pytest.raises(InputError, match=r"context 1 of those asked for .*learns nothing.*'gp'"):
        MODEL.predict(tally, SETTING, params, mixed)


def test_with_common_random_numbers_it_is_generalised_least_squares() -> None:
    case = common_cases.runs(np.random.default_rng(3), (4, 3), most=6, unnumbered=False)
    tally = case.tally
    seen, which = np.unique(case.cells, return_inverse=True)
    design = (which[:, None] == np.arange(len(seen))).astype(float)
    weights = np.linalg.inv(case.noise_covariance())
    cov = np.linalg.inv(design.T @ weights @ design)
    mean = cov @ design.T @ weights @ case.y
    belief = context_by_context(tally, kept(tally), case.noise, case.correlation)
    np.testing.assert_allclose(belief.mean.ravel()[seen], mean, rtol=1e-8)
    k, c = np.divmod(seen, 3)
    found = belief.cov_rows(k, c)[:, k, c]
    np.testing.assert_allclose(found, cov, atol=1e-9)
    here = Decision(np.array(k[0]), np.array(c[0]))
    np.testing.assert_allclose(belief.cov_with(here)[k, c], cov[0], atol=1e-9)
    reference = np.argmax(belief.var > 0, axis=0)
    apart = belief.difference_var(reference)
    for i, (a, b) in enumerate(zip(k, c, strict=True)):
        j = int(np.flatnonzero((k == reference[b]) & (c == b))[0])
        np.testing.assert_allclose(apart[a, b], cov[i, i] + cov[j, j] - 2 * cov[i, j], atol=1e-9)


def test_with_common_random_numbers_one_more_replication_leads_to_the_posterior_of_all() -> None:
    rng = np.random.default_rng(4)
    case = common_cases.balanced(rng, (4, 3), 4, 0.7)
    model, setting = Independent(), Setting(np.full(3, 1 / 3), np.zeros((1, 3, 3)), np.ones(3, bool))
    tally, where = case.tally, Decision(np.array(1), np.array(2))
    params = model.fit(tally, setting)
    assert params.correlation is not None
    assert np.all(params.correlation > 0.2)
    belief = model.posterior(tally, setting, params)
    for number in (4, 5):
        tally = common_cases.numbered(tally, where, np.array(0.4), number)
        belief = take_in(belief, where, np.array(0.4), np.array(number))  # type: ignore[assignment]
    again = model.posterior(tally, setting, params)
    np.testing.assert_allclose(belief.mean, again.mean, atol=1e-10)
    np.testing.assert_allclose(belief.var, again.var, atol=1e-10)
    there = model.predict(tally, setting, params, np.zeros((1, 1, 3)))
    np.testing.assert_allclose(there.mean[0, :, 0], again.mean[:, 0], atol=1e-12)
    chosen = np.array([0])
    np.testing.assert_allclose(
        there.difference_var(chosen[None])[0, :, 0], again.difference_var(np.zeros(3, int))[:, 0], atol=1e-12
    )


def test_without_noise_in_common_it_is_what_it_is_without_common_random_numbers() -> None:
    case = common_cases.balanced(np.random.default_rng(5), (4, 1), 2, 0.0)
    model, setting = Independent(), Setting(np.ones(1), np.zeros((1, 1, 1)), np.ones(1, bool))
    tally = replace(case.tally, replications=none())
    belief = model.posterior(tally, setting, model.fit(tally, setting))
    assert isinstance(belief, CellBelief)


def kept(tally: Tally) -> Replications:
    assert tally.common is not None
    return tally.common


def test_of_very_many_alternatives_noise_counts_as_independent_and_nothing_square_is_made() -> None:
    k, rng = 5_000, np.random.default_rng(1)
    values = rng.normal(size=(k, 1, 2)) + 3.0 * rng.normal(size=2)  # most of the noise is common
    rows = np.repeat(np.arange(k), 2), np.zeros(2 * k, int), np.tile([0, 1], k), values.ravel()
    tally = replace(observed(values), replications=Replications(*rows, np.ones(2 * k, bool)))
    setting = Setting(np.ones(1), np.zeros((1, 1, 1)), np.ones(1, bool))
    tracemalloc.start()
    belief = MODEL.posterior(tally, setting, MODEL.fit(tally, setting))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(belief, CellBelief)
    assert most < 50e6  # 5,000 squared numbers take 200 MB
