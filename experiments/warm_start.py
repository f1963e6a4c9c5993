"""Whether prior runs help where they are right, and do no lasting harm where they mislead: rule and runs.

The rule, written before the runs that count:

- *Problems*: four that ship (`PROBLEMS`), and "rates", zeros and ones whose rates follow from the truth of
  `metric-draws`. Each is studied with seeds s = 100 … 100 + n − 1 and defaults, and looked at after 50, 100
  and 200 replications of its own.
- *Sources* (`SOURCES`): two runs of every pair, by seeds of their own, "same": by the same simulator;
  "shifted": plus three times the spread of the true means (a rate p becomes p + 0.2 (1 − p)); "scaled": times
  0.6 (a rate p becomes 0.6 p); "permuted": alternatives in random order, other in every study; "reversed":
  with the opposite sign (1 − p); "none": a cold start.
- *Loss*: best true mean less that of the selected alternative, averaged over the contexts by their weights,
  over the mean loss of the cold start at the first look on that problem, averaged over problems. Differences
  from the cold start are within seeds; standard errors are over seeds, each with its average over problems.
- *Claims*: P(best) of every context by the certificate after the last look, against whether the selected
  alternative is (one of) the truly best, in the bins of `experiments.population`; standard errors over seeds.
- *Aims*: (1) with "same", "shifted" and "scaled" the loss at the first look is below that of the
  cold start by more than two standard errors; (2) with "permuted" and "reversed" the loss at the last look is
  above it by at most two standard errors, or by 0.05; (3) in no bin with 100 claims or more, of any source,
  is the share that came true below the mean claim by more than two standard errors and 0.02, unless it is so
  for the cold start as well.

`python -m experiments.warm_start --seeds 20` runs it and writes `warm_start_losses.csv` and
`warm_start_bins.csv` to `experiments/stored`, after every seed.
"""

import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from scipy.stats import norm

from argbest import Problem, Study, registry
from argbest.cli.terminal import say
from argbest.core.arrays import Array, BoolArray
from argbest.table_files import write_csv
from experiments.population import bins

STORED = Path(__file__).parent / "stored"
PROBLEMS = ("trend-draws", "metric-draws", "queue-staffing", "newsvendor", "rates")
SOURCES = ("none", "same", "shifted", "scaled", "permuted", "reversed")
LOOKS = (50, 100, 200)
FIRST_SEED, OLD_RUNS = 100, 2


def rates() -> Problem:
    """Return zeros and ones whose rates are Φ of the standardised truth of `metric-draws`."""
    drawn = registry.problem("metric-draws")
    truth = np.asarray(drawn.truth)
    p = norm.cdf(0.8 * (truth - truth.mean()) / truth.std())

    def simulate(alternative: Any, context: Any, seed: int) -> float:
        pair = drawn.alternatives.index(alternative), drawn.contexts.index(context)
        return float(np.random.default_rng(seed).random() < p[pair])

    alternatives, contexts = (axis.frame() for axis in (drawn.alternatives, drawn.contexts))
    alternatives.columns = [name.removeprefix("alternative.") for name in alternatives.columns]
    contexts.columns = [name.removeprefix("context.") for name in contexts.columns]
    return Problem(alternatives, contexts, simulate, truth=p, rate=True, name="rates")


def old_runs(problem: Problem, source: str, seed: int) -> pd.DataFrame:
    """Return runs of an earlier source, a row each."""
    numbers = np.random.default_rng([seed, 1])
    k, c = (part.ravel().repeat(OLD_RUNS) for part in np.indices(problem.shape))
    order = numbers.permutation(problem.n_alternatives) if source == "permuted" else np.arange(len(k))
    seeds = numbers.integers(2**62, size=len(k)).tolist()
    simulate: Any = problem.simulate
    value = np.array(
        [
            simulate(problem.alternatives.item(int(order[i])), problem.contexts.item(j), own)
            for i, j, own in zip(k.tolist(), c.tolist(), seeds, strict=True)
        ]
    )
    value = changed(source, value, np.asarray(problem.truth), numbers, rate=bool(problem.rate))
    pairs = [problem.alternatives.frame(k), problem.contexts.frame(c)]
    return pd.concat(pairs, axis=1).assign(value=value)


