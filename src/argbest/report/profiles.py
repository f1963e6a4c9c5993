"""Profiles: what is believed of the leading alternatives along one coordinate of the contexts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from argbest.answers import frames
from argbest.answers.predicting import knows_new_contexts, posterior
from argbest.checks import finite, whole
from argbest.core.arrays import Array, IntArray
from argbest.core.states import LEVEL
from argbest.errors import unknown_name
from argbest.problems.axis import Item, Label
from argbest.problems.base import Problem
from argbest.problems.labels import word
from argbest.report import curves, looks, style, tables
from argbest.report.style import Sheet
from argbest.study.study import Study
from argbest.study.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEWEST_SHOWN, _MOST_SHOWN = 4, 8  # alternatives, where nobody says how many


@dataclass(frozen=True, eq=False)
class Profiles:
    """Rewards of the leading alternatives along a coordinate, all other coordinates held."""

    coordinate: str
    held: dict[str, Label]  # the values of all other coordinates
    at: tuple[Label, ...]  # [point]
    joined: bool  # points between the simulated contexts are among them
    labels: tuple[str, ...]  # [leader]: short
    leaders: IntArray  # [leader]: positions of the alternatives, the likeliest best first
    mean: Array  # [leader, point]
    low: Array  # [leader, point]: end of the interval of the mean reward
    high: Array  # [leader, point]
    p_best: Array  # [leader, point]
    data: pd.DataFrame  # a row per leader and simulated context here: leader, at, mean, n
    subject: str  # what the means are of: the goal, or a response
    bounds: dict[str, float]  # limits on it, and where they lie


def profiles(
    study: Study,
    *,
    coordinate: str | None = None,
    context: object = None,
    leading: int | None = None,
    level: float = LEVEL,
    points: int = 121,
    response: str | None = None,
) -> Profiles:
    """Return mean and interval of the alternatives that are selected or likeliest best along a coordinate.

    ``leading`` is how many of the likeliest. By default these are all that are selected somewhere along it,
    but no more than 8; where fewer than 4 are, the likeliest others, too.
    The other coordinates are those of ``context``, by default the one where the selection is least certain;
    where there are no others it holds nothing, and must be a context of the problem.
    A numeric coordinate runs over its bounds where the model can speak of contexts never simulated, else over
    the simulated contexts. Intervals hold the mean reward with probability ``level``.
    The means are those of the goal, or of a ``response``.
    """
    style.require_study(study)
    level = finite("level", level, above=0, below=1)
    if leading is not None:
        leading = whole("leading", leading, at_least=1)
    problem = study.problem
    name, here = _coordinate(problem, coordinate), _here(study, context)
    n_points = whole("points", points, at_least=2, at_most=10**5)
    view = study.view()
    shown = _of_response(view, response)
    at, joined, frame = _believed(view, shown, name, here, n_points, level)
    mean, low, high, p_best = (
        frame[column].to_numpy(float).reshape(problem.n_alternatives, len(at))
        for column in ("mean", "low", "high", "p_best")
    )
    chance = np.nan_to_num(p_best)  # where there is no answer nobody leads
    known = _simulated(problem, name, here)
    selected = np.zeros(problem.n_alternatives, bool)
    if leading is None:
        selected[_selected(study, known, [_moved(here, name, value) for value in at])] = True
        leading = min(max(int(selected.sum()), _FEWEST_SHOWN), _MOST_SHOWN)
    order = np.lexsort((-chance.mean(axis=1), -chance.max(axis=1), ~selected))[:leading]
    labels = curves.row_labels(problem.alternatives)
    held = dict(here) if isinstance(here, dict) else {name: here}
    del held[name]
    return Profiles(
        coordinate=name, held=held, at=at, joined=joined, labels=tuple(labels[k] for k in order),
        leaders=order, mean=mean[order], low=low[order], high=high[order],
        p_best=p_best[order], data=_data(shown, order, known, name),
        subject=shown.problem.subject, bounds=_bounds(view, shown),
    )  # fmt: skip


def plot_profiles(
    study: Study,
    *,
    coordinate: str | None = None,
    context: object = None,
    leading: int | None = None,
    level: float = LEVEL,
    response: str | None = None,
    ax: "Axes | None" = None,
    theme: str | None = None,
) -> "Axes":
    """Return axes with the posterior mean of the leading alternatives, its intervals, and the sample means.

    See `profiles` for what is shown. Larger marks are means of more replications; a dashed line is a limit on
    what is shown.

    Args:
        study: The study to draw.
        coordinate: The column of the contexts along which they are drawn; by default the first.
        context (label or row): Where the other coordinates are held; by default where the selection is least
            certain.
        leading: How many of the likeliest alternatives; by default all that are selected somewhere, but no
            more than 8.
        level: The probability with which an interval holds the mean reward.
        response: The response whose means are drawn; by default those of the goal.
        ax: The axes to draw on; by default new ones.
        theme: "light" or "dark".
    """
    found = profiles(
        study, coordinate=coordinate, context=context, leading=leading, level=level, response=response
    )
    sheet = style.sheet(ax, theme, 5.2, 3.8)
    (_lines if found.joined else _bars)(sheet, found)
    for text, bound in found.bounds.items():
        sheet.ax.axhline(
            bound, color=sheet.theme.alarm, linewidth=1.2, linestyle="--", label=style.plain(text), zorder=2
        )
    wanted = "larger is better" if study.problem.sign > 0 else "smaller is better"
    if found.subject != study.problem.subject:
        wanted = ", ".join(found.bounds) or "neither goal nor limit"
    contexts = study.problem.contexts
    along = found.coordinate if contexts.columns else word(contexts)
    style.name_axes(sheet.ax, x=along, y=f"mean {found.subject}\n({wanted})")
    style.bare(sheet.ax)
    held = ", ".join(f"{n} = {curves.shorten([v])[0]}" for n, v in found.held.items())
    title = style.titled(study.problem.name, f"leading alternatives, {level:.0%} intervals")
    handles, labels = sheet.ax.get_legend_handles_labels()
    style.key(sheet.ax, handles, labels, title=title + (f", at {held}" if held else ""))
    return style.finish(sheet)


def _lines(sheet: Sheet, found: Profiles) -> None:
    at = np.array(found.at, float)
    for i, label in enumerate(found.labels):
        look = looks.look(sheet.theme, i)
        colour, marker = look["color"], look.pop("marker")
        sheet.ax.plot(at, found.mean[i], linewidth=1.5, zorder=3, **look)
        sheet.ax.plot([], [], label=label, marker=marker, markerfacecolor=sheet.theme.paper, **look)
        sheet.ax.fill_between(at, found.low[i], found.high[i], color=colour, alpha=0.16, linewidth=0)
        own = found.data[found.data["leader"] == i]
        _points(sheet, own["at"].to_numpy(float), own, colour, marker)
    sheet.ax.margins(x=0.03)  # the marks at both ends are whole


def _bars(sheet: Sheet, found: Profiles) -> None:
    """Draw a bar per leader and context, side by side."""
    places = {value: i for i, value in enumerate(found.at)}
    step = 0.7 / len(found.labels)
    for i, label in enumerate(found.labels):
        look = looks.look(sheet.theme, i)
        x = np.arange(float(len(found.at))) + (i - (len(found.labels) - 1) / 2) * step
        reach = np.maximum([found.mean[i] - found.low[i], found.high[i] - found.mean[i]], 0.0)
        sheet.ax.errorbar(
            x, found.mean[i], yerr=reach, label=label, linestyle="none", marker="_", markersize=7,
            color=look["color"], linewidth=2.0,
        )  # fmt: skip
        own = found.data[found.data["leader"] == i]
        _points(sheet, x[[places[value] for value in own["at"]]], own, look["color"], look["marker"])
    wide, high, _ = style.points(sheet.ax)
    labels: Sequence[str] = curves.shorten(found.at)
    upright = sum(style.length(label) + style.TICK for label in labels) > wide
    labels = style.cut(labels, 0.3 * high) if upright else labels
    shown = tables.thinned(len(labels), wide / (1.3 * style.TICK)) if upright else range(len(labels))
    names = [style.plain(labels[i]) for i in shown]
    sheet.ax.set_xticks(shown, names, rotation=90 if upright else 0)


def _points(sheet: Sheet, at: Array, own: pd.DataFrame, colour: str, marker: str) -> None:
    """Draw sample means, the larger the more replications are behind them."""
    size = 10.0 + 26.0 * np.sqrt(own["n"].to_numpy(float) / max(int(own["n"].max()), 1)) if len(own) else 10.0
    sheet.ax.scatter(
        at, own["mean"], s=size, marker=marker, facecolor=sheet.theme.paper, edgecolor=colour, zorder=4
    )


def _coordinate(problem: Problem, given: str | None) -> str:
    """Return the coordinate meant: the given one, else the first number that varies, else the first."""
    names = problem.contexts.coordinates
    if given is not None:
        if given not in names:
            raise unknown_name("context coordinate", given, names)
        return given
    varying = [name for name, (low, high) in problem.bounds.items() if low < high]
    return (varying or list(names))[0]


def _here(study: Study, context: object) -> Item:
    """Return the context given, or the least certain one of the study."""
    axis = study.problem.contexts
    if context is None:
        return axis.item(int(np.nanargmin(study.certificate().pcs)))
    here = axis.rows(context).item(0)
    if len(axis.coordinates) == 1:  # it holds nothing, so a wrong one would go unnoticed
        axis.index(here)
    return here


def _of_response(view: View, response: str | None) -> View:
    """Return the study as if it asked of the response that is meant, by default of the goal, alone."""
    if response is None:
        return view
    known = view.problem.responses or (view.problem.reward,)
    if response not in known:
        raise unknown_name("response", response, known)
    return view.responses[known.index(response)] if view.problem.responses else view


def _bounds(view: View, shown: View) -> dict[str, float]:
    """Return the limits on what is shown, and where they lie."""
    form = shown.problem.outcome_forms[0].coefficients
    return {
        str(limit): limit.bound
        for limit in view.problem.limits
        if np.array_equal(np.abs(limit.slack(view.problem.responses).coefficients), np.abs(form))
        and str(limit.sum) == shown.problem.subject
    }


def _believed(
    view: View, shown: View, name: str, here: Item, points: int, level: float
) -> tuple[tuple[Label, ...], bool, pd.DataFrame]:
    """Return the values of the coordinate, whether they fill its bounds, and the posterior there.

    Means are those of what is ``shown``, probabilities those of the study.
    """
    values = view.problem.contexts.coordinates[name]
    low, high = view.problem.bounds.get(name, (0.0, 0.0))
    joined = low < high and not isinstance(values[0], bool) and knows_new_contexts(view)
    if low < high and not isinstance(values[0], bool):
        values = tuple(values[c] for c in _simulated(view.problem, name, here)) or values
    at = tuple(np.linspace(low, high, points).tolist()) if joined else tuple(dict.fromkeys(values))
    rows = [_moved(here, name, value) for value in at]
    frame = posterior(view, rows, level=level)
    if shown is not view:
        frame = posterior(shown, rows, level=level).assign(p_best=frame["p_best"])
    return at, joined, frame


def _moved(here: Item, name: str, value: Label) -> Item:
    return here | {name: value} if isinstance(here, dict) else value


def _simulated(problem: Problem, name: str, here: Item) -> list[int]:
    """Return the contexts that differ from the one held in this coordinate alone, in reading order."""
    order: list[int] = curves.side(problem.contexts).order.tolist()
    if not isinstance(here, dict):
        return order
    columns = problem.contexts.columns
    return [c for c in order if all(columns[n][c] == here[n] for n in columns if n != name)]


def _selected(study: Study, known: list[int], rows: list[Item]) -> list[int]:
    """Return the alternatives selected in the simulated contexts; where there are none, in these rows."""
    frame = frames.selection(study.view(), study.indifference()).iloc[known] if known else study.predict(rows)
    return [study.problem.alternatives.index(label) for label in frame["selected"] if label is not None]


def _data(view: View, leaders: IntArray, known: list[int], name: str) -> pd.DataFrame:
    values = view.problem.contexts.coordinates[name]
    tally = view.tally
    rows = [
        (i, values[c], view.problem.sign * float(tally.mean[k, c]), int(tally.count[k, c]))
        for i, k in enumerate(leaders.tolist())
        for c in known
        if tally.count[k, c]
    ]
    return pd.DataFrame(rows, columns=["leader", "at", "mean", "n"])
