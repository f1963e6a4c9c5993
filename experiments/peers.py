"""How many replications argbest needs for the same loss, beside what people would use instead.

The rule, written before the first run:

- Problems: of all that ship with exact truth, one goal, no limits and at most 500 pairs, one edition each
  (not -text, -separated, -noisy); and, as a second published problem, the part of facility-sizing that
  `experiments.limits` runs, its limit made a price: capacity plus 2,000 for a stock-out. Where every seed has
  its own truth, macro-replication r of all methods meets the same one.
- The question is the best alternative of every context.
- Methods (`METHODS`): argbest with its defaults; equal allocation with averages, alternatives sharing seeds
  ("equal"), which is the harder opponent, and with seeds of their own ("equal, own seeds"); OCBA, KN and
  sequential halving in every context alone; Optuna, one study per context; BoTorch with the context as a
  feature; SMAC3 with contexts as instances. How each is set up is written at its function, in
  `peer_methods.py` and `peer_packages.py`. A package that is not installed is left out, and that is said.
- Budgets: 2, 5 and 15 replications per pair. argbest is told its budget, which decides how it begins: a study
  that is told 2 per pair is looked at up to there, one that is told 15 from 2 on. Other methods are looked at
  on the way (halving has a run for every budget). Looks are a factor of 2^(1/4) apart, whole numbers from
  4 on, and at 15.
  Beyond 15 per pair go the methods that cost no time (see `METHODS`), and argbest to 60 where its mean loss
  at 15 is not below the goal.
- Loss: the mean over contexts of best minus selected, over the stakes: the mean over contexts of best minus
  median of the true table. Right: the share of contexts in which nothing is better than what is selected.
- Samples needed: the first look at which the mean loss over macro-replications is below 0.01, there and at
  the next look of the same run. argbest and halving are read from the smallest budget up. KN has no budget:
  it stops at .95 with an indifference zone of a tenth of the stakes, and counts with the samples it took if
  its mean loss is below 0.01.
- Macro-replications: 20. A method gets some processor seconds on a problem (`Entry.allowed`); where 20 do not
  fit, as many as do, judged by the quickest so far, but at least 3. BoTorch and SMAC3 run on the problems and
  up to the budgets of `OF_BOTORCH` and `OF_SMAC`. All this was chosen by timing one or two
  macro-replications, before losses were looked at. They are run in rounds; if time ends before the last, the
  tables say how many there are.
- Time of a decision: processor time without simulating, until 5 per pair (of KN and SMAC3 until they stop),
  over the replications. argbest's includes its simulations, but not the certificates at the looks.
- The aims for argbest: the fewest samples on at least nine of ten problems, ties counted for it; at most a
  fifth of equal allocation's on at least half of the problems.

`python -m experiments.peers --out DIR` runs it and can be interrupted: what was run is in DIR/runs.csv and is
not run again. `--store` keeps the tables in `stored/peers_*.csv` and writes docs/peers.md and its picture.
The packages are in the extra `peers`.
"""

import importlib.util
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TypeAlias

import click
import numpy as np
import pandas as pd

from argbest import Problem, Study, registry
from argbest.cli.terminal import note, say
from argbest.errors import DataNotice
from argbest.problems.design import for_model
from experiments import command_options, peer_methods, peer_packages
from experiments.limits import fewer_facilities
from experiments.peer_methods import Look, Method, Task

STORED = Path(__file__).parent / "stored"
BUDGETS = (2.0, 5.0, 15.0)  # replications per pair
FURTHER = 60.0  # of argbest where 15 are not enough
GOAL = 0.01  # of the stakes
LOOKS = np.array(
    sorted(
        {2.0 ** (j / 4) for j in range(-8, 8)}
        | {float(round(2.0 ** (j / 4))) for j in range(8, 41)}
        | {*BUDGETS, FURTHER}
    )
)
SEED = 3_500  # of the first macro-replication
MACROREPS, LEAST = 20, 3
ROUNDS = (3, 5, 10, 20)  # macro-replications after which the next method has its turn
STOCK_OUT = 2_000
OURS = "argbest"
Key: TypeAlias = tuple[str, str, int, bool]  # method, problem, seed, whether to 60 per pair
COLUMNS = (
    *("method", "problem", "seed", "budget", "samples", "per_pair", "loss", "right", "claimed", "seconds"),
)


