"""A process that starts others as copies of itself, everything loaded, and kills them; run as a script.

Each mode prints one JSON object. A process of its own, with a single thread: forking is safe, and quick.
"""

import json
import os
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from argbest import Problem, Study
from argbest.storage.base import Event, Told
from argbest.storage.log import SQLLog
from argbest.study import workers
from argbest.study.journal import Journal

ALTERNATIVES = ["a", "b", "c"]
CONTEXTS = [0, 1, 2, 3]
CELLS = len(ALTERNATIVES) * len(CONTEXTS)
SEED = 3


def value(alternative: str, context: int, seed: int) -> float:
    """Return what the simulator answers: a function of its arguments alone, never twice the same."""
    k = ALTERNATIVES.index(alternative)
    return (k - 1) * (context - 1.5) + (seed * 0x9E3779B1 % 2**31) / 2**31


def key(alternative: str, context: int, seed: int) -> str:
    """Return what tells a simulation from all others: alternatives share their seeds in a context."""
    return f"{ALTERNATIVES.index(alternative)}/{CONTEXTS.index(context)}/{seed}"


class Logged:
    """The simulator, which writes what it will answer into a log of its own before it does.

    It answers when ``may`` says so.
    """

    def __init__(self, log: Path, may: Callable[[], bool] = lambda: True) -> None:
        self.log, self.may = log, may

    def __call__(self, alternative: str, context: int, seed: int) -> float:
        found = value(alternative, context, seed)
        file = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(
            file, f"{key(alternative, context, seed)} {found!r}\n".encode()
        )  # one write: whole lines, whoever else writes
        os.close(file)
        while not self.may():
            time.sleep(0.002)
        return found


def problem(simulate: Any) -> Problem:
    return Problem(ALTERNATIVES, CONTEXTS, simulate)


def warm() -> None:
    """Load compiled code and everything imported late, so that copies need not."""
    Study(problem(value), initial=1).run(20).certificate()


def child(work: Callable[[], object], *, quiet: bool = False) -> int:
    """Return the number of a new process that does the work; its exit code is 1 if that raises."""
    number = os.fork()
    if number:
        return number
    try:
        os.setpgid(0, 0)
        work()
    except BaseException:
        if not quiet:
            traceback.print_exc()
        os._exit(1)
    os._exit(0)


def observed(file: Path) -> list[tuple[str, float]]:
    """Return key and value of every observation in the file, read behind argbest's back."""
    columns = "alternative || '/' || context || '/' || seed, mean"
    query = f"SELECT {columns} FROM argbest_observations o JOIN argbest_trials t USING (study, trial)"  # noqa: S608
    with closing(sqlite3.connect(file)) as database:
        return list(database.execute(f"{query} ORDER BY o.revision"))


def crash(folder: str, kills: str) -> dict[str, Any]:
    """Kill the running study so many times; after each time nothing that was acknowledged may be gone."""
    file, log = Path(folder, "study.db"), Path(folder, "log")
    log.touch()
    Study(problem(value), initial=1, seed=SEED, storage=file)
    warm()
    draw = np.random.default_rng(int(kills))
    lost: list[str] = []
    kept: set[str] = set()
    moments = {"killed": 0, "before a value": 0}
    while moments["killed"] < int(kills):
        before = len(kept)
        number = child(lambda: Study.load(file, simulate=Logged(log)).run(10**6))
        wait_for_growth(log, int(draw.integers(4)))
        time.sleep(draw.uniform(0.0, 0.004) if draw.random() < 0.9 else draw.uniform(0.0, 0.06))
        os.kill(number, signal.SIGKILL)
        moments["killed"] += os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == -signal.SIGKILL
        kept = {each for each, _ in observed(file)}
        # The next simulation starts after the last value was acknowledged, so all but one must be there.
        logged = keys(log)
        lost += [each for each in logged if each not in kept and each != logged[-1]]
        moments["before a value"] += len(kept) == before
    budget = len(kept) + 20
    last = os.waitpid(child(lambda: Study.load(file, simulate=Logged(log)).run(budget)), 0)[1]
    return moments | {"lost": lost, "budget": budget, "exit": last}


