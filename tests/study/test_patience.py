"""Storages out of reach: every operation of a run is waited for, done once, and nothing simulated is lost."""

import json
import re
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from study.conftest import assert_same_frames, problem, simulate

from argbest import StorageError, Study
from argbest.cli import main
from argbest.errors import OutageNotice
from argbest.storage.base import Event, Log, Worker
from argbest.storage.sql import SQLStorage
from argbest.study import workers
from argbest.study.journal import Request

BEGIN = r"^\d\d:\d\d:\d\d the wire is cut; waiting for up to 0.06 seconds. Nothing is lost.$"
END = r"^\d\d:\d\d:\d\d the storage can be reached again, after 0 seconds.$"
OPERATIONS = ("since", "exclusive", "log.since", "append", "commit", "acknowledge", "greet", "workers")


def cut(transient: bool = True) -> StorageError:
    error = StorageError("the wire is cut. Mend it.")
    error.transient, error.brief = transient, "the wire is cut"
    return error


class Shaky(SQLStorage):
    """A storage that fails when told to, in any part of what it does."""

    fails: Callable[[str], bool] = staticmethod(lambda _: False)

    def _may_fail(self, operation: str) -> None:
        if self.fails(operation):
            raise cut()

    def since(self, revision: int) -> Sequence[Event]:
        self._may_fail("since")
        return super().since(revision)

    def greet(self, worker: Worker) -> None:
        if threading.current_thread() is threading.main_thread():
            self._may_fail("greet")
        super().greet(worker)

    def workers(self) -> Sequence[Worker]:
        self._may_fail("workers")
        return super().workers()

    @contextmanager
    def exclusive(self) -> Iterator[Any]:
        self._may_fail("exclusive")
        with super().exclusive() as log:
            yield _ShakyLog(log, self._may_fail)
            self._may_fail("commit")
        self._may_fail("acknowledge")


class _ShakyLog:
    def __init__(self, log: Log, may_fail: Callable[[str], None]) -> None:
        self._log, self._may_fail = log, may_fail

    def since(self, revision: int) -> Sequence[Event]:
        self._may_fail("log.since")
        return self._log.since(revision)

    def append(self, events: Sequence[Event]) -> None:
        self._log.append(events)
        self._may_fail("append")


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PAUSES", (0.01, 0.02, 0.03))


ORDINARY = workers.PAUSES


def failing(operation: str, *, every: int, times: int) -> Callable[[str], bool]:
    """Return what makes the first call of an operation and every so many after it fail, so often in a row."""
    calls = [0]

    def fails(now: str) -> bool:
        calls[0] += now == operation
        return now == operation and (calls[0] - 1) % every < times

    return fails


@pytest.mark.filterwarnings("always::argbest.errors.OutageNotice")
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("every", "times"), [(7, 1), (11, 3)])
def test_every_operation_is_waited_for_and_done_once(
    operation: str, every: int, times: int, tmp_path: Path
) -> None:
    storage = Shaky(tmp_path / "study.db")
    study = Study(problem(), initial=1, storage=storage)
    study._journal.ask(Request(1, "somebody else who is gone"))
    storage.fails = failing(operation, every=every, times=times)
    with pytest.warns(OutageNotice) as caught:
        study.run(40)
    lines = [str(each.message) for each in caught if each.category is OutageNotice]
    assert len(lines) % 2 == 0
    assert all("the wire is cut" in line for line in lines[::2])
    assert all("can be reached again" in line for line in lines[1::2])
    storage.fails = lambda _: False
    assert_same_frames(study, Study(problem(), initial=1).run(40))
    assert_same_frames(Study.load(tmp_path / "study.db", simulate=simulate), study)
    assert set(study.trials()["status"]) == {"told"}


@pytest.mark.filterwarnings("always::argbest.errors.OutageNotice")
def test_an_outage_is_one_line_when_it_begins_and_one_when_it_ends(tmp_path: Path) -> None:
    storage = Shaky(tmp_path / "study.db")
    study = Study(problem(), initial=1, storage=storage)
    storage.fails = failing("append", every=1000, times=3)
    with pytest.warns(OutageNotice) as caught:
        study.run(12)
    begin, end = (str(each.message) for each in caught if each.category is OutageNotice)
    assert re.match(BEGIN, begin)
    assert re.match(END, end)


def test_patience_lasts_for_three_minutes() -> None:
    assert 150 < sum(ORDINARY) < 250


@pytest.mark.filterwarnings("always::argbest.errors.OutageNotice")
def test_what_is_no_outage_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Shaky(tmp_path / "study.db")
    study = Study(problem(), initial=1, storage=storage)
    monkeypatch.setattr(workers, "PAUSES", (1000.0,))
    monkeypatch.setattr(Shaky, "_may_fail", lambda _, operation: _refuse(operation == "append"))
    with pytest.raises(StorageError, match="the wire is cut"):
        study.run(12)


