"""The policy map as SVG: which alternative where, and how surely; in the colours of the page around it.

Every context is an element of class "hit" with its position as ``data-c`` and its choice in words as title.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from argbest.answers.predicting import coordinate
from argbest.core.arrays import Array, IntArray
from argbest.core.states import EQUAL, LEVEL, NO_FEASIBLE, OPEN, SURE
from argbest.report import curves
from argbest.report.curves import Grid, PolicyMap, Side
from argbest.report.looks import columns, folded, middle_cut
from argbest.report.wording import one_by_one
from argbest.study.study import Study
from argbest.texts import as_html

WIDTH = 460
MOST = 1000  # contexts drawn as cells
MOST_COLUMNS = 400  # contexts side by side: a pixel each
_SHADE, _OPEN = "#2f7fc6", "#d9601a"  # they stand out from white and from black
_HUES = ("#2f7fc6", "#d9601a", "#2a9d6f", "#b0568b", "#b58900", "#5fb6d9", "#7a7f87", "#8a8a2e")
_FRAMES = {
    EQUAL: 'fill="none" stroke="currentColor" stroke-dasharray="1 2"',
    OPEN: 'fill="none" stroke="currentColor" stroke-dasharray="4 2" stroke-width="1.6"',
}
_LETTER, _BOLD, _LINE = 7.3, 8.1, 16.0  # pixels
_LONGEST_LABEL = 28  # columns of a label: not quite half of the width
_LEAST_DRAWN = 0.02  # P(best) below which nothing is drawn
_LEGEND_STEPS = (0.3, 0.65, 1.0)  # P(best) in the legend
_LEAST_IN_A_ROW = 0.05  # P(best) that an alternative needs somewhere to have a row


class _Frame(NamedTuple):
    """Where the cells lie: left and right end, and where they begin from above; and the title above them."""

    left: float
    right: float
    top: float
    title: list[str]


class _Key(NamedTuple):
    """A line of the legend: what is drawn, how wide that is, and what it means."""

    drawn: str
    wide: float
    words: str


def sketch(study: Study) -> str:
    """Return the map: bands along one coordinate, cells for two, else a strip sorted by choice."""
    policy, grid = curves.policy_map(study), curves.grid(study.problem)
    said = one_by_one(study)
    if grid is not None and study.problem.n_contexts <= MOST:
        return _cells(policy, grid, said)
    name = coordinate(study.problem)
    at = None if name is None else np.array(study.problem.contexts.coordinates[name], float)
    return _bands(policy, at, said, sort=len(study.problem.contexts.coordinates) > 1)


def _bands(policy: PolicyMap, at: Array | None, said: Sequence[str], *, sort: bool) -> str:
    """Return a column per context and a row per alternative that may be best somewhere."""
    shown = np.arange(len(policy.selected))
    if sort:
        shown = np.lexsort((-np.nan_to_num(policy.p_best), policy.selected))
    if len(shown) > MOST_COLUMNS:
        shown = shown[np.linspace(0, len(shown) - 1, MOST_COLUMNS).round().astype(int)]
    likely = np.nan_to_num(policy.probability).max(axis=1) >= _LEAST_IN_A_ROW
    rows = np.flatnonzero(likely | np.isin(np.arange(len(likely)), policy.selected))
    names = [policy.alternatives.labels[k] for k in rows]
    frame = _frame(names, policy.alternatives.title)
    inside = _edges(None if at is None else np.sort(at)[shown], len(shown))
    edges = frame.left + (frame.right - frame.left) * inside
    high = min(24.0, max(320.0 / len(rows), 3.0))
    drawn: list[str] = []
    hits, bottom = [], frame.top + high * len(rows)
    for c, x, end in zip(shown.tolist(), edges[:-1], edges[1:], strict=True):
        drawn += _column(policy, c, rows, x, end - x, bottom, high)
        place = int(policy.contexts.order[c])
        hits.append(_hit(x, frame.top, end - x, bottom - frame.top, place, said))
    middles = bottom - high * (np.arange(len(rows)) + 0.5)
    drawn += [*hits, *_left(frame, names, middles, high)]
    ticks = [] if sort and len(shown) > 12 else [policy.contexts.labels[c] for c in shown]
    bottom, below = _below(ticks, (edges[:-1] + edges[1:]) / 2, bottom)
    title = f"{policy.contexts.title}{', sorted by choice' if sort else ''}"
    title += f" ({len(shown)} of {len(policy.selected):,})" if len(shown) < len(policy.selected) else ""
    shades = [f'fill="{_SHADE}" fill-opacity="{_band_depth(p):.2f}"' for p in _LEGEND_STEPS]
    return _svg([*drawn, *below], title, bottom, [*_marks(policy), _scale(shades, "more likely the best")])


def _column(
    policy: PolicyMap, c: int, rows: IntArray, x: float, wide: float, bottom: float, high: float
) -> Iterator[str]:
    """Yield the cells of a context, the stronger the likelier, and a mark at its choice."""
    for row in np.flatnonzero(policy.probability[rows, c] >= _LEAST_DRAWN).tolist():
        depth = _band_depth(policy.probability[rows[row], c])
        y = bottom - high * (row + 1)
        yield _rect(x, y, wide, high, f'fill="{_SHADE}" fill-opacity="{depth:.2f}"')
    if policy.answered[c] and (wide >= 5 or policy.state[c] != SURE):
        row = int(np.searchsorted(rows, policy.selected[c]))
        size = min(5.0, 0.45 * high, max(0.4 * wide, 2.0))
        yield _mark(policy.state[c], x + wide / 2, bottom - high * (row + 0.5), size)


def _cells(policy: PolicyMap, grid: Grid, said: Sequence[str]) -> str:
    """Return a cell per context, coloured by its alternative; framed where it is equal or open."""
    n_rows, n_columns = grid.context.shape
    frame = _frame(grid.rows.labels, grid.rows.title)
    wide, high = (frame.right - frame.left) / n_columns, min(34.0, max(360.0 / n_rows, 3.0))
    leaders = np.unique(policy.selected[policy.answered]).tolist()
    fits = max((_length(policy.alternatives.labels[k]) for k in leaders), default=0) < wide - 4 and high >= 13

    def fill(chosen: int, p: float) -> str:
        hue = _hue(leaders.index(chosen), len(leaders))
        return f'fill="{hue}" fill-opacity="{_cell_depth(p):.2f}"'

    drawn, hits, bottom = [], [], frame.top + high * n_rows
    for row, column in np.argwhere(grid.context >= 0).tolist():
        c, x, y = int(grid.context[row, column]), frame.left + wide * column, bottom - high * (row + 1)
        hits.append(_hit(x, y, wide, high, int(policy.contexts.order[c]), said))
        if not policy.answered[c]:
            continue
        drawn.append(_rect(x, y, wide, high, fill(policy.selected[c], policy.p_best[c])))
        if policy.state[c] in _FRAMES:
            drawn.append(_rect(x + 2, y + 2, wide - 4, high - 4, _FRAMES[policy.state[c]]))
        if fits:
            drawn.append(
                _text(x + wide / 2, y + high / 2 + 4, policy.alternatives.labels[policy.selected[c]])
            )
    middles = bottom - high * (np.arange(n_rows) + 0.5)
    drawn += [*hits, *_left(frame, grid.rows.labels, middles, high)]
    centres = frame.left + wide * (np.arange(n_columns) + 0.5)
    bottom, below = _below(grid.columns.labels, centres, bottom)
    legend = _hue_legend(leaders, policy.alternatives, fill)
    for state, words in _meanings(policy).items():
        some = np.flatnonzero(policy.state == state)
        if state in _FRAMES and some.size:  # as the first cell that has this frame
            cell = _rect(0, -11, 18, 14, fill(policy.selected[some[0]], policy.p_best[some[0]]))
            legend.append(_Key(cell + _rect(1.5, -9.5, 15, 11, _FRAMES[state]), 18, words))
    if leaders:
        legend.append(_scale([fill(leaders[0], p) for p in _LEGEND_STEPS], "surer"))
    return _svg([*drawn, *below], grid.columns.title, bottom, legend)


def _band_depth(p: float) -> float:
    """Return how opaque the cell of an alternative is that is the best with probability p."""
    return 0.06 + 0.74 * float(p)


def _cell_depth(p: float) -> float:
    """Return how opaque the cell of a context is whose choice is the best with probability p."""
    return 0.12 + 0.63 * float(p) ** 2


def _frame(labels: Sequence[str], title: str) -> _Frame:
    lines = folded(title, (WIDTH - 4) / _BOLD)
    left = 14 + max(map(_length, map(_cut, labels)))
    return _Frame(left, WIDTH - 8, 4 + _LINE * len(lines), lines)


def _edges(at: Array | None, n: int) -> Array:
    """Return where columns begin and end, from 0 to 1: half way between neighbours."""
    if at is None or n < 2 or at[0] == at[-1]:
        return np.linspace(0.0, 1.0, n + 1)
    inner = (at[:-1] + at[1:]) / 2
    edges = np.concatenate([[2 * at[0] - inner[0]], inner, [2 * at[-1] - inner[-1]]])
    return np.asarray((edges - edges[0]) / (edges[-1] - edges[0]))


def _left(frame: _Frame, labels: Sequence[str], at: Any, high: float) -> list[str]:
    """Return the labels left of the cells, those that do not overlap, and the title above them."""
    step = max(1, int(np.ceil(13 / high)))
    some = [
        _text(frame.left - 5, y + 4, _cut(label), "end")
        for label, y in list(zip(labels, at, strict=True))[::step]
    ]
    heads = (
        _text(2, 12 + _LINE * i, line, "start", 'font-weight="600"') for i, line in enumerate(frame.title)
    )
    return [*heads, *some]


def _below(labels: Sequence[str], at: Array, bottom: float) -> tuple[float, list[str]]:
    """Return where the next line goes, and labels below the cells: those that do not overlap."""
    texts, end = [], -9.0
    for label, x in zip(map(_cut, labels), at.tolist(), strict=False):
        half = _length(label) / 2
        x = min(max(x, half), WIDTH - half)
        if x - half > end + 4:
            texts.append(_text(x, bottom + 14, label))
            end = x + half
    return bottom + (18 if texts else 4), texts


def _meanings(policy: PolicyMap) -> dict[str, str]:
    """Return what the states mean."""
    return {
        SURE: f"sure ({100 * LEVEL:.0f} % or more)",
        EQUAL: f"equal (within {policy.delta:.2g})",
        OPEN: "open",
        NO_FEASIBLE: "surely none feasible",
    }


def _marks(policy: PolicyMap) -> list[_Key]:
    """Return marks and meanings of the states that occur."""
    return [
        _Key(_mark(state, 6, -4, 5), 12, words)
        for state, words in _meanings(policy).items()
        if (policy.state == state).any()
    ]


def _hue_legend(leaders: Sequence[int], side: Side, fill: Callable[[int, float], str]) -> list[_Key]:
    """Return the colours of the alternatives as cells have them that are sure; of many, some."""
    n, step = len(leaders), max(1, (len(leaders) - 1) // 7)
    some = list(range(n)) if n <= len(_HUES) else sorted({*range(0, n, step), n - 1})
    swatches = (_rect(0, -11, 18, 14, fill(leaders[i], 1.0)) for i in some)
    keys = (_Key(swatch, 18, _cut(side.labels[leaders[i]])) for swatch, i in zip(swatches, some, strict=True))
    return [_Key("", 0, f"{middle_cut(side.title, 50)}:"), *keys]


def _scale(fills: Sequence[str], words: str) -> _Key:
    """Return cells of growing strength, as any page's paper shows them, and what the strongest means."""
    drawn = "".join(_rect(14 * i, -11, 14, 14, fill) for i, fill in enumerate(fills))
    return _Key(drawn, 14.0 * len(fills), f"stronger colour: {words}")


