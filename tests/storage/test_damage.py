"""Damaged files: every one is answered, or complained about in one sentence; never a traceback."""

import shutil
import sqlite3
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argbest import ArgbestError, Problem, StorageError, Study
from argbest.answers.overview import overview
from argbest.storage.schema import TABLES, studies, workers

PAGE = 4096
# An option of the study that is none, say; or too few values for its model, where damage hides some.
OURS = {"answer", "StorageError", "InputError", "TooFewDataError"}
NONSENSE: list[Any] = [
    None,
    -1,
    10**6,
    2**62,
    0.5,
    float("inf"),
    "text",
    "",
    "[1, 2",
    "{}",
    "[]",
    "null",
    "[NaN]",
    '["a"]',
    b"blob",
    b"\xff\xfe\x00",
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a study with events of every kind."""
    path = tmp_path_factory.mktemp("sound") / "study.db"
    problem = Problem(["a", "bb", "ccc"], [0.0, 0.5, 1.0], lambda a, c, s: c * len(a) + s % 7)
    study = Study(problem, policy="ts-plus", storage=path, initial=2, plan={"budget": 60}).run(50)
    study.fail(study.ask()[0], "no licence")
    study.give_back(study.ask()[0])
    study.readmit()
    study.tell(study.ask()[0], [1.0, 2.0])
    study.close()
    return path


def look_at(path: Path) -> str:
    """Return how looking at all of a study ended: in an answer, or in the kind of our own error."""
    study = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study = Study.load(path)
            study.refresh()
            overview(study)
            study.trials(details=True)
            study.observations()
            study.allocation()
            study.selection()
            study.certificate()
    except ArgbestError as error:
        return type(error).__name__ if "\n" not in str(error) else f"several lines: {error}"
    finally:
        if study is not None:
            study.close()
    return "answer"


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the content of a file with damage of some kind."""
    found = bytearray(content)
    kind = rng.integers(4)
    if kind == 0:  # some bytes, anywhere
        for at in rng.integers(len(found), size=rng.integers(1, 40)):
            found[at] = rng.integers(256)
    elif kind == 1:  # bits within a page
        start = PAGE * int(rng.integers(len(found) // PAGE))
        for at in rng.integers(PAGE, size=rng.integers(1, 200)):
            found[start + at] ^= 1 << int(rng.integers(8))
    elif kind == 2:  # a stretch of noise
        at, size = int(rng.integers(len(found))), int(rng.integers(1, 2000))
        found[at : at + size] = rng.bytes(min(size, len(found) - at))
    else:  # pages that changed places
        one, two = (PAGE * int(i) for i in rng.integers(len(found) // PAGE, size=2))
        found[one : one + PAGE], found[two : two + PAGE] = found[two : two + PAGE], found[one : one + PAGE]
    return bytes(found)


@pytest.mark.parametrize("cases", [50, pytest.param(300, marks=pytest.mark.slow)])
def test_damage_of_any_kind_is_answered_or_complained_about(cases: int, sound: Path, tmp_path: Path) -> None:
    content, ends = sound.read_bytes(), Counter[str]()
    for seed in range(cases):
        path = tmp_path / f"{seed}.db"
        path.write_bytes(damaged(content, np.random.default_rng(seed)))
        ends[look_at(path)] += 1
        path.unlink()
    assert ends["answer"] > cases / 15  # harmless damage
    assert ends["StorageError"] > cases / 3
    assert set(ends) <= OURS


def columns() -> Iterator[tuple[str, str]]:
    for table in (studies, workers, *TABLES.values()):
        yield from ((table.name, column.name) for column in table.c if column.name != "id")


@pytest.mark.parametrize("every", [6, 1])
@pytest.mark.parametrize(("number", "table", "column"), [(i, *each) for i, each in enumerate(columns())])
@pytest.mark.fast_cases("*argbest_studies*-6", "*argbest_trials*-6", "*argbest_observations*-6")
def test_a_row_that_holds_nonsense_is_complained_about(
    number: int, table: str, column: str, every: int, sound: Path, tmp_path: Path
) -> None:
    """Some nonsense of each kind in every column, and other nonsense in the next one."""
    path = tmp_path / "study.db"
    for value in NONSENSE[number % every :: every]:
        shutil.copy(sound, path)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("PRAGMA ignore_check_constraints = ON")
            try:
                database.execute(f'UPDATE {table} SET "{column}" = CAST(? AS {_kind(value)})', [value])  # noqa: S608
            except sqlite3.IntegrityError:
                continue  # SQLite itself keeps this out
        assert look_at(path) in OURS, value


def _kind(value: object) -> str:
    """Return the type to store as; bytes that are no UTF-8 can be a text all the same."""
    if value == b"\xff\xfe\x00" or isinstance(value, str):
        return "TEXT"
    return "BLOB" if isinstance(value, bytes) else "NUMERIC"


def test_text_that_is_no_utf_8_is_no_outage(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    shutil.copy(sound, path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE argbest_failures SET reason = CAST(? AS TEXT)", [b"\xff\xfe"])
    with pytest.raises(StorageError, match="damaged") as caught:
        Study.load(path)
    assert not caught.value.transient
