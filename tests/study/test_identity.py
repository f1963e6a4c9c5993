"""Who is alive: known for certain on one machine, by silence alone from another; never by host and number."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from study.conftest import problem, simulate
from watching import eventually

from argbest import Study
from argbest.study import workers
from argbest.study.journal import Request
from argbest.study.workers import Patience, Presence, Watch, alive

HOLDS = """
import sys, time
from argbest.study.workers import Presence
presence = Presence()
from argbest.study.workers import Lifeline
line = Lifeline(presence.name)
print(presence.name, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of its own: what is local to it lies in this folder."""
    folder = tmp_path / "machine"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def go_to_another_machine(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))


def test_every_worker_has_a_name_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "localhost")
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert len({Presence().name for _ in range(1000)}) == 1000
    assert Presence().name.startswith("localhost-1-")


def test_a_live_worker_of_a_machine_with_the_same_name_and_numbers_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both machines are called localhost, and here no process has the number that the worker has there."""
    monkeypatch.setattr(socket, "gethostname", lambda: "localhost")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    there = Study(problem(), initial=1, storage=tmp_path / "study.db")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "getpid", lambda: gone.pid)
        worker = Presence()
        there._journal.storage.greet(worker.greeting())
        [trial] = there._journal.ask(Request(1, worker.name))
    go_to_another_machine(monkeypatch, tmp_path / "here")
    here = Study.load(tmp_path / "study.db", simulate=simulate)
    seen = here._journal.workers()[0]
    assert alive(seen)
    assert not Watch().dead(seen)
    monkeypatch.setattr(workers, "SILENCE", 3.0)
    began = time.monotonic()
    here.run(12)  # finishes what it can, and waits for the silence of the other
    assert time.monotonic() - began >= 3.0
    assert here.n_replications == 12
    assert trial.id in here.observations()["trial"].tolist()


def test_a_worker_of_this_machine_that_ended_is_known_at_once(tmp_path: Path, machine: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(machine)},
    )
    assert process.stdout is not None
    name = process.stdout.readline().strip()
    assert not workers.ended(name)
    process.kill()
    process.wait()
    assert eventually(lambda: workers.ended(name))
    process.stdout.close()


def test_two_runs_in_one_process_know_of_each_other_s_life(tmp_path: Path) -> None:
    one = workers.Lifeline("host-1-abc")
    assert not workers.ended("host-1-abc")
    one.release()
    one.release()
    assert workers.ended("host-1-abc")
    assert not workers.ended("host-1-def")  # never heard of


def test_a_folder_shared_by_machines_proves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    line = workers.Lifeline("host-1-abc")
    line.release()
    assert workers.ended("host-1-abc")
    boot = tmp_path / "boot_id"
    boot.write_text("another-machine-or-another-boot\n")
    monkeypatch.setattr(workers, "_BOOT", boot)
    assert not workers.ended("host-1-abc")


def test_a_folder_that_others_can_write_to_is_not_believed(machine: Path) -> None:
    workers.Lifeline("host-1-abc").release()
    [folder] = machine.iterdir()
    folder.chmod(0o777)
    assert not workers.ended("host-1-abc")
    folder.chmod(0o700)
    assert workers.ended("host-1-abc")
    real = folder.rename(machine / "elsewhere")
    folder.symlink_to(real)
    assert not workers.ended("host-1-abc")


def test_a_name_cannot_lead_out_of_the_folder(machine: Path) -> None:
    workers.Lifeline("host-1-../../escaped").release()
    assert [path.name.rpartition("-")[2] for path in next(machine.iterdir()).iterdir()] == ["escaped"]


def test_files_of_workers_that_ended_long_ago_are_removed(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("old", "held"):
        line = workers.Lifeline(f"host-1-{name}")
        if name == "old":
            line.release()
    [folder] = machine.iterdir()
    for path in folder.iterdir():
        os.utime(path, (0, 0))
    monkeypatch.setattr(workers, "_SELDOM", 1)
    workers.Lifeline("host-1-new").release()
    assert {path.name.rpartition("-")[2] for path in folder.iterdir()} == {"held", "new"}


def test_a_machine_without_room_for_lifelines_goes_by_silence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    workers.Lifeline("host-1-abc").release()
    assert not workers.ended("host-1-abc")
    monkeypatch.setattr(workers, "fcntl", None)
    workers.Lifeline("host-1-abc").release()
    assert not workers.ended("host-1-abc")


def test_a_run_that_ended_is_known_to_have_ended(tmp_path: Path) -> None:
    study = Study(problem(), initial=1, storage=tmp_path / "study.db").run(12)
    [worker] = study._journal.workers()
    assert workers.ended(worker.name)
    assert not alive(worker)
    with Presence().announced(study._journal.storage.greet, Patience()):
        assert sum(map(alive, study._journal.workers())) == 1
