"""Time the Covid-19 simulator: batches of 1,000, single calls, and a loop in plain Python for comparison.

One evaluation is 14 days in three populations, 42 day-steps. The loop draws with NumPy, one number at a time,
and is the slow literal version that the tests compare with.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from argbest.problems.covid import editions
from argbest.problems.covid.parameters import Outbreak
from argbest.problems.covid.simulator import OutbreakRuns

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
from problems.covid import literal

PAIRS = ((0, 0), (6, 3), (10, 15))
DAY_STEPS = 42


def cpu_seconds(call: Callable[[], object], seconds: float) -> float:
    """Return the CPU time of one call, repeated until the given time has passed; the first is not counted."""
    call()
    calls, started = 0, time.process_time()
    while calls == 0 or time.process_time() - started < seconds:
        call()
        calls += 1
    return (time.process_time() - started) / calls


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="CPU time for each figure")
    parser.add_argument("--batch", type=int, default=1_000, help="runs in a batch")
    options = parser.parse_args(arguments)
    problem, outbreak = editions.covid(), Outbreak()
    runs = problem.simulate
    if not isinstance(runs, OutbreakRuns):
        raise TypeError(f"the problem is simulated by {runs!r}")
    print(f"{'pair':>8} {'way':>8} {'ms per run':>11} {'runs per s':>11} {'µs per day-step':>16}")
    for k, c in PAIRS:
        pair = problem.alternatives.item(k), problem.contexts.item(c)
        split = tuple(runs.shares[k].tolist())
        at = {name: float(runs.conditions[name][c]) for name in ("infection", "contacts")}
        rng = np.random.default_rng(0)
        ways: dict[str, tuple[Callable[[], object], int]] = {
            "batch": (partial(runs.many, np.array(k), np.array(c), np.arange(options.batch)), options.batch),
            "single": (partial(runs, *pair, 7), 1),
            "loop": (partial(literal.infections, outbreak, split, rng, **at), 1),
        }
        for way, (call, n) in ways.items():
            each = cpu_seconds(call, options.seconds) / n
            figures = f"{1e3 * each:11.3f} {1 / each:11,.0f} {1e6 * each / DAY_STEPS:16.2f}"
            print(f"{f'({k}, {c})':>8} {way:>8} {figures}", flush=True)


if __name__ == "__main__":
    main()
