"""A coordinator and its tasks as forks of one process, killed at random: python nursery.py '{...}'.

It prints how they ended, once the last coordinator has come to an end by itself.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from argbest.array import coordinator
from argbest.array import tasks as array_tasks
from argbest.array.coordinator import taken, tasks_in
from argbest.array.folder import Folder
from argbest.array.tasks import serve
from argbest.study.study import Study


def forked(work: Callable[[], Any]) -> int:
    """Return the process that does the work."""
    process = os.fork()
    if process:
        return process
    try:
        work()
        os._exit(0)
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)


def coordinate(home: str, folder: Path, budget: int) -> None:
    with taken(home) as copy:
        study = Study.load(copy.path)
        with tasks_in(folder, study, copy, {"budget": budget}) as options:
            study.run(**options)
        study.close()


def simulating(marks: Path, crowd: list[int]) -> list[int]:
    """Return the places of the tasks whose program has begun and has not ended."""
    begun, ended = (set(os.listdir(marks / name)) for name in ("begun", "ended"))
    busy = {int(name.partition("-")[0]) for name in begun - ended}
    return [i for i, process in enumerate(crowd) if process in busy]


def main(
    home: str, folder: str, marks: str, budget: int, first: int, tasks: int, kills: int, coordinators: int
) -> None:
    coordinator.POLL = array_tasks.POLL = 0.05
    chance, place, marked = random.Random(1), Path(folder), Path(marks)  # noqa: S311
    lead = forked(lambda: coordinate(home, place, budget))
    crowd = [forked(lambda: serve(place, patience=60.0)) for _ in range(tasks)]
    doomed = {(i + 1) * kills // (coordinators + 1) for i in range(coordinators)}
    killed = []
    for i in range(kills):
        while len(os.listdir(marked / "values")) < first + i * (budget - first) // (kills + 2):
            time.sleep(0.01)
        time.sleep(0.2 * chance.random())
        while not (busy := simulating(marked, crowd)):
            time.sleep(0.01)
        victim = chance.choice(busy)
        os.kill(crowd[victim], signal.SIGKILL)
        os.waitpid(crowd[victim], 0)
        killed.append(crowd[victim])
        crowd[victim] = forked(lambda: serve(place, patience=60.0))
        if i in doomed:
            os.kill(lead, signal.SIGKILL)
            os.waitpid(lead, 0)
            lead = forked(lambda: coordinate(home, place, budget))
    ended = os.waitstatus_to_exitcode(os.waitpid(lead, 0)[1])
    said = Folder(place).coordinator()
    codes = [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in crowd]
    hits = simulating(marked, killed)  # what they had begun, they never ended
    print(
        json.dumps(
            {
                "coordinator": ended,
                "state": said and said.state,
                "tasks": sorted(set(codes)),
                "kills": len(killed),
                "simulations killed": len(hits),
            }
        )
    )


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
