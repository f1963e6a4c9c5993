"""Compute the tables that ship with the package: `python -m experiments.covid_truth covid`.

One edition per call, written to the package's data folder or to `--out`. Every number is a function of the
number of runs alone, up to the last digit of the machine's elementary functions.
"""

import argparse
import math
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from argbest import files
from argbest.checks import whole
from argbest.cli.terminal import list_written, note
from argbest.core.arrays import Array
from argbest.problems.base import Problem
from argbest.problems.covid import editions
from argbest.problems.covid.editions import Cell, Moments, cells, truth
from argbest.problems.covid.parameters import Outbreak
from argbest.problems.covid.simulator import OutbreakRuns, infections
from argbest.streams import cell_seed
from argbest.study.run_options import reporter

EDITIONS = ("covid", "covid-regional", "covid-paper")
ROOT = 2026  # of all seeds here
RUNS = 10_000  # of every cell, at least
PRECISION = 0.09  # the standard error of a gap between two leaders, over that gap
POOL = 30  # of every pair, as in the paper
_TIMES = 20  # as many runs of a leader's cell at most as of any
_DATA = Path(editions.__file__).parent / "data"


def unscored() -> Problem:
    """Return the paper's problem without what long runs say of its truth."""
    return editions.allocation_problem(editions.shares(), editions.conditions())


def unscored_regional() -> Problem:
    """Return the regional problem without what long runs say of its truth."""
    return editions.allocation_problem(
        editions.shares(), editions.regional_conditions(), outbreak=editions.REGIONAL_OUTBREAK
    )


def moments(outbreak: Outbreak, cell: Cell, seeds: object) -> Moments:
    """Return the moments of one population's infections over the runs with these seeds."""
    alone = replace(
        outbreak, sizes=(outbreak.sizes[cell.population - 1],), cases=(cell.cases,), tests=cell.tests
    )
    at = {"infection": cell.infection, "contacts": cell.contacts}
    ever = infections(alone, (1.0,), seeds, **at)[..., 0]
    return Moments(ever.size, float(ever.mean()), float(ever.std(ddof=1)))


def moments_table(runs: OutbreakRuns, n: int, *, quiet: bool = True) -> pd.DataFrame:
    """Return the moments of every cell over at least n runs, more for the two leaders of each context.

    Those get as many as the standard error of their gap needs, at most 20 n. Where that is not enough it is
    said, unless quiet. No two cells share a seed.
    """
    every = sorted({cell for _, cell in cells(runs)})
    table: dict[Cell, Moments] = {}
    todo, most = dict.fromkeys(every, n), _TIMES * n
    while todo:
        with reporter(not quiet, len(todo)) as report:
            for done, (cell, number) in enumerate(todo.items(), 1):
                seeds = cell_seed(ROOT, every.index(cell), np.arange(number), n_cells=len(every))
                table[cell] = moments(runs.outbreak, cell, seeds)
                report(done, len(todo))
        todo = _short(runs, table, most)
    if not quiet:
        for each in _unsettled(runs, table, most):
            note(each)
    return pd.DataFrame([{**cell._asdict(), **table[cell]._asdict(), "se": table[cell].se} for cell in every])


class Leaders(NamedTuple):
    """The best two alternatives of a context: the cells of both, their gap, and what is random in it."""

    cells: set[Cell]
    apart: set[Cell]  # of one of them only: what both share cancels
    gap: float


def _leaders(runs: OutbreakRuns, table: dict[Cell, Moments]) -> list[Leaders]:
    """Return the leaders of every context, in order."""
    mean = truth(runs, table)["truth"]
    parts: dict[tuple[int, int], set[Cell]] = {}
    for pair, cell in cells(runs):
        parts.setdefault(pair, set()).add(cell)
    found = []
    for c, (first, second) in enumerate(np.argsort(mean, axis=0)[:2].T.tolist()):
        one, other = parts[first, c], parts[second, c]
        found.append(Leaders(one | other, one ^ other, float(mean[second, c] - mean[first, c])))
    return found


