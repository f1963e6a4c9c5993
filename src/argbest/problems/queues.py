"""Problems of queues with exact truth: servers by the rate of calls, and two machines with a buffer by price.

Calls come at rate λ, each of c servers finishes them at rate μ, and a waiting caller hangs up at rate θ: the
M/M/c+M queue (Erlang A). Impatience gives every pair a steady state, where M/M/c has none if λ >= cμ.

The first machine works at rate u, the second at rate v, and up to b parts wait in between. With n parts that
the first has finished and the second has not, the line is the queue M/M/1 with at most b + 2 customers.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.noisy_table import ByPosition, moments_of_sum, uniform, with_hardness

_SERVICE, _IMPATIENCE = 10.0, 5.0  # μ and θ per hour: means of 6 and 12 minutes
_WAGE, _TALK, _WAITING, _LOSS = 12.0, 10.0, 20.0, 4.0  # per hour of server, talk, waiting; per call lost
_SERVERS = tuple(range(1, 9))
_RATES = tuple(range(10, 50, 4))
_CALLS = 60  # in one replication
_MOST_CALLERS = 200  # callers in the system; more have chances below 1e-40
_AT_ONCE = 512  # runs simulated together, which bounds the memory
# Standard deviation of one replication [servers, rate], from 200,000 of each pair, with standard errors of at
# most 0.3 %. Waits of successive calls are correlated, and no formula for their sum is at hand.
_NOISE_SD = (
    (6.13, 9.76, 13.22, 16.34, 19.10, 21.52, 23.69, 25.70, 27.61, 29.40),
    (3.53, 6.69, 10.52, 14.87, 19.22, 23.35, 27.09, 30.34, 33.09, 35.65),
    (1.96, 3.80, 6.52, 10.08, 14.35, 19.10, 24.10, 28.88, 33.36, 37.54),
    (1.43, 2.40, 3.97, 6.25, 9.34, 13.22, 17.75, 22.81, 28.06, 33.47),
    (1.31, 1.95, 2.82, 4.13, 6.02, 8.63, 11.96, 16.08, 20.80, 26.10),
    (1.30, 1.83, 2.45, 3.23, 4.33, 5.89, 8.07, 10.93, 14.40, 18.64),
    (1.29, 1.81, 2.35, 2.94, 3.65, 4.60, 5.86, 7.67, 9.97, 13.03),
    (1.29, 1.81, 2.34, 2.87, 3.44, 4.09, 4.92, 6.01, 7.45, 9.36),
)
_SPEEDS = tuple(0.6 + 0.1 * i for i in range(14))  # parts per minute
_BUFFERS = tuple(range(12))
_PRICES = (6.0, 9.0, 12.0, 15.0)
_SPEED_COST, _STOCK_COST, _PLACE_COST = 3.0, 0.15, 0.05  # of rate squared, a part inside, a place for one
_STEPS = 60  # of a replication: a machine finishes a part, or would have if it had one


@dataclass(frozen=True, eq=False)
class CallCentre(ByPosition):
    """A simulator of 60 successive calls in steady state: what they and the servers cost per hour."""

    chances: Array  # [alternative, context, n]: P(at most n in the system)

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Array:
        """Return the costs of positions and seeds, broadcast: what single calls give one by one."""
        arrays = np.broadcast_arrays(alternatives, contexts, seeds)
        rows, columns, keys = (array.ravel() for array in arrays)
        cost = np.empty(keys.size)
        for start in range(0, keys.size, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            cost[part] = self._run(rows[part], columns[part], keys[part])
        return cost.reshape(arrays[0].shape)

    def _run(self, rows: IntArray, columns: IntArray, seeds: IntArray) -> Array:
        """Return [run] the costs, from the recursion of Kiefer and Wolfowitz for the servers' workloads.

        A caller waits for the server that is free first, unless patience ends before; then time passes until
        the next call.
        """
        servers, rate = np.array(_SERVERS)[rows], np.array(_RATES, dtype=float)[columns]
        unit = -np.log(uniform(seeds, 3 * _CALLS)).T  # exponential with mean 1, three for each call
        between, service, patience = unit[0::3] / rate, unit[1::3] / _SERVICE, unit[2::3] / _IMPATIENCE
        workload = self._steady(rows, columns, seeds)
        cost, runs = np.zeros(seeds.size), np.arange(seeds.size)
        for call in range(_CALLS):
            first = workload.argmin(axis=0)
            wait = workload[first, runs]
            stays = wait < patience[call]
            talk = stays * service[call]
            cost += _TALK * talk + _WAITING * np.minimum(wait, patience[call]) + _LOSS * ~stays
            workload[first, runs] = wait + talk
            workload = np.maximum(workload - between[call], 0.0)
        return np.asarray(_WAGE * servers + rate * cost / _CALLS)

    def _steady(self, rows: IntArray, columns: IntArray, seeds: IntArray) -> Array:
        """Return workloads [server, run] as a call finds them in steady state; infinite for absent servers.

        Poisson arrivals see time averages, so the number n in the system has its stationary chances. Busy
        servers have exponential work left. If m = n - c callers wait, the queue ahead is gone after a sum of
        exponential times of rates cμ + mθ, ..., cμ + θ, when all servers again have exponential work left.
        """
        servers = np.array(_SERVERS)[rows]
        number = (uniform(seeds, 1, step=1) >= self.chances[rows, columns]).sum(axis=-1)
        index = np.arange(len(_SERVERS))[:, None]
        workload = -np.log(uniform(seeds, len(_SERVERS), step=2)).T / _SERVICE
        workload = np.where(index < number, workload, 0.0)
        waiting = np.maximum(number - servers, 0)
        place = np.arange(1, waiting.max(initial=1) + 1)
        leaving = servers[:, None] * _SERVICE + place * _IMPATIENCE
        steps = -np.log(uniform(seeds, place.size, step=3)) / leaving
        # A running sum adds in order, so the result does not depend on the longest queue among the runs.
        workload += np.where(place <= waiting[:, None], steps, 0.0).cumsum(axis=-1)[:, -1]
        return np.where(index < servers, workload, np.inf)


def queue_staffing() -> Problem:
    """Return the staffing problem: servers by rate of calls, in cost per hour, the smallest being best.

    The number n in the system has chances p_n ∝ Π_{j <= n} λ / (min(j, c) μ + max(j - c, 0) θ). The mean
    number busy is B = Σ_n min(n, c) p_n and waiting Q = Σ_n max(n - c, 0) p_n; callers hang up at rate θ Q.
    So the truth is wage · c + talk · B + (waiting + loss · θ) Q.
    """
    alternatives = Axis.of("alternative", [{"servers": c} for c in _SERVERS])
    contexts = Axis.of("context", [{"rate": rate} for rate in _RATES])
    servers, rates = np.array(_SERVERS)[:, None, None], np.array(_RATES)[:, None]
    n = np.arange(_MOST_CALLERS)
    leaving = np.minimum(n, servers) * _SERVICE + np.maximum(n - servers, 0) * _IMPATIENCE
    ratio = np.ones((len(_SERVERS), len(_RATES), _MOST_CALLERS))
    ratio[..., 1:] = rates / leaving[..., 1:]
    chance = ratio.cumprod(axis=-1)
    chance /= chance.sum(axis=-1, keepdims=True)
    busy = (np.minimum(n, servers) * chance).sum(axis=-1)
    waiting = (np.maximum(n - servers, 0) * chance).sum(axis=-1)
    problem = Problem(
        alternatives,
        contexts,
        CallCentre(alternatives, contexts, chance.cumsum(axis=-1)),
        goal="min",
        truth=_WAGE * servers[..., 0] + _TALK * busy + (_WAITING + _LOSS * _IMPATIENCE) * waiting,
        noise_sd=_NOISE_SD,
        name="queue-staffing",
        reward="cost per hour",
        unit={"reward": "dollars", "rate": "calls per hour"},
        description="Servers of a call centre by rate of calls, callers being impatient, hourly cost "
        f"over {_CALLS} calls in steady state; the truth is the Erlang-A formula, the noise from a long run",
    )
    return with_hardness(problem)


@dataclass(frozen=True, eq=False)
class FlowLine(ByPosition):
    """A simulator of 60 steps of the line in steady state: its profit per minute."""

    design: Array  # [alternative, (u, v, b)]

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Array:
        """Return the profits of positions and seeds, broadcast: what single calls give one by one."""
        rows, columns, keys = np.broadcast_arrays(alternatives, contexts, seeds)
        u, v, b = np.moveaxis(self.design[rows], -1, 0)
        level = uniform(keys, _STEPS + 1)
        inside = np.sum(level[..., :1] > np.cumsum(_steady(u, v, b), axis=-1), axis=-1)
        sold, stock = np.zeros(inside.shape), np.zeros(inside.shape)
        for step in range(1, _STEPS + 1):
            stock += inside
            first = level[..., step] < u / (u + v)
            leaves = ~first & (inside > 0)
            sold += leaves
            inside = inside + (first & (inside < b + 2)) - leaves
        gain = np.array(_PRICES)[columns] * (u + v) * sold - _STOCK_COST * stock
        return np.asarray(gain / _STEPS - _costs(u, v, b))


def flow_line() -> Problem:
    """Return the problem: 2,352 lines of two speeds and a buffer by four prices, in profit per minute.

    A steady state has P(n) proportional to (u / v)^n, n = 0 ... b + 2, and sells v (1 - P(0)) parts a minute.
    A replication looks at steps of rate u + v (uniformisation); the noise is carried exactly from step to
    step.
    """
    grid = np.array(list(product(_SPEEDS, _SPEEDS, _BUFFERS)))
    alternatives = Axis.of(
        "alternative", [{"first": round(u, 1), "second": round(v, 1), "buffer": int(b)} for u, v, b in grid]
    )
    contexts = Axis.of("context", [{"price": price} for price in _PRICES])
    moments = [_moments(grid, price) for price in _PRICES]
    problem = Problem(
        alternatives,
        contexts,
        FlowLine(alternatives, contexts, grid),
        truth=np.column_stack([mean for mean, _ in moments]),
        noise_sd=np.column_stack([sd for _, sd in moments]),
        name="flow-line",
        reward="profit per minute",
        description="A line of two machines by price, their speeds and the buffer between them to be chosen, "
        f"profit in {_STEPS} steps of the line; truth and noise by its Markov chain",
    )
    return with_hardness(problem)


def _costs(u: Array, v: Array, b: Array) -> Array:
    """Return what the line itself costs per minute."""
    return np.asarray(_SPEED_COST * (u**2 + v**2) + _PLACE_COST * b)


def _steady(u: Array, v: Array, b: Array) -> Array:
    """Return P(n) in steady state, [..., n], 0 beyond b + 2."""
    n = np.arange(_BUFFERS[-1] + 3)
    weight = np.where(n <= b[..., None] + 2, (u / v)[..., None] ** n, 0.0)
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def _moments(grid: Array, price: float) -> tuple[Array, Array]:
    """Return mean and standard deviation of a replication, [alternative].

    Carried from step to step: the chance of every state, and the gain so far and its square times it.
    """
    u, v, b = grid.T
    n = np.arange(_BUFFERS[-1] + 3)
    up, full = (u / (u + v))[:, None], n >= b[:, None] + 2
    value, stock = price * (u + v)[:, None], np.asarray(-_STOCK_COST * n)
    steady = _steady(u, v, b)
    moments = np.stack([steady, np.zeros_like(steady), np.zeros_like(steady)])
    for _ in range(_STEPS):
        moments = moments_of_sum(moments, stock)
        risen, stuck = _shifted(np.where(full, 0.0, moments), 1), np.where(full, moments, 0.0)
        idle, served = np.where(n == 0, moments, 0.0), moments_of_sum(_shifted(moments, -1), value)
        moments = up * (risen + stuck) + (1 - up) * (idle + served)
    _, first, second = moments.sum(axis=-1)
    mean = first / _STEPS
    return mean - _costs(u, v, b), np.sqrt(second / _STEPS**2 - mean**2)


def _shifted(chance: Array, by: int) -> Array:
    """Return the table with every state's number moved by one; what leaves it is gone."""
    moved = np.roll(chance, by, axis=-1)
    moved[..., 0 if by > 0 else -1] = 0.0
    return moved
