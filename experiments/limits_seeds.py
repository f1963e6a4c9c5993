"""Whether alternatives should share seeds where limits are to be kept.

Shared seeds make differences between alternatives more certain. A limit is kept or broken by each alternative
alone, and what it shares with others it cannot learn from them: ten replications of thirty alternatives with
shared seeds tell as little of the level of a response as ten replications do.

The rule, written before the first run, but for four studies of facility-sizing (seeds 900 to 903) that gave
the idea:

- Problems: all of `experiments.limits` and `experiments.rare_limits` whose simulators give alternatives with
  the same seed the same luck, and two that were written for this (`MADE`), *tills* and *routes*: the noise of
  their goal is large and nearly all shared, so that shared seeds should help.
- Arms: the default with shared seeds, and with seeds of each pair's own. Studies are live, begin with every
  pair twice, and are looked at after 2, 5 and 15 replications per pair on average. Seeds from 910 on.
- Loss of a study: the mean over looks of the opportunity cost of what is named, over the stakes.
- Own seeds become the default where limits are to be kept if their loss, the mean over problems, is lower by
  two standard errors of the paired difference, and on no problem higher by three; and if over all problems no
  bin of claims fails with them that holds with shared seeds (`experiments.limits.bins`).
- Else they become the default where all limits are on rates, if the same holds of the problems with limits on
  rates alone.

The result, with six studies of each: own seeds became the default. On *tills* alone they lose more, by 2.5
standard errors. Sharing every other seed was looked at with three studies of seven problems: its losses lay
between the two arms, near those of shared seeds where these are high.

`python -m experiments.limits_seeds --out DIR` runs it. What was run is kept in DIR and not run again.
"""

import warnings
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pandas as pd

from argbest import Problem, Study
from argbest.cli.terminal import echo
from argbest.core.arrays import ndtr
from argbest.errors import DataNotice
from argbest.table_files import write_csv
from experiments import limits, rare_limits
from experiments.kept_runs import all_rows
from experiments.limits import INITIAL, bins, look, stakes, sure
from experiments.rare_limits import apart, losses, of_events

PER_PAIR = (2, 5, 15)
FIRST_SEED = 910
STORED = Path(__file__).parent / "stored"
BETTER, WORSE = 2.0, 3.0  # standard errors of the paired difference
ARMS = ("shared", "own")


def tills() -> Problem:
    """Return tills by customers: the noise of their cost is large and nearly all shared; 10 % may leave."""
    number = np.arange(2.0, 12.0)[:, None]
    customers = np.array([20.0, 35.0, 50.0, 65.0, 80.0])
    return of_events(
        "tills",
        [{"tills": int(each)} for each in number[:, 0]],
        [{"customers": each} for each in customers.tolist()],
        goal="min cost",
        mean=12.0 * number + 900.0 / (number + 1.0) * customers / 50.0,
        sd=60.0,
        limits={"leave": 0.1},
        chance={"leave": 1.0 - ndtr((11.0 * number - customers) / (6.0 + 0.2 * customers))},
        together=0.97,
    )


def routes() -> Problem:
    """Return named routes by named seasons: income with much shared noise; at most 30 % arrive late."""
    draws = np.random.default_rng(1401)
    late = 1.0 / (1.0 + np.exp(1.4 + draws.normal(0.0, 0.8, (7, 1)) + draws.normal(0.0, 0.5, (7, 6))))
    return of_events(
        "routes",
        ["north", "south", "coast", "ridge", "river", "toll", "old road"],
        ["spring", "summer", "autumn", "winter", "feast", "strike"],
        goal="max income",
        mean=100.0 + draws.normal(0.0, 5.0, (7, 1)) + draws.normal(0.0, 3.0, (7, 6)),
        sd=20.0,
        limits={"late": 0.3},
        chance={"late": late},
        together=0.9,
    )


