"""What goes wrong with tasks, disks and folders: nothing is lost, and the coordinator says what it is."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from array_by_hand import JOB, PROGRAM, RECIPE, VALUE, TaskByHand, a_task, notices
from watching import PATIENCE, eventually, is_running

from argbest import Problem, SimulationError, StorageError, Study, files
from argbest.array import coordinator
from argbest.array.coordinator import FATAL, FolderExecutor, taken, tasks_in
from argbest.array.folder import Folder, Recipe
from argbest.array.tasks import serve
from argbest.simulators.calling import Outcome, evaluate
from argbest.simulators.function import Function
from argbest.simulators.program import Program

QUICK: dict[str, Any] = {"policy": "equal", "model": "independent", "initial": 2}


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argbest.study.workers.PAUSES", (0.05, 0.05, 0.05, 0.2))


def test_an_unexpected_error_in_the_helper_thread_ends_the_run_with_its_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study(Problem([1, 2], [10], PROGRAM), **QUICK)
    with FolderExecutor(tmp_path, "study", RECIPE) as executor:

        def broken(*_: Any) -> Any:
            raise RuntimeError("nobody thought of this")

        monkeypatch.setattr(Folder, "results", broken)
        with pytest.raises(SimulationError, match="RuntimeError: nobody thought of this.*kept for the next"):
            study.run(20, executor=executor, workers=1)
    assert not (study.trials()["status"] == "failed").any()


class Strange(Executor):
    """An executor whose outcomes are not those of a simulator."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    def submit(self, fn: Any, /, *args: Any, **_: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_result([self.outcome] * len(args[1]))
        return future


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), "1", None])
def test_impossible_seconds_from_any_executor_never_reach_the_log(tmp_path: Path, seconds: Any) -> None:
    study = Study(Problem([1, 2], [10], PROGRAM), **QUICK, storage=tmp_path / "study.db")
    with pytest.raises(SimulationError, match="seconds must be a number from 0 up"):
        study.run(4, executor=Strange(Outcome(1.5, None, seconds)), workers=1)
    study.close()
    assert Study.load(tmp_path / "study.db").n_replications == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1.5", [1.0, 2.0], 1e200])
def test_impossible_values_from_any_executor_are_failures(tmp_path: Path, value: Any) -> None:
    study = Study(Problem([1, 2], [10], PROGRAM), **QUICK, storage=tmp_path / "study.db")
    with pytest.raises(SimulationError, match="which is not one finite number"):
        study.run(4, executor=Strange(Outcome(value, None, 0.5)), workers=1)
    study.close()
    assert Study.load(tmp_path / "study.db").n_replications == 0


