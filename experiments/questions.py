"""Every question to the same table: what its own policy is worth, and whether its claims come true.

The rule, written before the first run:

- Problems: `PROBLEMS`, four that ship with an exact truth; of the families a new draw in every
  macro-replication. 100 macro-replications, the problem's initial design (every pair twice), then `REPLICATIONS`,
  common random numbers, the default model; one look at the end. Macro-replication r of all contenders has the
  same seed.
- Contenders: `equal` allocation; `best`, which is dvr-loss deciding for the best of every context whatever is
  asked (the policy there was before there were questions); `own`, which is dvr-loss deciding for the question.
  For `best` and `most-probable-best` these two are the same.
- The answer is that of `Study.answer`: the choice of the certificate over the mixture. Scored are its loss and
  whether it is right, by the truth; and what the certificate says of both.
- A question's own policy holds if the geometric mean over the problems of its loss over that of `best`, and
  over that of `equal`, is below 1. A problem on which it loses more than another by two standard errors of the
  paired difference is shown.
- Claims of `own` hold if in every bin with 50 parts or more the share that is right is at least the mean claim
  less 0.02 and two standard errors, clustered by macro-replication; and if the mean loss of a bin of claimed
  losses is at most 1.1 times the mean claim, two standard errors allowed. Losses are counted in units
  of the mean loss of wrong choices of the problem.

`REPLICATIONS` was cut from 200 to 100 before the first run, after four macro-replications of newsvendor that
were to show the time it takes: four questions were all but decided there.

What it found is in `stored/questions_losses.csv`, `questions_standing.csv` and `questions_bins.csv`.
`python -m experiments.questions --out DIR` runs it again.
"""

from dataclasses import dataclass, replace
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
from argbest.experiment import Contender, Experiment, loop
from argbest.models.base import entries
from argbest.policies import DVRLoss
from argbest.policies.base import Draws
from argbest.study.learning import integrated_by_seed
from argbest.table_files import write_csv
from experiments import tailoring
from experiments.calibration import show

SEED, MACROREPS, REPLICATIONS, AT_ONCE, DRAWS = 2033, 100, 100, 50, 512
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


