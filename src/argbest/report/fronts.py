"""Pictures of what is non-dominated: the means of two responses with intervals, a panel per context."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from argbest.answers.answering import Answer
from argbest.answers.pareto import COLUMN, NAMED_FROM
from argbest.checks import one_of
from argbest.core.arrays import Array, BoolArray
from argbest.core.goals import quoted
from argbest.errors import InputError
from argbest.report import curves, style
from argbest.report import svg as draw
from argbest.report.answer_numbers import tick_text, ticks
from argbest.report.looks import THEMES, middle_cut
from argbest.report.style import TICK, Sheet
from argbest.texts import as_html

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS = 6  # contexts side by side
_MOST_NAMES = 8  # alternatives whose names are written beside their marks
_ACROSS = 3  # panels in a row of the figure
_HIGH = 150.0  # pixels of a panel of the sketch
_DOMINATED = "dominated (P below 0.5)"
_FRONT = "non-dominated (P of 0.5 or more)"


@dataclass(frozen=True)
class Panel:
    """Two goals of all alternatives in one context; arrays are [goal, alternative]."""

    title: str
    labels: tuple[str, ...]
    mean: Array
    low: Array
    high: Array
    front: BoolArray  # [alternative]: whether it is named
    likely: Array  # [alternative]


def panels(answer: Answer) -> tuple[list[Panel], list[str], int]:
    """Return what is drawn of some contexts, what the axes mean, and how many contexts there are."""
    problem, table = answer.view.problem, answer.table
    goals = [str(name).removeprefix("mean.") for name in table if str(name).startswith("mean.")]
    if len(goals) != 2:
        first, second = (quoted(each) if each in problem.responses else each for each in goals[:2])
        raise InputError(
            f"there is no picture of {len(goals)} responses at once. Its `table` has the numbers; or ask for "
            f"two of them, as in 'pareto:min {first},min {second}'."
        )
    side, labels = curves.side(problem.contexts), curves.row_labels(problem.alternatives)
    n, k = len(side.labels), int(problem.alternatives.active.sum())
    some = np.unique(np.linspace(0, n - 1, min(n, MOST_PANELS)).round().astype(int))
    found = []
    for place in some.tolist():
        c = int(problem.contexts.places[side.order[place]])
        rows = table.iloc[c * k : (c + 1) * k]
        rows = rows[rows[COLUMN].notna()]
        mean, low, high = (
            np.array([rows[f"{end}.{goal}"].to_numpy(float) for goal in goals])
            for end in ("mean", "low", "high")
        )
        own = [labels[i] for i in problem.alternatives.locate(rows).tolist()] if len(rows) else []
        likely = rows[COLUMN].to_numpy(float)
        title = f"{side.title} {side.labels[place]}" if n > 1 else ""
        found.append(Panel(title, tuple(own), mean, low, high, likely >= NAMED_FROM, likely))
    return found, goals, n


def plot_front(answer: Answer, ax: "Axes | None", theme: str | None) -> "Axes":
    """Return the first axes; on a figure of its own there is one per context, at most six."""
    shown, goals, n = panels(answer)
    if ax is None:
        if theme is not None:
            one_of("theme", theme, THEMES)
        across = min(len(shown), _ACROSS)
        down = -(-len(shown) // across)
        figure = style.canvas(max(2.6 * across, 4.2), 0.7 + 2.5 * down)
        all_axes = list(figure.subplots(down, across, squeeze=False).ravel())
        for unused in all_axes[len(shown) :]:
            unused.set_axis_off()
        sheets = [Sheet(each, THEMES[theme or "light"], True, True) for each in all_axes[: len(shown)]]
    else:
        sheets, shown = [style.sheet(ax, theme, 4.2, 3.2)], shown[:1]
    for made, panel in zip(sheets, shown, strict=True):
        _panel(made, panel, goals)
    handles, labels = sheets[0].ax.get_legend_handles_labels()
    words = f"{answer.question}, 90 % intervals" + (
        f" ({len(shown)} of {n} contexts)" if len(shown) < n else ""
    )
    title = style.titled(answer.view.problem.name, words)
    if ax is None:
        figure.suptitle(style.wrapped(sheets[0].ax, title), fontsize=style.TITLE, color=sheets[0].theme.ink)
        key = figure.legend(
            handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=TICK
        )
        for text in key.get_texts():
            text.set_color(sheets[0].theme.ink)
    else:
        style.key(sheets[0].ax, handles, labels, title=title)
    for made in sheets[1:]:
        style.finish(made)
    return style.finish(sheets[0])


def _panel(made: Sheet, panel: Panel, goals: list[str]) -> None:
    looks = (
        (panel.front, "D", made.theme.alarm, _FRONT, made.theme.alarm),
        (~panel.front, "o", made.theme.colours[0], _DOMINATED, made.theme.paper),
    )
    for which, marker, colour, words, face in looks:
        mean = panel.mean[:, which]
        around = [np.stack([mean[i] - panel.low[i, which], panel.high[i, which] - mean[i]]) for i in (0, 1)]
        made.ax.errorbar(
            mean[0], mean[1], xerr=np.maximum(around[0], 0.0), yerr=np.maximum(around[1], 0.0), fmt=marker,
            color=colour, markerfacecolor=face, markersize=6, linewidth=1.2, label=words,
        )  # fmt: skip
    if len(panel.labels) <= _MOST_NAMES:
        for label, x, y in zip(panel.labels, *panel.mean, strict=True):
            made.ax.annotate(
                style.plain(middle_cut(label, 16)), (x, y), (5, 5), textcoords="offset points",
                fontsize=TICK, color=made.theme.ink,
            )  # fmt: skip
    style.bare(made.ax)
    style.name_axes(made.ax, x=goals[0], y=goals[1])
    if panel.title:
        made.ax.set_title(style.plain(middle_cut(panel.title, 34)), fontsize=style.LABEL)


def sketch_front(answer: Answer) -> list[str]:
    """Return a small picture per context as SVG, none where there are more than two responses."""
    if sum(str(name).startswith("mean.") for name in answer.table) != 2:
        return []
    shown, goals, n = panels(answer)
    note = f"{len(shown)} of {n:,} contexts are drawn" if len(shown) < n else ""
    return [_sketched(panel, goals, note, last=i == len(shown) - 1) for i, panel in enumerate(shown)]


def _sketched(panel: Panel, goals: list[str], note: str, *, last: bool) -> str:
    left, right, top = 62.0, draw.WIDTH - 90.0, 22.0
    bottom = top + _HIGH
    ends = [_range(panel.low[i], panel.high[i]) for i in (0, 1)]

    def x(value: float) -> float:
        return left + (right - left) * (value - ends[0][0]) / (ends[0][1] - ends[0][0])

    def y(value: float) -> float:
        return bottom - _HIGH * (value - ends[1][0]) / (ends[1][1] - ends[1][0])

    faint = 'stroke="currentColor" stroke-opacity="0.25"'
    drawn = [draw.text(2, 12, f"{panel.title}  ↑ {goals[1]}".strip(), "start", 'font-weight="600"')]
    for tick in ticks(*ends[1], 4):
        drawn += [
            _line(left, y(tick), right, y(tick), faint),
            draw.text(left - 5, y(tick) + 4, tick_text(tick), "end"),
        ]
    for k, label in enumerate(panel.labels):
        across, up = x(float(panel.mean[0, k])), y(float(panel.mean[1, k]))
        colour = draw.OPEN_MARK if panel.front[k] else draw.SHADE
        rest = f'stroke="{colour}" stroke-width="1.6"'
        drawn.append(_line(x(float(panel.low[0, k])), up, x(float(panel.high[0, k])), up, rest))
        drawn.append(_line(across, y(float(panel.low[1, k])), across, y(float(panel.high[1, k])), rest))
        said = f"{label}: P(non-dominated) {panel.likely[k]:.3f}"
        drawn.append(_mark(across, up, front=bool(panel.front[k]), said=said))
        if len(panel.labels) <= _MOST_NAMES:
            drawn.append(draw.text(across + 7, up - 6, middle_cut(label, 12), "start"))
    at = np.array([x(tick) for tick in ticks(*ends[0])], float)
    bottom, below = draw.labels_below([tick_text(tick) for tick in ticks(*ends[0])], at, bottom)
    legend = (
        [
            draw.Key(_mark(6, -4, front=True), 12, _FRONT),
            draw.Key(_mark(6, -4, front=False), 12, _DOMINATED),
            *([draw.Key("", 0, note)] if note else []),
        ]
        if last
        else []
    )
    return draw.picture([*drawn, *below], goals[0], bottom, legend)


def _range(low: Array, high: Array) -> tuple[float, float]:
    """Return where an axis begins and ends."""
    if not len(low):
        return 0.0, 1.0
    first, last = float(low.min()), float(high.max())
    room = 0.06 * (last - first) or max(abs(first), 1.0) * 0.05
    return first - room, last + room


def _mark(x: float, y: float, *, front: bool, said: str = "") -> str:
    """Return a full diamond for what is non-dominated, a hollow circle for the others."""
    title = f"<title>{as_html(said)}</title>" if said else ""
    if front:
        turned = f'fill="{draw.OPEN_MARK}" transform="rotate(45 {x:.1f} {y:.1f})"'
        return draw.rect(x - 4.5, y - 4.5, 9, 9, turned, title)
    hollow = f'fill="none" stroke="{draw.SHADE}" stroke-width="2" pointer-events="all"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {hollow}>{title}</circle>'


def _line(x: float, y: float, end: float, down: float, rest: str) -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{end:.1f}" y2="{down:.1f}" {rest}/>'
