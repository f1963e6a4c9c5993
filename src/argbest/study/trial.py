"""Trials asked for, and their results: one by one, and as columns of numbers.

A study of a million trials reads and keeps only the columns; a `Trial`, or its result (`Told`), is made when
somebody looks at it.
"""

import math
import time
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np

from argbest.checks import real, reals, shown, truths
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.goals import checked_names, needs_goal
from argbest.core.replications import PLACE, ReplicationStore
from argbest.core.tally import LARGEST, summarise
from argbest.errors import InputError
from argbest.problems.axis import Item
from argbest.problems.base import Problem
from argbest.storage.base import Asked, Response, Told
from argbest.storage.pages import Past
from argbest.study.rewards import ones_among

MOST = 2**53  # replications in one summary: beyond, whole numbers are no longer exact
_FAIL = "Fix the simulator, or say that the trial failed."

T = TypeVar("T")
ELSEWHERE = "elsewhere"  # the worker of runs that nobody asked for: their random numbers are not ours
OPEN, FAILED = -1, -2  # stored instead of the number of the record that a trial ended with
SUMMARY = -1  # stored instead of a replication's number: several replications, told by their mean
_Row: TypeAlias = float | Sequence[float] | np.ndarray[Any, Any]  # True and False are numbers to Python
Value: TypeAlias = _Row | Mapping[str, _Row]  # of several responses by name


@dataclass(frozen=True)  # id and study determine the other fields; rows are dicts, which have no hash
class Trial:
    """One simulation to run: which alternative, in which context, with which seed."""

    id: int  # counts from 0
    alternative: Item = field(compare=False)  # as the simulator receives it
    context: Item = field(compare=False)  # as the simulator receives it
    replication: int = field(compare=False)  # how many trials of this pair were asked before
    seed: int = field(compare=False)  # draw all random numbers from it
    pair: tuple[int, int] = field(repr=False, compare=False)  # positions of alternative and context
    study: str = field(repr=False)  # the study that asked

    def __str__(self) -> str:
        return f"trial {self.id} (alternative {self.alternative!r}, context {self.context!r})"


def numbered(replication: int, values: Iterable[T]) -> Iterator[tuple[int, T]]:
    """Yield the single values of a trial with their numbers; values of equal number share random numbers."""
    for i, value in enumerate(values):
        yield replication + i * PLACE, value


def record(
    trial: Trial, value: object, seconds: float | None = None, responses: Sequence[str] | None = None
) -> Told:
    """Return the result of a trial given by a number or a row of replications; True and False stay so.

    With several ``responses`` the value is a dict of these by name (`by_response`).
    """
    if isinstance(value, Mapping):
        given = by_response(trial, value, responses)
        return _together(trial, [_response(trial, each, name) for name, each in given.items()], seconds)
    if responses is not None and len(responses) > 1:
        raise InputError(
            f"`tell` got {shown(value)} for {trial}; the study has the responses {', '.join(responses)}. "
            f"Tell a dict: {{{', '.join(f'{name!r}: ...' for name in responses)}}}."
        )
    if isinstance(value, float) and abs(value) <= LARGEST:  # by far the most common, so without arrays
        return Told(trial.id, 1, float(value), 0.0, (float(value),), seconds, time.time())
    n, only = _response(trial, value)
    return Told(trial.id, n, *only, seconds, time.time())


def by_response(trial: Trial, given: Mapping[Any, Any], responses: Sequence[str] | None) -> dict[str, Any]:
    """Return a dict in the order of the study's responses; an error if it has not exactly these."""
    if responses is None:
        try:
            return dict(zip(checked_names(given), given.values(), strict=True))
        except InputError as error:
            raise InputError(f"`tell` got {shown(dict(given))} for {trial}: {error}") from None
    missing = [name for name in responses if name not in given]
    extra = [name for name in given if name not in responses]
    if missing or extra:
        what = f"without the response {missing[0]!r}" if missing else f"with the response {extra[0]!r}"
        known = ", ".join(map(repr, responses))
        raise InputError(
            f"`tell` got a dict {what} for {trial}; the study has {known}, and every result has all of them "
            f"and no others. {_FAIL}"
        )
    return {name: given[name] for name in responses}


