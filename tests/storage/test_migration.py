"""Tables of an older version are brought up to date; those of a newer one are left alone."""

import threading
from pathlib import Path

import pytest
from storage.conftest import Opened
from storage.writers import pair

from argbest.errors import StorageError
from argbest.storage import place as places
from argbest.storage import schema
from argbest.storage.base import Designed, Worker
from argbest.storage.sql import SQLStorage

STEP = (
    "ALTER TABLE argbest_workers ADD COLUMN note TEXT",
    "CREATE TABLE argbest_remarks (study INTEGER NOT NULL, remark TEXT NOT NULL)",
    "INSERT INTO argbest_remarks (study, remark) SELECT id, 'migrated' FROM argbest_studies",
)


NOW = schema.version()
SO_FAR = tuple(schema.MIGRATIONS)


def old_database(opened: Opened, url: str) -> None:
    """Make two studies with tables as they are now."""
    for name in ("one", "two"):
        storage = opened(url, name=name)
        storage.create({"name": name})
        with storage.exclusive() as log:
            log.append(pair(0, name))
        storage.close()


def versions(storage: SQLStorage) -> list[int]:
    with storage._way.connection() as connection:
        return list(connection.exec_driver_sql("SELECT schema_version FROM argbest_studies").scalars())


def first_version(opened: Opened, url: str) -> None:
    """Make two studies with tables as version 0.1 of argbest made them."""
    old_database(opened, url)
    storage = opened(url, name="one")
    with storage._way.connection() as connection:
        connection.exec_driver_sql("DROP TABLE argbest_designs")
        connection.exec_driver_sql("ALTER TABLE argbest_observations DROP COLUMN further")
        connection.exec_driver_sql("UPDATE argbest_studies SET schema_version = 1")
    storage.close()


def test_the_tables_of_version_0_1_are_brought_up_to_date(url: str, opened: Opened) -> None:
    first_version(opened, url)
    storage = opened(url, name="one")
    assert list(storage.since(0)) == pair(0, "one")
    assert versions(storage) == [NOW, NOW]
    designed = Designed(((0, 0), (1, 2)), "because", 1.7e9)
    with storage.exclusive() as log:
        log.append([designed])
    assert opened(url, name="one").since(2) == [designed]


def test_a_new_study_brings_the_tables_of_version_0_1_up_to_date(url: str, opened: Opened) -> None:
    first_version(opened, url)
    storage = opened(url, name="three")
    storage.create({})
    assert versions(storage) == [NOW] * 3


def test_the_tables_of_version_0_1_are_read_where_nothing_can_be_written(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_version(opened, str(tmp_path / "study.db"))
    monkeypatch.setattr(places.Place, "read_only", True)
    storage = opened(str(tmp_path / "study.db"), name="one")
    assert storage.definition() == {"name": "one"}
    assert list(storage.since(0)) == pair(0, "one")
    assert versions(storage) == [1, 1]


def test_an_older_database_is_migrated_when_it_is_opened(
    url: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_database(opened, url)
    monkeypatch.setattr(schema, "MIGRATIONS", [*SO_FAR, STEP])
    storage = opened(url, name="one")
    assert storage.definition() == {"name": "one"}
    assert list(storage.since(0)) == pair(0, "one")
    assert versions(storage) == [NOW + 1] * 2
    with storage._way.connection() as connection:
        assert len(connection.exec_driver_sql("SELECT * FROM argbest_remarks").all()) == 2
    storage.greet(Worker("w", "h", 1, 0.0, 0.0, 1, 0.0))
    opened(url, name="three").create({})
    assert versions(storage) == [NOW + 1] * 3


def test_steps_are_taken_once_and_in_order_by_whoever_is_first(
    url: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_database(opened, url)
    marked = ("UPDATE argbest_remarks SET remark = remark || '!'",)
    monkeypatch.setattr(schema, "MIGRATIONS", [*SO_FAR, STEP, marked])
    raised: list[Exception] = []

    def look(storage: SQLStorage) -> None:
        try:
            assert len(storage.since(0)) == 2
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=look, args=(opened(url, name=name),)) for name in ("one", "two") * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert raised == []
    storage = opened(url, name="one")
    assert versions(storage) == [NOW + 2] * 2
    with storage._way.connection() as connection:
        found = connection.exec_driver_sql("SELECT remark FROM argbest_remarks").scalars().all()
    assert found == ["migrated!", "migrated!"]


def test_a_step_that_fails_leaves_the_older_database_as_it_was(
    url: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_database(opened, url)
    with monkeypatch.context() as later:
        later.setattr(schema, "MIGRATIONS", [*SO_FAR, (*STEP, "ALTER TABLE nowhere ADD COLUMN a TEXT")])
        with pytest.raises(StorageError, match="cannot do what is needed .*nowhere"):
            opened(url, name="one").definition()
    storage = opened(url, name="one")
    assert versions(storage) == [NOW, NOW]
    assert list(storage.since(0)) == pair(0, "one")
    with storage._way.connection() as connection, pytest.raises(Exception, match="argbest_remarks"):
        connection.exec_driver_sql("SELECT * FROM argbest_remarks")


def test_a_newer_database_is_left_alone(url: str, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(schema, "MIGRATIONS", [*SO_FAR, STEP])
        opened(url, name="one").create({"name": "one"})
    storage = opened(url, name="one")
    message = f"by a newer argbest: its tables have version {NOW + 1}, this argbest knows version {NOW}."
    for action in (storage.definition, storage.names, lambda: storage.since(0), storage.workers):
        with pytest.raises(StorageError, match=message):
            action()
    with pytest.raises(StorageError, match=message):
        opened(url, name="two").create({})
    assert versions(storage) == [NOW + 1]


def test_a_database_migrated_by_others_meanwhile_is_noticed(
    url: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_database(opened, url)
    storage = opened(url, name="one")
    assert len(storage.since(0)) == 2
    with monkeypatch.context() as later:
        later.setattr(schema, "MIGRATIONS", [*SO_FAR, STEP])
        opened(url, name="two").definition()
    with (
        pytest.raises(StorageError, match="Upgrade with: pip install --upgrade argbest"),
        storage.exclusive(),
    ):
        pass
