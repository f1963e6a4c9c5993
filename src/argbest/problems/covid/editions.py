"""Three editions of the testing-allocation problem, their tables, and the way to make one of your own.

Populations do not meet, so the mean and the variance of the total are sums over populations, and a table per
(population, share, conditions) determines every pair.
"""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from argbest.checks import whole
from argbest.core.arrays import Array, IntArray
from argbest.errors import InputError, unknown_name
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.covid.parameters import Outbreak
from argbest.problems.covid.simulator import OutbreakRuns, checked_outbreak, checked_runs, possible
from argbest.problems.noisy_table import ByPosition
from argbest.streams import Purpose, philox

REGIONAL_CASES = ((100, 300, 500, 700), (200, 500, 800, 1100))  # in population 1, in population 3
REGIONAL_OUTBREAK = Outbreak(infection=0.03, contacts=12.0, cases=(0, 300, 0))
_SHRUNK = 0.25  # the part of a run's deviation from the mean that an observation of the paper keeps


class Cell(NamedTuple):
    """All that one population's run depends on, beside the fixed parameters."""

    population: int  # from 1
    tests: float  # its share of the daily tests, in tests
    infection: float
    contacts: float
    cases: int


class Moments(NamedTuple):
    """What is known of the infections in a cell from `runs` runs."""

    runs: int
    mean: float
    sd: float

    @property
    def se(self) -> float:
        """The standard error of the mean."""
        return float(self.sd / np.sqrt(self.runs))


def cells(runs: OutbreakRuns) -> Iterator[tuple[tuple[int, int], Cell]]:
    """Yield ((alternative, context), cell) for every pair and population."""
    at = runs.conditions
    for (k, c), _ in np.ndenumerate(np.empty((len(runs.alternatives), len(runs.contexts)))):
        for j, share in enumerate(runs.shares[k]):
            tests = round(float(share * at["tests"][c]), 6)
            infection, contacts = float(at["infection"][c]), float(at["contacts"][c])
            yield (k, c), Cell(j + 1, tests, infection, contacts, int(at["cases"][c, j]))


def truth(runs: OutbreakRuns, table: Mapping[Cell, Moments]) -> dict[str, Array]:
    """Return the tables `truth`, `truth_se` and `noise_sd` of a problem: sums over populations."""
    shape = len(runs.alternatives), len(runs.contexts)
    mean, error, noise = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for pair, cell in cells(runs):
        if cell not in table:
            raise InputError(f"the table has no row for {cell}. Compute it again for this problem.")
        moments = table[cell]
        mean[pair] += moments.mean
        error[pair] += moments.se**2
        noise[pair] += moments.sd**2
    return {"truth": mean, "truth_se": np.sqrt(error), "noise_sd": np.sqrt(noise)}


def read_moments(name: str) -> dict[Cell, Moments]:
    """Return a table of moments that ships with the package."""
    frame = _frame(name)
    keys = (Cell(*row) for row in frame[list(Cell._fields)].itertuples(index=False))
    values = (Moments(*row) for row in frame[list(Moments._fields)].itertuples(index=False))
    return dict(zip(keys, values, strict=True))


def read_pool(name: str, shape: tuple[int, int]) -> Array:
    """Return the stored runs [alternative, context, run] that ship with the package."""
    frame = _frame(name)
    return frame.drop(columns=["alternative", "context"]).to_numpy(np.float64).reshape(*shape, -1)


def _frame(name: str) -> pd.DataFrame:
    text = (files("argbest.problems.covid") / "data" / f"{name}.csv").read_text(encoding="utf-8")
    return pd.read_csv(io.StringIO(text), comment="#")


