"""Staffing of a call centre: how many servers, given the rate of calls; a queue with exact truth.

Calls come at rate λ, each of c servers finishes them at rate μ, and a waiting caller hangs up at rate θ: the
M/M/c+M queue (Erlang A). Impatience gives every pair a steady state, where M/M/c has none if λ >= cμ.
"""

from dataclasses import dataclass

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.noisy_table import ByPosition, uniform, with_hardness

_SERVICE, _IMPATIENCE = 10.0, 5.0  # μ and θ per hour: means of 6 and 12 minutes
_WAGE, _TALK, _WAITING, _LOSS = 12.0, 10.0, 20.0, 4.0  # per hour of server, talk, waiting; per call lost
_SERVERS = tuple(range(1, 9))
_RATES = tuple(range(10, 50, 4))
_CALLS = 60  # in one replication
_MOST = 200  # callers in the system; more have chances below 1e-40
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
    n = np.arange(_MOST)
    leaving = np.minimum(n, servers) * _SERVICE + np.maximum(n - servers, 0) * _IMPATIENCE
    ratio = np.ones((len(_SERVERS), len(_RATES), _MOST))
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
        description="Servers of a call centre by rate of calls, callers being impatient, hourly cost "
        f"over {_CALLS} calls in steady state; the truth is the Erlang-A formula, the noise from a long run",
    )
    return with_hardness(problem)
