"""`argbest report`: a stored study as one page to read, send or print."""

import shlex
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
def report(storage: str, name: str, out: Path) -> None:
    """Write the study in STORAGE as one self-contained HTML page."""
    from argbest.storage.address import shown

    path = load(storage, name).report(out, command=shlex.join(["argbest", "report", shown(storage)]))
    echo(f"written: {path}")
