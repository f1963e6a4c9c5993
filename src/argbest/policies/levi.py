"""LEVI: sample where one replication is worth most in its own context."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argbest.core.decision import Decision
from argbest.core.knowledge_gradient import log_kg_here
from argbest.policies.base import Moment, OneByOne, largest


@dataclass(frozen=True)
class LEVI(OneByOne):
    """Simulate the largest expected improvement within a context.

    The pair with the largest w_c EI(k, c), the term c′ = c of IKG; ties at random.

    EI = s h(d/s) with s = V/√(V + σ²) and d = |μ_kc − max_{j≠k} μ_jc| (local expected value of information,
    Pearce and Branke 2017). Where alternatives covary, a sample moves the rivals too: EI is then KG(k, c; c).
    Where replications differ in cost: the largest w_c EI / cost.
    """

    weighs_cost: ClassVar[bool] = True
    follows_the_foremost: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair with the largest weighted expected improvement."""
        with np.errstate(divide="ignore"):
            log_weights = np.log(now.setting.weights)
        score = now.setting.per_cost(log_kg_here(now.belief) + log_weights)
        return now.pick(largest(score, now.candidates))
