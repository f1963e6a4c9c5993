"""Facility sizing: stock-outs against SciPy's normal probabilities, runs against plain redrawing."""

from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from argbest.core.arrays import Array
from argbest.problems.base import Problem
from argbest.problems.facilities import Facilities, facility_sizing

box_of: Any = multivariate_normal  # its stubs know no accuracy
COVARIANCE = np.array([[2000.0, 1500.0, 500.0], [1500.0, 2000.0, 750.0], [500.0, 750.0, 2000.0]])


@pytest.fixture(scope="module")
def problem() -> Problem:
    return facility_sizing()


def capacity_of(alternative: Any) -> Array:
    return np.array(list(alternative.values()), float)


def demand_of(context: Any) -> tuple[Array, Array]:
    covariance = COVARIANCE * context["correlation"]
    covariance[np.diag_indices(3)] = 2000.0
    return np.full(3, 100.0 * context["level"]), covariance


def test_the_truth_is_a_ratio_of_normal_probabilities(problem: Problem) -> None:
    stockout = problem.truths["stockout"]
    rng = np.random.default_rng(1)
    for _ in range(6):
        k, c = (int(rng.integers(n)) for n in problem.shape)
        mean, covariance = demand_of(problem.contexts.item(c))
        capacity = capacity_of(problem.alternatives.item(k))
        normal = box_of(mean, covariance, abseps=1e-8, releps=1e-8, maxpts=10**6, seed=1)
        box = normal.cdf(capacity, lower_limit=np.zeros(3))
        whole = normal.cdf(np.full(3, 1e4), lower_limit=np.zeros(3))
        assert stockout[k, c] == pytest.approx(1.0 - box / whole, abs=1e-6)


def test_simulated_stock_outs_are_as_frequent_as_those_of_demands_drawn_again_while_negative(
    problem: Problem,
) -> None:
    """20 shares of 4,000 runs each within 4 standard errors: a false alarm in 1 of 800, seeds fixed."""
    rng, simulate = np.random.default_rng(2), cast(Facilities, problem.simulate)
    for i in range(20):
        k, c = (int(rng.integers(n)) for n in problem.shape)
        found = simulate.many(np.array(k), np.array(c), np.arange(4000) + 10**5 * i)
        p = problem.truths["stockout"][k, c]
        assert abs(found["stockout"].mean() - p) < 4 * np.sqrt(p * (1 - p) / 4000) + 1e-12
        mean, covariance = demand_of(problem.contexts.item(c))
        drawn = rng.multivariate_normal(mean, covariance, 40_000)
        drawn = drawn[np.all(drawn >= 0, axis=1)]
        capacity = capacity_of(problem.alternatives.item(k))
        share = np.mean(np.any(drawn > capacity, axis=1))
        assert abs(share - p) < 4 * np.sqrt(p * (1 - p) / len(drawn)) + 1e-12


def test_capacity_costs_what_it_holds_and_a_stock_out_is_true_or_false(problem: Problem) -> None:
    simulate = cast(Facilities, problem.simulate)
    found = simulate({"first": 140, "second": 160, "third": 240}, problem.contexts.item(0), 7)
    assert found["cost"] == 540.0
    assert type(found["stockout"]) is bool
    assert problem.goal_noise_sd is not None
    assert not problem.goal_noise_sd.any()


def test_every_demand_can_be_met_and_larger_facilities_run_out_less_often(problem: Problem) -> None:
    assert problem.feasible.any(axis=0).all()
    stockout = problem.truths["stockout"].reshape(6, 6, 6, 10)
    for axis in range(3):
        assert np.all(np.diff(stockout, axis=axis) < 0)
