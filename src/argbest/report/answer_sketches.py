"""Answers as SVG, in the colours of the page around them: values, shortlists, rules, what tailoring gains."""

from collections.abc import Iterator, Sequence

import numpy as np

from argbest.answers.answering import ONE, RULE, SEVERAL, Answer
from argbest.answers.pareto import FORM as FRONT
from argbest.answers.tailoring import Tailoring
from argbest.core.states import OPEN
from argbest.problems.axis import Axis
from argbest.report import answer_numbers as numbers
from argbest.report import svg as draw
from argbest.report.answer_numbers import Curve, Node, RuleMap, Shortlist, percent, tick_text, ticks
from argbest.report.dots import dot, dots
from argbest.report.fronts import sketch_front
from argbest.report.looks import folded, middle_cut
from argbest.report.panels import Arrangement, ContextCell, arranged, placed
from argbest.report.sketch import MOST_COLUMNS

_ROW = 22.0  # pixels of an alternative
_LEVEL = 62.0  # between a condition and what is below it
_HIGH = 120.0  # of a curve
_LONGEST_NOTE = 14  # columns
_LEADER_DEPTH = 0.55  # how opaque the cells of a rule are
_FAINT = 'stroke="currentColor" stroke-opacity="0.25"'
_WRONG = f'stroke="{draw.OPEN_MARK}" stroke-width="2.5"'


def sketches(answer: Answer) -> list[str]:
    """Return the pictures of an answer; none of one that has the policy map, or no picture of its own."""
    made = {
        ONE: lambda: [dots(numbers.values(answer))],
        SEVERAL: lambda: [_shortlist(numbers.shortlist(answer))],
        RULE: lambda: _rule(answer),
        FRONT: lambda: sketch_front(answer),
    }
    return made[answer.form]() if answer.form in made else []


def tailoring_sketch(found: Tailoring, alternatives: Axis) -> str:
    """Return the curve of what tailoring gains; "" where it gains nothing that can be drawn."""
    curve = numbers.curve(found, alternatives)
    return _curve(curve) if len(curve.gain) > 1 and curve.whole > 0 else ""


def _shortlist(shown: Shortlist) -> str:
    """Return a column per context with the places of the alternatives that are named there."""
    labels, n = shown.alternatives.labels, len(shown.contexts.labels)
    some = np.arange(n) if n <= MOST_COLUMNS else np.linspace(0, n - 1, MOST_COLUMNS).round().astype(int)
    frame = draw.framed(labels, shown.alternatives.title)
    wide = (frame.right - frame.left) / len(some)
    high = min(24.0, max(320.0 / len(labels), 3.0))
    bottom, places = frame.top + high * len(labels), int(shown.place.max())
    drawn: list[str] = []
    cells: list[list[str]] = [[] for _ in range(places + 1)]
    for i, c in enumerate(some.tolist()):
        x = frame.left + wide * i
        for row in np.flatnonzero(shown.place[:, c]).tolist():
            place, y = int(shown.place[row, c]), bottom - high * (row + 1)
            cells[place].append(f"M{x:.1f} {y:.1f}h{wide:.1f}v{high:.1f}h-{wide:.1f}z")
            if wide >= 12 and high >= 13:
                drawn.append(draw.text(x + wide / 2, y + high / 2 + 4, str(place)))
        if shown.state[c] == OPEN and wide >= 4:
            size = min(3.5, 0.4 * wide)
            mark = f'fill="{draw.OPEN_MARK}" transform="rotate(45 {x + wide / 2:.1f} {bottom + 8:.1f})"'
            drawn.append(draw.rect(x + wide / 2 - size, bottom + 8 - size, 2 * size, 2 * size, mark))
    drawn = [
        f'<path d="{"".join(each)}" {_placed(i, places)}/>' for i, each in enumerate(cells) if each
    ] + drawn
    middles = bottom - high * (np.arange(len(labels)) + 0.5)
    drawn += draw.labels_left(frame, labels, middles, high)
    centres = np.asarray(frame.left + wide * (np.arange(len(some)) + 0.5), float)
    bottom, below = draw.labels_below([shown.contexts.labels[c] for c in some], centres, bottom + 14)
    legend = [
        draw.Key(draw.rect(0, -11, 18, 14, _placed(i, places)), 18, f"place {i}")
        for i in range(1, min(places, 4) + 1)
    ]
    if (shown.state == OPEN).any():
        mark = draw.rect(2, -8, 7, 7, f'fill="{draw.OPEN_MARK}" transform="rotate(45 5.5 -4.5)"')
        legend.append(draw.Key(mark, 12, "open"))
    return draw.picture([*drawn, *below], shown.contexts.title, bottom, legend)