def _together(trial: Trial, given: Sequence[tuple[int, Response]], seconds: float | None) -> Told:
    """Return the result of a trial with several responses, which must have equally many replications."""
    if not given:
        raise needs_goal(())
    sizes = {n for n, _ in given}
    if len(sizes) > 1:
        raise InputError(
            f"`tell` got {' and '.join(map(str, sorted(sizes)))} replications of different responses for "
            f"{trial}; one replication gives all of them. Give lists of equal length."
        )
    (n, first), *others = given
    return Told(trial.id, n, *first, seconds, time.time(), tuple(each for _, each in others) or None)


def _response(trial: Trial, value: object, name: str = "") -> tuple[int, Response]:
    """Return the number of replications of one response, with their mean, squared deviations and values."""
    if isinstance(value, tuple) and len(value) == 3:
        raise InputError(
            f"`tell` got the tuple {shown(value)} for {trial}: three replications, or a summary? "
            "For replications give a list, `tell(trial, [a, b, c])`; for a summary use keywords, "
            "`tell(trial, mean=a, variance=b, n=c)`."
        )
    truth_values = truths(value)
    values = _replications(trial, value, name) if truth_values is None else np.array(truth_values, float)
    n, mean, m2 = summarise(values)
    return n, Response(mean, m2, tuple(truth_values or values.tolist()))


def summary(
    trial: Trial,
    *,
    mean: object,
    variance: object,
    n: object,
    rate: bool | Collection[str] = False,
    seconds: float | None = None,
    responses: Sequence[str] | None = None,
) -> Told:
    """Return the result of a trial given by the mean of n replications and their variance (divisor n − 1).

    Of a ``rate`` the mean is k/n, and no variance is needed: it is k/n (1 − k/n) n/(n − 1). Of several
    ``responses`` mean and variance are dicts by name, and ``rate`` names those that are rates.
    """
    if not isinstance(mean, Mapping):
        if responses is not None and len(responses) > 1:
            raise InputError(
                f"`tell` got mean={shown(mean)} for {trial}; the study has the responses "
                f"{', '.join(responses)}. Give mean and variance as dicts by response."
            )
        number, response = _summary(trial, mean, variance, n, is_rate=bool(rate))
        return Told(trial.id, number, *response, seconds, time.time())
    variances = variance if isinstance(variance, Mapping) else {}
    unknown = [name for name in variances if name not in mean]
    if unknown or not (variance is None or isinstance(variance, Mapping)):
        raise InputError(
            f"`tell` got mean={shown(mean)}, variance={shown(variance)} for {trial}; the mean is a dict by "
            "response, and so is the variance. Name the same responses in both."
        )
    rates = () if isinstance(rate, bool) else rate
    parts = [
        _summary(trial, each, variances.get(name), n, name, is_rate=name in rates or rate is True)
        for name, each in by_response(trial, mean, responses).items()
    ]
    return _together(trial, parts, seconds)


def _summary(
    trial: Trial, mean: object, variance: object, n: object, name: str = "", *, is_rate: bool
) -> tuple[int, Response]:
    """Return the number of replications of one response, and their summary."""
    of = f" of {name!r}" if name else ""
    got = f"`tell` got mean={shown(mean)}, variance={shown(variance)}, n={shown(n)}{of} for {trial}"
    number = real(n)
    if number is None or not (1 <= number <= MOST and number.is_integer()):
        raise InputError(f"{got}; n counts replications: expected a whole number from 1 to 2^53.")
    if is_rate:
        return int(number), _rate_summary(got, real(mean), int(number), variance)
    if variance is None and number > 1:
        share_of_ones = real(mean)
        ones = " If each of them is 0 or 1, declare rate=True: then mean and n are enough."
        raise InputError(
            f"{got}; the mean of several replications needs their variance: that of one replication, with "
            f"divisor n - 1.{ones if share_of_ones is not None and 0 <= share_of_ones <= 1 else ''}"
        )
    centre, spread = real(mean), 0.0 if variance is None else real(variance)
    if centre is None or spread is None or not np.isfinite([centre, spread]).all():
        raise InputError(f"{got}; mean and variance must be finite numbers. {_FAIL}")
    if abs(centre) > LARGEST or abs(spread) * number > LARGEST**2:
        raise InputError(
            f"{got}; a mean is at most {LARGEST:g}, a variance times n at most {LARGEST**2:g}. {_FAIL}"
        )
    if spread < 0 or (number == 1 and spread > 0):
        raise InputError(f"{got}; a variance is 0 or more, and 0 or left out for a single replication.")
    return int(number), Response(centre, spread * (number - 1), None)