def answers(
    name: str, contender: str, deciding: str, asked: tuple[str, ...], numbers: IntArray
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a row per macro-replication, question and part: what was claimed, and what was true.

    ``deciding`` is the question that the policy decides for, ``asked`` are the questions put to its data. The
    second frame has what the same data say of the value of tailoring (`experiments.tailoring`).
    """
    policy = "equal" if contender == "equal" else ForBest() if contender == "best" else "dvr-loss"
    experiment = Experiment(
        name,
        [Contender(policy, "additive-gp", label=contender)],
        replications=REPLICATIONS,
        macroreps=int(numbers[-1]) + 1,
        seed=SEED,
        checkpoint_every=REPLICATIONS,
        question=deciding,
    )
    [player] = experiment.contenders
    trace, (_, model) = loop.trace(experiment, player, numbers, lambda _: None), player.make()
    roots = streams.roots(SEED, numbers).tolist()
    problems = experiment.problems(roots)
    setting = problems[0].setting
    params = model.fit(trace.tally, setting)
    rows, tailored = [], []
    for r, (root, problem) in enumerate(zip(roots, problems, strict=True)):
        known = trace.tally[r], setting, entries(params, r)
        belief, unsure = model.posterior(*known), integrated_by_seed(model, *known, root)
        if unsure is None:
            raise ValueError(f"{name}: macro-replication {numbers[r]} has nothing to average over.")
        mixture = unsure.here()
        normals = streams.generator(root, streams.Purpose.CERTIFICATE).standard_normal((DRAWS, *problem.shape))
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


def runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per answer: the weighted averages over its parts, losses in units of their problem."""
    each = rows.copy()
    for name in ("loss", "claimed_loss"):
        each[name] = each["weight"] * each[name] / each["unit"]
    for name in ("right", "claimed_right"):
        each[name] = each["weight"] * each[name]
    return each.groupby(KEY, sort=False)[["loss", "claimed_loss", "right", "claimed_right"]].sum().reset_index()


def losses(each: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, question and contender, with its loss over that of its rivals.

    ``excess_se`` is the paired difference to `best`, in its standard errors.
    """
    found = []
    for (problem, question), group in each.groupby(["problem", "question"], sort=False):
        wide = group.pivot_table(index="macroreplication", columns="contender", values="loss")
        for contender, own in group.groupby("contender", sort=False):
            line = {"problem": problem, "question": question, "contender": contender, "runs": len(own)}
            for name in ("loss", "right"):
                line |= {name: own[name].mean(), f"{name}_se": own[name].sem()}
                line[f"claimed_{name}"] = own[f"claimed_{name}"].mean()
            for rival in ("best", "equal"):
                apart = wide[contender] - wide[rival]
                line[f"over_{rival}"] = wide[contender].mean() / wide[rival].mean() if wide[rival].any() else np.nan
                error = float(apart.sem())
                line[f"apart_{rival}"] = float(apart.mean() / error) if error > 0 else 0.0
            found.append(line)
    return pd.DataFrame(found)


def standing(found: pd.DataFrame) -> pd.DataFrame:
    """Return a row per question: geometric means over problems of the loss of its own policy over others'."""
    own = found[found["contender"] == "own"]
    rows = []
    for question, group in own.groupby("question", sort=False):
        line: dict[str, Any] = {"question": question, "problems": len(group)}
        for rival in ("best", "equal"):
            ratio = group[f"over_{rival}"].clip(lower=1e-3)
            line[f"over_{rival}"] = float(np.exp(np.log(ratio.dropna()).mean()))
            line[f"worse_than_{rival}"] = " ".join(group.loc[group[f"apart_{rival}"] > 2, "problem"])
        line["holds"] = bool(line["over_best"] < 1 and line["over_equal"] < 1)
        rows.append(line)
    return pd.DataFrame(rows)


def bins(rows: pd.DataFrame) -> pd.DataFrame:
    """Return claims against what came true, of the question's own policy, in bins; over all problems."""
    own = rows[rows["contender"] == "own"].assign(
        loss=lambda each: each["loss"] / each["unit"], claimed_loss=lambda each: each["claimed_loss"] / each["unit"]
    )
    found = []
    for question, group in own.groupby("question", sort=False):
        for what, edges in (("right", RIGHT_BINS), ("loss", LOSS_BINS)):
            for low, high in zip(edges[:-1], edges[1:], strict=True):
                inside = group[(group[f"claimed_{what}"] >= low) & (group[f"claimed_{what}"] < high)]
                if len(inside):
                    found.append(_bin(question, what, low, inside))
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


def plan() -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the contenders: their names, what they decide for, and what is asked of their data."""
    rest = tuple(each for each in QUESTIONS if each not in DECIDED_AS_BEST)
    return [
        ("equal", "best", QUESTIONS),
        ("best", "best", QUESTIONS),
        *(("own", each, (each,)) for each in rest),
    ]


@click.command("python -m experiments.questions")
@click.argument("problems", nargs=-1)
@click.option("--macroreps", type=click.IntRange(2), default=MACROREPS, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the tables.")
def main(problems: tuple[str, ...], macroreps: int, out: Path) -> None:
    """Ask every question of the data of three policies, and print losses and claims."""
    out.mkdir(parents=True, exist_ok=True)
    kept, beside = out / "questions_parts.csv", out / "tailoring_runs.csv"
    parts = [pd.read_csv(kept)] if kept.exists() else []
    tailored = [pd.read_csv(beside)] if beside.exists() else []
    done = set() if not parts else set(parts[0][KEY].itertuples(index=False, name=None))
    for start in range(0, macroreps, AT_ONCE):
        numbers = np.arange(start, min(start + AT_ONCE, macroreps))
        for name in problems or PROBLEMS:
            for contender, deciding, asked in plan():
                if (name, start, asked[0], contender) not in done:
                    found, of_tailoring = answers(name, contender, deciding, asked, numbers)
                    parts.append(found)
                    tailored.append(of_tailoring)
                    for path, frames in ((kept, parts), (beside, tailored)):  # an interruption loses little
                        write_csv(path, pd.concat(frames, ignore_index=True))
    rows = pd.concat(parts, ignore_index=True)
    same = rows[(rows["contender"] == "best") & rows["question"].isin(DECIDED_AS_BEST)]
    rows = pd.concat([rows, same.assign(contender="own")], ignore_index=True)
    scored = losses(runs(rows))
    show(scored, out / "questions_losses.csv")
    show(standing(scored), out / "questions_standing.csv")
    show(bins(rows), out / "questions_bins.csv")


if __name__ == "__main__":
    main()
