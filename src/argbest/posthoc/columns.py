"""Columns of a table of runs: which alternative or context every row is about, contexts in bins if asked."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from argbest.checks import real, whole
from argbest.core.arrays import Array, IntArray
from argbest.errors import InputError, unknown_name
from argbest.problems.axis import Axis, Bounds, Columns, Kind, Label
from argbest.problems.labels import meant

Bins: TypeAlias = int | Mapping[str, int] | None

_SAME_NUMBER = 1e-12  # relative: numbers nearer than this are one, as for `Axis.index`
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")


@dataclass(frozen=True)
class Names:
    """The columns that identify the alternative or the context: names in the frame by names on the axis."""

    kind: Kind
    columns: dict[str, str]
    label: str | None = None  # the column of labels beside them, in frames as a study exports them
    categorical: frozenset[str] = frozenset()  # those whose numbers are names, by names on the axis

    @property
    def used(self) -> list[str]:
        """All of them, as they are called in the frame."""
        return [*self.columns.values(), *([] if self.label is None else [self.label])]

    @property
    def plain(self) -> bool:
        """Whether there are only labels, in a column called as the kind."""
        return self.label is None and list(self.columns) == [self.kind]


@dataclass(frozen=True)
class Located:
    """An axis, and which of its entries every row of the frame has."""

    axis: Axis
    position: IntArray  # [row]
    ranges: Bounds  # least and largest value of the columns in bins
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Column:
    """The distinct values of a column in reading order, and which of them every row has."""

    values: list[Label]
    codes: IntArray  # [row]

    def at(self, rows: IntArray) -> tuple[Label, ...]:
        return tuple(self.values[i] for i in self.codes[rows].tolist())

    @property
    def numeric(self) -> bool:
        return not isinstance(self.values[0], str | bool)


def named(kind: Kind, frame: pd.DataFrame, given: str | Sequence[str], categorical: object = ()) -> Names:
    """Return the columns meant by one name or several.

    The kind itself also stands for columns as `Study.observations` has them: ``context.rate``, with labels
    in ``context`` where contexts have some.
    """
    prefix = f"{kind}."
    asked = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not asked or not all(isinstance(name, str) for name in asked):
        raise InputError(f"{given!r} names no {kind} column; name one or more of {list(frame.columns)}.")
    label = None
    exported = [name for name in frame.columns if isinstance(name, str) and name.startswith(prefix)]
    if asked == [kind] and exported:
        label, asked = (kind if kind in frame.columns else None), exported
    for name in asked:
        check_name(f"{kind} column", frame, name)
    short = [name.removeprefix(prefix) or name for name in asked]
    if len(set(short)) < len(short):
        raise InputError(f"the {kind} columns {asked} are named twice. Name each once.")
    return Names(kind, dict(zip(short, asked, strict=True)), label, meant(kind, short, categorical))


def check_name(what: str, frame: pd.DataFrame, name: str) -> None:
    """Raise an InputError unless exactly one column of the frame is called so."""
    times = list(frame.columns).count(name) if isinstance(name, str) else 0
    if times > 1:
        raise InputError(f"the column {name!r} comes {times} times. Rename or remove the others.")
    if not times:
        raise unknown_name(what, name, [str(column) for column in frame.columns])


def numbers(frame: pd.DataFrame, name: str, rows: IntArray) -> Array:
    """Return a column as finite floats; nothing that merely looks like a number is taken for one."""
    column = frame[name]
    if getattr(column.dtype, "kind", "O") in "iuf":
        values = column.to_numpy(float)
    else:
        values = np.array([np.nan if v is None else v for v in map(real, column.tolist())], float)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        found = column.iloc[bad].tolist()  # values of Python's own
        # One text makes texts of all numbers in a column of a file: the odd one is the one to name.
        at = next((i for i, value in enumerate(found) if not _spells_number(value)), 0)
        value = found[at]
        raise InputError(
            f"data row {rows[bad[at]] + 1} has {name} {value!r} ({type(value).__name__}); expected a finite "
            f"number.{_advice(value)}"
        )
    return values


def locate(names: Names, frame: pd.DataFrame, rows: IntArray, bins: Bins = None) -> Located:
    """Return the axis of the distinct rows, and which of them every row has.

    Entries are ordered by their columns: numbers by size, text as it first came. ``bins`` puts the numbers of
    a column into so many groups of about as many rows, by quantiles; a group's coordinate is its mean. A
    column with no more values than bins stays as it is.
    """
    columns = {short: _coded(names.kind, frame, name, rows) for short, name in names.columns.items()}
    wanted = _wanted(names, columns, bins)
    notes = [note for short, column in columns.items() for note in _looks_numeric(short, column)]
    ranges: Bounds = {}
    for short, n in wanted.items():
        before = np.array(columns[short].values, float)[columns[short].codes]
        columns[short] = _grouped(before, n)
        ranges[short] = float(before.min()), float(before.max())
        notes.append(_ranges(short, columns[short], before))
    label = None if names.label is None or wanted else _coded(names.kind, frame, names.label, rows)
    first, position = _distinct([*columns.values(), *([] if label is None else [label])])
    entries: Columns = {short: column.at(first) for short, column in columns.items()}
    labels = None if label is None else list(label.at(first))
    if names.kind == "alternative" and len(first) < 2:
        only = ", ".join(f"{name} {values[0]!r}" for name, values in entries.items())
        raise InputError(
            f"all rows have the same alternative: {only}. At least two are needed to choose between; name "
            "the column that distinguishes them."
        )
    return Located(_axis(names, entries, labels), position, ranges, tuple(notes))


def _distinct(columns: Sequence[_Column]) -> tuple[IntArray, IntArray]:
    """Return the first row of each distinct combination, in the columns' order, and which each row has."""
    position, first = np.zeros_like(columns[0].codes), np.zeros(1, np.int64)
    for column in columns:  # one by one, so that the codes stay small
        flat = position * len(column.values) + column.codes
        _, first, position = np.unique(flat, return_index=True, return_inverse=True)
    return first, position


