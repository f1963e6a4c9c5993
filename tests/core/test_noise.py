"""Noise per pair against plain alternatives, and what pairs that were seen once borrow."""

import common_cases
import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import f, norm, t

from argbest.core import replications
from argbest.core.arrays import Array
from argbest.core.decision import Decision
from argbest.core.noise import (
    clearly_beaten,
    largest_excess,
    lent_variances,
    observed_once,
    pair_noise,
    plausible_noise,
    relative_noise,
    repeats,
    sample_variance,
)
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.models.additive_gp import AdditiveGP


def table(std: Array, n: int, runs: int, seed: int = 0) -> Tally:
    """Draw the tallies of n normal observations of every pair."""
    shape = (runs, *std.shape)
    squares = std**2 * np.random.default_rng(seed).chisquare(max(n - 1, 1), shape) * (n > 1)
    return Tally(np.full(shape, n), np.zeros(shape), squares)


def log_error(estimate: Array, truth: Array) -> float:
    """Return the root mean square error of the log variances, their average left out."""
    error = np.log(estimate) - np.log(truth)
    return float(np.sqrt(np.mean((error - error.mean(axis=(-2, -1), keepdims=True)) ** 2)))


def test_without_replicates_all_pairs_are_alike() -> None:
    for tally in (
        table(np.ones((3, 4)), 1, 2),
        Tally(np.zeros((3, 4), int), np.zeros((3, 4)), np.zeros((3, 4))),
    ):
        np.testing.assert_array_equal(relative_noise(tally), np.ones(tally.shape))


def test_alternatives_that_were_never_simulated_change_nothing_where_seeds_are_shared() -> None:
    case = common_cases.balanced(np.random.default_rng(4), (30, 2), 4, 0.9)
    place = 40 * np.arange(30)  # among 1,200: so many that the table is shortened
    tall = case._replace(shape=(1200, 2), alternative=place[case.alternative], noise=np.ones((1200, 2)))
    found, expected = pair_noise(tall.tally).variance[place], pair_noise(case.tally).variance
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    # By context 30 alternatives of the same luck tell hardly more than one, so contexts are drawn together.
    alone = pair_noise(case.tally.unshared).variance
    ratio = [float(np.log(each[:, 0].mean() / each[:, 1].mean())) for each in (expected, alone)]
    assert abs(ratio[0]) < 0.7 * abs(ratio[1])


def test_observations_without_any_spread_are_alike_too() -> None:
    tally = Tally(np.full((3, 4), 5), np.zeros((3, 4)), np.zeros((3, 4)))
    np.testing.assert_array_equal(relative_noise(tally), np.ones((3, 4)))


@pytest.mark.parametrize("per_alternative", [False, True])
def test_the_average_over_observations_is_one(per_alternative: bool) -> None:
    rng = np.random.default_rng(2)
    count = rng.integers(0, 9, (4, 5, 6))
    tally = Tally(count, np.zeros(count.shape), rng.chisquare(np.maximum(count - 1, 1)) * (count > 1))
    axes = -1 if per_alternative else (-2, -1)
    average = (count * relative_noise(tally, per_alternative=per_alternative)).sum(axis=axes)
    np.testing.assert_allclose(average / count.sum(axis=axes), 1.0, rtol=1e-12)


def test_unit_order_and_company_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    tally = table(np.exp(rng.normal(0, 0.7, (4, 5))), 4, 3)
    whole = relative_noise(tally)
    np.testing.assert_allclose(
        relative_noise(Tally(tally.count, tally.mean, 1e18 * tally.m2)), whole, rtol=1e-9
    )
    rows, columns = rng.permutation(4), rng.permutation(5)
    mixed = Tally(tally.count, tally.mean, tally.m2[:, rows][:, :, columns])
    np.testing.assert_allclose(relative_noise(mixed), whole[:, rows][:, :, columns], rtol=1e-9)
    for run in range(3):
        alone = Tally(tally.count[run], tally.mean[run], tally.m2[run])
        np.testing.assert_allclose(relative_noise(alone), whole[run], rtol=1e-12)


