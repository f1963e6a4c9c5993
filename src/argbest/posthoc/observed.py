"""Runs made elsewhere, a row each, as observations of a problem."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from argbest.checks import flag, truth
from argbest.core.arrays import Array, IntArray
from argbest.core.tally import LARGEST
from argbest.errors import InputError
from argbest.posthoc import columns
from argbest.posthoc.columns import Bins, Located, Names
from argbest.posthoc.representatives import MOST_PAIRS, beside, represented
from argbest.problems.axis import Axis
from argbest.problems.base import Problem, Simulate
from argbest.problems.population import RUNS, People
from argbest.study.rewards import impossible
from argbest.study.study import Study
from argbest.study.trial import MOST, Trial

_FEW_ENTRIES = 30  # alternatives or contexts that need not repeat: so many, each with its runs, are no burden
# With more contexts than these and hardly a pair run twice, no model has an answer in time.
_MANY_CONTEXTS = 500

_Given: TypeAlias = tuple[tuple[int, int], dict[str, Any]]  # a pair, and what `Study.tell` takes of it
_CHOICES = "Alternatives are what you can choose: name the columns that identify them, or round their values."


@dataclass(frozen=True)
class Observed:
    """Runs made elsewhere: the problem that they tell of, and each row's place in it."""

    problem: Problem
    alternative: IntArray  # [row]
    context: IntArray  # [row]
    value: Array  # [row]: a replication, or the mean of several
    n: IntArray  # [row]: replications in it
    variance: Array  # [row]: of the sample, 0 where n is 1; NaN where a rate needs none
    number: IntArray | None  # [row]: which replication of its context it is, where that is known
    notes: tuple[str, ...]  # what became of the rows, where that may surprise
    truths: bool = False  # whether the values are True and False

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
        """Return trials to be told at once, one for all replications of a pair, and what is told of each."""
        alternatives, contexts = self.problem.alternatives, self.problem.contexts
        return [
            (Trial(i, alternatives.item(k), contexts.item(c), 0, 0, (k, c), study=""), given)
            for i, ((k, c), given) in enumerate(self._told())
        ]

    def _numbered(self, number: IntArray) -> tuple[list[_Given], tuple[tuple[int], ...]]:
        """Return pairs and what is told about each row, and the numbers; summaries share theirs with none."""
        said = number.copy()
        several = np.flatnonzero(self.n > 1)
        said[several] = number.max() + 1 + np.arange(len(several))
        order, rows = np.argsort(said, kind="stable").tolist(), list(self.rows())
        return [rows[row] for row in order], tuple((int(said[row]),) for row in order)

    def _told(self) -> list[_Given]:
        """Return pairs and what is told about them, in the order of their first rows."""
        told: dict[object, _Given] = {}
        for row, (pair, given) in enumerate(self.rows()):
            if "value" in given:
                told.setdefault(pair, (pair, {"value": []}))[1]["value"].append(given["value"])
            else:
                told[row] = pair, given
        return list(told.values())

    def rows(self) -> Iterator[_Given]:
        """Yield the pair of every row, and what it tells."""
        columns = self.alternative, self.context, self.value, self.n, self.variance
        for k, c, value, n, variance in zip(*(each.tolist() for each in columns), strict=True):
            if n > 1:
                spread = None if np.isnan(variance) else variance
                yield (k, c), {"mean": value, "variance": spread, "n": n}
            else:
                yield (k, c), {"value": bool(value) if self.truths else value}


@dataclass(frozen=True)
class _AsRun:
    """The initial design of a study whose runs were made elsewhere."""

    told: tuple[tuple[int, int], ...]
    numbers: tuple[tuple[int], ...] | None = None

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[tuple[int, int]]:
        return list(self.told)


