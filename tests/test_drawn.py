"""The pictures that we draw ourselves: the terminal, the logo and the badges."""

import base64
import hashlib
import html
import re
from pathlib import Path
from xml.etree import ElementTree

import pages
import pytest

from docs.images import terminal
from docs.images.brand import draw as brand

IMAGES = pages.ROOT / "docs" / "images"
DRAWN = [IMAGES / "demo.svg", *sorted((IMAGES / "brand").glob("*.svg"))]


def test_a_screen_shows_what_a_terminal_shows() -> None:
    stream = [(0.0, "one\r\ntw"), (0.2, "o 1/9\rtwo 5"), (0.4, "\r\x1b[2Kdone\n\x1b[1A\x1b[?25hD")]
    shown = [lines for _, lines in terminal.screens(stream)]
    assert shown == [["one", "tw"], ["one", "two 5/9"], ["one", "Done", ""]]


def test_a_line_is_shown_until_it_changes_and_long_waits_are_cut() -> None:
    lines, total = terminal.timeline([(0.0, ["a"]), (0.5, ["a", "b"]), (60.0, ["a", "c"])])
    assert [(line.row, line.text) for line in lines] == [(0, "a"), (1, "b"), (1, "c")]
    assert [line.begin for line in lines] == pytest.approx([1.0, 1.5, 2.1])
    assert [line.end for line in lines] == pytest.approx([total, 2.1, total])


def test_without_motion_the_last_screen_is_seen() -> None:
    text = terminal.svg("x <y>", *terminal.timeline([(0.0, ["1/2"]), (0.5, ["2/2"])]))
    hidden = [each.text for each in ElementTree.fromstring(text).iter() if each.get("class") == "passing"]  # noqa: S314
    assert hidden == ["1/2"]
    assert "x &lt;y&gt;" in text


@pytest.mark.parametrize("file", DRAWN, ids=lambda file: file.name)
def test_a_drawing_is_small_and_fetches_nothing(file: Path) -> None:
    text = file.read_text("utf-8")
    ElementTree.fromstring(text)  # noqa: S314 (our own)
    assert len(text) < 300_000
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)|url\(|<script|href", text) == []


def test_logo_and_badges_are_what_the_project_says() -> None:
    assert {
        name: (IMAGES / "brand" / name).read_text("utf-8") for name in brand.pictures()
    } == brand.pictures()


def test_the_live_report_of_the_first_page_may_run_its_script() -> None:
    page = (IMAGES / "report" / "example.html").read_text("utf-8")
    (allowed,) = re.findall(r"script-src 'sha256-(.+?)'", html.unescape(page))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    assert hashes == [allowed]