def test_many_replications_speak_for_themselves() -> None:
    std = np.exp(np.random.default_rng(4).normal(0, 1, (3, 4)))
    tally = table(std, 20_000, 1)
    own = tally.m2[0] / 19_999
    np.testing.assert_allclose(relative_noise(tally)[0], own / own.mean(), rtol=2e-3)


CASES = {
    "the same everywhere": np.ones((12, 10)),
    "by context": np.ones((12, 1)) * np.geomspace(28, 250, 10),
    "by alternative": np.geomspace(1, 8, 12)[:, None] * np.ones(10),
    "by pair": np.exp(np.random.default_rng(5).normal(0, 0.7, (12, 10))),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n", [2, 5])
def test_it_beats_both_separate_and_pooled_estimates(case: str, n: int) -> None:
    """Error of the log variance over 100 studies; nothing beats "all alike" where that is the truth."""
    truth, tally = CASES[case] ** 2, table(CASES[case], n, 100)
    ours = log_error(relative_noise(tally), truth)
    separate = log_error(tally.m2 / (n - 1), truth)
    pooled = log_error(np.ones(tally.shape), truth)
    assert ours < separate
    assert ours < (0.15 if case == "the same everywhere" else pooled)


@pytest.mark.parametrize(("share", "n"), [(0.04, 50), (0.3, 10), (0.5, 5)])
def test_pairs_that_never_vary_get_less_noise_but_not_none(share: float, n: int) -> None:
    """Ties say that values which differ are rare there: σ² is ½/(n + 1) over the share q of such values."""
    tally = table(np.ones((5, 5)), n, 50)
    silent = np.random.default_rng(6).random(tally.shape) < share
    tally.m2[silent] = 0.0
    own = relative_noise(tally)
    some = silent.any(axis=(-2, -1)) & ~silent.all(axis=(-2, -1))
    for i in np.flatnonzero(some):
        q = 1.0 - silent[i].mean() ** (1 / (n - 1))
        ratio = own[i][silent[i]].mean() / own[i][~silent[i]].mean()
        assert ratio == pytest.approx(min(1.0, 0.5 / (n + 1) / q), rel=0.5)


def test_with_a_belief_replications_tell_by_their_expected_squares_about_the_reward() -> None:
    """Σ_i E(y_i − f)² by quadrature of f from the raw values, with as many degrees of freedom as values."""
    rng = np.random.default_rng(3)
    values, centre, sd = rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 4)), rng.uniform(0.1, 1, (3, 4))
    count, mean = np.full((3, 4), 5), values.mean(axis=-1)
    tally = Tally(count, mean, np.sum((values - mean[..., None]) ** 2, axis=-1))
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    rewards = centre[..., None] + sd[..., None] * nodes
    each = ((values[..., None] - rewards[..., None, :]) ** 2) @ (weights / weights.sum())
    raw = Tally(count + 1, mean, each.sum(axis=-1))  # its scatter has 5 degrees of freedom too
    found = relative_noise(tally, squared_misses=(mean - centre) ** 2 + sd**2)
    np.testing.assert_allclose(found, relative_noise(raw), rtol=1e-10)


def noise_of_two_equal_values(n_contexts: int) -> tuple[float, Array]:
    """A smooth curve, and one pair whose replications are the same and far from it: its share of noise."""
    contexts = np.linspace(0.0, 1.0, n_contexts)
    rng = np.random.default_rng(5)
    values = np.sin(4 * contexts)[:, None] + 0.3 * rng.standard_normal((3, n_contexts, 2))
    values[1, 6] = np.sin(4 * contexts[6]) + 1.5
    mean = values.mean(axis=-1)
    tally = Tally(np.full(mean.shape, 2), mean, np.sum((values - mean[..., None]) ** 2, axis=-1))
    apart = (contexts[:, None] - contexts) ** 2
    setting = Setting(np.full(n_contexts, 1 / n_contexts), apart[None], np.ones(n_contexts, bool))
    found = AdditiveGP().fit(tally, setting).noise
    return float(found[1, 6] / np.median(found)), relative_noise(tally)


