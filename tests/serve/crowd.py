"""Workers of a stored study, each a process; run as a script: FILE WORKERS BUDGET ALLOWED.

The n-th simulation answers once the file ALLOWED has n bytes.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

from argbest import Problem, Study

NAMES = ("small", "medium", "large")
CONTEXTS = (1.0, 2.0, 4.0, 8.0)


def value(alternative: str, context: Any, seed: int) -> float:
    """Return what the simulator answers, a function of its arguments alone."""
    return (NAMES.index(alternative) - 1) * (float(context["load"]) - 3.0) + (
        seed * 0x9E3779B1 % 2**31
    ) / 2**31


def create(file: Path, *, budget: int | None = None, initial: int = 2) -> Study:
    """Return a new stored study that nobody has worked at yet."""
    plan = {} if budget is None else {"budget": budget}
    problem = Problem(NAMES, [{"load": x} for x in CONTEXTS], value, name="staffing")
    return Study(problem, initial=initial, seed=5, storage=file, plan=plan)


def work(file: str, workers: int, budget: int, allowed: Path) -> int:
    """Return 0 when so many processes have brought the study to its budget."""

    def simulate(alternative: str, context: Any, seed: int) -> float:
        begun = os.open(allowed.with_suffix(".begun"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(begun, b".")
        n = os.lseek(begun, 0, os.SEEK_CUR)
        os.close(begun)
        while allowed.stat().st_size < n:
            time.sleep(0.01)
        return value(alternative, context, seed)

    Study(Problem(NAMES, [1, 2], lambda *_: 1.0), initial=1).run(12)  # load compiled code once for all
    numbers = []
    for _ in range(workers):
        number = os.fork()
        if number == 0:
            Study.load(file, simulate=simulate).run(budget)
            os._exit(0)
        numbers.append(number)
    return max(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) for number in numbers)


if __name__ == "__main__":
    name, number, until, ration = sys.argv[1:]
    sys.exit(work(name, int(number), int(until), Path(ration)))
