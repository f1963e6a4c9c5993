"""GP-C-OCBA: sample where the large-deviations rate of a false selection is smallest."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from argbest.core import rates
from argbest.core.belief import best
from argbest.core.decision import Decision, at, leading, of_each_context
from argbest.policies.base import Moment, OneByOne


@dataclass(frozen=True)
class GPCOCBA(OneByOne):
    """The paper's rule: simulate where a wrong choice is likeliest.

    Algorithm 1 of Cakmak, Gao and Zhou: the pair of the smallest ζ, or the best alternative of its context.
    Ties are broken at random. The weights of contexts have no effect.

    Costs κ: money s spent on a pair buys N = s/κ replications, and its mean has the variance κσ²/s. Counted
    in money the problem is therefore the one without costs and with the noise κσ². At its optimum all rates
    are equal, even if one is expensive to raise, so the pair of the smallest ζ is still the right one; and
    s_b²/(κ_b σ_b²) = Σ_{k≠b} s_k²/(κ_k σ_k²), so money κN takes the place of N in ψ.

    Pairs set aside count as known in ζ (`rates.open_var`) and do not enter ψ2: the balance is with the rivals
    that samples can still go to. Where the best is set aside the challenger is sampled, and vice versa.
    """

    weighs_cost: ClassVar[bool] = True
    follows_the_foremost: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair with the smallest ζ, or the best alternative of its context when ψ1 < ψ2."""
        belief, setting = now.belief, now.setting
        selected = best(belief)
        rate = rates.zeta(belief, selected, setting.excluded)
        candidates, rivals = None if setting.unrestricted else now.candidates, None
        if candidates is not None:
            # A sample of either side tells them apart.
            rivals = candidates | candidates[of_each_context(selected)][..., None, :]
            rate[~rivals] = np.inf
        lowest = rate.min(axis=(-2, -1), keepdims=True)
        marked = rate == lowest
        if lowest.max() == np.inf:  # nothing is left to learn: any rival will do
            rivals = np.ones(rate.shape, bool) if rivals is None else rivals
            rivals[of_each_context(selected)] = False
            marked &= rivals
        challenger = now.pick(marked)
        spent = setting.spent(now.count)
        if setting.excluded is not None:
            spent = np.where(setting.excluded, 0, spent)
        lead, context = leading(challenger.context.shape), challenger.context
        leader = selected[(*lead, context)]
        there: tuple[Any, ...] = (*lead, slice(None), context)
        psi1, psi2 = rates.psi(spent[there], belief.var[there], leader)
        prefer_best = psi1 < psi2
        if candidates is not None:
            prefer_best &= at(candidates, Decision(leader, context))
            prefer_best |= ~at(candidates, challenger)
        return Decision(np.where(prefer_best, leader, challenger.alternative), context)
