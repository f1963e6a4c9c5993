"""The policy map as SVG: which alternative where, and how surely; in the colours of the page around it.

Every context is an element of class "hit" with its position as ``data-c`` and its choice in words as title.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from argbest.answers.predicting import coordinate
from argbest.core.arrays import Array, IntArray
from argbest.core.states import EQUAL, LEVEL, NO_FEASIBLE, OPEN, SURE
from argbest.report import curves
from argbest.report import svg as draw
from argbest.report.curves import Grid, PolicyMap, Side
from argbest.report.looks import middle_cut
from argbest.report.wording import one_by_one
from argbest.study.study import Study
from argbest.texts import as_html

MOST = 1000  # contexts drawn as cells
MOST_COLUMNS = 400  # contexts side by side: a pixel each
_FRAMES = {
    EQUAL: 'fill="none" stroke="currentColor" stroke-dasharray="1 2"',
    OPEN: 'fill="none" stroke="currentColor" stroke-dasharray="4 2" stroke-width="1.6"',
}
_LEAST_DRAWN = 0.02  # P(best) below which nothing is drawn
_LEGEND_STEPS = (0.3, 0.65, 1.0)  # P(best) in the legend
_LEAST_IN_A_ROW = 0.05  # P(best) that an alternative needs somewhere to have a row


def sketch(study: Study) -> str:
    """Return the map: bands along one coordinate, cells for two, else a strip sorted by choice."""
    policy, grid = curves.policy_map(study), curves.grid(study.problem)
    said = one_by_one(study)
    if grid is not None and study.problem.n_contexts <= MOST:
        return _cells(policy, grid, said)
    name = coordinate(study.problem)
    contexts = study.problem.contexts
    at = None if name is None else np.array(contexts.coordinates[name], float)[contexts.active]
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
    frame = draw.framed(names, policy.alternatives.title)
    inside = draw.cell_edges(None if at is None else np.sort(at)[shown], len(shown))
    edges = frame.left + (frame.right - frame.left) * inside
    high = min(24.0, max(320.0 / len(rows), 3.0))
    drawn: list[str] = []
    hits, bottom = [], frame.top + high * len(rows)
    for c, x, end in zip(shown.tolist(), edges[:-1], edges[1:], strict=True):
        drawn += _column(policy, c, rows, x, end - x, bottom, high)
        place = int(policy.contexts.order[c])
        hits.append(_hit(x, frame.top, end - x, bottom - frame.top, place, said))
    middles = bottom - high * (np.arange(len(rows)) + 0.5)
    drawn += [*hits, *draw.labels_left(frame, names, middles, high)]
    ticks = [] if sort and len(shown) > 12 else [policy.contexts.labels[c] for c in shown]
    bottom, below = draw.labels_below(ticks, (edges[:-1] + edges[1:]) / 2, bottom)
    title = f"{policy.contexts.title}{', sorted by choice' if sort else ''}"
    title += f" ({len(shown)} of {len(policy.selected):,})" if len(shown) < len(policy.selected) else ""
    shades = [f'fill="{draw.SHADE}" fill-opacity="{_band_depth(p):.2f}"' for p in _LEGEND_STEPS]
    return draw.picture(
        [*drawn, *below], title, bottom, [*_marks(policy), _scale(shades, "more likely the best")]
    )


def _column(
    policy: PolicyMap, c: int, rows: IntArray, x: float, wide: float, bottom: float, high: float
) -> Iterator[str]:
    """Yield the cells of a context, the stronger the likelier, and a mark at its choice."""
    for row in np.flatnonzero(policy.probability[rows, c] >= _LEAST_DRAWN).tolist():
        depth = _band_depth(policy.probability[rows[row], c])
        y = bottom - high * (row + 1)
        yield draw.rect(x, y, wide, high, f'fill="{draw.SHADE}" fill-opacity="{depth:.2f}"')
    if policy.answered[c] and (wide >= 5 or policy.state[c] != SURE):
        row = int(np.searchsorted(rows, policy.selected[c]))
        size = min(5.0, 0.45 * high, max(0.4 * wide, 2.0))
        yield _mark(policy.state[c], x + wide / 2, bottom - high * (row + 0.5), size)


def _cells(policy: PolicyMap, grid: Grid, said: Sequence[str]) -> str:
    """Return a cell per context, coloured by its alternative; framed where it is equal or open."""
    n_rows, n_columns = grid.context.shape
    frame = draw.framed(grid.rows.labels, grid.rows.title)
    wide, high = (frame.right - frame.left) / n_columns, min(34.0, max(360.0 / n_rows, 3.0))
    leaders = np.unique(policy.selected[policy.answered]).tolist()
    fits = (
        max((draw.length(policy.alternatives.labels[k]) for k in leaders), default=0) < wide - 4
        and high >= 13
    )

    def fill(chosen: int, p: float) -> str:
        hue = draw.hue(leaders.index(chosen), len(leaders))
        return f'fill="{hue}" fill-opacity="{_cell_depth(p):.2f}"'

    drawn, hits, bottom = [], [], frame.top + high * n_rows
    for row, column in np.argwhere(grid.context >= 0).tolist():
        c, x, y = int(grid.context[row, column]), frame.left + wide * column, bottom - high * (row + 1)
        hits.append(_hit(x, y, wide, high, int(policy.contexts.order[c]), said))
        if not policy.answered[c]:
            continue
        drawn.append(draw.rect(x, y, wide, high, fill(policy.selected[c], policy.p_best[c])))
        if policy.state[c] in _FRAMES:
            drawn.append(draw.rect(x + 2, y + 2, wide - 4, high - 4, _FRAMES[policy.state[c]]))
        if fits:
            drawn.append(
                draw.text(x + wide / 2, y + high / 2 + 4, policy.alternatives.labels[policy.selected[c]])
            )
    middles = bottom - high * (np.arange(n_rows) + 0.5)
    drawn += [*hits, *draw.labels_left(frame, grid.rows.labels, middles, high)]
    centres = frame.left + wide * (np.arange(n_columns) + 0.5)
    bottom, below = draw.labels_below(grid.columns.labels, centres, bottom)
    legend = _hue_legend(leaders, policy.alternatives, fill)
    for state, words in _meanings(policy).items():
        some = np.flatnonzero(policy.state == state)
        if state in _FRAMES and some.size:  # as the first cell that has this frame
            cell = draw.rect(0, -11, 18, 14, fill(policy.selected[some[0]], policy.p_best[some[0]]))
            legend.append(draw.Key(cell + draw.rect(1.5, -9.5, 15, 11, _FRAMES[state]), 18, words))
    if leaders:
        legend.append(_scale([fill(leaders[0], p) for p in _LEGEND_STEPS], "surer"))
    return draw.picture([*drawn, *below], grid.columns.title, bottom, legend)


def _band_depth(p: float) -> float:
    """Return how opaque the cell of an alternative is that is the best with probability p."""
    return 0.06 + 0.74 * float(p)


def _cell_depth(p: float) -> float:
    """Return how opaque the cell of a context is whose choice is the best with probability p."""
    return 0.12 + 0.63 * float(p) ** 2


def _meanings(policy: PolicyMap) -> dict[str, str]:
    """Return what the states mean."""
    return {
        SURE: f"sure ({100 * LEVEL:.0f} % or more)",
        EQUAL: f"equal (within {policy.delta:.2g})",
        OPEN: "open",
        NO_FEASIBLE: "surely none feasible",
    }


def _marks(policy: PolicyMap) -> list[draw.Key]:
    """Return marks and meanings of the states that occur."""
    return [
        draw.Key(_mark(state, 6, -4, 5), 12, words)
        for state, words in _meanings(policy).items()
        if (policy.state == state).any()
    ]


def _hue_legend(leaders: Sequence[int], side: Side, fill: Callable[[int, float], str]) -> list[draw.Key]:
    """Return the colours of the alternatives as cells have them that are sure; of many, some."""
    n, step = len(leaders), max(1, (len(leaders) - 1) // 7)
    some = list(range(n)) if n <= len(draw.HUES) else sorted({*range(0, n, step), n - 1})
    swatches = (draw.rect(0, -11, 18, 14, fill(leaders[i], 1.0)) for i in some)
    keys = (
        draw.Key(swatch, 18, draw.cut(side.labels[leaders[i]]))
        for swatch, i in zip(swatches, some, strict=True)
    )
    return [draw.Key("", 0, f"{middle_cut(side.title, 50)}:"), *keys]


def _scale(fills: Sequence[str], words: str) -> draw.Key:
    """Return cells of growing strength, as any page's paper shows them, and what the strongest means."""
    drawn = "".join(draw.rect(14 * i, -11, 14, 14, fill) for i, fill in enumerate(fills))
    return draw.Key(drawn, 14.0 * len(fills), f"stronger colour: {words}")


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
        OPEN: f'fill="#ffffff" stroke="{draw.OPEN_MARK}" stroke-width="2" '
        f'transform="rotate(45 {x:.1f} {y:.1f})"',
    }
    return draw.rect(x - half, y - half, 2 * half, 2 * half, looks[state])


def _hit(x: float, y: float, wide: float, high: float, c: int, said: Sequence[str]) -> str:
    words = f"<title>{as_html(said[c])}</title>"
    return draw.rect(x, y, wide, high, f'class="hit" data-c="{c}" fill="transparent"', words)
