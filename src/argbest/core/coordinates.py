"""Where alternatives lie: numbers scaled by their range, categories that are the same or not."""

from dataclasses import dataclass

import numpy as np

from argbest.core.arrays import Array, BoolArray, IntArray


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
