"""The default against every contender of version 0.1, whose models are gone and whose results are kept.

`stored/version_0_1_runs.csv` has the loss of every macro-replication after 0, 100 and 500 replications,
`stored/version_0_1_curves.csv` the mean loss after every ten. Version 0.1 wrote them, with the command
`argbest compare PROBLEM --policy ... --samples 500 --macroreps 50 --seed 2026`. Macro-replication r of the
default has the same seed and the same initial design now, so differences are paired.
"""

from pathlib import Path

import click
import numpy as np
import pandas as pd
from scipy.stats import t as student

from argbest.cli.terminal import say, table
from argbest.experiment import Experiment, run
from argbest.options import POLICY
from argbest.table_files import write_csv
from experiments import command_options
from experiments.models import first_below

SEED, REPLICATIONS, MACROREPS = 2026, 500, 50
LANDMARKS = (0, 100, REPLICATIONS)
LEVEL = 0.05
SPLITS = 1_000
BEFORE = "gp-c-ocba"  # the default of version 0.1
STORED = Path(__file__).parent / "stored"


def stored_runs() -> pd.DataFrame:
    """Return the losses of version 0.1: problem, contender, macroreplication, replications, cost."""
    return pd.read_csv(STORED / "version_0_1_runs.csv")


def stored_curves() -> pd.DataFrame:
    """Return the mean losses of version 0.1: problem, contender, replications, cost."""
    return pd.read_csv(STORED / "version_0_1_curves.csv")


def runs_of_default(problem: str, folder: Path, *, jobs: int, common: bool = False) -> pd.DataFrame:
    """Return the losses of today's default: macroreplication, replications, cost."""
    experiment = Experiment(
        problem,
        POLICY,
        replications=REPLICATIONS,
        macroreps=MACROREPS,
        seed=SEED,
        common_random_numbers=common,
    )
    runs = run(experiment, jobs=jobs, out=folder / problem, progress=True).runs
    return runs[["macroreplication", "replications", "cost"]].assign(problem=problem)


def differences(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, contender and landmark: both losses, their paired difference, Holm's p-value.

    ``difference`` is ours less theirs; ``p`` is two-sided, by Student's t of the paired differences.
    """
    keys = ["problem", "macroreplication", "replications"]
    both = theirs.merge(ours, on=keys, suffixes=("_theirs", "_ours"))
    both["difference"] = both["cost_ours"] - both["cost_theirs"]
    grouped = both.groupby(["problem", "contender", "replications"], sort=False)
    found = grouped[["cost_ours", "cost_theirs", "difference"]].mean()
    found["se"], n = grouped["difference"].sem(), grouped.size()
    ratio = (found["difference"] / found["se"]).where(found["se"] > 0, 0.0)
    found["p"] = 2 * student.sf(np.abs(ratio), n - 1)
    found["p_holm"] = holm(found["p"].to_numpy())
    return found.reset_index()


def holm(p: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return p-values corrected for their number by Holm's steps."""
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def behind_best(found: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem and landmark: the best contender of version 0.1, and how far we are behind it.

    ``behind`` is a share of its loss, negative where we are ahead.
    """
    best = found.loc[found.groupby(["problem", "replications"], sort=False)["cost_theirs"].idxmin()].copy()
    best["behind"] = best["cost_ours"] / best["cost_theirs"] - 1.0
    return best[
        ["problem", "replications", "contender", "cost_theirs", "cost_ours", "se", "behind", "p_holm"]
    ]


def behind_chosen(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem and landmark: how far we are behind a contender that was chosen beforehand.

    The best of many is favoured by chance (`behind_best`). Here the contender that is best in one half of the
    macro-replications is compared with in the other half; the average of `SPLITS` random halves.
    """
    keys = ["problem", "macroreplication", "replications"]
    both = theirs.merge(ours, on=keys, suffixes=("_theirs", "_ours"))
    random, rows = np.random.default_rng(SEED), []
    for (problem, replications), group in both.groupby(["problem", "replications"], sort=False):
        past = group.pivot(index="macroreplication", columns="contender", values="cost_theirs").to_numpy()
        own = (
            group.drop_duplicates("macroreplication").sort_values("macroreplication")["cost_ours"].to_numpy()
        )
        order = random.permuted(np.tile(np.arange(len(own)), (SPLITS, 1)), axis=1)
        one, other = order[:, : len(own) // 2], order[:, len(own) // 2 :]
        chosen = np.argmin(past[one].mean(axis=1), axis=-1)
        cost = float(past[other, chosen[:, None]].mean())
        rows.append((problem, replications, cost, float(own[other].mean())))
    found = pd.DataFrame(rows, columns=["problem", "replications", "cost_theirs", "cost_ours"])
    found["behind"] = found["cost_ours"] / found["cost_theirs"].where(found["cost_theirs"] > 0) - 1.0
    return found


def needed(ours: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Return per problem how many replications reach the loss at which version 0.1's equal allocation ends.

    Of today's default and of version 0.1's; infinite if never.
    """
    rows = []
    mean = ours.groupby(["problem", "replications"], sort=False)["cost"].mean().reset_index()
    for problem, own in mean.groupby("problem", sort=False):
        of_problem = curves[curves["problem"] == problem]
        past = dict(list(of_problem.groupby("contender", sort=False)))
        goal = float(past["equal"]["cost"].iloc[-1])
        reached = [
            first_below(each["replications"].to_numpy(float), each["cost"].to_numpy(float), goal)
            for each in (own, past[BEFORE])
        ]
        rows.append((problem, goal, *reached))
    return pd.DataFrame(rows, columns=["problem", "loss_of_equal", "default", "version_0_1"])


@click.command("python -m experiments.comparison")
@click.argument("problems", nargs=-1)
@command_options.jobs
@command_options.out("comparison", "runs and tables")
@click.option("--common", is_flag=True, help="With common random numbers, which version 0.1 did not have.")
def main(problems: tuple[str, ...], jobs: int, out: Path, common: bool) -> None:
    """Compare the default with every contender of version 0.1, on all problems or those named."""
    theirs = stored_runs()
    names = [name for name in theirs["problem"].unique() if not problems or name in problems]
    runs = [runs_of_default(name, out / "runs", jobs=jobs, common=common) for name in names]
    ours = pd.concat(runs, ignore_index=True)
    marked, theirs = ours[ours["replications"].isin(LANDMARKS)], theirs[theirs["problem"].isin(names)]
    found = differences(marked, theirs)
    best, chosen = behind_best(found), behind_chosen(marked, theirs)
    saved = needed(ours, stored_curves())
    tables = {"differences": found, "behind_best": best, "behind_chosen": chosen, "needed": saved}
    for name, frame in tables.items():
        write_csv(out / f"{name}.csv", frame)
    for frame in (best, chosen, saved):
        shown = frame.round(4).astype(str)
        table(tuple(shown.columns), list(shown.itertuples(index=False, name=None)))
    worse = found[(found["p_holm"] < LEVEL) & (found["difference"] > 0)]
    better = found[(found["p_holm"] < LEVEL) & (found["difference"] < 0)]
    say(f"{len(found)} comparisons: {len(better)} significantly better, {len(worse)} significantly worse")


if __name__ == "__main__":
    main()
