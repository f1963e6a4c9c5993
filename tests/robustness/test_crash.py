"""Killed at any moment: no value told is lost or there twice, and the study goes on as if it had lived."""

import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from robustness.conftest import assert_nothing_lost, assert_same_study, mortal
from robustness.mortal import POINTS, SEED, Logged, problem, value

from argbest import Study
from argbest.storage.base import Event, Refit, Told
from argbest.storage.sql import SQLStorage
from argbest.study import journal, ledger, runner, workers


def uninterrupted(budget: int) -> Study:
    return Study(problem(value), initial=1, seed=SEED).run(budget)


@pytest.mark.parametrize("kills", [25, pytest.param(200, marks=pytest.mark.slow)])
def test_a_study_killed_again_and_again_is_the_one_that_was_never_killed(kills: int, tmp_path: Path) -> None:
    found = mortal("crash", tmp_path, kills)
    assert found["killed"] == kills
    assert found["exit"] == 0, found["said"]
    assert found["lost"] == []
    assert 0 < found["before a value"] < kills  # some died while they loaded, some while they worked
    study = Study.load(tmp_path / "study.db")
    assert_nothing_lost(study, tmp_path / "log", found["budget"])
    assert_same_study(study, uninterrupted(found["budget"]))


def test_killed_in_the_middle_of_a_write_all_of_it_is_there_or_nothing(tmp_path: Path) -> None:
    found = mortal("in a write", tmp_path)
    for point, told in zip(POINTS, (19, 19, 20), strict=True):
        assert found[point] == [signal.SIGKILL, told]
        folder = tmp_path / point
        study = Study.load(folder / "study.db", simulate=Logged(folder / "log")).run(40)
        assert_nothing_lost(study, folder / "log", 40)
        assert_same_study(study, uninterrupted(40))


def test_a_write_torn_at_any_byte_leaves_whole_transactions(tmp_path: Path) -> None:
    """The file of the last changes is cut off where a write may have stopped."""
    file, changes = tmp_path / "study.db", tmp_path / "study.db-wal"
    study = Study(problem(value), initial=1, storage=file).run(30)
    content, events = changes.read_bytes(), list(SQLStorage(file).since(0))
    draw, kept = np.random.default_rng(1), []
    for i in range(40):
        copy = tmp_path / f"copy{i}.db"
        shutil.copy(file, copy)
        Path(f"{copy}-wal").write_bytes(content[: draw.integers(len(content))])
        storage = SQLStorage(copy)
        kept.append([] if storage.definition() is None else list(storage.since(0)))
        storage.close()
    assert len({len(each) for each in kept}) > 10
    for each in kept:
        assert timeless(each) == timeless(events[: len(each)])
    assert study.n_replications == sum(isinstance(event, Told) for event in events)


def timeless(events: list[Event]) -> list[Event]:
    """Return events without what a later refit takes away from an earlier one."""
    return [replace(event, params=None) if isinstance(event, Refit) else event for event in events]


class Interruption:
    """Ctrl-C before the n-th line that is run of some modules; it comes once."""

    def __init__(self, lines: int, *modules: Any) -> None:
        self.left, self.files = lines, {module.__file__ for module in modules}

    def __enter__(self) -> "Interruption":
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename in self.files else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line


@pytest.mark.parametrize("every", [61, pytest.param(5, marks=pytest.mark.slow)])
def test_an_interruption_between_any_two_lines_loses_nothing(
    every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the study that was interrupted, and with one loaded anew, it goes on as if it had not been."""
    monkeypatch.setattr(workers, "SILENCE", 0.0)  # this process lives on; its trials are free all the same
    base = tmp_path / "base.db"
    storage = SQLStorage(base)
    Study(problem(value), initial=1, seed=SEED, storage=storage).run(20)
    storage.close()  # all is in one file now
    whole = uninterrupted(26)
    interrupted = 0
    for i, lines in enumerate(range(1, 900, every)):
        file = tmp_path / f"{lines}.db"
        shutil.copy(base, file)
        study = Study.load(file, simulate=value)
        try:
            with Interruption(lines, journal, ledger, runner):
                study.run(22)
        except KeyboardInterrupt:
            interrupted += 1
        loaded = Study.load(file, simulate=value)
        assert_same_study(study.refresh(), loaded)
        assert_same_study((study if i % 2 else loaded).run(26), whole)
    assert interrupted > 400 / every
