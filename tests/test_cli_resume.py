"""A study goes on with a study file only if that describes the same study."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from argbest import Problem, Study
from argbest.cli import main

FILE = """
name = "plans"
goal = "min"
[alternatives]
grid.servers = [1, 2]
grid.shift = ["day", "night"]
[contexts]
labels = ["low", "high"]
weights = [1, 3]
[simulator]
command = ["sh", "-c", "echo $0 | cut -c1-2", "{seed}", "{alternative}", "{context}"]
[study]
policy = "equal"
model = "independent"
seed = 7
[run]
budget = 16
"""


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    (folder / "study.toml").write_text(FILE)
    result = call("run", folder / "study.toml", "--quiet")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def place(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished study, to do with it whatever one likes."""
    return shutil.copytree(finished, tmp_path / "copy") / "study.db"


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ('goal = "min"', 'goal = "max"', 'goal: stored is "min", the file says "max"'),
        ('goal = "min"', "", 'goal: stored is "min", the file says "max"'),
        (
            "grid.shift",
            "grid.turn",
            "columns of alternatives: stored is servers, shift, the file says servers, turn",
        ),
        ('goal = "min"', 'goal = "min"\nrate = true', "rate: stored is null, the file says true"),
        ('policy = "equal"', "", "policy: stored is Equal(), the file says DVRLoss("),
        ('"independent"', '"gp"', "model: stored is Independent("),
        ("seed = 7", "seed = 8", "seed: stored is 7, the file says 8"),
        (
            "seed = 7",
            "seed = 7\ninitial = 3",
            "initial design: stored is auto, the file says 24 replications",
        ),
        ("seed = 7", "seed = 7\nrefit_every = 3", 'refit_every: stored is "auto", the file says 3'),
        ("[run]", "[cost]\nmeasured = true\n[run]", 'cost: stored is null, the file says "measured"'),
    ],
)
@pytest.mark.parametrize("command", ["resume", "worker"])
def test_a_file_of_another_study_is_refused_by_name(
    command: str, was: str, becomes: str, said: str, place: Path
) -> None:
    other = place.with_name("other.toml")
    assert was in FILE
    other.write_text(FILE.replace(was, becomes).replace("budget = 16", "budget = 99"))
    result = call(command, place, "--file", other, "--budget", 40, "--quiet")
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert "other.toml does not describe the stored study." in result.stderr
    assert "Correct the file, or begin a new study: argbest run" in result.stderr
    assert Study.load(place).n_replications == 16


def test_every_difference_is_named(place: Path) -> None:
    other = place.with_name("other.toml")
    other.write_text(FILE.replace("seed = 7", "seed = 8").replace('"min"', '"max"').replace("[1, 2]", "[1]"))
    said = call("resume", place, "--file", other, "--quiet").stderr
    assert all(part in said for part in ("goal: ", "the number of alternatives: ", "seed: "))


def test_the_name_the_simulator_and_the_run_may_change(place: Path) -> None:
    mended = place.with_name("mended.toml")
    text = FILE.replace('name = "plans"', 'description = "new"').replace("cut -c1-2", "cut -c1-3")
    mended.write_text(text.replace("budget = 16", "budget = 99"))
    for command in ("resume", "worker"):
        n = 20 if command == "resume" else 22
        result = call(command, place, "--file", mended, "--budget", n, "--quiet")
        assert result.exit_code == 0, result.output
        assert Study.load(place).n_replications == n


def test_run_refuses_a_storage_that_holds_a_study(place: Path) -> None:
    other = place.with_name("other.toml")
    other.write_text(FILE.replace("seed = 7", "seed = 8"))
    result = call("run", other, "--storage", place, "--quiet")
    assert result.exit_code == 1
    assert "already" in result.stderr


def test_a_study_made_in_python_goes_on_with_a_file_that_describes_it(tmp_path: Path) -> None:
    problem = Problem(pd.DataFrame({"x": [1.5, 2.0]}, index=["a", "b"]), [1, 2, 3], goal="min")
    Study(problem, storage=tmp_path / "s.db", seed=3)
    file = tmp_path / "study.toml"
    file.write_text(
        'goal = "min"\ncontexts = [1, 2, 3]\n[alternatives]\nlabel = "name"\n'
        'rows = [{ name = "a", x = 1.5 }, { name = "b", x = 2.0 }]\n'
        '[simulator]\ncommand = ["echo", "{seed}", "{alternative.x}", "{context}"]\n[study]\nseed = 3\n'
    )
    result = call("resume", tmp_path / "s.db", "--file", file, "--budget", 12, "--quiet")
    assert result.exit_code == 0, result.output
