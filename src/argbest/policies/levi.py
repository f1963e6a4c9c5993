"""LEVI: sample where one replication is worth most in its own context."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argbest.core.arrays import IntArray
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.knowledge_gradient import log_kg_here
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.base import Draws, in_sequence, largest, pick


@dataclass(frozen=True)
class LEVI:
    """The pair with the largest w_c EI(k, c), the term c′ = c of IKG; ties at random.

    EI = s h(d/s) with s = V/√(V + σ²) and d = |μ_kc − max_{j≠k} μ_jc| (local expected value of information,
    Pearce and Branke 2017). Where alternatives covary, a sample moves the rivals too: EI is then KG(k, c; c).
    Where replications differ in cost: the largest w_c EI / cost.
    """

    weighs_cost: ClassVar[bool] = True

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        """Return the pairs with the largest weighted expected improvement."""
        with np.errstate(divide="ignore"):
            log_weights = np.log(setting.weights)

        def decide(belief: Belief, _: IntArray, lane: int) -> Decision:
            score = setting.per_cost(log_kg_here(belief) + log_weights)
            return pick(largest(score, setting.candidates(score.shape)), draws, lane)

        return in_sequence(decide, belief, tally.count, pending, n)
