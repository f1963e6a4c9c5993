"""The belief of the additive GP: prior covariances by formula or structure, and rows for what data explain.

Cov(f_i, f_j | data) = (covariance under the foundation) − Σ_r w_r(i) w_r(j). Where the foundation is the
prior there is a row w for every observed cell; every later replication adds one. No table of all cells
against all cells is ever made.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from argbest.core.abilities import offers
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.belief import cell_by_cell
from argbest.core.blocks import drawing_root, square_root, subtract_product, weight_of
from argbest.core.correlated import SOBOL_POINTS, CorrelatedAlternatives
from argbest.core.decision import Decision, at, leading, of_each_context
from argbest.core.foundations import (
    Foundation,
    HasFeatures,
    HasLevel,
    RelatesListed,
    RelatesWithin,
    Stack,
    of_sums,
    rows_of,
    squared_differences,
    summed_rows,
    sums_across,
)
from argbest.core.replications import NextReplications, Shocks, pending_observations
from argbest.core.whole_tables import (
    ConditionedOn,
    Observation,
    by_structure,
    corrected,
    corrected_by_one,
    from_prior,
)

_ELEMENTS = 1 << 20  # numbers in one temporary array, 8 MB
DRAWN_JOINTLY = 1000  # cells drawn jointly; of larger tables only those that may be the best of their context
_MANY_ROWS = 128  # later rows after which the shared results take them in
_EVERY = 256  # cells of a table so small that a decision asks for most of its covariances, several times


class SharedResults:
    """Results computed for a belief that also serve all beliefs that follow from it by updates.

    They are about the first rows, those of that belief: updates only add rows. Which rows these are does not
    depend on who asks, or when; two threads that ask at once compute the same numbers.
    """

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows  # how many the first rows are
        self.table: Array | None = None  # covariances [cell, cell] of one small table given the first rows
        self.difference_vars: dict[tuple[int, int], Array] = {}  # see `AdditiveBelief._first_difference_var`


@dataclass(frozen=True, eq=False)
class AdditiveBelief(CorrelatedAlternatives):
    """Alternatives and contexts that covary; covariances are worked out for the cells that are asked for."""

    mean: Array  # [..., alternative, context]
    var: Array  # [..., alternative, context]
    noise: Array  # [..., alternative, context]
    foundation: Foundation
    stack: Stack
    n_rows: int
    n_draws: int = SOBOL_POINTS
    shocks: Shocks | None = None  # of noise that alternatives share; None where they share none
    before: SharedResults | None = field(default=None, repr=False)  # of the belief that this one follows from
    # What its first rows follow from, if that is the prior; and what was observed since, None: not known.
    past: ConditionedOn | None = field(default=None, repr=False)
    later: tuple[Observation, ...] | None = field(default=(), repr=False)

    def with_mean(self, mean: Array) -> "AdditiveBelief":
        """Return the belief with other means [..., alternative, context]."""
        return replace(self, mean=mean, before=self._first)

    def with_draws(self, n_draws: int) -> "AdditiveBelief":
        """Return the belief that uses so many points, a power of 2, for each study."""
        return replace(self, n_draws=n_draws, before=self._first)

    @property
    def left_out_share(self) -> float:
        """The share of what alternatives have in common that was taken for their own, for speed."""
        return self.foundation.left_out_share

    @property
    def rows(self) -> Array:
        """What the data took from the prior, [..., row, alternative, context]; read only."""
        return self.stack.first(self.n_rows)

    def cov_with(self, decision: Decision) -> Array:
        """Return the covariance of every cell with the decided one."""
        return self.cov_rows(decision.alternative[..., None], decision.context[..., None])[..., 0, :, :]

    def cov_rows(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context]."""
        table, begin = self._table
        if table is not None and begin == self.n_rows:
            where = alternative * self.mean.shape[-1] + context
            return np.asarray(table.take(where, axis=0)).reshape(*where.shape, *self.mean.shape)
        return self.cov_of_sums(alternative[..., None], context, np.ones((*alternative.shape, 1)))

    def cov_of_sums(self, alternative: IntArray, context: IntArray, weight: Array) -> Array:
        """Return the covariances of Σ_j weight_j f_j(c) with all, [..., m, alternative, context].

        ``alternative`` and ``weight`` are [..., m, j], and ``context`` is [..., m], or [..., m, j] too.
        """
        k, c = self.mean.shape[-2:]
        across = context.ndim == alternative.ndim
        where, (table, begin) = alternative * c + (context if across else context[..., None]), self._table
        if table is not None:
            out = summed_rows(table, where, weight)
        elif across:
            out = sums_across(self.foundation, alternative, context, weight)
        else:
            out = self.foundation.sums(alternative, context, weight)
        out = out.reshape(*where.shape[:-1], k * c)
        if self.n_rows > begin:
            rows = self.rows[..., begin:, :, :]
            flat = rows.reshape(*rows.shape[:-2], k * c)
            subtract_product(out, of_sums(flat, where, weight), flat)
        return np.asarray(out).reshape(*where.shape[:-1], k, c)

    @cached_property
    def _first(self) -> SharedResults:
        return SharedResults(self.n_rows) if self.before is None else self.before

    @cached_property
    def _table(self) -> tuple[Array | None, int]:
        """Covariances of one small table and how many rows they take in; None where it is not small."""
        first, n_cells = self._first, self.mean.size
        if self.mean.ndim > 2 or n_cells > DRAWN_JOINTLY:
            return None, 0
        if first.table is None:
            every, rows = np.divmod(np.arange(n_cells), self.mean.shape[1]), self.stack.first(first.n_rows)
            first.table = rows_of(self.foundation, *every).reshape(n_cells, n_cells) - _gram(rows)
        if n_cells > _EVERY or self.n_rows == first.n_rows:
            return first.table, first.n_rows
        return first.table - _gram(self.rows[first.n_rows :]), self.n_rows

    def within_contexts(self) -> Array:
        """Return Cov(f_k(c), f_j(c)), [..., context, alternative, alternative′]."""
        *lead, k, c = self.mean.shape
        table, begin = self._table
        if table is not None:
            out: Array = np.einsum("kcjc->ckj", table.reshape(k, c, k, c)).copy()
            if self.n_rows > begin:
                rows = self.rows[begin:].transpose(2, 0, 1)
                out -= np.swapaxes(rows, -1, -2) @ rows
            return out
        if not lead:
            return np.stack([self._within(np.arange(k), context) for context in range(c)])
        out = np.empty((*lead, c, k, k))
        for context in range(c):
            every = np.broadcast_to(np.arange(k), (*lead, k))
            taken = self.rows[..., context]
            out[..., context, :, :] = rows_of(self.foundation, every, np.full_like(every, context))[
                ..., context
            ]
            out[..., context, :, :] -= np.swapaxes(taken, -1, -2) @ taken
        return out

    @cached_property
    def next_replications(self) -> NextReplications | None:
        """What the next replication of every cell observes where noise is common; None: the cell itself."""
        if self.shocks is None or self.shocks.next_contrasts is None:
            return None
        ahead = self.shocks.next_contrasts
        across = self._cov_within(ahead.shown)
        of_groups = np.sum(ahead.shown * across, axis=-2, keepdims=True)
        spread = self.var + np.sum(ahead.share * (ahead.share * of_groups - 2.0 * across), axis=-3)
        return NextReplications.of(ahead, np.maximum(spread, 0.0) + ahead.noise)

    def _cov_within(self, weight: Array) -> Array:
        """Return Cov(Σ_j weight_gj f_j(c), f_k(c)) from weights [..., g, alternative, context], alike."""
        if self._table[0] is not None or not offers(self.foundation, RelatesWithin):
            by_context = weight.swapaxes(-1, -2).swapaxes(-2, -3) @ self.within_contexts()
            return by_context.swapaxes(-2, -3).swapaxes(-1, -2)
        taken = np.einsum("...gkc,...rkc->...grc", weight, self.rows)
        before = self.foundation.sums_within(weight)
        return np.asarray(before - np.einsum("...grc,...rkc->...gkc", taken, self.rows))

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c) − f_k(c)); what both have in common is subtracted before squaring."""
        if self.mean.ndim == 2:
            total, begin = self._first_difference_var(reference), self._first.n_rows
        else:
            total, begin = self.foundation.difference_var(reference), 0
        step = max(1, _ELEMENTS // self.mean.size)
        for start in range(begin, self.n_rows, step):
            total -= squared_differences(self.rows[..., start : start + step, :, :], reference)
        total = np.maximum(total, 0.0)
        total[of_each_context(reference)] = 0.0
        return total

    def _first_difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c) − f_k(c)) of one study given the first rows: worked out once per c and b."""
        known, pairs = self._first.difference_vars, list(enumerate(reference.tolist()))
        missing = [c for c, b in pairs if (c, b) not in known]
        if missing:
            before, rows = self.foundation.difference_var(reference), self.stack.first(self._first.n_rows)
            step = max(1, _ELEMENTS // max(1, len(rows) * len(self.mean)))
            for some in (missing[i : i + step] for i in range(0, len(missing), step)):
                found = before[:, some] - squared_differences(rows.take(some, axis=2), reference[some])
                known.update((pairs[c], found[:, i]) for i, c in enumerate(some))
        return np.array([known[pair] for pair in pairs]).T

    def update(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> "AdditiveBelief":
        """Return the rank-one update: one more row, v / √(V + σ²/n) with v the decided cell's covariances."""
        weight = weight_of(np.asarray(n, float), at(self.var, decision), at(self.noise, decision))
        if not weight.any():  # nothing is learned, not even by rounding
            return self
        surprise = np.asarray(value, float) - at(self.mean, decision)
        noise = at(self.noise, decision) / np.maximum(n, 1)
        cells = decision.alternative[..., None], decision.context, np.ones((*np.shape(weight), 1))
        return self._learned(
            self.cov_with(decision), weight, surprise, later=self._later_and(Observation(*cells, noise))
        )

    def update_common(
        self, decision: Decision, number: AnyArray, value: AnyArray | None, told: AnyArray | bool = True
    ) -> "AdditiveBelief":
        """Return the belief after this replication of the decided cell, whose noise others may have shown.

        A rank-one update by the contrast that `Shocks.contrast` says. Without a value: as expected. Only the
        studies of which something is ``told`` [...] change; where that is a number, the mean of so many.
        """
        if self.shocks is None:
            raise ValueError("alternatives share no noise here. Use `update`.")
        seen = self.shocks.contrast(decision, number)
        one = seen.alternative[..., None, :], decision.context[..., None], seen.weight[..., None, :]
        column = self.cov_of_sums(*one)[..., 0, :, :]
        where = (*leading(seen.weight.shape)[:-1], seen.alternative, decision.context[..., None])
        spread = np.maximum((seen.weight * column[where]).sum(axis=-1), 0.0)
        weight = weight_of(np.asarray(told, float), spread, seen.noise)
        expected = (seen.weight * self.mean[where]).sum(axis=-1) + seen.shown
        value = expected if value is None else np.asarray(value, float)
        later = self.shocks.add(decision, number, value, told)
        mean = Observation(
            seen.alternative,
            decision.context,
            seen.weight,
            seen.noise / np.maximum(np.asarray(told, float), 1.0),
        )
        return self._learned(column, weight, value - expected, shocks=later, later=self._later_and(mean))

    def _later_and(self, observation: Observation) -> tuple[Observation, ...] | None:
        """Return all that was observed later, this included; None where that is not known."""
        return None if self.later is None else (*self.later, observation)

    def anticipated(self, decision: Decision, n: AnyArray | int = 1) -> "AdditiveBelief":
        """Return the belief as if n more replications had come out as expected."""
        if self.shocks is None:
            return self.update(decision, at(self.mean, decision), n)
        later = self
        for i in range(int(np.max(n))):  # each is another number, whose noise others may have shown
            number = at(later.shocks.following, decision)  # type: ignore[union-attr]
            later = later.update_common(decision, number, None, np.asarray(n) > i)
        return later

    def expecting(self, pending: IntArray) -> "AdditiveBelief":
        """Return the belief as if the trials under way had come out as expected, of one study all at once."""
        if not pending.any():
            return self
        if self.mean.ndim > 2:
            return cast(AdditiveBelief, cell_by_cell(self, pending))
        seen = pending_observations(pending, self)
        return self._with_rows(seen.rows(self), shocks=seen.shocks, later=None)

    def _learned(self, column: Array, weight: Array, surprise: Array, **changes: Any) -> "AdditiveBelief":
        """Return the update by a replication that covaries with the cells as ``column`` says."""
        surprise = surprise * weight
        row = (column * np.sqrt(weight)[..., None, None])[..., None, :, :]
        return self._with_rows(row, mean=self.mean + column * surprise[..., None, None], **changes)

    def _with_rows(self, rows: Array, **changes: Any) -> "AdditiveBelief":
        """Return the belief with more rows [..., row, alternative, context], and what else changes."""
        var = np.maximum(self.var - np.einsum("...rkc,...rkc->...kc", rows, rows), 0.0)
        stack, n_rows = self.stack.add(self.n_rows, rows), self.n_rows + rows.shape[-3]
        return replace(self, var=var, stack=stack, n_rows=n_rows, before=self._for_later, **changes)

    @cached_property
    def _for_later(self) -> SharedResults:
        """The shared results of later beliefs; of a small table about all rows so far, once these are many.

        A decision looks at every later row, and at the table once.
        """
        first = self._first
        if self.n_rows - first.n_rows < _MANY_ROWS:
            return first
        table, begin = self._table
        if table is None:
            return first
        now = SharedResults(self.n_rows)
        now.table = table if begin == self.n_rows else table - _gram(self.rows[begin:])
        return now

    def draw(self, normals: Array) -> Array:
        """Return μ + √S z over the cells, study by study; cells too far from the best stay at their means."""
        cells = self.mean.shape[-2] * self.mean.shape[-1]
        draws = np.broadcast_to(self.mean, normals.shape).copy()
        marked = self._worth_drawing()
        for study in np.ndindex(self.mean.shape[:-2]):
            k, c = np.nonzero(marked[study])
            cov = self._one(study).among(k, c)
            root = square_root(cov) if cells <= DRAWN_JOINTLY else drawing_root(cov)
            draws[(slice(None), *study, k, c)] += normals[(slice(None), *study, k, c)] @ root.T
        return draws

    def draw_tables(self, n: int, numbers: Callable[[], np.random.Generator]) -> Array:
        """Return n joint draws of all rewards, [draw, ..., alternative, context], study by study.

        Of large tables by Matheron's rule, where it is known what was observed.
        """
        found = np.empty((n, *self.mean.shape))
        for study in np.ndindex(self.mean.shape[:-2]):
            own = self._one(study) if study else self
            found[(slice(None), *study)] = own.mean + own._deviations(n, numbers())
        return found

    def _deviations(self, n: int, numbers: np.random.Generator) -> Array:
        """Return n joint draws of one study's rewards less their means, [n, alternative, context]."""
        if self.mean.size <= DRAWN_JOINTLY:
            normals = numbers.standard_normal((n, self.mean.size))
            return (normals @ drawing_root(self._covariances).T).reshape(n, *self.mean.shape)
        first = self._first_deviations(n, numbers) if self.later is not None else None
        if first is None or self.later is None:
            return self.draw(numbers.standard_normal((n, *self.mean.shape))) - self.mean
        for seen, row in zip(self.later, self.rows[self.n_rows - len(self.later) :], strict=True):
            first = corrected_by_one(first, seen, row, numbers)
        return first

    def _first_deviations(self, n: int, numbers: np.random.Generator) -> Array | None:
        """Return such draws given what the belief was first conditioned on; None where that is not known."""
        if offers(self.foundation, HasFeatures):
            return by_structure(self.foundation.own, self.foundation.features, n, numbers)
        if self.past is None or not offers(self.foundation, HasLevel):
            return None
        drawn = from_prior(self.past.prior, n, len(self.mean), numbers)
        drawn = corrected(drawn, self.past, self.rows, numbers)
        return np.asarray(drawn + self.foundation.level * numbers.standard_normal((n, 1, 1)))

    @property
    def _covariances(self) -> Array:
        """A new array of the covariances of all cells of one study, [cell, cell]."""
        (table, begin), n_cells = self._table, self.mean.size
        if table is None:
            return self.among(*np.divmod(np.arange(n_cells), self.mean.shape[1]))
        return table - _gram(self.rows[begin:])

    def among(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariance of the listed cells [m] of one study, [m, m]."""
        if offers(self.foundation, RelatesListed):
            part = self.foundation.among(alternative, context)
        else:
            part = np.empty((len(alternative), len(alternative)))
            step = max(1, _ELEMENTS // self.mean.size)
            for start in range(0, len(alternative), step):
                some = slice(start, start + step)
                towards = rows_of(self.foundation, alternative[some], context[some])
                part[some] = towards[:, alternative, context]
        taken = self.rows[:, alternative, context]
        part -= taken.T @ taken
        return part

    def _worth_drawing(self) -> BoolArray:
        """Return all cells of a small table, of a large one those nearest to being a context's best."""
        cells = self.mean.shape[-2] * self.mean.shape[-1]
        if cells <= DRAWN_JOINTLY:
            return np.ones(self.mean.shape, bool)
        behind = self._behind_leader.copy()
        behind[of_each_context(self._leader)] = -np.inf
        flat = behind.reshape(*self.mean.shape[:-2], cells)
        bar = np.partition(flat, DRAWN_JOINTLY - 1, axis=-1)[..., DRAWN_JOINTLY - 1, None, None]
        return np.asarray(behind <= bar)

    def study(self, index: tuple[int, ...]) -> "AdditiveBelief":
        """Return the belief of one of several studies."""
        tables = self.mean[index], self.var[index], self.noise[index]
        shared = None if self.shocks is None else self.shocks.study(index)
        rest = self.foundation.study(index), Stack(self.rows[index]), self.n_rows
        past = None if self.past is None else self.past.study(index)
        later = None if self.later is None else tuple(each.study(index) for each in self.later)
        return AdditiveBelief(*tables, *rest, shocks=shared, past=past, later=later)

    def _one(self, index: tuple[int, ...]) -> "AdditiveBelief":
        """Return the belief of one of several studies, always the same object: it keeps its results."""
        if index not in self._studies:
            self._studies[index] = self.study(index)
        return self._studies[index]

    @cached_property
    def _studies(self) -> "dict[tuple[int, ...], AdditiveBelief]":
        return {}

    def _covariances_among(self, study: IntArray, context: IntArray, columns: IntArray) -> Array:
        """Return the covariances of the listed alternatives in each listed context, [row, m, m]."""
        lead = self.mean.shape[:-2]
        out = np.empty((len(study), columns.shape[1], columns.shape[1]))
        for one in np.unique(study):
            own = self._one(tuple(int(j) for j in np.unravel_index(one, lead))) if lead else self
            for i in np.flatnonzero(study == one).tolist():
                out[i] = own._within(columns[i], int(context[i]))
        return out

    def _within(self, alternatives: IntArray, context: int) -> Array:
        """Return the covariances of distinct alternatives [m] of one study in one context, [m, m]."""
        if not offers(self.foundation, RelatesWithin):
            return self.among(alternatives, np.full(len(alternatives), context))
        taken = self.rows[:, alternatives, context]
        return np.asarray(self.foundation.within(alternatives, context) - taken.T @ taken)


def _gram(rows: Array) -> Array:
    """Return Σ_r w_r(i) w_r(j) of rows [row, alternative, context], [cell, cell]."""
    flat = rows.reshape(len(rows), rows.shape[1] * rows.shape[2])  # there may be none
    return np.asarray(flat.T @ flat)