def test_two_values_that_agree_by_chance_do_not_count_as_exact_where_their_neighbours_differ() -> None:
    """27 degrees of freedom within pairs are few: how far the pair lies from its neighbours tells too."""
    share, by_scatter = noise_of_two_equal_values(9)
    assert share > 1.0
    assert by_scatter[1, 6] < 0.2 * np.median(by_scatter)


def test_two_equal_values_keep_a_sixth_of_the_usual_noise_where_others_hardly_ever_tie() -> None:
    """36 degrees of freedom are enough, so that distances to neighbours no longer count; q = 35/36."""
    share, _ = noise_of_two_equal_values(12)
    assert share == pytest.approx(1 / 6 / (35 / 36), rel=0.1)


def test_plausible_tables_leave_the_level_alone_and_spread_with_fewer_replications() -> None:
    std = np.exp(np.random.default_rng(23).normal(size=(6, 8)))
    spreads = []
    for n in (2, 5, 40):
        tally = table(std, n, 1, seed=24)[0]
        tables, estimate = plausible_noise(tally, 400, np.random.default_rng(25)), relative_noise(tally)
        inside = tables.min(axis=(1, 2)) > 1e-3  # the floor is not left alone
        level = (tally.m2 / tables[inside]).sum(axis=(1, 2))
        np.testing.assert_allclose(level, (tally.m2 / estimate).sum(), rtol=1e-10)
        spreads.append(float(np.log(tables).std(axis=0).mean()))
    assert spreads[0] > 1.5 * spreads[1] > 3.0 * spreads[2]
    assert spreads[2] == pytest.approx(np.sqrt(2 / 39), rel=0.3)  # of log χ²/ν


def test_plausible_tables_cover_noise_of_their_own_model_as_often_as_they_say() -> None:
    """Firmness drawn from its grid, then rows, columns and pairs; 90 % intervals of 30 tables of 60 pairs."""
    rng, hits = np.random.default_rng(26), []
    for run in range(30):
        rows, columns, pairs = (
            firm / rng.chisquare(firm, shape)
            for firm, shape in zip(2.0 ** rng.integers(0, 15, 3), ((10, 1), (1, 6), (10, 6)), strict=True)
        )
        truth = rows * columns * pairs
        tally = table(np.sqrt(truth), 3, 1, seed=100 + run)[0]
        tables = np.log(plausible_noise(tally, 100, np.random.default_rng(run)))
        low, high = np.quantile(tables - tables.mean(axis=(1, 2), keepdims=True), [0.05, 0.95], axis=0)
        relative = np.log(truth) - np.log(truth).mean()
        hits.append((low <= relative) & (relative <= high))
    assert 0.85 < np.mean(hits) < 0.95


def test_without_replicates_plausible_tables_are_even() -> None:
    tally = Tally(np.ones((3, 4), np.int64), np.zeros((3, 4)), np.zeros((3, 4)))
    np.testing.assert_array_equal(plausible_noise(tally, 5, np.random.default_rng(0)), np.ones((5, 3, 4)))


def seen_mostly_once(
    spread: float, seed: int = 0, again: int = 60, shape: tuple[int, int] = (500, 2)
) -> Tally:
    """A table of pairs seen once but for some seen twice, or now and then more often."""
    rng = np.random.default_rng(seed)
    count = np.ones(shape, np.int64)
    count.flat[rng.permutation(count.size)[:again]] = 2 + (np.arange(again) % 7 == 0)
    sd = np.exp(spread * rng.normal(size=shape))
    squares = np.where(count > 1, sd**2 * rng.chisquare(np.maximum(count - 1, 1)), 0.0)
    return Tally(count, sd * rng.normal(size=shape) / np.sqrt(count), squares)


def slow_reach(squares: Array, freedom: Array, chance: float) -> float:
    """The hierarchical model literally: F densities, a bounded search for s², a root of the mixed tails."""
    scales, weights, firms = [], [], 2.0 ** np.arange(15)
    for d in firms:

        def minus_log(log_s2: float, d: float = d) -> float:
            return -float(np.sum(f.logpdf(squares / freedom / np.exp(log_s2), freedom, d) - log_s2))

        found = minimize_scalar(minus_log, bounds=(-8, 8), method="bounded", options={"xatol": 1e-10})
        scales.append(np.exp(found.x / 2))
        weights.append(-found.fun)
    share = np.exp(np.array(weights) - max(weights))
    share /= share.sum()
    return float(
        brentq(lambda x: float(share @ t.sf(x / np.array(scales), firms)) - chance, 1e-3, 1e9, xtol=1e-12)
    )


