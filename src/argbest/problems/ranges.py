"""Ranges of the columns that hold numbers: as given, or from the least value to the largest."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from argbest.checks import entries
from argbest.core.arrays import Array
from argbest.errors import InputError
from argbest.problems.labels import Label, plain

Bounds: TypeAlias = dict[str, tuple[float, float]]


def by_name(given: object, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the pairs of bounds by column."""
    if given is None or isinstance(given, Mapping):
        return dict(given or {})
    pairs = entries(given) or []
    if len(names) == 1 and len(pairs) == 2:
        pairs = [pairs]
    if len(pairs) != len(names):
        raise InputError(f"got bounds {given!r} for the columns {list(names)}. Give (lo, hi) for each.")
    return dict(zip(names, pairs, strict=True))


def interval(name: str, values: tuple[Label, ...], pair: Any) -> tuple[float, float]:
    """Return the bounds of one column, checked to be a proper interval that holds all its values."""
    least, most = float(min(values)), float(max(values))
    if not most - least < math.inf:
        raise InputError(
            f"{name!r} goes from {least:g} to {most:g}, which is too far apart. Use another unit."
        )
    if pair is None:
        return least, most
    ends = entries(pair) or []
    if len(ends) != 2 or any(isinstance(end, str) for end in ends):
        raise InputError(f"got bounds {pair!r} for {name!r}; expected two numbers. Give (lo, hi).")
    lo, hi = (float(plain(end, f"a bound of {name!r}")) for end in ends)
    if not (lo <= least <= most <= hi and hi - lo < math.inf):
        raise InputError(f"bounds ({lo}, {hi}) of {name!r} do not hold its values {least} to {most}. Widen.")
    return lo, hi


def placed(values: tuple[Label, ...], bounds: tuple[float, float] | None) -> Array:
    """Return a column's numbers over their range, 0 without a range; categories by their number."""
    if bounds is None:
        numbers = {value: float(i) for i, value in enumerate(dict.fromkeys(values))}
        return np.array([numbers[value] for value in values])
    lo, hi = bounds
    return (np.array(values, float) - lo) / (hi - lo) if hi > lo else np.zeros(len(values))
