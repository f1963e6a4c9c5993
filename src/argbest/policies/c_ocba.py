"""C-OCBA: optimal computing budget allocation with contexts, every pair by itself."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.base import Draws
from argbest.policies.gp_c_ocba import GPCOCBA
from argbest.policies.sampled import sampled


@dataclass(frozen=True)
class COCBA:
    """The pair with the smallest rate of false selection by sample statistics, or the best beside it.

    Gao, Du and Chen (2019): with v the sample variance and p = N/n,
    Z(k, c) = (Ȳ_b − Ȳ_k)² / (v_b/p_b + v_k/p_k) is smallest at (k, c); sample (b, c) there if
    p_b²/v_b < Σ_{k≠b} p_k²/v_k, else (k, c). With V = v/N these are ζ/n, and ψ1 < ψ2 up to n²: GP-C-OCBA's
    rule on the independent normal belief. Ties go to the first pair, alternative by alternative. Works from
    the tally, whatever the model; needs two observations of every pair that is not set aside. Costs enter as
    in GP-C-OCBA: the balance is of κp²/v with κ the cost of a replication.
    """

    weighs_cost: ClassVar[bool] = True

    def propose(
        self,
        belief: Belief,  # noqa: ARG002
        tally: Tally,
        pending: IntArray,
        setting: Setting,
        draws: Draws,  # noqa: ARG002
        n: int = 1,
    ) -> Decision:
        """Return the pairs of smallest Z, or the best of their contexts; trials under way count in N."""
        by_tally, under_way = sampled(tally, pending, setting)
        return GPCOCBA().propose(by_tally, tally, under_way, setting, _First(), n)


class _First:
    """Draws under which the first of several equal candidates is picked."""

    def uniform(self, lane: int | IntArray = 0) -> Array:  # noqa: ARG002
        """Return 0 for every leading index."""
        return np.zeros(())
