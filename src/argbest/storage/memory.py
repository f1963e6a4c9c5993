"""Storage in the memory of one process; its threads may share it."""

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from argbest.errors import StudyExistsError
from argbest.storage.base import Event, Log, Plain, Refit, Worker


class MemoryStorage:
    """A list of events, gone when the process ends."""

    private = True  # no other process sees it

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._definition: Plain | None = None
        self._events: list[Event] = []
        self._last_refit: tuple[int, Refit] | None = None
        self._workers: dict[str, Worker] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def create(self, definition: Plain) -> None:
        """Keep the definition of a new study."""
        with self._lock:
            if self._definition is not None:
                raise StudyExistsError("this storage already holds a study; load it, or use another storage.")
            self._definition = definition

    def definition(self) -> Plain | None:
        """Return the definition, None if no study was created here."""
        return self._definition

    def since(self, revision: int) -> Sequence[Event]:
        """Return all events but the first ``revision``."""
        return self._events[revision:]

    def exclusive(self) -> AbstractContextManager[Log]:
        """Return the log; what is added becomes visible when the context ends without an exception."""
        return _Log(self)

    def _keep(self, events: Sequence[Event]) -> None:
        first = len(self._events)
        self._events.extend(events)  # at once: readers see all of it or nothing
        for number, event in enumerate(events, first):
            if isinstance(event, Refit):
                if self._last_refit is not None:
                    old, refit = self._last_refit
                    self._events[old] = replace(refit, params=None)
                self._last_refit = number, event

    def greet(self, worker: Worker) -> None:
        """Keep a worker's sign of life."""
        self._workers[worker.name] = worker

    def workers(self) -> Sequence[Worker]:
        """Return the last sign of life of every worker, by name."""
        return [self._workers[name] for name in sorted(self._workers)]

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class _Log:
    def __init__(self, storage: MemoryStorage) -> None:
        self._storage = storage
        self._added: list[Event] = []

    def __enter__(self) -> "_Log":
        self._storage._lock.acquire()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._storage._keep(self._added)
        finally:
            self._storage._lock.release()

    def since(self, revision: int) -> Sequence[Event]:
        return self._storage._events[revision:] + self._added

    def append(self, events: Sequence[Event]) -> None:
        self._added.extend(events)
