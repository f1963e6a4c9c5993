"""Runs made elsewhere, a row each, as replications of a problem."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from argbest.answers.frames import RESPONSE
from argbest.checks import flag, truth
from argbest.core import goals
from argbest.core.arrays import Array, IntArray
from argbest.core.tally import LARGEST
from argbest.errors import InputError
from argbest.posthoc import columns
from argbest.posthoc.columns import Bins, Located, Names
from argbest.posthoc.representatives import MOST_PAIRS, represented, with_asked_about
from argbest.problems.axis import Axis
from argbest.problems.base import Problem, Simulate, declared_rates
from argbest.problems.population import RUNS, People
from argbest.study.rewards import impossible_value
from argbest.study.study import Study
from argbest.study.trial import MOST, Trial

_FEW_ENTRIES = 30  # alternatives or contexts that need not repeat: so many, each with its runs, are no burden
# With more contexts than these and hardly a pair run twice, no model has an answer in time.
_MANY_CONTEXTS = 500

_Given: TypeAlias = tuple[tuple[int, int], dict[str, Any]]  # a pair, and what `Study.tell` takes of it
_CHOICES = "Alternatives are what you can choose: name the columns that identify them, or round their values."


@dataclass(frozen=True)
class Observed:
    """Runs made elsewhere: the problem that they are about, and the alternative and context of each row."""

    problem: Problem
    alternative: IntArray  # [row]
    context: IntArray  # [row]
    told: "RowsTold"  # the values of every row
    number: IntArray | None = None  # [row]: which replication of its context it is, where that is known
    notes: tuple[str, ...] = ()  # what became of the rows, where that may surprise

    def study(self, **options: Any) -> Study:
        """Return a study that has been told all runs; options are those of `Study`.

        One trial holds all replications of a pair, in the order of the rows; each summary is one of its own.
        Where replications are numbered, each is a trial of its own, and the study one of common random
        numbers: those of equal number in a context share noise.
        """
        if options.get("common_random_numbers") is None:
            options["common_random_numbers"] = self.number is not None
        told, numbers = (self._told(), None) if self.number is None else self._numbered(self.number)
        design = _AsRun(tuple(pair for pair, _ in told), numbers)
        study = Study(self.problem, initial=design, **options)
        for trial, (_, given) in zip(study.ask(len(told)), told, strict=True):
            study.tell(trial, **given)
        return study

    def trials(self) -> list[tuple[Trial, dict[str, Any]]]:
        """Return one trial for all replications of each pair, and what `Study.tell` takes of it."""
        alternatives, contexts = self.problem.alternatives, self.problem.contexts
        return [
            (Trial(i, alternatives.item(k), contexts.item(c), 0, 0, (k, c), study=""), given)
            for i, ((k, c), given) in enumerate(self._told())
        ]

    def _numbered(self, number: IntArray) -> tuple[list[_Given], tuple[int, ...]]:
        """Return `rows` in the order of their numbers, and these; summaries have numbers of their own."""
        numbers = number.copy()
        several = np.flatnonzero(self.told.n > 1)
        numbers[several] = number.max() + 1 + np.arange(len(several))
        order, rows = np.argsort(numbers, kind="stable").tolist(), list(self.rows())
        return [rows[row] for row in order], tuple(int(numbers[row]) for row in order)

    def _told(self) -> list[_Given]:
        """Return the pairs, and what `Study.tell` takes of each, in the order of their first rows."""
        told: dict[object, tuple[tuple[int, int], list[dict[str, Any]]]] = {}
        for row, (pair, given) in enumerate(self.rows()):
            told.setdefault(pair if "value" in given else row, (pair, []))[1].append(given)
        return [(pair, self.told.joined(given)) for pair, given in told.values()]

    def rows(self) -> Iterator[_Given]:
        """Yield the pair of every row, and what `Study.tell` takes of it."""
        pairs = zip(self.alternative.tolist(), self.context.tolist(), strict=True)
        return zip(pairs, self.told.rows(), strict=True)


@dataclass(frozen=True)
class _AsRun:
    """The initial design of a study whose runs were made elsewhere."""

    told: tuple[tuple[int, int], ...]
    numbers: tuple[int, ...] | None = None

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[tuple[int, int]]:
        return list(self.told)


def observe(
    frame: pd.DataFrame,
    *,
    alternative: str | Sequence[str] = "alternative",
    context: str | Sequence[str] = "context",
    value: str | Sequence[str] | None = None,
    replication: str | None = None,
    goal: str = "max",
    limits: object = None,
    price: float | None = None,
    weights: object = None,
    bounds: object = None,
    categorical: object = (),
    bins: Bins = None,
    contexts: object = None,
    unit: object = None,
    reward_range: object = None,
    rate: object = False,
    dropna: bool = False,
    simulate: Simulate | None = None,
    name: str = "runs",
) -> Observed:
    """Return the runs in a frame, a row each, as replications of a problem.

    ``value`` names the column of the rewards, or a list of columns, one for each response. Without it these
    are the responses that ``goal`` and ``limits`` name, or the column ``value`` if they name none.

    ``alternative`` and ``context`` name one column or several each; their distinct rows, ordered by these
    columns (numbers by size, text as it first came), are the alternatives and the contexts. Frames as
    `Study.observations` returns them need no names. Rows with a column ``n`` above 1 are means of so many
    replications, and need their sample variance in the column ``variance``; with ``rate`` they need none.
    That of a response is in a column such as ``variance.cost``.

    ``replication`` names a column that tells which runs of a context shared their random numbers: a number of
    the replication, or its seed. Runs with the same entry in a context then have noise in common.

    ``categorical`` names columns of either that hold numbers but mean names, as `Problem` takes it.
    ``weights`` are numbers in the order of the contexts, or the name of a column. ``bins`` puts contexts
    that hardly repeat into groups, see `columns.locate`; a bin weighs as much as the contexts in it. Without
    it contexts may differ from run to run: they are a population, and where more than some 1,500 pairs were
    run, each is represented by a near one (`posthoc.representatives`). ``contexts``, a table, is what the
    answer shall be about instead of those of the runs; these then have weight 0, and ``weights`` are those of
    the contexts asked about.
    ``unit``, ``reward_range`` and ``rate`` are those of `Problem`; values may be True and False. Rows with
    something missing are refused, or left out with ``dropna``.
    """
    need_rows(frame)
    names = (
        columns.named("alternative", frame, alternative, categorical),
        columns.named("context", frame, context, categorical),
    )
    if replication is not None:
        columns.check_name("replication column", frame, replication)
    by_pair = [*names[0].used, *names[1].used]
    found = _value_columns(frame, by_pair, value, goals.Wanted.read(goal, limits, price))
    others = [*by_pair, *([] if replication is None else [replication])]
    used = used_columns(frame, others, found, weights)
    kept, rows, told = rows_told(
        frame, used, found, dropna=dropna, rate=declared_rates(rate, found.responses)
    )
    where = columns.locate(names[0], kept, rows), columns.locate(names[1], kept, rows, bins)
    endless = _never_repeat(names, where, told.n)
    given = weights if contexts is not None else _weights(weights, names[1], kept, rows, where[1])
    there, shares = _contexts(where, given, contexts, endless=endless)
    where = where[0], there
    problem = Problem(
        where[0].axis, there.axis, simulate, weights=shares, bounds=_bounds(bounds, there), goal=goal,
        categorical=categorical, limits=limits, price=price, responses=found.responses or None,
        unit=unit, reward_range=reward_range, rate=rate, name=name,
    )  # fmt: skip
    _refuse_impossible(problem, found, rows, told)
    dropped = len(frame) - len(kept)
    left_out = f"{dropped} of {len(frame)} rows were left out, because they have missing values."
    notes = *([left_out] if dropped else []), *where[0].notes, *where[1].notes
    place = where[0].position, where[1].position
    number = None if replication is None else _numbers(kept[replication], place, rows)
    return Observed(problem, *place, told, number, notes)


def further(
    frame: pd.DataFrame,
    problem: Problem,
    *,
    alternative: str | Sequence[str] | None = None,
    context: str | Sequence[str] | None = None,
    value: str | Sequence[str] | None = None,
    dropna: bool = False,
) -> Observed:
    """Return more runs of a problem, a row each; see `Study.tell_frame`."""
    need_rows(frame)
    sides = (problem.alternatives, alternative), (problem.contexts, context)
    found = [columns_of(axis, frame, given) for axis, given in sides]
    pairs = [name for names, _ in found for name in names]
    values = _columns_of_responses(frame, pairs, value, problem)
    kept, rows, told = rows_told(
        frame, used_columns(frame, pairs, values), values, dropna=dropna, rate=problem.rate
    )
    _refuse_impossible(problem, values, rows, told)
    k, c = (
        _positions(axis, kept, names, rows, labels=labels)
        for (axis, _), (names, labels) in zip(sides, found, strict=True)
    )
    return Observed(problem, k, c, told)


def of_trials(
    frame: pd.DataFrame,
    problem: Problem,
    opened: Callable[[int], Trial],
    *,
    trial: str = "trial",
    value: str | Sequence[str] | None = None,
    dropna: bool = False,
) -> list[tuple[Trial, dict[str, Any]]]:
    """Return the trials that a frame has values of, by ``opened`` from their ids, and what `tell` takes."""
    need_rows(frame)
    columns.check_name("trial column", frame, trial)
    values = _columns_of_responses(frame, [trial], value, problem)
    kept, rows, told = rows_told(
        frame, used_columns(frame, [trial], values), values, dropna=dropna, rate=problem.rate
    )
    _refuse_impossible(problem, values, rows, told)
    ids = columns.numbers(kept, trial, rows)
    whole = [int(each) if each == np.rint(each) else each for each in ids.tolist()]
    trials = {each: opened(each) for each in dict.fromkeys(whole)}
    given: dict[int, list[dict[str, Any]]] = {each: [] for each in trials}
    for number, row in zip(whole, told.rows(), strict=True):
        given[number].append(row)
        if len(given[number]) > 1 and ("n" in row or "n" in given[number][0]):
            raise InputError(
                f"{trials[number]} has a summary and other rows. A trial has one summary, or single values."
            )
    return [(trials[number], told.joined(rows)) for number, rows in given.items()]


def columns_of(axis: Axis, frame: pd.DataFrame, given: str | Sequence[str] | None) -> tuple[list[str], bool]:
    """Return the columns of a frame that identify entries of an axis, and whether they are its labels."""
    kind, own = axis.kind, list(axis.columns)
    if given is None:
        if kind in frame.columns:
            return [kind], True
        for asked in ([f"{kind}.{name}" for name in own], own):
            if asked and set(asked) <= set(frame.columns):
                return asked, False
        raise InputError(
            f"got a frame with the columns {list(frame.columns)}; none identifies the {kind}. Expected "
            f"{own or kind!r}; or name the column: {kind}='...'."
        )
    asked = [given] if isinstance(given, str) else list(given)
    for name in asked:
        columns.check_name(f"{kind} column", frame, name)
    short = {name.removeprefix(f"{kind}."): name for name in asked}
    if set(short) == set(own):
        return [short[name] for name in own], False
    if len(asked) == 1:
        return asked, True
    raise InputError(f"the {kind}s of this study have the columns {own}, and {asked} were named. Name those.")


def _positions(
    axis: Axis, frame: pd.DataFrame, names: list[str], rows: IntArray, *, labels: bool
) -> IntArray:
    """Return the place of every row's entry on an axis."""
    found, known = np.empty(len(frame), np.int64), dict[object, int]()
    for row, entry in enumerate(zip(*(frame[name].tolist() for name in names), strict=True)):
        if entry not in known:
            item = entry[0] if labels else dict(zip(axis.columns, entry, strict=True))
            try:
                known[entry] = axis.index(item)
            except InputError as error:
                raise InputError(
                    f"data row {rows[row] + 1}: {error} A study keeps the {axis.kind}s that it was made with."
                ) from None
        found[row] = known[entry]
    return found


