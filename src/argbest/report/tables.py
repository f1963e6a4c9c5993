"""Tables as pictures: a cell per pair, with labels and numbers where there is room for them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from argbest.core.arrays import AnyArray, IntArray
from argbest.report import colours, fonts, style
from argbest.report.curves import Side
from argbest.report.style import LABEL, TICK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROOM = 0.8  # of the axes' size; the rest may still go to labels and the colour bar
_SMALLEST = 5.5  # points


def name(ax: "Axes", rows: Side, columns: Side) -> None:
    """Label both axes: columns upright where they would overlap, shorter or fewer where room is short."""
    wide, high, full = style.points(ax)
    tall = high / wide * full
    upright = len(columns.labels) * (longest(columns) + 0.6 * TICK) > wide * _ROOM
    if upright:
        columns = replace(columns, labels=style.cut(columns.labels, 0.3 * tall))
        high -= longest(columns)
        shown = thinned(len(columns.labels), wide * _ROOM / (1.3 * TICK))
    else:
        shown = range(len(columns.labels))
    labels = [style.plain(columns.labels[i]) for i in shown]
    ax.set_xticks(shown, labels, fontsize=TICK, rotation=90 if upright else 0)
    ax.set_xlabel(style.plain(columns.title), fontsize=LABEL)
    name_rows(ax, rows, high)


def name_rows(ax: "Axes", side: Side, high: float | None = None) -> None:
    """Label the vertical axis, with so many points of height, leaving out labels that would overlap."""
    _, usual, full = style.points(ax)
    side = replace(side, labels=style.cut(side.labels, 0.3 * full))
    shown = thinned(len(side.labels), (usual if high is None else high) * _ROOM / (1.3 * TICK))
    ax.set_yticks(shown, [style.plain(side.labels[i]) for i in shown], fontsize=TICK)
    ax.set_ylabel(style.plain(side.title), fontsize=LABEL)


def write(ax: "Axes", texts: AnyArray, backgrounds: AnyArray) -> bool:
    """Return whether there was room to write the texts [row, column] into the cells.

    ``backgrounds`` [row, column, 3 or 4] are the colours of the cells.
    """
    rows, columns = texts.shape
    wide, high, _ = style.points(ax)
    lines = [str(text).split("\n") for text in texts.flat]
    size = min(
        wide * _ROOM / columns / (max(fonts.columns(line) for each in lines for line in each) + 0.8) / 0.6,
        high * _ROOM / rows / max(map(len, lines)) / 1.25,
        9.0,
    )
    if size < _SMALLEST:
        return False
    for (row, column), text in np.ndenumerate(texts):
        ink = colours.readable(backgrounds[row, column])
        ax.text(
            column, row, style.plain(str(text)), ha="center", va="center", fontsize=size, color=ink, zorder=4
        )
    return True


def bar(ax: "Axes", image: Any, label: str, *, ticks: IntArray | Sequence[float] | None = None) -> None:
    """Put the meaning of the shades beside the axes, if these are not too narrow for it."""
    if style.points(ax)[2] < 250:
        return
    beside = ax.figure.colorbar(image, ax=ax, fraction=0.05, aspect=40, pad=0.02, ticks=ticks)
    beside.minorticks_off()
    beside.set_label(label, fontsize=LABEL)
    beside.ax.tick_params(labelsize=TICK)
    beside.outline.set_visible(False)


def thinned(n: int, room: float) -> Sequence[int]:
    """Return evenly spaced places of which there are no more than there is room for."""
    return range(0, n, max(1, math.ceil(n / max(room, 1.0))))


def longest(side: Side) -> float:
    """Return the length in points of the longest label."""
    return max(style.length(label) for label in side.labels)


def size(rows: Side, columns: Side) -> tuple[float, float]:
    """Return width and height in inches: room for the cells, labels of any length at the left and upright."""
    width = 1.5 + longest(rows) / 72 + 0.33 * len(columns.labels)
    height = 1.4 + longest(columns) / 72 + 0.25 * len(rows.labels)
    return min(max(width, 4.6), 12.0), min(max(height, 3.0), 12.0)