def _axis(names: Names, entries: Columns, labels: list[Label] | None) -> Axis:
    given = list(entries[names.kind]) if names.plain else pd.DataFrame(entries, dtype=object)
    axis = replace(Axis.of(names.kind, given), categorical=names.categorical)
    return axis if labels is None else replace(axis, labels=Axis.of(names.kind, labels).labels, named=True)


def _coded(kind: Kind, frame: pd.DataFrame, name: str, rows: IntArray) -> _Column:
    """Return a column's distinct values, all text, all booleans or all numbers; close numbers are one."""
    column = frame[name]
    entries = column.tolist() if column.dtype == object else column.drop_duplicates().tolist()
    where = rows if column.dtype == object else rows[column.drop_duplicates().index]
    sorts = [_sort(value) for value in entries]
    for i, sort in enumerate(sorts):
        if sort is None:
            raise InputError(
                f"data row {where[i] + 1} has {kind} {name} {entries[i]!r} ({type(entries[i]).__name__}); "
                "expected text, a boolean or a finite number. Convert it, for example a date to text."
            )
        if sort != sorts[0]:
            raise InputError(
                f"the {kind} column {name!r} holds {entries[0]!r} ({sorts[0]}) in data row {where[0] + 1} "
                f"and {entries[i]!r} ({sort}) in data row {where[i] + 1}. Use one type throughout."
            )
    codes, found = pd.factorize(column)
    values = list(found) if sorts[0] == "text" else sorted(found)
    if sorts[0] != "text":
        codes = np.argsort(np.argsort(np.asarray(found)))[codes]
    if sorts[0] == "number":
        values, codes = _merged(values, codes)
    _refuse_commas(kind, name, values)
    return _Column([value.item() if isinstance(value, np.generic) else value for value in values], codes)


