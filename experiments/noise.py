"""Whether the noise model is honest and sharp where rewards are not normal: the rule, and what judges by it.

The rule, written before the first run:

- Problems: `ugly.PROBLEMS` while the noise model is built, `ugly.KEPT_BACK` once, at the end. At least 40
  seeds of each; the seed is also the instance where tables of means are drawn. Default settings throughout.
- Designs: every pair 2, 3, 5 and 10 times (fixed); the default policy after the default initial design, at 5
  and 10 replications per pair on average (adaptive); and until `ExpectedPCS(0.95)` ends it, for at most 20
  per pair (stop).
- *Loss* of a selection over the stakes: the mean over contexts of best minus median true mean. Equal
  allocation with averages is the alternative of the best sample mean in the fixed design of the same size and
  seed; ties are broken at random, so it has the mean loss of those tied.
- *Right*: nothing is truly better than the selected alternative.
- *Claims* are P(best) of the certificate, in bins from 0.8, 0.9, 0.95 and 0.99 up.
- *Sharpness*, so that a model that claims nothing cannot pass: mean claim, share of contexts that are sure,
  and replications until a study stops, against an oracle: the same model, told the true noise of every pair.
- Standard errors are clustered by seed, for contexts and designs of one seed are right or wrong together.

The aims, on the problems kept back:

- loss: on every problem, with every fixed and adaptive design, at most 1.2 times that of equal allocation
  plus 0.005;
- half: with the adaptive designs together at most half the loss of equal allocation, on at least half of the
  problems;
- claims: in every bin from 0.9 up the share right is at least the mean claim less 0.04, two standard errors
  allowed, over all problems and these designs together; each problem is shown;
- stops: in studies that end at 0.95 at least 0.92 of the contexts are right, over all problems together;
  each problem is shown;
- sharpness: where noise is normal (`ugly.FITTING`) at least 0.75 times as many contexts are sure as for the
  oracle, with every design, and the mean number of replications to stop is at most 1.25 times its; a study
  that does not end counts with the most;
- near normal: where noise is normal and equal (`ugly.NEAR_NORMAL`) the loss with every design is at most that
  of the oracle plus 0.005, two standard errors of the difference allowed.

The problems kept back have been looked at since. The same rule holds for `ugly.FRESH`, which were written
after that, by somebody who did not see what the library does on them; they are run once, at the end.

`python -m experiments.noise --out DIR --against-oracle` runs it, with `--kept-back` or `--fresh` on these
problems. What was run is kept in DIR and not run again.
"""

import multiprocessing
import warnings
from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import cast

import click
import numpy as np
import pandas as pd

from argbest import Problem, Study
from argbest.cli.terminal import echo, note
from argbest.core.arrays import Array
from argbest.core.states import SURE
from argbest.errors import DataNotice
from argbest.models import AdditiveGP
from argbest.problems.base import Simulate
from argbest.study.run_options import ExpectedPCS
from argbest.table_files import write_csv
from experiments.ugly import FITTING, FRESH, KEPT_BACK, NEAR_NORMAL, PROBLEMS

FIXED, ADAPTIVE = (2, 3, 5, 10), (5, 10)  # replications per pair
TARGET, MOST = 0.95, 20  # of studies that end themselves; the latter per pair
BINS = (0.8, 0.9, 0.95, 0.99)
TIMES, PLUS = 1.2, 0.005  # what a loss may be: so many times that of equal allocation, and so much more
BELOW, JUDGED_FROM = 0.04, 0.9  # how far a share may be below the claims of a bin, and the first bin judged
STOPPED_RIGHT, SHARPNESS = 0.92, 0.25
RUNS = 1_000  # simulations of a pair for a noise that has no formula
KINDS = (*(f"fixed{n}" for n in FIXED), "adaptive", "stop")
DESIGNS = (*(f"fixed{n}" for n in FIXED), *(f"adaptive{n}" for n in ADAPTIVE))  # that have an equal
DEFAULT, ORACLE = "default", "oracle"
EVERY = {**PROBLEMS, **KEPT_BACK, **FRESH}

