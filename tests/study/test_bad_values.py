"""Values and trials that cannot be: refused with a hint, and the study goes on as if nothing happened."""

import copy
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study.conftest import assert_same_frames, problem, refused, started

from argbest import InputError, Study, TrialError

NAN, INF = float("nan"), float("inf")
FINITE = r"a reward must be finite, at most 1e\+130\. Fix the simulator, or say that the trial failed"
FORM = (
    r"for trial 12 \(alternative '.', context \d\): .*not a number\. Expected a number, a list of "
    r"replications, or mean, variance and n\. Fix the simulator, or say"
)
BOTH = r"give a list, `tell\(trial, \[a, b, c\]\)`; .* keywords, `tell\(trial, mean=a, variance=b, n=c\)`"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (NAN, "got value=nan for trial 12 .*" + FINITE),
        (INF, "got value=inf .*" + FINITE),
        (-INF, FINITE),
        (np.float32("nan"), FINITE),
        ([1.0, NAN], FINITE),
        (np.array([INF, 1.0]), FINITE),
        ((1.0, NAN), FINITE),
        (None, FORM),
        ("3.5", "got '3.5' \\(str\\) " + FORM),
        (b"3", FORM),
        ({"mean": "1.0"}, FORM),
        (
            {1: 1.0},
            "for trial 12 \\(alternative '.', context \\d\\): got a response called 1; expected a text",
        ),
        ({}, "returns no response at all"),
        ({1.0, 2.0}, FORM),
        (1 + 2j, FORM),
        (len, FORM),
        (pd.NA, FORM),
        (pd.NaT, FORM),
        ((), "replications form one row"),
        ([], r"an array of shape \(0,\) .*replications form one row"),
        (np.array([]), "replications form one row"),
        ([[1.0, 2.0]], r"an array of shape \(1, 2\) .*replications form one row"),
        (np.ones((2, 3)), "replications form one row"),
        ([[1.0], [2.0, 3.0]], "lists of different lengths"),
        ([1.0, [2.0]], "some entries are numbers and some are lists"),
        ([np.array([1.0]), 2.0], "some entries are numbers and some are lists"),
        ([1.0, None], r"entry 1 is None \(NoneType\), not a number"),
        ([1.0, "2"], r"entry 1 is '2' \(str\), not a number"),
        ([1, True], r"entry 1 is True \(bool\), not a number"),
        ([1.0, np.bool_(False)], "entry 1 is .*, not a number"),
        ((1.0, 2 + 1j), "entry 1 is .*, not a number"),
        ([1.0, datetime(2020, 1, 1)], "entry 1 is .*, not a number"),
        ([1.0, pd.NA], "entry 1 is <NA> .*, not a number"),
        ([1.0, pd.NaT], "entry 1 is NaT .*, not a number"),
        (pd.Series([1.0, pd.NA], dtype="Float64"), "entry 1 is <NA> .*, not a number|" + FINITE),
        (pd.Series([1.0, "2"], dtype=object), "entry 1 is '2' .*, not a number"),
        (np.ma.masked, r"masked \(MaskedConstant\) is not a number"),
        (np.ma.array(3.0, mask=True), "is not a number"),
        ([1.0, np.ma.masked], "entry 1 is masked .*, not a number"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), "entry 1 is masked, not a number"),
        (np.ma.array([1, 2], mask=[True, False]), "entry 0 is masked, not a number"),
        ([np.ma.array([1.0], mask=[True])], r"entry \(0, 0\) is masked, not a number"),
    ],
    ids=repr,
)
def test_a_value_that_is_no_reward_is_refused(value: Any, message: str) -> None:
    study = started()
    trial = study.ask()[0]
    with refused(study, InputError, message):
        study.tell(trial, value)


@pytest.mark.parametrize(
    "value",
    [
        ["1", "2"],
        np.array(["3.5"]),
        np.array([[True]]),
        [b"1"],
        np.complex128(1 + 2j),
        np.array([1 + 2j]),
        np.datetime64("2020-01-01"),
        np.timedelta64(3, "s"),
        np.timedelta64(3, "ns"),
        np.array(3, "timedelta64[ns]"),
    ],
    ids=repr,
)
def test_what_numpy_would_turn_into_a_number_is_refused_all_the_same(value: Any) -> None:
    study = started()
    trial = study.ask()[0]
    with refused(study, InputError, "`tell` got .* for trial 12"):
        study.tell(trial, value)


