"""An experiment on disk: a header in JSON, and a CSV for every finished part of a contender's runs."""

import json
import os
import platform
import re
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from argbest.errors import InputError
from argbest.experiment import measures
from argbest.experiment.spec import Experiment

HEADER = "header.json"
_PARTS = "runs"
_PART = re.compile(r"(?P<label>.+)\.(?P<first>\d+)-(?P<last>\d+)\.csv")
_PACKAGES = ("argbest", "numpy", "scipy", "numba", "pandas")


@dataclass(frozen=True)
class Folder:
    """A folder that holds one experiment, to be extended by macro-replications and contenders."""

    path: Path

    def open(self, experiment: Experiment, command: str) -> None:
        """Write the header, or check that it is of the same experiment and note the new session."""
        header = self.header() if (self.path / HEADER).exists() else None
        spec = experiment.plain()
        known = {} if header is None else header["contenders"]
        if header is not None:
            self._compare("the experiment", header["experiment"], spec)
        for each in experiment.contenders:
            self._compare(f"contender {each.label!r}", known.get(each.label, each.plain()), each.plain())
        session = {"command": command, "macroreps": experiment.macroreps, "versions": versions()}
        whole = {
            "experiment": spec,
            "contenders": known | {each.label: each.plain() for each in experiment.contenders},
            "sessions": [*([] if header is None else header["sessions"]), session],
        }
        (self.path / _PARTS).mkdir(parents=True, exist_ok=True)
        _replace(self.path / HEADER, json.dumps(whole, indent=2) + "\n")

    def header(self) -> dict[str, Any]:
        """Return what is known of the experiment in this folder."""
        path = self.path / HEADER
        try:
            header: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if {"experiment", "contenders", "sessions"} <= header.keys():
                return header
        except (OSError, ValueError, AttributeError):
            pass
        raise InputError(
            f"{str(path)!r} is no header of an experiment. Name the folder of one, or a new one."
        )

    def finished(self, label: str) -> list[range]:
        """Return the macro-replications of a contender that are there, part by part in ascending order."""
        found = (_PART.fullmatch(path.name) for path in (self.path / _PARTS).glob("*.csv"))
        return sorted(
            (range(int(m["first"]), int(m["last"]) + 1) for m in found if m and m["label"] == _file(label)),
            key=lambda part: part.start,
        )

    def write(self, label: str, part: range, runs: pd.DataFrame) -> None:
        """Keep a part: the file is there in full or not at all."""
        _replace(self._file(label, part), runs.to_csv(index=False, lineterminator="\n"))

    def read(self, label: str, part: range) -> pd.DataFrame:
        """Return a part as it was written, to the last bit."""
        text = pd.read_csv(self._file(label, part), dtype=str)  # the reader's own floats may be one bit off
        return text.assign(
            **{
                name: [(int if name in measures.COUNTS else float)(value) for value in text[name]]
                for name in text.columns
                if name != "correct"
            }
        )

    def _file(self, label: str, part: range) -> Path:
        return self.path / _PARTS / f"{_file(label)}.{part.start:06d}-{part.stop - 1:06d}.csv"

    def _compare(self, what: str, there: dict[str, Any], wanted: dict[str, Any]) -> None:
        other = [name for name in wanted if there.get(name) != wanted[name]]
        if other:
            differences = "; ".join(
                f"{name} is {there.get(name)!r}, asked for {wanted[name]!r}" for name in other
            )
            raise InputError(
                f"the folder {str(self.path)!r} holds other runs of {what}: {differences}. "
                "Name another folder, or repeat the options of the first run; macroreps alone may change."
            )


def versions() -> dict[str, str]:
    """Return the versions that the numbers may depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def _file(label: str) -> str:
    return label.replace(":", "+")  # some file systems refuse colons


def _replace(path: Path, text: str) -> None:
    """Write a file in one step, seen from outside."""
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=".", suffix=".part", delete=False, encoding="utf-8", newline=""
    ) as file:
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            os.unlink(file.name)
            raise
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)
