"""Problems of stock: the newsvendor's order given the expected demand, and a supply chain.

In the chain, thousands of alternatives, smooth, with exact truth, stage 3 buys from outside, stage 2 from
stage 3, stage 1 from stage 2 and serves Poisson demand. Each orders a unit for every unit demanded, up to its
base-stock level, and waits for a lead time of its own.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from scipy.special import betainc, pdtr

from argbest.core.arrays import Array, IntArray
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.noisy_table import ByPosition, moments_of_sum, uniform, with_hardness

_PRICE, _COST, _DAYS = 5.0, 2.0, 14
_SHAPE = 10.0  # of the gamma distribution of the mean demand
_MOST_PAPERS = 500  # P(D >= 500) is below 1e-15
_ORDERS = tuple(range(15, 58, 6))
_DEMANDS = (15.0, 18.0, 21.0, 24.0, 27.0, 30.0, 33.0, 36.0)
_RATE = 6.0  # units per week
_LEAD = (1.0, 1.5, 2.0)  # weeks, of stages 1, 2, 3
_HOLDING, _SHORTAGE = (4.0, 2.0, 1.0), 30.0  # per unit and week on stock, by stage; per unit and week owed
_LEVELS = (range(5, 19), range(5, 21), range(6, 20))  # base stock of stages 1, 2, 3
_WEEKS = 4  # looked at in one replication
_LARGEST_DEMAND = 60  # units demanded in a lead time; more have chances below 1e-20


@dataclass(frozen=True, eq=False)
class Newsvendor(ByPosition):
    """A simulator of a fortnight: order q every morning, sell min(D, q); the mean profit of a day."""

    chances: Array  # [context, n]: P(D <= n)

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Array:
        """Return the profits of positions and seeds, broadcast: what single calls give one by one.

        The demand is the quantile of a uniform number, so equal seeds bring equal demand to every order.
        """
        rows, columns, keys = np.broadcast_arrays(alternatives, contexts, seeds)
        level = uniform(keys, _DAYS)
        demand = np.empty(level.shape)
        for context in np.unique(columns):
            here = columns == context
            demand[here] = np.searchsorted(self.chances[context], level[here])
        order = np.array(_ORDERS)[rows]
        sold = np.minimum(demand, order[..., None]).mean(axis=-1)
        return np.asarray(_PRICE * sold - _COST * order)


def newsvendor() -> Problem:
    """Return the newsvendor problem: order quantities by expected demand, in profit per day.

    Demand is Poisson about a gamma-distributed mean (negative binomial, variance m + m² / 10). With Y =
    max(q - D, 0) left over, the truth is p (q - E[Y]) - c q and the noise of a fortnight p sd(Y) / √14, where
    E[Y] = Σ_{n < q} P(D <= n) and E[Y²] = Σ_{n < q} (2 (q - n) - 1) P(D <= n).
    """
    alternatives = Axis.of("alternative", [{"order": q} for q in _ORDERS])
    contexts = Axis.of("context", [{"demand": mean} for mean in _DEMANDS])
    mean, order, n = np.array(_DEMANDS)[:, None], np.array(_ORDERS)[:, None], np.arange(_MOST_PAPERS)
    chances = np.asarray(betainc(_SHAPE, n + 1, _SHAPE / (_SHAPE + mean)), float)  # P(D <= n)
    left = np.maximum(order - n, 0)
    unsold, squared = (left > 0) @ chances.T, np.maximum(2 * left - 1, 0) @ chances.T
    problem = Problem(
        alternatives,
        contexts,
        Newsvendor(alternatives, contexts, chances),
        truth=_PRICE * (order - unsold) - _COST * order,
        noise_sd=_PRICE * np.sqrt((squared - unsold**2) / _DAYS),
        name="newsvendor",
        reward="profit per day",
        description=f"Orders by expected demand, negative binomial, price {_PRICE:g}, cost {_COST:g}, the "
        "unsold lost, mean daily profit of a fortnight; truth and noise are sums of demand chances",
    )
    return with_hardness(problem)


@dataclass(frozen=True, eq=False)
class SerialInventory(ByPosition):
    """A simulator of four weeks, far apart: what stock and unmet orders cost in a week, on average."""

    levels: IntArray  # [alternative, stage]

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
    contexts = Axis.of("context", [{"demand": _RATE}])
    mean, square = _moments(levels)
    problem = Problem(
        alternatives,
        contexts,
        SerialInventory(alternatives, contexts, grid),
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
    return np.asarray(pdtr(np.arange(_LARGEST_DEMAND), _RATE * _LEAD[stage]))


def _moments(levels: tuple[range, range, range]) -> tuple[Array, Array]:
    """Return mean and mean square of the cost in a week, [alternative].

    Stage by stage the chance of what is owed is carried on, and beside it the cost so far and its square,
    each times that chance: [level of the stages above, ..., power, units owed].
    """
    carried = np.eye(3, 1)  # nothing is owed from outside
    for stage in (2, 1, 0):
        chance = np.diff(_chances(stage), prepend=0.0)
        demanded = np.apply_along_axis(np.convolve, -1, carried, chance)
        after = (_stocked(demanded, s, _HOLDING[stage]) for s in levels[stage])
        if stage:
            carried = np.stack(list(after))
    owed = np.asarray(_SHORTAGE * np.arange(demanded.shape[-1]))
    _, first, second = np.moveaxis(
        np.stack([moments_of_sum(each, owed, -2).sum(axis=-1) for each in after]), -1, 0
    )
    return first.ravel(), second.ravel()


def _stocked(demanded: Array, level: int, holding: float) -> Array:
    """Return what is carried on by a stage with this base stock, given what is asked of it."""
    left = np.maximum(level - np.arange(demanded.shape[-1]), 0)
    paid = moments_of_sum(demanded, holding * left, -2)
    owed = np.zeros_like(paid)
    owed[..., 0] = paid[..., : level + 1].sum(axis=-1)
    owed[..., 1 : paid.shape[-1] - level] = paid[..., level + 1 :]
    return owed
