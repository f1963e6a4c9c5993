"""Calibration: whether contexts are selected right as often as the certificate says."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from argbest.checks import table, whole
from argbest.core.arrays import Array, IntArray
from argbest.errors import InputError
from argbest.experiment import measures
from argbest.experiment.measures import unpacked
from argbest.experiment.results import Results
from argbest.report import colours, style
from argbest.report.style import LABEL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EDGES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)  # of the bins, where none are given
_NEEDED = ("contender", "macroreplication", "claim", "share_correct")
_COLUMNS = ["contender", "claimed", "achieved", "se", "low", "high", "looks", "macroreplications"]


def calibration(results: object, *, bins: int | Sequence[float] = EDGES) -> pd.DataFrame:
    """Return, per contender and bin of claims, the mean claim and how often it came true.

    A look is a context of a run at a checkpoint: the claim is P(its selection is right). Runs stored by a
    version that kept no claims of single contexts are looked at as a whole: claimed PCS_E, and the share of
    contexts right. ``bins`` are the edges of the bins, or how many of equal size; empty ones have no row.

    ``se`` is the standard error of ``achieved``; looks at the same macro-replication hang together, so it is
    that of a mean of clusters, √(m/(m − 1) Σ_r (Σ_{i in r} (y_i − ȳ))²)/n with m macro-replications and n
    looks, NaN where m = 1. ``low`` to ``high`` is the 95 % interval of Wilson for as many independent looks
    as have that standard error; for m of them where all or none came true.
    """
    runs = results.runs if isinstance(results, Results) else results
    if not isinstance(runs, pd.DataFrame) or not set(_NEEDED) <= set(runs.columns):
        raise InputError(
            f"got {type(results).__name__}; expected the results of an experiment, or their frame of runs "
            f"with the columns {list(_NEEDED)}."
        )
    edges = _checked(bins)
    rows = []
    for label, own in runs.groupby("contender", sort=False):
        claim, right, number = _looks(own)
        if not np.isfinite(claim).all():
            continue  # a contender that claims nothing
        rows += [
            (label, float(claim[part].mean()), *_came_true(right[part], number[part]))
            for part in _parts(claim, edges)
        ]
    return pd.DataFrame(rows, columns=_COLUMNS)


def _checked(bins: object) -> int | Array:
    """Return the number of bins, or their edges."""
    if not isinstance(bins, Sequence | np.ndarray):
        return whole("bins", bins, at_least=1, at_most=10**4)
    edges = table("the edges of the bins", bins, (len(bins),))
    if len(edges) < 2 or not np.all(np.diff(edges) > 0):
        raise InputError(
            f"bins={bins!r} is not a list of edges. Give rising numbers, such as [0, 0.8, 0.9, 1]."
        )
    return edges


def _looks(own: pd.DataFrame) -> tuple[Array, Array, IntArray]:
    """Return claims, whether or how far they came true, and the macro-replication of every look."""
    told = own[own["claims"].str.len() > 0] if {"claims", "correct"} <= set(own.columns) else own[:0]
    if not len(told):
        number = own["macroreplication"].to_numpy(np.int64)
        return own["claim"].to_numpy(float), own["share_correct"].to_numpy(float), number
    claim = unpacked(told["claims"])
    right = np.array([list(text) for text in told["correct"]]) == "1"
    number = np.repeat(told["macroreplication"].to_numpy(np.int64), claim.shape[1])
    return claim.ravel(), right.ravel().astype(float), number


def _parts(claim: Array, edges: int | Array) -> list[IntArray]:
    """Return the looks of every bin that has some."""
    if isinstance(edges, int):
        return np.array_split(np.argsort(claim, kind="stable"), min(edges, len(claim)))
    which = np.searchsorted(edges, claim, side="right") - 1
    which[claim == edges[-1]] = len(edges) - 2
    parts = [np.flatnonzero(which == i) for i in range(len(edges) - 1)]
    return [part for part in parts if len(part)]


def _came_true(right: Array, number: IntArray) -> tuple[float, float, float, float, int, int]:
    """Return the share that came true, its error and interval, looks and macro-replications."""
    share, clusters = float(right.mean()), len(np.unique(number))
    error = _clustered_error(right - share, number)
    n = share * (1 - share) / error**2 if error > 0 else float(clusters)
    low, high = measures.wilson(np.array(share * n), np.array(n))
    return share, error, float(low), float(high), len(right), clusters


def plot_calibration(
    results: object,
    *,
    bins: int | Sequence[float] = EDGES,
    ax: "Axes | None" = None,
    theme: str | None = None,
) -> "Axes":
    """Return axes with how often claims came true against the claims; below the diagonal they are too high.

    ``results`` are those of an experiment or their frame of runs; ``bins`` are those of `calibration`. Bars
    are 95 % intervals. ``theme`` is "light" or "dark".
    """
    numbers = calibration(results, bins=bins)
    sheet = style.sheet(ax, theme, 4.6, 4.4)
    drawn = sheet.ax
    marks: dict[str, Any] = {"markersize": 4.5, "markerfacecolor": sheet.theme.paper}
    for i, (label, own) in enumerate(numbers.groupby("contender", sort=False)):
        look, value = colours.look(sheet.theme, i) | marks, own["achieved"].to_numpy(float)
        ends = [np.maximum(value - own["low"], 0.0), np.maximum(own["high"] - value, 0.0)]
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
    drawn.set_xlabel("P(right) claimed by the certificate", fontsize=LABEL)
    drawn.set_ylabel("share of selections right", fontsize=LABEL)
    style.bare(drawn)
    handles, labels = drawn.get_legend_handles_labels()
    style.key(drawn, handles, labels, title=results.problem if isinstance(results, Results) else "")
    return style.finish(sheet)


def _clustered_error(deviations: Array, clusters: IntArray) -> float:
    _, which = np.unique(clusters, return_inverse=True)
    sums = np.bincount(which, deviations)
    m = len(sums)
    return float(np.sqrt(m / (m - 1) * np.sum(sums**2)) / len(deviations)) if m > 1 else float("nan")