MADE: dict[str, Callable[[], Problem]] = {"tills": tills, "routes": routes}
OTHERS = {name: made for name, made in rare_limits.PROBLEMS.items() if name not in rare_limits.OWN_SEEDS}
PROBLEMS = limits.PROBLEMS | OTHERS | MADE


def watch(name: str, arm: str, seed: int) -> pd.DataFrame:
    """Return a row per look and context of what a live study names and claims, and of what is so."""
    problem, rows = PROBLEMS[name](), []
    scale, pairs = stakes(problem), problem.n_alternatives * problem.n_contexts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        study = Study(problem, initial=INITIAL, seed=seed, common_random_numbers=arm == "shared")
        for n in PER_PAIR:
            found = look(study.run(n * pairs), name, seed, n)
            cost = problem.opportunity_cost(study.certificate().selected)
            rows.append(found.assign(loss=cost / scale, arm=arm))
    return pd.concat(rows, ignore_index=True)


def of_arm(rows: pd.DataFrame, arm: str) -> pd.DataFrame:
    """Return the rows of one arm."""
    return rows[rows["arm"] == arm].drop(columns="arm")


def differences(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, and of their mean: the loss with own seeds less that with shared ones."""
    each = apart(of_arm(rows, "own"), of_arm(rows, "shared")).drop(columns="holds")
    error = float(np.sqrt(np.sum(each["sem"] ** 2)) / len(each))
    pooled = pd.DataFrame(
        [{"problem": "all", "size": each["size"].sum(), "mean": each["mean"].mean(), "sem": error}]
    )
    return pd.concat([each, pooled], ignore_index=True)


def failing(rows: pd.DataFrame) -> set[tuple[str, str, float]]:
    """Return the bins of claims that do not hold over all problems."""
    found = bins(rows)
    found = found[found["holds"] == False]  # noqa: E712
    return set(zip(found["claim"], found["replications"], found["from"], strict=True))


def objections(rows: pd.DataFrame) -> list[str]:
    """Return what the rule has against own seeds; nothing where they become the default."""
    table = differences(rows).set_index("problem")
    pooled, each = table.loc["all"], table.drop(index="all")
    found = [] if pooled["mean"] <= -BETTER * pooled["sem"] else ["not better on the whole"]
    found += [f"worse on {name}" for name in each.index[each["mean"] > WORSE * each["sem"]]]
    more = failing(of_arm(rows, "own")) - failing(of_arm(rows, "shared"))
    return found + [f"bold: {claim} from {low} after {when}" for claim, when, low in sorted(more)]


def tables(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the tables that are shown and stored: losses, claims in bins and their means, differences."""
    each = {arm: of_arm(rows, arm) for arm in ARMS}

    def of_both(table: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
        return pd.concat([table(own).assign(seeds=arm) for arm, own in each.items()], ignore_index=True)

    return {
        "losses": of_both(losses),
        "bins": of_both(bins),
        "claims": of_both(sure),
        "differences": differences(rows),
    }


@click.command(help=__doc__)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where what was run is kept.")
@click.option("--seeds", default=6, show_default=True, help="Studies of every problem and arm.")
@click.option("--problems", default=",".join(PROBLEMS), help="Names with commas between them.")
@click.option("--jobs", default=1, show_default=True, help="Processes.")
@click.option("--store", is_flag=True, help="Put the tables where the pages take them from.")
def main(out: Path, seeds: int, problems: str, jobs: int, store: bool) -> None:
    """Run the studies, and show losses, claims, and what the rule says."""
    names = problems.split(",")
    wanted = [
        (name, arm, seed) for seed in range(FIRST_SEED, FIRST_SEED + seeds) for name in names for arm in ARMS
    ]
    rows = all_rows(watch, wanted, out, jobs)
    for title, found in tables(rows).items():
        echo(f"\n{title}\n{found.to_string(index=False)}")
        if store:
            write_csv(STORED / f"limits_seeds_{title}.csv", found.round(5))
    echo(f"against own seeds: {', '.join(objections(rows)) or 'nothing'}")


if __name__ == "__main__":
    main()
