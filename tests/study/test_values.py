"""What may be told: numbers, replications and summaries say the same, in the user's units and sign."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grids import mostly_slow
from hypothesis import given, settings
from hypothesis import strategies as st
from study.conftest import (
    ALTERNATIVES,
    CONTEXTS,
    TRUTH,
    assert_close,
    assert_same_belief,
    noise,
    pairs,
    problem,
    simulate,
    started,
)

from argbest import ExpectedPCS, OpportunityCost, Study
from argbest.core.tally import Tally

REPLICATIONS = st.lists(st.floats(-100, 100).map(lambda v: round(v, 6)), min_size=2, max_size=8)


def told(values: list[list[float]], form: str) -> Study:
    """A study told several replications of two pairs each, in one of the three forms."""
    cells = [("a", 0), ("b", 2)]
    repeated = [cell for cell, row in zip(cells, values, strict=True) for _ in row]
    study = Study(problem(None), initial=repeated if form == "numbers" else cells)
    for row in values:
        if form == "numbers":
            for value in row:
                study.tell(study.ask()[0], value)
        elif form == "array":
            study.tell(study.ask()[0], np.array(row))
        elif form == "list":
            study.tell(study.ask()[0], row)
        else:
            study.tell(
                study.ask()[0], mean=float(np.mean(row)), variance=float(np.var(row, ddof=1)), n=len(row)
            )
    return study


def assert_same_tally(one: Tally, two: Tally) -> None:
    np.testing.assert_array_equal(one.count, two.count)
    size = float(np.max(np.abs(two.mean), initial=1e-300))
    np.testing.assert_allclose(one.mean, two.mean, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(one.m2, two.m2, rtol=1e-12, atol=1e-12 * size**2)


@settings(max_examples=40, deadline=None)
@given(values=st.tuples(REPLICATIONS, REPLICATIONS).map(list))
def test_numbers_replications_and_summaries_give_the_same_tally(values: list[list[float]]) -> None:
    numbers = told(values, "numbers").tally
    for form in ("array", "list", "summary"):
        assert_same_tally(told(values, form).tally, numbers)


def test_numbers_replications_and_summaries_give_the_same_belief_and_decisions() -> None:
    values = [[1.25, 0.5, 2.0, 1.5], [3.0, 2.25, 4.5]]
    numbers = told(values, "numbers")
    for form in ("array", "list", "summary"):
        study = told(values, form)
        assert_same_belief(study._belief(), numbers._belief(), 1e-6)
        assert study.selection()["selected"].tolist() == numbers.selection()["selected"].tolist()


@pytest.mark.parametrize(
    "value",
    [3, np.float32(3), np.int64(3), np.array(3.0), np.array([3.0]), [3], Fraction(3), Decimal(3), (3,)],
    ids=lambda value: type(value).__name__,
)
def test_any_kind_of_number_is_taken(value: Any) -> None:
    study = Study(problem(None))
    study.tell(study.ask()[0], value)
    assert study.observations()["value"].tolist() == [3.0]
    assert study.tally.count.sum() == 1


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1.0, 3.0], index=[7, 9]),
        pd.Series([1, 3], dtype="Int64"),
        np.ma.array([1.0, 3.0]),
        np.ma.array([1.0, 3.0], mask=[False, False]),
        (1.0, 3.0),
        (Decimal(1), Fraction(3)),
        [1, 3.0],
        [np.float32(1), np.int8(3)],
        range(1, 4, 2),
    ],
    ids=repr,
)
def test_replications_come_in_any_sequence(values: Any) -> None:
    study = Study(problem(None))
    study.tell(study.ask()[0], values)
    assert study.observations()["value"].tolist() == [1.0, 3.0]


def test_a_tuple_of_four_is_replications_as_a_list_is() -> None:
    study = Study(problem(None))
    study.tell(study.ask()[0], (1.0, 3.0, 2.0, 2.0))
    assert study.observations()["value"].tolist() == [1.0, 3.0, 2.0, 2.0]


@pytest.mark.parametrize("variance", [{}, {"variance": None}, {"variance": 0.0}], ids=repr)
def test_a_summary_of_one_replication_needs_no_variance(variance: dict[str, Any]) -> None:
    study = Study(problem(None))
    study.tell(study.ask()[0], mean=3.0, n=1, **variance)
    assert (study.tally.count.sum(), study.tally.m2.sum()) == (1, 0.0)


def test_a_trial_may_be_named_by_its_number() -> None:
    study = Study(problem(None))
    first, second = study.ask(2)
    study.tell(second.id, 2.0)
    study.fail(np.int64(first.id), "lost")  # type: ignore[arg-type]
    assert study.trials()["status"].tolist() == ["failed", "told"]
    assert study.observations()["trial"].tolist() == [1]


def test_later_tells_of_a_pair_add_to_the_earlier_ones() -> None:
    study = Study(problem(None), initial=[("a", 1)] * 3)
    study.tell(study.ask()[0], [1.0, 2.0])
    study.tell(study.ask()[0], 6.0)
    study.tell(study.ask()[0], mean=4.0, variance=2.0, n=3)
    row = study.allocation().query("alternative == 'a' and context == 1").iloc[0]
    # Three values 4 ± √2·{−1, 0, 1} have mean 4 and variance 2.
    everything = [1.0, 2.0, 6.0, 4.0 - np.sqrt(2), 4.0, 4.0 + np.sqrt(2)]
    assert row["n"] == 6
    assert row["mean"] == pytest.approx(np.mean(everything), rel=1e-12)
    assert row["sd"] == pytest.approx(np.std(everything, ddof=1), rel=1e-12)


def negated(alternative: str, context: int, seed: int) -> float:
    return -simulate(alternative, context, seed)


@pytest.mark.parametrize("policy", mostly_slow(["gp-c-ocba", "equal", "random"], fast=["equal"]))
def test_minimising_negated_data_is_maximising(policy: str) -> None:
    most = Study(problem(), policy=policy, seed=2).run(70)
    least = Study(problem(negated, goal="min"), policy=policy, seed=2).run(70)
    pd.testing.assert_frame_equal(least.trials(), most.trials())
    assert least.observations()["value"].tolist() == (-most.observations()["value"]).tolist()
    assert_close(least.allocation()["mean"], -most.allocation()["mean"], 1e-14)
    assert least.allocation()["sd"].equals(most.allocation()["sd"])
    one, two = least.selection(), most.selection()
    assert_close(one["mean"], -two["mean"], 1e-12)
    for name in ("selected", "runner_up", "gap", "gap_sd", "p_best", "expected_loss"):
        assert one[name].equals(two[name])
    assert (one["gap"] >= 0).all()
    pd.testing.assert_frame_equal(least.predict_proba([0, 1.5]), most.predict_proba([0, 1.5]))
    assert_close(least.predict([1.5])["mean"], -most.predict([1.5])["mean"], 1e-12)
    assert float(least.certificate().pcs_e) == float(most.certificate().pcs_e)


def test_summaries_and_lists_keep_their_sign_when_minimising() -> None:
    study = Study(problem(None, goal="min"), initial=[("a", 0), ("a", 0)])
    study.tell(study.ask()[0], mean=-5.0, variance=2.0, n=4)
    study.tell(study.ask()[0], [-6.0, -7.0])
    assert study.observations()["value"].tolist() == [-5.0, -6.0, -7.0]
    assert study.allocation()["mean"][0] == pytest.approx((-20.0 - 13.0) / 6, rel=1e-12)
    assert study.tally.mean[0, 0] == pytest.approx(-33.0 / 6, rel=1e-12)
    again = study.problem.tally(study.observations())
    np.testing.assert_array_equal(again.count, study.tally.count)
    np.testing.assert_allclose(again.mean, study.tally.mean, rtol=1e-14)
    np.testing.assert_allclose(again.m2, study.tally.m2, rtol=1e-12)


@pytest.mark.parametrize("goal", ["max", "min"])
def test_the_goal_decides_which_alternative_is_selected(goal: str) -> None:
    study = Study(problem(goal=goal), initial=30).run(360)
    best = TRUTH.argmax(axis=0) if goal == "max" else TRUTH.argmin(axis=0)
    selection = study.selection()
    assert selection["selected"].tolist() == [ALTERNATIVES[k] for k in best]
    np.testing.assert_allclose(selection["mean"], TRUTH[best, CONTEXTS], atol=0.6)


@pytest.mark.parametrize("rule", [ExpectedPCS(0.9), OpportunityCost(0.05)])
def test_stop_rules_do_not_depend_on_the_sign(rule: Any) -> None:
    most = Study(problem(), seed=2).run(300, stop=rule)
    least = Study(problem(negated, goal="min"), seed=2).run(300, stop=rule)
    assert most.n_replications == least.n_replications < 300


def test_values_in_frames_are_those_that_were_told() -> None:
    study = started()
    frame = study.trials()
    where = zip(frame["alternative"], frame["context"], frame["seed"], strict=True)
    expected = [TRUTH[ALTERNATIVES.index(k), c] + noise(seed) for k, c, seed in where]
    assert study.observations()["value"].tolist() == expected
    assert len(pairs(study)) == len(expected)
