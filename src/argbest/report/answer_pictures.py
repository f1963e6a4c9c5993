"""Pictures of answers: values with intervals, shortlists, rules with their tree, what tailoring gains."""

from typing import TYPE_CHECKING, Any

import numpy as np

from argbest.answers.answering import EACH, ONE, RULE, SEVERAL, Answer
from argbest.answers.pareto import FORM as FRONT
from argbest.checks import one_of
from argbest.core.states import EQUAL, OPEN
from argbest.errors import InputError
from argbest.report import answer_numbers as numbers
from argbest.report import curves, looks, style, tables
from argbest.report.answer_numbers import Node, RuleMap, percent
from argbest.report.curves import Grid, Side
from argbest.report.fronts import plot_front
from argbest.report.looks import THEMES, Theme, middle_cut
from argbest.report.policy_map import draw_map
from argbest.report.style import LABEL, TICK, Sheet
from argbest.report.svg import cell_edges
from argbest.texts import first_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PALE = 0.45  # share of its colour that a cell has
_FOLDED = 22  # letters of a line in a tree
_MOST_SHORTLISTED = 60  # contexts of a shortlist side by side


def plot_answer(answer: Answer, *, ax: "Axes | None" = None, theme: str | None = None) -> "Axes":
    """Return axes that show the answer to a question.

    One alternative for all contexts: what each is worth, with 90 % intervals, and where it is worst if that
    matters. Several per context: their places. A rule: its tree above the contexts, in the colours of its
    ends. One per context: the policy map. What is non-dominated: two responses of every alternative, a panel
    per context.

    Args:
        answer: What `Study.answer` returned.
        ax: The axes to draw on; by default new ones.
        theme: "light" or "dark".
    """
    drawn = {ONE: _values, SEVERAL: _shortlist, RULE: _rule, EACH: _per_context, FRONT: plot_front}
    if answer.form not in drawn:
        raise InputError(
            f"there is no picture of the answer to {answer.question!r}. Its `table` has the numbers."
        )
    return drawn[answer.form](answer, ax, theme)


def plot_tailoring(answer: Answer, *, ax: "Axes | None" = None, theme: str | None = None) -> "Axes":
    """Return axes that show what choosing per context gains with 1, 2, 3, … alternatives.

    Args:
        answer: The answer to `best` or `overall`.
        ax: The axes to draw on; by default new ones.
        theme: "light" or "dark".
    """
    if answer.tailoring is None:
        raise InputError(
            f"the answer to {answer.question!r} says nothing of tailoring. Ask 'best' or 'overall'."
        )
    problem = answer.view.problem
    shown = numbers.curve(answer.tailoring, problem.alternatives)
    made = style.sheet(ax, theme, 5.2, 3.4)
    colour, at = made.theme.colours[0], np.arange(1, len(shown.gain) + 1)
    made.ax.axhline(shown.whole, color=made.theme.alarm, linestyle=(0, (5, 3)), linewidth=1.4)
    around = np.abs(np.stack([shown.low, shown.high]) - shown.gain)
    made.ax.errorbar(at, shown.gain, yerr=around, color=colour, marker="o", linewidth=1.8, capsize=3)
    for x, gain, share in list(zip(at, shown.gain, shown.share, strict=True))[1:]:
        made.ax.annotate(
            percent(float(share)), (x, gain), (6, -11), textcoords="offset points", fontsize=TICK,
            color=made.theme.ink,
        )  # fmt: skip
    added = [middle_cut(label if i == 0 else f"+ {label}", 36) for i, label in enumerate(shown.labels)]
    labels = ["\n".join(looks.folded(each, 12)) for each in added]
    made.ax.set_xticks(at, [style.plain(label) for label in labels], fontsize=TICK)
    made.ax.set_xlim(0.6, len(at) + 0.6)
    style.bare(made.ax)
    style.name_axes(made.ax, x=f"{shown.title}, added one by one", y=f"gain in {problem.reward}")
    words = f"what choosing per context gains: {answer.tailoring.value} (dashed)"
    style.headline(made.ax, style.titled(problem.name, words))
    return style.finish(made)


def _per_context(answer: Answer, ax: "Axes | None", theme: str | None) -> "Axes":
    return draw_map(answer.view.problem, curves.policy_map_of(answer.view), None, ax, theme)


def _title(answer: Answer, words: str) -> str:
    return style.titled(answer.view.problem.name, words)


