"""The page of an experiment: curves with bands, the table of what was reached, how it was computed."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from argbest.experiment import measures
from argbest.jsonable import table, values
from argbest.report import comparison
from argbest.report.comparison import Band
from argbest.report.page.document import Plain, destination, write
from argbest.report.style import BAND

FORMAT = 1  # of the payload; it grows when a name changes its meaning
ALONG = "replications after the initial design"
_BANDS = "Bands are 95 % intervals over macro-replications."
_REACHED = {
    "pcs_e": "PCS_E",
    "pcs_e_se": "se of PCS_E",
    "pcs_m": "PCS_M",
    "p_all": "P(all)",
    "p_all_se": "se of P(all)",
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
    place = destination(path)
    made = comparison_payload(summary, title=title, how=how, notes=notes, goals=goals)
    if claims is not None and not claims.empty:
        shown = claims[["contender", "claimed", "achieved", "low", "high", "looks"]]
        made["claims"] = table(shown.rename(columns={"achieved": "came true"}))
    return write(made, place)


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
    known = {name for name in last.columns if last[name].notna().any()}  # claims only where asked for
    kept = {name: shown for name, shown in _REACHED.items() if name in known}
    reached = _with_goals(last[["contender", *kept]].rename(columns=kept), summary, goals or {})
    curves = {name: shown for name, shown in comparison.MEASURES.items() if name in summary.columns}
    panels = [panel(name, shown, shown, comparison.bands(summary, name)) for name, shown in curves.items()]
    return payload(title, _answer(last), reached, panels, notes, how, "After the last replication.")


def _with_goals(
    shown: pd.DataFrame, summary: pd.DataFrame, goals: Mapping[str, float | None]
) -> pd.DataFrame:
    """Return the table with how many replications it took to the goals, where their curves are known."""
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
    label, replications = last["contender"].iloc[top], int(last["replications"].iloc[top])
    shown = f"{value[top]:.3f}" + ("" if np.isnan(error[top]) else f" ± {error[top]:.3f}")
    after = f"after {replications:,} replications"
    first = f"Of {len(last)} contenders {label} has the largest PCS_E {after}: {shown}."
    near = value[top] - value <= BAND * np.nan_to_num(np.hypot(error, error[top]))
    near[top] = False
    if not near.any():
        return [first]
    others = ", ".join(str(name) for name in last["contender"][near])
    return [first, f"Within {BAND:g} standard errors of it: {others}."]


def panel(name: str, title: str, measure: str, bands: Sequence[Band], along: str = ALONG) -> Plain:
    """Return curves with their bands as a panel of a page shows them."""
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
                    for side in ("replications", "value", "low", "high")
                },
            }
            for band in bands
        ],
    }


def payload(
    title: str,
    answer: list[str],
    shown: pd.DataFrame,
    panels: list[Plain],
    notes: Sequence[str],
    how: Mapping[str, object] | None,
    reached: str,
) -> Plain:
    """Return the payload of a page of an experiment; ``shown`` is its table, ``reached`` its caption."""
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
