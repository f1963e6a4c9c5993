"""Facility sizing: the least capacity that rarely runs out, by level and correlation of demand.

Three facilities have normal demands, drawn again while any is negative. Capacity costs what it holds; a
replication also says whether any demand exceeded its capacity. This is FACSIZE-1 of the SimOpt library, with
capacities on a grid, and with contexts by the level and the correlation of demand.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from argbest.core.arrays import AnyArray, Array, IntArray, ndtr, ndtri
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.noisy_table import SeveralResponses, uniform

_MEAN = 100.0  # of every demand
_COVARIANCE = np.array([[2000.0, 1500.0, 500.0], [1500.0, 2000.0, 750.0], [500.0, 750.0, 2000.0]])
_CAPACITIES = tuple(range(140, 250, 20))
_LEVELS = (0.8, 0.9, 1.0, 1.1, 1.2)  # times the mean
_CORRELATIONS = (0.5, 1.0)  # times those of the covariance
_TRIES = 24  # of a demand without a negative part: all fail with a chance below 1e-23
_STEP, _NODES = 10.0, 8  # width of a panel, and Gauss-Legendre nodes in it


@dataclass(frozen=True, eq=False)
class Facilities(SeveralResponses):
    """A simulator of one period: what the capacity costs, and whether any demand exceeded it."""

    capacity: Array  # [alternative, facility]
    level: Array  # [context]: mean demand
    root: Array  # [context, facility, facility]: of the covariance

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> dict[str, AnyArray]:
        """Return the responses of positions and seeds, broadcast: what single calls give one by one."""
        rows, columns, keys = np.broadcast_arrays(alternatives, contexts, seeds)
        normal = np.asarray(ndtri(uniform(keys, 3 * _TRIES)), float).reshape(*keys.shape, _TRIES, 3)
        demand = self.level[columns][..., None, None] + normal @ np.swapaxes(self.root[columns], -1, -2)
        first = np.all(demand >= 0, axis=-1).argmax(axis=-1)
        drawn = np.take_along_axis(demand, first[..., None, None], axis=-2)[..., 0, :]
        return {
            "cost": self.capacity[rows].sum(axis=-1),
            "stockout": np.asarray(np.any(drawn > self.capacity[rows], axis=-1)),
        }


def facility_sizing() -> Problem:
    """Return the problem: 216 capacities of three facilities by ten demands, stock-outs in at most 5 %.

    P(no stock-out) = P(0 <= demand <= capacity) / P(demand >= 0): normal probabilities of boxes.
    """
    grid = np.array(list(product(_CAPACITIES, repeat=3)), dtype=float)
    names = "first", "second", "third"
    alternatives = Axis.of("alternative", [dict(zip(names, map(int, row), strict=True)) for row in grid])
    demands = list(product(_LEVELS, _CORRELATIONS))
    contexts = Axis.of("context", [{"level": level, "correlation": share} for level, share in demands])
    level = np.array([_MEAN * level for level, _ in demands])
    covariance = np.stack([_correlated(share) for _, share in demands])
    kept = np.stack([_within(*each) for each in zip(level, covariance, strict=True)], axis=-1)
    stockout = 1.0 - kept
    return Problem(
        alternatives,
        contexts,
        Facilities(alternatives, contexts, grid, level, np.asarray(np.linalg.cholesky(covariance), float)),
        goal="min cost",
        limits=["stockout <= 0.05"],
        truth={"cost": np.repeat(grid.sum(axis=1)[:, None], len(demands), axis=1), "stockout": stockout},
        noise_sd={"cost": 0.0, "stockout": np.sqrt(stockout * (1.0 - stockout))},
        name="facility-sizing",
        reward="capacity",
        description="Capacities of three facilities; by level and correlation of demands, stock-outs in "
        "at most 5 % of the periods; FACSIZE-1 of SimOpt on a grid, truth by normal probabilities of boxes.",
    )


def _correlated(share: float) -> Array:
    """Return the covariance with its correlations multiplied by the share."""
    return share * _COVARIANCE + (1.0 - share) * np.diag(np.diag(_COVARIANCE))


def _within(level: float, covariance: Array) -> Array:
    """Return P(demand <= capacity), given that no demand is negative, of every capacity, [alternative].

    An integral over the first two demands of the density times P(0 <= third <= capacity, given these), by
    Gauss and Legendre in panels that end at the capacities.
    """
    last = level + 12.0 * np.sqrt(covariance[0, 0])
    edge = np.arange(0.0, last, _STEP)
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    x = edge[:, None] + 0.5 * _STEP * (node + 1.0)  # [panel, node]
    pair = np.linalg.inv(covariance[:2, :2])
    first, second = np.meshgrid(x.ravel() - level, x.ravel() - level, indexing="ij")
    exponent = pair[0, 0] * first**2 + 2.0 * pair[0, 1] * first * second + pair[1, 1] * second**2
    density = np.exp(-0.5 * exponent) * np.sqrt(np.linalg.det(pair)) / (2.0 * np.pi)
    slope = covariance[2, :2] @ pair
    mean = level + slope[0] * first + slope[1] * second
    sd = np.sqrt(covariance[2, 2] - slope @ covariance[:2, 2])
    every = np.tile(0.5 * _STEP * weight, len(edge))
    mass = density * every[:, None] * every
    negative = ndtr(-mean / sd)
    panels = (len(edge), _NODES, len(edge), _NODES)
    chances = []
    for most in (*_CAPACITIES, np.inf):
        box = (mass * (ndtr((most - mean) / sd) - negative)).reshape(panels).sum(axis=(1, 3))
        chances.append(box.cumsum(axis=0).cumsum(axis=1))
    ends = np.searchsorted(edge, _CAPACITIES) - 1  # the panel before each capacity
    table = np.stack([each[np.ix_(ends, ends)] for each in chances[:-1]], axis=-1)
    return np.asarray((table / chances[-1][-1, -1]).ravel())
