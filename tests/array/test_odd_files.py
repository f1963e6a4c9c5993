"""Files in the folder of an array that no coordinator and no task can have written."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from array_by_hand import JOB, PROGRAM, RECIPE, VALUE, TaskByHand, a_task, notices, within
from watching import PATIENCE

from argbest.array.coordinator import FATAL, FolderExecutor
from argbest.array.folder import Delivery, Folder
from argbest.array.tasks import serve
from argbest.errors import Notice
from argbest.simulators.calling import Outcome, evaluate

ODD = {
    "empty": b"",
    "half": b'{"outcomes": {',
    "an empty object": b"{}",
    "a list": b"[]",
    "nothing": b"null",
    "a number": b"3",
    "an unknown field": b'{"error": "", "outcomes": {}, "surprise": 1}',
    "a field of the wrong kind": b'{"error": 3, "outcomes": []}',
    "nested deeply": b"[" * 200_000,
    "no text": b"\xff\xfe\x00",
    "a long number": b"1" * 10_000,
}
odd = pytest.mark.parametrize("content", ODD.values(), ids=ODD)


def simulated(
    folder: Path, before: Callable[[], Any] = lambda: None, gone: Path | None = None
) -> tuple[Outcome, list[str]]:
    """Return what an array with a real task makes of a job, and the notices until a file is gone."""
    with notices() as said, FolderExecutor(folder, "study", RECIPE) as executor, a_task(folder):
        before()
        [outcome] = executor.submit(evaluate, PROGRAM, [JOB]).result(timeout=PATIENCE)
        within(PATIENCE, lambda: gone is None or not gone.exists())
        executor.shutdown()
    return outcome, said


@odd
@pytest.mark.parametrize("place", ["results/odd.json", "results/odd ö.x.json", "tasks/odd.json"])
def test_an_odd_file_is_set_aside_said_once_and_the_run_goes_on(
    tmp_path: Path, place: str, content: bytes
) -> None:
    outcome, said = simulated(tmp_path, lambda: (tmp_path / place).write_bytes(content), tmp_path / place)
    assert outcome.value == VALUE
    kept = tmp_path / "unreadable" / place.replace("/", "-")
    assert kept.read_bytes() == content
    assert not (tmp_path / place).exists()
    assert len(said) == 1
    assert place in said[0]
    assert "unreadable" in said[0]


@odd
def test_an_odd_sign_of_a_coordinator_is_set_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "coordinator.json").write_bytes(content)
    outcome, said = simulated(tmp_path)
    assert outcome.value == VALUE
    assert (tmp_path / "unreadable" / "coordinator.json").read_bytes() == content
    assert len(said) == 1


@odd
def test_an_odd_job_does_not_end_a_task(tmp_path: Path, content: bytes) -> None:
    def put() -> None:
        inbox = within(PATIENCE, lambda: list((tmp_path / "jobs").iterdir()))[0]
        (inbox / "odd.json").write_bytes(content)
        within(PATIENCE, lambda: not (inbox / "odd.json").exists())

    outcome, said = simulated(tmp_path, put)
    assert outcome.value == VALUE
    assert len(said) == 1


@odd
def test_an_odd_job_left_behind_does_not_keep_a_coordinator_from_starting(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "jobs" / "gone").mkdir(parents=True)
    (tmp_path / "jobs" / "gone" / "odd.json").write_bytes(content)
    assert simulated(tmp_path)[0].value == VALUE


def test_files_of_the_system_are_let_be(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    left = [tmp_path / "jobs" / ".DS_Store", tmp_path / "._coordinator.json"]
    outcome, said = simulated(tmp_path, lambda: left[1].write_text("{}"))
    left[0].write_bytes(b"\0\0\0\1Bud1")
    outcome, said = simulated(tmp_path)
    assert outcome.value == VALUE
    assert said == []
    assert all(each.exists() for each in left)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_loop(path: Path) -> None:
    path.symlink_to(path)


def a_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


@pytest.mark.parametrize("make", [a_pipe, a_loop, a_link, Path.mkdir], ids=lambda make: make.__name__)
def test_what_is_no_ordinary_file_is_set_aside(tmp_path: Path, make: Callable[[Path], None]) -> None:
    odd = tmp_path / "results" / "odd.json"
    outcome, said = simulated(tmp_path, lambda: make(odd))
    assert not os.path.lexists(odd)
    assert outcome.value == VALUE
    assert len(said) == 1
    assert os.listdir(tmp_path / "unreadable") == ["results-odd.json"]


def test_a_sign_of_life_cannot_have_another_file_removed(tmp_path: Path) -> None:
    victim = tmp_path / "victim.json"
    victim.write_text("precious")
    with FolderExecutor(tmp_path, "study", RECIPE, silence=0.1) as executor, notices() as said:
        task = TaskByHand(tmp_path)
        sign = json.loads((tmp_path / "tasks" / f"{task.name}.json").read_text())
        (tmp_path / "tasks" / "bad.json").write_text(json.dumps(sign | {"name": "../victim"}))
        within(PATIENCE, lambda: not (tmp_path / "tasks" / "bad.json").exists())
        executor.shutdown(cancel_futures=True)
    assert victim.read_text() == "precious"
    assert "it is the sign of '../victim'" in said[0]


def test_the_name_of_a_result_cannot_have_another_file_removed(tmp_path: Path) -> None:
    (tmp_path / "victim.json").write_text("precious")
    odd = {"error": "", "outcomes": {"key": [1.0, None, 0.5]}}
    with FolderExecutor(tmp_path, "study", RECIPE) as executor:
        (tmp_path / "results" / "victim....json").write_text(json.dumps(odd))
        within(PATIENCE, lambda: executor._read)
    assert (tmp_path / "victim.json").read_text() == "precious"


def outcome_with(value: str = "1.5", reason: str = "null", seconds: str = "0.5") -> str:
    return f"[{value}, {reason}, {seconds}]"


BAD = {
    "negative seconds": outcome_with(seconds="-1"),
    "seconds NaN": outcome_with(seconds="NaN"),
    "endless seconds": outcome_with(seconds="1e999"),
    "seconds as text": outcome_with(seconds='"0.5"'),
    "seconds True": outcome_with(seconds="true"),
    "no seconds": outcome_with(seconds="null"),
    "value NaN": outcome_with("NaN"),
    "value infinite": outcome_with("-Infinity"),
    "value beyond floats": outcome_with("1e999"),
    "value too large": outcome_with("1e200"),
    "value as text": outcome_with('"1.5"'),
    "a row of values": outcome_with("[1.5, 2.5]"),
    "neither a value nor a reason": outcome_with("null"),
    "a value and a reason": outcome_with(reason='"it failed"'),
    "a reason that is no text": outcome_with("null", "3"),
    "two parts": "[1.5, null]",
    "four parts": "[1.5, null, 0.5, null]",
    "no list": "1.5",
}


@pytest.mark.parametrize("outcome", BAD.values(), ids=BAD)
def test_an_outcome_that_could_not_be_told_is_not_taken_and_its_job_is_given_again(
    tmp_path: Path, outcome: str
) -> None:
    with FolderExecutor(tmp_path, "study", RECIPE) as executor, notices() as said:
        task = TaskByHand(tmp_path)
        future = executor.submit(evaluate, PROGRAM, [JOB])
        job = task.job()
        [key] = task.keys(job)
        task.deliver(job, f'{{"error": "", "outcomes": {{"{key}": {outcome}}}}}')
        task.deliver_value(task.job())
        assert future.result(timeout=PATIENCE) == [Outcome(VALUE, None, 0.5)]
    assert len(said) == 1
    assert len(list((tmp_path / "unreadable").iterdir())) == 1


def test_a_replication_whose_results_can_never_be_read_fails(tmp_path: Path) -> None:
    with FolderExecutor(tmp_path, "study", RECIPE) as executor, notices() as said:
        task = TaskByHand(tmp_path)
        future = executor.submit(evaluate, PROGRAM, [JOB])
        for text in ["{}", "[]", '{"error": "", "outcomes": {}}', "{}", "[]"]:
            task.deliver(task.job(), text)
        [outcome] = future.result(timeout=PATIENCE)
    assert outcome.reason == f"{FATAL} tasks delivered no result of it that can be read"
    assert len(said) == 4


def test_a_job_that_its_task_cannot_read_is_given_again(tmp_path: Path) -> None:
    with FolderExecutor(tmp_path, "study", RECIPE) as executor, notices() as said:
        task = TaskByHand(tmp_path)
        future = executor.submit(evaluate, PROGRAM, [JOB])
        task.job().write_text("{}")
        [(name, job)] = Folder(tmp_path).given(task.name)
        assert job is None
        Folder(tmp_path).deliver(task.name, name, Delivery({}))
        task.deliver_value(task.job())
        assert future.result(timeout=PATIENCE)[0].value == VALUE
    assert len(said) == 1


def test_an_error_about_a_job_that_nobody_gave_does_not_end_the_run(tmp_path: Path) -> None:
    text = json.dumps({"error": "no module", "outcomes": {}})
    outcome, _ = simulated(tmp_path, lambda: (tmp_path / "results" / "x.y.json").write_text(text))
    assert outcome.value == VALUE


@pytest.mark.parametrize("value", [True, False, 1.0, 0.0, 2])
def test_truth_values_and_numbers_stay_what_they_are(tmp_path: Path, value: float) -> None:
    with FolderExecutor(tmp_path, "study", RECIPE) as executor:
        task = TaskByHand(tmp_path)
        future = executor.submit(evaluate, PROGRAM, [JOB])
        task.deliver_value(task.job(), value)
        [outcome] = future.result(timeout=PATIENCE)
    assert type(outcome.value) is (bool if isinstance(value, bool) else float)
    assert outcome.value == value


def test_several_responses_are_delivered_as_they_are(tmp_path: Path) -> None:
    given: Any = {"cost": 1.5, "late calls": True, "wait": 2}
    with FolderExecutor(tmp_path, "study", RECIPE) as executor:
        task = TaskByHand(tmp_path)
        future = executor.submit(evaluate, PROGRAM, [JOB])
        task.deliver_value(task.job(), given)
        [outcome] = future.result(timeout=PATIENCE)
    assert outcome.value == given
    assert [type(each) for each in outcome.value.values()] == [float, bool, float]


@pytest.mark.parametrize(
    "value", [{}, {"cost": "1"}, {"cost": {"a": 1}}, {"cost": None}, {"": 1.0}, [1.0, 2.0]]
)
def test_a_delivery_of_something_else_than_responses_is_set_aside(tmp_path: Path, value: Any) -> None:
    with FolderExecutor(tmp_path, "study", RECIPE) as executor, notices() as said:
        task = TaskByHand(tmp_path)
        future = executor.submit(evaluate, PROGRAM, [JOB])
        task.deliver_value(task.job(), value)
        task.deliver_value(task.job())
        assert future.result(timeout=PATIENCE)[0].value == VALUE
    assert len(said) == 1


def test_a_task_waits_on_after_odd_files(tmp_path: Path) -> None:
    (tmp_path / "coordinator.json").write_text("[]")
    with pytest.warns(Notice, match="coordinator.json"):
        assert serve(tmp_path, patience=0.2) == 0
