"""Results of an experiment: a tidy frame of runs; on disk a header in JSON and a CSV per finished part."""

import json
import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from argbest import files
from argbest.core.arrays import IntArray
from argbest.errors import InputError
from argbest.experiment import measures
from argbest.experiment.spec import Experiment, checkpoints
from argbest.jsonable import value, values
from argbest.table_files import write_csv

HEADER = "header.json"
_PARTS, _LOCK = "runs", ".lock"
_PART = re.compile(r"(?P<label>.+)\.(?P<first>\d+)-(?P<last>\d+)\.csv")
_PACKAGES = ("argbest", "numpy", "scipy", "numba", "pandas")
_TEXTS = {"correct": "[01]+", "claims": measures.CLAIMS}  # columns that are no numbers
_TO_FILE_NAME = str.maketrans(":+", "+=")  # some file systems refuse colons; no label has an equals sign
_OLD_NAMES = {"samples": "replications"}  # in version 0.2
_CURVES = ("pcs_e", "pcs_e_se", "pcs_m", "p_all", "p_all_se", "eoc", "certificate")


@dataclass(frozen=True, eq=False)
class Results:
    """The runs of an experiment (`measures.scored`): a row per contender, macro-replication, checkpoint.

    Attributes:
        problem: The name of the problem.
        seed: The root of all random numbers.
        models: The model of every contender, by its label.
        runs: A row per contender, macro-replication and checkpoint.
    """

    problem: str
    seed: int
    models: dict[str, str]  # contender to model, in the order of the experiment
    runs: pd.DataFrame

    @classmethod
    def load(cls, folder: str | Path) -> "Results":
        """Return what a folder holds: of every contender, the macro-replications that all of them have.

        Args:
            folder: The folder that `run` wrote.
        """
        place = ExperimentFolder.at(folder)
        header = place.header()
        spec = header["experiment"]
        # A header without names is of the first version, which knew objects by their descriptions alone.
        names = header.get("names", {"problem": spec["problem"], "models": {}})
        models = {
            label: names["models"].get(label, each["model"]) for label, each in header["contenders"].items()
        }
        parts = {label: place.finished(label) for label in models}
        absent = [label for label, own in parts.items() if not own]
        if absent or not models:
            raise InputError(
                f"the folder {str(folder)!r} has no runs yet of {', '.join(absent) or 'anything'}. Run its "
                "experiment first."
            )
        common = set.intersection(*({r for part in own for r in part} for own in parts.values()))
        if not common:
            raise InputError(
                f"the contenders in the folder {str(folder)!r} have no macro-replication in common yet. Run "
                "its experiment first."
            )
        looks = checkpoints(spec["replications"], spec["checkpoint_every"])
        frames = {label: [place.read(label, part, looks) for part in own] for label, own in parts.items()}
        return cls(names["problem"], spec["seed"], models, measures.joined(frames, common))

    @property
    def macroreps(self) -> int:
        """Macro-replications of every contender."""
        return int(self.runs["macroreplication"].nunique())

    def summary(self) -> pd.DataFrame:
        """Return one row per contender and checkpoint: every measure with its uncertainty."""
        frames = []
        for label in self.models:
            frame = measures.summary(self.runs[self.runs["contender"] == label])
            frame.insert(0, "contender", label)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def reached(self, *, pcs: float = measures.PCS, loss: float | None = None) -> pd.DataFrame:
        """Return one row per contender: after how many replications it is good, and stays so.

        Args:
            pcs: The PCS_E that is good, for one column.
            loss: The loss that is good, for the other; by default a tenth of the largest that a contender has
                after the initial design alone.
        """
        return measures.reached(self.summary(), pcs=pcs, loss=loss)

    def plain(self, *, pcs: float = measures.PCS, loss: float | None = None) -> dict[str, Any]:
        """Return the curves as JSON-ready values; what is not known is None.

        ``seconds`` is the processor time of all macro-replications of the contender. ``replications_to_pcs``
        and ``replications_to_loss`` are those of `reached`, for the ``targets`` named beside.

        Args:
            pcs: The PCS_E that is good.
            loss: The loss that is good, as in `reached`.
        """
        table, policies = self.summary(), {}
        target = measures.usual_loss(table) if loss is None else loss
        fast = measures.reached(table, pcs=pcs, loss=target).set_index("contender")
        for label, model in self.models.items():
            own = table[table["contender"] == label]
            runs = self.runs[self.runs["contender"] == label]
            policies[label] = {
                "model": model,
                "n_initial": int(runs["n_initial"].iloc[0]),
                "replications": own["replications"].tolist(),
                **{name: values(own[name].tolist()) for name in _CURVES},
                **(
                    {}
                    if own["infeasible"].isna().all()
                    else {"infeasible": values(own["infeasible"].tolist())}
                ),
                **{
                    name: value(fast[name][label]) for name in ("replications_to_pcs", "replications_to_loss")
                },
                "seconds": float(own["seconds"].iloc[-1] * self.macroreps),
            }
        return {
            "problem": self.problem,
            "macroreps": self.macroreps,
            "seed": self.seed,
            "targets": {"pcs": pcs, "loss": target},
            "policies": policies,
        }


