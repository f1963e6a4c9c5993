"""Pictures of a study. Every function draws on `ax`, or on a figure of its own, and returns the axes.

Matplotlib is the extra `plot`; it is imported when something is drawn, and no global state of it is touched.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from argbest.core.arrays import BoolArray, IntArray
from argbest.errors import ArgbestError
from argbest.report import curves
from argbest.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize

_SHADES = "Blues"  # light to dark, so it survives colour blindness and a grey printer
_INK, _ALARM = "#1a1a1a", "#d55e00"
_MARKS: dict[bool, dict[str, Any]] = {
    True: {"marker": "o", "s": 34, "facecolor": _INK, "edgecolor": "white", "linewidth": 0.9},
    False: {"marker": "D", "s": 34, "facecolor": "white", "edgecolor": _ALARM, "linewidth": 1.6},
}
_MEANING = {True: f"P(best) ≥ {curves.DECIDED:g}", False: "undecided"}
_FONT = 8.0  # points, of tick labels
_ROOM = 0.8  # of the axes' size; the rest may still go to labels and the colour bar


def plot_policy_map(study: Study, *, ax: "Axes | None" = None) -> "Axes":
    """Return axes that show which alternative is selected in which context, and how surely.

    Contexts with one numeric coordinate lie along it, with the policy between them and P(best) of the
    selection in a strip above. Other contexts are the rows of a table.
    """
    policy, curve = curves.policy_map(study), curves.policy_curve(study)
    if curve is None:
        ax = ax or _canvas(*_table_size(policy.contexts, policy.alternatives))
        key = _draw_rows(ax, policy)
    else:
        ax = ax or _canvas(7.0, _clip(2.4 + 0.26 * study.problem.n_alternatives, 4.2, 10.0))
        key = _draw_curve(ax, policy, curve)
    _explain(key, f"{study.problem.name}: selected alternative and P(best)")
    return ax


def plot_allocation(study: Study, *, ax: "Axes | None" = None) -> "Axes":
    """Return axes that show how many replications every pair got, arranged like the policy map."""
    spent = curves.allocation(study)
    rows, columns, values, upwards = spent.alternatives, spent.contexts, spent.count, True
    if curves.coordinate(study.problem) is None:
        rows, columns, values, upwards = columns, rows, values.T, False
    ax = ax or _canvas(*_table_size(rows, columns))
    image = ax.imshow(
        values, cmap=_SHADES, norm=_norm(spent.ticks), aspect="auto", origin="lower" if upwards else "upper"
    )
    _name_rows(ax, rows)
    _name_columns(ax, columns)
    _write(ax, values, dark=np.asarray(image.norm(values), float) > 0.6)
    _bar(ax, image, "replications", ticks=spent.ticks)
    ax.set_title(_plain(f"{study.problem.name}: where {values.sum():,} replications went"), fontsize=10)
    return ax


def save(study: Study, folder: str | Path, *, dpi: int = 150) -> list[Path]:
    """Return the paths of `policy_map.png` and `allocation.png`, written into an existing folder."""
    drawn = {"policy_map.png": plot_policy_map(study), "allocation.png": plot_allocation(study)}
    paths = [Path(folder) / name for name in drawn]
    for path, ax in zip(paths, drawn.values(), strict=True):
        ax.figure.canvas.print_figure(path, dpi=dpi)
    return paths


def _draw_curve(ax: "Axes", policy: curves.PolicyMap, curve: curves.PolicyCurve) -> "Axes":
    """Return the strip above the map, after drawing both."""
    half = (curve.grid[1] - curve.grid[0]) / 2
    left, right = curve.grid[0] - half, curve.grid[-1] + half
    image = ax.imshow(
        curve.probability,
        cmap=_SHADES,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        extent=(left, right, -0.5, len(curve.probability) - 0.5),
        vmin=0,
        vmax=1,
    )
    inch = ax.figure.dpi / ax.bbox.height  # in units of the axes' height
    strip = ax.inset_axes((0.0, 1 + 0.12 * inch, 1.0, min(0.8 * inch, 0.25)), sharex=ax)
    strip.plot(curve.grid, curve.p_best, color=_INK, linewidth=0.8)
    strip.axhline(curves.DECIDED, color=_ALARM, linewidth=0.8, linestyle="--")
    ax.step(curve.grid, curve.selected, where="mid", color=_INK, linewidth=0.8)
    for state in (True, False):
        here = policy.decided == state
        ax.scatter(curve.at[here], policy.selected[here], zorder=3, clip_on=False, **_MARKS[state])
        strip.scatter(
            curve.at[here], policy.p_best[here], zorder=3, clip_on=False, **_MARKS[state] | {"s": 14}
        )
    strip.set_ylim(-0.05, 1.1)
    strip.set_yticks([0, 0.5, 1])
    strip.set_ylabel("P(best)", fontsize=_FONT)
    strip.tick_params(labelsize=_FONT, labelbottom=False)
    strip.spines[["top", "right"]].set_visible(False)
    ax.set_xlim(left, right)
    ax.tick_params(labelsize=_FONT)
    ax.set_xlabel(_plain(policy.contexts.title))
    _name_rows(ax, policy.alternatives)
    _bar(ax, image, "P(best)")
    return strip


def _draw_rows(ax: "Axes", policy: curves.PolicyMap) -> "Axes":
    """Return the axes after drawing a row per context, its P(best) at the right end."""
    image = ax.imshow(policy.probability.T, cmap=_SHADES, aspect="auto", vmin=0, vmax=1)
    places = np.arange(len(policy.selected))
    for state in (True, False):
        here = policy.decided == state
        ax.scatter(policy.selected[here], places[here], zorder=3, **_MARKS[state])
    _name_rows(ax, policy.contexts)
    _name_columns(ax, policy.alternatives)
    certainty = ax.secondary_yaxis("right")
    shown = ax.get_yticks()
    certainty.set_yticks(shown, [f"{policy.p_best[int(i)]:.3f}" for i in shown], fontsize=_FONT)
    certainty.set_ylabel("P(best) of the selected", fontsize=9)
    certainty.tick_params(length=0)
    _bar(ax, image, "P(best)")
    return ax


def _explain(ax: "Axes", title: str) -> None:
    """Put the title and the meaning of the marks above the axes."""
    handles = [ax.scatter([], [], **_MARKS[state], label=_MEANING[state]) for state in (True, False)]
    legend = ax.legend(
        handles=handles,
        title=_plain(title),
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=2,
        frameon=False,
        fontsize=9,
    )
    legend.get_title().set_fontsize(10)


def _name_rows(ax: "Axes", side: curves.Side) -> None:
    """Label the vertical axis, leaving out labels where they would overlap."""
    shown = _thinned(len(side.labels), ax.bbox.height * _ROOM / ax.figure.dpi * 72 / (1.3 * _FONT))
    ax.set_yticks(shown, [_plain(side.labels[i]) for i in shown], fontsize=_FONT)
    ax.set_ylabel(_plain(side.title))


def _name_columns(ax: "Axes", side: curves.Side) -> None:
    """Label the horizontal axis, upright where the labels would overlap, leaving some out if need be."""
    width = ax.bbox.width * _ROOM / ax.figure.dpi * 72
    lying = len(side.labels) * (_length(side) + 0.6 * _FONT) <= width
    shown = _thinned(len(side.labels), len(side.labels) if lying else width / (1.3 * _FONT))
    labels = [_plain(side.labels[i]) for i in shown]
    ax.set_xticks(shown, labels, fontsize=_FONT, rotation=0 if lying else 90)
    ax.set_xlabel(_plain(side.title))


def _write(ax: "Axes", values: IntArray, *, dark: BoolArray) -> None:
    """Write the numbers into the cells where there is room."""
    rows, columns = values.shape
    points = _ROOM * 72 / ax.figure.dpi
    longest = len(str(values.max()))
    width, height = ax.bbox.width * points / columns, ax.bbox.height * points / rows
    size = min(width / (longest + 0.8) / 0.6, height / 1.3, 9.0)
    if size < 5:
        return
    for (row, column), value in np.ndenumerate(values):
        colour = "white" if dark[row, column] else _INK
        ax.text(column, row, str(value), ha="center", va="center", fontsize=size, color=colour)


def _bar(ax: "Axes", image: Any, label: str, *, ticks: IntArray | None = None) -> None:
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.05, aspect=40, ticks=ticks)
    bar.minorticks_off()
    bar.set_label(label, fontsize=9)
    bar.ax.tick_params(labelsize=_FONT)


def _thinned(n: int, room: float) -> Sequence[int]:
    return range(0, n, max(1, math.ceil(n / max(room, 1.0))))


def _length(side: curves.Side) -> float:
    """Return the length in points of the longest label."""
    return max(map(len, side.labels)) * 0.6 * _FONT


def _table_size(rows: curves.Side, columns: curves.Side) -> tuple[float, float]:
    """Return width and height in inches: room for the cells, labels of any length at the left and upright."""
    width = 2.4 + _length(rows) / 72 + 0.42 * len(columns.labels)
    height = 1.6 + _length(columns) / 72 + 0.28 * len(rows.labels)
    return _clip(width, 5.0, 12.0), _clip(height, 3.0, 12.0)


def _norm(ticks: IntArray) -> "Normalize":
    """Return shades by the square root, so that one favoured cell does not hide the others."""
    from matplotlib.colors import PowerNorm

    return PowerNorm(0.5, vmin=ticks[0], vmax=ticks[-1])


def _canvas(width: float, height: float) -> "Axes":
    """Return axes of a figure that belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise ArgbestError("pictures need matplotlib: pip install 'argbest[plot]'") from missing
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _plain(text: str) -> str:
    """Return text in which a dollar sign does not begin a formula."""
    return text.replace("$", r"\$")
