"""Populations: contexts that are people, days or jobs, drawn from a table or by a function of a generator."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from argbest import streams
from argbest.checks import affordable, table, whole
from argbest.core.arrays import Array, IntArray
from argbest.errors import InputError
from argbest.problems.axis import Axis
from argbest.problems.labels import Columns, checked, is_frame, keys, of_frame, of_sequence, texts

Sampler: TypeAlias = Callable[[np.random.Generator], Any]

SAMPLER, TABLE, RUNS = "sampler", "table", "runs"
_MOST_PEOPLE = 10**5
_MOST_CALLS = 10**6  # of a sampler for one draw
_ORIGINS = {
    SAMPLER: "drawn by the sampler",
    TABLE: "taken from the table",
    RUNS: "those of the runs",
}


class DrawsPeople(Protocol):
    """What may be given as contexts instead of a list: an object that draws them."""

    def drawn(self) -> tuple[Axis, Array]:
        """Return the contexts, with `Axis.people` set, and their weights [context]."""


class Represented(NamedTuple):
    """How contexts stand for groups of others, with a sample of these to check what that leaves out."""

    n: int  # contexts that there were
    kept: dict[str, float]  # share of a column's variance that is between groups
    sample: Columns  # some of the contexts that there were
    group: tuple[int, ...]  # [person]: the context that stands for each of these


class Fresh(NamedTuple):
    """People whom a study has never seen."""

    people: Axis  # rows that come twice are two people
    weights: Array  # [person], sums to 1
    source: str  # where they come from, in words


@dataclass(frozen=True, eq=False)
class People:
    """A population that became the contexts of a problem: where it comes from, and how to draw others.

    A stored study keeps its people, but neither a sampler nor the rest of a table.
    """

    source: str  # SAMPLER, TABLE or RUNS
    n: int  # people; those with equal rows are one context
    more: Callable[[int], Fresh] | None = None
    represented: Represented | None = None

    def plain(self) -> dict[str, Any]:
        """Return what a stored study keeps of it, as plain values."""
        groups = self.represented
        return {
            "source": self.source,
            "n": self.n,
            **({} if groups is None else {"represented": groups._asdict()}),
        }

    @classmethod
    def from_plain(cls, stored: Mapping[str, Any]) -> "People":
        """Return the people of whom `plain` returned the plain values."""
        groups = stored.get("represented")
        if groups is not None:
            sample = {name: tuple(values) for name, values in groups["sample"].items()}
            groups = Represented(groups["n"], dict(groups["kept"]), sample, tuple(groups["group"]))
        return cls(stored["source"], stored["n"], represented=groups)

    @property
    def words(self) -> str:
        """How many there are and where they come from, in words."""
        return f"{self.n:,} people, {_ORIGINS[self.source]}"

    def fresh(self, n: int) -> Fresh:
        """Return up to n people whom the study has never seen."""
        if self.more is None:
            why = {
                SAMPLER: "the sampler of its population is not kept with a stored study",
                TABLE: "the rest of the table is not kept with a stored study",
                RUNS: "its people are those of the runs, and nobody else is known",
            }
            raise InputError(
                f"there are no people to check with: {why[self.source]}. Give some: "
                "check_population(people=...), a table or a function of a generator."
            )
        return self.more(n)


@dataclass(frozen=True, eq=False)
class Population:
    """People (days, jobs, ...) as the contexts of a problem, each with covariates of its own.

    People with equal covariates are one context with their summed weight. The rest of the table, or further
    draws, are people never seen: `Study.check_population` asks how well the answer serves them.

    Args:
        source (table, path of a CSV file, or function): A table with a row per person, or a function of a
            `numpy.random.Generator` that returns such a table or, one call each, a row as a dict.
        n: How many people are drawn; of a table without replacement, and all of one that has no more.
        weights (name of a column, or list): For how many each person stands.
        seed: The stream of random numbers that draws them.
    """

    source: Any
    n: int = 500
    weights: Any = None
    seed: int = 0

    def __post_init__(self) -> None:
        whole("n", self.n, at_least=1)
        affordable("people of a population", self.n, _MOST_PEOPLE)
        whole("seed", self.seed, at_least=0, below=2**64)
        if callable(self.source) and not (self.weights is None or isinstance(self.weights, str)):
            raise InputError(
                f"got weights of type {type(self.weights).__name__} beside a sampler; expected the name of a "
                "column that it returns. Let the sampler return the weights, too."
            )

    def drawn(self) -> tuple[Axis, Array]:
        """Return the people as contexts, and their weights [context].

        Always the same ones: they follow from the source and the seed.
        """
        if callable(self.source):
            drawn = self._sampled(streams.Purpose.POPULATION, self.n)
            return _merged(*drawn, People(SAMPLER, self.n, self.more_sampled))
        rows, weights = _weighed(_columns(self.source), self.weights)
        size = len(weights)
        order = np.arange(size)
        if size > self.n:
            order = streams.generator(self.seed, streams.Purpose.POPULATION).permutation(size)
        taken, left = np.sort(order[: self.n]), order[self.n :]
        more: Callable[[int], Fresh] = _Rest(rows, weights, left).fresh if len(left) else _nobody_left
        return _merged(_at(rows, taken), weights[taken], People(TABLE, len(taken), more))

    def _sampled(self, purpose: streams.Purpose, n: int) -> tuple[Columns, Array]:
        return _weighed(_calls(self.source, streams.generator(self.seed, purpose), n), self.weights)

    def more_sampled(self, n: int) -> Fresh:
        """Return n people whom the sampler draws beside those of `drawn`.

        Args:
            n: How many people.
        """
        return _fresh(*self._sampled(streams.Purpose.FRESH_PEOPLE, n), "drawn by the sampler")


class _Rest(NamedTuple):
    """The rows of a table that were not drawn, in random order."""

    rows: Columns
    weights: Array
    left: IntArray

    def fresh(self, n: int) -> Fresh:
        """Return the first n of them."""
        some = self.left[:n]
        return _fresh(_at(self.rows, some), self.weights[some], "rows of the table that were held out")


def _nobody_left(_: int) -> Fresh:
    raise InputError(
        "there are no people to check with: all rows of the table are contexts of the study. Hold some out "
        "with Population(table, n=...) of fewer, or give others: check_population(people=...)."
    )


def people_of(given: object, n: int, seed: int, like: Axis) -> Fresh:
    """Return up to n people of a given table or sampler, as rows with the columns of an axis."""
    population = Population(given, n, seed=seed)
    if callable(given):
        fresh = population.more_sampled(n)
    else:
        rows, weights = _weighed(_columns(given), None)
        order = streams.generator(seed, streams.Purpose.FRESH_PEOPLE).permutation(len(weights))[:n]
        fresh = _fresh(_at(rows, np.sort(order)), weights[order], "the people given")
    return fresh._replace(people=like.rows(fresh.people))


def with_entries(axis: Axis, columns: Columns) -> Axis:
    """Return an axis like this one with other entries, by the names of its `coordinates`."""
    if not axis.columns:
        return replace(axis, labels=columns[axis.kind])
    return replace(axis, labels=texts(columns), columns=columns, named=False)


def _fresh(rows: Columns, weights: Array, source: str) -> Fresh:
    people = Axis("context", texts(rows), rows, named=False)
    return Fresh(people, weights / weights.sum(), source)


def _columns(given: Any) -> Columns:
    """Return the columns of a table of people, as plain values."""
    if isinstance(given, str | PathLike):
        from argbest.table_files import read_table  # imports pandas, which takes long

        given = read_table(given)
    _, raw = of_frame("context", given) if is_frame(given) else of_sequence("context", given)
    if not raw:
        raise InputError(
            "a population needs a table with a row of covariates per person; got plain labels. Give a "
            "DataFrame, a list of dicts, the path of a CSV file, or a function of a generator."
        )
    return _plain(raw)


def _plain(raw: Mapping[Any, Iterable[Any]]) -> Columns:
    columns = {name: checked(values, "context", name) for name, values in raw.items()}
    if not all(columns.values()):
        raise InputError("got a population without people; expected a row for each. Give some.")
    return columns


def _calls(sampler: Sampler, generator: np.random.Generator, n: int) -> Columns:
    """Return n people from as many calls of a sampler as it takes."""
    parts: list[Any] = []
    size = 0
    for _ in range(_MOST_CALLS):
        found = sampler(generator)
        if isinstance(found, Mapping):
            by_column = any(isinstance(value, list | tuple | np.ndarray) for value in found.values())
            found = {name: list(v) if by_column else [v] for name, v in found.items()}
            rows = len(next(iter(found.values()), []))
        elif is_frame(found) or (isinstance(found, Sequence) and not isinstance(found, str)):
            rows = len(found)
            _, found = of_frame("context", found) if is_frame(found) else of_sequence("context", found)
        else:
            rows = 0
        if not rows or not found or any(len(each) != rows for each in found.values()):
            raise InputError(
                f"the sampler of a population returned {type(found).__name__} without rows; expected a dict, "
                "a list of dicts or a DataFrame, with the same columns at every call. Correct it."
            )
        if parts and set(found) != set(parts[0]):
            raise InputError(
                f"the sampler returned the columns {list(found)} after {list(parts[0])}; expected the same "
                "at every call. Correct it."
            )
        parts.append(found)
        size += rows
        if size >= n:
            break
    return _plain({name: [v for part in parts for v in part[name]][:n] for name in parts[0]})


def _weighed(rows: Columns, given: Any) -> tuple[Columns, Array]:
    """Return the covariates without the column of weights, and the weights [person]."""
    size = len(next(iter(rows.values())))
    if given is None:
        return rows, np.ones(size)
    if isinstance(given, str):
        if given not in rows or len(rows) < 2:
            raise InputError(
                f"got weights={given!r}; expected one of the columns {list(rows)}, beside others. Correct it."
            )
        column: Any = rows[given]
        rows = {name: values for name, values in rows.items() if name != given}
    else:
        column = given
    weights = table("weights of a population", column, (size,))
    if (weights < 0).any() or not 0 < weights.sum() < np.inf:
        raise InputError(
            "got weights of a population that are negative, or all 0; expected none. Correct it."
        )
    return rows, weights


def _at(rows: Columns, where: IntArray) -> Columns:
    return {name: tuple(values[i] for i in where.tolist()) for name, values in rows.items()}


def _merged(rows: Columns, weights: Array, people: People) -> tuple[Axis, Array]:
    """Return distinct rows as contexts, in the order of the first of each, and their summed weights."""
    place: dict[Any, int] = {}
    where = np.array([place.setdefault(key, len(place)) for key in keys(rows.values())], np.int64)
    _, first = np.unique(where, return_index=True)
    distinct = _at(rows, first)
    axis = Axis("context", texts(distinct), distinct, named=False, people=people)
    return axis, np.bincount(where, weights, len(place)).astype(float)
