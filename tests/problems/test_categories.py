"""Declared categories: numbers that are mere identifiers have no distances, only names."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from argbest import InputError, Problem, Study, select
from argbest.answers.predicting import coordinate, prediction_kit
from argbest.errors import ExtrapolationNotice
from argbest.problems.axis import Axis
from argbest.problems.labels import declared
from argbest.report import curves
from argbest.report.page.studies import payload
from argbest.study.definition import differences, of_problem, problem_from

PLANS = [{"plan_id": i, "servers": n} for i, n in ((7, 2), (11, 2), (40, 3))]
ZONES = [{"zone": z, "rate": r} for z in (3, 9) for r in (1.0, 2.0)]


def told(problem: Problem, truth: Any, **options: Any) -> Study:
    study = Study(problem, policy="equal", initial=4, **options)
    rng = np.random.default_rng(3)
    for trial in study.ask(4 * truth.size):
        study.tell(trial, float(truth[trial.pair] + 0.1 * rng.normal()))
    return study


def test_a_single_declared_column_is_a_mere_name() -> None:
    for given, name in (([3, 8, 100], "alternative"), ([{"plan_id": i} for i in (3, 8, 100)], "plan_id")):
        names = Problem(given, [1, 2], categorical=[name])
        assert names.alternatives.bounds() == {}
        assert names.setting.alternatives is None
        numbers = Problem(given, [1, 2]).setting.alternatives
        assert numbers is not None
        np.testing.assert_allclose(numbers.points[:, 0], [0, 5 / 97, 1])


def test_a_declared_column_among_others_has_distance_zero_or_one() -> None:
    located = Problem(PLANS, ZONES, categorical=["plan_id", "zone"]).setting.alternatives
    assert located is not None
    assert located.categorical.tolist() == [True, False]
    np.testing.assert_array_equal(located.separation(located.points)[0], 1 - np.eye(3))
    np.testing.assert_array_equal(located.separation(located.points)[1], [[0, 0, 1], [0, 0, 1], [1, 1, 0]])


def test_declared_context_columns_are_as_far_apart_as_texts() -> None:
    texts = [{**row, "zone": f"zone {row['zone']}"} for row in ZONES]
    ours = Problem(PLANS, ZONES, categorical="zone")
    np.testing.assert_array_equal(ours.setting.separation, Problem(PLANS, texts).setting.separation)
    assert ours.bounds == {"rate": (1.0, 2.0)}


@pytest.mark.parametrize("model", ["additive-gp", "gp", "linear", "independent"])
def test_every_model_treats_a_declared_column_as_it_treats_texts(model: str) -> None:
    truth = np.array([[1.0, 2.0, 3.0, 3.5], [2.0, 2.5, 1.0, 1.5], [0.0, 0.5, 4.0, 4.5]])
    texts = [{**row, "zone": f"zone {row['zone']}"} for row in ZONES]
    ours = told(Problem(list("abc"), ZONES, categorical=["zone"]), truth, model=model)
    theirs = told(Problem(list("abc"), texts), truth, model=model)
    numbers = ["mean", "gap", "gap_sd", "p_best", "expected_loss"]
    pd.testing.assert_frame_equal(ours.selection()[numbers], theirs.selection()[numbers])


def test_a_name_stands_for_both_axes_and_with_its_kind_for_one() -> None:
    rows, columns = [{"id": 1, "x": 0.0}, {"id": 2, "x": 1.0}], [{"id": 1, "y": 0.0}, {"id": 5, "y": 1.0}]
    both = Problem(rows, columns, categorical=["id"])
    assert (both.alternatives.categorical, both.contexts.categorical) == (
        frozenset({"id"}),
        frozenset({"id"}),
    )
    one = Problem(rows, columns, categorical=["context.id"])
    assert (one.alternatives.categorical, one.contexts.categorical) == (frozenset(), frozenset({"id"}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["plan"], "unknown categorical column 'plan'; known are plan_id, rate, servers, zone. Did you mean"),
        (["alternative"], "unknown categorical column 'alternative'; known are plan_id"),
        (["context.plan_id"], "unknown categorical column 'context.plan_id'"),
        (3, "got categorical=3; expected names of columns. Give a list such as"),
        ([3], r"got categorical=\[3\]; expected names of columns"),
        (None, "got categorical=None; expected names of columns"),
    ],
)
def test_what_names_no_column_is_refused(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Problem(PLANS, ZONES, categorical=given)


def test_a_category_has_no_bounds() -> None:
    with pytest.raises(InputError, match="got bounds for 'zone', which is declared categorical"):
        Problem(PLANS, ZONES, categorical=["zone"], bounds={"zone": (0, 10)})
    assert Problem(PLANS, ZONES, categorical=["zone"], bounds=(0, 5)).bounds == {"rate": (0.0, 5.0)}


def test_texts_and_booleans_may_be_declared_too() -> None:
    (axis,) = declared(
        [Axis.of("context", [{"open": True, "site": "a"}, {"open": False, "site": "a"}])], ["open", "site"]
    )
    np.testing.assert_array_equal(axis.separation(axis.bounds())[0], [[0, 1], [1, 0]])
    np.testing.assert_array_equal(axis.separation(axis.bounds())[1], np.zeros((2, 2)))


def test_declarations_are_stored_and_restored(tmp_path: Path) -> None:
    problem = Problem(PLANS, ZONES, categorical=["plan_id", "zone"])
    stored = json.loads(json.dumps(of_problem(problem)))
    again = problem_from(stored, None)
    assert again.alternatives == problem.alternatives
    assert again.contexts == problem.contexts
    Study(problem, storage=tmp_path / "a.db").close()
    loaded = Study.load(tmp_path / "a.db")
    assert loaded.problem.contexts.categorical == frozenset({"zone"})
    loaded.close()


def test_a_study_stored_before_there_were_declarations_has_none() -> None:
    stored = of_problem(Problem(PLANS, ZONES, categorical=["zone"]))
    for name in ("alternatives", "contexts"):
        del stored[name]["categorical"]
    assert problem_from(stored, None).contexts.categorical == frozenset()


def test_a_study_file_that_declares_something_else_describes_another_study() -> None:
    plain, other = (Study(Problem(PLANS, ZONES, categorical=each)).definition for each in ([], ["zone"]))
    assert differences(plain, plain | {"id": "other"}) == []
    assert "categorical columns of contexts: stored is none, the file says zone" in differences(plain, other)


def test_an_unknown_number_of_a_category_is_warned_of() -> None:
    study = told(Problem(list("ab"), [3, 9, 27], categorical=["context"]), np.array([[1.0, 2, 3], [2, 2, 2]]))
    with pytest.warns(ExtrapolationNotice, match=r"never simulated: context 10 \(known: 3, 9, 27\)"):
        assert study.predict([10, 9])["extrapolated"].tolist() == [True, False]


def test_rows_of_new_contexts_keep_what_is_declared() -> None:
    axis = Problem(PLANS, ZONES, categorical=["zone"]).contexts
    assert axis.rows([{"zone": 4, "rate": 1.5}]).categorical == frozenset({"zone"})
    assert Problem(list("ab"), [1, 2], categorical=["context"]).contexts.rows([3]).metric == {}


def test_pictures_and_pages_give_categories_no_order_and_no_slider() -> None:
    truth = np.array([[1.0, 3, 1], [2, 2, 2]])
    study = told(Problem(list("ab"), [3, 9, 27], categorical=["context"]), truth)
    assert coordinate(study.problem) is None
    assert curves.policy_curve(study) is None
    kit = prediction_kit(study.view())
    assert kit["coordinates"] == [{"name": "context", "kind": "category", "values": [3, 9, 27]}]
    lines = [line[:2] for line in payload(study)["choices"]]
    assert lines == [["context 3 and context 27", "b"], ["context 9", "a"]]
    ordered = told(Problem(list("ab"), [3, 9, 27]), truth)
    lines = [line[:2] for line in payload(ordered)["choices"]]
    assert lines == [["context 3", "b"], ["context 9", "a"], ["context 27", "b"]]


RUNS = pd.DataFrame(
    {
        "plan_id": [1, 2, 5] * 24,
        "zone": np.repeat([10, 20, 70], 24),
        "value": np.random.default_rng(1).normal(size=72),
    }
)
COLUMNS: dict[str, Any] = {"alternative": "plan_id", "context": "zone"}


def test_runs_made_elsewhere_may_have_declared_columns() -> None:
    study = Study.from_observations(RUNS, **COLUMNS, categorical=["plan_id", "zone"])
    assert study.problem.setting.alternatives is None
    assert study.problem.bounds == {}
    assert Study.from_observations(RUNS, **COLUMNS).problem.bounds == {"zone": (10.0, 70.0)}
    with pytest.raises(InputError, match="unknown categorical column 'zones'"):
        Study.from_observations(RUNS, **COLUMNS, categorical=["zones"])


def test_exported_columns_are_declared_by_either_name() -> None:
    frame = RUNS.rename(columns={"plan_id": "alternative.plan_id", "zone": "context.zone"})
    for name in ("zone", "context.zone"):
        study = Study.from_observations(frame, categorical=[name])
        assert study.problem.contexts.categorical == frozenset({"zone"})


def test_categories_do_not_go_into_bins() -> None:
    frame = RUNS.assign(rate=np.arange(72) % 6)
    columns = COLUMNS | {"context": ["zone", "rate"], "categorical": ["zone"]}
    found = Study.from_observations(frame, **columns, bins=2).problem.contexts.columns
    assert set(found["zone"]) == {10, 20, 70}
    assert len(set(found["rate"])) == 2
    with pytest.raises(InputError, match="bins for 'zone', which holds no numbers"):
        Study.from_observations(frame, **columns, bins={"zone": 2})
    with pytest.raises(InputError, match="no context column holds numbers"):
        Study.from_observations(RUNS, **COLUMNS, categorical=["zone"], bins=2)


def test_one_call_takes_declarations_too() -> None:
    def simulate(plan: int, zone: int, seed: int) -> float:
        return plan + zone + seed % 7

    study = select(simulate, [1, 2], [5, 6], budget=8, policy="equal", categorical=["alternative"])
    assert study.problem.setting.alternatives is None
    assert study.problem.bounds == {"context": (5.0, 6.0)}
