"""Every command with options that are wrong, contradict each other or name what is not there."""

import shutil
from pathlib import Path
from typing import Any

import click
import pytest
import uvicorn
from fuzz.api import simulate
from fuzz.files import OWN, STUDY
from fuzz.judge import command
from fuzz.values import TEXTS, Draw, one, text

from argbest import Problem, Study
from argbest.cli import main
from experiments.__main__ import main as reproduce

WORDS = (
    *("0", "1", "2", "3", "-1", "0.5", "nan", "inf", "1e300", "x", "", " ", "study", "other", "equal", "gp"),
    *("ikg:gp", "equal:", ":gp", "max", "min", "own:simulate", "own:none", "none:x", "own", "observations"),
    *(
        "selection",
        ".csv",
        "out.csv",
        "out.parquet",
        "out.json",
        "out.xyz",
        "127.0.0.1",
        "192.0.2.1",
        "no host",
    ),
)
SIMPLE = {  # what is too dear to be tried with any number
    "workers": ("0", "-1", "x", "1.5"),
    "jobs": ("0", "-1", "x", "1"),
    "macroreps": ("0", "-1", "1", "x"),
    "replications": ("0", "3", "-1", "x"),
    "budget": ("0", "-1", "5", "9", "x", "1e3", "12"),
    "seconds": ("0", "-1", "nan", "x", "0.001"),
    "number": ("0", "1", "3", "-1", "x", "1.0"),
    "next_": ("0", "1", "-1", "x"),
    "every": ("0", "0.1", "nan", "x"),
    "initial": ("0", "1", "2", "-1", "x"),
    "timeout": ("0", "-1"),
    "patience": ("0", "-1", "nan", "x", "0.1"),
    "out": ("out.csv", "out.json", "out.html", "", "missing/folder/x.csv", "in.toml/x", ".", "/dev/full"),
}


def any_command(draw: Draw, folder: Path, said: list[str]) -> None:
    """Call a command with a few options, and too many or too few arguments."""
    names = [name for name in main.commands if name != "demo"]
    name = one(draw, names)
    words = _words(draw, main.commands[name], folder)
    if name == "status" and "--watch" in words:
        words.remove("--watch")
    if name == "init":
        words = [word for word in words if word != "--force"]
    if name == "task" and "--patience" not in words:
        words += ["--patience", "0.1"]  # it would wait ten minutes for a coordinator
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn.Server, "run", lambda *_, **__: None)  # it would serve until Ctrl-C
        patch.syspath_prepend(folder)
        command(said, name, *words)


def dear_command(draw: Draw, folder: Path, said: list[str]) -> None:
    """Call a command that would work for minutes, with an option that it has to refuse."""
    if one(draw, ["experiments", "demo"]) == "demo":
        command(said, "demo", *_refused(draw, main.commands["demo"], folder))
    else:
        command(said, *_refused(draw, reproduce, folder), program=reproduce)


def _refused(draw: Draw, known: click.Command, folder: Path) -> list[str]:
    bad = one(
        draw, [["--seed", "-1"], ["--seed", "x"], ["--budget", "3"], ["--nothing"], ["--macroreps", "0"]]
    )
    return [*_words(draw, known, folder), *bad, text(draw).replace("\0", ""), "a", "b"]


def _words(draw: Draw, known: click.Command, folder: Path) -> list[str]:
    options = [each for each in known.params if isinstance(each, click.Option)]
    arguments = [each for each in known.params if isinstance(each, click.Argument)]
    words = []
    for option in options:
        if draw.random() < (0.8 if option.required else 0.25):
            words += [one(draw, option.opts), *([] if option.is_flag else [_word(draw, str(option.name))])]
    for _ in arguments:
        words.append(str(one(draw, _places(folder))))
    if draw.random() < 0.15:
        words.insert(
            draw.integers(len(words) + 1), one(draw, ["--no-such", "-x", "extra", "--", "", "--name"])
        )
    if draw.random() < 0.1 and words:
        del words[draw.integers(len(words))]
    return words


def _word(draw: Draw, option: str) -> str:
    if option in SIMPLE:
        return str(one(draw, SIMPLE[option]))
    return str(one(draw, WORDS)) if draw.random() < 0.7 else text(draw)


def _places(folder: Path) -> list[Any]:
    """Return what may be named in the place of a study, a study file or a table, some of it there."""
    study, empty = folder / "study.db", folder / "empty"
    if not study.exists():
        problem = Problem(["a", "b"], [0, 1], simulate)
        Study(problem, initial=1, storage=study, plan={"budget": 8}).run(6).close()
        (folder / "own.py").write_text(OWN)
        (folder / "in.toml").write_text(STUDY)
        (folder / "runs.csv").write_text("alternative,context,value\na,0,1\nb,0,2\na,1,3\nb,1,1\n" * 3)
        (folder / "binary").write_bytes(bytes(range(256)) * 40)
        shutil.copy(study, folder / "torn.db")
        (folder / "torn.db").write_bytes(study.read_bytes()[:5000])
        empty.touch()
    there = [study] * 6 + [folder / each for each in ("in.toml", "in.toml", "runs.csv", "binary", "torn.db")]
    urls = ["postgresql://", "postgresql://u:p@127.0.0.1:1/x", "sqlite://", "mysql://x/y", "http://x", "x://"]
    return [
        *there,
        empty,
        folder,
        folder / "none",
        *urls,
        "branin",
        "branin",
        "newsvendor",
        "",
        "\n",
        *TEXTS[:9],
    ]
