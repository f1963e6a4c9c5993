"""The tables of stored studies: one per kind of event, plain columns, rows that are only ever added.

JSON is used where the shape depends on the study: its definition, the replications told, the parameters of a
refit. Nothing is pickled, so any program that reads SQL can read a study.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from types import MappingProxyType, NoneType
from typing import Any, get_args

import sqlalchemy as sa
from sqlalchemy.schema import SchemaItem

from argbest.errors import InputError, StorageError
from argbest.storage.base import (
    Asked,
    Begun,
    Designed,
    Enqueued,
    Event,
    Failed,
    Named,
    Parted,
    Passed,
    Readmitted,
    Refit,
    Response,
    Revised,
    Told,
    Worker,
)
from argbest.storage.pages import Page

VERSION_AT_FIRST = 1
# Step i brings a database from version i + 1 to i + 2: statements that SQLite and PostgreSQL understand.
# Steps are added at the end and never edited; the tables below show the result of all of them. The columns
# name and schema_version of argbest_studies stay for ever: any version can tell how old a database is.
MIGRATIONS: list[tuple[str, ...]] = [
    (
        "CREATE TABLE IF NOT EXISTS argbest_designs (study INTEGER NOT NULL REFERENCES argbest_studies (id), "
        "revision BIGINT NOT NULL, pairs TEXT NOT NULL, reason TEXT NOT NULL, "
        "time DOUBLE PRECISION NOT NULL, PRIMARY KEY (study, revision))",
    ),
    (
        "CREATE TABLE IF NOT EXISTS argbest_partings (study INTEGER NOT NULL "
        "REFERENCES argbest_studies (id), revision BIGINT NOT NULL, "
        "time DOUBLE PRECISION NOT NULL, PRIMARY KEY (study, revision))",
    ),
    (
        "CREATE TABLE IF NOT EXISTS argbest_pages (study INTEGER NOT NULL REFERENCES argbest_studies (id), "
        "last BIGINT NOT NULL, first BIGINT NOT NULL, fingerprint TEXT NOT NULL, content BYTEA NOT NULL, "
        "state BYTEA, PRIMARY KEY (study, last))",
    ),
    (
        "CREATE TABLE IF NOT EXISTS argbest_enqueued (study INTEGER NOT NULL "
        "REFERENCES argbest_studies (id), revision BIGINT NOT NULL, pairs TEXT NOT NULL, "
        "time DOUBLE PRECISION NOT NULL, PRIMARY KEY (study, revision))",
    ),
    (
        "CREATE TABLE IF NOT EXISTS argbest_names (study INTEGER NOT NULL REFERENCES argbest_studies (id), "
        "revision BIGINT NOT NULL, responses TEXT NOT NULL, "
        "time DOUBLE PRECISION NOT NULL, PRIMARY KEY (study, revision))",
        "ALTER TABLE argbest_observations ADD COLUMN further TEXT",
    ),
    (
        "CREATE TABLE IF NOT EXISTS argbest_revisions (study INTEGER NOT NULL "
        "REFERENCES argbest_studies (id), revision BIGINT NOT NULL, alternatives TEXT, contexts TEXT, "
        "retired_alternatives TEXT NOT NULL, retired_contexts TEXT NOT NULL, shares TEXT NOT NULL, "
        "pairs TEXT NOT NULL, cost TEXT, seen TEXT NOT NULL, "
        "time DOUBLE PRECISION NOT NULL, PRIMARY KEY (study, revision))",
    ),
]
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def version() -> int:
    """Return the version of the tables that this code reads and writes."""
    return VERSION_AT_FIRST + len(MIGRATIONS)


class _Stored(sa.TypeDecorator[Any]):
    """Values other than None: ``put`` into a form that databases keep, and ``got`` back from it.

    SQLite keeps anything in any column, so what comes back is checked to be of the type ``written``.
    """

    written: Any = str

    def put(self, value: Any) -> Any:
        return self.written(value)

    def got(self, value: Any) -> Any:
        return value

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Any:
        return None if value is None else self.put(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        if value is None:
            return None
        if not isinstance(value, self.written):
            raise ValueError(f"{str(value)[:40]!r} stands where something else was written")
        return self.got(value)


class _Whole(_Stored):
    """Whole numbers: NumPy's own would be kept as bytes by SQLite."""

    impl, cache_ok, written = sa.BigInteger, True, int


