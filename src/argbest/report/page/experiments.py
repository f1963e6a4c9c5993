"""The page of an experiment: curves with bands, the table of what was reached, how it was computed."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from argbest.errors import InputError
from argbest.experiment import measures
from argbest.jsonable import table, values
from argbest.report import comparison
from argbest.report.comparison import Band
from argbest.report.page.document import Plain, destination, write
from argbest.report.style import BAND

FORMAT = 1  # of the payload; it grows when a name changes its meaning
_BANDS = "Bands are 95 % intervals over macro-replications."
_ALONG = {"samples": "replications after the initial design", "total": "replications in all"}
_REACHED = {
    "pcs_e": "PCS_E",
    "pcs_e_se": "se of PCS_E",
    "pcs_m": "PCS_M",
    "p_all": "P_all",
    "p_all_se": "se of P_all",
    "eoc": "EOC",
    "eoc_se": "se of EOC",
    "certificate": "claim",
    "seconds": "CPU s per run",
}


def write_comparison(
    summary: pd.DataFrame,
    path: str | Path,
    *,
    title: str,
    how: Mapping[str, object] | None = None,
    notes: Sequence[str] = (),
    goals: Mapping[str, float | None] | None = None,
    claims: pd.DataFrame | None = None,
) -> Path:
    """Return the path of the page of a comparison, written; ``summary`` is that of `Results.summary`.

    ``how`` says how it was computed: names and values. ``goals`` are the ``pcs`` and ``loss`` of
    `Results.reached`, ``claims`` what `argbest.report.calibration.calibration` returns.
    """
    place, known = destination(path), {} if claims is None or claims.empty else {"claims": _claims(claims)}
    made = comparison_payload(summary, title=title, how=how, notes=notes, goals=goals)
    return write({**made, **known}, place)


def _claims(found: pd.DataFrame) -> Plain:
    """Return a row per contender and bin of claims: how often they came true."""
    shown = {"claimed": "claimed", "achieved": "came true", "low": "low", "high": "high", "looks": "looks"}
    return table(found[["contender", *shown]].rename(columns=shown))


def comparison_payload(
    summary: pd.DataFrame,
    *,
    title: str,
    how: Mapping[str, object] | None = None,
    notes: Sequence[str] = (),
    goals: Mapping[str, float | None] | None = None,
) -> Plain:
    """Return everything the page of a comparison shows, as JSON-ready values."""
    last = summary.groupby("contender", sort=False).tail(1)
    kept = {name: shown for name, shown in _REACHED.items() if name in last.columns}
    reached = _with_samples(last[["contender", *kept]].rename(columns=kept), summary, goals or {})
    curves = {name: shown for name, shown in comparison.MEASURES.items() if name in summary.columns}
    panels = [_panel(name, shown, shown, comparison.bands(summary, name)) for name, shown in curves.items()]
    return _payload(title, _answer(last), reached, panels, notes, how, "After the last sample.")


def _with_samples(
    shown: pd.DataFrame, summary: pd.DataFrame, goals: Mapping[str, float | None]
) -> pd.DataFrame:
    """Return the table with how many samples it took to the goals, where their curves are known."""
    if not {"pcs_e", "eoc"} <= set(summary.columns):
        return shown
    pcs, loss = goals.get("pcs") or measures.PCS, goals.get("loss")
    target = measures.usual_loss(summary) if loss is None else loss
    fast = measures.reached(summary, pcs=pcs, loss=target)
    names = (f"PCS_E {pcs:g}", f"EOC {target:.2g}")
    fast.columns = pd.Index(["contender", *(f"replications to {goal}" for goal in names)])
    return shown.merge(fast, on="contender", how="left")


def _answer(last: pd.DataFrame) -> list[str]:
    """Return who reached the largest PCS_E, and who comes so near that chance may decide."""
    value, error = (last[name].to_numpy(float) for name in ("pcs_e", "pcs_e_se"))
    top = int(value.argmax())
    label, samples = last["contender"].iloc[top], int(last["samples"].iloc[top])
    shown = f"{value[top]:.3f}" + ("" if np.isnan(error[top]) else f" ± {error[top]:.3f}")
    after = f"after {samples:,} replications"
    first = f"Of {len(last)} contenders {label} has the largest PCS_E {after}: {shown}."
    near = value[top] - value <= BAND * np.nan_to_num(np.hypot(error, error[top]))
    near[top] = False
    if not near.any():
        return [first]
    others = ", ".join(str(name) for name in last["contender"][near])
    return [first, f"Within {BAND:g} standard errors of it: {others}."]


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

    ``curves`` tells the contender (or policy and model), samples (or total), and either measures with their
    ``_se`` or value, se and measure. There is a panel per measure and, where there are several, problem.
    """
    if curves is not None and not _has_curves(curves):
        raise InputError(
            f"got curves with the columns {list(curves.columns)}; expected contender, samples, and value and "
            "se or measures such as pcs_e and pcs_e_se. Rename or add columns."
        )
    panels = [] if curves is None else _panels(curves)
    return _payload(title, list(notes[:1]), shown, panels, notes[1:], how, "")


def _has_curves(frame: pd.DataFrame) -> bool:
    names = set(frame.columns)
    who, when = names & {"contender", "policy"}, names & {"samples", "total"}
    return bool(who and when and ({"value", "se"} <= names or _measures(frame)))


def _measures(frame: pd.DataFrame) -> list[str]:
    return [name for name in comparison.MEASURES if {name, f"{name}_se"} <= set(frame.columns)]


def _panels(given: pd.DataFrame) -> list[Plain]:
    """Return a panel for every problem and measure."""
    curves = given.assign(contender=_contenders(given))
    along = _ALONG["samples" if "samples" in curves.columns else "total"]
    if "samples" not in curves.columns:
        curves["samples"] = curves["total"]
    parts = [("", curves)]
    if "problem" in curves.columns:
        parts = [(str(problem), part) for problem, part in curves.groupby("problem", sort=False)]
    panels = []
    for problem, part in parts:
        for measure, own in _by_measure(part):
            label = comparison.MEASURES.get(measure, measure)
            name, title = (f"{problem}-{measure}", f"{problem}: {label}") if problem else (measure, label)
            panels.append(_panel(name, title, label, comparison.bands(own, measure), along))
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
    kept = ["contender", "samples", "value", "se"]
    return [(name, own[kept].rename(columns={"value": name, "se": f"{name}_se"})) for name, own in groups]


def _panel(
    name: str, title: str, measure: str, bands: Sequence[Band], along: str = _ALONG["samples"]
) -> Plain:
    return {
        "name": name,
        "title": title,
        "measure": measure,
        "along": along,
        "curves": [
            {
                "label": band.label,
                **{
                    side: values(np.asarray(getattr(band, side)))
                    for side in ("samples", "value", "low", "high")
                },
            }
            for band in bands
        ],
    }


def _payload(
    title: str,
    answer: list[str],
    shown: pd.DataFrame,
    panels: list[Plain],
    notes: Sequence[str],
    how: Mapping[str, object] | None,
    reached: str,
) -> Plain:
    return {
        "format": FORMAT,
        "kind": "experiment",
        "title": title,
        "answer": answer,
        "reached": reached,
        "table": table(shown),
        "panels": panels,
        "bands": _BANDS,
        "notes": list(notes),
        "how": [[name, str(value)] for name, value in (how or {}).items()],
    }
