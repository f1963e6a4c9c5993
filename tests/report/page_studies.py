"""Studies whose pages are tested: of every kind of context, and with labels that mean harm; a comparison."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pytest

from argbest import GP, AdditiveGP, Population, Problem, Study
from argbest.answers import predicting
from argbest.core.arrays import Array
from argbest.models.base import Model
from argbest.report import curves

HOSTILE = (
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=2>",
    "\"'`{{payload}}${1}\u2028&amp;",
    "=1+1",
)
Named: TypeAlias = str | Model[Any]
# Models whose kits hold the data and the hyper-parameters, from which a reader predicts.
CONDITIONED: tuple[Named, ...] = (
    "gp",
    GP(noise="pair"),
    "additive-gp",
    AdditiveGP(parts=("trend", "offset", "own"), noise="pooled"),
    AdditiveGP(parts=("own", "joint"), kernel="matern32"),
)
DAYS = ("<i>Mon</i>", "</textarea><script>window.hacked=3</script>")


def told(problem: Problem, truth: Array, *, seed: int = 0, spread: float = 0.5, **options: Any) -> Study:
    """A study told three replications of every pair, scattered around the truth [alternative, context]."""
    study = Study(problem, initial=1, **options)
    noise = np.random.default_rng(seed).normal(0.0, spread, (3, *truth.shape))
    for trial in study.ask(truth.size):
        study.tell(trial, (truth[trial.pair] + noise[:, *trial.pair]).tolist())
    return study


def line(model: Named = "gp", *, goal: str = "max", policy: str = "equal", names: bool = False) -> Study:
    """Four alternatives with a coordinate, or names without, along a line of five contexts."""
    x, a = np.array([0.0, 2.0, 3.0, 7.0, 10.0]), np.array([0.0, 1.0, 2.0, 4.0])
    truth = np.sin(x[None, :] / 3.0 + a[:, None]) + 0.1 * a[:, None]
    alternatives = list("abcd") if names else [{"a": v} for v in a]
    problem = Problem(alternatives, [{"x": v} for v in x], goal=goal, name="line")
    return told(problem, truth, model=model, policy=policy)


def crowd(monkeypatch: pytest.MonkeyPatch) -> Study:
    """Eight alternatives in six contexts, more than a page holds that has room for twenty pairs."""
    monkeypatch.setattr(curves, "MOST_PAIRS", 20)
    monkeypatch.setattr(curves, "_FEWEST_CONTEXTS", 3)
    x, a = np.arange(6.0), np.arange(8.0)
    truth = 3.0 * np.cos(x[None, :] - a[:, None])
    problem = Problem([f"plan {k}" for k in range(8)], [{"x": v} for v in x], name="crowd", goal="min")
    return told(problem, truth, model="gp", policy="equal")


def mixed(model: Named = "gp") -> Study:
    """Contexts with a number, a boolean and a text; the smallest reward is best."""
    rows = [{"rate": r, "night": n, "site": s} for r in (0.5, 1.0, 4.0) for n in (False, True) for s in "abc"]
    truth = np.random.default_rng(5).normal(0.0, 1.0, (3, len(rows)))
    alternatives = [{"servers": k, "speed": 0.5 * k * k} for k in range(3)]
    return told(Problem(alternatives, rows, goal="min", name="mixed"), truth, model=model, policy="equal")


def people() -> Study:
    """Two drugs for thirty people, each a row of numbers that nobody else has."""

    def person(rng: np.random.Generator) -> dict[str, float]:
        return {"age": float(rng.uniform(40.0, 80.0)), "risk": float(rng.uniform(0.0, 1.0))}

    problem = Problem(["placebo", "drug"], Population(person, n=30), name="people")
    rows = problem.contexts.coordinates
    gain = (np.array(rows["age"]) - 60.0) / 20.0 + np.array(rows["risk"]) - 0.5
    return told(problem, np.stack([np.zeros(30), gain]), model="additive-gp", policy="equal")


def hostile() -> Study:
    """Labels, names and reasons that would do harm if any of them were taken for markup."""
    contexts = [{"rate": r, "<b>day</b>": d} for r in (1.0, 2.0, 3.0) for d in DAYS]
    truth = np.arange(4.0)[:, None] * np.array([row["rate"] for row in contexts], float)
    problem = Problem(
        list(HOSTILE),
        contexts,
        name="<script>window.hacked=4</script>",
        description="</script><img src=x onerror=window.hacked=5>",
    )
    study = told(problem, truth, model="gp", policy="equal")
    study.fail(study.ask(1)[0], "<img src=x onerror=window.hacked=6>")
    return study


def anywhere(study: Study, n: int, seed: int) -> list[dict[str, Any]]:
    """Random contexts within the bounds, as rows."""
    generator, rows = np.random.default_rng(seed), []
    for _ in range(n):
        row: dict[str, Any] = {}
        for name, values in study.problem.contexts.coordinates.items():
            drawn = values[generator.integers(len(values))]
            numeric = not isinstance(drawn, bool | str)
            row[name] = float(generator.uniform(*study.problem.bounds[name])) if numeric else drawn
        rows.append(row)
    return rows


def values(row: Mapping[str, Any]) -> list[Any]:
    """A context as the page takes it."""
    return list(row.values())


def summary() -> pd.DataFrame:
    """What `Results.summary` gives for two contenders; one error is not known."""
    return pd.DataFrame(
        {
            "contender": ["equal", "equal", "gp-c-ocba", "gp-c-ocba"],
            "replications": [0, 10, 0, 10],
            "pcs_e": [0.5, 0.6, 0.5, 0.9],
            "pcs_e_se": [0.05, 0.04, 0.05, 0.02],
            "p_all": [0.0, 0.1, 0.0, 0.4],
            "p_all_se": [0.0, 0.1, 0.0, np.nan],
            "eoc": [1.0, 0.5, 1.0, 0.2],
            "eoc_se": [0.1, 0.1, 0.1, 0.1],
        }
    )


STOPS = {name: getattr(predicting, name) for name in ("LISTED_POINTS", "_MOST_POINTS")}  # as they are


def list_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages list few contexts: what most tests look at does not depend on that, and it takes time."""
    monkeypatch.setattr(predicting, "LISTED_POINTS", 9)
    monkeypatch.setattr(predicting, "_MOST_POINTS", 30)


def list_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages list as many contexts as ever."""
    for name, number in STOPS.items():
        monkeypatch.setattr(predicting, name, number)
