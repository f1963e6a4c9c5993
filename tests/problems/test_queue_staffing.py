"""Queue staffing: the Erlang-A truth against linear algebra, runs against a literal first-come queue."""

import heapq
import math

import numpy as np
import pytest

from argbest.core.arrays import Array
from argbest.problems.base import Problem
from argbest.problems.noisy_table import uniform
from argbest.problems.queues import CallCentre, queue_staffing

SERVICE, IMPATIENCE, CALLS = 10.0, 5.0, 60
WAGE, TALK, WAITING, LOSS = 12.0, 10.0, 20.0, 4.0


@pytest.fixture(scope="module")
def problem() -> Problem:
    return queue_staffing()


def stationary(servers: int, rate: float, n: int = 90) -> Array:
    """Return the stationary chances from the generator matrix of the birth-death chain."""
    generator = np.zeros((n, n))
    for i in range(n):
        up = rate if i + 1 < n else 0.0
        down = min(i, servers) * SERVICE + max(i - servers, 0) * IMPATIENCE
        generator[i, i] = -(up + down)
        if i + 1 < n:
            generator[i, i + 1] = up
        if i:
            generator[i, i - 1] = down
    system = np.vstack([generator.T, np.ones(n)])
    return np.asarray(np.linalg.lstsq(system, np.append(np.zeros(n), 1.0))[0])


def pairs(problem: Problem) -> list[tuple[int, int, int, float]]:
    return [
        (k, c, int(servers), float(rate))
        for k, servers in enumerate(problem.alternatives.columns["servers"])
        for c, rate in enumerate(problem.contexts.columns["rate"])
    ]


def test_the_truth_is_the_mean_cost_in_the_stationary_state(problem: Problem) -> None:
    assert problem.truth is not None
    for k, c, servers, rate in pairs(problem):
        chances = stationary(servers, rate)
        cost = sum(
            p
            * (WAGE * servers + TALK * min(n, servers) + (WAITING + LOSS * IMPATIENCE) * max(n - servers, 0))
            for n, p in enumerate(chances)
        )
        assert problem.truth[k, c] == pytest.approx(cost, rel=1e-9)


def test_lost_and_served_calls_add_up_to_those_that_came(problem: Problem) -> None:
    # Little's law ties the two sums in the truth together: λ = μ · busy + θ · waiting.
    for _, _, servers, rate in pairs(problem)[::7]:
        n, chances = np.arange(90), stationary(servers, rate)
        busy, waiting = chances @ np.minimum(n, servers), chances @ np.maximum(n - servers, 0)
        assert SERVICE * busy + IMPATIENCE * waiting == pytest.approx(rate, rel=1e-9)


def literal_run(servers: int, rate: float, seed: int) -> float:
    """Return the cost of one run: an initial state from its number in system, then call after call."""
    chances = stationary(servers, rate).cumsum()
    key = np.array(seed)
    number = int(np.searchsorted(chances, uniform(key, 1, step=1)[0], side="right"))
    left = [-math.log(u) / SERVICE for u in uniform(key, 8, step=2)]
    gone = 0.0  # when the queue ahead is gone
    for place in range(1, number - servers + 1):
        rate_out = servers * SERVICE + place * IMPATIENCE
        gone += -math.log(uniform(key, place, step=3)[-1]) / rate_out
    free = [gone + left[s] if s < number else 0.0 for s in range(servers)]  # clock times
    heapq.heapify(free)
    now = cost = 0.0
    numbers = uniform(key, 3 * CALLS)
    for call in range(CALLS):
        between, service, patience = (-math.log(u) for u in numbers[3 * call : 3 * call + 3])
        wait = max(free[0] - now, 0.0)
        if wait < patience / IMPATIENCE:
            heapq.heapreplace(free, now + wait + service / SERVICE)
            cost += WAITING * wait + TALK * service / SERVICE
        else:
            cost += WAITING * patience / IMPATIENCE + LOSS
        now += between / rate
    return WAGE * servers + rate * cost / CALLS


@pytest.mark.parametrize(("servers", "rate"), [(1, 46), (2, 22), (4, 30), (8, 10)])
def test_a_run_is_that_of_a_literal_first_come_first_served_queue(
    problem: Problem, servers: int, rate: int
) -> None:
    assert problem.simulate is not None
    for seed in range(12):
        value = problem.simulate({"servers": servers}, {"rate": rate}, seed)
        assert value == pytest.approx(literal_run(servers, float(rate), seed), rel=1e-11)


def test_every_pair_averages_to_its_truth_and_all_together_show_no_bias(problem: Problem) -> None:
    # 80 normal scores: beyond 4 in one with chance 5e-3, their mean square beyond 1 ± 4 √(2/80) with 1e-4.
    assert isinstance(problem.simulate, CallCentre)
    assert problem.truth is not None
    assert problem.noise_sd is not None
    n = 800
    seeds = 10**8 + np.arange(80 * n).reshape(8, 10, n)
    values = problem.simulate.many(np.arange(8)[:, None, None], np.arange(10)[:, None], seeds)
    z = (values.mean(axis=-1) - problem.truth) / problem.noise_sd * math.sqrt(n)
    assert abs(z).max() < 4
    assert abs((z**2).mean() - 1) < 4 * math.sqrt(2 / 80)


def test_more_runs_than_are_simulated_together_come_out_in_order(problem: Problem) -> None:
    assert isinstance(problem.simulate, CallCentre)
    seeds = np.arange(5000)
    values = problem.simulate.many(np.array(1), np.array(2), seeds)
    np.testing.assert_allclose(
        values[4990:], problem.simulate.many(np.array(1), np.array(2), seeds[4990:]), rtol=1e-13
    )


def test_the_best_staffing_grows_with_the_rate_and_leads_by_a_fair_margin(problem: Problem) -> None:
    assert problem.goal == "min"
    assert (problem.best + 1).tolist() == [2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    assert 0.1 < problem.gap_over_noise.min() < problem.gap_over_noise.max() < 1
    assert problem.pcs_ceiling == pytest.approx(1.0)
