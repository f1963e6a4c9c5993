"""Printing to the terminal: lines, tables and notes, without control characters."""

import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import IO, TYPE_CHECKING, TypeVar

import click

from argbest.errors import ArgbestError, InputError
from argbest.texts import harmless, number

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod

_Drawing = TypeVar("_Drawing")
_NARROWEST = 80  # columns of text; numbers folded to fit less could not be read


def numbers(values: Iterable[float]) -> tuple[str, ...]:
    """Return numbers as short texts."""
    return tuple(number(value) for value in values)


def table(
    headers: Iterable[str], rows: Iterable[Iterable[str]], *, justify: "JustifyMethod" = "left"
) -> None:
    """Print a table; labels are the user's, so nothing in them is taken as markup."""
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for header in headers:
        grid.add_column(harmless(header), justify=justify, overflow="fold")
    for row in rows:
        grid.add_row(*map(harmless, row))
    console = _console()
    console.width = max(console.width, _NARROWEST)
    console.print(grid)


def say(*lines: str) -> None:
    """Print lines of text, wrapped to the width of the terminal."""
    console = _console()
    for line in lines:
        console.print(harmless(line))


def echo(line: str = "") -> None:
    """Print a line as it is, however long: a path to copy, say."""
    print(harmless(line), flush=True)


def show_source(text: str) -> None:
    """Print program text as it is: names of the user stand in it as quoted texts."""
    print(text, end="", flush=True)


def show_json(value: object, *, indent: int | None = None) -> None:
    """Print JSON in ASCII, so that it holds no control characters."""
    print(json.dumps(value, allow_nan=False, indent=indent).replace("\x7f", "\\u007f"), flush=True)


def note(line: str) -> None:
    """Print a line beside the answer, on standard error; a progress bar under way lets it pass above."""
    print(f"argbest: {harmless(line)}", file=sys.stderr, flush=True)


def complain(text: str, stream: IO[str]) -> None:
    """Print the lines of an error; where somebody reads them they break between words."""
    lines = [harmless(line) for line in text.split("\n")]
    if stream.isatty():
        width = get_terminal_size().columns
        lines = [fill(line, width, break_long_words=False, break_on_hyphens=False) for line in lines]
    print(*lines, sep="\n", file=stream, flush=True)


def listed(option: str, given: str, example: str) -> list[float]:
    """Return the numbers that an option lists, with commas between them."""
    try:
        return [float(each) for each in given.split(",")]
    except ValueError:
        raise InputError(f"{option} {given} is not understood; give numbers as in {example}.") from None


def drawn(draw: Callable[[], _Drawing]) -> _Drawing | None:
    """Return what is drawn; None where matplotlib is missing, with a note that says so."""
    try:
        return draw()
    except ArgbestError as missing:
        note(str(missing))
        return None


def list_written(paths: Iterable[Path]) -> None:
    """Print where files were written."""
    echo("\nwritten:")
    for path in paths:
        echo(f"  {path}")


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


def _console() -> "Console":
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False)


def command_line() -> str:
    """Return the command under way as a line for a shell, options that have their default left out."""
    context = click.get_current_context()
    words = context.command_path.split()
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif value is not None and value != parameter.get_default(context):
            values = value if isinstance(value, tuple) else (value,)
            for each in values:
                words += [parameter.opts[0], *([] if each is True else [str(each)])]
    return shlex.join(words)
