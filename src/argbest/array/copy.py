"""A working copy: the study's file is worked on where SQLite is safe, and put back whole.

SQLite needs locks and shared memory, which network drives do not give it. So the coordinator takes a copy
to a disk of its own machine, and publishes it by renaming a whole file over the one it came from.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from argbest import files
from argbest.errors import InputError, StorageError


class WorkingCopy:
    """The file of a study away from its place."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.path = home, folder / home.name
        with _reported(home), closing(sqlite3.connect(_existing(home), uri=True)) as there:
            there.execute("PRAGMA journal_mode = DELETE")  # takes in what stands in files beside it
            _copy(there, self.path, "WAL")
        self._left = _look(home)

    def publish(self, *, mode: str = "DELETE") -> None:
        """Put the present state back as a whole; an error if somebody else has changed the file."""
        if _look(self.home) != self._left:
            rescued = self.home.with_name(f"{self.home.stem}-rescued{self.home.suffix}")
            shutil.copyfile(self._packed("DELETE"), rescued)
            raise StorageError(
                f"{str(self.home)!r} was changed by somebody else while the coordinator worked on it, and is "
                f"left as it is. The coordinator's own state is in {str(rescued)!r}. Choose one of them."
            )
        files.write(self.home, self._packed(mode).read_bytes())
        self._left = _look(self.home)

    def _packed(self, mode: str) -> Path:
        """Return a file that holds all of the copy, without others beside it."""
        packed = self.path.with_suffix(".packed")
        packed.unlink(missing_ok=True)
        with _reported(self.path), closing(sqlite3.connect(self.path)) as here:
            _copy(here, packed, mode)
        return packed


@contextmanager
def taken(storage: str) -> Iterator[WorkingCopy]:
    """Yield a working copy of a study's file; it is put back however the work ends."""
    if "://" in storage:
        raise InputError(
            "a study on a database server needs no shared folder; run `argbest worker` in every task."
        )
    home = Path(storage)
    folder = Path(tempfile.mkdtemp(prefix="argbest-array-"))
    try:
        copy = WorkingCopy(home.absolute(), folder)
        try:
            yield copy
        finally:
            copy.publish(mode="WAL")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(source: sqlite3.Connection, path: Path, mode: str) -> None:
    with closing(sqlite3.connect(path)) as target:
        source.backup(target)
        target.execute(f"PRAGMA journal_mode = {mode}")


def _existing(path: Path) -> str:
    return f"{path.as_uri()}?mode=rw"


def _look(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StorageError(
            f"{str(path)!r} cannot be taken over: {error}. It must be the file of a study that no other "
            "process uses."
        ) from error
