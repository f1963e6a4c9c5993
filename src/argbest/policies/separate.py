"""Separate: spend what is left on what a guarantee without a model still needs."""

from dataclasses import dataclass

import numpy as np

from argbest.core.arrays import BoolArray, IntArray
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.base import Draws, evenly


@dataclass(frozen=True)
class Separate:
    """The least simulated of the ``open_pairs``: the selected alternatives and the rivals not yet separated.

    Bounds are on differences of equally numbered replications, so even numbers serve best, and contexts that
    are easily decided leave early. The belief enters by what is selected; neither weights nor costs do.
    """

    open_pairs: BoolArray  # [alternative, context]

    def propose(
        self,
        belief: Belief,  # noqa: ARG002
        tally: Tally,
        pending: IntArray,
        setting: Setting,
        draws: Draws,
        n: int = 1,
    ) -> Decision:
        """Return the open pairs with the fewest replications, those under way included; ties at random."""
        candidates = setting.candidates(tally.shape)
        marked = candidates & self.open_pairs
        # What is missing may lie in pairs set aside; then any sample is as good as another.
        marked = np.where(marked.any(axis=(-2, -1), keepdims=True), marked, candidates)
        return evenly(marked, tally.count + pending, draws, n)
