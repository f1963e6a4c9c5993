"""A rule that fits on a card: a small tree of conditions on the contexts, which names an alternative."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from argbest.checks import whole
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief, of_selected
from argbest.core.question import Question
from argbest.core.questions import joint_draws
from argbest.core.questions.contexts import Contexts
from argbest.core.questions.sums import Sums
from argbest.core.questions.trees import Conditions, Leaf, Split, Tree, best_trees, search
from argbest.errors import InputError

_DEEPEST = 3
_ROUNDING = 1e-12  # of the largest reward
_FAR = 1e6  # ranges of the rewards: so far below them is what cannot be named


class NamesRules(Question, Protocol):
    """A question that is answered by a tree of conditions on the contexts."""

    contexts: Contexts

    @property
    def conditions(self) -> Conditions:
        """The conditions that are tried."""

    def tree(self, belief: Belief) -> Tree:
        """Return the rule of a belief about one study."""

    def ends(self, tree: Tree) -> list[tuple[Leaf, BoolArray]]:
        """Return the ends of a tree and the contexts that come to each, [context]."""


@dataclass(frozen=True)
class Rule:
    """Which rule that fits on a card names the best alternatives: a small tree of conditions on the contexts.

    Args:
        depth: How many conditions are asked one after the other, at most 3.
    """

    depth: int = 2

    name: ClassVar[str] = "rule"

    def __post_init__(self) -> None:
        whole("depth", self.depth, at_least=1, at_most=_DEEPEST)

    def about(self, contexts: Contexts) -> "BestRule":
        """Return the question to a table with these contexts."""
        if not contexts.columns:
            raise InputError("the question 'rule' needs the columns of the contexts; there are none.")
        return BestRule(contexts, self.depth)


@dataclass(frozen=True, eq=False)
class BestRule:
    """The tree with the largest Σ_c w_c f(c) of the alternatives it names; a choice is these, [..., context].

    The rule follows from means and their uncertainty: the best tree of the means keeps a condition only if
    what it gains is at least one standard deviation of that gain.
    """

    contexts: Contexts
    depth: int

    name: ClassVar[str] = Rule.name
    only_the_best_matter: ClassVar[bool] = False

    @cached_property
    def conditions(self) -> Conditions:
        """The conditions that are tried."""
        return Conditions.about(self.contexts)

    def parts(self, weights: Array) -> Array:
        """Return 1: a rule is chosen as a whole."""
        return np.ones(1)

    def choice(self, belief: Belief) -> IntArray:
        """Return the alternatives that the rule of this belief names, [..., context]."""
        found = np.empty((*belief.mean.shape[:-2], belief.mean.shape[-1]), np.int64)
        for study, tree in self.trees(belief):
            found[study] = self.conditions.choices(tree)
        return found

    def tree(self, belief: Belief) -> Tree:
        """Return the rule of a belief about one study."""
        [(_, found)] = self.trees(belief)
        return found

    def trees(self, belief: Belief) -> list[tuple[tuple[int, ...], Tree]]:
        """Return the rule of every study, by its index: the best tree of the means, pruned."""
        lead, table = belief.mean.shape[:-2], belief.mean.shape[-2:]
        found = search(belief.mean.reshape(-1, *table), self.contexts.shares, self.conditions, self.depth)
        return [
            (study, self._pruned(belief, study, tree))
            for study, tree in zip(np.ndindex(lead), found, strict=True)
        ]

    def right_choice(self, rewards: Array) -> IntArray:
        """Return the alternatives that the best tree names, [..., context]."""
        lead, table = rewards.shape[:-2], rewards.shape[-2:]
        _, found = best_trees(rewards.reshape(-1, *table), self.contexts.shares, self.conditions, self.depth)
        return found.reshape(*lead, table[1])

    def loss(self, rewards: Array, choice: IntArray) -> Array:
        """Return the value of the best tree minus that of the chosen one, [..., 1]."""
        lead = np.broadcast_shapes(rewards.shape[:-2], choice.shape[:-1])
        right = np.broadcast_to(self.right_choice(rewards), (*lead, choice.shape[-1]))
        rewards = np.broadcast_to(rewards, (*lead, *rewards.shape[-2:]))
        chosen = np.broadcast_to(choice, right.shape)
        short = (of_selected(rewards, right) - of_selected(rewards, chosen)) @ self.contexts.shares
        least = _ROUNDING * np.abs(rewards).max(axis=(-2, -1))
        return np.where(short > least, short, 0.0)[..., None]

    def wrong_losses(self, rewards: Array, ruled_out: BoolArray | None = None) -> Array:
        """Return what it would lose to name another alternative at one end of the best tree."""
        impossible = np.zeros(rewards.shape, bool) if ruled_out is None else ruled_out
        below = rewards.min() - _FAR * (np.ptp(rewards) or 1.0)  # finite: sums of −∞ could not be compared
        [tree] = search(
            np.where(impossible, below, rewards)[None], self.contexts.shares, self.conditions, self.depth
        )
        losses = []
        for leaf, inside in self.ends(tree):
            value = rewards[:, inside] @ self.contexts.shares[inside]
            losses.append(value[leaf.alternative] - value[~impossible[:, inside].any(axis=1)])
        found = np.concatenate(losses)
        return np.asarray(found[found > 0])

    def contrasts(self, belief: Belief, choice: IntArray) -> Sums:
        """Return the contrasts of joint draws, which do not depend on the choice."""
        return self.drawn_contrasts(belief)

    def drawn_contrasts(self, belief: Belief) -> Sums:
        """Return the best trees of joint draws, each minus that of the draw before it."""
        rules = self.right_choice(
            joint_draws.of_belief(belief, joint_draws.FOR_CONTRASTS)
        )  # [draw, ..., context]
        one, other = np.moveaxis(rules[1:], 0, -2), np.moveaxis(rules[:-1], 0, -2)
        alternative = np.concatenate([one, other], axis=-1)
        contexts = np.arange(rules.shape[-1])
        share = np.where(one == other, 0.0, self.contexts.shares)
        weight = np.concatenate([share, -share], axis=-1)
        return Sums(belief, alternative, np.broadcast_to(np.tile(contexts, 2), weight.shape), weight)

    def ends(self, tree: Tree) -> list[tuple[Leaf, BoolArray]]:
        """Return the ends of a tree and the contexts that come to each, [context]."""
        n = len(self.contexts.weights)

        def below(part: Tree, inside: BoolArray) -> list[tuple[Leaf, BoolArray]]:
            if isinstance(part, Leaf):
                return [(part, inside)]
            held = self.conditions.holds[self.conditions.each.index(part.condition)]
            return below(part.yes, inside & held) + below(part.no, inside & ~held)

        return below(tree, np.ones(n, bool))

    def _pruned(self, belief: Belief, study: tuple[int, ...], tree: Tree) -> Tree:
        """Return the tree without conditions that gain less than one standard deviation of their gain."""

        def below(part: Tree, inside: BoolArray) -> Tree:
            if isinstance(part, Leaf):
                return part
            held = self.conditions.holds[self.conditions.each.index(part.condition)]
            part = replace(part, yes=below(part.yes, inside & held), no=below(part.no, inside & ~held))
            shares = np.where(inside, self.contexts.shares, 0.0)
            single = Leaf(int((belief.mean[study] @ shares).argmax()))
            same = {leaf.alternative for leaf in part.leaves()} == {single.alternative}
            return single if same or self._gain(belief, study, part, single, shares) < 1.0 else part

        return below(tree, np.ones(len(self.contexts.weights), bool))

    def _gain(
        self, belief: Belief, study: tuple[int, ...], part: Split, single: Leaf, shares: Array
    ) -> float:
        """Return what a part of a tree gains over a single alternative, in standard deviations."""
        divided = self.conditions.choices(part)
        contexts = np.flatnonzero((divided != single.alternative) & (shares > 0))
        if not len(contexts):
            return 0.0
        alternative = np.concatenate([divided[contexts], np.full(len(contexts), single.alternative)])
        weight = np.concatenate([shares[contexts], -shares[contexts]])
        lead = belief.mean.shape[:-2]
        pairs = [
            np.broadcast_to(each, (*lead, 1, len(weight)))
            for each in (alternative, np.tile(contexts, 2), weight)
        ]
        return float(Sums(belief, *pairs).standardised()[0][(*study, 0, 0)])
