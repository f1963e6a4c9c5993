"""Studies up to version 0.2 derive seeds by position; with these, every decision is that of the version."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argbest import Problem, Study, streams
from argbest.experiment import Experiment
from argbest.experiment.loop import trace
from argbest.registry import problem

STORED = Path(__file__).with_name("decisions_0_2.json")  # pairs that version 0.2 chose one after the other


def opposed(alternative: str, context: float, seed: int) -> float:
    """What helps one alternative harms the other, so seeds are parted at a refit."""
    noise = float(np.random.default_rng(seed).normal())
    return context + (noise if alternative == "a" else -noise)


def against() -> Problem:
    return Problem(["a", "b"], [0.0, 1.0], opposed)


def of_study(made: Problem, first: int, more: int, **options: Any) -> list[list[int]]:
    """The pairs of a study that has two trials under way all the time, and the seeds of its last ones."""
    study = Study(made, seed=3, **options)
    study.run(first)
    waiting = study.ask(2)
    for _ in range(more):
        trial, *waiting = waiting
        assert made.simulate is not None
        study.tell(trial, made.simulate(trial.alternative, trial.context, trial.seed))
        waiting += study.ask()
    trials = study._journal.ledger.trials
    return [[*trial.pair, trial.seed] for trial in trials]


def of_experiment(name: str, **options: Any) -> list[list[int]]:
    """The pairs of three macro-replications side by side."""
    experiment = Experiment(name, ["dvr-loss"], macroreps=3, samples=12, seed=4, **options)
    found = trace(experiment, experiment.contenders[0], np.arange(3), lambda _: None)
    return [found.alternative.ravel().tolist(), found.context.ravel().tolist()]


CASES: dict[str, Any] = {
    "newsvendor, shared": lambda: of_study(problem("newsvendor"), 60, 40),
    "newsvendor, own": lambda: of_study(problem("newsvendor"), 60, 40, common_random_numbers=False),
    "newsvendor, gp": lambda: of_study(problem("newsvendor"), 130, 30, model="gp", policy="gp-c-ocba"),
    "parted": lambda: of_study(against(), 60, 30, policy="equal", model="independent", initial=12),
    "experiment, shared": lambda: of_experiment("newsvendor", initial=2),
    "experiment, own": lambda: of_experiment("branin", initial=2, common_random_numbers=False),
}


@pytest.mark.parametrize("case", CASES)
def test_with_seeds_by_position_decisions_are_those_of_version_0_2(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "NEW_STUDIES", streams.POSITION)
    assert CASES[case]() == json.loads(STORED.read_text())[case]


if __name__ == "__main__":  # run with version 0.2
    STORED.write_text(json.dumps({name: case() for name, case in CASES.items()}) + "\n")
