"""Axis: the labelled alternatives or contexts of a problem, as the user gave them."""

import difflib
import math
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from argbest.checks import affordable, entries, unicode
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.coordinates import Coordinates
from argbest.errors import InputError, unknown_name

Kind: TypeAlias = Literal["alternative", "context"]
Label: TypeAlias = str | int | float | bool
Item: TypeAlias = Label | dict[str, Label]
Columns: TypeAlias = dict[str, tuple[Label, ...]]
Bounds: TypeAlias = dict[str, tuple[float, float]]
_Key: TypeAlias = tuple[tuple[str, Label], ...]
_Raw: TypeAlias = tuple[list[Any] | None, dict[Any, list[Any]]]

_FEWEST = {"alternative": 2, "context": 1}
_EXACT = 2**53  # integers beyond it are no longer distinct as floats
_MOST_ENTRIES = 10**7  # alternatives or contexts
_MOST_DISTANCES = 5 * 10**8  # numbers: 4 GB
_FARTHEST = 1e9  # widths of the bounds: beyond, squares of distances lose what tells them apart
_CLOSE = 1e-12  # relative; a number read back from a text file may differ in its last digit


@dataclass(frozen=True)
class Axis:
    """Distinct labels, each with a row of named values behind it where the user gave rows; see `Axis.of`."""

    kind: Kind
    labels: tuple[Label, ...]
    columns: Columns  # empty for plain labels
    named: bool  # the labels are the user's own, not text made from the row

    @classmethod
    def of(cls, kind: Kind, given: object) -> "Axis":
        """Return the axis of a sequence of labels, a sequence of dicts or a DataFrame, all distinct."""
        axis = cls._read(kind, given)
        if len(axis) < _FEWEST[kind]:
            raise InputError(f"got {len(axis)} {kind}s; at least {_FEWEST[kind]} needed. Give more {kind}s.")
        _refuse_repeats(f"identical {kind}s", list(axis.columns.values()))
        _refuse_repeats(f"duplicate {kind} labels", [axis.labels])
        return axis

    def rows(self, given: object) -> "Axis":
        """Return given rows as an axis with these columns; they may be new or repeat, one may come alone."""
        alone = isinstance(given, Mapping | str | int | float | np.generic)
        axis = Axis._read(self.kind, [given] if alone else given)
        if not len(axis):
            raise InputError(f"got no {self.kind}s; at least one needed. Give {self._form}.")
        if self.columns and not axis.columns:
            axis = self._from_labels(axis.labels)
        if set(axis.coordinates) != set(self.coordinates):
            raise InputError(f"got {self.kind}s {list(axis.coordinates)}. Give {self._form}.")
        for name, values in self.coordinates.items():
            first = axis.coordinates[name][0]
            if _sort(first) != _sort(values[0]):
                raise InputError(f"got {first!r} ({_sort(first)}) for {name!r}. Give {self._form}.")
        if not self.columns:
            return Axis(self.kind, axis.coordinates[self.kind], {}, True)
        columns = {name: axis.columns[name] for name in self.columns}
        return Axis(self.kind, axis.labels, columns, axis.named and self.named)

    def item(self, i: int) -> Item:
        """Return what the simulator receives for position i: the label, or the row as a dict."""
        return {name: values[i] for name, values in self.columns.items()} if self.columns else self.labels[i]

    def index(self, item: object) -> int:
        """Return the position of a label or of a row given as a dict."""
        parts: list[object] = [item]
        if isinstance(item, Mapping):
            if not self.columns or set(item) != set(self.columns):
                raise InputError(f"got {self.kind} {item!r}. Give {self._form}.")
            parts = [item[name] for name in self.columns]
        key = tuple((_sort(v), v) for v in (_plain(part, self.kind) for part in parts))
        known = self._positions[isinstance(item, Mapping)]
        if key in known:
            return known[key]
        close = [i for other, i in known.items() if all(map(_close, key, other))]
        if len(close) == 1:
            return close[0]
        names = {str(label): label for label in self.labels}
        text = _texts({str(n): (v,) for n, v in item.items()})[0] if isinstance(item, Mapping) else item
        near = difflib.get_close_matches(str(text), names, n=3, cutoff=0.3) or list(names)[:3]
        hint = ", ".join(repr(names[name]) for name in near)
        raise InputError(f"unknown {self.kind} {item!r}. Did you mean one of {hint}? Give {self._form}.")

    def frame(self, indices: Iterable[int] | None = None) -> pd.DataFrame:
        """Return the axis, or the given positions of it, as columns `context`, `context.rate`, ..."""
        where = range(len(self)) if indices is None else [int(i) for i in indices]
        columns: Columns = {self.kind: self.labels} if self.named else {}
        columns |= {f"{self.kind}.{name}": values for name, values in self.columns.items()}
        return pd.DataFrame({name: [values[i] for i in where] for name, values in columns.items()})

    def locate(self, frame: pd.DataFrame) -> IntArray:
        """Return the position of every row of a frame that has the columns of `frame()`."""
        names = {f"{self.kind}.{name}": name for name in self.columns}
        if self.kind in frame.columns:
            items: list[Any] = frame[self.kind].tolist()
        elif names and set(names) <= set(frame.columns):
            items = frame[list(names)].rename(columns=names).to_dict("records")
        else:
            raise InputError(
                f"got a frame with the columns {list(frame.columns)}; no column tells the {self.kind}. "
                f"Expected {list(self.frame().columns)}: name the columns so."
            )
        positions = np.empty(len(items), np.int64)
        for row, item in enumerate(items):
            try:
                positions[row] = self.index(item)
            except InputError as error:
                raise InputError(f"row {row} of the frame: {error}") from None
        return positions

    @property
    def coordinates(self) -> Columns:
        """The columns, or the plain labels as the one column named after the kind."""
        return self.columns or {self.kind: self.labels}

    def bounds(self, given: object = None) -> Bounds:
        """Return (lo, hi) of every metric column (numbers and booleans): as given, else the extremes.

        `given` is a pair if there is one metric column, a dict by column name, or a sequence of pairs.
        """
        metric = {name: values for name, values in self.coordinates.items() if _sort(values[0]) != "text"}
        asked = _by_name(given, tuple(metric))
        for name in asked:
            if name not in metric:
                raise unknown_name(f"{self.kind} column with bounds", name, metric)
        return {name: _interval(name, values, asked.get(name)) for name, values in metric.items()}

    def separation(self, bounds: Bounds, rows: "Axis | None" = None) -> Array:
        """Return squared distances [column, row, entry] of `rows` (default: the entries) from the entries.

        Metric columns: ((x - x') / (hi - lo))², 0 without a range. Text columns: 1 where different, else 0.
        """
        other = self.coordinates if rows is None else rows.coordinates
        n_rows = len(self) if rows is None else len(rows)
        size = len(self.coordinates) * n_rows * len(self)
        affordable(f"distances of {n_rows:,} from {len(self):,} {self.kind}s", size, _MOST_DISTANCES)
        layers = []
        for name, values in self.coordinates.items():
            if name in bounds:
                width = bounds[name][1] - bounds[name][0]
                with np.errstate(over="ignore"):
                    step = np.subtract.outer(np.array(other[name], float), np.array(values, float))
                layers.append(self._scaled(name, step, width) ** 2 if width > 0 else np.zeros_like(step))
            else:
                layers.append(np.array([[float(x != y) for y in values] for x in other[name]]))
        return np.stack(layers)

    def _scaled(self, name: str, step: Array, width: float) -> Array:
        """Return steps in widths of the bounds, if these are not so many that nothing can be said there."""
        with np.errstate(over="ignore"):
            scaled: Array = step / width
        far = np.abs(scaled).max()
        if not far <= _FARTHEST:
            raise InputError(
                f"a {self.kind} lies {far:.3g} times the width of the bounds of {name!r} from the others; "
                f"nothing can be said beyond {_FARTHEST:g} times. Correct it."
            )
        return scaled

    def located(self, bounds: Bounds) -> Coordinates | None:
        """Return where the entries lie, None where a single column of distinct texts merely names them."""
        columns = self.coordinates
        if len(columns) == 1 and not bounds:
            return None
        points = [_placed(values, bounds.get(name)) for name, values in columns.items()]
        return Coordinates(np.column_stack(points), np.array([name not in bounds for name in columns]))

    def outside(self, rows: "Axis", bounds: Bounds) -> BoolArray:
        """Return [row] whether a row lies out of the bounds, or in a text column has a value never seen."""
        out = np.zeros(len(rows), bool)
        for name, values in self.coordinates.items():
            given, (lo, hi) = rows.coordinates[name], bounds.get(name, (0.0, 0.0))
            out |= [not lo <= float(x) <= hi if name in bounds else x not in values for x in given]
        return out

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def _read(cls, kind: Kind, given: object) -> "Axis":
        """Return the axis as given, its entries checked one by one but not yet against each other."""
        if isinstance(given, Axis):
            return cls(kind, given.labels, given.columns, given.named)
        parse = _of_frame if isinstance(given, pd.DataFrame) else _of_sequence
        raw_labels, raw_columns = parse(kind, given)
        columns = {name: _checked(values, kind, name) for name, values in raw_columns.items()}
        labels = _texts(columns) if raw_labels is None else _checked(raw_labels, kind)
        return cls(kind, labels, columns, raw_labels is not None)

    def _from_labels(self, labels: tuple[Label, ...]) -> "Axis":
        """Return the rows that labels stand for: new values of a single column, else rows of this axis."""
        if len(self.columns) == 1 and not self.named:
            return Axis(self.kind, labels, dict.fromkeys(self.columns, labels), False)
        where = [self.index(label) for label in labels]
        columns = {name: tuple(values[i] for i in where) for name, values in self.columns.items()}
        return Axis(self.kind, tuple(self.labels[i] for i in where), columns, self.named)

    @cached_property
    def _positions(self) -> tuple[dict[_Key, int], dict[_Key, int]]:
        """Where each label stands, and where each row."""
        labels, rows = _keys([self.labels]), _keys(self.columns.values())
        return {key: i for i, key in enumerate(labels)}, {key: i for i, key in enumerate(rows)}

    @property
    def _form(self) -> str:
        """How an entry is to be given, for error messages."""
        sorts = ", ".join(f"{name!r} ({_sort(values[0])})" for name, values in self.coordinates.items())
        return f"rows with the columns {sorts}" if self.columns else f"labels of {sorts}"


