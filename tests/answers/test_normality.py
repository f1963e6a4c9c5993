"""Warnings of rewards far from normal: none for normal rewards, one for those that are."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from argbest import Problem, Study
from argbest.answers import normality
from argbest.answers.normality import departure
from argbest.core.arrays import Array

Draw = Callable[[np.random.Generator, tuple[int, int]], Array]

DESIGNS = [
    [3] * 40,
    [4] * 30,
    [2, 3, 4, 5] * 6,
    [5] * 6,
    [8],
    [10] * 10,
    [20],
    [50, *[4] * 20],
    [300],
]


def normal_rewards(rng: np.random.Generator, sizes: list[int]) -> list[Array]:
    """Means and standard deviations differ between pairs by factors of a hundred and more."""
    return [rng.normal(rng.normal(0, 100), np.exp(rng.normal(0, 2)), n) for n in sizes]


def alarms(seed: int, rounds: int) -> int:
    rng = np.random.default_rng(seed)
    return sum(departure(normal_rewards(rng, sizes)) is not None for _ in range(rounds) for sizes in DESIGNS)


def test_normal_rewards_raise_no_alarm() -> None:
    """At the promised rate of 1e-3 at most, 900 studies give more than 5 with probability below 1e-3."""
    assert alarms(0, 100) <= 5


@pytest.mark.slow
def test_normal_rewards_raise_hardly_any_alarm_in_many_studies() -> None:
    """Four sigmas thrice are 1e-4, so 45,000 studies give more than 15 alarms with probability below 1e-4."""
    assert alarms(1, 5000) <= 15


@pytest.mark.parametrize("n", [3, 4, 5, 7, 8, 12, 20, 50, 1000])
def test_the_scores_of_one_pair_are_those_of_the_classical_tests(n: int) -> None:
    rows = [np.random.default_rng(n).gamma(3.0, size=n)]
    size, third, fourth = normality._standardised(rows)
    assert third[0] == pytest.approx(stats.skew(rows[0]), rel=1e-10)
    assert fourth[0] == pytest.approx(stats.kurtosis(rows[0], fisher=False), rel=1e-10)
    skew = normality._skewness(size, third)
    assert skew is not None
    shown = (n - 1.5) / (n + 4)
    assert skew.value * shown == pytest.approx(stats.skew(rows[0], bias=False), rel=1e-10)
    if n >= 8:
        assert skew.sigmas == pytest.approx(stats.skewtest(rows[0]).statistic, rel=1e-9)
    tails = normality._kurtosis(size, fourth)
    if n < 4:
        assert tails is None
        return
    assert tails is not None
    assert tails.value * (n - 1) / (n + 16) == pytest.approx(stats.kurtosis(rows[0], bias=False), rel=1e-9)
    if n >= 20:
        assert tails.sigmas == pytest.approx(stats.kurtosistest(rows[0]).statistic, rel=1e-9)


def test_scores_of_pooled_normal_pairs_are_standard_normal() -> None:
    """3,000 studies: mean within 5 standard errors, sd within 8 % (6 of them); false alarm below 1e-5."""
    rng = np.random.default_rng(2)
    scores = []
    for _ in range(3000):
        n, third, fourth = normality._standardised(normal_rewards(rng, [2, 3, 4, 5, 6, 8] * 2))
        skew, tails = normality._skewness(n, third), normality._kurtosis(n, fourth)
        assert skew is not None
        assert tails is not None
        scores.append((skew.sigmas, tails.sigmas))
    np.testing.assert_allclose(np.mean(scores, axis=0), 0.0, atol=5 / np.sqrt(3000))
    np.testing.assert_allclose(np.std(scores, axis=0), 1.0, atol=0.08)


@pytest.mark.parametrize("n", [3, 5, 10, 30])
def test_moderate_skewness_is_measured_whatever_the_number_of_replications(n: int) -> None:
    """A gamma distribution of shape 4 has skewness 1; 60,000 replications measure it to better than 0.05."""
    rows = list(np.random.default_rng(n).gamma(4.0, size=(60000 // n, n)))
    size, third, _ = normality._standardised(rows)
    skew = normality._skewness(size, third)
    assert skew is not None
    assert skew.value == pytest.approx(1.0, abs=0.15)


def test_each_replication_is_scored_beside_those_before_it() -> None:
    rows = [np.random.default_rng(n).gamma(2.0, size=n) for n in (3, 6, 2, 4)]
    expected = []
    for row in rows:
        for j in range(2, len(row)):
            before = row[:j]
            t = (row[j] - before.mean()) / (before.std(ddof=1) * np.sqrt(1 + 1 / j))
            expected.append(stats.norm.ppf(stats.t.cdf(t, j - 1)))
    np.testing.assert_allclose(normality._sequential(rows), expected, rtol=1e-8)


def test_scores_beside_earlier_replications_are_independent_standard_normals() -> None:
    """2,000 pairs of six: mean and correlations within 5 standard errors, sd within 5; alarm below 1e-5."""
    scores = normality._sequential(normal_rewards(np.random.default_rng(6), [6] * 2000)).reshape(2000, 4)
    np.testing.assert_allclose(scores.mean(axis=0), 0.0, atol=5 / np.sqrt(2000))
    np.testing.assert_allclose(np.corrcoef(scores.T), np.eye(4), atol=5 / np.sqrt(2000))
    np.testing.assert_allclose(scores.std(axis=0), 1.0, atol=5 / np.sqrt(4000))


def sampled_where_undecided(rng: np.random.Generator, n_pairs: int, extra: int) -> list[Array]:
    """Return what OCBA by sample variances leaves: a hard case for the score within pairs."""
    values = rng.normal(size=(n_pairs, 2 + extra)) + rng.normal(0, 0.3, (n_pairs, 1))
    n = np.full(n_pairs, 2)
    total, squares = values[:, :2].sum(axis=1), np.square(values[:, :2]).sum(axis=1)
    for _ in range(extra):
        mean = total / n
        spread = (squares - n * mean**2) / (n - 1) / n
        best = int(np.argmax(mean))
        rate = (mean[best] - mean) ** 2 / (spread + spread[best])
        rate[best] = np.inf
        rival = int(np.argmin(rate))
        k = best if spread[best] > spread[rival] else rival
        total[k] += values[k, n[k]]
        squares[k] += values[k, n[k]] ** 2
        n[k] += 1
    return [row[:m] for row, m in zip(values, n.tolist(), strict=True)]


def alarms_where_undecided(rounds: int) -> int:
    rng = np.random.default_rng(7)
    return sum(departure(sampled_where_undecided(rng, 400, 200)) is not None for _ in range(rounds))


def test_normal_rewards_raise_no_alarm_where_they_decide_what_is_sampled() -> None:
    """At 1e-3, 40 studies give one with probability 0.04; the score within pairs alone has 7 in 150."""
    assert alarms_where_undecided(40) == 0


@pytest.mark.slow
def test_normal_rewards_raise_hardly_any_alarm_where_they_decide_what_is_sampled() -> None:
    """At the promised rate of 1e-3, 1,500 studies give more than 6 with probability below 1e-3."""
    assert alarms_where_undecided(1500) <= 6


@pytest.mark.filterwarnings("error::argbest.errors.DataNotice")
@pytest.mark.parametrize("seed", range(12))
def test_noise_that_alternatives_share_is_counted_once(seed: int) -> None:
    """With common random numbers ten alternatives show the same noise; as ten samples it would ring."""

    def simulate(alternative: int, _context: int, number: int) -> float:
        return alternative + float(np.random.default_rng(number).normal())

    problem = Problem(list(range(10)), [0, 1], simulate)
    study = Study(
        problem, policy="equal", model="independent", initial=6, seed=seed, common_random_numbers=True
    )
    groups = study.run(120).view().replicates()
    assert len({tuple(np.round(np.diff(row), 9)) for row in groups.values()}) == 2  # one noise per context


def lognormal(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.exp(rng.normal(size=shape))


def cauchy(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.standard_cauchy(shape)


def rare_success(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return (rng.random(shape) < 0.02).astype(float)


def win_or_lose(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.where(rng.random(shape) < 0.5, 2.0, -1.0)


RIGHT, LEFT = "skewed to the right", "skewed to the left"
DETECTED: list[tuple[Draw, tuple[int, int], str]] = [
    (lognormal, (100, 5), RIGHT),
    (lognormal, (20, 10), RIGHT),
    (lognormal, (2, 100), RIGHT),
    (lambda rng, shape: -lognormal(rng, shape), (20, 10), LEFT),
    (cauchy, (100, 5), "extreme|skewed"),
    (cauchy, (30, 10), "extreme|skewed"),
    (cauchy, (4, 100), "extreme|skewed"),
    (rare_success, (100, 5), "two values"),
    (rare_success, (30, 20), "two values"),
    (win_or_lose, (5, 10), "two values"),
]


@pytest.mark.parametrize(("draw", "shape", "text"), DETECTED)
def test_rewards_far_from_normal_are_told(draw: Draw, shape: tuple[int, int], text: str) -> None:
    """Each pair is shifted and stretched by its own amounts, except where two values are the point."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        rewards = draw(rng, shape)
        if text != "two values":
            rewards = rewards * np.exp(rng.normal(0, 2, (shape[0], 1))) + rng.normal(0, 10, (shape[0], 1))
        found = departure(list(rewards))
        assert found is not None
        assert any(part in found for part in text.split("|"))
        assert found.startswith("rewards look far from normal: ")
        assert f"{shape[0] * shape[1]} replications of {shape[0]} pairs" in found
        assert "mean of a batch of runs" in found


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, shape: rng.random(shape),
        lambda rng, shape: rng.poisson(30, shape).astype(float),
        lambda rng, shape: rng.gamma(30, size=shape),
        lambda rng, shape: rng.exponential(size=(25, *shape)).mean(axis=0),
    ],
    ids=["uniform", "counts", "slightly skewed", "means of batches of 25"],
)
def test_rewards_near_enough_to_normal_are_left_alone(draw: Draw) -> None:
    rng = np.random.default_rng(4)
    assert [departure(list(draw(rng, (20, 20)))) for _ in range(20)] == [None] * 20


@pytest.mark.parametrize(
    "groups",
    [
        [],
        [[]],
        [[1.0], [2.0]],
        [[1.0, 2.0], [3.0, 5.0]] * 20,
        [[3.0] * 30, [4.0] * 30],
        [[0.0] * 50, [0.0] * 50],
        [[1e6 + 1e-10 * (i % 2) + i // 100 for i in range(50)]],
        [[0.0, 1.0, 0.0]],
    ],
    ids=["none", "empty", "single", "twos", "constant", "all zero", "rounding", "too few"],
)
def test_too_little_to_judge_is_no_alarm(groups: list[list[float]]) -> None:
    assert departure(groups) is None


def test_a_single_pair_is_named_as_one() -> None:
    found = departure([[0.0, 1.0] * 20])
    assert found is not None
    assert "nearly all of 40 replications of 1 pair are one of two values" in found


def test_the_unit_of_rewards_does_not_matter() -> None:
    rows = list(np.exp(np.random.default_rng(5).normal(size=(20, 20))))
    found = departure(rows)
    assert found is not None
    assert departure([row * 1e148 for row in rows]) == found
    assert departure([row * 1e-148 for row in rows]) == found
    assert departure(rows[::-1]) == found
