"""Questions with one alternative for all contexts as their answer; they differ in what it is worth.

- `Overall`: its reward, averaged over the contexts by their weights;
- `WorstCase`: its reward in the context where that is lowest;
- `Regret`: what it loses to the best alternative of the context where it loses most, counted below 0;
- `MostProbableBest`: the weight of the contexts in which it is the best.

All have one part, and a choice is an alternative [...]. Of the first, the belief's means say which
alternative is worth most. What is expected of the others follows from joint draws.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief
from argbest.core.question import BEST, Contrasts, Question
from argbest.core.questions import joint_draws
from argbest.core.questions.contexts import Contexts
from argbest.core.questions.sums import Sums

_MOST_RIVALS = 256  # alternatives that a decision compares with the choice: the likeliest to be better


class ValuesAlternatives(Question, Protocol):
    """A question whose choices are the alternatives, each of some value for all contexts together."""

    def values(self, rewards: Array) -> Array:
        """Return what every alternative is worth if these were the mean rewards, [..., alternative]."""

    linear: ClassVar[bool]
    """Whether the expected value is that of the expected rewards: a choice then needs no draws."""


class FindsTheWorst(ValuesAlternatives, Protocol):
    """A question in which an alternative is worth what it is in one context, the worst one in some sense."""

    def worst_contexts(self, rewards: Array) -> IntArray:
        """Return the context that settles the value of every alternative, [..., alternative]."""


class DecidesAs(Question, Protocol):
    """A question for which no policy is known that beats that of another question."""

    @property
    def decides_as(self) -> Question:
        """The question that policies are shown in its place."""


@dataclass(frozen=True, eq=False)
class OneForAll(ABC):
    """The alternative that is worth most for all contexts together.

    Args:
        contexts: The contexts of the problem.
    """

    contexts: Contexts

    name: ClassVar[str]
    only_the_best_matter: ClassVar[bool] = False
    linear: ClassVar[bool] = False

    @abstractmethod
    def values(self, rewards: Array) -> Array:
        """Return what every alternative is worth if these were the mean rewards, [..., alternative].

        Args:
            rewards: The mean rewards, [..., alternative, context].
        """

    @abstractmethod
    def contrasts(self, belief: Belief, choice: IntArray) -> Contrasts:
        """Return the differences whose signs say whether the choice is right."""

    def parts(self, weights: Array) -> Array:
        """Return 1: there is a single part."""
        return np.ones(1)

    def choice(self, belief: Belief) -> IntArray:
        """Return the alternative of the largest expected value, the first of equal ones, [...]."""
        if self.linear:
            return self.right_choice(belief.mean)
        return np.asarray(
            self.values(joint_draws.of_belief(belief, joint_draws.FOR_CHOICES)).mean(axis=0).argmax(axis=-1)
        )

    def right_choice(self, rewards: Array) -> IntArray:
        """Return the alternative of the largest value, the first of equal ones, [...]."""
        return np.asarray(self.values(rewards).argmax(axis=-1))

    def loss(self, rewards: Array, choice: IntArray) -> Array:
        """Return the largest value minus that of the chosen alternative, [..., 1]."""
        return shortfall(self.values(rewards), choice)

    def wrong_losses(self, rewards: Array, ruled_out: BoolArray | None = None) -> Array:
        """Return what every alternative but the right one would lose, without those that failed somewhere."""
        value = self.values(rewards)
        if ruled_out is not None:
            value = value[~(ruled_out & self.contexts.counted).any(axis=-1)]
        ordered = np.sort(value)
        return np.asarray(ordered[-1:] - ordered[:-1])


class WeighsContexts(OneForAll):
    """The alternative with the largest Σ_c w_kc f_k(c), where weights may depend on the rewards themselves.

    An example is the average over the contexts in which an alternative does worst. A subclass gives
    `weights_of`; contrasts then follow from joint draws.
    """

    @abstractmethod
    def weights_of(self, rewards: Array) -> Array:
        """Return the weights of the contexts for every alternative, [..., alternative, context].

        Args:
            rewards: The mean rewards, [..., alternative, context].
        """

    def values(self, rewards: Array) -> Array:
        """Return Σ_c w_kc f_k(c)."""
        return np.asarray((self.weights_of(rewards) * rewards).sum(axis=-1))

    def contrasts(self, belief: Belief, choice: IntArray) -> Contrasts:
        """Return the contrasts of joint draws, which do not depend on the choice."""
        return self.drawn_contrasts(belief)

    def drawn_contrasts(self, belief: Belief) -> Sums:
        """Return, for every joint draw, its best alternative minus the second, each with its own weights.

        Args:
            belief: What is known of all mean rewards.
        """
        rewards = joint_draws.of_belief(belief, joint_draws.FOR_CONTRASTS)
        weights = self.weights_of(rewards)
        first, second = first_two((weights * rewards).sum(axis=-1))
        n = rewards.shape[-1]
        alternative = np.concatenate([np.repeat(each[..., None], n, axis=-1) for each in (first, second)], -1)
        context = np.broadcast_to(np.tile(np.arange(n), 2), alternative.shape)
        own = [
            np.take_along_axis(weights, each[..., None, None], axis=-2)[..., 0, :] for each in (first, second)
        ]
        return Sums(belief, *_by_draw(alternative, context, np.concatenate([own[0], -own[1]], axis=-1)))


def shortfall(values: Array, choice: IntArray) -> Array:
    """Return the largest value minus the chosen one's, [..., 1], from values [..., alternative]."""
    lead = np.broadcast_shapes(values.shape[:-1], np.shape(choice))
    values = np.broadcast_to(values, (*lead, values.shape[-1]))
    chosen = np.take_along_axis(values, np.broadcast_to(choice, lead)[..., None], axis=-1)
    return np.asarray(values.max(axis=-1, keepdims=True) - chosen)