def _asked(name: str) -> Callable[[int], Problem]:
    """Return what makes the problem of a seed, asked for the best of every context."""

    def draw(seed: int) -> Problem:
        made = registry.problem_entry(name).make()
        return (made if isinstance(made, Problem) else made.draw(seed)).asking("best")

    return draw


def _priced_facilities(_: int) -> Problem:
    """Return the part of facility-sizing whose limit is a price, the same for every seed."""
    return fewer_facilities().asking(goal=f"min cost + {STOCK_OUT} * stockout", limits=())


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    **{
        name: _asked(name)
        for name in (
            *("queue-staffing", "newsvendor", "branin", "griewank", "hartmann3", "metric-draws"),
            *("gp-draws", "trend-draws", "classical", "most-probable-best"),
        )
    },
    "facility-sizing": _priced_facilities,
}


def argbest(task: Task, most: float) -> Iterator[Look]:
    """Yield what a study with default settings selects and claims, told 2 replications per pair and told 15.

    The budget decides the initial design; from then on a study goes on in the same way.
    """
    budgets = (BUDGETS[0], BUDGETS[-1]) if most <= BUDGETS[-1] else (most,)
    for budget, earlier in zip(budgets, (0.0, BUDGETS[0]), strict=False):
        told = round(budget * task.pairs)
        model = registry.model("additive-gp")
        design = for_model(model, task.problem, told)
        study = Study(task.problem, seed=task.seed, initial=design.chosen(task.problem))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNotice)
            for n in task.up_to(budget, max(earlier, design.size(task.problem) / task.pairs)):
                study.run(round(n * task.pairs))
                with task.apart():
                    found = study.certificate()
                yield Look(round(n * task.pairs), found.selected, float(np.mean(found.pcs)), budget=budget)


@dataclass(frozen=True)
class Entry:
    """A method, how far it goes, what package it needs, and how much processor time a problem may take."""

    run: Method
    most: float = BUDGETS[-1]  # replications per pair
    package: str = ""
    allowed: float = 40.0  # processor seconds
    parts: Mapping[str, float] = field(default_factory=dict)  # most by problem; if given, on these alone


FAR = 256.0
OF_BOTORCH = {
    **dict.fromkeys(("queue-staffing", "newsvendor", "branin", "metric-draws"), 5.0),
    **{"gp-draws": 2.0, "classical": 15.0},
}
OF_SMAC = dict.fromkeys(("queue-staffing", "newsvendor", "branin", "classical"), BUDGETS[-1])
METHODS: dict[str, Entry] = {
    OURS: Entry(argbest, allowed=100.0),
    "equal": Entry(peer_methods.equal, FAR),
    "equal, own seeds": Entry(peer_methods.equal_own, FAR),
    "OCBA": Entry(peer_methods.ocba, FAR / 4),
    "halving": Entry(peer_methods.halving, FAR / 2),
    "KN": Entry(peer_methods.kn),
    "Optuna": Entry(peer_packages.optuna, package="optuna"),
    "BoTorch": Entry(peer_packages.botorch, package="botorch", parts=OF_BOTORCH),
    "SMAC3": Entry(peer_packages.smac, package="smac", parts=OF_SMAC),
}


def stakes(problem: Problem) -> float:
    """Return the mean over contexts of best minus median of the true table."""
    truth = problem.sign * np.asarray(problem.goal_truth)
    return float(np.mean(truth.max(axis=0) - np.median(truth, axis=0)))


def play(name: str, problem_name: str, seed: int, *, far: bool = False) -> pd.DataFrame:
    """Return a row per look of one macro-replication, one without numbers if the method gave up."""
    problem, entry = PROBLEMS[problem_name](seed), METHODS[name]
    task = Task(problem, seed, LOOKS, stakes(problem))
    begun, rows = time.process_time(), []
    most = FURTHER if far else entry.parts.get(problem_name, entry.most)
    for look in entry.run(task, most):
        seconds = time.process_time() - begun - task.seconds
        rows.append(
            {
                "method": f"{name}, {look.answer}" if look.answer else name,
                "budget": look.budget,
                "samples": look.samples,
                "per_pair": look.samples / task.pairs,
                "loss": float(problem.opportunity_cost(look.selected).mean()) / task.stakes,
                "right": float(problem.good(look.selected).mean()),
                "claimed": look.claimed,
                "seconds": seconds,
            }
        )
    found = pd.DataFrame(rows or [{"method": name}]).assign(problem=problem_name, seed=seed)
    return found.reindex(columns=list(COLUMNS))


