"""The best alternative among those that keep all limits: what is named, what it may lose, what to simulate.

A belief is one about several `Outcomes`: the goal f, larger being better, and the slacks h_i, 0 or more where
limit i is kept. Tables of outcomes are [..., outcome, alternative, context] in this order.

**Loss.** If k keeps all limits it loses f* − f_k against the best that does, at most the price Λ; if it does
not, or if none does, it loses Λ. To say that no alternative keeps the limits (`NONE`) loses Λ if one does.

**What is named** loses least on average over joint draws of all outcomes.

**What to simulate.** Let P_k be the probability that k keeps all limits, b the alternative that loses least,
r(k) what would be chosen instead of k, and L_k = E[(f_k − f_r)⁺] what it loses to reject k wrongly. A sample
removes variance from the differences f_b − f_k, which matter where both may keep the limits, and from the
slacks: of each, min(Λ Φ(−ζ), L Φ(ζ)) is lost because it is not known on which side of 0 it lies. One
replication shows all outcomes, so these gains add.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from argbest.core import knowledge_gradient as kg
from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray, log_ndtr, ndtr
from argbest.core.belief import Belief, SeveralOutcomes, gaps, of_selected
from argbest.core.decision import of_each_context
from argbest.core.normal import loss as normal_loss
from argbest.core.outcomes import kept_probability, standardised
from argbest.core.question import LeadsInContext, Weighed
from argbest.errors import InputError

NONE = -1  # the choice where no alternative keeps all limits
_UNLIKELY = 0.01  # P(all limits are kept) of an alternative that is not counted on
_LOG_TWICE_ROOT_2PI = float(np.log(2.0) + 0.5 * np.log(2.0 * np.pi))


@dataclass(frozen=True)
class BestWithinLimits:
    """The best alternative of every context that keeps all limits, or `NONE`. A choice is [..., context]."""

    name: ClassVar[str] = "best"
    only_the_best_matter: ClassVar[bool] = False
    price: float | Array | None = None
    """What it costs to break a limit, in units of the goal, [..., context]; None: `usual_price`."""
    least: float | None = None
    """The lowest usual price, where that cannot be told from the contexts that are looked at."""

    def parts(self, weights: Array) -> Array:
        """Return the weights of the contexts: each is a part by itself."""
        return weights

    def prices(self, mean: Array, kept: Array) -> Array:
        """Return what it costs to break a limit in every context, [..., context]."""
        usual = usual_price(mean, kept, self.least)
        return usual if self.price is None else np.full(usual.shape, self.price)

    def settled(self, belief: Belief) -> "AtPrices":
        """Return the question with the prices that follow from what is known now."""
        several = about_limits(belief)
        return AtPrices(self.prices(several.mean, kept_probability(several)))

    def elsewhere(self, belief: Belief) -> "BestWithinLimits":
        """Return the question with the lowest price that follows from the belief about all contexts."""
        several = about_limits(belief)
        return replace(self, least=float(np.min(_lowest(_at_stake(several.mean, kept_probability(several))))))

    def of_some(self, belief: Belief) -> "BestWithinLimits":
        """Return the question to be put to some alternatives, with the prices of the belief about all."""
        several = about_limits(belief)
        return replace(self, price=self.prices(several.mean, kept_probability(several)))

    def choice(self, belief: Belief) -> IntArray:
        """Return what loses least as far as means and P_k tell, without joint draws, [..., context]."""
        standing = Standing.of(belief, self.price)
        none = standing.price * (1.0 - standing.none) < standing.price - of_selected(
            standing.worth, standing.leader
        )
        return np.where(none, NONE, standing.leader)

    def right_choice(self, rewards: Array) -> IntArray:
        """Return the best of those that keep the limits if these were the mean outcomes, or `NONE`."""
        return best_kept(rewards)

    def loss(self, rewards: Array, choice: IntArray) -> Array:
        """Return what a choice loses if these were the mean outcomes, [..., context], at their own prices."""
        kept = np.all(rewards[..., 1:, :, :] >= 0, axis=-3)
        return loss_of(rewards, choice, self.prices(rewards[..., 0, :, :], kept.astype(float)))

    def wrong_losses(self, rewards: Array, ruled_out: BoolArray | None = None) -> Array:
        """Return what every alternative loses that keeps the limits and is not the best of its context."""
        goal, kept = rewards[0], np.all(rewards[1:] >= 0, axis=0)
        kept = kept if ruled_out is None else kept & ~ruled_out
        lost = np.max(np.where(kept, goal, -np.inf), axis=0, initial=-np.inf) - goal
        wrong = kept.copy()
        some = kept.any(axis=0)
        wrong[np.where(kept, goal, -np.inf).argmax(axis=0)[some], np.flatnonzero(some)] = False
        return np.asarray(lost[wrong])

    def contrasts(self, belief: Belief, choice: IntArray) -> "LeadsWithinLimits":
        """Return chosen minus every other alternative of its context, in the goal; of `NONE` the leader's."""
        standing = Standing.of(belief, self.price)
        leader = np.where(choice == NONE, standing.leader, choice)
        return LeadsWithinLimits(LeadsInContext(standing.belief.goal, leader), standing.kept, choice == NONE)

    def weighed(self, belief: Belief, closed: BoolArray | None = None) -> tuple[Weighed, ...]:
        """Return the differences of the goal and the slacks of every limit, with what they are worth."""
        standing = Standing.of(belief, self.price)
        each = np.array([log_ndtr(zeta) for zeta in standing.zeta])  # [limit, ..., alternative, context]
        log_kept = each.sum(axis=0)
        leads = LeadsInContext(standing.belief.goal, standing.leader)
        z, spread = leads.standardised(closed)
        with np.errstate(over="ignore"):
            tie = -0.5 * z * z - 0.5 * np.log(np.where(spread > 0, spread, 1.0))
        both = log_kept + of_selected(log_kept, standing.leader)[..., None, :]
        found = [Weighed(leads, tie + both)]
        lost = standing.rejection_loss()
        for i, slack in enumerate(standing.belief.slacks):
            log_weight = standing.log_boundary(i, lost) + np.delete(each, i, axis=0).sum(axis=0)
            if closed is not None:
                log_weight = np.where(closed, -np.inf, log_weight)
            found.append(Weighed(Slack(slack), log_weight))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class LeadsWithinLimits:
    """f_b(c) − f_k(c) of what is chosen, or leads, which matter where both keep the limits."""

    leads: LeadsInContext
    kept: Array  # P_k, [..., alternative, context]
    none: BoolArray  # [..., context]: whether nothing is chosen

    @property
    def belief(self) -> Belief:
        """The belief about the goal."""
        return self.leads.belief

    def standardised(self, closed: BoolArray | None = None) -> tuple[Array, Array]:
        """Return z = d/τ, infinite for the chosen, and τ²."""
        return self.leads.standardised(closed)

    def covariances(self, which: IntArray) -> Array:
        """Return Cov(f_b(c) − f_k(c), ·), [..., m, alternative, context]."""
        return self.leads.covariances(which)

    def log_shares(self, log_weight: Array) -> Array:
        """Return the weights themselves, and their sum for the chosen."""
        return self.leads.log_shares(log_weight)

    def bound(self, delta: float = 0.0) -> Array:
        """Return P_b Π_{k≠b} (1 − P_k Φ(−(d + δ)/τ)), of none Π_k (1 − P_k): about P(right), [..., context].

        The limits of different alternatives are taken for independent of each other and of the goal.
        """
        tau = np.sqrt(np.maximum(self.belief.difference_var(self.leads.chosen), 0.0))
        ahead = gaps(self.belief, self.leads.chosen) + delta
        z = np.where(ahead > 0, np.inf, -np.inf)
        np.divide(ahead, tau, out=z, where=tau > 0)
        wrong = self.kept * np.where(self.none[..., None, :], 1.0, ndtr(-z))
        own = of_each_context(self.leads.chosen)
        wrong[own] = np.where(self.none, wrong[own], 1.0 - self.kept[own])
        return np.asarray(np.prod(1.0 - wrong, axis=-2))


