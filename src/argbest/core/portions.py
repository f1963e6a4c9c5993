"""Portions of a compiled search: while one is under way no signal is heard, so none may take long."""

from collections.abc import Iterator

import numpy as np

from argbest.core.arrays import AnyArray, IntArray

# Operations of one evaluation, all entries together: with some hundred evaluations a second or two.
AT_ONCE = 6e7


def portions(cost: AnyArray) -> Iterator[tuple[IntArray, ...]]:
    """Yield indices of the entries of ``cost``, in order, each portion at most AT_ONCE or one entry."""
    places = np.argwhere(np.ones(cost.shape, bool))
    begin, spent = 0, 0.0
    for i, own in enumerate(cost.ravel().tolist()):
        if i > begin and spent + own > AT_ONCE:
            yield tuple(places[begin:i].T)
            begin, spent = i, 0.0
        spent += own
    if len(places):
        yield tuple(places[begin:].T)
