"""Whether to select by the means of fitted hyper-parameters, or by those of all plausible ones on average.

The second is what loses least if the model is right, and it agrees with the claims, which are averages as
well. The first rests on a single table of the noise, which was made to withstand rare events and ties.

The rule, written before the first run:

- Problems: all of `experiments.noise`, none of which was written for this; and the parts and problems of
  `experiments.peers`, the dear ones left out. Of facility-sizing with a price, six other studies had been
  looked at, which gave the idea: there averages lost more.
- Studies are live, with default settings, and are looked at after 2, 5 and 12 replications per pair. The data
  are the same for both, because decisions are.
- Loss: the opportunity cost over the stakes, the mean over contexts, and over the looks of a study.
- Selections go back to the fitted means if over all problems these lose less by two standard errors of the
  paired difference, each problem counted once. Where it is less, averages stay.

`python -m experiments.selecting --out DIR` runs it. What was run is kept in DIR and not run again.
"""

import warnings
from pathlib import Path

import click
import numpy as np
import pandas as pd

from argbest import Problem, Study
from argbest.cli.terminal import echo
from argbest.errors import Notice
from argbest.table_files import write_csv
from experiments import noise, peers
from experiments.kept_runs import all_rows

PER_PAIR = (2, 5, 12)
FIRST_SEED = 800
STORED = Path(__file__).parent / "stored"
PEERS = (
    *("queue-staffing", "newsvendor", "branin", "metric-draws", "gp-draws", "trend-draws", "classical"),
    "facility-sizing",
)
NAMES = (*noise.EVERY, *(f"peers:{name}" for name in PEERS))


def made(name: str, seed: int) -> Problem:
    """Return a problem by name; where means are drawn the seed is the instance."""
    group, _, rest = name.partition(":")
    return peers.PROBLEMS[rest](seed) if group == "peers" else noise.EVERY[name](seed)


def watch(name: str, seed: int) -> pd.DataFrame:
    """Return a row per look: the losses of both selections over the stakes, and whether they are right."""
    problem, rows = made(name, seed), []
    scale = noise.stakes(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        study = Study(problem, seed=seed)
        for n in PER_PAIR:
            study.run(n * problem.n_alternatives * problem.n_contexts)
            row: dict[str, object] = {"problem": name, "seed": seed, "per_pair": n}
            for kind, integrate in (("averaged", True), ("fitted", False)):
                chosen = study.certificate(integrate=integrate).selected
                row[kind] = float(np.mean(problem.opportunity_cost(chosen))) / scale
                row[f"{kind}_right"] = float(np.mean(problem.good(chosen)))
            rows.append(row)
    return pd.DataFrame(rows)


def losses(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, and of all: both losses, and fitted less averaged with its standard error."""
    each = rows.groupby(["problem", "seed"], sort=False)[["averaged", "fitted"]].mean()
    each["difference"] = each["fitted"] - each["averaged"]
    found = each.groupby("problem", sort=False).mean()
    found["difference_se"] = each.groupby("problem", sort=False)["difference"].sem()
    mean = found.mean().rename("all")
    mean["difference_se"] = float(np.std(found["difference"], ddof=1) / np.sqrt(len(found)))
    return pd.concat([found, mean.to_frame().T]).rename_axis("problem").reset_index()


@click.command(help=__doc__)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where what was run is kept.")
@click.option("--seeds", default=4, show_default=True, help="Studies of every problem.")
@click.option("--jobs", default=1, show_default=True, help="Processes.")
@click.option("--store", is_flag=True, help="Keep the table among the results.")
def main(out: Path, seeds: int, jobs: int, store: bool) -> None:
    """Run the studies, and compare the losses."""
    wanted = [(name, seed) for seed in range(FIRST_SEED, FIRST_SEED + seeds) for name in NAMES]
    rows = all_rows(watch, wanted, out, jobs)
    found = losses(rows)
    echo(found.round(4).to_string(index=False))
    if store:
        write_csv(STORED / "selecting.csv", found.round(5))


if __name__ == "__main__":
    main()
