"""Runs of the disease in several populations at once, of inputs that are checked before anything runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.errors import InputError, unknown_name
from argbest.problems.covid.parameters import MOST_CONTACTS, Outbreak
from argbest.problems.noisy_table import ByPosition

CONDITIONS = ("infection", "contacts", "tests", "cases")
_PER_POPULATION = ("shares", "cases")
_ROUNDING = 1e-9  # of a sum of shares


def checked_outbreak(given: object) -> Outbreak:
    """Return the outbreak, or raise an InputError if it is something else."""
    if isinstance(given, Outbreak):
        return given
    hint = "Outbreak(**that)" if isinstance(given, Mapping) else "Outbreak(sizes=..., cases=..., ...)"
    raise InputError(f"got outbreak={given!r}; expected an Outbreak. Give {hint}.")


def local(outbreak: Outbreak, shares: Any, contexts: Mapping[str, Any], lead: tuple[int, ...] = ()) -> Array:
    """Return [..., population, 5]: size, cases, chance to be tested on a day, infection chance, contacts.

    That chance is tests * share / size. `lead` is the shape of the seeds, which must go with the others.
    """
    own = checked_outbreak(outbreak)
    for name in contexts:
        if name not in CONDITIONS:
            raise unknown_name("condition", name, CONDITIONS)
    given = {
        name: getattr(own, name) if contexts.get(name) is None else contexts[name] for name in CONDITIONS
    }
    numbers = {name: _numbers(name, value) for name, value in ({"shares": shares} | given).items()}
    _check_shapes(numbers, own.n_populations, lead)
    _check_values(numbers, np.array(own.sizes, float))
    at = {name: x if name in _PER_POPULATION else x[..., None] for name, x in numbers.items()}
    chance = at["tests"] * at["shares"] / np.array(own.sizes)
    _check_range("tests * share / size, the chance of a person to be tested on a day,", chance, 0.0, 1.0)
    columns = own.sizes, at["cases"], chance, at["infection"], at["contacts"]
    return np.stack(np.broadcast_arrays(*columns), axis=-1).astype(np.float64)


def possible(shares: Array) -> BoolArray:
    """Return [...] whether no share [..., population] is negative and all together are at most 1."""
    return np.asarray((shares >= 0).all(axis=-1) & (shares.sum(axis=-1) <= 1 + _ROUNDING))


def _array(given: Any) -> AnyArray:
    try:
        return np.asarray(given)
    except ValueError:  # rows of different lengths
        return np.asarray(None)


def _numbers(name: str, given: Any) -> Array:
    array = _array(given)
    if array.dtype.kind not in "iuf":
        raise InputError(f"got {name}={given!r}; expected a number or an array of numbers. Convert it.")
    return array.astype(np.float64)


def _check_shapes(numbers: Mapping[str, Array], n_populations: int, lead: tuple[int, ...]) -> None:
    """Refuse arrays that do not go together."""
    for name in _PER_POPULATION:
        shape = numbers[name].shape
        if shape[-1:] != (n_populations,):
            raise InputError(
                f"got {name} of shape {shape} for {n_populations} populations; expected the last axis to be "
                "the population. Give one number for each."
            )
    cut = {name: x.shape[:-1] if name in _PER_POPULATION else x.shape for name, x in numbers.items()}
    check_together(cut | {"seeds": lead}, "shares and cases without their last axis")


def check_together(shapes: Mapping[str, tuple[int, ...]], remark: str = "") -> None:
    """Refuse shapes that do not broadcast."""
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if shape)
        raise InputError(
            f"got arrays of the shapes {listed}{remark and f' ({remark})'}; expected shapes that broadcast. "
            "Give equal shapes, or axes of length 1."
        ) from None


def _check_values(numbers: Mapping[str, Array], sizes: Array) -> None:
    """Refuse values for which the model has no meaning."""
    split = numbers["shares"]
    if not possible(split).all():
        wrong = split[~possible(split)][0].tolist()
        raise InputError(
            f"got the shares {wrong}; expected none negative and a sum of at most 1, for there are no more "
            "tests. Correct them, or raise `tests`."
        )
    _check_range("cases", numbers["cases"], 0.0, sizes)
    _check_range("tests", numbers["tests"], 0.0, np.finfo(np.float64).max)
    _check_range("infection", numbers["infection"], 0.0, 1.0)
    _check_range("contacts", numbers["contacts"], 0.0, MOST_CONTACTS)
    if (numbers["cases"] != np.rint(numbers["cases"])).any():
        raise InputError("cases must be whole numbers of people. Round them.")


def _check_range(name: str, values: Array, least: float, most: Any) -> None:
    bad = ~((values >= least) & (values <= most))  # catches NaN too
    if bad.any():
        limit = np.broadcast_to(most, values.shape)[bad][0]
        raise InputError(
            f"{name} must be from {least:g} to {limit:g}, got {values[bad][0]:g}. Correct the inputs."
        )


def checked_seeds(seeds: Any) -> IntArray:
    """Return the seeds as 64-bit integers, or raise an InputError."""
    array = _array(seeds)
    if array.dtype.kind not in "iu" or (array.size and not 0 <= int(array.min()) <= int(array.max()) < 2**63):
        raise InputError(f"got seeds {seeds!r}; a seed is an integer from 0 to 2^63 - 1. Pass integers.")
    return array.astype(np.int64)


def checked_runs(
    shape: tuple[int, int], alternatives: Any, contexts: Any, seeds: Any
) -> tuple[IntArray, IntArray, IntArray]:
    """Return positions of alternatives and contexts, and seeds, checked and fit to broadcast."""
    rows = _positions("alternative", alternatives, shape[0])
    columns, keys = _positions("context", contexts, shape[1]), checked_seeds(seeds)
    check_together({"alternatives": rows.shape, "contexts": columns.shape, "seeds": keys.shape})
    return rows, columns, keys


def _positions(kind: str, given: Any, n: int) -> IntArray:
    array = np.asarray(given)
    whole = array.dtype.kind in "iu"
    if whole and (array.size == 0 or 0 <= int(array.min()) <= int(array.max()) < n):
        return array.astype(np.int64)
    shown = array[(array < 0) | (array >= n)].flat[0] if whole else repr(given)
    raise InputError(
        f"got {kind} position {shown}; expected whole numbers from 0 to {n - 1}. Give positions, or call the "
        f"simulator with the {kind} itself."
    )


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
class OutbreakRuns(ByPosition):
    """The simulator of a problem: total infections under a split of the tests, in a context.

    A run is a function of its seed, so `many` equals one call after the other, value by value.
    """

    outbreak: Outbreak
    shares: Array  # [alternative, population]
    conditions: dict[str, Array]  # infection, contacts, tests [context], cases [context, population]

    def __post_init__(self) -> None:
        at = {name: values[None] for name, values in self.conditions.items()}
        local(self.outbreak, self.shares[:, None], at)  # refuses what the model has no meaning for

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Array:
        """Return [...] the infections of many runs, given positions on both axes; all broadcast."""
        shape = len(self.alternatives), len(self.contexts)
        rows, columns, keys = checked_runs(shape, alternatives, contexts, seeds)
        at = {name: values[columns] for name, values in self.conditions.items()}
        ever = infections(self.outbreak, self.shares[rows], keys, **at)
        return np.asarray(ever.sum(axis=-1), dtype=np.float64)
