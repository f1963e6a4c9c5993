"""A real browser without a window: Chromium, driven by Playwright; without either, tests are skipped."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from report.page_studies import list_few
from watching import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium_path() -> str | None:
    """Where Chromium is: as the variable ARGBEST_CHROMIUM says, or on the path."""
    named = os.environ.get("ARGBEST_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(autouse=True, scope="module")
def _few_draws(few_draws: None) -> None:
    """All pages rest on few draws."""


@pytest.fixture(autouse=True)
def _few_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    list_few(monkeypatch)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    driver = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium on this machine: install it, or set ARGBEST_CHROMIUM to its path")
    root = hasattr(os, "geteuid") and os.geteuid() == 0  # Chromium's sandbox refuses to run as root
    with driver.sync_playwright() as play:
        arguments = ["--disable-gpu", *["--no-sandbox"] * root]  # without a GPU, to imitate one takes time
        opened = play.chromium.launch(executable_path=path, timeout=1000 * PATIENCE, args=arguments)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """A function that opens a file; console messages, errors and requests are gathered in `page.heard`."""
    contexts = []

    def show(path: Path, *, width: int = 1100, **options: Any) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, reduced_motion="reduce", offline=True, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.heard = []
        page.on("console", lambda message: page.heard.append(message.text))
        page.on("pageerror", lambda error: page.heard.append(str(error)))
        page.on("request", lambda request: page.heard.append(request.url) if _foreign(request.url) else None)
        page.goto(path.as_uri())
        page.wait_for_selector("#how")
        return page

    yield show
    for context in contexts:
        context.close()


def _foreign(url: str) -> bool:
    return not url.startswith(("file:", "blob:"))
