"""Setting: what models and policies may know of the problem, and what can be selected at all."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar, cast

import numpy as np

from argbest.core.abilities import offers
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.belief import Belief, SeveralOutcomes, with_mean
from argbest.core.outcomes import ONE, Basis
from argbest.core.question import BEST, Question
from argbest.errors import InputError


@dataclass(frozen=True)
class Coordinates:
    """One point per entry; a table of all distances is never made, only the rows that are asked for."""

    points: Array  # [entry, coordinate]: numbers over their range, categories by their number
    categorical: BoolArray  # [coordinate]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return int(self.points.shape[1])

    def some(self, entries: IntArray) -> "Coordinates":
        """Return where some of the entries lie."""
        return Coordinates(self.points[entries], self.categorical)

    def separation(self, entries: Array) -> Array:
        """Return squared distances [coordinate, ..., entry] from the points of ``entries`` [..., coordinate].

        A category is at distance 0 from itself and 1 from any other.
        """
        step = np.moveaxis(entries[..., None, :] - self.points, -1, 0)
        kind = self.categorical.reshape(-1, *(1,) * (step.ndim - 1))
        return np.where(kind, step != 0.0, step**2)


@dataclass(frozen=True)
class Setting:
    """Weights and separations of the contexts, which pairs are allowed now, their costs, what is asked."""

    weights: Array  # [context], sums to 1
    separation: Array  # [coordinate, context, context]: squared distances after scaling by the bounds
    allowed: BoolArray  # [..., context]
    cost: Array | None = None  # [alternative, context]: of a replication, above 0, in any unit; None: alike
    excluded: BoolArray | None = None  # [..., alternative, context]: set aside for now; None: none
    alternatives: Coordinates | None = None  # where alternatives lie; None: names without coordinates
    question: Question = BEST  # what is to be chosen; only `takes_questions` policies see another one
    basis: Basis = ONE  # what is learned about, and how goal and limits follow from it
    n_sources: int = 0  # the last coordinates of contexts that are sources: see `argbest.core.earlier`

    @cached_property
    def unrestricted(self) -> bool:
        """Whether every pair may be simulated now."""
        return self.excluded is None and bool(self.allowed.all())

    def candidates(self, shape: tuple[int, ...]) -> BoolArray:
        """Return which pairs may be simulated now, [..., alternative, context] as ``shape`` says.

        Args:
            shape: That of the table, (..., alternatives, contexts).
        """
        marked: BoolArray = np.ones(shape, bool) & self.allowed[..., None, :]
        if self.excluded is None:
            return marked
        marked = marked & ~self.excluded
        if not np.all(marked.any(axis=(-2, -1))):
            raise InputError(
                "no pair is left to simulate: all pairs of the allowed contexts have been set aside. "
                "Ask for other contexts, or fix the simulator and readmit the pairs."
            )
        return marked

    def among(self, alternatives: IntArray) -> "Setting":
        """Return the setting of some alternatives.

        Args:
            alternatives: Positions of the alternatives.
        """
        return replace(
            self,
            cost=None if self.cost is None else self.cost[alternatives],
            excluded=None if self.excluded is None else self.excluded[..., alternatives, :],
            alternatives=None if self.alternatives is None else self.alternatives.some(alternatives),
        )

    def spent(self, count: AnyArray) -> AnyArray:
        """Return what so many replications of every pair cost, [..., alternative, context].

        Args:
            count: The replications of every pair, [..., alternative, context].
        """
        return count if self.cost is None else count * self.cost

    def per_cost(self, log_value: Array) -> Array:
        """Return the logarithm of value / cost from that of the value, [..., alternative, context].

        Args:
            log_value: The logarithm of what a replication of every pair is worth.
        """
        return log_value if self.cost is None else log_value - np.log(self.cost)


_Belief = TypeVar("_Belief", bound=Belief)
_FAR = 100.0  # ranges and standard deviations of a context: too far for any probability, loss or draw


def among_the_rest(belief: _Belief, ruled_out: BoolArray | None) -> _Belief:
    """Return the belief with the pairs ``ruled_out`` [..., alternative, context] far below all others.

    So everything that follows from it (probabilities, losses, bounds, draws, decisions of policies) is as
    if these pairs were not there, however many are left in a context. A context in which none is left stays
    as it is; answers then say that it has no answer.
    """
    if ruled_out is None or not ruled_out.any():
        return belief
    if offers(belief, SeveralOutcomes):
        return cast(_Belief, belief.without(ruled_out))
    lowered = ruled_out & ~ruled_out.all(axis=-2, keepdims=True)
    low = np.min(belief.mean, axis=-2, keepdims=True, where=~lowered, initial=np.inf)
    high = np.max(belief.mean, axis=-2, keepdims=True, where=~lowered, initial=-np.inf)
    width = high - low + np.sqrt(belief.var.max(axis=-2, keepdims=True))
    width = np.where(width > 0, width, np.maximum(np.abs(low), 1.0))
    return with_mean(belief, np.where(lowered, low - _FAR * width, belief.mean))


def not_lowered(belief: _Belief, original: Belief, ruled_out: BoolArray | None) -> _Belief:
    """Return the belief with the ``original`` means of pairs that `among_the_rest` put far below others."""
    if ruled_out is None or not ruled_out.any() or offers(belief, SeveralOutcomes):
        return belief  # of several outcomes only a slack is lowered
    return with_mean(belief, np.where(ruled_out, original.mean, belief.mean))