def _hue(i: int, n: int) -> str:
    """Return a colour of its own for each of few, else one along a circle of colours."""
    return _HUES[i] if n <= len(_HUES) else f"hsl({210 + 300 * i / (n - 1):.0f} 55% 48%)"


def _svg(drawn: Sequence[str], title: str, bottom: float, legend: Sequence[_Key]) -> str:
    x, y = 2.0, bottom - 2
    parts = list(drawn)
    for line in folded(title, (WIDTH - 4) / _BOLD):
        y += _LINE
        half = _BOLD * columns(line) / 2
        middle = min((WIDTH + 100) / 2, WIDTH - 2 - half)  # below the cells, if there is room
        parts.append(_text(middle, y, line, extra='font-weight="600"'))
    y += 22
    for drawn_key, wide, words in legend:
        begin = wide + 5 if wide else 0.0
        whole = begin + _length(words) + 14
        if x + whole > WIDTH + 14 and x > 2:
            x, y = 2.0, y + 19
        inside = _text(begin, 0, words, "start")
        parts.append(f'<g transform="translate({x:.0f} {y:.0f})">{drawn_key}{inside}</g>')
        x += whole
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="policy" viewBox="0 0 {WIDTH} {y + 8:.0f}"'
    return f'{head} font-size="13" font-family="inherit" fill="currentColor">{"".join(parts)}</svg>'


