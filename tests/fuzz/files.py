"""Study files, tables of runs and lines of JSON in which something is wrong."""

import json
import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.judge import attempt, command, shown
from fuzz.values import LARGE_NUMBERS, SMALL_NUMBERS, TEXTS, Draw, one, text

from argbest import Problem, Study
from argbest.studyfile import read

STUDY = """
name = "call-centre"
goal = "min"
description = "Staffing"
reward = "cost"
[alternatives]
grid.servers = [3, 4]
grid.shift = ["day", "night"]
[contexts]
labels = [10.5, 20, 30]
weights = [1, 2, 1]
bounds = [0, 40]
[simulator]
python = "own:simulate"
[study]
policy = "c-ocba"
model = "gp"
initial = 1
seed = 7
refit_every = 5
common_random_numbers = true
[run]
budget = 14
seconds = 60
confirm = 0.1
stop = { rule = "expected-pcs", target = 0.9, delta = 0.5 }
[cost]
alternatives = [1, 1, 2, 2]
contexts = [1, 2, 3]
[storage]
url = "here.db"
name = "first"
"""
ROWS = """
goal = "max"
[alternatives]
rows = [{ n = 1, kind = "a" }, { n = 2, kind = "b" }]
columns = ["n"]
[contexts]
file = "contexts.csv"
weights = "w"
bounds.rate = [0, 60]
[simulator]
command = ["true", "{alternative.n}", "{context.rate}", "{seed}"]
field = "cost"
timeout = 5
retries = 2
backoff = 0.5
environment = { THREADS = "1" }
[study]
initial = { random_contexts = 2, replace = false }
[run]
budget = 100
batch = 3
"""
OWN = "def simulate(alternative, context, seed):\n    return seed % 7 + 0.5\n"
PLAIN: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3.5, float("nan"), float("inf"), 1e300, 2**63, -(2**63), 10**30),
    *([], {}, [1], ["a"], [1, "a"], [[1, 2], [3]], {"a": 1}, [{"a": 1}], {"grid": {"a": [1, 2]}}, ""),
)


def study_file(draw: Draw, folder: Path, said: list[str]) -> None:
    """Read a study file in which values, keys, sections or characters were changed; run what can be read."""
    (folder / "own.py").write_text(OWN)
    (folder / "contexts.csv").write_text("rate,w\n10,1\n20,2\n30,1\n")
    source = one(draw, [STUDY, ROWS])
    changed = one(draw, [_other_values, _other_values, _other_lines, _other_characters])
    content: bytes = changed(draw, source)
    path = folder / "study.toml"
    path.write_bytes(content)
    said.append(f"study file {content.decode('utf-8', 'backslashreplace')}")
    if draw.random() < 0.2:
        command(said, one(draw, ["run", "resume", "status"]), path, *one(draw, [[], ["--budget", "1"]]))
    file = attempt(said, "read", lambda: read(path))
    quick = file is not None and "own:simulate" in str(file.problem.simulate)
    if file is None or not quick or not set(file.run).isdisjoint({"workers", "timeout"}):
        return
    if file.checked.n_designed(60) <= 60:
        made = attempt(said, "study", lambda: Study(file.problem, **file.options))
        if made is not None:
            attempt(said, "run", lambda: made.run(60, on_failure="record"))


def _other_values(draw: Draw, source: str) -> bytes:
    content = tomllib.loads(source)
    for _ in range(draw.integers(1, 4)):
        place: Any = content
        while True:
            key = one(draw, range(len(place)) if isinstance(place, list) else list(place))
            deeper = isinstance(place[key], dict | list) and place[key]
            if not deeper or draw.random() < 0.3:
                break
            place = place[key]
        deed = draw.random()
        if deed < 0.7:
            place[key] = _plain(draw)
        elif deed < 0.85:
            del place[key]
        elif isinstance(place, dict):
            place[text(draw)] = place.pop(key)
        if not content:
            break
    return _toml(content).encode("utf-8")


def _plain(draw: Draw) -> Any:
    return text(draw) if draw.random() < 0.4 else one(draw, PLAIN)


