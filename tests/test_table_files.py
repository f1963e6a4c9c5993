"""CSV files that no spreadsheet works out, and that give back what was written."""

import csv
import io
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st

from argbest import Problem, Study
from argbest.cli import main
from argbest.studyfile import read
from argbest.table_files import guarded, in_cell, read_table, to_csv, unguarded, write_csv

FORMULAS = [
    "=1+1",
    "+A1",
    "-rf",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "'=1",
    "''-2",
    "\uff1d",
    "-5",
    '=HYPERLINK("x","y")',
]
HARMLESS = ["a=1", "'tis", "''", "x-1", "1-2", "(", "é"]
LABELS = st.lists(st.text(st.characters(codec="utf-8"), min_size=1) | st.sampled_from(FORMULAS), min_size=1)


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_looks_like_a_formula_is_written_behind_an_apostrophe(text: str) -> None:
    assert guarded(text) == f"'{text}"
    assert unguarded(f"'{text}") == text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_are_written_as_they_are(text: str) -> None:
    assert guarded(text) == unguarded(text) == text


def test_numbers_are_written_as_they_are() -> None:
    frame = pd.DataFrame({"a": [-1, 2], "b": [-0.1, 1e-300], "c": [-3, "=x"], "-d": [True, False]})
    assert to_csv(frame) == "a,b,c,'-d\n-1,-0.1,-3,True\n2,1e-300,'=x,False\n"
    assert frame.columns.tolist() == ["a", "b", "c", "-d"]
    assert frame["c"].tolist() == [-3, "=x"]


@given(LABELS)
@example(["a\rb", "\r", "x"])
@example(["\r\n=1", '"', ","])
def test_what_is_written_is_read_back_unchanged(labels: list[str]) -> None:
    frame = pd.DataFrame({"label": labels, "=1": labels, "n": range(len(labels))})
    head, *rows = csv.reader(io.StringIO(to_csv(frame), newline=""))
    assert [unguarded(name) for name in head] == ["label", "=1", "n"]
    assert [[unguarded(cell) for cell in row] for row in rows] == [
        [label, label, str(n)] for n, label in enumerate(labels)
    ]
    for cell in (cell for row in rows for cell in row[:2]):
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


@given(LABELS)
def test_our_reader_gives_back_the_same_labels(labels: list[str]) -> None:
    """Blanks around a text are not kept: in tables of others they mean nothing."""
    labels = [*filter(None, (label.strip() for label in labels)), "a name"]
    with tempfile.TemporaryDirectory() as folder:
        path = write_csv(Path(folder, "runs.csv"), pd.DataFrame({"-label": labels, "value": -1.5}))
        found = read_table(path)
    assert found["-label"].tolist() == labels
    assert found["value"].tolist() == [-1.5] * len(labels)


def test_exports_are_analyzed_and_used_again_with_the_same_labels(tmp_path: Path) -> None:
    names = ["=cmd|' /C calc'!A0", "-5", "'=quoted", "plain"]
    problem = Problem(names, ["@now", "later"], lambda a, c, s: names.index(a) + s % 7)
    study = Study(problem, storage=tmp_path / "s.db").run(24)
    for table in ("observations", "trials", "selection", "allocation"):
        out = tmp_path / f"{table}.csv"
        assert call("export", tmp_path / "s.db", "--table", table, "--out", out).exit_code == 0
        with out.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        texts = [row[name] for row in rows for name in ("alternative", "context", "selected") if name in row]
        assert texts
        assert not any(text.startswith(("=", "-", "@")) for text in texts)
    again = Study.from_observations(read_table(tmp_path / "observations.csv"))
    assert sorted(map(str, again.problem.alternatives.labels)) == sorted(names)
    told, taken = (
        sorted(each.observations()[["alternative", "context", "value"]].astype(str).to_numpy().tolist())
        for each in (study, again)
    )
    assert taken == told
    np.testing.assert_allclose(
        np.sort(again.tally.mean, axis=None), np.sort(study.tally.mean, axis=None), 1e-14
    )
    done = call("analyze", tmp_path / "observations.csv", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert set(read_table(tmp_path / "out" / "selection.csv")["selected"]) <= set(names)
    write_csv(tmp_path / "plans.csv", pd.DataFrame({"plan": names, "-size": [1, 2, 3, 4]}))
    table = 'contexts = [1, 2]\nalternatives = { file = "plans.csv", label = "plan" }\n'
    (tmp_path / "study.toml").write_text(table)
    axis = read(tmp_path / "study.toml").problem.alternatives
    assert list(axis.labels) == names
    assert list(axis.columns) == ["-size"]


@pytest.mark.parametrize("separator", [",", ";"])
def test_several_values_in_one_cell_are_read_back_as_they_were(separator: str) -> None:
    values = ["a", "1 doc, é", "b; c", 'so "d"', " e", "", 3]
    cell = in_cell(values, separator)
    assert cell.startswith(f"a{separator} ")
    [found] = csv.reader([cell], delimiter=separator, skipinitialspace=True)
    assert found == [str(each) for each in values]