@contextmanager
def real_tasks(folder: Path, n: int) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Yield tasks as a cluster starts them; a test may be slow to end one whose program it has ended."""
    patient = (
        f"from argbest.array import tasks; tasks.GRACE = {PATIENCE}; from argbest.cli import main; main()"
    )
    command = [sys.executable, "-c", patient, "task", str(folder)]
    tasks = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(n)]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.kill()
            task.communicate()


def waiting_program(folder: Path) -> Program:
    """Return a program that says who simulates, and ends once there is a file `go`."""
    code = 'echo $$ > .part; mv .part "$PPID.program"; until [ -e go ]; do sleep 0.05; done; echo 2.5'
    return Program(["sh", "-c", code, "simulate", "{seed}"], folder=str(folder))


@pytest.mark.skipif(os.name != "posix", reason="needs SIGTERM")
@pytest.mark.parametrize("program_first", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_preempted_tasks_hand_their_job_back_and_the_replication_does_not_fail(
    tmp_path: Path, program_first: bool
) -> None:
    folder, marks = tmp_path / "ein Ordner für alle", tmp_path / "marks"
    marks.mkdir()
    recipe = Recipe({"program": waiting_program(marks).plain()}, shared_seeds=False, timeout=None)
    with (
        notices() as said,
        FolderExecutor(folder, "study", recipe) as executor,
        real_tasks(folder, FATAL + 1) as tasks,
    ):
        future = executor.submit(evaluate, PROGRAM, [JOB])
        left = {task.pid: task for task in tasks}
        for _ in range(FATAL):
            assert eventually(lambda: any((marks / f"{pid}.program").exists() for pid in left))
            task = left.pop(next(pid for pid in left if (marks / f"{pid}.program").exists()))
            program = int((marks / f"{task.pid}.program").read_text())
            if program_first:  # batch systems signal every process of a job, in any order
                os.kill(program, signal.SIGTERM)
                time.sleep(0.3)
            task.terminate()
            assert task.wait(timeout=PATIENCE) == 143
            assert eventually(lambda program=program: not is_running(program))  # type: ignore[misc]
        assert not future.done()
        (marks / "go").touch()
        [outcome] = future.result(timeout=PATIENCE)
        executor.shutdown()
    assert outcome.value == 2.5
    assert sum("told to end" in each for each in said) == 1


def test_a_task_that_takes_leave_just_after_its_sign_was_read_is_not_taken_for_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Folder.signs
    leaving: list[TaskByHand] = []

    def signs(folder: Folder) -> Any:
        found = read(folder)
        while leaving:
            leaving.pop().leave()
        return found

    monkeypatch.setattr(Folder, "signs", signs)
    with notices() as said, FolderExecutor(tmp_path, "study", RECIPE) as executor:
        future = executor.submit(evaluate, PROGRAM, [JOB])
        for _ in range(FATAL):
            task = TaskByHand(tmp_path)
            task.greet(simulating=task.job().stem)
            leaving.append(task)
            assert eventually(lambda: not leaving)
        last = TaskByHand(tmp_path)
        last.deliver_value(last.job())
        assert future.result(timeout=PATIENCE)[0].value == VALUE
    assert sum("told to end" in each for each in said) == 1


def test_tasks_killed_before_they_simulate_do_not_count(tmp_path: Path) -> None:
    with FolderExecutor(tmp_path, "study", RECIPE) as executor:
        future = executor.submit(evaluate, PROGRAM, [JOB])
        for _ in range(FATAL + 1):
            task = TaskByHand(tmp_path)
            task.job()
            task.die()
            assert eventually(lambda task=task: not (tmp_path / "tasks" / f"{task.name}.json").exists())  # type: ignore[misc]
        last = TaskByHand(tmp_path)
        last.deliver_value(last.job())
        assert future.result(timeout=PATIENCE)[0].value == VALUE


def test_a_task_says_what_it_simulates(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    recipe = Recipe({"program": waiting_program(marks).plain()}, shared_seeds=False, timeout=None)
    folder = Folder(tmp_path / "array")
    with FolderExecutor(folder.path, "study", recipe) as executor, a_task(folder.path):
        future = executor.submit(evaluate, PROGRAM, [JOB])
        assert eventually(lambda: bool(list(marks.glob("*.program"))))
        [(_, name)] = executor._assigned
        assert [sign.simulating for sign in folder.signs()] == [name]
        (marks / "go").touch()
        future.result(timeout=PATIENCE)
        executor.shutdown()


class FullDisk:
    """A disk that is full for files whose path contains a text, until there is room."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
        self.full, self.refused, self._part, self._write = True, 0, part, files._put
        monkeypatch.setattr(files, "_put", self)

    def __call__(self, target: Path, *rest: Any) -> None:
        if self.full and self._part in str(target):
            self.refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._write(target, *rest)


@pytest.mark.usefixtures("short_pauses")
def test_a_result_is_delivered_once_the_disk_has_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch, "/results/")
    with notices() as said, FolderExecutor(tmp_path, "study", RECIPE) as executor, a_task(tmp_path):
        future = executor.submit(evaluate, PROGRAM, [JOB])
        assert eventually(lambda: disk.refused >= 2)
        disk.full = False
        assert future.result(timeout=PATIENCE)[0].value == VALUE
        executor.shutdown()
    assert any("No space left on device; waiting for up to" in each for each in said)
    assert any("can be reached again" in each for each in said)


