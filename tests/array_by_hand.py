"""A task played by a test: it is there, is given jobs, and delivers whatever the test likes."""

import json
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from watching import PATIENCE

from argbest.array.folder import Recipe
from argbest.array.tasks import serve
from argbest.errors import Notice
from argbest.simulators.program import Program
from argbest.study.workers import Lifeline, Presence

PROGRAM = Program(["sh", "-c", "echo $1.$((1000 + $2 % 1000))", "simulate", "{alternative}", "{seed}"])
RECIPE = Recipe({"program": PROGRAM.plain()}, shared_seeds=False, timeout=None)
JOB = (2, 10, 5)
VALUE = 2.1005


def within(seconds: float, condition: Callable[[], Any]) -> Any:
    """Return what the condition returns, once it is true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)
    return found


@contextmanager
def notices() -> Iterator[list[str]]:
    """Yield the notices given meanwhile by any thread, as they come."""
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", Notice)
        warnings.showwarning = lambda message, *_, **__: said.append(str(message))
        yield said


class TaskByHand:
    """A task that does nothing by itself."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._presence, self._known = folder, Presence(), set[str]()
        self.name, self._lifeline = self._presence.name, Lifeline(self._presence.name)
        (folder / "jobs" / self.name).mkdir(parents=True, exist_ok=True)
        self.greet()

    def greet(self, simulating: str = "") -> None:
        """Give a sign of life."""
        said = vars(self._presence.greeting()) | {"simulating": simulating}
        part = self.folder / "tasks" / ".part"
        part.write_text(json.dumps(said))
        part.replace(self.folder / "tasks" / f"{self.name}.json")

    def job(self) -> Path:
        """Return the file of the next job that is given."""
        inbox = self.folder / "jobs" / self.name
        found = within(
            PATIENCE, lambda: {path for path in inbox.glob("*.json") if path.name not in self._known}
        )
        (path,) = found
        self._known.add(path.name)
        return Path(path)

    def keys(self, job: Path) -> list[str]:
        """Return the keys of the replications in a job."""
        return list(json.loads(job.read_text())["jobs"])

    def deliver(self, job: Path, text: str) -> Path:
        """Return the file of results, which holds this text."""
        path = self.folder / "results" / f"{job.stem}.{self.name}.json"
        part = self.folder / "results" / ".part"
        part.write_text(text)
        part.replace(path)
        return path

    def deliver_value(self, job: Path, value: float = VALUE) -> Path:
        """Return the file of results, which holds a value."""
        outcomes = {key: [value, None, 0.5] for key in self.keys(job)}
        return self.deliver(job, json.dumps({"error": "", "outcomes": outcomes}))

    def leave(self) -> None:
        """End as a process does that is told to: it takes leave first."""
        (self.folder / "tasks" / f"{self.name}.json").unlink()
        self._lifeline.release()

    def die(self) -> None:
        """End as a killed process does: the sign of life stays."""
        self._lifeline.release()


@contextmanager
def a_task(folder: Path) -> Iterator[None]:
    """Let a real task serve, in a thread."""
    thread = threading.Thread(target=serve, args=(folder,), kwargs={"late": 30.0}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join(PATIENCE)
        assert not thread.is_alive()
