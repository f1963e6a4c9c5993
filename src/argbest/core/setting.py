"""Setting: what models and policies may know of the problem."""

from dataclasses import dataclass

from argbest.core.arrays import Array, BoolArray


@dataclass(frozen=True)
class Setting:
    """The contexts' weights, their pairwise separations, and which of them may be simulated now."""

    weights: Array  # [context], sums to 1
    separation: Array  # [coordinate, context, context]: squared distances after scaling by the bounds
    allowed: BoolArray  # [..., context]