def first_two(values: Array) -> tuple[IntArray, IntArray]:
    """Return the largest and the second largest of the last axis, the first of equal ones, [...] each."""
    one = np.asarray(values.argmax(axis=-1))
    if values.shape[-1] == 1:
        return one, one
    others = values.copy()
    np.put_along_axis(others, one[..., None], -np.inf, axis=-1)
    return one, np.asarray(others.argmax(axis=-1))


@dataclass(frozen=True)
class Overall:
    """Which single alternative is best on average over the contexts, by their weights."""

    name: ClassVar[str] = "overall"

    def about(self, contexts: Contexts) -> "BestOverall":
        """Return the question to a table with these contexts."""
        return BestOverall(contexts)


@dataclass(frozen=True, eq=False)
class BestOverall(OneForAll):
    """The alternative with the largest Σ_c w_c f(c)."""

    name: ClassVar[str] = Overall.name
    linear: ClassVar[bool] = True

    def values(self, rewards: Array) -> Array:
        """Return Σ_c w_c f_k(c)."""
        return np.asarray(rewards @ self.contexts.shares)

    def contrasts(self, belief: Belief, choice: IntArray) -> Sums:
        """Return Σ_c w_c (f_b(c) − f_k(c)) of the chosen b and its rivals k, [..., rival, 1]."""
        shares, lead = self.contexts.shares, belief.mean.shape[:-2]
        rivals = self._rivals(belief, choice)
        own = np.broadcast_to(np.asarray(choice)[..., None], rivals.shape)
        contexts = np.flatnonzero(shares)
        n = len(contexts)
        pairs = (*lead, rivals.shape[-1], n)
        alternative = np.concatenate(
            [np.broadcast_to(each[..., None], pairs) for each in (own, rivals)], axis=-1
        )
        context = np.broadcast_to(np.tile(contexts, 2), alternative.shape)
        weight = np.concatenate([shares[contexts], -shares[contexts]])
        return Sums(belief, alternative, context, np.broadcast_to(weight, alternative.shape))

    def _rivals(self, belief: Belief, choice: IntArray) -> IntArray:
        """Return all alternatives, of very many those that may overtake the chosen one most easily."""
        lead, n = belief.mean.shape[:-2], belief.mean.shape[-2]
        if n <= _MOST_RIVALS:
            return np.broadcast_to(np.arange(n), (*lead, n))
        value, spread = self.values(belief.mean), np.sqrt(belief.var) @ self.contexts.shares
        own = np.asarray(choice)[..., None]
        behind = np.take_along_axis(value, own, axis=-1) - value
        reach = spread + np.take_along_axis(spread, own, axis=-1)
        ratio = np.divide(behind, reach, out=np.full_like(behind, np.inf), where=reach > 0)
        return np.asarray(np.argsort(ratio, axis=-1, kind="stable")[..., :_MOST_RIVALS])


@dataclass(frozen=True)
class WorstCase:
    """Which single alternative is best in the context where it does worst: the safe choice."""

    name: ClassVar[str] = "worst-case"

    def about(self, contexts: Contexts) -> "BestInTheWorstCase":
        """Return the question to a table with these contexts."""
        return BestInTheWorstCase(contexts)


@dataclass(frozen=True, eq=False)
class BestInTheWorstCase(OneForAll):
    """The alternative with the largest min_c f(c)."""

    name: ClassVar[str] = WorstCase.name

    def values(self, rewards: Array) -> Array:
        """Return min_c f_k(c)."""
        return np.asarray(self._counted(rewards).min(axis=-1))

    def worst_contexts(self, rewards: Array) -> IntArray:
        """Return the context of the lowest reward of every alternative, [..., alternative]."""
        return np.asarray(self._counted(rewards).argmin(axis=-1))

    def _counted(self, rewards: Array) -> Array:
        return np.where(self.contexts.counted, rewards, np.inf)

    def contrasts(self, belief: Belief, choice: IntArray) -> Sums:
        """Return the contrasts of joint draws, which do not depend on the choice."""
        return self.drawn_contrasts(belief)

    def drawn_contrasts(self, belief: Belief) -> Sums:
        """Return, for every joint draw, its best alternative where that does worst minus the second there."""
        rewards = self._counted(joint_draws.of_belief(belief, joint_draws.FOR_CONTRASTS))
        worst = self.worst_contexts(rewards)  # [draw, ..., alternative]
        alternative = np.stack(first_two(rewards.min(axis=-1)), axis=-1)
        context = np.take_along_axis(worst, alternative, axis=-1)
        weight = np.broadcast_to([1.0, -1.0], alternative.shape)
        return Sums(belief, *_by_draw(alternative, context, weight))


