"""Selected alternatives that are rows come as columns, in frames and files, ready for the simulator."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from argbest import InputError, Problem, Study
from argbest.cli import main

pytestmark = pytest.mark.usefixtures("few_draws")

STAFF = [{"servers": s, "beds": b, "night": s > 3} for s in (2, 5) for b in (10.5, 20.0)]


def staffed(alternatives: Any, tell: float = 10.0) -> Study:
    study = Study(Problem(alternatives, [1.0, 2.0]), initial=2, model="gp", policy="equal")
    for trial in study.ask(study.n_queued):
        k, c = trial.pair
        study.tell(trial, tell * ((k == 3 - c) + 0.01 * trial.replication))
    return study


def test_a_selected_row_comes_as_columns_and_goes_back_to_the_simulator() -> None:
    study = staffed(STAFF)
    for frame in (study.selection(), study.predict([1.0, 2.0])):
        names = [name for name in frame.columns if name.startswith("selected")]
        assert names == ["selected", "selected.servers", "selected.beds", "selected.night"]
        rows = frame[names[1:]].rename(columns=lambda name: name.removeprefix("selected."))
        assert rows.to_dict("records") == [STAFF[3], STAFF[2]]
        items = [study.alternative(label) for label in frame["selected"]]
        assert items == [STAFF[3], STAFF[2]]
        assert [type(value) for value in items[0].values()] == [int, float, bool]  # type: ignore[union-attr]


def test_labels_of_rows_come_with_the_rows_and_plain_labels_alone() -> None:
    named = staffed(pd.DataFrame(STAFF, index=["a", "b", "c", "d"]))
    assert named.selection()["selected"].tolist() == ["d", "c"]
    assert named.selection()["selected.servers"].tolist() == [5, 5]
    assert named.alternative("c") == STAFF[2]
    assert named.alternative(STAFF[2]) == STAFF[2]
    for plain in (["a", "b", "c", "d"], [{"size": s} for s in (1, 2, 3, 4)]):
        assert [name for name in staffed(plain).selection().columns if name.startswith("selected")] == [
            "selected"
        ]
    assert staffed([{"size": s} for s in (1, 2, 3, 4)]).alternative(3) == {"size": 3}
    with pytest.raises(InputError, match="unknown alternative 'e'. Did you mean"):
        named.alternative("e")


def test_selected_columns_are_exported(tmp_path: Path) -> None:
    given = Problem(STAFF, [1.0, 2.0])
    study = Study(given, initial=2, model="gp", policy="equal", storage=tmp_path / "study.db")
    for trial in study.ask(study.n_queued):
        study.tell(trial, 10.0 * (trial.pair[0] == 3 - trial.pair[1]) + 0.1 * trial.replication)
    for kind in ("csv", "json"):
        out = str(tmp_path / f"selection.{kind}")
        call = ["export", str(tmp_path / "study.db"), "--table", "selection", "--out", out]
        assert CliRunner().invoke(main, call).exit_code == 0
    names = ["selected.servers", "selected.beds", "selected.night"]
    assert pd.read_csv(tmp_path / "selection.csv")[names].values.tolist() == [
        [5, 20.0, True],
        [5, 10.5, True],
    ]
    rows = json.loads((tmp_path / "selection.json").read_text())
    assert [[row[name] for name in names] for row in rows] == [[5, 20.0, True], [5, 10.5, True]]


def test_selected_columns_come_out_of_analyze_too(tmp_path: Path) -> None:
    study = staffed(STAFF)
    study.observations().to_csv(tmp_path / "runs.csv", index=False)
    call = ["analyze", str(tmp_path / "runs.csv"), "--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(main, call)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["selection"][0]["selected.servers"] == 5
    assert pd.read_csv(tmp_path / "out" / "selection.csv")["selected.beds"].tolist() == [20.0, 10.5]
