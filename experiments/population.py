"""Whether what a study claims for people never seen comes true: the rule, and the runs.

The rule, written before the runs that count:

- *Fresh people* ("fresh"): `barrett-prevention` with 200 people drawn by seed s and the default study of
  seed s with 400 replications, s = 0 … 9. The claim for each of 5,000 people that `check_population` draws is
  the P(right) of `PopulationCheck.table`; it comes true where the selected treatment has the largest exact
  value.
- *Runs that never repeat* ("normal", "skewed", "rate"): 250 runs of three alternatives at contexts of their
  own (`frame`), s = 0 … 9, by `Study.from_observations` with defaults. The claims are those of the
  certificate at the contexts of the runs.
- Bins of claims: below 0.5, to 0.8, to 0.95, and above. Standard errors are over the ten studies, each of
  which is one draw.
- Aim: in no bin with at least 100 claims in five studies or more is the share that came true below the mean
  claim by more than two standard errors and 0.02; nor is the mean over all claims.

"rate" missed the aim. The rule of the runs that look for the cause, written after "rate" was seen and before
these runs, with s = 1000 … 1023:

- "weak": normal rewards with the means and the variances of "rate". "doses": the runs of "rate", with the
  numbers 0, 1 and 2 for alternatives. "drawn": zeros and ones as in "rate", but the effects of every
  alternative are drawn anew in every study (`drawn_effects`).
- If zeros and ones were the cause, the claims of "weak" would hold and those of "drawn" would not. If the
  cause is that all studies have the same truth, in which B is hardly ever the best and always between A and
  C, it is the other way round, and "doses", which tell the model so, hold better than "rate".

`python -m experiments.population fresh --seeds 10` runs one of them and writes its bins to
`experiments/stored/population_fresh.csv`.
"""

import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import click
import numpy as np
import pandas as pd

from argbest import Study
from argbest.cli.terminal import say
from argbest.core.arrays import AnyArray, Array, BoolArray
from argbest.problems import prevention
from argbest.table_files import write_csv

STORED = Path(__file__).parent / "stored"
N_PEOPLE, BUDGET, N_FRESH = 200, 400, 5_000
N_RUNS = 250
EDGES = (0.0, 0.5, 0.8, 0.95, 1.01)
LAWS = ("normal", "skewed", "rate")
CAUSES = ("weak", "doses", "drawn")
FIRST_OF_CAUSES = 1000
ALTERNATIVES = ("A", "B", "C")
RATES = ("rate", "doses", "drawn")


def fresh(seed: int) -> tuple[Array, BoolArray]:
    """Return the claims for fresh people, and whether each came true."""
    problem = prevention.barrett_prevention(N_PEOPLE, seed)
    found = Study(problem, seed=seed).run(BUDGET).check_population(N_FRESH).table
    people = {name: found[f"context.{name}"].to_numpy(float) for name in problem.contexts.columns}
    mean, _ = prevention.value(people)
    best = np.array(prevention.TREATMENTS)[mean.argmax(axis=0)]
    return found["p_right"].to_numpy(float), np.asarray(found["selected"] == best)


def mean_reward(alternative: AnyArray, age: AnyArray, weight: AnyArray, smoker: AnyArray) -> Array:
    """Return the mean of a run: a trend in age, and an effect of the weight that differs by alternative."""
    return np.asarray(
        0.5 * np.sin(age / 12)
        + 0.35 * alternative * np.sin((weight - 22) / 8)
        - 0.2 * (alternative == 2) * smoker
        + 0.02 * alternative
    )


def drawn_effects(seed: int) -> Callable[[AnyArray, AnyArray, AnyArray, AnyArray], Array]:
    """Return a mean of a run with the trend of `mean_reward`, and effects of each alternative by itself."""
    size = np.random.default_rng([seed, 1]).normal(size=(len(ALTERNATIVES), 4))

    def mean(alternative: AnyArray, age: AnyArray, weight: AnyArray, smoker: AnyArray) -> Array:
        waves = np.sin((weight - 22) / 8), np.cos((weight - 22) / 8)
        along = 0.35 * (size[alternative, 0] * waves[0] + size[alternative, 1] * waves[1])
        return np.asarray(
            0.5 * np.sin(age / 12) + along - 0.2 * size[alternative, 2] * smoker + 0.1 * size[alternative, 3]
        )

    return mean


