import numpy as np
import pandas as pd
import pytest

from argbest import Problem, Study
from argbest.answers.predicting import coordinate
from argbest.problems.axis import Axis
from argbest.report import curves


def told(problem: Problem, values: np.ndarray) -> Study:
    """A study with three replications of every pair around the given means [alternative, context]."""
    study = Study(problem, initial=1)
    for trial in study.ask(values.size):
        mean = values[trial.pair]
        study.tell(trial, [mean - 0.1, mean, mean + 0.1])
    return study


def test_numbers_are_cut_to_three_digits() -> None:
    assert curves.shorten([-3.3333333, 0.0, 10.0]) == ["-3.33", "0", "10"]


def test_numbers_that_differ_stay_different() -> None:
    assert curves.shorten([1.0001, 1.0002, 2.0]) == ["1.0001", "1.0002", "2"]


def test_whole_numbers_and_booleans_are_kept() -> None:
    assert curves.shorten([123456789, 2]) == ["123456789", "2"]
    assert curves.shorten([True, False]) == ["true", "false"]  # as the page writes them


def test_long_text_is_cut_in_the_middle_unless_that_makes_two_alike() -> None:
    long = "four nurses and a second operating theatre"
    assert curves.shorten([long, "two"]) == ["four nurses a…ating theatre", "two"]
    twin = long.replace("second", "third")
    assert curves.shorten([long, twin]) == [long, twin]


def test_numbers_are_sorted_by_size_and_text_stays_as_given() -> None:
    side = curves.side(Axis.of("context", [3.0, 1.0, 2.0]))
    assert side.order.tolist() == [1, 2, 0]
    assert side.rank.tolist() == [2, 0, 1]
    assert side.labels == ("1", "2", "3")
    assert curves.side(Axis.of("context", ["Mon", "Sun", "Fri"])).order.tolist() == [0, 1, 2]


def test_rows_are_sorted_by_their_columns_in_turn() -> None:
    rows = [{"shift": s, "rate": r} for r in (2.0, 1 / 3) for s in ("night", "day")]
    side = curves.side(Axis.of("context", rows))
    assert side.labels == ("night, 0.333", "night, 2", "day, 0.333", "day, 2")
    assert side.title == "context (shift, rate)"


def test_titles_carry_the_column_names() -> None:
    assert curves.side(Axis.of("alternative", ["A", "B"])).title == "alternative"
    assert curves.side(Axis.of("alternative", [{"x1": 1}, {"x1": 2}])).title == "x1"
    named = pd.DataFrame({"size": [2, 1]}, index=["big", "small"])
    side = curves.side(Axis.of("alternative", named))
    assert (side.title, side.labels) == ("alternative", ("small", "big"))


@pytest.mark.parametrize(
    ("contexts", "name"),
    [
        ([1, 2], "context"),
        ([{"rate": 0.5}, {"rate": 1.5}], "rate"),
        (["a", "b"], None),
        ([True, False], None),
        ([{"rate": 0.5, "mix": 1}, {"rate": 1.5, "mix": 1}], None),
        ([4.0], None),
    ],
)
def test_the_coordinate_is_one_number_that_varies(contexts: list[object], name: str | None) -> None:
    assert coordinate(Problem(["A", "B"], contexts)) == name


def test_the_policy_map_is_in_reading_order() -> None:
    problem = Problem([2, 1], [{"rate": 3.0}, {"rate": 1.0}, {"rate": 2.0}])
    study = told(problem, np.array([[5.0, 0.0, 9.0], [0.0, 5.0, 1.0]]))
    policy = curves.policy_map(study)
    # In the problem, 2 wins at rates 3 and 2, and 1 wins at rate 1; in the picture 1 comes first.
    assert policy.alternatives.labels == ("1", "2")
    assert policy.contexts.labels == ("1", "2", "3")
    assert policy.selected.tolist() == [0, 1, 1]
    certain = study.certificate()
    np.testing.assert_array_equal(policy.p_best, certain.pcs[[1, 2, 0]])
    np.testing.assert_array_equal(policy.probability, certain.best_probability[::-1][:, [1, 2, 0]])
    np.testing.assert_allclose(policy.probability[policy.selected, np.arange(3)], policy.p_best, atol=1e-8)
    assert (policy.state == "sure").tolist() == (policy.p_best >= 0.95).tolist()
    assert policy.state.tolist() == study.selection()["state"].iloc[policy.contexts.order].tolist()


