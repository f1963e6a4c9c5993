"""Labels and rows as users give them, turned into plain values; columns declared to be categories."""

import inspect
import math
import sys
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from argbest.checks import affordable, entries, shown, unicode
from argbest.errors import InputError, unknown_name
from argbest.texts import first_of

if TYPE_CHECKING:
    from argbest.problems.axis import Axis

Kind: TypeAlias = Literal["alternative", "context"]
Label: TypeAlias = str | int | float | bool
Item: TypeAlias = Label | dict[str, Label]
Columns: TypeAlias = dict[str, tuple[Label, ...]]
Key: TypeAlias = tuple[tuple[str, Label], ...]
_Raw: TypeAlias = tuple[list[Any] | None, dict[Any, list[Any]]]
_LARGEST_EXACT = 2**53  # integers beyond it are no longer distinct as floats
_MOST_ENTRIES = 10**7  # alternatives or contexts
_SAME_NUMBER = 1e-12  # relative; a number read back from a text file may differ in its last digit
_MOST_NAMED = 5  # values in a sentence
UNNAMED = "problem"  # what a problem without a name was called up to version 0.1
_SAY_NOTHING = {  # names of functions that do not tell one study from another
    *("call", "evaluate", "experiment", "func", "function", "inner", "main", "model", "objective", "run"),
    *("sim", "simulate", "simulation", "simulator", "value", "wrapper"),
}


def is_frame(given: object) -> bool:
    """Return whether this is a frame; without importing pandas, which takes long."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(given, pandas.DataFrame)


def of_frame(kind: Kind, frame: Any) -> _Raw:
    """Return the labels, if the frame has an index of its own, and the columns of a frame."""
    names = list(frame.columns)
    if not names or len(set(names)) < len(names):
        raise InputError(f"got {kind}s with the columns {names}; expected one or more, distinct. Rename.")
    numbered = frame.index.equals(frame.reset_index(drop=True).index)
    labels = None if numbered else frame.index.tolist()
    return labels, {name: frame[name].tolist() for name in names}


def of_sequence(kind: Kind, given: object) -> _Raw:
    """Return the labels or the columns of a sequence; sets and dicts, which have no order, are refused."""
    refused = isinstance(given, str | bytes | Mapping | set | frozenset) or getattr(given, "ndim", 1) != 1
    if refused or not isinstance(given, Iterable):
        shape = getattr(given, "shape", None)
        shown = repr(given) if shape is None else f"an array of shape {shape}"
        raise InputError(f"got {shown} as {kind}s. Give a list of labels, a list of dicts or a DataFrame.")
    affordable(f"the number of {kind}s", len(given) if isinstance(given, Sized) else 0, _MOST_ENTRIES)
    entries = list(given)
    if not any(isinstance(entry, Mapping) for entry in entries):
        return entries, {}
    names = list(entries[0]) if isinstance(entries[0], Mapping) else []
    for i, row in enumerate(entries):
        if not isinstance(row, Mapping) or not names or set(row) != set(names):
            raise InputError(f"{kind} {i} is {row!r}; expected a dict with the keys {names}. Complete it.")
    return None, {name: [row[name] for row in entries] for name in names}


def checked(values: Iterable[object], kind: Kind, column: object = "label") -> tuple[Label, ...]:
    """Return plain Python values of one sort."""
    if not isinstance(column, str) or not column:
        raise InputError(f"got {column!r} as the name of a {kind} column; expected text. Rename the column.")
    unicode(f"the name of a {kind} column", column)
    labels = tuple(plain(value, f"{column!r} of {kind} {i}") for i, value in enumerate(values))
    for i, value in enumerate(labels):
        if sort(value) != sort(labels[0]):
            raise InputError(
                f"{column!r} of {kind} {i} is {value!r} ({sort(value)}), that of {kind} 0 is {labels[0]!r} "
                f"({sort(labels[0])}). Use text, numbers or booleans throughout."
            )
    return labels


def plain(value: Any, where: str) -> Label:
    """Return the plain Python value of a label or coordinate."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return unicode(where, str.__str__(value))
    whole = isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64)
    if whole and abs(int(value)) <= _LARGEST_EXACT:
        return int(value)
    if isinstance(value, float | np.floating) and math.isfinite(value):
        return float(value)
    raise InputError(
        f"{where} is {value!r} ({type(value).__name__}); expected text, a boolean or a finite number (an "
        "integer up to 2^53). Convert it, for example a date to text or to a number of days."
    )


def sort(value: Label) -> str:
    """Return text, boolean or number."""
    return "text" if isinstance(value, str) else "boolean" if isinstance(value, bool) else "number"


def keys(columns: Iterable[tuple[Label, ...]]) -> list[Key]:
    """Return one hashable key per row; the sort keeps True apart from 1."""
    return [tuple((sort(value), value) for value in row) for row in zip(*columns, strict=True)]


def close(a: tuple[str, Label], b: tuple[str, Label]) -> bool:
    """Return whether two parts of keys are the same but for rounding."""
    both = a[0] == b[0] == "number"
    return math.isclose(float(a[1]), float(b[1]), rel_tol=_SAME_NUMBER) if both else a == b