class ValueColumns(NamedTuple):
    """The columns of a frame that hold values, and those of summaries."""

    values: tuple[str, ...]  # one for each response
    responses: tuple[str, ...]  # their names; () if the values are single numbers without a name
    n: str | None  # how many replications a row is the mean of
    variances: tuple[str, ...]  # those of the responses that are there

    @property
    def used(self) -> list[str]:
        """All of them."""
        return [*self.values, *([] if self.n is None else [self.n]), *self.variances]

    @property
    def all_variances(self) -> list[str]:
        """What the columns of variances are called, one for each response."""
        return [f"variance.{name}" for name in self.responses] or ["variance"]


def _value_columns(
    frame: pd.DataFrame,
    taken: Sequence[str],
    value: str | Sequence[str] | None,
    wanted: goals.Wanted,
) -> ValueColumns:
    """Return the columns that hold values; by default those that the goal and the limits name."""
    named = wanted.named
    if value is None and named:
        left = [name for name in frame.columns if isinstance(name, str) and name not in taken]
        known = [_short(name) for name in left]
        for each in wanted.parts:
            goals.refuse_unknown(each, known)
        return with_summaries(frame, taken, [left[known.index(name)] for name in named], named)
    if value is None or isinstance(value, str):
        asked = ["value" if value is None else value]
        return with_summaries(frame, taken, asked, [_short(asked[0])] if named else ())
    return listed(frame, taken, value)


