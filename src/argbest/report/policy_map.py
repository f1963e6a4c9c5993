"""The policy map: which alternative is selected in which context, and how surely."""

from typing import TYPE_CHECKING, Any

import numpy as np

from argbest.core.arrays import Array
from argbest.core.states import EQUAL, LEVEL, NO_FEASIBLE, OPEN, SURE
from argbest.problems.base import Problem
from argbest.report import curves, looks, style, tables
from argbest.report.curves import Grid, PolicyCurve, PolicyMap
from argbest.report.looks import Theme
from argbest.report.style import LABEL, TICK, Sheet
from argbest.study.study import Study
from argbest.texts import chance, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NO_ANSWER = "no answer"
_PALEST = 0.12  # share of its colour that a cell keeps when nothing is certain


def plot_policy_map(study: Study, *, ax: "Axes | None" = None, theme: str | None = None) -> "Axes":
    """Return axes that show which alternative is selected in which context, and how surely.

    Contexts with one numeric coordinate lie along it: a band per alternative, the stronger the likelier it is
    best there, between the contexts too, and P(best) of the selection in a strip above. Contexts on a grid of
    two coordinates are a map: a colour per alternative, the stronger the surer. All others are the rows of a
    table. Marks tell sure, equal and open contexts apart (`Study.selection`).

    Args:
        study: The study to draw.
        ax: The axes to draw on; by default new ones.
        theme: "light" or "dark".
    """
    style.require_study(study)
    return draw_map(study.problem, curves.policy_map(study), curves.policy_curve(study), ax, theme)


def draw_map(
    problem: Problem, policy: PolicyMap, curve: PolicyCurve | None, ax: "Axes | None", theme: str | None
) -> "Axes":
    """Return axes with the map; without a curve nothing is said between contexts."""
    grid = curves.grid(problem)
    title = style.titled(problem.name, "selected alternative and P(best)")
    if curve is not None:
        height = min(max(2.2 + 0.24 * problem.n_alternatives, 3.6), 10.0)
        sheet = style.sheet(ax, theme, 5.2, height)
        strip = _draw_curve(sheet, policy, curve)
        _explain(strip, sheet.theme, policy, title, unanswered=not policy.answered.all())
    elif grid is not None:
        width, height = tables.size(grid.rows, grid.columns)
        sheet = style.sheet(ax, theme, max(width, 0.75 * len(grid.columns.labels) + 1.5), height + 0.4)
        words = "selected alternative; stronger colour is surer"
        _draw_grid(sheet, policy, grid, style.titled(problem.name, words))
    else:
        sheet = style.sheet(ax, theme, *tables.size(policy.contexts, policy.alternatives))
        _draw_rows(sheet, policy)
        _explain(sheet.ax, sheet.theme, policy, title)
    return style.finish(sheet)


def _draw_curve(sheet: Sheet, policy: PolicyMap, curve: PolicyCurve) -> "Axes":
    """Return the strip above the bands, after drawing both."""
    ax, theme = sheet.ax, sheet.theme
    half = (curve.grid[1] - curve.grid[0]) / 2
    left, right = curve.grid[0] - half, curve.grid[-1] + half
    image = ax.imshow(
        curve.probability, cmap=looks.shades(theme), aspect="auto", origin="lower", interpolation="nearest",
        extent=(left, right, -0.5, len(curve.probability) - 0.5), vmin=0, vmax=1,
    )  # fmt: skip
    strip = style.above(ax, 0.6)
    strip.plot(curve.grid, curve.p_best, color=theme.ink, linewidth=0.9)
    strip.axhline(LEVEL, color=theme.alarm, linewidth=0.9, linestyle="--")
    steps = np.where(curve.selected < 0, np.nan, curve.selected)
    ax.step(curve.grid, steps, where="mid", color=theme.alarm, linewidth=1.0)
    without = curve.at[~policy.answered]
    strip.scatter(without, np.zeros(len(without)), zorder=3, clip_on=False, **_cross(theme))
    for state, style_of in _marks(theme).items():
        here = policy.state == state
        ax.scatter(curve.at[here], policy.selected[here], zorder=3, clip_on=False, **style_of)
        strip.scatter(curve.at[here], policy.p_best[here], zorder=3, clip_on=False, **style_of | {"s": 13})
    strip.set_ylim(-0.05, 1.1)
    strip.set_yticks([0, 0.5, 1])
    strip.set_ylabel("P(best)", fontsize=TICK)
    strip.tick_params(labelsize=TICK, labelbottom=False)
    strip.spines[["top", "right"]].set_visible(False)
    ax.set_xlim(left, right)
    ax.tick_params(labelsize=TICK)
    style.name_axes(ax, x=policy.contexts.title)
    tables.name_rows(ax, policy.alternatives)
    tables.bar(ax, image, "P(best)")
    return strip


