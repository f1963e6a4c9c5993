"""The prior covariance of the additive GP, by formula: only the rows that are asked for are computed."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from argbest.core import priors
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.decision import leading
from argbest.core.setting import Coordinates

_TABLE = 512  # alternatives of whose relations a table is kept, 2 MB


def loadings_at(noise_like: Array, same: BoolArray) -> Array:
    """Return the loadings of what is like the noise [..., alternative, context] at points, [..., point].

    ``same`` [context, point] says which they are; at others it is the root mean square over the contexts.
    """
    average = np.sqrt(np.mean(noise_like**2, axis=-1, keepdims=True))
    return np.where(same.any(axis=0), noise_like[..., np.argmax(same, axis=0)], average)


@dataclass(frozen=True)
class AdditivePrior:
    """k((k, c), (j, c′)) = g(c, c′) + κ_A(k, j) (offset + joint κ_C(c, c′)) + 1{k = j} own κ_C(c, c′).

    Where alternatives share noise, 1{c = c′} v_k(c) v_j(c) is added with the loadings v = ``noise_like``: a
    part that moves all rewards of a context together, in proportion to their noise, as one lucky replication
    does. A prior without it would take every such movement for luck. Where runs are from several sources, the
    offset is multiplied by the correlation of an alternative's level in two of them (`argbest.core.earlier`).
    """

    kernel: str
    alternatives: Coordinates | None  # None: names, κ_A(k, j) = 1{k = j}
    alternative_lengthscale: Array  # [..., coordinate]
    trend: Array  # [..., context, context′]: the trend's covariance g
    nearness: Array  # [..., context, context′]: κ_C
    offset: Array  # [...]
    joint: Array  # [...]
    own: Array  # [...]
    noise_like: Array | None = None  # [..., alternative, context]: v; None where no noise is shared
    same: BoolArray | None = None  # [context, context′]: which are the same; None: those of equal place
    level: Array | None = None  # [..., context, context′]: of an alternative's level; None: 1

    @property
    def variance(self) -> Array:
        """The prior variance of every reward, without the constant and what is like the noise, [...]."""
        total: Array = self.trend[..., 0, 0] + self.offset + self.joint + self.own
        return total

    def whole_variance(self, alternatives: IntArray | slice = slice(None)) -> Array:
        """Return the prior variance of the rewards of some alternatives, [..., alternative, context].

        What is like the noise included, the constant not; [..., 1, 1] where no noise is shared.
        """
        variance = self.variance[..., None, None]
        return variance if self.noise_like is None else variance + self.noise_like[..., alternatives, :] ** 2

    @property
    def loadings(self) -> Array | None:
        """The loadings v at the second contexts, [..., alternative, context′]; None where no noise is shared.

        At a context that is not among the first, the root mean square over them.
        """
        if self.noise_like is None or self.same is None:
            return self.noise_like
        return loadings_at(self.noise_like, self.same)

    def alone(self, n_points: int, noise_like: Array | None = None) -> "AdditivePrior":
        """Return the prior of single contexts, n_points of them on a new first axis.

        ``noise_like`` [n_points, ..., alternative, 1] are the loadings there.
        """
        lead = (n_points, *self.own.shape)
        return AdditivePrior(
            self.kernel,
            self.alternatives,
            np.broadcast_to(self.alternative_lengthscale, (n_points, *self.alternative_lengthscale.shape)),
            trend=np.broadcast_to(self.trend[..., :1, :1], (*lead, 1, 1)),
            nearness=np.ones((*lead, 1, 1)),
            offset=np.broadcast_to(self.offset, lead),
            joint=np.broadcast_to(self.joint, lead),
            own=np.broadcast_to(self.own, lead),
            noise_like=noise_like,
        )

    def study(self, index: tuple[int, ...]) -> "AdditivePrior":
        """Return the prior of one of several studies."""
        names = ["alternative_lengthscale", "trend", "nearness", "offset", "joint", "own"]
        names += [name for name in ("noise_like", "level") if getattr(self, name) is not None]
        return replace(self, **{name: getattr(self, name)[index] for name in names})

    def with_first(self, n_contexts: int) -> "AdditivePrior":
        """Return the prior with tables that relate all contexts to the first ones, [..., context, first]."""
        return replace(
            self,
            trend=self.trend[..., :n_contexts],
            nearness=self.nearness[..., :n_contexts],
            level=None if self.level is None else self.level[..., :n_contexts],
            same=np.eye(self.trend.shape[-2], n_contexts, dtype=bool),
        )

    def first(self, n_contexts: int) -> "AdditivePrior":
        """Return the prior of the first contexts, all of one source: an alternative has one level there."""
        some, loadings = (..., slice(n_contexts), slice(n_contexts)), self.noise_like
        loadings = None if loadings is None else loadings[..., :n_contexts]
        trend, nearness = self.trend[some], self.nearness[some]
        return replace(self, trend=trend, nearness=nearness, noise_like=loadings, level=None)

    def among(self, alternatives: IntArray) -> "AdditivePrior":
        """Return the prior of some alternatives."""
        where, loadings = self.alternatives, self.noise_like
        return replace(
            self,
            alternatives=None if where is None else where.some(alternatives),
            noise_like=None if loadings is None else loadings[..., alternatives, :],
        )

    def relation(self, alternative: IntArray, n_alternatives: int, to: IntArray | None = None) -> Array:
        """Return κ_A of the listed alternatives [..., m] with all, or with some, [..., m, alternative]."""
        if self.alternatives is None:
            others = np.arange(n_alternatives) if to is None else to
            same: Array = (alternative[..., None] == others).astype(float)
            return same
        if self.alternative_lengthscale.ndim > 1:
            others_at = self.alternatives if to is None else self.alternatives.some(to)
            squares = others_at.separation(self.alternatives.points[alternative])
            lengths = np.moveaxis(self.alternative_lengthscale, -1, 0)[..., None, None]
            return self._correlation(np.sum(squares / lengths**2, axis=0))
        if len(self.alternatives) <= _TABLE:
            known = self._relations if to is None else self._relations.take(to, axis=1)
            return np.asarray(known[alternative])
        return self._related(alternative, np.arange(n_alternatives) if to is None else to)

    @cached_property
    def _relations(self) -> Array:
        """κ_A of a few alternatives of one study with each other."""
        every = np.arange(len(self.alternatives or ()))
        return self._related(every, every)

    def _related(self, one: IntArray, other: IntArray) -> Array:
        """Return κ_A of alternatives of one study, [..., m, n], column by column: no larger array is made."""
        where: Any = self.alternatives
        total = np.zeros((*one.shape, len(other)))
        for x, length, kind in zip(
            where.points.T, self.alternative_lengthscale, where.categorical, strict=True
        ):
            step = np.subtract.outer(x[one], x[other])
            total += np.where(step != 0.0, length**-2, 0.0) if kind else np.square(step / length, out=step)
        return self._correlation(total)

    def _correlation(self, squares: Array) -> Array:
        correlation, _ = priors.KERNELS[self.kernel]
        return np.asarray(correlation(squares))

    def rows(self, alternative: IntArray, context: IntArray, n_alternatives: int) -> Array:
        """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context′]."""
        return self.sums(alternative[..., None], context, np.ones((*alternative.shape, 1)), n_alternatives)

    def sums(self, alternative: IntArray, context: IntArray, weight: Array, n_alternatives: int) -> Array:
        """Return the covariances of Σ_j weight_j f_j(c) with all, [..., m, alternative, context′].

        ``context`` is [..., m], ``alternative`` and ``weight`` are [..., m, j].
        """
        related = weight[..., :1] * self.relation(alternative[..., 0], n_alternatives)
        for j in range(1, weight.shape[-1]):
            related += weight[..., j, None] * self.relation(alternative[..., j], n_alternatives)
        trend = np.take_along_axis(self.trend, context[..., None], axis=-2)
        near = np.take_along_axis(self.nearness, context[..., None], axis=-2)
        shared = self.offset[..., None, None]
        if self.level is not None:
            shared = shared * np.take_along_axis(self.level, context[..., None], axis=-2)
        shared = shared + self.joint[..., None, None] * near
        out = related[..., None] * shared[..., None, :]
        if (total := weight.sum(axis=-1)).any():  # of differences it is 0
            out += (total[..., None] * trend)[..., None, :]
        own, where = self.own[..., None, None] * near, leading(context.shape)
        for j in range(weight.shape[-1]):
            out[(*where, alternative[..., j])] += weight[..., j, None] * own
        if self.noise_like is not None:
            self._add_noise_like(out, alternative, context, weight)
        return np.asarray(out)

    def _add_noise_like(self, out: Array, alternative: IntArray, context: IntArray, weight: Array) -> None:
        """Add 1{c = c′} Σ_j weight_j v_j(c) v_k(c) to ``out`` [..., m, alternative, context′]."""
        loadings = np.take_along_axis(np.asarray(self.noise_like), context[..., None, :], axis=-1)
        loadings = np.swapaxes(loadings, -1, -2)  # [..., m, alternative]
        loadings = (
            np.sum(weight * np.take_along_axis(loadings, alternative, axis=-1), axis=-1)[..., None] * loadings
        )
        if self.same is None:
            where: tuple[Any, ...] = (*leading(context.shape), slice(None), context)
            out[where] += loadings
        else:
            out += loadings[..., None] * self.same[context][..., None, :]

    def rows_to(self, alternative: IntArray, context: IntArray, to: IntArray) -> Array:
        """Return the covariances of cells [m] of one study with those of some alternatives, [m, to, c]."""
        related = self.relation(alternative, 0, to)
        near = self.nearness[context]
        levels = self.offset if self.level is None else self.offset * self.level[context]
        out = related[..., None] * (levels + self.joint * near)[:, None, :]
        out += self.trend[context][:, None, :]
        cell, place = np.nonzero(alternative[:, None] == to)
        out[cell, place] += self.own * near[cell]
        if self.noise_like is not None:
            every = np.arange(len(alternative))
            out[every, :, context] += (
                self.noise_like[alternative, context, None] * self.noise_like[to][:, context].T
            )
        return np.asarray(out)

    def within(self, alternatives: IntArray, context: int, n_alternatives: int) -> Array:
        """Return the covariances of distinct alternatives [m] of one study in one context, [m, m]."""
        out = self.relation(alternatives, n_alternatives, alternatives) * (self.offset + self.joint)
        out += self.trend[context, context]
        out.flat[:: len(out) + 1] += self.own
        if self.noise_like is not None:
            loadings = self.noise_like[alternatives, context]
            out += loadings[:, None] * loadings
        return np.asarray(out)

    def between(self, one: tuple[IntArray, IntArray], other: tuple[IntArray, IntArray]) -> Array:
        """Return the covariances of two lists of cells of one study, alternatives and contexts, [m, n]."""

        def taken(table: Array, axis: int = 1) -> Array:
            return table.take(other[axis], axis=1).take(one[axis], axis=0)  # rows last: they are copied whole

        if self.alternatives is not None and len(self.alternatives) <= _TABLE:  # all by tables: far quicker
            out = taken(self.joint * self._relations + self.own * np.eye(len(self.alternatives)), 0)
            out *= taken(self.nearness)
            levels = taken(self.offset * self._relations, 0)
            out += levels if self.level is None else levels * taken(self.level)
            out += taken(self.trend)
        else:
            levels = self.offset if self.level is None else self.offset * self.level
            out = taken(levels + self.joint * self.nearness)
            out *= self.relation(one[0], 0, other[0])
            out += taken(self.trend)
            i, j = np.nonzero(one[0][:, None] == other[0])
            out[i, j] += self.own * self.nearness[one[1][i], other[1][j]]
        if self.noise_like is not None:
            i, j = np.nonzero(one[1][:, None] == other[1])
            out[i, j] += self.noise_like[one][i] * self.noise_like[other][j]
        return out

    def difference_var(self, reference: IntArray, n_alternatives: int) -> Array:
        """Return the prior Var(f_b(c) − f_k(c)), [..., alternative, context]; the trend takes no part."""
        related = np.swapaxes(self.relation(reference, n_alternatives), -1, -2)
        unrelated = 1.0 - related
        same = reference[..., None, :] == np.arange(n_alternatives)[:, None]
        shared, own = (self.offset + self.joint)[..., None, None], self.own[..., None, None]
        total = 2.0 * (shared * unrelated + own * ~same)
        if self.noise_like is not None:
            of_best = np.take_along_axis(self.noise_like, reference[..., None, :], axis=-2)
            total = total + (of_best - self.noise_like) ** 2
        return np.asarray(total)
