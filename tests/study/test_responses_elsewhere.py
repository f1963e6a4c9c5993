"""Results of several responses from other processes and executors, and odd ones among them."""

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import responding

from argbest import Problem, Study, vectorised
from argbest.simulators.function import Function

FOLDER = str(Path(__file__).resolve().parents[1])
ODD = {
    3: ({"cost": 1.0}, "without 'late'"),
    5: ({"cost": 1.0, "late": 0, "wait": 3.0}, "with 'wait'"),
    7: ({"cost": 1.0, "late": float("nan")}, "the response 'late' as nan"),
    9: ({"cost": "cheap", "late": 0}, "the response 'cost' as 'cheap'"),
}


class Foreign(Executor):
    """An executor that knows nothing of argbest, and says not how many jobs it runs at once."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        made: Future[Any] = Future()
        made.set_result(fn(*args, **kwargs))
        return made


def a_study(simulate: Any) -> Study:
    wanted: dict[str, Any] = {"goal": "min cost", "limits": ["late <= 0.1"], "responses": ["cost", "late"]}
    return Study(Problem(["cheap", "dear"], [1, 5], simulate, **wanted), initial=2, seed=1)


def assert_failures_are_named(study: Study) -> None:
    failed = study.trials().query("status == 'failed'")["reason"].tolist()
    assert len(failed) == len(ODD)
    assert study.n_replications == 14
    for _, words in ODD.values():
        assert sum(words in each for each in failed) == 1, (words, failed)
    for row in study.observations().to_dict("records"):
        given = responding.clinic(row["alternative"], row["context"], row["seed"])
        assert {"cost": row["cost"], "late": row["late"]} == given


@pytest.mark.parametrize("kind", ["none", "threads", "foreign"])
def test_an_odd_result_fails_its_trial_alone_in_any_executor(kind: str) -> None:
    calls: list[int] = []

    def simulate(plan: str, arrivals: int, seed: int) -> Any:
        calls.append(seed)
        given = responding.clinic(plan, arrivals, seed)
        return ODD.get(len(calls), (given, ""))[0]

    study = a_study(simulate)
    if kind == "none":
        study.run(14, on_failure="record")
    elif kind == "foreign":
        study.run(14, on_failure="record", executor=Foreign(), workers=2)
    else:
        with ThreadPoolExecutor(1) as executor:
            study.run(14, on_failure="record", executor=executor)
    assert_failures_are_named(study)


def test_an_odd_result_fails_its_trial_alone_in_processes() -> None:
    study = a_study(Function("responding:clinic_with_odd_results", FOLDER))
    study.run(14, on_failure="record", workers=1)
    failed = study.trials().query("status == 'failed'")["reason"].tolist()
    assert study.n_replications == 14
    assert failed
    assert all(any(words in reason for _, words in ODD.values()) for reason in failed)


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (
            {"cost": [1.0, 2.0], "late": [0]},
            "the response 'late' as 1 values; expected one value per seed, here 2",
        ),
        ({"cost": [1.0, 2.0]}, "without 'late'"),
        ({"cost": [1.0, 2.0], "late": [0, 0], "wait": [1, 1]}, "with 'wait'"),
        ({"cost": 1.0, "late": 0}, "expected one value per seed, here 2"),
        (
            {"cost": [1.0, 2.0], "late": "no"},
            "the response 'late' as 'no'; expected one value per seed, here 2",
        ),
        ({}, "expected a list of values for every response"),
        ([1.0, 2.0], "something else than a dict"),
        ([{"cost": 1.0, "late": False}, {"cost": 2.0}], "without 'late'"),
    ],
    ids=str,
)
def test_an_odd_batch_fails_and_says_why(odd: Any, reason: str) -> None:
    calls: list[int] = []

    def simulate(alternatives: Any, contexts: Any, seeds: list[int]) -> Any:
        calls.append(len(seeds))
        return odd if len(calls) == 2 else responding.clinic_of_jobs(alternatives, contexts, seeds)

    study = a_study(vectorised(simulate))
    study.run(8, on_failure="record", batch=2)
    failed = study.trials().query("status == 'failed'")["reason"].tolist()
    assert calls[1] == 2
    assert failed
    assert all(reason in each for each in failed)
    assert study.n_replications == 8


def test_one_nan_in_a_batch_fails_one_trial() -> None:
    calls: list[int] = []

    @vectorised
    def simulate(alternatives: Any, contexts: Any, seeds: list[int]) -> Any:
        calls.append(len(seeds))
        found = responding.clinic_of_jobs(alternatives, contexts, seeds)
        if len(calls) == 2:
            found["late"][1] = float("nan")
        return found

    study = a_study(simulate)
    study.run(12, on_failure="record", batch=4)
    failed = study.trials().query("status == 'failed'")["reason"].tolist()
    assert len(failed) == 1
    assert "the response 'late' as nan" in failed[0]
    assert study.n_replications == 12


def test_dask_carries_several_responses() -> None:
    distributed = pytest.importorskip("distributed")
    here: dict[str, Any] = {"processes": False, "n_workers": 1, "threads_per_worker": 1}
    with distributed.Client(dashboard_address=None, **here) as client:
        study = a_study(responding.clinic).run(8, executor=client.get_executor(), workers=2)
    assert study.n_replications == 8
    for row in study.observations().to_dict("records"):
        given = responding.clinic(row["alternative"], row["context"], row["seed"])
        assert {"cost": row["cost"], "late": row["late"]} == given
