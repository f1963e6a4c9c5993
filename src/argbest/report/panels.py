"""Contexts of several columns in panels: two columns span every panel, a third tells the panels apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.problems.base import Problem
from argbest.problems.units import of_column, titled
from argbest.report import curves
from argbest.report import svg as draw
from argbest.report.answer_numbers import tick_text, ticks
from argbest.report.looks import middle_cut
from argbest.texts import number

MOST = 1000  # contexts drawn
_MOST_PANELS = 6
_GROUPS = 3  # of a column of numbers that tells panels apart
_MOST_LEVELS = 12  # values of a column that have a row or a column each
_PANEL_HEIGHT = 130.0  # pixels, of numbers drawn to scale
_TALLEST, _LOWEST = 34.0, 3.0  # pixels of a row
_GAP = 14.0  # between panels


@dataclass(frozen=True)
class Scale:
    """One axis of all panels."""

    title: str
    values: Array  # [context]: the place of its level, or the number itself
    labels: tuple[str, ...]  # of the levels; () where numbers are drawn to scale


@dataclass(frozen=True)
class Arrangement:
    """Where contexts lie, in reading order."""

    across: Scale
    up: Scale
    panel: IntArray  # [context]
    titles: tuple[str, ...]  # of the panels; one without a title where there is one alone
    left_out: tuple[str, ...]  # columns that no axis shows


class ContextCell(NamedTuple):
    """The place of a context in the picture."""

    context: int  # in reading order
    left: float
    top: float
    wide: float
    high: float


class Placed(NamedTuple):
    """Cells of all contexts, the texts around them, and where the next line goes."""

    cells: list[ContextCell]
    texts: list[str]
    bottom: float
    title: str  # below


def arranged(problem: Problem, chosen: IntArray) -> Arrangement | None:
    """Return how contexts are laid out; None where fewer than two of their columns vary.

    Numbers span the axes where there are any, and a category tells panels apart; of several candidates those
    on which what is ``chosen`` [context in reading order] depends most.
    """
    axis, order = problem.contexts, curves.side(problem.contexts).order
    varying = [name for name, values in axis.coordinates.items() if len(set(values)) > 1]
    if len(varying) < 2:
        return None
    numeric = {n for n in axis.metric if not isinstance(axis.metric[n][0], bool)}
    numbers = [name for name in varying if name in numeric]
    names = [name for name in varying if name not in numeric]
    if len(varying) > 2:
        for some in (numbers, names):
            some.sort(key=lambda name: -_dependence(_levelled(problem, name)[0][order], chosen))
        several = [*names, *numbers[2:]] if len(numbers) > 1 else names[2 - len(numbers) :]
        by = several[0]
        spanning = [name for name in (*numbers, *names) if name != by][:2]
        panel, titles = _panels(problem, by, order)
    else:
        by, spanning = "", varying
        panel, titles = np.zeros(len(order), np.int64), ("",)
    across, up = (_scale(problem, name, order) for name in sorted(spanning, key=varying.index))
    shown = {by, *spanning}
    return Arrangement(across, up, panel, titles, tuple(name for name in varying if name not in shown))


def placed(found: Arrangement) -> Placed:
    """Return every context as a cell: of the levels of both axes, or a mark at its numbers."""
    n, rows = len(found.titles), max(len(found.up.labels), 1)
    side_by_side = 1 if n == 1 else 2 if n in (2, 4) or len(found.across.labels) > 8 else 3
    low, high = _extent(found.up)
    upward = list(found.up.labels) or [tick_text(t) for t in ticks(low, high, 5)]
    frame = draw.framed(upward, found.up.title)
    wide = (frame.right - frame.left - _GAP * (side_by_side - 1)) / side_by_side
    tall = _PANEL_HEIGHT * (1.8 if n == 1 else 1.0)
    if found.up.labels:
        tall = rows * min(_TALLEST, max((tall * 1.6 if n == 1 else tall) / rows, _LOWEST))
    heading = draw.LINE if n > 1 else 0.0
    cells: list[ContextCell] = []
    texts = [
        draw.text(2, 12 + draw.LINE * i, line, "start", 'font-weight="600"')
        for i, line in enumerate(frame.title)
    ]
    top = frame.top
    for first in range(0, n, side_by_side):
        ends = []
        for j, panel in enumerate(range(first, min(first + side_by_side, n))):
            left, begin = frame.left + j * (wide + _GAP), top + heading
            title = middle_cut(found.titles[panel], int(wide / draw.BOLD))
            texts += [draw.text(left + wide / 2, top + 12, title, extra='font-weight="600"')] if title else []
            box = left, begin, wide, tall
            texts += [_border(*box)]
            cells += _cells(found, panel, *box)
            if j == 0:
                texts += _beside(found.up, left, begin, tall)
            if panel + side_by_side >= n:
                bottom, below = _below(found.across, left, wide, begin + tall)
                texts += below
                ends.append(bottom)
            else:
                ends.append(begin + tall + 6)
        top = max(ends)
    more = f", for every {' and '.join(found.left_out)}" if found.left_out else ""
    return Placed(cells, texts, top, f"{found.across.title}{more}")


def _dependence(group: IntArray, chosen: IntArray) -> float:
    """Return by how much knowing the group lowers the chance that two contexts differ in their choice."""
    whole = _impurity(chosen)
    parts = [chosen[group == each] for each in np.unique(group)]
    return whole - sum(len(part) * _impurity(part) for part in parts) / len(chosen)


def _impurity(chosen: IntArray) -> float:
    _, number = np.unique(chosen, return_counts=True)
    return 1.0 - float(np.sum((number / len(chosen)) ** 2))


def _levelled(problem: Problem, name: str, most: int = _GROUPS + 1) -> tuple[IntArray, tuple[str, ...]]:
    """Return the group of every context by one column, and what the groups are called.

    Numbers of many values are put into groups of about equal size.
    """
    values = problem.contexts.coordinates[name]
    side, which = curves.levels(name, values)
    if name not in problem.contexts.metric or len(side.labels) <= most:
        return which, side.labels
    x = np.array(values, float)
    edges = np.unique(np.quantile(x, np.linspace(0, 1, _GROUPS + 1)[1:-1], method="inverted_cdf"))
    said = [number(each, 2) for each in edges.tolist()]
    said = said if len(set(said)) == len(said) else curves.shorten(edges.tolist())
    words = (f"≤ {said[0]}", *(f"{a} to {b}" for a, b in pairwise(said)), f"> {said[-1]}")
    return np.searchsorted(edges, x, side="left"), words


def _panels(problem: Problem, name: str, order: IntArray) -> tuple[IntArray, tuple[str, ...]]:
    """Return the panel of every context in reading order, and titles; rare categories share the last."""
    group, labels = _levelled(problem, name, _MOST_PANELS)
    if len(labels) > _MOST_PANELS:
        frequent = np.argsort(-np.bincount(group, minlength=len(labels)), kind="stable")[: _MOST_PANELS - 1]
        kept = np.sort(frequent)
        place = np.full(len(labels), _MOST_PANELS - 1)
        place[kept] = np.arange(len(kept))
        group = place[group]
        labels = (*(labels[i] for i in kept), f"{len(labels) - len(kept)} others")
    return group[order], tuple(f"{problem.column_word(name)} {label}" for label in labels)


def _scale(problem: Problem, name: str, order: IntArray) -> Scale:
    values = problem.contexts.coordinates[name]
    title = titled(problem.column_word(name), of_column(problem.unit, problem.contexts, name))
    side, which = curves.levels(name, values)
    if name not in problem.contexts.metric or len(side.labels) <= _MOST_LEVELS:
        return Scale(title, which[order].astype(float), side.labels)
    return Scale(title, np.array(values, float)[order], ())


def _extent(scale: Scale) -> tuple[float, float]:
    """Return the numbers at both ends of an axis."""
    if scale.labels:
        return 0.0, float(len(scale.labels))
    low, high = float(scale.values.min()), float(scale.values.max())
    room = 0.04 * (high - low)
    return low - room, high + room


def _cells(
    found: Arrangement, panel: int, left: float, top: float, wide: float, tall: float
) -> list[ContextCell]:
    """Return the cells of one panel; contexts that share a cell divide it from left to right."""
    some = np.flatnonzero(found.panel == panel)
    x, width = _along(found.across, some, left, wide)
    y, height = _along(found.up, some, 0.0, tall)
    y = top + tall - y - height  # upwards
    shared: dict[tuple[float, float], list[int]] = {}
    for i in range(len(some)):
        shared.setdefault((round(x[i], 3), round(y[i], 3)), []).append(i)
    return [
        ContextCell(
            int(some[i]), float(x[i]) + width * j / len(group), float(y[i]), width / len(group), height
        )
        for group in shared.values()
        for j, i in enumerate(group)
    ]


def _along(scale: Scale, some: IntArray, begin: float, room: float) -> tuple[Array, float]:
    """Return where contexts begin along an axis, and how wide each is."""
    low, high = _extent(scale)
    if scale.labels:
        size = room / len(scale.labels)
        return begin + size * scale.values[some], size
    size = float(np.clip(room / np.sqrt(max(len(some), 1)) / 2, 4.0, 9.0))
    return begin + room * (scale.values[some] - low) / ((high - low) or 1.0) - size / 2, size


def _beside(scale: Scale, left: float, top: float, tall: float) -> list[str]:
    """Return the texts left of a panel."""
    low, high = _extent(scale)
    if scale.labels:
        n = len(scale.labels)
        middles = top + tall - tall / n * (np.arange(n) + 0.5)
        step = max(1, int(np.ceil(13 * n / tall)))
        pairs = list(zip(scale.labels, middles.tolist(), strict=True))[::step]
    else:
        pairs = [(tick_text(t), top + tall * (high - t) / (high - low)) for t in ticks(low, high, 5)]
    return [draw.text(left - 5, y + 4, draw.cut(label), "end") for label, y in pairs]


def _below(scale: Scale, left: float, wide: float, bottom: float) -> tuple[float, list[str]]:
    """Return where the next line goes, and the texts below a panel."""
    low, high = _extent(scale)
    if scale.labels:
        labels: Sequence[str] = scale.labels
        at = left + wide * (np.arange(len(labels)) + 0.5) / len(labels)
    else:
        found = ticks(low, high, max(4, int(wide / 60)))
        labels = [tick_text(t) for t in found]
        at = left + wide * (np.array(found) - low) / (high - low)
    room = left - _GAP / 2, left + wide + _GAP / 2
    return draw.labels_below(labels, np.asarray(at, float), bottom, room)


def _border(left: float, top: float, wide: float, tall: float) -> str:
    return draw.rect(left, top, wide, tall, 'fill="none" stroke="currentColor" stroke-opacity="0.25"')