def _mark(state: str, x: float, y: float, size: float) -> str:
    half = 0.8 * size
    if state == SURE:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{half:.1f}"/>'
    if state == NO_FEASIBLE:
        (left, right), (top, bottom) = ((at - half, at + half) for at in (x, y))
        down, up = (f"M{left:.1f} {y0:.1f}L{right:.1f} {y1:.1f}" for y0, y1 in ((top, bottom), (bottom, top)))
        return f'<path d="{down}{up}" fill="none" stroke="currentColor" stroke-width="2.4"/>'
    looks = {
        EQUAL: 'fill="#ffffff" stroke="#1b1f24" stroke-width="1.5"',
        OPEN: f'fill="#ffffff" stroke="{_OPEN}" stroke-width="2" transform="rotate(45 {x:.1f} {y:.1f})"',
    }
    return _rect(x - half, y - half, 2 * half, 2 * half, looks[state])


def _hit(x: float, y: float, wide: float, high: float, c: int, said: Sequence[str]) -> str:
    words = f"<title>{as_html(said[c])}</title>"
    return _rect(x, y, wide, high, f'class="hit" data-c="{c}" fill="transparent"', words)


def _rect(x: float, y: float, wide: float, high: float, rest: str, inside: str = "") -> str:
    size = f'width="{max(wide, 0.5):.1f}" height="{high:.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} {rest}>{inside}</rect>'


def _text(x: float, y: float, words: str, anchor: str = "middle", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{as_html(words)}</text>'


def _cut(label: str) -> str:
    return middle_cut(label, _LONGEST_LABEL)


def _length(text: str) -> float:
    return _LETTER * columns(text)
