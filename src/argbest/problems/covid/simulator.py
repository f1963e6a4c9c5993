"""Runs of the disease in several populations at once, and the simulator of a testing allocation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.errors import InputError
from argbest.problems.axis import Axis, Item
from argbest.problems.covid.parameters import MOST_CONTACTS, Outbreak

COMPARTMENTS = ("S", "E", "P", "I", "M", "V", "QS", "QI", "R")
_AT_ONCE = 20_000  # population runs in one call: 10 MB of counts at most for a usual horizon


def curves(outbreak: Outbreak, shares: Any, seeds: Any, **contexts: Any) -> IntArray:
    """Return [..., population, day, compartment] how many people are in each of COMPARTMENTS, day 0 first.

    `shares` [..., population] divide the daily tests, `seeds` [...] name the runs; contexts are `infection`
    [...], `contacts` [...], `tests` [...] or `cases` [..., population], by default the outbreak's own. All
    broadcast. One population's run depends on its own numbers, the seed and its position alone.
    """
    days = np.arange(outbreak.days + 1)
    return _counts(outbreak, _local(outbreak, shares, **contexts), seeds, days)


def infections(outbreak: Outbreak, shares: Any, seeds: Any, **contexts: Any) -> IntArray:
    """Return [..., population] how many people were ever infected by the last day; arguments as in `curves`.

    That is everybody but the susceptible, free or in quarantine: N - S - QS.
    """
    local = _local(outbreak, shares, **contexts)
    keys = np.asarray(seeds)
    lead = np.broadcast_shapes(local.shape[:-2], keys.shape)
    local = np.broadcast_to(local, (*lead, *local.shape[-2:])).reshape(-1, *local.shape[-2:])
    keys = np.broadcast_to(keys, lead).reshape(-1)
    ever = np.empty(local.shape[:-1], np.int64)
    step = max(1, _AT_ONCE // outbreak.n_populations)
    for first in range(0, len(ever), step):
        part = slice(first, first + step)
        last = _counts(outbreak, local[part], keys[part], np.array([outbreak.days]))[..., 0, :]
        ever[part] = local[part, :, 0].astype(np.int64) - last[..., 0] - last[..., 6]
    return ever.reshape(*lead, outbreak.n_populations)


def _counts(outbreak: Outbreak, local: Array, seeds: Any, days: IntArray) -> IntArray:
    from argbest.problems.covid import disease  # Numba: seconds, and only who simulates needs it

    keys, number = checked_seeds(seeds)[..., None], np.arange(outbreak.n_populations)
    width = np.arange(len(COMPARTMENTS))
    delay = outbreak.tracing_delay
    counts = disease.run()(local, outbreak.rates, outbreak.hazards, delay, keys, number, days, width)
    return np.asarray(counts, dtype=np.int64)


def _local(
    outbreak: Outbreak,
    shares: Any,
    *,
    infection: Any = None,
    contacts: Any = None,
    tests: Any = None,
    cases: Any = None,
) -> Array:
    """Return [..., population, 5]: size, cases, chance to be tested on a day, infection chance, contacts."""
    sizes = np.array(outbreak.sizes, float)
    columns = [
        sizes,
        np.asarray(outbreak.cases if cases is None else cases, float),
        np.asarray(shares, float),
        np.asarray(outbreak.infection if infection is None else infection, float)[..., None],
        np.asarray(outbreak.contacts if contacts is None else contacts, float)[..., None],
        np.asarray(outbreak.tests if tests is None else tests, float)[..., None],
    ]
    try:
        *usual, supply = np.broadcast_arrays(*columns)
    except ValueError:
        raise InputError(
            f"got shares, cases, tests, infection, contacts of the shapes {[np.shape(c) for c in columns]} "
            f"that do not go together; the last axis is the population ({len(sizes)}). Give matching arrays."
        ) from None
    local = np.stack(usual, axis=-1)
    local[..., 2] = supply * local[..., 2] / local[..., 0]
    _check_local(local, len(sizes))
    return local


def _check_local(local: Array, n_populations: int) -> None:
    """Refuse values for which the model has no meaning."""
    rules: dict[str, tuple[Array, float, Any]] = {
        "cases": (local[..., 1], 0.0, local[..., 0]),
        "tests * share / size, the chance of a person to be tested on a day,": (local[..., 2], 0.0, 1.0),
        "infection": (local[..., 3], 0.0, 1.0),
        "contacts": (local[..., 4], 0.0, MOST_CONTACTS),
    }
    if local.shape[-2] != n_populations:
        raise InputError(f"got {local.shape[-2]} shares for {n_populations} populations. Give one each.")
    for name, (values, least, most) in rules.items():
        bad = ~((values >= least) & (values <= most))  # catches NaN too
        if bad.any():
            limit = np.broadcast_to(most, values.shape)[bad][0]
            raise InputError(
                f"{name} must be from {least:g} to {limit:g}, got {values[bad][0]:g}. Correct the inputs."
            )
    if (local[..., 1] != np.rint(local[..., 1])).any():
        raise InputError("cases must be whole numbers of people. Round them.")


def checked_seeds(seeds: Any) -> IntArray:
    """Return the seeds as 64-bit integers, or raise an InputError."""
    array = np.asarray(seeds)
    if array.dtype.kind not in "iu" or (array.size and not 0 <= int(array.min()) <= int(array.max()) < 2**63):
        raise InputError(f"got seeds {seeds!r}; a seed is an integer from 0 to 2^63 - 1. Pass integers.")
    return array.astype(np.int64)


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
        _local(self.outbreak, self.shares[:, None], **at)  # refuses what the model has no meaning for

    def __call__(self, alternative: Item, context: Item, seed: int) -> float:
        """Return the number of people infected in one run."""
        where = self.alternatives.index(alternative), self.contexts.index(context)
        return float(self.many(np.array(where[0]), np.array(where[1]), np.array(seed)))

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Array:
        """Return [...] the infections of many runs, given positions on both axes; all broadcast."""
        at = {name: values[contexts] for name, values in self.conditions.items()}
        ever = infections(self.outbreak, self.shares[alternatives], seeds, **at)
        return np.asarray(ever.sum(axis=-1), dtype=np.float64)
