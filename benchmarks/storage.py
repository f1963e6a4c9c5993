"""Count ask/tell cycles per second of each storage, with one worker and with several at the same study.

A cycle is two exclusive transactions of one row each: a trial asked, then its observation; before each, a
worker reads what the others have added. Workers are processes, in memory threads. Nothing is simulated and
nothing fitted, so what is counted is the storage alone. The time per cycle is that of the wall clock over the
cycles of all workers; core time is what the workers (not a server) computed, whatever else the machine did.

With --policies a cycle is a whole `ask` and `tell` of a study of 10 x 10 pairs, decision and refits included;
what the storage costs is the difference to the same study in memory.
"""

import argparse
import importlib.util
import itertools
import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from argbest import Problem, Study
from argbest.storage.base import Asked, Storage, Told
from argbest.storage.memory import MemoryStorage
from argbest.storage.opening import open_storage

PROCESSES = multiprocessing.get_context("fork")  # they start with everything imported


Cycle = Callable[[], object]


def bare(storage: Storage, worker: str) -> Cycle:
    """Return a cycle of the storage alone."""
    seen = 0

    def cycle() -> None:
        nonlocal seen
        with storage.exclusive() as log:
            seen += len(log.since(seen))
            trial = seen  # unused so far: every trial adds at least one event
            log.append([Asked(trial, 0, 0, 0, 1, False, worker, time.time())])
        seen += 1
        with storage.exclusive() as log:
            seen += len(log.since(seen))
            log.append([Told(trial, 1, 0.1 * trial, 0.0, (0.1 * trial,), 0.5, time.time())])
        seen += 1

    return cycle


def of_study(storage: Storage, _: str) -> Cycle:
    """Return a cycle of the study kept in the storage, loaded anew; nothing is simulated."""
    study = Study.load(storage)

    def cycle() -> None:
        [trial] = study.ask()
        study.tell(trial, float(trial.seed % 1000))

    return cycle


def begin_study(policy: str, storage: Storage) -> None:
    """Make a study of 10 x 10 pairs and tell it its initial design."""
    study = Study(Problem(range(10), range(10)), policy=policy, model="gp", initial=1, storage=storage)
    for trial in study.ask(study.n_queued):
        study.tell(trial, float(trial.seed % 1000))


def repeat(cycle: Cycle, seconds: float) -> tuple[int, float]:
    """Return how many cycles were done in so many seconds, and how many seconds of a core they took."""
    done, begun = 0, time.thread_time()
    deadline = time.perf_counter() + seconds
    while done == 0 or time.perf_counter() < deadline:
        cycle()
        done += 1
    return done, time.thread_time() - begun


def measure(
    open_it: Callable[[], Storage], workers: int, seconds: float, *, policy: str | None = None
) -> tuple[float, float]:
    """Return cycles per second of all workers together at a new study, and core seconds per cycle."""
    first = open_it()
    first.create({}) if policy is None else begin_study(policy, first)
    told = _told(first)
    prepare = bare if policy is None else of_study
    in_memory = isinstance(first, MemoryStorage)
    counts: Any = [0] * workers if in_memory else PROCESSES.Array("q", workers)
    core: Any = [0.0] * workers if in_memory else PROCESSES.Array("d", workers)
    start = threading.Barrier(workers) if in_memory else PROCESSES.Barrier(workers)

    def work(index: int) -> None:
        storage = first if in_memory else open_it()
        cycle = prepare(storage, f"worker {index}")
        cycle()  # connected and warm before the clock starts
        start.wait()
        counts[index], core[index] = repeat(cycle, seconds)
        storage.close()

    kind = threading.Thread if in_memory else PROCESSES.Process
    crowd = [kind(target=work, args=(index,)) for index in range(workers)]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    expected, there = told + sum(counts) + workers, _told(first)
    first.close()
    if there != expected:
        raise SystemExit(f"{expected} observations were told, {there} are there.")
    return sum(counts) / seconds, sum(core) / sum(counts)


def _told(storage: Storage) -> int:
    return sum(isinstance(event, Told) for event in storage.since(0))


@contextmanager
def server(url: str | None) -> Iterator[str | None]:
    """Yield the URL given, or that of a server of our own that waits for the disk; None if there is none."""
    if url is not None:
        yield url
        return
    path = Path(__file__).resolve().parent.parent / "tests" / "postgres.py"
    sys.path.insert(0, str(path.parent))  # for what it imports
    spec = importlib.util.spec_from_file_location("postgres", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is missing.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    programs = module.programs()
    if programs is None:
        yield None
        return
    with module.running(programs, fsync="on") as own:
        yield own.new_database()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each storage and number of workers")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--postgres", help="the URL of a database; without it a server is started")
    parser.add_argument("--folder", help="where the SQLite file is made; it decides about the disk")
    parser.add_argument("--policies", nargs="*", help="measure whole studies with these policies instead")
    options = parser.parse_args(arguments)
    policies = [None] if options.policies is None else options.policies or ["equal", "gp-c-ocba"]
    named = "" if policies == [None] else f"{'policy':12s}"
    print(f"{named}{'storage':12s}{'workers':>8s}{'cycles/s':>12s}{'ms/cycle':>10s}{'core ms/cycle':>15s}")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, server(options.postgres) as url:
        places = {"memory": None, "sqlite": f"{folder}/study.db", "postgresql": url}
        for policy, (name, where) in itertools.product(policies, places.items()):
            title = f"{policy:12s}{name:12s}" if policy else f"{name:12s}"
            if where is None and name != "memory":
                print(f"{title}  no server programs found")
                continue
            for workers in options.workers:
                opener = partial(open_storage, where, name=f"{policy} {workers} at {time.time()}")
                found, core = measure(opener, workers, options.seconds, policy=policy)
                row = f"{title}{workers:8d}{found:12.0f}{1000 / found:10.2f}{1000 * core:15.2f}"
                print(row, flush=True)


if __name__ == "__main__":
    main()
