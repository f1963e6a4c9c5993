"""The folder that a coordinator and its tasks share.

    jobs/TASK/JOB.json       what a task is to simulate      the coordinator writes, and removes
    results/JOB.TASK.json    what came of it                 the task writes, the coordinator removes
    tasks/TASK.json          that the task is alive          the task writes, and removes
    coordinator.json         that the coordinator is alive   the coordinator writes
    unreadable/              files that argbest cannot have written, moved there by whoever finds them

Every file has one writer, is made under another name and renamed, and is never added to. So the file system
only has to show a renamed file as a whole or not at all, and to others sooner or later. Nothing is locked. A
result is identified by what was simulated, so it may come twice, or after its coordinator has ended.

Jobs are commands, so nobody else may write in the folder, unless it is ``shared`` on purpose.
"""

import errno
import hashlib
import json
import os
import stat
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from argbest import files, trust
from argbest.checks import finite, flag, one_of, shown, unicode, whole
from argbest.errors import ArgbestError, InputError, Notice, StorageError
from argbest.simulators.calling import Job, Outcome, checked
from argbest.storage.base import Worker

RUNNING, FINISHED = "running", "finished"
_PARTS = "jobs", "results", "tasks"
_UNREADABLE = "unreadable"
_FOR_GOOD = (errno.EACCES, errno.EISDIR, errno.ELOOP, errno.ENXIO)  # others pass, or the file is gone
_LONGEST = 300  # characters of why a file cannot be used
_T = TypeVar("_T")


