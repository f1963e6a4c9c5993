"""`argbest add`, `retire`, `readmit` and `weigh`: the alternatives and contexts of a stored study."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from argbest.checks import within
from argbest.cli.stored import load, of_stored_study
from argbest.cli.terminal import echo, say
from argbest.errors import InputError
from argbest.texts import first_of

if TYPE_CHECKING:
    from argbest.problems.axis import Axis
    from argbest.study.study import Study

_MOST_NAMED = 5  # rows in a sentence


def _rows(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with options that name alternatives and contexts."""
    for kind in ("context", "alternative"):
        command = click.option(
            f"--{kind}",
            f"{kind}s",
            metavar="ROW",
            multiple=True,
            help="A label, or JSON for a row such as '{\"servers\": 9}'. May be given several times.",
        )(command)
    return command


@click.command()
@of_stored_study
@_rows
@click.option(
    "--alternatives",
    "alternative_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A table of new alternatives: CSV, Parquet or Excel.",
)
@click.option(
    "--contexts",
    "context_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A table of new contexts: CSV, Parquet or Excel.",
)
@click.option(
    "--weight",
    type=click.FloatRange(0, 1, max_open=True),
    help="The part of the whole for which each new context counts.  [default: as the others on average]",
)
@click.option(
    "--cost",
    type=click.FloatRange(0, min_open=True),
    help="What a replication of a new pair costs, if the study has a table of costs.",
)
def add(
    storage: str,
    name: str,
    alternatives: tuple[str, ...],
    contexts: tuple[str, ...],
    alternative_file: Path | None,
    context_file: Path | None,
    weight: float | None,
    cost: float | None,
) -> None:
    """Add alternatives or contexts to the study in STORAGE; all that is known of the others stays."""
    study = load(storage, name)
    axes = study.problem.alternatives, study.problem.contexts
    rows, columns = (
        _given(axis, texts, file)
        for axis, texts, file in zip(
            axes, (alternatives, contexts), (alternative_file, context_file), strict=True
        )
    )
    if rows is None and columns is None:
        raise InputError("nothing to add. Name --alternative, --context, or a file of them.")
    if columns is None and weight is not None:
        raise InputError("--weight is about new contexts, and there are none. Leave it out.")
    before = study.problem
    if rows is not None:
        study.add_alternatives(rows, cost=cost)
    if columns is not None:
        study.add_contexts(columns, weights=weight, cost=cost)
    _say_changes(study, before)


@click.command()
@of_stored_study
@_rows
def retire(storage: str, name: str, alternatives: tuple[str, ...], contexts: tuple[str, ...]) -> None:
    """Leave alternatives or contexts of the study in STORAGE out from now on; their values stay."""
    study = load(storage, name)
    chosen = _chosen(study, alternatives, contexts)
    if not chosen:
        raise InputError("nothing to retire. Name --alternative or --context.")
    study.retire(**chosen)
    _say_retired(study)


@click.command()
@of_stored_study
@_rows
def readmit(storage: str, name: str, alternatives: tuple[str, ...], contexts: tuple[str, ...]) -> None:
    """Bring retired alternatives or contexts of the study in STORAGE back.

    Without any, the pairs are tried again that were set aside because they failed.
    """
    study = load(storage, name)
    chosen = _chosen(study, alternatives, contexts)
    study.readmit(**chosen)
    if chosen:
        _say_retired(study)
    else:
        echo("pairs that were set aside are tried again")


@click.command()
@of_stored_study
@click.argument("weights")
def weigh(storage: str, name: str, weights: str) -> None:
    """Let the contexts of the study in STORAGE count otherwise.

    WEIGHTS is JSON: a list of numbers in the order of the contexts, or an object by their labels, such as
    '{"weekday": 5, "weekend": 2}'. Retired contexts have none.
    """
    study = load(storage, name)
    given = _json(weights, "a list of numbers, or an object of numbers by label")
    if isinstance(given, dict):
        labels = {str(label): label for label in study.problem.contexts.labels}
        given = {labels.get(key, key): value for key, value in given.items()}
    study.set_weights(given)
    pairs = zip(study.problem.contexts.labels, study.problem.weights.tolist(), strict=True)
    shown = [f"{label}: {weight:.3g}" for label, weight in pairs if weight]
    say(f"weights: {first_of(shown, 12)}")


def _given(axis: "Axis", texts: tuple[str, ...], file: Path | None) -> object:
    """Return new rows, as texts or a table in a file; None where there are none."""
    if texts and file is not None:
        raise InputError(f"give --{axis.kind} or --{axis.kind}s FILE, not both.")
    if file is None:
        return [_row(axis, text) for text in texts] or None
    from argbest.table_files import read_table

    with within(str(file)):
        frame = read_table(file)
        if axis.columns and not axis.named:
            return frame
        label = axis.kind if axis.kind in frame.columns else frame.columns[0]
        columns = list(axis.columns)
        missing = [column for column in columns if column not in frame.columns]
        if missing:
            raise InputError(f"the file has no column {missing[0]!r}; it has {list(frame.columns)}. Add it.")
        return frame[columns].set_index(frame[label]) if columns else frame[label].tolist()


def _row(axis: "Axis", text: str) -> object:
    """Return the row that a text means: as it stands where entries are called by texts, else as JSON."""
    if text in axis.labels or (not axis.columns and isinstance(axis.labels[0], str)):
        return text
    shape = "an object with the columns " + ", ".join(axis.columns) if axis.columns else "a number"
    named = axis.named and axis.columns and not text.startswith("{")
    return text if named else _json(text, shape)


def _json(text: str, shape: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{text[:200]!r} is not JSON ({error}); expected {shape}.") from error


def _chosen(study: "Study", alternatives: tuple[str, ...], contexts: tuple[str, ...]) -> dict[str, Any]:
    """Return the named rows of a study, as `Study.retire` takes them."""
    problem = study.problem
    pairs = ((problem.alternatives, alternatives), (problem.contexts, contexts))
    return {axis.kind: [_row(axis, text) for text in texts] for axis, texts in pairs if texts}


def _say_changes(study: "Study", before: Any) -> None:
    from argbest.study.revising import changes_in_words

    say(*changes_in_words(before, study.problem))
    if study.n_replications and study.n_queued:
        echo(f"{study.n_queued} replications of new pairs come first: nothing can be inferred about them")


def _say_retired(study: "Study") -> None:
    for kind, items in study.retired.items():
        say(f"retired {kind}: {first_of([str(item) for item in items], _MOST_NAMED) if items else 'none'}")
