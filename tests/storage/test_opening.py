"""What may be given as storage, and what is refused in which words."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from storage.conftest import Opened

from argbest.errors import InputError, StorageError
from argbest.storage.memory import MemoryStorage
from argbest.storage.opening import open_storage
from argbest.storage.sql import SQLStorage


def test_nothing_means_memory() -> None:
    assert isinstance(open_storage(None), MemoryStorage)


def test_a_storage_is_taken_as_it_is() -> None:
    storage = MemoryStorage()
    assert open_storage(storage) is storage


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_a_path_a_text_and_a_url_mean_the_same_file(tmp_path: Path, opened: Opened, form: str) -> None:
    path = tmp_path / "what a 100% #name;.db"
    opened(path).create({"a": 1})
    assert path.exists()
    assert opened(form.format(path)).definition() == {"a": 1}


def test_a_path_may_hold_what_a_url_cannot(tmp_path: Path, opened: Opened) -> None:
    opened(tmp_path / "really? 2:.db").create({})
    assert [path.name for path in tmp_path.glob("*.db")] == ["really? 2:.db"]


def test_the_working_folder_may_change(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    storage = opened("study.db")
    monkeypatch.chdir("/")
    storage.create({})
    assert (tmp_path / "study.db").exists()


def test_looking_makes_no_file(tmp_path: Path, opened: Opened) -> None:
    storage = opened(tmp_path / "typo.db")
    assert storage.definition() is None
    assert storage.names() == []
    with pytest.raises(StorageError, match="no study 'study' in the file '.*typo.db'; there is none at all"):
        storage.since(0)
    with pytest.raises(InputError, match="stored as JSON, which cannot hold"):
        storage.create({"a": float("nan")})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_every_spelling_of_postgresql_is_psycopg(scheme: str) -> None:
    storage = SQLStorage(f"{scheme}://me:hidden@there:5433/lab")
    assert storage._place.url.drivername == "postgresql+psycopg"
    assert repr(storage) == "<SQLStorage of 'study' in the database 'lab' on there:5433>"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (7, "storage=7 is not a storage. Give None \\(memory\\), a file name"),
        ("", "names no file"),
        (":memory:", "names no file. Name one"),
        ("/", "is a folder. Name a file in it"),
        ("mysql://me:hidden@host/db", "databases of the kind 'mysql'"),
        ("postgresql+asyncpg://me:hidden@host/db", "the kind 'postgresql\\+asyncpg'"),
        ("postgresql://me:hid@den@host/db", "special characters of the password"),
        ("postgresql://me:hidden@host:port/db", "cannot be understood"),
        ("sqlite://", "names no file. Write sqlite:///study.db"),
        ("sqlite:///study.db?mode=ro", "without options"),
    ],
)
def test_what_names_no_database_is_refused(where: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        open_storage(where)
    assert "hid" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "x" * 201, "a\0b", "\ud800", 3])
def test_a_name_that_cannot_be_kept_is_refused(tmp_path: Path, name: Any) -> None:
    with pytest.raises(InputError, match="a text of 1 to 200 characters"):
        open_storage(tmp_path / "study.db", name=name)


def test_a_storage_can_be_sent_to_another_process(url: str, opened: Opened) -> None:
    storage = opened(url, name="sent")
    storage.create({"a": 1})
    copy = pickle.loads(pickle.dumps(storage))  # noqa: S301
    assert copy.definition() == {"a": 1}
    copy.close()


def test_importing_argbest_does_not_import_sqlalchemy() -> None:
    program = "import argbest, sys; import argbest.storage.opening; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_without_sqlalchemy_one_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delitem(sys.modules, "argbest.storage.sql", raising=False)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(StorageError, match="databases need SQLAlchemy 2: pip install"):
        open_storage(tmp_path / "study.db")


def test_without_psycopg_one_is_told_which_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StorageError, match=r'pip install "argbest\[postgres\]"'):
        SQLStorage("postgresql://me:hidden@there/lab").definition()
