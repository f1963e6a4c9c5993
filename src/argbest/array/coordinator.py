"""The coordinator: an executor whose workers are tasks that share a folder, and a copy of the study's file.

SQLite needs locks and shared memory, which network drives do not offer. So the coordinator works on a copy on
a disk of its own machine, and publishes it by renaming a whole file over the original.
"""

import errno
import math
import os
import secrets
import shlex
import shutil
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from argbest import files, simulators
from argbest.array.folder import FINISHED, RUNNING, Folder, Recipe, refuse_server, say
from argbest.errors import ArgbestError, InputError, StorageError
from argbest.simulators.calling import Job, Outcome, reason
from argbest.storage.base import Revised
from argbest.storage.opening import open_storage
from argbest.study.ledger import FAILED, TOLD
from argbest.study.study import Study
from argbest.study.workers import BEAT, Lifeline, Patience, Presence, Watch, boot, ended, locked

SILENCE = 180.0  # seconds: a network drive may show a sign of life a minute late
POLL = 0.2  # seconds between looks into the folder
MOST_TASKS = 10_000
ALONE = 5.0  # seconds without any task before a notice says so
FATAL = 5  # tasks that ended while they simulated a replication: that may be what ends them
_HANDED_BACK = "handed back"
_HELD = "held"  # the file in the folder of a copy that its process holds a lock on
_IDLE = 5  # times as long as a publication takes there is no other one after it


@dataclass
class _Wanted:
    """Replications that a run waits for."""

    jobs: dict[str, Job]
    future: "Future[list[Outcome]]" = field(default_factory=Future)


class _OverError(Exception):
    """The run ended while its coordinator waited for the folder."""


