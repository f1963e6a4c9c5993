"""Beliefs: what is known of every mean reward, the only thing policies and certificates may see."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeGuard, TypeVar, cast

import numpy as np

from argbest.core import certainty
from argbest.core.abilities import offers
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.blocks import Blocks, KnownRoots, right_roots, square_root, taken_from, weight_of
from argbest.core.decision import Decision, at, cell, leading, of_each_context
from argbest.core.replications import NextReplications, Shocks


class Belief(certainty.Certainty, Protocol):
    """A joint normal distribution of all mean rewards; larger is better; one unit throughout.

    Implementations are frozen dataclasses with the field ``mean``; they differ in whether alternatives are
    correlated. Arrays are [..., alternative, context]. What a belief may offer besides: `ABILITIES`.
    """

    @property
    def mean(self) -> Array:
        """Posterior mean of the reward."""

    @property
    def var(self) -> Array:
        """Posterior variance of the mean reward, without the noise of replications."""

    @property
    def noise(self) -> Array:
        """Variance of one replication."""

    @property
    def own_cov(self) -> Array | None:
        """Cov(f_k(c), f_k(c')), [..., alternative, context, context'], or None if alternatives covary.

        Where contexts are independent too the last axis has length 1: a cell is related to itself alone.
        """

    def cov_with(self, decision: Decision) -> Array:
        """Return the covariance of every cell with the decided one: what a replication there teaches.

        Args:
            decision: The pair, as positions [...].
        """

    def cov_rows(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context].

        Args:
            alternative: Positions of alternatives, [..., m].
            context: Positions of contexts, [..., m].
        """

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_reference(c)(c) − f_k(c)) for all k and c; ``reference`` is [..., context].

        Args:
            reference: The alternative of every context to compare with, [..., context].
        """

    def update(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> "Belief":
        """Return the belief after n more replications of the decided cell with mean ``value``.

        Args:
            decision: The pair, as positions [...].
            value: The mean of the new replications.
            n: How many they are.
        """


class Focused(Belief, Protocol):
    """A belief about very many alternatives that keeps a few of them exactly."""

    @property
    def foremost(self) -> IntArray:
        """The alternatives that are kept exactly, in order."""

    @property
    def inner(self) -> Belief:
        """The belief about these alone, numbered among themselves."""

    def including(self, alternatives: IntArray) -> Belief:
        """Return the belief with these alternatives among those that are kept exactly."""


class Anticipates(Belief, Protocol):
    """A belief that knows quickly, without updates, what it would be had trials come out as expected."""

    def anticipated(self, decision: Decision, n: AnyArray | int = 1) -> Belief:
        """Return the belief as if n more replications had come out as expected."""

    def expecting(self, pending: IntArray) -> Belief:
        """Return the belief as if the trials under way [..., alternative, context] had, all at once."""


class SharesNoise(Belief, Protocol):
    """A belief that takes into account that replications of equal number may share noise."""

    @property
    def shocks(self) -> Shocks | None:
        """What later replications share with those told; None where they share nothing."""

    @property
    def next_replications(self) -> NextReplications | None:
        """What the next replication of every cell observes; None: the cell itself."""

    def update_common(
        self, decision: Decision, number: AnyArray, value: AnyArray | None, told: AnyArray | bool = True
    ) -> Belief:
        """Return the belief after this replication of the decided cell, whose noise others may have shown."""


class Absorbs(Belief, Protocol):
    """A belief whose arrays may be written to by who owns them: quicker for many studies at once."""

    def absorb(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> Belief:
        """Return what `update` does, written to its own arrays, which are lost then."""


class RelatesSums(Belief, Protocol):
    """A belief that relates weighted sums of cells to all cells at once."""

    def cov_of_sums(self, alternative: IntArray, context: IntArray, weight: Array) -> Array:
        """Return the covariances of Σ_j weight_j f_j(c) with all, [..., m, alternative, context].

        ``alternative`` and ``weight`` are [..., m, j]. So is ``context`` where a sum goes across contexts;
        where each lies in a single one it is [..., m].
        """


class RelatesAlternatives(Belief, Protocol):
    """A belief that relates all alternatives of every context to each other."""

    def within_contexts(self) -> Array:
        """Return Cov(f_k(c), f_j(c)), [..., context, alternative, alternative′]."""


class HasBlocks(Belief, Protocol):
    """A belief about independent alternatives that has a block of covariances for each."""

    def blocks(self, rows: IntArray) -> Array:
        """Return the blocks of some alternatives, those of all studies in a row, [row, context, context]."""

    def replaced(self, alternatives: IntArray, fresh: Any) -> Belief:
        """Return this belief of one study with those of the listed alternatives in the place of its own."""


class IndependentCells(Belief, Protocol):
    """A belief under which no pair gives information about another."""

    independent_cells: ClassVar[bool]


class Shifts(Belief, Protocol):
    """A belief with its own way to change its means; other beliefs are dataclasses with a field ``mean``."""

    def with_mean(self, mean: Array) -> Belief:
        """Return the belief with other means [..., alternative, context]."""


class CountsOnPoints(Belief, Protocol):
    """A belief whose probabilities are averages over points, more of them or fewer."""

    def with_draws(self, n_draws: int) -> Belief:
        """Return the belief that uses so many points, a power of 2, for each study."""


class DrawsQuickly(Belief, Protocol):
    """A belief with a quicker way to draw, for draws that no decision depends on to the last digit."""

    def quick_draw(self, normals: Array) -> Array:
        """Return joint draws of all rewards, as `draw` but for rounding."""


class DrawsWholeTables(Belief, Protocol):
    """A belief that can draw the rewards of all cells jointly, however many there are.

    In `draw` of a large table, cells that cannot be the best of their context stay at their means. Questions
    across contexts need draws of all cells.
    """

    def draw_tables(self, n: int, numbers: Callable[[], np.random.Generator]) -> Array:
        """Return n joint draws of all rewards, [draw, ..., alternative, context].

        ``numbers`` returns the random numbers of one study: it is called once for each of them.
        """


class Approximates(Belief, Protocol):
    """A belief that leaves something out for speed."""

    @property
    def left_out_share(self) -> float:
        """The share of what alternatives have in common that was taken for their own."""


class SeveralOutcomes(Belief, Protocol):
    """Beliefs about the goal and about how far every limit is kept, from the same replications.

    As one belief it is that about the goal; `draw` gives tables [s, ..., outcome, alternative, context], the
    goal first. What is learned are sums of responses, from which these follow; `update` takes values
    [..., sum].
    """

    @property
    def sums(self) -> tuple[Belief, ...]:
        """The beliefs about the sums of responses that are learned."""

    @property
    def goal(self) -> Belief:
        """The belief about the goal, larger being better."""

    @property
    def slacks(self) -> tuple[Belief, ...]:
        """The beliefs about how far each limit is kept: 0 or more keeps it."""

    @property
    def layers(self) -> int:
        """How many tables of normals [alternative, context] one joint draw takes."""

    def each(self, change: Callable[[int, Belief], Belief]) -> Belief:
        """Return these with the belief about every sum changed; ``change`` gets its place and the belief."""

    def sharing(self, noise: Any) -> Belief:
        """Return these with what the noise of one replication has in common, for joint draws."""

    def without(self, ruled_out: BoolArray) -> Belief:
        """Return these with the pairs ``ruled_out`` [..., alternative, context] surely breaking a limit."""


ABILITIES = (
    Focused,
    Anticipates,
    SharesNoise,
    Absorbs,
    RelatesSums,
    RelatesAlternatives,
    HasBlocks,
    IndependentCells,
    Shifts,
    CountsOnPoints,
    DrawsQuickly,
    DrawsWholeTables,
    Approximates,
    SeveralOutcomes,
)


_Belief = TypeVar("_Belief", bound=Belief)


def with_mean(belief: _Belief, mean: Array) -> _Belief:
    """Return the belief with other means [..., alternative, context], its covariances unchanged."""
    if offers(belief, Shifts):
        return cast(_Belief, belief.with_mean(mean))
    return cast(_Belief, replace(cast(Any, belief), mean=mean))


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
    if offers(belief, SeveralOutcomes):
        return belief.each(lambda _, one: anticipate(one, decision, n))
    if offers(belief, Anticipates):
        return belief.anticipated(decision, n)
    return belief.update(decision, at(belief.mean, decision), n)


def expecting(belief: Belief, pending: IntArray) -> Belief:
    """Return the belief as if the trials under way [..., alternative, context] had come out as expected."""
    if offers(belief, SeveralOutcomes):
        return belief.each(lambda _, one: expecting(one, pending))
    if offers(belief, Anticipates):
        with suppress(np.linalg.LinAlgError):  # some cell is known exactly
            return belief.expecting(pending)
    return cell_by_cell(belief, pending)


def cell_by_cell(belief: Belief, pending: IntArray) -> Belief:
    """Return what `expecting` does, one cell after the other."""
    lead = pending.shape[:-2]
    for k, c in np.argwhere(pending.any(axis=tuple(range(len(lead))))):
        belief = anticipate(belief, Decision(np.full(lead, k), np.full(lead, c)), pending[..., k, c])
    return belief


def take_in(
    belief: Belief, decision: Decision, value: AnyArray, number: AnyArray, *, in_place: bool = False
) -> Belief:
    """Return the belief after one replication, whose number matters where alternatives share noise.

    Of several outcomes ``value`` is [..., sum]. With ``in_place`` the arrays of the belief may be
    written to: nobody else may hold it, and it is lost.
    """
    if offers(belief, SeveralOutcomes):
        each = np.asarray(value, float)
        return belief.each(lambda i, one: take_in(one, decision, each[..., i], number, in_place=in_place))
    if in_place and belief.mean.ndim > 2 and offers(belief, Absorbs):
        return belief.absorb(decision, value)
    if not shares_noise(belief):
        return belief.update(decision, value)
    return belief.update_common(decision, number, value)


def shares_noise(belief: Belief) -> TypeGuard[SharesNoise]:
    """Return whether replications of equal number share noise under this belief."""
    return offers(belief, SharesNoise) and belief.shocks is not None


def shocks_of(belief: Belief) -> Shocks | None:
    """Return what later replications share with those told; None where they share nothing."""
    return belief.shocks if offers(belief, SharesNoise) else None


def next_replications(belief: Belief) -> NextReplications | None:
    """Return what the next replication of every cell observes; None: the cell itself, no noise is shared."""
    return belief.next_replications if offers(belief, SharesNoise) else None


def quick_draw(belief: Belief, normals: Array) -> Array:
    """Return joint draws of all rewards from normals of their shape, by the quickest root that there is."""
    return belief.quick_draw(normals) if offers(belief, DrawsQuickly) else belief.draw(normals)


def left_out_share(belief: Belief) -> float:
    """Return the share of what alternatives have in common that was taken for their own, for speed."""
    return belief.left_out_share if offers(belief, Approximates) else 0.0


def independent_cells(belief: Belief) -> bool:
    """Return whether no pair gives information about another."""
    return offers(belief, IndependentCells) and belief.independent_cells


class OneCellAtATime:
    """Covariances of many cells, one after the other, for beliefs without a quicker way."""

    def cov_rows(self: Belief, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context]."""
        cells = (Decision(alternative[..., i], context[..., i]) for i in range(alternative.shape[-1]))
        return np.stack([self.cov_with(one) for one in cells], axis=-3)


