"""`argbest analyze`: what runs made elsewhere say, and where the next ones should go."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from argbest import defaults
from argbest.cli.stored import MOST_ROWS, standing
from argbest.cli.terminal import drawn, list_written, listed, note, numbers, prepare, say, show_json, table
from argbest.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from argbest.study.study import Study

_DRAWS = 500  # of a forecast
_WORK = 3_000_000  # K C² times draws: some seconds
_FEWEST = 20  # draws that still tell something


@click.command()
@click.argument("runs", type=click.Path(path_type=Path))
@click.option(
    "--alternative",
    metavar="COL",
    multiple=True,
    help="A column that tells the alternative; repeat it for more.",
)
@click.option("--context", metavar="COL", multiple=True, help="A column that tells the context; so too.")
@click.option("--value", metavar="COL", default="value", show_default=True, help="The column of rewards.")
@click.option(
    "--replication",
    metavar="COL",
    help="Column that numbers the replications, or their seeds: runs of a context with the same number "
    "shared their random numbers.",
)
@click.option(
    "--goal",
    type=click.Choice(["max", "min"]),
    default="max",
    show_default=True,
    help="Which rewards are better.",
)
@click.option("--weights", metavar="COL", help="A column that tells how much each context counts.")
@click.option(
    "--categorical",
    metavar="COL",
    multiple=True,
    help="Column whose numbers are names, not amounts; may be repeated.",
)
@click.option(
    "--bins",
    metavar="N|COL=N",
    multiple=True,
    help="Put contexts that never repeat into N groups, by quantiles.",
)
@click.option(
    "--reward-range",
    metavar="LOW,HIGH",
    help="Range that holds every single reward, such as 0,1 for failure and success.",
)
@click.option("--dropna", is_flag=True, help="Leave out rows in which something is missing.")
@click.option(
    "--decimal",
    type=click.Choice([".", ","]),
    default=".",
    show_default=True,
    help="Decimal point of text files.",
)
@click.option("--sheet", metavar="NAME", help="Sheet of an Excel file.  [default: the first]")
@click.option(
    "--policy",
    metavar="NAME",
    default=defaults.POLICY,
    show_default=True,
    help="What decides where the next ones go.",
)
@click.option("--model", metavar="NAME", help="Model of the rewards.  [default: the policy's]")
@click.option(
    "--delta",
    type=click.FloatRange(0.0),
    default=0.0,
    show_default=True,
    help="Within this of the best is right.",
)
@click.option(
    "--next", "n_next", type=click.IntRange(0), default=20, show_default=True, help="Replications to place."
)
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=0, show_default=True, help="Seed.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for tables and pictures.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the tables.")
def analyze(
    runs: Path,
    alternative: tuple[str, ...],
    context: tuple[str, ...],
    value: str,
    replication: str | None,
    goal: str,
    weights: str | None,
    categorical: tuple[str, ...],
    bins: tuple[str, ...],
    reward_range: str | None,
    dropna: bool,
    decimal: str,
    sheet: str | None,
    policy: str,
    model: str | None,
    delta: float,
    n_next: int,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Say what RUNS made elsewhere tell, and where the next ones should go.

    RUNS is a table with a row per run: CSV, Parquet or Excel. Rows with a column n above 1 are means of n
    runs, with their sample variance in the column variance. Without --alternative and --context the columns
    are those that argbest exports.
    """
    from argbest.posthoc import observed, reading
    from argbest.posthoc.notes import notes

    found = observed.observe(
        reading.read_table(runs, decimal=decimal, sheet=0 if sheet is None else sheet),
        alternative=alternative or "alternative",
        context=context or "context",
        value=value,
        replication=replication,
        goal=goal,
        weights=weights,
        categorical=categorical,
        bins=_bins(bins),
        reward_range=None if reward_range is None else listed("--reward-range", reward_range, "0,1"),
        dropna=dropna,
        name=runs.stem,
    )
    if out is not None:
        prepare(out)
    study = found.study(policy=policy, model=model, seed=seed)
    remarks = [*found.notes, *notes(study)]
    for each in remarks:
        note(each)
    answer = _answer(study, remarks, delta=delta, n_next=n_next)
    if as_json:
        show_json(answer)
    else:
        _show(study, answer, delta)
    if out is not None:
        _write(study, answer, out, quiet=as_json)


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


def _answer(study: "Study", notes: list[str], *, delta: float, n_next: int) -> dict[str, Any]:
    """Return all that is told, as JSON-ready values."""
    from argbest.answers.forecasting import foreseen
    from argbest.core.states import LEVEL
    from argbest.theory import contention

    certificate, selection = study.certificate(delta), study.selection(delta=delta or None)
    measures = ("pcs_e", "pcs_m", "p_all", "p_all_se", "eoc")
    ahead = foreseen(study, LEVEL, delta=delta)
    guaranteed = study.guarantee(delta=delta)
    bounded = guaranteed.frame.replace([math.inf, -math.inf], math.nan)
    shown = {
        "problem": study.problem.name,
        "goal": study.problem.goal,
        "replications": study.n_observations,
        "alternatives": study.problem.n_alternatives,
        "contexts": study.problem.n_contexts,
        "notes": notes,
        "selection": _records(selection.assign(p_right=certificate.pcs)),
        "certificate": {
            "delta": delta,
            "equal_within": study.indifference(delta or None),
            **{name: float(getattr(certificate, name)) for name in measures},
        },
        "guarantee": {
            "alpha": guaranteed.alpha,
            "said": str(guaranteed),
            "notes": list(guaranteed.notes),
            "rows": _records(bounded),
        },
        "contention": _records(contention(study)[certificate.pcs < LEVEL]),
        "until": None if ahead is None else ahead.plain(),
        "forecast": _forecast(study, n_next, delta),
    }
    if n_next:
        study.ask(n_next)
    return {**shown, "next": _records(_next(study))}


