"""What other processes do to a stored study; imported by them, so it asks for little."""

import os
import time
from multiprocessing.connection import Connection

from argbest.storage.base import Asked, Event, Told
from argbest.storage.sql import SQLStorage


def pair(trial: int, worker: str) -> list[Event]:
    """Return the two events of one transaction."""
    return [
        Asked(trial, trial % 3, trial % 5, 0, trial, False, worker, 1.0),
        Told(trial, 2, trial / 7, 0.5, (trial / 7 - 0.5, trial / 7 + 0.5), 0.01, 2.0),
    ]


def filled(storage: SQLStorage, n: int = 3) -> SQLStorage:
    """Return the storage with a study of n trials."""
    storage.create({"goal": "max"})
    for trial in range(n):
        with storage.exclusive() as log:
            log.append(pair(trial, "w"))
    return storage


def take_part(url: str, worker: str, turns: int, acknowledged: Connection) -> None:
    """Add the next trial so many times, each time after reading what others added."""
    storage = SQLStorage(url)
    seen = 0
    for _ in range(turns):
        seen += len(storage.since(seen))
        with storage.exclusive() as log:
            seen += len(log.since(seen))
            log.append(pair(seen // 2, worker))
        acknowledged.send(seen // 2)
        seen += 2
    storage.close()


def write_until_killed(url: str, acknowledged: Connection) -> None:
    """Commit one transaction after another, and say so after each."""
    take_part(url, "mortal", 1_000_000, acknowledged)


def stop_in_the_middle(url: str, acknowledged: Connection) -> None:
    """Write rows, say so, and hold the transaction open."""
    with SQLStorage(url).exclusive() as log:
        log.append(pair(len(log.since(0)) // 2, "mortal"))
        acknowledged.send(-1)
        time.sleep(600)


def fork_and_write(url: str) -> None:
    """Use one object before and after a fork, in the parent and in the child in turn."""
    storage = SQLStorage(url)
    for trial in (1, 3):
        with storage.exclusive() as log:
            log.append(pair(trial, "parent"))
        inherited = storage._way.own.engine
        child = os.fork()
        if child == 0:
            with storage.exclusive() as log:
                log.append(pair(trial + 1, "child"))
            storage.close()
            os._exit(int(storage._way.own.engine is inherited))
        assert os.waitpid(child, 0)[1] == 0
    storage.close()
