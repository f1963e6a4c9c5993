"""The tasks of an array: the scripts that start them on SLURM, on PBS or by SSH, and what a task does."""

import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argbest.array.folder import FINISHED, Delivery, Folder, Given, Recipe, say
from argbest.core.abilities import offers
from argbest.errors import InputError, StorageError
from argbest.simulators import simulator_from
from argbest.simulators.calling import KeepsTime, Outcome, evaluate, for_shared_seeds, reason
from argbest.simulators.pool import SimulationPool
from argbest.simulators.process import postponed
from argbest.storage.base import Worker
from argbest.study.executors import CallersThread
from argbest.study.workers import Patience, Presence, kept_beside

_HEADS = {
    "slurm": """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --array=0-{tasks}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --output={log}/%a.txt
# Add what your cluster asks for: --time, --mem, --partition, --account.
number=$SLURM_ARRAY_TASK_ID
""",
    "pbs": """\
#!/bin/bash
#PBS -N {name}
#PBS -J 0-{tasks}
#PBS -r y
#PBS -j oe
#PBS -o {log}/
# Add what your cluster asks for: -l select=1:ncpus=1:mem=..., -l walltime=..., -q ...
number=$PBS_ARRAY_INDEX
""",
    "plain": """\
#!/bin/bash
# One process for each number from 0 to {tasks}:  bash {script} NUMBER
number=${{1:?give a number from 0 to {tasks}}}
""",
}
_BODY = """\
cd {place} || exit 1
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
if [ "$number" = 0 ]; then  # the coordinator: it alone opens the study, and does not simulate
    exec {coordinate}
fi
exec {serve}
"""
STARTS = {
    "slurm": "sbatch {script}",
    "pbs": "qsub {script}",
    "plain": "bash {script} 0, and bash {script} 1, 2, ... wherever the folder is seen",
}
POLL = 0.2  # seconds between looks into the folder
PATIENCE = 600.0  # seconds without a coordinator
GRACE = 1.0  # seconds before a failure is delivered: the task may be told to end a moment after its simulator
_LATE = 60.0  # seconds without a new coordinator where one had ended before this task began


@dataclass(frozen=True)
class Script:
    """The script of an array: which system starts it, how many tasks it has, which study it is about."""

    system: str
    tasks: int
    file: Path  # the study file
    storage: str  # the study's own file
    name: str  # of the study in it
    shared: bool = False  # others may write in the folder

    @property
    def folder(self) -> Path:
        """What the tasks share."""
        return self.file.with_suffix(".array")

    @property
    def path(self) -> Path:
        """Where the script goes."""
        return self.folder / f"{self.system}.sh"

    @property
    def start(self) -> str:
        """The command that starts the array."""
        return STARTS[self.system].format(script=shlex.quote(str(self.path)))

    def write(self) -> Path:
        """Return the path of the script, written, with the folder made."""
        folder = Folder(self.folder, self.shared)
        folder.make()
        folder.make_part("log")
        return folder.write(self.path, self.text())

    def text(self) -> str:
        """Return the script."""
        place, folder = self.file.parent.resolve(), self.folder.name
        argbest = [sys.executable, "-m", "argbest"]
        named = [] if self.name == "study" else ["--name", self.name]
        shared = ["--shared"] if self.shared else []
        home = os.path.relpath(self.storage, place)
        coordinate = [
            "resume",
            home,
            *named,
            "--file",
            self.file.name,
            "--folder",
            folder,
            *shared,
            "--quiet",
        ]
        head = _HEADS[self.system].format(
            name="".join(c if c.isalnum() else "-" for c in self.file.stem)[:15],
            tasks=self.tasks,
            log=shlex.quote(str(self.folder.resolve() / "log")),
            script=shlex.quote(str(self.path)),
        )
        return head + _BODY.format(
            place=shlex.quote(str(place)),
            coordinate=shlex.join(argbest + coordinate),
            serve=shlex.join([*argbest, "task", folder, *shared]),
        )


def serve(path: Path, *, patience: float = PATIENCE, late: float = _LATE, shared: bool = False) -> int:
    """Return how many jobs were done, once the coordinator is finished or has been silent for too long."""
    folder, presence, known, done = Folder(path, shared), Presence(), set[str](), 0
    reaching = Patience(f"the folder {str(path)!r}")
    folder.make()
    folder.make_inbox(presence.name)
    with ExitStack() as stack:
        sign = stack.enter_context(_present(folder, presence, reaching))
        simulation = stack.enter_context(_Simulation())
        coordinator = _CoordinatorWatch(folder, patience, late)
        while coordinator.may_have_more():
            for name, job in reaching(lambda: list(folder.given(presence.name, known))):
                known.add(name)
                if job is None:  # its file was set aside: its replications have to be given again
                    _deliver(folder, reaching, presence.name, name, Delivery({}))
                    continue
                with sign.simulating(name):
                    delivery = simulation.run(job)
                    if any(each.value is None for each in delivery.outcomes.values()):
                        time.sleep(GRACE)
                _deliver(folder, reaching, presence.name, name, delivery)
                done += 1
            time.sleep(POLL)
    return done


