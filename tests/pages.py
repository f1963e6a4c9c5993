"""Reading our own pages: their code blocks, links and names, and running the blocks of one page in order.

A block is run if it is marked `python`, `console` or `toml`. `<!-- not run: why -->` above it keeps it from
that; Python is then still compiled, commands are still checked for their names. A first line such as
`# simulate.py` or `# study.toml` names the file that the block is; a Python file with a main guard is run as
a script. The `text` block after a Python one is what it prints, the lines after `$ command` what the command
prints; a line `...` stands for any number of lines.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from argbest.cli import main

ROOT = Path(__file__).resolve().parent.parent
_FENCE = re.compile(r"^```(\w*)\s*$")
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->")
_FILE = re.compile(r"^(?:#|//|/\*) ([\w.-]+\.(?:py|toml|csv|sh))\s*$")
_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind, its text, the line it begins at, and what was said about it."""

    kind: str
    text: str
    line: int
    not_run: str | None
    file: str | None


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    found: list[Block] = []
    lines = page.read_text("utf-8").splitlines()
    i, reason = 0, None
    while i < len(lines):
        opened = _FENCE.match(lines[i])
        if opened:
            end = next(j for j in range(i + 1, len(lines)) if lines[j].strip() == "```")
            inside = lines[i + 1 : end]
            named = _FILE.match(inside[0]) if inside else None
            text = "\n".join(inside) + "\n"
            found.append(Block(opened[1], text, i + 1, reason, named[1] if named else None))
            i = end
        mark = _NOT_RUN.search(lines[i])
        if mark or lines[i].strip():
            reason = mark[1] if mark else None
        i += 1
    return found


def prose(page: Path) -> str:
    """Return the page with its fenced blocks left out, line by line as before."""
    inside, lines = False, []
    for line in page.read_text("utf-8").splitlines():
        fence = line.startswith("```")
        lines.append("" if inside or fence else line)
        inside ^= fence
    return "\n".join(lines)


def sentences(page: Path) -> list[tuple[str, ...]]:
    """Return the words of every sentence of a page, cells of tables too, without code blocks and links."""
    text = re.sub(r"<!--.*?-->|^ {4}.*$", "", prose(page), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"\n\s*\n|\n(?=\s*[-*|#]|\s*\d+\. )|\||(?<=[.!?:;])\s", text)
    return [tuple(re.findall(r"[\w./=%-]*\w", part.lower())) for part in parts]


def commands(page: Path) -> list[str]:
    """Return our commands on a page: those in console blocks and those in indented lines."""
    console = [each for block in blocks(page) if block.kind == "console" for each in block.text.splitlines()]
    ours = r"^    ((?:argbest|python -m experiments) (?:.*\\\n)*.*)"
    indented = re.findall(ours, prose(page), re.MULTILINE)
    typed = [line[2:] for line in console if line.startswith("$ ")]
    return [each.replace("\\\n", " ") for each in (*indented, *typed)]


@dataclass
class Run:
    """The blocks of one page, run in one namespace and one folder."""

    folder: Path
    names: dict[str, Any]
    printed: str = ""

    def block(self, block: Block) -> None:
        """Run one block, or compare what the last one printed with it."""
        match block.kind:
            case "python" if block.not_run:
                compile(block.text, "<page>", "exec")
            case "python":
                self.printed = self._python(block)
            case "text" if self.printed:
                assert_alike(self.printed, block.text)
                self.printed = ""
            case "console" if not block.not_run:
                for command, shown in typed(block.text):
                    printed = self.command(command)
                    if shown.strip():
                        assert_alike(printed, shown)
            case "toml" | "csv" | "sh" if block.file:
                (self.folder / block.file).write_text(block.text, encoding="utf-8")
            case "toml" if not block.not_run:
                import tomllib

                tomllib.loads(block.text)

    def _python(self, block: Block) -> str:
        if block.file:
            path = self.folder / block.file
            path.write_text(block.text, encoding="utf-8")
            if "__main__" not in block.text:
                return ""
            ended = subprocess.run(
                [sys.executable, block.file], cwd=self.folder, capture_output=True, text=True, check=False
            )
            assert ended.returncode == 0, ended.stderr
            return ended.stdout
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block.text, f"<line {block.line}>", "exec"), self.names)  # noqa: S102 (our own pages)
        return out.getvalue()

    def command(self, line: str) -> str:
        """Return what a command prints; before a bar only `echo` is understood."""
        before, bar, command = line.rpartition(" | ")
        words = shlex.split(command if bar else line)
        assert words[0] == "argbest", f"not understood: {line}"
        told = shlex.split(before)[1:] if bar else []
        result = CliRunner().invoke(main, words[1:], input="\n".join(told) + "\n")
        assert result.exit_code == 0, f"{line}: {result.output}{result.exception!r}"
        return result.stdout


@contextlib.contextmanager
def at(folder: Path) -> Iterator[Run]:
    """Give a run in a folder, where the examples of the repository can be seen and modules imported."""
    before, path, modules = Path.cwd(), list(sys.path), set(sys.modules)
    with contextlib.suppress(OSError):
        (folder / "examples").symlink_to(ROOT / "examples")
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        yield Run(folder, {"__name__": "page"})
    finally:
        os.chdir(before)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]  # the next page may have a file of the same name


def assert_alike(printed: str, shown: str) -> None:
    """Raise unless both texts are the same but for white space and the last digits of decimal numbers."""
    parts = re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)
    ours, theirs = _words(printed), [_words(part) for part in parts]
    begin = 0
    for i, part in enumerate(theirs):
        ends = range(begin, len(ours) - len(part) + 1) if i else [0]
        hit = next((at for at in ends if ours[at : at + len(part)] == part), None)
        if i and i == len(theirs) - 1:
            hit = len(ours) - len(part) if ours[len(ours) - len(part) :] == part else None
        assert hit is not None, f"printed:\n{printed}\nbut the page says:\n{shown}"
        begin = hit + len(part)
    assert len(theirs) > 1 or begin == len(ours), f"printed:\n{printed}\nbut the page says:\n{shown}"
    if len(theirs) == 1:
        found, said = (list(map(float, _NUMBER.findall(text))) for text in (printed, shown))
        assert found == pytest.approx(said, rel=0.02, abs=0.005), f"printed:\n{printed}"


def _words(text: str) -> list[str]:
    return _NUMBER.sub("#", re.sub("─+", "─", text)).split()


def typed(text: str) -> Iterator[tuple[str, str]]:
    """Give every command of a console block with the lines shown after it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = f"{command[:-1]} {more}"
        yield command, shown
