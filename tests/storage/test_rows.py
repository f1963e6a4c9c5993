"""What is in the tables: plain rows, exact numbers, harmless texts, constraints that the database keeps."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from storage.conftest import Opened

from argbest import testing
from argbest.errors import InputError, StorageError
from argbest.storage.base import Asked, Begun, Event, Failed, Passed, Refit, Told, Worker
from argbest.storage.schema import TABLES
from argbest.storage.sql import SQLStorage
from argbest.testing.storages import NASTY

ASKED = Asked(0, 1, 2, 3, 4, True, "w", 0.5)
TOLD = Told(0, 1, 0.25, 0.0, (0.25,), 0.125, 1.5)

finite = st.floats(allow_nan=False, allow_infinity=False)


def add(storage: SQLStorage, *events: Event) -> None:
    with storage.exclusive() as log:
        log.append(events)


def rows(path: Path, query: str) -> list[Any]:
    """Read the file as any other program would."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_the_columns_of_a_table_are_the_fields_of_its_event(kind: type[Event]) -> None:
    names = [column.name for column in TABLES[kind].columns]
    assert names == ["study", "revision", *(each.name for each in fields(kind))]


def test_a_study_is_plain_rows_that_anybody_can_read(tmp_path: Path, opened: Opened) -> None:
    storage = opened(tmp_path / "study.db", name="lab")
    storage.create({"goal": "max"})
    add(storage, ASKED, TOLD, Refit(1, 1, {"scale": [0.1]}))
    found = rows(
        tmp_path / "study.db", "SELECT name, schema_version, revision, definition FROM argbest_studies"
    )
    assert found == [("lab", 7, 3, '{"goal":"max"}')]
    assert rows(tmp_path / "study.db", "SELECT * FROM argbest_trials") == [(1, 1, 0, 1, 2, 3, 4, 1, "w", 0.5)]
    assert rows(tmp_path / "study.db", "SELECT * FROM argbest_observations") == [
        (1, 2, 0, 1, 0.25, 0.0, "[0.25]", 0.125, 1.5, None)
    ]
    assert rows(tmp_path / "study.db", "SELECT * FROM argbest_refits") == [(1, 3, 1, 1, '{"scale":[0.1]}')]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(numbers=st.lists(finite, min_size=3, max_size=40))
def test_every_double_comes_back_as_it_was(url: str, numbers: list[float]) -> None:
    storage = SQLStorage(url)
    if storage.definition() is None:
        storage.create({})
    there = len(storage.since(0))
    events: list[Event] = [
        replace(ASKED, trial=there, time=numbers[0]),
        Told(there, 3, numbers[1], numbers[2], tuple(numbers), numbers[0], numbers[1]),
        Refit(0, 0, {"numbers": numbers}),
    ]
    add(storage, *events)
    assert list(storage.since(there)) == events
    storage.close()


def test_numbers_of_numpy_are_kept_as_numbers(url: str, opened: Opened) -> None:
    storage = opened(url)
    storage.create({})
    seven: Any = np.int64(7)
    add(
        storage,
        Asked(seven, seven, seven, seven, seven, bool(np.True_), "w", np.float64(0.5)),
        Told(seven, seven, np.float64(0.1), np.float64(0.2), (np.float64(0.1),), None, 1.0),
    )
    expected = [Asked(7, 7, 7, 7, 7, True, "w", 0.5), Told(7, 7, 0.1, 0.2, (0.1,), None, 1.0)]
    assert list(map(repr, storage.since(0))) == list(map(repr, expected))


def test_texts_with_quotes_html_and_sql_are_harmless(url: str, opened: Opened) -> None:
    nasty, other = opened(url, name=NASTY), opened(url, name="'; DELETE FROM argbest_studies; --")
    nasty.create({NASTY: NASTY})
    other.create({})
    add(nasty, replace(ASKED, worker=NASTY), Failed(0, NASTY, False, None, 1.0), Passed(0, NASTY, 2.0))
    nasty.greet(Worker(NASTY, NASTY, 1, 0.0, 0.0, 1, 0.0))
    assert nasty.definition() == {NASTY: NASTY}
    assert [each.name for each in nasty.workers()] == [NASTY]
    assert nasty.since(1) == [Failed(0, NASTY, False, None, 1.0), Passed(0, NASTY, 2.0)]
    assert nasty.names() == sorted([NASTY, "'; DELETE FROM argbest_studies; --"])
    assert list(other.since(0)) == []


