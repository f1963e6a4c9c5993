"""Presence: how workers of a stored study know which of them are alive."""

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from argbest.errors import StorageError
from argbest.storage.base import Storage, Worker

BEAT = 5.0  # seconds between signs of life
SILENCE = 60.0  # seconds without one after which a worker counts as dead


@dataclass
class Presence:
    """What a worker says of itself; ``busy`` grows as simulations end."""

    slots: int = 1
    name: str = field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}")
    started: float = field(default_factory=time.time)
    busy: float = 0.0

    def greeting(self) -> Worker:
        """Return the sign of life of this moment."""
        return Worker(self.name, place(), os.getpid(), self.started, time.time(), self.slots, self.busy)

    @contextmanager
    def shown(self, storage: Storage) -> Iterator[None]:
        """Give a sign of life now, every BEAT seconds, and at the end."""
        storage.greet(self.greeting())
        over = threading.Event()

        def go_on() -> None:
            while not over.wait(BEAT):
                with suppress(StorageError):  # the next one may get through
                    storage.greet(self.greeting())

        thread = threading.Thread(target=go_on, name="argbest presence", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            with suppress(StorageError):
                storage.greet(self.greeting())


class Watch:
    """Who has given no sign of life for too long, by the watcher's own clock: others' clocks may differ."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, float]] = {}  # what was seen, and since when

    def dead(self, worker: Worker) -> bool:
        """Return whether a worker is gone: its process ended here, or it has been silent since we look."""
        if worker.host == place() and not _running(worker.process):
            return True
        now = time.monotonic()
        seen, since = self._last.get(worker.name, (worker.seen, now))
        if seen != worker.seen:
            seen, since = worker.seen, now
        self._last[worker.name] = seen, since
        return now - since >= SILENCE


def place() -> str:
    """Return where process numbers mean what they mean here: the host, and on Linux its namespace."""
    try:
        return f"{socket.gethostname()}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return socket.gethostname()


def alive(worker: Worker, now: float | None = None) -> bool:
    """Return whether a worker seems to be there, as far as clocks agree."""
    if worker.host == place() and not _running(worker.process):
        return False
    return (time.time() if now is None else now) - worker.seen < SILENCE


def _running(process: int) -> bool:
    if os.name != "posix":  # there, asking would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