def _placed(values: tuple[Label, ...], bounds: tuple[float, float] | None) -> Array:
    """Return a column's numbers over their range, 0 without a range; categories by their number."""
    if bounds is None:
        numbers = {value: float(i) for i, value in enumerate(dict.fromkeys(values))}
        return np.array([numbers[value] for value in values])
    lo, hi = bounds
    return (np.array(values, float) - lo) / (hi - lo) if hi > lo else np.zeros(len(values))


def _of_frame(kind: Kind, frame: Any) -> _Raw:
    """Return the labels, if the frame has an index of its own, and the columns of a frame."""
    names = list(frame.columns)
    if not names or len(set(names)) < len(names):
        raise InputError(f"got {kind}s with the columns {names}; expected one or more, distinct. Rename.")
    labels = None if frame.index.equals(pd.RangeIndex(len(frame))) else frame.index.tolist()
    return labels, {name: frame[name].tolist() for name in names}


def _of_sequence(kind: Kind, given: object) -> _Raw:
    """Return the labels or the columns of a sequence; what has no order of its own is refused."""
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


def _checked(values: Iterable[object], kind: Kind, column: object = "label") -> tuple[Label, ...]:
    """Return plain Python values of one sort."""
    if not isinstance(column, str) or not column:
        raise InputError(f"got {column!r} as the name of a {kind} column; expected text. Rename the column.")
    unicode(f"the name of a {kind} column", column)
    plain = tuple(_plain(value, f"{column!r} of {kind} {i}") for i, value in enumerate(values))
    for i, value in enumerate(plain):
        if _sort(value) != _sort(plain[0]):
            raise InputError(
                f"{column!r} of {kind} {i} is {value!r} ({_sort(value)}), that of {kind} 0 is {plain[0]!r} "
                f"({_sort(plain[0])}). Use text, numbers or booleans throughout."
            )
    return plain


