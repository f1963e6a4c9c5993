"""OCBA: classical optimal computing budget allocation, for a single context."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argbest.core.arrays import Array, BoolArray
from argbest.core.decision import Decision
from argbest.errors import InputError
from argbest.policies.base import Moment
from argbest.policies.sampled import ByTally


@dataclass(frozen=True)
class OCBA(ByTally):
    """The classical OCBA, for a single context.

    The alternative that lags most behind the OCBA ratios of its sample statistics, one context only.

    Chen, Lin, Yücesan and Chick (2000), one replication at a time: the largest (n + 1) r_k − N_k. Ties go to
    the first alternative. Works from the tally, whatever the model; needs two observations of every
    alternative that is not set aside. n and the ratios r are over those; see `ocba_ratios` for costs.
    """

    weighs_cost: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the alternative with the largest deficit; trials under way count in N."""
        if now.count.shape[-1] != 1:
            raise InputError(
                f"ocba knows a single context, the problem has {now.count.shape[-1]}. "
                "Use c-ocba, which is made for contexts."
            )
        mean, noise, candidates = now.belief.mean[..., 0], now.belief.noise[..., 0], now.candidates[..., 0]
        cost = None if now.setting.cost is None else now.setting.cost[:, 0]
        ratios = ocba_ratios(mean, noise, cost=cost, candidates=candidates)
        number = np.where(candidates, now.count[..., 0], 0)
        deficit = (number.sum(axis=-1, keepdims=True) + 1) * ratios - number
        index = np.argmax(np.where(candidates, deficit, -np.inf), axis=-1)
        return Decision(index, np.zeros_like(index))


def ocba_ratios(
    mean: Array, var: Array, *, cost: Array | None = None, candidates: BoolArray | None = None
) -> Array:
    """Return the shares of all replications, summing to 1, [..., alternative]; larger means are better.

    N_i / N_j = ((σ_i/d_i) / (σ_j/d_j))² for i, j ≠ b with d the distance to the best mean, and
    N_b = σ_b √(Σ_{i≠b} N_i²/σ_i²). Alternatives tied with the best share all that the best leaves, in
    proportion to their variances: the limit of equal distances that go to 0.

    With a ``cost`` of a replication [alternative] these are the ratios of money for variances cost·σ², so
    N_i/N_j stays and cost_b N_b²/σ_b² = Σ cost_i N_i²/σ_i². Alternatives that are no ``candidates``
    [..., alternative] get nothing; the others compare themselves with them as if they were known.
    """
    mean, var = np.broadcast_arrays(np.asarray(mean, float), np.asarray(var, float))
    open_ = np.broadcast_to(np.True_ if candidates is None else candidates, mean.shape)
    if mean.shape[-1] < 2 or not np.all(var[open_] > 0):
        raise InputError(
            f"ocba_ratios needs two alternatives or more and positive variances, got {mean.shape[-1]} "
            f"alternatives with variances from {var.min(initial=np.inf):g} on."
        )
    var = np.where(open_, var if cost is None else var * cost, 0.0)
    of_best = np.arange(mean.shape[-1]) == np.argmax(mean, axis=-1)[..., None]
    distance = mean.max(axis=-1, keepdims=True) - mean
    rivals = ~of_best & open_
    nearest = np.min(distance, axis=-1, keepdims=True, where=rivals, initial=np.inf)
    # Relative to the nearest, so that a tie needs no division by 0.
    closeness = np.ones_like(distance)
    np.divide(nearest, distance, out=closeness, where=distance > nearest)
    var = var / var.max(axis=-1, keepdims=True)
    weight = np.where(of_best, 0.0, var * closeness**2)
    balance = np.sqrt(var * np.sum(var * closeness**4, axis=-1, keepdims=True, where=rivals))
    weight = np.where(of_best, balance, weight)
    weight = np.where(rivals.any(axis=-1, keepdims=True), weight, open_)  # the best alone takes all
    if cost is not None:
        weight = weight / cost
    shares: Array = weight / weight.sum(axis=-1, keepdims=True)
    return shares
