"""Two machines and a buffer between them: how fast, how large, given the price of the product.

The first machine works at rate u, the second at rate v, and up to b parts wait in between. With n parts that
the first has finished and the second has not, the line is the queue M/M/1 with at most b + 2 customers.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.noisy_table import ByPosition, uniform, with_hardness

_SPEEDS = tuple(0.6 + 0.1 * i for i in range(14))  # parts per minute
_BUFFERS = tuple(range(12))
_PRICES = (6.0, 9.0, 12.0, 15.0)
_SPEED_COST, _STOCK_COST, _PLACE_COST = 3.0, 0.15, 0.05  # of rate squared, a part inside, a place for one
_STEPS = 60  # of a replication: a machine finishes a part, or would have if it had one


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
        moments = _richer(moments, stock)
        risen, stuck = _shifted(np.where(full, 0.0, moments), 1), np.where(full, moments, 0.0)
        idle, served = np.where(n == 0, moments, 0.0), _richer(_shifted(moments, -1), value)
        moments = up * (risen + stuck) + (1 - up) * (idle + served)
    _, first, second = moments.sum(axis=-1)
    mean = first / _STEPS
    return mean - _costs(u, v, b), np.sqrt(second / _STEPS**2 - mean**2)


def _richer(moments: Array, gain: Array) -> Array:
    """Return the moments [power, ...] of a gain to which ``gain`` is added."""
    zeroth, first, second = moments
    return np.stack([zeroth, first + gain * zeroth, second + gain * (2 * first + gain * zeroth)])


def _shifted(chance: Array, by: int) -> Array:
    """Return the table with every state's number moved by one; what leaves it is gone."""
    moved = np.zeros_like(chance)
    if by > 0:
        moved[..., 1:] = chance[..., :-1]
    else:
        moved[..., :-1] = chance[..., 1:]
    return moved