def observe(
    frame: pd.DataFrame,
    *,
    alternative: str | Sequence[str] = "alternative",
    context: str | Sequence[str] = "context",
    value: str = "value",
    replication: str | None = None,
    goal: str = "max",
    weights: object = None,
    bounds: object = None,
    categorical: object = (),
    bins: Bins = None,
    contexts: object = None,
    reward_range: object = None,
    rate: bool = False,
    dropna: bool = False,
    simulate: Simulate | None = None,
    name: str = "runs",
) -> Observed:
    """Return the runs in a frame, a row each, as observations of a problem.

    ``alternative`` and ``context`` name one column or several each; their distinct rows, ordered by these
    columns (numbers by size, text as it first came), are the alternatives and the contexts. Frames as
    `Study.observations` returns them need no names. Rows with a column ``n`` above 1 are means of so many
    replications, and need their sample variance in the column ``variance``; with ``rate`` they need none.

    ``replication`` names a column that tells which runs of a context shared their random numbers: a number of
    the replication, or its seed. Runs with the same entry in a context then have noise in common.

    ``categorical`` names columns of either that hold numbers but mean names, as `Problem` takes it.
    ``weights`` are numbers in the order of the contexts, or the name of a column. ``bins`` puts contexts
    that hardly repeat into groups, see `columns.locate`; a bin weighs as much as the contexts in it. Without
    it contexts may differ from run to run: they are a population, and where more than some 1,500 pairs were
    run, each is represented by a near one (`posthoc.representatives`). ``contexts``, a table, is what the
    answer shall be about instead of those of the runs; these then have weight 0, and ``weights`` are those of
    the contexts asked about.
    ``reward_range`` and ``rate`` are those of `Problem`; values may be True and False. Rows with something
    missing are refused, or left out with ``dropna``.
    """
    _need_rows(frame)
    names = (
        columns.named("alternative", frame, alternative, categorical),
        columns.named("context", frame, context, categorical),
    )
    columns.check_name("value column", frame, value)
    if replication is not None:
        columns.check_name("replication column", frame, replication)
    taken = (value, *names[0].used, *names[1].used)
    extra = _extra(frame, taken)
    used = _used(frame, names, value, weights, [*extra, *([] if replication is None else [replication])])
    kept, rows, told = _told(frame, used, value, extra, dropna=dropna, rate=flag("rate", rate))
    numbers, n, variance, truths = told
    where = columns.locate(names[0], kept, rows), columns.locate(names[1], kept, rows, bins)
    endless = _never_repeat(names, where, n)
    given = weights if contexts is not None else _weights(weights, names[1], kept, rows, where[1])
    there, shares = _contexts(where, given, contexts, endless=endless)
    where = where[0], there
    problem = Problem(
        where[0].axis, there.axis, simulate, weights=shares, bounds=_bounds(bounds, there), goal=goal,
        categorical=categorical, reward_range=reward_range, rate=rate, name=name,
    )  # fmt: skip
    _refuse_impossible(problem, value, rows, numbers, n)
    dropped = len(frame) - len(kept)
    said = f"{dropped} of {len(frame)} rows were left out, because they have missing values."
    notes = *([said] if dropped else []), *where[0].notes, *where[1].notes
    place = where[0].position, where[1].position
    number = None if replication is None else _numbers(kept[replication], place, rows)
    return Observed(problem, *place, numbers, n, variance, number, notes, truths)


def further(
    frame: pd.DataFrame,
    problem: Problem,
    *,
    alternative: str | Sequence[str] | None = None,
    context: str | Sequence[str] | None = None,
    value: str = "value",
    dropna: bool = False,
) -> Observed:
    """Return more runs of a problem, a row each; see `Study.tell_frame`."""
    _need_rows(frame)
    columns.check_name("value column", frame, value)
    sides = (problem.alternatives, alternative), (problem.contexts, context)
    found = [_columns_of(axis, frame, given) for axis, given in sides]
    pairs = [name for names, _ in found for name in names]
    extra = _extra(frame, (value, *pairs))
    kept, rows, told = _told(frame, [*pairs, value, *extra], value, extra, dropna=dropna, rate=problem.rate)
    _refuse_impossible(problem, value, rows, told.numbers, told.n)
    k, c = (
        _positions(axis, kept, names, rows, labels=labels)
        for (axis, _), (names, labels) in zip(sides, found, strict=True)
    )
    return Observed(problem, k, c, told.numbers, told.n, told.variance, None, (), told.truths)


def of_trials(
    frame: pd.DataFrame,
    problem: Problem,
    opened: Callable[[int], Trial],
    *,
    trial: str = "trial",
    value: str = "value",
    dropna: bool = False,
) -> list[tuple[Trial, dict[str, Any]]]:
    """Return what a frame tells of trials that were asked for, which ``opened`` returns by their ids."""
    _need_rows(frame)
    for what, name in (("trial", trial), ("value", value)):
        columns.check_name(f"{what} column", frame, name)
    extra = _extra(frame, (trial, value))
    kept, rows, told = _told(frame, [trial, value, *extra], value, extra, dropna=dropna, rate=problem.rate)
    _refuse_impossible(problem, value, rows, told.numbers, told.n)
    ids = columns.numbers(kept, trial, rows)
    whole = [int(each) if each == np.rint(each) else each for each in ids.tolist()]
    trials = {each: opened(each) for each in dict.fromkeys(whole)}
    k, c = np.array([trials[each].pair for each in whole], np.int64).T
    runs = Observed(problem, k, c, told.numbers, told.n, told.variance, None, (), told.truths)
    given: dict[int, dict[str, Any]] = {}
    for number, (_, row) in zip(whole, runs.rows(), strict=True):
        before = given.setdefault(number, {"value": []} if "value" in row else row)
        if before is row:
            continue
        if "value" not in before or "value" not in row:
            raise InputError(
                f"{trials[number]} has a summary and other rows. A trial has one summary, or single values."
            )
        before["value"].append(row["value"])
    return [(trials[number], row) for number, row in given.items()]


def _columns_of(axis: Axis, frame: pd.DataFrame, given: str | Sequence[str] | None) -> tuple[list[str], bool]:
    """Return the columns of a frame that tell an entry of an axis, and whether they are its labels."""
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


