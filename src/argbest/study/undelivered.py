"""What a worker could not deliver: its values as a file of the lines that `argbest tell --file` takes."""

import json
import os
import shlex
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from argbest.storage.base import Storage, Told


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
