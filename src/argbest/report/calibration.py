"""Whether what is claimed holds: the certificates of an experiment, and the model of a study, as pictures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from argbest.answers.model_check import ModelCheck
from argbest.checks import one_of, table, whole
from argbest.core.arrays import Array, IntArray
from argbest.errors import InputError, TooFewDataError
from argbest.experiment import measures
from argbest.experiment.measures import unpacked
from argbest.experiment.results import Results
from argbest.report import curves, looks, style
from argbest.report.style import BAND, LABEL, TICK, Sheet
from argbest.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EDGES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)  # of the bins, where none are given
_NEEDED = ("contender", "macroreplication", "claim", "share_correct")
_COLUMNS = ["contender", "claimed", "achieved", "se", "low", "high", "looks", "macroreplications"]
VALUES = {"z": "z-score", "residual": "observed less predicted"}
_MOST_NAMED = 5  # flagged pairs that are named in the picture


def calibration(results: object, *, bins: int | Sequence[float] = EDGES) -> pd.DataFrame:
    """Return, per contender and bin of claims, the mean claim and how often it came true.

    A look is a context of a run at a checkpoint: the claim is P(its selection is right). Runs stored by a
    version that kept no claims of single contexts are looked at as a whole: claimed PCS_E, and the share of
    contexts right. ``bins`` are the edges of the bins, or how many of equal size; empty ones have no row.

    ``se`` is the standard error of ``achieved``; looks at the same macro-replication are not independent,
    so it is that of a mean of clusters, √(m/(m − 1) Σ_r (Σ_{i in r} (y_i − ȳ))²)/n with m macro-replications
    and n looks, NaN where m = 1. ``low`` to ``high`` is the 95 % interval of Wilson for as many independent
    looks as have that standard error; for m of them where all or none came true.
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

    Bars are 95 % intervals.

    Args:
        results (Results or frame): Those of an experiment, or their frame of runs.
        bins: The edges of the bins of claims, or how many of equal size.
        ax: The axes to draw on; by default new ones.
        theme: "light" or "dark".
    """
    numbers = calibration(results, bins=bins)
    if numbers.empty:
        raise InputError("these runs claim nothing. Repeat the experiment with certify=True.")
    sheet = style.sheet(ax, theme, 4.6, 4.4)
    drawn = sheet.ax
    marks: dict[str, Any] = {"markersize": 4.5, "markerfacecolor": sheet.theme.paper}
    for i, (label, own) in enumerate(numbers.groupby("contender", sort=False)):
        look, value = looks.look(sheet.theme, i) | marks, own["achieved"].to_numpy(float)
        ends = [np.maximum(value - own["low"], 0.0), np.maximum(own["high"] - value, 0.0)]
        drawn.errorbar(own["claimed"], value, yerr=ends, label=label, linewidth=1.2, elinewidth=0.9, **look)
    low = max(0.0, np.floor(10 * float(numbers[["claimed", "achieved"]].min().min())) / 10)
    drawn.plot([low, 1], [low, 1], color=sheet.theme.ink, linewidth=0.8, zorder=1)
    drawn.fill_between([low, 1], [low, 1], low, color=sheet.theme.faint, alpha=0.25, linewidth=0, zorder=0)
    corner: dict[str, Any] = {"transform": drawn.transAxes, "ha": "right", "fontsize": style.TICK}
    drawn.text(0.97, 0.04, "claims too much", style="italic", color=sheet.theme.ink, **corner)
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


def plot_model_check(
    study: Study, *, values: str = "z", ax: "Axes | None" = None, theme: str | None = None
) -> "Axes":
    """Return axes with every pair's z-score, or residual, against its prediction from all other pairs.

    The band holds 95 % of them if the model fits; pairs beyond the limit of `ModelCheck` are flagged and
    named, the worst first, and the title says so.

    Args:
        study: The study to draw.
        values: "z" for z-scores; "residual" for residuals, with bars of two standard deviations of the
            prediction in the place of the band.
        ax: The axes to draw on; by default new ones.
        theme: "light" or "dark".
    """
    style.require_study(study)
    one_of("values", values, VALUES)
    check = study.model_check()
    if not len(check.pairs):
        raise TooFewDataError(
            "this model cannot predict a pair from the others, so there is nothing to draw. Use a model that "
            "joins contexts, such as 'gp', or simulate more pairs."
        )
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
    worst = flagged.loc[flagged["z"].abs().sort_values(ascending=False).index[:_MOST_NAMED]]
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
