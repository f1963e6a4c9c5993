"""Axis: what may be a label, and how labels and rows are found again."""

import datetime
import enum
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argbest.errors import InputError
from argbest.problems.axis import Axis

SHIFTS = [{"rate": 3, "shift": "day"}, {"rate": 5, "shift": "day"}, {"rate": 5, "shift": "night"}]
LABELS = st.one_of(
    st.lists(st.text(max_size=5), min_size=2, max_size=8, unique=True),
    st.lists(st.integers(-(2**53), 2**53), min_size=2, max_size=8, unique=True),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=8, unique=True),
)


class Shade(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


def contexts(given: object) -> Axis:
    return Axis.of("context", given)


@given(LABELS)
@settings(max_examples=40)
def test_plain_labels_are_kept_and_found_again(labels: list[Any]) -> None:
    axis = Axis.of("alternative", labels)
    assert list(axis.labels) == labels
    assert axis.columns == {}
    assert len(axis) == len(labels)
    assert [axis.index(axis.item(i)) for i in range(len(axis))] == list(range(len(labels)))
    assert axis.locate(axis.frame()).tolist() == list(range(len(labels)))


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (np.array([1, 2], dtype=np.int8), (1, 2)),
        (np.array([0.5, 2.0], dtype=np.float32), (0.5, 2.0)),
        (np.array([True, False]), (True, False)),
        (np.array(["a", "b"]), ("a", "b")),
        (pd.Series(["a", "b"], index=[7, 8]), ("a", "b")),
        (range(3), (0, 1, 2)),
        ([1, 2.5], (1, 2.5)),
        ([Shade.RED, Shade.BLUE], ("red", "blue")),
    ],
)
def test_numpy_scalars_and_their_like_become_plain_python_values(
    given: object, plain: tuple[Any, ...]
) -> None:
    labels = contexts(given).labels
    assert labels == plain
    assert [type(label) for label in labels] == [type(value) for value in plain]


@pytest.mark.parametrize(
    "value",
    [
        None,
        float("nan"),
        float("inf"),
        np.float64("-inf"),
        pd.NA,
        pd.NaT,
        (1, 2),
        b"bytes",
        1j,
        2**53 + 1,
        datetime.date(2024, 1, 1),
        np.datetime64("2024-01-01", "ns"),
        np.timedelta64(1, "ns"),
        pd.Timestamp("2024-01-01"),
    ],
)
def test_a_label_or_coordinate_of_another_type_is_refused(value: object) -> None:
    with pytest.raises(
        InputError, match=r"'label' of context 1 is .*expected text, a boolean or a finite number"
    ):
        contexts([1, value])
    with pytest.raises(
        InputError, match=r"'rate' of context 0 is .*expected text, a boolean or a finite number"
    ):
        contexts([{"rate": value}])


def test_rows_get_readable_labels_and_come_back_as_plain_dicts() -> None:
    axis = contexts(SHIFTS)
    assert axis.labels == ("rate=3, shift=day", "rate=5, shift=day", "rate=5, shift=night")
    assert axis.columns == {"rate": (3, 5, 5), "shift": ("day", "day", "night")}
    assert axis.item(2) == {"rate": 5, "shift": "night"}
    assert axis.index({"shift": "night", "rate": 5.0}) == 2
    assert axis.index("rate=5, shift=day") == 1
    assert list(axis.frame().columns) == ["context.rate", "context.shift"]
    assert axis.frame([2, 0])["context.rate"].tolist() == [5, 3]


def test_a_single_column_is_its_own_label() -> None:
    axis = contexts([{"rate": 0.1}, {"rate": 0.2}])
    assert axis.labels == (0.1, 0.2)
    assert axis.index(0.2) == axis.index({"rate": 0.2}) == 1
    assert list(axis.frame().columns) == ["context.rate"]


def test_a_frame_with_its_own_index_keeps_it_as_labels() -> None:
    axis = contexts(pd.DataFrame({"rate": [1.5, 2.5]}, index=["low", "high"]))
    assert axis.labels == ("low", "high")
    assert axis.item(1) == {"rate": 2.5}
    assert axis.index("high") == axis.index({"rate": 2.5}) == 1
    assert axis.frame().to_dict("list") == {"context": ["low", "high"], "context.rate": [1.5, 2.5]}
    assert axis.locate(axis.frame()[["context.rate"]]).tolist() == [0, 1]


def test_a_frame_without_an_index_is_the_same_as_its_rows() -> None:
    assert contexts(pd.DataFrame(SHIFTS)) == contexts(SHIFTS)


def test_an_axis_may_be_given_again() -> None:
    axis = contexts(SHIFTS)
    assert contexts(axis) == axis
    with pytest.raises(InputError, match="identical contexts: 5, 'day' at positions 0 and 1"):
        contexts(axis.rows([SHIFTS[1], SHIFTS[1]]))


def test_true_is_not_one() -> None:
    with pytest.raises(InputError, match="unknown context True"):
        contexts([0, 1]).index(True)
    assert contexts([False, True]).index(np.True_) == 1


