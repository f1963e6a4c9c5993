"""Whether one may stop on the number: studies ended by `ExpectedPCS(0.95)`, and how many of them were right.

The rule, written before the first run:

- Problems: those of `calibration` with several contexts and at most 100 pairs, or 160 of the families; of the
  families a new draw in every macro-replication. Default settings throughout, common random numbers included.
- Every study runs until `ExpectedPCS(0.95)` ends it, for at most `MOST` replications; one that is not ended
  by then does not count, and is told.
- Claim: `certificate().pcs_e` at the end. Right: the weighted share of contexts that are selected right.
- The families, and all together: the mean share is at least 0.95 less two standard errors. A single truth can
  miss by chance: each is shown, with the loss as a share of the range of the truth.

`MOST` was cut from 2,000 to 800 before there was a result, for time. What it found is in
`stored/stopping.csv`.
"""

from pathlib import Path

import click
import numpy as np
import pandas as pd

from argbest import Study, registry, streams
from argbest.problems.base import Problem
from argbest.study.run_options import ExpectedPCS
from argbest.table_files import write_csv
from experiments.calibration import FAMILIES, SEED, show

TARGET, MOST, MACROREPS = 0.95, 800, 30
PROBLEMS = (*FAMILIES, "queue-staffing", "newsvendor", "branin", "branin-separated")


def ended(name: str, number: int, most: int = MOST) -> dict[str, object]:
    """Return the row of one study: when it ended, what it claimed, and what was right."""
    root = int(streams.roots(SEED, np.array([number]))[0])
    made = registry.problem_entry(name).make()
    problem = made if isinstance(made, Problem) else made.draw(root)
    study = Study(problem, seed=root).run(most, stop=ExpectedPCS(TARGET))
    found = study.certificate()
    lost = problem.opportunity_cost(found.selected) @ problem.weights
    return {
        "problem": name,
        "macroreplication": number,
        "replications": study.n_replications,
        "ended": bool(found.pcs_e >= TARGET),
        "claimed": float(found.pcs_e),
        "right": float(problem.correct(found.selected) @ problem.weights),
        "loss": float(lost / np.ptp(np.asarray(problem.truth))),
    }


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line per problem, one of the families and one of all: claimed, right, and whether it holds."""
    groups = {name: rows[rows["problem"] == name] for name in rows["problem"].unique()}
    groups |= {"families": rows[rows["problem"].isin(FAMILIES)], "all": rows}
    found = []
    for name, group in groups.items():
        own = group[group["ended"]]
        error = float(own["right"].sem())
        found.append(
            {
                "problem": name,
                "studies": len(group),
                "ended": len(own),
                "replications": float(own["replications"].median()),
                "claimed": float(own["claimed"].mean()),
                "right": float(own["right"].mean()),
                "right_se": error,
                "loss": float(own["loss"].mean()),
                "holds": bool(own["right"].mean() >= TARGET - 2 * error),
            }
        )
    return pd.DataFrame(found)


@click.command("python -m experiments.stopping")
@click.option("--macroreps", type=click.IntRange(2), default=MACROREPS, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the tables.")
def main(macroreps: int, out: Path) -> None:
    """Let studies end themselves, print what they claimed and what was right."""
    out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []
    for number in range(macroreps):
        rows += [ended(name, number) for name in PROBLEMS]
        write_csv(out / "stopping_runs.csv", pd.DataFrame(rows))  # so that an interruption loses little
    show(summary(pd.DataFrame(rows)), out / "stopping.csv")


if __name__ == "__main__":
    main()