class FolderExecutor(Executor):
    """Gives the replications of a run to the tasks (`argbest task FOLDER`) that are there at the moment.

    ``publish`` is called before jobs are given, so that their trials are stored; it returns the replications
    that are stored with their values, whose files can be removed. ``shared`` is that of `Folder`.
    """

    def __init__(
        self,
        folder: Path,
        study: str,
        recipe: Recipe,
        publish: Callable[[], Iterable[Job]] = tuple,
        *,
        silence: float = SILENCE,
        shared: bool = False,
    ) -> None:
        self.folder = Folder(folder, shared)
        self._study, self._recipe, self._publish = study, recipe, publish
        self.folder.make()
        self._name, self._beat = Presence().name, 0
        self._refuse_another()
        self._lifeline = Lifeline(self._name)
        self._watch, self._alive = Watch(silence), set[str]()
        self._wanted: list[_Wanted] = []
        self._found: dict[str, Outcome] = {}
        self._read: dict[Path, list[str]] = {}  # the keys in every file of results
        self._settled: set[str] = set()  # keys whose value is stored with the study
        self._n_lost: Counter[tuple[str, str]] = Counter()  # how often a key gave no result, by the reason
        self._assigned = {  # the jobs that tasks have, and their keys
            (task, name): set(job.jobs)
            for task in self.folder.inboxes()
            for name, job in self.folder.given(task)
            if job is not None
        }
        self._next_beat = self._next_publication = 0.0
        self._without_tasks: float | None = (
            None  # since when the run waits without any task; inf: that was said
        )
        self._lock, self._over = threading.Lock(), threading.Event()
        self._trouble: BaseException | None = None
        self._patience = Patience(f"the folder {str(folder)!r}", self._pause)
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
            if self._trouble is None:
                self._wanted.append(wanted)
            else:
                wanted.future.set_exception(self._trouble)
        return wanted.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Tell the tasks that there is nothing more to do; with ``cancel_futures`` they wait for more."""
        self._over.set()
        if wait:
            self._thread.join()
        if not cancel_futures:
            with suppress(StorageError):  # `taken` puts the study back, and reports what is wrong
                self.folder.announce(self._name, self._beat + 1, FINISHED)
                self._clear(self._publish())
        self._lifeline.release()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.shutdown(cancel_futures=kind is not None)

    def _attend(self) -> None:
        """Look into the folder again and again until the run is over; an error here ends the run."""
        try:
            while not self._over.wait(POLL):
                self._patience(self._look_unless_over)
        except _OverError:
            return
        except BaseException as error:
            self._fail(error)

    def _pause(self, seconds: float) -> None:
        if self._over.wait(seconds):
            raise _OverError

    def _fail(self, error: BaseException) -> None:
        """End the run with this error: the replications that it waits for did not fail in the simulator."""
        text = str(error) if isinstance(error, ArgbestError | OSError) else reason(error)
        with self._lock:
            self._trouble = error if isinstance(error, InputError) else BrokenExecutor(text)
            self._trouble.__cause__ = error.__cause__ if self._trouble is error else error
            for wanted in self._wanted:
                wanted.future.set_exception(self._trouble)
            self._wanted.clear()

    def _refuse_another(self) -> None:
        """Refuse to begin beside another coordinator: both would give out the same replications."""
        before = self.folder.coordinator()
        deadline = time.monotonic() + 3 * BEAT
        while before is not None and before.state == RUNNING and not ended(before.name):
            if self.folder.coordinator() not in (before, None):
                raise InputError(
                    f"another coordinator, {before.name}, uses the folder {str(self.folder.path)!r}. "
                    "End it first, or let it work: `argbest task` adds tasks to it."
                )
            if time.monotonic() > deadline:
                return
            time.sleep(POLL)

    def _look_unless_over(self) -> None:
        with self._lock:
            if not self._over.is_set():
                self._look()

    def _look(self) -> None:
        """Read new results, see which tasks are alive, and hand out replications that no task has yet."""
        now = time.monotonic()
        self.folder.check_there()
        self._take()
        if now >= self._next_beat:
            self.folder.announce(self._name, self._beat + 1, RUNNING)
            self._beat, self._next_beat = self._beat + 1, now + BEAT
        self._notice()
        for wanted in [each for each in self._wanted if each.jobs.keys() <= self._found.keys()]:
            self._wanted.remove(wanted)
            wanted.future.set_result([self._found[key] for key in wanted.jobs])
        self._say_if_alone(now)
        if now >= self._next_publication:
            self._give()

    def _take(self) -> None:
        for path in self.folder.results():
            if path in self._read or (delivery := self.folder.delivered(path)) is None:
                continue
            self._read[path] = [*delivery.outcomes]
            for key, outcome in delivery.outcomes.items():
                self._found.setdefault(key, outcome)
            name, _, task = path.stem.partition(".")
            keys = self._assigned.pop((task, name), None)
            if keys is None:  # of a job that was given again, or of no job at all
                continue
            self.folder.take_back(task, name)
            if delivery.error:
                self.folder.remove(path)
                raise InputError(f"{delivery.error} (said by the task {task})")
            self._count(
                keys - delivery.outcomes.keys(), f"{FATAL} tasks delivered no result of it that can be read"
            )

    def _notice(self) -> None:
        """See which tasks are alive; replications of the others are handed out again."""
        signs = {sign.worker.name: sign for sign in self.folder.signs()}
        dead = {
            name
            for name, sign in signs.items()
            if self._watch.dead(sign.worker, unreached=self._patience.unreached)
        }
        self._alive = signs.keys() - dead
        for task, name in [each for each in self._assigned if each[0] not in self._alive]:
            self.folder.take_back(task, name)
            keys = self._assigned.pop((task, name))
            # A task that is told to end removes its sign and so hands back its job, through no fault of this.
            # It may have done so since its sign was read, so what counts is whether the sign is still there.
            if task not in dead or not self.folder.is_signed(task):
                self._count_handed_back(keys)
            elif signs[task].simulating == name:
                self._count(keys, f"{FATAL} tasks ended while they simulated it")
        for task in dead:
            self.folder.leave(task)

    def _count(self, keys: Iterable[str], why: str) -> None:
        """Count that replications were lost, and why; one that was lost too often counts as failed."""
        for key in keys:
            self._n_lost[key, why] += 1
            if self._n_lost[key, why] >= FATAL:
                self._found.setdefault(key, Outcome(None, why, 0.0))

    def _count_handed_back(self, keys: Iterable[str]) -> None:
        """Count that replications were handed back; say once if no task ever finishes one of them."""
        for key in keys:
            self._n_lost[key, _HANDED_BACK] += 1
            if self._n_lost[key, _HANDED_BACK] == FATAL:
                say(
                    f"{FATAL} tasks were told to end while they had the same replication in hand. It is "
                    "given to others; if it takes longer than a task may run, raise the time limit."
                )

    def _say_if_alone(self, now: float) -> None:
        """Say that the run waits and there is no task, once each time that this begins."""
        if self._alive or not self._wanted:
            self._without_tasks = None
        elif self._without_tasks is None:
            self._without_tasks = now
        elif now - self._without_tasks >= ALONE:
            self._without_tasks = math.inf
            n = sum(len(wanted.jobs) for wanted in self._wanted)
            say(
                f"no task is alive, and {n} replication{'s wait' if n > 1 else ' waits'} for one. The "
                f"coordinator waits, too. To start a task: argbest task {shlex.quote(str(self.folder.path))}"
            )

    def _give(self) -> None:
        """Give replications that no task has yet to tasks that have nothing to do."""
        busy = {task for task, _ in self._assigned}
        free = sorted(self._alive - busy)
        known = set().union(*self._assigned.values(), self._found)
        left = ({key: each.jobs[key] for key in each.jobs if key not in known} for each in self._wanted)
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
        """Remove files of results that are not needed any more."""
        self._settled.update(self._recipe.key(self._study, job) for job in settled)
        for path, keys in list(self._read.items()):
            if self._settled.issuperset(keys):
                self.folder.remove(path)
                del self._read[path]
                for key in keys:
                    self._found.pop(key, None)


class _ChangedError(StorageError):
    """Somebody else has changed the file of a study whose copy was worked on."""


class WorkingCopy:
    """A copy of a study's file on a local disk; `publish` puts it back in one piece."""

    def __init__(self, home: Path, folder: Path, name: str = "study") -> None:
        self.home, self.path, self._name = home, folder / home.name, name
        with _reported(home), closing(sqlite3.connect(f"{home.as_uri()}?mode=rw", uri=True)) as there:
            there.execute("PRAGMA journal_mode = DELETE")  # merges what is in SQLite's files beside it
            _copy(there, self.path, "WAL")
        self._as_left, self._published = _identity(home), _n_events(self.path, name)

    def publish(self, *, mode: str = "DELETE") -> None:
        """Replace the study's file by the copy in one piece; an error if somebody else has changed it.

        Rows that somebody has added to it or retired from it meanwhile are added and retired in the copy.
        """
        with _passing(self.home):
            if not self.home.parent.is_dir():
                raise FileNotFoundError(errno.ENOENT, "its folder is gone")
            if _identity(self.home) == self._as_left or self._took_over():
                packed = self._packed(mode)
                published = _n_events(packed, self._name)
                files.write(self.home, packed.read_bytes())
                self._as_left, self._published = _identity(self.home), published
                return
            rescued = self.home.with_name(f"{self.home.stem}-rescued{self.home.suffix}")
            files.write(rescued, self._packed("DELETE").read_bytes())
        raise _ChangedError(
            f"{str(self.home)!r} was changed by another process while the coordinator worked on it, and "
            f"is left as it is. The coordinator's own state is in {str(rescued)!r}. Choose one of them."
        )

    def _took_over(self) -> bool:
        """Take over changes of the table that others stored in the file; return whether that was all."""
        with suppress(ArgbestError, sqlite3.Error), ExitStack() as stack:
            address = f"{self.home.as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, uri=True)) as there:
                there.execute("PRAGMA journal_mode = DELETE")  # merges what is in SQLite's files beside it
            changed = stack.enter_context(closing(open_storage(self.home, name=self._name)))
            stored, news = changed.definition(), changed.since(self._published)
            changes = [event for event in news if isinstance(event, Revised)]
            if stored is None or not changes or len(changes) < len(news):
                return False
            study = stack.enter_context(closing(Study.load(self.path, name=self._name)))
            if study.definition["id"] != stored["id"]:
                return False
            for change in changes:
                study.repeat(change)
            return True
        return False

    def put_back(self) -> None:
        """Put the final state back; if that is not possible even later, leave it elsewhere and say where."""
        try:
            Patience(f"the place of {str(self.home)!r}")(lambda: self.publish(mode="WAL"))
        except _ChangedError:
            raise
        except BaseException as error:
            kept = self._rescued()
            if isinstance(error, StorageError):
                raise StorageError(f"{error} {kept}") from error
            say(kept)
            raise

    def _rescued(self) -> str:
        """Return a sentence that says where the state is kept: in the working folder, or where it is now."""
        mark = secrets.token_hex(4)
        kept = Path.cwd() / f"{self.home.stem}-rescued-{mark}{self.home.suffix}"
        try:
            files.write(kept, self._packed("DELETE").read_bytes())
        except (ArgbestError, OSError):  # no room for another copy: the next start shall not remove this one
            kept = (
                self.path.parent.rename(self.path.parent.with_name(f"argbest-rescued-{mark}"))
                / self.path.name
            )
        command = shlex.join(["cp", str(kept), str(self.home)])
        return f"The coordinator's own state is in {str(kept)!r}. To put it back: {command}"

    def _packed(self, mode: str) -> Path:
        """Return a file that holds all of the copy, without others beside it."""
        packed = self.path.with_suffix(".packed")
        packed.unlink(missing_ok=True)
        with _reported(self.path), closing(sqlite3.connect(self.path)) as here:
            _copy(here, packed, mode)
        return packed


