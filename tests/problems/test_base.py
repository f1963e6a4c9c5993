"""Problem: what is refused, how selections are scored against the truth, and the tally of a frame."""

import dataclasses
import functools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from argbest import Study
from argbest.core.noise import pair_noise
from argbest.errors import InputError
from argbest.problems.base import Problem

# Context 0: B is best by 2. Context 1: A and C tie. Context 2: all tie.
TRUTH = [[1.0, 5.0, 7.0], [4.0, 3.0, 7.0], [2.0, 5.0, 7.0]]


def problem(**options: Any) -> Problem:
    given: dict[str, Any] = {
        "truth": TRUTH,
        "noise_sd": 2.0,
        "weights": [2, 1, 1],
        "bounds": (0, 10),
    } | options
    return Problem(["A", "B", "C"], [{"x": 1}, {"x": 3}, {"x": 9}], **given)


def reward(alternative: str, context: int, seed: int) -> float:
    return len(alternative) + context + seed


def test_the_smallest_problem_needs_only_alternatives_and_contexts() -> None:
    small = Problem(["a", "b"], [0])
    assert small.shape == (small.n_alternatives, small.n_contexts) == (2, 1)
    assert small.weights.tolist() == [1.0]
    assert small.bounds == {"context": (0.0, 0.0)}
    assert small.sign == 1
    assert (small.simulate, small.truth, small.truth_se, small.noise_sd) == (None, None, None, None)


def cost_per_hour(servers: int, rate: float, seed: int) -> float:
    return servers + rate + seed


def simulate(order: int, demand: float, seed: int) -> float:
    return order - demand + seed


def _cost(order: int, demand: float, seed: int) -> float:
    return order - demand + seed


@pytest.mark.parametrize(
    ("simulator", "title"),
    [
        (cost_per_hour, "cost per hour"),
        (functools.partial(cost_per_hour), "cost per hour"),
        (simulate, "best order per demand"),
        (_cost, "best order per demand"),
        (lambda order, demand, seed: 1.0, "best order per demand"),
        (lambda a, b, c: 1.0, "best alternative per context"),
        (None, "best alternative per context"),
    ],
)
def test_a_problem_without_a_name_is_called_after_its_simulator_or_what_is_chosen(
    simulator: Any, title: str
) -> None:
    assert Problem([1, 2], [3, 4], simulator).name == title
    assert Problem([1, 2], [3, 4], simulator, name="mine").name == "mine"


def test_columns_say_what_is_chosen_where_no_function_does() -> None:
    assert Problem([{"servers": 1}, {"servers": 2}], [{"rate": 1.0}]).name == "best servers per rate"
    several = [{"rate": 1.0, "shift": "day"}]
    assert Problem([{"servers": 1}, {"servers": 2}], several).name == "best servers per context"


def test_weights_are_normalised_and_may_be_zero() -> None:
    assert problem(weights=[2, 0, 6]).weights.tolist() == [0.25, 0.0, 0.75]
    assert problem(weights=None).weights.tolist() == [1 / 3] * 3


def test_standard_deviations_may_be_one_number_or_a_table() -> None:
    table = np.arange(9.0).reshape(3, 3)
    known = problem(noise_sd=3, truth_se=table)
    assert known.noise_sd is not None
    assert known.truth_se is not None
    np.testing.assert_array_equal(known.noise_sd, np.full((3, 3), 3.0))
    np.testing.assert_array_equal(known.truth_se, table)
    np.testing.assert_array_equal(problem().truth_se, np.zeros((3, 3)))


def test_a_problem_cannot_be_changed_and_keeps_its_own_copies() -> None:
    table = np.array(TRUTH)
    frozen = problem(truth=table)
    table[:] = 0
    assert frozen.truth is not None
    assert frozen.truth[1, 0] == 4.0
    for array in (
        frozen.truth,
        frozen.weights,
        frozen.noise_sd,
        frozen.best,
        frozen.gaps,
        frozen.gap_over_noise,
    ):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError, match="goal"):
        frozen.goal = "min"  # type: ignore[misc]


