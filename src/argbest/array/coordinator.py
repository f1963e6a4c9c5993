"""What the coordinator does besides running the study: it keeps its file safe, and says what is kept.

SQLite needs locks and shared memory, which network drives do not give it. So the coordinator works on a copy
on a disk of its own machine, and publishes it by renaming a whole file over the one it came from.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from argbest import files, simulators
from argbest.array.executor import FolderExecutor
from argbest.array.folder import Recipe
from argbest.errors import InputError, StorageError
from argbest.simulators.calling import Job
from argbest.study.ledger import FAILED, TOLD
from argbest.study.study import Study

MOST_TASKS = 10_000


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
                f"{str(self.home)!r} was changed by another process while the coordinator worked on it, and "
                f"is left as it is. The coordinator's own state is in {str(rescued)!r}. Choose one of them."
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


@contextmanager
def tasks_in(
    folder: Path, study: Study, copy: WorkingCopy, options: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the options of `Study.run` that have the tasks of a folder simulate."""
    simulator = simulators.plain(study.problem.simulate)
    if simulator is None:
        raise InputError(
            "tasks cannot be sent this simulator; name a command or a Python function in a study file."
        )
    options = dict(options)
    recipe = Recipe(simulator, study.common_random_numbers, options.pop("timeout", None))
    kept = _Kept(study, copy)
    with FolderExecutor(folder, study.definition["id"], recipe, kept.publish) as executor:
        yield options | {"executor": executor, "workers": MOST_TASKS}


class _Kept:
    """Which replications are kept where the next coordinator will find them."""

    def __init__(self, study: Study, copy: WorkingCopy) -> None:
        self._study, self._copy = study, copy
        self._open: list[int] = []
        self._seen = 0

    def publish(self) -> list[Job]:
        """Return the replications that have ended since the last call, all of them kept now."""
        ledger = self._study._journal.ledger
        n = len(ledger.trials)
        self._open += range(self._seen, n)
        self._seen = n
        ended = [i for i in self._open if ledger.status(i) in (TOLD, FAILED)]
        self._open = sorted({*self._open} - {*ended})
        self._copy.publish()
        trials = (ledger.trials[i] for i in ended)
        return [(trial.alternative, trial.context, trial.seed) for trial in trials]


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