def _placed(place: int, places: int) -> str:
    return f'fill="{draw.SHADE}" fill-opacity="{0.7 - 0.55 * (place - 1) / max(places - 1, 1):.2f}"'


def _rule(answer: Answer) -> list[str]:
    """Return the tree, and the contexts in the colours of its ends."""
    shown = numbers.rule_map(answer)
    return [_tree(shown), _rule_map(shown, arranged(answer.view.problem, shown.named))]


def _tree(shown: RuleMap) -> str:
    """Return the tree from its first condition down to its ends."""
    n = sum(node.leader >= 0 for node in shown.tree)
    room = min(draw.WIDTH / n, 200.0) - 6
    inside = (draw.WIDTH - min(n * 206.0, draw.WIDTH)) / 2
    lines = [_in_lines(node, room if node.leader >= 0 else 190.0) for node in shown.tree]
    tall = [8 + draw.LINE * len(each) for each in lines]
    drawn: list[str] = []
    nodes: list[str] = []
    for i, node in enumerate(shown.tree):
        x = inside + (draw.WIDTH - 2 * inside) * node.across
        y = 4 + _LEVEL * node.down
        if node.parent >= 0:
            above = shown.tree[node.parent]
            start = inside + (draw.WIDTH - 2 * inside) * above.across, 4 + _LEVEL * above.down
            begin = start[1] + tall[node.parent]
            drawn.append(draw.line(start[0], begin, x, y, 'stroke="currentColor" stroke-opacity="0.6"'))
            side, gap = ("end", -5) if node.branch == "yes" else ("start", 5)
            drawn.append(draw.text((start[0] + x) / 2 + gap, (begin + y) / 2 + 2, node.branch, side))
        nodes += _box(node, lines[i], x, y, tall[i], len(shown.leaders), room)
    bottom = max(4 + _LEVEL * node.down + high for node, high in zip(shown.tree, tall, strict=True))
    return draw.picture([*drawn, *nodes], "", bottom - 14)


def _in_lines(node: Node, room: float) -> list[str]:
    """Return the words of a node in lines that fit; a long one is cut."""
    lines = folded(node.words, max((room - 8) / draw.LETTER, 4))
    return lines if len(lines) <= 2 else [lines[0], middle_cut(" ".join(lines[1:]), int(room / draw.LETTER))]


def _box(
    node: Node, lines: Sequence[str], x: float, y: float, high: float, n: int, room: float
) -> Iterator[str]:
    wide = max(map(draw.length, lines)) + 10
    wide = min(wide, room) if node.leader >= 0 else wide
    left = min(max(x - wide / 2, 0.5), draw.WIDTH - wide - 0.5)
    looks, ink = 'rx="4" fill="none" stroke="currentColor" stroke-opacity="0.6"', ""
    if node.leader >= 0:
        colour = draw.hue(node.leader, n)
        looks, ink = f'rx="4" {_of_leader(colour)}', draw.ink(colour, _LEADER_DEPTH)
    yield draw.rect(left, y, wide, high, looks)
    for i, line in enumerate(lines):
        yield draw.text(left + wide / 2, y + draw.LINE * (i + 1) - 1, line, extra=ink)


def _of_leader(colour: str) -> str:
    return f'fill="{colour}" fill-opacity="{_LEADER_DEPTH}"'


def _rule_map(shown: RuleMap, arrangement: Arrangement | None) -> str:
    """Return a cell per context in the colour of what the rule names; crossed out where it is wrong."""
    cells, drawn, bottom, title = _in_a_row(shown) if arrangement is None else placed(arrangement)
    crosses: list[str] = []
    for place, x, y, wide, high in cells:
        if shown.wrong[place]:
            crosses.append(_cross(x + wide / 2, y + high / 2, min(5.0, 0.4 * wide, 0.4 * high)))
    for place, x, y, wide, high in _joined(cells, shown):
        fill = _of_leader(draw.hue(int(shown.named[place]), len(shown.leaders)))
        drawn.append(draw.rect(x, y, wide, high, fill))
    legend = [draw.Key("", 0, f"{middle_cut(shown.alternatives, 50)}:")]
    for i, label in enumerate(shown.leaders):
        swatch = _of_leader(draw.hue(i, len(shown.leaders)))
        legend.append(draw.Key(draw.rect(0, -11, 18, 14, swatch), 18, draw.cut(label)))
    if shown.wrong.any():
        legend.append(draw.Key(_crossed([_cross(6, -4, 5)]), 12, "surely wrong"))
    return draw.picture([*drawn, _crossed(crosses)], title, bottom, legend)


