"""Whether heavy tails and ties may leave a choice sure where enough replications are behind it.

Before, no context was called sure as soon as single rewards anywhere had heavier tails than
normal ones, or repeated values, unless the replications of its pairs alone said the same. Now a context is
doubted only where skewness, rare events or missed values could change its own answer
(`argbest.answers.doubts`). The rule by which that is judged, written before the first run:

- Problems: all of `ugly`, and all of `experiments.rare_limits` and `experiments.limits` within limits. None
  was written for this, and none was looked at for it. Seeds from 700 on, which have not been used before.
- Studies are live, with default settings; looks are at 3, 6 and 12 replications per pair on average.
- *Newly sure* are contexts that are sure now and were open by the former rule, on the same data.
- Pooled: of the newly sure choices at least 0.92 are right, two standard errors allowed, which are clustered
  by study; and so are at least 0.92 of all that are sure.
- No problem: with at least 20 newly sure choices of at least three studies, none has fewer than 0.85 right,
  two standard errors allowed.
- Where more problems than one fail, or pooled fails, the former rule stays.

- *Stops*, a rule that was written after these results and before the first run of its own (`--stops`):
  studies of all of `ugly` that stop themselves at `ExpectedPCS(0.95)` within 20 replications per pair. At
  least 0.92 of their choices are right pooled, and on no problem with three ended studies or more fewer
  than 0.85, two standard errors allowed both times; else stop rules go back to the former rule.

With four studies of each problem nothing failed but the stops of *breakdowns*: three of its studies ended
before a single breakdown had come, and 0.2 of their choices are right. The former rule ends the same three.
It ends 25 studies of 168 (0.871 right) where now 28 end (0.884), and the three others are right everywhere;
so going back would cure nothing, and stop rules stay as choices are. Own seeds had become the default
within limits before.

`python -m experiments.sure --out DIR --seeds 4` runs it. What was run is kept in DIR and not run again.
"""

import warnings
from pathlib import Path

import click
import numpy as np
import pandas as pd

from argbest import Problem, Study
from argbest.answers import doubts, model_check
from argbest.answers.discrepancies import FALSE_ALARM
from argbest.cli.terminal import echo
from argbest.core.states import LEVEL, NO_FEASIBLE, SURE
from argbest.errors import DataNotice
from argbest.table_files import write_csv
from experiments import limits, noise, rare_limits
from experiments.kept_runs import all_rows
from experiments.noise import EVERY, clustered

STORED = Path(__file__).parent / "stored"
PER_PAIR = (3, 6, 12)
FIRST_SEED = 700
POOLED, EACH = 0.92, 0.85
ENOUGH, STUDIES = 20, 3
WITHIN_LIMITS = {**limits.PROBLEMS, **rare_limits.PROBLEMS}
NAMES = (*EVERY, *WITHIN_LIMITS)


def made(name: str, seed: int) -> Problem:
    """Return a problem by name; where means are drawn the seed is the instance."""
    if name in EVERY:
        return EVERY[name](seed)
    return WITHIN_LIMITS[name]()


def watch(name: str, seed: int) -> pd.DataFrame:
    """Return a row per look and context: the claim, whether it is right, whether it is sure, and was."""
    problem, found = made(name, seed), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        study = Study(problem, seed=seed)
        for n in PER_PAIR:
            study.run(n * problem.n_alternatives * problem.n_contexts)
            found.append(look(study, name, seed, n))
    return pd.concat(found, ignore_index=True)


def look(study: Study, name: str, seed: int, n: int) -> pd.DataFrame:
    """Return a row per context of what a study claims now, and of what it would have called sure."""
    view, certificate = study.view(), study.certificate()
    against = doubts.of_study(view)
    odd = any(
        each.rewards.tails_p_value < FALSE_ALARM or each.rewards.tied for each in model_check.of_sums(view)
    )
    sure = study.selection()["state"].isin((SURE, NO_FEASIBLE)).to_numpy()
    return pd.DataFrame(
        {
            "problem": name,
            "seed": seed,
            "per_pair": n,
            "context": np.arange(study.problem.n_contexts),
            "claim": certificate.pcs,
            "right": study.problem.good(certificate.selected).astype(float),
            "sure": sure,
            "formerly": sure & ~(odd & (against.own < LEVEL)),
            "misfit": against.misfit,
            "few": against.few,
            "rare": against.rare,
        }
    )


