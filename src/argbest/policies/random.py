"""Random allocation: any pair, with equal chances."""

from dataclasses import dataclass

from argbest.core.arrays import IntArray
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.base import Draws, in_sequence, pick


@dataclass(frozen=True)
class Random:
    """Pairs drawn independently and uniformly, whatever a replication costs."""

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        """Return pairs drawn uniformly from those that may be simulated."""

        def decide(_: Belief, count: IntArray, lane: int) -> Decision:
            return pick(setting.candidates(count.shape), draws, lane)

        return in_sequence(decide, belief, tally.count, pending, n)
