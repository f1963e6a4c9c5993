"""Measure what a long study costs: to open, to ask, to tell, to look at, and in memory.

A study of 10 x 10 pairs is written into an SQLite file with so many observations, all events at once. Then it
is opened without a snapshot, as a file that an older version has written, and with one. The commands are
timed as whole processes, in seconds of a core, beside the same commands on a study of 100 observations.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from argbest import Problem, Study
from argbest.storage.base import Asked, Event, Told
from argbest.storage.sql import SQLStorage

SIDE = 10
CHUNK = 20_000  # observations in one transaction


def events(n: int, start: int = 0) -> list[Event]:
    """Return the events of n observations, pair after pair; the initial design has one of each."""
    rng, found = np.random.default_rng(start), list[Event]()
    for i, value in enumerate(rng.normal(size=n).tolist(), start):
        k, c = divmod(i % SIDE**2, SIDE)
        asked = Asked(i, k, c, i // SIDE**2, 1000 + i, i < SIDE**2, "by hand", 1.7e9 + i)
        found += [asked, Told(i, 1, value + k * c, 0.0, (value + k * c,), 0.25, 1.7e9 + i + 0.5)]
    return found


def build(path: Path, n: int) -> None:
    """Write a study of n observations; nothing is decided, and no snapshot kept."""
    Study(Problem(range(SIDE), range(SIDE)), initial=1, storage=path).close()
    storage = SQLStorage(path)
    for start in range(0, n, CHUNK):
        with storage.exclusive() as log:
            log.append(events(min(CHUNK, n - start), start))
    storage.close()


def opened(path: Path) -> tuple[float, Study]:
    """Return how many seconds of a core it takes to open a study, and the study."""
    begun = time.process_time()
    study = Study.load(path)
    return time.process_time() - begun, study


def command(words: Sequence[str], said: str = "") -> float:
    """Return how many seconds of a core a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = [sys.executable, "-c", "from argbest.cli import main; main()", *words]
    subprocess.run(line, input=said.encode(), check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak() -> float:
    """Return the most memory that this process has used, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def commands(path: Path) -> dict[str, float]:
    """Return what each command takes on a study; the trial that is told was asked for before."""
    study = Study.load(path)
    [trial] = study.ask()
    study.close()
    command(["ask", str(path)])  # what is compiled once is compiled
    told = f'{{"trial": {trial.id}, "value": 1.0}}'
    return {
        "ask": command(["ask", str(path)]),
        "tell": command(["tell", str(path)], told),
        "status": command(["status", str(path)]),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("observations", type=int, nargs="+", help="for example 200000 1000000")
    parser.add_argument("--folder", help="where the files are made, and left; without it they go")
    parser.add_argument("--no-commands", action="store_true", help="open the studies, and no more")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary)
        for n in (100, *options.observations):
            path = folder / f"{n}.db"
            if not path.exists():
                build(path, n)
                seconds, study = opened(path)
                print(f"{n:>9,d} observations: opened without a snapshot in {seconds:.2f} s", flush=True)
                study.close()
                del study
            before = peak()
            seconds, study = opened(path)
            memory = f"{peak():.0f} MB at most, {before:.0f} before"
            print(f"{n:>9,d} observations: opened in {seconds:.2f} s, {memory}", flush=True)
            study.close()
            del study
            if not options.no_commands:
                words = "  ".join(f"{name} {seconds:.2f} s" for name, seconds in commands(path).items())
                print(f"{n:>9,d} observations: {words}", flush=True)


if __name__ == "__main__":
    main()