def _values(answer: Answer, ax: "Axes | None", theme: str | None) -> "Axes":
    shown = numbers.values(answer)
    n = len(shown.labels)
    made = style.sheet(ax, theme, 5.6, min(1.5 + 0.28 * n, 8.0))
    chosen, other = made.theme.alarm, made.theme.colours[0]
    for i in range(n):
        is_chosen = shown.mark[i] == numbers.CHOSEN
        colour = chosen if is_chosen else other
        marker = "D" if is_chosen else "s" if shown.mark[i] == numbers.EQUAL else "o"
        if shown.from_zero:
            pale = looks.blend(colour, made.theme.paper, 0.35)
            made.ax.barh(i, shown.value[i], height=0.55, color=pale, zorder=1)
        made.ax.plot([shown.low[i], shown.high[i]], [i, i], color=colour, linewidth=2.0, zorder=2)
        made.ax.plot([shown.value[i]], [i], color=colour, marker=marker, markersize=6, zorder=3)
    made.ax.set_ylim(n - 0.4, -0.6)
    if shown.from_zero:
        made.ax.set_xlim(left=0.0)
    style.bare(made.ax)
    made.ax.grid(axis="x", color=made.theme.faint, linewidth=0.6)
    made.ax.set_axisbelow(True)
    tables.name_rows(made.ax, Side(np.arange(n), shown.labels, shown.title))
    style.name_axes(made.ax, x=shown.meaning)
    for i, words in enumerate(shown.worst):
        made.ax.annotate(
            style.plain(middle_cut(words, 18)), (1.02, i), xycoords=("axes fraction", "data"), va="center",
            fontsize=TICK, color=made.theme.ink,
        )  # fmt: skip
    if shown.worst:
        made.ax.annotate(
            style.plain(style.wrapped(made.ax, shown.worst_title, TICK, 110)), (1.02, -0.14),
            xycoords="axes fraction", va="top", fontsize=TICK, fontweight="bold", color=made.theme.ink,
        )  # fmt: skip
    some = f" ({n} of {shown.total:,} alternatives)" if n < shown.total else ""
    equal = [label for label, mark in zip(shown.labels, shown.mark, strict=True) if mark == numbers.EQUAL]
    ties = f", as good (■): {first_of(equal)}" if equal else ""
    words = f"{answer.question}: {shown.labels[0]} (◆){ties}{some}"
    style.headline(made.ax, _title(answer, words))
    return style.finish(made)


def _shortlist(answer: Answer, ax: "Axes | None", theme: str | None) -> "Axes":
    shown = numbers.shortlist(answer)
    n = len(shown.contexts.labels)
    some = np.arange(n)
    if n > _MOST_SHORTLISTED:
        some = np.linspace(0, n - 1, _MOST_SHORTLISTED).round().astype(int)
    columns = Side(
        shown.contexts.order[some], tuple(shown.contexts.labels[c] for c in some), shown.contexts.title
    )
    place = shown.place[:, some]
    made = style.sheet(ax, theme, *tables.size(shown.alternatives, columns))
    last = max(int(place.max()), 1)
    strength = np.where(place > 0, 1.0 - 0.75 * (place - 1) / max(last - 1, 1), 0.0)
    colours = looks.shades(made.theme)(0.75 * strength)
    made.ax.imshow(colours, aspect="auto", origin="lower")
    tables.name(made.ax, shown.alternatives, columns)
    texts = np.where(place > 0, place.astype(str), "").astype(object)
    tables.write(made.ax, texts, colours)
    state = shown.state[some]
    marks = [(OPEN, "D", "open"), (EQUAL, "s", "equal")]
    for name, marker, words in marks:
        where = np.flatnonzero(state == name)
        if len(where):
            edge = made.theme.alarm if name == OPEN else made.theme.ink
            made.ax.scatter(
                where, np.full(len(where), len(place) - 0.25), marker=marker, s=24, clip_on=False, zorder=5,
                facecolor=made.theme.paper, edgecolor=edge, linewidth=1.4, label=words,
            )  # fmt: skip
    handles, labels = made.ax.get_legend_handles_labels()
    title = _title(answer, f"the {last} best per context, in their order")
    made.ax.set_ylim(-0.5, len(place) + (0.0 if handles else -0.5))
    style.key(made.ax, handles, labels, title=title) if handles else style.headline(made.ax, title)
    return style.finish(made)


def _rule(answer: Answer, ax: "Axes | None", theme: str | None) -> "Axes":
    """Return axes with the contexts in the colours of the rule; above, on a figure of its own, the tree."""
    shown = numbers.rule_map(answer)
    rows = 1 if shown.grid is None else len(shown.grid.rows.labels)
    tree, below = 0.7 * (shown.depth + 1), 0.6 + min(0.35 * rows, 5.0)
    own = ax is None
    if ax is None:
        if theme is not None:
            one_of("theme", theme, THEMES)
        upper, ax = style.canvas(6.4, 0.5 + tree + below).subplots(2, 1, height_ratios=[tree, below])
        made = Sheet(ax, THEMES[theme or "light"], True, True)
    else:
        made = style.sheet(ax, theme, 6.4, below)
    colours = [made.theme.colours[i % len(made.theme.colours)] for i in range(len(shown.leaders))]
    if shown.grid is not None:
        _on_a_grid(made, shown, shown.grid, colours)
    else:
        _in_a_row(made, shown, colours)
    words = _title(answer, "a rule, and the contexts in the colours of its ends")
    words += " (x: surely wrong)" if shown.wrong.any() else ""
    if own:
        _tree(upper, made.theme, shown, colours)
        style.headline(upper, words)
        style.finish(made._replace(ax=upper))
    else:
        faces = [_cell(colours, made.theme, i) for i in range(len(colours))]
        handles = [made.ax.scatter([], [], marker="s", s=60, color=[face]) for face in faces]
        style.key(made.ax, handles, list(shown.leaders), title=words)
    return style.finish(made)


