"""Trials and records of a study as columns of numbers: a million of them are read, and kept, at once.

A `Trial` or what was told of it is made when somebody looks at it.
"""

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from argbest.core.arrays import AnyArray
from argbest.problems.base import Problem
from argbest.storage.base import Asked, Told
from argbest.study.trial import Trial

T = TypeVar("T")
OPEN, FAILED = -1, -2  # in the place of the record that a trial ended with


class Columns:
    """Numbers by name and row; ``kinds`` are the type codes of `array`."""

    def __init__(self, **kinds: str) -> None:
        self._of: dict[str, array[Any]] = {name: array(kind) for name, kind in kinds.items()}
        self.one = next(iter(self._of.values()))  # any: all are equally long

    def __len__(self) -> int:
        return len(self.one)

    def __getitem__(self, name: str) -> "array[Any]":
        return self._of[name]

    def append(self, *row: float) -> None:
        """Add a row."""
        for column, value in zip(self._of.values(), row, strict=True):
            column.append(value)

    def extend(self, rows: Mapping[str, AnyArray]) -> None:
        """Add many rows at once."""
        for name, column in self._of.items():
            column.frombytes(np.ascontiguousarray(rows[name], column.typecode).tobytes())

    def numbers(self, name: str) -> AnyArray:
        """Return a copy of a column."""
        column = self._of[name]
        return np.array(column, f"{'f' if column.typecode == 'd' else 'i'}{column.itemsize}")


class _Made(Sequence[T]):
    """A sequence whose items are made when somebody looks."""

    columns: Columns

    def _make(self, row: int) -> T:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.columns.one)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        rows = range(len(self.columns))
        if isinstance(index, slice):
            return [self._make(row) for row in rows[index]]
        return self._make(rows[index])

    def __iter__(self) -> Iterator[T]:
        return (self._make(row) for row in range(len(self.columns)))


class Trials(_Made[Trial]):
    """All trials asked for, by their ids."""

    def __init__(self, problem: Problem, study: str) -> None:
        self._problem, self._study = problem, study
        self.columns = Columns(
            alternative="q",
            context="q",
            replication="q",
            seed="q",
            designed="b",
            worker="q",
            time="d",
            end="q",
        )
        self._names: dict[str, int] = {}  # of workers, and their places

    def add(self, event: Asked) -> None:
        """Take in one more."""
        who = self._names.setdefault(event.worker, len(self._names))
        place = event.alternative, event.context, event.replication, event.seed
        self.columns.append(*place, event.designed, who, event.time, OPEN)

    def extend(self, asked: Mapping[str, AnyArray], workers: Sequence[str], end: AnyArray) -> None:
        """Take in the first ones at once; ``end`` is the record of each, OPEN or FAILED."""
        self._names = {name: i for i, name in enumerate(workers)}
        self.columns.extend({**asked, "end": end})

    def pair(self, trial: int) -> tuple[int, int]:
        """Return the positions of its alternative and its context."""
        return self.columns["alternative"][trial], self.columns["context"][trial]

    def designed(self, trial: int) -> bool:
        """Return whether it was taken from the initial design."""
        return bool(self.columns["designed"][trial])

    def workers(self) -> list[str]:
        """Return who asked for each."""
        names = list(self._names)
        return [names[i] for i in self.columns["worker"]]

    def _make(self, row: int) -> Trial:
        k, c = self.pair(row)
        columns, problem = self.columns, self._problem
        return Trial(
            id=row,
            alternative=problem.alternatives.item(k),
            context=problem.contexts.item(c),
            replication=columns["replication"][row],
            seed=columns["seed"][row],
            pair=(k, c),
            study=self._study,
        )


class Records(_Made[Told]):
    """All that was told, in the order of telling."""

    def __init__(self) -> None:
        self.columns = Columns(trial="q", n="q", mean="d", m2="d", size="q", start="q", seconds="d", time="d")
        self.values = array("d")  # of all records, one after the other

    def add(self, event: Told) -> None:
        """Take in one more."""
        size = -1 if event.values is None else len(event.values)
        seconds = math.nan if event.seconds is None else event.seconds
        summary = event.n, event.mean, event.m2
        self.columns.append(event.trial, *summary, size, len(self.values), seconds, event.time)
        self.values.extend(event.values or ())

    def extend(self, told: Mapping[str, AnyArray], values: AnyArray) -> None:
        """Take in the first ones at once."""
        sizes = np.maximum(told["size"], 0).astype(np.int64)
        self.columns.extend({**told, "start": np.cumsum(sizes) - sizes})
        self.values.frombytes(np.ascontiguousarray(values, float).tobytes())

    def _make(self, row: int) -> Told:
        columns = self.columns
        start, size = columns["start"][row], columns["size"][row]
        values = None if size < 0 else tuple(self.values[start : start + size])
        seconds = None if math.isnan(columns["seconds"][row]) else columns["seconds"][row]
        trial, n, mean, m2 = (columns[name][row] for name in ("trial", "n", "mean", "m2"))
        return Told(trial, n, mean, m2, values, seconds, columns["time"][row])
