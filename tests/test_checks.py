"""What is no number, no name and no path is refused in words, whatever else it may be."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from argbest import ExpectedPCS, InputError, Problem, Study, select
from argbest.checks import entries, finite, is_whole, one_of, path_of
from argbest.experiment import Contender, Experiment

FRAME = pd.DataFrame({"a": [1, 2]})
ODD = [FRAME, np.arange(3), np.array(3.0), pd.NA, None, 3, ["max"], b"max"]


def study() -> Study:
    return Study(Problem(["a", "b"], [0, 1], lambda *given: float(given[2] % 5)), initial=1).run(4)


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_a_name_is_a_text_and_nothing_else(value: Any) -> None:
    with pytest.raises(InputError, match=r"(?s)got goal=.*; expected a text such as 'max', 'min'"):
        Problem(["a", "b"], [0, 1], goal=value)
    with pytest.raises(InputError, match="unknown on_failure"):
        study().run(6, on_failure=value)
    with pytest.raises(InputError, match="unknown kind"):
        one_of("kind", value, ["max"])


@pytest.mark.parametrize("value", [10**400, -(10**400), True, "1", 1j, None, float("nan")], ids=str)
def test_what_does_not_fit_into_a_float_is_no_number(value: Any) -> None:
    with pytest.raises(InputError, match="must be a number finite and above 0"):
        finite("x", value, above=0)
    with pytest.raises(InputError, match="target probability must be a number between 0 and 1"):
        ExpectedPCS(value)
    with pytest.raises(InputError, match="delta must be a finite number"):
        study().certificate(value)


def test_a_span_of_time_is_no_whole_number() -> None:
    assert is_whole(np.int64(3))
    assert not is_whole(np.timedelta64(3, "s"))
    with pytest.raises(InputError, match="is not an initial design"):
        Study(study().problem, initial=np.timedelta64(3, "s"))


@pytest.mark.parametrize("value", [FRAME, 3, None, b"report.html", np.arange(2)], ids=repr)
def test_a_report_goes_to_a_path(value: Any) -> None:
    with pytest.raises(InputError, match="path must be a path, as text or pathlib.Path, got"):
        study().report(value)
    with pytest.raises(InputError, match="place must be a path"):
        path_of("place", value)


@pytest.mark.parametrize("value", [np.array(3.0), 3, "ab", None, b"ab"], ids=repr)
def test_what_holds_nothing_is_no_list(value: Any) -> None:
    assert entries(value) is None
    if not isinstance(value, str) and value is not None:
        with pytest.raises(InputError, match="is not a list of contenders"):
            Experiment("branin", value, replications=1)


@pytest.mark.parametrize("value", [FRAME, np.arange(2), 3, "yes", None], ids=repr)
def test_progress_is_a_switch_or_a_function(value: Any) -> None:
    with pytest.raises(InputError, match="progress, where it is not a function of .* must be True or False"):
        study().run(6, progress=value)


@pytest.mark.parametrize("value", [FRAME, np.arange(2), 3, None, "a b"], ids=repr)
def test_a_label_is_made_of_letters(value: Any) -> None:
    with pytest.raises(InputError, match=r"(?s)label=.* is not a label"):
        Contender("equal", label=value)


@pytest.mark.parametrize("value", [FRAME, 3, "budget", [("budget", 3)]], ids=repr)
def test_a_plan_is_a_mapping(value: Any) -> None:
    with pytest.raises(InputError, match=r"(?s)plan=.*; expected options of `run` by name"):
        Study(study().problem, plan=value)


@pytest.mark.parametrize("value", [FRAME, np.arange(2), 3, [], [3]], ids=repr)
def test_the_columns_of_rewards_are_named_by_texts(value: Any) -> None:
    frame = pd.DataFrame({"alternative": ["a", "b"] * 2, "context": [0, 0, 1, 1], "value": [1.0, 2, 3, 4]})
    with pytest.raises(InputError, match=r"(?s)names no value columns; name one or more of"):
        Study.from_observations(frame, value=value)


def test_a_choice_that_is_good_within_any_distance_is_no_trouble() -> None:
    done = select(lambda *given: given[2] % 5 / 3, ["a", "b"], [0, 1], budget=12, policy="equal")
    assert done.certificate(1e300).pcs_e == 1.0
