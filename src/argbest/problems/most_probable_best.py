"""A published problem without any structure, in which one alternative is the best in most contexts."""

from dataclasses import dataclass

import numpy as np

from argbest import streams
from argbest.checks import interval
from argbest.core.arrays import Array, IntArray
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.noisy_table import table_problem

WINS = (9, 6, 5, 5, 5, 5, 5, 5, 5, 0)  # contexts in which each alternative is the best
NOISE, MORE_NOISE = (4.0, 6.0), (8.0, 12.0)  # the standard deviation of a pair lies between these


@dataclass(frozen=True)
class MostProbableBestProblem:
    """The baseline of Kim, Song and others, "The most probable best": 10 alternatives, 50 contexts.

    The smallest mean is the best. The means of a context are 1 to 10: 1 for its best alternative, which is
    the same in all draws, and a random order of 2 to 10 for the others. Every pair has a standard deviation
    of its own, uniform within ``noise``; noise is normal and independent.
    """

    noise: tuple[float, float] = NOISE
    name: str = "most-probable-best"

    def __post_init__(self) -> None:
        interval("noise", self.noise)

    @property
    def description(self) -> str:
        """What its problems have in common."""
        low, high = self.noise
        return (
            "A published baseline: ten alternatives are the best in 9, 6, 5, 5, 5, 5, 5, 5, 5 and 0 of 50 "
            "contexts, where the means are 1 for the best and 2 to 10 in random order for the others; the "
            f"noise is normal with standard deviations between {low:g} and {high:g}, and the truth is the "
            "draw itself, another for every seed."
        )

    @property
    def best(self) -> IntArray:
        """The best alternative of every context, [context]."""
        return np.repeat(np.arange(len(WINS)), WINS)

    def draw(self, seed: int) -> Problem:
        """Return the problem of one seed."""
        numbers = streams.generator(seed, streams.Purpose.PROBLEM)
        truth = self._means(numbers)
        return table_problem(
            Axis.of("alternative", [chr(ord("A") + k) for k in range(len(truth))]),
            Axis.of("context", [f"c{c + 1}" for c in range(truth.shape[1])]),
            truth=truth,
            noise_sd=numbers.uniform(*self.noise, size=truth.shape),
            goal="min",
            question="most-probable-best",
            name=self.name,
            description=self.description,
        )

    def _means(self, numbers: np.random.Generator) -> Array:
        best, n = self.best, len(WINS)
        others = numbers.permuted(np.tile(np.arange(2.0, n + 1.0), (len(best), 1)), axis=1)
        found = np.empty((len(best), n))
        for mean, b, rest in zip(found, best, others, strict=True):
            mean[b], mean[np.arange(n) != b] = 1.0, rest
        return found.T


def most_probable_best() -> MostProbableBestProblem:
    """Return the baseline with standard deviations between 4 and 6."""
    return MostProbableBestProblem()


def most_probable_best_noisy() -> MostProbableBestProblem:
    """Return the baseline with standard deviations between 8 and 12."""
    return MostProbableBestProblem(MORE_NOISE, "most-probable-noisy")
