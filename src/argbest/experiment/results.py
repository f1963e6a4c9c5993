"""Results of an experiment: one tidy frame of runs, and what it says of every contender."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from argbest.errors import InputError
from argbest.experiment import measures
from argbest.experiment.spec import checkpoints
from argbest.experiment.storage import Folder
from argbest.jsonable import value, values

_LISTED = ("pcs_e", "pcs_e_se", "pcs_m", "p_all", "p_all_se", "eoc", "certificate")


@dataclass(frozen=True, eq=False)
class Results:
    """The runs of an experiment: a row per contender, macro-replication and checkpoint, as `scored`."""

    problem: str
    seed: int
    models: dict[str, str]  # contender to model, in the order of the experiment
    runs: pd.DataFrame

    @classmethod
    def load(cls, folder: str | Path) -> "Results":
        """Return what a folder holds: of every contender, the macro-replications that all of them have."""
        place = Folder.at(folder)
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
        looks = checkpoints(spec["samples"], spec["checkpoint_every"])
        frames = {label: [place.read(label, part, looks) for part in own] for label, own in parts.items()}
        return cls(names["problem"], spec["seed"], models, joined(frames, common))

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
        """Return one row per contender: how many samples it takes to a PCS_E and to a loss, and to stay.

        The loss is by default a tenth of the largest that a contender has after the initial design alone.
        """
        return measures.reached(self.summary(), pcs=pcs, loss=loss)

    def plain(self, *, pcs: float = measures.PCS, loss: float | None = None) -> dict[str, Any]:
        """Return the curves as JSON-ready values; what is not known is None.

        ``seconds`` is the processor time of all macro-replications of the contender. ``samples_to_pcs`` and
        ``samples_to_loss`` are those of `reached`, for the ``targets`` named beside.
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
                "samples_taken": [_short(value) for value in own["samples_taken"]],
                "samples": own["samples"].tolist(),
                **{name: values(own[name].tolist()) for name in _LISTED},
                **{name: value(fast[name][label]) for name in ("samples_to_pcs", "samples_to_loss")},
                "seconds": float(own["seconds"].iloc[-1] * self.macroreps),
            }
        return {
            "problem": self.problem,
            "macroreps": self.macroreps,
            "seed": self.seed,
            "targets": {"pcs": pcs, "loss": target},
            "policies": policies,
        }


def joined(frames: dict[str, list[pd.DataFrame]], wanted: Collection[int]) -> pd.DataFrame:
    """Return the parts of all contenders in one frame, in order, with the wanted macro-replications only.

    Of a macro-replication that several parts hold, the first part counts.
    """
    whole, order = [], ["macroreplication", "samples"]
    for label, parts in frames.items():
        frame = pd.concat(parts, ignore_index=True)
        frame.insert(0, "contender", label)
        own = frame[frame["macroreplication"].isin(wanted)]
        whole.append(own.drop_duplicates(order, keep="first"))
    return pd.concat([each.sort_values(order, kind="stable") for each in whole], ignore_index=True)


def _short(value: float) -> float | int:
    return int(value) if float(value).is_integer() else float(value)
