"""Studies up to version 0.2 derive seeds by position; with these, every decision is that of the version."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argbest import Problem, Study, streams
from argbest.errors import StorageError
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
    experiment = Experiment(name, ["dvr-loss"], macroreps=3, replications=12, seed=4, **options)
    found = trace(experiment, experiment.contenders[0], np.arange(3), lambda _: None)
    return [found.alternative.ravel().tolist(), found.context.ravel().tolist()]


CASES: dict[str, Any] = {
    "newsvendor, shared": lambda: of_study(problem("newsvendor"), 60, 40),
    "newsvendor, own": lambda: of_study(problem("newsvendor"), 60, 40, common_random_numbers=False),
    "newsvendor, gp, own": lambda: of_study(
        problem("newsvendor"), 130, 30, model="gp", policy="gp-c-ocba", common_random_numbers=False
    ),
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


def seeds(study: Study, n: int) -> dict[tuple[int, int, int], int]:
    """The seeds of the next n trials by alternative, context and replication."""
    return {(*trial.pair, trial.replication): trial.seed for trial in study.ask(n)}


@pytest.mark.parametrize("shared", [False, True])
def test_rows_at_the_end_of_a_table_change_no_seed(shared: bool) -> None:
    options: dict[str, Any] = {"seed": 8, "initial": 2, "common_random_numbers": shared}
    small = seeds(Study(Problem(["a", "b"], [0.0, 1.0]), **options), 8)
    large = seeds(Study(Problem(["a", "b", "c"], [0.0, 1.0, 2.0]), **options), 18)
    assert {key: large[key] for key in small} == small
    for (k, c, r), seed in large.items():
        assert seed == streams.replication_seed(8, c, r, alternative=None if shared else k)


def test_a_stored_study_keeps_the_rule_of_its_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies up to version 0.2 do not name a rule."""
    made = problem("newsvendor")
    for name, rule in (("old", streams.POSITION), ("new", streams.IDENTITY)):
        with monkeypatch.context() as patch:
            patch.setattr(streams, "NEW_STUDIES", rule)
            study = Study(made, seed=3, storage=tmp_path / f"{name}.db")
            first = seeds(study, 5)
            study.close()
        if rule == streams.POSITION:
            change(tmp_path / "old.db", lambda stored: stored.pop("seeds"))
        again = Study.load(tmp_path / f"{name}.db")
        expected = streams.seed_rule(rule, made.shape)
        for (_, c, r), seed in {**first, **seeds(again, 5)}.items():
            assert seed == expected.shared(3, c, r)
        again.close()


def test_a_rule_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    Study(against(), storage=tmp_path / "s.db").close()
    change(tmp_path / "s.db", lambda stored: stored.update(seeds="by the moon"))
    with pytest.raises(StorageError, match="the rule 'by the moon', which this version of argbest does not"):
        Study.load(tmp_path / "s.db")


def change(path: Path, how: Callable[[dict[str, Any]], object]) -> None:
    """Change the definition of the study in a file."""
    with closing(sqlite3.connect(path)) as database, database:
        [(held,)] = database.execute("SELECT definition FROM argbest_studies")
        stored = json.loads(held)
        how(stored)
        database.execute("UPDATE argbest_studies SET definition = ?", (json.dumps(stored),))


if __name__ == "__main__":  # run with version 0.2
    STORED.write_text(json.dumps({name: case() for name, case in CASES.items()}) + "\n")
