"""Simulators that look up a mean and add noise, and the random numbers of those that do more."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from argbest import streams
from argbest.core.arrays import Array, IntArray
from argbest.problems.axis import Axis, Item
from argbest.problems.base import Problem


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A simulator that looks up the mean and adds normal noise, a function of the seed alone."""

    alternatives: Axis
    contexts: Axis
    mean: Array  # [alternative, context]
    noise_sd: Array  # [alternative, context]

    def __call__(self, alternative: Item, context: Item, seed: int) -> float:
        """Return one noisy reward."""
        cell = self.alternatives.index(alternative), self.contexts.index(context)
        return float(self.mean[cell] + self.noise_sd[cell] * streams.standard_normal(seed))

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Array:
        """Return the rewards of positions and seeds, broadcast: what single calls give one by one."""
        cells = np.asarray(alternatives), np.asarray(contexts)
        return np.asarray(self.mean[cells] + self.noise_sd[cells] * streams.standard_normal(seeds))


def table_problem(
    alternatives: Axis, contexts: Axis, *, truth: Array, noise_sd: Array, **options: Any
) -> Problem:
    """Return the problem whose simulator looks its truth up; the options are those of `Problem`."""
    simulate = NoisyTable(alternatives, contexts, truth, noise_sd)
    return Problem(alternatives, contexts, simulate, truth=truth, noise_sd=noise_sd, **options)


def uniform(seeds: IntArray, n: int, *, step: int = 0) -> Array:
    """Return [..., n] numbers in (0, 1) per simulation seed; the first ones are the same whatever n is.

    They are the midpoints of 2^32 equal intervals: never 0 or 1, and with means exact to about 1e-10.
    """
    key, blocks = np.asarray(seeds)[..., None], -(-n // 4)
    counter = (np.arange(blocks), step, 0, streams.Purpose.NOISE)
    words = streams.philox(counter, (key & 0xFFFFFFFF, key >> 32)).reshape(*key.shape[:-1], 4 * blocks)
    return np.asarray((words[..., :n] + 0.5) * 2.0**-32, dtype=np.float64)
