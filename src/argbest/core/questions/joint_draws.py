"""Joint draws of whole tables from a belief, always with the same random numbers behind them.

A question whose value is no linear function of the rewards is answered, and its contrasts are named, by such
draws. They are a function of the belief alone: whoever asks twice gets the same answer, and a belief that has
changed little gives draws that have changed little.
"""

from functools import lru_cache

import numpy as np

from argbest.core.abilities import offers
from argbest.core.arrays import Array
from argbest.core.belief import Belief, DrawsWholeTables, quick_draw

FOR_CHOICES = 256  # draws whose average names the choice
FOR_CONTRASTS = 64  # draws of which each names one contrast, or one per context
_KEY = 17


def of_belief(belief: Belief, n: int) -> Array:
    """Return n joint draws of all rewards, [draw, ..., alternative, context]."""
    if offers(belief, DrawsWholeTables):
        return belief.draw_tables(n, _numbers)
    lead = belief.mean.ndim - 2
    normals = _normals(n, belief.mean.shape[-2:]).reshape(n, *(1,) * lead, *belief.mean.shape[-2:])
    normals = np.broadcast_to(normals, (n, *belief.mean.shape))
    return quick_draw(belief, normals)


def _numbers() -> np.random.Generator:
    """Return a new source of random numbers, the same ones every time."""
    return np.random.Generator(np.random.Philox(key=_KEY))


@lru_cache(maxsize=4)
def _normals(n: int, shape: tuple[int, int]) -> Array:
    found: Array = _numbers().standard_normal((n, *shape))
    found.flags.writeable = False
    return found
