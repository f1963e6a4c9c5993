"""The page of one part of the paper: its table, and the curves among the files that it wrote."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from argbest.errors import InputError
from argbest.report import comparison
from argbest.report.page.document import Plain, destination, write
from argbest.report.page.experiments import ALONG, panel, payload


def write_outcome(
    path: str | Path,
    *,
    title: str,
    table: pd.DataFrame,
    notes: Sequence[str] = (),
    written: Sequence[Path] = (),
    how: Mapping[str, object] | None = None,
) -> Path:
    """Return the path of the page of one part of the paper, written.

    ``written`` are the files behind it: the first CSV file among them that holds curves is drawn.
    """
    place = destination(path)
    tables = [pd.read_csv(each) for each in written if each.suffix == ".csv"]
    curves = next((frame for frame in tables if _has_curves(frame)), None)
    return write(outcome_payload(title=title, shown=table, notes=notes, curves=curves, how=how), place)


def outcome_payload(
    *,
    title: str,
    shown: pd.DataFrame,
    notes: Sequence[str] = (),
    curves: pd.DataFrame | None = None,
    how: Mapping[str, object] | None = None,
) -> Plain:
    """Return everything the page of an outcome shows, as JSON-ready values.

    ``curves`` tells the contender (or policy and model), replications (or total), and either measures with
    their ``_se`` or value, se and measure. There is a panel per measure and, where there are several,
    problem.
    """
    if curves is not None and not _has_curves(curves):
        raise InputError(
            f"got curves with the columns {list(curves.columns)}; expected contender, replications, and "
            "value and se or measures such as pcs_e and pcs_e_se. Rename or add columns."
        )
    panels = [] if curves is None else _panels(curves)
    return payload(title, list(notes[:1]), shown, panels, notes[1:], how, "")


def _has_curves(frame: pd.DataFrame) -> bool:
    names = set(frame.columns)
    who, when = names & {"contender", "policy"}, names & {"replications", "total"}
    return bool(who and when and ({"value", "se"} <= names or _measures(frame)))


def _measures(frame: pd.DataFrame) -> list[str]:
    return [name for name in comparison.MEASURES if {name, f"{name}_se"} <= set(frame.columns)]


def _panels(given: pd.DataFrame) -> list[Plain]:
    """Return a panel for every problem and measure."""
    curves = given.assign(contender=_contenders(given))
    along = ALONG if "replications" in curves.columns else "replications in all"
    if "replications" not in curves.columns:
        curves["replications"] = curves["total"]
    parts = [("", curves)]
    if "problem" in curves.columns:
        parts = [(str(problem), part) for problem, part in curves.groupby("problem", sort=False)]
    panels = []
    for problem, part in parts:
        for measure, own in _by_measure(part):
            label = comparison.MEASURES.get(measure, measure)
            name, title = (f"{problem}-{measure}", f"{problem}: {label}") if problem else (measure, label)
            panels.append(panel(name, title, label, comparison.bands(own, measure), along))
    return panels


def _contenders(curves: pd.DataFrame) -> "pd.Series[str]":
    if "contender" in curves.columns:
        return curves["contender"].astype(str)
    policy = curves["policy"].astype(str)
    return policy + ":" + curves["model"].astype(str) if "model" in curves.columns else policy


def _by_measure(curves: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the frame of every measure, with columns of its name and `_se`."""
    if "value" not in curves.columns:
        return [(name, curves) for name in _measures(curves)]
    named = curves if "measure" in curves.columns else curves.assign(measure="pcs_e")
    groups = [(str(name), own) for name, own in named.groupby("measure", sort=False)]
    # What a long frame says beside its value must not be taken for the bounds of a measure.
    kept = ["contender", "replications", "value", "se"]
    return [(name, own[kept].rename(columns={"value": name, "se": f"{name}_se"})) for name, own in groups]