@dataclass(frozen=True, eq=False)
class AtPrices:
    """What choices lose in joint draws of all outcomes, at fixed prices."""

    prices: Array  # [..., context]

    def loss(self, draws: Array, choice: IntArray) -> Array:
        """Return what a choice loses in every draw, [s, ..., context]."""
        return loss_of(draws, choice, self.prices)

    def tolerance(self, delta: float) -> Array:
        """Return the largest loss of a choice within delta of the best, [..., context]: below the price."""
        return np.minimum(delta, np.nextafter(self.prices, 0.0))

    def option_sums(self, draws: Array) -> Array:
        """Return, summed over draws, what they say of every option, [1, ..., 3, option, context].

        Options are the alternatives, and last `NONE`. Of each: whether it is right, whether it keeps all
        limits, and what it loses.
        """
        kept = np.all(draws[..., 1:, :, :] >= 0, axis=-3)
        goal = np.where(kept, draws[..., 0, :, :], -np.inf)
        top = goal.max(axis=-2, keepdims=True)
        some = np.isfinite(top)
        price = self.prices[..., None, :]
        with np.errstate(invalid="ignore"):
            lost = np.where(kept, np.minimum(top - goal, price), price)
        right = np.arange(goal.shape[-2])[:, None] == np.where(some, goal.argmax(-2)[..., None, :], NONE)
        table = np.stack(
            [
                np.concatenate([right, ~some], axis=-2),
                np.concatenate([kept, ~some], axis=-2),
                np.concatenate([lost, np.where(some, price, 0.0)], axis=-2),
            ],
            axis=-3,
        )
        return np.asarray(table.sum(axis=0, keepdims=True, dtype=float))


