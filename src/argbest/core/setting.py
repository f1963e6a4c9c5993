"""Setting: what models and policies may know of the problem."""

from dataclasses import dataclass

from argbest.core.arrays import Array, BoolArray


@dataclass(frozen=True)
class Setting:
    """Weights and separations of the contexts, which of them are allowed now, separations of alternatives."""

    weights: Array  # [context], sums to 1
    separation: Array  # [coordinate, context, context]: squared distances after scaling by the bounds
    allowed: BoolArray  # [..., context]
    alternative_separation: Array | None = None  # [coordinate, alternative, alternative]; None: mere names
