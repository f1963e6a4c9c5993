"""Decision: which (alternative, context) to simulate, one per leading index."""

from typing import NamedTuple

import numpy as np

from argbest.core.arrays import AnyArray, IntArray


class Decision(NamedTuple):
    """Indices of the pair to simulate, each [...]."""

    alternative: IntArray
    context: IntArray


def cell(decision: Decision, shape: tuple[int, ...]) -> tuple[AnyArray, ...]:
    """Return the index that picks the decided cell from an array of ``shape`` [..., alternative, context]."""
    return (*leading(shape[:-2]), decision.alternative, decision.context)


def leading(shape: tuple[int, ...]) -> tuple[IntArray, ...]:
    """Return open index grids over the leading axes, to stand beside one integer index per leading cell."""
    return tuple(np.ogrid[tuple(slice(n) for n in shape)])


def at(values: AnyArray, decision: Decision) -> AnyArray:
    """Return the decided cell's entry, [...] from [..., alternative, context]."""
    picked: AnyArray = values[cell(decision, values.shape)]
    return picked
