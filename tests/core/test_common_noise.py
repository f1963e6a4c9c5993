import common_cases
import numpy as np
import pytest
from scipy.stats import f as f_law

from argbest.core import common_noise
from argbest.core.arrays import Array


def dense(case: common_cases.Runs) -> tuple[Array, Array]:
    """Observation by observation: the precision about the cells seen, and the information."""
    seen, which = np.unique(case.cells, return_inverse=True)
    design = (which[:, None] == np.arange(len(seen))).astype(float)
    weights = np.linalg.inv(case.noise_covariance())
    return design.T @ weights @ design, design.T @ weights @ case.y


def gathered(case: common_cases.Runs) -> tuple[Array, Array, float, float]:
    """Mean and precision of all cells seen, in flat order, the within sum and the log determinant."""
    seen = np.unique(case.cells)
    found = common_noise.blocks(case.tally, case.noise, case.correlation)
    mean, precision = np.empty(len(seen)), np.zeros((len(seen), len(seen)))
    for block in found:
        at = np.searchsorted(seen, block.alternative * case.shape[1] + block.context)
        mean[at] = block.mean
        precision[at[:, :, None], at[:, None]] = block.precision
    return mean, precision, sum(b.within.sum() for b in found), sum(b.log_noise.sum() for b in found)


