"""Stored studies: which one a command means, how its answer is shown, and `argbest ask` and `tell`."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from argbest.checks import within
from argbest.cli.terminal import note, say, show_json, table
from argbest.errors import ArgbestError, InputError, StorageError
from argbest.lazy import later
from argbest.texts import chance, first_of, number

if TYPE_CHECKING:
    from argbest.problems.base import Problem
    from argbest.study.study import Study
    from argbest.study.view import View

MOST_ROWS = 40  # contexts shown in the terminal; `argbest export` has them all
_LONGEST_REASON = 1000  # characters of a failure's reason shown in the terminal
_ANSWERS = ("value", "values", "summary", "failed", "given_back")
_KEYS = ("trial", *_ANSWERS, "seconds")  # of a line that `tell` reads


def of_stored_study(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with the argument STORAGE and the option --name."""
    name = click.option("--name", default="study", help="Which study, if the database holds several.")
    return click.argument("storage")(name(command))


def load(storage: str, name: str, python: str | None = None, file: Path | None = None) -> "Study":
    """Return the stored study; its simulator may be a Python function named, or that of a study file."""
    from argbest.simulators.function import Function
    from argbest.study.study import Study

    need_file(storage)
    described = None if file is None else later("argbest.studyfile").read(file)
    simulate = None if described is None else described.problem.simulate
    study = Study.load(storage, name=name, simulate=simulate if python is None else Function(python, "."))
    click.get_current_context().call_on_close(study.close)
    if described is not None:
        _need_the_same(study, Study(described.problem, **described.options), described.path)
        with within(described.path.name):
            changes = study.take_over(described.problem, cost=described.options.get("cost"))
        say(*(f"{described.path.name}: {each}" for each in changes))
    return study


def need_file(storage: str) -> None:
    """Refuse the path of a file that is not there."""
    from argbest.storage.opening import meant

    if Path(storage).suffix == ".toml" and "://" not in storage:
        usual = shlex.quote(str(Path(storage).with_suffix(".db")))
        raise StorageError(
            f"{storage!r} is a study file. Name the file in which its study is kept, usually {usual}. "
            f"`argbest run {shlex.quote(storage)}` makes it."
        )
    if "://" not in storage and not meant(storage) and not Path(storage).exists():
        raise StorageError(
            f"there is no file {storage!r}. `argbest run` makes a study and says where it is kept."
        )


def _need_the_same(stored: "Study", described: "Study", file: Path) -> None:
    """Refuse a study file that describes another study than the stored one; it may have more rows."""
    from argbest.study.definition import differences

    if differences(stored.definition, described.definition, rows=False):
        different = differences(stored.definition, described.definition)
        raise InputError(
            f"{file.name} does not describe the stored study. {'; '.join(different)}. Only the name, "
            "the simulator and [run] may change, and rows may be added. Correct the file, or begin a new "
            f"study: argbest run {shlex.quote(str(file))} --storage NEW.db"
        )


def resume_command(storage: str, name: str, python: str | None = None) -> str:
    """Return the command that goes on with a study."""
    from argbest.storage.opening import hiding_secrets

    options = ([] if name == "study" else ["--name", name]) + ([] if python is None else ["--python", python])
    return shlex.join(["argbest", "resume", hiding_secrets(storage), *options])


def show_answer(study: "Study") -> None:
    """Print the selection per context, the certificate and what went wrong."""
    from argbest.answers import doubts, frames
    from argbest.core.question import BEST
    from argbest.report import curves

    problem = study.problem
    if not study.n_replications:
        say("nothing is known yet: no trial has a value.")
        return
    if problem.question.name != BEST.name:
        say(*str(study.answer()).splitlines(), "the best alternative of every context:")
    show_contexts(study.view(), study.indifference())
    contexts, certificate = curves.side(problem.contexts), study.certificate()
    likelier = frames.likelier(problem, certificate)
    notes = [f"{contexts.labels[i]}: {likelier[c]}" for i, c in enumerate(contexts.order) if likelier[c]]
    say(f"certificate: {certificate}", f"contexts: {standing(study)}", *doubts.sentences(study.view()))
    if notes:
        say(f"the best mean is selected, not the largest P(best); they differ at {first_of(notes)}")


def show_contexts(view: "View", delta: float) -> None:
    """Print what is selected in every context, in columns that fit into a terminal."""
    from argbest.answers import frames
    from argbest.jsonable import records
    from argbest.report import curves

    problem = view.problem
    contexts, short = curves.side(problem.contexts), short_labels(problem)
    chances = ("p_best", "p_feasible") if problem.limits else ("p_best",)
    shown = records(frames.selection(view, delta).iloc[contexts.order])
    rows = [
        (
            label,
            choice_text(short, row, limits=bool(problem.limits)),
            short.get(row["runner_up"], "-"),
            in_digits(row["gap"], number),
            *(in_digits(row[name], chance) for name in chances),
            row["state"] or "-",
        )
        for label, row in zip(contexts.labels, shown[:MOST_ROWS], strict=False)
    ]
    headers = ("P(best)", "P(feasible)") if problem.limits else ("P(best)",)
    table((contexts.title, "selected", "runner-up", "gap", *headers, "state"), rows, justify="right")
    if len(shown) > MOST_ROWS:
        say(f"... and {len(shown) - MOST_ROWS} more contexts; `argbest export` writes all.")


