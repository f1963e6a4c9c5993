"""Contrasts that are weighted sums of mean rewards, of whatever pairs: across contexts, too."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from argbest.core import knowledge_gradient as kg
from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray, ndtr
from argbest.core.belief import Belief, RelatesSums
from argbest.core.decision import leading

_AT_ONCE = 2**21  # numbers of covariances worked out at once, 16 MB
_KNOWN = 1e-12  # of the variance that the pairs of a sum would have in all: a sum with less is known


@dataclass(frozen=True, eq=False)
class Sums:
    """Σ_i weight_i f(pair_i): positive where the choice is right. Arrays are [..., contrast, pair]."""

    belief: Belief
    alternative: IntArray
    context: IntArray
    weight: Array

    def standardised(self, closed: BoolArray | None = None) -> tuple[Array, Array]:
        """Return z = mean / standard deviation and the variance, [..., contrast, 1]; z = ∞ where it is 0.

        What ``closed`` pairs [..., alternative, context] add to a sum counts as known.
        """
        weight = self.weight
        if closed is not None:
            weight = np.where(self._at(np.broadcast_to(closed, self.belief.mean.shape)), 0.0, weight)
        mean = np.sum(self.weight * self._at(self.belief.mean), axis=-1)
        var = np.empty(mean.shape)
        for some in kg.blocks(mean.shape[-1], self.belief.mean.size, _AT_ONCE):
            rows = self._rows(some, weight)
            var[..., some] = np.sum(weight[..., some, :] * self._among(rows, some), axis=-1)
        most = np.sum(np.abs(weight) * np.sqrt(self._at(self.belief.var)), axis=-1) ** 2
        var = np.where(var > _KNOWN * most, var, 0.0)
        z = np.full(mean.shape, np.inf)
        with np.errstate(over="ignore"):
            np.divide(mean, np.sqrt(var), out=z, where=var > 0)
        return z[..., None], var[..., None]

    def covariances(self, which: IntArray) -> Array:
        """Return the covariances of some sums [..., m] with all pairs, [..., m, alternative, context]."""
        if "_every_row" in self.__dict__:
            return np.asarray(self._every_row[(*leading(which.shape)[:-1], which)])
        where = which[..., None]
        alternative = np.take_along_axis(self.alternative, where, axis=-2)
        context = np.take_along_axis(self.context, where, axis=-2)
        return cov_of_pairs(
            self.belief, alternative, context, np.take_along_axis(self.weight, where, axis=-2)
        )

    def log_shares(self, log_weight: Array) -> None:
        """Return None: a sum may hold several pairs of one alternative."""
        return

    def bound(self, delta: float = 0.0) -> Array:
        """Return Π Φ((mean + δ) / standard deviation) over the contrasts, [..., 1]: roughly P(right)."""
        z, var = self.standardised()
        further = np.divide(delta, np.sqrt(var), out=np.zeros_like(var), where=var > 0)
        return np.asarray(ndtr(z + further).prod(axis=-2))

    def _at(self, table: Array | BoolArray) -> Array:
        """Return the entries of the pairs, [..., contrast, pair] of a table [..., alternative, context]."""
        return np.asarray(table[(*leading(self.weight.shape)[:-2], self.alternative, self.context)])

    @cached_property
    def _every_row(self) -> Array:
        """The covariances of all sums with all pairs, kept where they are few: they are asked for twice."""
        return cov_of_pairs(self.belief, self.alternative, self.context, self.weight)

    def _rows(self, some: slice, weight: Array) -> Array:
        """Return the covariances of some sums with all pairs; each pair counts by ``weight``."""
        n = self.weight.shape[-2]
        if weight is self.weight and n * self.belief.mean.size <= _AT_ONCE:
            return self._every_row[..., some, :, :]
        return cov_of_pairs(
            self.belief, self.alternative[..., some, :], self.context[..., some, :], weight[..., some, :]
        )

    def _among(self, rows: Array, some: slice) -> Array:
        """Return the covariances of every sum with its own pairs, from those with all."""
        alternative, context = self.alternative[..., some, :], self.context[..., some, :]
        return np.asarray(rows[(*leading(alternative.shape)[:-1], alternative, context)])


def cov_of_pairs(belief: Belief, alternative: IntArray, context: IntArray, weight: Array) -> Array:
    """Return Cov(Σ_i weight_i f(pair_i), ·) of pairs [..., m, i], [..., m, alternative, context]."""
    if offers(belief, RelatesSums):
        return belief.cov_of_sums(alternative, context, weight)
    total = np.zeros((*weight.shape[:-1], *belief.mean.shape[-2:]))
    for i in range(weight.shape[-1]):
        if weight[..., i].any():
            total += weight[..., i, None, None] * belief.cov_rows(alternative[..., i], context[..., i])
    return total