def _refuse(now: bool) -> None:
    if now:
        raise cut(transient=False)


class Doom:
    """A simulator, and a storage that is out of reach for good from its n-th simulation on.

    A transaction that was committed is also acknowledged: other threads may simulate in between.
    """

    def __init__(self, folder: Path, n: int) -> None:
        self.made: list[int] = []
        storage = Shaky(folder / "study.db")
        self.study = Study(problem(self.simulate), initial=1, storage=storage)
        storage.fails = lambda operation: operation != "acknowledge" and len(self.made) >= n

    def simulate(self, alternative: str, context: int, seed: int) -> float:
        self.made.append(seed)
        time.sleep(0.01)
        return simulate(alternative, context, seed)


def left_behind(folder: Path, message: str) -> list[str]:
    """Return the words of the command that delivers what was left in a folder, after a look at the file."""
    [file] = folder.glob("undelivered-*.jsonl")
    assert file.stat().st_mode & 0o777 == 0o600
    assert str(file) in message
    words = shlex.split(message.partition("To deliver them later: ")[2])
    assert words == ["argbest", "tell", str(folder / "study.db"), "--file", str(file)]
    return words[1:]


@pytest.mark.filterwarnings("always::argbest.errors.OutageNotice")
@pytest.mark.parametrize(("n", "slots"), [(6, 1), (40, 1), (17, 4)])
def test_what_could_not_be_delivered_is_delivered_later_by_one_command(
    n: int, slots: int, tmp_path: Path
) -> None:
    """With n = 40 it is the very last value of the run."""
    doom = Doom(tmp_path, n)
    with ThreadPoolExecutor(slots) as threads, pytest.raises(StorageError, match="could not be") as caught:
        doom.study.run(40, executor=threads)
    command = left_behind(tmp_path, str(caught.value))
    left = len(doom.made) - doom.study.n_replications
    assert left >= 1
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 0, told.output
    statuses = [json.loads(line)["status"] for line in told.stdout.splitlines()]
    assert statuses == ["told"] * left
    kept = Study.load(tmp_path / "study.db", simulate=simulate)
    assert sorted(kept.observations()["seed"]) == sorted(doom.made)  # nothing that was simulated is lost
    again = CliRunner().invoke(main, command)
    assert again.exit_code == 0, again.output
    assert [json.loads(line)["status"] for line in again.stdout.splitlines()] == [
        "told already, skipped"
    ] * left
    assert kept.refresh().n_replications == len(doom.made)
    kept.run(40)
    assert set(kept.trials()["status"]) == {"told"}
    if slots == 1:
        assert_same_frames(kept, Study(problem(), initial=1).run(40))


@pytest.mark.filterwarnings("always::argbest.errors.OutageNotice")
def test_ctrl_c_ends_the_waiting_at_once_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doom, really = Doom(tmp_path, 6), time.sleep
    monkeypatch.setattr(workers, "PAUSES", (1000.0,) * 9)
    monkeypatch.setattr(
        time, "sleep", lambda pause: really(pause) if pause < 1000 else signal.raise_signal(signal.SIGINT)
    )
    with pytest.warns(OutageNotice) as caught, pytest.raises(KeyboardInterrupt, match="^$"):
        doom.study.run(40)
    left = left_behind(tmp_path, str(caught[-1].message))
    assert CliRunner().invoke(main, left).exit_code == 0
    assert Study.load(tmp_path / "study.db").n_replications == 6


@pytest.mark.filterwarnings("always::argbest.errors.OutageNotice")
def test_where_no_file_can_be_written_the_values_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = tmp_path / "nowhere"
    monkeypatch.setattr(workers, "_folders", lambda _: [nowhere])
    with pytest.raises(StorageError, match=r'nor written to a file. They are: \{"trial": 5, "values": \['):
        Doom(tmp_path, 6).study.run(40)


def test_lines_of_a_file_that_cannot_be_taken_are_named(tmp_path: Path) -> None:
    study = Study(problem(), initial=1, storage=tmp_path / "study.db")
    study.tell(study.ask()[0], 1.0)
    (tmp_path / "lines").write_text('{"trial": 0, "value": 1.0}\n{"trial": 9, "value": 1.0}\nrubbish\n')
    done = CliRunner().invoke(main, ["tell", str(tmp_path / "study.db"), "--file", str(tmp_path / "lines")])
    assert done.exit_code == 1
    assert json.loads(done.stdout) == {"trial": 0, "status": "told already, skipped"}
    assert "line 2: unknown trial 9" in done.stderr
    assert "line 3: not JSON" in done.stderr