Job = tuple[str, str, int, str]  # problem, model, seed, kind of design


# --- Running ----------------------------------------------------------------------------------------------


def stakes(problem: Problem) -> float:
    """Return the mean over contexts of best minus median true mean."""
    true = problem.sign * np.asarray(problem.truth)
    return float(np.mean(true.max(axis=0) - np.median(true, axis=0)))


def averages(study: Study) -> tuple[Array, Array]:
    """Return [context] the loss by sample means and whether they are right, both the mean of those tied."""
    problem, mean = study.problem, study.problem.sign * study.tally.mean
    tied = mean >= mean.max(axis=0) - 1e-12 * np.ptp(mean)
    every = np.arange(problem.n_alternatives)[:, None].repeat(problem.n_contexts, axis=1)
    values = problem.opportunity_cost(every), problem.good(every)
    loss, right = (np.sum(tied * each, axis=0) / tied.sum(axis=0) for each in values)
    return loss, right


def look(study: Study, name: str, model: str, seed: int, design: str) -> pd.DataFrame:
    """Return a row per context of what a study has found."""
    problem, found, all_at_stake = study.problem, study.certificate(), stakes(study.problem)
    rows = pd.DataFrame(
        {
            "problem": name,
            "model": model,
            "seed": seed,
            "design": design,
            "context": np.arange(problem.n_contexts),
            "loss": problem.opportunity_cost(found.selected) / all_at_stake,
            "right": problem.good(found.selected).astype(float),
            "claim": found.pcs,
            "expected_loss": found.expected_loss / all_at_stake,
            "state": study.selection()["state"].to_numpy(),
            "replications": study.n_replications,
            "equal_loss": np.nan,
            "equal_right": np.nan,
        }
    )
    if design.startswith("fixed"):
        loss, right = averages(study)
        rows["equal_loss"], rows["equal_right"] = loss / all_at_stake, right
    return rows


def true_noise(name: str, folder: Path) -> Array:
    """Return the standard deviations of the noise of a system, estimated once and kept in the folder."""
    file = folder / f"noise_sd_{name}.csv"
    if not file.exists():
        write_csv(file, pd.DataFrame(estimated_noise(EVERY[name](0), RUNS)))
    return np.asarray(pd.read_csv(file).to_numpy(), float)


def estimated_noise(problem: Problem, runs: int) -> Array:
    """Return the standard deviation of so many simulations of every pair."""
    simulate = cast(Simulate, problem.simulate)
    found = np.zeros(problem.shape)
    for k, c in product(*map(range, problem.shape)):
        pair = problem.alternatives.item(k), problem.contexts.item(c)
        found[k, c] = np.std([simulate(*pair, seed) for seed in range(runs)], ddof=1)
    return found


_kept_noise = cache(true_noise)


def told(problem: Problem, folder: Path) -> AdditiveGP:
    """Return the oracle, which knows the noise; none is less than 1/1,000 of the largest."""
    known = _kept_noise(problem.name, folder) if problem.noise_sd is None else problem.noise_sd
    return AdditiveGP(noise_sd=np.maximum(known, 1e-3 * known.max()))


def run_job(job: Job, folder: Path) -> pd.DataFrame:
    """Return the rows of one study."""
    name, model, seed, kind = job
    problem = EVERY[name](seed)
    pairs = problem.n_alternatives * problem.n_contexts
    belief = told(problem, folder) if model == ORACLE else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        if kind == "stop":
            study = Study(problem, seed=seed, model=belief).run(MOST * pairs, stop=ExpectedPCS(TARGET))
            return look(study, name, model, seed, kind)
        if kind == "adaptive":
            study = Study(problem, seed=seed, model=belief)
            looks = [look(study.run(n * pairs), name, model, seed, f"adaptive{n}") for n in ADAPTIVE]
            return pd.concat(looks, ignore_index=True)
        n = int(kind.removeprefix("fixed"))
        study = Study(problem, seed=seed, initial=n, model=belief).run(n * pairs)
        return look(study, name, model, seed, kind)