@dataclass(frozen=True)
class ExperimentFolder:
    """A folder that holds one experiment, to be extended by macro-replications and contenders."""

    path: Path

    @classmethod
    def at(cls, path: object) -> "ExperimentFolder":
        """Return the folder of this path, which need not exist yet."""
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"out={path!r} names no folder. Give its path.")
        return cls(Path(path))

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Make the folder, and lock it against other processes where the system has locks."""
        try:
            (self.path / _PARTS).mkdir(parents=True, exist_ok=True)
            file = open(self.path / _LOCK, "w", encoding="utf-8")  # noqa: SIM115
        except OSError as error:
            raise InputError(
                f"cannot write into {str(self.path)!r} ({error.strerror or error}). Name another folder."
            ) from error
        with file:
            if not _lock(file.fileno()):
                raise InputError(
                    f"another process is running in the folder {str(self.path)!r}. Wait for it, or name "
                    "another folder."
                )
            yield

    def open(self, experiment: Experiment, command: str) -> None:
        """Write the header, or add this session to the one there, which must be of the same experiment."""
        header = self._earlier()
        spec, known = experiment.plain(), header["contenders"]
        if header["sessions"]:
            self._compare("the experiment", header["experiment"], spec)
        for each in experiment.contenders:
            if each.label not in known and self.finished(each.label):
                raise InputError(
                    f"the folder {str(self.path)!r} holds runs of {each.label!r}, but its {HEADER} does not "
                    "say what they are. Name another folder, or give the contender another label."
                )
            self._compare(f"contender {each.label!r}", known.get(each.label, each.plain()), each.plain())
        session = {"command": command, "macroreps": experiment.macroreps, "versions": versions()}
        self._print_other_versions(header["sessions"], session)
        models = header.get("names", {"models": {}})["models"]
        whole = {
            "experiment": spec,
            "contenders": known | {each.label: each.plain() for each in experiment.contenders},
            "names": {
                "problem": experiment.name,
                "models": models | {each.label: each.model_name for each in experiment.contenders},
            },
            "sessions": [*header["sessions"], session],
        }
        files.write(self.path / HEADER, json.dumps(whole, indent=2) + "\n")

    def _earlier(self) -> dict[str, Any]:
        """Return the header of earlier sessions; an empty one for a folder that holds no runs."""
        if (self.path / HEADER).exists():
            return self.header()
        if any((self.path / _PARTS).glob("*.csv")):
            raise InputError(
                f"the folder {str(self.path)!r} holds runs, but no {HEADER} that says of what. Name another "
                "folder, or put the file back."
            )
        return {"contenders": {}, "sessions": []}

    def header(self) -> dict[str, Any]:
        """Return what is known of the experiment in this folder."""
        path = self.path / HEADER
        try:
            header: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            _rename_samples(header["experiment"])
            if _sound(header):
                return header
        except (OSError, ValueError, AttributeError, KeyError, TypeError):
            pass
        raise InputError(
            f"{str(path)!r} is not the header of an experiment. Name the folder of one, or a new one."
        )

    def finished(self, label: str) -> list[range]:
        """Return the macro-replications of a contender that are there, part by part in ascending order."""
        found = (_PART.fullmatch(path.name) for path in (self.path / _PARTS).glob("*.csv"))
        own = (m for m in found if m and m["label"] == label.translate(_TO_FILE_NAME))
        parts = (range(int(m["first"]), int(m["last"]) + 1) for m in own)
        return sorted(parts, key=lambda part: (part.start, part.stop))

    def write(self, label: str, part: range, runs: pd.DataFrame) -> None:
        """Write a part to its file, in full or not at all."""
        write_csv(self._file(label, part), runs)

    def read(self, label: str, part: range, checkpoints: IntArray) -> pd.DataFrame:
        """Return a part as it was written, to the last bit."""
        path = self._file(label, part)
        try:
            return _read(path, part, checkpoints)
        except (OSError, ValueError) as error:
            raise InputError(
                f"the file {str(path)!r} is damaged: {error}. Delete it, and its macro-replications are "
                "simulated again."
            ) from error

    def _file(self, label: str, part: range) -> Path:
        name = f"{label.translate(_TO_FILE_NAME)}.{part.start:06d}-{part.stop - 1:06d}.csv"
        return self.path / _PARTS / name

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

    def _print_other_versions(self, earlier: list[dict[str, Any]], session: dict[str, Any]) -> None:
        """Print on standard error with which other versions the folder was last run."""
        before, now = (earlier[-1] if earlier else {}).get("versions", {}), session["versions"]
        changed = [name for name in now if before.get(name, now[name]) != now[name]]
        other = [f"{name} {before[name]}, now {now[name]}" for name in changed]
        if other:
            print(
                f"argbest: the runs in {str(self.path)!r} were made with {'; '.join(other)}. The last digits "
                "of new ones may differ.",
                file=sys.stderr,
            )


def versions() -> dict[str, str]:
    """Return the versions that the numbers may depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def _sound(header: dict[str, Any]) -> bool:
    """Return whether everything that is read from a header is there and of its type."""
    spec, contenders, sessions = (header[name] for name in ("experiment", "contenders", "sessions"))
    numbers = [spec[name] for name in ("replications", "checkpoint_every", "seed")]
    names = header.get("names", {"problem": "", "models": {}})
    texts = [spec["problem"], names["problem"], *(each["model"] for each in contenders.values())]
    return (
        all(type(each) is int and each >= 0 for each in numbers)
        and spec["checkpoint_every"] > 0
        and all(isinstance(each, str) for each in [*texts, *names["models"].values()])
        and isinstance(sessions, list)
        and bool(sessions)
        and all(isinstance(each.get("versions", {}), dict) for each in sessions)
    )