def _columns_of_responses(
    frame: pd.DataFrame, taken: Sequence[str], value: str | Sequence[str] | None, problem: Problem
) -> ValueColumns:
    """Return the columns that hold the values of a problem's responses, by default called as these are."""
    if not problem.responses:
        return _value_columns(frame, taken, value, goals.Wanted(problem.aim, problem.limits, None, ()))
    if value is None:
        there = {_short(str(name)): str(name) for name in frame.columns if name not in taken}
        value = [there.get(name, name) for name in problem.responses]
    found = listed(frame, taken, [value] if isinstance(value, str) else value)
    if set(found.responses) != set(problem.responses):
        raise InputError(
            f"the value columns are {list(found.responses)}; expected one for each response of the study: "
            f"{list(problem.responses)}. Name all of them, and rename columns that are called otherwise."
        )
    return found


def listed(frame: pd.DataFrame, taken: Sequence[str], value: Sequence[str]) -> ValueColumns:
    """Return the value columns of a list of names."""
    asked = list(value) if isinstance(value, Sequence) else []
    if not asked or not all(isinstance(name, str) for name in asked):
        raise InputError(f"{value!r} names no value columns; name one or more of {list(frame.columns)}.")
    return with_summaries(frame, taken, asked, goals.checked_names(map(_short, asked)))