def wait_for_growth(log: Path, lines: int) -> None:
    """Return when the log has so many lines more."""
    wanted = length(log) + lines
    while length(log) < wanted:
        time.sleep(0.0005)


def length(log: Path) -> int:
    return log.read_bytes().count(b"\n")


def keys(log: Path) -> list[str]:
    return [line.split()[0] for line in log.read_text().splitlines()]


POINTS = ("rows written", "rows counted", "committed")


def in_a_write(folder: str) -> dict[str, Any]:
    """Die at each point of the transaction that tells the 20th value, and say how many are told then."""
    warm()
    return {point: dies_in_a_write(Path(folder, point), point) for point in POINTS}


def dies_in_a_write(folder: Path, point: str) -> list[int]:
    folder.mkdir()
    file, log = folder / "study.db", folder / "log"
    Study(problem(value), initial=1, seed=SEED, storage=file).run(19)
    append, finish, add = SQLLog.append, SQLLog.finish, Journal._apply_own
    telling: list[Told] = []

    def die_at(now: str) -> None:
        if telling and now == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def append_and_die(self: SQLLog, events: Sequence[Event]) -> None:
        append(self, events)
        telling[:] = [event for event in events if isinstance(event, Told)]
        die_at("rows written")

    def finish_and_die(self: SQLLog) -> None:
        finish(self)
        die_at("rows counted")

    def die_and_add(self: Journal, events: Sequence[Event]) -> None:
        die_at("committed")
        add(self, events)

    def go_on() -> None:
        SQLLog.append, SQLLog.finish, Journal._apply_own = (  # type: ignore[method-assign]
            append_and_die,
            finish_and_die,
            die_and_add,
        )
        Study.load(file, simulate=Logged(log)).run(40)

    status = os.waitpid(child(go_on), 0)[1]
    return [-os.waitstatus_to_exitcode(status), len(observed(file))]


def crowd(where: str, folder: str, workers: str, budget: str, policy: str) -> dict[str, Any]:
    """Let many workers run one study at once, each a process that loads it by itself.

    None answers before the whole initial design is being simulated, by as many workers as it has cells.
    """
    log = Path(folder, "log")

    def together() -> bool:
        return length(log) >= CELLS

    Study(problem(value), policy=policy, initial=1, seed=SEED, storage=where)
    warm()
    numbers = [
        child(lambda: Study.load(where, simulate=Logged(log, together)).run(int(budget)))
        for _ in range(int(workers))
    ]
    return {"exits": [os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) for number in numbers]}


def suspend(where: str, folder: str) -> dict[str, Any]:
    """Stop a worker in the middle of a simulation, let another one finish the study, let the first go on."""
    log, go_on = Path(folder, "log"), Path(folder, "go on")
    log.touch()
    Study(problem(value), policy="equal", initial=1, seed=SEED, storage=where).run(12)
    warm()
    workers.BEAT, workers.SILENCE = 1e6, 0.5  # so that it is never stopped while it writes a sign of life

    def work(may: Callable[[], bool]) -> None:
        Study.load(where, simulate=Logged(log, may)).run(30)

    slow = child(lambda: work(go_on.exists))
    wait_for_growth(log, 1)
    os.kill(slow, signal.SIGSTOP)
    other = os.waitpid(child(lambda: work(lambda: True)), 0)[1]
    done = len(Study.load(where).observations())
    go_on.touch()
    os.kill(slow, signal.SIGCONT)
    return {"other": other, "replications": done, "slow": os.waitpid(slow, 0)[1]}


if __name__ == "__main__":
    modes: dict[str, Callable[..., dict[str, Any]]] = {
        "crash": crash,
        "crowd": crowd,
        "in a write": in_a_write,
        "suspend": suspend,
    }
    mode, *arguments = sys.argv[1:]
    print(json.dumps(modes[mode](*arguments)))
