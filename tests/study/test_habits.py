"""What people look for who know Optuna, Ax or pandas: one trial, load if it exists, pairs of their own."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from study.conftest import ALTERNATIVES, CONTEXTS, answer, problem, simulate, started, where

import argbest
from argbest import InputError, StorageError, Study
from argbest.study import checking


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
    assert 1 <= study.n_replications < 24  # the first values use up the time
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
    assert study.n_replications == 24
    assert used


def test_a_study_that_exists_is_loaded_where_that_is_wished(tmp_path: Path) -> None:
    def opened(**options: Any) -> Study:
        place = tmp_path / "study.db"
        return Study(problem(), seed=5, initial=1, storage=place, load_if_exists=True, **options)

    first = opened().run(20)
    again = opened()
    assert again.n_replications == 20
    assert again.definition["id"] == first.definition["id"]
    again.run(40)  # with the simulator that was given
    assert where(again.asked) == where(Study(problem(), seed=5, initial=1).run(40).asked)
    assert opened(name="other").n_replications == 0
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
    assert study.n_replications == len(study.asked) == 30


def test_a_pair_of_ones_own_choice_is_asked_for_before_the_design_and_the_policy() -> None:
    study = Study(problem(), initial=1, seed=1)
    study.enqueue("b", 2, n=2)
    study.enqueue("a", 0)
    assert study.enqueued == [("b", 2), ("b", 2), ("a", 0)]
    trials = study.ask(4)
    assert where(trials[:3]) == [(1, 2), (1, 2), (0, 0)]
    assert [trial.replication for trial in trials[:2]] == [0, 1]
    assert study.enqueued == []
    assert study.n_queued == 11  # one pair of the initial design was asked for, none taken from it
    answer(study, trials)
    answer(study, study.ask(11))
    study.enqueue("c", 3)
    assert study.ask_one().pair == (2, 3)


def test_an_enqueued_pair_waits_while_another_context_is_asked_for() -> None:
    study = started()
    study.enqueue("c", 3)
    assert study.ask_one(context=0).context == 0
    assert study.enqueued == [("c", 3)]
    assert study.ask_one(context=3).pair == (2, 3)


def test_enqueued_pairs_survive_the_end_of_the_process(tmp_path: Path) -> None:
    study = Study(problem(), initial=1, storage=tmp_path / "study.db")
    answer(study, study.ask(13))
    study.enqueue("b", 1, n=2)
    assert study.ask_one().pair == (1, 1)
    again = Study.load(tmp_path / "study.db", simulate=simulate)
    assert again.enqueued == [("b", 1)]
    assert again.run(14).asked[-1].pair == (1, 1)
    assert again.enqueued == []


def test_enqueued_pairs_are_part_of_snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "EVERY", 10)
    study = Study(problem(), initial=1, storage=tmp_path / "study.db")
    study.enqueue("b", 1, n=6)
    study.enqueue("c", 2)
    answer(study, study.ask(5))
    found = checking.check(study._journal.storage, study.definition)
    assert found.sound
    assert found.snapshot >= 10
    assert Study.load(tmp_path / "study.db").enqueued == study.enqueued == [("b", 1), ("c", 2)]
    answer(study, study.ask(7))  # the next snapshot knows that nothing is left
    assert Study.load(tmp_path / "study.db").enqueued == study.enqueued == []


def test_a_run_simulates_enqueued_pairs_within_its_budget() -> None:
    study = Study(problem(), initial=1)
    study.enqueue("a", 0, n=5)
    with pytest.raises(
        InputError, match="below the 17 replications of the initial design and the 5 enqueued"
    ):
        study.run(16)
    study.run(17)
    assert where(study.asked[:5]) == [(0, 0)] * 5
    assert study.tally.count.tolist()[0] == [6, 1, 1, 1]


def test_an_enqueued_pair_that_was_set_aside_waits_until_it_is_readmitted() -> None:
    study = started()
    study.enqueue("a", 0, n=8)
    for _ in range(6):
        study.fail(study.ask_one(), "broken")
    assert study.set_aside == [("a", 0)]
    assert study.ask_one().pair != (0, 0)
    with pytest.raises(InputError, match=r"'a' in context 0 failed repeatedly .* call `study.readmit\(\)`"):
        study.enqueue("a", 0)
    study.readmit()
    assert study.ask_one().pair == (0, 0)


def test_only_known_pairs_can_be_enqueued() -> None:
    study = Study(problem())
    with pytest.raises(InputError, match="unknown alternative 'x'"):
        study.enqueue("x", 0)
    with pytest.raises(InputError, match="unknown context 9"):
        study.enqueue("a", 9)
    with pytest.raises(InputError, match="n must be a whole number ≥ 1, got 0"):
        study.enqueue("a", 0, n=0)
