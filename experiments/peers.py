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
- Budgets: 2, 5 and 15 replications per pair. argbest is told its budget, which decides how it begins: studies
  that are told 2 per pair are looked at up to there, those that are told 15 from 2 on. Other methods are
  looked at on the way (halving has a run for every budget). Looks are a quarter of a replication per pair
  apart up to 2, a half up to 4, then about a fifth of what there is. Beyond 15 per pair go the methods that
  cost no time (see `METHODS`), and argbest where its mean loss at 15 was not below the goal in earlier runs
  (`FURTHER`): to 60 on facility-sizing, on the two largest problems as far as processor time goes.
- Loss: the mean over contexts of best minus selected, over the stakes: the mean over contexts of best minus
  median of the true table. Right: the share of contexts in which nothing is better than what is selected.
- Samples needed: the first look at which the mean loss over macro-replications is below 0.01, there and at
  the next look of the same run. argbest and halving are read from the smallest budget up. KN has no budget:
  it stops at .95 with an indifference zone of a tenth of the stakes, and counts with the samples it took if
  its mean loss is below 0.01.
- Macro-replications: 20, r being the live study with the seed `streams.roots(SEED, r)`. argbest's run side by
  side (`argbest.experiment`), 5 on hartmann3 and most-probable-best, 10 on facility-sizing; of the others as
  many as fit into some processor seconds on a problem (`Entry.allowed`), judged by the quickest so far, but
  at least 3. Optuna, BoTorch and SMAC3 run on the problems and up to the budgets of `Entry.parts`. All this
  was chosen by timing, and after the results of version 0.3.0 had been seen. The tables say how many there
  are.
- argbest's selections are those of an experiment: the largest mean that its fitted hyper-parameters say. A
  study answers by the mean over all that are plausible; its decisions are the same.
- Changed after results were seen: SMAC3 on classical is left out. It begins with the first name, which is the
  best alternative there. OCBA goes on evenly where nothing has varied yet; before, it failed on
  facility-sizing, which was run again (its loss at 15 per pair stayed at 1.175). Version 0.3.0 had 3
  macro-replications of Optuna and BoTorch on most problems, 10 of halving and 3 to 20 of argbest, none beyond
  15 per pair; the same command was then run again with more, from its start. BoTorch stops at 2 per pair on
  branin now, to have more macro-replications there.
- Claims of argbest are those of `Study.certificate`, which are dear: 3 macro-replications of small problems,
  run alone ("argbest, live").
- Time of a decision: processor time without simulating, until 5 per pair (of KN and SMAC3 until they stop),
  over the replications; of argbest that of the live studies, which includes their simulations.
- The aims for argbest: the fewest samples on at least nine of ten problems, ties counted for it; at most a
  fifth of equal allocation's on at least half of the problems.

