"""Study files with a population for contexts, and with prior runs; on the command line as well."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from argbest import Population, Study
from argbest.cli import main
from argbest.errors import InputError
from argbest.studyfile import read

SIMULATOR = """
import numpy as np


def reward(plan, rate, seed):
    gain = {"A": 1.0, "B": 0.5, "C": 0.0}[plan]
    return gain * rate / 10 + 0.3 * float(np.random.default_rng(seed).normal())
"""
FILE = """
alternatives = ["A", "B", "C"]
contexts = [5, 10, 20]

[simulator]
python = "rewards_of_plans:reward"

[run]
budget = 70
"""
PEOPLE = """
alternatives = ["A", "B", "C"]

[contexts]
population = "people.csv"
n = 40
weights = "count"
seed = 3
"""


def written(folder: Path, text: str) -> Path:
    (folder / "rewards_of_plans.py").write_text(SIMULATOR)
    file = folder / "plans.toml"
    file.write_text(text)
    return file


def old_runs(folder: Path, *, plans: str = "ABC") -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [(plan, rate, "v1", rng.normal()) for plan in plans for rate in (5, 10, 15) for _ in range(4)]
    frame = pd.DataFrame(rows, columns=["alternative", "context", "version", "value"])
    frame.to_csv(folder / "old.csv", index=False)
    return frame


def people(folder: Path, n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"age": rng.normal(60, 10, n), "smoker": rng.random(n) < 0.3, "count": rng.integers(1, 9, n)}
    )
    frame.to_csv(folder / "people.csv", index=False)
    return frame


def test_a_file_may_name_the_table_of_prior_runs(tmp_path: Path) -> None:
    frame = old_runs(tmp_path)
    for given in ('file = "old.csv"', 'file = "old.csv"\nsource = "version"'):
        described = read(written(tmp_path, f"{FILE}\n[prior_runs]\n{given}\n"))
        study = Study(described.problem, **described.options)
        earlier = study.view().tally.earlier
        assert earlier is not None
        means = frame.groupby(["alternative", "context"])["value"].mean().unstack()
        np.testing.assert_allclose(earlier.mean, means)
        assert described.checked.n_designed(70) < 2 * 9 * 2
    assert study.problem.prior_runs is not None
    assert study.problem.prior_runs.sources == ("v1",)


def test_what_is_left_out_of_prior_runs_is_a_remark_on_the_file(tmp_path: Path) -> None:
    old_runs(tmp_path, plans="ABX")
    described = read(written(tmp_path, f'{FILE}\n[prior_runs]\nfile = "old.csv"\n'))
    assert described.remarks == (
        "12 of 36 prior runs are left out: their alternatives are none of this study.",
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ('file = "none.csv"', "none.csv"),
        ('file = "old.csv"\nsource = "nothing"', "nothing"),
        ('source = "version"', "file must be text, got None"),
        ('folder = "old.csv"', "unknown key of \\[prior_runs\\] 'folder'"),
    ],
)
def test_mistakes_in_prior_runs_name_the_key(given: str, words: str, tmp_path: Path) -> None:
    old_runs(tmp_path)
    with pytest.raises(InputError, match=words):
        read(written(tmp_path, f"{FILE}\n[prior_runs]\n{given}\n"))


def test_the_command_line_takes_a_table_of_prior_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    old_runs(tmp_path)
    file, store = written(tmp_path, FILE), tmp_path / "plans.db"
    given = ["run", str(file), "--prior-runs", str(tmp_path / "old.csv"), "--quiet"]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 0, result.output
    study = Study.load(store)
    assert study.n_replications == 70
    assert study.problem.prior_runs is not None
    assert study.problem.prior_runs.n == 36
    study.close()
    again = CliRunner().invoke(main, ["resume", str(store), "--budget", "75", "--quiet"])
    assert again.exit_code == 0, again.output


def test_analyze_takes_the_source_that_the_answer_is_about(tmp_path: Path) -> None:
    old = old_runs(tmp_path)
    pd.concat([old, old.assign(version="v2", value=old["value"] + 1)]).to_csv(
        tmp_path / "all.csv", index=False
    )
    given = ["analyze", str(tmp_path / "all.csv"), "--source", "version", "--target", "v2", "--json"]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["replications"] == 36
    wrong = CliRunner().invoke(main, [*given[:-2], "v3"])
    assert wrong.exit_code == 2
    assert "unknown version of the target 'v3'" in wrong.stderr


def test_contexts_may_be_a_population(tmp_path: Path) -> None:
    frame = people(tmp_path)
    problem = read(written(tmp_path, PEOPLE)).problem
    drawn, weights = Population(frame, n=40, weights="count", seed=3).drawn()
    assert problem.n_contexts == 40
    assert problem.population is not None
    assert problem.population.n == 40
    assert problem.contexts.columns["age"] == pytest.approx(drawn.columns["age"])
    np.testing.assert_allclose(problem.weights, weights / weights.sum())


def test_a_population_has_columns_and_categories_like_any_table(tmp_path: Path) -> None:
    people(tmp_path)
    text = PEOPLE.replace("seed = 3", 'columns = ["smoker"]\ncategorical = ["smoker"]')
    problem = read(written(tmp_path, text)).problem
    assert list(problem.contexts.columns) == ["smoker"]
    assert problem.n_contexts == 2
    assert problem.contexts.categorical == {"smoker"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("n = 40", "n = 0", "n must be"),
        ('weights = "count"', "weights = [1, 2]", "weights of a population name a column"),
        ('weights = "count"', 'label = "age"', "people of a population have none"),
        ('population = "people.csv"', 'file = "people.csv"', "n belongs to a population"),
        ('population = "people.csv"', 'population = "none.csv"', "none.csv"),
        ('alternatives = ["A", "B", "C"]', 'alternatives.population = "people.csv"', "unknown key"),
    ],
)
def test_mistakes_in_populations_are_named(old: str, new: str, words: str, tmp_path: Path) -> None:
    people(tmp_path)
    with pytest.raises(InputError, match=words):
        read(written(tmp_path, PEOPLE.replace(old, new)))
