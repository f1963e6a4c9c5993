"""The tasks of an array: the scripts that start them on SLURM, on PBS or by SSH, and what a task does."""

import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argbest import files
from argbest.array.folder import FINISHED, Folder, Recipe
from argbest.errors import InputError
from argbest.simulators import simulator_from
from argbest.simulators.calling import Outcome, evaluate, for_shared_seeds, reason
from argbest.simulators.pool import SimulationPool
from argbest.simulators.program import Program
from argbest.study.executors import Here
from argbest.study.workers import Patience, Presence

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
_LATE = 60.0  # seconds after which an end that came before this task is taken for the end


@dataclass(frozen=True)
class Script:
    """The script of an array: which system starts it, how many tasks it has, which study it is about."""

    system: str
    tasks: int
    file: Path  # the study file
    storage: str  # the study's own file
    name: str  # of the study in it

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
        Folder(self.folder).make()
        (self.folder / "log").mkdir(exist_ok=True)
        return files.write(self.path, self.text())

    def text(self) -> str:
        """Return the script."""
        place, folder = self.file.parent.resolve(), self.folder.name
        argbest = [sys.executable, "-m", "argbest"]
        named = [] if self.name == "study" else ["--name", self.name]
        home = os.path.relpath(self.storage, place)
        coordinate = ["resume", home, *named, "--file", self.file.name, "--folder", folder, "--quiet"]
        head = _HEADS[self.system].format(
            name="".join(c if c.isalnum() else "-" for c in self.file.stem)[:15],
            tasks=self.tasks,
            log=shlex.quote(str(self.folder.resolve() / "log")),
            script=shlex.quote(str(self.path)),
        )
        return head + _BODY.format(
            place=shlex.quote(str(place)),
            coordinate=shlex.join(argbest + coordinate),
            serve=shlex.join([*argbest, "task", folder]),
        )


def serve(path: Path, *, patience: float = PATIENCE, late: float = _LATE) -> int:
    """Return how many jobs were done, once the coordinator is finished or has been silent for too long."""
    folder, presence, done = Folder(path), Presence(), set[str]()
    folder.make()
    (path / "jobs" / presence.name).mkdir(exist_ok=True)
    with ExitStack() as stack:
        stack.enter_context(_present(folder, presence))
        simulation = stack.enter_context(_Simulation())
        hope = _Hope(folder, patience, late)
        while hope.lasts():
            for name, recipe, jobs in folder.given(presence.name):
                if name not in done:
                    folder.deliver(presence.name, name, *simulation.run(recipe, jobs))
                    done.add(name)
            time.sleep(POLL)
    return len(done)


class _Hope:
    """Whether a coordinator may have more to do: one that ended before we came may be followed by another."""

    def __init__(self, folder: Folder, patience: float, late: float) -> None:
        self._folder, self._patience, self._late = folder, patience, late
        self._first = self._last = folder.coordinator()
        self._since = time.monotonic()

    def lasts(self) -> bool:
        """Return whether to wait on."""
        said, now = self._folder.coordinator(), time.monotonic()
        if said is not None and said != self._last:
            self._last, self._since = said, now
        if self._last is not None and self._last["state"] == FINISHED:
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

    def run(self, recipe: Recipe, jobs: dict[str, Any]) -> tuple[dict[str, Outcome], str]:
        """Return the outcomes of replications by key, or an error that another task would meet, too."""
        began = time.monotonic()
        try:
            self._prepare(recipe, len(jobs))
            made = self._executor.submit(evaluate, self._simulate, [*jobs.values()]).result()
        except InputError as error:
            return {}, str(error)
        except Exception as error:  # the process of a Python function died or was out of time
            took = (time.monotonic() - began) / len(jobs)
            made = [Outcome(None, reason(error), took)] * len(jobs)
        return dict(zip(jobs, made, strict=True)), ""

    def _prepare(self, recipe: Recipe, batch: int) -> None:
        if (recipe, batch) == self._recipe:
            return
        self._stack.close()
        simulate = simulator_from(recipe.simulator)
        self._simulate = for_shared_seeds(simulate) if recipe.shared_seeds else simulate
        limit = None if recipe.timeout is None else recipe.timeout * batch
        # A Python function gets a process of its own: it may crash or block, and this task lives on.
        self._executor = Here() if isinstance(simulate, Program) else SimulationPool(1, timeout=limit)
        self._stack.enter_context(self._executor)
        self._recipe = (recipe, batch)


@contextmanager
def _present(folder: Folder, presence: Presence) -> Iterator[None]:
    """Give signs of life, and take leave however this ends, short of being killed."""
    usual = signal.getsignal(signal.SIGTERM)
    main = threading.current_thread() is threading.main_thread()
    if main:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what batch systems send before they kill
    try:
        with presence.shown(folder.greet, Patience()):
            yield
    finally:
        folder.leave(presence.name)
        if main:
            signal.signal(signal.SIGTERM, usual)
