"""How long the page of a study is: a third of what version 0.2 wrote of the same study, at the most."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report.page_studies import line, mixed
from report.test_slider import clinic

from argbest import Study
from argbest.report.page import write_report

Open = Callable[..., Any]
# Pixels of the whole page before it was shortened, on a wide screen and on a phone. Fonts differ from machine
# to machine, and so do pages by some per cent.
BEFORE: dict[str, tuple[Callable[[], Study], int, int]] = {
    "line": (line, 6090, 7778),
    "mixed": (mixed, 7997, 9869),
    "limits": (clinic, 6188, 8737),
}
WIDE, PHONE = 1280, 390
pytestmark = pytest.mark.filterwarnings("ignore::argbest.errors.DataNotice")


@pytest.mark.parametrize("name", BEFORE)
def test_the_page_of_a_study_is_a_third_as_long_as_it_was(open_page: Open, tmp_path: Path, name: str) -> None:
    make, wide, phone = BEFORE[name]
    page = open_page(write_report(make(), tmp_path / "report.html"), width=WIDE)
    high = "document.documentElement.scrollHeight"
    assert page.evaluate(high) <= wide / 3
    page.set_viewport_size({"width": PHONE, "height": 900})
    assert page.evaluate(high) <= phone / 2.2  # rows that stood side by side now stand one below the other
    page.context.close()


def test_the_first_screen_has_question_choices_certainty_and_what_comes_next(
    open_page: Open, tmp_path: Path
) -> None:
    page = open_page(write_report(line(), tmp_path / "report.html"), width=WIDE)
    for part in ("#asked", "#answer", "#next code", ".map svg", ".choices li >> nth=-1"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= page.viewport_size["height"]
    page.context.close()
