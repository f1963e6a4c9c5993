"""`argbest answer` and `argbest analyze --question`: text, JSON, tables and rules as Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from argbest import Problem, Study, registry
from argbest.cli import main

pytestmark = pytest.mark.usefixtures("few_draws")


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("answer") / "study.db"
    Study(registry.problem("newsvendor"), question="overall", seed=1, storage=where).run(90).close()
    return where


@pytest.fixture(scope="module")
def study(place: Path) -> Study:
    return Study.load(place)


def test_it_answers_the_question_of_the_study_unless_another_is_named(place: Path, study: Study) -> None:
    assert call("answer", place).output.splitlines()[0] == f"overall: {study.answer('overall').choice}"
    both = call("answer", place, "--question", "regret", "--question", "worst-case").output
    assert f"regret: {study.answer('regret').choice}" in both
    assert f"worst-case: {study.answer('worst-case').choice}" in both
    assert "worst context" in both  # the table


def test_json_has_all_of_it(place: Path, study: Study) -> None:
    found = json.loads(call("answer", place, "--question", "top:m=2", "--json").output)
    answer = study.answer("top:m=2")
    assert [tuple(each) for each in found["choice"]] == answer.choice
    assert found["expected_loss"] == answer.expected_loss
    assert len(found["table"]) == study.problem.n_contexts


def test_a_rule_is_printed_as_python_that_runs(place: Path, study: Study) -> None:
    scope: dict[str, Any] = {}
    exec(call("answer", place, "--question", "rule", "--python").output, scope)  # noqa: S102
    rule = study.answer("rule").choice
    assert [scope["choose"](x) for x in (1.0, 20.0, 99.0)] == [rule.choose(x) for x in (1.0, 20.0, 99.0)]
    refused = call("answer", place, "--python")
    assert refused.exit_code == 2
    assert "--python prints rules; 'overall' is answered by none" in refused.output


def test_the_table_is_written(place: Path, study: Study, tmp_path: Path) -> None:
    assert call("answer", place, "--question", "top:m=2", "--out", tmp_path / "top.csv").exit_code == 0
    found = pd.read_csv(tmp_path / "top.csv")
    assert found["selected"].tolist() == [
        ", ".join(map(str, each)) for each in study.answer("top:m=2").choice
    ]
    refused = call("answer", place, "--out", tmp_path / "top.txt")
    assert refused.exit_code == 2
    assert "a name that ends in .csv" in refused.output


def test_an_unknown_question_is_refused_with_the_nearest(place: Path) -> None:
    result = call("answer", place, "--question", "overal")
    assert result.exit_code == 2
    assert "Did you mean 'overall'?" in result.output


def test_runs_made_elsewhere_are_asked_too(study: Study, tmp_path: Path) -> None:
    runs = tmp_path / "runs.csv"
    study.observations().to_csv(runs, index=False)
    columns = ["--alternative", "alternative.order", "--context", "context.demand"]
    said = call("analyze", runs, *columns, "--question", "overall")
    assert said.exit_code == 0, said.output
    assert said.stdout.splitlines()[0].startswith("overall: ")
    found = json.loads(call("analyze", runs, *columns, "--question", "overall", "--json").stdout)
    assert found["answer"]["question"] == "overall"


def test_the_best_within_limits_fits_into_eighty_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def simulate(doctors: int, patients: int, seed: int) -> dict[str, float]:
        cost, late, idle = np.random.default_rng(seed).normal(0.0, 10.0, 3)
        return {"cost of a day": 300.0 * doctors + cost, "late patients": patients + late, "idle": idle}

    where, limits = tmp_path / "limits.db", ["`late patients` <= 12.5"]
    goal = "min `cost of a day`"
    problem = Problem([1, 2, 3], [10, 20], simulate, goal=goal, limits=limits)
    Study(problem, seed=1, storage=where).run(30).close()
    monkeypatch.setenv("COLUMNS", "80")
    lines = call("answer", where, "--question", "best").output.splitlines()
    head = next(i for i, line in enumerate(lines) if "selected" in line)
    for word in ("patients", "runner-up", "gap", "P(best)", "P(feasible)", "state"):
        assert word in lines[head]  # not broken over two lines
    assert [line.split()[0] for line in lines[head + 2 : head + 4]] == ["10", "20"]
