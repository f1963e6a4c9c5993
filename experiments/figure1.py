"""Figure 1: what a Gaussian process makes of ten replications of every pair, and what sample means make."""

import numpy as np
import pandas as pd

from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.noisy_table import NoisyTable
from argbest.study.study import Study
from experiments import drawing
from experiments.plan import Outcome, Plan, picture, texts, write

REPLICATIONS = 10
MODELS = {"gp": "gp-c-ocba", "independent": "c-ocba"}  # each model, and a policy that goes with it
_CONTEXTS = 20
_NOISE_SD = 1.0


def figure1(plan: Plan) -> Outcome:
    """Return Figure 1: two alternatives over their contexts, the truth and two predictions from one data set.

    Neither ``macroreps`` nor ``replications`` matters here: the data are ten replications of every pair.
    """
    numbers = predictions(plan.seed)
    paths = write(plan, {"fig1": numbers})
    drawn, missing = picture(plan, "fig1", lambda: drawing.predictions(numbers, tuple(MODELS)))
    rows = pd.DataFrame([_accuracy(numbers, model) for model in MODELS])
    forms = {"model": "", "root mean square error": ".3f", "mean sd": ".3f", "right selections": ".0f"}
    notes = (f"{REPLICATIONS} replications of each of 2 x {_CONTEXTS} pairs, noise of standard deviation 1.",)
    return Outcome("Figure 1", texts(rows, forms), notes + missing, paths + drawn)


def example() -> Problem:
    """Return two smooth alternatives that take the lead from each other, over 20 contexts in [0, 1]."""
    x = np.linspace(0.0, 1.0, _CONTEXTS)
    truth = np.stack([np.sin(6.0 * x) + x, 0.5 + 0.8 * np.cos(5.0 * x)])
    alternatives, contexts = Axis.of("alternative", ["A", "B"]), Axis.of("context", [{"x": v} for v in x])
    noise_sd = np.full(truth.shape, _NOISE_SD)
    simulate = NoisyTable(alternatives, contexts, truth, noise_sd)
    return Problem(alternatives, contexts, simulate, truth=truth, noise_sd=noise_sd, name="figure 1")


def predictions(seed: int) -> pd.DataFrame:
    """Return one row per pair: the truth, and mean and standard deviation of both models."""
    problem = example()
    k, c = np.indices(problem.shape).reshape(2, -1)
    x = np.array(problem.contexts.coordinates["x"], float)
    labels = problem.alternatives.labels
    frame = pd.DataFrame({"alternative": [labels[i] for i in k], "context": x[c]})
    frame["truth"] = np.ravel(np.asarray(problem.truth))
    for model, policy in MODELS.items():
        study = Study(
            problem,
            policy=policy,
            model=model,
            initial=REPLICATIONS,
            seed=seed,
            common_random_numbers=False,
        )
        belief = study.run(REPLICATIONS * k.size).certificate().belief
        frame[f"{model}_mean"], frame[f"{model}_sd"] = belief.mean.ravel(), np.sqrt(belief.var).ravel()
    return frame


def _accuracy(numbers: pd.DataFrame, model: str) -> dict[str, object]:
    mean, truth = numbers[f"{model}_mean"].to_numpy(float), numbers["truth"].to_numpy(float)
    right = np.argmax(mean.reshape(2, -1), axis=0) == np.argmax(truth.reshape(2, -1), axis=0)
    return {
        "model": model,
        "root mean square error": float(np.sqrt(np.mean((mean - truth) ** 2))),
        "mean sd": float(numbers[f"{model}_sd"].mean()),
        "right selections": int(right.sum()),
    }
