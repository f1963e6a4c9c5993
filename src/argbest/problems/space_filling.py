"""An initial design for tables too large to visit whole: some pairs, spread over all coordinates."""

from dataclasses import dataclass

import numpy as np

from argbest.checks import whole
from argbest.core.arrays import Array, IntArray
from argbest.core.coordinates import Coordinates
from argbest.errors import InputError
from argbest.problems.base import Problem


@dataclass(frozen=True)
class SpaceFilling:
    """``number`` pairs spread evenly over alternatives and contexts, ``replications`` times each.

    Scrambled Sobol points over all columns of both, each moved to the nearest pair not taken yet. Names
    without coordinates are taken in turn, so that all are used alike.
    """

    number: int
    replications: int = 2

    def __post_init__(self) -> None:
        whole("number", self.number, at_least=1)
        whole("replications", self.replications, at_least=1)

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[tuple[int, int]]:
        """Return the pairs once, then all again, as often as asked."""
        if self.number > problem.n_alternatives * problem.n_contexts:
            raise InputError(
                f"SpaceFilling asks for {self.number} pairs; the problem has {problem.n_alternatives} "
                f"alternatives x {problem.n_contexts} contexts. Ask for fewer, or give initial=2: every pair."
            )
        sides = [_Side(place, n, generator) for place, n in zip(places(problem), problem.shape, strict=True)]
        targets = _sobol(self.number, sum(side.dimension for side in sides), generator)
        taken = np.zeros(problem.shape, bool)
        once = []
        for target in targets:
            first, second = target[: sides[0].dimension], target[sides[0].dimension :]
            distance = sides[0].distance(first)[:, None] + sides[1].distance(second)
            k, c = divmod(int(np.argmin(np.where(taken, np.inf, distance))), problem.n_contexts)
            taken[k, c] = True
            sides[0].used[k] += 1
            sides[1].used[c] += 1
            once.append((k, c))
        return once * self.replications


def places(problem: Problem) -> tuple[Coordinates | None, Coordinates | None]:
    """Return where alternatives and where contexts lie; None for names without coordinates."""
    alternatives, contexts = problem.alternatives, problem.contexts
    return alternatives.located(alternatives.bounds()), contexts.located(problem.bounds)


class _Side:
    """The alternatives, or the contexts: how far each is from a target, and how often it was used."""

    def __init__(self, place: Coordinates | None, n: int, generator: np.random.Generator) -> None:
        self.used: IntArray = np.zeros(n, np.int64)
        self._place, self._turn = place, generator.permutation(n) / n  # decides between equals
        self.dimension = 0 if place is None else place.dimension

    def distance(self, target: Array) -> Array:
        """Return the squared distance of every entry from a target; of names, whose turn it is."""
        if self._place is None:
            return self.used + self._turn
        levels = self._place.points.max(axis=0) + 1.0
        low, high = self._place.points.min(axis=0), self._place.points.max(axis=0)
        aim = np.where(self._place.categorical, np.floor(target * levels), low + target * (high - low))
        squares: Array = self._place.separation(aim).sum(axis=0)
        return squares + 1e-9 * (self.used + self._turn)


def _sobol(n: int, dimension: int, generator: np.random.Generator) -> Array:
    """Return n scrambled Sobol points, [n, dimension]."""
    if dimension == 0:
        return np.zeros((n, 0))
    from scipy.stats import qmc  # takes half of the time that importing argbest would take

    engine = qmc.Sobol(dimension, scramble=True, seed=int(generator.integers(2**31)))
    points: Array = engine.random_base2(int(np.ceil(np.log2(n))) if n > 1 else 0)
    return points[:n]
