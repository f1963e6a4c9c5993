"""Connections to a database and transactions on them, for the threads of one process after another."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from argbest.errors import StorageError
from argbest.storage import place as places
from argbest.storage.address import without_secrets
from argbest.storage.base import explained
from argbest.storage.trouble import trouble

READ, WRITE = "read", "write"
_BEGIN = {
    (READ, "sqlite"): "BEGIN",
    (READ, "postgresql"): "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    (WRITE, "sqlite"): "BEGIN IMMEDIATE",  # waits for the lock now; later it could not be waited for
    (WRITE, "postgresql"): "BEGIN ISOLATION LEVEL READ COMMITTED",
}
_TABLES_LOCK = 0x61726762657374  # PostgreSQL's advisory locks have numbers; this one spells argbest


class Connections:
    """The way to one database. A process that was forked or spawned opens connections of its own."""

    def __init__(self, place: places.Place) -> None:
        self.place = place
        self._links: dict[int, _Link] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"place": self.place, "_links": {}}

    @property
    def own(self) -> "_Link":
        """What this process uses. A parent's is kept, untouched: even closing it would harm the parent."""
        found = self._links.get(os.getpid())
        if found is None:
            found = self._links.setdefault(os.getpid(), _Link(self.place.engine()))
        return found

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what the database or its driver raises into a StorageError."""
        try:
            with explained(str(self.place)):
                yield
        except SQLAlchemyError as error:
            plain = without_secrets(str(error), self.place.url) == str(error)
            raise trouble(error, self.place) from (error if plain else None)

    @contextmanager
    def connection(self) -> Iterator[sa.Connection]:
        """Yield a connection on which every statement stands for itself."""
        with self.explained():
            connection = self.own.engine.connect()
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def transaction(self, connection: sa.Connection, purpose: str) -> Iterator[None]:
        """Make a transaction on the connection: to READ one state of the database, or to WRITE."""
        try:
            with self.explained():
                connection.exec_driver_sql(_BEGIN[purpose, connection.dialect.name])
            yield
            with self.explained():
                connection.exec_driver_sql("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction that may write."""
        with self.connection() as connection, self.transaction(connection, WRITE):
            yield connection

    @contextmanager
    def changing_tables(self) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction in which nobody else makes or changes tables."""
        with self.writing() as connection:
            if connection.dialect.name == "postgresql":
                with self.explained():
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_TABLES_LOCK)))
            yield connection

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let one thread of this process in: threads wait better for each other here than in the database."""
        own, me = self.own, threading.get_ident()
        if own.holder == me:
            raise StorageError("exclusive() was entered inside itself. Leave the first before the second.")
        if not own.lock.acquire(timeout=places.WAIT):
            held = StorageError(
                f"{self.place} is held by another thread of this process for more than {places.WAIT:g} "
                "seconds. Try again; if it lasts, look for what that thread waits for."
            )
            held.transient, held.brief = True, f"{self.place} is held by another thread of this process"
            raise held
        own.holder = me
        try:
            yield
        finally:
            own.holder = None
            own.lock.release()

    def close(self) -> None:
        """Let go of this process's files and connections; they are opened again when needed."""
        link = self._links.get(os.getpid())
        if link is not None:
            link.engine.dispose()
            link.ready = False


class _Link:
    """What one process uses to reach a database."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.lock = threading.Lock()
        self.holder: int | None = None  # the thread that has the lock
        self.ready = False  # the tables are known to be there, ...
        self.version = 0  # ... in this version, ...
        self.seen: tuple[int, int, int] | None = None  # ... in this file


def _roll_back(connection: sa.Connection) -> None:
    try:
        connection.exec_driver_sql("ROLLBACK")
    except SQLAlchemyError:  # then the connection is of no use, and the database rolls back when it is closed
        connection.invalidate()
