"""Policies that end a run: confirm what is selected, or separate it from its rivals for a guarantee."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argbest.checks import finite
from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief, of_selected
from argbest.core.decision import Decision, of_each_context
from argbest.core.question import HasLimits
from argbest.core.questions.contexts import of_table
from argbest.core.setting import Setting
from argbest.core.states import LEVEL, contenders
from argbest.core.tally import Tally
from argbest.policies.base import Draws, evenly, with_pending


@dataclass(frozen=True, kw_only=True)
class Confirm:
    """The least simulated of the leading alternatives in the contexts that are not decided.

    A context is decided if its selected alternative, the one with the largest mean, is the best with
    probability ``level`` or more. Its leaders are the selected one and the fewest alternatives whose
    probabilities of being the best reach that level together, two at least (`leaders`). The leaders of all
    undecided contexts are simulated evenly, so that the last word does not rest on few replications. If every
    context is decided: the leaders of the least certain one. Ties at random; neither weights nor costs enter.
    With limits being the best means among those that keep them, as `Contrasts.bound` says it of each.

    Args:
        level: The probability of being the best from which on a context is decided.
    """

    takes_limits: ClassVar[bool] = True

    level: float = LEVEL

    def __post_init__(self) -> None:
        finite("level", self.level, above=0.0, below=1.0)

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        """Return the leaders with the fewest replications, those under way included.

        One set of leaders serves the batch: probabilities are expensive, and counts keep decisions apart.
        """
        candidates = setting.candidates(tally.shape)
        belief, count = with_pending(belief, tally.count, pending)
        question = of_table(setting.question)
        choice = question.choice(belief)
        if not offers(question, HasLimits):
            chance = belief.best_probability()
            certainty = of_selected(chance, choice)
        else:
            each = (np.full_like(choice, k) for k in range(tally.shape[-2]))
            chance = np.stack([question.contrasts(belief, k).bound() for k in each], axis=-2)
            certainty = question.contrasts(belief, choice).bound()
            choice = np.where(choice < 0, chance.argmax(axis=-2), choice)
        return evenly(self._worth_sampling(chance, certainty, choice, candidates), count, draws, n)

    def _worth_sampling(
        self, chance: Array, certainty: Array, selected: IntArray, candidates: BoolArray
    ) -> BoolArray:
        """Return the candidates that are leaders of contexts to confirm, [..., alternative, context]."""
        leading_pairs = leaders(chance, selected, self.level) & candidates
        useful = leading_pairs.any(axis=-2)
        undecided = useful & (certainty < self.level)
        least = np.min(certainty, axis=-1, keepdims=True, where=useful, initial=np.inf)
        contexts = np.where(undecided.any(axis=-1, keepdims=True), undecided, useful & (certainty == least))
        marked = leading_pairs & contexts[..., None, :]
        # All leaders may be among the pairs set aside; then any pair is as good as another.
        return np.where(marked.any(axis=(-2, -1), keepdims=True), marked, candidates)


def leaders(chance: Array, selected: IntArray, level: float) -> BoolArray:
    """Return the selected and the fewest alternatives that reach the level, [..., alternative, context].

    ``chance`` holds the probabilities of being the best. The selected is counted among the fewest last: it is
    added if they can do without it, and if it is the only one, the likeliest other is added.
    """
    order, size = contenders(chance, level)
    within = np.arange(chance.shape[-2])[:, None] < np.maximum(size, 2)[..., None, :]
    marked = np.zeros(chance.shape, bool)
    np.put_along_axis(marked, order, within, axis=-2)
    marked[of_each_context(selected)] = True
    return marked


@dataclass(frozen=True)
class Separate:
    """The least simulated of the ``open_pairs``: the selected alternatives and the rivals not yet separated.

    Bounds are on differences of equally numbered replications, so even numbers serve best, and contexts that
    are easily decided leave early. The belief enters by what is selected; neither weights nor costs do.
    """

    needs_all: ClassVar[bool] = True
    takes_limits: ClassVar[bool] = True

    open_pairs: BoolArray  # [alternative, context]

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        """Return the open pairs with the fewest replications, those under way included; ties at random."""
        candidates = setting.candidates(tally.shape)
        marked = candidates & self.open_pairs
        # What is missing may lie in pairs set aside; then any pair is as good as another.
        marked = np.where(marked.any(axis=(-2, -1), keepdims=True), marked, candidates)
        return evenly(marked, tally.count + pending, draws, n)