def test_a_number_that_lost_its_last_digit_in_a_file_is_still_found() -> None:
    axis = contexts([{"x": 0.1 + 0.2, "y": "a"}, {"x": 0.7, "y": "a"}])
    assert axis.index({"x": 0.3, "y": "a"}) == 0
    with pytest.raises(InputError, match="unknown context"):
        axis.index({"x": 0.3000001, "y": "a"})
    with pytest.raises(InputError, match="unknown context"):
        axis.index({"x": 0.3, "y": "b"})


def test_of_two_labels_closer_than_the_last_digits_neither_is_guessed() -> None:
    axis = contexts([1.0, 1.0 + 4e-16])
    assert axis.index(1.0 + 4e-16) == 1
    with pytest.raises(InputError, match=r"unknown context 1\.0000000000000002"):
        axis.index(1.0 + 2e-16)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            "nihgt",
            r"unknown context 'nihgt'. Did you mean one of 'night'\? Give labels of 'context' \(text\)",
        ),
        (3, r"unknown context 3. Did you mean one of 'day', 'night'\?"),
        ({"shift": "day"}, r"got context {'shift': 'day'}. Give labels of 'context' \(text\)"),
        ({}, r"got context {}. Give labels of 'context' \(text\)"),
        (None, "context is None"),
    ],
)
def test_an_unknown_label_is_refused_with_the_nearest_ones(item: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        contexts(["day", "night"]).index(item)


def test_an_unknown_row_is_refused_with_the_nearest_ones() -> None:
    with pytest.raises(InputError, match=r"Did you mean one of 'rate=3, shift=day'"):
        contexts(SHIFTS).index({"rate": 3, "shift": "dya"})
    with pytest.raises(InputError, match=r"Give rows with the columns 'rate' \(number\), 'shift' \(text\)"):
        contexts(SHIFTS).index({"rate": 3})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "got 0 contexts; at least 1 needed"),
        (pd.DataFrame({"rate": []}), "got 0 contexts; at least 1 needed"),
        (["a", "b", "a"], "duplicate context labels: 'a' at positions 0 and 2"),
        ([1, 1.0], "duplicate context labels: 1.0 at positions 0 and 1"),
        ([{"x": 1, "y": "a"}, {"y": "a", "x": 1}], "identical contexts: 1, 'a' at positions 0 and 1"),
        (pd.DataFrame({"x": [1, 1]}, index=["a", "b"]), "identical contexts: 1 at positions 0 and 1"),
        (pd.DataFrame({"x": [1, 2]}, index=["a", "a"]), "duplicate context labels: 'a'"),
        ([{"x": 1}, {"y": 1}], r"context 1 is {'y': 1}; expected a dict with the keys \['x'\]"),
        ([{"x": 1}, {"x": 1, "y": 2}], "context 1 is .*; expected a dict with the keys"),
        ([{"x": 1}, 2], "context 1 is 2; expected a dict"),
        ([2, {"x": 1}], "context 0 is 2; expected a dict"),
        ([{}, {}], "context 0 is {}; expected a dict"),
        (["a", 1], r"'label' of context 1 is 1 \(number\), that of context 0 is 'a' \(text\)"),
        ([1, True], r"'label' of context 1 is True \(boolean\)"),
        ([{"x": 1}, {"x": "a"}], r"'x' of context 1 is 'a' \(text\)"),
        ([{"": 1}], "got '' as the name of a context column"),
        ([{3: 1}], "got 3 as the name of a context column"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"got contexts with the columns \['a', 'a'\]"),
        (pd.DataFrame(index=["a", "b"]), r"got contexts with the columns \[\]"),
        (pd.DataFrame({"x": ["a", None]}), "'x' of context 1 is "),
        (
            pd.DataFrame({"x": [1]}, index=pd.MultiIndex.from_tuples([(1, 2)])),
            r"'label' of context 0 is \(1, 2\)",
        ),
        ("day", "got 'day' as contexts. Give a list of labels"),
        ({"x": [1, 2]}, "as contexts. Give a list of labels"),
        ({1, 2}, "as contexts. Give a list of labels"),
        (5, "got 5 as contexts. Give a list of labels"),
        (np.ones((2, 2)), "as contexts. Give a list of labels"),
    ],
)
def test_a_bad_axis_is_refused(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        contexts(given)


def test_one_alternative_is_too_few() -> None:
    with pytest.raises(InputError, match="got 1 alternative; at least 2 needed"):
        Axis.of("alternative", ["only"])


def test_a_frame_is_located_by_labels_or_by_columns() -> None:
    axis = contexts(SHIFTS)
    assert axis.locate(axis.frame([2, 0, 2])).tolist() == [2, 0, 2]
    assert axis.locate(pd.DataFrame({"context": ["rate=5, shift=day"]})).tolist() == [1]
    assert axis.locate(axis.frame([])).shape == (0,)


def test_a_frame_that_cannot_be_located_is_refused_with_its_row() -> None:
    axis = contexts(SHIFTS)
    with pytest.raises(
        InputError, match=r"columns \['rate'\]; no column identifies the context. Expected \['context.rate'"
    ):
        axis.locate(pd.DataFrame({"rate": [3]}))
    with pytest.raises(InputError, match=r"row 1 of the frame: unknown context {'rate': 4, 'shift': 'day'}"):
        axis.locate(pd.DataFrame({"context.rate": [3, 4], "context.shift": ["day", "day"]}))
