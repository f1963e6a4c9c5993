"""Reading rewards: what counts as the last number of the output, and what is refused."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argbest import SimulationError
from argbest.simulators.program_texts import responses, reward


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


NAMES = ("cost", "late")


@pytest.mark.parametrize(
    "printed",
    [
        '{"cost": 1.2, "late": 0}',
        '{"late": 0, "cost": 1.2, "wait": 7, "version": "1.0"}\n',
        'starting, cost: 99\n{"cost": 1.2, "late": 0}',
        '{"cost": 5, "late": 1}\n{"cost": 1.2, "late": 0}',
        '{\n "cost": 1.2,\n "late": 0\n}\n',
        "cost=1.2 late=0",
        "late=0\tcost=1.2",
        "cost=1.2,late=0",
        "cost = 1.2; late = 0",
        "cost: 1.2, late: 0.",
        "cost: 1.2\nlate: 0",
        "cost: 1.2 EUR\n\nlate:0\r\nfinished in 3 s",
        "day 1: cost=1.2 late=0",
        "\ufeff'cost' = 0.12D1 | `late` = -0e5",
        "cost: 8\nlate: 7\ncost: 1.2\nlate: 0\n",
        "total cost: 8\ncost: 1.2\nlate: 0",
    ],
)
def test_named_responses_are_read_from_json_and_from_text(printed: str) -> None:
    assert responses(printed.encode(), NAMES) == {"cost": 1.2, "late": 0.0}


def test_names_with_spaces_dots_and_fields_of_fields_are_read() -> None:
    assert responses(b"late calls: 0.5\ncosts=2", ["late calls", "costs"]) == {"late calls": 0.5, "costs": 2}
    assert responses(b"wait.mean=3 wait.max=9", ["wait.mean"]) == {"wait.mean": 3.0}
    nested = b'{"wait": {"mean": 3, "late": [0, true]}}'
    assert responses(nested, ["wait.mean", "wait.late.1"]) == {"wait.mean": 3.0, "wait.late.1": True}


@pytest.mark.parametrize("printed", ['{"cost": 2, "late": true}', "cost=2 late=True", "cost: 2\nlate: true"])
def test_truth_values_in_the_output_stay_truth_values(printed: str) -> None:
    assert responses(printed.encode(), NAMES)["late"] is True


def test_a_single_response_may_have_no_name() -> None:
    assert responses(b"mean 3.5", ["cost"]) == {"cost": 3.5}
    assert responses(b"cost: 3.5\nn=7", ["cost"]) == {"cost": 3.5}


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        (
            "cost=1.2",
            "standard output has no response 'late'; there are 'cost'. Expected late=NUMBER, a line",
        ),
        ("1.2 0", "standard output has no response 'cost', which ends with '1.2 0'"),
        ("cost=1.2 rest of late=0", "no response 'late'; there are 'cost, rest of late'"),
        ("cost=1.2 late=", "no response 'late'"),
        ("cost=1.2 late=yes", "has the response 'late' as 'yes'; expected a number"),
        ("cost=1,2 late=0", "has the response 'cost' as '1,2'; expected a number"),
        ("cost=1.2 late=5%", "has the response 'late' as '5%'; expected a number"),
        ("cost=nan late=0", "the program printed the response 'cost' nan; expected a finite number"),
        ("cost=1.2 late=-inf", "the program printed the response 'late' -inf; expected a finite number"),
        ('{"cost": 1.2}', "the JSON on standard output has no field 'late'; there are 'cost'"),
        ('{"cost": 1.2, "late": "no"}', "the JSON field 'late' is 'no'; expected a number"),
        ('{"cost": 1.2, "late": null}', "the JSON field 'late' is 'null'; expected a number"),
        ('{"cost": {"a": 1}, "late": 0}', "the JSON field 'cost' is"),
        ('{"cost": NaN, "late": 0}', "the program printed the response 'cost' nan; expected a finite number"),
        ('{"cost": 1, "late": 0} {"cost": 2, "late": 0}', "neither standard output nor its last line"),
        ('{\n"cost": 1\n}\n{\n"cost": 2, "late": 0\n}', "neither standard output nor its last line"),
        ("", "the program printed nothing on standard output"),
    ],
)
def test_a_response_that_is_missing_or_no_number_is_refused_by_its_name(printed: str, message: str) -> None:
    with pytest.raises(SimulationError, match=re.escape(message)):
        responses(printed.encode(), NAMES)


def test_a_json_object_without_a_word_on_its_fields_is_refused_with_their_names() -> None:
    with pytest.raises(SimulationError, match="a JSON object with 'cost, late', and nothing says which is"):
        reward(b'{"cost": 1.2, "late": 0}', None)


@given(st.binary(max_size=200))
def test_garbage_gives_finite_responses_or_a_simulation_error(printed: bytes) -> None:
    try:
        found = responses(printed, NAMES)
    except SimulationError:
        return
    assert all(math.isfinite(value) for value in found.values())


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_named_numbers_are_read_exactly(cost: float, late: float) -> None:
    for printed in (f"cost={cost!r} late={late!r}", json.dumps({"cost": cost, "late": late})):
        assert responses(printed.encode(), NAMES) == {"cost": cost, "late": late}
