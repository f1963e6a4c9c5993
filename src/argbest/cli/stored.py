"""What the commands for stored studies share: which study is meant, and how its answer is shown."""

import shlex
from collections.abc import Callable, Mapping
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from argbest.cli.terminal import say, table
from argbest.errors import InputError, StorageError
from argbest.lazy import later
from argbest.texts import chance, number

if TYPE_CHECKING:
    from argbest.problems.base import Problem
    from argbest.study.study import Study

MOST_ROWS = 40  # contexts shown in the terminal; `argbest export` has them all
LONGEST_REASON = 1000  # characters of a failure's reason shown in the terminal


def of_stored_study(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with the argument STORAGE and the option --name."""
    named = click.option("--name", default="study", help="Which study, if the database holds several.")
    return click.argument("storage")(named(command))


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
    return study


def need_file(storage: str) -> None:
    """Refuse the path of a file that is not there."""
    from argbest.storage.opening import meant

    if "://" not in storage and not meant(storage) and not Path(storage).exists():
        raise StorageError(
            f"there is no file {storage!r}. `argbest run` makes a study and says where it is kept."
        )


def _need_the_same(stored: "Study", described: "Study", file: Path) -> None:
    """Refuse a study file that describes another study than the stored one."""
    from argbest.study.definition import differences

    found = differences(stored.definition, described.definition)
    if found:
        raise InputError(
            f"{file.name} does not describe the stored study. {'; '.join(found)}. Only the name, "
            "the simulator and [run] may change. Correct the file, or begin a new study: argbest run "
            f"{shlex.quote(str(file))} --storage NEW.db"
        )


def resume_command(storage: str, name: str, python: str | None = None) -> str:
    """Return the command that goes on with a study."""
    from argbest.storage.opening import shown

    options = ([] if name == "study" else ["--name", name]) + ([] if python is None else ["--python", python])
    return shlex.join(["argbest", "resume", shown(storage), *options])


def show_answer(study: "Study") -> None:
    """Print the selection per context, the certificate and what went wrong."""
    from argbest.report import curves

    problem = study.problem
    if not study.n_observations:
        say("nothing is known yet: no trial has a value.")
        return
    contexts, short = curves.side(problem.contexts), short_labels(problem)
    columns = ("selected", "runner_up", "gap", "p_best", "state")
    frame = study.selection().iloc[contexts.order]
    shown = list(zip(contexts.labels, *(frame[name].tolist() for name in columns), strict=True))
    rows = [
        (label, short.get(selected, "no answer"), short.get(rival, "-"), *_numbers(gap, p_best), state or "-")
        for label, selected, rival, gap, p_best, state in shown[:MOST_ROWS]
    ]
    table((contexts.title, "selected", "runner-up", "gap", "P(best)", "state"), rows, justify="right")
    if len(shown) > MOST_ROWS:
        say(f"... and {len(shown) - MOST_ROWS} more contexts; `argbest export` writes all.")
    say(f"certificate: {study.certificate()}", f"contexts: {standing(study)}")


def short_labels(problem: "Problem") -> dict[Any, str]:
    """Return short texts of the alternatives by their labels."""
    from argbest.report.curves import row_labels

    return dict(zip(problem.alternatives.labels, row_labels(problem.alternatives), strict=True))


def standing(study: "Study", delta: float | None = None) -> str:
    """Return how many contexts are sure, equal and open, and what that means."""
    from argbest.core.states import counts, in_words

    zone = study.indifference(delta)
    return in_words(counts(study.certificate().states(zone)), zone)


def _numbers(gap: float, p_best: float) -> tuple[str, str]:
    return "-" if isnan(gap) else number(gap), "-" if isnan(p_best) else chance(p_best)


def show_troubles(study: "Study") -> None:
    """Print how many trials failed and why, and the pairs set aside."""
    from argbest.answers.overview import failures

    status = study.trials()["status"]
    show_failures(failures(study), int((status == "failed").sum()), len(status))
    told, problem = study.tally.count, study.problem
    for alternative, context in study.set_aside:
        n = told[problem.alternatives.index(alternative), problem.contexts.index(context)]
        said = "" if n else "; without a value it is not selected there"
        say(f"set aside after repeated failures: alternative {alternative!r} in context {context!r}{said}")


def show_failures(told: Mapping[str, Any], failed: int, trials: int) -> None:
    """Print the causes of failures that `overview` tells, the most frequent first."""
    from argbest.report.curves import middle_cut

    if not failed:
        return
    say(f"failures: {failed} of {trials} trials")
    for cause in told["failures"]:
        often = "once," if cause["count"] == 1 else f"{cause['count']} times, last"
        reason = middle_cut(cause["reason"], LONGEST_REASON).replace("\n", "\n    ")
        say(f"  {often} in trial {cause['trial']}: {reason}")
    if told["other_causes"]:
        say(f"  and {told['other_causes']} other causes; `argbest export --table trials` has every reason.")