def _toml(value: dict[str, Any]) -> str:
    """Return a table as TOML, in one line per key; None has no place there and becomes nothing."""
    return "".join(f"{_key(key)} = {_inline(each)}\n" for key, each in value.items() if each is not None)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(key)} = {_inline(each)}" for key, each in value.items() if each is not None)
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(_inline(each) for each in value if each is not None)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return _key(value) if isinstance(value, str) else json.dumps(value)


def _key(value: str) -> str:
    escaped = json.dumps(value, ensure_ascii=True) if "\x7f" not in value else '"\\u007f"'
    return escaped.replace("\\ud83d\\ude00", "\\U0001f600")


def _other_lines(draw: Draw, source: str) -> bytes:
    lines = source.splitlines()
    for _ in range(draw.integers(1, 4)):
        i, j = draw.integers(len(lines), size=2)
        deed = draw.integers(5)
        if deed == 0:
            del lines[i]
        elif deed == 1:
            lines.insert(j, lines[i])
        elif deed == 2:
            lines[i], lines[j] = lines[j], lines[i]
        elif deed == 3:
            lines[i] = lines[i][: draw.integers(len(lines[i]) + 1)]
        else:
            lines.insert(i, one(draw, ["[study]", "[[run]]", "x = 1", "= 3", "[a.b]", 'study.seed = "x"']))
    return "\n".join(lines).encode()


def _other_characters(draw: Draw, source: str) -> bytes:
    content = bytearray(source.encode())
    for _ in range(draw.integers(1, 5)):
        i = draw.integers(len(content))
        noise = one(
            draw, [b"\xff", b"\0", b"\xef\xbb\xbf", b"\r", b'"', b"[", b"\xf0\x9f\x98\x80", b"9" * 50]
        )
        content[i : i + draw.integers(2)] = noise
    encoding = one(draw, ["utf-8"] * 6 + ["utf-16", "latin-1"])
    return bytes(content) if encoding == "utf-8" else source.encode(encoding)


CELLS = (
    *(
        "",
        " ",
        "NA",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "1e400",
        "1e-400",
        "1e160",
        "0",
        "-0",
        "1,5",
        "1.5.2",
        "1 ",
    ),
    *("=1+1", "+1", "@x", '"', '""', "'", "a\nb", "1_000", "0x10", "true", "2020-02-29", "٣", "9" * 400),
    *(
        "x" * 200_000,
        "\0",
        "\x1b[31m",
        "\ufeff",
        "\U0001f600",
        "-",
        "--",
        ";",
        "\t",
        "<b>",
        "1e308",
        "-1e308",
    ),
)