def _rename_samples(spec: dict[str, Any]) -> None:
    """Rename in place what version 0.2 calls samples in a header."""
    for old, new in _OLD_NAMES.items():
        if old in spec:
            spec[new] = spec.pop(old)


def _read(path: Path, part: range, checkpoints: IntArray) -> pd.DataFrame:
    """Return the rows of a part, or raise a ValueError that says what is wrong with the file."""
    if not path.read_bytes().endswith(b"\n"):
        raise ValueError("its end is missing")
    # The reader's own floats may be one bit off, so it reads texts.
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if "samples" in table.columns:  # version 0.2 wrote this number twice
        table = table.rename(columns=_OLD_NAMES).drop(columns="samples_taken", errors="ignore")
    if "claims" not in table.columns and "correct" in table.columns:  # of a version that kept none
        table.insert(measures.COLUMNS.index("claims"), "claims", "")
    if "infeasible" not in table.columns and "claim" in table.columns:  # of one that knew no limits
        table.insert(measures.COLUMNS.index("infeasible"), "infeasible", "")
    if tuple(table.columns) != measures.COLUMNS:
        raise ValueError(f"its columns are not {', '.join(measures.COLUMNS)}")
    numbers = [name for name in measures.COLUMNS if name not in _TEXTS]
    wholes = {name: [int(text) for text in table[name]] for name in numbers if name in measures.COUNTS}
    others = {name: [float(text or "nan") for text in table[name]] for name in numbers if name not in wholes}
    runs = table.assign(**wholes, **others)
    expected = np.repeat(np.array(part), len(checkpoints)), np.tile(checkpoints, len(part))
    for name, wanted in zip(("macroreplication", "replications"), expected, strict=True):
        if not np.array_equal(runs[name].to_numpy(), wanted):
            raise ValueError(
                f"its {name} are not those of runs {part.start} to {part.stop - 1} at {len(checkpoints)} "
                "checkpoints each"
            )
    known = (name for name in numbers if name not in measures.UNKNOWN)
    bad = [name for name in known if not np.isfinite(runs[name].to_numpy(float)).all()]
    for name, pattern in _TEXTS.items():  # which have one length
        if not table[name].str.fullmatch(pattern).all() or table[name].str.len().nunique() != 1:
            bad.append(name)
    if bad:
        raise ValueError(f"the column {bad[0]} has an entry that cannot be")
    return runs


def _lock(file: int) -> bool:
    """Return whether this process has locked the file; True where the system has no locks."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # a system, or a file system, without locks
        return True
    return True
