"""OCBA for a single context and C-OCBA for several: policies that decide from the tally alone."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief, CellBelief
from argbest.core.decision import Decision
from argbest.core.noise import sample_variance
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.policies.base import Moment, OneByOne
from argbest.policies.gp_c_ocba import GPCOCBA


class ByTally(OneByOne):
    """Policies that decide from sample means and variances, whatever the model believes."""

    def _seen(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting
    ) -> tuple[Belief, IntArray]:
        return sampled(tally, pending, setting)


def sampled(tally: Tally, pending: IntArray, setting: Setting) -> tuple[CellBelief, IntArray]:
    """Return N(Ȳ, v/N) for every pair with v its sample variance, and the trials under way that matter.

    Two observations are needed of every pair that is neither set aside nor `lone`. One set aside counts as
    known, with variance 0, and its trials do not matter; if it was never observed it takes no part: its mean
    is −∞.
    """
    if setting.excluded is None:
        noise = sample_variance(tally)
        return CellBelief(tally.mean, noise / tally.count, noise), pending
    closed = np.broadcast_to(setting.excluded, tally.shape)
    count = np.where(closed, np.maximum(tally.count, 2), tally.count)
    noise = np.where(closed, 0.0, sample_variance(tally, closed))
    unseen = closed & (tally.count == 0)
    # Not where a whole context was never seen: ∞ − ∞ is no number, and there is nothing to compare.
    absent = unseen & ~unseen.all(axis=-2, keepdims=True)
    mean = np.where(absent, -np.inf, tally.mean)
    return CellBelief(mean, noise / count, noise), np.where(closed, 0, pending)


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
                f"ocba is for a single context, but the problem has {now.count.shape[-1]}. "
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

    def uniform(self, lane: int | IntArray = 0) -> Array:
        """Return 0 for every leading index."""
        return np.zeros(())
