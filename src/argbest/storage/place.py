"""Where a database is, and how connections to it are set up."""

import os
import shutil
import sqlite3
import tempfile
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL

from argbest.errors import InputError, StorageError
from argbest.storage.opening import hiding_secrets, meant, understood

WAIT = 60.0  # seconds that somebody waits for a lock: others may be fitting models while they hold it
_LOOK = 0.25  # seconds between looks at whether SQLite's lock is free; Ctrl-C is heeded in between
_CONNECT = {
    "connect_timeout": "10",  # seconds to reach a server
    # A server that vanishes is missed after a minute, not after hours.
    "keepalives_idle": "20",
    "keepalives_interval": "10",
    "keepalives_count": "4",
    "tcp_user_timeout": "60000",
}
_SERVER = ("postgresql", "postgres", "postgresql+psycopg")
_FORMS = "a file name, sqlite:///study.db, or postgresql://user:password@host/database"
_SESSION = {
    "extra_float_digits": "1",  # doubles come back as they went in
    # A worker's machine that vanishes lets go of its lock after about a minute, not after hours.
    "tcp_keepalives_idle": "20",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "4",
}


@dataclass(frozen=True)
class Place:
    """The address of a database; its text never shows a password."""

    url: URL = field(repr=False)
    path: Path | None  # of an SQLite file
    given: str = ""  # what the user calls that file

    def __str__(self) -> str:
        if self.path is not None:
            return f"the file {self.given!r}"
        host = self.url.host or self.url.query.get("host", "localhost")
        port = "" if self.url.port is None else f":{self.url.port}"
        return f"the database {self.url.database or ''!r} on {host}{port}"

    def missing(self) -> bool:
        """Return whether this is a file that does not exist; looking must not create it."""
        return self.path is not None and not self.path.exists()

    def look(self) -> tuple[int, int, int] | None:
        """Return what identifies a file, also if another one replaces it, and its size; None without a file.

        The file is not opened, because closing it would release SQLite's locks.
        """
        try:
            found = None if self.path is None else os.stat(self.path)
        except OSError:
            return None
        return None if found is None else (found.st_dev, found.st_ino, found.st_size)

    def engine(self) -> sa.Engine:
        """Return a new engine; it commits nothing by itself: transactions are begun and ended explicitly."""
        if self.path is not None:
            return self._file_engine(self.path)
        defaults = _CONNECT | {"client_encoding": "utf8", "application_name": "argbest"}
        try:
            engine = sa.create_engine(
                self.url.set(query=defaults | dict(self.url.query)),
                isolation_level="AUTOCOMMIT",
                pool_pre_ping=True,  # a server that was restarted meanwhile is simply reached again
                max_overflow=-1,
                hide_parameters=True,
            )
        except ImportError as error:
            raise StorageError(
                "PostgreSQL is reached through psycopg 3, which cannot be imported "
                f'({error}). Install it with: pip install "argbest[postgres]"'
            ) from error
        sa.event.listen(engine, "connect", _set_up_session)
        return engine

    def _file_engine(self, path: Path) -> sa.Engine:
        options: dict[str, Any] = {"timeout": _LOOK, "factory": _Connection, "check_same_thread": False}
        if self.read_only:  # every connection looks anew how the file can be read
            means: dict[str, Any] = {"creator": partial(_reading, path, **options), "poolclass": sa.NullPool}
        else:
            means = {"connect_args": options, "max_overflow": -1}
        engine = sa.create_engine(
            URL.create("sqlite", database=path.as_uri(), query={"uri": "true", "mode": "rw"}),
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,
            **means,
        )
        sa.event.listen(engine, "connect", _set_up_file)
        return engine

    @property
    def read_only(self) -> bool:
        """Whether this is a file beside which nothing can be written."""
        if self.path is None or self.missing():
            return False
        effective = os.access in os.supports_effective_ids
        return not os.access(self.path.parent, os.W_OK, effective_ids=effective)

    def prepare(self, engine: sa.Engine) -> None:
        """Make the file, in the mode in which readers and the writer do not wait for each other.

        A new file is its owner's alone, from the first moment on. One that exists keeps its permissions, and
        SQLite gives the files beside it the same.
        """
        if self.path is None:
            return
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, mode=0o600))
        except OSError as error:
            raise StorageError(
                f"{self} cannot be written ({error.strerror or error}). Name a file in a folder that exists "
                "and that you may write to."
            ) from error
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def place(where: object) -> Place:
    """Return the place that a path or a URL names."""
    if not isinstance(where, str | os.PathLike):
        raise InputError(f"storage={where!r} names no database. Give {_FORMS}.")
    text = os.fspath(where)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise InputError(f"storage={hiding_secrets(repr(where))} names no file. Give {_FORMS}.")
    if meant(text) and "://" not in text:
        raise InputError(f"storage= was given the address of a database, not as a URL. Give {_FORMS}.")
    if "://" not in text or isinstance(where, os.PathLike):
        return _file(text)
    return _address(text)