def test_what_no_database_can_keep_is_replaced_in_texts(url: str, opened: Opened) -> None:
    storage = opened(url)
    storage.create({"exact": "nul \0 half \ud800"})  # JSON can write these
    add(storage, ASKED, Failed(0, "nul \0 half \udcff end", True, 0.1, 1.0))
    storage.greet(Worker("a\0", "h", 1, 0.0, 1.0, 1, 0.0))
    storage.greet(Worker("a\0", "h", 1, 0.0, 2.0, 1, 0.0))
    assert storage.definition() == {"exact": "nul \0 half \ud800"}
    assert storage.since(1) == [Failed(0, "nul \ufffd half \ufffd end", True, 0.1, 1.0)]
    assert [(each.name, each.seen) for each in storage.workers()] == [("a\ufffd", 2.0)]


@pytest.mark.parametrize(
    "twice",
    [
        [TOLD, TOLD],
        [ASKED],
        [Failed(0, "a", False, None, 1.0), Failed(0, "b", False, None, 2.0)],
        [replace(TOLD, trial=8)],
        [Passed(8, "w", 1.0)],
    ],
    ids=["told twice", "asked twice", "failed twice", "told before asked", "passed before asked"],
)
def test_the_database_refuses_contradictions(url: str, opened: Opened, twice: list[Event]) -> None:
    storage = opened(url)
    storage.create({})
    add(storage, ASKED)
    with pytest.raises(StorageError, match="refuses an entry that contradicts its contents"):
        add(storage, replace(ASKED, trial=1), *twice)
    assert list(storage.since(0)) == [ASKED]
    add(storage, TOLD)
    assert list(storage.since(0)) == [ASKED, TOLD]


def test_an_error_that_is_caught_inside_still_discards_everything(url: str, opened: Opened) -> None:
    storage = opened(url)
    storage.create({})

    def careless() -> None:
        with storage.exclusive() as log:
            log.append([ASKED])
            with pytest.raises(StorageError, match="contradicts"):
                log.append([ASKED])

    with pytest.raises(StorageError, match="nothing of this transaction was"):
        careless()
    assert list(storage.since(0)) == []


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_refused(url: str, opened: Opened, number: float) -> None:
    storage = opened(url)
    storage.create({})
    add(storage, ASKED)
    for event in (replace(TOLD, mean=number), replace(TOLD, values=(number,)), Refit(0, 0, {"a": number})):
        with pytest.raises(InputError, match="finite|JSON"):
            add(storage, event)
    assert list(storage.since(0)) == [ASKED]


def test_what_is_no_event_is_refused(url: str, opened: Opened) -> None:
    storage = opened(url)
    storage.create({})
    strange: Any = "told"
    with pytest.raises(InputError, match="got 'told' as an event of a study; expected one of Asked, Told"):
        add(storage, strange)


def test_studies_in_one_database_do_not_see_each_other(url: str, opened: Opened) -> None:
    one, two = opened(url, name="one"), opened(url, name="two")
    one.create({"n": 1})
    two.create({"n": 2})
    add(one, ASKED, TOLD)
    add(two, ASKED, Begun(0))
    one.greet(Worker("w", "h", 1, 0.0, 0.0, 1, 0.0))
    assert (one.definition(), two.definition()) == ({"n": 1}, {"n": 2})
    assert list(one.since(0)) == [ASKED, TOLD]
    assert list(two.since(0)) == [ASKED, Begun(0)]
    assert list(two.workers()) == []
    assert one.names() == ["one", "two"]


def test_many_threads_may_greet_under_one_name(url: str, opened: Opened) -> None:
    storage = opened(url)
    storage.create({})
    greetings = [Worker("w", "h", process, 0.0, 0.0, 1, 0.0) for process in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(storage.greet, greetings))
    (found,) = storage.workers()
    assert found in greetings


def test_revisions_count_from_one_without_gaps(tmp_path: Path, opened: Opened) -> None:
    storage = opened(tmp_path / "study.db")
    storage.create({})
    events = testing.example_events(4)

    def give_up(event: Event) -> None:
        with storage.exclusive() as log:
            log.append([event])
            raise LookupError("given up")

    for event in events:
        with pytest.raises(LookupError, match="given up"):
            give_up(event)
        add(storage, event)
    union = " UNION ALL ".join(f"SELECT revision FROM {table.name}" for table in TABLES.values())  # noqa: S608
    found = sorted(revision for (revision,) in rows(tmp_path / "study.db", union))
    assert found == list(range(1, len(events) + 1))


def test_parameters_are_strict_json(tmp_path: Path, opened: Opened) -> None:
    storage = opened(tmp_path / "study.db")
    storage.create({"text": "é"})
    add(storage, Refit(1, 1, {"deep": [{"a": [1e-300, -0.0]}]}))
    (text,) = rows(tmp_path / "study.db", "SELECT params FROM argbest_refits")[0]
    assert json.loads(text, parse_constant=pytest.fail) == {"deep": [{"a": [1e-300, 0.0]}]}
    assert text.isascii()