def _merged(values: list[Any], codes: IntArray) -> tuple[list[Any], IntArray]:
    """Return ascending numbers without those that differ from the one before by rounding alone.

    Whole numbers are never rounded: they may be the numbers of something.
    """
    x = np.array(values, float)
    counted = x == np.rint(x)
    new = (np.diff(x) > _SAME_NUMBER * np.abs(x[1:])) | (counted[1:] & counted[:-1])
    new = np.concatenate([[True], new])
    return [value for value, kept in zip(values, new, strict=True) if kept], (np.cumsum(new) - 1)[codes]


def _wanted(names: Names, columns: dict[str, _Column], bins: Bins) -> dict[str, int]:
    """Return into how many bins each column goes that goes into some."""
    if bins is None:
        return {}
    numeric = [name for name, column in columns.items() if column.numeric and name not in names.categorical]
    if isinstance(bins, Mapping):
        asked = {short.removeprefix(f"{names.kind}."): n for short, n in bins.items()}
    else:
        asked = dict.fromkeys(numeric, bins)
    if not asked:
        raise InputError(
            f"bins={bins!r}, but no {names.kind} column holds numbers: {list(columns)}. Leave it out."
        )
    for short, n in asked.items():
        if short not in columns:
            raise unknown_name(f"{names.kind} column with bins", short, columns)
        if short not in numeric:
            raise InputError(f"bins for {short!r}, which holds no numbers. Bins need numbers; leave it out.")
        whole(f"bins of {short!r}", n, at_least=2, at_most=10**5)
    return {short: n for short, n in asked.items() if len(columns[short].values) > n}


def _grouped(x: Array, n: int) -> _Column:
    """Return numbers in n groups with edges at the quantiles, fewer where a number is very frequent.

    A group holds its upper edge, as a rank does. Means are taken from deviations, so that those of equal
    numbers are that number.
    """
    edges = np.unique(np.quantile(x, np.arange(1, n) / n))
    _, first, codes = np.unique(np.searchsorted(edges, x), return_index=True, return_inverse=True)
    origin = x[first]
    means = origin + np.bincount(codes, x - origin[codes]) / np.bincount(codes)
    return _Column(means.tolist(), codes)


def _ranges(short: str, column: _Column, before: Array) -> str:
    held = [before[column.codes == i] for i in range(len(column.values))]
    shown = "; ".join(
        f"{mean:.4g} for {x.min():.4g} to {x.max():.4g}" for mean, x in zip(column.values, held, strict=True)
    )
    return f"{short} is in {len(held)} bins, each taken as one context at its mean: {shown}."


def _looks_numeric(short: str, column: _Column) -> Iterable[str]:
    """Yield a note where numbers are written as text: a model sees names."""
    if isinstance(column.values[0], str):
        try:
            [float(str(value)) for value in column.values]
        except ValueError:
            return
        yield f"{short} holds numbers as text, which are taken as names. Convert it if they are numbers."


def _refuse_commas(kind: Kind, name: str, values: list[Any]) -> None:
    commas = [v for v in values if isinstance(v, str) and _COMMA.fullmatch(v)]
    if commas and all(isinstance(v, str) and (v.isdigit() or _COMMA.fullmatch(v)) for v in values):
        raise InputError(f"the {kind} column {name!r} holds {commas[0]!r} (text).{_advice(commas[0])}")


def _advice(value: object) -> str:
    """Return what to do about a value that should have been a number."""
    if isinstance(value, str) and _COMMA.fullmatch(value.strip()):
        return " If this is a decimal comma, read the file with decimal=',' (--decimal ,)."
    return " Convert the column to numbers." if _spells_number(value) else " Correct or remove the row."


def _spells_number(value: object) -> bool:
    """Return whether a text is that of a finite number."""
    try:
        return isinstance(value, str) and math.isfinite(float(value))
    except ValueError:
        return False


def _sort(value: object) -> str | None:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "boolean"
    try:
        return "number" if isinstance(value, Real) and np.isfinite(float(value)) else None
    except OverflowError:
        return None
