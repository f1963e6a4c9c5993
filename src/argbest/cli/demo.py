"""`argbest init` and `argbest demo`: an example to begin with, and a small study from start to finish."""

import shlex
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from argbest.cli.stored import show_answer
from argbest.cli.terminal import drawn, echo, list_written, prepare, say

if TYPE_CHECKING:
    from argbest.core.arrays import IntArray
    from argbest.study.study import Study

_RUNS = 10  # of equal allocation
_LONGEST = 60  # replications of every pair that equal allocation may use


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
    page = _write(study, out)
    if show:
        webbrowser.open(page.resolve().as_uri())


def _compared(study: "Study") -> str:
    """Return how many choices are right, and how many simulations equal allocation needs for as many."""
    import numpy as np

    n_pairs, n = study.tally.count.size, study.problem.n_contexts
    right = int(study.problem.good(study.certificate().selected).sum())
    said = f"right in {right} of {n} with {study.n_observations} simulations"
    reached = _equal(study) >= right  # [run, replications of every pair]
    needed = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1.0, np.inf)
    half = float(np.sort(needed)[(_RUNS - 1) // 2])
    basis = f"median of {_RUNS} runs with averages instead of a model, the first on the same seeds"
    if np.isinf(half):
        times = f"more than {_LONGEST * n_pairs / study.n_observations:.0f}"
    elif half * n_pairs < study.n_observations:
        return f"{said}; equal allocation needs only {half * n_pairs:,.0f} for this ({basis})"
    else:
        times = f"{half * n_pairs / study.n_observations:.1f}"
    return f"{said}; equal allocation needs {times} times the simulations for this ({basis})"


def _equal(study: "Study") -> "IntArray":
    """Return [run, n - 1]: contexts right by averages when every pair has n replications."""
    import numpy as np

    from argbest import streams

    problem, every = study.problem, np.arange(study.tally.count.size)
    rows, columns = np.divmod(every, problem.n_contexts)
    common = study.common_random_numbers
    cells, n_cells = (columns, problem.n_contexts) if common else (every, every.size)
    seeds = np.stack(
        [
            streams.cell_seed(study.seed + run, cells, np.arange(_LONGEST)[:, None], n_cells=n_cells)
            for run in range(_RUNS)
        ]
    )
    simulator: Any = problem.simulate
    values = problem.sign * simulator.many(rows, columns, seeds)
    average = values.cumsum(axis=1) / np.arange(1, _LONGEST + 1)[:, None]
    chosen = average.reshape(_RUNS, _LONGEST, *problem.shape).argmax(axis=2)
    return np.asarray(problem.good(chosen).sum(axis=-1))


def _write(study: "Study", out: Path) -> Path:
    """Return the page, written with the frames and, where matplotlib is there, the pictures; say where."""
    from argbest.report import figures
    from argbest.table_files import write_csv

    frames = {"observations": study.observations(), "selection": study.selection()}
    page = study.report(out / "report.html", command="argbest demo")
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
