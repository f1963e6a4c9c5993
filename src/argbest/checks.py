"""Checks of numbers, switches, names and paths that the user gives."""

import os
import reprlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from argbest.errors import InputError, unknown_name

_Array: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"


@contextmanager
def within(where: str) -> Iterator[None]:
    """Have the errors raised here say where: which option, or which part of a file; "" says nothing."""
    try:
        yield
    except InputError as error:
        if not where:
            raise
        raise InputError(f"{where}: {error}") from error


def is_whole(value: object) -> TypeGuard[int | np.integer]:
    """Return whether the value is a whole number; a switch and a span of time are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def whole(
    name: str, value: object, *, at_least: int, below: int | None = None, at_most: int | None = None
) -> int:
    """Return the value as an int if it is a whole number in the range."""
    if at_most is not None and is_whole(value) and value > at_most:
        raise InputError(f"{name} is {value:,}; at most {at_most:,} are possible. Give a smaller number.")
    if not is_whole(value) or value < at_least or (below is not None and value >= below):
        limit = "" if below is None else f" and below {below}"
        raise InputError(f"{name} must be a whole number ≥ {at_least}{limit}, got {value!r}.")
    return int(value)


def affordable(what: str, n: int, most: int) -> None:
    """Raise an InputError if so many are too many: before memory is asked for, not after."""
    if n > most:
        raise InputError(f"{what}: {n:,}; at most {most:,} can be handled. Make it smaller.")


def unicode(what: str, text: str) -> str:
    """Return the text if files, pages and databases can hold it: lone surrogates are half a character."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{what} is {text!a}, and {text[error.start]!a} is half a character (a lone surrogate), "
            "which cannot be written to a file. Read the text again with the right encoding."
        ) from None
    return text


def finite(name: str, value: object, *, above: float = -np.inf, below: float = np.inf) -> float:
    """Return the value as a float if it is a finite number strictly between the limits."""
    number = real(value)
    if number is None or not above < number < below:
        between = f"between {above:g} and {below:g}" if np.isfinite(below) else f"finite and above {above:g}"
        raise InputError(f"{name} must be a number {between}, got {value!r}.")
    return number


def not_negative(name: str, value: object, *, below: float = np.inf) -> float:
    """Return the value as a float if it is a finite number from 0 to below the limit."""
    number = real(value)
    if number is None or not 0 <= number < below:
        to = "up" if np.isinf(below) else f"to below {below:g}"
        raise InputError(f"{name} must be a number from 0 {to}, got {value!r}.")
    return number


def indifference_zone(delta: object) -> float:
    """Return delta if it is zero or positive and finite."""
    number = real(delta)
    if number is None or not 0 <= number < np.inf:
        raise InputError(
            "the indifference zone delta must be a finite number, zero or positive, in the rewards' unit; "
            f"got {delta!r}."
        )
    return number


def interval(name: str, value: object) -> tuple[float, float]:
    """Return the ends of an interval if they are two finite numbers, the smaller first."""
    ends = tuple(map(real, entries(value) or ()))
    low, high = ends if len(ends) == 2 else (None, None)
    if low is None or high is None or not -np.inf < low < high < np.inf:
        raise InputError(
            f"{name} must be two finite numbers, the smaller first, such as (0, 1); got {shown(value)}."
        )
    return low, high


def flag(name: str, value: object) -> bool:
    """Return the value if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def one_of(kind: str, value: object, known: Iterable[str]) -> str:
    """Return the value if it is one of the known names."""
    names = tuple(known)
    if not isinstance(value, str) or value not in names:
        raise unknown_name(kind, value, names)
    return value


def path_of(name: str, value: object) -> Path:
    """Return the value as a path if it names one."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise InputError(f"{name} must be a path, as text or pathlib.Path, got {shown(value)}.")
    return Path(value)


def entries(value: object) -> list[Any] | None:
    """Return what a list, an array or anything else holds, None for a text and what holds nothing."""
    single = isinstance(value, str | bytes) or getattr(value, "shape", None) == ()
    return list(value) if isinstance(value, Iterable) and not single else None