def _file(text: str) -> Place:
    if text == ":memory:":
        raise InputError(
            "':memory:' names no file. Name one; a study in Python is in memory unless it has a storage."
        )
    path = Path(text).absolute()  # the working folder may change
    if path.is_dir():
        raise InputError(f"storage={text!r} is a folder. Name a file in it, e.g. {str(path / 'study.db')!r}.")
    return Place(URL.create("sqlite", database=str(path)), path, text)


def _address(text: str) -> Place:
    kind = text.partition("://")[0]
    if kind not in ("sqlite", *_SERVER):
        strange = hiding_secrets(text).partition("://")[0]
        raise InputError(f"studies are not kept in databases of the kind {strange!r}. Give {_FORMS}.")
    if kind == "sqlite":
        return _file_url(text)
    url = understood(text)
    if url is None:
        raise InputError(
            f"the URL {hiding_secrets(text)} cannot be understood. Give {_FORMS}; write special characters "
            "of the password as %40 for @, %3A for :, %2F for /, %3F for ?."
        )
    return Place(url.set(drivername="postgresql+psycopg"), None)


def _file_url(text: str) -> Place:
    path = text.removeprefix("sqlite:///")
    if path == text or not path or "?" in path:
        raise InputError(
            f"{hiding_secrets(text)!r} names no file. Write sqlite:///study.db without options, or its path."
        )
    return _file(path)


class _Cursor(sqlite3.Cursor):
    """Waits until a lock is released. SQLite itself would not hear Ctrl-C, and not wait for every lock."""

    def execute(self, *arguments: Any) -> "_Cursor":
        deadline = time.monotonic() + WAIT
        while True:
            try:
                super().execute(*arguments)
                return self
            except sqlite3.OperationalError as error:
                busy = getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)


class _Connection(sqlite3.Connection):
    def cursor(self, *arguments: Any) -> Any:
        return super().cursor(*(arguments or (_Cursor,)))

    def __del__(self) -> None:
        self.close()  # a study need not be closed; since Python 3.13 SQLite complains of what is forgotten


def _set_up_file(connection: Any, _: object) -> None:
    # NORMAL: a commit is in the hands of the operating system, so it survives any death of the program. A
    # power cut or a crash of the system may take back the last half minute or so, whole transactions from the
    # end, never a part of one; their trials are then simply run again. FULL would wait for the disk: 0.4 ms a
    # transaction on an idle machine, 4 ms on one whose cores all simulate, against 0.02 to 0.06 ms.
    for setting in ("synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")


def _set_up_session(connection: Any, _: object) -> None:
    settings = _SESSION | {"lock_timeout": f"{round(1000 * WAIT)}ms"}
    for name, value in settings.items():
        connection.execute(f"SET {name} = '{value}'")


def _reading(path: Path, **options: Any) -> sqlite3.Connection:
    """Return a connection that reads what is there now, in a folder that cannot be written.

    SQLite keeps an index of the file FILE-wal in a file FILE-shm that it must be able to make. Where it
    cannot, a file without FILE-wal is complete, and read as one that nobody changes; one with FILE-wal is
    copied, both parts of it.
    """
    log, index = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    if not log.exists() or not log.stat().st_size:
        return _open(path, "mode=ro&immutable=1", **options)
    if index.exists():
        return _open(path, "mode=ro", **options)
    folder = tempfile.mkdtemp(prefix="argbest-reading-")
    try:
        for each in (path, log):
            shutil.copyfile(each, Path(folder, each.name))
        found = _open(Path(folder, path.name), "mode=rw", **options)
        found.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens all files
        found.execute("PRAGMA query_only = ON")
        return found
    finally:
        shutil.rmtree(folder)  # what is open stays readable


def _open(path: Path, how: str, **options: Any) -> sqlite3.Connection:
    found: sqlite3.Connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, **options)
    return found
