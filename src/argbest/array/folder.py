"""The folder that a coordinator and its tasks share.

    jobs/TASK/JOB.json       what a task is to simulate      the coordinator writes, and removes
    results/JOB.TASK.json    what came of it                 the task writes, the coordinator removes
    tasks/TASK.json          that the task is alive          the task writes, and removes
    coordinator.json         that the coordinator is alive   the coordinator writes

Every file has one writer, is made beside its place and renamed, and is never added to. So all that is asked
of the file system is that a rename shows a whole file or none, and that others see it sooner or later.
Nothing is locked. A result is known by what was simulated, so one that comes twice, or after its coordinator
has ended, is one and the same.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from argbest import files
from argbest.errors import ArgbestError, StorageError
from argbest.simulators.calling import Job, Outcome
from argbest.storage.base import Worker

RUNNING, FINISHED = "running", "finished"


@dataclass(frozen=True)
class Recipe:
    """What tasks simulate with: a simulator as plain values, and how."""

    simulator: dict[str, Any]
    shared_seeds: bool  # whether alternatives share them
    timeout: float | None  # seconds for one replication of a Python function

    def key(self, study: str, job: Job) -> str:
        """Return what tells a replication from every other."""
        said = json.dumps([study, self.simulator, self.shared_seeds, *job], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Folder:
    """The files in a shared folder; one that cannot be read yet is as one that is not there."""

    path: Path

    def make(self) -> None:
        """Make the folder and what it holds."""
        try:
            for part in ("jobs", "results", "tasks"):
                (self.path / part).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"{str(self.path)!r} is no folder that tasks can share: {error.strerror}. Name the one that "
                "`argbest submit` made."
            ) from None

    def greet(self, worker: Worker) -> None:
        """Write a task's sign of life; one that cannot be written is followed by another."""
        with suppress(ArgbestError):
            _write(self.path / "tasks" / f"{worker.name}.json", asdict(worker))

    def leave(self, task: str) -> None:
        """Remove a task's sign of life, and its folder for jobs unless there are some."""
        (self.path / "tasks" / f"{task}.json").unlink(missing_ok=True)
        with suppress(OSError):
            (self.path / "jobs" / task).rmdir()

    def tasks(self) -> list[Worker]:
        """Return what every task said last."""
        found = (_read(path) for path in _files(self.path / "tasks"))
        return [Worker(**said) for said in found if said is not None]

    def give(self, task: str, name: str, recipe: Recipe, jobs: dict[str, Job]) -> None:
        """Write a job for a task: replications by their keys."""
        _write(self.path / "jobs" / task / f"{name}.json", asdict(recipe) | {"jobs": jobs})

    def given(self, task: str) -> Iterator[tuple[str, Recipe, dict[str, Job]]]:
        """Yield the jobs of a task, by name."""
        for path in _files(self.path / "jobs" / task):
            if (said := _read(path)) is not None:
                jobs = {key: (a, c, seed) for key, (a, c, seed) in said.pop("jobs").items()}
                yield path.stem, Recipe(**said), jobs

    def inboxes(self) -> list[str]:
        """Return the tasks that have a folder for jobs."""
        return sorted(path.name for path in (self.path / "jobs").iterdir())

    def take_back(self, task: str, name: str) -> None:
        """Remove a job."""
        (self.path / "jobs" / task / f"{name}.json").unlink(missing_ok=True)

    def deliver(self, task: str, name: str, outcomes: dict[str, Outcome], error: str = "") -> None:
        """Write what came of a job; an ``error`` is one that no task could avoid."""
        said = {key: [each.value, each.reason, each.seconds] for key, each in outcomes.items()}
        _write(self.path / "results" / f"{name}.{task}.json", {"error": error, "outcomes": said})

    def results(self) -> list[Path]:
        """Return the files of results."""
        return _files(self.path / "results")

    def outcomes(self, path: Path) -> tuple[dict[str, Outcome], str] | None:
        """Return what a file of results says: outcomes by key, and an error."""
        said = _read(path)
        if said is None:
            return None
        return {key: Outcome(*parts) for key, parts in said["outcomes"].items()}, said["error"]

    def announce(self, coordinator: str, beat: int, state: str) -> None:
        """Write the coordinator's sign of life."""
        with suppress(ArgbestError):
            said = {"name": coordinator, "beat": beat, "state": state}
            _write(self.path / "coordinator.json", said)

    def coordinator(self) -> dict[str, Any] | None:
        """Return the coordinator's last sign of life, None before the first."""
        return _read(self.path / "coordinator.json")


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except FileNotFoundError:
        return []


def _write(path: Path, said: dict[str, Any]) -> None:
    files.write(path, json.dumps(said))


def _read(path: Path) -> dict[str, Any] | None:
    try:
        said: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return said