def with_summaries(
    frame: pd.DataFrame, taken: Sequence[str], asked: Sequence[str], responses: Sequence[str]
) -> ValueColumns:
    """Return the value columns with those of summaries, as far as they are there and mean nothing else."""
    for name in asked:
        columns.check_name("value column", frame, name)
    free = {str(name) for name in frame.columns} - {*taken, *asked}
    found = ValueColumns(tuple(asked), tuple(responses), "n" if "n" in free else None, ())
    return found._replace(variances=tuple(name for name in found.all_variances if name in free))


def _short(column: str) -> str:
    """Return the response that a column holds: response.n in exports where n is another column."""
    return column.removeprefix(RESPONSE) or column


@dataclass(frozen=True)
class RowsTold:
    """The values in the rows of a frame."""

    responses: tuple[str, ...]  # () if the values are single numbers without a name
    values: Array  # [response, row]: a replication, or the mean of several
    n: IntArray  # [row]: replications in it
    variance: Array  # [response, row]: of the sample, 0 where n is 1; NaN where a rate needs none
    truths: tuple[bool, ...]  # [response]: whether its values are True and False

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield what `Study.tell` takes of every row."""
        held = [
            [bool(x) for x in values] if truths else values
            for values, truths in zip(self.values.tolist(), self.truths, strict=True)
        ]
        for row, n in enumerate(self.n.tolist()):
            if n == 1:
                yield {"value": self._named([column[row] for column in held])}
                continue
            spread = [None if np.isnan(x) else x for x in self.variance[:, row].tolist()]
            yield {"mean": self._named(self.values[:, row].tolist()), "variance": self._named(spread), "n": n}

    def joined(self, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return what `Study.tell` takes of several rows of single values, or of one summary."""
        if "value" not in rows[0]:
            return rows[0]
        values = [row["value"] for row in rows]
        if not self.responses:
            return {"value": values}
        return {"value": {name: [each[name] for each in values] for name in self.responses}}

    def _named(self, values: Sequence[Any]) -> Any:
        """Return the values by response, or the only one."""
        return dict(zip(self.responses, values, strict=True)) if self.responses else values[0]


def rows_told(
    frame: pd.DataFrame,
    used: Sequence[str],
    found: ValueColumns,
    *,
    dropna: bool,
    rate: bool | tuple[str, ...],
) -> tuple[pd.DataFrame, IntArray, RowsTold]:
    """Return the complete rows, their positions in the frame, and their values."""
    needed = [name for name in used if name not in found.variances]  # only summaries have one
    kept, rows = _complete(frame, needed, flag("dropna", dropna))
    truths = tuple(all(truth(x) is not None for x in kept[name].tolist()) for name in found.values)
    values = np.array(
        [
            kept[name].to_numpy(float) if held else columns.numbers(kept, name, rows)
            for name, held in zip(found.values, truths, strict=True)
        ]
    )
    _refuse_huge(found, values, rows)
    n, variance = _summaries(kept, found, rows, rate=rate)
    return kept, rows, RowsTold(found.responses, values, n, variance, truths)


