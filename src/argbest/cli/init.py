"""`argbest init`: an example to begin with."""

import shlex
from pathlib import Path

import click

from argbest.cli.terminal import echo


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path("study.toml"))
@click.option(
    "--kind",
    default="program",
    show_default=True,
    help="What the simulator is: program, c, ciw, csv, fmu, mesa, r, simopt, simpy or sumo.",
)
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
def init(path: Path, kind: str, force: bool) -> None:
    """Write an example study file to PATH (default: study.toml), and its simulator beside it."""
    from argbest.studyfile import example

    file, *others = example.write(path, kind=kind, force=force)
    beside = " and ".join(str(each) for each in others)
    echo(f"written: {file} (the study) and {beside} (its simulator)")
    before, folder = example.before(kind), shlex.quote(str(file.parent))
    if before is not None:
        echo(f"first: {before if file.parent == Path('.') else f'cd {folder} && {before}'}")
    echo(f"next: argbest run {shlex.quote(str(file))}")
