"""Pictures of the testing-allocation study; the numbers come from the other modules, ready to be drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from argbest.report.looks import DASHES
from argbest.report.style import BAND, canvas
from experiments.drawing import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HOUR = 3600.0
# What is shown of an epidemic: the compartments that are added up.
GROUPS = {
    "exposed or pre-infectious": ("E", "P"),
    "infectious and free": ("I", "M", "V"),
    "in quarantine, infected": ("QI",),
    "recovered": ("R",),
    "ever infected": ("E", "P", "I", "M", "V", "QI", "R"),
}
_SUM = "#1a1a1a"  # nearly black, so that the wide band of the sum is not taken for one of its parts
_GROUP_COLOURS = dict(zip(GROUPS, (*COLOURS[: len(GROUPS) - 1], _SUM), strict=True))


def by_replications(curves: pd.DataFrame, policies: Sequence[str], subtitles: dict[str, str]) -> "Figure":
    """Return Figure 3: a panel per problem, PCS_E against replications in all, lines with 95 % bands."""
    figure = canvas(11.0, 4.6)
    axes = figure.subplots(1, len(subtitles), squeeze=False).ravel()
    for ax, (problem, subtitle) in zip(axes, subtitles.items(), strict=True):
        _policies(ax, curves[curves["problem"] == problem], policies, "total")
        ax.set_title(f"{problem}\n{subtitle}", fontsize=9)
        ax.set_xlabel("replications, initial design included", fontsize=9)
    _legend(figure, axes[0])
    return figure


def by_time(
    curves: pd.DataFrame, policies: Sequence[str], problems: Sequence[str], simulations: Sequence[float]
) -> "Figure":
    """Return Figure 4: a row per problem, a column per simulation time, PCS_E against hours."""
    figure = canvas(11.0, 3.5 * len(problems) + 0.6)
    axes = figure.subplots(len(problems), len(simulations), squeeze=False)
    for row, problem in zip(axes, problems, strict=True):
        for ax, seconds in zip(row, simulations, strict=True):
            own = curves[(curves["problem"] == problem) & (curves["simulation_seconds"] == seconds)]
            _policies(ax, own.assign(hours=own["seconds"] / _HOUR), policies, "hours")
            ax.set_title(f"{problem}, {seconds:g} s per simulation", fontsize=9)
            ax.set_xlabel("hours", fontsize=9)
    _legend(figure, axes[0, 0])
    return figure


def epidemic(numbers: pd.DataFrame) -> "Figure":
    """Return how many people are in each group on each day: a panel per population, mean and 95 % of runs."""
    figure = canvas(11.0, 3.8)
    populations = list(dict.fromkeys(numbers["population"]))
    axes = figure.subplots(1, len(populations), squeeze=False).ravel()
    for ax, population in zip(axes, populations, strict=True):
        own = numbers[numbers["population"] == population]
        for (group, colour), dashes in zip(_GROUP_COLOURS.items(), DASHES, strict=False):
            line = own[own["group"] == group]
            ax.plot(line["day"], line["mean"], color=colour, linestyle=dashes, linewidth=1.4, label=group)
            ax.fill_between(line["day"], line["low"], line["high"], color=colour, alpha=0.2, linewidth=0)
        ax.set_ylim(bottom=0.0)
        ax.set_title(f"population {population}: {own['size'].iloc[0]:,} people", fontsize=9)
        ax.set_xlabel("day", fontsize=9)
        _tidy(ax)
    axes[0].set_ylabel("people", fontsize=9)
    _legend(figure, axes[0])
    return figure


def _policies(ax: "Axes", curves: pd.DataFrame, policies: Sequence[str], x: str) -> None:
    for i, policy in enumerate(policies):
        curve = curves[curves["contender"] == policy]
        at, value = curve[x].to_numpy(float), curve["pcs_e"].to_numpy(float)
        reach = BAND * np.nan_to_num(curve["pcs_e_se"].to_numpy(float))
        ax.plot(at, value, color=COLOURS[i], linestyle=DASHES[i], linewidth=1.3, label=policy)
        low, high = np.maximum(value - reach, 0.0), np.minimum(value + reach, 1.0)
        ax.fill_between(at, low, high, color=COLOURS[i], alpha=0.12, linewidth=0)
    ax.set_ylabel("PCS_E", fontsize=9)
    ax.set_ylim(0.0, 1.0)
    _tidy(ax)


def _tidy(ax: "Axes") -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)
    ax.margins(x=0.01)


def _legend(figure: "Figure", ax: "Axes") -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
