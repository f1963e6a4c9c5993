"""Events as rows: reading them in their order, adding them inside a transaction."""

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import sqlalchemy as sa

from argbest.errors import InputError, StorageError
from argbest.storage.base import BACKUP, Event, Refit, explained
from argbest.storage.connections import Connections
from argbest.storage.schema import TABLES, columns, kinds, studies
from argbest.storage.schema import version as ours

_COUNT_ON = (
    studies.update().where(studies.c.id == sa.bindparam("study")).values(revision=sa.bindparam("reached"))
)


def _new(table: sa.Table) -> sa.ColumnElement[bool]:
    return sa.and_(
        table.c.study == sa.bindparam("study"),
        table.c.revision > sa.bindparam("after"),
        table.c.revision <= sa.bindparam("upto"),
    )


@cache
def _news(kinds: tuple[type[Event], ...]) -> "sa.Select[*tuple[bool, ...]]":
    """Return the query which kinds of events are new: mostly one or two, so it comes before reading."""
    tables = (TABLES[kind] for kind in kinds)
    return sa.select(*(sa.exists().where(_new(table)).label(table.name) for table in tables))


@cache
def _read(kind: Any, found: int) -> "sa.Select[Any]":
    """Return the query for the events of a kind, in tables of a version."""
    return sa.select(*columns(kind, found)).where(_new(TABLES[kind]))


_INSERT = {kind: table.insert() for kind, table in TABLES.items()}
_FIELDS = {kind: tuple(each.name for each in fields(kind)) for kind in TABLES}
_refits = TABLES[Refit].c
_FORGET = (
    TABLES[Refit]
    .update()
    .where(
        _refits.study == sa.bindparam("of"),
        _refits.revision < sa.bindparam("before"),
        _refits.params.is_not(None),
    )
    .values(params=None)
)


def read(
    connection: sa.Connection, study: int, after: int, upto: int, version: int | None = None
) -> list[Event]:
    """Return the events of a study after one revision and up to another, in their order.

    ``version`` is that of the tables if it is not ours: older files that cannot be changed lack some.
    """
    if after >= upto:
        return []
    between = {"study": study, "after": after, "upto": upto}
    found: dict[int, Event] = {}
    written = ours() if version is None else version
    there = tuple(kinds(written))
    with explained("a row"):
        for kind, news in zip(there, connection.execute(_news(there), between).one(), strict=True):
            if news:
                made: Any = kind
                rows = connection.execute(_read(made, written), between)
                found.update((row[0], made(*row[1:])) for row in rows)
    expected = range(max(after, 0) + 1, upto + 1)  # never all at once: a damaged number may be huge
    if upto - max(after, 0) != len(found):
        lost = next((each for each in expected if each not in found), upto)
        gone = upto - max(after, 0) - len(found)
        raise StorageError(f"{gone} of {upto} events are gone, the first is event {lost}. {BACKUP}")
    return [found[revision] for revision in expected]


class SQLLog:
    """The events of a study inside a transaction that holds its row; ``reached`` of them are there."""

    def __init__(self, way: Connections, connection: sa.Connection, *, study: int, reached: int) -> None:
        self._way, self._connection = way, connection
        self._study, self._before, self._reached = study, reached, reached
        self._broken = False

    def since(self, revision: int) -> Sequence[Event]:
        """Return all events but the first ``revision``, in their order."""
        with self._way.explained():
            return read(self._connection, self._study, revision, self._reached)

    def append(self, events: Sequence[Event]) -> None:
        """Add events."""
        self._broken = True  # until all are added: the caller may catch an error and continue
        rows: dict[type[Event], list[dict[str, Any]]] = {kind: [] for kind in TABLES}
        for revision, event in enumerate(events, self._reached + 1):
            if type(event) not in rows:
                kinds = ", ".join(kind.__name__ for kind in rows)
                raise InputError(f"got {event!r} as an event of a study; expected one of {kinds}.")
            row = {name: getattr(event, name) for name in _FIELDS[type(event)]}
            rows[type(event)].append(row | {"study": self._study, "revision": revision})
        with self._way.explained():
            for kind, each in rows.items():
                if each:
                    self._connection.execute(_INSERT[kind], each)
            if rows[Refit]:
                last = rows[Refit][-1]["revision"]
                self._connection.execute(_FORGET, {"of": self._study, "before": last})
        self._reached += len(events)
        self._broken = False

    def finish(self) -> None:
        """Count what was added; without this nobody would see it."""
        if self._broken:
            raise StorageError("events could not be added, so nothing of this transaction was. Do it again.")
        if self._reached > self._before:
            with self._way.explained():
                self._connection.execute(_COUNT_ON, {"study": self._study, "reached": self._reached})