class _Number(_Stored):
    """Finite doubles, exact; only the sign of a zero may be lost (SQLite keeps none)."""

    impl, cache_ok, written = sa.Double, True, int | float

    def put(self, value: Any) -> float:
        if not math.isfinite(value):
            raise InputError(f"a stored number must be finite, got {value!r}.")
        return float(value)

    def got(self, value: Any) -> float:
        if not math.isfinite(value):
            raise ValueError(f"{value} is not finite")
        return float(value)


class _Words(_Stored):
    """Text; characters that no database keeps (NUL, halves of a surrogate pair) become U+FFFD."""

    impl, cache_ok = sa.Text, True

    def put(self, value: Any) -> str:
        return storable(str(value))


class _JSON(_Stored):
    """JSON as its standard has it: no NaN, no infinity; ASCII, whatever the encoding of the database."""

    impl, cache_ok = sa.Text, True

    def put(self, value: Any) -> str:
        return to_json(value)

    def got(self, value: Any) -> Any:
        return from_json(value)


class _Replications(_JSON):
    """A tuple of numbers or truth values, as a JSON list."""

    cache_ok = True

    def got(self, value: Any) -> tuple[float, ...]:
        return _kept(super().got(value))


class _Further(_JSON):
    """What was told of further responses, as a JSON list of lists: mean, m2, values."""

    cache_ok = True

    def got(self, value: Any) -> tuple[Response, ...]:
        return tuple(
            Response(float(mean), float(m2), None if values is None else _kept(values))
            for mean, m2, values in super().got(value)
        )


class _Names(_JSON):
    """A tuple of texts, as a JSON list."""

    cache_ok = True

    def got(self, value: Any) -> tuple[str, ...]:
        return tuple(map(str, super().got(value)))


class _Positions(_JSON):
    """A tuple of whole numbers, as a JSON list."""

    cache_ok = True

    def got(self, value: Any) -> tuple[int, ...]:
        return tuple(map(int, super().got(value)))


class _PairList(_JSON):
    """A tuple of pairs of positions, as a JSON list of lists."""

    cache_ok = True

    def got(self, value: Any) -> tuple[tuple[int, int], ...]:
        return tuple((int(k), int(c)) for k, c in super().got(value))


def _kept(values: Iterable[Any]) -> tuple[float, ...]:
    """Return values as they were told: truth values stay what they are."""
    return tuple(each if isinstance(each, bool) else float(each) for each in values)


def storable(text: str) -> str:
    """Return the text with U+FFFD in place of what a database cannot keep."""
    return _UNSTORABLE.sub("\ufffd", text)


def to_json(value: object) -> str:
    """Return strict JSON text."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"a study is stored as JSON, which cannot hold all of this: {error}. Give texts, finite numbers, "
            "True, False, None, and lists and dicts of them."
        ) from error


def from_json(text: str) -> Any:
    """Return what strict JSON text says."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise StorageError(f"a stored text is not the JSON that was written: {error}.") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


_METADATA = sa.MetaData()

studies = sa.Table(
    "argbest_studies",  # the prefix keeps clear of other tables in a shared database
    _METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("schema_version", sa.Integer, nullable=False),
    sa.Column("revision", _Whole, nullable=False),  # how many events there are
    sa.Column("definition", _JSON, nullable=False),
    sa.Column("created", _Number, nullable=False),
)