def real(value: object) -> float | None:
    """Return the value as a float if it is one real number, None if it merely looks like one.

    Truth values, texts, dates and complex numbers are none, and so are masked and missing values. An array
    without dimensions stands for its entry.
    """
    plain: Any = value
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # of NumPy, Torch and the like
        if np.ma.is_masked(value) or getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M"):
            return None
        plain = plain.item()
    if not isinstance(plain, Real | Decimal) or isinstance(plain, bool):
        return None
    try:
        return float(plain)
    except (OverflowError, ValueError):  # a huge integer, a signalling NaN
        return float("nan")


def truth(value: object) -> bool | None:
    """Return the value as a bool if it is a truth value of Python or NumPy, None if it is anything else.

    An array without dimensions stands for its entry.
    """
    plain: Any = value
    if getattr(value, "shape", None) == () and hasattr(value, "item") and not np.ma.is_masked(value):
        plain = plain.item()
    return plain if isinstance(plain, bool) else None


def truths(given: object) -> list[bool] | None:
    """Return a truth value, or a row of truth values alone, as a list; None if it is anything else."""
    row = isinstance(given, Sequence) or len(getattr(given, "shape", ())) == 1
    found = []
    for each in given if row else [given]:  # type: ignore[attr-defined]
        held = truth(each)
        if held is None:
            return None
        found.append(held)
    return found or None


def reals(given: object) -> _Array:
    """Return a number, or numbers in lists or arrays of any depth, as an array of floats.

    An InputError names the first entry that `real` does not take for a number.
    """
    return _reals(given, ())


def table(what: str, given: object, shape: tuple[int, ...], *, above: float = -np.inf) -> _Array:
    """Return a copy of the given finite numbers if they have this shape and lie above the limit."""
    expected = (
        f"expected numbers of shape {shape} (tables are alternatives x contexts). "
        "Give a list, or a list of lists, in order."
    )
    try:
        array = reals(given)
    except InputError as error:
        raise InputError(f"got {what}: {error}; {expected}") from None
    if array.shape != shape:
        raise InputError(f"got {what} of shape {array.shape}; {expected}")
    wrong = ~((array > above) & np.isfinite(array))
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0].tolist())
        limit = "" if above == -np.inf else f" above {above:g}"
        raise InputError(f"{what} at {at} is {array[at]}; expected finite numbers{limit}. Correct it.")
    return array


def shown(value: object) -> str:
    """Return a value as it prints, shortened; a foreign object may fail to print."""
    try:
        return " ".join(reprlib.repr(value).split())
    except Exception:
        return f"an object of type {type(value).__name__}"


def _reals(given: Any, where: tuple[int, ...]) -> _Array:
    """Return `reals` of what stands in this place of what was given."""
    if isinstance(given, Sequence) and not isinstance(given, str | bytes | bytearray):
        if set(map(type, given)) <= {float}:  # by far the most common
            return np.array(given, float)
        rows = [_reals(entry, (*where, i)) for i, entry in enumerate(given)]
        if len({row.shape for row in rows}) > 1:
            raise InputError("some entries are numbers and some are lists, or lists of different lengths")
        return np.array(rows)
    if getattr(given, "shape", ()) == ():
        number = real(given)
        if number is None:
            raise InputError(_remark(where, f"{shown(given)} ({type(given).__name__})", "a number"))
        return np.array(number)
    if "numpy.ma" in sys.modules and np.ma.is_masked(given):  # without it nothing is, and it is slow to load
        at = np.argwhere(np.ma.getmaskarray(given))[0].tolist()
        raise InputError(_remark((*where, *at), "masked", "a number"))
    array = np.asarray(given)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    if array.dtype.kind != "O":
        raise InputError(_remark(where, f"an array of {array.dtype}", "of numbers"))
    entries = [_reals(value, (*where, *at)) for at, value in np.ndenumerate(array)]
    if any(entry.shape for entry in entries):
        raise InputError("some entries are lists")
    return np.array(entries, float).reshape(array.shape)


def _remark(where: tuple[int, ...], found: str, expected: str) -> str:
    place = f"entry {where[0] if len(where) == 1 else where} is {found}," if where else f"{found} is"
    return f"{place} not {expected}"