def run(folder: Path, jobs: Iterable[Job], processes: int) -> pd.DataFrame:
    """Return the rows of all jobs, kept in a file as they come; those that are in it are not run again."""
    kept, asked = folder / "runs.csv", list(jobs)
    parts = [pd.read_csv(kept)] if kept.exists() else []
    done = {job for part in parts for job in _jobs_in(part)}
    left = [job for job in asked if job not in done]
    unknown = {name for name, model, *_ in left if model == ORACLE}
    for name in sorted(unknown):
        if EVERY[name](0).noise_sd is None:
            true_noise(name, folder)  # before several processes ask for it
    for number, part in enumerate(_results(left, folder, processes), start=1):
        parts.append(part)
        if number % 100 == 0 or number == len(left):  # so that an interruption loses little
            parts = [pd.concat(parts, ignore_index=True)]
            write_csv(kept, parts[0])
            note(f"{number} of {len(left)} studies")
    rows = pd.concat(parts, ignore_index=True)
    wanted = set(asked)
    return rows[[job in wanted for job in _jobs_in(rows)]].reset_index(drop=True)


def _jobs_in(rows: pd.DataFrame) -> list[Job]:
    kinds = rows["design"].str.replace(r"adaptive\d+", "adaptive", regex=True)
    return list(zip(rows["problem"], rows["model"], rows["seed"], kinds, strict=True))


def _results(left: list[Job], folder: Path, processes: int) -> Iterator[pd.DataFrame]:
    if processes == 1:
        yield from (run_job(job, folder) for job in left)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(partial(run_job, folder=folder), left, chunksize=4)


# --- Judging ----------------------------------------------------------------------------------------------


def clustered(values: pd.Series, seed: pd.Series) -> float:
    """Return the standard error of a mean whose values belong together by seed; NaN if there is one seed."""
    about = (values - values.mean()).groupby(seed).sum(min_count=1)
    n = len(about)
    if n < 2 or about.isna().any():
        return float("nan")
    return float(np.sqrt(np.sum(about**2) * n / (n - 1)) / len(values))


