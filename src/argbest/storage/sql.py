"""Storage in an SQLite file or a PostgreSQL database, shared by threads, processes and machines."""

import functools
import operator
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from argbest.errors import InputError, StorageError, StudyExistsError
from argbest.lazy import later
from argbest.storage.base import BACKUP, Asked, Event, Plain, Told, Worker
from argbest.storage.connections import READ, Connections
from argbest.storage.log import SQLLog, read
from argbest.storage.opening import hiding_secrets
from argbest.storage.pages import SUMS, Page
from argbest.storage.place import place
from argbest.storage.schema import (
    PAGED_SINCE,
    TABLES,
    make_tables,
    migrate,
    pages,
    storable,
    studies,
    to_json,
    version,
    workers,
)

_LONGEST = 200  # characters of a study's name

_STUDY = sa.select(studies.c.id, studies.c.revision, studies.c.schema_version).where(
    studies.c.name == sa.bindparam("name")
)
# Nobody else gets this lock, while rows of other tables may still refer to the study: workers can greet.
_STUDY_LOCKED = _STUDY.with_for_update(key_share=True)


def _sum(table: sa.Table, columns: tuple[str, ...]) -> sa.ColumnElement[Any]:
    """Return the sum of a product of columns; of none the number of rows."""
    if not columns:
        return sa.func.count(type_=sa.Numeric(asdecimal=False))
    factors = (sa.type_coerce(table.c[name], sa.Double) for name in columns)
    one: sa.ColumnElement[Any] = sa.literal_column("1.0")  # SQLite's integers would overflow
    product = functools.reduce(operator.mul, factors, one)
    return sa.func.sum(product, type_=sa.Numeric(asdecimal=False))


_SUMS = {
    kind: sa.select(*(_sum(table, columns) for columns in SUMS[kind])).where(
        table.c.study == sa.bindparam("study"), table.c.revision <= sa.bindparam("last")
    )
    for kind, table in (("asked", TABLES[Asked]), ("told", TABLES[Told]))
}


