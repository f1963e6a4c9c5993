"""Outages of real databases under a running study: waited out, nothing lost, nothing told twice."""

import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import postgres as servers
import pytest
from postgres import Server
from robustness.commands import ENVIRONMENT, argbest, study_file
from robustness.wire import wired
from watching import PATIENCE, eventually

from argbest import Problem, StorageError, Study
from argbest.errors import OutageNotice
from argbest.storage import place as places
from argbest.study import workers

pytestmark = pytest.mark.filterwarnings("always::argbest.errors.OutageNotice")

TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'argbest'"
BUDGET = 40


@pytest.fixture(scope="module")
def own_server(postgres: Server) -> Iterator[Server]:
    """A server that may be stopped: nobody else uses it."""
    with servers.running(postgres.programs) as server:
        yield server


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PAUSES", (0.1, 0.2, 0.3) + (0.5,) * int(2 * PATIENCE))


def value(alternative: str, context: int, seed: int) -> float:
    return len(alternative) * context + seed % 1000 / 500


class Eventful:
    """A simulator in the course of which things happen to the storage, at the n-th simulation."""

    def __init__(self, happening: Callable[[], object], *at: int) -> None:
        self.seeds: list[int] = []
        self._happening, self._at = happening, at

    def __call__(self, alternative: str, context: int, seed: int) -> float:
        self.seeds.append(seed)
        if len(self.seeds) in self._at:
            self._happening()
        return value(alternative, context, seed)


def new_study(simulate: Callable[..., float], storage: str | Path) -> Study:
    """Return a study whose trials are told apart by their seeds."""
    problem = Problem(["x", "yy", "zzz"], [1, 2], simulate)
    return Study(problem, policy="equal", initial=1, common_random_numbers=False, storage=storage)


def said(caught: pytest.WarningsRecorder) -> list[str]:
    return [str(each.message) for each in caught if each.category is OutageNotice]


def once_it_is_waited_for(action: Callable[[], object], caught: pytest.WarningsRecorder) -> None:
    """Act in a thread when the next outage has been announced: on a busy machine that may take its time."""
    before = len(said(caught))

    def act() -> None:
        eventually(lambda: len(said(caught)) > before)
        action()

    threading.Thread(target=act).start()


def assert_whole(study: Study, seeds: list[int], storage: str | Path) -> None:
    """Check that all that was simulated was told, once, and that what is stored says the same."""
    assert study.n_replications == BUDGET
    assert study.observations()["seed"].tolist() == seeds
    assert len(set(seeds)) == BUDGET
    assert set(study.trials()["status"]) == {"told"}
    kept = Study.load(storage)
    assert kept.observations()["seed"].tolist() == seeds
    kept.close()
    study.close()


@pytest.mark.parametrize("mode", ["fast", "immediate", "kill"])
@pytest.mark.fast_cases("kill")
def test_a_server_that_is_stopped_and_started_again_is_waited_for(mode: str, own_server: Server) -> None:
    def stop() -> None:
        own_server.stop(mode)
        once_it_is_waited_for(own_server.start, caught)

    storage = own_server.new_database()
    simulate = Eventful(stop, 7, 23)
    study = new_study(simulate, storage)
    with pytest.warns(OutageNotice) as caught:
        study.run(BUDGET)
    begin, end, *_ = said(caught)
    assert "cannot be reached; waiting for up to" in begin
    assert "can be reached again, after" in end
    assert len(said(caught)) == 4
    assert_whole(study, simulate.seeds, storage)


def test_a_server_killed_again_and_again_at_any_moment_loses_nothing(own_server: Server) -> None:
    """The killer does not know what the run is doing: deciding, writing, committing or waiting.

    It lets a few simulations pass each time: a busy machine might otherwise never get to any.
    """
    storage, over = own_server.new_database(), threading.Event()
    moments = np.random.default_rng(1)

    def slow(alternative: str, context: int, seed: int) -> float:
        simulate.seeds.append(seed)
        time.sleep(0.05)
        return value(alternative, context, seed)

    def kill() -> None:
        seen = [0]
        while eventually(lambda: over.is_set() or len(simulate.seeds) > seen[0] + 4) and not over.is_set():
            time.sleep(moments.uniform(0.0, 0.1))
            own_server.stop("kill")
            time.sleep(0.1)
            own_server.start()
            seen[0] = len(simulate.seeds)

    simulate = Eventful(lambda: None)
    study = new_study(slow, storage)
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with pytest.warns(OutageNotice):
            study.run(BUDGET)
    finally:
        over.set()
        killer.join()
    assert_whole(study, simulate.seeds, storage)