def with_equal(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the loss of equal allocation: of the fixed design of the same size and seed."""
    where = ["problem", "seed", "context"]
    fixed = rows[rows["design"].str.startswith("fixed") & (rows["model"] == DEFAULT)]
    equal = fixed[[*where, "design", "equal_loss", "equal_right"]].rename(columns={"design": "like"})
    like = rows["design"].str.replace("adaptive", "fixed")
    bare = rows.drop(columns=["equal_loss", "equal_right"]).assign(like=like)
    return bare.merge(equal, how="left", on=[*where, "like"]).drop(columns="like")


def losses(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, design and model: loss beside equal allocation, right, claim, share sure."""
    groups = with_equal(rows).groupby(["problem", "design", "model"], sort=False)
    found = []
    for (name, design, model), group in groups:
        over = group["loss"] - TIMES * group["equal_loss"] - PLUS
        loss, equal = float(group["loss"].mean()), float(group["equal_loss"].mean())
        found.append(
            {
                "problem": name,
                "design": design,
                "model": model,
                "seeds": group["seed"].nunique(),
                "loss": loss,
                "loss_se": clustered(group["loss"], group["seed"]),
                "equal": equal,
                "ratio": loss / equal if equal > 0 else float("nan"),
                "over": float(over.mean()),
                "over_se": clustered(over, group["seed"]),
                "expected": float(group["expected_loss"].mean()),
                "right": float(group["right"].mean()),
                "equal_right": float(group["equal_right"].mean()),
                "claim": float(group["claim"].mean()),
                "sure": float((group["state"] == SURE).mean()),
                "replications": float(group["replications"].mean()),
                "holds": bool(over.mean() <= 0) if design in DESIGNS else None,
            }
        )
    return pd.DataFrame(found)


def bins(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model, problem or all of them, design or all of them, and bin: claimed, and right.

    Studies that ended themselves chose when to be asked: they have a table of their own.
    """
    asked = rows[rows["design"] != "stop"]
    found = []
    for model, own in asked.groupby("model", sort=False):
        groups = {("all", "all"): own}
        groups |= {("all", str(design)): group for design, group in own.groupby("design", sort=False)}
        groups |= {(str(name), "all"): group for name, group in own.groupby("problem", sort=False)}
        for (name, design), group in groups.items():
            for low, high in zip(BINS, (*BINS[1:], np.inf), strict=True):
                inside = group[(group["claim"] >= low) & (group["claim"] < high)]
                if len(inside):
                    place = {"problem": name, "design": design, "model": model, "from": low}
                    found.append({**place, **_bin(inside, low)})
    return pd.DataFrame(found)


def _bin(inside: pd.DataFrame, low: float) -> dict[str, object]:
    claimed, right = float(inside["claim"].mean()), float(inside["right"].mean())
    error = clustered(inside["right"] - inside["claim"], inside["seed"])
    judged = low >= JUDGED_FROM and np.isfinite(error)
    return {
        "contexts": len(inside),
        "seeds": inside["seed"].nunique(),
        "claimed": claimed,
        "right": right,
        "difference_se": error,
        "holds": bool(right >= claimed - BELOW - 2 * error) if judged else None,
    }


def stops(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, or all, and model: how many studies ended, how right those were, and when."""
    place = ["problem", "model", "seed"]
    per_study = rows[rows["design"] == "stop"].groupby(place, sort=False, as_index=False)
    studies = per_study.agg(claim=("claim", "mean"), right=("right", "mean"), spent=("replications", "first"))
    studies["ended"] = studies["claim"] >= TARGET - 1e-6  # files have few digits
    named = [(str(name), group) for name, group in studies.groupby("problem", sort=False)]
    found = []
    for (name, group), model in product([*named, ("all", studies)], studies["model"].unique()):
        own = group[group["model"] == model]
        ended = own[own["ended"]]
        right = float(ended["right"].mean())
        found.append(
            {
                "problem": name,
                "model": model,
                "studies": len(own),
                "ended": len(ended) / max(len(own), 1),
                "right": right,
                "right_se": clustered(ended["right"], ended["seed"]),
                "median": float(own["spent"].median()),
                "mean": float(own["spent"].mean()),
                "holds": bool(right >= STOPPED_RIGHT) if len(ended) else None,
            }
        )
    return pd.DataFrame(found)


def sharpness(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem and design of the oracle, too: claims, sure and replications of both."""
    place = ["problem", "design", "seed", "context"]
    own, theirs = (rows[rows["model"] == model] for model in (DEFAULT, ORACLE))
    both = own.merge(theirs, on=place, suffixes=("", "_oracle"))
    found = [
        {"problem": name, "design": design, **_sharp(group, stop=design == "stop")}
        for (name, design), group in both.groupby(["problem", "design"], sort=False)
    ]
    return pd.DataFrame(found)


def _sharp(group: pd.DataFrame, *, stop: bool) -> dict[str, object]:
    values = group.assign(sure=group["state"] == SURE, sure_oracle=group["state_oracle"] == SURE)
    names = [f"{each}{who}" for each in ("claim", "sure", "replications", "loss") for who in ("", "_oracle")]
    mean = {name: float(values[name].mean()) for name in names}
    error = clustered(group["loss"] - group["loss_oracle"], group["seed"])
    short = values["sure"] - (1 - SHARPNESS) * values["sure_oracle"]
    if stop:
        sharp = mean["replications"] <= (1 + SHARPNESS) * mean["replications_oracle"]
    else:
        sharp = mean["sure"] >= (1 - SHARPNESS) * mean["sure_oracle"]
    most = mean["loss_oracle"] + PLUS + 2 * np.nan_to_num(error)
    return {
        **mean,
        "sharp_se": clustered(short, group["seed"]),  # of the share sure less 0.75 times the oracle's
        "more_se": error,  # of the loss less the oracle's
        "sharp": bool(sharp),
        "loses_nothing": bool(mean["loss"] <= most),
    }


def halved(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem: its loss with the adaptive designs together, and that of equal allocation."""
    own = with_equal(rows)
    adaptive = own[own["design"].str.startswith("adaptive") & (own["model"] == DEFAULT)]
    found = adaptive.groupby("problem", sort=False, as_index=False)[["loss", "equal_loss"]].mean()
    return found.assign(holds=found["loss"] <= found["equal_loss"] / 2)


def verdicts(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per aim: how many of what was judged hold, which do not, and whether the aim is met."""
    own = rows[rows["model"] == DEFAULT]
    loss, claim, stop, half, sharp = losses(own), bins(own), stops(own), halved(own), sharpness(rows)
    pooled = (claim["problem"] == "all") & (claim["design"] == "all")
    each = (claim["problem"] != "all") & (claim["design"] == "all")
    found = [
        _verdict("loss", loss, ["problem", "design"]),
        _verdict("half", half, ["problem"], share=0.5),
        _verdict("claims", claim[pooled], ["from"]),
        _verdict("claims of each problem (shown)", claim[each], ["problem", "from"]),
        _verdict("stops", stop[stop["problem"] == "all"], ["problem"]),
        _verdict("stops of each problem (shown)", stop[stop["problem"] != "all"], ["problem"]),
    ]
    if len(sharp):
        fits = sharp[sharp["problem"].isin(FITTING)].assign(holds=lambda each: each["sharp"])
        near = sharp[sharp["problem"].isin(NEAR_NORMAL) & (sharp["design"] != "stop")]
        near = near.assign(holds=lambda each: each["loses_nothing"])
        found.append(_verdict("sharpness", fits, ["problem", "design"]))
        found.append(_verdict("near normal", near, ["problem", "design"]))
    return pd.DataFrame(found)


def _verdict(aim: str, lines: pd.DataFrame, place: list[str], share: float = 1.0) -> dict[str, object]:
    judged = lines[lines["holds"].notna()]
    holds = judged["holds"].astype(bool)
    missed = [" ".join(map(str, where)) for where in judged.loc[~holds, place].itertuples(index=False)]
    return {
        "aim": aim,
        "judged": len(judged),
        "hold": int(holds.sum()),
        "met": bool(holds.mean() >= share) if len(judged) else None,
        "missed": ", ".join(missed),
    }


# --- The command ------------------------------------------------------------------------------------------


def show(title: str, found: pd.DataFrame, path: Path) -> None:
    """Print a table, which is wide, and write it to a file."""
    write_csv(path, found)
    echo(f"\n{title}: {path}")
    for line in found.to_string(index=False, float_format="{:.3f}".format, na_rep="").splitlines():
        echo(line)


@click.command("python -m experiments.noise")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder that keeps the tables.")
@click.option("--problems", default="", help="Some of them, with commas between.  [default: all]")
@click.option("--kept-back", is_flag=True, help="The problems kept for the end, looked at by now.")
@click.option("--fresh", is_flag=True, help="The problems written after that, to be looked at once.")
@click.option("--seeds", type=click.IntRange(2), default=40, show_default=True)
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option("--against-oracle", is_flag=True, help="Run the model that is told the noise, too.")
def main(
    out: Path, problems: str, kept_back: bool, fresh: bool, seeds: int, jobs: int, against_oracle: bool
) -> None:
    """Run studies of problems that are not normal, print tables and verdicts, and write them."""
    known = {**(KEPT_BACK if kept_back else {}), **(FRESH if fresh else {})} or PROBLEMS
    names = problems.split(",") if problems else list(known)
    if wrong := [name for name in names if name not in known]:
        raise click.BadParameter(
            f"{', '.join(wrong)}; there are {', '.join(known)}.", param_hint="--problems"
        )
    out.mkdir(parents=True, exist_ok=True)
    models = (DEFAULT, ORACLE) if against_oracle else (DEFAULT,)
    # Seeds are the outer loop: what an interruption leaves is a smaller judgement of all problems.
    todo = [
        (name, model, seed, kind) for seed, model, name, kind in product(range(seeds), models, names, KINDS)
    ]
    rows = run(out, todo, jobs)
    tables = {"losses": losses, "bins": bins, "stops": stops, "sharpness": sharpness, "verdicts": verdicts}
    for title, summary in tables.items():
        found = summary(rows)
        if len(found):
            show(title, found, out / f"{title}.csv")


if __name__ == "__main__":
    main()
