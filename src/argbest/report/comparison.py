"""Curves over replications with bands of uncertainty: of the contenders of an experiment, or of one study.

The numbers (`bands`, `progress`) stand apart from their drawing.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from argbest.checks import one_of
from argbest.core.arrays import Array
from argbest.core.states import INTERVAL
from argbest.errors import InputError, warn_of_old_name
from argbest.experiment import measures
from argbest.experiment.results import Results
from argbest.report import looks, style
from argbest.report.looks import LIGHT, THEMES, Theme
from argbest.report.style import BAND, LABEL
from argbest.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURES = {"pcs_e": "PCS_E", "p_all": "P(all contexts right)", "eoc": "expected opportunity cost"}
NAMES = MEASURES | {"pcs_m": "PCS_M", "pgs": "P(good selection)", "certificate": "claimed PCS_E"}
_PROBABILITIES = ("pcs_e", "p_all", "pcs_m", "pgs", "certificate")
_MARKS = 8  # on each curve


class Band(NamedTuple):
    """One curve and the ends of its 95 % band; these are its own values where no error is known."""

    label: str
    replications: Array
    value: Array
    low: Array
    high: Array


def bands(summary: pd.DataFrame, measure: str) -> list[Band]:
    """Return the curve of a measure for every contender and its 95 % band.

    The band is the interval of the summary where it has one (``_low`` to ``_high``), else the value ± 1.96
    standard errors, for probabilities within 0 and 1, for the opportunity cost not below 0.
    """
    found = []
    for label, own in summary.groupby("contender", sort=False):
        replications, value = own["replications"].to_numpy(float), own[measure].to_numpy(float)
        if f"{measure}_low" in own:
            low, high = (own[f"{measure}_{end}"].to_numpy(float) for end in ("low", "high"))
        else:
            reach = BAND * np.nan_to_num(own[f"{measure}_se"].to_numpy(float))
            top = 1.0 if measure in _PROBABILITIES else np.inf
            low, high = np.maximum(value - reach, 0.0), np.minimum(value + reach, top)
        found.append(Band(str(label), replications, value, low, high))
    return found


def summary_of(results: object) -> pd.DataFrame:
    """Return the summary of an experiment, given its `Results`, their frame of runs, or the summary."""
    if isinstance(results, Results):
        return results.summary()
    if isinstance(results, pd.DataFrame) and {"contender", "samples"} <= set(results.columns):
        warn_of_old_name("the column samples", "replications", stacklevel=4)
        results = results.rename(columns={"samples": "replications"})
    if isinstance(results, pd.DataFrame) and {"contender", "replications"} <= set(results.columns):
        if "share_correct" not in results.columns:
            return results
        parts = [
            measures.summary(own).assign(contender=label)
            for label, own in results.groupby("contender", sort=False)
        ]
        return pd.concat(parts, ignore_index=True)
    raise InputError(
        f"got {type(results).__name__}; expected the results of an experiment: Results, Results.runs or "
        "Results.summary()."
    )


def plot_comparison(
    results: object, *, measure: str = "pcs_e", ax: "Axes | None" = None, theme: str | None = None
) -> "Axes":
    """Return axes with a measure over replications, a line per contender with its 95 % band.

    Lines differ in dashes and marks, not only in colour.

    Args:
        results (Results or frame): Those of an experiment, their frame of runs or their summary.
        measure: What is drawn: pcs_e, p_all, pcs_m, pgs, eoc or certificate.
        ax: The axes to draw on; by default new ones.
        theme: "light" or "dark".
    """
    one_of("measure", measure, NAMES)
    curves = bands(summary_of(results), measure)
    sheet = style.sheet(ax, theme, 5.2, 3.8)
    draw(sheet.ax, curves, sheet.theme)
    sheet.ax.set_ylabel(NAMES[measure], fontsize=LABEL)
    handles, labels = sheet.ax.get_legend_handles_labels()
    title = results.problem if isinstance(results, Results) else ""
    style.key(sheet.ax, handles, labels, title=title)
    return style.finish(sheet)


def plot(summary: pd.DataFrame, *, title: str = "", theme: str = "light") -> "Figure":
    """Return a figure with a panel each for PCS_E, P_all and the expected opportunity cost."""
    look = THEMES[theme]
    figure = style.canvas(12.0, 4.2)
    figure.set_facecolor(look.paper)
    panels = figure.subplots(1, len(MEASURES))
    for ax, (measure, name) in zip(panels, MEASURES.items(), strict=True):
        draw(ax, bands(summary, measure), look)
        ax.set_ylabel(name, fontsize=LABEL)
        style.finish(style.Sheet(ax, look, False, True))
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, [style.plain(label) for label in labels], loc="outside lower center",
        ncols=min(len(labels), 6), frameon=False, labelcolor=look.ink, handlelength=3.0,
    )  # fmt: skip
    figure.suptitle(style.plain(title), fontsize=11, color=look.ink)
    return figure


def draw(ax: "Axes", curves: list[Band], theme: Theme = LIGHT) -> None:
    """Draw curves with their bands; colours, dashes and marks tell them apart, also in print."""
    opacity = 0.16 if len(curves) <= 3 else 0.09
    for i, band in enumerate(curves):
        look = looks.look(theme, i)
        every = max(1, len(band.replications) // _MARKS)
        ax.plot(
            band.replications, band.value, linewidth=1.4, markersize=4.5, label=band.label,
            markevery=(i % every, every), markerfacecolor=theme.paper, **look,
        )  # fmt: skip
        ax.fill_between(
            band.replications, band.low, band.high, color=look["color"], alpha=opacity, linewidth=0
        )
    ax.set_xlabel("replications after the initial design", fontsize=LABEL)
    style.bare(ax)
    ax.margins(x=0.02)


_OF_STUDY = ("pcs_e", "pcs_m", "eoc")


def progress(study: Study, measure: str = "pcs_e", *, points: int = 12) -> Band:
    """Return a measure as certified at some numbers of replications, with its interval of probability 0.9.

    The interval of PCS_E is that of the weighted share of contexts selected right, the interval of EOC that
    of the opportunity cost, both given the data of that time; PCS_M has none. The last point is today's
    certificate.
    """
    style.require_study(study)
    one_of("measure of a study", measure, _OF_STUDY)
    frame = study.history(points)
    columns = [
        measure if f"{measure}{end}" not in frame else f"{measure}{end}" for end in ("", "_low", "_high")
    ]
    value, low, high = (frame[name].to_numpy(float) for name in columns)
    return Band(study.problem.name, frame["replications"].to_numpy(float), value, low, high)


def plot_progress(
    source: object, *, measure: str = "pcs_e", ax: "Axes | None" = None, theme: str | None = None
) -> "Axes":
    """Return axes with a measure over replications, and its intervals.

    Of a study these are its own certificates along its replications (see `progress`); of the results of an
    experiment the curves of `plot_comparison`.

    Args:
        source (Study or Results): What is drawn.
        measure: What is drawn of it, such as "pcs_e" or "eoc".
        ax: The axes to draw on; by default new ones.
        theme: "light" or "dark".
    """
    if not isinstance(source, Study):
        return plot_comparison(source, measure=measure, ax=ax, theme=theme)
    band = progress(source, measure)
    sheet = style.sheet(ax, theme, 5.2, 3.4)
    colour = sheet.theme.colours[0]
    sheet.ax.plot(band.replications, band.value, color=colour, marker="o", markersize=4.5, linewidth=1.5)
    sheet.ax.fill_between(band.replications, band.low, band.high, color=colour, alpha=0.18, linewidth=0)
    if measure == "eoc":
        sheet.ax.set_ylim(bottom=0.0)
    else:
        sheet.ax.set_ylim(float(band.low.min()) - 0.05, 1.02)
        sheet.ax.axhline(1.0, color=sheet.theme.faint, linewidth=0.8, zorder=0)
    sheet.ax.set_xlabel("replications", fontsize=LABEL)
    sheet.ax.set_ylabel(NAMES[measure], fontsize=LABEL)
    style.bare(sheet.ax)
    interval = "" if measure == "pcs_m" else f", {INTERVAL:.0%} interval"
    style.headline(sheet.ax, style.titled(band.label, f"{NAMES[measure]} as certified{interval}"))
    return style.finish(sheet)
