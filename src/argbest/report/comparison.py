"""Curves of an experiment: measures over samples, one line per contender with its band of uncertainty.

The numbers (`bands`) stand apart from their drawing. Matplotlib is the extra `plot`, imported when needed.
"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from argbest.core.arrays import Array
from argbest.errors import ArgbestError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURES = {"pcs_e": "PCS_E", "p_all": "P(all contexts right)", "eoc": "expected opportunity cost"}
_PROBABILITIES = ("pcs_e", "p_all", "pcs_m", "pgs", "certificate")
_WIDTH = 1.96  # standard errors: a 95 % band
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1a1a1a", "#999933")
_STYLES = ("-", "--", "-.", ":")


class Band(NamedTuple):
    """One curve and the ends of its 95 % band; these are its own values where no error is known."""

    label: str
    samples: Array
    value: Array
    low: Array
    high: Array


def bands(summary: pd.DataFrame, measure: str) -> list[Band]:
    """Return the curve of a measure for every contender, value ± 1.96 standard errors.

    Bands of probabilities end at 0 and 1, those of the opportunity cost at 0.
    """
    found = []
    for label, own in summary.groupby("contender", sort=False):
        value, error = (own[name].to_numpy(float) for name in (measure, f"{measure}_se"))
        reach = _WIDTH * np.nan_to_num(error)
        top = 1.0 if measure in _PROBABILITIES else np.inf
        low, high = np.maximum(value - reach, 0.0), np.minimum(value + reach, top)
        found.append(Band(str(label), own["samples"].to_numpy(float), value, low, high))
    return found


def plot(summary: pd.DataFrame, *, title: str = "") -> "Figure":
    """Return a figure with a panel each for PCS_E, P_all and the expected opportunity cost."""
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise ArgbestError("pictures need matplotlib: pip install 'argbest[plot]'") from missing
    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    panels = figure.subplots(1, len(MEASURES))
    for ax, (measure, name) in zip(panels, MEASURES.items(), strict=True):
        draw(ax, bands(summary, measure))
        ax.set_ylabel(name)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), frameon=False)
    figure.suptitle(title.replace("$", r"\$"), fontsize=11)
    return figure


def draw(ax: "Axes", curves: list[Band]) -> None:
    """Draw curves with their bands; colours and dashes tell them apart, also in print."""
    for i, band in enumerate(curves):
        colour, style = _COLOURS[i % len(_COLOURS)], _STYLES[i // len(_COLOURS) % len(_STYLES)]
        ax.plot(band.samples, band.value, color=colour, linestyle=style, linewidth=1.4, label=band.label)
        ax.fill_between(band.samples, band.low, band.high, color=colour, alpha=0.15, linewidth=0)
    ax.set_xlabel("samples after the initial design")
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0.01)


def save(summary: pd.DataFrame, path: str | Path, *, title: str = "", dpi: int = 150) -> Path:
    """Return the path of the picture, written."""
    plot(summary, title=title).canvas.print_figure(path, dpi=dpi)
    return Path(path)