@pytest.mark.usefixtures("short_pauses")
def test_a_result_that_cannot_be_delivered_is_kept_beside_the_folder_and_counts_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mein Ordner"
    disk = FullDisk(monkeypatch, "/results/")
    with notices() as said, FolderExecutor(folder, "study", RECIPE) as executor:
        executor.submit(evaluate, PROGRAM, [JOB])
        with pytest.raises(StorageError, match="1 simulated value could not be delivered.*: mv ") as raised:
            serve(folder)
        executor.shutdown(cancel_futures=True)
    disk.full = False
    command = str(raised.value).rpartition("To deliver them later: ")[2]
    assert len(list(tmp_path.glob("undelivered-*.json"))) == 1
    subprocess.run(command, shell=True, check=True)  # noqa: S602
    with FolderExecutor(folder, "study", RECIPE) as executor:  # without any task
        assert executor.submit(evaluate, PROGRAM, [JOB]).result(timeout=PATIENCE)[0].value == VALUE
    assert said


@pytest.mark.skipif(os.name != "posix", reason="needs SIGTERM")
def test_a_task_told_to_end_while_it_cannot_deliver_keeps_the_value(tmp_path: Path) -> None:
    folder, marks = tmp_path / "array", tmp_path / "marks"
    marks.mkdir()
    recipe = Recipe({"program": waiting_program(marks).plain()}, shared_seeds=False, timeout=None)
    with notices(), FolderExecutor(folder, "study", recipe) as executor, real_tasks(folder, 1) as [task]:
        executor.submit(evaluate, PROGRAM, [JOB])
        assert eventually(lambda: bool(list(marks.glob("*.program"))))
        executor.shutdown(cancel_futures=True)
        shutil.rmtree(folder)
        (marks / "go").touch()
        assert task.stderr is not None
        first = task.stderr.readline()
        assert b"is gone; waiting for up to" in first
        task.terminate()
        assert task.wait(timeout=PATIENCE) == 143
    assert "[2.5, null, " in next(tmp_path.glob("undelivered-*.json")).read_text()


def test_the_coordinator_says_within_ten_seconds_that_no_task_is_alive(tmp_path: Path) -> None:
    with notices() as said, FolderExecutor(tmp_path, "study", RECIPE) as executor:
        task = TaskByHand(tmp_path)
        future = executor.submit(evaluate, PROGRAM, [JOB])
        task.greet(simulating=task.job().stem)
        task.die()
        assert coordinator.ALONE + coordinator.POLL < 10  # a clock would measure how busy the machine is
        assert eventually(lambda: bool(said))
        assert said == [
            "no task is alive, and 1 replication waits for one. The coordinator waits, too. "
            f"To start a task: argbest task {tmp_path}"
        ]
        with a_task(tmp_path):
            assert future.result(timeout=PATIENCE)[0].value == VALUE
            executor.shutdown()
    assert len(said) == 1


@pytest.mark.usefixtures("short_pauses")
def test_the_coordinator_says_that_the_folder_is_gone_and_ends_with_all_that_was_told(tmp_path: Path) -> None:
    home, folder = tmp_path / "study.db", tmp_path / "study.array"
    Study(Problem([1, 2], [10], PROGRAM), **QUICK, storage=home).close()

    def play() -> None:
        hand = TaskByHand(folder)
        for _ in range(3):
            hand.deliver_value(hand.job())
        hand.job()
        shutil.rmtree(folder)

    def run() -> None:
        with taken(str(home)) as copy:
            study = Study.load(copy.path)
            try:
                with tasks_in(folder, study, copy, {"budget": 20}) as options:
                    threading.Thread(target=play).start()
                    study.run(**options)
            finally:
                study.close()

    with (
        notices() as said,
        pytest.raises(SimulationError, match=r"study.array.*' is gone.*kept for the next"),
    ):
        run()
    assert "' is gone; waiting for up to" in said[0]
    found = Study.load(home)
    assert found.n_replications == 3
    assert not (found.trials()["status"] == "failed").any()