def need_rows(frame: object) -> pd.DataFrame:
    """Return the frame; an error if it is no frame, or an empty one."""
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"got {type(frame).__name__}; expected a pandas DataFrame with a row for every run.")
    if frame.empty:
        raise InputError("got a table without rows; expected a row for every run.")
    return frame


def _refuse_impossible(problem: Problem, found: ValueColumns, rows: IntArray, told: RowsTold) -> None:
    """Refuse single values that contradict what is known of the rewards."""
    single = told.n == 1
    for response, (column, values) in enumerate(zip(found.values, told.values, strict=True)):
        if problem.range_of(response) is None:
            continue
        for row, each in zip(rows[single], values[single].tolist(), strict=True):
            if wrong := impossible_value(problem, response, each):
                raise InputError(
                    f"data row {row + 1} has an impossible {column}: {wrong}. Correct the row, or what "
                    "was said of the rewards (rate, reward_range)."
                )


def _numbers(column: "pd.Series[Any]", place: tuple[IntArray, IntArray], rows: IntArray) -> IntArray:
    """Return the rank of every row's replication among those of its context."""
    codes = pd.factorize(column, sort=True)[0]
    found = np.empty(len(codes), np.int64)
    for c in np.unique(place[1]):
        here = place[1] == c
        found[here] = np.unique(codes[here], return_inverse=True)[1]
    runs = pd.DataFrame({"k": place[0], "c": place[1], "number": found})
    twice = np.flatnonzero(runs.duplicated())
    if twice.size:
        row = int(twice[0])
        first = int(np.flatnonzero((runs == runs.iloc[row]).all(axis=1))[0])
        raise InputError(
            f"data rows {rows[first] + 1} and {rows[row] + 1} have the same alternative, context and "
            f"{column.name} {column.iloc[row]!r}. A replication of a pair is one row: remove one, or name "
            "the column that distinguishes them."
        )
    return found


def used_columns(
    frame: pd.DataFrame, others: Sequence[str], found: ValueColumns, weights: object = None
) -> list[str]:
    """Return all columns that mean something, each once and for one purpose."""
    weighing = [weights] if isinstance(weights, str) else []
    for each in weighing:
        columns.check_name("weights column", frame, each)
    roles = [*others, *found.used]
    for column in roles:
        columns.check_name("column", frame, column)
        if roles.count(column) > 1:
            raise InputError(f"the column {column!r} is named for two purposes. Name each column once.")
    return [*roles, *(each for each in weighing if each not in roles)]


def _complete(frame: pd.DataFrame, used: list[str], dropna: bool) -> tuple[pd.DataFrame, IntArray]:
    """Return the rows in which nothing is missing, and their positions in the frame."""
    missing = frame[used].isna()
    gaps = np.flatnonzero(missing.any(axis=1))
    if gaps.size and not dropna:
        column = used[int(np.argmax(missing.iloc[gaps[0]]))]
        others = f" {gaps.size} of {len(frame)} rows are incomplete." if gaps.size > 1 else ""
        raise InputError(
            f"data row {gaps[0] + 1} has no {column}.{others} Complete it, or leave such rows out with "
            "dropna=True (--dropna)."
        )
    if gaps.size == len(frame):
        raise InputError(f"every row lacks one of {used}. Give some that are complete.")
    rows = np.flatnonzero(~missing.any(axis=1))
    kept = frame.iloc[rows].reset_index(drop=True)
    for name in used:
        if isinstance(kept[name].dtype, pd.CategoricalDtype):
            kept[name] = kept[name].astype(kept[name].cat.categories.dtype)
    return kept, rows


def _refuse_huge(found: ValueColumns, values: Array, rows: IntArray) -> None:
    huge = np.argwhere(np.abs(values) > LARGEST)
    if huge.size:
        response, row = huge[0]
        raise InputError(
            f"data row {rows[row] + 1} has {found.values[response]} {values[response, row]:g}; expected at "
            f"most {LARGEST:g}."
        )


