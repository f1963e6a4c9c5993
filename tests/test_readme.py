"""The README speaks the truth: its code runs and prints what it says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = re.findall(
    r"```python\n(.*?)```\n\n```text\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
)
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


def without_numbers(text: str) -> list[str]:
    return NUMBER.sub("#", text).split()


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_readme_prints_what_it_shows(block: tuple[str, str]) -> None:
    code, shown = block
    printed = io.StringIO()
    source = code if "import argbest" in code else "import argbest\n" + code
    with contextlib.redirect_stdout(printed):
        exec(source, {})  # noqa: S102 (our own README)
    assert without_numbers(printed.getvalue()) == without_numbers(shown)
    ours = [float(x) for x in NUMBER.findall(printed.getvalue())]
    theirs = [float(x) for x in NUMBER.findall(shown)]
    assert ours == pytest.approx(theirs, rel=0.02, abs=0.005)


def test_the_block_was_found() -> None:
    assert len(BLOCKS) == 1


def test_no_page_holds_a_placeholder() -> None:
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        assert not re.search(r"^[A-Z]{4,}$|TODO|TBD|XXX", (ROOT / page).read_text("utf-8"), re.MULTILINE), (
            page
        )


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 900
