"""What a question may know of the contexts of a problem, and the protocols by which it asks for this."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray
from argbest.core.belief import Belief
from argbest.core.question import BEST, Contrasts, Question


class Column(NamedTuple):
    """One column of the contexts: a number or a name for each of them."""

    name: str
    values: tuple[float | str | bool, ...]
    categorical: bool


@dataclass(frozen=True, eq=False)
class Contexts:
    """The contexts of a problem: how much each counts, and the columns that describe it."""

    weights: Array  # how much each counts, [context], summing to 1
    columns: tuple[Column, ...] = ()  # what describes them
    answered: BoolArray | None = None  # where an alternative can be chosen, [context]; None: everywhere

    @property
    def counted(self) -> BoolArray:
        """Which contexts a choice for all of them has to care about, [context]."""
        return np.ones(len(self.weights), bool) if self.answered is None else self.answered

    @property
    def shares(self) -> Array:
        """The weights of the contexts that are ``answered``, summing to 1, [context]; 0 of the others."""
        if self.answered is None:
            return self.weights
        weights = np.where(self.answered, self.weights, 0.0)
        weights = weights if weights.any() else self.answered.astype(float)
        return np.asarray(weights / weights.sum()) if weights.any() else self.weights


class NamesContrastsByDraws(Question, Protocol):
    """A question whose contrasts come from joint draws: each compares its two best choices."""

    def drawn_contrasts(self, belief: Belief) -> Contrasts:
        """Return the differences that joint draws from the belief find hardest to decide."""


class AsksAboutContexts(Protocol):
    """A question that depends on the contexts of the problem: on their weights, or on their columns."""

    def about(self, contexts: Contexts) -> Question:
        """Return the question to a table with these contexts.

        Args:
            contexts: The contexts of the problem.
        """


def put_to(question: Question | AsksAboutContexts, contexts: Contexts) -> Question:
    """Return the question to a table with these contexts; most need to know their weights."""
    return question.about(contexts) if offers(question, AsksAboutContexts) else question  # type: ignore[return-value]


class KeepsLimits(Question, Protocol):
    """A question that is asked where choices must keep limits: tables are [..., outcome, ...]."""

    @property
    def inner(self) -> Question:
        """The question itself, which sees a table made of all outcomes."""

    @property
    def best_within(self) -> Question:
        """The best alternative of every context within the limits."""

    def at(self, belief: Belief, ruled_out: BoolArray | None = None) -> "KeepsLimits":
        """Return the question with the prices that follow from what is known now."""

    def tables(self, outcomes: Array) -> Array:
        """Return the rewards that the inner question sees, [..., alternative, context]."""


def of_table(question: Question) -> Question:
    """Return the question that a table of contexts answers, whatever else is asked: the best of each."""
    if offers(question, KeepsLimits):
        return question.best_within
    return question if question.name == BEST.name else BEST
