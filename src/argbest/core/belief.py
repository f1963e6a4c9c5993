"""Beliefs: what is known of every mean reward, the only thing policies and certificates may see."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np

from argbest.core import certainty
from argbest.core.arrays import AnyArray, Array, IntArray
from argbest.core.blocks import Blocks, square_root, taken_from, weight_of
from argbest.core.decision import Decision, at, cell, leading, of_each_context
from argbest.core.replications import NextSamples


class Belief(certainty.Certainty, Protocol):
    """A joint normal distribution of all mean rewards; larger is better; one unit throughout.

    Implementations are frozen dataclasses with the field ``mean``; they differ in whether alternatives are
    correlated. Arrays are [..., alternative, context].
    """

    @property
    def mean(self) -> Array:
        """Posterior mean of the reward."""

    @property
    def var(self) -> Array:
        """Posterior variance of the mean reward, without observation noise."""

    @property
    def noise(self) -> Array:
        """Variance of one observation."""

    @property
    def own_cov(self) -> Array | None:
        """Cov(f_k(c), f_k(c')), [..., alternative, context, context'], or None if alternatives covary.

        Where contexts are independent too the last axis has length 1: a cell is related to itself alone.
        """

    def cov_with(self, decision: Decision) -> Array:
        """Return the covariance of every cell with the decided one: what a sample there teaches."""

    def cov_rows(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context]."""

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_reference(c)(c) − f_k(c)) for all k and c; ``reference`` is [..., context]."""

    def update(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> "Belief":
        """Return the belief after n more replications of the decided cell with mean ``value``."""


@runtime_checkable
class Focused(Protocol):
    """A belief about very many alternatives that follows a few of them exactly."""

    @property
    def foremost(self) -> IntArray:
        """The alternatives that are followed, in order."""

    @property
    def inner(self) -> Belief:
        """The belief about these alone, numbered among themselves."""

    def including(self, alternatives: IntArray) -> Belief:
        """Return the belief with these alternatives among those that are followed."""


def best(belief: Belief) -> IntArray:
    """Return the alternative with the largest mean per context, lowest index on ties, [..., context]."""
    index: IntArray = belief.mean.argmax(axis=-2)
    return index


def of_selected(values: Array, selected: IntArray) -> Array:
    """Return the selected alternative's entry per context, [..., context]."""
    return values[of_each_context(selected)]


def gaps(belief: Belief, selected: IntArray) -> Array:
    """Return how far each alternative's mean lies below the selected one's, [..., alternative, context]."""
    return of_selected(belief.mean, selected)[..., None, :] - belief.mean


def anticipate(belief: Belief, decision: Decision, n: AnyArray | int = 1) -> Belief:
    """Return the belief as if n replications had come out as expected: variances shrink, means stay."""
    if (shared := getattr(belief, "anticipated", None)) is not None:
        later: Belief = shared(decision, n)
        return later
    return belief.update(decision, at(belief.mean, decision), n)


def expecting(belief: Belief, pending: IntArray) -> Belief:
    """Return the belief as if the trials under way [..., alternative, context] had come out as expected."""
    lead, at_once = pending.shape[:-2], getattr(belief, "expecting", None)
    if at_once is not None and (not lead or isinstance(belief, BlockBelief)):
        with suppress(np.linalg.LinAlgError):  # some cell is known exactly
            later: Belief = at_once(pending)
            return later
    for k, c in np.argwhere(pending.any(axis=tuple(range(len(lead))))):
        belief = anticipate(belief, Decision(np.full(lead, k), np.full(lead, c)), pending[..., k, c])
    return belief


def take_in(
    belief: Belief, decision: Decision, value: AnyArray, number: AnyArray, *, mine: bool = False
) -> Belief:
    """Return the belief after one replication, whose number matters where alternatives share noise.

    What is ``mine`` nobody else holds: it may be written to, and is lost then.
    """
    if mine and isinstance(belief, BlockBelief) and belief.mean.ndim > 2:
        return belief.absorb(decision, value)
    if getattr(belief, "shocks", None) is None:
        return belief.update(decision, value)
    later: Belief = belief.update_common(decision, number, value)  # type: ignore[attr-defined]
    return later


def next_samples(belief: Belief) -> NextSamples | None:
    """Return what a sample of every cell observes where alternatives share noise; None: the cell itself."""
    found: NextSamples | None = getattr(belief, "next_samples", None)
    return found


