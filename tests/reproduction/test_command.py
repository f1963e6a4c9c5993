import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from argbest.cli import main as argbest
from argbest.errors import ArgbestError
from experiments import covid_models, covid_runs, models, plan, table1
from experiments.__main__ import _USUAL, main
from experiments.parts import PARTS
from experiments.plan import Outcome, Part, Plan

ROOT = Path(__file__).resolve().parent.parent.parent


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_figure_1_from_the_command_line_prints_a_table_and_writes_a_page(tmp_path: Path) -> None:
    out, docs = tmp_path / "out", tmp_path / "docs"
    result = call("fig1", "--out", str(out), "--docs", str(docs))
    assert result.exit_code == 0, result.output
    assert "independent" in result.stdout
    assert str(out / "fig1.csv") in result.stdout
    assert (docs / "reproduction.md").exists()


def test_all_runs_every_part_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Plan]] = []

    def stand_in(name: str) -> Part:
        def part(plan: Plan) -> Outcome:
            asked.append((name, plan))
            return Outcome(name, pd.DataFrame({"what": [name]}), (), ())

        return part

    for name in list(PARTS):
        monkeypatch.setitem(PARTS, name, stand_in(name))
    options = (
        "--macroreps",
        "3",
        "--replications",
        "7",
        "--jobs",
        "2",
        "--seed",
        "9",
        "--out",
        str(tmp_path),
    )
    assert call(*options).exit_code == 0
    assert [name for name, _ in asked] == [
        "fig1",
        "fig2",
        "table1",
        "convergence",
        "models",
        "covid-epidemic",
        "fig3",
        "fig4",
        "covid-models",
    ]
    given = asked[0][1]
    assert (given.runs, given.length(), given.jobs, given.seed, given.out) == (3, 7, 2, 9, tmp_path)


def test_the_defaults_are_the_papers() -> None:
    assert (Plan(Path()).runs, Plan(Path()).length()) == (100, 2_000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fig7",), "unknown part of the paper 'fig7'"),
        (("fig2", "--published", "nowhere.csv"), "cannot read published curves from 'nowhere.csv'"),
        (("fig2", "--macroreps", "0"), "--macroreps"),
        (("fig2", "--replications", "none"), "--replications"),
        (("fig1", "--out", "/dev/null/folder"), "cannot write into"),
    ],
)
def test_wrong_input_ends_with_exit_code_2(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "paper").exists()


def test_published_curves_with_other_columns_end_with_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "curves.csv").write_text("a,b\n1,2\n")
    result = call("fig2", "--published", str(tmp_path / "curves.csv"), "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "lacks the columns experiment, objective" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("trouble", "code", "said"),
    [
        (ArgbestError("a run was lost."), 1, "Error: a run was lost.\n"),
        (KeyboardInterrupt(), 130, "argbest: interrupted.\n"),
    ],
)
def test_a_failure_and_an_interruption_end_in_one_line(
    trouble: BaseException, code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def troubled(_: Plan) -> Outcome:
        raise trouble

    monkeypatch.setitem(PARTS, "fig1", troubled)
    result = call("fig1", "--out", str(tmp_path))
    assert (result.exit_code, result.stderr) == (code, f"argbest: fig1\n{said}")


def test_a_clone_has_the_command_as_a_module() -> None:
    command = [sys.executable, "-m", "experiments", "fig22"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("Error: unknown part of the paper 'fig22'")
    assert ended.stderr.endswith("Did you mean 'fig2'?\n")


def test_the_old_command_names_the_new_one() -> None:
    result = CliRunner().invoke(argbest, ["paper", "fig2", "--jobs", "2"])
    assert result.exit_code == 2
    assert "are made by `python -m experiments`, in a clone of the repository." in result.stderr
    assert "paper" not in argbest.commands


def test_the_usual_numbers_are_those_of_the_parts() -> None:
    assert set(_USUAL) == set(PARTS)
    usual = (plan.MACROREPS, plan.REPLICATIONS)
    assert _USUAL["fig2"] == _USUAL["convergence"] == usual
    assert _USUAL["models"] == (plan.MACROREPS, models.REPLICATIONS)
    assert _USUAL["covid-models"] == (covid_runs.MACROREPS, covid_models.REPLICATIONS)
    assert _USUAL["table1"] == (table1._TOGETHER, table1._ITERATIONS)
    assert _USUAL["covid-epidemic"][0] == plan.MACROREPS
    replications = {
        covid_runs.experiment(plan.Plan(Path()), name, covid_runs.EVERYWHERE).replications
        for name in covid_runs.PROBLEMS
    }
    assert _USUAL["fig3"] == _USUAL["fig4"] == (covid_runs.MACROREPS, *replications)
