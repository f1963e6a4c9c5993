"""`argbest demo`, `init`, `problems`, `policies` and `models`: what ships, to look at and to start from."""

import inspect
import re
import shlex
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import click

from argbest.cli.stored import show_answer
from argbest.cli.terminal import drawn, echo, list_written, note, numbers, prepare, say, show_json, table

if TYPE_CHECKING:
    import pandas as pd

    from argbest.core.arrays import IntArray
    from argbest.problems.base import Problem
    from argbest.study.study import Study

_FILE = click.Path(path_type=Path, dir_okay=False)
_EQUAL_RUNS = 10  # of equal allocation
_MOST_OF_A_PAIR = 60  # replications of every pair that equal allocation may use
_ABOUT = 41  # letters on a problem for which a line of 80 has room
_MOST_COLUMNS = 10  # alternatives whose truth fits beside each other in 80 columns


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("argbest-demo"),
    help="Folder for the results; created if missing.",
)
@click.option("--budget", type=click.IntRange(min=80), default=240, help="Total number of replications.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Seed of the study.")
@click.option("--open", "show", is_flag=True, help="Open the page in the browser.")
def demo(out: Path, budget: int, seed: int, show: bool) -> None:
    """Run a small study from start to finish: how many servers a call centre needs.

    Writes observations.csv, selection.csv, report.html, policy_map.png and allocation.png.
    """
    prepare(out)
    from argbest import Study, registry

    problem = registry.problem("queue-staffing")
    echo(
        "A call centre: how many servers are cheapest, for every rate of calls per hour?\n"
        "{} alternatives x {} contexts, {} simulations\n".format(*problem.shape, budget)
    )
    study = Study(problem, seed=seed).run(budget, progress=True)
    show_answer(study)
    say("", f"truth, known for this problem: {_compared(study)}")
    page = _write(study, out, budget)
    if show:
        webbrowser.open(page.resolve().as_uri())


