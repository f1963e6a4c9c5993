"""`argbest add`, `retire`, `readmit` and `weigh`, and study files with other rows than the stored study."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from argbest import Study
from argbest.cli import main

SIMULATOR = """
import random

def simulate(alternative, context, seed):
    return -((alternative["servers"] - context["rate"]) ** 2) + random.Random(seed).gauss(0, 1)
"""
FILE = """
[alternatives]
grid.servers = [1, 2, 3]
[contexts]
grid.rate = [1.0, 2.0, 3.0]
[simulator]
python = "sim:simulate"
[run]
budget = 20
"""


def call(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def fine(*words: object) -> str:
    result = call(*words)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a stored study of servers and rates, and work in its folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sim.py").write_text(SIMULATOR)
    (tmp_path / "study.toml").write_text(FILE)
    fine("run", "study.toml", "--quiet")
    return tmp_path / "study.db"


def test_rows_are_added_one_by_one_or_from_a_table(place: Path) -> None:
    assert fine("add", place, "--alternative", '{"servers": 4}') == "1 alternative added: 4."
    (place.parent / "more.csv").write_text("rate\n4\n5\n".replace("\\\n", "\n"))
    said = fine("add", place, "--contexts", "more.csv", "--weight", "0.1")
    assert said == "2 contexts added: 4, 5."
    study = Study.load(place)
    assert study.problem.shape == (4, 5)
    assert study.problem.weights.tolist() == pytest.approx([0.8 / 3] * 3 + [0.1] * 2)
    assert "4 alternatives x 5 contexts" in fine("resume", place, "--budget", 30, "--quiet")


def test_rows_are_retired_readmitted_and_weighed(place: Path) -> None:
    said = fine("retire", place, "--alternative", '{"servers": 1}', "--context", "3.0")
    assert said == "retired alternatives: {'servers': 1} retired contexts: {'rate': 3.0}"
    assert "2 alternatives x 2 contexts" in fine("status", place)
    assert "retired contexts: {'rate': 3.0}" in fine("status", place)
    assert json.loads(call("status", place, "--json").stdout)["retired"]["alternatives"] == [{"servers": 1}]
    assert fine("weigh", place, '{"1.0": 1, "2.0": 3}') == "weights: 1.0: 0.25, 2.0: 0.75"
    assert fine("weigh", place, "[1, 1]") == "weights: 1.0: 0.5, 2.0: 0.5"
    assert fine("readmit", place, "--context", '{"rate": 3.0}').endswith("retired contexts: none")
    assert fine("readmit", place) == "pairs that were set aside are tried again"


REFUSED: list[tuple[list[Any], str]] = [
    (["add"], "nothing to add. Name --alternative"),
    (["add", "--alternative", '{"servers": 3}'], "is in the study already"),
    (["add", "--alternative", "{servers"], "is not JSON"),
    (["add", "--alternative", '{"servers": 4}', "--weight", "0.1"], "--weight is about new contexts"),
    (["add", "--alternatives", "none.csv"], "none.csv"),
    (["retire"], "nothing to retire"),
    (["retire", "--alternative", "7"], "unknown alternative 7"),
    (["readmit", "--alternative", "1"], "is not retired"),
    (["weigh", "[1, 2]"], "Give one weight for every context"),
    (["weigh", "heavy"], "is not JSON"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_is_a_line_of_text(place: Path, words: list[Any], message: str) -> None:
    result = call(words[0], place, *words[1:])
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def rewrite(place: Path, old: str, new: str) -> None:
    file = place.with_name("study.toml")
    file.write_text(file.read_text().replace(old, new))


def test_a_file_with_more_rows_adds_them_and_says_so(place: Path) -> None:
    rewrite(place, "[1, 2, 3]", "[0, 1, 2, 3, 4]")
    rewrite(place, "[1.0, 2.0, 3.0]", "[1.0, 2.0, 3.0, 4.0]")
    said = fine("resume", place, "--file", "study.toml", "--budget", 30, "--quiet")
    assert "study.toml: 2 alternatives added: 0, 4. study.toml: 1 context added: 4.0." in said
    assert Study.load(place).problem.alternatives.labels == (1, 2, 3, 0, 4)
    again = fine("resume", place, "--file", "study.toml", "--budget", 32, "--quiet")
    assert "added" not in again


def test_a_file_with_fewer_rows_is_refused_with_the_command_that_retires(place: Path) -> None:
    rewrite(place, "[1, 2, 3]", "[1, 3]")
    result = call("resume", place, "--file", "study.toml", "--budget", 30, "--quiet")
    words = " ".join(result.stderr.split())
    assert result.exit_code == 2
    assert 'study.toml: the alternative {"servers": 2} of the stored study is left out.' in words
    assert "argbest retire STORAGE --alternative '{\"servers\": 2}'" in words
    fine("retire", place, "--alternative", '{"servers": 2}')
    fine("resume", place, "--file", "study.toml", "--budget", 30, "--quiet")


def test_a_file_with_other_weights_changes_them_and_says_so(place: Path) -> None:
    rewrite(place, "[1.0, 2.0, 3.0]", "[1.0, 2.0, 3.0]\nweights = [1, 1, 2]")
    said = fine("resume", place, "--file", "study.toml", "--budget", 22, "--quiet")
    assert "study.toml: The weights of the contexts were changed." in said
    assert Study.load(place).problem.weights.tolist() == [0.25, 0.25, 0.5]


def test_a_file_may_not_change_bounds_or_the_design_along_the_way(place: Path) -> None:
    rewrite(place, "[1.0, 2.0, 3.0]", "[1.0, 2.0, 3.0]\nbounds.rate = [0, 9]")
    result = call("resume", place, "--file", "study.toml", "--budget", 22, "--quiet")
    assert result.exit_code == 2
    assert "bounds" in result.stderr
