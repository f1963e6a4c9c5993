"""Letters that the usual font lacks: drawn with an installed font, or announced once as boxes."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.font_manager import fontManager
from report.page_studies import told

from argbest import Problem
from argbest.errors import DataNotice
from argbest.report import looks, plot_allocation, plot_policy_map

PLANS, NAME = ["小", "北京"], "Noto Sans CJK SC"


@pytest.fixture
def none_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only the fonts that come with matplotlib."""
    own = [font for font in fontManager.ttflist if "mpl-data" in font.fname]
    monkeypatch.setattr(fontManager, "ttflist", own)
    looks._tell.cache_clear()
    yield
    looks._tell.cache_clear()


@pytest.fixture
def installed(none_installed: None, tmp_path: Path) -> None:
    """A font with the letters of the plans alone, each a square."""
    pen = TTGlyphPen(None)
    for move, corner in zip(
        [pen.moveTo] + 3 * [pen.lineTo], [(0, 0), (0, 800), (800, 800), (800, 0)], strict=True
    ):
        move(corner)
    pen.closePath()
    made, names = FontBuilder(1000, isTTF=True), [f"u{ord(x)}" for x in "".join(PLANS)]
    made.setupGlyphOrder([".notdef", *names])
    made.setupCharacterMap({ord(x): f"u{ord(x)}" for x in "".join(PLANS)})
    made.setupGlyf(dict.fromkeys([".notdef", *names], pen.glyph()))
    made.setupHorizontalMetrics(dict.fromkeys([".notdef", *names], (1000, 0)))
    made.setupHorizontalHeader(ascent=800, descent=-200)
    made.setupNameTable({"familyName": NAME, "styleName": "Regular"})
    made.setupOS2()
    made.setupPost()
    made.save(tmp_path / "wide.ttf")
    fontManager.addfont(tmp_path / "wide.ttf")


def drawn() -> None:
    study = told(Problem(PLANS, ["日", "夜"], name="計画"), np.eye(2), model="independent")
    ax: Any = plot_policy_map(study)
    ax.figure.draw_without_rendering()


def test_an_installed_font_draws_what_the_usual_one_lacks(installed: None) -> None:
    assert looks.families(["plan"]) == ["sans-serif"]
    assert looks.families(["plan", "北京"]) == ["sans-serif", NAME]
    problem = Problem(PLANS, [1, 2], name="小")
    for plot in (plot_policy_map, plot_allocation):
        ax: Any = plot(told(problem, np.eye(2), model="independent"))
        ax.figure.draw_without_rendering()
        assert [text.get_fontfamily() for text in ax.get_yticklabels()] == 2 * [["sans-serif", NAME]]


def test_without_such_a_font_one_notice_names_the_letters(none_installed: None) -> None:
    with pytest.warns(
        DataNotice, match="no font for '.*' is installed, .* Install one such as Noto"
    ) as heard:
        drawn()
    with warnings.catch_warnings():  # the same letters again, and as pictures
        warnings.simplefilter("error")
        drawn()
    assert [each.category for each in heard] == [DataNotice]


def test_wide_letters_take_more_room() -> None:
    assert looks.columns("ab") == 2.0
    assert looks.columns("北京") == pytest.approx(3.6)


@pytest.mark.parametrize(
    ("text", "longest", "cut"),
    [
        ("abcdefghij", 10, "abcdefghij"),
        ("abcdefghijk", 10, "abcd…hijk"),
        ("北京上海广州", 11, "北京上海广州"),
        ("北京上海广州深圳", 11, "北京…深圳"),
        ("e\u0301" * 8, 8, "e\u0301" * 8),
        ("e\u0301" * 9, 8, "e\u0301" * 3 + "…" + "e\u0301" * 3),
    ],
)
def test_labels_are_cut_by_the_columns_that_they_take(text: str, longest: int, cut: str) -> None:
    assert looks.middle_cut(text, longest) == cut
    assert looks.columns(cut) <= longest


@pytest.mark.parametrize("room", [4, 7, 11, 30])
@pytest.mark.parametrize("text", ["the arrival rate of customers", "北京上海广州深圳 夜间", "", "x" * 40])
def test_folded_lines_fit_and_lose_no_letter(text: str, room: int) -> None:
    lines = looks.folded(text, room)
    assert all(looks.columns(line) <= room for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
