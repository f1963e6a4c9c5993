"""Contention: which alternatives are still in the running, context by context."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from argbest.checks import finite
from argbest.core.arrays import Array, IntArray
from argbest.core.states import LEVEL
from argbest.report import colours, curves, style, tables
from argbest.report.curves import Side
from argbest.report.style import LABEL, TICK, Sheet
from argbest.study.study import Study
from argbest.theory import contention

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    alternatives, contexts = curves.side(problem.alternatives), curves.side(problem.contexts)
    frame = contention(study, level=level)
    probability = np.full(problem.shape, np.nan)
    chance = study.certificate().best_probability
    for c, labels in enumerate(frame["contenders"]):
        for k in (problem.alternatives.index(label) for label in labels):
            probability[k, c] = chance[k, c]
    return Contention(
        alternatives,
        contexts,
        probability[np.ix_(alternatives.order, contexts.order)],
        frame["size"].to_numpy(np.int64)[contexts.order],
        level,
    )


def plot_contention(
    study: Study, *, level: float = LEVEL, ax: "Axes | None" = None, theme: str | None = None
) -> "Axes":
    """Return axes with a cell per alternative still in the running, and how many there are per context.

    In the running are the fewest alternatives that hold the best one with probability ``level``; the deeper
    their cell, the likelier. Contexts are arranged as in `plot_allocation`. ``theme`` is "light" or "dark".
    """
    found = contenders(study, level=level)
    along = curves.coordinate(study.problem) is not None
    rows, columns = found.alternatives, found.contexts
    if not along:
        rows, columns = columns, rows
    width, height = tables.size(rows, columns)
    sheet = style.sheet(ax, theme, width, height + 0.6 * along)
    values = found.probability if along else found.probability.T
    image = sheet.ax.imshow(
        values,
        cmap=colours.shades(sheet.theme),
        aspect="auto",
        vmin=0,
        vmax=1,
        origin="lower" if along else "upper",
    )
    tables.name(sheet.ax, rows, columns)
    shown = np.where(np.isfinite(values), values, 0.0)
    texts = np.where(np.isfinite(values), np.char.mod("%.2f", shown), "")
    written = tables.write(sheet.ax, texts, colours.shades(sheet.theme)(shown))
    title = style.titled(study.problem.name, f"alternatives in the running ({level:.0%})")
    if along:
        _sizes_above(sheet, found, title)
    else:
        _sizes_beside(sheet, found)
        style.headline(sheet.ax, title)
    if not written:
        tables.bar(sheet.ax, image, "P(best)")
    return style.finish(sheet)


def _sizes_above(sheet: Sheet, found: Contention, title: str) -> None:
    """Draw a bar per context in a strip above the cells: how many alternatives are left."""
    strip = style.above(sheet.ax, 0.6)
    places, several = np.arange(len(found.size)), found.size > 1
    kinds = {"one left": ~several, "several left": several}
    colours = (sheet.theme.colours[0], sheet.theme.alarm)
    bars = [
        strip.bar(places[here], found.size[here], 0.8, color=colour)
        for here, colour in zip(kinds.values(), colours, strict=True)
    ]
    most = int(found.size.max())
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