def _rate_summary(got: str, mean: float | None, n: int, variance: object) -> Response:
    """Return mean k/n and sum of squared deviations k(n − k)/n of k ones among n values of 0 and 1."""
    ones = None if mean is None or not math.isfinite(mean) else ones_among(mean, n)
    if ones is None:
        raise InputError(
            f"{got}; the rewards are a rate, so mean times n counts those that are 1: expected a whole "
            f"number from 0 to {n}. Give the mean with all its digits, as k / n."
        )
    m2 = ones * (n - ones) / n
    expected, given = m2 / max(n - 1, 1), real(variance)
    agrees = given is not None and math.isclose(given, expected, rel_tol=1e-6, abs_tol=1e-12)
    if variance is not None and not agrees:
        raise InputError(
            f"{got}; {ones} ones among {n} values have the variance {expected:.6g} (divisor n - 1). Leave "
            "the variance out."
        )
    return Response(ones / n, m2, None)


def _replications(trial: Trial, value: object, name: str = "") -> Array:
    """Return replications as floats; nothing that merely looks like a number is taken for one."""
    of = f" of {name!r}" if name else ""
    try:
        values = np.atleast_1d(reals(value))
    except InputError as error:
        raise InputError(
            f"`tell` got {shown(value)} ({type(value).__name__}){of} for {trial}: {error}. "
            f"Expected a number, a list of replications, or mean, variance and n. {_FAIL}"
        ) from None
    if values.ndim != 1 or values.size == 0:
        raise InputError(
            f"`tell` got an array of shape {values.shape}{of} for {trial}; replications form one row."
        )
    if not np.all(np.abs(values) <= LARGEST):
        raise InputError(
            f"`tell` got value={shown(value)}{of} for {trial}; a reward must be finite, at most {LARGEST:g}. "
            f"{_FAIL}"
        )
    return values


