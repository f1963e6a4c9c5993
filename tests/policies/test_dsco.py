from functools import partial

import by_tally
import numpy as np
import pytest
from by_tally import a_tally, pairs, propose_by, variance

from argbest.core.arrays import Array, IntArray
from argbest.core.tally import Tally
from argbest.policies.ocba import DSCO, look_ahead


def smallest_rate(mean: Array, v: Array, count: IntArray) -> float:
    n_alternatives, n_contexts = mean.shape
    lowest = np.inf
    for c in range(n_contexts):
        b = int(np.argmax(mean[:, c]))
        for k in range(n_alternatives):
            if k != b:
                spread = v[b, c] / count[b, c] + v[k, c] / count[k, c]
                lowest = min(lowest, (mean[b, c] - mean[k, c]) ** 2 / spread)
    return lowest


def values(mean: Array, v: Array, count: IntArray) -> Array:
    """Li, Lam, Liang and Peng's value of every pair: add one sample, recompute everything."""
    out = np.empty(mean.shape)
    for k, c in np.ndindex(*mean.shape):
        more = count.copy()
        more[k, c] += 1
        out[k, c] = smallest_rate(mean, v, more)
    return out


def dsco(mean: Array, v: Array, count: IntArray) -> tuple[int, int]:
    """The first pair of the largest value, alternative by alternative."""
    k, c = divmod(int(np.argmax(values(mean, v, count))), mean.shape[1])
    return k, c


propose = partial(propose_by, DSCO())


@pytest.mark.parametrize("shape", [(2, 1), (2, 5), (6, 1), (5, 4), (3, 7)])
def test_it_takes_the_decisions_of_the_paper_in_loops(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        tally = a_tally(rng, shape)
        value, _ = look_ahead(tally.mean, variance(tally), tally.count, np.ones(shape[1], bool))
        np.testing.assert_allclose(value, values(tally.mean, variance(tally), tally.count), rtol=1e-12)
        assert pairs(propose(tally)) == [dsco(tally.mean, variance(tally), tally.count)]


def test_a_small_case_by_eye() -> None:
    # Rates now: gap 3 gives 9 / (1/3 + 1/3), gap 1 gives 1 / (1/2 + 1/3), which is the smaller one.
    # One more of the best there gives 1 / (1/3 + 1/3); of its rival, 1 / (1/2 + 1/4).
    mean, count = np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([[3, 2], [3, 3]])
    value, rate = look_ahead(mean, np.ones((2, 2)), count, np.ones(2, bool))
    np.testing.assert_allclose(rate, [[np.inf, np.inf], [13.5, 1.2]])
    np.testing.assert_allclose(value, [[1.2, 1.5], [1.2, 4 / 3]])
    assert pairs(propose(Tally(count, mean, count - 1.0))) == [(0, 1)]


def test_ties_go_to_the_first_pair_alternative_by_alternative() -> None:
    # Context 1 is critical, context 0 close behind: more of either alternative at 1 is worth the rate at 0.
    mean, count = np.array([[1.0, 0.0], [0.0, 0.99]]), np.full((2, 2), 2)
    value, _ = look_ahead(mean, np.ones((2, 2)), count, np.ones(2, bool))
    assert value[0, 1] == value[1, 1] == 1.0
    assert pairs(propose(Tally(count, mean, count - 1.0))) == [(0, 1)]


def test_pairs_that_cannot_break_a_tie_are_passed_over() -> None:
    # A tie at the top of context 1: no sample changes the smallest rate, 0, and the literal rule would ask
    # for (0, 0) for ever.
    mean, count = np.array([[5.0, 0.0], [0.0, 2.0], [1.0, 2.0]]), np.full((3, 2), 2)
    assert dsco(mean, np.ones((3, 2)), count) == (0, 0)
    assert pairs(propose(Tally(count, mean, count - 1.0))) == [(1, 1)]
    # Two contexts with equal smallest rates: again no single sample helps, a pair of either is taken.
    mean = np.array([[5.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    count = np.full((2, 3), 2)
    assert dsco(mean, np.ones((2, 3)), count) == (0, 0)
    assert pairs(propose(Tally(count, mean, count - 1.0), 2)) == [(0, 1), (0, 2)]


def test_a_batch_counts_its_earlier_decisions_and_what_is_pending() -> None:
    by_tally.assert_batches_count_earlier_decisions_and_what_is_pending(propose, dsco, (4, 5))


def test_many_studies_at_once_equal_single_ones() -> None:
    by_tally.assert_many_studies_at_once_equal_single_ones(propose, (3, 4))


def test_contexts_that_may_not_be_simulated_do_not_enter() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        tally = a_tally(rng, (3, 5))
        allowed = rng.permutation([True, True, True, False, False])
        part = Tally(tally.count[:, allowed], tally.mean[:, allowed], tally.m2[:, allowed])
        [(k, c)] = pairs(propose(part))
        assert pairs(propose(tally, allowed=allowed)) == [(k, int(np.flatnonzero(allowed)[c]))]


def test_permuting_alternatives_and_contexts_permutes_the_decision_up_to_ties() -> None:
    rng = np.random.default_rng(6)
    for _ in range(50):
        tally = a_tally(rng, (4, 5))
        rows, columns = rng.permutation(4), rng.permutation(5)
        mixed = np.ix_(rows, columns)
        [(i, j)] = pairs(propose(Tally(tally.count[mixed], tally.mean[mixed], tally.m2[mixed])))
        [pair] = pairs(propose(tally))
        value = values(tally.mean, variance(tally), tally.count)
        assert value[rows[i], columns[j]] == pytest.approx(value[pair], rel=1e-12)
        if np.sum(value == value.max()) == 1:
            assert (rows[i], columns[j]) == pair


@pytest.mark.parametrize("unit", [2.0**-30, 1.0, 2.0**30])
def test_shift_and_unit_change_nothing(unit: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        tally = a_tally(rng, (4, 5))
        # Steps of 2⁻²⁰ keep the shift exact: values are often equal, and must remain so.
        tally = Tally(tally.count, np.round(tally.mean * 2**20) / 2**20, tally.m2)
        moved = Tally(tally.count, (tally.mean + 3.0) * unit, tally.m2 * unit**2)
        assert pairs(propose(moved, 3)) == pairs(propose(tally, 3))


@pytest.mark.parametrize("noisy", [0, 1, 5])
def test_pairs_without_spread_leave_decisions_defined(noisy: int) -> None:
    by_tally.assert_defined_where_pairs_have_no_spread(propose, dsco, (3, 4), noisy)


def test_when_all_replications_agree_the_first_pair_is_taken() -> None:
    tally = Tally(np.full((3, 2), 2), np.full((3, 2), 7.0), np.zeros((3, 2)))
    assert pairs(propose(tally, 2)) == [(0, 0), (0, 0)]


def test_one_replication_of_a_pair_is_refused() -> None:
    by_tally.assert_one_replication_of_a_pair_is_refused(propose, (3, 4))