@dataclass(frozen=True)
class Regret:
    """Which single alternative loses least to the best one in the context where it loses most."""

    name: ClassVar[str] = "regret"

    def about(self, contexts: Contexts) -> "LeastRegret":
        """Return the question to a table with these contexts."""
        return LeastRegret(contexts)


@dataclass(frozen=True, eq=False)
class LeastRegret(OneForAll):
    """The alternative with the largest min_c (f(c) − max_k f_k(c))."""

    name: ClassVar[str] = Regret.name

    def values(self, rewards: Array) -> Array:
        """Return min_c (f_k(c) − max_j f_j(c)), which is 0 or less."""
        return np.asarray(self._behind(rewards).min(axis=-1))

    def worst_contexts(self, rewards: Array) -> IntArray:
        """Return the context in which every alternative loses most to the best one, [..., alternative]."""
        return np.asarray(self._behind(rewards).argmin(axis=-1))

    def _behind(self, rewards: Array) -> Array:
        return np.where(self.contexts.counted, rewards - rewards.max(axis=-2, keepdims=True), 0.0)

    def contrasts(self, belief: Belief, choice: IntArray) -> Sums:
        """Return the contrasts of joint draws, which do not depend on the choice."""
        return self.drawn_contrasts(belief)

    def drawn_contrasts(self, belief: Belief) -> Sums:
        """Return, for every joint draw, the least regret minus the second: four rewards in two contexts."""
        rewards = joint_draws.of_belief(belief, joint_draws.FOR_CONTRASTS)
        behind, best = self._behind(rewards), rewards.argmax(axis=-2)
        foremost = np.stack(first_two(behind.min(axis=-1)), axis=-1)  # [draw, ..., 2]
        context = np.take_along_axis(behind.argmin(axis=-1), foremost, axis=-1)
        there = np.take_along_axis(best, context, axis=-1)
        sign = np.broadcast_to([1.0, -1.0], foremost.shape)
        weight = np.where(there == foremost, 0.0, sign)  # the best of a context loses nothing there
        each = [
            np.concatenate(both, axis=-1)
            for both in ((foremost, there), (context, context), (weight, -weight))
        ]
        return Sums(belief, *_by_draw(*each))


@dataclass(frozen=True)
class MostProbableBest:
    """Which alternative is the best one in most contexts, counted by their weights."""

    name: ClassVar[str] = "most-probable-best"

    def about(self, contexts: Contexts) -> "WinnerOfMost":
        """Return the question to a table with these contexts."""
        return WinnerOfMost(contexts)


@dataclass(frozen=True, eq=False)
class WinnerOfMost(OneForAll):
    """The alternative with the largest Σ_c w_c 1{it is the best of c}; equal ones share a context."""

    name: ClassVar[str] = MostProbableBest.name

    @property
    def decides_as(self) -> Question:
        """The best of every context: no policy of this question's own was reliably better."""
        return BEST

    def values(self, rewards: Array) -> Array:
        """Return the weight of the contexts in which each alternative is the best."""
        largest = rewards.max(axis=-2, keepdims=True)
        best = (rewards == largest) & (largest > -np.inf)
        return np.asarray((best / np.maximum(best.sum(axis=-2, keepdims=True), 1)) @ self.contexts.shares)

    def among_kept(self, rewards: Array, kept: BoolArray) -> Array:
        """Return −∞ where a limit is broken: it cannot be the best, and where all break one nobody is."""
        return np.where(kept, rewards, -np.inf)

    def contrasts(self, belief: Belief, choice: IntArray) -> Contrasts:
        """Return the leads of the best alternative of every context, [..., alternative, context]."""
        return BEST.contrasts(belief, BEST.choice(belief))


def _by_draw(alternative: IntArray, context: IntArray, weight: Array) -> tuple[IntArray, IntArray, Array]:
    """Return arrays [draw, ..., pair] as [..., draw, pair]: each draw names one contrast."""
    return (
        np.ascontiguousarray(np.moveaxis(alternative, 0, -2)),
        np.ascontiguousarray(np.moveaxis(context, 0, -2)),
        np.ascontiguousarray(np.moveaxis(weight, 0, -2)),
    )