def _summaries(
    frame: pd.DataFrame, found: ValueColumns, rows: IntArray, *, rate: bool | tuple[str, ...]
) -> tuple[IntArray, Array]:
    """Return how many replications each row holds, and their sample variances [response, row].

    They are NaN of a rate without any.
    """
    n, variance = np.ones(len(frame)), np.zeros((len(found.values), len(frame)))
    if found.n is None:
        return n.astype(np.int64), variance
    n = columns.numbers(frame, found.n, rows)
    odd = np.flatnonzero((n < 1) | (n != np.rint(n)) | (n > MOST))
    if odd.size:
        raise InputError(
            f"data row {rows[odd[0]] + 1} has n {n[odd[0]]:g}; the column 'n' counts the replications that "
            "a row is the mean of, from 1. Correct it, or rename the column if it means something else."
        )
    several = np.flatnonzero(n > 1)
    for response, name in enumerate(found.all_variances if several.size else ()):
        if name in found.variances:
            given = columns.numbers(frame.iloc[several], name, rows[several])
            bad = (given < 0) | (given * n[several] > LARGEST**2)
            if bad.any():
                row, value = rows[several[bad]][0] + 1, given[bad][0]
                raise InputError(f"data row {row} has {name} {value:g}; expected 0 or more.")
            variance[response, several] = given
        elif rate is True or (rate and found.responses[response] in rate):
            variance[response, several] = np.nan
        else:
            only = f"rate=[{found.responses[response]!r}]" if found.responses else "rate=True (--rate)"
            raise InputError(
                f"data row {rows[several[0]] + 1} is the mean of n = {n[several[0]]:g} replications; add "
                f"their sample variance in a column {name!r}, or rename 'n' if it means something else. If "
                f"every replication is 0 or 1, declare {only}: then no variance is needed."
            )
    return n.astype(np.int64), variance


def _never_repeat(names: tuple[Names, Names], where: tuple[Located, Located], n: IntArray) -> bool:
    """Return whether contexts hardly repeat; an InputError if alternatives, or contexts with names, do so.

    Contexts of numbers may: each has neighbours to learn from.
    """
    runs, pairs = int(n.sum()), _n_pairs(where)
    endless = False
    for each, found in zip(names, where, strict=True):
        size = len(found.axis)
        many = each.kind == "context" and size > _MANY_CONTEXTS and runs < 2 * pairs
        if size <= _FEW_ENTRIES or not (runs < 2 * size or many):
            continue
        distinct = {short: len(set(values)) for short, values in found.axis.coordinates.items()}
        largest = max(distinct, key=lambda short: distinct[short])
        if each.kind == "context" and largest in found.axis.metric:
            endless = True
            continue
        told = ", ".join(f"{short} has {number} values" for short, number in distinct.items())
        advice = f"Leave out {largest!r} if it only numbers the runs, or put its values into groups."
        raise InputError(
            f"{runs} runs have {size} different {each.kind}s ({told}), so hardly a pair was run twice. "
            f"{_CHOICES if each.kind == 'alternative' else advice}"
        )
    return endless


def _n_pairs(where: tuple[Located, Located]) -> int:
    return len(set(zip(*(found.position.tolist() for found in where), strict=True)))


def _contexts(
    where: tuple[Located, Located], weights: object, asked: object, *, endless: bool
) -> tuple[Located, object]:
    """Return the contexts of the problem, a population if they are ``endless``, and their weights."""
    found, record, n = where[1], None, len(where[1].axis)
    own = weights if asked is None else None
    if endless and _n_pairs(where) > MOST_PAIRS:
        found, own, record = represented(found, len(where[0].axis), own)
    if asked is not None:
        found, own, moved = with_asked_about(found, asked, weights)
        if record is not None:
            record = record._replace(group=tuple(moved[list(record.group)].tolist()))
    people = People(RUNS, n, represented=record) if endless else None
    return replace(found, axis=replace(found.axis, people=people)), own


def _weights(given: object, names: Names, frame: pd.DataFrame, rows: IntArray, where: Located) -> object:
    """Return weights in the order of the contexts; of a column, a bin has those of all contexts in it."""
    if not isinstance(given, str):
        return given
    weight = columns.numbers(frame, given, rows)
    single = columns.locate(names, frame, rows) if where.ranges else where
    _, first = np.unique(single.position, return_index=True)
    uneven = np.flatnonzero(weight != weight[first][single.position])
    if uneven.size:
        row, other = uneven[0], first[single.position[uneven[0]]]
        raise InputError(
            f"the weight {given!r} of the context {single.axis.labels[single.position[row]]!r} is "
            f"{weight[other]:g} in data row {rows[other] + 1} and {weight[row]:g} in data row "
            f"{rows[row] + 1}. Give a context one weight."
        )
    return np.bincount(where.position[first], weight[first], len(where.axis))


def _bounds(given: object, where: Located) -> object:
    """Return bounds that hold all values of columns in bins, unless told otherwise."""
    if given is None or isinstance(given, Mapping):
        return {**where.ranges, **(given or {})} or None
    return given
