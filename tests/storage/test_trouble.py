"""Whatever goes wrong: one kind of error, in words that say what to do, and the data intact."""

import threading
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from postgres import Server
from storage.conftest import Opened
from storage.writers import filled, pair

from argbest.errors import StorageError
from argbest.storage import place
from argbest.storage.base import Worker
from argbest.storage.connections import trouble
from argbest.storage.sql import SQLStorage

ROW = Worker("w", "h", 1, 0.0, 0.0, 1, 0.0)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "WAIT", 0.2)


@pytest.mark.usefixtures("impatient")
def test_a_lock_that_is_never_released_ends_in_an_error(url: str, opened: Opened) -> None:
    storage, other = filled(opened(url)), opened(url)
    with storage.exclusive() as log:
        log.append(pair(3, "w"))
        with (
            pytest.raises(
                StorageError, match="is held by another process for more than 60 seconds.*Try again"
            ),
            other.exclusive(),
        ):
            pass
    assert len(other.since(0)) == 8


@pytest.mark.usefixtures("impatient")
def test_a_thread_that_never_leaves_ends_in_an_error(url: str, opened: Opened) -> None:
    storage = filled(opened(url))
    raised: list[Exception] = []

    def enter() -> None:
        try:
            with storage.exclusive():
                pass
        except StorageError as error:
            raised.append(error)

    with storage.exclusive():
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
    assert "is held by another thread of this process" in str(raised[0])


def test_entering_twice_is_refused_at_once(url: str, opened: Opened) -> None:
    storage = filled(opened(url))
    with (
        pytest.raises(StorageError, match=r"exclusive\(\) was entered inside itself"),
        storage.exclusive(),
        storage.exclusive(),
    ):
        pass
    with storage.exclusive() as log:
        log.append(pair(3, "w"))


@pytest.mark.usefixtures("impatient")
def test_greeting_does_not_wait_for_whoever_decides(postgres: Server, opened: Opened) -> None:
    storage = filled(opened(postgres.new_database()))
    with storage.exclusive():
        storage.greet(ROW)
    assert list(storage.workers()) == [ROW]


def test_a_study_that_is_not_there_is_told_from_those_that_are(url: str, opened: Opened) -> None:
    filled(opened(url, name="a"))
    filled(opened(url, name="b"))
    storage = opened(url, name="x")
    assert storage.definition() is None
    actions: list[Any] = [lambda: storage.since(0), storage.workers, lambda: storage.greet(ROW)]
    for action in (*actions, lambda: storage.exclusive().__enter__()):
        with pytest.raises(StorageError, match="no study 'x' in the .*; there are 'a', 'b'"):
            action()
    with pytest.raises(StorageError, match="there is a study 'a' in the .* already; load it"):
        opened(url, name="a").create({})


def test_a_server_that_cannot_be_reached_is_said_so_without_the_password() -> None:
    storage = SQLStorage("postgresql://me:hush-hush@127.0.0.1:1/lab?sslpassword=hush-hush")
    for action in (storage.definition, lambda: storage.create({}), storage.names):
        with pytest.raises(
            StorageError, match="'lab' on 127.0.0.1:1 cannot be reached .* Check that the server runs"
        ) as caught:
            action()
        assert "hush" not in str(caught.value) + repr(storage) + str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("user", "database", "message"),
    [
        ("argbest", "nowhere", 'database "nowhere" does not exist.*host, port, user, password and database'),
        ("stranger", "postgres", 'role "stranger" does not exist'),
    ],
)
def test_a_server_that_lets_nobody_in_is_said_to(
    postgres: Server, user: str, database: str, message: str
) -> None:
    storage = SQLStorage(f"postgresql://{user}:hush-hush@/{database}?host={postgres.folder}")
    with pytest.raises(StorageError, match=message) as caught:
        storage.definition()
    assert "hush" not in str(caught.value)


def test_a_connection_lost_in_between_is_opened_again(postgres: Server, opened: Opened) -> None:
    url = postgres.new_database()
    storage = filled(opened(url))
    hang_up = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'argbest'"
    postgres.run(hang_up)
    assert len(storage.since(0)) == 6

    def lose_it_inside() -> None:
        with storage.exclusive() as log:
            log.append(pair(3, "w"))
            postgres.run(hang_up)

    with pytest.raises(StorageError, match="cannot be reached"):
        lose_it_inside()
    assert len(storage.since(0)) == 6
    with storage.exclusive() as log:
        log.append(pair(3, "w"))
    assert len(storage.since(0)) == 8


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (psycopg.errors.DiskFull, "has no room left"),
        (psycopg.errors.ReadOnlySqlTransaction, "is read-only"),
        (psycopg.errors.TooManyConnections, "Use fewer workers"),
        (psycopg.errors.InsufficientPrivilege, "permissions"),
        (psycopg.errors.AdminShutdown, "cannot be reached"),
        (psycopg.errors.UndefinedColumn, "cannot do what is needed"),
    ],
)
def test_other_errors_of_a_server_are_explained(error: type[psycopg.Error], message: str) -> None:
    where = place.place("postgresql://me:hush@there/lab")
    raised = sa.exc.OperationalError("SELECT 1", {}, error("hush\n  now"))
    found = trouble(raised, where)
    assert isinstance(found, StorageError)
    assert message in str(found)
    assert "(*** now)" in str(found)