@pytest.mark.parametrize("value", [(12.1, 11.8, 12.0), (1.0, 0.5, 3), (1, 2, "3"), (NAN, 1.0, 2)], ids=repr)
def test_a_tuple_of_three_is_refused_with_both_spellings(value: Any) -> None:
    study = started()
    trial = study.ask()[0]
    with refused(study, InputError, r"`tell` got the tuple \(.*\) for trial 12 .*" + BOTH):
        study.tell(trial, value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mean": 1.0}, "n=None for trial 12 .*; n counts replications: expected a whole number from 1"),
        ({"mean": 1.0, "variance": 0.5}, "n counts replications"),
        ({"variance": 0.5, "n": 3}, "mean=None, .*; mean and variance must be finite numbers. Fix the simul"),
        ({"mean": 1.0, "n": 3}, "needs their variance: that of one replication, with divisor n - 1"),
        ({"mean": 1.0, "variance": 0.5, "n": -1}, "n counts replications"),
        ({"mean": 1.0, "variance": 0.5, "n": 0}, "n counts replications"),
        ({"mean": 1.0, "variance": 0.5, "n": 2.5}, "n counts replications"),
        ({"mean": 1.0, "variance": 0.5, "n": NAN}, "n counts replications"),
        ({"mean": 1.0, "variance": 0.5, "n": INF}, "n counts replications"),
        ({"mean": 1.0, "variance": 0.5, "n": 1e30}, "n counts replications"),
        ({"mean": 1.0, "variance": 0.5, "n": "3"}, "n counts replications"),
        ({"mean": 1.0, "variance": 0.5, "n": True}, "n counts replications"),
        ({"mean": 1.0, "variance": -0.5, "n": 3}, "a variance is 0 or more"),
        ({"mean": 1.0, "variance": 0.5, "n": 1}, "0 or left out for a single replication"),
        ({"mean": NAN, "variance": 0.5, "n": 3}, "mean and variance must be finite"),
        ({"mean": INF, "variance": 0.5, "n": 3}, "mean and variance must be finite"),
        ({"mean": 1.0, "variance": NAN, "n": 3}, "mean and variance must be finite"),
        ({"mean": 1.0, "variance": INF, "n": 3}, "mean and variance must be finite"),
        ({"mean": "1", "variance": 0.5, "n": 3}, "mean and variance must be finite"),
        ({"mean": True, "variance": 0.5, "n": 3}, "mean and variance must be finite"),
        ({"mean": [1.0], "variance": 0.5, "n": 3}, "mean and variance must be finite"),
        ({"mean": np.ma.masked, "variance": 0.5, "n": 3}, "mean and variance must be finite"),
        ({"mean": 1.0, "variance": np.ma.masked, "n": 3}, "mean and variance must be finite"),
        ({"mean": 1.0, "variance": 0.5, "n": np.ma.masked}, "n counts replications"),
        ({"mean": 1.0, "variance": 1e300, "n": 10**9}, "a variance times n at most 1e\\+260"),
        ({"value": 1.0, "mean": 1.0, "variance": 0.5, "n": 3}, "got a value and a summary for trial 12"),
        ({"value": [1.0, 2.0], "n": 2}, "got a value and a summary for trial 12 .*Give one of them"),
    ],
    ids=repr,
)
def test_keywords_that_are_no_summary_are_refused(given: dict[str, Any], message: str) -> None:
    study = started()
    trial = study.ask()[0]
    with refused(study, InputError, message):
        study.tell(trial, **given)


@pytest.mark.parametrize("value", [10**400, 1e200, [1e200, -1e200]], ids=["int", "float", "list"])
def test_a_value_too_large_to_be_squared_is_refused(value: Any) -> None:
    study = started()
    trial = study.ask()[0]
    with refused(study, InputError, "`tell` got .* for trial 12"):
        study.tell(trial, value)


ANYTHING = st.one_of(
    st.floats(width=32),
    st.lists(st.floats(width=32), max_size=3),
    st.text(max_size=3),
    st.none(),
    st.booleans(),
    st.complex_numbers(max_magnitude=10),
    st.tuples(st.floats(width=32), st.floats(width=32), st.integers(-3, 1000)),
    st.tuples(st.floats(width=16), st.floats(width=16), st.floats()),
)


