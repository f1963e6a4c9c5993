"""What can be selected: an alternative that never gave a value where it kept failing is not."""

from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from argbest.core.arrays import BoolArray
from argbest.core.belief import Belief

_Belief = TypeVar("_Belief", bound=Belief)
_FAR = 100.0  # in ranges and standard deviations of a context: no probability, loss or draw reaches so far


def among_the_rest(belief: _Belief, ruled_out: BoolArray | None) -> _Belief:
    """Return the belief with the pairs ``ruled_out`` [..., alternative, context] far below all others.

    So everything that follows from it, probabilities, losses, bounds, draws and what policies make of them,
    is as if these pairs were not there, however many are left in a context. Where none is left there is
    nothing to put them below: such a context stays as it is, and whoever answers says that it has no answer.
    """
    if ruled_out is None or not ruled_out.any():
        return belief
    out = ruled_out & ~ruled_out.all(axis=-2, keepdims=True)
    low = np.min(belief.mean, axis=-2, keepdims=True, where=~out, initial=np.inf)
    high = np.max(belief.mean, axis=-2, keepdims=True, where=~out, initial=-np.inf)
    width = high - low + np.sqrt(belief.var.max(axis=-2, keepdims=True))
    width = np.where(width > 0, width, np.maximum(np.abs(low), 1.0))
    mean, known = np.where(out, low - _FAR * width, belief.mean), cast(Any, belief)
    lowered: _Belief = known.with_mean(mean) if hasattr(known, "with_mean") else replace(known, mean=mean)
    return lowered
