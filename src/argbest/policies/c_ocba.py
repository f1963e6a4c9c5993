"""C-OCBA: optimal computing budget allocation with contexts, every pair by itself."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.core.decision import Decision
from argbest.policies.base import Moment
from argbest.policies.gp_c_ocba import GPCOCBA
from argbest.policies.sampled import ByTally


@dataclass(frozen=True)
class COCBA(ByTally):
    """The paper's rule with sample means instead of a model.

    The pair with the smallest rate of false selection by sample statistics, or the best beside it.

    Gao, Du and Chen (2019): with v the sample variance and p = N/n,
    Z(k, c) = (Ȳ_b − Ȳ_k)² / (v_b/p_b + v_k/p_k) is smallest at (k, c); sample (b, c) there if
    p_b²/v_b < Σ_{k≠b} p_k²/v_k, else (k, c). With V = v/N these are ζ/n, and ψ1 < ψ2 up to n²: GP-C-OCBA's
    rule on the independent normal belief. Ties go to the first pair, alternative by alternative. Works from
    the tally, whatever the model; needs two observations of every pair that is not set aside. Costs enter as
    in GP-C-OCBA: the balance is of κp²/v with κ the cost of a replication.
    """

    weighs_cost: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair of smallest Z, or the best of its context; trials under way count in N."""
        return GPCOCBA().decide(replace(now, draws=_First()))


class _First:
    """Draws under which the first of several equal candidates is picked."""

    def uniform(self, lane: int | IntArray = 0) -> Array:  # noqa: ARG002
        """Return 0 for every leading index."""
        return np.zeros(())
