from functools import partial

import by_tally
import numpy as np
import pytest
from by_tally import a_tally, pairs, propose_by, variance

from argbest.core.arrays import Array, IntArray
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.policies.ocba import OCBA, ocba_ratios

TEXTBOOK = (0.44614, 0.33472, 0.12604, 0.05334, 0.03976)


def ratios(mean: Array, var: Array) -> Array:
    """Chen's ratios in loops: every rival against the first of them, then the best, then to sum 1."""
    b = int(np.argmax(mean))
    rivals = [i for i in range(len(mean)) if i != b]
    j = rivals[0]
    share = np.empty(len(mean))
    for i in rivals:
        share[i] = (np.sqrt(var[i]) / (mean[b] - mean[i])) ** 2 / (np.sqrt(var[j]) / (mean[b] - mean[j])) ** 2
    share[b] = np.sqrt(var[b]) * np.sqrt(sum(share[i] ** 2 / var[i] for i in rivals))
    return np.asarray(share / share.sum())


def ocba(mean: Array, var: Array, count: IntArray) -> tuple[int, int]:
    share = ratios(mean[:, 0], var[:, 0])
    deficit = [(count.sum() + 1) * share[k] - count[k, 0] for k in range(len(mean))]
    return int(np.argmax(deficit)), 0


propose = partial(propose_by, OCBA())


def test_the_ratios_of_the_textbook_case() -> None:
    mean, var = np.array([1.2, 2.1, 3.4, 4.87, 6.05]), np.array([3.3, 2.0, 4.5, 5.3, 6.9])
    np.testing.assert_allclose(ocba_ratios(-mean, var), TEXTBOOK, atol=6e-6)  # smaller is better there


def test_the_ratios_are_those_of_the_literature_in_loops() -> None:
    rng = np.random.default_rng(0)
    mean, var = rng.standard_normal((50, 2, 6)), rng.random((50, 2, 6)) + 0.01
    found = ocba_ratios(mean, var)
    for i in np.ndindex(50, 2):
        np.testing.assert_allclose(found[i], ratios(mean[i], var[i]), rtol=1e-12)
    np.testing.assert_allclose(ocba_ratios(mean, np.array(1.0))[3, 1], ratios(mean[3, 1], np.ones(6)))


def test_two_alternatives_share_by_their_standard_deviations() -> None:
    np.testing.assert_allclose(ocba_ratios(np.array([0.0, 1.0]), np.array([9.0, 1.0])), [0.75, 0.25])


def test_alternatives_tied_with_the_best_share_what_it_leaves() -> None:
    mean, var = np.array([1.0, 1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0, 2.0])
    found = ocba_ratios(mean, var)
    near = ratios(mean + np.array([1e-6, 0.0, 0.0, 0.0]), var)
    np.testing.assert_allclose(found, near, atol=1e-9)
    np.testing.assert_allclose(found[1] / found[3], 2.0)
    assert found[2] == 0.0
    np.testing.assert_allclose(ocba_ratios(np.zeros(2), np.ones(2)), 0.5)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_it_takes_the_alternative_that_lags_most(k: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        tally = a_tally(rng, (k, 1))
        assert pairs(propose(tally)) == [ocba(tally.mean, variance(tally), tally.count)]


def test_allocations_approach_the_ratios() -> None:
    mean, var = np.array([[0.0], [1.0], [0.5]]), np.array([[1.0], [2.0], [4.0]])
    count = np.full((3, 1), 2)
    batch = propose(Tally(count, mean, var * (count - 1)), 1000)
    spent = np.bincount(batch.alternative, minlength=3) + 2
    np.testing.assert_allclose(spent / 1006, ocba_ratios(mean[:, 0], var[:, 0]), atol=2e-3)


def test_a_batch_counts_its_earlier_decisions_and_what_is_pending() -> None:
    by_tally.assert_batches_count_earlier_decisions_and_what_is_pending(propose, ocba, (4, 1))


def test_many_studies_at_once_equal_single_ones() -> None:
    by_tally.assert_many_studies_at_once_equal_single_ones(propose, (4, 1))


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_order_shift_and_unit_change_nothing(unit: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        tally = a_tally(rng, (5, 1))
        order = rng.permutation(5)
        moved = Tally(tally.count[order], (tally.mean[order] + 3.0) * unit, tally.m2[order] * unit**2)
        assert [(order[k], c) for k, c in pairs(propose(moved, 3))] == pairs(propose(tally, 3))


@pytest.mark.parametrize("noisy", [0, 1, 3])
def test_alternatives_without_spread_leave_decisions_defined(noisy: int) -> None:
    by_tally.assert_defined_where_pairs_have_no_spread(propose, ocba, (4, 1), noisy)


def test_when_all_replications_agree_every_alternative_gets_some() -> None:
    agreeing = Tally(np.full((3, 1), 2), np.full((3, 1), 7.0), np.zeros((3, 1)))
    assert sorted(pairs(propose(agreeing, 4))) == [(0, 0), (0, 0), (1, 0), (2, 0)]


def test_more_than_one_context_is_refused() -> None:
    with pytest.raises(InputError, match=r"single context, but the problem has 2\. Use c-ocba"):
        propose(a_tally(np.random.default_rng(6), (3, 2)))


def test_one_replication_of_an_alternative_is_refused() -> None:
    by_tally.assert_one_replication_of_a_pair_is_refused(propose, (3, 1))