def _n_events(path: Path, name: str) -> int:
    """Return how many events a file holds of a study."""
    with _reported(path), closing(sqlite3.connect(path)) as file:
        found = file.execute("SELECT revision FROM argbest_studies WHERE name = ?", (name,)).fetchone()
        return 0 if found is None else int(found[0])


@contextmanager
def taken(storage: str, name: str = "study") -> Iterator[WorkingCopy]:
    """Yield a working copy of a study's file; it is put back however the work ends."""
    refuse_server(storage)
    with _place_for_a_copy() as folder:
        copy = WorkingCopy(Path(storage).absolute(), folder, name)
        try:
            yield copy
        finally:
            copy.put_back()


@contextmanager
def _place_for_a_copy() -> Iterator[Path]:
    """Yield a folder of its own, after removing those of processes of this machine that were killed.

    A process holds a lock in its folder as long as it lives. The folder's name has the number of this boot
    of this machine: folders of other machines may be on the same network drive, where locks may not reach.
    """
    start = f"argbest-array-{boot()}-"
    for left in Path(tempfile.gettempdir()).glob(f"{start}*"):
        with suppress(OSError):  # somebody is at work there
            if (number := locked(left / _HELD)) is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(number)
    made = Path(tempfile.mkdtemp(prefix="argbest-new-"))
    number = None
    with suppress(OSError):  # where nothing can be locked, nothing is removed either
        number = locked(made / _HELD, os.O_CREAT | os.O_EXCL)
    folder = made.rename(made.with_name(start + made.name.rpartition("-")[2]))  # now others may find it
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if number is not None:
            os.close(number)


