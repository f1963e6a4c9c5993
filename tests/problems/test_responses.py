"""Problems of several responses: what is right within limits, and what is refused in a definition."""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from argbest.core.limits import BestWithinLimits
from argbest.core.question import BEST
from argbest.errors import InputError
from argbest.problems.base import Problem
from argbest.problems.call_centres import call_centre, call_lines, call_rush
from argbest.problems.facilities import facility_sizing

COST = [[9.0, 5.0, 4.0], [7.0, 6.0, 4.0], [8.0, 4.0, 1.0]]
LATE = [[0.02, 0.01, 0.3], [0.09, 0.02, 0.3], [0.05, 0.10, 0.1]]
CALLS = call_centre, call_rush, call_lines


def clinic(**options: Any) -> Problem:
    given: dict[str, Any] = {
        "goal": "min cost",
        "limits": ["late <= 0.05"],
        "truth": {"cost": COST, "late": LATE},
    }
    return Problem(["A", "B", "C"], [1, 2, 3], **{**given, **options})


def test_the_best_is_the_cheapest_that_keeps_the_limit() -> None:
    problem = clinic()
    assert problem.responses == ("cost", "late")
    assert (problem.goal, [str(limit) for limit in problem.limits]) == ("min cost", ["late <= 0.05"])
    assert problem.best.tolist() == [2, 0, -1]
    assert problem.ties == ((2,), (0,), ())
    assert problem.gaps.tolist()[:2] == [1.0, 1.0]
    assert np.isnan(problem.gaps[2])
    assert problem.pcs_ceiling == 1.0
    assert problem.asked == problem.setting.question == BestWithinLimits()
    assert clinic(limits=None).best.tolist() == [1, 2, 2]
    assert clinic(limits=None).asked == BEST
    assert "min cost, late <= 0.05" in repr(problem)


def test_choices_are_scored_by_what_they_cost_and_whether_they_break_a_limit() -> None:
    problem = clinic(price=1.5)
    chosen = np.array([[2, 0, -1], [1, 2, 2], [0, 1, 0], [-1, -1, -1]])
    assert problem.correct(chosen).tolist() == [[True] * 3, [False] * 3, [False] * 3, [False, False, True]]
    assert problem.infeasible(chosen).tolist() == [
        [False] * 3, [True] * 3, [False, False, True], [False] * 3,
    ]  # fmt: skip
    assert problem.opportunity_cost(chosen).tolist() == [[0, 0, 0], [1.5] * 3, [1, 1, 1.5], [1.5, 1.5, 0]]
    assert problem.good(chosen, 1.0).tolist() == [
        [True] * 3, [False] * 3, [True, True, False], [False, False, True],
    ]  # fmt: skip
    assert problem.good(chosen[1], 99.0).tolist() == [False] * 3  # no difference is worth a limit


def test_alternatives_that_cost_the_same_are_tied_if_they_keep_the_limit() -> None:
    problem = clinic(truth={"cost": [[7.0] * 3] * 3, "late": LATE})
    assert problem.ties == ((0, 2), (0, 1), ())
    assert problem.gaps.tolist()[:2] == [0.0, 0.0]
    assert problem.good(np.array([2, 1, -1])).all()
    assert problem.pcs_ceiling == pytest.approx((0.5 + 0.5 + 1) / 3)


def test_a_goal_may_be_a_weighted_sum() -> None:
    problem = clinic(goal="min cost + 100 * late", limits=["cost >= 5", "late <= 0.09"])
    np.testing.assert_allclose(np.asarray(problem.goal_truth), np.array(COST) + 100 * np.array(LATE))
    assert problem.best.tolist() == [0, 0, -1]
    assert problem.sign == -1
    times = clinic(noise_sd={"cost": 2.0, "late": 0.1}, goal="max -3 * cost").goal_noise_sd
    assert np.asarray(times).tolist() == [[6.0] * 3] * 3
    assert clinic(noise_sd={"cost": 2.0, "late": 0.1}, goal="min cost + late").goal_noise_sd is None


def test_the_noise_of_some_responses_may_be_known() -> None:
    some = clinic(noise_sd={"late": 0})
    assert some.goal_noise_sd is None
    for copy in (some, replace(some, name="other")):
        assert np.isnan(np.asarray(copy.noise_sd)[0]).all()
        assert not np.asarray(copy.noise_sd)[1].any()
        assert not np.asarray(copy.asking(goal="min late", limits=()).goal_noise_sd).any()
    neither = clinic(noise_sd={"cost": 0, "late": 0}, goal="min cost + 2 * late")
    assert not np.asarray(neither.goal_noise_sd).any()
    late = Problem([1, 2], [1, 2], goal="min cost", noise_sd=0).naming(["cost", "late"])
    assert np.asarray(late.noise_sd).tolist() == [[[0.0] * 2] * 2] * 2
    with pytest.raises(InputError, match=r"no responses are declared. .* responses = \['late'\]"):
        Problem([1, 2], [1, 2], goal="min cost", noise_sd={"late": 0})


