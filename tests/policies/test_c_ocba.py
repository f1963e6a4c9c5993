from functools import partial

import by_tally
import numpy as np
import pytest
from by_tally import a_tally, pairs, propose_by, variance

from argbest.core.arrays import Array, IntArray
from argbest.core.tally import Tally
from argbest.policies.ocba import COCBA


def c_ocba(mean: Array, v: Array, count: IntArray) -> tuple[int, int]:
    """Gao, Du and Chen's rule in loops, first pair on ties, alternative by alternative."""
    n_alternatives, n_contexts = mean.shape
    p = count / count.sum()
    b = [int(np.argmax(mean[:, c])) for c in range(n_contexts)]
    lowest, found = np.inf, (0, 0)
    for k in range(n_alternatives):
        for c in range(n_contexts):
            if k != b[c]:
                z = (mean[b[c], c] - mean[k, c]) ** 2 / (v[b[c], c] / p[b[c], c] + v[k, c] / p[k, c])
                if z < lowest:
                    lowest, found = z, (k, c)
    k, c = found
    others = sum(p[j, c] ** 2 / v[j, c] for j in range(n_alternatives) if j != b[c])
    return (b[c], c) if p[b[c], c] ** 2 / v[b[c], c] < others else (k, c)


propose = partial(propose_by, COCBA())


@pytest.mark.parametrize("shape", [(2, 1), (2, 5), (6, 1), (5, 4), (3, 7)])
def test_it_takes_the_decisions_of_the_paper_in_loops(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        tally = a_tally(rng, shape)
        assert pairs(propose(tally)) == [c_ocba(tally.mean, variance(tally), tally.count)]


def test_a_small_case_by_eye() -> None:
    # Context 1 is the closer call. N²/v there: 4 of the best against 9 asks for the best, 9 against 9 not.
    mean = np.array([[3.0, 1.0], [0.0, 0.0]])
    for best_count, expected in [(2, (0, 1)), (3, (1, 1))]:
        count = np.array([[9, best_count], [9, 3]])
        assert pairs(propose(Tally(count, mean, count - 1.0))) == [expected]


def test_ties_go_to_the_first_pair_alternative_by_alternative() -> None:
    # Rates at (2, 0) and (1, 1) are equal: context by context (2, 0) were first, but (1, 1) is.
    mean = np.array([[9.0, 9.0, 9.0], [0.0, 8.0, 0.0], [8.0, 0.0, 0.0]])
    count = np.array([[9, 9, 9], [2, 2, 2], [2, 2, 2]])
    assert pairs(propose(Tally(count, mean, count - 1.0))) == [(1, 1)]
    rng = np.random.default_rng(1)
    for _ in range(200):
        count, mean = rng.integers(2, 4, (3, 4)), rng.integers(0, 3, (3, 4)).astype(float)
        tally = Tally(count, mean, (count - 1).astype(float))
        assert pairs(propose(tally)) == [c_ocba(tally.mean, np.ones((3, 4)), tally.count)]


def test_a_batch_counts_its_earlier_decisions_and_what_is_pending() -> None:
    by_tally.assert_batches_count_earlier_decisions_and_what_is_pending(propose, c_ocba, (4, 5))


def test_many_studies_at_once_equal_single_ones() -> None:
    by_tally.assert_many_studies_at_once_equal_single_ones(propose, (3, 4), ties=False)


def test_permuting_alternatives_and_contexts_permutes_the_decision() -> None:
    rng = np.random.default_rng(6)
    for _ in range(50):
        tally = a_tally(rng, (4, 5))
        rows, columns = rng.permutation(4), rng.permutation(5)
        mixed = np.ix_(rows, columns)
        [(i, j)] = pairs(propose(Tally(tally.count[mixed], tally.mean[mixed], tally.m2[mixed])))
        assert [(rows[i], columns[j])] == pairs(propose(tally))


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_shift_and_unit_change_nothing(unit: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        tally = a_tally(rng, (4, 5))
        moved = Tally(tally.count, (tally.mean + 3.0) * unit, tally.m2 * unit**2)
        assert pairs(propose(moved, 3)) == pairs(propose(tally, 3))


@pytest.mark.parametrize("noisy", [0, 1, 5])
def test_pairs_without_spread_leave_decisions_defined(noisy: int) -> None:
    by_tally.assert_defined_where_pairs_have_no_spread(propose, c_ocba, (3, 4), noisy)


def test_a_rival_whose_first_values_agree_does_not_take_the_whole_budget() -> None:
    """With next to no variance in its place the best would be sampled a million times before any rival."""
    count, mean = np.array([[2], [2], [2]]), np.array([[1.0], [0.8], [-3.0]])
    m2 = np.array([[1.0], [1.0], [0.0]])
    for _ in range(200):
        tally = Tally(count, mean, m2 * (count - 1))
        [(k, c)] = pairs(propose(tally))
        count = count.copy()
        count[k, c] += 1
    assert count[1, 0] > 50


def test_when_all_replications_agree_counts_decide() -> None:
    count = np.full((3, 2), 2)
    batch = pairs(propose(Tally(count, np.full((3, 2), 7.0), np.zeros((3, 2))), 3))
    assert batch == [(0, 0), (1, 0), (0, 0)]  # N_b² against ΣN_k²: 4 < 8, 9 > 8, then 9 < 13


def test_one_replication_of_a_pair_is_refused() -> None:
    by_tally.assert_one_replication_of_a_pair_is_refused(propose, (3, 4))
