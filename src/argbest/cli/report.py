"""`argbest report` and `argbest serve`: a stored study as a page, written once or live."""

import shlex
import webbrowser
from contextlib import suppress
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


@click.command()
@of_stored_study
@click.option("--host", default="127.0.0.1", show_default=True, help="Address of this machine to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port; 0 takes any free one.",
)
@click.option(
    "--allow-remote", is_flag=True, help="Let other machines read the study: no password, no encryption."
)
def serve(storage: str, name: str, host: str, port: int, allow_remote: bool) -> None:
    """Show the study in STORAGE in the browser while it runs, until Ctrl-C; nothing in it is changed."""
    from argbest.serve.server import LiveView

    view = LiveView(storage, name=name, host=host, port=port, allow_remote=allow_remote)
    echo(f"live view of {view.watch.title} at {view.url}\nCtrl-C ends it; the study goes on.")
    with suppress(KeyboardInterrupt):  # how it is meant to end; there is none where a shell ignores Ctrl-C
        view.serve()
    echo("the live view has ended.")
