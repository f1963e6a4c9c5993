"""Decision: which (alternative, context) to simulate, one per leading index."""

from typing import NamedTuple

import numpy as np

from argbest.core.arrays import AnyArray, IntArray


class Decision(NamedTuple):
    """Indices of the pair to simulate, each [...]."""

    alternative: IntArray
    context: IntArray


def leading(shape: tuple[int, ...]) -> tuple[IntArray, ...]:
    """Return open index grids over the leading axes, to stand beside one integer index per leading cell."""
    if len(shape) < 2:  # the common cases of a single study, without the cost of the general one
        return tuple(np.arange(n) for n in shape)
    return tuple(np.ogrid[tuple(slice(n) for n in shape)])


def cell(decision: Decision, shape: tuple[int, ...]) -> tuple[AnyArray, ...]:
    """Return the index that picks the decided cell from an array of ``shape`` [..., alternative, context]."""
    return (*leading(shape[:-2]), decision.alternative, decision.context)


def of_each_context(selected: IntArray) -> tuple[AnyArray, ...]:
    """Return the index that picks ``selected`` [..., context] from an array [..., alternative, context]."""
    *before, contexts = leading(selected.shape)
    return (*before, selected, contexts)


def at(values: AnyArray, decision: Decision) -> AnyArray:
    """Return the decided cell's entry, [...] from [..., alternative, context]."""
    picked: AnyArray = values[cell(decision, values.shape)]
    return picked
