"""Call centres with limits: the truth against linear algebra, runs against a literal queue of callers."""

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import poisson

from argbest.core.arrays import Array
from argbest.problems.base import Problem
from argbest.problems.call_centres import Staffing, call_centre, call_lines, call_rush
from argbest.problems.noisy_table import uniform

SERVICE, CALLS = 10.0, 60


def stationary(servers: int, rate: float, most: int) -> Array:
    """Return the stationary chances from the generator matrix of the birth-death chain."""
    generator = np.zeros((most + 1, most + 1))
    for n in range(most):
        generator[n, n + 1] = rate
        generator[n + 1, n] = min(n + 1, servers) * SERVICE
    generator -= np.diag(generator.sum(axis=1))
    system = np.vstack([generator.T, np.ones(most + 1)])
    return np.asarray(np.linalg.lstsq(system, np.append(np.zeros(most + 1), 1.0))[0])


def column(axis: Any, name: str) -> list[Any]:
    """Return a column of the alternatives or contexts."""
    return list(axis.columns[name])


def longer(departures: int, servers: int, time: float) -> float:
    """Return P(so many departures from busy servers take longer than a time): fewer happen in it."""
    return float(poisson.cdf(departures - 1, servers * SERVICE * time))


@pytest.mark.parametrize("make", [call_centre, call_rush])
def test_cost_and_late_callers_are_those_of_the_stationary_state(make: Callable[[], Problem]) -> None:
    problem = make()
    checked = 0
    for k, servers in enumerate(column(problem.alternatives, "servers")):
        for c, rate in enumerate(column(problem.contexts, "rate")):
            if (
                rate > 0.8 * servers * SERVICE
            ):  # longer queues need larger matrices; see Erlang's formula below
                continue
            chances = stationary(servers, rate, 200)
            waiting = chances @ np.maximum(np.arange(201) - servers, 0)
            late = sum(chances[n] * longer(n - servers + 1, servers, 1 / 60) for n in range(servers, 201))
            cost = 12.0 * servers + 10.0 * rate / SERVICE + 20.0 * waiting
            assert problem.truths["cost"][k, c] == pytest.approx(cost, rel=1e-7)
            assert problem.truths["late"][k, c] == pytest.approx(late, abs=1e-9)
            checked += 1
    assert checked >= 10


def test_the_share_of_late_callers_is_that_of_erlangs_formula() -> None:
    problem = call_rush()
    for k, servers in enumerate(column(problem.alternatives, "servers")):
        for c, rate in enumerate(column(problem.contexts, "rate")):
            load = rate / SERVICE
            blocked = 1.0  # Erlang B, server by server
            for n in range(1, servers + 1):
                blocked = load * blocked / (n + load * blocked)
            waits = blocked / (1.0 - load / servers * (1.0 - blocked))
            late = waits * math.exp(-(servers * SERVICE - rate) / 60)
            assert problem.truths["late"][k, c] == pytest.approx(late, rel=1e-9)


def test_lost_and_late_callers_of_few_lines_are_those_of_the_stationary_state() -> None:
    problem = call_lines()
    staff, room = (column(problem.alternatives, name) for name in ("servers", "places"))
    for k, (servers, places) in enumerate(zip(staff, room, strict=True)):
        for c, rate in enumerate(column(problem.contexts, "rate")):
            lines = servers + places
            chances = stationary(servers, rate, lines)
            late = sum(chances[n] * longer(n - servers + 1, servers, 2 / 60) for n in range(servers, lines))
            assert problem.truths["lost"][k, c] == pytest.approx(chances[-1], abs=1e-10)
            assert problem.truths["late"][k, c] == pytest.approx(late, abs=1e-10)
            profit = 2.0 * rate * (1 - chances[-1]) - 12.0 * servers - 1.5 * lines
            assert problem.truths["profit"][k, c] == pytest.approx(profit, abs=1e-8)


