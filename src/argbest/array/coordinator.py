"""The coordinator: an executor whose workers are tasks that share a folder, and a study's file kept safe.

SQLite needs locks and shared memory, which network drives do not give it. So the coordinator works on a copy
on a disk of its own machine, and publishes it by renaming a whole file over the one it came from.
"""

import os
import secrets
import shutil
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from argbest import files, simulators
from argbest.array.folder import FINISHED, RUNNING, Folder, Recipe
from argbest.errors import ArgbestError, InputError, StorageError
from argbest.simulators.calling import Job, Outcome
from argbest.study.ledger import FAILED, TOLD
from argbest.study.study import Study
from argbest.study.workers import BEAT, Lifeline, Presence, Watch, ended

SILENCE = 180.0  # seconds: a network drive may show a sign of life a minute late
POLL = 0.2  # seconds between looks into the folder
MOST_TASKS = 10_000
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
        left = ({key: each.jobs[key] for key in each.jobs if key not in in_hand} for each in self._wanted)
        todo = [jobs for jobs in left if jobs]
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


class WorkingCopy:
    """The file of a study away from its place."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.path = home, folder / home.name
        with _reported(home), closing(sqlite3.connect(f"{home.as_uri()}?mode=rw", uri=True)) as there:
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
    with tempfile.TemporaryDirectory(prefix="argbest-array-", ignore_cleanup_errors=True) as folder:
        copy = WorkingCopy(Path(storage).absolute(), Path(folder))
        try:
            yield copy
        finally:
            copy.publish(mode="WAL")


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
    recipe = Recipe(simulator, study.common_random_numbers, options.get("timeout"))
    kept = _Kept(study, copy)
    with FolderExecutor(folder, study.definition["id"], recipe, kept.publish) as executor:
        others = {name: value for name, value in options.items() if name != "timeout"}
        yield others | {"executor": executor, "workers": MOST_TASKS}


class _Kept:
    """Which replications are kept where the next coordinator will find them."""

    def __init__(self, study: Study, copy: WorkingCopy) -> None:
        self._study, self._copy = study, copy
        self._open, self._seen = list[int](), 0

    def publish(self) -> list[Job]:
        """Return the replications that have ended since the last call, all of them kept now."""
        ledger = self._study._journal.ledger
        self._open += range(self._seen, len(ledger.trials))
        self._seen = len(ledger.trials)
        ended = [i for i in self._open if ledger.status(i) in (TOLD, FAILED)]
        self._open = sorted({*self._open} - {*ended})
        self._copy.publish()
        return [(t.alternative, t.context, t.seed) for t in (ledger.trials[i] for i in ended)]


def _copy(source: sqlite3.Connection, path: Path, mode: str) -> None:
    with closing(sqlite3.connect(path)) as target:
        source.backup(target)
        target.execute(f"PRAGMA journal_mode = {mode}")


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
