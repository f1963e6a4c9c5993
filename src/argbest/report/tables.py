"""Tables as pictures, a cell per pair: how often each was simulated, which are still in the running."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from argbest.answers.predicting import coordinate
from argbest.checks import finite
from argbest.core.arrays import AnyArray, Array, IntArray
from argbest.core.states import LEVEL
from argbest.core.states import contenders as ranked
from argbest.report import curves, looks, style
from argbest.report.curves import Side
from argbest.report.style import LABEL, TICK, Sheet
from argbest.study.study import Study

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
    style.name_axes(ax, x=columns.title)
    name_rows(ax, rows, high)


def name_rows(ax: "Axes", side: Side, high: float | None = None) -> None:
    """Label the vertical axis, with so many points of height, leaving out labels that would overlap."""
    _, usual, full = style.points(ax)
    side = replace(side, labels=style.cut(side.labels, 0.3 * full))
    shown = thinned(len(side.labels), (usual if high is None else high) * _ROOM / (1.3 * TICK))
    ax.set_yticks(shown, [style.plain(side.labels[i]) for i in shown], fontsize=TICK)
    style.name_axes(ax, y=side.title)


def write(ax: "Axes", texts: AnyArray, backgrounds: AnyArray) -> bool:
    """Return whether there was room to write the texts [row, column] into the cells.

    ``backgrounds`` [row, column, 3 or 4] are the colours of the cells.
    """
    rows, columns = texts.shape
    wide, high, _ = style.points(ax)
    lines = [str(text).split("\n") for text in texts.flat]
    size = min(
        wide * _ROOM / columns / (max(looks.columns(line) for each in lines for line in each) + 0.8) / 0.6,
        high * _ROOM / rows / max(map(len, lines)) / 1.25,
        9.0,
    )
    if size < _SMALLEST:
        return False
    for (row, column), text in np.ndenumerate(texts):
        ink = looks.readable(backgrounds[row, column])
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


def plot_allocation(study: Study, *, ax: "Axes | None" = None, theme: str | None = None) -> "Axes":
    """Return axes that show how many replications every pair got; alternatives are rows over a coordinate.

    Shades go by the square root, so that one favoured pair does not hide the others.

    Args:
        study: The study to draw.
        ax: The axes to draw on; by default new ones.
        theme: "light" or "dark".
    """
    style.require_study(study)
    spent = curves.allocation(study)
    rows, columns, values, upwards = spent.alternatives, spent.contexts, spent.count, True
    if coordinate(study.problem) is None:
        rows, columns, values, upwards = columns, rows, values.T, False
    sheet = style.sheet(ax, theme, *size(rows, columns))
    from matplotlib.colors import PowerNorm  # not before the sheet, which says it if there is none

    shades, norm = looks.shades(sheet.theme), PowerNorm(0.5, vmin=spent.ticks[0], vmax=spent.ticks[-1])
    placed: dict[str, Any] = {"aspect": "auto", "origin": "lower" if upwards else "upper"}
    image = sheet.ax.imshow(values, cmap=shades, norm=norm, **placed)
    name(sheet.ax, rows, columns)
    write(sheet.ax, values.astype(str), shades(norm(values)))
    bar(sheet.ax, image, "replications", ticks=spent.ticks)
    style.headline(sheet.ax, style.titled(study.problem.name, f"where {values.sum():,} replications went"))
    return style.finish(sheet)


@dataclass(frozen=True)
class Contention:
    """The alternatives that cannot be ruled out yet."""

    alternatives: Side
    contexts: Side
    probability: Array  # [alternative, context]: P(best), NaN where ruled out
    size: IntArray  # [context]: how many are in the running
    level: float


def contenders(study: Study, *, level: float = LEVEL) -> Contention:
    """Return, in reading order, who is in the fewest alternatives whose P(best) sum to the level."""
    style.require_study(study)
    level = finite("level", level, above=0, below=1)
    problem = study.problem
    alternatives, contexts = curves.options(problem), curves.side(problem.contexts)
    certificate = study.certificate()
    chance, (order, sizes) = certificate.best_probability, certificate.contenders(level)
    if problem.limits:  # that none keeps them is in the running, too
        chance = np.concatenate([chance, certificate.p_none_feasible[None]])
        order, sizes = ranked(chance, level)
    probability = np.full(chance.shape, np.nan)
    for c, m in enumerate(sizes):
        probability[order[:m, c], c] = chance[order[:m, c], c]
    shown = probability[np.ix_(alternatives.order, contexts.order)]
    return Contention(alternatives, contexts, shown, sizes[contexts.order], level)


def plot_contention(
    study: Study, *, level: float = LEVEL, ax: "Axes | None" = None, theme: str | None = None
) -> "Axes":
    """Return axes with a cell per alternative still in the running, and how many there are per context.

    In the running are the fewest alternatives that hold the best one with probability ``level``; the stronger
    their cell, the likelier. Contexts are arranged as in `plot_allocation`.

    Args:
        study: The study to draw.
        level: The probability that those in the running hold the best one.
        ax: The axes to draw on; by default new ones.
        theme: "light" or "dark".
    """
    found = contenders(study, level=level)
    along = coordinate(study.problem) is not None
    rows, columns = found.alternatives, found.contexts
    if not along:
        rows, columns = columns, rows
    width, height = size(rows, columns)
    sheet = style.sheet(ax, theme, width, height + 0.6 * along)
    values = found.probability if along else found.probability.T
    placed: dict[str, Any] = {"aspect": "auto", "origin": "lower" if along else "upper"}
    shades = looks.shades(sheet.theme)
    image = sheet.ax.imshow(values, cmap=shades, vmin=0, vmax=1, **placed)
    name(sheet.ax, rows, columns)
    shown = np.where(np.isfinite(values), values, 0.0)
    texts = np.where(np.isfinite(values), np.char.mod("%.2f", shown), "")
    written = write(sheet.ax, texts, shades(shown))
    title = style.titled(study.problem.name, f"alternatives in the running ({level:.0%})")
    if along:
        _sizes_above(sheet, found, title)
    else:
        _sizes_beside(sheet, found)
        style.headline(sheet.ax, title)
    if not written:
        bar(sheet.ax, image, "P(best)")
    return style.finish(sheet)


def _sizes_above(sheet: Sheet, found: Contention, title: str) -> None:
    """Draw a bar per context in a strip above the cells: how many alternatives are left."""
    strip = style.above(sheet.ax, 0.6)
    places, several = np.arange(len(found.size)), found.size > 1
    kinds = {"one left": found.size == 1, "several left": several}
    colours = (sheet.theme.colours[0], sheet.theme.alarm)
    bars = [
        strip.bar(places[here], found.size[here], 0.8, color=colour)
        for here, colour in zip(kinds.values(), colours, strict=True)
    ]
    most = max(int(found.size.max()), 1)
    strip.set_ylim(0, most * 1.12)
    strip.set_yticks(sorted({1, most}))
    strip.set_ylabel("left", fontsize=TICK)
    strip.tick_params(labelsize=TICK, labelbottom=False)
    strip.spines[["top", "right"]].set_visible(False)
    style.key(strip, bars, list(kinds), title=title)


def _sizes_beside(sheet: Sheet, found: Contention) -> None:
    """Write at the right end of every row how many alternatives are left."""
    beside = sheet.ax.secondary_yaxis("right")
    shown = [int(place) for place in sheet.ax.get_yticks()]
    beside.set_yticks(shown, [str(found.size[i]) for i in shown], fontsize=TICK)
    beside.set_ylabel("how many", fontsize=LABEL)
    beside.tick_params(length=0)