class _Told(NamedTuple):
    """What the rows of a frame tell."""

    numbers: Array  # replications, or means of several
    n: IntArray
    variance: Array
    truths: bool


def _told(
    frame: pd.DataFrame, used: list[str], value: str, extra: list[str], *, dropna: bool, rate: bool
) -> tuple[pd.DataFrame, IntArray, _Told]:
    """Return the complete rows, where they stood, and what they tell."""
    optional = "variance" if "variance" in extra else None  # only summaries have one
    needed = [name for name in used if name != optional]
    kept, rows = _complete(frame, needed, flag("dropna", dropna))
    truths = all(truth(each) is not None for each in kept[value].tolist())
    numbers = kept[value].to_numpy(float) if truths else columns.numbers(kept, value, rows)
    n, variance = _summaries(kept, extra, rows, numbers, rate=rate)
    return kept, rows, _Told(numbers, n, variance, truths)


def _need_rows(frame: object) -> None:
    """Refuse what is no frame, or an empty one."""
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"got {type(frame).__name__}; expected a pandas DataFrame with a row for every run.")
    if frame.empty:
        raise InputError("got a table without rows; expected a row for every run.")


def _extra(frame: pd.DataFrame, taken: Sequence[str]) -> list[str]:
    """Return the columns of summaries, as far as they are there and mean nothing else."""
    return [column for column in ("n", "variance") if column in frame.columns and column not in taken]


def _refuse_impossible(problem: Problem, value: str, rows: IntArray, numbers: Array, n: IntArray) -> None:
    """Refuse single values that contradict what is known of the rewards."""
    if problem.reward_range is None:
        return
    for row, each in zip(rows[n == 1], numbers[n == 1].tolist(), strict=True):
        if wrong := impossible(problem, each):
            raise InputError(
                f"data row {row + 1} has an impossible {value}: {wrong}. Correct the row, or what was "
                "said of the rewards (rate, reward_range)."
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


def _used(
    frame: pd.DataFrame, names: tuple[Names, Names], value: str, weights: object, extra: list[str]
) -> list[str]:
    """Return all columns that mean something, each once and for one purpose."""
    weighing = [weights] if isinstance(weights, str) else []
    for each in weighing:
        columns.check_name("weights column", frame, each)
    roles = [*names[0].used, *names[1].used, value, *extra]
    for column in roles:
        columns.check_name("column", frame, column)
        if roles.count(column) > 1:
            raise InputError(f"the column {column!r} is named for two purposes. Name each column once.")
    return [*roles, *(each for each in weighing if each not in roles)]


def _complete(frame: pd.DataFrame, used: list[str], dropna: bool) -> tuple[pd.DataFrame, IntArray]:
    """Return the rows in which nothing is missing, and where they stood."""
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


def _summaries(
    frame: pd.DataFrame, extra: list[str], rows: IntArray, value: Array, *, rate: bool
) -> tuple[IntArray, Array]:
    """Return how many replications each row holds, and their sample variance: NaN of a rate without any."""
    huge = np.flatnonzero(np.abs(value) > LARGEST)
    if huge.size:
        row, found = rows[huge[0]] + 1, value[huge[0]]
        raise InputError(f"data row {row} has {found:g}; expected at most {LARGEST:g}.")
    n, variance = np.ones(len(frame)), np.zeros(len(frame))
    if "n" not in extra:
        return n.astype(np.int64), variance
    n = columns.numbers(frame, "n", rows)
    odd = np.flatnonzero((n < 1) | (n != np.rint(n)) | (n > MOST))
    if odd.size:
        raise InputError(
            f"data row {rows[odd[0]] + 1} has n {n[odd[0]]:g}; the column 'n' counts the replications that "
            "a row is the mean of, from 1. Correct it, or rename the column if it means something else."
        )
    several = np.flatnonzero(n > 1)
    if several.size and rate and "variance" not in extra:
        variance[several] = np.nan
    elif several.size:
        if "variance" not in extra:
            raise InputError(
                f"data row {rows[several[0]] + 1} is the mean of n = {n[several[0]]:g} replications; add "
                "their sample variance in a column 'variance', or rename 'n' if it means something else. If "
                "every replication is 0 or 1, declare rate=True (--rate): then no variance is needed."
            )
        given = columns.numbers(frame.iloc[several], "variance", rows[several])
        bad = (given < 0) | (given * n[several] > LARGEST**2)
        if bad.any():
            row, found = rows[several[bad]][0] + 1, given[bad][0]
            raise InputError(f"data row {row} has variance {found:g}; expected 0 or more.")
        variance[several] = given
    return n.astype(np.int64), variance


def _never_repeat(names: tuple[Names, Names], where: tuple[Located, Located], n: IntArray) -> bool:
    """Return whether contexts hardly come twice; an InputError where alternatives do, or names of contexts.

    Numbers that never repeat have neighbours to learn from.
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
        found, own, moved = beside(found, asked, weights)
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
