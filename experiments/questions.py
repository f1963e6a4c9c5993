"""Every question to the same table: what its own policy is worth, and whether its claims come true.

The rule, written before the first run:

- Problems: `PROBLEMS`, four that ship with an exact truth; of the families a new draw in every
  macro-replication. 100 macro-replications, the problem's initial design (every pair twice), then
  `REPLICATIONS`, common random numbers, the default model; one look at the end. Macro-replication r of all
  contenders has the same seed.
- Contenders: `equal` allocation; `best`, which is dvr-loss deciding for the best of every context whatever is
  asked (the policy there was before there were questions); `own`, which is dvr-loss deciding for the
  question. For `best` and `most-probable-best` these two are the same.
- Losses: of what the belief of every study chooses at the end, as `argbest compare` scores it, and whether
  that is right, by the truth.
- Claims: of the answer of `Study.answer`, the choice of the certificate over the mixture, with its expected
  loss and P(right), for the first `CLAIMED` macro-replications of `own`.
- A question's own policy holds if its loss, summed over the problems, is below that of `equal` and, unless
  they are the same, of `best`. A problem on which it loses more than another by two standard errors of the
  paired difference is shown.
- Claims hold if in every bin with 50 parts or more the share that is right is at least the mean claim less
  0.02 and two standard errors, clustered by macro-replication; and if the mean loss of a bin of claimed
  losses is at most 1.1 times the mean claim, two standard errors allowed. Losses are counted in
  units of the mean loss of wrong choices of the problem.

`REPLICATIONS` was cut from 200 to 100 before the first run, after four macro-replications of newsvendor that
were to show the time it takes: four questions were all but decided there. Losses were to be those of the
certificates, too, and claims those of all 100; that was changed for time before any result was looked at.
The sum over problems was a geometric mean of relative losses until it showed that several losses are 0.

Claims were stopped for time at 50 macro-replications of queue-staffing, 25 of rule there, and 25 of the
others; of metric-draws some questions are missing. No bin with 50 parts or more fails, but the questions with
one part have one or two such bins each.

`regret` on queue-staffing, worse than equal allocation by 2.5 standard errors, was run again with fresh seeds
before anything was changed: `questions queue-staffing --question regret --claimed 0`, with `--seed 778` (100
macro-replications, 100 replications) and `--seed 780 --macroreps 50 --replications 400`. The defeat did not
come again, so nothing was changed; `stored/questions_regret.csv` has both.

What it found is in `stored/questions_losses.csv`, `questions_standing.csv` and `questions_bins.csv`.
`python -m experiments.questions --out DIR` runs it again.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import click
import numpy as np
import pandas as pd

from argbest import streams
from argbest.core.arrays import IntArray
from argbest.core.belief import Belief
from argbest.core.certificate import Certificate
from argbest.core.decision import Decision
from argbest.core.question import BEST
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.engine import step
from argbest.experiment import Contender, Experiment, loop
from argbest.models.base import entries
from argbest.policies import DVRLoss
from argbest.policies.base import Draws
from argbest.table_files import write_csv
from experiments import tailoring
from experiments.calibration import show

SEED, MACROREPS, REPLICATIONS, CLAIMED, DRAWS = 2033, 100, 100, 50, 512
PROBLEMS = ("queue-staffing", "newsvendor", "branin", "metric-draws")
QUESTIONS = ("best", "overall", "worst-case", "regret", "top:m=3", "most-probable-best", "rule:depth=2")
DECIDED_AS_BEST = ("best", "most-probable-best")
RIGHT_BINS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 1.01)
LOSS_BINS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, np.inf)  # in units of the mean loss of wrong choices
KEY = ["problem", "macroreplication", "question", "contender"]


@dataclass(frozen=True)
class ForBest:
    """dvr-loss deciding for the best of every context, whatever is asked."""

    takes_questions: ClassVar[bool] = True
    weighs_cost: ClassVar[bool] = True

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        """Return n decisions for the best of every context."""
        return DVRLoss().propose(belief, tally, pending, replace(setting, question=BEST), draws, n)


@dataclass(frozen=True)
class Budget:
    """Whose random numbers are used, and how many replications follow the initial design."""

    seed: int = SEED
    replications: int = REPLICATIONS


def played(
    name: str, contender: str, deciding: str, numbers: IntArray, budget: Budget = Budget()
) -> tuple[Experiment, loop.Trace, Any]:
    """Return the experiment, the trace and the model of some macro-replications of a contender.

    ``deciding`` is the question that the policy decides for.
    """
    policy = "equal" if contender == "equal" else ForBest() if contender == "best" else "dvr-loss"
    experiment = Experiment(
        name,
        [Contender(policy, "additive-gp", label=contender)],
        replications=budget.replications,
        macroreps=int(numbers[-1]) + 1,
        seed=budget.seed,
        checkpoint_every=budget.replications,
        question=deciding,
    )
    [player] = experiment.contenders
    return experiment, loop.trace(experiment, player, numbers, lambda _: None), player.make()[1]


def choices(
    name: str,
    contender: str,
    deciding: str,
    asked: tuple[str, ...],
    numbers: IntArray,
    budget: Budget = Budget(),
) -> pd.DataFrame:
    """Return a row per macro-replication and question: what the choice of the belief loses in truth.

    ``asked`` are the questions put to the data; losses are in units of the mean loss of wrong choices.
    """
    experiment, trace, model = played(name, contender, deciding, numbers, budget)
    problems = experiment.problems(streams.roots(budget.seed, numbers).tolist())
    learned = step.learn(model, problems[0].setting, (trace.tally,))
    rows = []
    for question in asked:
        bound = problems[0].put(question)
        weights = bound.parts(problems[0].weights)
        for number, problem, choice in zip(numbers.tolist(), problems, learned.choice(bound), strict=True):
            unit = np.mean(bound.wrong_losses(problem.sign * np.asarray(problem.truth)))
            lost = float(problem.opportunity_cost(choice, bound) @ weights / unit)
            right = float(problem.correct(choice, bound) @ weights)
            rows.append((name, number, question, contender, lost, right))
    return pd.DataFrame(rows, columns=[*KEY, "loss", "right"])


def claims(
    name: str,
    contender: str,
    deciding: str,
    asked: tuple[str, ...],
    numbers: IntArray,
    budget: Budget = Budget(),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a row per macro-replication, question and part: what was claimed, and what was true.

    The second frame has what the same data say of the value of tailoring (`experiments.tailoring`).
    """
    experiment, trace, model = played(name, contender, deciding, numbers, budget)
    roots = streams.roots(budget.seed, numbers).tolist()
    problems = experiment.problems(roots)
    setting = problems[0].setting
    params = model.fit(trace.tally, setting)
    rows, tailored = [], []
    for r, (root, problem) in enumerate(zip(roots, problems, strict=True)):
        known = trace.tally[r], setting, entries(params, r)
        belief, mixture = model.posterior(*known), tailoring.averaged(model, *known, root)
        normals = streams.generator(root, streams.Purpose.CERTIFICATE).standard_normal(
            (DRAWS, *problem.shape)
        )
        truth, named = problem.sign * np.asarray(problem.truth), {"problem": name, "contender": contender}
        said = tailoring.interval(problem, mixture.draw(normals))
        tailored.append({**named, "deciding": deciding, "macroreplication": int(numbers[r]), **said})
        for question in asked:
            bound = problem.put(question)
            claim = Certificate(belief, problem.weights, normals, mixture=mixture, question=bound)
            lost = problem.opportunity_cost(claim.choice, bound)
            rows.append(
                pd.DataFrame(
                    {
                        **dict(zip(KEY, (name, int(numbers[r]), question, contender), strict=True)),
                        "weight": bound.parts(problem.weights),
                        "unit": float(np.mean(bound.wrong_losses(truth))),
                        "loss": lost,
                        "claimed_loss": claim.expected_loss,
                        "right": problem.correct(claim.choice, bound).astype(float),
                        "claimed_right": claim.pcs,
                    }
                )
            )
    return pd.concat(rows, ignore_index=True), pd.DataFrame(tailored)


