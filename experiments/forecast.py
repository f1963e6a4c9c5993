"""How often `study.forecast(target=0.95)` is right: foreseen ranges of replications against what came.

The rule, written before the first run (but the studies were cut from 16 to 8 before the fresh ones were run):

- Problems: `PROBLEMS`, `STUDIES` studies of each, the default policy and model, every study with a seed of
  its own (and, of the families of draws, a problem of its own), from `FIRST` on: the seeds 0 to 4 served to
  choose by how much the ranges are widened.
- A study is run to `BEGUN` replications, or four of every pair where that is more. Where the
  certificate is at 0.95 by then nothing is to be foreseen, and the study does not count.
- Then it is asked for its forecast and run on until `ExpectedPCS(0.95)` ends it or `AHEAD` more replications
  are made. Runs ask only when hyper-parameters are learned anew, so the target was reached between the ask
  before and the last one.
- A forecast is right if its 90 % range meets that stretch; where the run ended without, if the upper end of
  the range is beyond `AHEAD`.
- Promise: over all problems together at least 90 %, less two standard errors of that share.

What it found is in `stored/forecast.csv`, with common random numbers: all 34 forecasts are right. Of 33 with
seeds of their own all were right too, and 30 would have been without the widening.
"""

import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from argbest import Study, registry
from argbest.cli.terminal import say, table
from argbest.problems.base import Problem
from argbest.study.run_options import ExpectedPCS
from argbest.table_files import write_csv
from experiments import command_options

TARGET, BEGUN, AHEAD, STUDIES, FIRST = 0.95, 200, 1_000, 8, 100
PROBLEMS = ("branin", "queue-staffing", "newsvendor", "metric-draws", "trend-draws")


def problem(name: str, seed: int) -> Problem:
    """Return the problem, or the draw of a family that belongs to the seed."""
    made: Any = registry.problem_entry(name).make()
    return made if isinstance(made, Problem) else made.draw(seed)


def trial(name: str, seed: int) -> dict[str, object] | None:
    """Return a row: what was foreseen and what came; None where the target was reached already."""
    given = problem(name, seed)
    study = Study(given, seed=seed)
    begun = max(BEGUN, 4 * given.n_alternatives * given.n_contexts)
    found = study.run(begun).forecast(TARGET)
    if not found.replications:
        return None
    asked = [0]

    def reached(study: Study) -> bool:
        asked.append(study.n_replications - begun)
        return ExpectedPCS(TARGET)(study)

    study.run(begun + AHEAD, stop=reached)
    came = study.certificate().pcs_e >= TARGET
    after, until = (asked[-2], asked[-1]) if came else (AHEAD, np.inf)
    return {
        "problem": name,
        "seed": seed,
        "begun": begun,
        "now": found.now,
        "low": found.low,
        "median": found.replications,
        "high": found.high,
        "after": after,
        "until": until,
        "right": bool(found.low <= until and found.high >= after),
    }


def shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often forecasts were right, by problem and in all, and on which side they missed."""
    parts = [*((str(name), own) for name, own in rows.groupby("problem", sort=False)), ("all", rows)]
    found = [
        (
            name,
            len(own),
            float(own["right"].mean()),
            int((own["high"] < own["after"]).sum()),
            int((own["low"] > own["until"]).sum()),
        )
        for name, own in parts
    ]
    return pd.DataFrame(found, columns=["problem", "studies", "right", "later", "sooner"])


def kept(found: pd.DataFrame) -> bool:
    """Return whether the promise is kept over all problems together."""
    [whole] = found[found["problem"] == "all"].to_dict("records")
    return bool(whole["right"] >= 0.9 - 2 * np.sqrt(0.9 * 0.1 / whole["studies"]))


@click.command("python -m experiments.forecast")
@click.option(
    "--studies", type=click.IntRange(1), default=STUDIES, show_default=True, help="Of each problem."
)
@command_options.out("forecast", "the table")
def main(studies: int, out: Path) -> None:
    """Hold forecasts of studies against what came."""
    warnings.simplefilter("ignore")
    found = []
    for seed in range(FIRST, FIRST + studies):
        found += [row for name in PROBLEMS if (row := trial(name, seed)) is not None]
        write_csv(out / "forecast.csv", pd.DataFrame(found))  # so that an interruption loses little
    told = shares(pd.DataFrame(found))
    rows = [
        (str(r.problem), str(r.studies), f"{r.right:.2f}", str(r.later), str(r.sooner))
        for r in told.itertuples()
    ]
    table(("problem", "studies", "right", "came later", "came sooner"), rows)
    say(f"the promise is {'kept' if kept(told) else 'broken'}")


if __name__ == "__main__":
    main()
