"""Axis: bounds, new rows, and how far apart rows are."""

import numpy as np
import pandas as pd
import pytest

from argbest.errors import InputError
from argbest.problems.axis import Axis

SHIFTS = [{"rate": 3, "shift": "day"}, {"rate": 5, "shift": "day"}, {"rate": 5, "shift": "night"}]


def contexts(given: object) -> Axis:
    return Axis.of("context", given)


def test_bounds_default_to_the_extremes_of_the_metric_columns() -> None:
    axis = contexts([{"rate": 3, "shift": "day", "open": True}, {"rate": 7, "shift": "day", "open": False}])
    assert axis.bounds() == {"rate": (3.0, 7.0), "open": (0.0, 1.0)}
    assert contexts([4, 2]).bounds() == {"context": (2.0, 4.0)}
    assert contexts(["a", "b"]).bounds() == {}


@pytest.mark.parametrize("given", [(0, 10), [0, 10], [(0, 10)], {"rate": (0, 10)}, np.array([[0.0, 10.0]])])
def test_bounds_may_be_a_pair_a_dict_or_pairs(given: object) -> None:
    assert contexts(SHIFTS).bounds(given) == {"rate": (0.0, 10.0)}


def test_bounds_of_two_columns_come_in_order_or_by_name() -> None:
    axis = contexts([{"x": 1, "y": 2}, {"x": 3, "y": 2}])
    assert axis.bounds([(0, 4), (1, 2)]) == {"x": (0.0, 4.0), "y": (1.0, 2.0)}
    assert axis.bounds({"y": (0, 4)}) == {"x": (1.0, 3.0), "y": (0.0, 4.0)}
    assert axis.bounds({"y": (2, 2)})["y"] == (2.0, 2.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((4, 10), r"bounds \(4.0, 10.0\) of 'rate' do not hold its values 3.0 to 5.0"),
        ((0, 4), r"bounds \(0.0, 4.0\) of 'rate' do not hold"),
        ((10, 0), r"bounds \(10.0, 0.0\) of 'rate' do not hold"),
        ((3, 3), r"bounds \(3.0, 3.0\) of 'rate' do not hold"),
        ((0, float("nan")), "a bound of 'rate' is nan"),
        ((0, float("inf")), "a bound of 'rate' is inf"),
        (("0", "9"), "got bounds .* for 'rate'; expected two numbers"),
        ({"rate": 9}, "got bounds 9 for 'rate'; expected two numbers"),
        ({"rate": (0, 5, 9)}, "got bounds .* for 'rate'; expected two numbers"),
        ({"raet": (0, 9)}, "unknown context column with bounds 'raet'; known are rate. Did you mean 'rate'"),
        ({"shift": (0, 9)}, "unknown context column with bounds 'shift'; known are rate"),
        ([(0, 9), (0, 9), (0, 9)], r"got bounds .* for the columns \['rate'\]"),
        (9, r"got bounds 9 for the columns \['rate'\]"),
    ],
)
def test_bad_bounds_are_refused(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        contexts(SHIFTS).bounds(given)


def test_separation_is_squared_scaled_distance_for_numbers_and_zero_or_one_for_text() -> None:
    axis = contexts(SHIFTS)
    separation = axis.separation(axis.bounds((0, 10)))
    assert separation.shape == (2, 3, 3)
    np.testing.assert_allclose(separation[0], [[0, 0.04, 0.04], [0.04, 0, 0], [0.04, 0, 0]])
    np.testing.assert_array_equal(separation[1], [[0, 0, 1], [0, 0, 1], [1, 1, 0]])


def test_a_column_without_range_separates_nothing() -> None:
    axis = contexts([{"x": 2, "y": 1}, {"x": 2, "y": 3}])
    rows = axis.rows({"x": 7, "y": 1})
    np.testing.assert_array_equal(axis.separation(axis.bounds(), rows), [[[0, 0]], [[0, 1]]])


@pytest.mark.parametrize("rows", ["evening", ["evening"], np.str_("evening"), pd.Series(["evening"])])
def test_an_unseen_category_is_different_from_all(rows: object) -> None:
    axis = contexts(["day", "night"])
    assert axis.separation(axis.bounds(), axis.rows(rows)).tolist() == [[[1.0, 1.0]]]


def test_new_rows_may_come_as_dicts_frames_or_alone_and_may_repeat() -> None:
    axis = contexts(SHIFTS)
    new = {"shift": "day", "rate": 4.0}
    rows = axis.rows([new, new])
    assert rows.frame().to_dict("list") == {"context.rate": [4.0, 4.0], "context.shift": ["day", "day"]}
    np.testing.assert_allclose(axis.separation(axis.bounds(), rows)[0], np.full((2, 3), 0.25))
    assert axis.rows(pd.DataFrame([new, new])) == rows
    assert axis.rows(new).item(0) == {"rate": 4.0, "shift": "day"}
    assert axis.rows("rate=5, shift=day").item(0) == SHIFTS[1]


def test_new_values_of_a_single_column_need_no_name() -> None:
    axis = contexts([{"rate": 1}, {"rate": 3}])
    rows = axis.rows([2, 2.5])
    assert [rows.item(i) for i in range(2)] == [{"rate": 2}, {"rate": 2.5}]
    np.testing.assert_allclose(axis.separation(axis.bounds(), rows), [[[0.25, 0.25], [0.5625, 0.0625]]])
    assert axis.rows(np.float64(2)).frame().to_dict("list") == {"context.rate": [2.0]}


def test_the_labels_of_a_named_frame_stand_for_its_rows() -> None:
    axis = contexts(pd.DataFrame({"rate": [1.5, 2.5]}, index=["low", "high"]))
    assert axis.rows(["high"]).frame().to_dict("list") == {"context": ["high"], "context.rate": [2.5]}
    with pytest.raises(InputError, match=r"unknown context 'hihg'. Did you mean one of 'high'"):
        axis.rows("hihg")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"rate": 4},
            r"got contexts \['rate'\]. Give rows with the columns 'rate' \(number\), 'shift' \(text\)",
        ),
        ({"rate": 4, "shift": "day", "x": 1}, r"got contexts \['rate', 'shift', 'x'\]. Give rows"),
        ({"rate": "4", "shift": "day"}, r"got '4' \(text\) for 'rate'. Give rows"),
        ({"rate": True, "shift": "day"}, r"got True \(boolean\) for 'rate'. Give rows"),
        ({"rate": float("nan"), "shift": "day"}, "'rate' of context 0 is nan"),
        ([], "got no contexts; at least one needed"),
    ],
)
def test_new_rows_that_do_not_fit_are_refused(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        contexts(SHIFTS).rows(given)


def test_a_row_is_outside_if_beyond_the_bounds_or_of_an_unseen_category() -> None:
    axis = contexts(SHIFTS)
    rows = axis.rows(
        [{"rate": rate, "shift": shift} for rate, shift in [(0, "day"), (11, "day"), (4, "eve")]]
    )
    assert axis.outside(rows, axis.bounds((0, 10))).tolist() == [False, True, True]


def test_rows_with_columns_do_not_fit_plain_labels() -> None:
    with pytest.raises(InputError, match=r"got contexts \['x'\]. Give labels of 'context' \(number\)"):
        contexts([1, 2]).rows({"x": 1})
