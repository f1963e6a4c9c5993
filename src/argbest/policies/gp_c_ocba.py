"""GP-C-OCBA: sample where the large-deviations rate of a false selection is smallest."""

from dataclasses import dataclass

import numpy as np

from argbest.core import rates
from argbest.core.arrays import IntArray
from argbest.core.belief import Belief, best
from argbest.core.decision import Decision, leading, of_each_context
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.base import Draws, in_sequence, pick


@dataclass(frozen=True)
class GPCOCBA:
    """The pair where a false selection is likeliest to survive, or the best alternative beside it.

    Algorithm 1 of Cakmak, Gao and Zhou; ties at random; the context weights do not enter.
    """

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        """Return the pair with the smallest ζ, or the best alternative of its context when ψ1 < ψ2."""

        def decide(belief: Belief, count: IntArray, lane: int) -> Decision:
            selected = best(belief)
            rate = rates.zeta(belief, selected)
            candidates = np.broadcast_to(setting.allowed[..., None, :], rate.shape).copy()
            candidates[of_each_context(selected)] = False
            lowest = np.min(rate, axis=(-2, -1), keepdims=True, where=candidates, initial=np.inf)
            challenger = pick(candidates & (rate == lowest), draws, lane)
            psi1, psi2 = rates.psi(count, belief.var, selected)
            context = (*leading(challenger.context.shape), challenger.context)
            prefer_best = (psi1 < psi2)[context]
            return Decision(
                np.where(prefer_best, selected[context], challenger.alternative), challenger.context
            )

        return in_sequence(decide, belief, tally.count, pending, n)