@dataclass(frozen=True, eq=False)
class Slack:
    """The slack of one limit for every pair, [..., alternative, context]."""

    belief: Belief

    def covariances(self, which: IntArray) -> Array:
        """Return the covariances of some slacks with all, [..., m, alternative, context]."""
        return self.belief.cov_rows(*np.divmod(which, self.belief.mean.shape[-1]))

    def log_shares(self, log_weight: Array) -> Array:
        """Return the weights themselves: every pair is part of its own slack alone."""
        return log_weight


@dataclass(frozen=True, eq=False)
class Standing:
    """How the alternatives stand, from means and variances alone; arrays are [..., alternative, context].

    The limits of different alternatives are taken for independent here.
    """

    belief: SeveralOutcomes
    zeta: tuple[Array, ...]  # of every limit: mean / standard deviation of its slack
    kept: Array  # P_k
    price: Array  # Λ, [..., context]
    worth: Array  # P_k (Λ − v + m_k): what naming k saves of the price, v the expected best that is kept
    none: Array  # P(no alternative keeps the limits), [..., context]
    leader: IntArray  # [..., context]

    @classmethod
    def of(cls, belief: Belief, price: float | Array | None = None) -> "Standing":
        """Return how they stand; a ``price`` is one number or [..., context]."""
        several = about_limits(belief)
        zeta = tuple(standardised(slack) for slack in several.slacks)
        kept, mean = kept_probability(several), several.mean
        lead = np.broadcast_to(usual_price(mean, kept) if price is None else price, mean[..., 0, :].shape)
        order = np.argsort(-mean, axis=-2, kind="stable")
        sorted_kept, sorted_mean = (np.take_along_axis(each, order, axis=-2) for each in (kept, mean))
        failed = np.cumprod(1.0 - sorted_kept, axis=-2)
        before = np.concatenate([np.ones_like(failed[..., :1, :]), failed[..., :-1, :]], axis=-2)
        none = np.asarray(failed[..., -1, :], float)
        value = np.sum(sorted_kept * before * sorted_mean, axis=-2) + none * sorted_mean[..., 0, :]
        worth = kept * ((lead - value)[..., None, :] + mean)
        return cls(several, zeta, kept, np.asarray(lead), worth, none, np.asarray(worth.argmax(axis=-2)))

    def rejection_loss(self) -> Array:
        """Return L_k, what is lost on average if k is wrongly taken not to keep the limits.

        Instead of k the leader is chosen, and instead of the leader the one that would lose least without it.
        Where that keeps the limits with less than even chances there is nothing to fall back on: Λ.
        """
        mean, leader = self.belief.mean, self.leader
        own = of_each_context(leader)
        spread = np.sqrt(np.maximum(self.belief.goal.difference_var(leader), 0.0))
        ahead = mean - mean[own][..., None, :]
        usable = np.broadcast_to(self.kept[own][..., None, :] >= 0.5, mean.shape).copy()
        saved = np.where(self.kept >= 0.5, self.kept * (self.price[..., None, :] + ahead), -np.inf)
        saved[own] = -np.inf
        second = of_each_context(np.asarray(saved.argmax(axis=-2)))
        spread[own], ahead[own] = spread[second], -ahead[second]
        usable[own] = np.isfinite(saved[second])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            lost = np.where(spread > 0, spread * normal_loss(-ahead / spread), np.maximum(ahead, 0.0))
        return np.where(usable, lost, self.price[..., None, :])

    def log_boundary(self, limit: int, rejection_loss: Array) -> Array:
        """Return log min(Λ Φ(−ζ), L Φ(ζ))/s², times 2√(2π), of the slacks of one limit; −∞ where known."""
        zeta, var = self.zeta[limit], self.belief.slacks[limit].var
        accepted = kg.log(self.price)[..., None, :] + log_ndtr(-zeta)
        rejected = kg.log(rejection_loss) + log_ndtr(zeta)
        log_var = np.log(np.where(var > 0, var, 1.0))
        weight = np.minimum(accepted, rejected) - log_var + _LOG_TWICE_ROOT_2PI
        return np.where(var > 0, weight, -np.inf)