def test_a_problem_can_be_replaced_by_one_that_differs_in_a_field() -> None:
    changed = dataclasses.replace(problem(name="first"), goal="min")
    assert (changed.name, changed.goal, changed.sign) == ("first", "min", -1)
    assert changed.contexts == problem().contexts
    assert changed.bounds == {"x": (0.0, 10.0)}


def test_best_ties_and_ceiling_of_a_table_one_can_check_by_eye() -> None:
    known = problem()
    assert known.best.tolist() == [1, 0, 0]
    assert known.ties == ((1,), (0, 2), (0, 1, 2))
    assert known.pcs_ceiling == pytest.approx(0.5 + 0.25 / 2 + 0.25 / 3)
    assert known.gaps.tolist() == [2.0, 0.0, 0.0]


def test_a_minimisation_is_scored_in_the_users_sign() -> None:
    known = problem(goal="min")
    assert known.best.tolist() == [0, 1, 0]
    assert known.gaps.tolist() == [1.0, 2.0, 0.0]
    assert known.opportunity_cost(np.array([1, 0, 2])).tolist() == [3.0, 2.0, 0.0]


def test_ties_are_within_a_billionth_of_the_range() -> None:
    known = problem(truth=[[0.0, 1.0, 5.0], [10.0, 1.0 + 9e-9, 5.0], [10.0 + 2e-8, 0.0, 0.0]])
    assert known.ties == ((2,), (0, 1), (0, 1))
    assert known.best.tolist() == [2, 0, 0]
    assert known.gaps[0] == pytest.approx(2e-8)
    assert known.gaps[1:].tolist() == [0.0, 0.0]
    assert known.good(np.array([1, 0, 1])).tolist() == [False, True, True]


