"""Mixture: how sure one may be of selections where several beliefs are equally likely."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief
from argbest.core.correlated import CorrelatedAlternatives

_DRAWS = 128, 256  # Sobol points of each of many beliefs, and of few: their average rests on all of them
_MANY = 32


@dataclass(frozen=True, eq=False)
class Mixture:
    """Beliefs with hyper-parameters and noise as likely as the data leave them; what they say is averaged.

    ``condition`` returns the beliefs of a slice of the points, which have an axis of their own: the first, or
    the second where contexts are looked at each by itself ([context, point, alternative, 1]). They are kept
    where one ``portion`` holds all, and made anew at every look where they are too large for that.
    """

    condition: Callable[[slice], Belief]
    n_points: int
    portion: int
    effective: Array  # how many independent points of the hyper-parameters these are worth, [...]
    axis: int = 0

    def best_probability(self) -> Array:
        """Return P(each alternative is best) per context."""
        return self._average(lambda belief: belief.best_probability())

    def good_probability(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return P(the selected alternative is within delta of the best) per context."""
        return self._average(
            lambda belief: belief.good_probability(self._everywhere(selected, belief), delta)
        )

    def expected_loss(self, selected: IntArray) -> Array:
        """Return E[best reward − selected reward] per context."""
        return self._average(lambda belief: belief.expected_loss(self._everywhere(selected, belief)))

    def lower_bound(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return the average of closed-form lower bounds of `good_probability`, itself such a bound."""
        return self._average(lambda belief: belief.lower_bound(self._everywhere(selected, belief), delta))

    def draw(self, normals: Array) -> Array:
        """Return joint draws of all rewards [s, alternative, context], as many from every belief.

        Of the normals, those that would be too many for some beliefs are left.
        """
        each, shape = len(normals) // self.n_points, normals.shape[1:]
        own = normals[: each * self.n_points].reshape(each, self.n_points, *shape)
        parts = [belief.draw(own[:, some]) for some, belief in self._portions()]
        return np.concatenate(parts, axis=1).reshape(-1, *shape)

    def _average(self, say: Callable[[Belief], Array]) -> Array:
        total = sum(say(belief).sum(axis=self.axis) for _, belief in self._portions())
        return np.asarray(total / self.n_points)

    def _everywhere(self, selected: IntArray, belief: Belief) -> IntArray:
        """Return the selection of every belief: the same."""
        n = belief.mean.shape[self.axis]
        return np.repeat(np.expand_dims(selected, self.axis), n, axis=self.axis)

    def _portions(self) -> Iterator[tuple[slice, Belief]]:
        if self.portion >= self.n_points:
            yield slice(self.n_points), self._whole
            return
        for start in range(0, self.n_points, self.portion):
            some = slice(start, min(start + self.portion, self.n_points))
            yield some, self._conditioned(some)

    @cached_property
    def _whole(self) -> Belief:
        return self._conditioned(slice(self.n_points))

    def _conditioned(self, some: slice) -> Belief:
        belief: Any = self.condition(some)
        if isinstance(belief, CorrelatedAlternatives):
            belief = replace(belief, n_draws=_DRAWS[self.n_points < _MANY])  # type: ignore[type-var]
        return belief  # type: ignore[no-any-return]