def losses(each: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, question and contender, with its loss over that of its rivals.

    ``apart_best`` and ``apart_equal`` are the paired differences to them, in their standard errors.
    """
    found = []
    for (problem, question), group in each.groupby(["problem", "question"], sort=False):
        wide = group.pivot_table(index="macroreplication", columns="contender", values="loss")
        for contender, own in group.groupby("contender", sort=False):
            line = {"problem": problem, "question": question, "contender": contender, "runs": len(own)}
            for name in ("loss", "right"):
                line |= {name: own[name].mean(), f"{name}_se": own[name].sem()}
            for rival in ("best", "equal"):
                apart, usual = wide[contender] - wide[rival], float(wide[rival].mean())
                error = apart.to_numpy(float).std(ddof=1) / np.sqrt(len(apart))
                line[f"over_{rival}"] = float(wide[contender].mean()) / usual if usual > 0 else np.nan
                line[f"apart_{rival}"] = float(apart.mean() / error) if error > 0 else 0.0
            found.append(line)
    return pd.DataFrame(found)


def standing(found: pd.DataFrame) -> pd.DataFrame:
    """Return a row per question: the loss of its own policy over that of others, summed over the problems."""
    rows = []
    for question, group in found.groupby("question", sort=False):
        own = group[group["contender"] == "own"]
        if not len(own):
            continue
        line: dict[str, Any] = {"question": question, "problems": len(own)}
        played = group[group["problem"].isin(own["problem"])]
        for rival in ("best", "equal"):
            others = played.loc[played["contender"] == rival, "loss"].sum()
            line[f"over_{rival}"] = float(own["loss"].sum() / others) if others > 0 else np.nan
            line[f"worse_than_{rival}"] = " ".join(own.loc[own[f"apart_{rival}"] > 2, "problem"])
        same = question in DECIDED_AS_BEST
        line["holds"] = bool((same or line["over_best"] < 1) and line["over_equal"] < 1)
        rows.append(line)
    return pd.DataFrame(rows)


def bins(rows: pd.DataFrame) -> pd.DataFrame:
    """Return claims against what came true, in bins; over all problems."""
    own = rows.assign(
        loss=lambda each: each["loss"] / each["unit"],
        claimed_loss=lambda each: each["claimed_loss"] / each["unit"],
    )
    found = []
    for question, group in own.groupby("question", sort=False):
        for what, edges in (("right", RIGHT_BINS), ("loss", LOSS_BINS)):
            for low, high in pairwise(edges):
                inside = group[(group[f"claimed_{what}"] >= low) & (group[f"claimed_{what}"] < high)]
                if len(inside):
                    found.append(_bin(str(question), what, low, inside))
    return pd.DataFrame(found)


def _bin(question: str, what: str, low: float, inside: pd.DataFrame) -> dict[str, Any]:
    cluster = [inside["problem"], inside["macroreplication"]]
    claimed, true = float(inside[f"claimed_{what}"].mean()), float(inside[what].mean())
    excess = (inside[what] - inside[f"claimed_{what}"]).groupby(cluster).sum()
    n = len(excess)
    error = float(np.sqrt(np.sum((excess - excess.mean()) ** 2) * n / max(n - 1, 1)) / len(inside))
    fine = true >= claimed - 0.02 - 2 * error if what == "right" else true <= 1.1 * claimed + 2 * error
    return {
        "question": question,
        "claim": what,
        "from": low,
        "parts": len(inside),
        "claimed": claimed,
        "true": true,
        "difference_se": error,
        "holds": "" if len(inside) < 50 else str(bool(fine)),
    }


def plan(questions: tuple[str, ...] = QUESTIONS) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the contenders: their names, what they decide for, and what is asked of their data."""
    rest = tuple(each for each in questions if each not in DECIDED_AS_BEST)
    return [
        ("equal", "best", questions),
        ("best", "best", questions),
        *(("own", each, (each,)) for each in rest),
    ]


def with_own(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with those of `best` as `own`, too, of the questions for which it decides so."""
    same = rows[(rows["contender"] == "best") & rows["question"].isin(DECIDED_AS_BEST)]
    return pd.concat([rows, same.assign(contender="own")], ignore_index=True)


class Kept:
    """A frame that grows, kept in a file so that an interruption loses little."""

    def __init__(self, path: Path, key: list[str]) -> None:
        self.path, self.key = path, key
        self.rows = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=key)

    def has(self, *values: object) -> bool:
        """Return whether there is a row with these values of the key."""
        return bool(np.all([self.rows[n] == v for n, v in zip(self.key, values, strict=True)], axis=0).any())

    def add(self, more: pd.DataFrame) -> None:
        """Add rows, and write the file."""
        self.rows = pd.concat([self.rows, more], ignore_index=True) if len(self.rows) else more
        write_csv(self.path, self.rows)


@click.command("python -m experiments.questions")
@click.argument("problems", nargs=-1)
@click.option("--question", "questions", multiple=True, help="Of these alone.", default=QUESTIONS)
@click.option("--macroreps", type=click.IntRange(2), default=MACROREPS, show_default=True)
@click.option("--replications", type=click.IntRange(1), default=REPLICATIONS, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=SEED, show_default=True)
@click.option("--claimed", type=click.IntRange(0), default=CLAIMED, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the tables.")
def main(
    problems: tuple[str, ...],
    questions: tuple[str, ...],
    macroreps: int,
    replications: int,
    seed: int,
    claimed: int,
    out: Path,
) -> None:
    """Ask every question of the data of three policies, and print losses and claims."""
    out.mkdir(parents=True, exist_ok=True)
    chosen, said = Kept(out / "questions_runs.csv", KEY), Kept(out / "questions_parts.csv", KEY)
    tailored = Kept(out / "tailoring_runs.csv", ["problem", "macroreplication", "contender", "deciding"])
    names, budget, contenders = problems or PROBLEMS, Budget(seed, replications), plan(questions)
    for contender, deciding, asked in contenders:  # the dearest question last
        for name in names:
            if not chosen.has(name, 0, asked[0], contender):
                chosen.add(choices(name, contender, deciding, asked, np.arange(macroreps), budget))
    scored = losses(with_own(chosen.rows))
    show(scored, out / "questions_losses.csv")
    show(standing(scored), out / "questions_standing.csv")
    for start in range(0, claimed, 25):
        for name in names:
            for contender, deciding, asked in contenders[1:]:
                own = tuple(each for each in asked if (each in DECIDED_AS_BEST) == (contender == "best"))
                if own and not said.has(name, start, own[0], contender):
                    numbers = np.arange(start, min(start + 25, claimed))
                    found, of_tailoring = claims(name, contender, deciding, own, numbers, budget)
                    said.add(found)
                    tailored.add(of_tailoring)
    if len(said.rows):
        rows = with_own(said.rows)
        show(bins(rows[rows["contender"] == "own"]), out / "questions_bins.csv")


if __name__ == "__main__":
    main()
