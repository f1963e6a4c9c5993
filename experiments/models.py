"""Models: how many replications additive-gp saves, under three policies on every shipped problem."""

import numpy as np
import pandas as pd

from argbest import registry
from argbest.core.arrays import Array
from argbest.errors import InputError
from argbest.experiment import Contender, Experiment, Results
from argbest.experiment.loop import rehearse
from experiments import drawing, papers
from experiments.plan import Outcome, Plan, picture, write

MODELS = (papers.GP, "additive-gp")
POLICIES = ("gp-c-ocba", "ikg", "dvr")
REPLICATIONS = 500
LANDMARKS = (0, 100, 500)
# Pairs up to which models whose alternatives covary are run: IKG then needs the envelope of all of them.
_COVARYING = {"additive-gp": 400}
_ENVELOPE = 100
_EVERY = 25  # replications between checkpoints
_ROUNDING = 1e-9  # of the largest cost of a curve
_FORMS = {"pcs_e": ".3f", "eoc": ".3g"}
_LEFT_OUT = ("covid",)  # studies of their own

Skipped = tuple[str, str, str, str]  # problem, policy, model, reason


def models(plan: Plan) -> Outcome:
    """Return PCS_E and opportunity cost of models under policies, and the replications that a model saves."""
    results: dict[str, Results] = {}
    skipped: list[Skipped] = []
    for name in problems():
        found, impossible = contenders(plan, name)
        skipped += impossible
        if found:
            results[name] = plan.run(f"models-{name}", _experiment(plan, name, found))
    numbers = pd.concat([_curves(name, found) for name, found in results.items()], ignore_index=True)
    left_out = pd.DataFrame(skipped, columns=["problem", "policy", "model", "reason"])
    saved = savings(numbers)
    landmarks = at_landmarks(numbers)
    frames = {"models": numbers, "models_landmarks": landmarks, "models_savings": saved}
    paths = write(plan, frames | {"models_skipped": left_out})
    drawn, missing = picture(plan, "models", lambda: drawing.models(numbers, MODELS))
    notes = (
        "needed: replications that the paper's model, gp, needs for the opportunity cost (EOC) that this "
        f"model has at {_landmark(numbers)}; > is more than were run.",
        *_left_out(skipped),
    )
    title = f"Models, {plan.runs} macro-replications"
    return Outcome(title, _shown(landmarks, saved), notes + missing, paths + drawn)


def problems() -> list[str]:
    """Return the names of the shipped problems, without those that are studies of their own."""
    return [name for name in registry.PROBLEMS if not name.startswith(_LEFT_OUT)]


def contenders(plan: Plan, name: str) -> tuple[list[Contender], list[Skipped]]:
    """Return the policies with their models that can run on a problem, and why the others cannot."""
    found, skipped = [], []
    for policy in POLICIES:
        for model in MODELS:
            reason = _obstacle(plan, name, policy, model)
            if reason:
                skipped.append((name, policy, model, reason))
            else:
                found.append(Contender(policy, model, label=f"{policy}:{model}"))
    return found, skipped


