"""The one-call form."""

from typing import Any

import pytest
from study.conftest import ALTERNATIVES, CONTEXTS, assert_same_frames, problem, simulate

import argbest
from argbest import ExpectedPCS, InputError, RandomContexts, SimulationError, Study


def chosen(**options: Any) -> Study:
    return argbest.select(simulate, ALTERNATIVES, CONTEXTS, **options)


def test_select_is_a_study_that_has_run() -> None:
    study = chosen(budget=60, seed=3)
    assert isinstance(study, Study)
    assert study.n_replications == 60
    assert_same_frames(study, Study(problem(), seed=3).run(60))
    assert study.selection()["selected"].tolist() == ["c", "c", "a", "a"]


def test_select_hands_all_options_on() -> None:
    options: dict[str, Any] = {
        "policy": "equal",
        "model": argbest.GP(kernel="rbf"),
        "initial": RandomContexts(2),
        "seed": 9,
        "refit_every": 5,
        "common_random_numbers": True,
    }
    of_problem: dict[str, Any] = {"weights": [1, 0, 0, 1], "bounds": (0, 10), "reward_range": (-9, 9)}
    study = chosen(budget=40, goal="min", **of_problem, **options)
    same = Study(problem(goal="min", **of_problem), **options).run(40)
    assert_same_frames(study, same)
    assert study.problem.bounds == {"context": (0.0, 10.0)}
    assert study.problem.reward_range == (-9.0, 9.0)
    assert study.problem.weights.tolist() == [0.5, 0, 0, 0.5]
    assert study.refit_every == 5
    assert study.selection().equals(same.selection())


def test_select_stops_early() -> None:
    assert chosen(budget=500, stop=ExpectedPCS(0.9)).n_replications < 500


def test_select_reports_progress() -> None:
    done: list[int] = []
    chosen(budget=30, progress=lambda n, _: done.append(n))
    assert done == list(range(1, 31))


def test_select_shows_nothing_unless_asked(capfd: pytest.CaptureFixture[str]) -> None:
    chosen(budget=24)
    assert capfd.readouterr() == ("", "")


def test_select_needs_a_budget_of_at_least_the_initial_design() -> None:
    with pytest.raises(InputError, match="a budget of 10 is below the 24 replications of the initial design"):
        chosen(budget=10, initial=2)
    with pytest.raises(InputError, match="a run needs a budget: of replications, of seconds, or both"):
        chosen()
    assert chosen(budget=10).n_replications == 10  # some pairs are enough to begin with


def test_select_needs_a_simulator() -> None:
    with pytest.raises(InputError, match="expected a function simulate"):
        argbest.select(3, ALTERNATIVES, CONTEXTS, budget=30)  # type: ignore[arg-type]


def test_select_refuses_options_it_does_not_know() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'sed'"):
        chosen(budget=30, sed=1)


def test_select_passes_a_failure_on() -> None:
    def broken(alternative: str, context: int, seed: int) -> float:
        raise OSError("licence server gone")

    with pytest.raises(SimulationError, match="licence server gone"):
        argbest.select(broken, ALTERNATIVES, CONTEXTS, budget=30)
