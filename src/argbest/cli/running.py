"""`argbest run`, `resume`, `worker`, `submit` and `task`: simulating, here and on a cluster."""

import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from argbest.cli.stored import load, of_stored_study, resume_command, show_answer, show_troubles
from argbest.cli.terminal import echo, listed, note, say
from argbest.errors import InputError, SimulationError, StorageError, StudyExistsError
from argbest.options import parsed

if TYPE_CHECKING:
    from argbest.problems.base import Problem
    from argbest.study.study import Study
    from argbest.studyfile import StudyFile

Options = dict[str, Any]


def _limits(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with the options that take the place of the study file's."""
    for option in (
        click.option(
            "--budget", type=click.IntRange(1), help="Total number of replications.  [default: the study's]"
        ),
        click.option(
            "--seconds",
            type=click.FloatRange(0, min_open=True),
            help="Total simulation time of all workers, in seconds.  [default: the study's]",
        ),
        click.option(
            "--workers",
            type=click.IntRange(1),
            help="Number of simulations at once.  [default: the study's, else 1]",
        ),
        click.option(
            "--assume",
            metavar="normal|range|deterministic",
            help="What --guarantee assumes of the rewards.  [default: range if the study names one, else "
            "normal]",
        ),
        click.option(
            "--guarantee",
            metavar="ALPHA[,DELTA]",
            callback=lambda _context, _option, given: guaranteed(given),
            help="Stop once the data alone, without a model, certify with confidence 1 - ALPHA that every "
            "choice is within DELTA of the best; without DELTA: that it is the best.",
        ),
        click.option(
            "--stop",
            metavar="RULE",
            callback=lambda _context, _option, given: stopping(given),
            help="Stop rule, such as expected-pcs:target=0.95, or none: simulate the whole budget.  "
            "[default: the study's]",
        ),
        click.option("--quiet", is_flag=True, help="Show no progress bar."),
    ):
        command = option(command)
    return command


def _simulator(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with the options that name another simulator than the stored one."""
    for option in (
        click.option("--python", metavar="MODULE:FUNCTION", help="The simulator, if the study names none."),
        click.option(
            "--file",
            type=click.Path(path_type=Path),
            help="Study file whose simulator is used; the rest of it must describe the stored study.",
        ),
    ):
        command = option(command)
    return command


_shared = click.option(
    "--shared",
    is_flag=True,
    help="Use a folder of tasks that other users can write to. They can then run commands as you.",
)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--storage", help="File or URL of a database.  [default: the study file's, else FILE.db]")
@click.option(
    "--prior-runs",
    type=click.Path(path_type=Path),
    help="Table of old runs, or of another version of the simulator, to begin with.  [default: the study "
    "file's]",
)
@_limits
def run(file: Path, storage: str | None, prior_runs: Path | None, quiet: bool, **given: Any) -> None:
    """Run the study described in FILE (TOML; see `argbest init`), and store it.

    After any interruption, continue with: argbest resume STORAGE
    """
    from argbest import studyfile
    from argbest.study import assumptions
    from argbest.study.run_options import GuaranteedPCS, afford
    from argbest.study.study import Study

    described, where = _described(file, storage, prior_runs)
    if described.problem.simulate is None:
        raise InputError(f"{file.name} has no [simulator]; name a command or a Python function there.")
    _need_a_simulator(described.problem)
    plan = _merged(described.plain(), given)
    options = studyfile.run_options(plan)
    _need_a_budget(options)
    budget = options.get("budget")
    afford(budget, described.checked.n_designed(budget), smaller="lower [study] initial")
    if isinstance(rule := options.get("stop"), GuaranteedPCS):
        assumptions.of_rewards(described.problem.goal_range, rule.assume)  # refused before a study is made
    again = resume_command(where, described.name)
    try:
        study = Study(described.problem, **described.options, storage=where, name=described.name, plan=plan)
    except StudyExistsError as error:
        raise StorageError(
            f"{error} To start again, remove it or name another --storage; if its simulator was fixed, add "
            f"--file {shlex.quote(str(file))}. To continue it: {again}"
        ) from error
    click.get_current_context().call_on_close(study.close)
    _simulate(study, options, where, again, quiet=quiet)


@click.command()
@of_stored_study
@_simulator
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Let the tasks that share FOLDER simulate (see `argbest submit`). Works on a copy of the file.",
)
@_shared
@click.option("--readmit", is_flag=True, help="Try again the pairs that were set aside because they failed.")
@_limits
def resume(
    storage: str,
    name: str,
    python: str | None,
    file: Path | None,
    folder: Path | None,
    shared: bool,
    readmit: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Continue the study in STORAGE; trials that were running when it ended are simulated again."""
    again = resume_command(storage, name, python)

    def simulate(study: "Study", options: Options) -> None:
        _need_a_simulator(study.problem)
        if readmit:
            study.readmit()
        _simulate(study, options, storage, again, quiet=quiet)

    if folder is None:
        study = load(storage, name, python, file)
        simulate(study, _planned(study, given))
        return
    from argbest.array.coordinator import taken, tasks_in

    with taken(storage, name) as copy:
        study = load(str(copy.path), name, python, file)
        with tasks_in(folder, study, copy, _planned(study, given), shared=shared) as options:
            simulate(study, options)
        study.close()


@click.command()
@of_stored_study
@_simulator
@_limits
def worker(storage: str, name: str, python: str | None, file: Path | None, quiet: bool, **given: Any) -> None:
    """Simulate trials of the study in STORAGE until it is finished, together with any other workers."""
    study = load(storage, name, python, file)
    _need_a_simulator(study.problem)
    before = study.n_replications
    options = _planned(study, given)
    _run_study(study, options, quiet=quiet)
    n = study.n_replications
    say(f"finished: {n} replications, {n - before} of them since this worker began")
    if n:
        command = _command_to_continue(study, options, resume_command(storage, name, python))
        _say_why_it_ended(study, options, command, n - before)


def _described(file: Path, storage: str | None, prior_runs: Path | None = None) -> tuple["StudyFile", str]:
    """Return what a study file says, and where its study is kept."""
    from argbest import studyfile

    described = studyfile.read(file, earlier=prior_runs)
    for remark in described.remarks:
        note(remark)
    return described, storage or described.storage or str(file.with_suffix(".db"))


def _simulate(study: "Study", options: Options, where: str, again: str, *, quiet: bool) -> None:
    from argbest.storage.opening import hiding_secrets
    from argbest.study.run_options import GuaranteedPCS

    problem, before = study.problem, study.n_replications
    echo(
        f"{problem.name}: {problem.in_use[0]} alternatives x {problem.in_use[1]} contexts, "
        f"kept in {hiding_secrets(where)}"
    )
    try:
        _run_study(study, options, quiet=quiet)
    except KeyboardInterrupt as error:
        with suppress(StorageError):  # out of reach: then the last known number is printed
            study.refresh()
        kept = study.n_replications
        raise KeyboardInterrupt(f"interrupted; {kept} replications are kept. To continue: {again}") from error
    except SimulationError as error:
        show_troubles(study)
        raise SimulationError(f"{error} Once it is fixed, continue with: {again} --readmit") from error
    show_answer(study)
    if isinstance(rule := options.get("stop"), GuaranteedPCS) and study.n_replications:
        found = study.guarantee(rule.alpha, rule.delta, assume=rule.assume)
        say(f"without a model: {found}", *found.notes)
    show_troubles(study)
    if study.n_replications:
        command = _command_to_continue(study, options, again)
        printed = _say_why_it_ended(study, options, command, study.n_replications - before)
        _say_what_next(study, again, "" if printed else command)


def _command_to_continue(study: "Study", options: Options, again: str) -> str:
    """Return the command that continues with twice of what is spent, or without the stop rule that is met."""
    used, spent = study.n_replications, study.view().spent
    budget, seconds = options.get("budget"), options.get("seconds")
    more = []
    if seconds is not None and spent >= seconds:
        more.append(f"--seconds {2 * spent:.2g}")
    if (budget is None and seconds is None) or (budget is not None and used >= budget):
        more.append(f"--budget {2 * used}")
    if not more and options.get("stop") is not None:
        more = [*([] if budget is None else [f"--budget {budget}"]), "--stop none"]
    return " ".join([again, *(more or [f"--budget {2 * used}"])])


def _say_why_it_ended(study: "Study", options: Options, command: str, simulated: int) -> bool:
    """Print that the stop rule is met, or why nothing was simulated and the command to continue.

    Return whether the command was printed.
    """
    from argbest.study.run_options import RunEnd
    from argbest.studyfile.options import rule_in_words

    rule, limit, used = options.get("stop"), options.get("budget"), study.n_replications
    why = ""
    if RunEnd(limit, options.get("seconds")).reached(study.view()):
        spent = f"budget of {limit} replications" if limit and used >= limit else "simulation time"
        why = "" if simulated else f"the {spent} is spent."
    elif rule is not None and used and not study.n_queued and rule(study):
        share = f"{used} of at most {limit} replications" if limit else f"{used} replications"
        why = f"the stop rule {rule_in_words(rule)} is met, with {share}."
    if not why or simulated:
        say(*([why] if why else []))
        return False
    say(f"nothing was simulated: {why}")
    echo(f"to go on: {command}")
    return True


def _say_what_next(study: "Study", again: str, command: str) -> None:
    """Print the command for a page with the answer and, if contexts are open, the one to continue, if any."""
    from argbest.core.states import OPEN

    page = again.replace("argbest resume", "argbest report", 1).partition(" --python")[0]
    echo(f"next: {page} --open shows it as a page")
    if command and (study.selection()["state"] == OPEN).any():
        echo(f"      {command} continues: some contexts are still open")


def _run_study(study: "Study", options: Options, *, quiet: bool) -> None:
    study.run(**options, on_failure="record", progress=not quiet)


def _planned(study: "Study", given: Options) -> Options:
    from argbest import studyfile

    options = studyfile.run_options(_merged(dict(study.plan), given))
    _need_a_budget(options)
    return options


def _merged(stored: Options, given: Options) -> Options:
    """Return the options of a run as a study file would say them: those given instead of those stored."""
    given = {name: value for name, value in given.items() if value is not None}
    guarantee, assume = given.pop("guarantee", None), given.pop("assume", None)
    if guarantee is not None and "stop" in given:
        raise InputError("--guarantee is a stop rule, so it cannot stand beside --stop; give one of them.")
    if guarantee is None and assume is not None:
        raise InputError(f"--assume {assume} is about a guarantee; give --guarantee ALPHA too.")
    if guarantee is not None:
        given["stop"] = guarantee if assume is None else {**guarantee, "assume": assume}
    merged = stored | given
    return {name: value for name, value in merged.items() if name != "stop" or value}  # none: an empty rule


def stopping(given: str | None) -> Options | None:
    """Return the rule of --stop as a study file would say it, empty for "none"."""
    if given is None or given == "none":
        return None if given is None else {}
    rule, options = parsed("--stop", given)
    numbers = {name: _number(value) for name, value in options.items()}
    return {"rule": rule, **numbers}


def _number(text: str) -> float | str:
    """Return the number that a text spells, or the text."""
    try:
        return float(text)
    except ValueError:
        return text


def guaranteed(given: str | None) -> Options | None:
    """Return the stop rule of --guarantee as a study file would say it."""
    if given is None:
        return None
    numbers = listed("--guarantee", given, "0.05 (alpha) or 0.05,1.5 (alpha and delta)")
    if len(numbers) > 2:
        raise InputError(f"--guarantee {given} lists {len(numbers)} numbers; give ALPHA or ALPHA,DELTA.")
    return {"rule": "guaranteed", **dict(zip(("alpha", "delta"), numbers, strict=False))}


def _need_a_simulator(problem: "Problem") -> None:
    """Refuse a missing simulator, before a study is made or trials are spent on it."""
    from argbest.simulators.program import Program

    if problem.simulate is None:
        raise InputError(
            "the study names no simulator. Name one: --python MODULE:FUNCTION, or --file for that of a study "
            "file. Or ask for trials and tell their values: argbest ask, argbest tell."
        )
    if isinstance(problem.simulate, Program):
        problem.simulate.check_start(problem.alternatives.item(0), problem.contexts.item(0))


def _need_a_budget(options: Options) -> None:
    if "budget" not in options and "seconds" not in options:
        raise InputError("the study names no budget; give --budget or --seconds, or [run] in the study file.")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--slurm",
    "system",
    flag_value="slurm",
    default="slurm",
    show_default=False,
    help="A job array for SLURM.",
)
@click.option("--pbs", "system", flag_value="pbs", help="A job array for PBS.")
@click.option(
    "--plain", "system", flag_value="plain", help="A script that you start yourself, for example over SSH."
)
@click.option(
    "--tasks", type=click.IntRange(1, 10_000), required=True, help="Number of tasks that simulate at once."
)
@click.option("--storage", help="File of the study.  [default: the study file's, else FILE.db]")
@_shared
def submit(file: Path, system: str, tasks: int, storage: str | None, shared: bool) -> None:
    """Write a script that runs the study in FILE as a job array on a cluster.

    The tasks share only the folder FILE.array. A study that already exists is continued.
    """
    from argbest.array.folder import refuse_server
    from argbest.array.tasks import Script
    from argbest.study.study import Study

    described, where = _described(file, storage)
    refuse_server(where)
    if described.problem.simulate is None or not {"budget", "seconds"} & {*described.run}:
        raise InputError(f"{file.name} needs a [simulator] and, under [run], a budget or seconds.")
    if Path(where).exists():
        study = load(where, described.name, None, file)
    else:
        plan = described.plain()
        study = Study(described.problem, **described.options, storage=where, name=described.name, plan=plan)
        study.close()
    script = Script(system, tasks, file, where, described.name, shared)
    script.write()
    say(f"{study.problem.name}: {study.n_replications} replications so far, kept in {where}")
    echo(f"written: {script.path}")
    echo(f"next: {script.start}")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--patience",
    type=click.FloatRange(0, min_open=True),
    default=600.0,
    help="Seconds to wait for a coordinator that gives no sign of life.",
)
@_shared
def task(folder: Path, patience: float, shared: bool) -> None:
    """Simulate the trials that the coordinator of a job array writes into FOLDER, until it has finished."""
    from argbest.array.folder import Folder
    from argbest.array.tasks import serve

    done = serve(folder, patience=patience, shared=shared)
    if not done and Folder(folder, shared).coordinator() is None:
        raise StorageError(
            f"no coordinator came to {str(folder)!r} within {patience:g} s. Is it the folder that "
            "`argbest submit` made?"
        )
    say(f"finished: {done} jobs done")
