"""The pages of the documentation as readers open them: from the disk, on a phone, without a network."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pages
import pytest
from watching import PATIENCE

Open = Callable[..., Any]
pytestmark = pytest.mark.slow  # `make test` builds the pages once, in tests/test_docs.py


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = pytest.importorskip("mkdocs.commands.build", reason="mkdocs is the extra docs")
    from mkdocs.config import load_config

    place = tmp_path_factory.mktemp("built") / "site"
    build.build(load_config(str(pages.ROOT / "mkdocs.yml"), strict=True, site_dir=str(place)))
    return place


@pytest.fixture
def open_site(browser: Any, site: Path) -> Iterator[Open]:
    """A function that opens a page; errors and requests elsewhere are gathered in `page.heard`."""
    contexts = []

    def show(name: str, *, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.heard = []
        page.on("pageerror", lambda error: page.heard.append(str(error)))
        page.on("request", lambda asked: page.heard.append(asked.url) if _foreign(asked.url) else None)
        page.goto((site / name).as_uri())
        return page

    yield show
    for context in contexts:
        context.close()


def _foreign(url: str) -> bool:
    return not url.startswith(("file:", "data:", "about:", "blob:"))


@pytest.mark.parametrize("name", ["index.html", "api/study.html"])
def test_the_search_finds_pages_that_were_opened_from_the_disk(open_site: Open, name: str) -> None:
    page = open_site(name)
    # The search looks at its field when a key is released: `fill` releases none, and would be overlooked
    # whenever the index is ready before or long after it.
    page.locator("input.md-search__input").press_sequentially("indifference")
    elsewhere = page.locator(f"li.md-search-result__item > a:not([href^='{page.url}'])")
    elsewhere.nth(1).wait_for()
    place = elsewhere.first.get_attribute("href")
    elsewhere.first.click()
    page.wait_for_url(place)
    assert "indifference" in page.locator("main").inner_text().lower()
    assert page.heard == []


@pytest.mark.parametrize("width", [390, 768])
def test_printed_tables_keep_their_rows_whole_and_scroll(open_site: Open, width: int) -> None:
    page = open_site("quickstart.html", width=width)
    blocks = page.locator(".md-typeset pre > code")
    assert blocks.count() > 3
    assert set(blocks.evaluate_all("(all) => all.map((each) => getComputedStyle(each).whiteSpace)")) == {
        "pre"
    }
    heights = (
        "(all) => all.map((each) => [each.clientHeight, each.textContent.trimEnd().split('\\n').length])"
    )
    for high, lines in blocks.evaluate_all(heights):
        assert high < 26 * lines + 50  # a line that wraps would make it taller
    assert blocks.evaluate_all("(all) => all.some((each) => each.scrollWidth > each.clientWidth)")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.heard == []
