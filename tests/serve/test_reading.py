"""A storage that is only read changes nothing, by the database's own word."""

from pathlib import Path

import pytest
from postgres import Server
from serve.crowd import NAMES, create
from serve.live import rows
from sqlalchemy.exc import DBAPIError

from argbest import Problem, Study
from argbest.errors import StorageError
from argbest.serve.watch import Reading
from argbest.storage import schema
from argbest.storage.base import Worker
from argbest.storage.sql import SQLStorage


def test_what_would_change_the_study_is_refused(study: Study, file: Path) -> None:
    before, storage = rows(file), Reading(file)
    with pytest.raises(StorageError, match="is opened read-only here"):
        storage.create({})
    with pytest.raises(StorageError, match="is opened read-only here"):
        storage.greet(Worker("w", "host", 1, 0.0, 0.0, 1, 0.0))
    loaded = Study.load(storage)
    with pytest.raises(StorageError, match="is opened read-only here"):
        loaded.ask()
    assert loaded.n_replications == 30
    assert rows(file) == before


def test_a_file_refuses_statements_that_write(study: Study, file: Path) -> None:
    before, storage = rows(file), Reading(file)
    for statement in ("DELETE FROM argbest_observations", "DROP TABLE argbest_refits"):
        with storage._way.connection() as connection, pytest.raises(DBAPIError, match="readonly database"):
            connection.exec_driver_sql(statement)
    assert rows(file) == before


def test_a_server_refuses_statements_that_write(postgres: Server) -> None:
    url = postgres.new_database()
    owner, storage = SQLStorage(url), Reading(url)
    Study(Problem(NAMES, [1, 2]), storage=owner)
    owner.close()
    assert Study.load(storage).n_replications == 0
    with storage._way.connection() as connection, pytest.raises(DBAPIError, match="read-only transaction"):
        connection.exec_driver_sql("DELETE FROM argbest_studies")
    storage.close()


def test_the_revision_counts_the_events_read(study: Study, file: Path) -> None:
    storage = Reading(file)
    loaded = Study.load(storage)
    before = storage.revision
    assert before == len(storage.since(0)) > 60  # every observation was asked for and told
    study.tell(study.ask()[0], 1.0)
    loaded.refresh()
    assert storage.revision == before + 2
    assert loaded.n_replications == 31


def test_tables_of_another_version_are_left_as_they_are(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create(file)
    before = rows(file)
    monkeypatch.setattr(
        schema, "MIGRATIONS", [*schema.MIGRATIONS, ("ALTER TABLE argbest_studies ADD COLUMN more INTEGER",)]
    )
    with pytest.raises(StorageError, match="another version of argbest, which the live view cannot edit"):
        Study.load(Reading(file))
    assert rows(file) == before