def short_labels(problem: "Problem") -> dict[Any, str]:
    """Return short texts of the alternatives by their labels."""
    from argbest.report.curves import row_labels

    return dict(zip(problem.alternatives.labels, row_labels(problem.alternatives), strict=True))


def standing(study: "Study", delta: float | None = None) -> str:
    """Return how many contexts are sure, equal and open, and what that means."""
    from argbest.answers import doubts
    from argbest.core.states import counts, in_words

    zone = study.indifference(delta)
    return in_words(counts(doubts.states(study.view(), zone)), zone, study.problem.goal_unit)


def choice_text(short: Mapping[Any, str], row: Mapping[str, Any], *, limits: bool) -> str:
    """Return what is selected in a context, in a row of the selection as plain values."""
    none = "none is feasible" if limits and row["p_best"] is not None else "no answer"
    return short.get(row["selected"], none)


def in_digits(value: float | None, form: Callable[[float], str]) -> str:
    """Return a number as text, "-" where there is none."""
    return "-" if value is None else form(value)


def show_troubles(study: "Study") -> None:
    """Print how many trials failed and why, and the pairs set aside."""
    from argbest.answers.overview import failures

    status = study.trials()["status"]
    show_failures(failures(study.view()), int((status == "failed").sum()), len(status))
    count, problem = study.tally.count, study.problem
    for alternative, context in study.set_aside:
        n = count[problem.alternatives.index(alternative), problem.contexts.index(context)]
        effect = "" if n else "; without a value it is not selected there"
        say(f"set aside after repeated failures: alternative {alternative!r} in context {context!r}{effect}")


def show_failures(causes: Mapping[str, Any], failed: int, trials: int) -> None:
    """Print the causes of failures, as `overview.failures` returns them, the most frequent first."""
    from argbest.report.looks import middle_cut

    if not failed:
        return
    say(f"failures: {failed} of {trials} trials")
    for cause in causes["failures"]:
        often = "once," if cause["count"] == 1 else f"{cause['count']} times, last"
        reason = middle_cut(cause["reason"], _LONGEST_REASON).replace("\n", "\n    ")
        say(f"  {often} in trial {cause['trial']}: {reason}")
    if causes["other_causes"]:
        say(f"  and {causes['other_causes']} other causes; `argbest export --table trials` has every reason.")


@click.command()
@of_stored_study
@click.option("-n", "number", type=click.IntRange(1), default=1, help="How many trials.")
@click.option("--context", help="Only trials of this context: a label, or JSON for a row.")
def ask(storage: str, name: str, number: int, context: str | None) -> None:
    """Print the next trials of the study in STORAGE, one JSON object per line."""
    study = load(storage, name)
    wanted = None if context is None else _context(study, context)
    for trial in study.ask(number, context=wanted):
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
    for at, content in enumerate(file or sys.stdin.buffer, start=1):
        line = content.decode("utf-8", "replace")  # a foreign encoding in a reason is no reason to stop
        if not line.strip():
            continue
        try:
            result = _read(line)
            known = file is not None and _told(study, result["trial"])
            skipped = {"trial": result["trial"], "status": "told already, skipped"}
            show_json(skipped if known else _tell(study, result))
        except StorageError:
            raise
        except ArgbestError as error:
            refused += 1
            note(f"line {at}: {error}")
    if refused:
        raise SystemExit(1)


def _tell(study: "Study", result: dict[str, Any]) -> dict[str, Any]:
    """Return the acknowledgement of the result in one line."""
    trial, seconds, status = result["trial"], result.get("seconds"), "told"
    if "failed" in result:
        study.fail(trial, str(result["failed"]), seconds=seconds)
        status = "failed"
    elif "given_back" in result:
        study.give_back(trial)
        status = "given back"
    elif "summary" in result:
        study.tell(trial, **_summary(result["summary"]), seconds=seconds)
    else:
        study.tell(trial, result.get("value", result.get("values")), seconds=seconds)
    return {"trial": trial, "status": status}


def _told(study: "Study", trial: object) -> bool:
    """Return whether a trial has its value already: from this file, or from another worker meanwhile."""
    asked = study.refresh().asked
    return isinstance(trial, int) and 0 <= trial < len(asked) and study.status(trial) == "told"


def _summary(given: object) -> dict[str, Any]:
    if not isinstance(given, dict) or not {"mean", "n"} <= set(given) <= {"mean", "variance", "n"}:
        raise InputError(f"got the summary {given!r}; expected an object with mean, variance and n.")
    return given


def _read(line: str) -> dict[str, Any]:
    example = 'such as {"trial": 7, "value": 1.5}'
    try:
        result = json.loads(line)
    except (ValueError, RecursionError) as error:  # ValueError: a number of thousands of digits, too
        raise InputError(f"not JSON ({error}); expected one object per line, {example}.") from error
    if not isinstance(result, dict) or "trial" not in result or set(result) - set(_KEYS):
        raise InputError(f"got {line.strip()[:200]}; expected an object {example} with keys of {_KEYS}.")
    if sum(key in result for key in _ANSWERS) != 1 or result.get("given_back", True) is not True:
        raise InputError(f"got {line.strip()[:200]}; expected exactly one of {_ANSWERS}, given_back true.")
    return result


def _context(study: "Study", given: str) -> object:
    """Return the context that a text means: the label that it is, else what it is as JSON."""
    if given in study.problem.contexts.labels:
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given
