"""Several contexts in few words: "rate 10; rate 20, day Mon or Sun" instead of one after the other."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from argbest.core.arrays import IntArray
from argbest.problems.axis import Axis
from argbest.report import curves

_FEWEST_IN_A_RANGE = 3  # neighbouring numbers that are written by their ends
_Key: TypeAlias = tuple[int, ...]


def grouped(axis: Axis, group: Sequence[int]) -> list[str]:
    """Return contexts of several columns as texts that together name these and no others.

    A column is left out where all its values are there; those that differ in one column alone share a text.
    """
    columns = {name: curves.levels(name, values) for name, values in axis.columns.items()}
    level = {name: which for name, (_, which) in columns.items()}
    there = np.flatnonzero(axis.active).tolist()
    kept = list(columns)
    for name in columns:
        rest = [each for each in kept if each != name]
        own = _apart(level, group, rest, name)
        n_levels = len({int(level[name][c]) for c in there})
        if rest and all(len(values) == n_levels for values in own.values()):
            kept = rest
    by = min(reversed(kept), key=lambda name: len(_apart(level, group, _without(kept, name), name)))
    parts = []
    for key, values in _apart(level, group, _without(kept, by), by).items():
        fixed = dict(zip(_without(kept, by), key, strict=True))
        said = {name: columns[name][0].labels[place] for name, place in fixed.items()}
        n_levels = len({int(level[by][c]) for c in there})
        if not fixed or len(values) < n_levels:
            said[by] = _values(sorted(values), columns[by][0].labels, numbers=by in axis.metric)
        parts.append(", ".join(f"{name} {said[name]}" for name in kept if name in said))
    return parts


def _without(names: Sequence[str], name: str) -> list[str]:
    return [each for each in names if each != name]


def _apart(
    level: dict[str, IntArray], group: Sequence[int], by: Sequence[str], name: str
) -> dict[_Key, set[int]]:
    """Return which levels of one column are there, for each combination of the levels of others."""
    found: dict[_Key, set[int]] = {}
    for c in group:
        found.setdefault(tuple(int(level[each][c]) for each in by), set()).add(int(level[name][c]))
    return found


def _values(places: Sequence[int], labels: Sequence[str], *, numbers: bool) -> str:
    """Return "Mon or Sun"; of three numbers or more that are neighbours, "10 to 30"."""
    if numbers and len(places) >= _FEWEST_IN_A_RANGE and places[-1] - places[0] == len(places) - 1:
        return f"{labels[places[0]]} to {labels[places[-1]]}"
    *first, last = [labels[i] for i in places]
    return f"{', '.join(first)} or {last}" if first else last
