"""Flow line: truth and noise against its Markov chain written out, profits against a literal run."""

import math

import numpy as np
import pytest

from argbest.problems.base import Problem
from argbest.problems.noisy_table import uniform
from argbest.problems.queues import flow_line

SPEED, STOCK, PLACE, STEPS = 3.0, 0.15, 0.05, 60


@pytest.fixture(scope="module")
def problem() -> Problem:
    return flow_line()


def line(problem: Problem, k: int) -> tuple[float, float, int]:
    columns = problem.alternatives.columns
    return float(columns["first"][k]), float(columns["second"][k]), int(float(columns["buffer"][k]))


def steady(u: float, v: float, b: int) -> np.ndarray:
    """Return the steady state of the generator, by linear algebra."""
    size = b + 3
    rates = np.diag([u] * (size - 1), 1) + np.diag([v] * (size - 1), -1)
    balance = rates.T - np.diag(rates.sum(axis=1))
    balance[-1] = 1.0
    return np.linalg.solve(balance, np.eye(size)[-1])


@pytest.mark.parametrize("k", [0, 800, 1500, 2351])
def test_truth_is_sales_less_costs_in_steady_state(problem: Problem, k: int) -> None:
    assert problem.truth is not None
    u, v, b = line(problem, k)
    chances = steady(u, v, b)
    for c, price in enumerate(problem.contexts.columns["price"]):
        sales = float(price) * v * (1 - chances[0])
        costs = STOCK * chances @ np.arange(b + 3) + SPEED * (u * u + v * v) + PLACE * b
        assert problem.truth[k, c] == pytest.approx(sales - costs, abs=1e-9)


@pytest.mark.parametrize("k", [3, 1100])
def test_the_noise_is_that_of_the_chain_with_all_its_covariances(problem: Problem, k: int) -> None:
    assert problem.noise_sd is not None
    u, v, b = line(problem, k)
    size, price = b + 3, float(problem.contexts.columns["price"][2])
    # States (n, whether the step before sold a part); the gain of a step depends on both.
    move = np.zeros((2 * size, 2 * size))
    for n in range(size):
        for sold in (0, 1):
            here = 2 * n + sold
            move[here, 2 * min(n + 1, size - 1)] += u / (u + v)
            move[here, 2 * max(n - 1, 0) + (n > 0)] += v / (u + v)
    start = np.zeros(2 * size)
    start[::2] = steady(u, v, b)
    # A step pays the sale at its end and the stock at its beginning.
    sale = np.array([price * (u + v) * (s % 2) for s in range(2 * size)])
    stock = np.array([-STOCK * (s // 2) for s in range(2 * size)])
    gain = move * (stock[:, None] + sale)
    at = [start @ np.linalg.matrix_power(move, t) for t in range(STEPS)]
    means = [float((p @ gain).sum()) for p in at]
    second = sum(float((p @ (move * (stock[:, None] + sale) ** 2)).sum()) for p in at)
    onward = gain.sum(axis=1)
    for t in range(STEPS):
        flow = at[t] @ gain
        for _ in range(t + 1, STEPS):
            second += 2 * float(flow @ onward)
            flow = flow @ move
    sd = math.sqrt(second - sum(means) ** 2) / STEPS
    assert problem.noise_sd[k, 2] == pytest.approx(sd, rel=1e-8)


def test_a_replication_follows_the_line_step_by_step(problem: Problem) -> None:
    simulate = problem.simulate
    assert simulate is not None
    k, c, seed = 1000, 1, 12345
    u, v, b = line(problem, k)
    level = uniform(np.array(seed), STEPS + 1).tolist()
    inside, below = 0, 0.0
    for n, chance in enumerate(steady(u, v, b)):
        below += chance
        if level[0] <= below:
            inside = n
            break
    gain = 0.0
    for each in level[1:]:
        gain -= STOCK * inside
        if each < u / (u + v):
            inside = min(inside + 1, b + 2)
        elif inside:
            inside -= 1
            gain += float(problem.contexts.columns["price"][c]) * (u + v)
    expected = gain / STEPS - SPEED * (u * u + v * v) - PLACE * b
    got = simulate(problem.alternatives.item(k), problem.contexts.item(c), seed)
    assert got == pytest.approx(expected)


def test_the_table_is_large_and_the_best_line_depends_on_the_price(problem: Problem) -> None:
    assert problem.n_alternatives >= 2000
    assert len(set(problem.best.tolist())) == problem.n_contexts
