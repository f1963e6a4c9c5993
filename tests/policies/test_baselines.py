import numpy as np
import pytest

from argbest.core.belief import BlockBelief
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.base import Policy
from argbest.policies.equal import Equal, Random
from argbest.streams import Purpose, StepDraws

SETTING = Setting(np.full(3, 1 / 3), np.zeros((1, 3, 3)), np.ones(3, bool))
BELIEF = BlockBelief(np.zeros((2, 3)), np.broadcast_to(np.eye(3), (2, 3, 3)), np.ones((2, 3)))


def propose(
    policy: Policy, count: np.ndarray, pending: np.ndarray, n: int, step: int = 0
) -> list[tuple[int, int]]:
    tally = Tally(count, np.zeros(count.shape), np.zeros(count.shape))
    found = policy.propose(BELIEF, tally, pending, SETTING, StepDraws(1, Purpose.POLICY, step), n)
    return list(zip(found.alternative.tolist(), found.context.tolist(), strict=True))


def test_equal_fills_up_the_least_simulated_pairs() -> None:
    count, pending = np.array([[3, 1, 2], [2, 2, 2]]), np.array([[0, 1, 0], [0, 0, 0]])
    first = propose(Equal(), count, pending, 5)
    assert sorted(first) == [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


def test_random_reaches_every_pair_about_equally_often() -> None:
    zeros = np.zeros((2, 3), int)
    drawn = [propose(Random(), zeros, zeros, 1, step)[0] for step in range(3000)]
    shares = [drawn.count((k, c)) / 3000 for k in range(2) for c in range(3)]
    # Five standard errors: false alarm below 1e-5.
    assert shares == pytest.approx([1 / 6] * 6, abs=5 * np.sqrt(1 / 6 * 5 / 6 / 3000))


@pytest.mark.parametrize("policy", [Equal(), Random()])
def test_batches_are_reproducible_and_vary_with_the_step(policy: Policy) -> None:
    zeros = np.zeros((2, 3), int)
    assert propose(policy, zeros, zeros, 4) == propose(policy, zeros, zeros, 4)
    batches = {tuple(propose(policy, zeros, zeros, 4, step)) for step in range(20)}
    assert len(batches) > 10
