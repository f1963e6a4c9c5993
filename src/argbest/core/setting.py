"""Setting: what models and policies may know of the problem, where alternatives lie among it."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.errors import InputError


@dataclass(frozen=True)
class Coordinates:
    """One point per entry; a table of all distances is never made, only the rows that are asked for."""

    points: Array  # [entry, coordinate]: numbers over their range, categories by their number
    categorical: BoolArray  # [coordinate]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return int(self.points.shape[1])

    def some(self, entries: IntArray) -> "Coordinates":
        """Return where some of the entries lie."""
        return Coordinates(self.points[entries], self.categorical)

    def separation(self, entries: Array) -> Array:
        """Return squared distances [coordinate, ..., entry] from the points of ``entries`` [..., coordinate].

        A category is at distance 0 from itself and 1 from any other.
        """
        step = np.moveaxis(entries[..., None, :] - self.points, -1, 0)
        kind = self.categorical.reshape(-1, *(1,) * (step.ndim - 1))
        return np.where(kind, step != 0.0, step**2)


@dataclass(frozen=True)
class Setting:
    """Weights and separations of the contexts, which pairs are allowed now, what a replication costs."""

    weights: Array  # [context], sums to 1
    separation: Array  # [coordinate, context, context]: squared distances after scaling by the bounds
    allowed: BoolArray  # [..., context]
    cost: Array | None = None  # [alternative, context]: of a replication, above 0, in any unit; None: alike
    excluded: BoolArray | None = None  # [alternative, context]: set aside, never to be simulated; None: none
    alternatives: Coordinates | None = None  # where alternatives lie; None: names without coordinates

    @cached_property
    def unrestricted(self) -> bool:
        """Whether every pair may be simulated now."""
        return self.excluded is None and bool(self.allowed.all())

    def candidates(self, shape: tuple[int, ...]) -> BoolArray:
        """Return which pairs may be simulated now, [..., alternative, context] as ``shape`` says."""
        marked: BoolArray = np.broadcast_to(self.allowed[..., None, :], shape)
        if self.excluded is None:
            return marked
        marked = marked & ~self.excluded
        if not np.all(marked.any(axis=(-2, -1))):
            raise InputError(
                "no pair is left to simulate: all pairs of the allowed contexts have been set aside. "
                "Ask for other contexts, or fix the simulator and readmit the pairs."
            )
        return marked

    def among(self, alternatives: IntArray) -> "Setting":
        """Return the setting of some alternatives."""
        return replace(
            self,
            cost=None if self.cost is None else self.cost[alternatives],
            excluded=None if self.excluded is None else self.excluded[alternatives],
            alternatives=None if self.alternatives is None else self.alternatives.some(alternatives),
        )

    def spent(self, count: AnyArray) -> AnyArray:
        """Return what so many replications of every pair cost, [..., alternative, context]."""
        return count if self.cost is None else count * self.cost

    def per_cost(self, log_value: Array) -> Array:
        """Return the logarithm of value / cost from that of the value, [..., alternative, context]."""
        return log_value if self.cost is None else log_value - np.log(self.cost)
