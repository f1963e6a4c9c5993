"""Whether a study should begin with a few pairs, as many as its model has to learn, whatever the budget.

Today (`problems/design.py`): every pair twice where that takes at most half of the budget, otherwise ten
pairs for each parameter of the model, twice each, and three for each name, as far as half of the budget goes.
The two rules against it begin with five, or three, pairs for each parameter, twice each, and three for each
name, for every budget. The rule that judges them, written before the first run:

- Problems: `FAMILIES`, 10 alternatives x 8 contexts, none of them in `experiments.peers`: smooth means, rough
  means, names on both sides, shared noise, noise that differs thirtyfold, and rates from 0/1. Each
  macro-replication has a truth of its own, the same for all rules, and the same noise.
- Budgets: 2 and 4 replications per pair. At 4 today's rule begins with every pair. A rule that passes is run
  with 12, too, by the same measures.
- 20 macro-replications of the default policy and model; alternatives share seeds, as they do by default.
- Loss: the mean over contexts of best minus selected at the end of the budget, in units of best minus median.
- A rule loses if its loss is larger than today's by more than two standard errors of the paired differences
  with any problem and budget.
- It must be better over all: the mean over problems and budgets of the relative difference
  (`experiments.beginning.difference`) below zero by more than two standard errors.
- Its claims must not be bolder (they are dear: those of the first 8 macro-replications): with all problems
  and budgets together, in every bin of claims from .8 up
  (.8 to .9, .9 to .95, .95 to 1), right minus claimed must not be lower than today's by more than two
  standard errors, of means over macro-replications.
- If both pass, five stays unless three is better than five over all by more than two standard errors.

`python -m experiments.start --out DIR --store` runs it and keeps the tables in `stored/start*.csv`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from argbest import streams
from argbest.cli.terminal import note, say, table
from argbest.core.arrays import Array, IntArray
from argbest.experiment import Contender, Experiment, loop
from argbest.options import MODEL, POLICY
from argbest.problems.base import Problem
from argbest.problems.design import EveryPair, MostlyOnce, SpaceFilling, for_model
from argbest.table_files import write_csv
from experiments import command_options
from experiments.beginning import difference, standard_error
from experiments.luck_problems import sharing, together
from experiments.ugly_parts import drawn, normal_noise, rewards

STORED = Path(__file__).parent / "stored"
SEED, MACROREPS, CLAIMED = 3_501, 20, 8
BUDGETS, LATER = (2.0, 4.0), 12.0  # replications per pair
RULES = {"today": None, "five": 5, "three": 3}  # pairs for each parameter
PER_NAME = 3
BINS = (0.8, 0.9, 0.95, 1.0)
CERTAIN = 2.0  # standard errors
SHAPE = (10, 8)


def _rough(instance: int, purpose: int) -> Array:
    generator = np.random.default_rng([instance, purpose])
    lifted = np.outer(generator.permutation(10) < 5, generator.permutation(8) < 4)
    return np.asarray(0.5 * drawn(instance, purpose, *SHAPE) + lifted + 0.4 * generator.normal(size=SHAPE))


def smooth(instance: int) -> Problem:
    """Smooth means of numbers, even noise."""
    return rewards(drawn(instance, 3_511, *SHAPE), 1.0, _normal, "smooth")


def rough(instance: int) -> Problem:
    """Means that jump between neighbours."""
    return rewards(_rough(instance, 3_512), 1.0, _normal, "rough")


def names(instance: int) -> Problem:
    """Names on both sides: levels of alternatives and contexts, and what each pair has of its own."""
    generator = np.random.default_rng([instance, 3_513])
    truth = generator.normal(size=(10, 1)) + generator.normal(size=8) + 0.5 * generator.normal(size=SHAPE)
    made = rewards(truth, 1.5, _normal, "names", names=[f"plan {k}" for k in range(10)])
    contexts = [f"site {c}" for c in range(8)]
    of_numbers: Any = made.simulate

    def simulate(alternative: str, context: str, seed: int) -> float:
        return float(of_numbers(alternative, made.contexts.item(contexts.index(context)), seed))

    every = [made.alternatives.item(k) for k in range(10)]
    return Problem(every, contexts, simulate, truth=truth, name="names")


def shared(instance: int) -> Problem:
    """Smooth means; four fifths of the noise are common to all alternatives of a context."""
    return together(drawn(instance, 3_514, *SHAPE), 2.0, sharing(0.8), "shared")


def uneven(instance: int) -> Problem:
    """Smooth means; standard deviations from .1 to 3, by alternative and context."""
    generator = np.random.default_rng([instance, 3_515])
    sd = 0.1 * 30.0 ** np.clip(
        0.5 * (generator.permutation(10) / 9)[:, None] + 0.5 * generator.permutation(8) / 7, 0, 1
    )
    return rewards(drawn(instance, 3_516, *SHAPE), sd, _normal, "uneven")


def rates(instance: int) -> Problem:
    """Chances from 2 to 60 in a hundred; a replication is 0 or 1."""
    means = drawn(instance, 3_517, *SHAPE)
    means = (means - means.min()) / np.ptp(means)
    truth = 0.02 * 30.0**means
    return rewards(truth, 0.0, lambda generator, mean, _: float(generator.random() < mean), "rates")


def _normal(generator: np.random.Generator, mean: float, sd: float) -> float:
    return mean + sd * normal_noise(generator)


@dataclass(frozen=True)
class Family:
    """Problems of a kind, by the seed of the macro-replication."""

    make: Callable[[int], Problem]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.make.__name__

    @property
    def description(self) -> str:
        """What it is, in a line."""
        return str(self.make.__doc__)

    def draw(self, seed: int) -> Problem:
        """Return the problem of a seed."""
        return self.make(int(seed))


FAMILIES = {each.__name__: Family(each) for each in (smooth, rough, names, shared, uneven, rates)}


def begins(rule: str, problem: Problem, told: int) -> EveryPair | SpaceFilling | MostlyOnce:
    """Return what a study that is told its budget begins with by a rule."""
    today, per_parameter = for_model(RULE.make()[1], problem, told), RULES[rule]
    if per_parameter is None or today.parameters is None:
        return today.chosen(problem)
    named = max(
        (len(axis) for axis in (problem.alternatives, problem.contexts) if not axis.metric), default=0
    )
    enough = max(per_parameter * today.parameters, PER_NAME * named)
    return SpaceFilling(min(enough, told // 4, problem.n_alternatives * problem.n_contexts))


RULE = Contender(POLICY, MODEL)


class AtTheEnd(Experiment):
    """An experiment that looks at the end alone."""

    @property
    def checkpoints(self) -> IntArray:
        """The number of replications of the end."""
        return np.array([self.replications])


def played(name: str, budget: float, rule: str, macroreps: int) -> pd.DataFrame:
    """Return a row per macro-replication and context: loss, whether it was right, what was claimed."""
    family = FAMILIES[name]
    first = family.draw(int(streams.roots(SEED, 0)))
    told = round(budget * first.n_alternatives * first.n_contexts)
    design = begins(rule, first, told)
    begun = len(design.pairs(first, np.random.default_rng(0)))
    rows = []
    for numbers in np.split(np.arange(macroreps), [min(CLAIMED, macroreps)]):
        experiment = AtTheEnd(
            family,
            POLICY,
            replications=told - begun,
            macroreps=macroreps,
            initial=design,
            seed=SEED,
            integrate=bool(len(numbers) and numbers[0] == 0),
        )
        if len(numbers):
            trace = loop.trace(experiment, experiment.contenders[0], numbers, lambda _: None)
            problems = experiment.problems(streams.roots(SEED, numbers).tolist())
            for r, problem, chosen, claim in zip(
                numbers.tolist(), problems, trace.selected[-1], trace.claim[-1], strict=True
            ):
                truth = problem.sign * np.asarray(problem.truth)
                best = truth.max(axis=0)
                stakes = float(np.mean(best - np.median(truth, axis=0)))
                lost = (best - truth[chosen, np.arange(truth.shape[1])]) / stakes
                rows += [
                    (name, budget, rule, r, c, begun, loss, loss <= 0.0, claim[c])
                    for c, loss in enumerate(lost.tolist())
                ]
    columns = ("problem", "budget", "rule", "macroreplication", "context")
    return pd.DataFrame(rows, columns=[*columns, "begun", "loss", "right", "claimed"])


def losses(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, budget and rule: its loss, and how much more than today's."""
    each = rows.groupby(["problem", "budget", "rule", "macroreplication"], sort=False)["loss"].mean()
    begun: Any = rows.groupby(["problem", "budget", "rule"], sort=False)["begun"].first().to_dict()
    cells: dict[Any, Array] = {
        key: own.to_numpy(float) for key, own in each.groupby(level=[0, 1, 2], sort=False)
    }
    found = []
    for (problem, budget, rule), mine in cells.items():
        today = cells[problem, budget, "today"]
        relative, relative_se = difference(today, mine)
        found.append(
            {
                "problem": problem,
                "budget": budget,
                "rule": rule,
                "begun": begun[problem, budget, rule],
                "runs": len(mine),
                "loss": mine.mean(),
                "loss_se": standard_error(mine),
                "more": (mine - today).mean(),
                "more_se": standard_error(mine - today),
                "relative": relative,
                "relative_se": relative_se,
            }
        )
    return pd.DataFrame(found)


