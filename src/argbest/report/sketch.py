"""The policy map as SVG: which alternative where, and how surely; in the colours of the page around it.

Every context is an element of class "hit" with its position as ``data-c`` and its choice in words as title.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from argbest.answers.predicting import coordinate, posterior
from argbest.core.arrays import Array, IntArray
from argbest.core.states import EQUAL, INTERVAL, LEVEL, NO_FEASIBLE, OPEN, SURE
from argbest.problems.units import titled
from argbest.report import curves, panels
from argbest.report import svg as draw
from argbest.report.answer_numbers import CHOSEN, MOST_ROWS, Values
from argbest.report.answer_numbers import EQUAL as AS_GOOD
from argbest.report.curves import PolicyMap, Side
from argbest.report.dots import dots
from argbest.report.looks import middle_cut
from argbest.report.panels import Arrangement
from argbest.report.wording import one_by_one
from argbest.study.study import Study
from argbest.texts import as_html, with_unit

MOST_COLUMNS = 400  # contexts side by side: a pixel each
_FRAMES = {
    EQUAL: 'fill="none" stroke="currentColor" stroke-dasharray="1 2"',
    OPEN: 'fill="none" stroke="currentColor" stroke-dasharray="4 2" stroke-width="1.6"',
}
_OUTLINE = 'fill="none" stroke="currentColor" stroke-width="1.2"'  # of cells too small for dashes
_SMALL = 12.0  # pixels of a cell that has no room for a frame inside
_LEAST_DRAWN = 0.02  # P(best) below which nothing is drawn
LEGEND_STEPS = (0.5, 0.8, 0.95)  # P(best) in the legend
_LEAST_IN_A_ROW = 0.05  # P(best) that an alternative needs somewhere to have a row


def sketch(study: Study) -> str:
    """Return the map: dots for one context, bands along one column, panels of cells for several."""
    said = one_by_one(study)
    if study.problem.contexts.active.sum() == 1:
        return _dots(study, said)
    policy = curves.policy_map(study)
    found = panels.arranged(study.problem, policy.selected)
    if found is not None:
        return _cells(policy, found, said)
    name = coordinate(study.problem)
    contexts = study.problem.contexts
    at = None if name is None else np.array(contexts.coordinates[name], float)[contexts.active]
    return _bands(policy, at, said)


def _dots(study: Study, said: Sequence[str]) -> str:
    """Return a row per alternative: its mean in the only context, and the interval around it."""
    view, problem = study.view(), study.problem
    here = int(np.flatnonzero(problem.contexts.active)[0])
    frame = posterior(view, level=INTERVAL).iloc[here :: problem.n_contexts]  # contexts vary fastest
    chosen, names = int(view.choice[here]), curves.row_labels(problem.alternatives)
    chance, state = frame["p_best"].to_numpy(float), study.selection()["state"].iloc[0]
    kept = np.flatnonzero(np.isfinite(frame["mean"].to_numpy(float)) & problem.alternatives.active)
    order = sorted(kept.tolist(), key=lambda k: (k != chosen, -chance[k], k))[:MOST_ROWS]
    ranked, sizes = view.certificate().contenders()
    near = set(ranked[: sizes[here], here].tolist()) if state == EQUAL else set()
    shown = Values(
        labels=tuple(names[k] for k in order),
        value=frame["mean"].to_numpy(float)[order],
        low=frame["low"].to_numpy(float)[order],
        high=frame["high"].to_numpy(float)[order],
        mark=tuple(CHOSEN if k == chosen else AS_GOOD if k in near else "" for k in order),
        worst=tuple(f"{100 * chance[k]:.0f} %" if chance[k] >= 0.005 else "< 1 %" for k in order),
        title=curves.side(problem.alternatives, problem.unit).title,
        meaning=titled(problem.subject, problem.goal_unit),
        worst_title="P(best)",
        from_zero=False,
        total=int(problem.alternatives.active.sum()),
    )
    return dots(shown, hit=lambda x, y, wide, high: _hit(x, y, wide, high, here, said))


def _bands(policy: PolicyMap, at: Array | None, said: Sequence[str]) -> str:
    """Return a column per context and a row per alternative that may be best somewhere."""
    shown = np.arange(len(policy.selected))
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
    ticks = [policy.contexts.labels[c] for c in shown]
    bottom, below = draw.labels_below(ticks, (edges[:-1] + edges[1:]) / 2, bottom)
    title = policy.contexts.title
    title += f" ({len(shown)} of {len(policy.selected):,})" if len(shown) < len(policy.selected) else ""
    shades = [f'fill="{draw.SHADE}" fill-opacity="{_band_depth(p):.2f}"' for p in LEGEND_STEPS]
    return draw.picture([*drawn, *below], title, bottom, [*_marks(policy), _ramp(shades)])


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


def _cells(policy: PolicyMap, arrangement: Arrangement, said: Sequence[str]) -> str:
    """Return a cell per context, coloured by its alternative; framed where it is equal or open."""
    found = panels.placed(arrangement)
    leaders = np.unique(policy.selected[policy.answered]).tolist()
    labels = policy.alternatives.labels
    longest = max((draw.length(labels[k]) for k in leaders), default=0)

    def hue(chosen: int) -> str:
        return draw.hue(leaders.index(chosen), len(leaders))

    def fill(chosen: int, p: float) -> str:
        return f'fill="{hue(chosen)}" fill-opacity="{_cell_depth(p):.2f}"'

    drawn: list[str] = []
    hits: list[str] = []
    small = False
    cells = found.cells
    if len(cells) > panels.MOST:
        cells = [cells[i] for i in np.linspace(0, len(cells) - 1, panels.MOST).round().astype(int)]
    for c, x, y, wide, high in cells:
        hits.append(_hit(x, y, wide, high, int(policy.contexts.order[c]), said))
        if not policy.answered[c]:
            continue
        drawn.append(draw.rect(x, y, wide, high, fill(policy.selected[c], policy.p_best[c])))
        if min(wide, high) < _SMALL:
            small = True
            drawn += [draw.rect(x, y, wide, high, _OUTLINE)] if policy.state[c] == OPEN else []
        elif policy.state[c] in _FRAMES:
            drawn.append(draw.rect(x + 2, y + 2, wide - 4, high - 4, _FRAMES[policy.state[c]]))
        if longest < wide - 4 and high >= 13:
            ink = draw.ink(hue(policy.selected[c]), _cell_depth(policy.p_best[c]))
            words = labels[policy.selected[c]]
            drawn.append(draw.text(x + wide / 2, y + high / 2 + 4, words, extra=ink))
    legend = _hue_legend(leaders, policy.alternatives, fill)
    for state, words in _meanings(policy).items():
        some = np.flatnonzero(policy.state == state)
        if state in _FRAMES and some.size and not (small and state == EQUAL):  # as the first such cell
            cell = draw.rect(0, -11, 18, 14, fill(policy.selected[some[0]], policy.p_best[some[0]]))
            frame = (
                draw.rect(0, -11, 18, 14, _OUTLINE) if small else draw.rect(1.5, -9.5, 15, 11, _FRAMES[state])
            )
            legend.append(draw.Key(cell + frame, 18, words))
    if leaders:
        legend.append(_ramp([fill(leaders[0], p) for p in LEGEND_STEPS]))
    title = found.title
    title += f" ({len(cells):,} of {len(found.cells):,} contexts)" if len(cells) < len(found.cells) else ""
    return draw.picture([*drawn, *hits, *found.texts], title, found.bottom, legend)


def _band_depth(p: float) -> float:
    """Return how opaque the cell of an alternative is that is the best with probability p."""
    return 0.06 + 0.86 * float(p) ** 2


def _cell_depth(p: float) -> float:
    """Return how opaque the cell of a context is whose choice is the best with probability p."""
    return 0.15 + 0.85 * float(p) ** 3


def _meanings(policy: PolicyMap) -> dict[str, str]:
    """Return what the states mean."""
    return {
        SURE: f"sure ({100 * LEVEL:.0f} % or more)",
        EQUAL: f"equal (within {with_unit(f'{policy.delta:.2g}', policy.unit)})",
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
    """Return the colours of the alternatives as sure cells have them; of many, some."""
    n, step = len(leaders), max(1, (len(leaders) - 1) // 7)
    some = list(range(n)) if n <= len(draw.HUES) else sorted({*range(0, n, step), n - 1})
    swatches = (draw.rect(0, -11, 18, 14, fill(leaders[i], 1.0)) for i in some)
    keys = (
        draw.Key(swatch, 18, draw.cut(side.labels[leaders[i]]))
        for swatch, i in zip(swatches, some, strict=True)
    )
    return [draw.Key("", 0, f"{middle_cut(side.title, 50)}:"), *keys]


def _ramp(fills: Sequence[str]) -> draw.Key:
    """Return cells of growing strength, each with the P(best) that it stands for, as all cells are drawn."""
    step = 32.0 + draw.length("95 %")
    drawn = "".join(
        draw.rect(step * i, -11, 16, 14, fill) + draw.text(step * i + 20, 0, f"{100 * p:.0f} %", "start")
        for i, (fill, p) in enumerate(zip(fills, LEGEND_STEPS, strict=True))
    )
    return draw.Key(drawn, step * len(fills) - 8, "likely the best")


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
