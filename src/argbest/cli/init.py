"""`argbest init`: an example to begin with."""

import shlex
from pathlib import Path

import click

from argbest.cli.terminal import echo


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path("study.toml"))
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
def init(path: Path, force: bool) -> None:
    """Write an example study file to PATH (default: study.toml), and its simulator beside it."""
    from argbest.studyfile import example

    file, program = example.write(path, force=force)
    echo(f"written: {file} (the study) and {program} (its simulator)")
    echo(f"next: argbest run {shlex.quote(str(file))}")