`python -m experiments.peers --out DIR` runs it and can be interrupted: what was run is in DIR/runs.csv and is
not run again. `--store` keeps the tables in `stored/peers_*.csv` and writes docs/peers.md and its picture.
The packages are in the dependency group `peers`: `pip install --group peers`.
"""

import importlib.util
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TypeAlias

import click
import numpy as np
import pandas as pd

from argbest import Problem, Study, registry, streams
from argbest.cli.terminal import note, say
from argbest.core.arrays import IntArray
from argbest.errors import DataNotice
from argbest.experiment import Experiment, loop
from argbest.options import MODEL, POLICY
from argbest.problems.design import for_model
from argbest.table_files import write_csv
from experiments import command_options, peer_methods, peer_packages
from experiments.limits import fewer_facilities
from experiments.peer_methods import Look, Method, Task

STORED = Path(__file__).parent / "stored"
BUDGETS = (2.0, 5.0, 15.0)  # replications per pair
FURTHER = {  # of argbest where 15 are not enough, as far as processor time goes
    "hartmann3": 32.0,
    "most-probable-best": 54.0,
    "facility-sizing": 60.0,
}
GOAL = 0.01  # of the stakes
LOOKS = np.array(
    sorted(
        {*np.arange(0.25, 2.0, 0.25).tolist(), *np.arange(2.0, 4.0, 0.5).tolist(), *BUDGETS, 60.0}
        | {float(round(2.0 ** (j / 4))) for j in range(8, 33)}
    )
)
SEED = 3_500
MACROREPS, LEAST = 20, 3
ROUNDS = (5, 10, 20)  # macro-replications after which the next method has its turn
STOCK_OUT = 2_000
OURS = "argbest"
LIVE = f"{OURS}, live"
Key: TypeAlias = tuple[str, str, int]  # method, problem, seed
COLUMNS = (*("method", "problem", "seed", "budget", "samples", "loss", "right", "claimed", "seconds"),)


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


def side_by_side(problem_name: str, numbers: Sequence[int]) -> pd.DataFrame:
    """Return a row per look of argbest's macro-replications with these numbers.

    Studies with default settings, told 2 replications per pair and told 15 or more. The budget decides the
    initial design; from then on a study goes on in the same way, so that rows of those told more stand for
    those told 15.
    """
    shipped = problem_name in registry.PROBLEMS and problem_name != "facility-sizing"
    first, rows = PROBLEMS[problem_name](0), []
    pairs = first.n_alternatives * first.n_contexts
    for budget, last in ((BUDGETS[0], BUDGETS[0]), (BUDGETS[-1], FURTHER.get(problem_name, BUDGETS[-1]))):
        told = round(last * pairs)
        design = for_model(registry.model(MODEL), first, told)
        begun = design.size(first)
        steps = (
            4 if budget == BUDGETS[0] else 2 - pairs % 2
        )  # looks from one replication per pair to the next
        experiment = Experiment(
            problem_name if shipped else first,
            POLICY,
            replications=told - begun,
            macroreps=max(numbers) + 1,
            initial=design.chosen(first),
            seed=SEED,
            checkpoint_every=max(pairs // steps, 1),
            question="best",
        )
        trace = loop.trace(experiment, experiment.contenders[0], np.array(numbers), lambda _: None)
        problems = experiment.problems(streams.roots(SEED, np.array(numbers)).tolist())
        for i, n in enumerate(experiment.checkpoints + begun):
            if budget > BUDGETS[0] and not np.isclose(LOOKS, n / pairs).any():
                continue
            for number, problem, selected in zip(numbers, problems, trace.selected[i], strict=True):
                scored = score(problem, selected)
                seconds = trace.seconds["all"][i] / len(numbers)
                rows.append(
                    {
                        "method": OURS,
                        "seed": number,
                        "budget": budget,
                        "samples": int(n),
                        **scored,
                        "seconds": seconds,
                    }
                )
    return in_columns(rows, problem_name)


def live(task: Task, most: float) -> Iterator[Look]:
    """Yield what a live study selects and claims that is told ``most`` replications per pair."""
    told = round(most * task.pairs)
    design = for_model(registry.model(MODEL), task.problem, told)
    study = Study(task.problem, seed=task.seed, initial=design.chosen(task.problem))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        for n in (n for n in BUDGETS if n <= most):
            study.run(round(n * task.pairs))
            with task.apart():
                found = study.certificate()
            yield Look(round(n * task.pairs), found.selected, float(np.mean(found.pcs)))


@dataclass(frozen=True)
class Entry:
    """A method, how far it goes, what package it needs, and how much processor time a problem may take."""

    run: Method
    most: float = BUDGETS[-1]  # replications per pair
    package: str = ""
    allowed: float = 40.0  # processor seconds
    parts: Mapping[str, float] = field(default_factory=dict)  # most by problem; if given, on these alone


FAR = 256.0
FEW = {
    "hartmann3": 5,
    "most-probable-best": 5,
    "facility-sizing": 10,
}  # macro-replications of argbest, where not 20
SMALL = ("queue-staffing", "newsvendor", "branin", "metric-draws", "gp-draws", "classical", "facility-sizing")
OF_BOTORCH = {"queue-staffing": 5.0, "newsvendor": 5.0, "branin": 2.0, "gp-draws": 2.0, "classical": 15.0}
OF_SMAC = dict.fromkeys(("queue-staffing", "newsvendor", "branin"), 15.0)
METHODS: dict[str, Entry] = {
    "equal": Entry(peer_methods.equal, FAR),
    "equal, own seeds": Entry(peer_methods.equal_own, FAR),
    "OCBA": Entry(peer_methods.ocba, FAR / 4),
    "halving": Entry(peer_methods.halving, FAR / 2),
    "KN": Entry(peer_methods.kn),
    "Optuna": Entry(peer_packages.optuna, package="optuna", allowed=60.0, parts=dict.fromkeys(SMALL, 15.0)),
    "BoTorch": Entry(peer_packages.botorch, package="botorch", allowed=60.0, parts=OF_BOTORCH),
    "SMAC3": Entry(peer_packages.smac, package="smac", allowed=0.0, parts=OF_SMAC),
    LIVE: Entry(live, allowed=0.0, parts=dict.fromkeys(SMALL, 15.0)),
}


def stakes(problem: Problem) -> float:
    """Return the mean over contexts of best minus median of the true table."""
    truth = problem.sign * np.asarray(problem.goal_truth)
    return float(np.mean(truth.max(axis=0) - np.median(truth, axis=0)))


def score(problem: Problem, selected: IntArray) -> dict[str, float]:
    """Return the loss of a selection over the stakes, and the share of contexts where nothing is better."""
    return {
        "loss": float(problem.opportunity_cost(selected).mean()) / stakes(problem),
        "right": float(problem.good(selected).mean()),
    }


def play(name: str, problem_name: str, number: int) -> pd.DataFrame:
    """Return a row per look of one macro-replication, one without numbers if the method gave up."""
    seed, entry = int(streams.roots(SEED, number)), METHODS[name]
    problem = PROBLEMS[problem_name](seed)
    task = Task(problem, seed, LOOKS, stakes(problem))
    rows: list[dict[str, object]] = []
    begun = time.process_time()
    for look in entry.run(task, entry.parts.get(problem_name, entry.most)):
        seconds = time.process_time() - begun - task.seconds
        rows.append(
            {
                "method": f"{name}, {look.answer}" if look.answer else name,
                "seed": number,
                "budget": look.budget,
                "samples": look.samples,
                **score(problem, look.selected),
                "claimed": look.claimed,
                "seconds": seconds,
            }
        )
    return in_columns(rows or [{"method": name, "seed": number}], problem_name)


def in_columns(rows: list[dict[str, object]], problem: str) -> pd.DataFrame:
    """Return rows of one problem as they are kept."""
    return pd.DataFrame(rows).assign(problem=problem).reindex(columns=list(COLUMNS))


def installed(name: str) -> bool:
    """Return whether the package of a method is there."""
    package = METHODS[name].package if name in METHODS else ""
    return not package or importlib.util.find_spec(package) is not None


def wanted(times: Iterable[float], allowed: float) -> int:
    """Return how many macro-replications fit, by the processor seconds of those so far."""
    quickest = min(times, default=0.0)
    return MACROREPS if quickest == 0 else int(np.clip(allowed // quickest, LEAST, MACROREPS))


@dataclass(eq=False)
class Runs:
    """Macro-replications of methods on problems, kept in a file that only grows."""

    file: Path
    minutes: float
    begun: float = field(default_factory=time.process_time)
    done: dict[Key, float] = field(init=False)  # processor seconds of every macro-replication

    def __post_init__(self) -> None:
        rows = self.rows()
        times = rows.groupby(["method", "problem", "seed"])["seconds"].max().fillna(0.0)
        self.done = {(str(key[0]), str(key[1]), int(key[2])): times[key] for key in times.index}

    def rows(self) -> pd.DataFrame:
        """Return all rows."""
        return pd.read_csv(self.file) if self.file.exists() else pd.DataFrame(columns=list(COLUMNS))

    def _keep(self, found: Sequence[pd.DataFrame]) -> None:
        if found:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            before = [self.rows()] if self.file.exists() else []
            write_csv(self.file, pd.concat([*before, *found], ignore_index=True))

    @property
    def late(self) -> bool:
        """Whether the processor time allowed is used up."""
        return time.process_time() - self.begun > 60 * self.minutes

    def ours(self, problem: str, last: int) -> None:
        """Run argbest's macro-replications up to number ``last`` that are not there, side by side."""
        few = min(last, FEW.get(problem, last))
        numbers = [i for i in range(few) if (OURS, problem, i) not in self.done]
        if numbers and not self.late:
            self._keep([side_by_side(problem, numbers)])
            self.done |= {(OURS, problem, i): 0.0 for i in numbers}
        note(f"{problem}, {OURS}: {time.process_time() - self.begun:.0f} s")

    def cell(self, name: str, problem: str, last: int) -> None:
        """Run the macro-replications of a method on a problem up to number ``last``, as many as fit."""
        found: list[pd.DataFrame] = []
        for number in range(last):
            times = [seconds for key, seconds in self.done.items() if key[:2] == (name, problem)]
            key = name, problem, number
            if key not in self.done and number < wanted(times, METHODS[name].allowed) and not self.late:
                started = time.process_time()
                found.append(play(name, problem, number))
                self.done[key] = time.process_time() - started
        self._keep(found)
        note(f"{problem}, {name}: {time.process_time() - self.begun:.0f} s")

    def every(self, methods: list[str], problems: list[str]) -> None:
        """Run all in rounds, so that an interruption leaves some of everything."""
        for last in ROUNDS:
            for problem in problems if OURS in methods else ():
                self.ours(problem, last)
            for name, problem in product((name for name in methods if name in METHODS), problems):
                if problem in (METHODS[name].parts or PROBLEMS):
                    self.cell(name, problem, last)
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
    chosen = [name for name in (OURS, *METHODS) if not methods or name in methods]
    for name in chosen:
        if not installed(name):
            say(f"{name} is not installed and is left out: pip install --group peers")
    names = [name for name in PROBLEMS if not problems or name in problems]
    runs = Runs(out / "runs.csv", minutes)
    runs.every([name for name in chosen if installed(name)], names)
    if store:
        from experiments.peers_page import rewrite
        from experiments.peers_tables import tables

        found = {name: frame.round(6) for name, frame in tables(runs.rows()).items()}
        for name, frame in found.items():
            write_csv(STORED / f"peers_{name}.csv", frame)
        say(f"page: {rewrite(found, STORED.parents[1] / 'docs')}")


if __name__ == "__main__":
    main()
