"""The array: the same study as on a laptop, scripts, and what goes wrong in words."""

import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from watching import PATIENCE

from argbest import InputError, Problem, SimulationError, StorageError, Study
from argbest.array.coordinator import FATAL, FolderExecutor, WorkingCopy, taken, tasks_in
from argbest.array.folder import FINISHED, Folder, Recipe
from argbest.array.tasks import serve
from argbest.cli import main
from argbest.simulators.calling import evaluate
from argbest.simulators.function import Function
from argbest.simulators.program import Program
from argbest.study.workers import Lifeline, Presence

FILE = """
goal = "min"
alternatives = [2, 3, 4]
contexts = [10, 20]
[simulator]
command = ["sh", "-c", "echo $1.$(($2 + $3 % 7))", "simulate", "{alternative}", "{context}", "{seed}"]
[study]
policy = "equal"
model = "independent"
[run]
budget = 14
"""
PROGRAM = Program(["sh", "-c", "echo $1.$((1000 + $2 % 1000))", "simulate", "{alternative}", "{seed}"])


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argbest.array.coordinator.POLL", 0.02)
    monkeypatch.setattr("argbest.array.tasks.POLL", 0.02)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@contextmanager
def a_task(folder: Path) -> Iterator[None]:
    thread = threading.Thread(target=serve, args=(folder,), kwargs={"late": 30.0})
    thread.start()
    try:
        yield
    finally:
        thread.join(30)
        assert not thread.is_alive()


def as_an_array(home: Path, budget: int) -> None:
    folder = home.with_suffix(".array")
    with taken(str(home)) as copy, a_task(folder):
        study = Study.load(copy.path)
        try:
            with tasks_in(folder, study, copy, {"budget": budget}) as means:
                study.run(**means)
        finally:
            study.close()
            Folder(folder).announce(
                Presence().name, 0, FINISHED
            )  # whatever went wrong, the task shall not wait


def a_study(home: Path | None, simulate: Any = PROGRAM) -> Study:
    options = {"policy": "c-ocba", "seed": 3, "initial": 2, "common_random_numbers": False}
    return Study(Problem([1, 2, 3], [10, 20], simulate), **options, storage=home)  # type: ignore[arg-type]


def test_laptop_and_array_take_turns_and_give_the_study_of_one_serial_run(tmp_path: Path) -> None:
    home = tmp_path / "study.db"
    a_study(home).run(15).close()
    as_an_array(home, 20)
    Study.load(home).run(25).close()
    as_an_array(home, 30)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["study.array", "study.db"]
    found, whole = Study.load(home).observations(), a_study(None).run(30).observations()
    columns = ["trial", "alternative", "context", "replication", "seed", "value"]
    assert found[columns].to_dict("list") == whole[columns].to_dict("list")


