"""How the table of a study changes (rows added, retired, readmitted), and what that means for a guarantee."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.storage.base import Plain, Revised


def revised(problem: Problem, event: Revised) -> Problem:
    """Return the problem with its table as an event changes it."""
    alternatives = _with_rows(problem.alternatives, event.alternatives)
    contexts = _with_rows(problem.contexts, event.contexts)
    return problem.revised(
        replace(alternatives, retired=frozenset(event.retired_alternatives)),
        replace(contexts, retired=frozenset(event.retired_contexts)),
        np.array(event.shares),
    )


def plain_rows(before: Axis, after: Axis) -> Plain | None:
    """Return the rows that were added at the end of an axis, as plain values; None if there are none."""
    n = len(before)
    if len(after) == n:
        return None
    columns = {name: list(values[n:]) for name, values in after.columns.items()}
    return {"labels": list(after.labels[n:]), "columns": columns}


def _with_rows(axis: Axis, added: Any) -> Axis:
    """Return an axis with the rows that `plain_rows` has stored."""
    if added is None:
        return axis
    columns = {name: values + tuple(added["columns"][name]) for name, values in axis.columns.items()}
    return replace(axis, labels=axis.labels + tuple(added["labels"]), columns=columns)


@dataclass(frozen=True)
class Generation:
    """Rows that were added together: the size of the table with them, and what was known before."""

    shape: tuple[int, int]
    seen: tuple[int, ...]  # of every context that was there: how many numbers of replications were in use


@dataclass(frozen=True)
class Generations:
    """When the rows of a table were added, and what part of alpha each bound of a guarantee gets from that.

    Users may choose what they add, or retire, after looking at values. A guarantee has to hold all the same,
    so three rules are fixed that do not depend on values:

    - Bounds between the first alternatives share all of alpha, and one half of it as soon as others are
      added. Those of the g-th addition share 1/(2 g (g + 1)) of it. Together that is alpha at most, however
      often a table grows and however many rows are added. With K alternatives up to an addition, K - 1 + m
      bounds can be needed (`Separations.lower`): they share the part of that addition.
    - A comparison with an alternative that was added counts only replications whose numbers were not in use
      when it was: the luck of smaller numbers was known then.
    - After a retirement the best of the others is in question, so that bounds about another best alternative
      are needed: each bound gets 1/4 of its part after one or two retirements, 1/(2 (r - 1) r) after r. That
      is enough: with b_j the j-th alternative that becomes the best, at most 2/4 + 1/2 of alpha is spent.

    In one context, then, the probability of any error is at most alpha in all answers before the table first
    changes, at most alpha in all answers from then to the first retirement, and at most alpha in all later.
    """

    first: tuple[int, int]
    added: tuple[Generation, ...] = ()
    ever_retired: frozenset[int] = frozenset()  # alternatives, once values were known

    def after(self, event: Revised, shape: tuple[int, int]) -> "Generations":
        """Return the generations after an event that leads to a table of this shape."""
        if not event.seen:  # nothing was known yet: as if the table had been so from the beginning
            return replace(self, first=shape) if not self.added else self
        retired = self.ever_retired | set(event.retired_alternatives)
        new = (Generation(shape, event.seen),) if shape != self.shape else ()
        return replace(self, added=(*self.added, *new), ever_retired=retired)

    @property
    def shape(self) -> tuple[int, int]:
        """The size of the table now."""
        return self.added[-1].shape if self.added else self.first

    def of_context(self, context: int, n_limits: int) -> "InContext":
        """Return the part of alpha and the replications that bounds of a context have."""
        addition = int(np.searchsorted(self._ends(1), context, side="right"))  # of the context; 0: at first
        ends = self._ends(0)[addition:]
        later = [(i, each) for i, each in enumerate(self.added[addition:], start=1) if ends[i] > ends[i - 1]]
        age = np.zeros(ends[-1], np.int64)
        start = np.zeros(ends[-1], np.int64)
        sizes = [int(ends[0])]
        for number, (i, generation) in enumerate(later, start=1):
            age[ends[i - 1] : ends[i]] = number
            start[ends[i - 1] : ends[i]] = generation.seen[context]
            sizes.append(int(ends[i]))
        parts = _parts(len(later)) * _after_retirements(len(self.ever_retired))
        bounds = np.maximum(np.array(sizes) - 1 + n_limits, 1)
        return InContext(age, start, parts / bounds)

    def of_contexts(self, alpha: float) -> Array:
        """Return the part of alpha that each context has in a guarantee about all of them, [context]."""
        sizes = [int(n) for n in np.diff(self._ends(1), prepend=0) if n]
        return np.repeat(alpha * _parts(len(sizes) - 1) / np.array(sizes), sizes)

    def _ends(self, axis: int) -> IntArray:
        """Return how many rows there were at first and after every addition."""
        return np.array([self.first[axis], *(each.shape[axis] for each in self.added)])


@dataclass(frozen=True)
class InContext:
    """What part of alpha the bounds of one context have, and which replications they may count."""

    age: IntArray  # [alternative]: 0 of those that were there at first, g of the g-th addition
    start: IntArray  # [alternative]: the first number of a replication that counts
    part: Array  # [age]: of alpha, for one bound

    def with_chosen(self, chosen: int) -> tuple[Array, IntArray]:
        """Return part and first number of the comparison of each alternative with the chosen one."""
        return self.part[np.maximum(self.age, self.age[chosen])], np.maximum(self.start, self.start[chosen])

    @property
    def own(self) -> tuple[Array, IntArray]:
        """Part and first number of a bound about each alternative by itself."""
        return self.part[self.age], self.start


def _parts(n_later: int) -> Array:
    """Return what part of an error each generation has: all of it, or 1/2 and 1/(2 g (g + 1))."""
    if not n_later:
        return np.ones(1)
    g = np.arange(1, n_later + 1)
    return np.concatenate([[0.5], 0.5 / (g * (g + 1))])


def _after_retirements(n: int) -> float:
    """Return what part of an error is left for each bound after so many retirements."""
    return 1.0 if n == 0 else 0.25 if n <= 2 else 0.5 / ((n - 1) * n)


def retired_pairs(problem: Problem) -> BoolArray:
    """Return [alternative, context] whether the alternative or the context of a pair is retired."""
    return np.asarray(~(problem.alternatives.active[:, None] & problem.contexts.active))