def _short(runs: OutbreakRuns, table: dict[Cell, Moments], most: int) -> dict[Cell, int]:
    """Return the runs, up to `most`, that cells should have whose own are too few to tell leaders apart."""
    todo: dict[Cell, int] = {}
    for lead in _leaders(runs, table):
        variance = sum(table[cell].sd ** 2 for cell in lead.apart)
        needed = min(most, math.ceil(variance / max(PRECISION * lead.gap, 1e-9) ** 2))
        for cell in lead.cells:
            if table[cell].runs < needed:
                todo[cell] = max(todo.get(cell, 0), min(most, math.ceil(1.2 * needed)))
    return todo


def _unsettled(runs: OutbreakRuns, table: dict[Cell, Moments], most: int) -> list[str]:
    """Return a sentence for every context whose leaders are not told apart as well as wanted."""
    told = []
    for c, lead in enumerate(_leaders(runs, table)):
        error = math.sqrt(sum(table[cell].se ** 2 for cell in lead.apart))
        if error > PRECISION * lead.gap:
            known = f"{error / lead.gap:.2g}" if lead.gap > 0 else "nothing"
            told.append(
                f"context {c}: the gap between the leaders is known to {known} of itself, wanted "
                f"{PRECISION:g}, though some of their cells have {most} runs, the most allowed. Raise --runs."
            )
    return told


def pool(runs: OutbreakRuns, n: int = POOL) -> Array:
    """Return n runs of every pair [alternative, context, run].

    As in the paper's table, alternatives that give population 1 the same share have the same runs of it in a
    context. Unlike there, where all pairs were run with the seeds 1 to 30, every pair has seeds of its own:
    contexts share nothing, nor do alternatives in the other populations.
    """
    k, c, i = np.ogrid[: len(runs.alternatives), : len(runs.contexts), :n]
    seeds = cell_seed(ROOT, k * c.size + c, i, n_cells=k.size * c.size)
    at = {name: values[c] for name, values in runs.conditions.items()}
    ever = infections(runs.outbreak, runs.shares[k], seeds, **at)
    first = [int(np.flatnonzero(runs.shares[:, 0] == share)[0]) for share in runs.shares[:, 0]]
    ever[..., 0] = ever[first, ..., 0]
    return np.asarray(ever.sum(axis=-1), dtype=np.float64)


def _pool_table(runs: OutbreakRuns) -> pd.DataFrame:
    stored = pool(runs).astype(int)
    pairs = pd.DataFrame(list(np.ndindex(stored.shape[:2])), columns=["alternative", "context"])
    names = [f"run_{i + 1}" for i in range(stored.shape[2])]
    return pairs.join(pd.DataFrame(stored.reshape(-1, stored.shape[2]), columns=names))


def main(arguments: list[str] | None = None) -> None:
    """Compute one table and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edition", choices=EDITIONS)
    parser.add_argument("--runs", type=int, default=RUNS, help="fewest runs of a cell (not for covid-paper)")
    parser.add_argument("--out", type=Path, default=_DATA, help="folder")
    options = parser.parse_args(arguments)
    whole("--runs", options.runs, at_least=2)
    regional = options.edition == "covid-regional"
    problem: Problem = unscored_regional() if regional else unscored()
    runs = problem.simulate
    if not isinstance(runs, OutbreakRuns):
        raise TypeError(f"the edition {options.edition} is simulated by {runs!r}")
    command, kind = f"python -m experiments.covid_truth {options.edition}", "Stored runs of every pair"
    if options.edition == "covid-paper":
        table = _pool_table(runs)
    else:
        command += f" --runs {options.runs}"
        kind = "People ever infected in one population: mean, standard deviation, standard error of the mean"
        table = moments_table(runs, options.runs, quiet=False)
    text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    target = options.out / f"{options.edition}.csv"
    list_written([files.write(target, f"# {kind}.\n# Made by: {command}\n{text}")])


if __name__ == "__main__":
    main()
