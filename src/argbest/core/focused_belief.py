"""The additive GP on very large tables: exact for the foremost alternatives, the others summarised.

Of the others the mean is exact, and the variance is an upper bound, from some of the observed cells. Both are
as of the last conditioning. No row of covariances is ever made for all cells.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray, ndtr
from argbest.core.belief import Focused, of_selected
from argbest.core.blocks import drawing_root
from argbest.core.correlated import SOBOL_POINTS, CorrelatedAlternatives, ratio_of
from argbest.core.decision import Decision
from argbest.core.foundations import ROOM, ByFormula, Stack
from argbest.core.landmarks import n_followed
from argbest.core.replications import Replications, Shocks
from argbest.core.seen_cells import ObservedCells, mean_of, variance_of
from argbest.core.square_root_form import SquareRootForm

_MEMORY = 2**27  # numbers in the rows of all foremost alternatives, 1 GB


@dataclass(frozen=True, eq=False)
class Summary:
    """What is known of all cells [alternative, context]: exact means, upper bounds of variances."""

    mean: Array
    var: Array
    noise: Array
    foremost: IntArray  # the alternatives that are kept exactly, in order
    drawn_cells: BoolArray | None = None  # of joint draws, [alternative, context], if they are prescribed

    @property
    def prescribed(self) -> bool:
        """Whether it is told which alternatives to keep: with limits several beliefs keep the same ones."""
        return self.drawn_cells is not None

    @cached_property
    def others(self) -> BoolArray:
        """Whether an alternative is not among the foremost, [alternative]."""
        others = np.ones(len(self.mean), bool)
        others[self.foremost] = False
        return others

    @cached_property
    def best_of_others(self) -> Array:
        """The largest mean among these, [context]."""
        return np.asarray(self.mean.max(axis=0, where=self.others[:, None], initial=-np.inf))

    @lru_cache(maxsize=8)  # noqa: B019
    def above(self, selected: tuple[int, ...], delta: float) -> Array:
        """Return an upper bound of Σ P(each other is more than delta above the selected one), [context]."""
        leader = np.array(selected)
        gap = of_selected(self.mean, leader) - self.mean[self.others]
        spread = np.sqrt(of_selected(self.var, leader)) + np.sqrt(self.var[self.others])
        return np.asarray(ndtr(-ratio_of(gap + delta, spread)).sum(axis=0))


@dataclass(frozen=True, eq=False)
class FocusedBelief(CorrelatedAlternatives):
    """A belief about the foremost alternatives, and a summary of all others.

    The alternative with the largest mean of every context is always among the foremost. Probabilities and
    losses are those of joint draws of the foremost: the others are less likely to be the best, and closely
    related to these, so that they hardly raise the largest reward. Bounds count them, too.
    """

    inner: AdditiveBelief  # [..., foremost, context]
    summary: Summary
    prior: AdditivePrior
    seen: ObservedCells | None  # None for several studies
    n_draws: int = SOBOL_POINTS
    shocks: Shocks | None = None  # of noise that alternatives share; None where they share none

    @cached_property
    def mean(self) -> Array:  # type: ignore[override]
        """Posterior mean of the reward."""
        return self._with_foremost(self.summary.mean, self.inner.mean)

    @cached_property
    def var(self) -> Array:
        """Posterior variance, or an upper bound of it."""
        return self._with_foremost(self.summary.var, self.inner.var)

    @property
    def noise(self) -> Array:
        """Variance of one replication."""
        return self._with_foremost(self.summary.noise, self.inner.noise)

    @property
    def foremost(self) -> IntArray:
        """The alternatives that are kept exactly, in order."""
        return self.summary.foremost

    def with_mean(self, mean: Array) -> "FocusedBelief":
        """Return the belief with other means [..., alternative, context]."""
        whole = self if self.summary.prescribed else self.including(np.argmax(mean, axis=-2))
        own = whole.inner.with_mean(mean[..., whole.foremost, :])
        table = mean.reshape(-1, *mean.shape[-2:])[0]
        return replace(whole, inner=own, summary=replace(whole.summary, mean=table))

    def including(self, alternatives: IntArray) -> "FocusedBelief":
        """Return the belief with these alternatives among the foremost."""
        if self._place(alternatives)[1].all():
            return self
        if self.seen is None:
            raise ValueError("an alternative is selected that is not among the foremost of these beliefs.")
        also = np.unique(alternatives)
        if self.summary.prescribed:
            return self.following(np.union1d(self.foremost, also), self.summary.drawn_cells)
        return focused(self.prior, self.seen, self.summary.noise, also)

    @property
    def follows_its_own(self) -> bool:
        """Whether it says by itself which alternatives it follows."""
        return not self.summary.prescribed

    def following(self, alternatives: IntArray | None, drawn_cells: BoolArray | None) -> "FocusedBelief":
        """Return the belief that keeps these alternatives exactly and draws these cells of theirs.

        None and None: the alternatives that are foremost by its own means.
        """
        if self.seen is None:
            raise ValueError("only the belief of one study can follow other alternatives.")
        given = None if alternatives is None or drawn_cells is None else (alternatives, drawn_cells)
        return focused(self.prior, self.seen, self.summary.noise, given=given)

    def cov_with(self, decision: Decision) -> Array:
        """Return the covariance of every cell with the decided one; 0 for those not among the foremost."""
        return self.cov_rows(decision.alternative[..., None], decision.context[..., None])[..., 0, :, :]

    def cov_rows(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of listed cells [..., m] with all, 0 for those not among the foremost."""
        whole = self.including(alternative)
        rows = whole.inner.cov_rows(whole._place(alternative)[0], context)
        return whole._with_foremost(np.zeros(whole.summary.mean.shape), rows)

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c) − f_k(c)): exact among the foremost, V_b + V_k with the rest."""
        whole = self.including(reference)
        total = whole.var + of_selected(whole.var, reference)[..., None, :]
        total[..., whole.foremost, :] = whole.inner.difference_var(whole._place(reference)[0])
        return total

    def update(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> "FocusedBelief":
        """Return the belief after n more replications of the decided cell.

        If its alternative is not among the foremost, or another one comes to lead, the foremost are chosen
        anew.
        """
        if self.seen is None:
            raise ValueError("only the belief of one study is updated where tables are this large.")
        k, c, number = int(decision.alternative), int(decision.context), float(n)
        if number == 0.0:
            return self
        later = self.seen.add(k, c, float(value), self.summary.noise[k, c] / number, number)
        place, known = self._place(decision.alternative)
        inner = self.inner.update(Decision(place, decision.context), value, n) if known else None
        return self._later(inner, later, self.shocks, k)

    @property
    def next_replications(self) -> None:
        """None; the belief about the foremost has it."""
        return

    def update_common(
        self, decision: Decision, number: AnyArray, value: AnyArray | None, told: AnyArray | bool = True
    ) -> "FocusedBelief":
        """Return the belief after this replication of the decided cell, whose noise others may have shown.

        Without a value: as expected. Until the next conditioning the luck of a seed is separated only for
        foremost alternatives.
        """
        if self.seen is None or self.shocks is None:
            raise ValueError("alternatives share no noise here, or these are several studies. Use `update`.")
        if not np.any(told):
            return self
        k, c = int(decision.alternative), int(decision.context)
        whole = self.including(decision.alternative)
        inner_decision = Decision(whole._place(decision.alternative)[0], decision.context)
        inner = whole.inner.update_common(inner_decision, number, value, told)
        if value is None:  # the value that was expected
            value = inner.shocks.since.value[..., -1]  # type: ignore[union-attr]
        n = float(np.asarray(told, float))
        later = self.seen.add(k, c, float(value), 0.0, n, int(number))
        return whole._later(inner, later, self.shocks.add(decision, number, value, told), k)

    def _later(
        self, inner: AdditiveBelief | None, seen: ObservedCells, shocks: Shocks | None, told: int
    ) -> "FocusedBelief":
        """Return the belief with this ``inner`` one; the foremost are chosen anew if there is none.

        So they are where an alternative that is not among them has come to lead.
        """
        drawn = self.summary.drawn_cells
        if inner is not None and (
            drawn is not None or np.all(inner.mean.max(axis=0) >= self.summary.best_of_others)
        ):
            return replace(self, inner=inner, seen=seen, shocks=shocks)
        given = None if drawn is None else (np.union1d(self.foremost, [told]), drawn)
        return focused(self.prior, seen, self.summary.noise, given=given)

    def best_probability(self) -> Array:
        """Return P(each is best) among the foremost; the others count as never the best."""
        return self._with_foremost(np.zeros(self.summary.mean.shape), self._inner.best_probability())

    def good_probability(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return P(selected within delta of the best of the foremost)."""
        whole = self.including(selected)
        return whole._inner.good_probability(whole._place(selected)[0], delta)

    def expected_loss(self, selected: IntArray) -> Array:
        """Return E[best of the foremost − selected]."""
        whole = self.including(selected)
        return whole._inner.expected_loss(whole._place(selected)[0])

    def lower_bound(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return Bonferroni's bound, the one that holds however alternatives covary."""
        whole = self.including(selected)
        found = whole._inner.lower_bound(whole._place(selected)[0], delta)
        return np.maximum(0.0, found - whole.summary.above(_first(selected), delta))

    def draw(self, normals: Array) -> Array:
        """Return joint draws of the foremost, or of the cells prescribed; the rest stay at their means."""
        draws = np.broadcast_to(self.mean, normals.shape).copy()
        if self.summary.drawn_cells is not None:
            k, c = np.nonzero(self.summary.drawn_cells)
            place, _ = self._place(k)
            for study in np.ndindex(self.inner.mean.shape[:-2]):
                root = drawing_root(self.inner.study(study).among(place, c))
                draws[(slice(None), *study, k, c)] += normals[(slice(None), *study, k, c)] @ root.T
            return draws
        draws[..., self.foremost, :] = self.inner.draw(normals[..., self.foremost, :])
        return draws

    @cached_property
    def _inner(self) -> AdditiveBelief:
        return self.inner.with_draws(self.n_draws)

    def _covariances_among(self, study: IntArray, context: IntArray, columns: IntArray) -> Array:
        raise NotImplementedError("probabilities are those of the foremost.")

    def _with_foremost(self, table: Array, own: Array) -> Array:
        """Return a table [..., alternative, context] with the rows of the foremost replaced by ``own``."""
        whole = np.broadcast_to(table, (*own.shape[:-2], *table.shape)).copy()
        whole[..., self.foremost, :] = own
        return whole

    def _place(self, alternative: IntArray) -> tuple[IntArray, BoolArray]:
        """Return the positions of alternatives among the foremost, and whether they are among them."""
        place = np.minimum(np.searchsorted(self.foremost, alternative), len(self.foremost) - 1)
        return place, np.asarray(self.foremost[place] == alternative)


def _first(selected: IntArray) -> tuple[int, ...]:
    """Return the selection of the first of several studies: they share it, as they share the summary."""
    return tuple(selected.reshape(-1, selected.shape[-1])[0].tolist())


def focused(
    prior: AdditivePrior,
    seen: ObservedCells,
    noise: Array,
    also: IntArray | None = None,
    *,
    given: tuple[IntArray, BoolArray] | None = None,
) -> FocusedBelief:
    """Return the belief of one study; ``also`` are alternatives to follow in any case.

    If alternatives are ``given``, with the cells to draw, it follows these, and those that have shown noise
    which others share.
    """
    solved = seen.solved(prior)
    mean, var = mean_of(prior, seen, solved, noise.shape), variance_of(prior, seen, solved, noise.shape)
    n, shocks = _affordable(len(seen.value), noise.shape), None
    if seen.data is not None:
        shocks = seen.data.shocks
        # The next replication shares noise with others of its number: their alternatives are kept, too.
        shown = np.unique(seen.alternative)
        if (len(seen.value) + ROOM) * (n + len(shown)) * noise.shape[-1] <= _MEMORY:
            n, also = n + len(shown), shown if also is None else np.union1d(shown, also)
    if given is None:
        front = _foremost(mean, var, n, also)
    else:
        front = given[0] if also is None else np.union1d(given[0], also)
    inner = replace(_exact(prior, seen, solved.form, noise, front), shocks=_among(shocks, front))
    return FocusedBelief(
        inner,
        Summary(mean, var, noise, front, None if given is None else given[1]),
        prior,
        seen,
        shocks=shocks,
    )


def _among(shocks: Shocks | None, front: IntArray) -> Shocks | None:
    """Return what later replications of some alternatives share with each other's, in their numbering."""
    if shocks is None:
        return None
    place = np.full(len(shocks.noise), -1)
    place[front] = np.arange(len(front))

    def renumbered(shown: Replications) -> Replications:
        known = np.where(shown.alternative < 0, -1, place[shown.alternative])
        return replace(shown, alternative=known)[known >= 0]

    told, since = renumbered(shocks.told), renumbered(shocks.since)
    return Shocks(told, since, shocks.noise[front], shocks.correlation, shocks.following[front])


class Summarised(Focused, Protocol):
    """A belief about the foremost alternatives with a summary of all others."""

    @property
    def summary(self) -> Summary:
        """What is known of all cells."""


def at_points(
    prior: AdditivePrior, seen: list[ObservedCells], noise: Array, known: Summarised
) -> FocusedBelief:
    """Return beliefs about the foremost of ``known`` under several priors, side by side, with its summary.

    ``noise`` is [..., alternative, context].
    """
    lead, front = prior.own.shape, known.foremost
    each = [
        _exact(prior.study(study), data, data.solved(prior.study(study)).form, noise[study], front)
        for study, data in zip(np.ndindex(lead), seen, strict=True)
    ]
    mean, var, own = (np.stack([getattr(one, name) for one in each]) for name in ("mean", "var", "noise"))
    level, rows = np.stack([one.foundation.level for one in each]), np.stack([one.rows for one in each])  # type: ignore[attr-defined]
    tables = (each.reshape(*lead, *each.shape[1:]) for each in (mean, var, own, level, rows))
    mean, var, own, level, rows = tables
    foundation = ByFormula(prior.among(front), level)
    inner = AdditiveBelief(mean, var, own, foundation, Stack(rows), rows.shape[-3])
    return FocusedBelief(inner, known.summary, prior, None)


def _affordable(n_observed: int, shape: tuple[int, ...]) -> int:
    """Return how many alternatives can be kept exactly in memory."""
    return max(1, min(n_followed(shape), _MEMORY // ((n_observed + ROOM) * shape[-1])))


def _foremost(mean: Array, var: Array, n: int, also: IntArray | None) -> IntArray:
    """Return the leader of every context, and the alternatives that are least far behind in some context."""
    leaders = np.argmax(mean, axis=0)
    gap = mean.max(axis=0) - mean
    behind = np.min(ratio_of(gap, np.sqrt(var + of_selected(var, leaders))), axis=1)
    behind[leaders] = -np.inf
    if also is not None:
        behind[also] = -np.inf
    n = max(n, int(np.isneginf(behind).sum()))
    return np.sort(np.argsort(behind, kind="stable")[:n])


def _exact(
    prior: AdditivePrior, seen: ObservedCells, solved: SquareRootForm, noise: Array, front: IntArray
) -> AdditiveBelief:
    """Return the belief about some alternatives, given all data."""
    table = len(front), noise.shape[-1]
    rows = np.empty((len(seen.value) + ROOM + len(seen.value) // 8, *table))
    place = rows[: len(seen.value)].reshape(len(seen.value), -1)
    half = solved.half(prior.rows_to(seen.alternative, seen.context, front), place)
    mean, level = (found.reshape(table) for found in solved.posterior(half))
    var = prior.whole_variance(front) - np.einsum("oi,oi->i", half, half).reshape(table) + level**2
    foundation = ByFormula(prior.among(front), level)
    tables = seen.shift + mean, np.maximum(var, 0.0), noise[front]
    return AdditiveBelief(*tables, foundation, Stack(rows, len(half)), len(half))
