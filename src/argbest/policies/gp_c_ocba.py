"""GP-C-OCBA: sample where the large-deviations rate of a false selection is smallest."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argbest.core import rates
from argbest.core.arrays import IntArray
from argbest.core.belief import Belief, best
from argbest.core.decision import Decision, at, leading, of_each_context
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.base import Draws, in_sequence, pick


@dataclass(frozen=True)
class GPCOCBA:
    """The pair where a false selection is likeliest to survive, or the best alternative beside it.

    Algorithm 1 of Cakmak, Gao and Zhou; ties at random; the context weights do not enter.

    Costs κ: money s spent on a pair buys N = s/κ replications, and its mean has the variance κσ²/s. Counted
    in money the problem is therefore the one without costs and with the noise κσ². At its optimum all rates
    are equal, however dear it is to raise one, so the pair of smallest ζ stays the one to turn to; and
    s_b²/(κ_b σ_b²) = Σ_{k≠b} s_k²/(κ_k σ_k²), so money κN takes the place of N in ψ.

    Pairs set aside count as known in ζ (`rates.open_var`) and do not enter ψ2: the balance is with the rivals
    that samples can still go to. Where the best is set aside the challenger is sampled, and vice versa.
    """

    weighs_cost: ClassVar[bool] = True

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        """Return the pair with the smallest ζ, or the best alternative of its context when ψ1 < ψ2."""

        def decide(belief: Belief, count: IntArray, lane: int) -> Decision:
            selected = best(belief)
            of_best = of_each_context(selected)
            rate = rates.zeta(belief, selected, setting.excluded)
            candidates = setting.candidates(rate.shape)
            best_open = candidates[of_best]
            rivals = candidates | best_open[..., None, :]  # a sample of either side tells them apart
            rivals[of_best] = False
            lowest = np.min(rate, axis=(-2, -1), keepdims=True, where=rivals, initial=np.inf)
            challenger = pick(rivals & (rate == lowest), draws, lane)
            spent = setting.spent(count)
            if setting.excluded is not None:
                spent = np.where(setting.excluded, 0, spent)
            psi1, psi2 = rates.psi(spent, belief.var, selected)
            context = (*leading(challenger.context.shape), challenger.context)
            prefer_best = ((psi1 < psi2) & best_open)[context] | ~at(candidates, challenger)
            return Decision(
                np.where(prefer_best, selected[context], challenger.alternative), challenger.context
            )

        return in_sequence(decide, belief, tally.count, pending, n)
