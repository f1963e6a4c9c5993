"""The newsvendor: how many papers to order, given the demand that the weather promises."""

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from argbest.core.arrays import Array, IntArray
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.noisy_table import ByPosition, uniform, with_hardness

_PRICE, _COST, _DAYS = 5.0, 2.0, 14
_SHAPE = 10.0  # of the gamma distribution of the mean demand
_MOST = 500  # P(D >= 500) is below 1e-15
_ORDERS = tuple(range(15, 58, 6))
_DEMANDS = (15.0, 18.0, 21.0, 24.0, 27.0, 30.0, 33.0, 36.0)


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
    mean, order, n = np.array(_DEMANDS)[:, None], np.array(_ORDERS)[:, None], np.arange(_MOST)
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
