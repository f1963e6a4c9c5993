"""OCBA: classical optimal computing budget allocation, for a single context."""

from dataclasses import dataclass

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief, CellBelief
from argbest.core.decision import Decision
from argbest.core.moments import sample_variance
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.policies.base import Draws, in_sequence


@dataclass(frozen=True)
class OCBA:
    """The alternative that lags most behind the OCBA ratios of its sample statistics, one context only.

    Chen, Lin, Yücesan and Chick (2000), one replication at a time: the largest (n + 1) r_k − N_k. Ties go to
    the first alternative. Works from the tally, whatever the model; needs two observations of every
    alternative.
    """

    def propose(
        self,
        belief: Belief,  # noqa: ARG002
        tally: Tally,
        pending: IntArray,
        setting: Setting,  # noqa: ARG002
        draws: Draws,  # noqa: ARG002
        n: int = 1,
    ) -> Decision:
        """Return the alternatives with the largest deficits; trials under way count in N."""
        if tally.shape[-1] != 1:
            raise InputError(
                f"ocba knows a single context, the problem has {tally.shape[-1]}. "
                "Use c-ocba, which is made for contexts."
            )
        noise = sample_variance(tally)
        ratios = ocba_ratios(tally.mean[..., 0], noise[..., 0])

        def decide(_: Belief, count: IntArray, __: int) -> Decision:
            spent = count[..., 0]
            deficit = (spent.sum(axis=-1, keepdims=True) + 1) * ratios - spent
            index = np.argmax(deficit, axis=-1)
            return Decision(index, np.zeros_like(index))

        sampled = CellBelief(tally.mean, noise / tally.count, noise)
        return in_sequence(decide, sampled, tally.count, pending, n)


def ocba_ratios(mean: Array, var: Array) -> Array:
    """Return the shares of the budget, summing to 1, [..., alternative]; larger means are better.

    N_i / N_j = ((σ_i/d_i) / (σ_j/d_j))² for i, j ≠ b with d the distance to the best mean, and
    N_b = σ_b √(Σ_{i≠b} N_i²/σ_i²). Alternatives tied with the best share all that the best leaves, in
    proportion to their variances: the limit of equal distances that go to 0.
    """
    mean, var = np.broadcast_arrays(np.asarray(mean, float), np.asarray(var, float))
    if mean.shape[-1] < 2 or not np.all(var > 0):
        raise InputError(
            f"ocba_ratios needs two alternatives or more and positive variances, got {mean.shape[-1]} "
            f"alternatives with variances from {var.min(initial=np.inf):g} on."
        )
    of_best = np.arange(mean.shape[-1]) == np.argmax(mean, axis=-1)[..., None]
    distance = mean.max(axis=-1, keepdims=True) - mean
    nearest = np.min(distance, axis=-1, keepdims=True, where=~of_best, initial=np.inf)
    # Relative to the nearest, so that a tie needs no division by 0.
    closeness = np.ones_like(distance)
    np.divide(nearest, distance, out=closeness, where=distance > nearest)
    var = var / var.max(axis=-1, keepdims=True)
    weight = np.where(of_best, 0.0, var * closeness**2)
    balance = np.sqrt(var * np.sum(var * closeness**4, axis=-1, keepdims=True, where=~of_best))
    weight = np.where(of_best, balance, weight)
    shares: Array = weight / weight.sum(axis=-1, keepdims=True)
    return shares