@pytest.mark.parametrize("given", ["labels", "dicts", "named"])
def test_the_policy_curve_passes_through_the_contexts(given: str) -> None:
    rates = [3.0, 1.0, 2.0]
    forms: dict[str, object] = {
        "labels": rates,
        "dicts": [{"rate": rate} for rate in rates],
        "named": pd.DataFrame({"rate": rates}, index=["high", "low", "middle"]),
    }
    problem = Problem([2, 1], forms[given], bounds=(0.0, 4.0))
    study = told(problem, np.array([[5.0, 0.0, 9.0], [0.0, 5.0, 1.0]]))
    policy, curve = curves.policy_map(study), curves.policy_curve(study, points=5)
    assert curve is not None
    assert curve.grid.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert curve.at.tolist() == [1.0, 2.0, 3.0]
    assert curve.selected[1:4].tolist() == policy.selected.tolist()
    np.testing.assert_allclose(curve.p_best[1:4], policy.p_best, atol=1e-8)
    np.testing.assert_allclose(curve.probability[:, 1:4], policy.probability, atol=1e-8)
    np.testing.assert_allclose(curve.probability.sum(axis=0), 1.0, atol=1e-6)


def test_there_is_no_policy_curve_over_labels() -> None:
    study = told(Problem(["A", "B"], ["x", "y"]), np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert curves.policy_curve(study) is None


def test_the_allocation_counts_replications_in_reading_order() -> None:
    study = Study(Problem([2, 1], [30, 10, 20]), initial=[(2, 10), (2, 10), (1, 30)])
    for trial in study.ask(3):
        study.tell(trial, 0.0)
    spent = curves.allocation(study)
    assert spent.count.tolist() == [[0, 0, 1], [2, 0, 0]]
    assert spent.ticks.tolist() == [0, 1, 2]


def test_ticks_are_even_on_a_scale_of_square_roots() -> None:
    side = curves.side(Axis.of("context", [1, 2]))
    assert curves.Allocation(side, side, np.array([[2, 27], [5, 5]])).ticks.tolist() == [2, 3, 6, 11, 18, 27]
    assert curves.Allocation(side, side, np.full((2, 2), 7)).ticks.tolist() == [7, 8]


def test_a_grid_of_two_coordinates_is_found_in_any_order() -> None:
    rows = [(2.0, "night", 7), (1.0, "day", 7), (2.0, "day", 7), (1.0, "night", 7)]
    contexts = [{"rate": rate, "shift": shift, "fixed": fixed} for rate, shift, fixed in rows]
    problem = Problem(["A", "B"], contexts)
    grid = curves.grid(problem)
    assert grid is not None
    assert (grid.columns.title, grid.columns.labels) == ("rate", ("1", "2"))
    assert (grid.rows.title, grid.rows.labels) == ("shift", ("night", "day"))
    order = curves.side(problem.contexts).order
    assert [[rows[order[place]][:2] for place in row] for row in grid.context] == [
        [(1.0, "night"), (2.0, "night")],
        [(1.0, "day"), (2.0, "day")],
    ]


def test_holes_in_a_grid_are_marked() -> None:
    contexts = [{"x": x, "y": y} for x in range(3) for y in range(3) if (x, y) != (1, 2)]
    grid = curves.grid(Problem(["A", "B"], contexts))
    assert grid is not None
    assert np.argwhere(grid.context < 0).tolist() == [[2, 1]]
    assert sorted(grid.context[grid.context >= 0].tolist()) == list(range(8))


@pytest.mark.parametrize(
    "contexts",
    [
        [1.0, 2.0, 3.0],
        ["a", "b"],
        [{"x": x, "y": x * x} for x in range(5)],
        [{"x": x, "y": y, "z": z} for x in range(2) for y in range(2) for z in range(2)],
        [{"x": x, "y": 1} for x in range(4)],
    ],
)
def test_other_contexts_are_no_grid(contexts: list[object]) -> None:
    assert curves.grid(Problem(["A", "B"], contexts)) is None
