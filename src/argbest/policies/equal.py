"""Equal allocation: the pair simulated least, the baseline every policy must beat."""

from dataclasses import dataclass

from argbest.core.arrays import IntArray
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.base import Draws, fewest, in_sequence, pick


@dataclass(frozen=True)
class Equal:
    """Every pair as often as every other, whatever a replication costs; ties at random."""

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        """Return the pairs with the fewest replications, those under way included."""

        def decide(_: Belief, count: IntArray, lane: int) -> Decision:
            return pick(fewest(count, setting.candidates(count.shape)), draws, lane)

        return in_sequence(decide, belief, tally.count, pending, n)