def table(draw: Draw, folder: Path, said: list[str]) -> None:
    """Analyze a table of runs in which cells, rows, columns or the encoding are wrong."""
    rows = [["plan", "load", "value"]]
    rows += [[f"p{i % 3}", str(i // 3 % 3), f"{draw.normal() + i % 3:.4f}"] for i in range(27)]
    for _ in range(draw.integers(0, 5)):
        _change(draw, rows)
    separator = one(draw, [",", ",", ",", ";", "\t", "|", ", "])
    quote = draw.random() < 0.5
    lines = [separator.join(_quoted(cell) if quote else cell for cell in row) for row in rows]
    content = one(draw, ["\n", "\n", "\r\n", "\r"]).join(lines)
    encoding = one(draw, ["utf-8"] * 5 + ["utf-8-sig", "utf-16", "latin-1", "cp1252", "utf-32"])
    path = folder / one(
        draw, ["runs.csv"] * 6 + ["runs.txt", "runs.parquet", "runs.xlsx", "runs", "r.csv.gz"]
    )
    path.write_bytes(content.encode(encoding, "replace"))
    said.append(f"{path.name}, {encoding}: {shown(content[:3000])}")
    options: list[Any] = ["--alternative", "plan", "--context", "load"] if draw.random() < 0.8 else []
    for _ in range(draw.integers(0, 3)):
        options += one(draw, _OPTIONS)
    command(said, "analyze", path, *options, *one(draw, [["--json"], [], ["--out", folder / "out"]][:2]))


_OPTIONS: list[list[str]] = [
    *(["--value", name] for name in ("value", "load", "none", "", "plan")),
    *(["--context", name] for name in ("load", "value", "plan", "nothing", "load ")),
    *(["--alternative", name] for name in ("plan", "load", "x")),
    *(["--bins", name] for name in ("2", "load=2", "0", "-1", "x", "load=", "=3", "99", "load=1e9")),
    *(["--weights", name] for name in ("load", "plan", "value", "none")),
    *(["--decimal", name] for name in (",", ".", ";")),
    *(["--policy", name] for name in ("equal", "ikg", "nothing", "ts")),
    *(["--model", name] for name in ("linear", "independent", "additive-gp", "joint-gp", "x")),
    *(["--delta", name] for name in ("0.5", "-1", "nan", "inf", "1e300")),
    *(["--next", name] for name in ("0", "3", "-1", "x")),
    ["--goal", "min"],
    ["--dropna"],
    ["--sheet", "x"],
]


def _change(draw: Draw, rows: list[list[str]]) -> None:
    if not rows:
        return
    i = int(draw.integers(len(rows)))
    deed = draw.integers(8)
    if deed <= 3 and rows[i]:
        rows[i][draw.integers(len(rows[i]))] = one(draw, CELLS)
    elif deed == 4:
        rows[i] = [*rows[i], one(draw, CELLS)] if draw.random() < 0.5 else rows[i][:-1]
    elif deed == 5:
        del rows[i]
    elif deed == 6:
        rows[0] = one(
            draw, [["plan", "plan", "value"], [], ["a"], ["plan", "load", "value", "n"], ["", "", ""]]
        )
    else:
        for row in rows[1:]:
            row.append(one(draw, ["1", "2", "x", "", "0", "-3", "1e9"]))
        rows[0].append(one(draw, ["n", "variance", "value", "context", "plan"]))


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def lines(draw: Draw, folder: Path, said: list[str]) -> None:
    """Tell a stored study lines of JSON, most of them wrong, and look at it."""
    place = folder / "lines.db"
    made = Study(Problem(["a", "b"], [0, 1]), initial=2, storage=place)
    made.ask(6)
    made.close()
    given = [_line(draw) for _ in range(draw.integers(1, 12))]
    content = one(draw, [b"\n", b"\n", b"\r\n", b"\r"]).join(given)
    command(said, "tell", place, given=content + one(draw, [b"", b"\n"]))
    command(said, one(draw, ["status", "ask", "report"]), place)


def _line(draw: Draw) -> bytes:
    number = one(draw, [0, 1, 2, 3, 4, 5, 99, -1, 1.0, "0", None, True, 2**70])
    answers: dict[str, Callable[[], Any]] = {
        "value": lambda: _json(draw),
        "values": lambda: [_json(draw) for _ in range(draw.integers(0, 4))],
        "summary": lambda: {key: _json(draw) for key in draw.choice(["mean", "variance", "n", "x"], 3)},
        "failed": lambda: _json(draw),
        "given_back": lambda: one(draw, [True, True, False, 1, None]),
        "seconds": lambda: _json(draw),
        "extra": lambda: 1,
    }
    names = draw.choice(list(answers), size=draw.choice([1, 1, 1, 2, 3]))
    said = {str(name): answers[name]() for name in names}
    content = (
        json.dumps({"trial": number} | said).encode()
        if draw.random() < 0.9
        else text(draw).encode("utf-8", "surrogatepass")
    )
    if draw.random() < 0.2:
        i = draw.integers(len(content) + 1)
        content = (
            content[:i]
            + one(draw, [b"\xff", b"{", b"}", b'"', b"\0", b"[" * 5000, b"9" * 5000])
            + content[i:]
        )
    return content


def _json(draw: Draw) -> Any:
    numbers = [each for each in (*SMALL_NUMBERS, *LARGE_NUMBERS) if type(each) in (int, float, bool)]
    return one(draw, [*numbers, *PLAIN, *TEXTS[:20], 1.5, 1.5, 2, 3])