def shares(
    n_populations: int = 3, *, lots: int = 10, least: int = 2, most: int = 5
) -> list[dict[str, float]]:
    """Return all splits of the tests in whole lots, each population getting from `least` to `most` of them.

    The defaults give the paper's twelve, in lexicographic order.
    """
    n_populations, lots = whole("n_populations", n_populations, at_least=1), whole("lots", lots, at_least=1)
    least, most = whole("least", least, at_least=0), whole("most", most, at_least=0)
    if not n_populations * least <= lots <= n_populations * most or least > most:
        raise InputError(
            f"no {n_populations} whole numbers from {least} to {most} add up to {lots} lots. "
            "Change least, most or lots."
        )
    splits: list[tuple[int, ...]] = [()]
    for _ in range(n_populations):
        splits = [(*split, lot) for split in splits for lot in range(least, most + 1)]
    names = [f"share_{j}" for j in range(1, n_populations + 1)]
    kept = [split for split in splits if sum(split) == lots]
    return [dict(zip(names, (lot / lots for lot in split), strict=True)) for split in kept]


def conditions() -> list[dict[str, float]]:
    """Return the paper's sixteen contexts: chance of infection per contact, contacts per day (faster)."""
    return [
        {"infection": p, "contacts": c} for p in (0.015, 0.02, 0.025, 0.03) for c in (6.0, 8.0, 10.0, 12.0)
    ]


def regional_conditions() -> list[dict[str, float]]:
    """Return sixteen contexts that differ in where the disease is: cases in populations 1 and 3 (faster)."""
    return [{"cases_1": a, "cases_3": b} for a in REGIONAL_CASES[0] for b in REGIONAL_CASES[1]]


def allocation_problem(
    alternatives: object,
    contexts: object,
    *,
    outbreak: Outbreak | None = None,
    table: Mapping[Cell, Moments] | None = None,
    name: str = "covid",
    description: str = "",
) -> Problem:
    """Return the problem of splitting the daily tests so that as few people as possible get infected.

    Alternatives have the columns `share_1`, `share_2`, ... (of the daily tests); contexts any of `infection`,
    `contacts`, `tests` and `cases_1`, `cases_2`, ..., the outbreak's own values serving for the rest. `table`
    holds the moments of one population's infections where they are known; its sums are then the truth.
    """
    outbreak = Outbreak() if outbreak is None else checked_outbreak(outbreak)
    rows, columns = Axis.of("alternative", alternatives), Axis.of("context", contexts)
    runs = OutbreakRuns(rows, columns, outbreak, _shares(rows, outbreak), _conditions(columns, outbreak))
    options: dict[str, Any] = {} if table is None else dict(truth(runs, table))
    options |= {"name": name, "description": description, "reward": "people infected"}
    return Problem(rows, columns, runs, goal="min", **options)


def _shares(axis: Axis, outbreak: Outbreak) -> Array:
    """Return [alternative, population] the shares of the tests, checked."""
    names = [f"share_{j}" for j in range(1, outbreak.n_populations + 1)]
    if set(axis.columns) != set(names):
        found = list(axis.columns)
        raise InputError(f"got alternatives with the columns {found}; expected {names}. Name them so.")
    table = np.array([_column(axis, name) for name in names]).T
    wrong = np.flatnonzero(~possible(table))
    if wrong.size:
        raise InputError(
            f"alternative {wrong[0]} has the shares {table[wrong[0]].tolist()}; expected none negative and a "
            "sum of at most 1, for there are no more tests. Correct it."
        )
    return table


def _column(axis: Axis, name: str, usual: float = np.nan) -> Array:
    """Return the numbers of a column, or the usual one throughout if there is no such column."""
    values = axis.columns.get(name, (usual,) * len(axis))
    if isinstance(values[0], str | bool):  # a column has values of one sort
        raise InputError(f"{name!r} of {axis.kind} 0 is {values[0]!r}; expected a number. Convert it.")
    return np.array(values, dtype=np.float64)