def changed(source: str, value: Array, truth: Array, numbers: np.random.Generator, *, rate: bool) -> Array:
    """Return the values as another source would give them."""
    luck = numbers.random(len(value))
    if source == "shifted":
        return np.maximum(value, luck < 0.2) if rate else value + 3.0 * truth.std()
    if source == "scaled":
        return value * (luck < 0.6) if rate else 0.6 * value
    if source == "reversed":
        return 1.0 - value if rate else -value
    return value


def studied(name: str, source: str, seed: int) -> tuple[list[float], Array, BoolArray]:
    """Return the losses at the looks, and the claims of the last one with whether each came true."""
    problem = rates() if name == "rates" else registry.problem(name)
    runs = None if source == "none" else old_runs(problem, source, seed)
    study, truth = Study(problem, seed=seed, prior_runs=runs), problem.sign * np.asarray(problem.truth)
    best, every, losses = truth.max(axis=0), np.arange(problem.n_contexts), []
    for look in LOOKS:
        study.run(look)
        losses.append(float(problem.weights @ (best - truth[study.view().choice, every])))
    certificate = study.certificate()
    right = best - truth[certificate.choice, every] <= 1e-9 * np.ptp(truth)
    return losses, certificate.pcs, right


def table_of_losses(losses: Array) -> pd.DataFrame:
    """Return mean loss, difference from the cold start and its standard error by source and look.

    ``losses`` are [problem, source, seed, look].
    """
    unit = losses[:, :1, :, :1].mean(axis=2, keepdims=True)
    each = (losses / unit).mean(axis=0)  # [source, seed, look]
    off = each - each[:1]
    error = off.std(axis=1, ddof=1) / np.sqrt(off.shape[1])
    rows = [
        (source, look, each[i, :, j].mean(), off[i, :, j].mean(), error[i, j])
        for i, source in enumerate(SOURCES)
        for j, look in enumerate(LOOKS)
    ]
    return pd.DataFrame(rows, columns=["source", "replications", "loss", "difference", "se"])


@click.command()
@click.option("--seeds", default=20, help="Number of studies of every problem and source.")
def main(seeds: int) -> None:
    """Run all studies, and store the losses and the bins of claims."""
    losses = np.empty((len(PROBLEMS), len(SOURCES), seeds, len(LOOKS)))
    claims: dict[str, list[list[Array]]] = {source: [[] for _ in range(seeds)] for source in SOURCES}
    right: dict[str, list[list[BoolArray]]] = {source: [[] for _ in range(seeds)] for source in SOURCES}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in range(seeds):
            for p, name in enumerate(PROBLEMS):
                for s, source in enumerate(SOURCES):
                    losses[p, s, run], claimed, true = studied(name, source, FIRST_SEED + run)
                    claims[source][run].append(claimed)
                    right[source][run].append(true)
            say(f"seed {FIRST_SEED + run}: {np.round(losses[:, :, run, 0].mean(axis=0), 3).tolist()}")
            if run:
                store(losses[:, :, : run + 1], claims, right)


def store(
    losses: Array, claims: dict[str, list[list[Array]]], right: dict[str, list[list[BoolArray]]]
) -> None:
    """Write the tables of the seeds that are done."""
    found, done = table_of_losses(losses), losses.shape[2]
    write_csv(STORED / "warm_start_losses.csv", found.round(4))
    tables = []
    for source in SOURCES:
        said = [np.concatenate(each) for each in claims[source][:done]]
        true = [np.concatenate(each) for each in right[source][:done]]
        tables.append(bins(said, true).assign(source=source).drop(columns="studies_with_100"))
    by_source = pd.concat(tables, ignore_index=True)
    write_csv(STORED / "warm_start_bins.csv", by_source.round(4))
    say(found.round(3).to_string(index=False))
    say(by_source.round(3).to_string(index=False))


if __name__ == "__main__":
    main()