def _forecast(study: "Study", n_next: int, delta: float) -> dict[str, float] | None:
    """Return the PCS_E expected after the next runs, and what they add; None where that would take long.

    What they add is a mean over paired draws, so it goes well with the certificate's exact PCS_E of now.
    """
    from argbest.theory import forecast

    n_alternatives, n_contexts = study.problem.shape
    draws = min(_DRAWS, _WORK // (n_alternatives * n_contexts**2))
    if not n_next or draws < _FEWEST:
        return None
    now, then = forecast(study, [0, n_next], draws=draws, delta=delta).to_dict("records")
    gain = then["mean"] - now["mean"]
    return {"samples": n_next, "pcs_e": min(float(study.certificate(delta).pcs_e) + gain, 1.0), "gain": gain}


def _next(study: "Study") -> "pd.DataFrame":
    """Return a row per pair that the next runs go to: its runs so far and the next ones, most first."""
    frame = study.allocation().rename(columns={"pending": "next"}).drop(columns=["share", "mean", "sd"])
    return frame[frame["next"] > 0].sort_values("next", ascending=False, kind="stable")


def _records(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows as dicts, None for what is not a number."""
    return [
        {
            str(name): None if isinstance(value, float) and math.isnan(value) else value
            for name, value in row.items()
        }
        for row in frame.to_dict("records")
    ]


def _show(study: "Study", answer: dict[str, Any], delta: float) -> None:
    """Print the selection, the certificate, what is not sure, and where the next runs go."""
    from argbest.core.states import LEVEL
    from argbest.report import curves

    problem, certificate = study.problem, study.certificate(delta)
    short, contexts = _short(study), curves.row_labels(problem.contexts)
    heading = curves.side(problem.contexts).title
    rows = [
        (
            label,
            short[row["selected"]],
            short[row["runner_up"]],
            *numbers((row["mean"], row["gap"])),
            f"{p:.3f}",
            row["state"],
        )
        for label, row, p in zip(contexts, answer["selection"], certificate.pcs.tolist(), strict=True)
    ]
    right = "P(best)" if not delta else f"P(within {delta:g})"
    say(
        "{}: {} replications of {} alternatives x {} contexts".format(
            problem.name, answer["replications"], *problem.shape
        )
    )
    _table((heading, "selected", "runner-up", "mean", "gap", right, "state"), rows, "contexts")
    say(f"certificate: {certificate}", f"contexts: {standing(study, delta or None)}")
    say(f"without a model: {answer['guarantee']['said']}", *answer["guarantee"]["notes"])
    if answer["until"] is not None:
        say(f"how many more: {answer['until']['sentence']}")
    unsure = [c for c, p in enumerate(certificate.pcs) if p < LEVEL]
    if unsure:
        running = [
            (contexts[c], ", ".join(short[label] for label in row["contenders"]), f"{row['probability']:.3f}")
            for c, row in zip(unsure, answer["contention"], strict=True)
        ]
        _table((heading, "one of these is best", "with probability"), running, "contexts")
    _show_next(study, answer, heading)


def _show_next(study: "Study", answer: dict[str, Any], heading: str) -> None:
    """Print the pairs that the next runs go to, and what they would buy."""
    from argbest.report import curves

    frame, problem = _next(study), study.problem
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
        after = f"about {forecast['pcs_e']:.3f} ({forecast['gain']:+.3f})"
        say(f"forecast: {forecast['samples']} more, placed as well as can be, would make PCS_E {after}")


def _short(study: "Study") -> dict[Any, str]:
    """Return short texts of the alternatives by their labels."""
    from argbest.report import curves

    axis = study.problem.alternatives
    return dict(zip(axis.labels, curves.row_labels(axis), strict=True))


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], what: str) -> None:
    table(headers, rows[:MOST_ROWS], justify="right")
    if len(rows) > MOST_ROWS:
        say(f"... and {len(rows) - MOST_ROWS} more {what}; --out and --json give all.")


def _write(study: "Study", answer: dict[str, Any], out: Path, *, quiet: bool) -> None:
    """Write the frames and, where matplotlib is there, the pictures; say where they are."""
    import pandas as pd

    from argbest.csv_files import write_csv
    from argbest.report import figures

    frames = {
        "selection": pd.DataFrame(answer["selection"]),
        "allocation": study.allocation(),
        "next": _next(study),
    }
    written = [write_csv(out / f"{name}.csv", frame) for name, frame in frames.items()]
    written += figures.write(drawn(lambda: figures.draw(study)) or {}, out)
    if not quiet:
        list_written(written)
