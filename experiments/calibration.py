"""Whether claims come true: P(best) of every context, integrated and plug-in, against what was right.

The rule, written before the first run:

- Problems: all that are shipped with at most 200 pairs, of the families a new draw in every
  macro-replication. Every pair twice, then the default policy and model; looks after `LOOKS` replications.
- One study is asked twice at every look: `certificate()`, which averages over hyper-parameters and noise,
  and `certificate(integrate=False)`, which takes the estimates for known. The selection is the same, so
  claims are judged apart from selections.
- Bins: claims from 0.8, 0.9, 0.95 and 0.98 up. The mean claim of a bin is set against the share of its
  contexts that were selected right, and so are the means of all contexts. Standard errors are those of the
  difference, clustered by macro-replication, for contexts of one study are right or wrong together.
- Families of draws, and all problems together: a bin holds if the share is at least the claim less 0.02, two
  standard errors allowed, and the mean claim is within 0.03 of the share. A single problem with one truth may
  miss by the chance of that truth: each is shown.

What it found is in `stored/calibration.csv`: 200 macro-replications of 11 problems, 33 of the two Covid ones.
Every bin holds. One mean misses: over all problems after 100 replications 0.886 was claimed and 0.918 right.
`python -m experiments.calibration --out DIR` runs it again.
"""

from pathlib import Path

import click
import numpy as np
import pandas as pd

from argbest import Study, registry, streams
from argbest.cli.terminal import say, table
from argbest.problems.base import Problem
from argbest.table_files import write_csv

SEED = 2026
FAMILIES = ("gp-draws", "trend-draws", "metric-draws")
SINGLE = ("queue-staffing", "newsvendor", "branin", "griewank", "classical", "covid", "covid-regional")
SEPARATED = ("branin-separated", "griewank-separated", "hartmann3-separated")
PROBLEMS = (*FAMILIES, *SINGLE, *SEPARATED)
LOOKS = (0, 100, 500)
BINS = (0.8, 0.9, 0.95, 0.98)
CLAIMS = ("integrated", "plug_in")


def claims(name: str, number: int, looks: tuple[int, ...]) -> pd.DataFrame:
    """Return a row per look and context of one macro-replication: both claims, and whether it was right."""
    root = int(streams.roots(SEED, np.array([number]))[0])
    made = registry.problem_entry(name).make()
    problem = made if isinstance(made, Problem) else made.draw(root)
    study, begun = Study(problem, initial=2, seed=root), 2 * problem.n_alternatives * problem.n_contexts
    rows = []
    for replications in looks:
        study.run(begun + replications)
        integrated, plug_in = study.certificate(), study.certificate(integrate=False)
        rows.append(
            pd.DataFrame(
                {
                    "problem": name,
                    "macroreplication": number,
                    "replications": replications,
                    "integrated": integrated.pcs,
                    "plug_in": plug_in.pcs,
                    "right": problem.correct(integrated.selected).astype(int),
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


def bins(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per group of problems, look, kind of claim and bin: claimed, and right."""
    groups = {name: rows[rows["problem"] == name] for name in rows["problem"].unique()}
    groups |= {"families": rows[rows["problem"].isin(FAMILIES)], "all": rows}
    found = [
        {"problems": name, "replications": replications, "claim": kind, **line}
        for name, group in groups.items()
        for replications, look in group.groupby("replications")
        for kind in CLAIMS
        for line in _lines(look, kind)
    ]
    return pd.DataFrame(found)


def _lines(look: pd.DataFrame, kind: str) -> list[dict[str, object]]:
    """Return the line of all contexts, and one per bin that has any."""
    edges = [(0.0, 1.01), *zip(BINS, (*BINS[1:], 1.01), strict=True)]
    inside = [(low, look[(look[kind] >= low) & (look[kind] < high)]) for low, high in edges]
    return [_line(low, each, kind) for low, each in inside if len(each)]


def _line(low: float, each: pd.DataFrame, kind: str) -> dict[str, object]:
    excess = (each["right"] - each[kind]).groupby([each["problem"], each["macroreplication"]]).sum()
    error = np.sqrt(np.sum((excess - excess.mean()) ** 2) * len(excess) / max(len(excess) - 1, 1)) / len(each)
    claimed, right = float(each[kind].mean()), float(each["right"].mean())
    return {
        "from": low,
        "contexts": len(each),
        "claimed": claimed,
        "right": right,
        "difference_se": float(error),
        "holds": bool(right >= claimed - 0.02 - 2 * error),
    }


def run(out: Path, macroreps: int, looks: tuple[int, ...]) -> pd.DataFrame:
    """Return the rows of all macro-replications, kept in a file as they come."""
    kept, parts = out / "claims.csv", []
    if kept.exists():
        parts.append(pd.read_csv(kept))
    done = {(p, m) for each in parts for p, m in zip(each["problem"], each["macroreplication"], strict=True)}
    for number in range(macroreps):
        parts += [claims(name, number, looks) for name in PROBLEMS if (name, number) not in done]
        write_csv(kept, pd.concat(parts, ignore_index=True))
    return pd.concat(parts, ignore_index=True)


def show(found: pd.DataFrame, path: Path) -> None:
    """Print a table and write it to a file."""
    write_csv(path, found)
    shown = [
        [f"{value:.3f}" if isinstance(value, float) else str(value) for value in row]
        for row in found.itertuples(index=False)
    ]
    table(tuple(found.columns), shown, justify="right")
    say(f"written: {path}")


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder that keeps the claims.")
@click.option("--macroreps", type=click.IntRange(2), default=200, show_default=True)
@click.option("--last", type=click.Choice([str(n) for n in LOOKS]), default="500", help="The last look.")
def main(out: Path, macroreps: int, last: str) -> None:
    """Run the studies, print the bins and write them to calibration.csv."""
    out.mkdir(parents=True, exist_ok=True)
    found = bins(run(out, macroreps, tuple(n for n in LOOKS if n <= int(last))))
    show(found, out / "calibration.csv")


if __name__ == "__main__":
    main()