@pytest.mark.parametrize("spread", [0.0, 0.7])
@pytest.mark.parametrize("chance", [0.05, 1e-5])
def test_an_observation_reaches_as_far_as_the_mixture_of_student_tails(spread: float, chance: float) -> None:
    tally = seen_mostly_once(spread)
    told = tally.count > 1
    expected = slow_reach(tally.m2[told], (tally.count[told] - 1).astype(float), chance)
    np.testing.assert_allclose(largest_excess(tally, chance), [[expected]], rtol=1e-4)
    larger = Tally(tally.count, tally.mean, 1e6 * tally.m2)
    np.testing.assert_allclose(largest_excess(larger, chance), [[1e3 * expected]], rtol=1e-4)


def test_noise_that_differs_from_pair_to_pair_reaches_farther() -> None:
    even, uneven = (seen_mostly_once(spread) for spread in (0.0, 1.0))
    ratios = [
        float((largest_excess(each, 1e-5) / largest_excess(each, 0.05)).item()) for each in (even, uneven)
    ]
    assert ratios[0] < 1.6 * norm.isf(1e-5) / norm.isf(0.05)
    assert ratios[1] > 10 * ratios[0]


@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_variances_lent_to_a_lone_pair_give_it_that_reach(spread: float) -> None:
    tally = seen_mostly_once(spread)
    table = lent_variances(tally, 64, np.random.default_rng(1))
    beyond = norm.sf(largest_excess(tally, 0.05) / np.sqrt(table[:, observed_once(tally)]))
    assert beyond.mean() == pytest.approx(0.05, abs=0.002)


def test_pairs_are_lone_only_in_large_tables_of_which_thirty_degrees_of_freedom_tell_the_noise() -> None:
    tally = seen_mostly_once(0.0)
    np.testing.assert_array_equal(observed_once(tally), tally.count == 1)
    assert not observed_once(tally[:499]).any()
    assert not observed_once(seen_mostly_once(0.0, again=25)).any()  # four of them three times: 29 degrees
    assert observed_once(seen_mostly_once(0.0, again=26)).any()


def test_a_lone_pair_has_the_variance_with_which_the_normal_distribution_reaches_as_far() -> None:
    tallies = [seen_mostly_once(spread, seed) for seed, spread in enumerate((0.0, 0.7, 1.5))]
    for tally in tallies:
        found, alone = sample_variance(tally), tally.count == 1
        np.testing.assert_allclose(
            norm.isf(0.05) * np.sqrt(found[alone]), largest_excess(tally, 0.05).item(), rtol=1e-12
        )
        np.testing.assert_array_equal(found[~alone], (tally.m2 / (np.maximum(tally.count, 2) - 1))[~alone])
    together = Tally(
        *(np.stack([getattr(each, name) for each in tallies]) for name in ("count", "mean", "m2"))
    )
    each = np.stack([sample_variance(tally) for tally in tallies])
    np.testing.assert_allclose(sample_variance(together), each, rtol=1e-12)


def test_a_lone_pair_among_replications_that_all_agree_gets_the_stand_in() -> None:
    tally = seen_mostly_once(0.0)
    still = Tally(tally.count, tally.mean, np.zeros(tally.shape))
    np.testing.assert_array_equal(largest_excess(still, 0.05), 0.0)
    np.testing.assert_allclose(sample_variance(still), (1e-12 * np.ptp(tally.mean)) ** 2)


def test_what_a_name_seen_once_missed_tells_nothing_of_its_noise() -> None:
    tally = seen_mostly_once(0.7, shape=(1000, 1))
    alone = tally.count == 1
    told = relative_noise(tally, squared_misses=np.where(alone, np.nan, 0.3))
    unseen = Tally(np.where(alone, 0, tally.count), tally.mean, tally.m2)
    expected = relative_noise(unseen, squared_misses=np.full(tally.shape, 0.3))
    np.testing.assert_allclose(told / told[alone][0], expected / expected[alone][0], rtol=1e-10)