_TYPES: dict[Any, Any] = {
    int: _Whole, float: _Number, str: _Words, bool: sa.Boolean, bytes: sa.LargeBinary,
    Mapping[str, Any]: _JSON, tuple[float, ...]: _Replications, tuple[tuple[int, int], ...]: _PairList,
    tuple[str, ...]: _Names, tuple[Response, ...]: _Further, tuple[int, ...]: _Positions,
}  # fmt: skip


def _table(name: str, kind: type, key: str, *more: SchemaItem, **options: Any) -> sa.Table:
    """Return a table with a row per thing of this kind: the study, the key, and the fields of its class."""
    columns: list[SchemaItem] = [sa.Column("study", sa.ForeignKey("argbest_studies.id"), primary_key=True)]
    for each, sort in ({key: int} | {field.name: field.type for field in fields(kind)}).items():
        choices = get_args(sort)
        empty, first = NoneType in choices, each == key
        type_ = _TYPES[choices[0] if empty else sort]
        columns.append(sa.Column(each, type_, nullable=empty, primary_key=first, autoincrement=False))
    return sa.Table(name, _METADATA, *columns, *more, **options)


workers = _table("argbest_workers", Worker, "name")
# What pages hold is in the events too: whoever reads a study from outside can leave them aside.
pages = _table("argbest_pages", Page, "last")
PAGED_SINCE = 4  # the version of the tables that brought them


def _events(name: str, kind: type[Event], *more: SchemaItem) -> sa.Table:
    """Return a table of events: the n-th event of a study has revision n, counted over all kinds."""
    return _table(name, kind, "revision", *more, sqlite_with_rowid=False)  # one tree fewer to write


def _once() -> sa.UniqueConstraint:
    return sa.UniqueConstraint("study", "trial")


def _of_trial() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["study", "trial"], ["argbest_trials.study", "argbest_trials.trial"])


# A trial is asked once, told at most once and failed at most once: the database itself refuses a second time,
# whatever the program believes.
TABLES: Mapping[type[Event], sa.Table] = MappingProxyType(
    {
        Asked: _events("argbest_trials", Asked, _once()),
        Told: _events("argbest_observations", Told, _once(), _of_trial()),
        Failed: _events("argbest_failures", Failed, _once(), _of_trial()),
        Passed: _events("argbest_passings", Passed, _of_trial()),
        Refit: _events("argbest_refits", Refit),
        Begun: _events("argbest_beginnings", Begun),
        Readmitted: _events("argbest_readmissions", Readmitted),
        Designed: _events("argbest_designs", Designed),
        Parted: _events("argbest_partings", Parted),
        Enqueued: _events("argbest_enqueued", Enqueued),
        Named: _events("argbest_names", Named),
        Revised: _events("argbest_revisions", Revised),
    }
)
_SINCE: Mapping[type[Event], int] = {
    Designed: 2,
    Parted: 3,
    Enqueued: 5,
    Named: 6,
    Revised: 7,
}  # tables that later versions brought
_COLUMNS_SINCE: Mapping[tuple[type[Event], str], int] = {(Told, "further"): 6}  # and columns


def kinds(found: int) -> list[type[Event]]:
    """Return the kinds of events that tables of a version hold."""
    return [kind for kind in TABLES if _SINCE.get(kind, VERSION_AT_FIRST) <= found]


def columns(kind: type[Event], found: int) -> list[sa.Column[Any]]:
    """Return the columns that a table of events has in a version, the study's left out."""
    own = list(TABLES[kind].c)[1:]
    return [each for each in own if _COLUMNS_SINCE.get((kind, each.name), VERSION_AT_FIRST) <= found]


def make_tables(connection: sa.Connection) -> None:
    """Make the tables that are not there yet."""
    _METADATA.create_all(connection)


def migrate(connection: sa.Connection, found: int) -> None:
    """Bring tables of an older version to ours; the caller's transaction makes it all or nothing."""
    for step in MIGRATIONS[found - VERSION_AT_FIRST :]:
        for statement in step:
            connection.exec_driver_sql(statement)
    connection.execute(studies.update().values(schema_version=version()))