def refuse_repeats(what: str, columns: list[tuple[Label, ...]]) -> None:
    """Raise an InputError where a row comes twice."""
    seen: dict[Key, int] = {}
    for i, key in enumerate(keys(columns)):
        if seen.setdefault(key, i) != i:
            values = ", ".join(repr(value) for _, value in key)
            raise InputError(f"{what}: {values} at positions {seen[key]} and {i}. Keep one of them.")


def argument_words(simulate: object) -> tuple[str, str]:
    """Return what a plain function calls its alternative and its context; "" for single letters."""
    if not inspect.isfunction(simulate):
        return "", ""
    given = [*inspect.signature(simulate).parameters, "", ""]
    one, two = (
        "" if len(name) < 3 or name.startswith("_") or name in ("alternative", "context", "args") else name
        for name in given[:2]
    )
    return one, two


def word(axis: "Axis") -> str:
    """Return what one entry is called: its only column, the simulator's word for it, or its kind."""
    if len(axis.columns) == 1 and not axis.named:
        return next(iter(axis.columns))
    return axis.word or axis.kind


def called(axis: "Axis", i: int) -> str:
    """Return what an entry is called in a sentence: "order 40", "rate 2, night true", or its own text."""
    if axis.columns and not axis.named:
        return ", ".join(f"{name} {_said(values[i])}" for name, values in axis.columns.items())
    label = axis.labels[i]
    return label if isinstance(label, str) else f"{word(axis)} {_said(label)}"


def place(axis: "Axis", i: int) -> str:
    """Return where something is so, in a sentence: "at rate 2, night true", "in context 'today'"."""
    label, bare = axis.labels[i], axis.named or not axis.columns
    if bare and isinstance(label, str):
        return f"in {axis.kind} {label!r}"
    return f"{'in' if bare and word(axis) == axis.kind else 'at'} {called(axis, i)}"


def _said(value: Label) -> str:
    return (
        str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else f"{value:.6g}"
    )


def title(simulate: object, alternatives: "Axis", contexts: "Axis") -> str:
    """Return the name of a problem that was given none: after its simulator, or after what is chosen.

    The function `cost_per_hour` makes it "cost per hour". A function with a name that tells nothing, such as
    `simulate`, or no function makes it "best order per demand".
    """
    function = simulate.func if isinstance(simulate, partial) else simulate
    called = getattr(function, "__name__", "")
    if called.isidentifier() and len(called) > 2 and called[0] != "_" and called not in _SAY_NOTHING:
        return " ".join(called.split("_")).strip()
    return f"best {word(alternatives)} per {word(contexts)}"


def texts(columns: Columns) -> tuple[Label, ...]:
    """Return the label of every row: "servers=3, shift=day", or the value itself of a single column."""
    if len(columns) == 1:
        return next(iter(columns.values()))
    rows = zip(*columns.values(), strict=True)
    return tuple(", ".join(f"{n}={v}" for n, v in zip(columns, row, strict=True)) for row in rows)


def declared(axes: Sequence["Axis"], given: object) -> tuple["Axis", ...]:
    """Return the axes with the named columns taken for categories: two values are the same or not.

    A name stands for that column of every axis that has it, "context.zone" for that of the contexts alone;
    plain labels are the column "alternative" or "context". A single column of categories merely names the
    entries.
    """
    names = _names(given)
    known = {form for axis in axes for name in axis.coordinates for form in (name, f"{axis.kind}.{name}")}
    for name in names:
        if name not in known:
            raise unknown_name(
                "categorical column", name, {name for axis in axes for name in axis.coordinates}
            )
    return tuple(
        replace(axis, categorical=axis.categorical | meant(axis.kind, axis.coordinates, given))
        for axis in axes
    )


def meant(kind: Kind, columns: Iterable[str], given: object) -> frozenset[str]:
    """Return which columns of one kind are declared, as `declared` understands names."""
    names = _names(given)
    return frozenset(name for name in columns if name in names or f"{kind}.{name}" in names)


def never_seen(axis: "Axis", rows: "Axis") -> str:
    """Return a sentence on the categories in rows that no entry of the axis has, empty without such.

    It names the columns, their new values and those known.
    """
    parts = []
    for name in set(axis.coordinates).difference(axis.metric):
        known = dict.fromkeys(axis.coordinates[name])
        new = [value for value in dict.fromkeys(rows.coordinates[name]) if value not in known]
        if new:
            first_new, first_known = (
                first_of([repr(value) for value in some], _MOST_NAMED) for some in (new, known)
            )
            parts.append(f"{name} {first_new} (known: {first_known})")
    if not parts:
        return ""
    return (
        f"never simulated: {'; '.join(sorted(parts))}. The answer takes it as unlike all known ones. "
        "It is a guess from what these have in common. Correct the value, or simulate it."
    )


def _names(given: object) -> set[str]:
    names = [given] if isinstance(given, str) else entries(given)
    if names is None or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"got categorical={shown(given)}; expected names of columns. Give a list such as ['plan_id']."
        )
    return set(names)
