"""What people look for who know Optuna, Ax or pandas: one trial, load if it exists, pairs of their own."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from study.conftest import ALTERNATIVES, CONTEXTS, answer, problem, simulate, where

import argbest
from argbest import InputError, StorageError, Study


def test_ask_one_returns_the_trial_that_ask_puts_into_a_list() -> None:
    one, many = Study(problem(), seed=4), Study(problem(), seed=4)
    for _ in range(16):  # the initial design, and some of the policy's own
        trial, (same,) = one.ask_one(), many.ask()
        assert (trial.pair, trial.seed) == (same.pair, same.seed)
        answer(one, [trial])
        answer(many, [same])
    assert one.ask_one(context=3).context == 3


def test_select_names_the_problem_and_its_reward() -> None:
    study = argbest.select(simulate, ALTERNATIVES, CONTEXTS, budget=24, title="plans", reward="cost, euros")
    assert (study.problem.name, study.problem.reward) == ("plans", "cost, euros")
    assert argbest.select(simulate, ALTERNATIVES, CONTEXTS, budget=24).problem.name == problem().name


def test_select_may_be_limited_by_seconds_alone(tmp_path: Path) -> None:
    study = argbest.select(simulate, ALTERNATIVES, CONTEXTS, seconds=1e-9)
    assert 1 <= study.n_observations < 24  # the first values use up the time
    with pytest.raises(InputError, match="a run needs a budget: of replications, of seconds, or both"):
        argbest.select(simulate, ALTERNATIVES, CONTEXTS, storage=tmp_path / "study.db")
    assert not (tmp_path / "study.db").exists()


def test_select_simulates_with_the_executor_that_is_given() -> None:
    used: list[Any] = []

    class Noted(ThreadPoolExecutor):
        def submit(self, *given: Any, **options: Any) -> Any:
            used.append(given)
            return super().submit(*given, **options)

    with Noted(1) as executor:
        study = argbest.select(simulate, ALTERNATIVES, CONTEXTS, budget=24, executor=executor)
    assert study.n_observations == 24
    assert used


def test_a_study_that_exists_is_loaded_where_that_is_wished(tmp_path: Path) -> None:
    def opened(**options: Any) -> Study:
        place = tmp_path / "study.db"
        return Study(problem(), seed=5, initial=1, storage=place, load_if_exists=True, **options)

    first = opened().run(20)
    again = opened()
    assert again.n_observations == 20
    assert again.definition["id"] == first.definition["id"]
    again.run(40)  # with the simulator that was given
    assert where(again.asked) == where(Study(problem(), seed=5, initial=1).run(40).asked)
    assert opened(name="other").n_observations == 0
    with pytest.raises(StorageError, match="there is a study 'study' in .* already"):
        Study(problem(), seed=5, storage=tmp_path / "study.db")


def test_another_study_is_not_loaded_in_the_place_of_the_one_described(tmp_path: Path) -> None:
    Study(problem(), seed=5, storage=tmp_path / "study.db")
    with pytest.raises(InputError, match="'study' is another one: seed: stored is 5, given is 6. Only"):
        Study(problem(), seed=6, storage=tmp_path / "study.db", load_if_exists=True)
    with pytest.raises(InputError, match='goal: stored is "max", given is "min"'):
        Study(problem(goal="min"), seed=5, storage=tmp_path / "study.db", load_if_exists=True)


def test_select_goes_on_with_a_study_that_exists(tmp_path: Path) -> None:
    options: dict[str, Any] = {"storage": tmp_path / "study.db", "load_if_exists": True, "seed": 2}
    argbest.select(simulate, ALTERNATIVES, CONTEXTS, budget=20, **options)
    study = argbest.select(simulate, ALTERNATIVES, CONTEXTS, budget=30, **options)
    assert study.n_observations == len(study.asked) == 30
