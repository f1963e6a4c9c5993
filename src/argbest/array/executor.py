"""The coordinator's side: an executor whose workers are tasks that share a folder."""

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from argbest.array.folder import FINISHED, RUNNING, Folder, Recipe
from argbest.errors import ArgbestError, InputError
from argbest.simulators.calling import Job, Outcome
from argbest.study.workers import BEAT, Lifeline, Presence, Watch, ended

SILENCE = 180.0  # seconds: a network drive may show a sign of life a minute late
POLL = 0.2  # seconds between looks into the folder
FATAL = 5  # tasks that ended with a replication in hand: it may be what ends them
_IDLE = 5  # a publication is followed by that many times as long without one


@dataclass
class _Wanted:
    """Replications that a run waits for."""

    jobs: dict[str, Job]
    future: "Future[list[Outcome]]" = field(default_factory=Future)


class FolderExecutor(Executor):
    """Gives the replications of a run to the tasks (`argbest task FOLDER`) that there are at the moment.

    ``publish`` is called before jobs are given, so that what they belong to is kept; it returns the
    replications that are kept with their value, whose files can go.
    """

    def __init__(
        self,
        folder: Path,
        study: str,
        recipe: Recipe,
        publish: Callable[[], Iterable[Job]] = tuple,
        *,
        silence: float = SILENCE,
    ) -> None:
        self.folder, self._study, self._recipe, self._publish = Folder(folder), study, recipe, publish
        self.folder.make()
        self._name, self._beat = Presence().name, 0
        self._refuse_another()
        self._lifeline = Lifeline(self._name)
        self._watch, self._alive = Watch(silence), set[str]()
        self._wanted: list[_Wanted] = []
        self._found: dict[str, Outcome] = {}
        self._read: dict[Path, list[str]] = {}  # the keys in every file of results
        self._settled: set[str] = set()  # keys whose value is kept elsewhere
        self._deaths: Counter[str] = Counter()
        self._assigned = {  # what each task has in hand: the job, and its keys
            (task, name): set(jobs)
            for task in self.folder.inboxes()
            for name, _, jobs in self.folder.given(task)
        }
        self._next_beat = self._next_publication = 0.0
        self._lock, self._over = threading.Lock(), threading.Event()
        self._trouble: BaseException | None = None
        self._thread = threading.Thread(target=self._attend, name="argbest array", daemon=True)
        self._look()
        self._thread.start()

    @property
    def present(self) -> int:
        """How many tasks there are."""
        return len(self._alive)

    def submit(self, fn: Any, /, *args: Any, **_: Any) -> "Future[Any]":
        """Return the future of what a run submits: ``evaluate, simulate, jobs``."""
        jobs: Sequence[Job] = args[1]
        wanted = _Wanted({self._recipe.key(self._study, job): job for job in jobs})
        wanted.future.set_running_or_notify_cancel()
        with self._lock:
            if self._trouble is not None:
                raise self._trouble
            self._wanted.append(wanted)
        return wanted.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Tell the tasks that there is nothing more to do; with ``cancel_futures`` they wait for the next."""
        self._over.set()
        if wait:
            self._thread.join()
        if not cancel_futures:
            self.folder.announce(self._name, self._beat + 1, FINISHED)
            self._clear(self._publish())
        self._lifeline.let_go()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.shutdown(cancel_futures=kind is not None)

    def _attend(self) -> None:
        while not self._over.wait(POLL):
            try:
                with self._lock:
                    self._look()
            except (ArgbestError, OSError) as error:
                self._fail(error)
                return

    def _fail(self, error: Exception) -> None:
        """Have the run end; what it waits for is no failure of the simulator."""
        with self._lock:
            self._trouble = error if isinstance(error, InputError) else BrokenExecutor(str(error))
            for wanted in self._wanted:
                wanted.future.set_exception(self._trouble)

    def _refuse_another(self) -> None:
        """Refuse to begin beside another coordinator: both would give out the same replications."""
        before = self.folder.coordinator()
        deadline = time.monotonic() + 3 * BEAT
        while before is not None and before["state"] == RUNNING and not ended(before["name"]):
            if self.folder.coordinator() != before:
                raise InputError(
                    f"another coordinator, {before['name']}, uses the folder {str(self.folder.path)!r}. "
                    "End it first, or let it work: `argbest task` adds tasks to it."
                )
            if time.monotonic() > deadline:
                return
            time.sleep(POLL)

    def _look(self) -> None:
        """Take what came, notice who came and went, and give what is to be done."""
        now = time.monotonic()
        self._take()
        if now >= self._next_beat:
            self._beat, self._next_beat = self._beat + 1, now + BEAT
            self.folder.announce(self._name, self._beat, RUNNING)
        self._notice()
        for wanted in [each for each in self._wanted if each.jobs.keys() <= self._found.keys()]:
            self._wanted.remove(wanted)
            wanted.future.set_result([self._found[key] for key in wanted.jobs])
        if now >= self._next_publication:
            self._give()

    def _take(self) -> None:
        for path in self.folder.results():
            if path in self._read or (said := self.folder.outcomes(path)) is None:
                continue
            outcomes, error = said
            self._read[path] = [*outcomes]
            self._found = outcomes | self._found
            name, _, task = path.stem.partition(".")
            self._assigned.pop((task, name), None)
            self.folder.take_back(task, name)
            if error:
                path.unlink()
                raise InputError(f"{error} (said by the task {task})")

    def _notice(self) -> None:
        """See which tasks are alive; what the others had in hand is to be done again."""
        there = self.folder.tasks()
        dead = {task.name for task in there if self._watch.dead(task)}
        self._alive = {task.name for task in there} - dead
        for task, name in [each for each in self._assigned if each[0] not in self._alive]:
            self.folder.take_back(task, name)
            for key in self._assigned.pop((task, name)):
                self._deaths[key] += 1
                if self._deaths[key] >= FATAL:
                    reason = f"{FATAL} tasks ended while they simulated it"
                    self._found.setdefault(key, Outcome(None, reason, 0.0))
        for task in dead:
            self.folder.leave(task)

    def _give(self) -> None:
        """Give what is in nobody's hands to tasks that have nothing to do."""
        busy = {task for task, _ in self._assigned}
        free = sorted(self._alive - busy)
        in_hand = set().union(*self._assigned.values(), self._found)
        todo = [jobs for each in self._wanted if (jobs := _without(each.jobs, in_hand))]
        if not todo or not free:
            return
        began = time.monotonic()
        self._clear(self._publish())
        ended = time.monotonic()
        self._next_publication = ended + _IDLE * (ended - began)
        for task, jobs in zip(free, todo, strict=False):
            name = secrets.token_hex(8)
            self.folder.give(task, name, self._recipe, jobs)
            self._assigned[task, name] = set(jobs)

    def _clear(self, settled: Iterable[Job]) -> None:
        """Remove files of results that nobody will ask for again."""
        self._settled.update(self._recipe.key(self._study, job) for job in settled)
        for path, keys in list(self._read.items()):
            if self._settled.issuperset(keys):
                path.unlink(missing_ok=True)
                del self._read[path]
                for key in keys:
                    self._found.pop(key, None)


def _without(jobs: dict[str, Job], keys: set[str]) -> dict[str, Job]:
    return {key: job for key, job in jobs.items() if key not in keys}
