"""Scripts that start a coordinator and its tasks: on SLURM, on PBS, or on machines reached by SSH."""

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from argbest import files
from argbest.array.folder import Folder

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
