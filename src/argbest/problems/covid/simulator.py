"""Runs of the disease in several populations at once, and the simulator of a testing allocation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.problems.axis import Axis, Item
from argbest.problems.covid.inputs import checked_runs, checked_seeds, local
from argbest.problems.covid.parameters import Outbreak

COMPARTMENTS = ("S", "E", "P", "I", "M", "V", "QS", "QI", "R")
_AT_ONCE = 20_000  # population runs in one call: 10 MB of counts at most for a usual horizon


def curves(outbreak: Outbreak, shares: Any, seeds: Any, **contexts: Any) -> IntArray:
    """Return [..., population, day, compartment] how many people are in each of COMPARTMENTS, day 0 first.

    `shares` [..., population] divide the daily tests, one for each population and together at most 1;
    `seeds` [...] name the runs; contexts are `infection` [...], `contacts` [...], `tests` [...] or `cases`
    [..., population], by default the outbreak's own. Leading axes broadcast. One population's run depends on
    its own numbers, the seed and its position alone.
    """
    keys = checked_seeds(seeds)
    at = local(outbreak, shares, contexts, keys.shape)
    return _counts(outbreak, at, keys, np.arange(outbreak.days + 1))


def infections(outbreak: Outbreak, shares: Any, seeds: Any, **contexts: Any) -> IntArray:
    """Return [..., population] how many people were ever infected by the last day; arguments as in `curves`.

    That is everybody but the susceptible, free or in quarantine: N - S - QS.
    """
    keys = checked_seeds(seeds)
    at = local(outbreak, shares, contexts, keys.shape)
    lead = np.broadcast_shapes(at.shape[:-2], keys.shape)
    at = np.broadcast_to(at, (*lead, *at.shape[-2:])).reshape(-1, *at.shape[-2:])
    keys = np.broadcast_to(keys, lead).reshape(-1)
    ever = np.empty(at.shape[:-1], np.int64)
    step = max(1, _AT_ONCE // outbreak.n_populations)
    for first in range(0, len(ever), step):
        part = slice(first, first + step)
        last = _counts(outbreak, at[part], keys[part], np.array([outbreak.days]))[..., 0, :]
        ever[part] = at[part, :, 0].astype(np.int64) - last[..., 0] - last[..., 6]
    return ever.reshape(*lead, outbreak.n_populations)


def _counts(outbreak: Outbreak, at: Array, seeds: IntArray, days: IntArray) -> IntArray:
    from argbest.problems.covid import disease  # Numba: seconds, and only who simulates needs it

    keys, number = seeds[..., None], np.arange(outbreak.n_populations)
    width = np.arange(len(COMPARTMENTS))
    delay = outbreak.tracing_delay
    counts = disease.run()(at, outbreak.rates, outbreak.hazards, delay, keys, number, days, width)
    return np.asarray(counts, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class OutbreakRuns:
    """The simulator of a problem: total infections under a split of the tests, in a context.

    A run is a function of its seed, so `many` equals one call after the other, value by value.
    """

    outbreak: Outbreak
    alternatives: Axis
    contexts: Axis
    shares: Array  # [alternative, population]
    conditions: dict[str, Array]  # infection, contacts, tests [context], cases [context, population]

    def __post_init__(self) -> None:
        at = {name: values[None] for name, values in self.conditions.items()}
        local(self.outbreak, self.shares[:, None], at)  # refuses what the model has no meaning for

    def __call__(self, alternative: Item, context: Item, seed: int) -> float:
        """Return the number of people infected in one run."""
        where = self.alternatives.index(alternative), self.contexts.index(context)
        return float(self.many(np.array(where[0]), np.array(where[1]), np.array(seed)))

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Array:
        """Return [...] the infections of many runs, given positions on both axes; all broadcast."""
        shape = len(self.alternatives), len(self.contexts)
        rows, columns, keys = checked_runs(shape, alternatives, contexts, seeds)
        at = {name: values[columns] for name, values in self.conditions.items()}
        ever = infections(self.outbreak, self.shares[rows], keys, **at)
        return np.asarray(ever.sum(axis=-1), dtype=np.float64)