class OneCellAtATime:
    """Covariances of many cells for beliefs that know no quicker way."""

    def cov_rows(self: Belief, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context]."""
        cells = (Decision(alternative[..., i], context[..., i]) for i in range(alternative.shape[-1]))
        return np.stack([self.cov_with(one) for one in cells], axis=-3)


class _IndependentAlternatives(OneCellAtATime):
    """What follows from means and variances alone when alternatives are independent."""

    shocks: ClassVar[None] = None  # no noise is shared

    def difference_var(self: Belief, reference: IntArray) -> Array:
        """Return V_reference + V_k, and 0 for the reference itself."""
        total = self.var + of_selected(self.var, reference)[..., None, :]
        total[of_each_context(reference)] = 0.0
        return total

    def best_probability(self: Belief) -> Array:
        """Return P(each is best) by quadrature."""
        return certainty.best_probability(self.mean, np.sqrt(self.var))

    def good_probability(self: Belief, selected: IntArray, delta: float = 0.0) -> Array:
        """Return P(selected is within delta of the best) by quadrature."""
        return certainty.good_probability(self.mean, np.sqrt(self.var), selected, delta)

    def expected_loss(self: Belief, selected: IntArray) -> Array:
        """Return the expected opportunity cost by quadrature."""
        return certainty.expected_loss(self.mean, np.sqrt(self.var), selected)

    def lower_bound(self: Belief, selected: IntArray, delta: float = 0.0) -> Array:
        """Return Slepian's bound: with independent alternatives the differences are positively correlated."""
        tau = np.sqrt(self.difference_var(selected))
        return certainty.slepian_bound(gaps(self, selected) + delta, tau, selected)


