"""A coordinator and its tasks as forks of one process, killed at random: python nursery.py '{...}'.

It prints how they ended, once the last coordinator has come to an end by itself.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from argbest.array import coordinator
from argbest.array import tasks as array_tasks
from argbest.array.coordinator import FATAL, taken, tasks_in
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


def simulating(marks: Path, processes: list[int]) -> dict[int, str]:
    """Return what each of these tasks simulates, if its program has begun and has not ended."""
    begun, ended = (set(os.listdir(marks / name)) for name in ("begun", "ended"))
    busy = (name.partition("-") for name in begun - ended)
    return {int(process): what for process, _, what in busy if int(process) in processes}


def many(folder: Path, enough: int) -> bool:
    """Return whether there are enough files in a folder."""
    return len(os.listdir(folder)) >= enough


def awaited(condition: Callable[[], Any], lead: int) -> Any:
    """Return what the condition returns once it is true, None if the coordinator ends before."""
    while not (found := condition()):
        if os.waitid(os.P_PID, lead, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return None
        time.sleep(0.01)
    return found


def main(
    home: str, folder: str, marks: str, budget: int, first: int, tasks: int, kills: int, coordinators: int
) -> None:
    coordinator.POLL = array_tasks.POLL = 0.05
    chance, place, marked = random.Random(1), Path(folder), Path(marks)  # noqa: S311
    lead = forked(lambda: coordinate(home, place, budget))
    crowd = [forked(lambda: serve(place, patience=60.0)) for _ in range(tasks)]
    doomed = {(i + 1) * kills // (coordinators + 1) for i in range(coordinators)}
    killed, hit = [], Counter[str]()

    def spared() -> list[tuple[int, str]]:
        """Return who simulates; a replication that ends too many tasks would fail."""
        found = simulating(marked, crowd)
        return sorted((process, what) for process, what in found.items() if hit[what] < FATAL - 2)

    for i in range(kills):
        enough = first + i * (budget - first - 2 * tasks) // kills  # at the end many are idle
        awaited(partial(many, marked / "values", enough), lead)
        time.sleep(0.2 * chance.random())
        if not (found := awaited(spared, lead)):
            break
        victim, what = chance.choice(found)
        hit[what] += 1
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
        killed.append(victim in simulating(marked, [victim]))  # its program had not ended before it did
        crowd[crowd.index(victim)] = forked(lambda: serve(place, patience=60.0))
        if i in doomed:
            os.kill(lead, signal.SIGKILL)
            os.waitpid(lead, 0)
            lead = forked(lambda: coordinate(home, place, budget))
    ended = os.waitstatus_to_exitcode(os.waitpid(lead, 0)[1])
    said = Folder(place).coordinator()
    codes = [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in crowd]
    print(
        json.dumps(
            {
                "coordinator": ended,
                "state": said and said.state,
                "tasks": sorted(set(codes)),
                "kills": len(killed),
                "simulations killed": sum(killed),
            }
        )
    )


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
