"""The tables of stored studies: one per kind of event, plain columns, rows that are only ever added.

JSON is used where the shape is the study's own business: its definition, the replications told, the
parameters of a refit. Nothing is pickled, so any program that reads SQL can read a study.
"""

import json
import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import SchemaItem

from argbest.errors import InputError, StorageError
from argbest.storage.base import (
    Asked,
    Begun,
    Designed,
    Event,
    Failed,
    Parted,
    Passed,
    Readmitted,
    Refit,
    Told,
)

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
]
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def version() -> int:
    """Return the version of the tables that this code reads and writes."""
    return VERSION_AT_FIRST + len(MIGRATIONS)


class _Whole(sa.TypeDecorator[int]):
    """Whole numbers: NumPy's own would be kept as bytes by SQLite."""

    impl = sa.BigInteger
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> int | None:
        return None if value is None else int(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return _kept(value, int)


class _Number(sa.TypeDecorator[float]):
    """Finite doubles, exact; only the sign of a zero may be lost (SQLite keeps none)."""

    impl = sa.Double
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> float | None:
        if value is not None and not math.isfinite(value):
            raise InputError(f"a stored number must be finite, got {value!r}.")
        return None if value is None else float(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> float | None:
        found: float | None = _kept(value, int | float)
        if found is not None and not math.isfinite(found):
            raise ValueError(f"{found} is not finite")
        return None if found is None else float(found)


class _Words(sa.TypeDecorator[str]):
    """Text; characters that no database keeps (NUL, halves of a surrogate pair) become U+FFFD."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        return None if value is None else storable(str(value))

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return _kept(value, str)


class _JSON(sa.TypeDecorator[Any]):
    """JSON as its standard has it: no NaN, no infinity; ASCII, whatever the encoding of the database."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        return None if value is None else to_json(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return None if value is None else from_json(_kept(value, str))


class _Replications(_JSON):
    """A tuple of numbers, as a JSON list."""

    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        found = super().process_result_value(value, dialect)
        return None if found is None else tuple(float(each) for each in found)


class _Pairs(_JSON):
    """A tuple of pairs of positions, as a JSON list of lists."""

    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return tuple((int(k), int(c)) for k, c in super().process_result_value(value, dialect))


def _kept(value: Any, kind: Any) -> Any:
    """Return a value of the kind that was written; SQLite keeps anything in any column."""
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"{str(value)[:40]!r} stands where something else was written")
    return value


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

workers = sa.Table(
    "argbest_workers",
    _METADATA,
    sa.Column("study", sa.ForeignKey("argbest_studies.id"), primary_key=True),
    sa.Column("name", _Words, primary_key=True),
    sa.Column("host", _Words, nullable=False),
    sa.Column("process", _Whole, nullable=False),
    sa.Column("started", _Number, nullable=False),
    sa.Column("seen", _Number, nullable=False),
    sa.Column("slots", _Whole, nullable=False),
    sa.Column("busy", _Number, nullable=False),
)

# What pages hold is in the events too: whoever reads a study from outside can leave them aside.
pages = sa.Table(
    "argbest_pages",
    _METADATA,
    sa.Column("study", sa.ForeignKey("argbest_studies.id"), primary_key=True),
    sa.Column("last", _Whole, primary_key=True, autoincrement=False),
    sa.Column("first", _Whole, nullable=False),
    sa.Column("fingerprint", _Words, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("state", sa.LargeBinary),
)
PAGED_SINCE = 4  # the version of the tables that brought them


def _events(name: str, *columns: SchemaItem) -> sa.Table:
    """Return a table of events: the n-th event of a study has revision n, counted over all kinds."""
    return sa.Table(
        name,
        _METADATA,
        sa.Column("study", sa.ForeignKey("argbest_studies.id"), primary_key=True),
        sa.Column("revision", _Whole, primary_key=True, autoincrement=False),
        *columns,
        sqlite_with_rowid=False,  # one tree fewer to write
    )


def _of_trial() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["study", "trial"], ["argbest_trials.study", "argbest_trials.trial"])


def _number(name: str, *, nullable: bool = False) -> "sa.Column[float]":
    return sa.Column(name, _Number, nullable=nullable)


def _whole(name: str) -> "sa.Column[int]":
    return sa.Column(name, _Whole, nullable=False)


# The columns are the events' fields, in their order. A trial is asked once, told at most once and failed at
# most once: the database itself refuses a second time, whatever the program believes.
TABLES: Mapping[type[Event], sa.Table] = MappingProxyType(
    {
        Asked: _events(
            "argbest_trials",
            _whole("trial"),
            _whole("alternative"),
            _whole("context"),
            _whole("replication"),
            _whole("seed"),
            sa.Column("designed", sa.Boolean, nullable=False),
            sa.Column("worker", _Words, nullable=False),
            _number("time"),
            sa.UniqueConstraint("study", "trial"),
        ),
        Told: _events(
            "argbest_observations",
            _whole("trial"),
            _whole("n"),
            _number("mean"),
            _number("m2"),
            sa.Column("values", _Replications),
            _number("seconds", nullable=True),
            _number("time"),
            sa.UniqueConstraint("study", "trial"),
            _of_trial(),
        ),
        Failed: _events(
            "argbest_failures",
            _whole("trial"),
            sa.Column("reason", _Words, nullable=False),
            sa.Column("again", sa.Boolean, nullable=False),
            _number("seconds", nullable=True),
            _number("time"),
            sa.UniqueConstraint("study", "trial"),
            _of_trial(),
        ),
        Passed: _events(
            "argbest_passings",
            _whole("trial"),
            sa.Column("worker", _Words, nullable=False),
            _number("time"),
            _of_trial(),
        ),
        Refit: _events(
            "argbest_refits",
            _whole("n_records"),
            _whole("n_observations"),
            sa.Column("params", _JSON),
        ),
        Begun: _events("argbest_beginnings", _whole("n_records")),
        Readmitted: _events("argbest_readmissions", _number("time")),
        Designed: _events(
            "argbest_designs",
            sa.Column("pairs", _Pairs, nullable=False),
            sa.Column("reason", _Words, nullable=False),
            _number("time"),
        ),
        Parted: _events("argbest_partings", _number("time")),
    }
)
_SINCE: Mapping[type[Event], int] = {Designed: 2, Parted: 3}  # tables that later versions brought


def kinds(found: int) -> list[type[Event]]:
    """Return the kinds of events that tables of a version hold."""
    return [kind for kind in TABLES if _SINCE.get(kind, VERSION_AT_FIRST) <= found]


def make_tables(connection: sa.Connection) -> None:
    """Make the tables that are not there yet."""
    _METADATA.create_all(connection)


def migrate(connection: sa.Connection, found: int) -> None:
    """Bring tables of an older version to ours; the caller's transaction makes it all or nothing."""
    for step in MIGRATIONS[found - VERSION_AT_FIRST :]:
        for statement in step:
            connection.exec_driver_sql(statement)
    connection.execute(studies.update().values(schema_version=version()))