def savings(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return, per problem, policy and other model, how many replications `gp` needs for the same.

    The same is the opportunity cost of the model after 100 replications, or after the last if fewer were run.
    ``needed`` is interpolated between checkpoints of the paper's model; infinite if it never gets there.
    """
    rows = []
    for (problem, policy), own in numbers.groupby(["problem", "policy"], sort=False):
        curves = {str(model): curve for model, curve in own.groupby("model", sort=False)}
        if papers.GP not in curves:
            continue
        usual = curves.pop(papers.GP)
        for model, curve in curves.items():
            at = _landmark(curve)
            goal = float(curve.loc[curve["replications"] == at, "eoc"].iloc[0])
            needed = first_below(usual["replications"].to_numpy(float), usual["eoc"].to_numpy(float), goal)
            rows.append((problem, policy, model, at, goal, needed))
    return pd.DataFrame(rows, columns=["problem", "policy", "model", "at", "eoc", "needed"])


def first_below(replications: Array, cost: Array, goal: float) -> float:
    """Return where the running minimum of a curve first reaches the goal, linear between its points.

    Costs that differ by rounding, as those of tied alternatives do, are the same; infinite if never.
    """
    least, goal = np.minimum.accumulate(cost), goal + _ROUNDING * float(np.max(cost))
    reached = np.flatnonzero(least <= goal)
    if not reached.size:
        return float("inf")
    i = int(reached[0])
    if i == 0:
        return float(replications[0])
    share = (least[i - 1] - goal) / (least[i - 1] - least[i])
    return float(replications[i - 1] + share * (replications[i] - replications[i - 1]))


def at_landmarks(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the rows at 0, 100 and 500 replications, and at the last if it comes before."""
    last = int(numbers["replications"].max())
    return numbers[numbers["replications"].isin([*LANDMARKS, *([last] if last < LANDMARKS[-1] else [])])]


def _obstacle(plan: Plan, name: str, policy: str, model: str) -> str:
    """Return why a model cannot be run on a problem under a policy; empty if it can."""
    problem = registry.problem(name)
    pairs, most = problem.n_alternatives * problem.n_contexts, _COVARYING.get(model)
    if most is not None and policy == "ikg":
        most = min(most, _ENVELOPE)
    if most is not None and pairs > most:
        return f"runs where alternatives covary take long, and it has {pairs} pairs, more than {most}"
    contender = Contender(policy, model)
    try:
        rehearse(_experiment(plan, name, [contender]), contender)
    except InputError as error:
        return str(error)
    return ""


def _left_out(skipped: list[Skipped]) -> list[str]:
    """Return a line per reason, with all that it keeps out."""
    by_reason: dict[str, list[str]] = {}
    for problem, policy, model, reason in skipped:
        by_reason.setdefault(reason, []).append(f"{policy}:{model} on {problem}")
    return [f"left out, {reason}: {', '.join(what)}." for reason, what in by_reason.items()]


def _landmark(curve: pd.DataFrame) -> int:
    """Return 100 replications, or the last if fewer were run."""
    return min(LANDMARKS[1], int(curve["replications"].max()))


def _experiment(plan: Plan, name: str, found: list[Contender]) -> Experiment:
    return Experiment(
        name,
        found,
        replications=plan.length(REPLICATIONS),
        macroreps=plan.runs,
        seed=plan.seed,
        checkpoint_every=_EVERY,
        common_random_numbers=False,
    )


def _curves(problem: str, results: Results) -> pd.DataFrame:
    summary = results.summary()
    names = summary["contender"].str.split(":", n=1, expand=True)
    frame = pd.DataFrame(
        {"problem": problem, "policy": names[0], "model": names[1], "macroreps": results.macroreps}
    )
    kept = ["replications", "pcs_e", "pcs_e_se", "eoc", "eoc_se", "seconds"]
    return pd.concat([frame, summary[kept]], axis=1)


def _shown(landmarks: pd.DataFrame, saved: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, policy and model: PCS_E and EOC at the landmarks, and replications needed."""
    keys = ["problem", "policy", "model"]
    needed = {tuple(row[:3]): row[5] for row in saved.itertuples(index=False)}
    most = int(landmarks["replications"].max())
    rows = []
    for key, own in landmarks.groupby(keys, sort=False):
        pcs, cost = ("/".join(f"{v:{form}}" for v in own[name]) for name, form in _FORMS.items())
        rows.append((*key, pcs, cost, _amount(needed.get(tuple(key)), most)))
    at = "/".join(str(n) for n in landmarks["replications"].unique())
    return pd.DataFrame(rows, columns=[*keys, f"PCS_E at {at}", f"EOC at {at}", "needed"])


def _amount(value: float | None, most: int) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if np.isfinite(value) else f"> {most}"
