"""What common random numbers are worth, and whether claims stay true with them: rule, runs and tables.

The rule, written before the first run:

- Problems are draws from the model: alternatives that are names, contexts on a line, a Matérn-5/2 trend of
  variance 1, offsets of variance 0.25 and deviations of variance 0.5, lengthscale 0.5, noise of standard
  deviation 1 that alternatives of equal seed share to the extent `CORRELATIONS` says. Six contexts; six
  alternatives, four where the correlation is negative (no more could go against each other so much).
- The default policy and model, three replications of every pair to begin with.
- Claims, those of `Study.certificate`: over `MACROREPS` macro-replications, 0 and 100 replications after the
  initial design, the mean claim is within 0.03 of the share selected right; and of single contexts, both
  pooled, in every bin of claims from 0.8 up the share is at least the mean claim less 0.02, two standard
  errors (by macro-replication) allowed.
- Worth: the replications in all, the initial design included, until the share selected right reaches 0.95,
  over half as many macro-replications; with a correlation of 0.8 at least 60 % fewer than the same problems
  take without common random numbers.

Run three times; what was changed, and what each run found:

1. 200 macro-replications throughout, claims with hyper-parameters taken for known, at 0, 100 and 300
   replications. These claims broke the rule: up to 0.04 too high at correlations from 0 up, 0.05 at -0.3,
   and 0.03 without common random numbers. Worth: 0.95 after 368 replications; without, not within 1,308.
2. Claims are the study's own, which average over hyper-parameters, at two looks, for time. They keep the
   rule. Worth over 100 macro-replications: 0.95 was reached neither within 408 nor, without, within 1,008.
3. Worth alone, up to 600 and 2,400 replications: 488 against 2,308.

The stored claims are those of the second run, the worth and the curve behind it those of the third. The first
crossing of 0.95 is poorly determined: without common random numbers the curve is flat there, from 0.935 to
0.950 between 1,300 and 2,300 replications, with a standard error of 0.01. Means over 50 of them reach 0.90,
0.92, 0.94 and 0.95 after 248, 338, 418 and 498 replications, and without after 628, 828, 1,248 and 2,428.
"""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import click
import numpy as np
import pandas as pd

from argbest.cli.terminal import say, table
from argbest.core.priors import covariance
from argbest.experiment import Experiment, run
from argbest.experiment.measures import unpacked
from argbest.options import POLICY
from argbest.problems.axis import Axis
from argbest.problems.noisy_table import RandomProblem
from argbest.table_files import write_csv

CORRELATIONS = (0.0, 0.5, 0.8, -0.3)
MACROREPS, SEED = 200, 2026
LOOKS = (0, 100)
REPLICATIONS, WITHOUT, EVERY = 600, 2_400, 10  # of the worth: with common random numbers, and without
TARGET = 0.95
EDGES = (0.8, 0.9, 0.95, 0.99, 1.0)


def family(correlation: float) -> RandomProblem:
    """Return draws from the model whose alternatives share noise to this extent."""
    n = 4 if correlation < 0 else 6
    alternatives = Axis.of("alternative", [chr(ord("A") + i) for i in range(n)])
    contexts = Axis.of("context", [{"x": x} for x in np.linspace(0.0, 1.0, 6)])
    separation = contexts.separation(contexts.bounds())
    near = covariance("matern52", separation, np.array([0.5]), np.array(1.0))
    root = np.asarray(np.linalg.cholesky(near), np.float64)
    flat = np.ones((6, 1))
    terms = (
        (np.ones((n, 1)), root),
        (np.eye(n), np.sqrt(0.25) * flat),
        (np.eye(n), np.sqrt(0.5) * root),
    )
    about = "Draws from the additive model, with noise of standard deviation 1"
    made = RandomProblem("common-draws", about, alternatives, contexts, contexts.bounds(), terms, 1.0)
    return replace(made, correlation=correlation)


def claims(correlation: float, *, macroreps: int) -> pd.DataFrame:
    """Return a row per macro-replication and look, with the certificate's claims."""
    return _play(correlation, common=True, macroreps=macroreps, replications=max(LOOKS), every=max(LOOKS))


