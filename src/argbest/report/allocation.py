"""The allocation: how many replications every pair got."""

from typing import TYPE_CHECKING

from argbest.core.arrays import IntArray
from argbest.report import colours, curves, style, tables
from argbest.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize


def plot_allocation(study: Study, *, ax: "Axes | None" = None, theme: str | None = None) -> "Axes":
    """Return axes that show how many replications every pair got; alternatives are rows over a coordinate.

    Shades go by the square root, so that one favoured pair does not hide the others. ``theme`` is "light" or
    "dark".
    """
    style.require_study(study)
    spent = curves.allocation(study)
    rows, columns, values, upwards = spent.alternatives, spent.contexts, spent.count, True
    if curves.coordinate(study.problem) is None:
        rows, columns, values, upwards = columns, rows, values.T, False
    sheet = style.sheet(ax, theme, *tables.size(rows, columns))
    shades, norm = colours.shades(sheet.theme), _norm(spent.ticks)
    image = sheet.ax.imshow(
        values, cmap=shades, norm=norm, aspect="auto", origin="lower" if upwards else "upper"
    )
    tables.name(sheet.ax, rows, columns)
    tables.write(sheet.ax, values.astype(str), shades(norm(values)))
    tables.bar(sheet.ax, image, "replications", ticks=spent.ticks)
    style.headline(sheet.ax, style.titled(study.problem.name, f"where {values.sum():,} replications went"))
    return style.finish(sheet)


def _norm(ticks: IntArray) -> "Normalize":
    from matplotlib.colors import PowerNorm

    return PowerNorm(0.5, vmin=ticks[0], vmax=ticks[-1])