def _draw_rows(sheet: Sheet, policy: PolicyMap) -> None:
    """Draw a row per context, its P(best) at the right end."""
    ax, theme = sheet.ax, sheet.theme
    image = ax.imshow(policy.probability.T, cmap=looks.shades(theme), aspect="auto", vmin=0, vmax=1)
    places = np.arange(len(policy.selected))
    for state, style_of in _marks(theme).items():
        here = policy.state == state
        ax.scatter(policy.selected[here], places[here], zorder=3, **style_of)
    tables.name(ax, policy.contexts, policy.alternatives)
    certainty = ax.secondary_yaxis("right")
    shown = ax.get_yticks()
    sure = [chance(policy.p_best[int(i)]) if policy.answered[int(i)] else _NO_ANSWER for i in shown]
    certainty.set_yticks(shown, sure, fontsize=TICK)
    certainty.set_ylabel("P(best) of the selected", fontsize=LABEL)
    certainty.tick_params(length=0)
    tables.bar(ax, image, "P(best)")


def _draw_grid(sheet: Sheet, policy: PolicyMap, grid: Grid, title: str) -> None:
    """Draw a cell per context, coloured and lettered by its alternative, framed where it is not sure."""
    from matplotlib.patches import Patch, Rectangle

    ax, theme = sheet.ax, sheet.theme
    present = grid.context >= 0
    leaders = np.unique(policy.selected[policy.answered])
    cells = grid_colours(policy, grid, theme)
    ax.imshow(cells, aspect="auto", origin="lower")
    names = [policy.alternatives.labels[k] for k in leaders]
    chosen = policy.selected[grid.context]
    for texts in (_lettered(policy, grid, surely=True), _lettered(policy, grid, surely=False)):
        written = tables.write(ax, texts, cells)
        if written:
            break
    else:  # numbers in the place of labels, explained in the key
        numbers = np.where(chosen < 0, "-", (np.searchsorted(leaders, chosen) + 1).astype(str))
        tables.write(ax, np.where(present, numbers, ""), cells)
        names = [f"{i + 1}: {name}" for i, name in enumerate(names)]
    edges: dict[str, Any] = {
        EQUAL: {"fill": False, "edgecolor": theme.ink, "linestyle": (0, (0.5, 1.5)), "linewidth": 1.3},
        OPEN: {"fill": False, "edgecolor": theme.ink, "linestyle": (0, (4, 1.5)), "linewidth": 1.3},
    }
    for state, edge in edges.items():
        for row, column in np.argwhere(present & (policy.state == state)[grid.context]).tolist():
            ax.add_patch(Rectangle((column - 0.44, row - 0.44), 0.88, 0.88, **edge))
    handles: list[Any] = [Patch(facecolor=_hue(theme, len(leaders), i)) for i in range(len(leaders))]
    if written and len(leaders) > len(theme.colours):  # one hue for all: the labels in the cells tell them
        handles, names = [], []
    framed = [state for state in edges if (policy.state == state).any()]
    for state in framed:  # as the first cell that has this frame
        colour = cells[np.nonzero(present & (policy.state == state)[grid.context])][0]
        handles.append(Rectangle((0, 0), 1, 1, **edges[state] | {"fill": True, "facecolor": colour}))
    tables.name(ax, grid.rows, grid.columns)
    ax.tick_params(length=0)
    style.key(ax, handles, [*names, *(_meaning(policy)[state] for state in framed)], title=title)


