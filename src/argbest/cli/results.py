"""`argbest status`, `check`, `export`, `report` and `serve`: what a stored study holds, if it is sound."""

import json
import shlex
import time
import webbrowser
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from argbest import files
from argbest.cli.stored import load, need_file, of_stored_study, resume_command, show_failures
from argbest.cli.terminal import echo, say, show_json, table
from argbest.errors import InputError
from argbest.texts import chance, first_of

if TYPE_CHECKING:
    import pandas as pd

    from argbest.study.study import Study

_TABLES = ("observations", "trials", "selection", "allocation", "posterior")
FORMATS = (".csv", ".parquet", ".json")


@click.command()
@of_stored_study
@click.option("--watch", is_flag=True, help="Update the view until Ctrl-C or the end of the study.")
@click.option("--every", type=click.FloatRange(0.1), default=2.0, help="Seconds between updates.")
@click.option("--forecast", is_flag=True, help="Make the forecast even where it takes long.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def status(storage: str, name: str, watch: bool, every: float, forecast: bool, as_json: bool) -> None:
    """Show the state of the study in STORAGE: progress, certainty, model, workers, failures."""
    from argbest.answers.forecasting import quick_forecast
    from argbest.answers.overview import overview
    from argbest.core.states import LEVEL
    from argbest.files import unheard

    study = load(storage, name)
    while True:
        now = overview(study.refresh())
        if not watch:  # it takes a second or two, or is left out
            ahead = (
                study.forecast(LEVEL)
                if forecast and study.n_replications
                else quick_forecast(study.view(), LEVEL)
            )
            now["forecast"] = None if ahead is None else ahead.plain()
        if watch and not as_json:
            click.clear()
        show_json(now) if as_json else _show(study, now, resume_command(storage, name))
        if not watch or _abandoned(now) or _finished(study, now) or unheard():
            return
        time.sleep(every)


def _finished(study: "Study", now: dict[str, Any]) -> bool:
    """Return whether a limit is reached, or the stop rule met."""
    from argbest import studyfile

    rule = None if now["finished"] else studyfile.run_options(study.plan).get("stop")
    return now["finished"] or (rule is not None and now["certainty"] is not None and bool(rule(study)))


def _abandoned(now: dict[str, Any]) -> bool:
    """Return whether all workers of the study have ended."""
    workers = now["workers"]
    return bool(workers) and now["replications"] > 0 and not any(worker["alive"] for worker in workers)


def _show(study: "Study", now: dict[str, Any], again: str) -> None:
    from argbest.core.states import in_words
    from argbest.report.next_steps import next_step

    trials, budget = now["trials"], now["budget"]
    standing = "nobody works on it" if _abandoned(now) else "not finished"
    standing = "finished" if _finished(study, now) else standing
    say(
        f"{now['problem']}: {now['n_alternatives']} alternatives x {now['n_contexts']} contexts, " + standing,
        *(
            f"retired {kind}: {first_of(list(map(str, some)), 5)}"
            for kind, some in now["retired"].items()
            if some
        ),
        *([f"initial design: {now['initial_design']}"] if now["initial_design"] else []),
        f"replications: {now['replications']}"
        + (f" of {budget}" if budget else "")
        + f"; simulation time {_duration(now['seconds_spent'])}"
        + (f" of {_duration(now['seconds_budget'])}" if now["seconds_budget"] else ""),
        f"trials: {trials['told']} told, {trials['pending']} under way, {trials['given_back']} given back, "
        f"{trials['failed']} failed",
    )
    certainty = now["certainty"]
    if certainty is None:
        say("nothing is known yet: no trial has a value.")
        echo(f"next: {next_step(study).command}")
    else:
        say(
            "PCS so far: {} weighted over contexts, {} in the worst, {} in all at once".format(
                *(chance(certainty[name]) for name in ("pcs_e", "pcs_m", "p_all"))
            ),
            f"contexts: {in_words(certainty, certainty['delta'], study.problem.goal_unit)}",
            *certainty["doubts"],
        )
        if now.get("forecast"):
            say(f"forecast: {now['forecast']['sentence']}")
        elif "forecast" in now:
            _say_how_to_forecast(study, again)
        say(f"without a model: {now['guarantee']['sentence']}")
        if certainty["unanswered"]:
            say(f"no answer: {certainty['unanswered']} contexts, where every alternative failed")
        say("what the model found:", *(f"  {sentence}" for sentence in now["model"]["sentences"]))
    show_failures(now, trials["failed"], sum(trials.values()))
    for alternative, context in now["set_aside"]:
        say(f"set aside: alternative {alternative!r} in context {context!r}")
    _show_workers(now["workers"])


def _say_how_to_forecast(study: "Study", again: str) -> None:
    """Print why there is no forecast, and the command that makes one."""
    from argbest.answers.forecasting import n_paths

    if n_paths(study.view()):
        command = again.replace("argbest resume", "argbest status", 1)
        say("forecast: left out, because it would take long. To make it:")
        echo(f"  {command} --forecast")
    else:
        say("forecast: left out, because the table is too large for one.")


def _show_workers(workers: list[dict[str, Any]]) -> None:
    rows = [
        (
            worker["name"],
            "alive" if worker["alive"] else "gone",
            str(worker["slots"]),
            str(worker["under_way"]),
            f"{worker['utilisation']:.0%}",
            _duration(max(0.0, time.time() - worker["seen"])) + " ago",
        )
        for worker in workers
    ]
    if rows:
        table(("worker", "state", "slots", "under way", "busy", "seen"), rows)


def _duration(seconds: float) -> str:
    """Return a time as people say it: 12 s, 3 min 20 s, 5 h 2 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@click.command()
@of_stored_study
@click.option(
    "--renew", is_flag=True, help="Remove the snapshot; the next command makes another from the events."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def check(storage: str, name: str, renew: bool, as_json: bool) -> None:
    """Read every event of the study in STORAGE and check that it is sound.

    A snapshot makes long studies open fast. It only repeats what is in the events, so you can remove a wrong
    one with --renew. An event that another program has changed since is shown, too. The exit code is 1 if
    something is wrong.
    """
    from argbest.storage.opening import defined, hiding_secrets, open_storage
    from argbest.study import checking

    need_file(storage)
    place = open_storage(storage, name=name)
    click.get_current_context().call_on_close(place.close)
    found = checking.check(place, defined(place, name, storage))
    if renew and not found.wrong:
        checking.forget(place)
    show_json({**asdict(found), "sound": found.sound}) if as_json else say(
        f"{hiding_secrets(storage)}: {found}"
    )
    if found.changed and not found.wrong:
        refused = "Restore a backup. To accept the events as they are now: add --renew."
        say("The events count as they are now." if renew else refused)
    if found.wrong:
        say("Restore a backup. `sqlite3 FILE .recover` saves what can still be read of a file.")
    elif found.stale:
        say("It was removed." if renew else "No value is lost. To remove it: add --renew.")
    if found.wrong or ((found.stale or found.changed) and not renew):
        raise SystemExit(1)


@click.command()
@of_stored_study
@click.option("--table", type=click.Choice(_TABLES), default="observations", help="Which table.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write: .csv, .parquet or .json.  [default: the table's name, .csv]",
)
def export(storage: str, name: str, table: str, out: Path | None) -> None:
    """Write a table of the study in STORAGE as a CSV, Parquet or JSON file."""
    path = out or Path(f"{table}.csv")
    if path.suffix not in FORMATS:
        raise InputError(f"cannot write {path.name!r}; give a name that ends in {', '.join(FORMATS)}.")
    study = load(storage, name)
    frame = study.trials(details=True) if table == "trials" else getattr(study, table)()
    files.write(path, content(frame, path.suffix))
    echo(f"written: {path} ({len(frame)} rows)")


def content(frame: "pd.DataFrame", form: str) -> str | bytes:
    """Return what a file of the table holds; JSON has every number exact."""
    if form == ".csv":
        from argbest.table_files import to_csv

        return to_csv(frame)
    if form == ".json":
        rows = [{str(name): _plain(each) for name, each in row.items()} for row in frame.to_dict("records")]
        return json.dumps(rows, indent=1, allow_nan=False) + "\n"
    try:
        return frame.to_parquet(index=False)
    except ImportError as error:
        raise InputError("Parquet files need pyarrow: pip install 'argbest[parquet]'") from error


def _plain(value: Any) -> Any:
    """Return a value for JSON: a missing value, such as NaN, is null."""
    return None if value != value else value.isoformat() if hasattr(value, "isoformat") else value


@click.command()
@of_stored_study
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("report.html"), help="The page to write."
)
@click.option("--open", "show", is_flag=True, help="Open the page in the browser.")
def report(storage: str, name: str, out: Path, show: bool) -> None:
    """Write the study in STORAGE as one self-contained HTML page."""
    from argbest.storage.opening import hiding_secrets

    path = load(storage, name).report(out, command=shlex.join(["argbest", "report", hiding_secrets(storage)]))
    echo(f"written: {path}")
    if show:
        webbrowser.open(path.resolve().as_uri())


@click.command()
@of_stored_study
@click.option("--host", default="127.0.0.1", help="Address of this machine to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="Port; 0 means any free port.")
@click.option(
    "--allow-remote", is_flag=True, help="Let other machines read the study: no password, no encryption."
)
def serve(storage: str, name: str, host: str, port: int, allow_remote: bool) -> None:
    """Show the study in STORAGE live in the browser, without changing it; Ctrl-C ends the view."""
    from argbest.serve.server import LiveView

    view = LiveView(storage, name=name, host=host, port=port, allow_remote=allow_remote)
    echo(f"live view of {view.watch.title} at {view.url}\nCtrl-C ends the view; the study continues.")
    with suppress(KeyboardInterrupt):  # how it is meant to end; there is none where a shell ignores Ctrl-C
        view.serve()
    echo("the live view has ended.")