def course(correlation: float, *, common: bool, macroreps: int) -> pd.DataFrame:
    """Return a row per macro-replication and checkpoint, for the share selected right alone."""
    replications = REPLICATIONS if common else WITHOUT
    return _play(correlation, common=common, macroreps=macroreps, replications=replications, every=EVERY)


def _play(correlation: float, *, common: bool, macroreps: int, replications: int, every: int) -> pd.DataFrame:
    experiment = Experiment(
        family(correlation),
        [POLICY],
        replications=replications,
        macroreps=macroreps,
        initial=3,
        seed=SEED,
        checkpoint_every=every,
        certify=True,
        integrate=every != EVERY,
        common_random_numbers=common,
    )
    runs = run(experiment).runs
    return runs.assign(correlation=correlation, common=common)


def levels(runs: pd.DataFrame) -> pd.DataFrame:
    """Return mean claim and share selected right at every look, per setting."""
    grouped = runs.groupby(["correlation", "common", "replications"], sort=False)
    found = grouped.agg(
        claim=("claim", "mean"), right=("share_correct", "mean"), right_se=("share_correct", "sem")
    )
    return found.reset_index()


def bins(runs: pd.DataFrame) -> pd.DataFrame:
    """Return claims of single contexts against what came true, per setting and bin of claims."""
    rows = []
    for (rho, common), own in runs.groupby(["correlation", "common"], sort=False):
        claim = unpacked(own["claims"])
        right = np.array([[int(digit) for digit in text] for text in own["correct"]])
        run_of = np.broadcast_to(own["macroreplication"].to_numpy()[:, None], claim.shape)
        for low, high in pairwise(EDGES):
            inside = (claim >= low) & ((claim < high) | (high == 1.0))
            if inside.any():
                surplus = pd.Series((right - claim)[inside]).groupby(run_of[inside]).sum()
                error = float(np.sqrt(np.sum((surplus - surplus.mean()) ** 2)) / inside.sum())
                rows.append(
                    (rho, common, low, int(inside.sum()), claim[inside].mean(), right[inside].mean(), error)
                )
    return pd.DataFrame(rows, columns=["correlation", "common", "from", "n", "claim", "right", "right_se"])


def worth(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the replications in all until the share selected right reaches the target, per setting."""
    mean = runs.groupby(["correlation", "common", "replications"], sort=False)[
        ["share_correct", "n_initial"]
    ].mean()
    rows = []
    for (rho, common), own in mean.groupby(level=[0, 1], sort=False):
        there = own[own["share_correct"] >= TARGET]
        taken = np.nan if there.empty else there.index[0][2] + there["n_initial"].iloc[0]
        rows.append((rho, common, own["share_correct"].iloc[-1], taken))
    return pd.DataFrame(rows, columns=["correlation", "common", "right_in_the_end", "replications"])


@click.command("python -m experiments.common_numbers")
@click.option("--macroreps", type=click.IntRange(2), default=MACROREPS, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=Path("common_numbers"), show_default=True)
def main(macroreps: int, out: Path) -> None:
    """Measure what common random numbers are worth, and whether claims stay true."""
    out.mkdir(parents=True, exist_ok=True)
    courses = [course(0.8, common=common, macroreps=macroreps // 2) for common in (True, False)]
    both = pd.concat(courses, ignore_index=True)
    curve = both.groupby(["common", "replications"])["share_correct"].mean().reset_index()
    write_csv(out / "curve.csv", curve)
    _tell({"worth": worth(both)}, out)
    claimed = pd.concat([claims(rho, macroreps=macroreps) for rho in CORRELATIONS], ignore_index=True)
    _tell({"levels": levels(claimed), "bins": bins(claimed)}, out)


def _tell(frames: dict[str, pd.DataFrame], out: Path) -> None:
    for name, frame in frames.items():
        write_csv(out / f"{name}.csv", frame)
        say(name)
        table(tuple(frame.columns), [tuple(_shown(x) for x in row) for row in frame.itertuples(index=False)])


def _shown(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
