"""Costs learned from run times, against literal conditioning of a normal prior over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argbest.core.arrays import Array
from argbest.study.learning import learned_costs


def conditioned(n: Array, seconds: Array) -> Array:
    """The posterior mean of the log costs as one dense vector, with a level of almost no precision."""
    k, c = n.shape
    same_row = np.kron(np.eye(k), np.ones((c, c)))
    same_column = np.kron(np.ones((k, k)), np.eye(c))
    prior = 1e6 + same_row / 0.5 + same_column / 0.5 + np.eye(k * c) / 3.0
    timed = np.flatnonzero(n.ravel())
    centre = np.log(seconds.sum() / n.sum())
    data = np.log(seconds.ravel()[timed] / n.ravel()[timed]) - centre
    noisy = prior[np.ix_(timed, timed)] + np.diag(1.0 / n.ravel()[timed])
    return np.asarray(np.exp(centre + prior[:, timed] @ np.linalg.solve(noisy, data)).reshape(k, c))


def random_times(seed: int, shape: tuple[int, int] = (4, 5)) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    n = (rng.integers(0, 4, shape) * rng.integers(0, 2, shape)).astype(float)
    n[0, 0] = 1
    return n, n * np.exp(rng.normal(0, 2, shape))


@pytest.mark.parametrize("seed", range(8))
def test_costs_are_the_posterior_mean_of_their_logarithms(seed: int) -> None:
    n, seconds = random_times(seed)
    np.testing.assert_allclose(learned_costs(n, seconds), conditioned(n, seconds), rtol=1e-4)


def test_a_single_pair_that_was_timed_sets_the_level_of_all() -> None:
    np.testing.assert_allclose(
        learned_costs(np.diag([4, 0]), np.diag([8.0, 0.0])), np.full((2, 2), 2.0), rtol=1e-12
    )


def test_two_alternatives_by_hand() -> None:
    """One context, e⁴ s once and 1 s once: level 2, weights 3/4, so effects ±2·(3/4)/(1/2 + 3/4)."""
    effect = 2 * 0.75 / 1.25
    own = 0.25 * (2 - effect)
    expected = np.exp([[2 + effect + own], [2 - effect - own]])
    np.testing.assert_allclose(learned_costs(np.ones((2, 1)), np.exp([[4.0], [0.0]])), expected, rtol=1e-12)


def test_without_times_all_cost_one() -> None:
    np.testing.assert_array_equal(learned_costs(np.zeros((2, 3)), np.zeros((2, 3))), np.ones((2, 3)))
    np.testing.assert_array_equal(learned_costs(np.ones((2, 3)), np.zeros((2, 3))), np.ones((2, 3)))


def test_a_pair_run_often_keeps_its_own_mean() -> None:
    n, seconds = random_times(3)
    n[1, 1], seconds[1, 1] = 1e6, 7e6
    assert learned_costs(n, seconds)[1, 1] == pytest.approx(7.0, rel=1e-4)


def test_pairs_never_run_follow_their_alternative_and_their_context() -> None:
    """Exact products of factors from 0.01 to 100, a quarter of the pairs never run."""
    rng = np.random.default_rng(0)
    truth = np.exp(rng.normal(0, 2, 8))[:, None] * np.exp(rng.normal(0, 1, 10))
    n = np.where(rng.random((8, 10)) < 0.25, 0, 20)
    found = learned_costs(n, n * truth)
    assert np.abs(np.log(found / truth)).max() < np.log(1.5)
    assert np.abs(np.log(found / truth))[n > 0].max() < np.log(1.1)


def test_a_cheap_pair_is_not_made_dear_by_its_neighbours() -> None:
    n = np.array([[2.0, 2.0], [2.0, 2.0]])
    found = learned_costs(n, n * np.array([[1000.0, 1000.0], [1.0, 1.0]]))
    assert np.all(found[1] < 4.0)


@given(st.integers(0, 2**32), st.sampled_from([1e-9, 1e-3, 60.0, 1e9]))
def test_costs_are_positive_and_follow_unit_and_order(seed: int, unit: float) -> None:
    n, seconds = random_times(seed, (3, 4))
    found = learned_costs(n, seconds)
    assert np.all((found > 0) & np.isfinite(found))
    np.testing.assert_allclose(learned_costs(n, unit * seconds), unit * found, rtol=1e-9)
    np.testing.assert_allclose(
        learned_costs(n[::-1, [2, 0, 3, 1]], seconds[::-1, [2, 0, 3, 1]]), found[::-1, [2, 0, 3, 1]]
    )
    np.testing.assert_allclose(learned_costs(n.T, seconds.T), found.T, rtol=1e-9)


def test_a_clock_that_shows_zero_leaves_costs_positive() -> None:
    found = learned_costs(np.full((1, 2), 5), np.array([[0.0, 5.0]]))
    assert 0 < found[0, 0] < found[0, 1]


def test_stacks_of_tables_are_learned_one_by_one() -> None:
    tables = [random_times(seed) for seed in range(3)] + [(np.zeros((4, 5)), np.zeros((4, 5)))]
    n, seconds = (np.stack(part) for part in zip(*tables, strict=True))
    expected = np.stack([learned_costs(*table) for table in tables])
    np.testing.assert_allclose(learned_costs(n, seconds), expected, rtol=1e-12)
