"""Any question where choices must keep limits: a broken limit counts as a loss of its price.

Tables of outcomes are [..., outcome, alternative, context]: the goal f and the slack of every limit. What a
question sees of them are the rewards

    r_kc = f_kc where alternative k keeps all limits in context c, min(f_kc, f*_c) − Λ_c where not,

with the price Λ of `argbest.core.limits` and the best goal f* of those that keep them, or of all where none
does. So a broken limit loses at least its price, however good the goal looks. That is not linear in the
outcomes: whatever the question, its answer follows from joint draws of all outcomes, each of which is turned
into such a table.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol, cast

import numpy as np

from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief
from argbest.core.decision import leading
from argbest.core.focused_outcomes import not_drawn
from argbest.core.limits import BestWithinLimits, about_limits
from argbest.core.outcomes import kept_probability
from argbest.core.question import Contrasts, Question
from argbest.core.questions import joint_draws
from argbest.core.questions.contexts import KeepsLimits

_FAR = 1e6  # prices: so much it costs to choose what cannot be chosen at all


class CountsOnlyKept(Question, Protocol):
    """A question in which an alternative that breaks a limit counts for nothing, at whatever price."""

    def among_kept(self, rewards: Array, kept: BoolArray) -> Array:
        """Return the rewards [..., alternative, context] that it sees, of those that are kept."""


@dataclass(frozen=True, eq=False)
class WithLimits:
    """A question to tables of outcomes, [..., outcome, alternative, context]; choices are those of ``inner``.

    As long as no ``penalty`` is fixed, prices follow from the outcomes themselves.
    """

    inner: Question  # put to the contexts
    best_within: BestWithinLimits  # says prices; tables of contexts show its answer
    penalty: Array | None = None  # [..., alternative, context]: what it costs to break a limit
    unknown: BoolArray | None = None  # pairs of which draws say nothing: they count as breaking one

    name: ClassVar[str] = "within limits"
    only_the_best_matter: ClassVar[bool] = False

    @property
    def decides_as(self) -> Question:
        """The best alternative within limits: policies decide for it, whatever is asked."""
        return self.best_within

    def at(self, belief: Belief, ruled_out: BoolArray | None = None) -> "WithLimits":
        """Return the question with the prices that follow from what is known now.

        Pairs that are ``ruled_out`` [..., alternative, context], which a belief takes to break a limit, cost
        so much that they are chosen only where nothing else is left. So do pairs of very large tables of
        which draws say nothing (`not_drawn`).
        """
        several = about_limits(belief)
        prices = self.best_within.prices(several.mean, kept_probability(several))[..., None, :]
        penalty = np.broadcast_to(prices, several.mean.shape)
        unknown = not_drawn(belief)
        if unknown is not None:
            ruled_out = unknown if ruled_out is None else unknown | ruled_out
        if ruled_out is not None:
            far = _FAR * max(float(prices.max()), float(np.ptp(several.mean)))
            penalty = np.where(ruled_out & ~ruled_out.all(axis=-2, keepdims=True), far, penalty)
        return replace(self, penalty=penalty, unknown=unknown)

    def tables(self, outcomes: Array) -> Array:
        """Return the rewards that the inner question sees, [..., alternative, context]."""
        goal, kept = outcomes[..., 0, :, :], np.all(outcomes[..., 1:, :, :] >= 0, axis=-3)
        kept = kept if self.unknown is None else kept & ~self.unknown
        if offers(self.inner, CountsOnlyKept):
            return self.inner.among_kept(goal, kept)
        penalty = self.penalty
        if penalty is None:
            penalty = self.best_within.prices(goal, kept.astype(float))[..., None, :]
        some = kept | ~kept.any(axis=-2, keepdims=True)
        top = np.where(some, goal, -np.inf).max(axis=-2, keepdims=True)
        return np.where(kept, goal, np.minimum(goal, top) - penalty)

    def parts(self, weights: Array) -> Array:
        """Return those of the inner question."""
        return self.inner.parts(weights)

    def choice(self, belief: Belief) -> IntArray:
        """Return what the inner question chooses by joint draws of all outcomes."""
        draws = self.at(belief).tables(joint_draws.of_belief(belief, joint_draws.FOR_CHOICES))
        return self.inner.choice(known_by_draws(draws))

    def right_choice(self, rewards: Array) -> IntArray:
        """Return what would be chosen if these were the mean outcomes."""
        return self.inner.right_choice(self.tables(rewards))

    def loss(self, rewards: Array, choice: IntArray) -> Array:
        """Return what a choice loses if these were the mean outcomes, [..., part]."""
        return self.inner.loss(self.tables(rewards), choice)

    def wrong_losses(self, rewards: Array, ruled_out: BoolArray | None = None) -> Array:
        """Return what the wrong choices of one study would lose; ``rewards`` are mean outcomes."""
        return self.inner.wrong_losses(self.tables(rewards), ruled_out)

    def contrasts(self, belief: Belief, choice: IntArray) -> Contrasts:
        """Return those of the best alternative within limits, which decisions are made for."""
        return self.best_within.contrasts(belief, self.best_within.choice(belief))


@dataclass(frozen=True, eq=False)
class DrawnTables:
    """What joint draws of tables say, where there is no belief about these: all that a choice depends on."""

    draws: Array  # [draw, ..., alternative, context]

    @cached_property
    def mean(self) -> Array:
        """The average over draws, [..., alternative, context]."""
        return np.asarray(self.draws.mean(axis=0))

    @cached_property
    def var(self) -> Array:
        """The variance over draws, [..., alternative, context]."""
        return np.asarray(self.draws.var(axis=0))

    def draw_tables(self, n: int, numbers: Callable[[], np.random.Generator]) -> Array:
        """Return the first n draws, or all if these are fewer."""
        return self.draws[:n]

    def cov_rows(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of pairs [..., m] with all, [..., m, alternative, context]."""
        return self.cov_of_sums(alternative[..., None], context[..., None], np.ones((*context.shape, 1)))

    def cov_of_sums(self, alternative: IntArray, context: IntArray, weight: Array) -> Array:
        """Return Cov(Σ_i weight_i r(pair_i), ·) of pairs [..., m, i], [..., m, alternative, context]."""
        deviation = self.draws - self.mean
        where = leading(alternative.shape)[: deviation.ndim - 3]
        own = np.moveaxis(deviation, 0, -1)[(*where, alternative, context)]  # [..., m, i, draw]
        sums = np.einsum("...mi,...mis->s...m", weight, own)
        return np.asarray(np.einsum("s...m,s...kc->...mkc", sums, deviation) / len(deviation))


def seen_by(
    question: Question, belief: Belief, ruled_out: BoolArray | None = None
) -> tuple[Question, Callable[[Array], Array] | None]:
    """Return what is asked of joint draws, and what makes the tables that it sees; None: these themselves."""
    if not offers(question, KeepsLimits):
        return question, None
    settled = question.at(belief, ruled_out)
    return settled.inner, settled.tables


def known_by_draws(draws: Array) -> Belief:
    """Return draws in the place of a belief, for a question to choose by; no more can be asked of it."""
    return cast(Belief, DrawnTables(draws))