def test_a_problem_of_several_responses_can_be_replaced_pickled_and_summarised() -> None:
    problem = clinic(noise_sd={"cost": 2.0, "late": LATE}, truth_se={"cost": 0.1, "late": 0.0}, price=2.0)
    for copy in (replace(problem, name="other"), pickle.loads(pickle.dumps(problem))):  # noqa: S301
        assert copy.best.tolist() == problem.best.tolist()
        assert (copy.limits, copy.price, copy.responses) == (problem.limits, 2.0, ("cost", "late"))
        np.testing.assert_array_equal(copy.noise_sd, problem.noise_sd)
        np.testing.assert_array_equal(copy.truths["late"], LATE)
    summary = json.loads(json.dumps(problem.summary()))
    assert summary["responses"] == ["cost", "late"]
    assert summary["limits"] == ["late <= 0.05"]
    assert summary["best"] == [2, 0, -1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"goal": "min"}, r"2 responses \(cost, late\), and the goal 'min' names none"),
        ({"goal": "min cots"}, r"no response 'cots'; known are cost, late. Did you mean cost\?"),
        ({"limits": ["lat <= 1"]}, r"no response 'lat'; known are cost, late. Did you mean late\?"),
        ({"responses": "cost"}, "expected a list of names"),
        ({"responses": ["cost", "cost"]}, "two responses are called 'cost'"),
        ({"responses": ["cost", "late", "wait"]}, "truth has none for 'wait'"),
        ({"noise_sd": {"cost": float("nan")}}, "noise_sd of cost at .* is nan"),
        ({"noise_sd": {"cost": 1.0, "late": 1.0, "wait": 1.0}}, "noise_sd names the unknown response 'wait'"),
        ({"truth": {"cost": COST, "late": [[1.0]]}}, r"truth of late of shape \(1, 1\)"),
        ({"price": 0.0}, "price must be a number finite and above 0"),
        (
            {"truth": None, "goal": "min"},
            "the limit 'late <= 0.05' and the goal 'min', which names no response",
        ),
    ],
)
def test_a_definition_that_cannot_be_meant_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        clinic(**options)


def test_only_problems_with_limits_take_none_for_an_answer() -> None:
    with pytest.raises(InputError, match="0 to 2, or -1 for none, for each context"):
        clinic().correct(np.array([0, 0, -2]))
    with pytest.raises(InputError, match="0 to 2, for each context"):
        clinic(limits=None).correct(np.array([0, 0, -1]))


@pytest.mark.parametrize("make", [*CALLS, facility_sizing])
def test_problems_simulate_alike_one_by_one_and_many_at_once(make: Callable[[], Problem]) -> None:
    problem = make()
    simulate: Any = problem.simulate
    rng = np.random.default_rng(0)
    k, c = rng.integers(0, problem.shape, (20, 2)).T
    seeds = rng.integers(0, 2**31, 20)
    many = simulate.many(k, c, seeds)
    for i in range(20):
        alone = simulate(
            problem.alternatives.item(int(k[i])), problem.contexts.item(int(c[i])), int(seeds[i])
        )
        assert tuple(alone) == problem.responses
        np.testing.assert_allclose([alone[each] for each in alone], [many[each][i] for each in alone])
    grid = simulate.many(k[:3, None], c[:2], seeds[:2])
    assert all(each.shape == (3, 2) for each in grid.values())
    assert all(each.shape == (0,) for each in simulate.many(k[:0], c[:0], seeds[:0]).values())
    assert problem.correct(problem.best).all()
    assert not problem.opportunity_cost(problem.best).any()


@pytest.mark.parametrize("make", CALLS)
def test_simulated_means_are_the_truth(make: Callable[[], Problem]) -> None:
    """30 to 45 means of 3,000 runs within 4.5 standard errors: a false alarm in 1 of 1,000, seeds fixed."""
    problem = make()
    simulate: Any = problem.simulate
    cells = np.linspace(0, problem.n_alternatives * problem.n_contexts - 1, 15).astype(int)
    k, c = np.unravel_index(cells, problem.shape)
    found = simulate.many(k[:, None], c[:, None], np.arange(15 * 3000).reshape(15, 3000))
    for response, truth in problem.truths.items():
        error = found[response].std(axis=1) / np.sqrt(3000)
        # A share that is hardly ever above 0 may not show in 3,000 runs of 60 calls.
        assert np.all(
            np.abs(found[response].mean(axis=1) - truth[k, c]) < 4.5 * error + 1e-4 * (response != "cost")
        )


def test_other_questions_become_questions_within_limits() -> None:
    for problem in (clinic(question="overall", price=2.0), clinic(price=2.0).asking("overall")):
        assert problem.asked.inner.name == "overall"  # type: ignore[attr-defined]
        assert problem.asked.best_within == BestWithinLimits(2.0)  # type: ignore[attr-defined]
    assert clinic(limits=None).asking("overall").asked.name == "overall"