def literal_lines(servers: int, places: int, rate: float, seed: int) -> tuple[float, float, float]:
    """Return the responses of one run, caller by caller: a list of when each of those present will leave."""
    key, lines = np.array(seed), servers + places
    chances = stationary(servers, rate, lines).cumsum()
    number = int((uniform(key, 1, step=1)[0] >= chances).sum())
    leaving: list[float] = []

    def begins(now: float) -> float:
        """When fewer than all servers are busy with those who are here."""
        here = sorted(time for time in leaving if time > now)
        return now if len(here) < servers else here[len(here) - servers]

    for u in uniform(key, 16, step=2)[:number]:
        leaving += [begins(0.0) - math.log(u) / SERVICE]
    now, lost, late, numbers = 0.0, 0, 0, uniform(key, 2 * CALLS)
    for call in range(CALLS):
        if sum(time > now for time in leaving) >= lines:
            lost += 1
        else:
            start = begins(now)
            late += start - now > 2 / 60
            leaving.append(start - math.log(numbers[2 * call + 1]) / SERVICE)
        now += -math.log(numbers[2 * call]) / rate
    profit = 2.0 * rate * (1 - lost / CALLS) - 12.0 * servers - 1.5 * lines
    return profit, lost / CALLS, late / CALLS


def test_runs_of_few_lines_are_those_of_a_literal_queue() -> None:
    problem, rng = call_lines(), np.random.default_rng(2)
    simulate: Any = problem.simulate
    for seed in range(40):
        k, c = (int(rng.integers(n)) for n in problem.shape)
        alternative: Any = problem.alternatives.item(k)
        context: Any = problem.contexts.item(c)
        found = simulate(alternative, context, seed)
        expected = literal_lines(alternative["servers"], alternative["places"], context["rate"], seed)
        assert tuple(found) == ("profit", "lost", "late")
        np.testing.assert_allclose(tuple(found.values()), expected, atol=1e-9)


def literal_staffing(
    problem: Problem, servers: int, rate: float, k: int, c: int, seed: int
) -> tuple[float, float]:
    """Return cost and share late of one run: every caller takes the server that is free first."""
    key, simulate = np.array(seed), cast(Staffing, problem.simulate)
    number = int((uniform(key, 1, step=1)[0] >= simulate.chances[k, c]).sum())
    most = max(column(problem.alternatives, "servers"))
    left = [-math.log(u) / SERVICE for u in uniform(key, most, step=2)]
    ahead = max(number - servers, 0)
    gone = sum(-math.log(u) for u in uniform(key, max(ahead, 1), step=3)[:ahead]) / (servers * SERVICE)
    free = [gone + left[s] if s < number else 0.0 for s in range(servers)]
    now = cost = 0.0
    late, numbers = 0, uniform(key, 2 * CALLS)
    for call in range(CALLS):
        first = min(range(servers), key=lambda s: max(free[s], now))
        start, service = max(free[first], now), -math.log(numbers[2 * call + 1]) / SERVICE
        late += start - now > 1 / 60
        cost += 10.0 * service + 20.0 * (start - now)
        free[first] = start + service
        now += -math.log(numbers[2 * call]) / rate
    return 12.0 * servers + rate * cost / CALLS, late / CALLS


def test_runs_of_the_call_centre_are_those_of_a_literal_queue() -> None:
    problem, rng = call_centre(), np.random.default_rng(3)
    simulate: Any = problem.simulate
    for seed in range(40):
        k, c = (int(rng.integers(n)) for n in problem.shape)
        alternative: Any = problem.alternatives.item(k)
        context: Any = problem.contexts.item(c)
        found = simulate(alternative, context, seed)
        expected = literal_staffing(problem, alternative["servers"], context["rate"], k, c, seed)
        np.testing.assert_allclose((found["cost"], found["late"]), expected, rtol=1e-9)


def test_the_limits_bind_and_in_a_rush_some_hours_have_no_feasible_number_of_servers() -> None:
    for problem in (call_centre(), call_lines()):
        assert problem.feasible.any(axis=0).all()
        free = (problem.sign * np.asarray(problem.goal_truth)).argmax(axis=0)
        assert np.mean(free != problem.best) >= 0.75
    rush = call_rush()
    assert (rush.best == -1).sum() == 3
    assert (rush.best != -1).sum() == 7
    assert rush.ties[-1] == ()
    lost, late = (call_lines().truths[name] for name in ("lost", "late"))
    assert np.any((lost > 0.05) & (late <= 0.1))
    assert np.any((lost <= 0.05) & (late > 0.1))
