"""Call centres with a promise to keep: what they cost, and how many callers wait too long or find no line.

Calls come at rate λ and each of c servers finishes them at rate μ. Where all callers wait until they are
served that is the queue M/M/c (Erlang C); with q places to wait, whoever finds all taken is lost (M/M/c/c+q).
All pairs have a steady state, in which every replication begins.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np

from argbest.core.arrays import Array, IntArray, gammaincc
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.noisy_table import SeveralResponses, uniform

Run: TypeAlias = Callable[[IntArray, IntArray, IntArray], tuple[Array, ...]]
_SERVICE = 10.0  # μ per hour: calls take 6 minutes on average
_CALLS = 60  # in one replication
_WAGE, _TALK, _WAITING = 12.0, 10.0, 20.0  # per hour of server, talk and waiting
_PROMISE = 1 / 60  # hours: whoever waits longer is late
_LONGEST_QUEUE = 2000  # callers in the system; with the heaviest load more have chances below 1e-17
_AT_ONCE = 512  # runs simulated together, which bounds the memory

_LINE, _FEE = 1.5, 2.0  # per hour of line, and per call that is answered
_PATIENCE = 2 / 60  # hours after which a caller of the second problem counts as late
_LINES = 16  # at most: servers and places to wait


@dataclass(frozen=True, eq=False)
class Staffing(SeveralResponses):
    """A simulator of 60 successive calls in steady state: cost per hour, and the share of late callers."""

    servers: IntArray  # [alternative]
    rates: Array  # [context]
    chances: Array  # [alternative, context, n]: P(at most n in the system)

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> dict[str, Array]:
        """Return the responses of positions and seeds, broadcast: what single calls give one by one."""
        return _in_parts(self._run, ("cost", "late"), alternatives, contexts, seeds)

    def _run(self, rows: IntArray, columns: IntArray, seeds: IntArray) -> tuple[Array, ...]:
        """Return cost and share of late callers of every run, by the workloads of the servers.

        A caller waits for the server that is free first; then time passes until the next call.
        """
        servers, rate = self.servers[rows], self.rates[columns]
        unit = -np.log(uniform(seeds, 2 * _CALLS)).T  # exponential with mean 1, two for each call
        between, service = unit[0::2] / rate, unit[1::2] / _SERVICE
        workload = self._steady(rows, columns, seeds)
        cost, late, runs = np.zeros(seeds.size), np.zeros(seeds.size), np.arange(seeds.size)
        for call in range(_CALLS):
            first = workload.argmin(axis=0)
            wait = workload[first, runs]
            cost += _TALK * service[call] + _WAITING * wait
            late += wait > _PROMISE
            workload[first, runs] = wait + service[call]
            workload = np.maximum(workload - between[call], 0.0)
        return _WAGE * servers + rate * cost / _CALLS, late / _CALLS

    def _steady(self, rows: IntArray, columns: IntArray, seeds: IntArray) -> Array:
        """Return workloads [server, run] as a call finds them in steady state; infinite for absent servers.

        Busy servers have exponential work left. The queue ahead of them is gone after as many exponential
        times of rate cμ as callers wait, when all servers again have exponential work left.
        """
        servers, most = self.servers[rows], int(self.servers.max())
        number = (uniform(seeds, 1, step=1) >= self.chances[rows, columns]).sum(axis=-1)
        index = np.arange(most)[:, None]
        workload = np.where(index < number, -np.log(uniform(seeds, most, step=2)).T / _SERVICE, 0.0)
        waiting = np.maximum(number - servers, 0)
        place = np.arange(1, waiting.max(initial=1) + 1)
        steps = -np.log(uniform(seeds, place.size, step=3)) / (servers[:, None] * _SERVICE)
        # A running sum adds in order, so the result does not depend on the longest queue among the runs.
        workload += np.where(place <= waiting[:, None], steps, 0.0).cumsum(axis=-1)[:, -1]
        return np.where(index < servers, workload, np.inf)


def call_centre() -> Problem:
    """Return the call centre: the cheapest number of servers with at most 5 % late callers, by rate of calls.

    With load a = λ/μ, P(a caller waits) is Erlang's C = p/(p + (1 − a/c) Σ_{n<c} aⁿ/n!), p = aᶜ/c!. A caller
    waits longer than t with probability C exp(−(cμ − λ)t), and Q = C a/(c − a) wait on average. So cost is
    wage · c + talk · a + waiting · Q.
    """
    return _staffing(
        "call-centre",
        tuple(range(5, 13)),
        tuple(range(22, 50, 3)),
        "Servers of a call centre by rate of calls, at most 5 % of the callers to wait longer than a minute",
    )


def call_rush() -> Problem:
    """Return the call centre at busy hours, with too few seats to keep the promise in the busiest ones."""
    return _staffing(
        "call-rush",
        tuple(range(5, 9)),
        tuple(range(31, 50, 2)),
        "A call centre with at most eight seats; by rate of calls, at most 5 % of the callers to wait longer "
        "than a minute; in the busiest hours no number of servers keeps that",
    )


def _staffing(name: str, servers: tuple[int, ...], rates: tuple[int, ...], about: str) -> Problem:
    alternatives = Axis.of("alternative", [{"servers": c} for c in servers])
    contexts = Axis.of("context", [{"rate": rate} for rate in rates])
    c, rate = np.array(servers)[:, None], np.array(rates, dtype=float)
    load = rate / _SERVICE
    chances = _chances(c[..., None], rate[:, None], np.full((len(servers), 1, 1), _LONGEST_QUEUE))
    waits = 1.0 - np.where(np.arange(_LONGEST_QUEUE + 1) < c[..., None], chances, 0.0).sum(axis=-1)
    late = waits * np.exp(-(c * _SERVICE - rate) * _PROMISE)
    cost = _WAGE * c + _TALK * load + _WAITING * waits * load / (c - load)
    simulate = Staffing(alternatives, contexts, np.array(servers), rate, chances.cumsum(axis=-1))
    return Problem(
        alternatives,
        contexts,
        simulate,
        goal="min cost",
        limits=["late <= 0.05"],
        truth={"cost": cost, "late": late},
        name=name,
        reward="cost per hour",
        unit={"cost": "dollars per hour", "rate": "calls per hour"},
        description=f"{about}; {_CALLS} calls in steady state, truth by the Erlang-C formula.",
    )


@dataclass(frozen=True, eq=False)
class Lines(SeveralResponses):
    """A simulator of 60 successive calls in steady state: profit per hour, shares of lost and late calls."""

    servers: IntArray  # [alternative]
    lines: IntArray  # [alternative]: servers and places to wait
    rates: Array  # [context]
    chances: Array  # [alternative, context, n]: P(at most n in the system)

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> dict[str, Array]:
        """Return the responses of positions and seeds, broadcast: what single calls give one by one."""
        return _in_parts(self._run, ("profit", "lost", "late"), alternatives, contexts, seeds)

    def _run(self, rows: IntArray, columns: IntArray, seeds: IntArray) -> tuple[Array, ...]:
        """Return the responses of every run, from the times at which callers will be gone.

        Whoever finds c or more callers begins to talk when fewer than c of them are left.
        """
        servers, lines, rate = self.servers[rows], self.lines[rows], self.rates[columns]
        unit = -np.log(uniform(seeds, 2 * _CALLS)).T
        between, service = unit[0::2] / rate, unit[1::2] / _SERVICE
        gone, now, runs = self._steady(rows, columns, seeds), np.zeros(seeds.size), np.arange(seeds.size)
        lost, late = np.zeros(seeds.size), np.zeros(seeds.size)
        for call in range(_CALLS):
            full = (gone > now).sum(axis=0) >= lines
            start = np.maximum(_nth_last(gone, servers), now)
            lost += full
            late += ~full & (start - now > _PATIENCE)
            free = gone.argmin(axis=0)
            gone[free, runs] = np.where(full, gone[free, runs], start + service[call])
            now = now + between[call]
        profit = _FEE * rate * (1.0 - lost / _CALLS) - _WAGE * servers - _LINE * lines
        return profit, lost / _CALLS, late / _CALLS

    def _steady(self, rows: IntArray, columns: IntArray, seeds: IntArray) -> Array:
        """Return when those in the system will be gone, [line, run]; −1 for a line that is free."""
        servers, runs = self.servers[rows], np.arange(seeds.size)
        number = (uniform(seeds, 1, step=1) >= self.chances[rows, columns]).sum(axis=-1)
        service = -np.log(uniform(seeds, _LINES, step=2)).T / _SERVICE
        gone = np.full((_LINES, seeds.size), -1.0)
        for place in range(_LINES):
            start = np.maximum(_nth_last(gone, servers), 0.0)
            gone[place, runs] = np.where(place < number, start + service[place], -1.0)
        return gone


def call_lines() -> Problem:
    """Return the problem of two limits: servers and places to wait, of which more lose fewer but delay more.

    With chances p_n of n callers in the system, p_{c+q} find all lines taken; who finds n from c to c + q − 1
    waits for n − c + 1 departures of rate cμ, longer than t with probability Q(n − c + 1, cμt), the
    regularised upper incomplete gamma function.
    """
    grid = np.array(list(product(range(2, 9), (0, 1, 2, 4, 8))))
    alternatives = Axis.of("alternative", [{"servers": int(c), "places": int(q)} for c, q in grid])
    rates = np.arange(15.0, 60.0, 6.0)
    contexts = Axis.of("context", [{"rate": int(rate)} for rate in rates])
    servers, lines = grid[:, 0], grid.sum(axis=1)
    chances = _chances(servers[:, None, None], rates[:, None], lines[:, None, None])
    n, c = np.arange(_LINES + 1), servers[:, None]
    lost = chances[np.arange(len(grid)), :, lines]
    waits = (n >= c) & (n < lines[:, None])  # [alternative, n]
    ahead = np.maximum(n - c + 1, 1)
    delayed = np.where(waits, gammaincc(ahead, c * _SERVICE * _PATIENCE), 0.0)
    late = np.einsum("kcn,kn->kc", chances, delayed)
    profit = _FEE * rates * (1.0 - lost) - _WAGE * c - _LINE * lines[:, None]
    return Problem(
        alternatives,
        contexts,
        Lines(alternatives, contexts, servers, lines, rates, chances.cumsum(axis=-1)),
        goal="max profit",
        limits=["lost <= 0.05", "late <= 0.1"],
        truth={"profit": profit, "lost": lost, "late": late},
        name="call-lines",
        reward="profit per hour",
        unit={"profit": "dollars per hour", "rate": "calls per hour"},
        description="Servers and lines of a call centre; by rate of calls, at most 5 % of the "
        f"callers to be lost and 10 % to wait longer than two minutes; {_CALLS} calls in steady state, "
        "truth by the Markov chain.",
    )


def _chances(servers: Array | IntArray, rates: Array, most: IntArray) -> Array:
    """Return P(n callers in the system) in steady state, [alternative, context, n]; 0 beyond the ``most``."""
    n = np.arange(1, int(most.max()) + 1)
    ratio = np.where(n <= most, rates / (np.minimum(n, servers) * _SERVICE), 0.0)
    chance = np.concatenate([np.ones((*ratio.shape[:-1], 1)), ratio.cumprod(axis=-1)], axis=-1)
    return np.asarray(chance / chance.sum(axis=-1, keepdims=True))


def _nth_last(times: Array, n: IntArray) -> Array:
    """Return the n-th largest of the times [line, run] of every run, [run]."""
    return np.asarray(np.sort(times, axis=0)[len(times) - n, np.arange(times.shape[1])])


def _in_parts(
    run: Run, names: tuple[str, ...], alternatives: IntArray, contexts: IntArray, seeds: IntArray
) -> dict[str, Array]:
    """Return the responses by name, worked out for so many runs at a time."""
    arrays = np.broadcast_arrays(alternatives, contexts, seeds)
    rows, columns, keys = (array.ravel() for array in arrays)
    found = np.empty((len(names), keys.size))
    for start in range(0, keys.size, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        found[:, part] = run(rows[part], columns[part], keys[part])
    return {name: each.reshape(arrays[0].shape) for name, each in zip(names, found, strict=True)}
