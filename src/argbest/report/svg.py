"""Parts of pictures as SVG, in the colours of the page around them: frames, labels, legends."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from argbest.core.arrays import Array
from argbest.report.looks import columns, folded, middle_cut
from argbest.texts import as_html

WIDTH = 460
SHADE, OPEN_MARK = "#2f7fc6", "#d9601a"  # they stand out from white and from black
# Readers who see no green tell any two apart (CIEDE2000 of 15 or more), and dark text stands out from all.
HUES = ("#6babf8", "#e88538", "#5abb90", "#c3629c", "#ffd83e", "#9edfff", "#d8dbdc", "#9b794e")
_RAMP = ((63, 127, 208), (164, 170, 176), (255, 216, 62))  # of more than these: blue, grey, yellow
_NIGHT = (18, 22, 27)  # paper of a dark page
_BRIGHT = 0.179  # luminance from which black stands out better than white: 4.58 at the least
LETTER, BOLD, LINE = 7.3, 8.1, 16.0  # pixels
LONGEST_LABEL = 28  # columns of a label: not quite half of the width


class Frame(NamedTuple):
    """Where the cells lie: left and right end, and where they begin from above; and the title above them."""

    left: float
    right: float
    top: float
    title: list[str]


class Key(NamedTuple):
    """A line of the legend: what is drawn, how wide that is, and what it means."""

    drawn: str
    wide: float
    words: str


def framed(labels: Sequence[str], title: str) -> Frame:
    """Return the frame of cells with these labels at their left and a title above."""
    lines = folded(title, (WIDTH - 4) / BOLD)
    left = 14 + max(map(length, map(cut, labels)))
    return Frame(left, WIDTH - 8, 4 + LINE * len(lines), lines)


def cell_edges(at: Array | None, n: int) -> Array:
    """Return where columns begin and end, from 0 to 1: half way between neighbours."""
    if at is None or n < 2 or at[0] == at[-1]:
        return np.linspace(0.0, 1.0, n + 1)
    inner = (at[:-1] + at[1:]) / 2
    edges = np.concatenate([[2 * at[0] - inner[0]], inner, [2 * at[-1] - inner[-1]]])
    return np.asarray((edges - edges[0]) / (edges[-1] - edges[0]))


def labels_left(frame: Frame, labels: Sequence[str], at: Any, high: float) -> list[str]:
    """Return the labels left of the cells, those that do not overlap, and the title above them."""
    step = max(1, int(np.ceil(13 / high)))
    some = [
        text(frame.left - 5, y + 4, cut(label), "end")
        for label, y in list(zip(labels, at, strict=True))[::step]
    ]
    heads = (text(2, 12 + LINE * i, line, "start", 'font-weight="600"') for i, line in enumerate(frame.title))
    return [*heads, *some]


def labels_below(
    labels: Sequence[str], at: Array, bottom: float, room: tuple[float, float] = (0.0, WIDTH)
) -> tuple[float, list[str]]:
    """Return where the next line goes, and labels below the cells: those that do not overlap."""
    texts, end = [], room[0] - 9.0
    for label, x in zip(map(cut, labels), at.tolist(), strict=False):
        half = length(label) / 2
        x = min(max(x, room[0] + half), room[1] - half)
        if x - half > end + 4:
            texts.append(text(x, bottom + 14, label))
            end = x + half
    return bottom + (18 if texts else 4), texts


def picture(drawn: Sequence[str], title: str, bottom: float, legend: Sequence[Key] = ()) -> str:
    """Return the whole picture: a title below what is drawn, and the legend below that."""
    x, y = 2.0, bottom - 2
    parts = list(drawn)
    for line in folded(title, (WIDTH - 4) / BOLD):
        y += LINE
        half = BOLD * columns(line) / 2
        middle = min((WIDTH + 100) / 2, WIDTH - 2 - half)  # below the cells, if there is room
        parts.append(text(middle, y, line, extra='font-weight="600"'))
    y += 22
    for drawn_key, wide, words in legend:
        begin = wide + 5 if wide else 0.0
        whole = begin + length(words) + 14
        if x + whole > WIDTH + 14 and x > 2:
            x, y = 2.0, y + 19
        inside = text(begin, 0, words, "start")
        parts.append(f'<g transform="translate({x:.0f} {y:.0f})">{drawn_key}{inside}</g>')
        x += whole
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="policy" viewBox="0 0 {WIDTH} {y + 8:.0f}"'
    return f'{head} font-size="13" font-family="inherit" fill="currentColor">{"".join(parts)}</svg>'


def hue(i: int, n: int) -> str:
    """Return a colour of its own for each of few, else one on the way from blue to yellow."""
    if n <= len(HUES):
        return HUES[i]
    at = 2.0 * i / (n - 1)
    first = min(int(at), 1)
    return f"#{''.join(f'{round(v):02x}' for v in _mixed(_RAMP[first + 1], _RAMP[first], at - first))}"


def ink(colour: str, depth: float) -> str:
    """Return the attributes of text on a cell of this depth: black on bright cells, else the page's ink.

    All cells are bright on a light page. Of those that are not on a dark one, pages make the ink black or
    white by its class; elsewhere it is that of the text around.
    """
    parts = tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
    seen = [v / 255 for v in _mixed(parts, _NIGHT, depth)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in seen]
    luminance = sum(weight * v for weight, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return 'fill="#000000"' if luminance > _BRIGHT else 'fill="currentColor" class="on-cell"'


def _mixed(one: Sequence[float], other: Sequence[float], share: float) -> list[float]:
    """Return a mixture of two colours; ``share`` is that of the first."""
    return [share * a + (1.0 - share) * b for a, b in zip(one, other, strict=True)]


def rect(x: float, y: float, wide: float, high: float, rest: str, inside: str = "") -> str:
    """Return a rectangle; ``rest`` are its other attributes."""
    size = f'width="{max(wide, 0.5):.1f}" height="{high:.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} {rest}>{inside}</rect>'


def line(x: float, y: float, end: float, down: float, rest: str) -> str:
    """Return a straight line; ``rest`` are its other attributes."""
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{end:.1f}" y2="{down:.1f}" {rest}/>'


def text(x: float, y: float, words: str, anchor: str = "middle", extra: str = "") -> str:
    """Return a line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{as_html(words)}</text>'


def cut(label: str) -> str:
    """Return a label that leaves room for the picture beside it."""
    return middle_cut(label, LONGEST_LABEL)


def length(text: str) -> float:
    """Return about how long a text is, in pixels."""
    return LETTER * columns(text)
