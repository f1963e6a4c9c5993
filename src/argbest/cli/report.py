"""`argbest report`, `serve` and `export`: a stored study as a page, written once or live, and as tables."""

import json
import shlex
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from argbest import files
from argbest.cli.stored import load, of_stored_study
from argbest.cli.terminal import echo
from argbest.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_TABLES = ("observations", "trials", "selection", "allocation", "posterior")


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
    if path.suffix not in _FORMATS:
        raise InputError(f"cannot write {path.name!r}; give a name that ends in {', '.join(_FORMATS)}.")
    study = load(storage, name)
    frame = study.trials(details=True) if table == "trials" else getattr(study, table)()
    files.write(path, _FORMATS[path.suffix](frame))
    echo(f"written: {path} ({len(frame)} rows)")


def _csv(frame: "pd.DataFrame") -> str:
    from argbest.table_files import to_csv

    return to_csv(frame)


def _json(frame: "pd.DataFrame") -> str:
    return json.dumps(_rows(frame), indent=1, allow_nan=False) + "\n"


def _parquet(frame: "pd.DataFrame") -> bytes:
    try:
        return frame.to_parquet(index=False)
    except ImportError as error:
        raise InputError("Parquet files need pyarrow: pip install 'argbest[parquet]'") from error


def _rows(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows with every number exact; what is missing, not equal to itself, is null."""
    return [
        {str(name): _plain(value) if value == value else None for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


_FORMATS: dict[str, Callable[["pd.DataFrame"], str | bytes]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".json": _json,
}


@click.command()
@of_stored_study
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("report.html"), help="The page to write."
)
@click.option("--open", "show", is_flag=True, help="Open the page in the browser.")
def report(storage: str, name: str, out: Path, show: bool) -> None:
    """Write the study in STORAGE as one self-contained HTML page."""
    from argbest.storage.opening import shown

    path = load(storage, name).report(out, command=shlex.join(["argbest", "report", shown(storage)]))
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
