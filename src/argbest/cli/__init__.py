"""The command line: parse, one library call, print; answers on standard output, notices on standard error."""

import atexit
import gc
import sys
import warnings
from collections import UserDict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any, TextIO

import click

from argbest.cli.terminal import complain, note
from argbest.errors import ArgbestError, InputError, Notice, unknown_name
from argbest.files import lasting_streams
from argbest.storage.opening import concealed
from argbest.texts import harmless

_GARBAGE = 50_000  # new objects between searches for garbage: what is imported at the start is none
_INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C
_MOVED = {"paper": "the paper's figures are made by `python -m experiments`, in a clone of the repository."}
_GROUPS = {
    "Study": ("demo", "init", "run", "resume", "worker", "ask", "tell", "submit", "task"),
    "Rows": ("add", "retire", "readmit", "weigh"),
    "Results": ("status", "answer", "report", "serve", "export", "analyze", "check"),
    "Research": ("compare", "policies", "models", "problems"),
}
_MODULES = {
    "analyze": "analyze",
    "answer": "answer",
    "compare": "compare",
    "results": "check export report serve status",
    "running": "resume run submit task worker",
    "shipped": "demo init models policies problems",
    "stored": "ask tell",
    "tables": "add readmit retire weigh",
}


class _Commands(UserDict[str, Any]):
    """Commands by name; a module is imported when one of its commands is looked up."""

    def __getitem__(self, name: str) -> click.Command:
        found: click.Command = getattr(import_module(f"argbest.cli.{self.data[name]}"), name)
        return found


class _Failure(click.ClickException):
    """An error whose message is broken between words on a terminal."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message."""
        complain(f"Error: {self.format_message()}", file or sys.stderr)


class _Misuse(_Failure):
    """An argument that the library refuses."""

    exit_code = 2


class PlainCommand(click.Command):
    """A command whose errors, notices and interruptions end in a line of text, never in a traceback."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Return what the command returns; it continues if the program that reads its output ends early."""
        gc.set_threshold(_GARBAGE)
        atexit.register(gc.freeze)  # what is left at the end is not searched for garbage once more
        with lasting_streams():
            return super().main(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Return what the command returns."""
        try:
            with _plain_notices(), _harmless_errors():
                return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            note(str(interruption) or "interrupted.")
            ctx.exit(_INTERRUPTED)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Return the context of a command line."""
        with _harmless_errors():
            return super().make_context(*args, **extra)


class _Group(PlainCommand, click.Group):
    """Commands by name; an unknown name is answered with the nearest one, or with its successor."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in groups, each with its whole summary."""
        for title, names in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(200)) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command meant by the first argument, or say which one may be."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(_MOVED.get(args[0]) or str(unknown_name("command", args[0], self.list_commands(ctx))))
        return super().resolve_command(ctx, args)


@click.group(
    "argbest",
    cls=_Group,
    commands=_Commands({name: module for module, names in _MODULES.items() for name in names.split()}),
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(package_name="argbest", prog_name="argbest", message="%(prog)s %(version)s")
def main() -> None:
    """Find the best alternative for every context, from noisy simulations.

    Start with: argbest demo
    """


@contextmanager
def _harmless_errors() -> Iterator[None]:
    """Turn errors into lines of text, without passwords and control characters."""
    try:
        yield
    except InputError as error:
        raise _Misuse(_shown(str(error))) from error
    except ArgbestError as error:
        raise _Failure(_shown(str(error))) from error
    except click.ClickException as error:
        error.__dict__["message"] = _shown(error.message)  # an argument in a wrong place may be an address
        raise


def _shown(text: str) -> str:
    return harmless(concealed(text))


@contextmanager
def _plain_notices() -> Iterator[None]:
    """Show our own notices as one line each; other warnings as usual."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", Notice)
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, Notice):
                note(str(message))
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield
