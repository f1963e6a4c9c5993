"""GP-C-OCBA and its kin, OCBA, C-OCBA and DSCO: simulate by the rates at which false selections die out."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from argbest.core import false_selection
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.belief import Belief, CellBelief
from argbest.core.decision import Decision, at, leading, of_each_context
from argbest.core.noise import sample_variance
from argbest.core.question import BEST
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
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

    Pairs set aside count as known in ζ (`false_selection.open_var`) and do not enter ψ2: the balance is
    with the rivals that may still be simulated. Where the best is set aside the challenger is simulated, and
    vice versa.
    """

    weighs_cost: ClassVar[bool] = True
    follows_the_foremost: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair with the smallest ζ, or the best alternative of its context when ψ1 < ψ2."""
        belief, setting, selected = now.belief, now.setting, now.choice
        rate = false_selection.zeta(belief, selected, setting.excluded)
        candidates, rivals = None if setting.unrestricted else now.candidates, None
        if candidates is not None:
            # A replication of either side tells them apart.
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
        psi1, psi2 = false_selection.psi(spent[there], belief.var[there], leader)
        prefer_best = psi1 < psi2
        if candidates is not None:
            prefer_best &= at(candidates, Decision(leader, context))
            prefer_best |= ~at(candidates, challenger)
        return Decision(np.where(prefer_best, leader, challenger.alternative), context)


class ByTally(OneByOne):
    """Policies that decide from sample means and variances, whatever the model believes."""

    def _seen(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting
    ) -> tuple[Belief, IntArray]:
        return sampled(tally, pending, setting)


def sampled(tally: Tally, pending: IntArray, setting: Setting) -> tuple[CellBelief, IntArray]:
    """Return N(Ȳ, v/N) for every pair with v its sample variance, and the trials under way that matter.

    Two replications are needed of every pair that is neither set aside nor `observed_once`. One set aside
    counts as known, with variance 0, and its trials do not matter; if it was never observed it takes no part:
    its mean is −∞.
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
    the first alternative. Works from the tally, whatever the model; needs two replications of every
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
    Z(k, c) = (Ȳ_b − Ȳ_k)² / (v_b/p_b + v_k/p_k) is smallest at (k, c); simulate (b, c) there if
    p_b²/v_b < Σ_{k≠b} p_k²/v_k, else (k, c). With V = v/N these are ζ/n, and ψ1 < ψ2 up to n²: GP-C-OCBA's
    rule on the independent normal belief. Ties go to the first pair, alternative by alternative. Works from
    the tally, whatever the model; needs two replications of every pair that is not set aside. Costs enter as
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


@dataclass(frozen=True)
class DSCO(ByTally):
    """Like c-ocba, but look one replication ahead.

    The pair whose next replication, means and variances as they are, leaves the largest minimum of the rates.

    Li, Lam, Liang and Peng (2020), with sample statistics in place of known variances:
    value(k, c) = min over c' and k' ≠ b(c') of (Ȳ_b − Ȳ_k')² / (v_b/Ñ_b + v_k'/Ñ_k'), Ñ = N with 1 more at
    (k, c). Ties go to the first pair, alternative by alternative. Works from the tally, whatever the model;
    needs two replications of every pair that is not set aside. Contexts that may not be simulated now do not
    enter the minimum, and pairs set aside count as known.

    Where replications differ in cost, what the same money buys is compared, (least cost)/cost replications in
    place of 1: the rule without costs for noise cost·v and money in place of N, with steps of the least cost.
    """

    weighs_cost: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair of largest value; trials under way count in N."""
        cost, n_contexts = now.setting.cost, now.count.shape[-1]
        step = 1 if cost is None else cost.min() / cost
        seen = np.maximum(now.count, 1)  # none but of pairs set aside, whose noise is 0
        index = np.argmax(_score(now.belief.mean, now.belief.noise, seen, now.candidates, step), axis=-1)
        return Decision(index // n_contexts, index % n_contexts)


def look_ahead(
    mean: Array, noise: Array, count: IntArray, allowed: BoolArray, *, step: AnyArray | int = 1
) -> tuple[Array, Array]:
    """Return value(k, c) after ``step`` more replications there, and the present rates.

    Both [..., alternative, context]; ``allowed`` [..., context] are the contexts of the minimum. A
    replication of the best moves all rates of its context, any other only its own, and none those of other
    contexts: with the two smallest of each row and column at hand, O(K·C) for all pairs together.
    """
    now, more = noise / count, noise / (count + step)
    belief = CellBelief(mean, now, noise)
    selected = BEST.choice(belief)
    where = of_each_context(selected)
    best_more, rivals_more = now.copy(), more.copy()
    best_more[where], rivals_more[where] = more[where], now[where]
    rate = false_selection.zeta(belief, selected)
    own = false_selection.zeta(CellBelief(mean, rivals_more, noise), selected)
    after = np.minimum(own, _least_of_others(rate, -2))
    after[where] = false_selection.zeta(CellBelief(mean, best_more, noise), selected).min(axis=-2)
    elsewhere = _least_of_others(np.where(allowed, rate.min(axis=-2), np.inf), -1)
    return np.minimum(after, elsewhere[..., None, :]), rate


def _score(mean: Array, noise: Array, count: IntArray, candidates: BoolArray, step: AnyArray | int) -> Array:
    """Return what the decision maximises: the value, −∞ for pairs out of the question, [..., pair].

    When no single replication raises the minimum (two alternatives tied at the top, or two contexts at the
    minimum), all pairs have the same value, and the first one would be simulated for ever without breaking
    the tie. Then only pairs that the minimum depends on are in question.
    """
    open_contexts = np.asarray(candidates.any(axis=-2))
    value, rate = look_ahead(mean, noise, count, open_contexts, step=step)
    allowed = np.broadcast_to(open_contexts[..., None, :], value.shape)
    lowest = np.min(rate, axis=(-2, -1), keepdims=True, where=allowed, initial=np.inf)
    stuck = np.max(value, axis=(-2, -1), keepdims=True, where=candidates, initial=-np.inf) <= lowest
    critical = rate == lowest
    of_best = np.arange(mean.shape[-2])[:, None] == BEST.right_choice(mean)[..., None, :]
    critical |= of_best & critical.any(axis=-2, keepdims=True)
    score = np.where(candidates & (critical | ~stuck), value, -np.inf)
    return score.reshape(*score.shape[:-2], -1)


def _least_of_others(values: Array, axis: int) -> Array:
    """Return for every entry the minimum of all others along ``axis``, infinite where there is none."""
    index = np.argmin(values, axis=axis, keepdims=True)
    rest = values.copy()
    np.put_along_axis(rest, index, np.inf, axis)
    least = np.broadcast_to(values.min(axis=axis, keepdims=True), values.shape).copy()
    np.put_along_axis(least, index, rest.min(axis=axis, keepdims=True), axis)
    return least
