"""Models on the testing-allocation problem: which one to choose, and how far to trust its certificate."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from argbest.core.arrays import Array
from argbest.experiment import Contender, Experiment
from argbest.experiment.measures import mean_and_error
from experiments import drawing
from experiments.covid_runs import usual
from experiments.plan import Outcome, Plan, picture, write

PROBLEMS = ("covid", "covid-regional")
POLICIES = ("gp-c-ocba", "dvr")
MODELS = ("gp", "additive-gp")
# What is asked: the first model of each pair against the second.
QUESTIONS = (("additive-gp", "gp"),)
REPLICATIONS = 2_000
LANDMARKS = (0, 100, 500, 2_000)
_EVERY = 50  # replications between checkpoints
_SURE = 2.0  # standard errors from which a difference counts
_KEYS = ["problem", "policy", "model"]
# What is averaged over macro-replications: its name in the table, and the form in which it is shown.
_COLUMNS = {"share_correct": ("PCS_E", ".2f"), "cost": ("EOC", ".1f"), "excess": ("claim - PCS_E", "+.2f")}


class Difference(NamedTuple):
    """How much more one model's selections cost than another's, and the standard error of that."""

    value: float
    se: float

    @property
    def sure(self) -> bool:
        """Whether it exceeds two standard errors."""
        return abs(self.value) > _SURE * self.se


def covid_models(plan: Plan) -> Outcome:
    """Return PCS_E, opportunity cost and the certificate's excess of every model, and which one to choose."""
    plan = usual(plan)
    runs = pd.concat([_runs(plan, name) for name in PROBLEMS], ignore_index=True)
    numbers = summary(runs)
    landmarks = at_landmarks(numbers)
    answers = differences(runs)
    paths = write(plan, {"covid_models": numbers, "covid_models_differences": answers})
    drawn, missing = picture(
        plan, "covid_models", lambda: drawing.models(numbers.rename(columns={"cost": "eoc"}), MODELS)
    )
    notes = (
        "EOC: infections more than the least. claim - PCS_E: by how much the certificate says too much.",
        *(advice(runs, name) for name in PROBLEMS),
        *verdicts(answers),
        calibration(landmarks),
    )
    title = f"Models on the testing-allocation problem, {plan.runs} macro-replications"
    return Outcome(title, _shown(landmarks), notes + missing, paths + drawn)


def experiment(plan: Plan, name: str) -> Experiment:
    """Return the experiment of all models under all policies on a problem."""
    return Experiment(
        name,
        [Contender(policy, model, label=f"{policy}:{model}") for model in MODELS for policy in POLICIES],
        replications=plan.length(REPLICATIONS),
        macroreps=plan.runs,
        seed=plan.seed,
        checkpoint_every=_EVERY,
        certify=True,
        common_random_numbers=False,
    )


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per problem, policy, model and checkpoint: means and standard errors."""
    rows = []
    for key, own in runs.groupby([*_KEYS, "replications"], sort=False):
        row = dict(zip([*_KEYS, "replications"], key, strict=True))
        for name in _COLUMNS:
            mean, error = mean_and_error(own[name].to_numpy(float))
            row |= {name: float(mean), f"{name}_se": float(error)}
        rows.append(row | {"macroreps": len(own), "seconds": float(own["seconds"].mean())})
    return pd.DataFrame(rows)


def costs(runs: pd.DataFrame, problem: str) -> dict[str, Array]:
    """Return [macro-replication] the cost of each model's selections over a whole run.

    The mean over the checkpoints after the initial design, and over the policies.
    """
    own = runs[(runs["problem"] == problem) & (runs["replications"] > 0)]
    table = own.pivot_table(index="macroreplication", columns="model", values="cost", aggfunc="mean")
    return {str(name): table[name].to_numpy(float) for name in table.columns}


def compare(first: Array, second: Array) -> Difference:
    """Return the mean difference of two models over macro-replications, which meet the same noise."""
    value, error = mean_and_error(first - second)
    return Difference(float(value), float(np.nan_to_num(error, nan=np.inf)))


def differences(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the answers to the questions, a row per problem and question."""
    rows = []
    for problem in PROBLEMS:
        cost = costs(runs, problem)
        for first, second in QUESTIONS:
            found = compare(cost[first], cost[second])
            rows.append((problem, first, second, cost[second].mean(), found.value, found.se, found.sure))
    columns = ["problem", "model", "against", "eoc_against", "difference", "se", "sure"]
    return pd.DataFrame(rows, columns=columns)


def advice(runs: pd.DataFrame, problem: str) -> str:
    """Return which model to choose on a problem: the cheapest, or all that cannot be told from it."""
    cost = costs(runs, problem)
    least = min(cost, key=lambda name: float(cost[name].mean()))
    level = [name for name in MODELS if name != least and not compare(cost[name], cost[least]).sure]
    facts = f"{problem}: mean EOC over the run is least with {least}, {cost[least].mean():.1f}"
    if level:
        return f"{facts}, but {', '.join(level)} cannot be told from it (two standard errors)."
    others = {name: compare(cost[name], cost[least]) for name in MODELS if name != least}
    nearest = min(others, key=lambda name: others[name].value)
    found = others[nearest]
    return f"{facts}; choose it. The next, {nearest}, costs {found.value:.1f} ± {found.se:.1f} more."


def verdicts(answers: pd.DataFrame) -> list[str]:
    """Return one sentence per question and problem."""
    said = []
    for row in answers.to_dict("records"):
        size, error, other = row["difference"], row["se"], row["against"]
        what = f"cannot be told from {other} (difference {size:+.2f} ± {error:.2f} infections)"
        if row["sure"]:
            sign = "more" if size > 0 else "less"
            what = f"costs {abs(size):.2f} ± {error:.2f} infections {sign} than {other}"
        said.append(f"{row['problem']}: {row['model']} {what}.")
    return said


def calibration(landmarks: pd.DataFrame) -> str:
    """Return how much too sure the certificates are after the last sample, the worst case of each model."""
    last = landmarks[landmarks["replications"] == landmarks["replications"].max()]
    worst = {model: own.loc[own["excess"].abs().idxmax()] for model, own in last.groupby("model", sort=False)}
    listed = ", ".join(
        f"{model} {row['excess']:+.3f} ± {row['excess_se']:.3f}" for model, row in worst.items()
    )
    after = f"after {last['replications'].max():,} replications"
    return f"Certificate's PCS_E minus PCS_E {after}, largest in size: {listed}."


def at_landmarks(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the rows at 0, 100, 500 and 2,000 replications, and at the last."""
    return numbers[numbers["replications"].isin([*LANDMARKS, int(numbers["replications"].max())])]


def _runs(plan: Plan, problem: str) -> pd.DataFrame:
    runs = plan.run(f"covid-models-{problem}", experiment(plan, problem)).runs
    names = runs["contender"].str.split(":", n=1, expand=True)
    excess = runs["claim"] - runs["share_correct"]
    return runs.assign(problem=problem, policy=names[0], model=names[1], excess=excess)


def _shown(landmarks: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, policy and model: every measure at the landmarks."""
    at = "/".join(str(n) for n in landmarks["replications"].unique())
    rows = []
    for key, own in landmarks.groupby(_KEYS, sort=False):
        rows.append(
            (*key, *("/".join(f"{v:{form}}" for v in own[name]) for name, (_, form) in _COLUMNS.items()))
        )
    return pd.DataFrame(rows, columns=[*_KEYS, *(f"{title} at {at}" for title, _ in _COLUMNS.values())])
