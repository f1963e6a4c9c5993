"""Time one ask/tell cycle, refits included, and show whether it depends on the data already there.

Prints, for each size, the CPU time per cycle with tallies pre-filled to 10³, 10⁴ and 10⁵ observations. The
sizes of the data take turns inside one run, so that a slow moment of the machine hits all of them alike.

With ``--against COMMIT`` both versions take turns instead, each in a process of its own, and the ratio is
printed: cycles, decisions with 256 trials under way, first fits. Decisions are compared too, with 16 trials
under way all the time; those of top-two with none, because under these it draws other numbers of the same
distribution.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, cast

import numpy as np

from argbest import Problem, Study, Trial, registry, streams, testing

SIZES = ((10, 10), (20, 40), (100, 100))
OBSERVATIONS = (1_000, 10_000, 100_000)
POLICIES = ("gp-c-ocba", "dvr", "dvr-m", "ikg", "levi", "top-two")
CYCLES = {f"cycle {k} x {c}": (k, c) for k, c in ((10, 10), (20, 40), (100, 100), (300, 100))}
PENDING = {f"256 pending, {policy}": policy for policy in POLICIES}
DEFAULT = "256 pending, defaults"  # after the initial design; not for version 0.1, whose defaults were others
FITS = {f"first fit {k} x {c}": (k, c) for k, c in ((20, 40), (100, 100))}
COMPARED = ((2, 1), (3, 5), (5, 10), (10, 10), (20, 8))  # sizes at which decisions are held together


def make_problem(n_alternatives: int, n_contexts: int) -> tuple[Problem, np.ndarray]:
    """Return a smooth problem of the size asked for, and its true means."""
    x = np.linspace(0.0, 1.0, n_contexts)
    shift = np.linspace(0.0, 3.0, n_alternatives)
    truth = np.sin(4.0 * x + shift[:, None]) + 0.1 * shift[:, None] * x
    return Problem(list(range(n_alternatives)), x.tolist()), truth


def prefilled(problem: Problem, truth: np.ndarray, n: int) -> Study:
    """Return a study told about n observations, spread over the pairs as (mean, variance, count)."""
    study = Study(problem, policy="gp-c-ocba", model="gp", initial=1, common_random_numbers=False)
    rng = np.random.default_rng(0)
    counts = np.full(truth.size, n // truth.size)
    counts[rng.permutation(truth.size)[: n % truth.size]] += 1
    for trial, count in zip(study.ask(truth.size), counts.tolist(), strict=True):
        if count == 0:
            study.fail(trial, "left empty")
        else:
            mean = truth[trial.pair] + 0.5 * rng.standard_normal() / np.sqrt(count)
            study.tell(trial, mean=mean, variance=0.25 if count > 1 else 0.0, n=count)
    return study


def begun(problem: Problem, truth: np.ndarray) -> Study:
    """Return a study with the default policy and model that has been told its initial design."""
    study = Study(problem)
    for trial in study.ask(study.n_queued or 100):
        study.tell(trial, float(truth[trial.pair]) + 0.5 * float(streams.standard_normal(trial.seed)))
    return study


def cycles(study: Study, truth: np.ndarray, number: int) -> float:
    """Return the CPU seconds of ``number`` ask/tell cycles."""
    rewards = truth.tolist()
    seconds = 0.0
    for _ in range(number):
        started = time.process_time()
        trial = study.ask()[0]
        seconds += time.process_time() - started
        k, c = trial.pair
        value = rewards[k][c] + 0.5 * float(streams.standard_normal(trial.seed))
        started = time.process_time()
        study.tell(trial, value)
        seconds += time.process_time() - started
    return seconds


def decisions(policy: str, size: tuple[int, int], number: int = 100) -> list[tuple[int, int]]:
    """Return the pairs of so many ask/tell cycles with the model `gp`; see above for the trials under way.

    Noise follows from pair and replication, not from the trial's seed: versions derive other seeds.
    """
    problem, truth = make_problem(*size)
    study = Study(problem, policy=policy, model="gp", initial=2, seed=3, common_random_numbers=False)

    def noisy(trial: Trial) -> float:
        cell = trial.pair[0] * size[1] + trial.pair[1]
        seed = streams.cell_seed(3, cell, trial.replication, n_cells=truth.size)
        return float(truth[trial.pair]) + 0.5 * float(streams.standard_normal(seed))

    for trial in study.ask(2 * truth.size):
        study.tell(trial, noisy(trial))
    under_way, chosen = study.ask(16) if policy != "top-two" else [], []
    for _ in range(number):
        for trial in under_way[:1]:
            study.tell(trial, noisy(trial))
        under_way = [*under_way[1:], *study.ask()]
        chosen.append(under_way[-1].pair)
    return chosen


class Case:
    """One thing to time, made ready once."""

    def __init__(self, name: str) -> None:
        self.name = name
        if name in CYCLES:
            problem, self.truth = make_problem(*CYCLES[name])
            self.study = prefilled(problem, self.truth, 10_000)
            cycles(self.study, self.truth, 12)
        elif name in PENDING or name == DEFAULT:
            self.pending = np.random.default_rng(0).multinomial(256, np.full(10_000, 1e-4)).reshape(100, 100)
            self.moment: Any = testing.situation(runs=1, shape=(100, 100)).one(0)
            if name == DEFAULT:
                self.study = begun(*make_problem(100, 100))
                known = self.study._journal
                self.moment = SimpleNamespace(
                    belief=known.learned().belief,
                    tally=known.ledger.live,
                    setting=known._setting(),
                    draws=self.moment.draws,
                )
            self.seconds()
        else:
            problem, truth = make_problem(*FITS[name])
            self.study = prefilled(problem, truth, 2 * truth.size)

    def seconds(self) -> float:
        """Return the CPU seconds of one turn."""
        if self.name in CYCLES:
            return cycles(self.study, self.truth, 20) / 20
        started = time.process_time()
        if self.name in PENDING or self.name == DEFAULT:
            now = self.moment
            policy = self.study.policy if self.name == DEFAULT else registry.policy(PENDING[self.name]).make()
            policy.propose(now.belief, now.tally, self.pending, now.setting, now.draws)
        else:
            model: Any = self.study.model
            model.fit(self.study.view().tally, self.study.problem.setting)
        return time.process_time() - started


def serve() -> None:
    """Answer lines: the name of a case by its seconds, a policy and a size by decisions."""
    kept: dict[str, Case] = {}
    for line in sys.stdin:
        what, *size = line.strip().split("|")
        if size:
            print(decisions(what, (int(size[0]), int(size[1]))), flush=True)
            continue
        if what not in kept:
            kept.clear()
            kept[what] = Case(what)
        print(kept[what].seconds(), flush=True)


@contextlib.contextmanager
def server(source: Path) -> Iterator["subprocess.Popen[str]"]:
    """Yield a process that serves with the library in that folder."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-W", "ignore", __file__, "--serve"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment, **pipes) as process:  # noqa: S603
        yield process
        process.terminate()