def test_a_connection_that_is_terminated_is_made_anew(postgres: Server) -> None:
    storage = postgres.new_database()
    simulate = Eventful(lambda: postgres.run(TERMINATE), *range(3, BUDGET, 3))
    study = new_study(simulate, storage).run(BUDGET)
    assert_whole(study, simulate.seeds, storage)


@pytest.mark.parametrize("cuts", [1, 2])
@pytest.mark.parametrize("spared", [0, 1])
def test_a_commit_whose_acknowledgement_was_lost_is_found_and_not_repeated(
    spared: int, cuts: int, postgres: Server
) -> None:
    """The next commit tells a value, the one after it asks for a trial."""
    storage = postgres.new_database()
    with wired(postgres.folder) as wire:

        def cut() -> None:
            wire.spared, wire.cuts = spared, cuts

        simulate = Eventful(cut, 3, 11, 30)
        study = new_study(simulate, storage.replace(str(postgres.folder), str(wire.folder)))
        with pytest.warns(OutageNotice) as caught:
            study.run(BUDGET)
        assert len(said(caught)) == 6
        assert wire.done == 3 * cuts
        assert_whole(study, simulate.seeds, storage)


def locked_until(released: Callable[[], object], path: Path) -> None:
    """Hold the lock of a file until a call returns, as another program would."""
    ready = threading.Event()

    def hold() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            ready.set()
            released()
            other.execute("ROLLBACK")

    threading.Thread(target=hold).start()
    assert ready.wait(30)


def test_a_locked_file_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "WAIT", 0.5)
    path = tmp_path / "study.db"
    simulate = Eventful(lambda: locked_until(lambda: eventually(lambda: bool(said(caught))), path), 9)
    study = new_study(simulate, path)
    with pytest.warns(OutageNotice) as caught:
        study.run(BUDGET)
    assert "is held by another process" in said(caught)[0]
    assert len(said(caught)) == 2
    assert_whole(study, simulate.seeds, path)


@pytest.mark.slow
def test_a_file_locked_for_eighty_seconds_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    path = tmp_path / "study.db"
    simulate = Eventful(lambda: locked_until(lambda: time.sleep(80.0), path), 9)
    study = new_study(simulate, path)
    with pytest.warns(OutageNotice) as caught:
        study.run(BUDGET)
    assert "is held by another process for more than 60 seconds; waiting" in said(caught)[0]
    assert_whole(study, simulate.seeds, path)


def asked(path: Path) -> int:
    try:
        study = Study.load(path)
    except StorageError:  # not there yet
        return 0
    study.close()
    return len(study.trials())


def test_ctrl_c_is_heeded_while_a_file_is_locked(tmp_path: Path) -> None:
    file = study_file(
        tmp_path, command=["/bin/sh", "-c", "sleep 0.1; echo 1", "{alternative}{context}{seed}"]
    )
    path = file.with_suffix(".db")
    with subprocess.Popen(
        argbest("run", file, "--quiet", "--budget", 500), stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert eventually(lambda: asked(path) > 3)
        released = threading.Event()
        locked_until(released.wait, path)
        try:
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)  # at the first one, the value in hand is tried once more
            process.wait(timeout=0.7 * sum(workers.PAUSES))  # the file stays locked: it would wait longer
        finally:
            released.set()


@pytest.mark.parametrize("how", ["empty", "half", "other", "removed"])
def test_a_file_truncated_or_replaced_ends_the_run_with_a_sentence_that_says_so(
    how: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.db"
    new_study(value, tmp_path / "other.db").run(10)

    def harm() -> None:
        if how == "removed":
            path.unlink()
        elif how == "other":
            os.replace(tmp_path / "other.db", path)
        else:
            os.truncate(path, 0 if how == "empty" else path.stat().st_size // 2)

    study = new_study(Eventful(harm, 9), path)
    with pytest.raises(
        StorageError, match="was removed, replaced or cut short while it was in use"
    ) as caught:
        study.run(BUDGET)
    assert "\n" not in str(caught.value)
    assert "1 simulated value could not be delivered" in str(caught.value)
    shutil.rmtree(tmp_path)