@settings(max_examples=60, deadline=None)
@given(value=ANYTHING)
def test_whatever_is_told_is_recorded_whole_or_not_at_all(value: Any) -> None:
    study = Study(problem(None), initial=1)
    trial = study.ask(2)[1]
    before = copy.deepcopy(study)
    try:
        study.tell(trial, value)
    except InputError:
        assert_same_frames(study, before)
    else:
        assert study.trials()["status"].tolist() == ["pending", "told"]
        assert np.isfinite(study.observations()["value"]).all()
        assert study.observations()["n"].sum() == study.n_replications == study.allocation()["n"].sum()
        assert np.isfinite(study.tally.mean).all()
        assert np.isfinite(study.tally.m2).all()


@pytest.mark.parametrize("number", [-1, 13, 10**9, 1.0, "1", None, (0,), True])
@pytest.mark.parametrize("close", ["tell", "fail"])
def test_an_unknown_trial_is_refused(number: Any, close: str) -> None:
    study = started()
    study.ask()
    with refused(
        study,
        TrialError,
        "unknown trial .*; this study has asked 13 trials.* Pass one of the trials that `ask`",
    ):
        getattr(study, close)(number, 1.0)


@pytest.mark.parametrize("close", ["tell", "fail"])
def test_a_trial_told_already_is_refused(close: str) -> None:
    study = started()
    trial = study.ask()[0]
    study.tell(trial, 1.0)
    with refused(study, TrialError, r"trial 12 \(alternative .*\) is told already; each trial is told once"):
        getattr(study, close)(trial, 2.0)
    with refused(study, TrialError, "is told already; .*Ask for a new one to add a replication"):
        getattr(study, close)(0, 2.0)


@pytest.mark.parametrize("close", ["tell", "fail"])
def test_a_failed_trial_is_refused(close: str) -> None:
    study = started()
    trial = study.ask()[0]
    study.fail(trial, "no licence")
    with refused(study, TrialError, r"trial 12 .* is failed already"):
        getattr(study, close)(trial, 2.0)
    assert study.trials()["reason"][12] == "no licence"


@pytest.mark.parametrize("close", ["tell", "fail"])
def test_a_trial_of_another_study_is_refused(close: str) -> None:
    study = Study(problem(), seed=1)
    twin = Study(study.problem, seed=1)
    mine, foreign = study.ask()[0], twin.ask()[0]
    assert mine.pair == foreign.pair
    assert mine.seed == foreign.seed
    with refused(study, TrialError, "trial 0 .* belongs to another study; tell it to the study"):
        getattr(study, close)(foreign, 1.0)


def test_a_refused_trial_hides_no_refused_value() -> None:
    study = started()
    with pytest.raises(TrialError, match="unknown trial 99"):
        study.tell(99, NAN)


@pytest.mark.parametrize("n", [0, -1, 1.0, 2.5, "1", None, True])
def test_a_number_of_trials_is_a_positive_whole_number(n: Any) -> None:
    study = started()
    with refused(study, InputError, "n must be a whole number ≥ 1, got "):
        study.ask(n)


@pytest.mark.parametrize("during_design", [True, False])
def test_an_unknown_context_is_refused(during_design: bool) -> None:
    study = Study(problem()) if during_design else started()
    with refused(study, InputError, "unknown context 9. Did you mean one of 0, 1, 2"):
        study.ask(context=9)
    with refused(study, InputError, "unknown context '1'"):
        study.ask(3, context="1")
    with refused(study, InputError, r"got context \{'rate': 1\}"):
        study.ask(context={"rate": 1})


@pytest.mark.parametrize("answer", ["selection", "certificate", "_belief"])
def test_nothing_can_be_said_before_the_first_observation(answer: str) -> None:
    for study in (Study(problem()), Study(problem(), initial=0)):
        study.ask(2)
        with refused(study, InputError, "nothing is known yet: tell the value of at least one trial first"):
            getattr(study, answer)()


@pytest.mark.parametrize("answer", ["predict", "predict_proba"])
def test_nothing_can_be_predicted_before_the_first_observation(answer: str) -> None:
    study = Study(problem())
    with refused(study, InputError, "nothing is known yet"):
        getattr(study, answer)([0.5])
