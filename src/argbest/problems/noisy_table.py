"""Problems that look up a mean and add noise, how hard they are, and random numbers for those beyond."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argbest import streams
from argbest.checks import finite
from argbest.core.arrays import Array, IntArray
from argbest.problems.axis import Axis, Item
from argbest.problems.base import Problem


@dataclass(frozen=True, eq=False)
class ByPosition(ABC):
    """A simulator that works on positions, many at a time; one call is one of them."""

    alternatives: Axis
    contexts: Axis

    def __call__(self, alternative: Item, context: Item, seed: int) -> float:
        """Return one noisy reward."""
        cell = self.alternatives.index(alternative), self.contexts.index(context)
        return float(self.many(np.array(cell[0]), np.array(cell[1]), np.array(seed)))

    @abstractmethod
    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Array:
        """Return the rewards of positions and seeds, broadcast: what single calls give one by one."""


@dataclass(frozen=True, eq=False)
class NoisyTable(ByPosition):
    """A simulator that looks up the mean and adds normal noise, a function of the seed alone.

    Alternatives that share a seed would have all of that noise in common. Where they do, `sharing` mixes the
    alternative in, so that the noise of two of them has the ``correlation`` stated.
    """

    mean: Array  # [alternative, context]
    noise_sd: Array  # [alternative, context]
    correlation: float = 0.0
    shared: bool = False  # whether alternatives share seeds

    def sharing(self) -> "NoisyTable":
        """Return the simulator for alternatives that share seeds."""
        return replace(self, shared=True)

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Array:
        """Return the rewards of positions and seeds, broadcast: what single calls give one by one."""
        cells = np.asarray(alternatives), np.asarray(contexts)
        return np.asarray(self.mean[cells] + self.noise_sd[cells] * self._noise(cells[0], seeds))

    def _noise(self, alternatives: IntArray, seeds: IntArray) -> Array:
        """Return standard normal noise: common and own part in the lanes 0 and from 1 of a shared seed."""
        if not self.shared:
            return streams.standard_normal(seeds)
        n, rho = len(self.alternatives), self.correlation
        own = streams.standard_normal(seeds, 1 + alternatives % n)
        if rho >= 0:
            return np.asarray(np.sqrt(rho) * streams.standard_normal(seeds) + np.sqrt(1 - rho) * own)
        every = streams.standard_normal(np.asarray(seeds)[..., None], 1 + np.arange(n))
        mean = every.mean(axis=-1)
        return np.asarray(np.sqrt(1 - rho) * (own - mean) + np.sqrt(1 + (n - 1) * rho) * mean)


def table_problem(
    alternatives: Axis,
    contexts: Axis,
    *,
    truth: Array,
    noise_sd: Array,
    correlation: float = 0.0,
    **options: Any,
) -> Problem:
    """Return the problem whose simulator looks up its truth; the options are those of `Problem`.

    ``correlation`` is that of the noise of alternatives that share random numbers.
    """
    rho = finite("correlation", correlation, above=-1.0 / max(len(alternatives) - 1, 1), below=1.0)
    simulate = NoisyTable(alternatives, contexts, truth, noise_sd, rho)
    return Problem(alternatives, contexts, simulate, truth=truth, noise_sd=noise_sd, **options)


def uniform(seeds: IntArray, n: int, *, step: int = 0) -> Array:
    """Return [..., n] numbers in (0, 1) per simulation seed; the first ones are the same whatever n is.

    They are the midpoints of 2^32 equal intervals: never 0 or 1, and with means exact to about 1e-10.
    """
    key, blocks = np.asarray(seeds)[..., None], -(-n // 4)
    counter = (np.arange(blocks), step, 0, streams.Purpose.NOISE)
    words = streams.philox(counter, (key & 0xFFFFFFFF, key >> 32)).reshape(*key.shape[:-1], 4 * blocks)
    return np.asarray((words[..., :n] + 0.5) * 2.0**-32, dtype=np.float64)


def with_hardness(problem: Problem) -> Problem:
    """Return the problem with a last clause in its description: ties, and gaps over the noise."""
    ratio = problem.gap_over_noise
    clauses = []
    tied = sum(len(tie) > 1 for tie in problem.ties)
    if tied:
        clauses.append(f"the best is tied in {tied} of {problem.n_contexts} contexts")
    if tied < problem.n_contexts:
        apart = ratio[ratio > 0]
        spread = f"{apart.min():.2g} to {apart.max():.2g} (median {np.median(apart):.2g})"
        span = spread if len(apart) > 1 else f"{apart[0]:.2g}"
        clauses.append(f"the best leads by {span} noise standard deviations")
    return replace(problem, description=f"{problem.description}; {' and elsewhere '.join(clauses)}.")


_MEANS = (1.2, 2.1, 3.4, 4.87, 6.05)
_VARIANCES = (3.3, 2.0, 4.5, 5.3, 6.9)


def classical() -> Problem:
    """Return the textbook's five normal alternatives of unequal variance, the smallest mean being best."""
    problem = table_problem(
        Axis.of("alternative", ["A", "B", "C", "D", "E"]),
        Axis.of("context", ["always"]),
        truth=np.array(_MEANS)[:, None],
        noise_sd=np.sqrt(_VARIANCES)[:, None],
        goal="min",
        name="classical",
        description="A textbook case without contexts: five normal alternatives of unequal variance; "
        "the truth is given",
    )
    return with_hardness(problem)
