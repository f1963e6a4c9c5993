"""The demo as it runs in a terminal, an animated SVG: python docs/images/terminal.py.

The command runs in a pseudo-terminal. What it prints is replayed on a small screen, and every line of text
is in the picture from the moment it appears until it changes. Waiting is shortened, and nothing else.
"""

import html
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

COMMAND = "argbest demo"
COLUMNS = 80
_LONGEST_WAIT = 0.6  # seconds between two changes of the screen, however long it took
_END = 8.0  # seconds that the last screen stays
_CONTROL = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+|\x1b")
_HEIGHT, _WIDTH, _LEFT, _TOP = 18, 8.45, 16, 44  # pixels


class Line(NamedTuple):
    """A text in one row of the screen, from one moment to another."""

    row: int
    text: str
    begin: float
    end: float


def recorded(command: str) -> Iterator[tuple[float, str]]:
    """Return what a command prints to a terminal, with the seconds since it was started."""
    ours, its = pty.openpty()
    shown = {**os.environ, "COLUMNS": str(COLUMNS), "LINES": "60", "TERM": "xterm", "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        argv = [str(Path(sys.executable).parent / command.split()[0]), *command.split()[1:]]
        with subprocess.Popen(argv, stdout=its, stderr=its, cwd=folder, env=shown):  # noqa: S603
            os.close(its)
            rest = b""
            while True:
                try:
                    rest += os.read(ours, 1 << 16)
                except OSError:  # the command has ended
                    break
                text = rest.decode("utf-8", "ignore")
                rest = rest[len(text.encode()) :]
                yield time.monotonic() - began, text
    os.close(ours)


def screens(stream: Iterable[tuple[float, str]]) -> Iterator[tuple[float, list[str]]]:
    """Return the lines on the screen after each part of what was printed."""
    lines, row, column = [""], 0, 0
    for moment, text in stream:
        for found in _CONTROL.finditer(text):
            code, number = found[2], found[1]
            if found[0] == "\n":
                row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
            elif found[0] == "\r":
                column = 0
            elif code == "A":
                row = max(0, row - int(number or 1))
            elif code == "K":
                lines[row] = "" if number == "2" else lines[row][:column]
            elif not found[0].startswith("\x1b"):
                old = lines[row].ljust(column)
                lines[row] = old[:column] + found[0] + old[column + len(found[0]) :]
                column += len(found[0])
        yield moment, [line.rstrip() for line in lines]


def timeline(shown: Iterable[tuple[float, list[str]]]) -> tuple[list[Line], float]:
    """Return when each line is on the screen, and for how long the whole takes; long waits are cut."""
    open_lines: dict[int, tuple[str, float]] = {}
    done: list[Line] = []
    now, last = 1.0, None
    for moment, lines in shown:
        now += 0.0 if last is None else min(moment - last, _LONGEST_WAIT)
        last = moment
        for row, text in enumerate(lines):
            old, begin = open_lines.get(row, ("", now))
            if text != old:
                if old and begin < now:
                    done.append(Line(row, old, begin, now))
                open_lines[row] = (text, now)
    total = now + _END
    done += [Line(row, text, begin, total) for row, (text, begin) in open_lines.items() if text]
    return sorted(done), total


def svg(command: str, lines: list[Line], total: float) -> str:
    """Return the animation; readers who want no motion see the last screen."""
    rows = 2 + max(line.row for line in lines)
    width, height = _LEFT * 2 + COLUMNS * _WIDTH, _TOP + rows * _HEIGHT + 16
    rules, texts = [], [f'<text x="{_LEFT}" y="{_TOP}">$ {html.escape(command)}</text>']
    for i, (row, text, begin, end) in enumerate(lines):
        shown, hidden = 100 * begin / total, 100 * end / total
        last = "" if end >= total else f" {hidden:.2f}%{{opacity:0}}"
        rules.append(f"@keyframes k{i}{{0%{{opacity:0}} {shown:.2f}%{{opacity:1}}{last}}}")
        rules.append(f"#t{i}{{animation:k{i} {total:.1f}s step-end infinite}}")
        kept = "" if end >= total else ' class="passing"'
        y = _TOP + (row + 1) * _HEIGHT
        texts.append(f'<text id="t{i}"{kept} x="{_LEFT}" y="{y}">{html.escape(text)}</text>')
    rules.append("@media (prefers-reduced-motion: reduce){text{animation:none!important}}")
    font = "font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">',
            f"<title>{html.escape(command)} in a terminal</title>",
            f"<style>text{{white-space:pre;fill:#e6e9ef}}.passing{{opacity:0}}{''.join(rules)}</style>",
            f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#1f2430"/>',
            *(f'<circle cx="{20 + 18 * i}" cy="16" r="5" fill="#4b5263"/>' for i in range(3)),
            f'<g {font} font-size="14" xml:space="preserve">',
            *texts,
            "</g></svg>\n",
        ]
    )


if __name__ == "__main__":
    text = svg(COMMAND, *timeline(screens(recorded(COMMAND))))
    (Path(__file__).parent / "demo.svg").write_text(text, encoding="utf-8")