class _IndependentAlternatives(OneCellAtATime):
    """What follows from means and variances alone when alternatives are independent."""

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


class ByBlocks(_IndependentAlternatives):
    """What follows from a covariance over the contexts for every alternative.

    Arrays are never written to, except by `absorb`.
    """

    mean: Array  # [..., alternative, context]
    noise: Array  # [..., alternative, context]
    var: Array  # [..., alternative, context]
    cov: Array  # [..., alternative, context, context]

    @property
    def _divided(self) -> Blocks:
        """The covariances block by block, those of all studies in a row."""
        raise NotImplementedError

    @property
    def own_cov(self) -> Array:
        """The blocks themselves."""
        return self.cov

    def cov_with(self, decision: Decision) -> Array:
        """Return the decided column of its block, and 0 for all other alternatives."""
        column = np.zeros_like(self.mean)
        column[self._block(decision)] = self._column(decision)
        return column

    def update(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> "ByBlocks":
        """Return the rank-one update v(y − μ_c)/s, vvᵀ/s with v = S[:, c], s = S_cc + σ²/n; O(C²)."""
        if self.mean.ndim > 2:
            return BlockBelief(self.mean.copy(), self.cov.copy(), self.noise).absorb(decision, value, n)
        k, c = int(decision.alternative), int(decision.context)
        blocks, mean, var = self._divided, self.mean.copy(), self.var.copy()
        own, row = blocks.of(k), mean[k]
        column, number = own[c], float(n)
        total = number * float(var[k, c]) + float(self.noise[k, c])
        weight = number / total if total > 0 else 0.0  # as `weight_of`, in numbers of Python
        row += column * ((float(value) - float(row[c])) * weight)
        own = own - (column * weight)[:, None] * column  # in this order no overflow
        np.maximum(own.diagonal(), 0.0, out=var[k])
        return UpdatedBlockBelief(mean, var, self.noise, blocks.with_changed({k: (own, ())}))

    def absorb(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> "BlockBelief":
        """Return what `update` does, written to its own arrays, which are lost then."""
        mean, cov = self.mean, self.cov
        index, column = self._block(decision), self._column(decision)
        weight = weight_of(np.asarray(n, float), at(self.var, decision), at(self.noise, decision))[..., None]
        surprise = (np.asarray(value, float) - at(self.mean, decision))[..., None]
        mean[index] += column * (surprise * weight)
        cov[index] -= (column * weight)[..., :, None] * column[..., None, :]
        return BlockBelief(mean, cov, self.noise)

    def anticipated(self, decision: Decision, n: AnyArray | int = 1) -> "ByBlocks":
        """Return the belief as if n more replications had come out as expected."""
        pending = np.zeros(self.mean.shape, np.int64)
        pending[cell(decision, pending.shape)] = n
        return self.expecting(pending)

    def expecting(self, pending: IntArray) -> "ByBlocks":
        """Return the belief as if the trials under way [..., alternative, context] had come out as expected.

        As `update` cell by cell, but only the rows of those cells are computed.
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
        return UpdatedBlockBelief(self.mean, var.reshape(self.mean.shape), self.noise, blocks)

    def draw(self, normals: Array) -> Array:
        """Return μ + √S z for every alternative, by the symmetric roots of the blocks."""
        flat = normals.reshape(len(normals), -1, normals.shape[-1])
        return self.mean + self._divided.deviations(flat).reshape(normals.shape)

    def replaced(self, alternatives: IntArray, fresh: "BlockBelief") -> "UpdatedBlockBelief":
        """Return this belief of one study with those of the listed alternatives in the place of its own."""
        mean, var, noise = self.mean.copy(), self.var.copy(), self.noise.copy()
        mean[alternatives], var[alternatives], noise[alternatives] = fresh.mean, fresh.var, fresh.noise
        own = ((block, ()) for block in fresh.cov)
        blocks = self._divided.with_changed(dict(zip(alternatives.tolist(), own, strict=True)))
        return UpdatedBlockBelief(mean, var, noise, blocks)

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
class BlockBelief(ByBlocks):
    """Independent alternatives, each with its own covariance over the contexts."""

    mean: Array  # [..., alternative, context]
    cov: Array  # [..., alternative, context, context]
    noise: Array  # [..., alternative, context]

    @cached_property
    def var(self) -> Array:  # type: ignore[override]
        """Posterior variance, the diagonal of every block."""
        diagonal: Array = np.einsum("...cc->...c", self.cov)
        return np.maximum(diagonal, 0.0)

    @cached_property
    def _divided(self) -> Blocks:
        return Blocks(self.cov.reshape(-1, *self.cov.shape[-2:]), {}, KnownRoots())

    def draw(self, normals: Array) -> Array:
        """Return μ + √S z for every alternative, by the symmetric roots of the blocks."""
        return self._draw(normals, square_root) if self.mean.ndim > 2 else super().draw(normals)

    def quick_draw(self, normals: Array) -> Array:
        """Return joint draws of all rewards, as `draw` but for rounding."""
        return self._draw(normals, right_roots) if self.mean.ndim > 2 else super().draw(normals)

    def _draw(self, normals: Array, root: Callable[[Array], Array]) -> Array:
        return self.mean + np.moveaxis(np.moveaxis(normals, 0, -2) @ root(self.cov), -2, 0)

    def blocks(self, rows: IntArray) -> Array:
        """Return the blocks of some alternatives, those of all studies in a row, [row, context, context]."""
        return np.asarray(self.cov.reshape(-1, *self.cov.shape[-2:])[rows])


@dataclass(frozen=True)
class UpdatedBlockBelief(ByBlocks):
    """What follows from a `BlockBelief` by updates: the changed blocks, and the table of all others.

    The table of all covariances is made when it is needed.
    """

    mean: Array  # [..., alternative, context]
    var: Array  # [..., alternative, context]: the diagonals of the blocks
    noise: Array  # [..., alternative, context]
    parts: Blocks  # of all studies in a row

    @property
    def _divided(self) -> Blocks:
        return self.parts

    @cached_property
    def cov(self) -> Array:  # type: ignore[override]
        """The covariances of every alternative, [..., alternative, context, context]."""
        return self.parts.together().reshape(*self.mean.shape, -1)

    def blocks(self, rows: IntArray) -> Array:
        """Return the blocks of some alternatives, those of all studies in a row, [row, context, context]."""
        return np.stack([self.parts.of(k) for k in rows.tolist()])


@dataclass(frozen=True)
class CellBelief(_IndependentAlternatives):
    """Independent cells: what is learned in one says nothing about any other."""

    independent_cells: ClassVar[bool] = True

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
