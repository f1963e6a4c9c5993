"""Many processes at one study, and processes that die: nothing is lost, doubled or left half done."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np
from storage import writers
from storage.conftest import Opened

from argbest.storage.base import Asked, Event

WORKERS, TURNS, DEATHS = 32, 8, 50

# Children are forked from a process that has imported what they need and has no threads.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["argbest.storage.sql", "sqlalchemy.dialects.sqlite", "psycopg", "pytest"])


def started(work: Callable[..., None], *arguments: object) -> tuple[BaseProcess, Connection]:
    """Return a child at work, and the end of a pipe on which it tells what was acknowledged."""
    here, there = PROCESSES.Pipe(duplex=False)
    child = PROCESSES.Process(target=work, args=(*arguments, there), daemon=True)
    child.start()
    there.close()
    return child, here


def rest(pipe: Connection) -> list[Any]:
    """Return all that a child said and nobody has read."""
    said = []
    while True:
        try:
            said.append(pipe.recv())
        except EOFError:
            return said


def whole_transactions(events: list[Event], worker: str | None = None) -> None:
    """Check that the events are transactions in their order, each whole."""
    assert len(events) % 2 == 0
    for trial, asked in enumerate(events[::2]):
        assert isinstance(asked, Asked)
        assert events[2 * trial : 2 * trial + 2] == writers.pair(trial, worker or asked.worker)


def killed(child: BaseProcess) -> None:
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert child.exitcode == -signal.SIGKILL


def test_32_processes_lose_and_double_nothing(url: str, opened: Opened) -> None:
    storage = opened(url)
    storage.create({})
    crowd = [started(writers.take_part, url, f"w{i}", TURNS) for i in range(WORKERS)]
    said = [rest(pipe) for _, pipe in crowd]
    for child, _ in crowd:
        child.join()
        assert child.exitcode == 0
    events = list(storage.since(0))
    whole_transactions(events)
    assert sorted(trial for each in said for trial in each) == list(range(WORKERS * TURNS))
    owners = {event.trial: event.worker for event in events if isinstance(event, Asked)}
    assert all(owners[trial] == f"w{i}" for i, each in enumerate(said) for trial in each)


def test_a_process_killed_in_the_middle_of_a_transaction_leaves_nothing(url: str, opened: Opened) -> None:
    storage = opened(url)
    storage.create({})
    with storage.exclusive() as log:
        log.append(writers.pair(0, "before"))
    child, pipe = started(writers.stop_in_the_middle, url)
    assert pipe.recv() == -1  # its rows are written
    assert list(storage.since(0)) == writers.pair(0, "before")
    killed(child)
    with storage.exclusive() as log:  # nobody waits for the dead: that would end in an error
        assert list(log.since(0)) == writers.pair(0, "before")
        log.append(writers.pair(1, "after"))
    assert list(storage.since(2)) == writers.pair(1, "after")


def test_a_process_killed_at_any_moment_loses_nothing_acknowledged(url: str, opened: Opened) -> None:
    storage = opened(url)
    storage.create({})
    moments = np.random.default_rng(1)
    acknowledged: list[int] = []
    for _ in range(DEATHS):
        child, pipe = started(writers.write_until_killed, url)
        acknowledged.append(pipe.recv())
        time.sleep(moments.uniform(0.0, 0.02))
        killed(child)
        acknowledged += rest(pipe)
    events = list(storage.since(0))
    whole_transactions(events, "mortal")
    assert sorted(set(acknowledged)) == sorted(acknowledged)
    there = {event.trial for event in events if isinstance(event, Asked)}
    assert there.issuperset(acknowledged)
    assert len(there) - len(acknowledged) <= DEATHS  # committed, and killed before it could say so


def test_a_forked_process_opens_connections_of_its_own(url: str, opened: Opened) -> None:
    storage = opened(url)
    storage.create({})
    with storage.exclusive() as log:
        log.append(writers.pair(0, "parent"))
    child = PROCESSES.Process(target=writers.fork_and_write, args=(url,))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert [event.worker for event in storage.since(2) if isinstance(event, Asked)] == ["parent", "child"] * 2