def claims(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per rule and bin of claims: how many, claimed, right, right − claimed and its error."""
    found = []
    rows = rows[rows["claimed"].notna()]
    bins = pd.cut(rows["claimed"], [*BINS[:-1], 1.0 + 1e-9], right=False)
    grouped: Any = rows.assign(bin=bins).groupby(["rule", "bin"], sort=False, observed=True)
    for (rule, where), own in grouped:
        off = own["right"] - own["claimed"]
        runs = off.groupby([own["problem"], own["budget"], own["macroreplication"]])
        sums, size = runs.sum().to_numpy(float), runs.size().to_numpy(float)
        rest = sums - size * off.mean()  # of a ratio of sums over macro-replications
        found.append(
            {
                "rule": rule,
                "from": where.left,
                "claims": len(own),
                "claimed": own["claimed"].mean(),
                "right": own["right"].mean(),
                "off": off.mean(),
                "off_se": float(np.sqrt((rest**2).sum()) / size.sum()),
            }
        )
    return pd.DataFrame(found).sort_values(["rule", "from"], ignore_index=True)


def verdict(found: pd.DataFrame, told: pd.DataFrame) -> pd.DataFrame:
    """Return a row per rule against today's: where it is worse, how much better over all, whether bolder."""
    rows, today = [], told[told["rule"] == "today"].set_index("from")
    for rule, own in found[found["rule"] != "today"].groupby("rule", sort=False):
        worse = own[own["more"] > CERTAIN * own["more_se"]]
        score, error = own["relative"].mean(), np.sqrt((own["relative_se"] ** 2).sum()) / len(own)
        mine = told[told["rule"] == rule].set_index("from")
        down, spread = mine["off"] - today["off"], np.hypot(mine["off_se"], today["off_se"])
        bolder = down.index[down < -CERTAIN * spread]
        rows.append(
            {
                "rule": rule,
                "worse": " ".join(
                    f"{p}@{b:g}" for p, b in zip(worse["problem"], worse["budget"], strict=True)
                ),
                "score": score,
                "score_se": error,
                "bolder": " ".join(f"{each:g}" for each in bolder),
                "passes": not len(worse) and score < -CERTAIN * error and not len(bolder),
            }
        )
    return pd.DataFrame(rows)


@click.command("python -m experiments.start")
@command_options.out("start", "rows of all macro-replications")
@click.option("--budget", "budgets", multiple=True, type=float, help="Per pair. [default: 2, 4]")
@click.option("--rule", "rules", multiple=True, type=click.Choice(list(RULES)), help="[default: all]")
@click.option("--macroreps", default=MACROREPS, show_default=True)
@click.option("--store", is_flag=True, help="Keep the tables in experiments/stored.")
def main(out: Path, budgets: tuple[float, ...], rules: tuple[str, ...], macroreps: int, store: bool) -> None:
    """Test whether a study should begin with a few pairs whatever its budget."""
    out.mkdir(parents=True, exist_ok=True)
    parts = []
    for budget in budgets or BUDGETS:
        for name in FAMILIES:
            for rule in rules or tuple(RULES):
                kept = out / f"{name}-{budget:g}-{rule}-{macroreps}.csv"
                if not kept.exists():
                    write_csv(kept, played(name, budget, rule, macroreps))
                    note(kept.stem)
                parts.append(pd.read_csv(kept))
    rows = pd.concat(parts, ignore_index=True)
    found = losses(rows).round(6)
    told = claims(rows).round(6)
    judged = verdict(found, told).round(6)
    for ending, frame in (("", found), ("_claims", told), ("_verdict", judged)):
        table(tuple(frame.columns), [tuple(map(str, row)) for row in frame.itertuples(index=False)])
        if store:
            write_csv(STORED / f"start{ending}.csv", frame)
    say("today's rule stays" if not judged["passes"].any() else "a rule passes: run it with --budget 12, too")


if __name__ == "__main__":
    main()
