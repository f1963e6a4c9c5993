"""How many replications the default study takes until it selects right, here and in an earlier version.

The rule, written before the first run:

- Problems: `NAMES` of `luck_problems`, on which nine tenths are within reach of `MOST` replications per pair.
  Seeds 0 to 9; the seed is also the instance where tables of means are drawn.
- The default study of each version. It is looked at after `LOOKS` replications per pair on average.
- *Right* is the share of contexts in which nothing is truly better than what has the largest posterior mean,
  averaged over contexts and seeds. What counts is the first look at which it is at least 0.9; then a version
  goes on with the next problem.
- Aim: at most half of what version 0.2 takes, on at least three of the problems.

What was found (`stored/versions.csv`): version 0.2 takes 160, 768, more than 768, 160 and 480 replications,
in the order of `NAMES`; now it is 192, 672, 384, 200 and more than 480. Half or less on one problem: the aim
is missed. The share right after 480 replications of "one-server" is 0.80 now and was 0.92 (standard errors
0.05 and 0.08).

Versions derive their seeds differently, so they see different luck: they are compared over seeds.

`python -m experiments.versions --out DIR` runs it with the argbest that this Python finds, also with an older
one (`--version 0.2`), and prints what all versions in DIR have taken.
"""

from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pandas as pd

from argbest import Study
from argbest.cli.terminal import say
from argbest.table_files import write_csv
from experiments.luck_problems import PROBLEMS

NAMES = ("newsvendor", "jumps", "heavy", "queue-staffing", "one-server")
SEEDS, TARGET, MOST = 10, 0.9, 16
LOOKS = (2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 14, MOST)


def course(name: str, seeds: int) -> Iterator[dict[str, object]]:
    """Yield a row per look at the studies of one problem, until they select right often enough."""
    problems = [PROBLEMS[name](seed) for seed in range(seeds)]
    studies = [Study(problem, seed=seed) for seed, problem in enumerate(problems)]
    pairs = problems[0].n_alternatives * problems[0].n_contexts
    for look in LOOKS:
        target = round(look * pairs)
        right = []
        for study, problem in zip(studies, problems, strict=True):
            found = study.run(target).certificate(integrate=False)
            right.append(float(np.mean(problem.good(found.selected))))
        error = float(np.std(right, ddof=1) / np.sqrt(seeds))
        yield {
            "problem": name,
            "per_pair": look,
            "replications": target,
            "right": float(np.mean(right)),
            "right_se": error,
        }
        if np.mean(right) >= TARGET:
            return


def taken(rows: pd.DataFrame) -> pd.DataFrame:
    """Return [problem, version] how many replications it took; infinite where it was not enough."""
    there = rows[rows["right"] >= TARGET].groupby(["problem", "version"])["replications"].min().astype(float)
    whole = rows.drop_duplicates(["problem", "version"]).set_index(["problem", "version"]).index
    return there.reindex(whole, fill_value=np.inf).unstack().reindex(rows["problem"].unique())


@click.command("python -m experiments.versions")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder that keeps the tables.")
@click.option(
    "--version", default="now", show_default=True, help="What this argbest is called in the tables."
)
@click.option("--problems", default=",".join(NAMES), show_default=True)
@click.option("--seeds", type=click.IntRange(2), default=SEEDS, show_default=True)
def main(out: Path, version: str, problems: str, seeds: int) -> None:
    """Run the default study of this version, and print what each version in the folder has taken."""
    out.mkdir(parents=True, exist_ok=True)
    kept = out / f"versions_{version}.csv"
    rows: list[dict[str, object]] = []
    for name in problems.split(","):
        for row in course(name, seeds):
            rows.append({"version": version, **row})
            write_csv(kept, pd.DataFrame(rows))
            say(f"{name} {row['replications']} right {row['right']:.3f}")
    every = pd.concat([pd.read_csv(path) for path in sorted(out.glob("versions_*.csv"))], ignore_index=True)
    say(taken(every).to_string())


if __name__ == "__main__":
    main()