def _deliver(folder: Folder, reaching: Patience, task: str, name: str, delivery: Delivery) -> None:
    """Deliver what came of a job; what cannot be delivered, even later, is kept beside the folder."""
    delivered = False

    def attempt() -> None:
        nonlocal delivered
        with postponed():  # a task that is told to end just now does this first
            folder.deliver(task, name, delivery)
            delivered = True

    try:
        reaching(attempt)
    except BaseException as error:
        values = sum(each.value is not None for each in delivery.outcomes.values())
        if delivered or not values:
            raise
        results = str((folder.path / "results").absolute())
        kept = kept_beside(
            folder.path.absolute().parent, f"undelivered-{name}.{task}.json", delivery.text(), values,
            lambda path: shlex.join(["mv", str(path), results]),
        )  # fmt: skip
        if isinstance(error, StorageError):
            raise StorageError(f"{error} {kept}") from error
        say(kept)
        raise


class _CoordinatorWatch:
    """Whether to wait for jobs: if a coordinator ended before this task began, another may follow."""

    def __init__(self, folder: Folder, patience: float, late: float) -> None:
        self._folder, self._patience, self._late = folder, patience, late
        self._first = self._last = folder.coordinator()
        self._since = time.monotonic()

    def may_have_more(self) -> bool:
        """Return whether more jobs may come."""
        sign, now = self._folder.coordinator(), time.monotonic()
        if sign is not None and sign != self._last:
            self._last, self._since = sign, now
        if self._last is not None and self._last.state == FINISHED:
            return self._last == self._first and now - self._since < self._late
        return now - self._since < self._patience


class _Simulation:
    """The simulator that jobs name, kept from job to job while it is the same."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._recipe: tuple[Recipe, int] | None = None

    def __enter__(self) -> "_Simulation":
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def run(self, job: Given) -> Delivery:
        """Return the outcomes of replications by key, or an error that another task would meet, too."""
        began = time.monotonic()
        try:
            self._prepare(job.recipe, len(job.jobs))
            made = self._executor.submit(evaluate, self._simulate, [*job.jobs.values()]).result()
        except InputError as error:
            return Delivery({}, str(error))
        except Exception as error:  # the process of a Python function died or was out of time
            took = (time.monotonic() - began) / len(job.jobs)
            made = [Outcome(None, reason(error), took)] * len(job.jobs)
        return Delivery(dict(zip(job.jobs, made, strict=True)))

    def _prepare(self, recipe: Recipe, batch: int) -> None:
        if (recipe, batch) == self._recipe:
            return
        self._stack.close()
        simulate = simulator_from(recipe.simulator)
        self._simulate = for_shared_seeds(simulate) if recipe.shared_seeds else simulate
        limit = None if recipe.timeout is None else recipe.timeout * batch
        # A Python function gets a process of its own: it may crash or block, and this task lives on.
        self._executor = CallersThread() if offers(simulate, KeepsTime) else SimulationPool(1, timeout=limit)
        self._stack.enter_context(self._executor)
        self._recipe = (recipe, batch)


class _TaskSign:
    """A task's sign of life, which says what it simulates."""

    def __init__(self, folder: Folder, presence: Presence) -> None:
        self._folder, self._presence = folder, presence
        self._lock, self._job, self._left = threading.Lock(), "", False

    def give(self, worker: Worker) -> None:
        """Write the sign; one after the other, so that the last one says what is true."""
        with postponed(), self._lock:
            if not self._left:
                self._folder.greet(worker, self._job)

    def leave(self) -> None:
        """Remove the sign for good: so a task hands back its job."""
        with postponed(), self._lock:
            self._left = True
            self._folder.leave(self._presence.name)

    @contextmanager
    def simulating(self, job: str) -> Iterator[None]:
        """Write at once that a simulation begins; the next sign, or the result, says that it has ended."""
        self._job = job
        with suppress(StorageError):  # the next sign may get through
            self.give(self._presence.greeting())
        try:
            yield
        finally:
            self._job = ""


@contextmanager
def _present(folder: Folder, presence: Presence, reaching: Patience) -> Iterator[_TaskSign]:
    """Give signs of life inside the block, and remove the last one however it ends, unless it is killed."""
    sign = _TaskSign(folder, presence)
    usual = signal.getsignal(signal.SIGTERM)
    main = threading.current_thread() is threading.main_thread()
    if main:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what batch systems send before they kill
    try:
        with presence.announced(sign.give, reaching):
            try:
                yield sign
            finally:
                sign.leave()
    finally:
        if main:
            signal.signal(signal.SIGTERM, usual)
