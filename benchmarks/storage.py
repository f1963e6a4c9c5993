"""Count ask/tell cycles per second of each storage, with one worker and with several at the same study.

A cycle is two exclusive transactions of one row each: a trial asked, then its observation; before each, a
worker reads what the others have added. Workers are processes, in memory threads. Nothing is simulated and
nothing fitted, so what is counted is the storage alone. The time per cycle is that of the wall clock over the
cycles of all workers; core time is what the workers (not a server) computed, whatever else the machine did.
"""

import argparse
import importlib.util
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from argbest.storage.base import Asked, Storage, Told
from argbest.storage.memory import MemoryStorage
from argbest.storage.opening import open_storage

PROCESSES = multiprocessing.get_context("fork")  # they start with everything imported


def cycles(storage: Storage, worker: str, seconds: float) -> tuple[int, float]:
    """Return how many cycles were done in so many seconds, and how many seconds of a core they took."""
    seen, done, begun = 0, 0, time.thread_time()
    deadline = time.perf_counter() + seconds
    while done == 0 or time.perf_counter() < deadline:
        with storage.exclusive() as log:
            seen += len(log.since(seen))
            trial = seen  # unused so far: every trial adds at least one event
            log.append([Asked(trial, 0, 0, 0, 1, False, worker, time.time())])
        seen += 1
        with storage.exclusive() as log:
            seen += len(log.since(seen))
            log.append([Told(trial, 1, 0.1 * trial, 0.0, (0.1 * trial,), 0.5, time.time())])
        seen += 1
        done += 1
    return done, time.thread_time() - begun


def measure(open_it: Callable[[], Storage], workers: int, seconds: float) -> tuple[float, float]:
    """Return cycles per second of all workers together at a new study, and core seconds per cycle."""
    first = open_it()
    first.create({})
    in_memory = isinstance(first, MemoryStorage)
    counts: Any = [0] * workers if in_memory else PROCESSES.Array("q", workers)
    core: Any = [0.0] * workers if in_memory else PROCESSES.Array("d", workers)
    start = threading.Barrier(workers) if in_memory else PROCESSES.Barrier(workers)

    def work(index: int) -> None:
        storage = first if in_memory else open_it()
        cycles(storage, f"worker {index}", 0.0)  # connected and warm before the clock starts
        start.wait()
        counts[index], core[index] = cycles(storage, f"worker {index}", seconds)
        storage.close()

    kind = threading.Thread if in_memory else PROCESSES.Process
    crowd = [kind(target=work, args=(index,)) for index in range(workers)]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    expected, there = 2 * (sum(counts) + workers), len(first.since(0))
    first.close()
    if there != expected:
        raise SystemExit(f"{expected} events were added, {there} are there.")
    return sum(counts) / seconds, sum(core) / sum(counts)


@contextmanager
def server(url: str | None) -> Iterator[str | None]:
    """Yield the URL given, or that of a server of our own that waits for the disk; None if there is none."""
    if url is not None:
        yield url
        return
    path = Path(__file__).resolve().parent.parent / "tests" / "postgres.py"
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
    options = parser.parse_args(arguments)
    print(f"{'storage':12s}{'workers':>8s}{'cycles/s':>12s}{'ms/cycle':>10s}{'core ms/cycle':>15s}")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, server(options.postgres) as url:
        places = {"memory": None, "sqlite": f"{folder}/study.db", "postgresql": url}
        for name, where in places.items():
            if where is None and name != "memory":
                print(f"{name:12s}  no server programs found")
                continue
            for workers in options.workers:
                opener = partial(open_storage, where, name=f"{workers} at {time.time()}")
                found, core = measure(opener, workers, options.seconds)
                row = f"{name:12s}{workers:8d}{found:12.0f}{1000 / found:10.2f}{1000 * core:15.2f}"
                print(row, flush=True)


if __name__ == "__main__":
    main()
