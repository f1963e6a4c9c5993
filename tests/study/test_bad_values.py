"""Values and trials that cannot be: refused with a hint, and the study goes on as if nothing happened."""

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study.conftest import assert_same_frames, problem, refused, started

from argbest import InputError, Study, TrialError

NAN, INF = float("nan"), float("inf")
FINITE = (
    r"a reward must be finite, at most 1e\+150\. Fix the simulator, or call `study\.fail\(trial, reason\)`"
)
NUMBER = r"for trial 12 \(alternative '.', context \d\); a reward is a number"
FORM = r"expected a number, a list of replications, or \(mean, variance, n\)"
SUMMARY = r"a tuple means \(mean, variance, n\) with the sample variance; give replications as a list"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (NAN, "got value=nan for trial 12 .*" + FINITE),
        (INF, "got value=inf .*" + FINITE),
        (-INF, FINITE),
        (np.float32("nan"), FINITE),
        ([1.0, NAN], FINITE),
        (np.array([INF, 1.0]), FINITE),
        ([1.0, None], "`tell` got .* for trial 12"),
        (None, NUMBER),
        (True, NUMBER),
        (np.True_, NUMBER),
        ("3.5", "got '3.5' \\(str\\) " + NUMBER),
        (b"3", NUMBER),
        ({"mean": 1.0}, FORM),
        ({1.0, 2.0}, FORM),
        (1 + 2j, FORM),
        (len, FORM),
        (pd.NA, FORM),
        ([], r"an array of shape \(0,\) .*replications form one row"),
        (np.array([]), "replications form one row"),
        ([[1.0, 2.0]], r"an array of shape \(1, 2\) .*replications form one row"),
        (np.ones((2, 3)), "replications form one row"),
        ([[1.0], [2.0, 3.0]], FORM),
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
        [True, False],
        np.array([True]),
        [b"1"],
        np.complex128(1 + 2j),
        np.array([1 + 2j]),
        np.datetime64("2020-01-01"),
        np.timedelta64(3, "s"),
    ],
    ids=repr,
)
def test_what_numpy_would_turn_into_a_number_is_refused_all_the_same(value: Any) -> None:
    study = started()
    trial = study.ask()[0]
    with refused(study, InputError, "`tell` got .* for trial 12"):
        study.tell(trial, value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((), SUMMARY),
        ((1.0,), SUMMARY),
        ((1.0, 2.0), SUMMARY),
        ((1.0, 2.0, 3, 4.0), SUMMARY),
        (("1", 2.0, 3), SUMMARY),
        ((1.0, None, 3), SUMMARY),
        ((True, 1.0, 2), SUMMARY),
        ((1.0, [2.0], 3), SUMMARY),
        ((1.0, 0.5, -1), "n must be a whole n ≥ 1"),
        ((1.0, 0.5, 0), "n must be a whole n ≥ 1"),
        ((1.0, 0.5, 2.5), "n must be a whole n ≥ 1"),
        ((1.0, -0.5, 3), "variance ≥ 0"),
        ((1.0, 0.5, 1), "and 0 for a single run"),
        ((NAN, 0.5, 3), "mean and variance must be finite"),
        ((INF, 0.5, 3), "mean and variance must be finite"),
        ((1.0, NAN, 3), "mean and variance must be finite"),
        ((1.0, INF, 3), "mean and variance must be finite"),
        ((1.0, 0.5, NAN), "whole n ≥ 1"),
        ((1.0, 0.5, INF), "whole n ≥ 1"),
        ((1.0, 0.5, 1e30), "for trial 12"),
    ],
    ids=repr,
)
def test_a_tuple_that_is_no_summary_is_refused(value: Any, message: str) -> None:
    study = started()
    trial = study.ask()[0]
    with refused(study, InputError, message):
        study.tell(trial, value)


@pytest.mark.parametrize(
    "value", [10**400, 1e200, [1e200, -1e200], (1.0, 1e300, 10**9)], ids=["int", "float", "list", "tuple"]
)
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


@settings(max_examples=150, deadline=None)
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
        assert study.observations()["n"].sum() == study.n_observations == study.allocation()["n"].sum()
        assert np.isfinite(study.tally.mean).all()
        assert np.isfinite(study.tally.m2).all()


@pytest.mark.parametrize("number", [-1, 13, 10**9, 1.0, "1", None, (0,), True])
@pytest.mark.parametrize("close", ["tell", "fail"])
def test_an_unknown_trial_is_refused(number: Any, close: str) -> None:
    study = started()
    study.ask()
    with refused(
        study, TrialError, "unknown trial .*; this study has asked 13 trials.* Pass a trial that `ask`"
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
    with refused(study, TrialError, "trial 0 .* was asked by another study; tell it to the study"):
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
