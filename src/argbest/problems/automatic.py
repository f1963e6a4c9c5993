"""The initial design that argbest chooses itself: every pair of a small table, some pairs of a large one."""

from dataclasses import dataclass

import numpy as np

from argbest.problems.base import Problem
from argbest.problems.design import EveryPair, Pair
from argbest.problems.space_filling import SpaceFilling, places

AUTO = "auto"
USUAL_BUDGET = 1_000  # replications, where nobody has said how many there will be
SHARE = 0.5  # of the budget that may go to the initial design
_TWICE = 2  # replications, from which a variance can be estimated
_PER_PARAMETER = 10  # pairs from which a parameter can be learned
_PER_NAME = 3  # pairs of an alternative, or a context, without coordinates


@dataclass(frozen=True)
class Automatic:
    """Every pair twice where that takes at most half of the budget, otherwise some pairs twice.

    These are spread over all coordinates: ten for each of the model's ``parameters``, and three for each name
    without coordinates, as far as half of the budget goes. A model without a number of parameters learns
    nothing about a pair from others, so it begins with every pair, whatever the budget.
    """

    parameters: int | None
    budget: int | None = None

    def chosen(self, problem: Problem) -> EveryPair | SpaceFilling:
        """Return the design."""
        whole = problem.n_alternatives * problem.n_contexts
        affordable = int(SHARE * self._budget)
        if self.parameters is None or _TWICE * whole <= affordable:
            return EveryPair(_TWICE)
        sides = zip(places(problem), problem.shape, strict=True)
        names = max((n for place, n in sides if place is None), default=0)
        enough = max(_PER_PARAMETER * self.parameters, _PER_NAME * names)
        return SpaceFilling(max(1, min(enough, affordable // _TWICE, whole)), _TWICE)

    def size(self, problem: Problem) -> int:
        """Return the number of replications of the design."""
        design = self.chosen(problem)
        pairs = design.number if isinstance(design, SpaceFilling) else np.prod(problem.shape)
        return int(design.replications * pairs)

    def reason(self, problem: Problem) -> str:
        """Return what the design does and why, in a line."""
        design, whole = self.chosen(problem), problem.n_alternatives * problem.n_contexts
        if self.parameters is None:
            return f"every pair twice ({_TWICE * whole:,} replications): this model learns each by itself"
        known = (
            f"the budget of {self.budget:,}" if self.budget is not None else f"a budget of {USUAL_BUDGET:,}"
        )
        if isinstance(design, EveryPair):
            return f"every pair twice ({_TWICE * whole:,} replications), at most half of {known}"
        return (
            f"{design.number:,} of {whole:,} pairs, spread evenly, twice each ({_TWICE * design.number:,} "
            f"replications): every pair twice would take {_TWICE * whole:,}, more than half of {known}"
        )

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[Pair]:
        """Return the pairs of the design chosen."""
        return self.chosen(problem).pairs(problem, generator)

    @property
    def _budget(self) -> int:
        return USUAL_BUDGET if self.budget is None else self.budget


def is_auto(given: object) -> bool:
    """Return whether argbest shall choose the initial design."""
    return isinstance(given, str) and given == AUTO  # what is given may be a table, which answers == by cell


def for_model(model: object, problem: Problem, budget: int | None) -> Automatic:
    """Return the design for a model: those that learn about pairs from others have ``n_parameters``."""
    number = getattr(model, "n_parameters", None)
    return Automatic(None if number is None else number(problem.shape, problem.setting), budget)