class SQLStorage:
    """One study in a database, the events of each kind in a table of their own.

    ``url`` is a path or a URL: SQLite for the processes of one machine, PostgreSQL for several machines.
    Several studies share a database under different names. Threads may share the object, as may processes:
    each opens connections of its own.
    """

    def __init__(self, url: str | os.PathLike[str], *, name: str = "study") -> None:
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST or storable(name) != name:
            raise InputError(f"the name of a study is a text of 1 to {_LONGEST} characters, got {name!r}.")
        self.name = name
        self._place = place(url)
        self._way = Connections(self._place)

    @property
    def path(self) -> Path | None:
        """The file, None for a database on a server."""
        return self._place.path

    @property
    def address(self) -> str:
        """The path or URL, without a password."""
        return hiding_secrets(self._place.path or self._place.url.render_as_string(hide_password=False))

    @property
    def called(self) -> str:
        """The file as the user named it, or the URL without a password."""
        return self._place.given or self.address

    def __repr__(self) -> str:
        return f"<SQLStorage of {self.name!r} in {self._place}>"

    def create(self, definition: Plain) -> None:
        """Keep the definition of a new study, and make the tables if it is the first here."""
        to_json(definition)  # what cannot be kept leaves no file behind
        with self._way.explained():
            self._place.prepare(self._way.own.engine)
        with self._way.changing_tables() as connection, self._way.explained():
            make_tables(connection)
            self._bring_up_to_date(connection)
            if connection.execute(_STUDY, {"name": self.name}).one_or_none() is not None:
                raise StudyExistsError(
                    f"there is a study {self.name!r} in {self._place} already; load it, or give another name."
                )
            row = {"name": self.name, "definition": definition, "created": time.time(), "revision": 0}
            connection.execute(studies.insert(), row | {"schema_version": version()})

    def definition(self) -> Plain | None:
        """Return the definition, None if there is no study of this name."""
        if not self._ready():
            return None
        with self._way.connection() as connection, self._way.explained():
            query = sa.select(studies.c.definition).where(studies.c.name == self.name)
            found: Plain | None = connection.execute(query).scalar_one_or_none()
            return found

    def names(self) -> list[str]:
        """Return the names of all studies in this database."""
        if not self._ready():
            return []
        with self._way.connection() as connection, self._way.explained():
            return _names(connection)

    def since(self, revision: int) -> Sequence[Event]:
        """Return all events but the first ``revision``; one small query if there are none."""
        self._need()
        with self._way.connection() as connection, self._way.explained():
            if self._study(connection)[1] <= revision:
                return []
            with self._way.transaction(connection, READ):
                study, reached = self._study(connection)
                return read(connection, study, revision, reached, self._way.own.version)

    @contextmanager
    def exclusive(self) -> Iterator[SQLLog]:
        """Yield the log; what is added becomes visible, and durable, when the context ends without error.

        Whoever else wants in waits, up to a minute.
        """
        self._need()
        with self._way.alone(), self._way.writing() as connection:
            with self._way.explained():
                study, reached = self._study(connection, _STUDY_LOCKED)
            log = SQLLog(self._way, connection, study=study, reached=reached)
            yield log
            log.finish()

    def greet(self, worker: Worker) -> None:
        """Keep what a worker says of itself, in place of what it said before."""
        self._need()
        row = asdict(worker)
        with self._way.connection() as connection, self._way.explained():
            study, _ = self._study(connection)
            insert = (
                later(f"sqlalchemy.dialects.{connection.dialect.name}")
                .insert(workers)
                .values(study=study, **row)
            )
            connection.execute(insert.on_conflict_do_update(index_elements=["study", "name"], set_=row))

    def workers(self) -> Sequence[Worker]:
        """Return what every worker said last, by name."""
        self._need()
        with self._way.connection() as connection, self._way.explained():
            study, _ = self._study(connection)
            query = sa.select(*list(workers.c)[1:]).where(workers.c.study == study)
            found = [Worker(*row) for row in connection.execute(query)]
        return sorted(found, key=lambda worker: worker.name)  # databases have orders of their own

    def paged(self) -> tuple[int, str]:
        """Return how many events the pages hold, and the fingerprint of the last: 0 and "" without any."""
        self._need()
        if self._way.own.version < PAGED_SINCE:
            return 0, ""
        with self._way.connection() as connection, self._way.explained():
            return _paged(connection, self._study(connection)[0])

    def pages(self) -> Sequence[Page]:
        """Return the pages in their order."""
        self._need()
        if self._way.own.version < PAGED_SINCE:
            return []
        query = sa.select(*(pages.c[field.name] for field in fields(Page))).order_by(pages.c.last)
        with self._way.connection() as connection, self._way.explained():
            found = connection.execute(query.where(pages.c.study == self._study(connection)[0]))
            return [Page(*row) for row in found]

    def sums(self, last: int) -> dict[str, float]:
        """Return the `SUMS` of the events up to number ``last``."""
        self._need()
        found: dict[str, float] = {}
        with self._way.connection() as connection, self._way.explained():
            upto = {"study": self._study(connection)[0], "last": last}
            for kind, query in _SUMS.items():
                row = connection.execute(query, upto).one()
                names = (" ".join((kind, *columns)) for columns in SUMS[kind])
                found |= {name: float(each or 0) for name, each in zip(names, row, strict=True)}
        return found

    def keep_page(self, page: Page) -> None:
        """Keep a page in place of all that reach beyond its first event, and forget all other states."""
        self._need()
        with self._way.alone(), self._way.writing() as connection, self._way.explained():
            study, _ = self._study(connection, _STUDY_LOCKED)
            own = pages.c.study == study
            connection.execute(pages.delete().where(own, pages.c.last > page.first))
            if _paged(connection, study)[0] == page.first:
                connection.execute(pages.update().where(own, pages.c.state.is_not(None)).values(state=None))
                connection.execute(pages.insert(), {"study": study, **asdict(page)})

    def drop_pages(self) -> None:
        """Let go of all pages."""
        self._need()
        with self._way.alone(), self._way.writing() as connection, self._way.explained():
            connection.execute(pages.delete().where(pages.c.study == self._study(connection)[0]))

    def integrity(self) -> None:
        """Raise a StorageError if SQLite finds its file damaged; servers see to that themselves."""
        self._need()
        if self.path is not None:
            with self._way.connection() as connection, self._way.explained():
                found = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
            if found != "ok":
                detail = " ".join(str(found).split())[:200]
                raise StorageError(f"{self._place} is damaged ({detail}). {BACKUP}")

    def close(self) -> None:
        """Let go of files and connections; they are opened again when needed."""
        self._way.close()

    def _ready(self) -> bool:
        """Return whether there are studies here, in tables of our version: older ones are migrated first."""
        own, seen = self._way.own, self._place.look()
        if own.ready:
            if _another(seen, own.seen):  # what we write would go to a file without a name, and be lost
                raise StorageError(
                    f"{self._place} was removed, replaced or cut short while it was in use. Put it back, or "
                    "start again."
                )
            own.seen = seen
            return True
        if self._place.missing():
            return False
        with self._way.connection() as connection, self._way.explained():
            found = _version(connection) if sa.inspect(connection).has_table(studies.name) else None
            if found is None:
                return False
            as_it_is = found < version() and self._place.read_only
        if found != version() and not as_it_is:
            with self._way.changing_tables() as connection, self._way.explained():
                self._bring_up_to_date(connection)
        own.version = found if as_it_is else version()
        own.ready, own.seen = True, seen
        return True

    def _bring_up_to_date(self, connection: sa.Connection) -> None:
        found = _version(connection)
        if found is not None and found > version():
            raise self._newer(found)
        if found is not None and found < version():
            migrate(connection, found)

    def _study(self, connection: sa.Connection, query: sa.Select[Any] = _STUDY) -> tuple[int, int]:
        """Return the key of the study and how many events it has."""
        row = connection.execute(query, {"name": self.name}).one_or_none()
        if row is None:
            raise self._absent(_names(connection))
        if row.schema_version != self._way.own.version:  # migrated since we looked
            raise self._newer(row.schema_version)
        return row.id, row.revision

    def _need(self) -> None:
        if not self._ready():
            raise self._absent([])

    def _absent(self, names: list[str]) -> StorageError:
        there = f"there are {', '.join(map(repr, names))}" if names else "there is none at all"
        return StorageError(
            f"no study {self.name!r} in {self._place}; {there}. Check the name, or create it."
        )

    def _newer(self, found: int) -> StorageError:
        return StorageError(
            f"{self._place} was written by a newer argbest: its tables have version {found}, this argbest "
            f"knows version {version()}. Upgrade with: pip install --upgrade argbest. Nothing was changed."
        )


def _another(now: tuple[int, int, int] | None, before: tuple[int, int, int] | None) -> bool:
    """Return whether a file is not the one that it was: files of studies only ever grow."""
    if now is None or before is None:
        return now is not before
    return now[:2] != before[:2] or now[2] < before[2]


def _paged(connection: sa.Connection, study: int) -> tuple[int, str]:
    query = sa.select(pages.c.last, pages.c.fingerprint).where(pages.c.study == study)
    row = connection.execute(query.order_by(pages.c.last.desc()).limit(1)).one_or_none()
    return (0, "") if row is None else (row.last, row.fingerprint)


def _names(connection: sa.Connection) -> list[str]:
    return sorted(connection.execute(sa.select(studies.c.name)).scalars())


def _version(connection: sa.Connection) -> int | None:
    """Return the version of the tables, None if they are empty; all studies of a database share it."""
    found: int | None = connection.execute(sa.select(sa.func.max(studies.c.schema_version))).scalar_one()
    return found
