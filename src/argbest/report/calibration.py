"""Calibration: whether contexts are selected right as often as the certificate says."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from argbest.checks import whole
from argbest.core.arrays import Array, IntArray
from argbest.errors import InputError
from argbest.experiment.results import Results
from argbest.report import style
from argbest.report.style import BAND, LABEL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NEEDED = ("contender", "macroreplication", "claim", "share_correct")


def calibration(results: object, *, bins: int = 6) -> pd.DataFrame:
    """Return, per contender and bin of claimed PCS_E, the mean claim and the share of contexts right.

    The looks of all runs at all checkpoints are sorted by their claim into bins of equal size. ``se`` is the
    standard error of ``achieved``; looks at the same macro-replication hang together, so it is that of
    a mean of clusters, √(m/(m − 1) Σ_r (Σ_{i in r} (y_i − ȳ))²)/n with m macro-replications and n looks.
    NaN where a bin holds a single one.
    """
    bins = whole("bins", bins, at_least=1, at_most=10**4)
    runs = results.runs if isinstance(results, Results) else results
    if not isinstance(runs, pd.DataFrame) or not set(_NEEDED) <= set(runs.columns):
        raise InputError(
            f"got {type(results).__name__}; expected the results of an experiment, or their frame of runs "
            f"with the columns {list(_NEEDED)}."
        )
    rows = []
    for label, own in runs.groupby("contender", sort=False):
        claim, right = own["claim"].to_numpy(float), own["share_correct"].to_numpy(float)
        number = own["macroreplication"].to_numpy(np.int64)
        if not np.isfinite(claim).all():
            continue  # a contender that claims nothing
        for part in np.array_split(np.argsort(claim, kind="stable"), min(bins, len(claim))):
            achieved = float(right[part].mean())
            error = _clustered_error(right[part] - achieved, number[part])
            clusters = len(np.unique(number[part]))
            rows.append((label, float(claim[part].mean()), achieved, error, len(part), clusters))
    columns = ["contender", "claimed", "achieved", "se", "looks", "macroreplications"]
    return pd.DataFrame(rows, columns=columns)


def plot_calibration(
    results: object, *, bins: int = 6, ax: "Axes | None" = None, theme: str | None = None
) -> "Axes":
    """Return axes with the achieved against the claimed PCS_E; below the diagonal claims are too high.

    ``results`` are those of an experiment or their frame of runs. Bars are 95 % intervals. ``theme`` is
    "light" or "dark".
    """
    numbers = calibration(results, bins=bins)
    sheet = style.sheet(ax, theme, 4.6, 4.4)
    drawn = sheet.ax
    marks: dict[str, Any] = {"markersize": 4.5, "markerfacecolor": sheet.theme.paper}
    for i, (label, own) in enumerate(numbers.groupby("contender", sort=False)):
        look, value = style.look(sheet.theme, i) | marks, own["achieved"].to_numpy(float)
        reach = BAND * np.nan_to_num(own["se"].to_numpy(float))
        ends = [np.minimum(reach, value), np.minimum(reach, np.maximum(1 - value, 0.0))]
        drawn.errorbar(own["claimed"], value, yerr=ends, label=label, linewidth=1.2, elinewidth=0.9, **look)
    low = float(numbers[["claimed", "achieved"]].min().min()) if len(numbers) else 0.0
    low = max(0.0, np.floor(10 * low) / 10)
    drawn.plot([low, 1], [low, 1], color=sheet.theme.ink, linewidth=0.8, zorder=1)
    drawn.fill_between([low, 1], [low, 1], low, color=sheet.theme.faint, alpha=0.25, linewidth=0, zorder=0)
    corner: dict[str, Any] = {
        "transform": drawn.transAxes,
        "ha": "right",
        "fontsize": style.TICK,
        "color": sheet.theme.ink,
    }
    drawn.text(0.97, 0.04, "claims too much", style="italic", **corner)
    drawn.set_xlim(low, 1.01)
    drawn.set_ylim(low, 1.01)
    drawn.set_xlabel("PCS_E claimed by the certificate", fontsize=LABEL)
    drawn.set_ylabel("share of contexts right", fontsize=LABEL)
    style.bare(drawn)
    handles, labels = drawn.get_legend_handles_labels()
    style.key(drawn, handles, labels, title=results.problem if isinstance(results, Results) else "")
    return style.finish(sheet)


def _clustered_error(deviations: Array, clusters: IntArray) -> float:
    _, which = np.unique(clusters, return_inverse=True)
    sums = np.bincount(which, deviations)
    m = len(sums)
    return float(np.sqrt(m / (m - 1) * np.sum(sums**2)) / len(deviations)) if m > 1 else float("nan")
