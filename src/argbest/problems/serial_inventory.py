"""Base-stock levels of a serial supply chain: thousands of alternatives, smooth, with exact truth.

Stage 3 buys from outside, stage 2 from stage 3, stage 1 from stage 2 and serves Poisson demand. Each orders a
unit for every unit demanded, up to its base-stock level, and waits for a lead time of its own.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from scipy.special import pdtr

from argbest.core.arrays import Array, IntArray
from argbest.problems.axis import Axis, Item
from argbest.problems.base import Problem
from argbest.problems.noisy_table import uniform, with_hardness

_RATE = 6.0  # units per week
_LEAD = (1.0, 1.5, 2.0)  # weeks, of stages 1, 2, 3
_HOLDING, _SHORTAGE = (4.0, 2.0, 1.0), 30.0  # per unit and week on stock, by stage; per unit and week owed
_LEVELS = (range(5, 19), range(5, 21), range(6, 20))  # base stock of stages 1, 2, 3
_WEEKS = 4  # looked at in one replication
_MOST = 60  # units demanded in a lead time; more have chances below 1e-20


@dataclass(frozen=True, eq=False)
class SerialInventory:
    """A simulator of four weeks, far apart: what stock and debts cost in one of them on average."""

    alternatives: Axis
    levels: IntArray  # [alternative, stage]

    def __call__(self, alternative: Item, context: Item, seed: int) -> float:
        """Return the weekly cost seen in one replication."""
        return float(self.many(np.array(self.alternatives.index(alternative)), np.array(0), np.array(seed)))

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Array:
        """Return the costs of positions and seeds, broadcast: what single calls give one by one."""
        rows, _, keys = np.broadcast_arrays(alternatives, contexts, seeds)
        level = uniform(keys, 3 * _WEEKS).reshape(*keys.shape, 3, _WEEKS)
        demand = np.stack([np.searchsorted(_chances(j), level[..., j, :]) for j in range(3)])
        owed, cost = np.zeros(demand.shape[1:]), np.zeros(demand.shape[1:])
        for stage in (2, 1, 0):
            position = self.levels[rows, stage][..., None] - owed - demand[stage]
            cost += _HOLDING[stage] * np.maximum(position, 0)
            owed = np.maximum(-position, 0)
        return np.asarray((cost + _SHORTAGE * owed).mean(axis=-1))


def serial_inventory(levels: tuple[range, range, range] = _LEVELS) -> Problem:
    """Return the problem: 3,136 combinations of three base-stock levels, one context, in cost per week.

    With D_j the Poisson demand in the lead time of stage j and B_4 = 0, B_j = max(B_{j+1} + D_j - s_j, 0) is
    owed by stage j and max(s_j - B_{j+1} - D_j, 0) on its stock; the D_j are independent. Truth and noise
    are sums over all demands.
    """
    grid = np.array(list(product(*levels)))
    alternatives = Axis.of(
        "alternative", [{"shop": int(a), "depot": int(b), "plant": int(c)} for a, b, c in grid]
    )
    mean, square = _moments(levels)
    problem = Problem(
        alternatives,
        Axis.of("context", [{"demand": _RATE}]),
        SerialInventory(alternatives, grid),
        goal="min",
        truth=mean[:, None],
        noise_sd=np.sqrt((square - mean**2) / _WEEKS)[:, None],
        name="serial-inventory",
        reward="cost per week",
        description="Stock along a supply chain: base-stock levels of shop, depot and plant, Poisson demand, "
        "cost of stock and debts in four weeks; truth and noise are sums of demand chances",
    )
    return with_hardness(problem)


@cache
def _chances(stage: int) -> Array:
    """Return P(D <= n) of the demand in a stage's lead time."""
    return np.asarray(pdtr(np.arange(_MOST), _RATE * _LEAD[stage]))


def _moments(levels: tuple[range, range, range]) -> tuple[Array, Array]:
    """Return mean and mean square of the cost in a week, [alternative].

    Stage by stage the chance of what is owed is carried on, and beside it the cost so far and its square,
    each times that chance: [level of the stages above, ..., power, units owed].
    """
    carried = np.zeros((3, 1))
    carried[0, 0] = 1.0  # nothing is owed from outside
    for stage in (2, 1, 0):
        chance = np.diff(_chances(stage), prepend=0.0)
        demanded = np.apply_along_axis(np.convolve, -1, carried, chance)
        after = (_stocked(demanded, s, _HOLDING[stage]) for s in levels[stage])
        if stage:
            carried = np.stack(list(after))
    owed = np.asarray(_SHORTAGE * np.arange(demanded.shape[-1]))
    _, first, second = np.moveaxis(np.stack([_dearer(each, owed).sum(axis=-1) for each in after]), -1, 0)
    return first.ravel(), second.ravel()


def _stocked(demanded: Array, level: int, holding: float) -> Array:
    """Return what is carried on by a stage with this base stock, given what is asked of it."""
    left = np.maximum(level - np.arange(demanded.shape[-1]), 0)
    paid = _dearer(demanded, holding * left)
    owed = np.zeros_like(paid)
    owed[..., 0] = paid[..., : level + 1].sum(axis=-1)
    owed[..., 1 : paid.shape[-1] - level] = paid[..., level + 1 :]
    return owed


def _dearer(carried: Array, cost: Array) -> Array:
    """Return the moments [..., power, units] of a cost to which ``cost`` [units] is added."""
    zeroth, first, second = np.moveaxis(carried, -2, 0)
    added = first + cost * zeroth
    return np.stack([zeroth, added, second + cost * (2 * first + cost * zeroth)], axis=-2)