@pytest.mark.parametrize("seed", range(6))
def test_precision_mean_and_sums_are_those_of_all_observations_with_their_covariance(seed: int) -> None:
    case = common_cases.runs(np.random.default_rng(seed))
    precision, information = dense(case)
    expected = np.linalg.solve(precision, information)
    mean, ours, within, log_noise = gathered(case)
    np.testing.assert_allclose(ours, precision, rtol=1e-9, atol=1e-9 * np.abs(precision).max())
    np.testing.assert_allclose(mean, expected, rtol=1e-9)
    covariance = case.noise_covariance()
    rest = case.y @ np.linalg.solve(covariance, case.y) - expected @ precision @ expected
    np.testing.assert_allclose(within, rest, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(log_noise, np.linalg.slogdet(covariance)[1], rtol=1e-9)


def test_one_more_replication_makes_a_difference_more_certain_as_the_exact_figures_say() -> None:
    # Two alternatives, a correlation of 0.8, noise 1: counts (4, 4), (5, 4), (8, 4).
    found = []
    for more in (4, 5, 8):
        k = np.repeat([0, 1], [more, 4])
        r = np.concatenate([np.arange(more), np.arange(4)])
        zeros = np.zeros(len(k), np.int64)
        case = common_cases.Runs((2, 1), k, zeros, r, np.zeros(len(k)), np.ones((2, 1)), np.array([0.8]))
        (block,) = common_noise.blocks(case.tally, case.noise, case.correlation)
        covariance = np.linalg.inv(block.precision[0])
        found.append(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    np.testing.assert_allclose(found, [0.100, 0.098, 0.095], atol=5e-4)


def test_the_layout_is_the_two_way_analysis_of_variance() -> None:
    case = common_cases.runs(np.random.default_rng(8), (5, 1), most=7, unnumbered=False)
    seen = common_noise.layout(case.tally, case.noise)
    sd = np.sqrt(case.noise[case.alternative, 0])
    rows = (case.alternative[:, None] == np.arange(5)).astype(float)
    numbers = (case.number[:, None] == np.unique(case.number)).astype(float)

    def residual(design: Array) -> tuple[float, int]:
        level, _, rank, _ = np.linalg.lstsq(design, case.y / sd, rcond=None)
        return float(np.sum((case.y / sd - design @ level) ** 2)), len(sd) - int(rank)

    (apart, freedom), (whole, all_freedom) = residual(np.hstack([rows, numbers])), residual(rows)
    np.testing.assert_allclose([seen.unshared[0], seen.common[0]], [apart, whole - apart], rtol=1e-8)
    assert (seen.unshared_freedom[0], seen.common_freedom[0]) == (freedom, all_freedom - freedom)


@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_the_estimate_is_near_the_correlation_also_where_noise_differs(rho: float) -> None:
    rng = np.random.default_rng(3)
    found = [
        common_noise.estimate(case.tally, case.noise).mean()
        for case in (
            common_cases.balanced(rng, (8, 6), 3, rho, sd=np.exp(rng.normal(0, 1, (8, 6)))) for _ in range(40)
        )
    ]
    # Standard deviation of one estimate about 0.1, drawn to 0 by about 4/88 of itself; four standard errors.
    assert abs(np.mean(found) - rho) < 0.08


def test_the_correlation_is_capped_and_nothing_is_seen_in_independent_or_few_replications() -> None:
    rng = np.random.default_rng(4)
    same = common_cases.balanced(rng, (6, 5), 10, 1.0 - 1e-12)
    np.testing.assert_array_less(common_noise.estimate(same.tally, same.noise), 1.0)
    assert np.all(common_noise.estimate(same.tally, same.noise) > 0.97)
    alone = common_cases.balanced(rng, (6, 5), 1, 0.9)  # a single replication says nothing of its noise
    assert not common_noise.estimate(alone.tally, alone.noise).any()
    against = common_cases.balanced(rng, (4, 1), 2, -0.05)
    assert np.all(common_noise.estimate(against.tally, against.noise) >= 0)
    assert not common_noise.estimate(same.tally.statistics_alone, same.noise).any()


def test_alternatives_that_go_against_each_other_are_told_from_chance() -> None:
    rng = np.random.default_rng(5)
    against = [common_cases.balanced(rng, (4, 10), 3, -0.3) for _ in range(20)]
    assert all(common_noise.goes_against(each.tally, each.noise) for each in against)
    found = [common_noise.estimate(each.tally, each.noise) for each in against]
    assert -0.3 <= np.mean(found) < -0.2
    # Under independence it is a probability: mean 1/2, here within four standard errors.
    independent = [common_cases.balanced(rng, (4, 4), 3, 0.0) for _ in range(100)]
    chance = [common_noise.layout(each.tally, each.noise).chance for each in independent]
    assert abs(np.mean(chance) - 0.5) < 4 * np.sqrt(1 / 12 / 100)


def test_studies_side_by_side_are_estimated_one_by_one() -> None:
    rng = np.random.default_rng(6)
    cases = [common_cases.balanced(rng, (5, 4), 3, rho) for rho in (0.3, 0.9)]
    both = common_cases.side_by_side([case.tally for case in cases])
    expected = [common_noise.estimate(case.tally, case.noise) for case in cases]
    found = common_noise.estimate(both, np.stack([case.noise for case in cases]))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("divisor", [1.0, 3.0, 20.0])
def test_skewness_that_leaves_fewer_degrees_of_freedom_draws_the_correlation_towards_0(
    divisor: float,
) -> None:
    """One context: ρ = 1 − (A + 4φ v)/(ν + 4φ)/v, A being the squares apart, ν their degrees, v the level."""
    case = common_cases.balanced(np.random.default_rng(3), (4, 1), 12, 0.8)
    seen = common_noise.layout(case.tally, case.noise)
    apart, freedom = seen.unshared.item(), seen.unshared_freedom.item()
    level = (apart + seen.common.item()) / (freedom + seen.common_freedom.item())
    by_hand = 1.0 - (apart + 4.0 * divisor * level) / (freedom + 4.0 * divisor) / level
    ratio, *degrees = seen.ratio
    clear = f_law.sf(ratio, *(each / divisor for each in degrees)) < 0.01
    found = common_noise.estimate(case.tally, case.noise, divisor)
    np.testing.assert_allclose(found, [by_hand if clear else 0.0], rtol=1e-6)
    assert clear == (divisor < 20.0)
    np.testing.assert_array_equal(common_noise.estimate(case.tally, case.noise, np.array(divisor)), found)


def spread_case(smooth: float, n: int, seed: int, n_contexts: int = 6) -> common_cases.Runs:
    """Seven alternatives, n numbers each; noise is correlated as ``smooth`` to the power of a distance."""
    rng = np.random.default_rng(seed)
    place = np.arange(7)
    cov = smooth ** np.abs(place[:, None] - place) if smooth else np.eye(7)
    shocks = rng.normal(size=(1, n, n_contexts)) + rng.multivariate_normal(
        np.zeros(7), cov, (n_contexts, n)
    ).transpose(2, 1, 0)
    k, r, c = (part.ravel() for part in np.indices(shocks.shape))
    noise = np.full((7, n_contexts), 2.0)
    return common_cases.Runs((7, n_contexts), k, c, r, shocks.ravel(), noise, np.full(n_contexts, 0.5))


@pytest.mark.parametrize("smooth", [0.0, 0.5, 0.9])
def test_unevenness_is_that_of_the_covariance_left_when_the_mean_is_taken_away(smooth: float) -> None:
    place, centre = np.arange(7), np.eye(7) - 1 / 7
    cov = centre @ (smooth ** np.abs(place[:, None] - place) if smooth else np.eye(7)) @ centre
    expected = 6 * np.trace(cov @ cov) / np.trace(cov) ** 2
    case = spread_case(smooth, 800, seed=5)
    assert common_noise.unevenness(case.tally, case.noise, case.correlation) == pytest.approx(
        expected, rel=0.05
    )
    few = [spread_case(smooth, 3, seed=seed) for seed in range(200)]
    found = [float(common_noise.unevenness(each.tally, each.noise, each.correlation)) for each in few]
    assert np.mean(found) == pytest.approx(expected, rel=0.2)  # cut off at 1, and a ratio of estimates


def test_noise_that_is_not_common_or_hardly_known_counts_once() -> None:
    case = spread_case(0.9, 50, seed=1)
    assert common_noise.unevenness(case.tally, case.noise, np.zeros(6)) == 1.0
    little = spread_case(0.9, 2, seed=1, n_contexts=2)
    assert common_noise.unevenness(little.tally, little.noise, little.correlation) == 1.0


def test_noise_that_is_all_common_counts_once_whatever_rounding_leaves_of_it() -> None:
    case = spread_case(0.0, 20, seed=2)
    first = case.y.reshape(7, 20, 6)[:1]
    for level in (0.0, 1e3 / 3):
        means = level * np.arange(7)[:, None, None] + np.zeros((7, 20, 6))
        same = case._replace(y=(first + means).ravel())
        assert common_noise.unevenness(same.tally, same.noise, same.correlation) == 1.0


def test_plausible_correlations_are_as_uncertain_as_the_variance_that_is_not_shared() -> None:
    case = common_cases.balanced(np.random.default_rng(8), (6, 5), 4, 0.7)
    tables = np.broadcast_to(case.noise, (4000, 6, 5))
    found = common_noise.plausible(case.tally, tables, np.random.default_rng(9))
    seen = common_noise.layout(case.tally, case.noise)
    d = float(seen.unshared_freedom.sum()) + 4.0  # and what `estimate` doubts
    centre = (float(seen.unshared.sum()) + 4.0) / d
    apart = 1.0 - found
    np.testing.assert_allclose(np.mean(1.0 / apart), 1.0 / centre, rtol=0.03)
    assert np.sqrt(2.0 / d) < np.std(1.0 / apart.mean(axis=1)) * centre < 1.5 * np.sqrt(2.0 / d)
    skewed = common_noise.plausible(case.tally, tables, np.random.default_rng(9), divisor=8.0)
    assert np.std(skewed) > 1.5 * np.std(found)
    assert (skewed >= 0.0).all()
    assert (skewed <= common_noise.LARGEST_CORRELATION).all()
    half = common_noise.plausible(case.tally, tables, np.random.default_rng(9), shown=np.full(5, 0.5))
    np.testing.assert_allclose(half, 0.5 * found)


def test_plausible_correlations_leave_what_is_not_shared_as_it_is_whatever_a_table_says_of_the_rest() -> None:
    rng = np.random.default_rng(10)
    case = common_cases.balanced(rng, (8, 6), 30, 0.9)
    tables = case.noise * np.exp(rng.normal(0.0, 0.5, (2000, 1, 6)))  # contexts are known poorly
    found = common_noise.plausible(case.tally, tables, np.random.default_rng(11))
    apart = tables[:, 0] * (1.0 - found)
    assert np.std(np.log(tables[:, 0])) > 0.45
    assert np.std(np.log(apart)) < 0.16  # √(2/203) of a context by itself
    np.testing.assert_allclose(np.median(apart), 0.1, rtol=0.1)


def test_correlations_that_nothing_tells_are_none() -> None:
    case = common_cases.balanced(np.random.default_rng(8), (3, 2), 1, 0.7)
    tables = np.broadcast_to(case.noise, (7, 3, 2))
    assert not common_noise.plausible(case.tally, tables, np.random.default_rng(9)).any()


# --- Rates ------------------------------------------------------------------------------------------------


def hits(rng: np.random.Generator, shape: tuple[int, int], n: int, p: float, rho: float) -> common_cases.Runs:
    """0 or 1 with the chance p: each takes the coin of its seed with the chance √ρ, or else its own."""
    whole = (*shape, n)
    common = np.broadcast_to(rng.random((1, shape[1], n)) < p, whole)
    y = np.where(rng.random(whole) < np.sqrt(rho), common, rng.random(whole) < p).astype(float)
    k, c, r = (part.ravel() for part in np.indices(whole))
    return common_cases.Runs(shape, k, c, r, y.ravel(), np.full(shape, p * (1 - p)), np.zeros(shape[1]))


@pytest.mark.parametrize(("p", "rho"), [(0.3, 0.6), (0.1, 0.3), (0.3, 1.0), (0.2, 0.0)])
def test_with_many_events_the_noise_of_rates_is_shared_as_it_is(p: float, rho: float) -> None:
    """Averages over alternatives vary by s²(ρ + (1 − ρ)/K), differences by 2 s²(1 − ρ)."""
    case = hits(np.random.default_rng(3), (6, 4), 90, p, rho)
    found = common_noise.of_rates(case.tally, case.noise, np.array(90.0 * 4))
    assert found.shared == pytest.approx(rho, abs=0.12)
    assert found.unshared == pytest.approx(1.0 - rho, abs=0.12)
    assert bool(found.found) == (rho > 0)


def test_without_events_nobody_knows_what_is_shared_and_all_of_it_counts_both_ways() -> None:
    case = hits(np.random.default_rng(3), (6, 4), 2, 0.0, 0.5)._replace(noise=np.full((6, 4), 0.04))
    found = common_noise.of_rates(case.tally, case.noise, np.array(0.0))
    np.testing.assert_array_equal([found.shared, found.unshared], 1.0)
    np.testing.assert_array_equal(found.level, 2.0)
    (block,) = common_noise.blocks(case.tally, 2.0 * case.noise, found.correlation)
    ones = np.ones(6)
    # The level of a context is known as by its two seeds, and a difference as with seeds of their own.
    np.testing.assert_allclose(1.0 / (ones @ block.precision @ ones), 0.04 * (1 + 1 / 6) / 2)
    covariance = np.linalg.inv(block.precision)
    np.testing.assert_allclose(covariance[:, 0, 0] - covariance[:, 0, 1], 0.04 / 2)


@pytest.mark.parametrize("rho", [0.2, 0.9])
def test_what_few_events_leave_open_counts_both_ways(rho: float) -> None:
    case = hits(np.random.default_rng(5), (8, 5), 40, 0.3, rho)
    doubts = []
    for events in (3.0, 30.0, 300.0):
        found = common_noise.of_rates(case.tally, case.noise, np.array(events))
        doubts.append(float(np.mean(found.level - 1.0)))
        if found.found:
            np.testing.assert_allclose(found.level, 1.0 + 4.0 / (events + 4.0))
        else:
            np.testing.assert_array_equal(found.unshared, 1.0)
            np.testing.assert_array_less(4.0 / (events + 4.0), found.shared)
    assert doubts[2] < 0.02
    assert doubts[0] > doubts[1] > doubts[2]


def test_only_studies_of_rates_count_so() -> None:
    cases = [hits(np.random.default_rng(seed), (4, 3), 5, 0.3, 0.5) for seed in (1, 2)]
    whole = common_cases.side_by_side([each.tally for each in cases])
    noise = np.stack([each.noise for each in cases])
    found = common_noise.of_rates(whole, noise, np.array([np.nan, 6.0]))
    assert found.rates.tolist() == [False, True]
    np.testing.assert_array_equal(found.level[0], 1.0)
    np.testing.assert_array_equal(found.correlation[0], 0.0)
    single = common_noise.of_rates(cases[1].tally, cases[1].noise, np.array(6.0))
    np.testing.assert_allclose(found.shared[1], single.shared)
    np.testing.assert_allclose(found.unshared[1], single.unshared)


def test_plausible_shares_of_rates_lie_about_what_is_known_and_keep_the_doubt() -> None:
    case = hits(np.random.default_rng(7), (8, 5), 40, 0.3, 0.6)
    events = 60.0
    known = common_noise.of_rates(case.tally, case.noise, np.array(events))
    tables = np.broadcast_to(case.noise, (2000, 8, 5))
    found = common_noise.plausible_of_rates(case.tally, tables, np.random.default_rng(2), known, events)
    np.testing.assert_allclose(found.unshared.mean(axis=0), known.unshared, atol=0.1)
    np.testing.assert_allclose(found.level, 1.0 + 4.0 / 64.0, atol=1e-12)
    assert np.std(found.unshared.mean(axis=1)) > 0.03  # √(2/64) of 0.4
    unknown = common_noise.of_rates(case.tally, case.noise, np.array(0.0))
    same = common_noise.plausible_of_rates(case.tally, tables[:3], np.random.default_rng(2), unknown, 0.0)
    np.testing.assert_array_equal(same.shared, np.repeat(unknown.shared[None], 3, axis=0))
