"""What a bad input may lead to: an answer or argbest's own error, in reasonable time, and no warnings."""

import os
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.testing import CliRunner
from fuzz.values import Draw

from argbest.cli import main
from argbest.errors import ArgbestError, CompilationNotice, DataNotice, SlowNotice

SECONDS = 200.0  # of CPU time: a case takes a hundredth of one, unless something has to be compiled
_REPLAY = "replay it with: make fuzz ROOM={room} FIRST={number} CASES=1"


@dataclass(frozen=True)
class Room:
    """Cases of one kind: ``play`` makes a case from random numbers, says what it is, and tries it."""

    name: str
    number: int
    play: Callable[[Draw, Path, list[str]], None]

    def fault(self, number: int, folder: Path) -> str | None:
        """Return what is wrong with what case ``number`` led to, None if nothing is."""
        said: list[str] = []
        try:
            with _in(folder), _limited(), warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", CompilationNotice)
                warnings.simplefilter("ignore", DataNotice)
                warnings.simplefilter("ignore", SlowNotice)
                self.play(np.random.default_rng([self.number, number]), folder, said)
        except ArgbestError as error:
            return None if str(error).strip() else self._shown(number, said, "an error without words")
        except (Exception, TooLongError):
            return self._shown(number, said, traceback.format_exc())
        return None

    def _shown(self, number: int, said: list[str], trouble: str) -> str:
        case = "\n".join(said)
        return f"case {number} of {self.name}: {case}\n{trouble}\n" + _REPLAY.format(
            room=self.name, number=number
        )


class TooLongError(BaseException):
    """A case took more than its time; not an Exception, so that nobody catches it on the way."""


def command(
    said: list[str], *arguments: object, given: bytes = b"", program: click.Command | None = None
) -> None:
    """Try a command in this process; it must end with code 0, 1 or 2, and say why if that is not 0."""
    program, words = program or main, [str(each) for each in arguments]
    said.append(f"{program.name} {' '.join(map(repr, words))}" + (f" < {given!r}" if given else ""))
    result = CliRunner().invoke(program, words, input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code not in (0, 1, 2):
        raise AssertionError(f"exit code {result.exit_code}: {result.output}")
    said_by_click = "DeprecationWarning: The option "  # of an option that has a new name
    if "Traceback" in result.output or "Warning" in result.stderr.replace(said_by_click, ""):
        raise AssertionError(result.output)
    if result.exit_code and not result.stderr.strip():
        raise AssertionError(f"exit code {result.exit_code} without a word")


def attempt(said: list[str], what: str, action: Callable[[], Any]) -> Any:
    """Return what an action gives, None if argbest refuses it."""
    said.append(what)
    try:
        return action()
    except ArgbestError as error:
        if not str(error).strip():
            raise AssertionError("an error without words") from error
        return None


def shown(value: Any) -> str:
    """Return a short text of any value."""
    return repr(value).replace("\n", " ")[:200]


@contextmanager
def _in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _limited() -> Iterator[None]:
    """Raise if the block takes too much CPU time, where the system can tell."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def end(*_: object) -> None:
        raise TooLongError(f"more than {SECONDS} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
