"""What happens to files: full disks, missing rights, damage. An error that says so, and the data intact."""

import gc
import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from storage.conftest import Opened
from storage.writers import filled, pair

from argbest.errors import StorageError
from argbest.storage.base import Worker
from argbest.storage.sql import SQLStorage

ROW = Worker("w", "h", 1, 0.0, 0.0, 1, 0.0)


def add_until_refused(storage: SQLStorage) -> int:
    """Return how many transactions were acknowledged before one was not."""
    for trial in range(3, 100_000):
        try:
            with storage.exclusive() as log:
                log.append(pair(trial, "w" * 1000))
        except StorageError as error:
            assert "has no room left" in str(error) or "The disk may be full" in str(error)  # noqa: PT017
            assert "Everything acknowledged before is safe" in str(error)  # noqa: PT017
            return trial
    raise AssertionError("the disk never filled up")


def test_a_forgotten_storage_lets_go_of_its_file_without_complaint(tmp_path: Path) -> None:
    complaints: list[object] = []
    storage = filled(SQLStorage(tmp_path / "study.db"))
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        patch.setattr(sys, "unraisablehook", complaints.append)
        del storage
        gc.collect()
    assert complaints == []
    shown = Path("/proc/self/fd")
    opened = [os.readlink(each) for each in shown.iterdir() if each.is_symlink()] if shown.is_dir() else []
    assert not [name for name in opened if name.startswith(str(tmp_path))]


@pytest.fixture
def small_disk() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="argbest-small-disk-"))
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    if os.getuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode != 0:
        folder.rmdir()
        pytest.skip("a small disk can only be mounted by root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)  # noqa: S607
    folder.rmdir()


def test_a_full_disk_loses_nothing_acknowledged(small_disk: Path, opened: Opened) -> None:
    storage = filled(opened(small_disk / "study.db"))
    reached = add_until_refused(storage)
    assert [event.trial for event in storage.since(0)][::2] == list(range(reached))  # type: ignore[union-attr]
    storage.close()
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)  # noqa: S607
    with storage.exclusive() as log:
        log.append(pair(reached, "w"))
    assert len(storage.since(0)) == 2 * (reached + 1)
    storage.close()


def test_a_disk_full_from_the_beginning_is_said_to_be(small_disk: Path, opened: Opened) -> None:
    with (small_disk / "ballast").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    with pytest.raises(StorageError, match="no room left|disk may be full|cannot be"):
        opened(small_disk / "study.db").create({})


def test_a_file_at_its_largest_size_loses_nothing(tmp_path: Path, opened: Opened) -> None:
    storage = filled(opened(tmp_path / "study.db"))
    storage.close()
    sa.event.listen(
        storage._way.own.engine,
        "connect",
        lambda connection, _: connection.execute("PRAGMA max_page_count = 60"),
    )
    reached = add_until_refused(storage)
    assert len(storage.since(0)) == 2 * reached
    with pytest.raises(StorageError, match=r"has no room left \(database or disk is full\). Free some space"):
        storage.greet(Worker("w", "h" * 10**6, 1, 0.0, 0.0, 1, 0.0))


@contextmanager
def powerless() -> Iterator[Path]:
    """Yield a folder, in which this process has no more rights than its owner."""
    folder = Path(tempfile.mkdtemp(prefix="argbest-rights-"))
    if os.getuid() != 0:
        yield folder
    else:
        nobody = pwd.getpwnam("nobody").pw_uid
        os.chown(folder, nobody, -1)
        os.seteuid(nobody)  # rights do not bind root
        try:
            yield folder
        finally:
            os.seteuid(0)
    for each in (folder, *folder.iterdir()):
        each.chmod(0o700)
    shutil.rmtree(folder)


def test_a_read_only_file_can_be_read_but_not_written(opened: Opened) -> None:
    with powerless() as folder:
        path = folder / "study.db"
        storage = filled(opened(path))
        storage.close()
        path.chmod(0o400)
        assert len(storage.since(0)) == 6
        with pytest.raises(
            StorageError, match="study.db' cannot be written .* Make it and its folder writable"
        ):
            storage.greet(ROW)
        with (
            pytest.raises(StorageError, match="cannot be written"),
            storage.exclusive() as log,
        ):
            log.append(pair(3, "w"))
        with pytest.raises(StorageError, match=r"cannot be written \(Permission denied\)"):
            opened(path, name="other").create({})
        storage.close()
        path.chmod(0o600)
        assert len(storage.since(0)) == 6
        storage.close()


def test_a_read_only_folder_is_said_to_be(opened: Opened) -> None:
    with powerless() as folder:
        storage = filled(opened(folder / "study.db"))
        storage.close()
        folder.chmod(0o500)
        with pytest.raises(StorageError, match="study.db' cannot be (opened|written)"):
            storage.greet(ROW)
        with pytest.raises(
            StorageError, match=r"new.db' cannot be written \(Permission denied\). Name a file"
        ):
            opened(folder / "new.db").create({})
        storage.close()
        folder.chmod(0o700)
        assert len(storage.since(0)) == 6
        storage.close()


def test_a_folder_that_does_not_exist_is_said_not_to(tmp_path: Path, opened: Opened) -> None:
    with pytest.raises(StorageError, match="No such file or directory.*Name a file in a folder that exists"):
        opened(tmp_path / "nowhere" / "study.db").create({})


@pytest.mark.parametrize("content", [b"alternative,context,value\n1,2,3\n" * 100, b"\0" * 5000])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, opened: Opened, content: bytes) -> None:
    path = tmp_path / "runs.csv"
    path.write_bytes(content)
    storage = opened(path)
    for action in (storage.definition, lambda: storage.create({}), lambda: storage.since(0)):
        with pytest.raises(StorageError, match="runs.csv' is not an SQLite database, or a damaged one"):
            action()
    assert path.read_bytes() == content


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path, opened: Opened, seed: int) -> None:
    """Random bytes over one page after another: reading gives all, or an error that says so."""
    path = tmp_path / "study.db"
    storage = filled(opened(path), 40)
    expected = list(storage.since(0))
    storage.close()
    content = bytearray(path.read_bytes())
    page = 4096 * (1 + seed % (len(content) // 4096 - 1))
    content[page : page + 4096] = np.random.default_rng(seed).bytes(4096)
    path.write_bytes(content)
    try:
        assert list(storage.since(0)) == expected
    except StorageError as error:
        assert any(word in str(error) for word in ("damaged", "never wrote", "restore a backup"))  # noqa: PT017


def test_rows_that_are_gone_are_noticed(url: str, opened: Opened) -> None:
    storage = filled(opened(url))
    with storage._way.writing() as connection:
        connection.exec_driver_sql("DELETE FROM argbest_observations WHERE trial = 1")
    with pytest.raises(StorageError, match="1 of 6 events are gone, the first is event 4"):
        storage.since(0)


def test_a_value_that_was_never_written_is_noticed(tmp_path: Path, opened: Opened) -> None:
    storage = filled(opened(tmp_path / "study.db"))
    with closing(sqlite3.connect(tmp_path / "study.db")) as connection, connection:
        connection.execute("UPDATE argbest_observations SET mean = 'high' WHERE trial = 1")
    with pytest.raises(StorageError, match="a row holds data that argbest never wrote .*'high'"):
        storage.since(0)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_removed_while_in_use_is_noticed(
    tmp_path: Path, opened: Opened, replaced: bool
) -> None:
    path = tmp_path / "study.db"
    storage = filled(opened(path))
    os.rename(path, tmp_path / "moved.db")
    if replaced:
        path.touch()
    for action in (
        lambda: storage.since(0),
        lambda: storage.greet(ROW),
        lambda: storage.exclusive().__enter__(),
    ):
        with pytest.raises(StorageError, match="was removed, replaced or cut short while it was in use. Put"):
            action()
    os.replace(tmp_path / "moved.db", path)
    assert len(storage.since(0)) == 6


def permissions(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


@pytest.fixture
def generous() -> Iterator[None]:
    """A process whose new files are everybody's."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("generous")
def test_a_new_file_is_its_owners_alone_from_the_first_moment_on(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, int]] = []
    really = os.open

    def looked_at(*arguments: Any, **options: Any) -> int:
        number = really(*arguments, **options)
        seen.append(permissions(tmp_path))
        return number

    monkeypatch.setattr(os, "open", looked_at)
    storage = filled(opened(tmp_path / "study.db"))
    assert seen[0] == {"study.db": 0o600}
    assert permissions(tmp_path) == dict.fromkeys(["study.db", "study.db-wal", "study.db-shm"], 0o600)
    assert len(storage.since(0)) == 6


@pytest.mark.usefixtures("generous")
def test_a_file_that_exists_keeps_its_permissions_so_that_a_group_can_share_it(
    tmp_path: Path, opened: Opened
) -> None:
    (tmp_path / "study.db").touch(0o660)
    filled(opened(tmp_path / "study.db"))
    assert permissions(tmp_path) == dict.fromkeys(["study.db", "study.db-wal", "study.db-shm"], 0o660)