@contextmanager
def tasks_in(
    folder: Path, study: Study, copy: WorkingCopy, options: dict[str, Any], *, shared: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the options of `Study.run` that have the tasks of a folder simulate."""
    simulator = simulators.plain(study.problem.simulate)
    if simulator is None:
        raise InputError(
            "tasks cannot be sent this simulator; name a command or a Python function in a study file."
        )
    recipe = Recipe(simulator, study.common_random_numbers, options.get("timeout"))
    published = _PublishedReplications(study, copy)
    with FolderExecutor(folder, study.definition["id"], recipe, published.publish, shared=shared) as executor:
        others = {name: value for name, value in options.items() if name != "timeout"}
        yield others | {"executor": executor, "workers": MOST_TASKS}


class _PublishedReplications:
    """Which replications have ended and are in the published file, where the next coordinator finds them."""

    def __init__(self, study: Study, copy: WorkingCopy) -> None:
        self._study, self._copy = study, copy
        self._open, self._seen = list[int](), 0

    def publish(self) -> list[Job]:
        """Publish the file; return the replications that have ended since the last call, which are in it."""
        asked = self._study.asked  # not a view: the run goes on in another thread
        n = len(asked)
        under_way = [*self._open, *range(self._seen, n)]
        ended = [i for i in under_way if self._study.status(i) in (TOLD, FAILED)]
        self._copy.publish()
        self._open, self._seen = sorted({*under_way} - {*ended}), n
        return [(t.alternative, t.context, t.seed) for t in (asked[i] for i in ended)]


def _copy(source: sqlite3.Connection, path: Path, mode: str) -> None:
    with closing(sqlite3.connect(path)) as target:
        source.backup(target)
        target.execute(f"PRAGMA journal_mode = {mode}")


def _identity(path: Path) -> tuple[int, int, int] | None:
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


@contextmanager
def _passing(path: Path) -> Iterator[None]:
    """Report a full disk or a drive that is gone as a StorageError that may pass."""
    try:
        yield
    except (OSError, ArgbestError) as error:
        if isinstance(error, StorageError):
            raise
        cause = error if isinstance(error, OSError) else error.__cause__
        brief = f"{str(path)!r} cannot be written: {getattr(cause, 'strerror', None) or error}"
        trouble = StorageError(f"{brief}.")
        trouble.transient, trouble.brief = True, brief
        raise trouble from error
