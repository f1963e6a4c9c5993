"""A frame is told at once: the values of trials asked for, or runs made elsewhere."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from elsewhere import NAMES, runs
from study.conftest import ALTERNATIVES, CONTEXTS, answer, problem, started

from argbest import InputError, Problem, Study, TrialError
from argbest.study import checking


def shared(study: Study) -> list[float]:
    """The values whose random numbers other alternatives have too."""
    assert study._tally.common is not None
    values: list[float] = study._tally.common.value.tolist()
    return values


def test_the_values_of_trials_are_told_by_a_frame() -> None:
    one, two = (Study(problem(), initial=1, seed=3) for _ in range(2))
    trials = one.ask(12)
    frame = pd.DataFrame([{"id": trial.id, "y": 0.1 * trial.seed} for trial in trials])
    one.tell_frame(frame.iloc[::-1], trial="id", value="y")
    for trial in two.ask(12):
        two.tell(trial, 0.1 * trial.seed)
    pd.testing.assert_frame_equal(one.allocation(), two.allocation())
    assert one.pending() == []


def test_several_rows_of_a_trial_are_replications_and_a_row_with_n_is_a_summary() -> None:
    study = Study(problem(), initial=1)
    first, second = study.ask(2)
    rows = [(first.id, 1.0, 1, np.nan), (second.id, 4.0, 9, 2.0), (first.id, 3.0, 1, np.nan)]
    study.tell_frame(pd.DataFrame(rows, columns=["trial", "value", "n", "variance"]), trial="trial")
    assert study.tally.count[first.pair] == 2
    assert study.tally.mean[first.pair] == 2.0
    assert study.tally.count[second.pair] == 9
    third, fourth = study.ask(2)
    mixed = [(third.id, 1.0, 1, np.nan), (third.id, 4.0, 9, 2.0), (fourth.id, 3.0, 1, np.nan)]
    with pytest.raises(InputError, match="has a summary and other rows"):
        study.tell_frame(pd.DataFrame(mixed, columns=["trial", "value", "n", "variance"]), trial="trial")
    assert len(study.pending()) == 2  # none was told


def test_a_frame_with_a_trial_that_cannot_be_told_tells_none() -> None:
    study = Study(problem(), initial=1)
    trial = study.ask_one()
    with pytest.raises(TrialError, match="unknown trial 99"):
        study.tell_frame(pd.DataFrame({"trial": [trial.id, 99], "value": [1.0, 2.0]}), trial="trial")
    assert study.pending() == [trial]


def test_rows_are_added_to_a_study_of_observations() -> None:
    frame = runs()
    part = Study.from_observations(frame.iloc[:24], **NAMES, goal="min")
    part.tell_frame(frame.iloc[24:], value="cost")
    whole = Study.from_observations(frame, **NAMES, goal="min")
    np.testing.assert_array_equal(part.tally.count, whole.tally.count)
    np.testing.assert_allclose(part.tally.mean, whole.tally.mean, rtol=1e-12)
    np.testing.assert_allclose(part.tally.m2, whole.tally.m2, rtol=1e-9)
    assert part.selection()["selected"].tolist() == whole.selection()["selected"].tolist()
    assert part.trials(details=True)["worker"].iloc[-1] == "elsewhere"


@pytest.mark.parametrize("given", [{}, {"alternative": "alternative", "context": "context"}])
def test_runs_made_elsewhere_join_a_study_that_simulates(given: dict[str, Any]) -> None:
    study = started()
    study.tell_frame(
        pd.DataFrame({"alternative": ["a", "a"], "context": [2, 2], "value": [7.0, 8.0]}), **given
    )
    assert study.n_replications == 14
    assert study.tally.count[0, 2] == 3
    study.run(20)


def test_columns_of_another_name_hold_labels_or_rows() -> None:
    study = started()
    frame = pd.DataFrame({"plan": ["b"], "load": [1], "value": [2.0]})
    study.tell_frame(frame, alternative="plan", context="load")
    assert study.tally.count[1, 1] == 2
    rows = Study(Problem([{"size": 1, "kind": "x"}, {"size": 2, "kind": "x"}], [0, 1]), initial=1)
    rows.tell_frame(pd.DataFrame({"kind": ["x"], "size": [2], "context": [1], "value": [3.0]}))
    assert rows.tally.count.tolist() == [[0, 0], [0, 1]]


def test_runs_made_elsewhere_share_random_numbers_with_no_other(tmp_path: Path) -> None:
    def told(where: Path | None) -> Study:
        study = Study(problem(), initial=1, storage=where)
        answer(study, study.ask(12))
        frame = pd.DataFrame({"alternative": ALTERNATIVES * 2, "context": [0] * 6, "value": np.arange(6.0)})
        study.tell_frame(frame)
        return study

    study = told(None)
    assert len(shared(study)) == 12  # those of the design, whose seeds are shared
    assert study._tally.single is not None
    assert len(study._tally.single.value) == 18
    told(tmp_path / "study.db")
    again = Study.load(tmp_path / "study.db")
    assert shared(again) == shared(study)
    pd.testing.assert_frame_equal(again.selection(), study.selection())
    assert len(again.history()) > 1


def test_a_snapshot_knows_which_runs_were_made_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "EVERY", 10)
    study = Study(problem(), initial=1, storage=tmp_path / "study.db")
    answer(study, study.ask(12))
    context = [0, 0, 0, 1, 1, 1]
    study.tell_frame(
        pd.DataFrame({"alternative": ALTERNATIVES * 2, "context": context, "value": np.arange(6.0)})
    )
    assert checking.check(study._journal.storage, study.definition).snapshot == 36
    again = Study.load(tmp_path / "study.db")
    assert shared(again) == shared(study)


def test_runs_made_elsewhere_do_not_take_the_place_of_enqueued_ones() -> None:
    study = started()
    study.enqueue("a", 0)
    study.tell_frame(pd.DataFrame({"alternative": ["a"], "context": [0], "value": [1.0]}))
    assert study.enqueued == [("a", 0)]


@pytest.mark.parametrize(
    ("columns", "options", "match"),
    [
        (
            {"alternative": ["a", "x"]},
            {},
            "data row 2: unknown alternative 'x'.* keeps the alternatives that",
        ),
        ({"context": [0, 9]}, {}, "data row 2: unknown context 9"),
        ({"value": [1.0, np.nan]}, {}, "data row 2 has no value"),
        ({"value": [1.0, "high"]}, {}, "data row 2 has value 'high'"),
        ({}, {"value": "cost"}, "unknown value column 'cost'"),
        ({}, {"trial": "value", "context": "context"}, "got trials and columns of pairs"),
        ({}, {"context": ["context", "value"]}, r"have the columns \[\], and"),
    ],
)
def test_a_bad_frame_is_refused_by_its_row(columns: Any, options: Any, match: str) -> None:
    study = started()
    frame = pd.DataFrame({"alternative": ["a", "b"], "context": CONTEXTS[:2], "value": [1.0, 2.0]} | columns)
    with pytest.raises(InputError, match=match):
        study.tell_frame(frame, **options)
    assert study.n_replications == 12


def test_incomplete_rows_are_left_out_where_that_is_wished() -> None:
    study = started()
    frame = pd.DataFrame({"alternative": ["a", "b"], "context": [0, 1], "value": [1.0, np.nan]})
    study.tell_frame(frame, dropna=True)
    assert study.n_replications == 13


def test_a_frame_that_is_none_or_names_no_pairs_is_refused() -> None:
    study = started()
    with pytest.raises(InputError, match="got list; expected a pandas DataFrame"):
        study.tell_frame([1.0])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="none identifies the alternative. Expected 'alternative'"):
        study.tell_frame(pd.DataFrame({"context": [0], "value": [1.0]}))