@dataclass(frozen=True)
class BlockBelief(_IndependentAlternatives):
    """Independent alternatives, each with its own covariance over the contexts.

    A belief of one study that follows from another by updates keeps what these changed beside what they left
    alone. Nothing that anybody holds is ever written to; ``cov`` is put together when it is asked for.
    """

    mean: Array  # [..., alternative, context]
    cov: Array  # [..., alternative, context, context]
    noise: Array  # [..., alternative, context]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Array:
            if name != "cov" or "_blocks" not in self.__dict__:
                raise AttributeError(f"a BlockBelief has no {name!r}.")
            self.__dict__["cov"] = self._blocks.together().reshape(*self.mean.shape, -1)
            return self.__dict__["cov"]

    @cached_property
    def var(self) -> Array:
        """Posterior variance, the diagonal of every block."""
        diagonal: Array = np.einsum("...cc->...c", self.cov)
        return np.maximum(diagonal, 0.0)

    @property
    def own_cov(self) -> Array:
        """The blocks themselves."""
        return self.cov

    def cov_with(self, decision: Decision) -> Array:
        """Return the decided column of its block, and 0 for all other alternatives."""
        column = np.zeros_like(self.mean)
        column[self._block(decision)] = self._column(decision)
        return column

    def update(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> "BlockBelief":
        """Return the rank-one update v(y − μ_c)/s, vvᵀ/s with v = S[:, c], s = S_cc + σ²/n; O(C²)."""
        if self.mean.ndim > 2:
            return self.absorb(decision, value, n, copy=True)
        k, c = int(decision.alternative), int(decision.context)
        blocks, mean, var = self._divided, self.mean.copy(), self.var.copy()
        own, row = blocks.of(k), mean[k]
        column, number = own[c], float(n)
        total = number * float(var[k, c]) + float(self.noise[k, c])
        weight = number / total if total > 0 else 0.0  # as `weight_of`, in numbers of Python
        row += column * ((float(value) - float(row[c])) * weight)
        own = own - (column * weight)[:, None] * column  # in this order no overflow
        np.maximum(own.diagonal(), 0.0, out=var[k])
        return self._with(mean, var, blocks.with_({k: (own, ())}))

    def absorb(
        self, decision: Decision, value: AnyArray, n: AnyArray | int = 1, *, copy: bool = False
    ) -> "BlockBelief":
        """Return what `update` does, written to a copy, or to its own arrays, which are lost then."""
        mean, cov = (self.mean.copy(), self.cov.copy()) if copy else (self.mean, self.cov)
        index, column = self._block(decision), self._column(decision)
        weight = weight_of(np.asarray(n, float), at(self.var, decision), at(self.noise, decision))[..., None]
        surprise = (np.asarray(value, float) - at(self.mean, decision))[..., None]
        mean[index] += column * (surprise * weight)
        cov[index] -= (column * weight)[..., :, None] * column[..., None, :]
        return BlockBelief(mean, cov, self.noise)

    def anticipated(self, decision: Decision, n: AnyArray | int = 1) -> "BlockBelief":
        """Return the belief as if n more replications had come out as expected."""
        pending = np.zeros(self.mean.shape, np.int64)
        pending[cell(decision, pending.shape)] = n
        return self.expecting(pending)

    def expecting(self, pending: IntArray) -> "BlockBelief":
        """Return the belief as if the trials under way [..., alternative, context] had come out as expected.

        As `update` cell by cell, but only the rows of those cells are worked out.
        """
        under_way = pending.reshape(-1, pending.shape[-1])
        noise, var = (each.reshape(under_way.shape) for each in (self.noise, self.var.copy()))
        touched, turn = np.unique(np.nonzero(under_way)[0], return_counts=True)
        if not len(touched):
            return self
        contexts = np.full((len(touched), turn.max()), -1)
        contexts[np.arange(turn.max()) < turn[:, None]] = np.nonzero(under_way)[1]
        order = np.argsort(-turn, kind="stable")
        touched, turn, contexts = touched[order], turn[order], contexts[order]
        owns, at = [self._divided.of(k) for k in touched.tolist()], (touched[:, None], contexts)
        taken, diagonal = taken_from(owns, var[touched], contexts, turn, under_way[at], noise[at])
        var[touched] = np.maximum(diagonal, 0.0)
        blocks = self._divided.less(dict(zip(touched.tolist(), taken, strict=True)))
        return self._with(self.mean, var.reshape(self.mean.shape), blocks)

    def draw(self, normals: Array, root: Callable[[Array], Array] = square_root) -> Array:
        """Return μ + √S z for every alternative; of many studies by the right ``root`` of their blocks."""
        if self.mean.ndim > 2 and "_blocks" not in self.__dict__:
            return self.mean + np.moveaxis(np.moveaxis(normals, 0, -2) @ root(self.cov), -2, 0)
        flat = normals.reshape(len(normals), -1, normals.shape[-1])
        return self.mean + self._divided.deviations(flat).reshape(normals.shape)

    def blocks(self, rows: IntArray) -> Array:
        """Return the blocks of some alternatives, those of all studies in a row, [row, context, context]."""
        if "cov" not in self.__dict__:
            return np.stack([self._divided.of(k) for k in rows.tolist()])
        return np.asarray(self.cov.reshape(-1, *self.cov.shape[-2:])[rows])

    def replaced(self, alternatives: IntArray, fresh: "BlockBelief") -> "BlockBelief":
        """Return this belief of one study with those of the listed alternatives in the place of its own."""
        mean, var, noise = self.mean.copy(), self.var.copy(), self.noise.copy()
        mean[alternatives], var[alternatives], noise[alternatives] = fresh.mean, fresh.var, fresh.noise
        own = ((block, ()) for block in fresh.cov)
        blocks = self._divided.with_(dict(zip(alternatives.tolist(), own, strict=True)))
        return self._with(mean, var, blocks, noise)

    def _with(self, mean: Array, var: Array, blocks: Blocks, noise: Array | None = None) -> "BlockBelief":
        """Return the belief with these blocks, ``var`` being their diagonals."""
        later = object.__new__(BlockBelief)
        noise = self.noise if noise is None else noise
        later.__dict__.update(mean=mean, noise=noise, var=var, _blocks=blocks)
        return later

    @property
    def _divided(self) -> Blocks:
        """The covariances block by block, those of all studies in a row."""
        if "_blocks" not in self.__dict__:
            self.__dict__["_blocks"] = Blocks(self.cov.reshape(-1, *self.cov.shape[-2:]), {}, {})
        return self.__dict__["_blocks"]  # type: ignore[no-any-return]

    def _block(self, decision: Decision) -> tuple[IntArray, ...]:
        """Return the index of the decided alternative, one per leading index."""
        return (*leading(self.mean.shape[:-2]), decision.alternative)

    def _column(self, decision: Decision) -> Array:
        """Return the covariance of the decided alternative's cells with the decided one, [..., context]."""
        # The blocks are symmetric: a row does for a column, and needs no slice between the indices.
        if self.mean.ndim == 2 and np.ndim(decision.alternative) == 0:
            return self._divided.of(int(decision.alternative))[decision.context]
        return np.asarray(self.cov[(*self._block(decision), decision.context)])


@dataclass(frozen=True)
class CellBelief(_IndependentAlternatives):
    """Independent cells: what is learned in one says nothing about any other."""

    mean: Array  # [..., alternative, context]
    var: Array  # [..., alternative, context]
    noise: Array  # [..., alternative, context]

    @property
    def own_cov(self) -> Array:
        """The variances, with a last axis of length 1."""
        return self.var[..., None]

    def cov_with(self, decision: Decision) -> Array:
        """Return the variance of the decided cell there, and 0 everywhere else."""
        covariance = np.zeros_like(self.mean)
        where = cell(decision, self.mean.shape)
        covariance[where] = self.var[where]
        return covariance

    def update(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> "CellBelief":
        """Return the precision-weighted mean and variance of the decided cell, all else unchanged."""
        where = cell(decision, self.mean.shape)
        weight = weight_of(np.asarray(n, float), self.var[where], self.noise[where])
        mean, var = self.mean.copy(), self.var.copy()
        mean[where] += self.var[where] * weight * (np.asarray(value, float) - self.mean[where])
        var[where] -= self.var[where] * weight * self.var[where]
        return CellBelief(mean, np.maximum(var, 0.0), self.noise)

    def draw(self, normals: Array) -> Array:
        """Return μ + √V z for every cell."""
        return self.mean + np.sqrt(self.var) * normals
