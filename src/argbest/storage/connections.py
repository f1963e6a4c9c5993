"""Connections to a database and transactions on them, and what goes wrong with them, in words."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError, ProgrammingError, SQLAlchemyError

from argbest.errors import ArgbestError, StorageError
from argbest.storage import place as places
from argbest.storage.base import explained
from argbest.storage.opening import without_secrets
from argbest.storage.place import WAIT, Place

_FULL = "has no room left", "Free some space on the disk, then continue the study."
_READ_ONLY = (
    "cannot be written",
    "Make it and its folder writable for you, or copy it to where you may write.",
)
_LOCKED = (
    f"is held by another process for more than {WAIT:g} seconds",
    "Try again; if it lasts, look for a process or a database browser that holds a transaction open.",
)
_DAMAGED = (
    "is not an SQLite database, or a damaged one",
    "Name the file of a study, or restore a backup; `sqlite3 FILE .recover` saves what can be read.",
)
_UNREACHABLE = (
    "cannot be reached",
    "Check that the server runs, and host, port, user, password and database name in the URL; try again.",
)
_REFUSED = "refuses access", "Check user, password, database name and permissions."
_CONFLICT = (
    "refuses an entry that contradicts its contents",
    "A trial is asked for once, and then told or failed once. Nothing was added.",
)
_STRANGE = "cannot do what is needed", "If another program changed its tables, restore a backup."

_MISSPELT = "has an address that cannot be used", "Check the options in the URL."
_CROWDED = "has too many connections already", "Use fewer workers, or raise the server's limit."
_PASSING = (_LOCKED[0], _UNREACHABLE[0], _CROWDED[0])

# By SQLite's names of errors and PostgreSQL's codes; the first that begins the same is taken.
_KNOWN = {
    "SQLITE_FULL": _FULL,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_NOTADB": _DAMAGED,
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_CANTOPEN": ("cannot be opened", "Check that its folder exists and that you may write in it."),
    "SQLITE_PERM": _READ_ONLY,
    "SQLITE_IOERR": ("cannot be read or written", "The disk may be full, gone or broken: check it."),
    "SQLITE_CONSTRAINT": _CONFLICT,
    "53100": _FULL,
    "53300": _CROWDED,
    "25006": ("is read-only", "Use the primary server."),
    "55P03": _LOCKED,
    "40": _LOCKED,
    "25P03": _UNREACHABLE,
    "28": _REFUSED,
    "3D000": _REFUSED,
    "42501": _REFUSED,
    "23": _CONFLICT,
    "08": _UNREACHABLE,
    "57P": _UNREACHABLE,
}


def trouble(error: BaseException, place: Place) -> ArgbestError:
    """Return the error to raise in place of one that a database or its driver raised."""
    origin = getattr(error, "orig", None) or error
    if isinstance(origin, ArgbestError):  # a value that cannot be stored, or text that cannot be read
        return origin
    what, do = _sort(error, origin, place)
    detail = without_secrets(" ".join(str(origin).split()), place.url)
    raised = StorageError(f"{place} {what} ({detail}). {do} Everything acknowledged before is safe.")
    raised.transient, raised.brief = what in _PASSING, f"{place} {what}"
    return raised


def _sort(error: BaseException, origin: BaseException, place: Place) -> tuple[str, str]:
    sign = getattr(origin, "sqlite_errorname", None) or getattr(origin, "sqlstate", None)
    if sign is not None:
        return next((known for start, known in _KNOWN.items() if sign.startswith(start)), _STRANGE)
    if place.path is not None:  # text that is no UTF-8, say
        return _DAMAGED
    if isinstance(error, OperationalError):
        return _UNREACHABLE
    return _MISSPELT if isinstance(error, ProgrammingError) else _STRANGE


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
        """The link of this process. A parent's is kept, untouched: even closing it would harm the parent."""
        link = self._links.get(os.getpid())
        if link is None:
            link = self._links.setdefault(os.getpid(), _Link(self.place.engine()))
        return link

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
        """Let only one thread of this process enter: threads wait here better than in the database."""
        own, me = self.own, threading.get_ident()
        if own.holder == me:
            raise StorageError("exclusive() was entered inside itself. Leave the first before the second.")
        if not own.lock.acquire(timeout=places.WAIT):
            error = StorageError(
                f"{self.place} is held by another thread of this process for more than {places.WAIT:g} "
                "seconds. Try again; if it lasts, look for what that thread waits for."
            )
            error.transient, error.brief = True, f"{self.place} is held by another thread of this process"
            raise error
        own.holder = me
        try:
            yield
        finally:
            own.holder = None
            own.lock.release()

    def close(self) -> None:
        """Close this process's files and connections; they are opened again when needed."""
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
