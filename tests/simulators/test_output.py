"""Reading rewards: what counts as the last number of the output, and what is refused."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argbest import SimulationError
from argbest.simulators.program_texts import reward


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("3.2", 3.2),
        ("3.2\n", 3.2),
        ("3.2\r\n\r\n  \n", 3.2),
        ("-4", -4.0),
        ("+.5", 0.5),
        ("5.", 5.0),
        ("1e-3", 1e-3),
        ("1.5E+02", 150.0),
        ("0.25D+01", 2.5),
        ("warming up 99\nmean wait: 3.2", 3.2),
        ("mean wait = 3.2", 3.2),
        ("wait=3.2", 3.2),
        ("1 2 3", 3.0),
        ("\ufeff7", 7.0),
        ("first line é ☃\n8", 8.0),
        ("3.2 s", 3.2),
        ("mean wait 3.2 minutes, all done.\nfinished", 3.2),
        ("the mean is 3.2.", 3.2),
        ("(wait, 3)", 3.0),
    ],
)
def test_the_last_number_of_the_output_is_the_reward(printed: str, value: float) -> None:
    assert reward(printed.encode(), None) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_exactly(number: float) -> None:
    assert reward(f"noise 1 2\n{number!r}\n".encode(), None) == number


@pytest.mark.parametrize(
    "printed",
    [
        *("done", "0.5s", "1,234.5", "3.2%", "0x10", "1_000", "12:30", "3.2.1", "--5", "1e", "e5", "."),
        *("[3.2]", "v2", "3\nfinished in 0.5s", "wait=", "٣", "1" * 401, "\x1b[0m"),
    ],
)
def test_what_is_no_plain_number_is_refused_rather_than_guessed_at(printed: str) -> None:
    with pytest.raises(SimulationError, match="its last number cannot be read"):
        reward(printed.encode(), None)


@pytest.mark.parametrize("printed", ["nan", "NaN", "inf", "-Infinity", "1 2 nan", "x=inf", "1e999"])
def test_a_number_that_is_not_finite_is_refused_as_such(printed: str) -> None:
    with pytest.raises(SimulationError, match="expected a finite number"):
        reward(printed.encode(), None)


@pytest.mark.parametrize("printed", ["", " \n\t\n"])
@pytest.mark.parametrize("field", [None, "mean"])
def test_no_output_is_refused(printed: str, field: str | None) -> None:
    with pytest.raises(SimulationError, match="printed nothing on standard output"):
        reward(printed.encode(), field)


@given(st.binary(max_size=200), st.sampled_from([None, "mean", "a.b"]))
def test_garbage_gives_a_finite_number_or_a_simulation_error(printed: bytes, field: str | None) -> None:
    try:
        value = reward(printed, field)
    except SimulationError:
        return
    assert math.isfinite(value)
    assert re.search(rb"\d", printed)


def test_a_line_of_a_million_digits_is_refused_at_once() -> None:
    with pytest.raises(SimulationError, match="its last number cannot be read") as caught:
        reward(b"1" * 2**20 + b"x", None)
    assert len(str(caught.value)) < 500


DOCUMENT = {
    "mean": 3.5,
    "runs": [{"wait": 1}, {"wait": 2.5}],
    "cost": {"total": -7, "a.b": 8, "": 1},
    "x.y": 4,
    "flag": True,
    "text": "3.5",
    "none": None,
}


@pytest.mark.parametrize(
    ("field", "value"),
    [("mean", 3.5), ("runs.1.wait", 2.5), ("cost.total", -7.0), ("cost.a.b", 8.0), ("x.y", 4.0)],
)
@pytest.mark.parametrize(("before", "indent"), [("", None), ("", 2), ("a log line\n{not json}\n", None)])
def test_a_json_field_is_the_reward(field: str, value: float, before: str, indent: int | None) -> None:
    assert reward((before + json.dumps(DOCUMENT, indent=indent) + "\n").encode(), field) == value


def test_a_json_truth_value_stays_one() -> None:
    assert reward(json.dumps(DOCUMENT).encode(), "flag") is True


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("meen", "no field 'meen'; there are 'mean, runs, cost, "),
        ("mean.x", "no field 'mean.x'"),
        ("runs.2.wait", "no field 'runs.2.wait'"),
        ("runs.-1.wait", "no field 'runs.-1.wait'"),
        ("runs.wait", "no field 'runs.wait'"),
        ("text.0", "no field 'text.0'"),
        ("text", "field 'text' is '3.5'; expected a number"),
        ("none", "field 'none' is 'null'; expected a number"),
        ("runs", "field 'runs' is .*; expected a number"),
    ],
)
def test_a_field_that_is_no_number_is_refused(field: str, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        reward(json.dumps(DOCUMENT).encode(), field)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
def test_a_field_that_is_not_finite_is_refused(number: str) -> None:
    with pytest.raises(SimulationError, match="expected a finite number"):
        reward(f'{{"mean": {number}}}'.encode(), "mean")


@pytest.mark.parametrize("printed", ["3.5", "mean: 3.5", "{", "[" * 100_000, "[1, 2]", "1" * 5000])
def test_what_has_no_such_field_is_refused(printed: str) -> None:
    with pytest.raises(SimulationError, match="no field 'mean'|is a JSON document"):
        reward(printed.encode(), "mean")


def test_output_of_which_only_the_end_is_left_says_so() -> None:
    with pytest.raises(SimulationError, match="only the end of this much output was kept"):
        reward(b'wait": 3}', "wait", whole=False)