def test_gap_over_noise_uses_the_noise_of_the_best_two() -> None:
    table = [[9.0, 0.0, 0.0], [3.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    np.testing.assert_allclose(problem(noise_sd=table).gap_over_noise, [2 / np.sqrt(5), 0.0, 0.0])
    np.testing.assert_allclose(problem(noise_sd=0.0).gap_over_noise, [np.inf, 0.0, 0.0])


def test_scoring_is_strict_while_a_good_selection_may_be_any_tied_best() -> None:
    known = problem()
    selected = np.array([[1, 0, 0], [1, 2, 2], [2, 1, 1]])
    assert known.correct(selected).tolist() == [[True] * 3, [True, False, False], [False] * 3]
    assert known.good(selected).tolist() == [[True] * 3, [True] * 3, [False, False, True]]
    assert known.good(selected, 2.0).all()
    assert known.opportunity_cost(selected).tolist() == [[0, 0, 0], [0, 0, 0], [2, 2, 0]]


TABLES = hnp.arrays(float, (4, 3), elements=st.integers(-3, 3).map(float))


@given(TABLES, st.sampled_from(["max", "min"]), st.permutations(range(4)))
@settings(max_examples=50)
def test_the_scores_agree_with_each_other(truth: np.ndarray, goal: str, order: list[int]) -> None:
    known = Problem(range(4), range(3), truth=truth, goal=goal, noise_sd=1.0)
    assert known.correct(known.best).all()
    assert (known.opportunity_cost(known.best) == 0).all()
    everything = np.repeat(np.arange(4), 3).reshape(4, 3)
    assert [tuple(np.flatnonzero(column)) for column in known.good(everything).T] == list(known.ties)
    np.testing.assert_array_equal(
        known.opportunity_cost(everything), abs(truth - known.sign * (known.sign * truth).max(0))
    )
    np.testing.assert_array_equal(known.gap_over_noise, known.gaps)
    permuted = Problem(range(4), range(3), truth=truth[order], goal=goal, noise_sd=1.0)
    np.testing.assert_array_equal(permuted.gaps, known.gaps)
    assert [sorted(order[k] for k in tied) for tied in permuted.ties] == [list(tied) for tied in known.ties]


@pytest.mark.parametrize("score", ["best", "ties", "pcs_ceiling", "gaps", "gap_over_noise"])
def test_scores_without_truth_say_how_to_give_it(score: str) -> None:
    with pytest.raises(
        InputError, match=r"truth of problem 'best alternative per x' is not known.*Give Problem\(..., truth="
    ):
        getattr(problem(truth=None), score)


def test_selections_cannot_be_scored_without_truth_and_gaps_not_compared_without_noise() -> None:
    with pytest.raises(InputError, match="truth of problem 'best alternative per x' is not known"):
        problem(truth=None).correct(np.array([0, 0, 0]))
    with pytest.raises(InputError, match="the noise is not known"):
        _ = problem(noise_sd=None).gap_over_noise


@pytest.mark.parametrize("selected", [[0, 1], 0, [0, 1, 3], [0, -1, 0], [0.0, 1.0, 2.0], [[[0], [1], [2]]]])
def test_a_selection_that_does_not_fit_is_refused(selected: Any) -> None:
    with pytest.raises(InputError, match="expected an alternative, 0 to 2, for each context"):
        problem().correct(selected)


@pytest.mark.parametrize("delta", [-1.0, float("nan"), float("inf")])
def test_a_bad_indifference_zone_is_refused(delta: float) -> None:
    with pytest.raises(InputError, match="delta must be a finite number, zero or positive"):
        problem().good(np.array([0, 0, 0]), delta)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1, 1]}, r"weights of shape \(2,\); expected numbers of shape \(3,\)"),
        ({"weights": [1, -1, 1]}, "got weights .*; expected none negative"),
        ({"weights": [0, 0, 0]}, "got weights .*; expected none negative and a positive"),
        ({"weights": [1, float("nan"), 1]}, r"weights at \(1,\) is nan"),
        (
            {"weights": ["1", "1", "1"]},
            r"got weights: entry 0 is '1' \(str\), not a number; expected",
        ),
        ({"weights": {"x": 1}}, "unknown context 'x'. Did you mean one of 1, 3, 9"),
        ({"weights": {1: 1, 3: 1}}, "the weights leave out 9. Give one weight for every context"),
        (
            {"goal": "maximise"},
            "goal 'maximise' begins with 'maximise'; expected max or min, .*Did you mean 'max'",
        ),
        ({"truth": [[1, 2], [3, 4]]}, r"truth of shape \(2, 2\); expected numbers of shape \(3, 3\)"),
        (
            {"truth": [[1, 2, 3], [4, 5], [6]]},
            r"got truth: .* lists of different lengths; expected numbers of shape \(3, 3\)",
        ),
        ({"truth": np.full((3, 3), np.inf)}, r"truth at \(0, 0\) is inf"),
        ({"truth": None, "truth_se": 1.0}, "got truth_se without truth"),
        ({"truth_se": -1.0}, "truth_se with -1.0; a standard deviation is 0 or more"),
        ({"noise_sd": -2}, "noise_sd with -2.0; a standard deviation is 0 or more"),
        ({"noise_sd": float("nan")}, "noise_sd at .* is nan"),
        ({"noise_sd": [1, 2, 3]}, r"noise_sd of shape \(3,\)"),
        ({"noise_sd": "3"}, r"got noise_sd: '3' \(str\) is not a number"),
        ({"noise_sd": [[1], [1, 2], [3]]}, "got noise_sd: .* lists of different lengths"),
        ({"weights": [1, True, 1]}, r"got weights: entry 1 is True \(bool\), not a number"),
        (
            {"weights": np.ma.array([1, 2, 3], mask=[False, False, True])},
            "got weights: entry 2 is masked",
        ),
        ({"truth": np.ma.masked_less(np.eye(3), 0.5)}, r"got truth: entry \(0, 1\) is masked"),
        ({"truth": [[1, 2, 3], [4, None, 6], [7, 8, 9]]}, r"got truth: entry \(1, 1\) is None"),
        (
            {"truth": [np.ma.array([1, 2, 3], mask=[True, False, False])] * 3},
            "got truth: entry .* is masked",
        ),
        ({"noise_sd": np.ma.masked}, "got noise_sd: masked .* is not a number"),
        ({"noise_sd": True}, "got noise_sd: True .* is not a number"),
        ({"bounds": np.ma.array([0, 10], mask=[False, True])}, "a bound of 'x' is masked"),
        (
            {"simulate": "simulate.py"},
            r"got simulate='simulate.py'; expected a function simulate\(alternative",
        ),
        ({"bounds": (2, 10)}, r"bounds \(2.0, 10.0\) of 'x' do not hold"),
    ],
)
def test_a_bad_definition_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        problem(**options)