@dataclass(frozen=True)
class Recipe:
    """What tasks simulate with: a simulator as plain values, and how."""

    simulator: dict[str, Any]
    shared_seeds: bool  # whether alternatives share them
    timeout: float | None  # seconds for one replication of a Python function

    def key(self, study: str, job: Job) -> str:
        """Return the key of a replication, which no other one has."""
        content = json.dumps([study, self.simulator, self.shared_seeds, *job], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Sign:
    """A task's sign of life."""

    worker: Worker
    simulating: str  # the job that it simulates, "" if there is none


@dataclass(frozen=True)
class Delivery:
    """What a task returns for a job: outcomes by key, or an ``error`` that every task would meet."""

    outcomes: dict[str, Outcome]
    error: str = ""

    def text(self) -> str:
        """Return the text of a file of results."""
        outcomes = {key: [each.value, each.reason, each.seconds] for key, each in self.outcomes.items()}
        return json.dumps({"error": self.error, "outcomes": outcomes})


@dataclass(frozen=True)
class Given:
    """A job: what to simulate with, and the replications by their keys."""

    recipe: Recipe
    jobs: dict[str, Job]


@dataclass(frozen=True)
class Announcement:
    """The coordinator's sign of life."""

    name: str
    beat: int
    state: str


class _UnreadableError(Exception):
    """A file cannot be read, and was set aside."""


@dataclass(eq=False)
class Folder:
    """The files in the folder of a coordinator and its tasks.

    A file that argbest cannot have written is moved away, with one notice, and then counts as missing. If
    the folder cannot be reached, that is a StorageError that may pass. With ``shared`` others may write
    there, and what they write is used.
    """

    path: Path
    shared: bool = False
    _reported: set[Path] = field(default_factory=set, repr=False)

    def make(self) -> None:
        """Make the folder and what it holds; a StorageError if others can write there."""
        for part in _PARTS:
            self.make_part(part)
        for part in _PARTS:
            self._refuse_foreign(self.path / part)

    def make_part(self, part: str) -> None:
        """Make a folder in the folder, for its owner alone; the umask decides on a shared one."""
        mode = 0o777 if self.shared else 0o700
        try:
            if not self.path.exists():
                self.path.mkdir(mode=mode, parents=True, exist_ok=True)
            (self.path / part).mkdir(mode=mode, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"{str(self.path)!r} is no folder that tasks can share: {error.strerror}. Name the one that "
                "`argbest submit` made."
            ) from None

    def make_inbox(self, task: str) -> None:
        """Make a task's folder for jobs; the folder that it is in must be there."""
        with self._reached():
            (self.path / "jobs" / task).mkdir(mode=0o777 if self.shared else 0o700, exist_ok=True)

    def check_there(self) -> None:
        """Raise a StorageError if the folder or a part of it is gone."""
        with self._reached():
            for part in _PARTS:
                os.stat(self.path / part)

    def write(self, path: Path, text: str) -> Path:
        """Return the path of a file in the folder, written, for its owner alone unless others share it."""
        with self._reached():
            return files.write(path, text, mode=0o666 if self.shared else 0o600)

    def greet(self, worker: Worker, simulating: str = "") -> None:
        """Write a task's sign of life."""
        sign = asdict(worker) | {"simulating": simulating}
        self.write(self.path / "tasks" / f"{worker.name}.json", json.dumps(sign))

    def leave(self, task: str) -> None:
        """Remove a task's sign of life, and its folder for jobs unless there are some."""
        with suppress(OSError):
            (self.path / "tasks" / f"{task}.json").unlink(missing_ok=True)
            (self.path / "jobs" / task).rmdir()

    def is_signed(self, task: str) -> bool:
        """Return whether a task's sign of life is still there: the task has not left."""
        return (self.path / "tasks" / f"{task}.json").exists()

    def signs(self) -> list[Sign]:
        """Return the last sign of life of every task."""
        found = (self._read_if_sound(path, _sign) for path in self._files("tasks"))
        return [sign for sign in found if sign is not None]

    def give(self, task: str, name: str, recipe: Recipe, jobs: dict[str, Job]) -> None:
        """Write a job for a task: replications by their keys."""
        self.make_inbox(task)
        content = asdict(recipe) | {"jobs": jobs}
        self.write(self.path / "jobs" / task / f"{name}.json", json.dumps(content))

    def given(self, task: str, besides: Collection[str] = ()) -> Iterator[tuple[str, Given | None]]:
        """Yield the jobs of a task by name, without those in ``besides``; None: its file was set aside."""
        for path in self._files("jobs", task):
            if path.stem in besides:
                continue
            self._refuse_foreign(path.parent)
            try:
                job = self._read(path, _given)
            except _UnreadableError:
                yield path.stem, None
            else:
                if job is not None:
                    yield path.stem, job

    def inboxes(self) -> list[str]:
        """Return the tasks that have a folder for jobs."""
        with self._reached():
            return sorted(path.name for path in (self.path / "jobs").iterdir() if path.is_dir())

    def take_back(self, task: str, name: str) -> None:
        """Remove a job."""
        with self._reached():
            (self.path / "jobs" / task / f"{name}.json").unlink(missing_ok=True)

    def deliver(self, task: str, name: str, delivery: Delivery) -> None:
        """Write what came of a job."""
        self.write(self.path / "results" / f"{name}.{task}.json", delivery.text())

    def results(self) -> list[Path]:
        """Return the files of results."""
        return self._files("results")

    def delivered(self, path: Path) -> Delivery | None:
        """Return the content of a file of results, None if it is not there; empty if it was set aside."""
        self._refuse_foreign(path.parent)
        try:
            return self._read(path, _delivery)
        except _UnreadableError:
            return Delivery({})

    def remove(self, path: Path) -> None:
        """Remove a file of results."""
        with self._reached():
            path.unlink(missing_ok=True)

    def announce(self, coordinator: str, beat: int, state: str) -> None:
        """Write the coordinator's sign of life."""
        sign = asdict(Announcement(coordinator, beat, state))
        self.write(self.path / "coordinator.json", json.dumps(sign))

    def coordinator(self) -> Announcement | None:
        """Return the coordinator's last sign of life, None before the first."""
        return self._read_if_sound(self.path / "coordinator.json", _announcement)

    def _files(self, *parts: str) -> list[Path]:
        """Return the files in a part of the folder; hidden ones are of the system, or not whole yet."""
        with self._reached():
            try:
                found = sorted(self.path.joinpath(*parts).iterdir())
            except (FileNotFoundError, NotADirectoryError):
                return []
        return [path for path in found if path.suffix == ".json" and not path.name.startswith(".")]

    def _read_if_sound(self, path: Path, shape: Callable[[Any, Path], _T]) -> _T | None:
        try:
            return self._read(path, shape)
        except _UnreadableError:
            return None

    def _read(self, path: Path, shape: Callable[[Any, Path], _T]) -> _T | None:
        """Return what a file says, None if there is none that can be read at the moment."""
        try:
            return shape(json.loads(self._text(path), parse_constant=_refuse_constant), path)
        except OSError as error:
            if error.errno not in _FOR_GOOD:
                return None
            reason = error.strerror or str(error)
        except RecursionError:
            reason = "it is nested too deeply"
        except (ValueError, ArgbestError) as error:
            reason = str(error)
        self._set_aside(path, reason)
        raise _UnreadableError

    def _text(self, path: Path) -> str:
        """Return the text of an ordinary file that nobody else can have written."""
        kinds = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")  # follow no link, and do not wait for a pipe
        number = os.open(path, os.O_RDONLY | sum(getattr(os, kind, 0) for kind in kinds))
        try:
            found = os.fstat(number)
            if not stat.S_ISREG(found.st_mode):
                raise ValueError("it is no ordinary file")
            if not self.shared and (reason := trust.distrust_status(path, found)):
                raise ValueError(f"{reason}; where that is meant, use --shared")
            with open(number, "rb", closefd=False) as file:
                return file.read().decode("utf-8")
        finally:
            os.close(number)

    def _set_aside(self, path: Path, reason: str) -> None:
        """Move a file that cannot be read out of the way, with a notice the first time for every name."""
        aside = self.path / _UNREADABLE / "-".join(path.relative_to(self.path).parts)
        try:
            self.make_part(_UNREADABLE)
            os.replace(path, aside)
            done = f"it is now {str(aside)!r}"
        except FileNotFoundError:  # another process was quicker, and says so
            return
        except (OSError, StorageError):
            done = "it cannot be moved out of the way"
        if path not in self._reported:
            self._reported.add(path)
            say(
                f"{str(path)!r} cannot be used ({reason[:_LONGEST]}); {done}, and the work goes on "
                "without it."
            )

    def _refuse_foreign(self, part: Path) -> None:
        """Raise a StorageError if others could put files into a part of the folder."""
        if self.shared:
            return
        with self._reached():
            reason = trust.distrust(part.resolve())
        if reason:
            raise StorageError(
                f"the folder {str(self.path)!r} is refused, because {reason}. Jobs are commands that tasks "
                "run as you, so nobody else may write there: use a folder of your own (chmod 700). If a "
                "group shares it on purpose, add --shared to `argbest submit` (or to `task` and `resume`)."
            )

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Report what cannot be written or read in the folder as a StorageError that may pass."""
        try:
            yield
        except (OSError, ArgbestError) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            why = getattr(cause, "strerror", None) or str(error)
            places = (self.path, *(self.path / part for part in _PARTS))
            gone = next((place for place in places if not os.path.isdir(place)), None)
            brief = f"the folder {str(gone or self.path)!r} " + (
                "is gone" if gone else f"cannot be used: {why}"
            )
            trouble = StorageError(f"{brief}. Make it again with `argbest submit`, or make room in it.")
            trouble.transient, trouble.brief = True, brief
            raise trouble from error


def refuse_server(storage: str) -> None:
    """Refuse a study on a database server, which every task reaches without a shared folder."""
    if "://" in storage:
        raise InputError(
            "a study on a database server needs no shared folder; run `argbest worker` in every task."
        )


def say(words: str) -> None:
    """Show a notice; where warnings are errors, nobody could catch it in a helper thread."""
    with suppress(Notice):
        warnings.warn(words, Notice, stacklevel=3)


def _sign(content: Any, path: Path) -> Sign:
    parts = _parts(content, {*_names(Worker), "simulating"})
    if parts["name"] != path.stem:
        raise ValueError(f"it is the sign of {shown(parts['name'])}")
    return Sign(
        Worker(
            path.stem,
            _word("host", parts["host"]),
            whole("process", parts["process"], at_least=0),
            finite("started", parts["started"]),
            finite("seen", parts["seen"]),
            whole("slots", parts["slots"], at_least=1),
            finite("busy", parts["busy"]),
        ),
        _word("simulating", parts["simulating"]),
    )


def _given(content: Any, _: Path) -> Given:
    parts = _parts(content, {*_names(Recipe), "jobs"})
    simulator, limit, jobs = parts["simulator"], parts["timeout"], parts["jobs"]
    if not isinstance(simulator, dict) or not isinstance(jobs, dict) or not jobs:
        raise ValueError("it names no simulator, or no replications")
    if not all(isinstance(job, list) and len(job) == 3 for job in jobs.values()):
        raise ValueError("a replication is an alternative, a context and a seed")
    timeout = None if limit is None else finite("timeout", limit, above=0)
    recipe = Recipe(simulator, flag("shared_seeds", parts["shared_seeds"]), timeout)
    return Given(recipe, {key: (a, c, whole("seed", seed, at_least=0)) for key, (a, c, seed) in jobs.items()})


def _delivery(content: Any, _: Path) -> Delivery:
    parts = _parts(content, set(_names(Delivery)))
    outcomes = parts["outcomes"]
    if not isinstance(outcomes, dict) or not all(isinstance(each, list) for each in outcomes.values()):
        raise ValueError("it holds no outcomes by name")
    if not all(len(each) == 3 for each in outcomes.values()):
        raise ValueError("an outcome is a value, a reason and seconds")
    sound = {key: checked(Outcome(*each)) for key, each in outcomes.items()}
    return Delivery(sound, _word("error", parts["error"]))


def _announcement(content: Any, _: Path) -> Announcement:
    parts = _parts(content, set(_names(Announcement)))
    state = one_of("state", parts["state"], (RUNNING, FINISHED))
    return Announcement(_word("name", parts["name"]), whole("beat", parts["beat"], at_least=0), state)


def _names(kind: type) -> list[str]:
    return [each.name for each in fields(kind)]


def _parts(content: Any, names: set[str]) -> dict[str, Any]:
    """Return the content of a file, by name; a ValueError unless it has exactly these names."""
    if not isinstance(content, dict) or content.keys() != names:
        raise ValueError(f"expected {', '.join(sorted(names))}, got {shown(content)}")
    return content


def _word(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text, got {shown(value)}")
    return unicode(name, value)


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")