def grid_colours(policy: PolicyMap, grid: Grid, theme: Theme) -> Array:
    """Return [row, column, 3]: the hue of the selected alternative, the stronger the larger P(best).

    Where more alternatives are selected than there are hues that anyone can tell apart, all share one.
    """
    leaders = np.unique(policy.selected[policy.answered])
    cells = np.ones((*grid.context.shape, 3)) * looks.blend(theme.paper, theme.paper, 1.0)
    for row, column in np.argwhere(grid.context >= 0).tolist():
        c = grid.context[row, column]
        if not policy.answered[c]:
            continue
        hue = _hue(theme, len(leaders), int(np.searchsorted(leaders, policy.selected[c])))
        cells[row, column] = looks.blend(
            hue, theme.paper, _PALEST + (1 - _PALEST) * float(policy.p_best[c]) ** 2
        )
    return cells


def _hue(theme: Theme, n: int, i: int) -> str:
    return theme.colours[i] if n <= len(theme.colours) else theme.colours[0]


def _lettered(policy: PolicyMap, grid: Grid, *, surely: bool) -> Any:
    """Return [row, column]: the label of the selected alternative, with P(best) below it if ``surely``."""
    texts = np.full(grid.context.shape, "", object)
    for row, column in np.argwhere(grid.context >= 0).tolist():
        c = grid.context[row, column]
        if not policy.answered[c]:
            texts[row, column] = _NO_ANSWER
            continue
        label = policy.alternatives.labels[policy.selected[c]]
        texts[row, column] = f"{label}\n{policy.p_best[c]:.2f}" if surely else label
    return texts


def _explain(ax: "Axes", theme: Theme, policy: PolicyMap, title: str, *, unanswered: bool = False) -> None:
    """Put the title and the meaning of the marks above the axes."""
    states = [state for state in _marks(theme) if state != NO_FEASIBLE or (policy.state == state).any()]
    marks, meanings = (
        [_marks(theme)[state] for state in states],
        [_meaning(policy)[state] for state in states],
    )
    if unanswered:
        marks, meanings = [*marks, _cross(theme)], [*meanings, _NO_ANSWER]
    style.key(ax, [ax.scatter([], [], **mark) for mark in marks], meanings, title=title)


def _cross(theme: Theme) -> dict[str, Any]:
    """Return how contexts without an answer are marked."""
    return {"marker": "x", "s": 22, "color": theme.alarm, "linewidth": 1.2}


def _meaning(policy: PolicyMap) -> dict[str, str]:
    """Return what the states mean, in few words."""
    return {
        SURE: f"sure: P(best) ≥ {LEVEL:g}",
        EQUAL: f"equal: within {with_unit(f'{policy.delta:.2g}', policy.unit)}",
        OPEN: "open",
        NO_FEASIBLE: "surely none feasible",
    }


def _marks(theme: Theme) -> dict[str, dict[str, Any]]:
    """Return how sure, equal and open contexts are marked; they differ in shape, too."""
    return {
        SURE: {"marker": "o", "s": 30, "facecolor": theme.ink, "edgecolor": theme.paper, "linewidth": 0.9},
        EQUAL: {"marker": "s", "s": 26, "facecolor": theme.paper, "edgecolor": theme.ink, "linewidth": 1.4},
        OPEN: {"marker": "D", "s": 30, "facecolor": theme.paper, "edgecolor": theme.alarm, "linewidth": 1.6},
        NO_FEASIBLE: {"marker": "X", "s": 38, "facecolor": theme.ink, "edgecolor": theme.paper},
    }