class Columns:
    """Numbers by name and row; ``kinds`` are the type codes of `array`."""

    def __init__(self, **kinds: str) -> None:
        self._by_name: dict[str, array[Any]] = {name: array(kind) for name, kind in kinds.items()}
        self._columns = tuple(self._by_name.values())
        self.one = self._columns[0]  # any column: all are equally long

    def __len__(self) -> int:
        return len(self.one)

    def __getitem__(self, name: str) -> "array[Any]":
        return self._by_name[name]

    def append(self, *row: float) -> None:
        """Add a row."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)

    def extend(self, rows: Mapping[str, AnyArray]) -> None:
        """Add many rows at once."""
        for name, column in self._by_name.items():
            column.frombytes(np.ascontiguousarray(rows[name], column.typecode).tobytes())

    def first(self, n: int) -> "Columns":
        """Return a copy of the first n rows."""
        copy = Columns(**{name: column.typecode for name, column in self._by_name.items()})
        for name, column in self._by_name.items():
            copy[name].extend(column[:n])
        return copy

    def numbers(self, name: str) -> AnyArray:
        """Return a copy of a column."""
        column = self._by_name[name]
        return np.array(column, f"{'f' if column.typecode == 'd' else 'i'}{column.itemsize}")


class _MadeWhenSeen(Sequence[T]):
    """A sequence whose items are made when somebody looks at them."""

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
        rows = range(len(self.columns.one))[index]
        return self._make(rows) if isinstance(rows, int) else [self._make(row) for row in rows]

    def __iter__(self) -> Iterator[T]:
        return (self._make(row) for row in range(len(self.columns)))


class Trials(_MadeWhenSeen[Trial]):
    """All trials asked for, by their ids."""

    def __init__(self, problem: Problem, study: str) -> None:
        self.problem, self._study = problem, study  # the problem as it is now: rows are only ever added
        self.columns = Columns(
            alternative="q", context="q", replication="q", seed="q", designed="b", worker="q", time="d",
            end="q",
        )  # fmt: skip
        self._names: dict[str, int] = {}  # of workers, and the numbers that stand for them

    def add(self, event: Asked) -> None:
        """Add a trial."""
        worker = self._names.setdefault(event.worker, len(self._names))
        trial = event.alternative, event.context, event.replication, event.seed
        self.columns.append(*trial, event.designed, worker, event.time, OPEN)

    def extend(self, asked: Mapping[str, AnyArray], workers: Sequence[str], end: AnyArray) -> None:
        """Add the first trials at once; ``end`` is the record of each, OPEN or FAILED."""
        self._names = {name: i for i, name in enumerate(workers)}
        self.columns.extend({**asked, "end": end})

    def first(self, n: int, n_records: int, failed: Collection[int]) -> "Trials":
        """Return the first n trials as they were when ``n_records`` were told and those ``failed`` had."""
        copy = Trials(self.problem, self._study)
        copy._names, copy.columns = dict(self._names), self.columns.first(n)
        end = copy.columns.numbers("end")
        later = (end >= n_records) | (end == FAILED)
        later[list(failed)] = False
        copy.columns["end"][:] = array("q", np.where(later, OPEN, end).tobytes())
        return copy

    def pair(self, trial: int) -> tuple[int, int]:
        """Return the positions of a trial's alternative and context."""
        return self.columns["alternative"][trial], self.columns["context"][trial]

    def designed(self, trial: int) -> bool:
        """Return whether a trial is of the initial design."""
        return bool(self.columns["designed"][trial])

    def elsewhere(self, trial: int) -> bool:
        """Return whether a trial was run elsewhere, so that it shares random numbers with no other."""
        worker: int = self.columns["worker"][trial]
        return worker == self._names.get(ELSEWHERE)

    def all_elsewhere(self) -> BoolArray:
        """Return [trial] whether it was run elsewhere."""
        return np.asarray(self.columns.numbers("worker") == self._names.get(ELSEWHERE, -1))

    def workers(self) -> list[str]:
        """Return the worker that asked for each trial."""
        names = list(self._names)
        return [names[i] for i in self.columns["worker"]]

    def _make(self, row: int) -> Trial:
        k, c = pair = self.pair(row)
        columns, problem = self.columns, self.problem
        items = problem.alternatives.item(k), problem.contexts.item(c)
        return Trial(row, *items, columns["replication"][row], columns["seed"][row], pair, self._study)