def names_seen(rng: np.random.Generator, sd: Array, mean: Array) -> Tally:
    """Every name once, 60 of them twice, and those that looked best 20 times."""
    count = np.ones(len(sd), np.int64)
    count[:60] = 2
    count[np.argsort(-(mean + sd * rng.normal(size=len(sd))))[:10]] = 20
    squares = np.where(count > 1, sd**2 * rng.chisquare(np.maximum(count - 1, 1)), 0.0)
    return Tally(
        count[:, None], (mean + sd * rng.normal(size=len(sd)) / np.sqrt(count))[:, None], squares[:, None]
    )


def test_a_pair_seen_once_is_out_if_another_is_better_beyond_the_reach_of_both() -> None:
    rng = np.random.default_rng(2)
    tally = names_seen(rng, np.full(1200, 0.3), rng.normal(size=1200))
    tally = Tally(*(np.concatenate([each] * 2, axis=1) for each in (tally.count, tally.mean, tally.m2)))
    tally.count[:100, 1] = 0
    closed = rng.random(tally.shape) < 0.3
    for excluded in (None, closed):
        r, found = largest_excess(tally, 0.01 / 2400).item(), clearly_beaten(tally, excluded)
        for k, c in np.ndindex(tally.shape):
            better = any(
                tally.mean[j, c] - r / np.sqrt(tally.count[j, c]) > tally.mean[k, c] + r
                for j in np.argsort(-tally.mean[:, c])[:100]
                if tally.count[j, c] > 0 and (excluded is None or not excluded[j, c])
            )
            assert found[k, c] == (better and tally.count[k, c] == 1), (k, c)
        assert 0.5 < found.mean() < 0.95


@pytest.mark.parametrize("n", [999, 1000])
def test_nothing_is_out_of_a_small_table(n: int) -> None:
    rng = np.random.default_rng(3)
    assert clearly_beaten(names_seen(rng, np.full(n, 0.1), rng.normal(size=n))).any() == (n == 1000)


@pytest.mark.parametrize(("shape", "least"), [("even", 0.5), ("spread", 0.0), ("few", 0.0)])
def test_the_best_is_hardly_ever_out(shape: str, least: float) -> None:
    rng, wrong, share = np.random.default_rng(4), 0, 0.0
    for _ in range(100):
        z, mean = rng.normal(size=1000), rng.normal(size=1000)
        sd = 0.3 * {"even": np.ones(1000), "spread": np.exp(0.7 * z), "few": 1.0 + 9.0 * (z > 1.645)}[shape]
        found = clearly_beaten(names_seen(rng, sd, mean))
        wrong += int(found[np.argmax(mean), 0])
        share += found.mean() / 100
    assert wrong <= 4  # a chance of at most 0.01 each: more than 4 in 100 has one of 0.003
    assert share >= least


def test_pairs_that_repeat_a_value_are_told_from_those_that_vary() -> None:
    values = [[1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [5.0, 5.0, 8.0]]
    told = replications.none(common=False)
    for k, row in enumerate(values):
        for number, value in enumerate(row):
            told = told.add(Decision(np.array(k), np.array(0)), np.array(number), np.array(value))
    table = np.array(values)
    m2 = np.sum((table - table.mean(axis=1, keepdims=True)) ** 2, axis=1)
    tally = Tally(
        np.array([[3], [3], [3], [0]]),
        np.append(table.mean(axis=1), 0.0)[:, None],
        np.append(m2, 0.0)[:, None],
        replications=told,
    )
    found = repeats(tally)
    assert found.alone.ravel().tolist() == [True, False, False, False]
    assert found.distance == pytest.approx(np.sqrt((1.0**2 + 3.0**2) / 2))  # 1 from 0, and 8 from 5
    summaries = repeats(tally.statistics_alone)  # the standard deviation stands for the farthest value
    assert summaries.distance == pytest.approx(
        np.sqrt((np.var([0, 0, 1], ddof=1) + np.var([5, 5, 8], ddof=1)) / 2)
    )