def nearness(belief: Belief) -> Array:
    """Return log P_k, [..., alternative, context]; it tells those apart that are far from keeping limits."""
    several = about_limits(belief)
    return np.asarray(np.sum([log_ndtr(standardised(slack)) for slack in several.slacks], axis=0))


def about_limits(belief: Belief) -> SeveralOutcomes:
    """Return the belief if it is one about the goal and limits."""
    if offers(belief, SeveralOutcomes) and belief.slacks:
        return belief
    raise InputError(
        f"a question with limits needs a belief about the goal and about every limit, got "
        f"{type(belief).__name__}, which is about one outcome. Use `argbest.core.outcomes.Outcomes`."
    )


def best_kept(outcomes: Array) -> IntArray:
    """Return the alternative with the largest goal among those that keep all limits, or `NONE`."""
    kept = np.all(outcomes[..., 1:, :, :] >= 0, axis=-3)
    best = np.where(kept, outcomes[..., 0, :, :], -np.inf).argmax(axis=-2)
    return np.where(kept.any(axis=-2), best, NONE)


def loss_of(outcomes: Array, choice: IntArray, price: Array) -> Array:
    """Return what a choice loses if these were the mean outcomes, [..., context]."""
    kept = np.all(outcomes[..., 1:, :, :] >= 0, axis=-3)
    goal = np.where(kept, outcomes[..., 0, :, :], -np.inf)
    top = goal.max(axis=-2)
    lead = np.broadcast_shapes(goal.shape[:-2], choice.shape[:-1])
    chosen = np.broadcast_to(choice, (*lead, choice.shape[-1]))
    of_chosen = of_selected(np.broadcast_to(goal, (*lead, *goal.shape[-2:])), np.maximum(chosen, 0))
    with np.errstate(invalid="ignore"):
        short = np.where(np.isfinite(of_chosen), np.minimum(top - of_chosen, price), price)
    return np.where(chosen == NONE, np.where(np.isfinite(top), price, 0.0), short)


def usual_price(mean: Array, kept: Array, least: float | None = None) -> Array:
    """Return what it costs to break a limit unless the user says so, [..., context]: what is at stake.

    ``mean`` and ``kept``, P(all limits are kept), are [..., alternative, context]. Alternatives count that
    may keep the limits, and those that would be chosen if there were none. Their range is the price, but at
    most twice the distance of the best from their median: hopeless ones, such as overloaded queues, would
    make it as large as you like. No price is below half of the average over all contexts: where one
    alternative is left, or all are equal, there would be none at all. ``least`` is used in its place.
    """
    price = _at_stake(mean, kept)
    return np.asarray(np.maximum(price, _lowest(price) if least is None else least))


def _at_stake(mean: Array, kept: Array) -> Array:
    """Return the range of the alternatives that count, not stretched by hopeless ones, [..., context]."""
    reliable = np.max(np.where(kept >= 0.5, mean, -np.inf), axis=-2, keepdims=True)
    counted = (kept >= _UNLIKELY) | (mean > reliable)
    top = np.max(np.where(counted, mean, -np.inf), axis=-2)
    bottom = np.min(np.where(counted, mean, np.inf), axis=-2)
    middle = np.nanmedian(np.where(counted, mean, np.nan), axis=-2)
    return np.asarray(np.minimum(top - bottom, 2.0 * (top - middle)))


def _lowest(price: Array) -> Array:
    """Return half of the average over all contexts, 1 where that is nothing, [..., 1]."""
    half = 0.5 * price.mean(axis=-1, keepdims=True)
    return np.where(half > 0, half, 1.0)