def _plain(value: Any, where: str) -> Label:
    """Return the plain Python value of a label or coordinate."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return unicode(where, str.__str__(value))
    whole = isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64)
    if whole and abs(int(value)) <= _EXACT:
        return int(value)
    if isinstance(value, float | np.floating) and math.isfinite(value):
        return float(value)
    raise InputError(
        f"{where} is {value!r} ({type(value).__name__}); expected text, a boolean or a finite number (an "
        "integer up to 2^53). Convert it, for example a date to text or to a number of days."
    )


def _sort(value: Label) -> str:
    return "text" if isinstance(value, str) else "boolean" if isinstance(value, bool) else "number"


def _keys(columns: Iterable[tuple[Label, ...]]) -> list[_Key]:
    """Return one hashable key per row; the sort keeps True apart from 1."""
    return [tuple((_sort(value), value) for value in row) for row in zip(*columns, strict=True)]


def _close(a: tuple[str, Label], b: tuple[str, Label]) -> bool:
    both = a[0] == b[0] == "number"
    return math.isclose(float(a[1]), float(b[1]), rel_tol=_CLOSE) if both else a == b


def _refuse_repeats(what: str, columns: list[tuple[Label, ...]]) -> None:
    seen: dict[_Key, int] = {}
    for i, key in enumerate(_keys(columns)):
        if seen.setdefault(key, i) != i:
            values = ", ".join(repr(value) for _, value in key)
            raise InputError(f"{what}: {values} at positions {seen[key]} and {i}. Keep one of them.")


def _texts(columns: Columns) -> tuple[Label, ...]:
    """Return the label of every row: "servers=3, shift=day", or the value itself of a single column."""
    if len(columns) == 1:
        return next(iter(columns.values()))
    rows = zip(*columns.values(), strict=True)
    return tuple(", ".join(f"{n}={v}" for n, v in zip(columns, row, strict=True)) for row in rows)


def _by_name(given: object, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the pairs of bounds by column."""
    if given is None or isinstance(given, Mapping):
        return dict(given or {})
    pairs = entries(given) or []
    if len(names) == 1 and len(pairs) == 2:
        pairs = [pairs]
    if len(pairs) != len(names):
        raise InputError(f"got bounds {given!r} for the columns {list(names)}. Give (lo, hi) for each.")
    return dict(zip(names, pairs, strict=True))


def _interval(name: str, values: tuple[Label, ...], pair: Any) -> tuple[float, float]:
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
    lo, hi = (float(_plain(end, f"a bound of {name!r}")) for end in ends)
    if not (lo <= least <= most <= hi and hi - lo < math.inf):
        raise InputError(f"bounds ({lo}, {hi}) of {name!r} do not hold its values {least} to {most}. Widen.")
    return lo, hi