class Records(_MadeWhenSeen[Told]):
    """The results of trials (a record each), in the order of telling; the values are rows of a store.

    A record of single values has a row of the store for each of them; a summary has one row, with its means.
    """

    def __init__(self, trials: Trials, store: ReplicationStore) -> None:
        self._trials, self._store = trials, store
        # ``size`` counts single values, -1 for a summary; ``start`` is the first row of the record.
        self.columns = Columns(trial="q", n="q", m2="d", size="q", start="q", seconds="d", time="d")
        self._means: dict[int, tuple[float, ...]] = {}  # of records of several values, as they were told
        self._squares: list[tuple[float, ...]] = []  # m2 of every response but the first, if there are any

    def add(self, event: Told, *, shared: bool) -> None:
        """Add a result; ``shared``: other alternatives have the same random numbers."""
        size = -1 if event.values is None else len(event.values)
        seconds = math.nan if event.seconds is None else event.seconds
        if size > 1:
            self._means[len(self)] = tuple(each.mean for each in event.responses)
        if event.further is not None:
            self._squares.append(tuple(each.m2 for each in event.further))
        start = len(self._store)
        self.columns.append(event.trial, event.n, event.m2, size, start, seconds, event.time)
        pair, replication = self._trials.pair(event.trial), self._trials.columns["replication"][event.trial]
        if event.values is None:
            means = np.array([each.mean for each in event.responses])
            self._store.append(*pair, SUMMARY, means, shared=False)
            return
        values: Any = event.values
        if event.further is not None:
            values = zip(*(each.values or () for each in event.responses), strict=True)
        for number, value in numbered(replication, values):
            self._store.append(*pair, number, value, shared=shared)

    def extend(self, past: Past, shared: BoolArray) -> None:
        """Add the first results at once; ``shared`` [record] as in `add`."""
        told, further = past.told, past.further
        size = told["size"].astype(np.int64)
        mean = np.concatenate([np.asarray(told["mean"], float)[None], further["mean"].reshape(-1, len(size))])
        rows = np.where(size < 0, 1, size)
        start = np.cumsum(rows) - rows
        self.columns.extend({**told, "start": start})
        several = np.flatnonzero(size > 1)
        self._means = {row: tuple(mean[:, row].tolist()) for row in several.tolist()}
        if len(mean) > 1:
            self._squares = [tuple(row) for row in further["m2"].T.tolist()]
        record = np.repeat(np.arange(len(size)), rows)
        trial, single = np.asarray(told["trial"], np.int64)[record], size[record] >= 0
        value = mean[:, record]
        value[:, single] = np.concatenate([past.values[None], further["values"].reshape(-1, single.sum())])
        asked = self._trials.columns
        k, c, replication = (asked.numbers(name)[trial] for name in ("alternative", "context", "replication"))
        number = np.where(single, replication + (np.arange(len(record)) - start[record]) * PLACE, SUMMARY)
        self._store.extend(k, c, number, value, shared[record] & single)

    def first(self, n: int) -> "Records":
        """Return the first n records."""
        copy = Records(self._trials, self._store)
        copy.columns, copy._means, copy._squares = self.columns.first(n), self._means, self._squares
        return copy

    def values(self, row: int) -> Array | None:
        """Return the single values of a record, [response, replication]; None for a summary."""
        start, size = self.columns["start"][row], self.columns["size"][row]
        return None if size < 0 else self._store.values[:, start : start + size]

    def shared(self, row: int) -> bool:
        """Return whether other alternatives have the random numbers of a record."""
        return bool(self._store.shared[self.columns["start"][row]])

    def mean(self, row: int) -> Array:
        """Return the means of the values of a record, [response]."""
        if self.columns["size"][row] > 1:
            return np.array(self._means[row])
        return self._store.values[:, self.columns["start"][row]]

    def means(self) -> Array:
        """Return the means of every record, [response, record]."""
        means: Array = self._store.values[:, self.columns.numbers("start")]
        several = [row for row in self._means if row < len(self)]
        if several:
            means[:, several] = np.array([self._means[row] for row in several]).T
        return means

    def squares(self) -> Array:
        """Return the sums of squared deviations of every record, [response, record]."""
        first = self.columns.numbers("m2")[None]
        if not self._squares:
            return np.repeat(first, len(self._store.values), axis=0)
        return np.concatenate([first, np.array(self._squares[: len(self)]).T])

    def squares_of(self, weights: tuple[float, ...]) -> Array:
        """Return the sums of squared deviations of Σ weight · response of every record, [record].

        How the responses of a summary are correlated is not known: they are taken for independent.
        """
        squares = np.asarray(np.square(weights) @ self.squares())
        if len(weights) > 1:
            several = np.flatnonzero(self.columns.numbers("size") > 1)
            for row in several.tolist():
                start, size = self.columns["start"][row], self.columns["size"][row]
                deviation = self._store.values[:, start : start + size] - self.mean(row)[:, None]
                squares[row] = np.sum((np.array(weights) @ deviation) ** 2)
        return squares

    def rows_until(self, n: int) -> int:
        """Return how many rows of the store the first n records have."""
        return int(self.columns["start"][n]) if n < len(self) else self._end()

    def values_of_rows(self) -> Array:
        """Return the value in every row, [response, row]: a single value, or the mean of a summary."""
        return self._store.values[:, : self._end()]

    def record_of_rows(self) -> IntArray:
        """Return the record of every row, [row]."""
        return np.repeat(np.arange(len(self)), np.abs(self.columns.numbers("size")))

    def _end(self) -> int:
        """Return the first row of the store after those of all records."""
        return int(self.columns["start"][-1] + abs(self.columns["size"][-1])) if len(self) else 0

    def _make(self, row: int) -> Told:
        columns, values = self.columns, self.values(row)
        seconds = None if math.isnan(columns["seconds"][row]) else columns["seconds"][row]
        squares = (columns["m2"][row], *(self._squares[row] if self._squares else ()))
        first, *further = (
            Response(mean, m2, None if values is None else tuple(values[i].tolist()))
            for i, (mean, m2) in enumerate(zip(self.mean(row).tolist(), squares, strict=True))
        )
        trial, n, ended = (columns[name][row] for name in ("trial", "n", "time"))
        return Told(trial, n, *first, seconds, ended, tuple(further) or None)
