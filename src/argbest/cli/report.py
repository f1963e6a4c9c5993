"""`argbest report`: a stored study as one page to read, send or print."""

import shlex
from pathlib import Path

import click

from argbest.cli.stored import load, of_stored_study


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
    shown = "a database" if "://" in storage else shlex.quote(storage)  # URLs may hold passwords
    path = load(storage, name).report(out, command=f"argbest report {shown}")
    click.echo(f"written: {path}")
