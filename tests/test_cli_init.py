"""`argbest init`: two files and the next command, or a line that says why not."""

import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from argbest.cli import _Group
from argbest.cli.shipped import init
from argbest.options import POLICY
from argbest.studyfile.example import kinds, write
from argbest.studyfile.reading import read


def call(*arguments: str) -> Result:
    return CliRunner().invoke(_Group(commands={"init": init}), ["init", *arguments])


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_init_writes_a_study_that_can_be_read_and_names_the_next_command(tmp_path: Path) -> None:
    result = call()
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["simulate.py", "study.toml"]
    assert result.stdout == (
        "written: study.toml (the study) and simulate.py (its simulator)\nnext: argbest run study.toml\n"
    )
    assert read("study.toml").problem.name == "call-centre"
    assert tomllib.loads((tmp_path / "study.toml").read_text("utf-8"))["study"]["policy"] == POLICY


def test_a_study_file_names_itself_and_its_database_whatever_it_is_called(tmp_path: Path) -> None:
    path, _ = write(tmp_path / "study.toml.toml")
    assert "#     argbest run study.toml.toml\n" in path.read_text("utf-8")
    assert read(path).storage == str(tmp_path.resolve() / "study.toml.db")


def test_init_takes_a_path(tmp_path: Path) -> None:
    path = tmp_path / "my studies" / "first.toml"
    result = call(str(path))
    assert result.stdout.splitlines()[-1] == f"next: argbest run {shlex.quote(str(path))}"
    assert read(path).storage == str(path.resolve().with_suffix(".db"))


def test_init_does_not_overwrite_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("mine")
    result = call()
    assert result.exit_code == 2
    assert (
        "'study.toml' already exists and is left alone. Name another file, or use --force." in result.stderr
    )
    assert (tmp_path / "study.toml").read_text() == "mine"
    assert not (tmp_path / "simulate.py").exists()
    assert call("--force").exit_code == 0
    assert read("study.toml").problem.shape == (5, 5)
    assert "'study.toml' and 'simulate.py' already exist and are left alone." in call().stderr


def test_init_names_every_kind_and_says_what_to_do_first(tmp_path: Path) -> None:
    for kind in kinds():
        assert kind in call("--help").output
        assert "run" in tomllib.loads(write(tmp_path / kind / "study.toml", kind=kind)[0].read_text("utf-8"))
    assert "first: cc -O2 -o simulate simulate.c -lm\n" in call("--kind", "c", "--force").stdout
    assert "did you mean 'mesa'" in call("--kind", "messa").stderr.lower()
