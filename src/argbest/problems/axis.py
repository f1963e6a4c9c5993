"""Axis: the labelled alternatives or contexts of a problem, as the user gave them."""

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from argbest.checks import affordable, entries
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.setting import Coordinates
from argbest.errors import InputError, unknown_name
from argbest.problems.labels import (
    Columns,
    Item,
    Key,
    Kind,
    Label,
    checked,
    close,
    is_frame,
    keys,
    of_frame,
    of_sequence,
    plain,
    refuse_repeats,
    sort,
    texts,
)

if TYPE_CHECKING:
    import pandas as pd

    from argbest.problems.population import People

__all__ = ["Axis", "Bounds", "Columns", "Item", "Kind", "Label"]

Bounds: TypeAlias = dict[str, tuple[float, float]]
_FEWEST_ENTRIES = {"alternative": 2, "context": 1}
_MOST_DISTANCES = 5 * 10**8  # numbers: 4 GB
_FARTHEST = 1e9  # widths of the bounds: beyond, squares of distances lose what tells them apart


@dataclass(frozen=True)
class Axis:
    """Distinct labels, each with a row of named values behind it where the user gave rows; see `Axis.of`."""

    kind: Kind
    labels: tuple[Label, ...]
    columns: Columns  # empty for plain labels
    named: bool  # the labels are the user's own, not text made from the row
    categorical: frozenset[str] = frozenset()  # columns declared to be names, whatever they hold
    word: str = ""  # what the simulator calls a plain label
    people: "People | None" = field(default=None, compare=False)  # where they come from, if a population
    retired: frozenset[int] = frozenset()  # positions that answers leave out; their data stay

    @classmethod
    def of(cls, kind: Kind, given: object) -> "Axis":
        """Return the axis of a sequence of labels, a sequence of dicts or a DataFrame, all distinct."""
        axis = cls._read(kind, given)
        if len(axis) < _FEWEST_ENTRIES[kind]:
            several = "" if len(axis) == 1 else "s"
            raise InputError(
                f"got {len(axis)} {kind}{several}; at least {_FEWEST_ENTRIES[kind]} needed. "
                f"Give more {kind}s."
            )
        refuse_repeats(f"identical {kind}s", list(axis.columns.values()))
        refuse_repeats(f"duplicate {kind} labels", [axis.labels])
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
            if sort(first) != sort(values[0]):
                raise InputError(f"got {first!r} ({sort(first)}) for {name!r}. Give {self._form}.")
        fresh = replace(self, retired=frozenset())
        if not self.columns:
            return replace(fresh, labels=axis.coordinates[self.kind])
        columns = {name: axis.columns[name] for name in self.columns}
        return replace(fresh, labels=axis.labels, columns=columns, named=axis.named and self.named)

    def joined_by(self, given: object) -> "Axis":
        """Return the axis with further rows at its end; none of them is there already, none comes twice."""
        more = self.rows(given)
        if self.named and self.columns and not more.named:
            raise InputError(
                f"the {self.kind}s have names of their own beside their columns, and the new ones have none. "
                f"Give a DataFrame with the names as its index."
            )
        for i in range(len(more)):
            label, item = more.labels[i] if self.named else more.item(i), more.item(i)
            for known in (label, item):
                place = self.place(known)
                if place is not None:
                    again = " It was retired: readmit it." if place in self.retired else " Leave it out."
                    raise InputError(f"the {self.kind} {item!r} is in the study already.{again}")
        refuse_repeats(f"identical new {self.kind}s", list(more.columns.values()))
        own = more.labels if self.named or not self.columns else texts(more.columns)
        refuse_repeats(f"duplicate new {self.kind} labels", [own])
        columns = {name: values + more.columns[name] for name, values in self.columns.items()}
        return replace(self, labels=self.labels + own, columns=columns)

    def retiring(self, positions: Iterable[int]) -> "Axis":
        """Return the axis with these entries retired, and no others."""
        retired = frozenset(positions)
        left, fewest = len(self) - len(retired), _FEWEST_ENTRIES[self.kind]
        if left < fewest:
            several = "" if left == 1 else "s"
            raise InputError(
                f"{left} {self.kind}{several} would be left, and a study needs {fewest} or more. Add others "
                f"first, or retire fewer."
            )
        return replace(self, retired=retired)

    @cached_property
    def active(self) -> BoolArray:
        """[entry] whether answers are about it: all but those that were retired."""
        marked = np.ones(len(self), bool)
        marked[list(self.retired)] = False
        return marked

    @property
    def places(self) -> IntArray:
        """[entry] its position among those that are not retired: its row in answers about these alone."""
        return np.asarray(np.cumsum(self.active) - 1)

    def blocks(self, size: int) -> Iterator["Axis"]:
        """Yield the axis in parts of at most ``size`` entries, in their order."""
        for first in range(0, len(self), size):
            yield self.some(range(first, min(first + size, len(self))))

    def some(self, positions: Iterable[int]) -> "Axis":
        """Return some of the entries, in this order."""
        where = list(positions)
        columns = {name: tuple(values[i] for i in where) for name, values in self.columns.items()}
        labels = tuple(self.labels[i] for i in where)
        return replace(self, labels=labels, columns=columns, retired=frozenset())

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
        key = tuple((sort(v), v) for v in (plain(part, self.kind) for part in parts))
        found = self._found(key, row=isinstance(item, Mapping))
        if found is not None:
            return found
        names = {str(label): label for label in self.labels}
        text = texts({str(n): (v,) for n, v in item.items()})[0] if isinstance(item, Mapping) else item
        near = difflib.get_close_matches(str(text), names, n=3, cutoff=0.3) or list(names)[:3]
        hint = ", ".join(repr(names[name]) for name in near)
        raise InputError(f"unknown {self.kind} {item!r}. Did you mean one of {hint}? Give {self._form}.")

    def _found(self, key: Key, *, row: bool) -> int | None:
        """Return the position of a label or a row, None where there is none, or where several are alike."""
        known = self._positions[row]
        if key in known:
            return known[key]
        alike = [i for other, i in known.items() if all(map(close, key, other))]
        return alike[0] if len(alike) == 1 else None

    def place(self, item: Item) -> int | None:
        """Return the position of a label or a row, None where there is none."""
        parts = [item[name] for name in self.columns] if isinstance(item, Mapping) else [item]
        return self._found(tuple((sort(part), part) for part in parts), row=isinstance(item, Mapping))

    def frame(self, indices: Iterable[int] | None = None) -> "pd.DataFrame":
        """Return the axis, or the given positions of it, as columns `context`, `context.rate`, ..."""
        where = range(len(self)) if indices is None else [int(i) for i in indices]
        columns: Columns = {self.kind: self.labels} if self.named else {}
        columns |= {f"{self.kind}.{name}": values for name, values in self.columns.items()}
        import pandas as pd  # takes long, and not every command makes frames

        return pd.DataFrame({name: [values[i] for i in where] for name, values in columns.items()})

    def locate(self, frame: "pd.DataFrame") -> IntArray:
        """Return the position of every row of a frame that has the columns of `frame()`."""
        names = {f"{self.kind}.{name}": name for name in self.columns}
        if self.kind in frame.columns:
            items: list[Any] = frame[self.kind].tolist()
        elif names and set(names) <= set(frame.columns):
            items = frame[list(names)].rename(columns=names).to_dict("records")
        else:
            raise InputError(
                f"got a frame with the columns {list(frame.columns)}; no column identifies the {self.kind}. "
                f"Expected {list(self.frame().columns)}; rename the columns."
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

    @property
    def metric(self) -> Columns:
        """The columns with distances: numbers and booleans that are not declared to be categories."""
        return {
            name: values
            for name, values in self.coordinates.items()
            if sort(values[0]) != "text" and name not in self.categorical
        }

    def bounds(self, given: object = None) -> Bounds:
        """Return (lo, hi) of every metric column: as given, else the extremes.

        `given` is a pair if there is one metric column, a dict by column name, or a sequence of pairs.
        """
        metric = self.metric
        asked = _by_name(given, tuple(metric))
        for name in asked:
            if name in self.categorical:
                raise InputError(f"got bounds for {name!r}, which is declared categorical. Leave out one.")
            if name not in metric:
                raise unknown_name(f"{self.kind} column with bounds", name, metric)
        return {name: _interval(name, values, asked.get(name)) for name, values in metric.items()}

    def separation(self, bounds: Bounds, rows: "Axis | None" = None) -> Array:
        """Return squared distances [column, row, entry] of `rows` (default: the entries) from the entries.

        Metric columns: ((x - x') / (hi - lo))², 0 without a range. Categories: 1 where different, else 0.
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
        """Return steps in widths of the bounds; refused if one is so long that no distance is exact."""
        with np.errstate(over="ignore"):
            scaled: Array = step / width
        far = np.abs(scaled).max()
        if not far <= _FARTHEST:
            raise InputError(
                f"a {self.kind} is {far:.3g} times the width of the bounds of {name!r} from the others; "
                f"at most {_FARTHEST:g} times can be handled. Correct it."
            )
        return scaled

    def located(self, bounds: Bounds) -> Coordinates | None:
        """Return the coordinates of the entries; None if a single column of categories only names them."""
        columns = self.coordinates
        if len(columns) == 1 and not bounds:
            return None
        points = [_placed(values, bounds.get(name)) for name, values in columns.items()]
        return Coordinates(np.column_stack(points), np.array([name not in bounds for name in columns]))

    def outside(self, rows: "Axis", bounds: Bounds) -> BoolArray:
        """Return [row] whether a row lies out of the bounds, or has a category never seen."""
        outside = np.zeros(len(rows), bool)
        for name, values in self.coordinates.items():
            given, (lo, hi) = rows.coordinates[name], bounds.get(name, (0.0, 0.0))
            outside |= [not lo <= float(x) <= hi if name in bounds else x not in values for x in given]
        return outside

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def _read(cls, kind: Kind, given: object) -> "Axis":
        """Return the axis as given, its entries checked one by one but not yet against each other."""
        if isinstance(given, Axis):
            return replace(given, kind=kind)
        parse = of_frame if is_frame(given) else of_sequence
        raw_labels, raw_columns = parse(kind, given)
        columns = {name: checked(values, kind, name) for name, values in raw_columns.items()}
        labels = texts(columns) if raw_labels is None else checked(raw_labels, kind)
        return cls(kind, labels, columns, raw_labels is not None)

    def _from_labels(self, labels: tuple[Label, ...]) -> "Axis":
        """Return the rows that labels stand for: new values of a single column, else rows of this axis."""
        if len(self.columns) == 1 and not self.named:
            return replace(
                self, labels=labels, columns=dict.fromkeys(self.columns, labels), retired=frozenset()
            )
        return self.some(self.index(label) for label in labels)

    @cached_property
    def _positions(self) -> tuple[dict[Key, int], dict[Key, int]]:
        """Where each label stands, and where each row."""
        labels, rows = keys([self.labels]), keys(self.columns.values())
        return {key: i for i, key in enumerate(labels)}, {key: i for i, key in enumerate(rows)}

    @property
    def _form(self) -> str:
        """How an entry is to be given, for error messages."""
        sorts = ", ".join(f"{name!r} ({sort(values[0])})" for name, values in self.coordinates.items())
        return f"rows with the columns {sorts}" if self.columns else f"labels of {sorts}"


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
    lo, hi = (float(plain(end, f"a bound of {name!r}")) for end in ends)
    if not (lo <= least <= most <= hi and hi - lo < math.inf):
        raise InputError(
            f"bounds ({lo}, {hi}) of {name!r} do not hold its values {least} to {most}. Widen them."
        )
    return lo, hi


def _placed(values: tuple[Label, ...], bounds: tuple[float, float] | None) -> Array:
    """Return a column's numbers over their range, 0 without a range; categories by their number."""
    if bounds is None:
        numbers = {value: float(i) for i, value in enumerate(dict.fromkeys(values))}
        return np.array([numbers[value] for value in values])
    lo, hi = bounds
    return (np.array(values, float) - lo) / (hi - lo) if hi > lo else np.zeros(len(values))
