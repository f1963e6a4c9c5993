"""Whether the baseline of the most probable best is read as it was published: equal allocation and C-OCBA.

A small program that shares no code with argbest: it draws truth and noise as the publication describes them,
allocates by the two formulae and counts votes. 10,000 macro-replications take a minute, so the probability of
a false choice under a reading is known to half a percent.

What the readings differ in was searched with other seeds before: ties (counted as false, broken at random,
broken by the order of alternatives), noise (standard deviations or variances uniform), the number of
replications, and the variances that C-OCBA goes by: *learned*, as by argbest's policy, with divisor n − 1 or
with n; or *known*, those of the simulation.

The rule, written before the runs with this seed: a reading is theirs if all published figures lie within
three standard errors of it.

It found (`stored/most_probable_check.csv`): ties are false, standard deviations are uniform, every
macro-replication draws a new truth, and **C-OCBA of the publication knows the variances**. With variances
learned from 5 replications a pair that by luck shows too little noise is left alone too early.

What is stored is half of the macro-replications. `python -m experiments.most_probable_check --out DIR` runs
all, and goes on from what DIR holds.
"""

from itertools import product
from pathlib import Path

import click
import numba
import numpy as np
import pandas as pd

from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.problems.most_probable_best import MORE_NOISE, NOISE, WINS
from argbest.table_files import write_csv
from experiments.calibration import show
from experiments.most_probable_best import PUBLISHED

SEED, AT_ONCE = 4021, 500
BEST = np.repeat(np.arange(len(WINS)), WINS)
READINGS = (("equal", "none"), ("c-ocba", "known"), ("c-ocba", "learned"))  # policy, its variances
MATCHES = (
    ("most-probable-best", NOISE, (7_500, 12_500), 10_000),
    ("most-probable-noisy", MORE_NOISE, (7_500, 12_500, 97_500), 1_000),
)


@numba.njit(cache=False)
def _smallest_rate(mean: Array, var: Array, number: Array) -> tuple[float, int, int]:
    """Return the smallest rate of one context, whom C-OCBA would simulate there, and who leads.

    min over k of (m_b − m_k)² / (v_b/N_b + v_k/N_k); b if N_b²/v_b < Σ_{k≠b} N_k²/v_k, else that k.
    """
    b = int(np.argmin(mean))
    rate, challenger, rest = np.inf, b, 0.0
    for k in range(len(mean)):
        if k != b:
            own = (mean[b] - mean[k]) ** 2 / (var[b] / number[b] + var[k] / number[k])
            if own < rate:
                rate, challenger = own, k
            rest += number[k] ** 2 / var[k]
    return rate, (b if number[b] ** 2 / var[b] < rest else challenger), b


@numba.njit(cache=False)
def _false_choices(
    numbers: np.random.Generator, mean: Array, spread: Array, looks: IntArray, equal: bool, known: bool
) -> BoolArray:
    """Return whether the choice is false after so many replications, [look].

    Tables are [context, alternative]. The choice is the alternative with the smallest sample mean in most
    contexts; a tie is false.
    """
    n_contexts, n = mean.shape
    number, seen, squares = np.zeros((3, n_contexts, n))
    var, first = spread**2, 5 * n_contexts * n
    rate, chosen = np.empty(n_contexts), np.empty(n_contexts, np.int64)
    leader, false, look = np.empty(n_contexts, np.int64), np.empty(len(looks), np.bool_), 0
    for i in range(looks[-1]):
        if i < first or equal:  # one replication of every pair after the other
            c, k = (i // n) % n_contexts, i % n
        else:
            c = int(np.argmin(rate))
            k = chosen[c]
        y = mean[c, k] + spread[c, k] * numbers.standard_normal()
        number[c, k] += 1
        step = y - seen[c, k]
        seen[c, k] += step / number[c, k]
        squares[c, k] += step * (y - seen[c, k])
        if not known and number[c, k] > 1:
            var[c, k] = squares[c, k] / (number[c, k] - 1)
        if i >= first - n_contexts * n:  # every context is seen again before the first decision
            rate[c], chosen[c], leader[c] = _smallest_rate(seen[c], var[c], number[c])
        if i + 1 == looks[look]:
            votes = np.bincount(leader, minlength=n)
            false[look] = votes[0] < votes.max() or np.sum(votes == votes[0]) > 1
            look += 1
    return false


def tables(numbers: np.random.Generator, noise: tuple[float, float]) -> tuple[Array, Array]:
    """Return the means and the standard deviations of a macro-replication, [context, alternative] each."""
    n = len(WINS)
    mean = numbers.permuted(np.tile(np.arange(1.0, n + 1.0), (len(BEST), 1)), axis=1)
    rows = np.arange(len(BEST))
    mean[rows, mean.argmin(axis=1)], mean[rows, BEST] = mean[rows, BEST], 1.0  # 1 goes where it belongs
    return mean, numbers.uniform(*noise, size=mean.shape)


def play(problem: str, reading: tuple[str, str], numbers: IntArray) -> pd.DataFrame:
    """Return a row per look of some macro-replications: how many of their choices were false."""
    [(_, noise, looks, _)] = [match for match in MATCHES if match[0] == problem]
    policy, variances = reading
    false = []
    for each in numbers.tolist():
        source = np.random.default_rng([SEED, READINGS.index(reading), each])
        mean, spread = tables(source, noise)
        false.append(
            _false_choices(source, mean, spread, np.array(looks), policy == "equal", variances == "known")
        )
    return pd.DataFrame(
        {
            "problem": problem,
            "policy": policy,
            "variances": variances,
            "start": numbers[0],
            "replications": looks,
            "runs": len(numbers),
            "false": np.sum(false, axis=0),
        }
    )


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return P(false choice) per problem, reading and look beside the published figure."""
    key = ["problem", "policy", "variances", "replications"]
    found = rows.groupby(key, sort=False)[["runs", "false"]].sum().reset_index()
    found["p_false"] = found["false"] / found["runs"]
    found["se"] = np.sqrt(found["p_false"] * (1 - found["p_false"]) / found["runs"])
    names = zip(found["problem"], found["replications"], found["policy"], strict=True)
    found["published"] = [PUBLISHED.get(name, np.nan) for name in names]
    found["apart"] = (found["p_false"] - found["published"]) / found["se"]  # in standard errors
    return found.drop(columns="false")


@click.command("python -m experiments.most_probable_check")
@click.option("--share", default=1.0, show_default=True, help="Of the macro-replications.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the tables.")
def main(share: float, out: Path) -> None:
    """Run equal allocation and C-OCBA on the baseline, and set their numbers beside the published ones."""
    out.mkdir(parents=True, exist_ok=True)
    kept = out / "most_probable_check_runs.csv"
    parts = [pd.read_csv(kept)] if kept.exists() else []
    done = {
        (p, (a, v), s)
        for each in parts
        for p, a, v, s in zip(each["problem"], each["policy"], each["variances"], each["start"], strict=True)
    }
    for (problem, _, _, runs), reading in product(MATCHES, READINGS):
        for start in range(0, round(share * runs), AT_ONCE):
            if (problem, reading, start) not in done:
                parts.append(
                    play(problem, reading, np.arange(start, min(start + AT_ONCE, round(share * runs))))
                )
                write_csv(kept, pd.concat(parts, ignore_index=True))  # an interruption loses little
    show(summary(pd.concat(parts, ignore_index=True)), out / "most_probable_check.csv")


if __name__ == "__main__":
    main()
