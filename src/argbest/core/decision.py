"""Decision: which (alternative, context) to simulate, one per leading index."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from argbest.core.arrays import AnyArray, IntArray


class Decision(NamedTuple):
    """Indices of the pair to simulate, each [...]."""

    alternative: IntArray
    context: IntArray


@lru_cache(maxsize=64)
def leading(shape: tuple[int, ...]) -> tuple[IntArray, ...]:
    """Return open index grids over the leading axes, to stand beside one integer index per leading cell."""
    last = len(shape) - 1
    grids = tuple(np.arange(n).reshape(n, *(1,) * (last - i)) for i, n in enumerate(shape))
    for grid in grids:
        grid.flags.writeable = False  # others get the same ones
    return grids


def cell(decision: Decision, shape: tuple[int, ...]) -> tuple[AnyArray, ...]:
    """Return the index that picks the decided cell from an array of ``shape`` [..., alternative, context]."""
    return (*leading(shape[:-2]), decision.alternative, decision.context)


def of_each_context(selected: IntArray) -> tuple[AnyArray, ...]:
    """Return the index that picks ``selected`` [..., context] from an array [..., alternative, context]."""
    *before, contexts = leading(selected.shape)
    return (*before, selected, contexts)


def at(values: AnyArray, decision: Decision) -> AnyArray:
    """Return the decided cell's entry, [...] from [..., alternative, context]."""
    return values[cell(decision, values.shape)]
