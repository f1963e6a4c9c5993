"""Simulators that break: what was observed is kept, and the run can go on once they are mended."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from study.conftest import noise, problem, simulate

from argbest import ArgbestError, InputError, RandomContexts, SimulationError, Study


def explode() -> float:
    raise ZeroDivisionError("no servers")


def interrupt() -> float:
    raise KeyboardInterrupt("stop now")


@dataclass
class Fragile:
    """A simulator whose calls of the given numbers go wrong."""

    wrong: set[int]
    trouble: Callable[[], Any]
    calls: int = 0

    def __call__(self, alternative: str, context: int, seed: int) -> Any:
        self.calls += 1
        return self.trouble() if self.calls in self.wrong else simulate(alternative, context, seed)


@pytest.mark.parametrize("call", [1, 5, 12, 13, 30])
def test_an_exception_is_chained_and_what_was_observed_is_kept(call: int) -> None:
    study = Study(problem(Fragile({call}, explode)), initial=1)
    with pytest.raises(
        SimulationError,
        match=rf"simulator failed on trial {call - 1} \(alternative .* with seed \d+: "
        r"ZeroDivisionError: no servers\. The replications so far are kept; fix the simulator",
    ) as caught:
        study.run(40)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert isinstance(caught.value, ArgbestError)
    assert study.n_replications == len(study.observations()) == call - 1
    assert study.trials()["status"].tolist() == ["told"] * (call - 1) + ["given back"]
    assert study.allocation()["pending"].sum() == 0


@pytest.mark.parametrize(
    "result",
    ["3.5", None, float("nan"), float("inf"), [], [1.0], (1.0, 2.0), (1.0, 2.0, 3)],
    ids=repr,
)
def test_a_result_that_is_no_reward_is_a_failure_of_the_simulator(result: Any) -> None:
    study = Study(problem(Fragile({15}, lambda: result)), initial=1)
    message = re.escape(f"it returned {result!r}, which is not one finite number. The replications")
    with pytest.raises(SimulationError, match=f"the simulator failed on trial 14.*{message}") as caught:
        study.run(40)
    assert isinstance(caught.value.__cause__, SimulationError)
    assert study.n_replications == 14
    assert study.run(40).n_replications == 40


@pytest.mark.parametrize("wrong", [{1}, {5}, {3, 4, 5}, {12}, {13}, {14, 30}])
@pytest.mark.parametrize("initial", [1, 2, RandomContexts(2)])
@pytest.mark.fast_cases("1-wrong0", "2-wrong3", "initial2-wrong5", "2-wrong1")
def test_a_mended_run_completes_the_design_and_reaches_its_budget(wrong: set[int], initial: Any) -> None:
    whole = Study(problem(), initial=initial)
    planned = [trial.pair for trial in whole.ask(whole.n_queued)]
    study = Study(problem(Fragile(wrong, explode)), initial=initial)
    for _ in wrong:
        with pytest.raises(SimulationError, match="call `run` again"):
            study.run(40)
    study.run(40)
    assert study.n_replications == 40
    told = study.observations().iloc[: len(planned)]
    pair = zip(told["alternative"], told["context"], strict=True)
    assert Counter(("abc".index(k), int(c)) for k, c in pair) == Counter(planned)
    assert study.trials().equals(Study(problem(), initial=initial).run(40).trials())


def test_a_budget_below_the_rest_of_the_design_is_refused_after_a_failure_too() -> None:
    study = Study(problem(Fragile({5}, explode)), initial=1)
    with pytest.raises(SimulationError, match="no servers"):
        study.run(12)
    with pytest.raises(InputError, match="a budget of 11 is below the 12 replications of the initial design"):
        study.run(11)
    assert study.run(12).n_replications == 12
    assert (study.allocation()["n"] == 1).all()


@pytest.mark.parametrize("call", [1, 7, 20])
def test_an_interrupt_is_passed_on_and_leaves_the_observations_intact(call: int) -> None:
    study = Study(problem(Fragile({call}, interrupt)), initial=1)
    with pytest.raises(KeyboardInterrupt, match="stop now"):
        study.run(40)
    assert study.n_replications == len(study.observations()) == call - 1
    assert study.allocation()["pending"].sum() == 0
    study.run(40)
    assert study.observations().equals(Study(problem(), initial=1).run(40).observations())


def test_a_request_to_exit_is_passed_on() -> None:
    def leave() -> float:
        raise SystemExit("bye")

    study = Study(problem(Fragile({3}, leave)), initial=1)
    with pytest.raises(SystemExit, match="bye"):
        study.run(40)
    assert study.n_replications == 2


def test_a_failure_that_comes_again_and_again_spends_nothing() -> None:
    study = Study(problem(Fragile(set(range(1, 99)), explode)), initial=1)
    for _ in range(3):
        with pytest.raises(SimulationError, match="trial 0 "):
            study.run(40)
        assert study.n_replications == 0
        assert study.trials()["status"].tolist() == ["given back"]


@pytest.mark.parametrize("call", [5, 20])
def test_the_failed_trial_is_asked_again_and_can_be_skipped(call: int) -> None:
    study = Study(problem(Fragile({call}, explode)), initial=1)
    with pytest.raises(
        SimulationError, match=r"To skip this trial: study.fail\(study.ask\(\)\[0\], reason\)"
    ) as caught:
        study.run(40)
    [again] = study.ask()
    assert f"failed on {again} with seed {again.seed}:" in str(caught.value)
    study.fail(again, "no servers")
    assert study.run(40).n_replications == 40
    assert study.trials()["status"].value_counts().to_dict() == {"told": 40, "failed": 1}


def test_a_failed_trial_told_by_hand_is_not_asked_again() -> None:
    study = Study(problem(), initial=1)
    lost, *others = study.ask(12)
    study.fail(lost, "gone")
    for trial in others:
        study.tell(trial, 1.0 + noise(trial.seed))
    assert study.n_replications == 11
    assert np.isfinite(study.selection()["mean"]).all()
    assert study.run(30).n_replications == 30


def test_a_progress_function_that_raises_leaves_a_study_that_can_go_on() -> None:
    def report(done: int, budget: int) -> None:
        if done == 15:
            raise RuntimeError("display lost")

    study = Study(problem(), initial=1)
    with pytest.raises(RuntimeError, match="display lost"):
        study.run(40, progress=report)
    assert study.n_replications == 15
    assert study.allocation()["pending"].sum() == 0
    assert study.run(40).trials().equals(Study(problem(), initial=1).run(40).trials())


def test_a_stop_rule_that_raises_leaves_a_study_that_can_go_on() -> None:
    def rule(study: Study) -> bool:
        raise LookupError(f"no target at {study.n_replications}")

    study = Study(problem(), initial=1)
    with pytest.raises(LookupError, match="no target at 12"):
        study.run(40, stop=rule)
    assert study.run(40).trials().equals(Study(problem(), initial=1).run(40).trials())


def test_the_simulator_may_look_at_the_study() -> None:
    seen: list[int] = []

    def curious(alternative: str, context: int, seed: int) -> float:
        seen.append(int(study.allocation()["pending"].sum()))
        if study.n_replications in (1, 6, 12, 13, 17):
            study.selection()
        return simulate(alternative, context, seed)

    study = Study(problem(curious), initial=1)
    study.run(20)
    assert seen == [1] * 20
    assert study.trials().equals(Study(problem(), initial=1).run(20).trials())