def test_bad_alternatives_and_contexts_are_refused() -> None:
    with pytest.raises(InputError, match="got 1 alternative; at least 2 needed"):
        Problem(["a"], [1, 2])
    with pytest.raises(InputError, match="duplicate context labels: 1 at positions 0 and 1"):
        Problem(["a", "b"], [1, 1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ma.array([1, 2, 3], mask=[False, True, False]), "'label' of {} 1 is masked"),
        ([{"x": 1}, {"x": np.ma.masked}], "'x' of {} 1 is masked"),
        (pd.DataFrame({"x": [1, pd.NA, 3]}), "'x' of {} 1 is <NA>"),
        (["a", pd.NaT], "'label' of {} 1 is NaT"),
        ([1, "2"], r"'label' of {} 1 is '2' \(text\), that of {} 0 is 1 \(number\)"),
    ],
    ids=repr,
)
def test_masked_missing_and_mixed_labels_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message.format("alternative", "alternative")):
        Problem(given, [1, 2])
    with pytest.raises(InputError, match=message.format("context", "context")):
        Problem(["a", "b"], given)


@pytest.mark.parametrize("value", [np.ma.masked, pd.NA, pd.NaT, True, "1", None, 1 + 1j], ids=repr)
@pytest.mark.parametrize("column", ["value", "n"])
def test_a_frame_with_something_else_than_numbers_has_no_tally(value: Any, column: str) -> None:
    frame = pd.DataFrame({"alternative": ["B", "A"], "context.x": [3.0, 9.0], "value": 1.0, "n": 1})
    frame[column] = pd.Series([1.0, value], dtype=object)
    with pytest.raises(InputError, match=f"row 1 of the frame has {column} .*must be a finite number"):
        problem().tally(frame)


def test_the_simulator_is_kept_as_given() -> None:
    assert Problem(["a", "b"], [1, 2], reward).simulate is reward


@pytest.mark.parametrize("goal", ["max", "min"])
def test_the_tally_of_a_frame_counts_every_cell_in_the_users_sign(goal: str) -> None:
    frame = pd.DataFrame(
        {"alternative": ["B", "B", "A"], "context.x": [3.0, 3.0, 9.0], "value": [1.0, 3.0, 7.0]},
        index=[5, 5, 5],
    )
    tally = problem(goal=goal).tally(frame)
    assert tally.count.tolist() == [[0, 0, 1], [0, 2, 0], [0, 0, 0]]
    assert tally.mean.tolist() == [[0, 0, 7], [0, 2, 0], [0, 0, 0]]
    assert tally.m2[1, 1] == 2.0


def test_the_tally_of_a_frame_takes_summaries() -> None:
    frame = pd.DataFrame(
        {
            "alternative": ["B", "B"],
            "context.x": [3.0, 3.0],
            "value": [1.0, 4.0],
            "n": [1, 2],
            "variance": [np.nan, 0.5],
        }
    )
    tally = problem().tally(frame)
    assert tally.count[1, 1] == 3
    assert tally.mean[1, 1] == 3.0
    assert tally.m2[1, 1] == 0.5 + 4.0 + 2.0
    with pytest.raises(InputError, match="rows with n > 1 need the column 'variance'"):
        problem().tally(frame.drop(columns="variance"))
    with pytest.raises(InputError, match="the column 'n' counts replications"):
        problem().tally(frame.assign(n=[1, 0]))


