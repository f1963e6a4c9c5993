"""The shape of single rewards: its null distribution by simulation, ties, rates, and what is said of them."""

import misfits
import numpy as np
import pytest
from scipy import stats

from argbest.answers import shape
from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.belief import CellBelief
from argbest.core.replications import Replications
from argbest.core.tally import Tally

NONE = tallies.empty((6, 8))


def as_rewards(values: Array) -> dict[tuple[int, int], list[float]]:
    return {(k, c): values[k, c].tolist() for k, c in np.ndindex(values.shape[:2])}


def test_the_statistic_of_one_pair_by_hand() -> None:
    """Residuals −1, −1, 2 with W = 6: what is left without one of them is 1 − 3/2 · (1, 1, 4)/6."""
    value, spread = shape._outlying(np.array([[10.0, 10.0, 13.0]]))
    assert value[0] == pytest.approx(-2 * np.log(0.75) - np.log(1e-3))
    assert spread[0] == pytest.approx(np.sqrt(3.0))


def test_what_is_left_without_a_replication_is_the_sum_of_squares_of_the_others() -> None:
    row = np.random.default_rng(0).normal(size=7)
    left = [np.var(np.delete(row, j)) * 6 / (np.var(row) * 7) for j in range(7)]
    assert shape._outlying(row[None])[0][0] == pytest.approx(-np.sum(np.log(left)))


@pytest.mark.parametrize("n", [3, 5, 9, 15])
def test_the_table_of_moments_is_that_of_normal_rewards(n: int) -> None:
    """100,000 draws: mean and standard deviation within five standard errors."""
    value, _ = shape._outlying(np.random.default_rng(n).normal(size=(100_000, n)))
    sd, excess = value.std(), stats.kurtosis(value)
    assert value.mean() == pytest.approx(shape._MEAN[n - 3], abs=5 * sd / 316)
    assert sd == pytest.approx(shape._SD[n - 3], abs=5 * sd * np.sqrt(excess + 2) / 632)
    assert stats.skew(value) == pytest.approx(shape._SKEWNESS[n - 3], rel=0.15)


@pytest.mark.parametrize("n", [3, 4, 5, 20])
def test_normal_rewards_of_any_spread_have_the_stated_level(n: int) -> None:
    """1,000 studies: 1 % is met to within 1 %, three standard errors."""
    rng = np.random.default_rng(n)
    found = []
    for _ in range(1000):
        values = rng.normal(size=(6, 8, 1)) + np.exp(rng.normal(size=(6, 8, 1))) * rng.normal(size=(6, 8, n))
        found.append(shape.tails(as_rewards(values), NONE))
    assert np.mean(np.array(found) < 0.01) == pytest.approx(0.01, abs=0.01)
    assert np.mean(np.array(found) < 0.5) == pytest.approx(0.47, abs=0.06)


@pytest.mark.parametrize("r", [0.5, 0.9, 1.0])
def test_common_random_numbers_keep_the_level(r: float) -> None:
    """200 studies: more than 8 of them below 1 % have a probability of 1e-4."""
    rng, found = np.random.default_rng(1), []
    for _ in range(200):
        shared = np.sqrt(r) * rng.normal(size=(8, 5)) + np.sqrt(1 - r) * rng.normal(size=(6, 8, 5))
        k, c, number = np.indices(shared.shape)
        k, c, number, values = (each.ravel() for each in (k, c, number, shared))
        kept = Replications(k, c, number, values, np.ones(len(k), bool))
        count = np.full((6, 8), 5)
        found.append(
            shape.tails(as_rewards(shared), Tally(count, shared.mean(-1), shared.var(-1), replications=kept))
        )
    assert np.sum(np.array(found) < 0.01) <= 8


def test_a_unit_changes_nothing_and_few_rewards_tell_nothing() -> None:
    values = np.random.default_rng(2).standard_t(3, size=(6, 8, 4))
    once = shape.tails(as_rewards(values), NONE)
    assert shape.tails(as_rewards(1e120 * values), NONE) == pytest.approx(once)
    assert shape.tails(as_rewards(1e-120 * values), NONE) == pytest.approx(once)
    assert np.isnan(shape.tails(as_rewards(values[..., :2]), NONE))
    assert np.isnan(shape.tails(as_rewards(np.ones((6, 8, 5))), NONE))
    assert np.isnan(shape.tails({}, NONE))


def test_ties_are_counted_among_two_replications_of_a_pair() -> None:
    rewards = {(0, 0): [1.0, 1.0, 1.0, 2.0], (0, 1): [0.5, 0.7], (1, 0): [0.3, 0.3, 0.3], (1, 1): [1.0, 2.0]}
    assert shape.tied(rewards) == pytest.approx(6 / (6 + 1 + 3 + 1))
    assert shape.tied({**rewards, (1, 1): [1.0, 1.0]}) == 0.0  # without noise at all: three ties are left
    assert shape.tied({pair: [value + 1e-15 for value in some] for pair, some in rewards.items()}) > 0


def test_rounding_to_half_a_standard_deviation_is_no_pattern() -> None:
    values = np.random.default_rng(3).normal(size=(6, 8, 5))
    assert shape.tied(as_rewards(np.round(2 * values) / 2)) == 0.0
    assert shape.tied(as_rewards(np.round(values / 1.5))) > 0.2


def test_rates_are_zeros_and_ones_of_either_sign() -> None:
    assert shape.is_rate([[0.0, 1.0], [1.0]])
    assert shape.is_rate([[-0.0, -1.0]])
    assert not shape.is_rate([[1.0, 1.0]])
    assert not shape.is_rate([[0.0, 1.0, 0.5]])
    assert not shape.is_rate([])


def test_rates_need_some_of_both_values_in_the_pairs_that_matter() -> None:
    count, mean = np.full((3, 3), 10), np.array([[0.9, 0.5, 1.0], [0.5, 0.6, 0.5], [0.0, 0.0, 0.5]])
    belief = CellBelief(mean, np.ones((3, 3)), np.ones((3, 3)))
    few = shape.scarce(belief, Tally(count, mean, np.zeros((3, 3))))
    assert few.tolist() == [True, False, True]  # 10 · 1.5/11 < 1.4; the worst alternative does not matter
    assert not shape.scarce(belief, Tally(10 * count, mean, np.zeros((3, 3))))[:2].any()


def test_what_is_said_of_rewards_that_are_not_normal() -> None:
    ties = misfits.checked(misfits.rounded, 1)
    assert ties.everywhere
    assert not ties.doubted.any()  # how much ties matter depends on the replications behind a choice
    assert ties.objections[0].startswith(
        f"Rewards repeat values: {ties.rewards.tied:.0%} of two replications"
    )
    heavy = misfits.checked(misfits.rarely_a_loss, 1)
    assert heavy.objections[0].startswith("Single rewards are farther from the others of their pair than")
    assert f"(p = {heavy.rewards.tails_p_value:.1g})" in heavy.objections[0]
    rates = misfits.checked(misfits.zero_or_one, 1)
    assert rates.rewards.rate
    assert rates.objections[0].startswith(
        "Rewards are 0 or 1, and too few of one of them were seen to compare"
    )
    assert (rates.doubted >= rates.scarce).all()
    assert rates.scarce.any()