def _cell(colours: list[str], theme: Theme, i: int) -> Any:
    return looks.blend(colours[i], theme.paper, _PALE)


def _on_a_grid(made: Sheet, shown: RuleMap, grid: Grid, colours: list[str]) -> None:
    picture = np.ones((*grid.context.shape, 3)) * looks.blend(made.theme.faint, made.theme.paper, 0.2)
    for row, column in np.argwhere(grid.context >= 0).tolist():
        c = int(grid.context[row, column])
        picture[row, column] = _cell(colours, made.theme, int(shown.named[c]))
        if shown.wrong[c]:
            made.ax.plot(
                [column], [row], marker="x", color=made.theme.alarm, markersize=8, markeredgewidth=2.2
            )
    made.ax.imshow(picture, aspect="auto", origin="lower")
    tables.name(made.ax, grid.rows, grid.columns)


def _in_a_row(made: Sheet, shown: RuleMap, colours: list[str]) -> None:
    order = np.arange(len(shown.named)) if shown.at is not None else np.argsort(shown.named, kind="stable")
    at = None if shown.at is None else shown.at[order]
    edges = cell_edges(at, len(order))
    if at is not None and len(at) > 1:
        low, high = 2 * at[0] - (at[0] + at[1]) / 2, 2 * at[-1] - (at[-1] + at[-2]) / 2
        edges = low + (high - low) * edges
    for c, left, right in zip(order.tolist(), edges[:-1], edges[1:], strict=True):
        made.ax.axvspan(left, right, color=_cell(colours, made.theme, int(shown.named[c])), linewidth=0)
        if shown.wrong[c]:
            middle = (left + right) / 2
            made.ax.plot(
                [middle], [0.5], marker="x", color=made.theme.alarm, markersize=8, markeredgewidth=2.2
            )
    made.ax.set_xlim(edges[0], edges[-1])
    made.ax.set_ylim(0, 1)
    made.ax.set_yticks([])
    style.bare(made.ax)
    made.ax.spines["left"].set_visible(False)
    if shown.at is None:
        wide = style.points(made.ax)[0]
        labels = [shown.contexts.labels[c] for c in order]
        longest = max(style.length(label) for label in labels)
        upright = len(labels) * (longest + 6) > wide
        seen = tables.thinned(len(labels), wide / (1.3 * TICK) if upright else len(labels))
        places = (edges[:-1] + edges[1:]) / 2
        texts = [style.plain(middle_cut(labels[i], 24)) for i in seen]
        made.ax.set_xticks(places[list(seen)], texts, fontsize=TICK, rotation=90 if upright else 0)
    sort = "" if shown.at is not None else ", sorted by choice"
    style.name_axes(made.ax, x=f"{shown.contexts.title}{sort}")


def _tree(ax: "Axes", theme: Theme, shown: RuleMap, colours: list[str]) -> None:
    """Draw the tree from its first condition down to its ends."""
    ax.set_axis_off()
    ax.set_xlim(0, 1)
    ax.set_ylim(shown.depth + 0.4, -0.4)
    for node in shown.tree:
        if node.parent >= 0:
            start: Node = shown.tree[node.parent]
            ax.plot(
                [start.across, node.across],
                [start.down, node.down],
                color=theme.ink,
                linewidth=1,
                zorder=1,
            )
            middle = (start.across + node.across) / 2, (start.down + node.down) / 2
            ax.text(
                *middle, node.branch, fontsize=TICK, color=theme.ink, ha="center", va="center", zorder=2,
                bbox={"facecolor": theme.paper, "edgecolor": "none", "pad": 1},
            )  # fmt: skip
        leaf = node.leader >= 0
        face = _cell(colours, theme, node.leader) if leaf else theme.paper
        words = "\n".join(looks.folded(middle_cut(node.words, 2 * _FOLDED), _FOLDED))
        ax.text(
            node.across, node.down, style.plain(words), fontsize=LABEL, ha="center", va="center", zorder=3,
            color=looks.readable(face) if leaf else theme.ink,
            bbox={"facecolor": face, "edgecolor": theme.ink, "linewidth": 0.8, "boxstyle": "round"},
        )  # fmt: skip
