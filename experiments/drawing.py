"""Pictures of the paper's study; the numbers come from the other modules, ready to be drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd

from argbest.report.looks import DASHES, LIGHT
from argbest.report.style import BAND, bare, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = LIGHT.colours
_YLABELS = {"pcs_e": "PCS_E", "p_all": "P(all contexts right)"}


class Placed(Protocol):
    """What a panel shows, and its title."""

    @property
    def problem(self) -> str:
        """The name of the problem."""

    @property
    def measure(self) -> str:
        """The name of the measure."""

    @property
    def title(self) -> str:
        """The title."""


def panels(
    ours: pd.DataFrame, places: Sequence[Placed], policies: Sequence[str], theirs: pd.DataFrame | None = None
) -> "Figure":
    """Return Figure 2: a panel per place, a line per policy with its 95 % band, published curves dotted."""
    figure = canvas(12.0, 7.4)
    axes = figure.subplots(2, 3).ravel()
    for ax, place in zip(axes, places, strict=True):
        own = _of(ours, place)
        for i, policy in enumerate(policies):
            curve = own[own["contender"] == policy]
            if len(curve):
                _line(ax, curve, COLOURS[i], DASHES[i], policy)
        if theirs is not None:
            _dots(ax, _of(theirs, place), policies)
        ax.set_title(place.title, fontsize=10)
        ax.set_xlabel("replications after the initial design", fontsize=9)
        ax.set_ylabel(_YLABELS[place.measure], fontsize=9)
    handles, labels = axes[0].get_legend_handles_labels()
    if theirs is not None:
        handles.append(axes[0].plot([], [], ":", color="#555555", linewidth=1.6)[0])
        labels.append("published")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    return figure


def _of(curves: pd.DataFrame, place: Placed) -> pd.DataFrame:
    return curves[(curves["problem"] == place.problem) & (curves["measure"] == place.measure)]


def _line(ax: "Axes", curve: pd.DataFrame, colour: str, dashes: object, label: str) -> None:
    x, y = curve["replications"].to_numpy(float), curve["value"].to_numpy(float)
    reach = BAND * np.nan_to_num(curve["se"].to_numpy(float))
    ax.plot(x, y, color=colour, linestyle=dashes, linewidth=1.3, label=label)
    ax.fill_between(
        x, np.maximum(y - reach, 0.0), np.minimum(y + reach, 1.0), color=colour, alpha=0.12, linewidth=0
    )
    bare(ax)
    ax.margins(x=0.01)


def _dots(ax: "Axes", published: pd.DataFrame, policies: Sequence[str]) -> None:
    for policy, curve in published.groupby("contender", sort=False):
        if policy in policies:
            colour = COLOURS[policies.index(str(policy))]
            ax.plot(curve["replications"], curve["value"], ":", color=colour, linewidth=1.6)


def predictions(numbers: pd.DataFrame, models: Sequence[str]) -> "Figure":
    """Return Figure 1: the truth, then every model's predictions with bars of two standard deviations."""
    figure = canvas(11.0, 3.6)
    axes = figure.subplots(1, 1 + len(models), sharey=True)
    marks = ("o", "s")
    for i, (label, own) in enumerate(numbers.groupby("alternative", sort=False)):
        axes[0].plot(own["context"], own["truth"], linestyle=DASHES[i], color=COLOURS[i], label=label)
        for ax, model in zip(axes[1:], models, strict=True):
            ax.errorbar(
                own["context"],
                own[f"{model}_mean"],
                yerr=2.0 * own[f"{model}_sd"],
                fmt=marks[i],
                color=COLOURS[i],
                markersize=3.5,
                linewidth=0.9,
            )
    for ax, title in zip(axes, ("truth", *(f"{model} predictions" for model in models)), strict=True):
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("context", fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("mean reward", fontsize=9)
    axes[0].legend(title="alternative", frameon=False, fontsize=8, title_fontsize=8)
    return figure


def decay(shares: pd.DataFrame, residuals: pd.DataFrame, pfs: pd.DataFrame) -> "Figure":
    """Return shares beside p*, residuals, and false selections beside exp(−n η*/2)."""
    figure = canvas(12.0, 3.9)
    ratios, gaps, false = figure.subplots(1, 3)
    for i, (pair, own) in enumerate(shares.groupby(["alternative", "context"], sort=False)):
        ratios.plot(own["n"], own["share"], color=COLOURS[i], label=", ".join(map(str, pair)))
        ratios.plot(own["n"], own["optimal"], ":", color=COLOURS[i])
    ratios.set_ylabel("share of replications (dotted: p*)", fontsize=9)
    labels = {"distance": "max |p - p*|", "balance": "|balance|", "across": "1 - min η / max η"}
    for i, (name, label) in enumerate(labels.items()):
        gaps.plot(residuals["n"], residuals[name], color=COLOURS[i], linestyle=DASHES[i], label=label)
    gaps.set_ylabel("residual, median over runs", fontsize=9)
    gaps.set_ylim(bottom=0.0)
    for i, (allocation, own) in enumerate(pfs.groupby("allocation", sort=False)):
        seen = own[own["pfs"] > 0]
        false.plot(seen["n"], seen["pfs"], color=COLOURS[i], linestyle=DASHES[i], label=allocation)
        reach = BAND * seen["pfs_se"]
        low = np.maximum(seen["pfs"] - reach, seen["pfs"] / 100.0)
        false.fill_between(seen["n"], low, seen["pfs"] + reach, color=COLOURS[i], alpha=0.15, linewidth=0)
    false.plot(own["n"], own["reference"], ":", color="#1a1a1a", label="exp(-n η*/2)")
    false.set_yscale("log")
    false.set_ylabel("P(some context selected wrong)", fontsize=9)
    for ax in (ratios, gaps, false):
        ax.set_xlabel("replications", fontsize=9)
        bare(ax)
        place = {"loc": "center right", "ncols": 3} if ax is ratios else {}
        ax.legend(frameon=False, fontsize=8, **place)
    return figure


def models(numbers: pd.DataFrame, order: Sequence[str], policy: str = "gp-c-ocba") -> "Figure":
    """Return a panel per problem: the opportunity cost under one policy, a line per model."""
    own = numbers[numbers["policy"] == policy]
    names = list(dict.fromkeys(own["problem"]))
    rows = -(-len(names) // 4)
    figure = canvas(12.0, 2.9 * rows + 0.5)
    axes = np.atleast_1d(figure.subplots(rows, min(4, len(names)), squeeze=False)).ravel()
    for ax, name in zip(axes, names, strict=False):
        for i, model in enumerate(order):
            curve = own[(own["problem"] == name) & (own["model"] == model)]
            if len(curve):
                ax.plot(
                    curve["replications"], curve["eoc"], color=COLOURS[i], linestyle=DASHES[i], label=model
                )
        ax.set_title(name, fontsize=10)
        ax.set_xlabel("replications after the initial design", fontsize=9)
        ax.set_ylim(bottom=0.0)
        bare(ax)
    for ax in axes[len(names) :]:
        ax.set_visible(False)
    found = {
        label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.supylabel(f"expected opportunity cost under {policy}", fontsize=9)
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=len(found), frameon=False)
    return figure