@pytest.mark.usefixtures("short_pauses")
def test_a_folder_that_comes_back_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argbest.study.workers.PAUSES", (0.1,) * int(10 * PATIENCE))
    folder = tmp_path / "array"
    with notices() as said, FolderExecutor(folder, "study", RECIPE) as executor:
        future = executor.submit(evaluate, PROGRAM, [JOB])
        folder.rename(tmp_path / "away")
        assert eventually(lambda: bool(said))
        (tmp_path / "away").rename(folder)
        with a_task(folder):
            assert future.result(timeout=PATIENCE)[0].value == VALUE
            executor.shutdown()
    assert "can be reached again" in said[1]


def run_to_a_full_disk(home: Path, budget: int, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """Work on a copy of a study that cannot be put back at the end."""
    with monkeypatch.context() as meanwhile, taken(str(home)) as copy:
        Study.load(copy.path).run(budget).close()
        FullDisk(meanwhile, part)


@pytest.mark.usefixtures("short_pauses")
def test_a_study_that_cannot_be_put_back_is_kept_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, here = tmp_path / "study.db", tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    Study(Problem([1, 2], [10], PROGRAM), **QUICK, storage=home).run(4).close()
    with (
        notices() as said,
        pytest.raises(StorageError, match="cannot be written: No space.*own state is in") as raised,
    ):
        run_to_a_full_disk(home, 9, monkeypatch, "/study.db")
    assert "No space left on device; waiting" in said[0]
    assert Study.load(home).n_replications == 4
    subprocess.run(str(raised.value).rpartition("To put it back: ")[2], shell=True, check=True)  # noqa: S602
    assert Study.load(home).n_replications == 9


@pytest.mark.usefixtures("short_pauses")
def test_a_copy_for_which_there_is_no_other_place_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    home = tmp_path / "study.db"
    Study(Problem([1, 2], [10], PROGRAM), **QUICK, storage=home).run(4).close()
    with notices(), pytest.raises(StorageError, match="own state is in .*argbest-rescued-"):
        run_to_a_full_disk(home, 9, monkeypatch, "study")
    with taken(str(home)):  # which removes the copies of killed processes, and not this
        [kept] = tmp_path.glob("argbest-rescued-*/study.db")
    assert Study.load(kept).n_replications == 9


KILLED = """
import os, signal, sys
from argbest.array.coordinator import taken
with taken(sys.argv[1]) as copy:
    print(copy.path.parent, flush=True)
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs locks")
def test_copies_of_killed_coordinators_are_removed_at_the_next_start_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    homes = [tmp_path / f"{name}.db" for name in "ab"]
    for home in homes:
        Study(Problem([1, 2], [10], PROGRAM), **QUICK, storage=home).close()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", KILLED, str(home)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for home in homes
    ]  # fmt: skip
    try:
        places = [Path(each.stdout.readline().strip()) for each in processes if each.stdout]
        assert all(place.is_dir() for place in places)
        processes[0].communicate("die\n")
        with taken(str(homes[0])):
            assert [place.is_dir() for place in places] == [False, True]
    finally:
        for each in processes:
            each.kill()
            each.communicate()
    with taken(str(homes[0])):
        assert not places[1].exists()
    assert list((tmp_path / "temporary").glob("argbest-[an]*-*")) == []


def test_truth_values_survive_the_way_through_a_real_array(tmp_path: Path) -> None:
    (tmp_path / "erfolg.py").write_text("def gut(plan, kontext, seed):\n    return seed % 3 < plan\n")
    home, folder = tmp_path / "stüdie 1.db", tmp_path / "stüdie 1.array"
    problem = Problem([1, 2], ["ä", "b c"], Function("erfolg:gut", str(tmp_path)))
    Study(problem, **QUICK, storage=home).close()
    with taken(str(home)) as copy:
        study = Study.load(copy.path)
        with tasks_in(folder, study, copy, {"budget": 12}) as options, a_task(folder):
            study.run(**options)
            options["executor"].shutdown()
        study.close()
    found = Study.load(home)
    assert found.rate
    assert found.n_replications == 12
    assert not (folder / "unreadable").exists()