def test_the_tally_of_a_frame_keeps_single_values() -> None:
    frame = pd.DataFrame(
        {
            "alternative": ["B", "B", "A"],
            "context.x": [3.0, 3.0, 9.0],
            "value": [1.0, 4.0, 2.0],
            "n": [1, 2, 1],
            "variance": [np.nan, 0.5, np.nan],
        }
    )
    single = problem(goal="min").tally(frame).single
    assert single is not None
    assert [part.tolist() for part in single.parts] == [[1, 0], [1, 2], [0, 0], [1.0, 2.0]]


def test_the_noise_learned_from_the_tally_of_a_frame_is_that_of_the_study() -> None:
    rng = np.random.default_rng(1)
    skewed = Problem(["A", "B"], [1, 2, 3])
    study = Study(skewed, initial=10, common_random_numbers=False)
    for trial in study.ask(60):
        study.tell(trial, rng.lognormal(0, 1.5))
    again = skewed.tally(study.observations())
    assert again.single is not None
    by_frame, by_study = (pair_noise(each).variance for each in (again, study.tally))
    np.testing.assert_allclose(by_frame, by_study, rtol=1e-12)
    assert not np.allclose(by_frame, pair_noise(again.statistics_alone).variance, rtol=0.01)


def test_the_tally_of_no_observations_is_empty() -> None:
    tally = problem().tally(pd.DataFrame(columns=["alternative", "context.x", "value"]))
    assert tally.count.tolist() == [[0] * 3] * 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"value": [1.0, np.nan]},
            "row 1 of the frame has value .*nan.*; a replication must be a finite number",
        ),
        ({"value": [np.inf, 1.0]}, "row 0 of the frame has value .*inf"),
        ({"value": [1.0, "oops"]}, "row 1 of the frame has value 'oops'"),
        ({"value": pd.array([1.0, None], dtype="Float64")}, "row 1 of the frame has value <NA>"),
        ({"alternative": ["A", "D"]}, "row 1 of the frame: unknown alternative 'D'"),
        ({"context.x": [1, 4]}, "row 1 of the frame: unknown context {'x': 4}"),
    ],
)
def test_a_frame_with_a_bad_row_is_refused(change: dict[str, Any], message: str) -> None:
    good = {"alternative": ["A", "B"], "context.x": [1, 3], "value": [1.0, 2.0]}
    with pytest.raises(InputError, match=message):
        problem().tally(pd.DataFrame(good | change))


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("alternative", "no column identifies the alternative"),
        ("context.x", "no column identifies the context"),
        ("value", "Add the column 'value'"),
    ],
)
def test_a_frame_without_a_needed_column_is_refused(missing: str, message: str) -> None:
    frame = pd.DataFrame({"alternative": ["A"], "context.x": [1], "value": [1.0]})
    with pytest.raises(InputError, match=message):
        problem().tally(frame.drop(columns=missing))


def test_the_summary_is_json_in_the_users_units_with_its_keys_in_order() -> None:
    summary = problem(noise_sd=0.0, goal="min").summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == {
        "name": "best alternative per x",
        "goal": "min",
        "alternatives": ["A", "B", "C"],
        "contexts": [{"x": 1}, {"x": 3}, {"x": 9}],
        "weights": [0.5, 0.25, 0.25],
        "noise_sd": [[0.0] * 3] * 3,
        "truth": TRUTH,
        "truth_se": [[0.0] * 3] * 3,
        "best": [0, 1, 0],
        "ties": [[0], [1], [0, 1, 2]],
        "pcs_ceiling": pytest.approx(0.75 + 0.25 / 3),
        "gap_over_noise": [None, None, 0.0],
    }
    assert " ".join(summary) == (
        "name goal alternatives contexts weights noise_sd truth truth_se best ties pcs_ceiling gap_over_noise"
    )


def test_the_summary_of_an_unknown_truth_has_none_in_its_place() -> None:
    summary = Problem(["a", "b"], [1, 2], noise_sd=1.0).summary()
    unknown = [key for key, value in summary.items() if value is None]
    assert unknown == ["truth", "truth_se", "best", "ties", "pcs_ceiling", "gap_over_noise"]
