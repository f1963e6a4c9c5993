"""`argbest ask` and `tell`: a stored study and a foreign scheduler talk in lines of JSON."""

import json
import sys
from typing import IO, TYPE_CHECKING, Any

import click

from argbest.cli.stored import load, of_stored_study
from argbest.cli.terminal import note, show_json
from argbest.errors import ArgbestError, InputError, StorageError

if TYPE_CHECKING:
    from argbest.study.study import Study

_KEYS = ("trial", "value", "values", "summary", "failed", "given_back", "seconds")
_ANSWERS = ("value", "values", "summary", "failed", "given_back")


@click.command()
@of_stored_study
@click.option("-n", "number", type=click.IntRange(1), default=1, help="How many trials.")
@click.option("--context", help="Only trials of this context: a label, or JSON for a row.")
def ask(storage: str, name: str, number: int, context: str | None) -> None:
    """Print the next trials of the study in STORAGE, one JSON object per line."""
    study = load(storage, name)
    only = None if context is None else _context(study, context)
    for trial in study.ask(number, context=only):
        row = {
            "trial": trial.id,
            "alternative": trial.alternative,
            "context": trial.context,
            "replication": trial.replication,
            "seed": trial.seed,
        }
        show_json(row)


@click.command()
@of_stored_study
@click.option(
    "--file",
    type=click.File("rb"),
    help="Read from FILE, for example one that a worker left; trials already told are skipped.",
)
def tell(storage: str, name: str, file: IO[bytes] | None) -> None:
    """Return the results of trials to the study in STORAGE: one JSON object per line on standard input.

    A line is one of {"trial": 7, "value": 1.5}, {"trial": 7, "values": [1.5, 1.4]}, {"trial": 7, "summary":
    {"mean": 1.5, "variance": 0.2, "n": 30}}, {"trial": 7, "failed": "out of memory"} and {"trial": 7,
    "given_back": true}. You may add "seconds", the time that the simulation took. Each line is acknowledged
    on standard output once it is stored. Invalid lines are reported on standard error, the others are
    stored, and the exit code is 1.
    """
    study = load(storage, name)
    refused = 0
    for number, content in enumerate(file or sys.stdin.buffer, start=1):
        line = content.decode("utf-8", "replace")  # a foreign encoding in a reason is no reason to stop
        if not line.strip():
            continue
        try:
            said = _read(line)
            known = file is not None and _told(study, said["trial"])
            show_json(_tell(study, said) if not known else _ack(said, "told already, skipped"))
        except StorageError:
            raise
        except ArgbestError as error:
            refused += 1
            note(f"line {number}: {error}")
    if refused:
        raise SystemExit(1)


def _tell(study: "Study", said: dict[str, Any]) -> dict[str, Any]:
    """Return the acknowledgement of what one line said."""
    trial, seconds = said["trial"], said.get("seconds")
    if "failed" in said:
        study.fail(trial, str(said["failed"]), seconds=seconds)
        return _ack(said, "failed")
    if "given_back" in said:
        study.give_back(trial)
        return _ack(said, "given back")
    if "summary" in said:
        study.tell(trial, **_summary(said["summary"]), seconds=seconds)
    else:
        study.tell(trial, said.get("value", said.get("values")), seconds=seconds)
    return _ack(said, "told")


def _ack(said: dict[str, Any], status: str) -> dict[str, Any]:
    return {"trial": said["trial"], "status": status}


def _told(study: "Study", trial: object) -> bool:
    """Return whether a trial has its value already: from this file, or from another worker meanwhile."""
    ledger = study.refresh()._journal.ledger
    return isinstance(trial, int) and 0 <= trial < len(ledger.trials) and ledger.status(trial) == "told"


def _summary(given: object) -> dict[str, Any]:
    if not isinstance(given, dict) or not {"mean", "n"} <= set(given) <= {"mean", "variance", "n"}:
        raise InputError(f"got the summary {given!r}; expected an object with mean, variance and n.")
    return given


def _read(line: str) -> dict[str, Any]:
    example = 'such as {"trial": 7, "value": 1.5}'
    try:
        said = json.loads(line)
    except (ValueError, RecursionError) as error:  # ValueError: a number of thousands of digits, too
        raise InputError(f"not JSON ({error}); expected one object per line, {example}.") from error
    if not isinstance(said, dict) or "trial" not in said or set(said) - set(_KEYS):
        raise InputError(f"got {line.strip()[:200]}; expected an object {example} with keys of {_KEYS}.")
    if sum(key in said for key in _ANSWERS) != 1 or said.get("given_back", True) is not True:
        raise InputError(f"got {line.strip()[:200]}; expected exactly one of {_ANSWERS}, given_back true.")
    return said


def _context(study: "Study", given: str) -> object:
    """Return the context meant by a text: one of the labels as it stands, else what it says as JSON."""
    if given in study.problem.contexts.labels:
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given
