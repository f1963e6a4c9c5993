"""Write what the code of our pages prints today into them: python tests/rewrite_pages.py docs/models.md.

Every block is run as the tests run it. Where a page shows other words or numbers, what was printed takes
their place; a line `...` stays, with as many lines before and after it as before. Read the difference: the
text around it may have become untrue.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

import pages


def renewed(printed: str, shown: str) -> str:
    """Return what a page should show: as it is if that is true, otherwise what was printed."""
    try:
        pages.assert_alike(printed, shown)
    except AssertionError:
        parts = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
        lines = [line.rstrip() + "\n" for line in printed.splitlines()]
        if len(parts) == 1:
            return "".join(lines) + ("\n" if shown.endswith("\n\n") else "")
        first, last = len(parts[0].splitlines()), len(parts[-1].splitlines())
        return "".join([*lines[:first], "...\n", *lines[len(lines) - last :]])
    return shown


def rewrite(page: Path) -> None:
    """Run a page and write it anew."""
    text = page.read_text("utf-8")
    os.environ["COLUMNS"] = "80"
    with tempfile.TemporaryDirectory() as folder, pages.at(Path(folder)) as run:
        for block in pages.blocks(page):
            new = block.text
            if block.kind == "text" and run.printed:
                new, run.printed = renewed(run.printed, block.text), ""
            elif block.kind == "console" and not block.not_run:
                for command, shown in pages.typed(block.text):
                    printed = run.command(command)
                    if shown.strip():
                        new = new.replace(shown, renewed(printed, shown))
            else:
                run.block(block)
            text = text.replace(f"```{block.kind}\n{block.text}```", f"```{block.kind}\n{new}```", 1)
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name).resolve())
