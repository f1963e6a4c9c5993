"""Time what studies answer: certificates, cycles of `top-two`, the report, the selection of very many pairs.

Prints CPU seconds, and the most memory that the process has had so far. The selection is that of the initial
design alone, on a smooth table of ``--side`` squared pairs.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from argbest import Problem, Study, streams


def smooth(side: int, **options: object) -> tuple[Study, np.ndarray]:
    """Return a study of a smooth square table, and its true means."""
    x = np.linspace(0.0, 1.0, side)
    truth = 2.0 * np.cos(3.0 * x) + np.sin(4.0 * x[:, None] + 3.0 * x)
    study = Study(Problem(x.tolist(), x.tolist()), common_random_numbers=False, **options)  # type: ignore[arg-type]
    for trial in study.ask(study.n_queued):
        study.tell(trial, truth[trial.pair] + 0.3 * np.random.default_rng(trial.seed).standard_normal(2))
    return study, truth


def cycle(study: Study, truth: np.ndarray) -> None:
    """Ask for one trial and tell its value."""
    trial = study.ask()[0]
    study.tell(trial, float(truth[trial.pair]) + 0.3 * float(streams.standard_normal(trial.seed)))


def seconds(action: Callable[[], object]) -> float:
    """Return the CPU seconds of an action."""
    started = time.process_time()
    action()
    return time.process_time() - started


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=1000, help="of the table that is selected from")
    parser.add_argument("--table", type=int, default=100, help="side of the table of the others")
    given = parser.parse_args(arguments)
    for side, model in ((10, "additive-gp"), (given.table, "gp"), (given.table, "additive-gp")):
        one, _ = smooth(side, model=model, initial=1)
        one.ask()  # the first fit
        print(f"certificate, {side} by {side}, {model}: {seconds(one.certificate):.2f} s", flush=True)
    study, truth = smooth(given.table, policy="top-two", model="gp", initial=1)
    cycle(study, truth)  # the first fit
    spent = [1e3 * seconds(lambda: cycle(study, truth)) for _ in range(30)]
    print(f"top-two, a cycle: {np.median(spent):.1f} ms, {np.mean(spent):.1f} on average", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        for title, made in (("top-two", study), ("defaults", smooth(given.table)[0])):
            first, again = (seconds(partial(made.report, path)) for _ in range(2))
            size = path.stat().st_size / 1e6
            print(f"report, {title}: {first:.1f} s, again {again:.1f} s, {size:.1f} MB", flush=True)
    large, _ = smooth(given.side)
    spent = [seconds(large.ask), seconds(large.selection)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{given.side}²: first decision {spent[0]:.1f} s, selection {spent[1]:.1f} s, {memory} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
