"""A storage that is only read: the database itself refuses every change."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import sqlalchemy as sa

from argbest.errors import StorageError
from argbest.storage.base import Event, Plain, Worker
from argbest.storage.log import SQLLog
from argbest.storage.schema import studies, version
from argbest.storage.sql import SQLStorage


class Reading(SQLStorage):
    """One study in a database, to look at. ``revision`` is how many of its events were read."""

    def __init__(self, url: str | os.PathLike[str], *, name: str = "study") -> None:
        super().__init__(url, name=name)
        self.revision = 0
        kind = "sqlite" if self._place.path is not None else "postgresql"
        sa.event.listen(self._way.own.engine, "connect", _ONLY_READ[kind])

    def __str__(self) -> str:
        return str(self._place)

    def definition(self) -> Plain | None:
        """Return the definition, None if there is no study of this name."""
        if not self._place.missing():
            self._need_our_version()
        return super().definition()

    def since(self, revision: int) -> Sequence[Event]:
        """Return all events but the first ``revision``."""
        found = super().since(revision)
        self.revision = revision + len(found)
        return found

    def create(self, definition: Plain) -> None:
        """Refuse."""
        self._refuse()

    @contextmanager
    def exclusive(self) -> Iterator[SQLLog]:
        """Refuse."""
        self._refuse()
        yield

    def greet(self, worker: Worker) -> None:
        """Refuse."""
        self._refuse()

    def _need_our_version(self) -> None:
        newest = sa.select(sa.func.max(studies.c.schema_version))
        with self._way.connection() as connection, self._way.explained():
            there = sa.inspect(connection).has_table(studies.name)
            found = connection.execute(newest).scalar_one() if there else None
        if found not in (None, version()):
            raise StorageError(
                f"{self._place} was written by another version of argbest, which the live view cannot edit. "
                "`argbest status` updates an older one; for a newer one, upgrade argbest."
            )

    def _refuse(self) -> NoReturn:
        raise StorageError(f"{self._place} is opened read-only here.")


def _only_read_file(connection: Any, _: object) -> None:
    connection.execute("PRAGMA query_only = ON")


def _only_read_session(connection: Any, _: object) -> None:
    connection.execute("SET default_transaction_read_only = on")


_ONLY_READ = {"sqlite": _only_read_file, "postgresql": _only_read_session}
