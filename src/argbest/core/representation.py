"""How the observed cells of a study are represented, by what that would cost."""

import numpy as np

from argbest.core.arrays import IntArray
from argbest.core.landmarks import FEWER, MOST, MOST_TREND

# Operations per evaluation of an evidence with its gradient.
_DENSE = 1500.0**3  # beyond this dense algebra takes too long, and structure may be approximate
_CELLS = 2**15  # of the alternatives that are followed in all contexts
_FEWEST, _MOST = 32, 512  # of those alternatives
_OWN = 10**8  # numbers in the covariances of every alternative with itself, 0.8 GB
_CALLS = 2e7  # what the calls of structured algebra take, however small its matrices


def structured(count: IntArray, *, names: bool) -> bool:
    """Return whether cells [alternative, context] with observations are better represented by structure.

    With names it is exact, and used where it is cheaper. With coordinates features carry what alternatives
    have in common and their number is limited: used where the dense form would take too long.
    """
    if names:
        return _structure_is_cheaper(count, 0)
    return _dense_cost(count) > _DENSE and _structure_is_cheaper(count, MOST)


def structure_shows_the_way(count: IntArray, *, names: bool) -> bool:
    """Return whether few features would cost less than the dense algebra that a search ends with."""
    return not names and _structure_is_cheaper(count, FEWER)


def affords_common_noise(count: IntArray) -> bool:
    """Return whether dense algebra, which alone knows noise that alternatives share, is quick enough."""
    return _dense_cost(count) <= _DENSE and not too_large(count)


def affords_blocks(shape: tuple[int, ...]) -> bool:
    """Return whether noise that alternatives share is quick enough to weigh context by context."""
    return bool(shape[-1] * float(shape[-2]) ** 3 <= _DENSE)


def followed(shape: tuple[int, ...]) -> int:
    """Return how many alternatives of a large table [..., alternative, context] are followed exactly."""
    return int(np.clip(_CELLS // shape[-1], _FEWEST, _MOST))


def too_large(count: IntArray, *, names: bool = False) -> bool:
    """Return whether a table [..., alternative, context] has too many cells to follow all of them.

    Where many are observed, structure follows all, unless its covariances of every alternative are too many.
    """
    if count.shape[-2] <= 2 * followed(count.shape) or not np.all(count.any(axis=(-2, -1))):
        return False
    if count.shape[-2] * count.shape[-1] ** 2 > _OWN:
        return True
    each = count.reshape(-1, *count.shape[-2:])
    return not any(structured(one, names=names) for one in each)


def _structure_is_cheaper(count: IntArray, most: int) -> bool:
    """Return whether so many features, beside the trend's, take less time than dense algebra."""
    seen = count > 0
    sizes, contexts = seen.sum(axis=1), float(seen.any(axis=0).sum())
    trend = min(contexts, float(MOST_TREND))
    r = trend + most
    of_blocks = float(np.sum(sizes.astype(float) ** 3 + sizes**2 * trend))
    of_features = float((sizes > 0).sum()) * r**2 + r**3
    return _dense_cost(count) > _CALLS * (1 + len(np.unique(sizes))) + 2.0 * of_blocks + of_features


def _dense_cost(count: IntArray) -> float:
    """Return the operations of dense algebra."""
    return float((count > 0).sum()) ** 3
