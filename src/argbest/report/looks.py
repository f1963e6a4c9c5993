"""The looks of pictures: colours and marks that colour-blind readers and grey printers tell apart; fonts."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from unicodedata import combining, east_asian_width

from argbest.errors import DataNotice

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.text import Text

DASHES: tuple[Any, ...] = (
    "-", (0, (4, 1.8)), (0, (5, 1.3, 1.2, 1.3, 1.2, 1.3)), (0, (10, 2.5)), (0, (7, 1.8, 1.5, 1.8)),
    (0, (2.4, 1.4)), (0, (1.3, 1.1)),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_WIDE = (  # in the order in which they are taken
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK TC", "Noto Sans CJK KR", "Noto Sans SC"),
    *("Noto Sans JP", "Noto Sans TC", "Noto Sans KR", "Source Han Sans SC", "Source Han Sans"),
    *("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "Microsoft YaHei", "SimHei"),
    *("Yu Gothic", "Meiryo", "MS Gothic", "IPAexGothic", "IPAGothic", "Malgun Gothic", "NanumGothic"),
    *("PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Arial Unicode MS", "Unifont"),
)


@dataclass(frozen=True)
class Theme:
    """The colours of a picture; readers who see no red or no green tell those of any two lines apart."""

    name: str
    paper: str
    ink: str
    faint: str  # grids and what is out of the running
    alarm: str
    shades: tuple[str, ...]  # from nothing to all, ever further from the paper
    colours: tuple[str, ...]


LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#1a1a1a",
    faint="#c8c8c8",
    alarm="#d55e00",
    shades=("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"),
    colours=("#034c82", "#e86f18", "#0f8e65", "#af5889", "#895f00", "#2e89c7", "#373e45", "#5d0903"),
)
DARK = Theme(
    name="dark",
    paper="#14181d",
    ink="#ececec",
    faint="#4a5058",
    alarm="#ff8c42",
    shades=("#1b2129", "#1f4b73", "#2f83c0", "#86c5ee", "#e8f5ff"),
    colours=("#67a1c3", "#af5304", "#27c7a3", "#a04c7a", "#eddc52", "#0476b1", "#ededeb", "#ba9267"),
)
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def look(theme: Theme, i: int) -> dict[str, Any]:
    """Return colour, dashes and marker of the i-th line; 56 differ, and the first 7 without any colour."""
    return {
        "color": theme.colours[i % len(theme.colours)],
        "linestyle": DASHES[i % len(DASHES)],
        "marker": MARKERS[i % len(MARKERS)],
    }


def shades(theme: Theme) -> "Colormap":
    """Return the colours from nothing to all."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(f"argbest-{theme.name}", theme.shades)


def blend(colour: str, paper: str, share: float) -> tuple[float, float, float]:
    """Return a colour that is the less saturated the more of the paper it has; ``share`` is the colour's."""
    from matplotlib.colors import to_rgb

    pairs = zip(to_rgb(colour), to_rgb(paper), strict=True)
    red, green, blue = (share * own + (1.0 - share) * other for own, other in pairs)
    return red, green, blue


def readable(background: Any) -> str:
    """Return black or white, whichever stands out from a background."""
    bright = luminance(background)
    return "#000000" if (bright + 0.05) ** 2 > 1.05 * 0.05 else "#ffffff"


def luminance(colour: Any) -> float:
    """Return the relative luminance of a colour, 0 for black and 1 for white."""
    from matplotlib.colors import to_rgb

    parts = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(colour))
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def columns(text: str) -> float:
    """Return how long a text is, in letters of usual width; those of Chinese or Japanese are wider."""
    return sum(map(_width, text))


def middle_cut(text: str, longest: int) -> str:
    """Return text of at most so many `columns`, what is too much taken from its middle."""
    if columns(text) <= longest:
        return text
    room = (longest - 1) // 2
    end = _beginning(text[::-1], room)[::-1]
    while end and combining(end[0]):  # an accent stays with its letter
        end = end[1:]
    return f"{_beginning(text, room)}…{end}"


def folded(text: str, room: float) -> list[str]:
    """Return text in lines of at most so many `columns`, broken at spaces, within a word where it must be."""
    lines: list[str] = []
    for word in text.split():
        if lines and columns(joined := f"{lines[-1]} {word}") <= room:
            lines[-1] = joined
            continue
        while columns(word) > room and (start := _beginning(word, room)):
            lines.append(start)
            word = word[len(start) :]
        lines.append(word)
    return lines


def _width(letter: str) -> float:
    if combining(letter):
        return 0.0
    return 1.8 if east_asian_width(letter) in "WF" else 1.0


def _beginning(text: str, room: float) -> str:
    """Return the first letters that fit into so many columns."""
    taken = 0.0
    for i, letter in enumerate(text):
        taken += _width(letter)
        if taken > room:
            return text[:i]
    return text


def families(texts: Iterable[str], *, notify: bool = False) -> list[str]:
    """Return the usual family of fonts and, for letters that it lacks, installed ones that have them."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    chosen = list(FontProperties().get_family())
    lacking = {letter for text in texts for letter in text if letter != "\n"}
    lacking = {letter for letter in lacking if ord(letter) not in _letters(findfont(FontProperties()))}
    installed = {font.name: font.fname for font in fontManager.ttflist} if lacking else {}
    for name in _WIDE:
        having = {x for x in lacking if ord(x) in _letters(installed[name])} if name in installed else set()
        if having:
            chosen.append(name)
            lacking -= having
    if lacking and notify:
        _tell("".join(sorted(lacking)[:8]))
    return chosen


def dress(texts: Iterable["Text"]) -> None:
    """Give texts of a picture the fonts that their letters need."""
    given = list(texts)
    chosen = families((text.get_text() for text in given), notify=True)
    if len(chosen) > 1:
        for text in given:
            text.set_fontfamily(chosen)


@contextmanager
def told_already() -> Iterator[None]:
    """Keep matplotlib from a warning per letter that no font has."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


@cache
def _letters(path: str) -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(path).get_charmap())


@cache
def _tell(letters: str) -> None:
    warnings.warn(
        f"no font for {letters!r} is installed, so pictures show boxes in their place. Install one such as "
        "Noto Sans CJK. The report page shows them with the fonts of its reader.",
        DataNotice,
        stacklevel=2,
    )
