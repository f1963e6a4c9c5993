"""Many simulations at once: nothing is lost, nobody waits, and one worker is a serial run."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from study.conftest import assert_same_frames, problem, simulate
from watching import PATIENCE

from argbest import (
    ExpectedPCS,
    InputError,
    Problem,
    SimulationError,
    Study,
    batched,
    vectorised,
)
from argbest.answers.overview import overview
from argbest.errors import DataNotice
from argbest.study import executors


def uneven(alternative: str, context: int, seed: int) -> float:
    """A simulator whose run times differ a hundredfold."""
    time.sleep(0.0002 * (100 if seed % 10 == 0 else 1))
    return simulate(alternative, context, seed)


def threads(number: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(number)


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("policy", ["gp-c-ocba", "dvr", "equal"])
def test_a_run_on_many_workers_reaches_exactly_its_budget(workers: int, policy: str) -> None:
    study = Study(problem(uneven), policy=policy, common_random_numbers=False)
    with threads(workers) as executor:
        study.run(70, executor=executor)
    assert study.n_replications == 70
    assert study.trials()["status"].tolist() == ["told"] * 70
    assert study.allocation()["pending"].sum() == 0
    assert study.trials()["seed"].is_unique


def test_one_worker_is_a_serial_run() -> None:
    with threads(1) as executor:
        one = Study(problem()).run(70, executor=executor)
    assert_same_frames(one, Study(problem()).run(70))


def test_processes_of_our_own_give_the_serial_run_too() -> None:
    assert_same_frames(Study(problem(), initial=1).run(30, workers=1), Study(problem(), initial=1).run(30))


def test_the_values_do_not_depend_on_who_computes_them() -> None:
    with threads(4) as executor:
        study = Study(problem(uneven)).run(60, executor=executor)
    for row in study.observations().to_dict("records"):
        assert row["value"] == simulate(row["alternative"], row["context"], row["seed"])


def test_as_one_result_arrives_one_new_pair_is_asked() -> None:
    """With one simulation that hangs, the others go on: nobody waits for a batch."""
    release, first = threading.Event(), threading.Lock()

    def stuck(alternative: str, context: int, seed: int) -> float:
        if first.acquire(blocking=False):
            assert release.wait(PATIENCE)
        return simulate(alternative, context, seed)

    done: list[int] = []

    def watch(now: int, _: int) -> None:
        done.append(now)
        if now == 59:
            release.set()

    with threads(3) as executor:
        Study(problem(stuck), initial=1).run(60, executor=executor, progress=watch)
    assert done[-1] == 60
    assert 59 in done


def test_pending_trials_keep_policies_from_asking_the_same_again() -> None:
    release = threading.Event()
    started: list[tuple[str, int]] = []

    def hold(alternative: str, context: int, seed: int) -> float:
        started.append((alternative, context))
        if len(started) == 6:
            release.set()
        assert release.wait(PATIENCE)
        return simulate(alternative, context, seed)

    study = Study(problem(), initial=1).run(30)
    resumed = Study(problem(hold), initial=1)
    for row in study.observations().to_dict("records"):
        resumed.tell(resumed.ask()[0], row["value"])
    with threads(6) as executor:
        resumed.run(36, executor=executor)
    assert len(set(started)) > 1


@pytest.mark.parametrize("workers", [1, 4])
def test_failures_are_recorded_and_the_budget_is_reached_all_the_same(workers: int) -> None:
    def shaky(alternative: str, context: int, seed: int) -> Any:
        if seed % 5 == 0:
            raise ValueError("boom")
        return float("nan") if seed % 7 == 0 else simulate(alternative, context, seed)

    study = Study(problem(shaky))
    with threads(workers) as executor:
        study.run(80, executor=executor, on_failure="record")
    trials = study.trials()
    assert study.n_replications == 80
    assert (study.allocation()["n"] >= 2).all()  # failures of the initial design were made up for
    failed = trials[trials["status"] == "failed"]
    assert set(failed["reason"]) == {"ValueError: boom", "it returned nan, which is not one finite number"}
    assert np.isfinite(study.observations()["value"]).all()


def test_a_pair_that_always_fails_is_set_aside() -> None:
    def hole(alternative: str, context: int, seed: int) -> float:
        if (alternative, context) == ("b", 2):
            raise RuntimeError("singular")
        return simulate(alternative, context, seed)

    study = Study(problem(hole)).run(80, on_failure="record")
    assert study.n_replications == 80
    assert study.set_aside == [("b", 2)]
    trials = study.trials()
    assert (trials["status"] == "failed").sum() == 6
    assert overview(study)["set_aside"] == [["b", 2]]
    study.readmit()
    assert study.set_aside == []


def test_a_simulator_that_never_works_ends_the_run() -> None:
    def never(alternative: str, context: int, seed: int) -> float:
        raise OSError("no licence")

    study = Study(problem(never))
    with pytest.raises(SimulationError, match="the first 20 simulations all failed, the last one with: OSE"):
        study.run(80, on_failure="record")
    assert len(study.trials()) == 20


def test_when_every_pair_is_set_aside_the_run_says_so() -> None:
    calls = []

    def once(alternative: str, context: int, seed: int) -> float:
        calls.append(seed)
        if len(calls) > 1:
            raise OSError("licence lost")
        return 1.0

    study = Study(problem(once), initial=1)
    with pytest.raises(SimulationError, match="every pair failed repeatedly and was set aside"):
        study.run(80, on_failure="record")
    assert study.n_replications == 1


def test_a_failure_ends_a_parallel_run_and_keeps_every_trial() -> None:
    def shaky(alternative: str, context: int, seed: int) -> float:
        if seed % 5 == 0:
            raise ValueError("boom")
        return simulate(alternative, context, seed)

    study = Study(problem(shaky))
    with (
        threads(4) as executor,
        pytest.raises(SimulationError, match="boom. The replications so far are kept"),
    ):
        study.run(80, executor=executor)
    assert set(study.trials()["status"]) == {"told", "given back"}
    assert study.pending() == []


def test_what_was_asked_for_ahead_is_given_back_once_the_stop_rule_is_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[int] = []
    stopped = threading.Event()

    def short(alternative: str, context: int, seed: int) -> float:
        begun.append(seed)
        if len(begun) > 30 and not stopped.is_set():
            time.sleep(0.1)  # so that others are asked for ahead before the rule is met
        return simulate(alternative, context, seed)

    monkeypatch.setattr(executors.Jobs, "_ahead", lambda *_: 16)
    study = Study(problem(short), initial=2, policy="equal", model="independent", refit_every=1)
    with threads(4) as executor:
        study.run(500, executor=executor, stop=lambda study: study.n_replications >= 40)
        assert 40 <= study.n_replications < 60
        assert study.pending() == []
        assert "given back" in set(study.trials()["status"])
        stopped.set()
        study.run(100, executor=executor)
    assert study.trials()["status"].tolist() == ["told"] * 100


class Broken(Executor):
    """An executor that breaks after some jobs."""

    def __init__(self, after: int, how: Callable[["Future[Any]"], None]) -> None:
        self.left, self.how = after, how

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        self.left -= 1
        if self.left < 0:
            self.how(future)
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_an_executor_that_breaks_loses_nothing() -> None:
    study = Study(problem(), initial=1)
    broken = Broken(20, lambda future: future.set_exception(BrokenExecutor("gone")))
    with pytest.raises(SimulationError, match="the executor broke: gone. The trials are kept"):
        study.run(60, executor=broken, workers=1)
    assert study.n_replications == 20
    assert study.pending() == []
    assert_same_frames(study.run(60), Study(problem(), initial=1).run(60))


def test_an_executor_that_never_answers_is_left_after_the_time_limit() -> None:
    study = Study(problem(), initial=1)
    silent = Broken(12, lambda _: None)
    with pytest.raises(SimulationError, match="no value after 0.3 s"):
        study.run(60, executor=silent, workers=1, timeout=0.3)
    assert study.n_replications == 12


def test_an_executor_must_say_how_many_it_runs_at_once() -> None:
    with pytest.raises(InputError, match=r"does not say how many run at once; give workers=\.\.\."):
        Study(problem()).run(30, executor=Broken(99, lambda _: None))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers must be a whole number ≥ 1"),
        ({"batch": 0}, "batch must be a whole number ≥ 1"),
        ({"timeout": -1.0}, "timeout must be a number finite and above 0"),
        ({"confirm": 1.0}, "confirm must be a number from 0 to below 1, got 1.0"),
        ({"confirm": "all"}, "confirm must be a number from 0 to below 1"),
        ({"on_failure": "recrod"}, "unknown on_failure 'recrod'.*Did you mean 'record'"),
        ({"executor": 3}, "executor=3 has no `submit`"),
        ({"seconds": 0}, "seconds must be a number finite and above 0"),
    ],
)
def test_options_of_a_run_are_checked_before_anything_is_simulated(
    options: dict[str, Any], message: str
) -> None:
    study = Study(problem())
    with pytest.raises(InputError, match=message):
        study.run(30, **options)
    assert len(study.trials()) == 0


def test_a_lambda_is_refused_where_it_would_have_to_travel() -> None:
    study = Study(problem(lambda alternative, context, seed: 0.0))
    with pytest.raises(InputError, match="a lambda cannot be sent to other processes; define it at the top"):
        study.run(30, workers=2)
    assert len(study.trials()) == 0


@batched
def in_batches(alternative: str, context: int, seeds: list[int]) -> list[float]:
    return [simulate(alternative, context, seed) for seed in seeds]


@vectorised
def all_at_once(alternatives: list[str], contexts: list[int], seeds: list[int]) -> list[float]:
    return [simulate(*job) for job in zip(alternatives, contexts, seeds, strict=True)]


@pytest.mark.parametrize("simulator", [in_batches, all_at_once])
@pytest.mark.parametrize("batch", [1, 4, 7])
def test_simulators_that_are_cheaper_in_batches_get_batches(simulator: Any, batch: int) -> None:
    study = Study(problem(simulator)).run(60, batch=batch)
    plain = Study(problem()).run(60, batch=batch)
    assert_same_frames(study, plain)
    assert study.n_replications == 60


def test_a_stop_rule_ends_a_parallel_run_and_takes_in_what_is_under_way() -> None:
    with threads(4) as executor:
        study = Study(problem()).run(5000, executor=executor, stop=ExpectedPCS(0.9))
    assert 24 <= study.n_replications < 5000
    assert set(study.trials()["status"]) == {"told"}


def test_a_budget_in_seconds_is_simulation_time() -> None:
    def slow(alternative: str, context: int, seed: int) -> float:
        time.sleep(0.005)
        return simulate(alternative, context, seed)

    study = Study(problem(slow), initial=1).run(seconds=0.25)
    spent, last = overview(study)["seconds_spent"], study.trials(details=True)["seconds"].iloc[-1]
    assert spent - last < 0.25 <= spent
    assert study.n_replications <= 50
    with threads(4) as executor:
        both = Study(problem(slow), initial=1).run(20, seconds=60, executor=executor)
    assert both.n_replications == 20


def test_measured_costs_send_replications_where_they_are_cheap() -> None:
    def dear(alternative: str, context: int, seed: int) -> float:
        return simulate(alternative, context, seed)

    def told(cost: Any) -> np.ndarray[Any, Any]:
        study = Study(
            Problem(["a", "b", "c"], [0, 1, 2, 3], dear), policy="dvr", cost=cost, common_random_numbers=False
        )
        while study.n_replications < 200:
            [trial] = study.ask()
            took = 30.0 if trial.context in (0, 1) else 1.0
            study.tell(trial, dear(str(trial.alternative), int(str(trial.context)), trial.seed), seconds=took)
        return np.asarray(study.tally.count.sum(axis=0))

    plain, weighed = told(None), told("measured")
    assert weighed[:2].sum() < plain[:2].sum()


def test_the_last_stage_confirms_the_leaders_of_undecided_contexts() -> None:
    study = Study(problem(), initial=1, common_random_numbers=False).run(45)
    chance = study.predict_proba([0, 1, 2, 3]).to_numpy()
    before = study.tally.count
    study.run(50, confirm=0.1)
    got = study.tally.count - before
    assert got.sum() == 5
    undecided = chance.max(axis=1) < 0.95
    assert undecided.any()
    assert not got[:, ~undecided].any()
    for k, c in np.argwhere(got):
        assert chance[c, k] > 0.001


def test_utilisation_of_workers_is_reported(tmp_path: Any) -> None:
    def slow(alternative: str, context: int, seed: int) -> float:
        time.sleep(0.02)
        return simulate(alternative, context, seed)

    study = Study(problem(slow), initial=1, storage=tmp_path / "s.db")
    with threads(4) as executor:
        study.run(60, executor=executor)
    [worker] = overview(study)["workers"]
    assert worker["slots"] == 4
    assert 0.0 < worker["utilisation"] <= 1.0
    assert worker["under_way"] == 0


def test_rewards_far_from_normal_are_remarked_upon_at_the_end_of_a_run() -> None:
    def skewed(alternative: str, context: int, seed: int) -> float:
        return float(np.exp(1.2 * np.random.default_rng(seed).normal()) * (1 + context))

    with pytest.warns(DataNotice, match="rewards look far from normal: strongly skewed to the right"):
        Study(problem(skewed), initial=20).run(250)
