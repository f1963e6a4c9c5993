"""Presence: how workers of a stored study know which of them are alive."""

import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from argbest.errors import StorageError
from argbest.storage.base import Worker
from argbest.study.lifeline import Lifeline, ended
from argbest.study.patience import Patience

BEAT = 5.0  # seconds between signs of life
_FAREWELL = 1.0  # seconds for a sign of life that is under way when a run ends
SILENCE = 60.0  # seconds without one after which a worker counts as dead


class Register(Protocol):
    """Where signs of life are kept, a storage for example."""

    def greet(self, worker: Worker) -> None:
        """Keep what a worker says of itself, in place of what it said before."""


def _name() -> str:
    """Return a name that nobody else has: other machines may share our host name and process number."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(6)}"


@dataclass
class Presence:
    """What a worker says of itself; ``busy`` grows as simulations end."""

    slots: int = 1
    name: str = field(default_factory=_name)
    started: float = field(default_factory=time.time)
    busy: float = 0.0

    def greeting(self) -> Worker:
        """Return the sign of life of this moment."""
        host = socket.gethostname()
        return Worker(self.name, host, os.getpid(), self.started, time.time(), self.slots, self.busy)

    @contextmanager
    def shown(self, storage: Register, patience: Patience) -> Iterator[None]:
        """Give a sign of life now, every BEAT seconds, and at the end."""
        lifeline, over = Lifeline(self.name), threading.Event()

        def greet() -> None:
            try:
                storage.greet(self.greeting())
            except StorageError as error:  # the next one may get through
                patience.note(error)

        def go_on() -> None:
            while not over.wait(BEAT):
                greet()

        thread = threading.Thread(target=go_on, name="argbest presence", daemon=True)
        try:
            patience(lambda: storage.greet(self.greeting()))
            thread.start()
            yield
        finally:
            over.set()
            if thread.ident is not None:
                thread.join(_FAREWELL)
            if not patience.in_vain:
                greet()
            lifeline.let_go()


class Watch:
    """Who has given no sign of life for too long, by the watcher's own clock: others' clocks may differ."""

    def __init__(self, silence: float = SILENCE) -> None:
        self._silence = silence
        self._last: dict[str, tuple[float, float]] = {}  # what was seen, and since when

    def dead(self, worker: Worker, *, deaf: float = -math.inf) -> bool:
        """Return whether a worker is gone: its process has ended, or it has been silent since we look.

        What was silent while we were ``deaf``, up to that moment, may have called in vain.
        """
        if ended(worker.name):
            return True
        now = time.monotonic()
        seen, since = self._last.get(worker.name, (worker.seen, now))
        if seen != worker.seen:
            seen, since = worker.seen, now
        self._last[worker.name] = seen, max(since, deaf)
        return now - max(since, deaf) >= self._silence


def alive(worker: Worker, now: float | None = None) -> bool:
    """Return whether a worker seems to be there, as far as clocks agree."""
    return not ended(worker.name) and (time.time() if now is None else now) - worker.seen < SILENCE
