"""What `argbest init` writes: a study file that runs as it is, and its simulator, of several kinds."""

import os
import re
from pathlib import Path

from argbest import files
from argbest.checks import one_of
from argbest.errors import InputError

_STARTS = Path(__file__).with_name("starts")  # a folder for each kind of simulator
_USUAL = "program"  # the kind that shows every option
_BEFORE = {"c": "cc -O2 -o simulate simulate.c -lm", "fmu": "python make_fmu.py"}


def kinds() -> list[str]:
    """Return the kinds of simulator that there is a starting point for."""
    return sorted(folder.name for folder in _STARTS.iterdir() if folder.is_dir())


def before(kind: str) -> str | None:
    """Return the command that prepares a starting point, None where nothing is to be done."""
    return _BEFORE.get(kind)


def write(path: str | os.PathLike[str], *, kind: str = _USUAL, force: bool = False) -> list[Path]:
    """Return the files written: the study file, and what it needs beside it.

    A folder gets a study.toml. Files that exist are left alone, and nothing is written, unless forced.
    """
    file = Path(path)
    if file.is_dir():
        file = file / "study.toml"
    texts = _texts(one_of("kind", kind, kinds()), file)
    there = [each for each in texts if each.exists() or each.is_symlink()]
    if there and not force:
        names = " and ".join(repr(str(each)) for each in there)
        said = "already exists and is" if len(there) == 1 else "already exist and are"
        raise InputError(f"{names} {said} left alone. Name another file, or use --force.")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {error.filename!r}: {error.strerror or error}.") from error
    return [files.write(each, content) for each, content in texts.items()]


def _texts(kind: str, file: Path) -> dict[Path, str]:
    """Return the files of a starting point, the study file first; it names itself and its database."""
    found = {each.name: each.read_text("utf-8") for each in (_STARTS / kind).iterdir() if each.is_file()}
    database = file.with_suffix(".db").name.replace("\\", "\\\\").replace('"', '\\"')  # inside a TOML text
    own = {"study.toml": file.name, "study.db": database}
    study = re.sub(r"study\.(toml|db)", lambda name: own[name[0]], found.pop("study.toml"))
    if file.name in found:
        raise InputError(
            f"{file.name!r} is the name of the example's simulator; give the study file another name."
        )
    return {file: study} | {file.with_name(name): text for name, text in sorted(found.items())}
