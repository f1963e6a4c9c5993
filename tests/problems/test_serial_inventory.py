"""Serial inventory: truth and noise against literal sums over demand, costs against a literal week."""

import math
from itertools import product

import numpy as np
import pytest

from argbest.problems.base import Problem
from argbest.problems.inventory import serial_inventory
from argbest.problems.noisy_table import uniform

RATE, LEAD, HOLDING, SHORTAGE, WEEKS = 6.0, (1.0, 1.5, 2.0), (4.0, 2.0, 1.0), 30.0, 4
STAGES = ("shop", "depot", "plant")


@pytest.fixture(scope="module")
def problem() -> Problem:
    return serial_inventory()


def chance(n: int, mean: float) -> float:
    return math.exp(-mean + n * math.log(mean) - math.lgamma(n + 1))


def cost_of_week(levels: list[int], demand: tuple[int, ...]) -> float:
    """Return what a week costs, told as people would: who lacks what passes it on."""
    owed, cost = 0, 0.0
    for stage in ("plant", "depot", "shop"):
        i = STAGES.index(stage)
        wanted = owed + demand[i]
        cost += HOLDING[i] * max(levels[i] - wanted, 0)
        owed = max(wanted - levels[i], 0)
    return cost + SHORTAGE * owed


def levels_of(problem: Problem, k: int) -> list[int]:
    columns = problem.alternatives.columns
    return [int(float(columns[stage][k])) for stage in STAGES]


def test_truth_and_noise_are_those_of_costs_summed_over_demand(problem: Problem) -> None:
    assert problem.truth is not None
    assert problem.noise_sd is not None
    likely = [range(26), range(32), range(38)]
    demands = list(product(*likely))
    chances = np.array(
        [math.prod(chance(n, RATE * lead) for n, lead in zip(each, LEAD, strict=True)) for each in demands]
    )
    for k in (0, 1234, 3135):
        costs = np.array([cost_of_week(levels_of(problem, k), each) for each in demands])
        mean = chances @ costs
        assert problem.truth[k, 0] == pytest.approx(mean, rel=1e-5)
        sd = math.sqrt(chances @ (costs - mean) ** 2 / WEEKS)
        assert problem.noise_sd[k, 0] == pytest.approx(sd, rel=1e-4)


def test_a_replication_is_the_mean_of_four_weeks_drawn_by_quantiles(problem: Problem) -> None:
    simulate = problem.simulate
    assert simulate is not None
    for k, seed in ((17, 3), (2500, 99)):
        level = uniform(np.array(seed), 3 * WEEKS).reshape(3, WEEKS)
        costs = []
        for week in range(WEEKS):
            demand = []
            for stage in range(3):
                n, below = 0, chance(0, RATE * LEAD[stage])
                while below < level[stage, week]:
                    n += 1
                    below += chance(n, RATE * LEAD[stage])
                demand.append(n)
            costs.append(cost_of_week(levels_of(problem, k), tuple(demand)))
        got = simulate(problem.alternatives.item(k), problem.contexts.item(0), seed)
        assert got == pytest.approx(np.mean(costs))


def test_the_table_is_large_and_its_best_lies_inside(problem: Problem) -> None:
    assert problem.n_alternatives >= 2000
    for stage in STAGES:
        column = [float(x) for x in problem.alternatives.columns[stage]]
        assert min(column) < column[problem.best[0]] < max(column)
