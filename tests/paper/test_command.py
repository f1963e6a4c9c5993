from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from argbest.cli import main


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ("paper", *arguments))


def test_figure_1_from_the_command_line_prints_a_table_and_writes_a_page(tmp_path: Path) -> None:
    out, docs = tmp_path / "out", tmp_path / "docs"
    result = call("fig1", "--out", str(out), "--docs", str(docs))
    assert result.exit_code == 0, result.output
    assert "independent" in result.stdout
    assert str(out / "fig1.csv") in result.stdout
    assert (docs / "reproduction.md").exists()


def test_all_runs_every_part_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    from argbest.paper import parts
    from argbest.paper.plan import Outcome, Part, Plan

    asked: list[tuple[str, Plan]] = []

    def stand_in(name: str) -> Part:
        def part(plan: Plan) -> Outcome:
            asked.append((name, plan))
            return Outcome(name, pd.DataFrame({"what": [name]}), (), ())

        return part

    for name in list(parts.PARTS):
        monkeypatch.setitem(parts.PARTS, name, stand_in(name))
    options = ("--macroreps", "3", "--samples", "7", "--jobs", "2", "--seed", "9", "--out", str(tmp_path))
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
    plan = asked[0][1]
    assert (plan.runs, plan.length(), plan.jobs, plan.seed, plan.out) == (3, 7, 2, 9, tmp_path)


def test_the_defaults_are_the_papers() -> None:
    from argbest.paper.plan import Plan

    assert (Plan(Path()).runs, Plan(Path()).length()) == (100, 2_000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fig7",), "unknown part of the paper 'fig7'"),
        (("fig2", "--published", "nowhere.csv"), "cannot read published curves from 'nowhere.csv'"),
        (("fig2", "--macroreps", "0"), "--macroreps"),
        (("fig2", "--samples", "none"), "--samples"),
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
