"""Letters of every script in pictures: fonts that have what the usual one lacks, if any is installed."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from argbest.errors import DataNotice

if TYPE_CHECKING:
    from matplotlib.text import Text

_WIDE = (  # in the order in which they are taken
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK TC", "Noto Sans CJK KR", "Noto Sans SC"),
    *("Noto Sans JP", "Noto Sans TC", "Noto Sans KR", "Source Han Sans SC", "Source Han Sans"),
    *("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "Microsoft YaHei", "SimHei"),
    *("Yu Gothic", "Meiryo", "MS Gothic", "IPAexGothic", "IPAGothic", "Malgun Gothic", "NanumGothic"),
    *("PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Arial Unicode MS", "Unifont"),
)


def columns(text: str) -> float:
    """Return how long a text is, in letters of usual width; those of Chinese or Japanese are wider."""
    return sum(1.8 if east_asian_width(letter) in "WF" else 1.0 for letter in text)


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