def frame(law: str, seed: int, n: int = N_RUNS) -> pd.DataFrame:
    """Return runs at contexts of their own: normal or exponential noise of sd 0.5, or successes of a rate."""
    numbers = np.random.default_rng(seed)
    age, weight, smoker = numbers.normal(60, 10, n), numbers.gamma(9, 3, n), numbers.random(n) < 0.3
    chosen = numbers.integers(0, len(ALTERNATIVES), n)
    mean = (drawn_effects(seed) if law == "drawn" else mean_reward)(chosen, age, weight, smoker)
    p = 1 / (1 + np.exp(-1.5 * mean))
    if law in RATES:
        value = (numbers.random(n) < p).astype(float)
    elif law == "weak":
        value = p + np.sqrt(p * (1 - p)) * numbers.normal(size=n)
    else:
        value = mean + (numbers.normal(0, 0.5, n) if law == "normal" else numbers.exponential(0.5, n) - 0.5)
    names = chosen if law == "doses" else np.array(ALTERNATIVES)[chosen]
    return pd.DataFrame({"drug": names, "age": age, "weight": weight, "smoker": smoker, "value": value})


def never_repeating(law: str, seed: int) -> tuple[Array, BoolArray]:
    """Return the claims at the contexts of the runs, and whether each came true."""
    study = Study.from_observations(
        frame(law, seed),
        alternative="drug",
        context=["age", "weight", "smoker"],
        rate=law in RATES,
        seed=seed,
    )
    people = [np.array(values, float) for values in study.problem.contexts.columns.values()]
    labels = study.problem.alternatives.labels
    places = [int(label) if law == "doses" else ALTERNATIVES.index(str(label)) for label in labels]
    mean = drawn_effects(seed) if law == "drawn" else mean_reward
    truth = np.stack([mean(np.array(place), *people) for place in places])
    certificate = study.certificate()
    return certificate.pcs, np.asarray(truth.argmax(axis=0) == certificate.choice)


def bins(claims: list[Array], right: list[BoolArray]) -> pd.DataFrame:
    """Return a row per bin of claims and one for all: claimed, right, standard error over studies."""
    rows = []
    for low, high in (*pairwise(EDGES), (EDGES[0], EDGES[-1])):
        inside = [(each >= low) & (each < high) for each in claims]
        counts = np.array([some.sum() for some in inside], float)
        excess = np.array(
            [np.sum(true[some] - each[some]) for each, true, some in zip(claims, right, inside, strict=True)]
        )
        n = counts.sum()
        if not n:
            continue
        claimed = sum(float(each[some].sum()) for each, some in zip(claims, inside, strict=True)) / n
        off = excess.sum() / n
        m = len(counts)  # of a ratio of sums over m studies
        error = np.sqrt(m / max(m - 1, 1) * np.sum((excess - off * counts) ** 2)) / n
        rows.append((low, min(high, 1.0), int(n), int((counts >= 100).sum()), claimed, claimed + off, error))
    names = ["low", "high", "claims", "studies_with_100", "claimed", "right", "se"]
    return pd.DataFrame(rows, columns=names)


@click.command()
@click.argument("what", type=click.Choice(["fresh", *LAWS, *CAUSES]))
@click.option("--seeds", default=10, help="Number of studies.")
def main(what: str, seeds: int) -> None:
    """Run one of the comparisons, and store its bins."""
    claims, right = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = FIRST_OF_CAUSES if what in CAUSES else 0
        for seed in range(first, first + seeds):
            claimed, true = fresh(seed) if what == "fresh" else never_repeating(what, seed)
            claims.append(claimed)
            right.append(true)
            say(f"seed {seed}: claimed {claimed.mean():.3f}, right {true.mean():.3f}")
    found = bins(claims, right)
    write_csv(STORED / f"population_{what}.csv", found.round(4))
    say(found.round(3).to_string(index=False))


if __name__ == "__main__":
    main()