def asked(process: "subprocess.Popen[str]", what: str) -> str:
    """Return the answer of a server."""
    to, back = cast(IO[str], process.stdin), cast(IO[str], process.stdout)
    to.write(what + "\n")
    to.flush()
    return back.readline().strip()


def against(commit: str, rounds: int, names: list[str]) -> None:
    """Print the times of that version and of this one, in turns, and whether decisions are the same."""
    root = Path(__file__).resolve().parent.parent
    command = ["git", "archive", commit, "src"]
    packed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout  # noqa: S603
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        both = [stack.enter_context(server(source)) for source in (folder / "src", root / "src")]
        print(f"{'':28} {commit[:10]:>12} {'now':>12} {'ratio':>7}")
        for name in names:
            turns = np.array([[float(asked(one, name)) for one in both] for _ in range(rounds)])
            then, now = np.median(turns, axis=0) * 1e6
            print(f"{name:28} {then:9.0f} µs {now:9.0f} µs {then / now:7.2f}", flush=True)
        for policy in POLICIES:
            same = [len({asked(one, f"{policy}|{k}|{c}") for one in both}) == 1 for k, c in COMPARED]
            print(f"decisions of {policy:15} the same at {sum(same)} of {len(same)} sizes", flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="turns of 20 cycles for each size of the data")
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="how many of the sizes")
    parser.add_argument("--against", metavar="COMMIT", help="compare with another version")
    parser.add_argument("--cases", nargs="*", default=[*CYCLES, *PENDING, *FITS], help="what to compare")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        serve()
        return
    rounds = options.rounds
    if options.against:
        against(options.against, rounds, options.cases)
        return
    print(f"{'K x C':>10} " + " ".join(f"{f'n={n:,}':>12}" for n in OBSERVATIONS) + f" {'last/first':>11}")
    for size in SIZES[: options.sizes]:
        problem, truth = make_problem(*size)
        studies = [prefilled(problem, truth, n) for n in OBSERVATIONS]
        for study in studies:
            cycles(study, truth, 20)
        spent = np.zeros((rounds, len(studies)))
        for turn in range(rounds):
            for i, study in enumerate(studies):
                spent[turn, i] = cycles(study, truth, 20) / 20
        each = spent.mean(axis=0) * 1e6
        columns = " ".join(f"{us:9.0f} µs" for us in each)
        print(f"{f'{size[0]} x {size[1]}':>10} {columns} {each[-1] / each[0]:11.2f}", flush=True)


if __name__ == "__main__":
    main()