def _conditions(axis: Axis, outbreak: Outbreak) -> dict[str, Array]:
    """Return by name what the contexts say: [context], and [context, population] for the cases."""
    cases = [f"cases_{j}" for j in range(1, outbreak.n_populations + 1)]
    known = ["infection", "contacts", "tests", *cases]
    if not axis.columns:
        raise InputError(f"got contexts without columns; expected dicts with some of {known}. Give those.")
    for name in axis.columns:
        if name not in known:
            raise unknown_name("context column", name, known)
    found = {
        name: _column(axis, name, getattr(outbreak, name)) for name in ("infection", "contacts", "tests")
    }
    people = [_column(axis, name, n) for name, n in zip(cases, outbreak.cases, strict=True)]
    return found | {"cases": np.array(people).T}


def covid() -> Problem:
    """Return the testing-allocation problem with fresh runs; its truth is the mean of long runs.

    The paper's populations, alternatives and contexts. The same split, (0.2, 0.3, 0.5), is best in all
    contexts; gaps are small against the noise, whose standard deviation differs 9-fold between pairs.
    """
    return allocation_problem(
        shares(),
        conditions(),
        table=read_moments("covid"),
        name="covid",
        description=(
            "Covid-19 tests by contagion and contacts: split 10,000 a day between three populations to keep "
            "two weeks' infections low; the truth is the mean of long runs."
        ),
    )


def covid_regional() -> Problem:
    """Return the testing-allocation problem in which the best split depends on where the disease is.

    Contagion is high (p = 0.03, λ = 12) and population 2 starts with 300 cases; contexts are the cases that
    populations 1 (100 to 700) and 3 (200 to 1,100) start with. Seven of the twelve splits are best somewhere,
    and tests follow the cases: more cases in a population never mean fewer tests for it in the best split.
    Gaps are 0.06 to 0.5 of the noise's standard deviation, which differs twofold between contexts.
    """
    return allocation_problem(
        shares(),
        regional_conditions(),
        outbreak=REGIONAL_OUTBREAK,
        table=read_moments("covid-regional"),
        name="covid-regional",
        description=(
            "Covid-19 tests by cases found: split 10,000 a day between three populations to keep two weeks' "
            "infections low; contexts are cases in populations 1 and 3; the truth is the mean of long runs."
        ),
    )


def covid_paper() -> Problem:
    """Return the experiment of Cakmak, Gao and Zhou: 30 stored runs per pair, their mean taken for the truth.

    An observation is a stored run, drawn at random, moved by three quarters towards the mean of its pair. The
    standard error of that mean exceeds most gaps between the leading splits, so what is called best here is
    mostly chance; the edition `covid` has the same pairs without it.
    """
    rows, columns = Axis.of("alternative", shares()), Axis.of("context", conditions())
    runs = PooledRuns(rows, columns, read_pool("covid-paper", (len(rows), len(columns))), _SHRUNK)
    return Problem(
        rows,
        columns,
        runs,
        goal="min",
        truth=runs.mean,
        noise_sd=_SHRUNK * runs.pool.std(axis=-1),
        name="covid-paper",
        reward="people infected",
        description=(
            "The paper's Covid-19 study: observations are drawn from 30 stored runs of each pair, shrunk by "
            "three quarters; the truth is the mean of the stored runs."
        ),
    )


@dataclass(frozen=True, eq=False)
class PooledRuns(ByPosition):
    """A simulator that draws from stored runs; which one is a function of the seed."""

    pool: Array  # [alternative, context, run]
    kept: float  # the part of the deviation from the mean that is kept

    @property
    def mean(self) -> Array:
        """[alternative, context] the mean of the stored runs."""
        return np.asarray(self.pool.mean(axis=-1))

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: Any) -> Array:
        """Return the rewards of positions and seeds, broadcast: what single calls give one by one."""
        rows, columns, key = checked_runs(self.pool.shape[:2], alternatives, contexts, seeds)
        word = philox((0, 0, 0, Purpose.NOISE), (key & 0xFFFFFFFF, key >> 32))[..., 0].astype(np.uint64)
        run = (word * np.uint64(self.pool.shape[-1])) >> np.uint64(32)  # uniform but for 1 part in 10⁸
        mean, drawn = self.mean[rows, columns], self.pool[rows, columns, run.astype(np.int64)]
        return np.asarray(mean + self.kept * (drawn - mean))
