"""Jobs are commands: a folder or a file that others can write is refused, by tasks and coordinators alike."""

import json
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from array_by_hand import JOB, PROGRAM, RECIPE, VALUE, TaskByHand, a_task, notices
from click.testing import CliRunner
from watching import PATIENCE, eventually

from argbest import Problem, SimulationError, StorageError, Study
from argbest.array.coordinator import FolderExecutor
from argbest.array.folder import Folder
from argbest.array.tasks import serve
from argbest.cli import main
from argbest.simulators.calling import evaluate

FILE = """
alternatives = [2, 3]
contexts = [10, 20]
[simulator]
command = ["echo", "{alternative}", "{context}", "{seed}"]
[run]
budget = 14
"""
pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs users")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "mit Umlaut ä.array"
    Folder(path).make()
    return path


@pytest.fixture
def _open_to_all() -> Iterator[None]:
    usual = os.umask(0)
    try:
        yield
    finally:
        os.umask(usual)


def as_a_task(folder: Path, *, shared: bool = False) -> None:
    serve(folder, patience=0.1, shared=shared)


def as_a_coordinator(folder: Path, *, shared: bool = False) -> None:
    with FolderExecutor(folder, "study", RECIPE, shared=shared):
        pass


@pytest.mark.parametrize("begin", [as_a_task, as_a_coordinator])
@pytest.mark.parametrize("part", ["", "jobs", "results", "tasks"])
def test_a_folder_that_others_can_write_is_refused(
    folder: Path, begin: Callable[..., None], part: str
) -> None:
    (folder / part).chmod(0o777)
    with pytest.raises(
        StorageError, match=r"refused, because other users may write to .*chmod 700.*--shared"
    ):
        begin(folder)
    begin(folder, shared=True)


@pytest.mark.parametrize("begin", [as_a_task, as_a_coordinator])
def test_a_folder_in_one_that_others_can_write_is_refused(
    tmp_path: Path, folder: Path, begin: Callable[..., None]
) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(StorageError, match="refused, because other users may write to"):
        begin(folder)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("begin", [as_a_task, as_a_coordinator])
def test_a_folder_of_another_user_is_refused(folder: Path, begin: Callable[..., None]) -> None:
    os.chown(folder / "jobs", 54321, -1)
    with pytest.raises(StorageError, match="belongs to another user"):
        begin(folder)


@pytest.mark.usefixtures("_open_to_all")
def test_all_that_an_array_makes_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new.array"
    with FolderExecutor(folder, "study", RECIPE) as executor, a_task(folder):
        executor.submit(evaluate, PROGRAM, [JOB]).result(timeout=PATIENCE)
        found = [folder, *folder.rglob("*")]
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in found if path.exists()}
        executor.shutdown()
    assert len(modes) > 5
    assert set(modes.values()) == {0o700, 0o600}


@pytest.mark.usefixtures("_open_to_all")
def test_a_script_is_its_owners_alone_unless_it_is_shared(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(FILE)
    assert CliRunner().invoke(main, ["submit", str(file), "--tasks", "2"]).exit_code == 0
    script = tmp_path / "study.array" / "slurm.sh"
    assert stat.S_IMODE(script.stat().st_mode) == 0o600
    assert "--shared" not in script.read_text()
    (tmp_path / "study.array").chmod(0o777)
    refused = CliRunner().invoke(main, ["submit", str(file), "--tasks", "2"])
    assert refused.exit_code == 1
    assert "--shared" in refused.stderr
    assert CliRunner().invoke(main, ["submit", str(file), "--tasks", "2", "--shared"]).exit_code == 0
    assert script.read_text().count("--shared") == 2


def test_a_file_of_results_that_others_can_write_is_not_used(folder: Path) -> None:
    with FolderExecutor(folder, "study", RECIPE) as executor, notices() as said:
        task = TaskByHand(folder)
        future = executor.submit(evaluate, PROGRAM, [JOB])
        usual = os.umask(0)
        try:
            task.deliver_value(task.job(), 9.9)
        finally:
            os.umask(usual)
        task.deliver_value(task.job())
        assert future.result(timeout=PATIENCE)[0].value == VALUE
    assert len(said) == 1
    assert "other users may write to" in said[0]
    assert "--shared" in said[0]


def test_a_job_that_others_can_write_is_not_run(folder: Path) -> None:
    mark = folder / "it ran"
    with (
        notices() as said,
        FolderExecutor(folder, "study", RECIPE) as executor,
        a_task(folder),
    ):
        inbox = folder / "jobs"
        assert eventually(lambda: bool(list(inbox.iterdir())))
        job = next(inbox.iterdir()) / "evil.json"
        evil = {"program": {"command": ["touch", str(mark)]}}
        part = job.with_suffix(".part")
        part.write_text(json.dumps(vars(RECIPE) | {"simulator": evil, "jobs": {"key": [1, 2, 3]}}))
        part.chmod(0o666)
        part.rename(job)
        assert eventually(lambda: not job.exists())
        executor.shutdown()
    assert "evil.json' cannot be used" in said[0]
    assert "other users may write" in said[0]
    assert not mark.exists()


def test_a_folder_that_is_opened_to_others_during_a_run_ends_it(tmp_path: Path) -> None:
    study = Study(Problem([1, 2], [10], PROGRAM), policy="equal", model="independent")
    with FolderExecutor(tmp_path, "study", RECIPE) as executor:
        task = TaskByHand(tmp_path)
        (tmp_path / "results").chmod(0o777)

        def deliver() -> None:
            task.deliver_value(task.job())

        threading.Thread(target=deliver).start()
        with pytest.raises(SimulationError, match="other users may write to .*results.*--shared"):
            study.run(20, executor=executor, workers=1)
    assert not (study.trials()["status"] == "failed").any()
