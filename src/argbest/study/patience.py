"""A storage out of reach: it is waited for, and what cannot be delivered is kept for `argbest tell`."""

import json
import math
import os
import shlex
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

from argbest.errors import OutageNotice, StorageError
from argbest.storage.base import Storage, Told

PAUSES = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 60.0)  # seconds between attempts: three minutes in all
_T = TypeVar("_T")


class Tries(Protocol):
    """A way to do something that may not work at once."""

    def __call__(self, action: Callable[[], _T]) -> _T:
        """Return what the action returns."""


def at_once(action: Callable[[], _T]) -> _T:
    """Return what the action returns: no patience at all."""
    return action()


class Patience:
    """Tries again while a storage may come back; once it is over, every try is the only one."""

    def __init__(self) -> None:
        self.deaf = -math.inf  # when the storage was last found out of reach, by the monotonic clock
        self.in_vain = False  # the last try failed, and there is no other
        self._over = False

    def end(self) -> None:
        """Wait no more."""
        self._over = True

    def give_up(self) -> None:
        """Wait no more, and expect nothing of the storage."""
        self._over = self.in_vain = True

    def note(self, error: StorageError) -> None:
        """Take note that the storage could not be reached."""
        if error.transient:
            self.deaf = time.monotonic()

    def __call__(self, action: Callable[[], _T]) -> _T:
        """Return what the action returns, tried again after every trouble that may pass."""
        began: float | None = None
        for pause in (*PAUSES, None):
            try:
                found = action()
            except StorageError as error:
                self.note(error)
                if not error.transient or self._over or pause is None:
                    self.give_up()
                    raise
                if began is None:
                    began = time.monotonic()
                    _say(
                        f"{error.brief or error}; waiting for up to {sum(PAUSES):g} seconds. Nothing is lost."
                    )
                self._wait(pause)
            except Exception:
                _say_passed(began)
                raise
            else:
                self.in_vain = False
                _say_passed(began)
                return found
        raise AssertionError("unreachable: the last try returns or raises")

    def _wait(self, pause: float) -> None:
        try:
            time.sleep(pause)
        except BaseException:  # Ctrl-C: whoever has that much to do shall not be kept any longer
            self.give_up()
            raise


def _say_passed(began: float | None) -> None:
    if began is not None:
        _say(f"the storage can be reached again, after {time.monotonic() - began:.0f} seconds.")


def _say(words: str) -> None:
    warnings.warn(f"{time.strftime('%H:%M:%S')} {words}", OutageNotice, stacklevel=4)


def keep(storage: Storage, worker: str, values: Sequence[Told]) -> str:
    """Return a sentence that says where the values are kept, and the command that delivers them."""
    said = f"{len(values)} simulated value{'s' if len(values) > 1 else ''} could not be delivered"
    lines = "".join(json.dumps(line(each)) + "\n" for each in values)
    for folder in _folders(storage):
        path = folder / f"undelivered-{worker.rpartition('-')[2]}.jsonl"
        with suppress(OSError):
            _write(path, lines)
            return (
                f"{said}, so they are kept in {str(path)!r}. To deliver them later: {_command(storage, path)}"
            )
    return f"{said}, nor written to a file. They are: {lines.strip()}"


def line(told: Told) -> dict[str, Any]:
    """Return a value as `argbest tell` reads it."""
    return {"trial": told.trial, "values": list(told.values or ()), "seconds": told.seconds}


def _folders(storage: Storage) -> Iterable[Path]:
    """Yield where to write: beside the study, in the working folder, in the folder for passing things."""
    path = getattr(storage, "path", None)
    if path is not None:
        yield path.parent
    yield Path.cwd()
    yield Path(tempfile.gettempdir())


def _write(path: Path, text: str) -> None:
    """Write a new file that is its owner's alone, all of it or nothing."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode=0o600)
    try:
        with open(number, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        path.unlink()
        raise


def _command(storage: Storage, path: Path) -> str:
    """Return the command that takes the file; a study kept elsewhere than in a database has no address."""
    name = getattr(storage, "name", "study")
    options = [] if name == "study" else ["--name", str(name)]
    return shlex.join(
        ["argbest", "tell", getattr(storage, "address", "STORAGE"), *options, "--file", str(path)]
    )