def _joined(cells: list[ContextCell], shown: RuleMap) -> list[ContextCell]:
    """Return the cells with neighbours in a row made one where they name the same: a page stays small."""
    found: list[ContextCell] = []
    for place, x, y, wide, high in cells:
        if found:
            before, left, top, width, _ = found[-1]
            if top == y and abs(left + width - x) < 1e-6 and shown.named[before] == shown.named[place]:
                found[-1] = ContextCell(before, left, top, width + wide, high)
                continue
        found.append(ContextCell(place, x, y, wide, high))
    return found


def _in_a_row(shown: RuleMap) -> tuple[list[ContextCell], list[str], float, str]:
    n = len(shown.named)
    order = np.arange(n) if shown.at is not None else np.argsort(shown.named, kind="stable")
    some = order if n <= MOST_COLUMNS else order[np.linspace(0, n - 1, MOST_COLUMNS).round().astype(int)]
    edges = 2 + (draw.WIDTH - 4) * draw.cell_edges(None if shown.at is None else shown.at[some], len(some))
    cells = [
        ContextCell(int(c), x, 4.0, end - x, 30.0)
        for c, x, end in zip(some.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]
    labels = [shown.contexts.labels[c] for c in some] if shown.at is not None or n <= 12 else []
    bottom, below = draw.labels_below(labels, (edges[:-1] + edges[1:]) / 2, 34.0)
    title = shown.contexts.title + ("" if shown.at is not None else ", sorted by choice")
    title += f" ({len(some)} of {n:,})" if len(some) < n else ""
    return cells, below, bottom, title


def _cross(x: float, y: float, size: float) -> str:
    """Return the way of a pen that crosses something out."""
    way = f"l{2 * size:.1f} {2 * size:.1f}m0 {-2 * size:.1f}l{-2 * size:.1f} {2 * size:.1f}"
    return f"M{x - size:.1f} {y - size:.1f}{way}"


def _crossed(ways: Sequence[str]) -> str:
    return f'<path d="{"".join(ways)}" fill="none" {_WRONG}/>'


def _curve(shown: Curve) -> str:
    """Return what is gained with 1, 2, … alternatives, with its interval, and which share that is."""
    n, left, right, top = len(shown.gain), 62.0, draw.WIDTH - 8.0, 18.0
    low, high = min(float(shown.low.min()), 0.0), max(float(shown.high.max()), shown.whole)
    bottom = top + _HIGH
    step = (right - left) / n

    def y(value: float) -> float:
        return bottom - _HIGH * (value - low) / ((high - low) or 1.0)

    drawn = [draw.line(left, y(t), right, y(t), _FAINT) for t in ticks(low, high, 4)]
    drawn += [draw.text(left - 5, y(t) + 4, tick_text(t), "end") for t in ticks(low, high, 4)]
    dashed = f'stroke="{draw.OPEN_MARK}" stroke-dasharray="5 4" stroke-width="1.6"'
    drawn.append(draw.line(left, y(shown.whole), right, y(shown.whole), dashed))
    xs = [left + step * (i + 0.5) for i in range(n)]
    ys = [y(value) for value in shown.gain.tolist()]
    points = " ".join(f"{x:.1f},{v:.1f}" for x, v in zip(xs, ys, strict=True))
    drawn.append(f'<polyline points="{points}" fill="none" stroke="{draw.SHADE}" stroke-width="2"/>')
    labels, room = [], max(int(step / draw.LETTER) - 1, 4)
    for i, x in enumerate(xs):
        ends = y(float(shown.low[i])), y(float(shown.high[i]))
        drawn.append(draw.line(x, ends[0], x, ends[1], f'stroke="{draw.SHADE}" stroke-width="2"'))
        drawn.append(dot(x, ys[i], draw.SHADE, ""))
        said = percent(float(shown.share[i])) if i else ""
        drawn.append(draw.text(x + 7, min(ys[i] + 16, bottom - 3), said, "start"))
        words = shown.labels[i] if i == 0 else f"+ {shown.labels[i]}"
        labels.append(folded(middle_cut(words, 3 * room), room))
    for x, lines in zip(xs, labels, strict=True):
        drawn += [draw.text(x, bottom + draw.LINE * (j + 1) - 1, each) for j, each in enumerate(lines)]
    whole = draw.Key(draw.line(0, -4, 24, -4, dashed), 24, "gain of choosing among all")
    line = draw.Key(
        draw.line(0, -4, 24, -4, f'stroke="{draw.SHADE}" stroke-width="2"'), 24, "with these alone"
    )
    title = f"{shown.title}: added one by one"
    return draw.picture(drawn, title, bottom + 2 + draw.LINE * max(map(len, labels)), [line, whole])
