"""`argbest answer`: any question to a stored study, and how its answer is printed."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from argbest import files
from argbest.cli.results import FORMATS, content
from argbest.cli.stored import MOST_ROWS, load, of_stored_study, show_contexts
from argbest.cli.terminal import note, say, show_json, show_source, table
from argbest.errors import InputError
from argbest.texts import chance, number

if TYPE_CHECKING:
    from argbest.answers.answering import Answer


@click.command()
@of_stored_study
@click.option(
    "--question",
    "asked",
    metavar="NAME",
    multiple=True,
    help="What to choose: best, overall, worst-case, regret, top:m=3, most-probable-best or rule:depth=2; or "
    "which alternatives no other one beats, pareto:GOAL,GOAL; may be repeated.  "
    "[default: the question of the study]",
)
@click.option("--goal", metavar="GOAL", help="Another goal than the study's, such as 'max throughput'.")
@click.option(
    "--limit",
    "limits",
    metavar="LIMIT",
    multiple=True,
    help="Limits in place of the study's, such as 'late <= 0.02'; may be repeated.",
)
@click.option("--no-limits", is_flag=True, help="Leave out the limits of the study.")
@click.option("--price", type=float, help="What it costs to break a limit, in units of the goal.")
@click.option(
    "--delta",
    type=click.FloatRange(0.0),
    help="Difference that does not matter.  [default: 1/100 of what wrong answers lose]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per question instead.")
@click.option("--python", "as_python", is_flag=True, help="Print a rule as a Python function instead.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Also write the table: a .csv, .parquet or .json file."
)
def answer(
    storage: str,
    name: str,
    asked: tuple[str, ...],
    goal: str | None,
    limits: tuple[str, ...],
    no_limits: bool,
    price: float | None,
    delta: float | None,
    as_json: bool,
    as_python: bool,
    out: Path | None,
) -> None:
    """Answer a question from what the study in STORAGE knows; nothing is simulated."""
    if out is not None and (out.suffix not in FORMATS or len(asked) > 1):
        raise InputError(
            f"cannot write {out.name!r}; ask one question, and give a name that ends in {', '.join(FORMATS)}."
        )
    from argbest.report.next_steps import need_values

    if no_limits and limits:
        raise InputError("give --limit or --no-limits, not both.")
    kept = list(limits) if limits or no_limits else None
    study = load(storage, name)
    need_values(study, "an answer")
    for each in asked or (None,):
        found = study.answer(each, goal=goal, limits=kept, price=price, delta=delta)
        if as_python:
            show_source(_python(found))
        elif as_json:
            show_json(found.plain())
        else:
            show_question(found)
        if out is not None:
            frame = found.frame()
            files.write(out, content(frame, out.suffix))
            note(f"written: {out} ({len(frame)} rows)")


def show_question(found: "Answer") -> None:
    """Print an answer: the choice, how sure it is, and its table."""
    from argbest.answers.answering import EACH

    say(*str(found).splitlines())
    if found.form == EACH:
        show_contexts(found.view, found.delta)
        return
    frame = found.table
    names = [str(name).removeprefix("alternative.").removeprefix("context.") for name in frame.columns]
    rows = [
        [_cell(str(name), each) for name, each in zip(frame.columns, row, strict=True)]
        for row in frame.head(MOST_ROWS).itertuples(index=False, name=None)
    ]
    table([name.replace("_", " ") for name in names], rows, justify="right")
    if len(frame) > MOST_ROWS:
        say(f"... and {len(frame) - MOST_ROWS} more rows; --out and --json show all.")


def _cell(name: str, value: Any) -> str:
    if value is None or value != value:
        return "-"
    if isinstance(value, float):
        return chance(value) if name.startswith("p_") else number(value)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _python(found: "Answer") -> str:
    from argbest.answers.answering import RULE

    if found.form != RULE:
        raise InputError(
            f"--python prints rules; {found.question!r} is answered by none. Ask --question rule."
        )
    text: str = found.choice.python()
    return text