def _compared(study: "Study") -> str:
    """Return how many choices are right, and how many simulations equal allocation needs for as many."""
    import numpy as np

    n_pairs, n = study.tally.count.size, study.problem.n_contexts
    right = int(study.problem.good(study.certificate().selected).sum())
    result = f"right in {right} of {n} with {study.n_replications} simulations"
    reached = _equal(study) >= right  # [run, replications of every pair]
    needed = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1.0, np.inf)
    median = float(np.sort(needed)[(_EQUAL_RUNS - 1) // 2])
    basis = f"median of {_EQUAL_RUNS} runs with averages instead of a model, the first on the same seeds"
    if np.isinf(median):
        times = f"more than {_MOST_OF_A_PAIR * n_pairs / study.n_replications:.0f}"
    elif median * n_pairs < study.n_replications:
        return f"{result}; equal allocation needs only {median * n_pairs:,.0f} for this ({basis})"
    else:
        times = f"{median * n_pairs / study.n_replications:.1f}"
    return f"{result}; equal allocation needs {times} times the simulations for this ({basis})"


def _equal(study: "Study") -> "IntArray":
    """Return [run, n - 1]: contexts right by averages when every pair has n replications."""
    import numpy as np

    from argbest import streams

    problem, every = study.problem, np.arange(study.tally.count.size)
    rows, columns = np.divmod(every, problem.n_contexts)
    numbers, own = np.arange(_MOST_OF_A_PAIR)[:, None], None if study.common_random_numbers else rows
    runs = (study.seed + run for run in range(_EQUAL_RUNS))
    seeds = np.stack([streams.replication_seed(root, columns, numbers, alternative=own) for root in runs])
    simulator: Any = problem.simulate
    values = problem.sign * simulator.many(rows, columns, seeds)
    average = values.cumsum(axis=1) / np.arange(1, _MOST_OF_A_PAIR + 1)[:, None]
    chosen = average.reshape(_EQUAL_RUNS, _MOST_OF_A_PAIR, *problem.shape).argmax(axis=2)
    return np.asarray(problem.good(chosen).sum(axis=-1))


def _write(study: "Study", out: Path, budget: int) -> Path:
    """Return the page, written with the frames and, where matplotlib is there, the pictures; say where."""
    from argbest.report import figures
    from argbest.report.page import write_report
    from argbest.table_files import write_csv

    frames = {"observations": study.observations(), "selection": study.selection()}
    again = f"argbest demo --out {shlex.quote(str(out))}" + (f" --seed {study.seed}" if study.seed else "")
    page = write_report(study, out / "report.html", command=f"{again} --budget {budget}", again=again)
    written = [page, *(write_csv(out / f"{name}.csv", frame) for name, frame in frames.items())]
    list_written([*written, *figures.write(drawn(lambda: figures.draw(study)) or {}, out)])
    return page


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path("study.toml"))
@click.option(
    "--kind",
    default="program",
    help="Kind of simulator: program, c, ciw, csv, fmu, mesa, r, simopt, simpy or sumo.",
)
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
def init(path: Path, kind: str, force: bool) -> None:
    """Write an example study file to PATH (default: study.toml), and its simulator beside it."""
    from argbest.studyfile import example

    file, *others = example.write(path, kind=kind, force=force)
    beside = " and ".join(str(each) for each in others)
    echo(f"written: {file} (the study) and {beside} (its simulator)")
    before, folder = example.before(kind), shlex.quote(str(file.parent))
    if before is not None:
        echo(f"first: {before if file.parent == Path('.') else f'cd {folder} && {before}'}")
    echo(f"next: argbest run {shlex.quote(str(file))}")


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the problem NAME as JSON.")
@click.option("--truth", type=_FILE, help="Write the truth of NAME to this CSV file: a row per pair.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    default=0,
    help="Draw to show, of a problem that is another one for every seed.",
)
@click.option("--table", "as_table", type=_FILE, help="Write the table of all problems to this CSV file.")
def problems(name: str | None, as_json: bool, truth: Path | None, seed: int, as_table: Path | None) -> None:
    """List the shipped problems, or show the problem NAME.

    NAME is the latest version of a problem, NAME@1 always the first: its truth and its noise never change.
    """
    from argbest import registry
    from argbest.problems import catalogue

    if name is None and (as_json or truth is not None):
        raise click.UsageError(f"{'--json' if as_json else '--truth'} needs the NAME of a problem.")
    if as_table is not None:
        _write_table(as_table, catalogue.table)
    if name is None:
        if as_table is None:
            _show_problems({each: registry.problem(each) for each in registry.problems()})
        return
    problem = registry.problem(name, seed=seed)
    if truth is not None:
        _write_table(truth, lambda: catalogue.truth(problem))
    if as_json:
        show_json(problem.summary(), indent=2)
    elif truth is None:
        _show_problem(problem)
        source = registry.problem_entry(name).source
        say("", f"cite as: {catalogue.pinned(name)}" + (f"; from: {source}" if source else ""))


def _write_table(path: Path, table: Callable[[], "pd.DataFrame"]) -> None:
    """Write a table as CSV, and say where it is on standard error: standard output may be JSON."""
    from argbest.table_files import write_csv

    note(f"written: {write_csv(path, table())}")


@click.command()
@click.argument("name", required=False)
def policies(name: str | None) -> None:
    """List the policies, or show the policy NAME."""
    from argbest import registry
    from argbest.checks import one_of

    entries = registry.policies()
    if name is None:
        table(("policy", "what it does"), [(each, _first(entry.make())) for each, entry in entries.items()])
        say("`argbest policies NAME` shows one.")
    else:
        entry = entries[one_of("policy", name, entries)]
        _show(name, entry.make(), f"model by default: {entry.model}")


@click.command()
@click.argument("name", required=False)
def models(name: str | None) -> None:
    """List the models, or show the model NAME."""
    from argbest import registry
    from argbest.checks import one_of

    entries = registry.models()
    if name is None:
        table(("model", "what it does"), [(each, _first(make())) for each, make in entries.items()])
        say("`argbest models NAME` shows one.")
    else:
        _show(name, entries[one_of("model", name, entries)]())


def _first(thing: Any) -> str:
    """Return the first line of its docstring, and the options in which it is not the usual one."""
    unusual = [
        f"{each.name}={getattr(thing, each.name)!r}"
        for each in fields(thing)
        if getattr(thing, each.name) is not each.default and getattr(thing, each.name) != each.default
    ]
    first = (inspect.getdoc(thing) or "").partition("\n")[0]
    return first + (f" ({', '.join(unusual)})" if unusual else "")


def _show(name: str, thing: Any, *facts: str) -> None:
    """Print all that is said of a policy or a model, and its options."""
    told = re.sub(r"(?<=\S)\n(?=\S)", " ", inspect.getdoc(thing) or "").replace("``", "")
    say(f"{name}: {told}", "", *facts)
    options = [f"  {each.name} = {getattr(thing, each.name)!r}" for each in fields(thing) if each.init]
    if options:
        say(f"options, as in --{'policy' if facts else 'model'} {name}:OPTION=VALUE:", *options)


def _show_problems(shipped: Mapping[str, "Problem"]) -> None:
    rows = [
        (
            name,
            "{} x {}".format(*p.shape),
            p.aim.sense,
            shorten(re.split("[;,:] ", p.description)[0], _ABOUT),
        )
        for name, p in shipped.items()
    ]
    table(("problem", "K x C", "goal", "what it is"), rows)
    say("K alternatives x C contexts; `argbest problems NAME` shows one.")


def _show_problem(problem: "Problem") -> None:
    from argbest.report import curves

    goal = "larger is better" if problem.sign > 0 else "smaller is better"
    size = "{} alternatives x {} contexts".format(*problem.shape)
    wanted = "; ".join([problem.goal, *map(str, problem.limits)]) if problem.responses else goal
    say(f"{problem.name}: {size}, {wanted}", problem.description)
    names, contexts = curves.row_labels(problem.alternatives), curves.side(problem.contexts)
    columns = {contexts.title: contexts.labels, "weight": numbers(problem.weights[contexts.order])}
    facts = []
    if problem.truth is not None:
        best = (" = ".join(names[k] for k in problem.ties[c]) for c in contexts.order)
        columns["best"] = tuple(text or "none is feasible" for text in best)
        columns["gap"] = numbers(problem.gaps[contexts.order])
        tied = sum(len(ties) > 1 for ties in problem.ties)
        facts.append(f"ties: in {tied} contexts; PCS ceiling {problem.pcs_ceiling:.4g}")
    if (noise := problem.goal_noise_sd) is not None:
        low, high = numbers((noise.min(), noise.max()))
        facts.append(f"noise: standard deviation {low if low == high else f'{low} to {high}'}")
    if problem.truth is not None and noise is not None:
        columns["gap/noise"] = numbers(problem.gap_over_noise[contexts.order])
    table(columns, zip(*columns.values(), strict=True), justify="right")
    say(*facts)
    if problem.truth is not None:
        _show_truth(problem)


def _show_truth(problem: "Problem") -> None:
    from argbest.report import curves

    if problem.n_alternatives > _MOST_COLUMNS:
        say(f"truth: {problem.n_alternatives} alternatives are too many to show here; --truth FILE has them")
        return
    alternatives, contexts = curves.side(problem.alternatives), curves.side(problem.contexts)
    for name, truth in problem.truths.items():
        say("", f"mean {name} by {contexts.title} (rows) and {alternatives.title} (columns):")
        shown = truth[alternatives.order][:, contexts.order].T
        rows = [(label, *numbers(row)) for label, row in zip(contexts.labels, shown, strict=True)]
        table(("", *alternatives.labels), rows, justify="right")
