"""Values with their intervals as SVG: a row per alternative, a dot at its value, numbers below."""

from collections.abc import Callable

import numpy as np

from argbest.report import answer_numbers as numbers
from argbest.report import svg as draw
from argbest.report.answer_numbers import Values, tick_text, ticks
from argbest.report.looks import middle_cut

_ROW = 22.0  # pixels of an alternative
_LONGEST_NOTE = 14  # columns
_FAINT = 'stroke="currentColor" stroke-opacity="0.25"'


def dots(shown: Values, hit: Callable[[float, float, float, float], str] | None = None) -> str:
    """Return a row per alternative: its value, the interval around it, and a note such as where it is worst.

    ``hit`` makes an element that covers all rows.
    """
    frame = draw.framed(shown.labels, shown.title)
    notes = [middle_cut(each, _LONGEST_NOTE) for each in shown.worst]
    wide = max((draw.length(each) for each in notes), default=0.0) + (12 if notes else 0)
    right, n = frame.right - wide, len(shown.labels)
    low, high = float(shown.low.min()), float(shown.high.max())
    low = min(low, 0.0) if shown.from_zero else low
    span = (high - low) or max(1.0, 1e-3 * abs(high))  # 1 more is nothing to numbers of 17 digits
    low, high = (low if shown.from_zero else low - 0.04 * span), high + 0.04 * span

    def x(value: float) -> float:
        return frame.left + (right - frame.left) * (value - low) / (high - low)

    bottom = frame.top + _ROW * n
    drawn = [draw.line(x(t), frame.top, x(t), bottom, _FAINT) for t in ticks(low, high)]
    middles = frame.top + _ROW * (np.arange(n) + 0.5)
    for i, y in enumerate(middles.tolist()):
        mark, value = shown.mark[i], float(shown.value[i])
        colour = draw.OPEN_MARK if mark == numbers.CHOSEN else draw.SHADE
        if shown.from_zero:
            drawn.append(
                draw.rect(x(0.0), y - 6, x(value) - x(0.0), 12, f'fill="{colour}" fill-opacity="0.35"')
            )
        ends = x(float(shown.low[i])), x(float(shown.high[i]))
        drawn.append(draw.line(ends[0], y, ends[1], y, f'stroke="{colour}" stroke-width="2.5"'))
        drawn.append(dot(x(value), y, colour, mark))
        if notes:
            drawn.append(draw.text(right + 10, y + 4, notes[i], "start"))
    drawn += draw.labels_left(frame, shown.labels, middles, _ROW)
    if notes:
        drawn.append(draw.text(frame.right + 6, 12, shown.worst_title, "end", 'font-weight="600"'))
    at = np.array([x(t) for t in ticks(low, high)], float)
    bottom, below = draw.labels_below([tick_text(t) for t in ticks(low, high)], at, bottom)
    some = f" ({n} of {shown.total:,})" if n < shown.total else ""
    legend = [draw.Key(dot(6, -4, draw.OPEN_MARK, numbers.CHOSEN), 12, "chosen")]
    if numbers.EQUAL in shown.mark:
        legend.append(draw.Key(dot(6, -4, draw.SHADE, numbers.EQUAL), 12, "as good"))
    line = draw.line(0, -4, 24, -4, f'stroke="{draw.SHADE}" stroke-width="2.5"')
    legend.append(draw.Key(line, 24, f"90 % interval{some}"))
    cover = [] if hit is None else [hit(frame.left, frame.top, right - frame.left, _ROW * n)]
    return draw.picture([*drawn, *cover, *below], shown.meaning, bottom, legend)


def dot(x: float, y: float, colour: str, mark: str) -> str:
    """Return the mark of a value: a diamond for the chosen, a square for one as good, else a dot."""
    if not mark:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
    turned = f' transform="rotate(45 {x:.1f} {y:.1f})"' if mark == numbers.CHOSEN else ""
    return draw.rect(x - 4.5, y - 4.5, 9, 9, f'fill="{colour}"{turned}')
