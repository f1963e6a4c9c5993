"""How much of the budget the whole initial design may take: a third, a half or two thirds of it.

`initial="auto"` simulates every pair twice where that takes at most `SHARE` of the budget, otherwise fewer
pairs, spread evenly. The rule that judges `SHARE`, written before the first run:

- Problems: `PROBLEMS`, each with two budgets: every pair twice takes 0.42 of the first, 0.58 of the second.
  Between the neighbours a third and a half only the first budget differs, between a half and two thirds only
  the second: the larger share simulates every pair twice, the smaller one what it chooses instead.
- Both shares: the default policy and model, 30 macro-replications, the same budget in all. Macro-replication
  r of both has the same seed, so they meet the same noise.
- Loss: the opportunity cost of the selections at the end of the budget, weighted over contexts, averaged over
  macro-replications.
- Difference: the loss of the larger share less that of the smaller, divided by the mean of the two losses;
  0 where neither loses anything. Near 0 it is the logarithm of their ratio, but a loss of 0 does no harm.
- Score of two neighbours: the mean difference over problems. Its standard error follows from those of the
  problems, which are independent; each takes the pairs of macro-replications into account.
- One half stays unless one of the other two is better than it by more than two standard errors. Should both
  be, the results contradict each other, and one half stays too.

What it found is in `stored/beginning.csv`.
"""

from pathlib import Path

import click
import numpy as np
import pandas as pd

from argbest.cli.terminal import say, table
from argbest.core.arrays import Array
from argbest.experiment import Contender, Experiment, run
from argbest.options import MODEL, POLICY
from argbest.problems.base import Problem
from argbest.problems.design import Automatic, for_model
from argbest.table_files import write_csv
from experiments import command_options

SEED, MACROREPS = 2026, 30
PROBLEMS = (
    "queue-staffing",
    "newsvendor",
    "branin",
    "metric-draws",
    "griewank",
    "gp-draws",
    "covid-regional",
)
THIRD, HALF, TWO_THIRDS = 1 / 3, 1 / 2, 2 / 3
NEIGHBOURS = {0.42: (THIRD, HALF), 0.58: (HALF, TWO_THIRDS)}  # by what the whole design takes of the budget
CERTAIN = 2.0  # standard errors
RULE = Contender(POLICY, MODEL)


def budget(problem: Problem, taken: float) -> int:
    """Return the budget of which every pair twice takes this part."""
    return round(2 * problem.n_alternatives * problem.n_contexts / taken)


def beginning(problem: Problem, total: int, share: float) -> Automatic:
    """Return the automatic design that may take this share of the budget: half of as many times two."""
    return for_model(RULE.make()[1], problem, 2 * int(share * total))


def duel(
    name: str, taken: float, folder: Path, *, macroreps: int = MACROREPS, jobs: int = 1
) -> dict[str, object]:
    """Return a row: what the two shares begin with on a problem, what they lose, their difference."""
    problem = Experiment(name, RULE, replications=0, seed=SEED).first_problem()
    total = budget(problem, taken)
    begun = [beginning(problem, total, share) for share in NEIGHBOURS[taken]]
    experiments = [
        Experiment(
            name,
            RULE,
            replications=total - each.size(problem),
            macroreps=macroreps,
            initial=each.chosen(problem),
            seed=SEED,
            checkpoint_every=total,  # the end alone
            common_random_numbers=False,
        )
        for each in begun
    ]
    fewer, every = (
        final_losses(each, folder / f"{name}-{taken}-{side}", jobs=jobs)
        for side, each in zip(("fewer", "every"), experiments, strict=True)
    )
    relative, relative_se = difference(fewer, every)
    return {
        "problem": name,
        "taken": taken,
        "budget": total,
        "initial_fewer": begun[0].size(problem),
        "initial_every": begun[1].size(problem),
        "loss_fewer": fewer.mean(),
        "loss_fewer_se": standard_error(fewer),
        "loss_every": every.mean(),
        "loss_every_se": standard_error(every),
        "difference": relative,
        "difference_se": relative_se,
    }


def final_losses(experiment: Experiment, folder: Path, *, jobs: int) -> Array:
    """Return the loss of every macro-replication after the last sample."""
    runs = run(experiment, jobs=jobs, out=folder, progress=True).runs
    last = runs[runs["replications"] == experiment.replications]
    found: Array = last.sort_values("macroreplication")["cost"].to_numpy(float)
    return found


def difference(fewer: Array, every: Array) -> tuple[float, float]:
    """Return the mean of ``every`` less that of ``fewer`` as a part of their mean, and its standard error.

    The error is that of the function linear in the paired losses that touches it at their means.
    """
    both = fewer.mean() + every.mean()
    if both == 0.0:
        return 0.0, 0.0
    slope = 4 * (fewer.mean() * every - every.mean() * fewer) / both**2
    return float(2 * (every.mean() - fewer.mean()) / both), standard_error(slope)


def scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per two neighbours: mean difference over problems and its standard error."""
    grouped = rows.groupby("taken", sort=False)
    found = grouped["difference"].agg(score="mean", problems="size")
    found["score_se"] = (
        grouped["difference_se"].agg(lambda each: np.sqrt((each**2).sum())) / found["problems"]
    )
    return found.reset_index()[["taken", "problems", "score", "score_se"]]


def decision(found: pd.DataFrame) -> float:
    """Return the share that the rule prefers."""
    ratio = (found["score"] / found["score_se"]).where(found["score_se"] > 0, 0.0)
    by_taken = dict(zip(found["taken"], ratio, strict=True))
    third, two_thirds = by_taken[0.42] > CERTAIN, by_taken[0.58] < -CERTAIN
    if third == two_thirds:
        return HALF
    return THIRD if third else TWO_THIRDS


def shown(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the rows for the terminal."""
    return [
        (
            str(row.problem),
            str(row.taken),
            str(row.budget),
            *(
                f"{value:.3g}±{error:.2g}"
                for value, error in (
                    (row.loss_fewer, row.loss_fewer_se),
                    (row.loss_every, row.loss_every_se),
                    (row.difference, row.difference_se),
                )
            ),
        )
        for row in rows.itertuples()
    ]


def standard_error(values: Array) -> float:
    """Return the standard error of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


@click.command("python -m experiments.beginning")
@command_options.jobs
@command_options.out("beginning", "runs and tables")
def main(jobs: int, out: Path) -> None:
    """Test the share of the budget that the whole initial design may take."""
    rows = pd.DataFrame(
        [duel(name, taken, out / "runs", jobs=jobs) for taken in NEIGHBOURS for name in PROBLEMS]
    )
    found = scores(rows)
    write_csv(out / "beginning.csv", rows)
    table(("problem", "taken", "budget", "fewer pairs lose", "every pair loses", "difference"), shown(rows))
    for row in found.itertuples():
        say(f"every pair at {row.taken} of the budget: {row.score:+.3f} ± {row.score_se:.3f}")
    say(f"the share of the budget: {decision(found):.2f}")


if __name__ == "__main__":
    main()
