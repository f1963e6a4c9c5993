"""`python -m experiments`: figures and tables of the paper, regenerated."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from argbest.cli import PlainCommand
from argbest.cli.terminal import echo, list_written, note, prepare, say, table
from experiments import command_options

if TYPE_CHECKING:
    from experiments.plan import Outcome, Plan

# Macro-replications and replications of a part if nothing is asked for; None where it has no such number.
_USUAL: dict[str, tuple[int | None, int | None]] = {
    "fig1": (None, None),
    "fig2": (100, 2_000),
    "table1": (20, 1_000),
    "convergence": (100, 2_000),
    "models": (100, 500),
    "covid-epidemic": (100, None),
    "fig3": (50, 4_616),
    "fig4": (50, 4_616),
    "covid-models": (50, 2_000),
}
_AT_MOST = ("table1",)  # asking for more than usual changes nothing


@click.command(
    "python -m experiments", cls=PlainCommand, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.argument(
    "part",
    default="all",
    metavar="[fig1|fig2|table1|convergence|models|covid-epidemic|fig3|fig4|covid-models|all]",
)
@click.option(
    "--macroreps",
    type=click.IntRange(1),
    help="Macro-replications per policy.  [default: 100; for fig3, fig4 and covid-models 50]",
)
@click.option(
    "--replications",
    type=click.IntRange(1),
    help="Simulations after the initial design.  [default: 2000; for models 500, for fig3 and fig4 4616]",
)
@command_options.jobs
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=0, show_default=True, help="Seed.")
@command_options.out("paper", "runs, tables and pictures")
@click.option(
    "--published", type=click.Path(path_type=Path), help="CSV file of published curves to draw beside ours."
)
@click.option(
    "--docs", type=click.Path(path_type=Path), help="Folder to write reproduction.md and its pictures into."
)
def main(
    part: str,
    macroreps: int | None,
    replications: int | None,
    jobs: int,
    seed: int,
    out: Path,
    published: Path | None,
    docs: Path | None,
) -> None:
    """Regenerate figures and tables of the paper.

    Finished work is kept in the folder: the same command goes on after an interruption, and adds to it when
    --macroreps grows.
    """
    from argbest.errors import unknown_name
    from experiments.page import write_page
    from experiments.parts import ALL, PARTS
    from experiments.plan import Plan
    from experiments.published import read

    if part not in (*PARTS, ALL):
        raise unknown_name("part of the paper", part, (*PARTS, ALL))
    if published is not None:
        read(published)
    for folder in (out, docs):
        if folder is not None:
            prepare(folder)
    plan = Plan(
        out,
        macroreps=macroreps,
        replications=replications,
        jobs=jobs,
        seed=seed,
        published=published,
        progress=True,
    )
    for name in PARTS if part == ALL else (part,):
        note(name)
        _show(PARTS[name](plan), out / f"{name}.html", how=_how(name, plan))
    if docs is not None:
        echo(f"page: {write_page(out, docs)}")


def _how(part: str, plan: "Plan") -> dict[str, object]:
    """Return names and values of everything that somebody needs to compute a part again."""
    from argbest.cli.terminal import command_line
    from argbest.report.page import versions

    numbers = {}
    asked = {"macro-replications": plan.macroreps, "replications": plan.replications}
    for (name, given), usual in zip(asked.items(), _USUAL[part], strict=True):
        if usual is not None:
            most = usual if part in _AT_MOST else math.inf
            numbers[name] = f"{usual if given is None else min(given, most):,}"
    if "replications" in numbers:
        numbers["replications"] += " after the initial design"
    rest = {"seed": plan.seed, "versions": versions(), "command": command_line()}
    return {"part": part, **numbers, **rest}


def _show(outcome: "Outcome", page: Path, *, how: dict[str, object]) -> None:
    """Print what was found, and write it as a page too."""
    from experiments.outcome_page import write_outcome

    say(outcome.title)
    rows = outcome.table.itertuples(index=False, name=None)
    table(outcome.table.columns, rows, justify="right")
    say(*outcome.notes)
    written = write_outcome(
        page,
        title=outcome.title,
        table=outcome.table,
        notes=outcome.notes,
        written=outcome.written,
        how=how,
    )
    list_written((*outcome.written, written))
    echo()


if __name__ == "__main__":
    main()