def test_an_array_begins_a_study_and_the_command_line_goes_on_with_it(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(FILE)
    said = call("submit", str(file), "--plain", "--tasks", "1")
    assert said.exit_code == 0, said.output
    assert "0 replications so far" in said.stdout
    with a_task(tmp_path / "study.array"):
        home = str(tmp_path / "study.db")
        result = call("resume", home, "--file", str(file), "--folder", str(tmp_path / "study.array"))
    assert result.exit_code == 0, result.output
    assert Study.load(home).n_replications == 14
    assert "14 replications so far" in call("submit", str(file), "--slurm", "--tasks", "5").stdout
    assert call("resume", home, "--budget", "16", "--quiet").exit_code == 0


@pytest.mark.parametrize(
    ("system", "said"), [("slurm", "#SBATCH --array=0-100"), ("pbs", "#PBS -J 0-100"), ("plain", "number=$")]
)
def test_the_scripts_are_for_their_systems_and_sound_to_bash(tmp_path: Path, system: str, said: str) -> None:
    (tmp_path / "my study.toml").write_text(FILE)
    result = call("submit", str(tmp_path / "my study.toml"), f"--{system}", "--tasks", "100")
    script = tmp_path / "my study.array" / f"{system}.sh"
    assert said in script.read_text()
    assert str(script) in result.stdout
    checked = subprocess.run(["/bin/bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert (
        "argbest resume 'my study.db' --file 'my study.toml' --folder 'my study.array'" in script.read_text()
    )


def test_a_study_on_a_server_or_without_a_budget_is_not_submitted(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(FILE)
    refused = call("submit", str(file), "--tasks", "2", "--storage", "postgresql://host/database")
    assert "run `argbest worker` in every task" in refused.stderr
    file.write_text(FILE.replace("budget = 14", ""))
    assert (
        "needs a [simulator] and, under [run], a budget" in call("submit", str(file), "--tasks", "2").stderr
    )


def test_a_task_is_told_that_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = call("task", str(tmp_path / "file"), "--patience", "0.1")
    assert refused.exit_code == 1
    assert "is no folder that tasks can share: Not a directory" in refused.stderr


def test_a_task_that_has_ended_leaves_signals_as_they_were(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert serve(tmp_path / "folder", patience=0.1) == 0
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_simulator_that_no_task_can_import_ends_the_run(tmp_path: Path) -> None:
    home = tmp_path / "study.db"
    a_study(home, Function("nowhere_to_be_found:simulate", str(tmp_path))).close()
    with pytest.raises(InputError, match="no module 'nowhere_to_be_found'.*said by the task"):
        as_an_array(home, 20)


def test_a_file_changed_by_somebody_else_is_left_alone_and_the_copy_rescued(tmp_path: Path) -> None:
    home = tmp_path / "study.db"
    a_study(home).run(12).close()
    (tmp_path / "elsewhere").mkdir()
    copy = WorkingCopy(home, tmp_path / "elsewhere")
    Study.load(copy.path).run(20).close()
    copy.publish()
    Study.load(copy.path).run(21).close()
    Study.load(home).run(22).close()
    with pytest.raises(StorageError, match="was changed by another process.*study-rescued.db"):
        copy.publish()
    assert Study.load(tmp_path / "study-rescued.db").n_replications == 21
    assert Study.load(home).n_replications == 22


def test_rows_added_to_the_file_meanwhile_reach_the_coordinator(tmp_path: Path) -> None:
    home = tmp_path / "study.db"
    a_study(home).run(12).close()
    (tmp_path / "elsewhere").mkdir()
    copy = WorkingCopy(home, tmp_path / "elsewhere")
    running = Study.load(copy.path)
    running.run(16)
    outside = Study.load(home)
    new = 4
    outside.add_alternatives([new])
    outside.retire(alternative=outside.problem.alternatives.item(0))
    outside.close()
    copy.publish()
    assert running.refresh().problem.alternatives.labels[-1] == new  # one refresh later
    assert len(running.retired["alternatives"]) == 1
    assert running.view().separations.generations.added[0].seen == tuple(
        running.view()._ledger.replications[:-1].max(axis=0).tolist()
    )  # what the coordinator knew by then
    running.run(20).close()
    copy.publish()
    published = Study.load(home)
    assert published.n_replications == 20
    assert published.problem.alternatives.labels[-1] == new


def test_what_stands_beside_the_file_of_a_killed_run_is_taken_along(tmp_path: Path) -> None:
    home = tmp_path / "study.db"
    study = a_study(home).run(12)
    assert (tmp_path / "study.db-wal").stat().st_size  # not in the file itself yet
    for end in ("", "-wal"):
        (tmp_path / f"left.db{end}").write_bytes((tmp_path / f"study.db{end}").read_bytes())
    study.close()
    with taken(str(tmp_path / "left.db")) as copy:
        assert Study.load(copy.path).n_replications == 12
    assert Study.load(tmp_path / "left.db").n_replications == 12


def test_a_file_in_use_or_absent_is_not_taken(tmp_path: Path) -> None:
    home = tmp_path / "study.db"
    with pytest.raises(StorageError, match="cannot be taken over"), taken(str(home)):
        raise AssertionError
    a_study(home).close()
    other = sqlite3.connect(home, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="database is locked"), taken(str(home)):
        raise AssertionError
    other.close()


RECIPE = Recipe({"program": PROGRAM.plain()}, shared_seeds=False, timeout=None)


def test_a_replication_that_ends_every_task_fails(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    with FolderExecutor(tmp_path, "study", RECIPE) as executor:
        future = executor.submit(evaluate, PROGRAM, [(1, 10, 5)])
        for _ in range(FATAL):
            presence = Presence()
            lifeline = Lifeline(presence.name)
            folder.greet(presence.greeting())
            while not (given := list(folder.given(presence.name))):
                time.sleep(0.01)
            folder.greet(presence.greeting(), simulating=given[0][0])
            lifeline.release()  # dead
        [outcome] = future.result(timeout=PATIENCE)
    assert outcome.reason == "5 tasks ended while they simulated it"


def test_a_second_coordinator_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with FolderExecutor(tmp_path, "study", RECIPE) as executor, a_task(tmp_path):
        with pytest.raises(InputError, match="another coordinator.*uses the folder"):
            FolderExecutor(tmp_path, "study", RECIPE)
        [outcome] = executor.submit(evaluate, PROGRAM, [(2, 10, 5)]).result(timeout=PATIENCE)
        executor.shutdown()
    assert outcome.value == 2.1005


def test_a_folder_that_goes_away_ends_the_run_and_no_replication_fails(tmp_path: Path) -> None:
    def publish() -> Any:
        raise OSError("the drive is gone")

    (tmp_path / "jobs" / "a").mkdir(parents=True)
    with FolderExecutor(tmp_path, "study", RECIPE, publish) as executor:
        study = a_study(None)
        Folder(tmp_path).greet(Presence(name="a").greeting())
        with pytest.raises(SimulationError, match="the drive is gone.*kept for the next run"):
            study.run(20, executor=executor, workers=1)
        executor._publish = tuple
    assert not (study.trials()["status"] == "failed").any()
