"""Separate: the least simulated of the pairs that a guarantee still needs."""

import numpy as np
from policies.test_confirm import belief_of

from argbest import testing
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.confirm import Separate
from argbest.streams import Purpose, StepDraws

COUNT = np.array([[5, 1, 9], [3, 1, 9], [4, 2, 0]])
OPEN = np.array([[True, False, False], [True, False, True], [False, False, False]])


def ask(
    n: int, excluded: list[list[int]] | None = None, pending: list[tuple[int, int]] | None = None
) -> list[tuple[int, int]]:
    out = None if excluded is None else np.array(excluded, bool)
    where = Setting(np.full(3, 1 / 3), np.zeros((1, 3, 3)), np.ones(3, bool), excluded=out)
    under_way = np.zeros_like(COUNT)
    for cell in pending or ():
        under_way[cell] += 1
    tally = Tally(COUNT.copy(), np.zeros((3, 3)), np.zeros((3, 3)))
    belief = belief_of(np.zeros((3, 3)), np.ones((3, 3)))
    found = Separate(OPEN).propose(belief, tally, under_way, where, StepDraws(0, Purpose.POLICY, 0), n)
    assert np.array_equal(tally.count, COUNT)
    return list(zip(found.alternative.tolist(), found.context.tolist(), strict=True))


def test_it_is_a_valid_policy() -> None:
    claims = {testing.SHIFT, testing.SCALE}  # ties are drawn at random
    testing.assert_valid_policy(Separate(np.ones((1, 1), bool)), invariances=claims)


def test_the_open_pairs_are_filled_up_evenly() -> None:
    assert ask(2) == [(1, 0), (1, 0)]
    assert sorted(ask(5)[2:]) == [(0, 0), (0, 0), (1, 0)] or sorted(ask(5)[2:]) == [(0, 0), (1, 0), (1, 0)]


def test_trials_under_way_count() -> None:
    assert ask(1, pending=[(1, 0), (1, 0), (1, 0)]) == [(0, 0)]


def test_where_all_that_is_open_was_set_aside_any_pair_will_do() -> None:
    excluded = [[1, 0, 0], [1, 0, 1], [0, 0, 0]]
    assert ask(1, excluded) == [(2, 2)]
