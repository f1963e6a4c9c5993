"""`argbest analyze`: what runs made elsewhere say, and where the next ones should go."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from argbest.cli.answer import show_question
from argbest.cli.stored import MOST_ROWS, choice_text, in_digits, short_labels, standing
from argbest.cli.terminal import drawn, list_written, listed, note, prepare, say, show_json, table
from argbest.errors import InputError
from argbest.options import POLICY
from argbest.texts import chance, number

if TYPE_CHECKING:
    from argbest.study.study import Study


_NO_GAIN = 0.0005  # of a probability, which is shown with three digits

_column = partial(click.option, metavar="COL")


@click.command()
@click.argument("runs", type=click.Path(path_type=Path))
@_column("--alternative", multiple=True, help="Column that identifies the alternative; may be repeated.")
@_column("--context", multiple=True, help="Column that identifies the context; may be repeated.")
@_column(
    "--value",
    multiple=True,
    help="Column that holds the rewards; repeat it for several responses.  [default: the responses that "
    "--goal and --limit name, or value]",
)
@_column(
    "--replication",
    help="Column that numbers the replications, or their seeds: runs of a context with the same number "
    "shared their random numbers.",
)
@click.option(
    "--goal",
    metavar="GOAL",
    default="max",
    help="Whether larger (max) or smaller (min) rewards are better; of several responses which one, or which "
    "sum: 'min cost + 0.2 * wait'.",
)
@click.option(
    "--limit",
    "limits",
    metavar="LIMIT",
    multiple=True,
    help="What a choice must keep on average, such as 'late <= 0.05'; may be repeated.",
)
@click.option("--price", type=float, help="What it costs to break a limit, in units of the goal.")
@click.option(
    "--question",
    metavar="NAME",
    help="What is to be chosen: overall, worst-case, regret, top:m=3, most-probable-best or rule:depth=2; or "
    "which alternatives no other one beats, pareto:GOAL,GOAL.  [default: the best of each context]",
)
@_column("--weights", help="Column with the weight of each context.")
@_column("--categorical", multiple=True, help="Column whose numbers are names, not amounts; may be repeated.")
@click.option(
    "--bins",
    metavar="N|COL=N",
    multiple=True,
    callback=lambda _context, _option, given: _bins(given),
    help="Put contexts that never repeat into N groups, by quantiles.",
)
@click.option(
    "--contexts",
    "about",
    type=click.Path(path_type=Path),
    help="Table of the contexts that the answer shall be about.  [default: those of the runs]",
)
@click.option(
    "--reward-range",
    metavar="LOW,HIGH",
    callback=lambda _context, _option, given: given and listed("--reward-range", given, "0,1"),
    help="Range of every single reward, such as 0,1 for failure and success.",
)
@click.option(
    "--unit",
    metavar="UNIT|NAME=UNIT",
    multiple=True,
    callback=lambda _context, _option, given: _units(given),
    help="Unit of the rewards, or of a response or column by name, such as rate=calls/h; may be repeated.",
)
@click.option("--rate", is_flag=True, help="Every single reward is 0 or 1, such as failure and success.")
@_column("--source", help="Column that names the source of a run, where there are several; with --target.")
@click.option(
    "--target", metavar="NAME", help="Source that the answer is about; runs of the others are prior runs."
)
@click.option("--dropna", is_flag=True, help="Leave out rows with missing values.")
@click.option("--decimal", type=click.Choice([".", ","]), default=".", help="Decimal point of text files.")
@click.option("--sheet", metavar="NAME", help="Sheet of an Excel file.  [default: the first]")
@click.option(
    "--policy", metavar="NAME", default=POLICY, help="Policy that decides where the next replications go."
)
@click.option("--model", metavar="NAME", help="Model of the rewards.  [default: the policy's]")
@click.option(
    "--delta",
    type=click.FloatRange(0.0),
    default=0.0,
    help="Count a choice as correct if it is within DELTA of the best.",
)
@click.option(
    "--next", "n_next", type=click.IntRange(0), default=20, help="How many further replications to plan."
)
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=0, help="Seed of the random numbers.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for tables and pictures.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the tables.")
def analyze(
    runs: Path,
    decimal: str,
    sheet: str | None,
    question: str | None,
    policy: str,
    model: str | None,
    delta: float,
    n_next: int,
    seed: int,
    out: Path | None,
    as_json: bool,
    about: Path | None,
    **columns: Any,
) -> None:
    """Analyze RUNS made elsewhere, and say where the next ones should go.

    RUNS is a table with a row per run: CSV, Parquet or Excel. If the column n is above 1, the row is the mean
    of n runs, and the column variance holds their sample variance; with --rate none is needed. Of several
    responses it is variance.cost and so on. Without --alternative and --context, argbest expects the columns
    of its own exports.
    """
    from argbest.core.pareto import read_pareto
    from argbest.posthoc.analysis import analysis, notes
    from argbest.posthoc.prior_runs import observe_target
    from argbest.table_files import read_table

    columns |= {axis: columns[axis] or axis for axis in ("alternative", "context")}
    columns["value"] = columns["value"] if len(columns["value"]) > 1 else next(iter(columns["value"]), None)
    frame = read_table(runs, decimal=decimal, sheet=0 if sheet is None else sheet)
    contexts = None if about is None else read_table(about, decimal=decimal)
    found = observe_target(frame, name=runs.stem, contexts=contexts, **columns)
    if out is not None:
        prepare(out)
    decided = question if read_pareto(question) is None else None
    study = found.study(question=decided, policy=policy, model=model, seed=seed)
    remarks = [*found.notes, *notes(study)]
    for each in remarks:
        note(each)
    asked = None if question is None else study.answer(question, delta=delta or None)
    answer = analysis(study, remarks, delta=delta, n_next=n_next)
    answer |= {} if asked is None else {"answer": asked.plain()}
    if as_json:
        show_json(answer)
    else:
        if asked is not None:
            show_question(asked)
        _show(study, answer, delta)
    if out is not None:
        _write(study, answer, out, quiet=as_json)


def _units(given: Sequence[str]) -> dict[str, str] | None:
    """Return units by name; one without a name is that of the rewards."""
    from argbest.problems.units import REWARD

    parts = (each.rpartition("=") for each in given)
    return {name if equals else REWARD: unit for name, equals, unit in parts} or None


def _bins(given: Sequence[str]) -> int | dict[str, int] | None:
    """Return a number of bins for all columns, or one for each column named."""
    named: dict[str, int] = {}
    for each in given:
        column, equals, number = each.rpartition("=")
        if not number.isascii() or not number.isdigit() or (not equals and len(given) > 1):
            raise InputError(
                f"--bins {each} is not understood; give --bins N once, or --bins COLUMN=N for each."
            )
        if not equals:
            return int(number)
        named[column] = int(number)
    return named or None


def _show(study: "Study", answer: dict[str, Any], delta: float) -> None:
    """Print the selection, the certificate, what is not sure, and where the next runs go."""
    from argbest.answers import people
    from argbest.core.states import LEVEL
    from argbest.report import curves
    from argbest.texts import with_unit

    problem, certificate = study.problem, study.certificate(delta)
    short, contexts = short_labels(problem), curves.row_labels(problem.contexts)
    heading = curves.side(problem.contexts).title
    kept, kept_titles = (["p_feasible"], ["P(feasible)"]) if problem.limits else ([], [])
    rows = [
        (
            label,
            choice_text(short, row, limits=bool(problem.limits)),
            short.get(row["runner_up"], "-"),
            *(in_digits(row[name], number) for name in ("mean", "gap")),
            chance(p),
            *(in_digits(row[name], chance) for name in kept),
            row["state"],
        )
        for label, row, p in zip(contexts, answer["selection"], certificate.pcs.tolist(), strict=True)
    ]
    right = "P(best)" if not delta else f"P(within {with_unit(f'{delta:g}', problem.goal_unit)})"
    say(
        "{}: {} replications of {} alternatives x {} contexts".format(
            problem.name, answer["replications"], *problem.shape
        )
    )
    if problem.population is not None:
        say(*people.in_words(study.view()))
    _table((heading, "selected", "runner-up", "mean", "gap", right, *kept_titles, "state"), rows, "contexts")
    say(f"certificate: {certificate}", f"contexts: {standing(study, delta or None)}")
    say(f"without a model: {answer['guarantee']['said']}", *answer["guarantee"]["notes"])
    if answer["until"] is not None:
        say(f"how many more: {answer['until']['sentence']}")
    unsure = [c for c, p in enumerate(certificate.pcs) if p < LEVEL]
    if unsure:
        running = [
            (contexts[c], ", ".join(short[label] for label in row["contenders"]), chance(row["probability"]))
            for c, row in zip(unsure, answer["contention"], strict=True)
        ]
        _table((heading, "one of these is best", "with probability"), running, "contexts")
    _show_next(study, answer, heading)


def _show_next(study: "Study", answer: dict[str, Any], heading: str) -> None:
    """Print the pairs that the next runs go to, and what they would buy."""
    from argbest.posthoc.analysis import next_runs
    from argbest.report import curves

    frame, problem = next_runs(study), study.problem
    if not len(frame):
        return
    alternatives, contexts = curves.row_labels(problem.alternatives), curves.row_labels(problem.contexts)
    title = curves.side(problem.alternatives).title
    where = [divmod(int(cell), problem.n_contexts) for cell in frame.index]
    counts = zip(frame["n"].tolist(), frame["next"].tolist(), strict=True)
    rows = [
        (alternatives[k], contexts[c], str(n), str(more))
        for (k, c), (n, more) in zip(where, counts, strict=True)
    ]
    say(f"where the next {frame['next'].sum()} replications should go:")
    _table((title, heading, "so far", "next"), rows, "pairs")
    if (forecast := answer["forecast"]) is not None:
        after, gain = f"about {chance(forecast['pcs_e'])}", forecast["gain"]
        moved = f"raise PCS_E to {after} ({gain:+.3f})" if gain > _NO_GAIN else f"leave PCS_E at {after}"
        say(f"forecast: {forecast['replications']} more replications in the best places would {moved}")


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], what: str) -> None:
    table(headers, rows[:MOST_ROWS], justify="right")
    if len(rows) > MOST_ROWS:
        say(f"... and {len(rows) - MOST_ROWS} more {what}; --out and --json show all.")


def _write(study: "Study", answer: dict[str, Any], out: Path, *, quiet: bool) -> None:
    """Write the frames and, where matplotlib is there, the pictures; say where they are."""
    import pandas as pd

    from argbest.posthoc.analysis import next_runs
    from argbest.report import figures
    from argbest.table_files import write_csv

    frames = {
        "selection": pd.DataFrame(answer["selection"]),
        "allocation": study.allocation(),
        "next": next_runs(study),
    }
    written = [write_csv(out / f"{name}.csv", frame) for name, frame in frames.items()]
    written += figures.write(drawn(lambda: figures.draw(study)) or {}, out)
    if not quiet:
        list_written(written)
