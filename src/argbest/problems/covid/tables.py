"""Tables that ship with the package: moments of one population's infections, and the paper's pool of runs.

Populations do not meet, so the mean and the variance of the total are sums over populations, and a table per
(population, share, conditions) determines every pair.
"""

import io
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import pandas as pd

from argbest.core.arrays import Array
from argbest.errors import InputError
from argbest.problems.covid.simulator import OutbreakRuns


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


def read(name: str) -> dict[Cell, Moments]:
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