def installed(name: str) -> bool:
    """Return whether the package of a method is there."""
    package = METHODS[name].package
    return not package or importlib.util.find_spec(package) is not None


def wanted(times: Iterable[float], allowed: float) -> int:
    """Return how many macro-replications fit, by the processor seconds of those so far."""
    quickest = min(times, default=0.0)
    return MACROREPS if quickest == 0 else int(np.clip(allowed // quickest, LEAST, MACROREPS))


@dataclass(eq=False)
class Kept:
    """The rows of all macro-replications so far, in a file that only grows."""

    file: Path

    def rows(self) -> pd.DataFrame:
        """Return all rows."""
        return pd.read_csv(self.file) if self.file.exists() else pd.DataFrame(columns=list(COLUMNS))

    def add(self, rows: pd.DataFrame) -> None:
        """Append the rows of one macro-replication."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        rows.to_csv(self.file, mode="a", header=not self.file.exists(), index=False)

    def times(self) -> dict[Key, float]:
        """Return the processor seconds of every macro-replication."""
        rows = self.rows()
        rows["far"] = rows["budget"] == FURTHER
        rows["method"] = rows["method"].where(rows["method"].isin(list(METHODS)))
        keys = ["method", "problem", "seed", "far"]
        return {tuple(key): value for key, value in rows.groupby(keys)["seconds"].max().fillna(0.0).items()}  # type: ignore[misc]


@dataclass(eq=False)
class Runs:
    """Macro-replications of methods on problems, run where they are not there yet."""

    kept: Kept
    minutes: float
    begun: float = field(default_factory=time.process_time)
    done: dict[Key, float] = field(init=False)

    def __post_init__(self) -> None:
        self.done = self.kept.times()

    @property
    def late(self) -> bool:
        """Whether the processor time allowed is used up."""
        return time.process_time() - self.begun > 60 * self.minutes

    def cell(self, name: str, problem: str, last: int, far: bool = False) -> None:
        """Run the macro-replications of a method on a problem up to number ``last``, as many as fit."""
        for number in range(last):
            key = name, problem, SEED + number, far
            times = [
                seconds
                for (*who, _, is_far), seconds in self.done.items()
                if (*who, is_far) == (name, problem, far)
            ]
            if key in self.done or number >= wanted(times, METHODS[name].allowed) or self.late:
                continue
            started = time.process_time()
            self.kept.add(play(name, problem, SEED + number, far=far))
            self.done[key] = time.process_time() - started
        note(f"{problem}, {name}: {time.process_time() - self.begun:.0f} s")

    def every(self, methods: list[str], problems: list[str]) -> None:
        """Run all in rounds, so that an interruption leaves some of everything."""
        for last in ROUNDS:
            for name, problem in product(methods, problems):
                if problem in (METHODS[name].parts or PROBLEMS):
                    self.cell(name, problem, last)
        rows = self.kept.rows()
        ours = rows[
            (rows["method"] == OURS) & (rows["budget"] == BUDGETS[-1]) & (rows["per_pair"] == BUDGETS[-1])
        ]
        mean = ours.groupby("problem")["loss"].mean()
        for problem in (name for name in problems if OURS in methods and mean.get(name, 0.0) >= GOAL):
            self.cell(OURS, problem, MACROREPS, far=True)
        if self.late:
            note("the processor time allowed is used up; the same command goes on.")


@click.command("python -m experiments.peers")
@click.argument("problems", nargs=-1)
@command_options.out("peers", "the rows of all macro-replications")
@click.option("--method", "methods", multiple=True, help="Run these only.")
@click.option("--minutes", default=75.0, show_default=True, help="Processor time after which it ends.")
@click.option("--store", is_flag=True, help="Keep the tables in experiments/stored and write docs/peers.md.")
def main(problems: tuple[str, ...], out: Path, methods: tuple[str, ...], minutes: float, store: bool) -> None:
    """Compare argbest with what people would use instead, on all problems or those named."""
    chosen = [name for name in METHODS if not methods or name in methods]
    for name in chosen:
        if not installed(name):
            say(f"{name} is not installed and is left out: pip install 'argbest[peers]'")
    names = [name for name in PROBLEMS if not problems or name in problems]
    kept = Kept(out / "runs.csv")
    Runs(kept, minutes).every([name for name in chosen if installed(name)], names)


if __name__ == "__main__":
    main()
