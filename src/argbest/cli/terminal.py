"""What commands share: tables and lines for the terminal, and folders to write into."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import JustifyMethod

_NARROWEST = 80  # columns of text; numbers folded to fit less could not be read


def numbers(values: Iterable[float]) -> tuple[str, ...]:
    """Return numbers as short texts."""
    from argbest.report.curves import number

    return tuple(number(value) for value in values)


def table(
    headers: Iterable[str], rows: Iterable[Iterable[str]], *, justify: "JustifyMethod" = "left"
) -> None:
    """Print a table; labels are the user's, so nothing in them is taken as markup."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for header in headers:
        grid.add_column(header, justify=justify, overflow="fold")
    for row in rows:
        grid.add_row(*row)
    console = Console(markup=False, highlight=False, emoji=False)
    console.width = max(console.width, _NARROWEST)
    console.print(grid)


def say(*lines: str) -> None:
    """Print lines of text, wrapped to the width of the terminal."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    for line in lines:
        console.print(line)


def prepare(folder: Path) -> None:
    """Make the folder and try to write in it, so that a mistake costs no simulation."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise click.BadParameter(
            f"cannot write into {str(folder)!r} ({reason}); name another folder.", param_hint="'--out'"
        ) from error
