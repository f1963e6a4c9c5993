"""Newsvendor: truth and noise against literal sums over demand, profits against a literal fortnight."""

import math

import numpy as np
import pytest

from argbest.problems.base import Problem
from argbest.problems.inventory import newsvendor
from argbest.problems.noisy_table import uniform

PRICE, COST, DAYS, SHAPE = 5.0, 2.0, 14, 10.0


@pytest.fixture(scope="module")
def problem() -> Problem:
    return newsvendor()


def chance(n: int, mean: float) -> float:
    """Return P(D = n) of a Poisson number about a gamma-distributed mean."""
    return math.exp(
        math.lgamma(n + SHAPE)
        - math.lgamma(SHAPE)
        - math.lgamma(n + 1)
        + SHAPE * math.log(SHAPE / (SHAPE + mean))
        + n * math.log(mean / (SHAPE + mean))
    )


def test_truth_and_noise_are_those_of_profit_summed_over_demand(problem: Problem) -> None:
    assert problem.truth is not None
    assert problem.noise_sd is not None
    for k, order in enumerate(problem.alternatives.columns["order"]):
        for c, mean in enumerate(problem.contexts.columns["demand"]):
            assert isinstance(order, int)
            profit = np.array([PRICE * min(n, order) - COST * order for n in range(600)])
            chances = np.array([chance(n, float(mean)) for n in range(600)])
            expected = chances @ profit
            assert problem.truth[k, c] == pytest.approx(expected, abs=1e-9)
            sd = math.sqrt(chances @ (profit - expected) ** 2 / DAYS)
            assert problem.noise_sd[k, c] == pytest.approx(sd, rel=1e-8)


def test_the_best_order_is_next_to_the_critical_quantile(problem: Problem) -> None:
    # The continuous optimum is the least q with P(D <= q) >= (p - c) / p; the grid's step is 6.
    orders = np.array(problem.alternatives.columns["order"])
    for c, mean in enumerate(problem.contexts.columns["demand"]):
        below = np.cumsum([chance(n, float(mean)) for n in range(600)])
        quantile = int(np.argmax(below >= (PRICE - COST) / PRICE))
        assert abs(orders[problem.best[c]] - quantile) < 6


def test_the_best_order_grows_with_demand_and_leads_by_a_fair_margin(problem: Problem) -> None:
    assert (np.diff(problem.best) >= 0).all()
    assert len(set(problem.best.tolist())) >= 5
    assert 0.1 < problem.gap_over_noise.min() < problem.gap_over_noise.max() < 1
    assert problem.pcs_ceiling == pytest.approx(1.0)


def test_a_profit_is_that_of_fourteen_days_of_inverted_demand(problem: Problem) -> None:
    assert problem.simulate is not None
    for seed in range(5):
        total = 0.0
        for level in uniform(np.array(seed), DAYS).tolist():
            demand, below = 0, chance(0, 24.0)
            while below < level:
                demand += 1
                below += chance(demand, 24.0)
            total += PRICE * min(demand, 21) - COST * 21
        value = problem.simulate({"order": 21}, {"demand": 24.0}, seed)
        assert value == pytest.approx(total / DAYS, abs=1e-12)
