"""Checks of numbers and switches that the user gives."""

from numbers import Real

import numpy as np

from argbest.errors import InputError


def whole(name: str, value: object, *, at_least: int, below: int | None = None) -> int:
    """Return the value as an int if it is a whole number in the range."""
    if (
        not isinstance(value, int | np.integer)
        or isinstance(value, bool)
        or value < at_least
        or (below is not None and value >= below)
    ):
        limit = "" if below is None else f" and below {below}"
        raise InputError(f"{name} must be a whole number ≥ {at_least}{limit}, got {value!r}.")
    return int(value)


def finite(name: str, value: object, *, above: float = -np.inf, below: float = np.inf) -> float:
    """Return the value as a float if it is a finite number strictly between the limits."""
    if not isinstance(value, Real) or isinstance(value, bool) or not above < float(value) < below:
        between = f"between {above:g} and {below:g}" if np.isfinite(below) else f"finite and above {above:g}"
        raise InputError(f"{name} must be a number {between}, got {value!r}.")
    return float(value)


def not_negative(name: str, value: object, *, below: float = np.inf) -> float:
    """Return the value as a float if it is a finite number from 0 to below the limit."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < below:
        to = "up" if np.isinf(below) else f"to below {below:g}"
        raise InputError(f"{name} must be a number from 0 {to}, got {value!r}.")
    return float(value)


def indifference_zone(delta: object) -> float:
    """Return delta if it is zero or positive and finite."""
    if not isinstance(delta, Real) or isinstance(delta, bool) or not 0 <= float(delta) < np.inf:
        raise InputError(
            "the indifference zone delta must be a finite number, zero or positive, in the rewards' unit; "
            f"got {delta!r}."
        )
    return float(delta)


def flag(name: str, value: object) -> bool:
    """Return the value if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, got {value!r}.")
    return bool(value)
