"""The model check as a picture: how far pairs are from what all others foretell."""

from typing import TYPE_CHECKING, Any

import numpy as np

from argbest.answers import model_check
from argbest.answers.model_check import ModelCheck
from argbest.checks import one_of
from argbest.core.arrays import Array
from argbest.report import curves, style
from argbest.report.style import BAND, LABEL, TICK, Sheet
from argbest.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VALUES = {"z": "z-score", "residual": "observed less predicted"}
_NAMED = 5  # flagged pairs that are named in the picture


def plot_model_check(
    study: Study, *, values: str = "z", ax: "Axes | None" = None, theme: str | None = None
) -> "Axes":
    """Return axes with every pair's z-score, or residual, against its prediction from all other pairs.

    The band holds 95 % of them if the model fits; pairs beyond the limit of `ModelCheck` are flagged and
    named, the worst first, and the title says so. With ``values="residual"`` bars of two standard deviations
    of the prediction take the place of the band. ``theme`` is "light" or "dark".
    """
    style.require_study(study)
    one_of("values", values, VALUES)
    check = model_check.of_study(study)
    sheet = style.sheet(ax, theme, 5.2, 3.9)
    (_scores if values == "z" else _residuals)(sheet, check)
    _name_flagged(sheet, study, check, values)
    sheet.ax.axhline(0.0, color=sheet.theme.ink, linewidth=0.7, zorder=1)
    sheet.ax.set_xlabel("predicted from all other pairs", fontsize=LABEL)
    sheet.ax.set_ylabel(VALUES[values], fontsize=LABEL)
    style.bare(sheet.ax)
    flagged = f", {check.n_flagged} of {len(check.pairs)} pairs flagged" if check.n_flagged else ""
    said = f"{check.verdict} (RMS z {check.rms:.2f}{flagged})"
    style.headline(sheet.ax, style.titled(study.problem.name, said))
    return style.finish(sheet)


def _scores(sheet: Sheet, check: ModelCheck) -> None:
    ax, theme = sheet.ax, sheet.theme
    ax.axhspan(-BAND, BAND, color=theme.colours[0], alpha=0.13, linewidth=0, zorder=0)
    for end in (-check.limit, check.limit):
        ax.axhline(end, color=theme.alarm, linestyle="--", linewidth=0.9, zorder=1)
    _marks(sheet, check, check.pairs["z"].to_numpy(float))
    reach = max(check.limit, float(check.pairs["z"].abs().max())) * 1.12
    ax.set_ylim(-reach, reach)
    _beside(sheet, check.pairs["z"].to_numpy(float))


def _residuals(sheet: Sheet, check: ModelCheck) -> None:
    pairs = check.pairs
    bars: dict[str, Any] = {"linestyle": "none", "color": sheet.theme.faint, "linewidth": 0.9, "zorder": 1}
    sheet.ax.errorbar(pairs["predicted"], pairs["residual"], yerr=2 * pairs["sd"], **bars)
    _marks(sheet, check, pairs["residual"].to_numpy(float))


def _marks(sheet: Sheet, check: ModelCheck, y: Array) -> None:
    x, bad = check.pairs["predicted"].to_numpy(float), check.pairs["flagged"].to_numpy(bool)
    sheet.ax.scatter(x[~bad], y[~bad], s=14, color=sheet.theme.colours[0], zorder=2)
    alarm: dict[str, Any] = {"facecolor": sheet.theme.paper, "edgecolor": sheet.theme.alarm}
    sheet.ax.scatter(x[bad], y[bad], s=38, marker="D", linewidth=1.5, zorder=3, **alarm)


def _beside(sheet: Sheet, z: Array) -> None:
    """Draw the distribution of the z-scores at the right, with the one they should have."""
    ax, theme = sheet.ax, sheet.theme
    strip = style.beside(ax, 0.7)
    low, high = ax.get_ylim()
    bins = np.linspace(low, high, int(min(max(12, 2 * np.sqrt(len(z))), 40)) + 1).tolist()
    strip.hist(z, bins=bins, orientation="horizontal", density=True, color=theme.colours[0], alpha=0.5)
    at = np.linspace(low, high, 201)
    strip.plot(np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi), at, color=theme.ink, linewidth=1.0)
    strip.set_xticks([])
    strip.tick_params(labelleft=False, left=False)
    strip.spines[["top", "right", "bottom"]].set_visible(False)


def _name_flagged(sheet: Sheet, study: Study, check: ModelCheck, values: str) -> None:
    """Write alternative and context beside the worst of the flagged pairs."""
    problem, flagged = study.problem, check.pairs[check.pairs["flagged"]]
    worst = flagged.loc[flagged["z"].abs().sort_values(ascending=False).index[:_NAMED]]
    if not len(worst):
        return
    labels = curves.row_labels(problem.alternatives), curves.row_labels(problem.contexts)
    where = problem.alternatives.locate(worst), problem.contexts.locate(worst)
    middle = np.mean(sheet.ax.get_xlim())
    for row, k, c in zip(worst.to_dict("records"), *(each.tolist() for each in where), strict=True):
        left = row["predicted"] > middle
        sheet.ax.annotate(
            style.plain(f"{labels[0][k]} in {labels[1][c]}"), (row["predicted"], row[values]),
            xytext=(-6 if left else 6, 0), textcoords="offset points", ha="right" if left else "left",
            va="center", fontsize=TICK - 0.5, color=sheet.theme.ink, zorder=4,
        )  # fmt: skip
