"""Every storage keeps the promises of the protocol, and the suite notices when one does not."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from postgres import Server

from argbest import testing
from argbest.errors import StorageError
from argbest.storage.base import Event, Plain, Told
from argbest.storage.memory import MemoryStorage
from argbest.storage.sql import SQLStorage


def test_memory_conforms() -> None:
    testing.assert_valid_storage(MemoryStorage)


def test_an_sqlite_file_conforms(tmp_path: Path) -> None:
    numbers = itertools.count()

    def again(storage: Any) -> SQLStorage:
        return SQLStorage(tmp_path / "study.db", name=storage.name)

    testing.assert_valid_storage(
        lambda: SQLStorage(tmp_path / "study.db", name=f"study {next(numbers)}"), again=again
    )


def test_a_postgresql_database_conforms(postgres: Server) -> None:
    url = postgres.new_database()
    numbers = itertools.count()

    def again(storage: Any) -> SQLStorage:
        return SQLStorage(url, name=storage.name)

    testing.assert_valid_storage(lambda: SQLStorage(url, name=f"study {next(numbers)}"), again=again)


class ForgetsToDiscard(MemoryStorage):
    @contextmanager
    def exclusive(self) -> Iterator[Any]:
        kept = self._lock
        with kept:
            log = super().exclusive()
            inner = log.__enter__()
            try:
                yield inner
            finally:
                log.__exit__(None, None, None)


class Rounds(MemoryStorage):
    def since(self, revision: int) -> Sequence[Event]:
        return [
            replace(event, mean=float(f"{event.mean:.15g}")) if isinstance(event, Told) else event
            for event in super().since(revision)
        ]


class Overwrites(MemoryStorage):
    def create(self, definition: Plain) -> None:
        self._definition = definition


class LetsEverybodyIn(MemoryStorage):
    @contextmanager
    def exclusive(self) -> Iterator[Any]:
        mine = MemoryStorage()
        mine._events = list(self._events)
        with mine.exclusive() as log:
            yield log
        self._events = mine._events


class Leaks(MemoryStorage):
    @contextmanager
    def exclusive(self) -> Iterator[Any]:
        before = len(self._events)
        try:
            with self._lock:
                yield Direct(self._events)
        except BaseException:
            del self._events[before:]
            raise


class SaysNothingClear(MemoryStorage):
    private: Any = "no"


class KnowsNoNames(MemoryStorage):
    def names(self) -> list[str]:
        return []


class TakesFright(MemoryStorage):
    def integrity(self) -> None:
        raise StorageError("all is lost")


class Direct:
    def __init__(self, events: list[Event]) -> None:
        self.events = events

    def since(self, revision: int) -> Sequence[Event]:
        return self.events[revision:]

    def append(self, events: Sequence[Event]) -> None:
        self.events.extend(events)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (ForgetsToDiscard, "after an exception inside"),
        (Rounds, "since\\(0\\)"),
        (Overwrites, "expected a StorageError"),
        (LetsEverybodyIn, "the last keeps its parameters|added by six threads"),
        (Leaks, "only the last keeps|before `exclusive` ends"),
        (SaysNothingClear, "private is 'no'; expected True or False"),
        (KnowsNoNames, r"names\(\) returned \[\] of a storage with a study"),
        (TakesFright, r"integrity\(\) finds damage in a sound storage: all is lost"),
    ],
)
def test_the_suite_notices_a_broken_storage(broken: type[MemoryStorage], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        testing.assert_valid_storage(broken)