def stop(name: str, seed: int) -> pd.DataFrame:
    """Return a row per context of a study that stops itself: whether it ended so, and is right."""
    rows = noise.run_job((name, noise.DEFAULT, seed, "stop"), Path())
    problem = EVERY[name](seed)
    most = noise.MOST * problem.n_alternatives * problem.n_contexts
    return rows.assign(ended=rows["replications"] < most)


def stopped(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, and of all: how many studies ended, and the share of their choices right."""
    found = []
    for name, group in [("all", rows), *rows.groupby("problem", sort=False)]:
        own = group[group["ended"]]
        study = own["problem"] + " " + own["seed"].astype(str)
        found.append(
            {
                "problem": name,
                "studies": len(group[["problem", "seed"]].drop_duplicates()),
                "ended": study.nunique(),
                "claimed": float(own["claim"].mean()),
                "right": float(own["right"].mean()),
                "right_se": clustered(own["right"], study),
            }
        )
    return pd.DataFrame(found)


def objections(found: pd.DataFrame) -> list[str]:
    """Return the problems, or all, of which too few choices are right where studies stopped themselves."""
    least = np.where(found["problem"] == "all", POOLED, EACH)
    judged = (found["problem"] == "all") | (found["ended"] >= STUDIES)
    return list(found["problem"][judged & (found["right"] + 2.0 * found["right_se"] < least)])


def shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, and of all, and of what is sure: how many, and the share that is right."""
    newly = rows["sure"] & ~rows["formerly"]
    found = []
    groups = [("all", rows), *rows.groupby("problem", sort=False)]
    for name, group in groups:
        for kind, chosen in {"formerly": group["formerly"], "now": group["sure"], "newly": newly}.items():
            own = group[chosen.reindex(group.index)]
            study = own["problem"] + " " + own["seed"].astype(str)
            found.append(
                {
                    "problem": name,
                    "sure": kind,
                    "contexts": len(own),
                    "of": len(group),
                    "studies": study.nunique(),
                    "claimed": float(own["claim"].mean()),
                    "right": float(own["right"].mean()),
                    "right_se": clustered(own["right"], study),
                }
            )
    return pd.DataFrame(found)


def failures(found: pd.DataFrame) -> list[str]:
    """Return what the rule objects to."""
    pooled = found[(found["problem"] == "all") & (found["sure"] != "formerly")]
    below = pooled[pooled["right"] + 2.0 * pooled["right_se"] < POOLED]
    each = found[(found["problem"] != "all") & (found["sure"] == "newly")]
    judged = each[(each["contexts"] >= ENOUGH) & (each["studies"] >= STUDIES)]
    worse = judged[judged["right"] + 2.0 * judged["right_se"] < EACH]
    return [f"all, {kind}" for kind in below["sure"]] + list(worse["problem"])


@click.command(help=__doc__)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where what was run is kept.")
@click.option("--seeds", default=4, show_default=True, help="Studies of every problem.")
@click.option("--problems", default=",".join(NAMES), help="Names with commas between them.")
@click.option("--jobs", default=1, show_default=True, help="Processes.")
@click.option("--stops", is_flag=True, help="Run studies that stop themselves instead.")
@click.option("--store", is_flag=True, help="Keep the table among the results.")
def main(out: Path, seeds: int, problems: str, jobs: int, stops: bool, store: bool) -> None:
    """Run the studies, and show what is sure and how much of it is right."""
    if stops:
        names = [name for name in problems.split(",") if name in EVERY]
        ran = [(name, seed) for seed in range(FIRST_SEED, FIRST_SEED + seeds) for name in names]
        ended = stopped(all_rows(stop, ran, out, jobs))
        if store:
            write_csv(STORED / "sure_stops.csv", ended.round(5))
        echo(ended.to_string(index=False))
        echo(f"fails: {', '.join(objections(ended)) or 'nothing'}")
        return
    wanted = [(name, seed) for seed in range(FIRST_SEED, FIRST_SEED + seeds) for name in problems.split(",")]
    rows = all_rows(watch, wanted, out, jobs)
    found = shares(rows)
    if store:
        write_csv(STORED / "sure.csv", found[found["contexts"] > 0].round(5))
    echo(found[found["contexts"] > 0].to_string(index=False))
    echo(f"fails: {', '.join(failures(found)) or 'nothing'}")


if __name__ == "__main__":
    main()
