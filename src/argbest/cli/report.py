"""`argbest report`: a stored study as one page to read, send or print."""

import shlex
import webbrowser
from pathlib import Path

import click

from argbest.cli.stored import load, of_stored_study
from argbest.cli.terminal import echo


@click.command()
@of_stored_study
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The page to write.",
)
@click.option("--open", "show", is_flag=True, help="Open the page in the browser.")
def report(storage: str, name: str, out: Path, show: bool) -> None:
    """Write the study in STORAGE as one self-contained HTML page."""
    from argbest.storage.address import shown

    path = load(storage, name).report(out, command=shlex.join(["argbest", "report", shown(storage)]))
    echo(f"written: {path}")
    if show:
        webbrowser.open(path.resolve().as_uri())
