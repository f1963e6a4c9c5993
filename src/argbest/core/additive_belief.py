"""The belief of the additive GP: prior covariances by formula, what the data took from them as rows.

Cov(f_i, f_j | data) = k(i, j) − Σ_r w_r(i) w_r(j) + q(i) q(j), one row w per observed cell and per later
update, q what the unknown constant adds. No table of all cells against all cells is ever made.
"""

import threading
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.belief import square_root
from argbest.core.correlated import CorrelatedAlternatives, weight_of
from argbest.core.decision import Decision, at, of_each_context
from argbest.core.kernels import NUGGET
from argbest.core.tally import Tally

_ELEMENTS = 1 << 20  # numbers in one temporary array, 8 MB
_UNKNOWN = 100.0  # standard deviations of an observation: the constant while nothing is known of it
_WHOLE = 1000  # cells drawn jointly; of larger tables only those that may be the best of their context
_ROOM = 32  # rows made room for ahead of need


class _Stack:
    """Rows that are only ever added to: who holds the first few sees them unchanged, whoever adds more."""

    def __init__(self, rows: Array) -> None:
        self._rows, self._used, self._lock = rows, rows.shape[-3], threading.Lock()

    def __reduce__(self) -> tuple[type["_Stack"], tuple[Array]]:
        return _Stack, (self.first(self._used),)

    def first(self, n: int) -> Array:
        """Return the first n rows, [..., n, alternative, context]."""
        return self._rows[..., :n, :, :]

    def add(self, n: int, row: Array) -> "_Stack":
        """Return a stack of the first n rows and one more: this one, if it has no others and has room."""
        with self._lock:
            if n == self._used < self._rows.shape[-3]:
                self._rows[..., n, :, :] = row
                self._used += 1
                return self
        *lead, _, k, c = self._rows.shape
        roomy = np.empty((*lead, n + _ROOM + n // 4, k, c))
        roomy[..., :n, :, :], roomy[..., n, :, :] = self.first(n), row
        larger = _Stack(roomy)
        larger._used = n + 1
        return larger


@dataclass(frozen=True, eq=False)
class AdditiveBelief(CorrelatedAlternatives):
    """Alternatives and contexts that covary; covariances are worked out for the cells that are asked for."""

    mean: Array  # [..., alternative, context]
    var: Array  # [..., alternative, context]
    noise: Array  # [..., alternative, context]
    prior: AdditivePrior
    level: Array  # [..., alternative, context]: q
    stack: _Stack
    n_rows: int

    @property
    def rows(self) -> Array:
        """What the data took from the prior, [..., row, alternative, context]; read only."""
        return self.stack.first(self.n_rows)

    def cov_with(self, decision: Decision) -> Array:
        """Return the covariance of every cell with the decided one."""
        return self.cov_rows(decision.alternative[..., None], decision.context[..., None])[..., 0, :, :]

    def cov_rows(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context]."""
        rows, cells = self.rows, (*self.mean.shape[:-2], -1)
        where = alternative * self.mean.shape[-1] + context
        flat = rows.reshape(*rows.shape[:-2], self.mean.shape[-2] * self.mean.shape[-1])
        taken = np.take_along_axis(flat, where[..., None, :], axis=-1)
        level = self.level.reshape(cells)
        change = np.take_along_axis(level, where, axis=-1)[..., None] * level[..., None, :]
        change -= np.swapaxes(taken, -1, -2) @ flat
        prior = self.prior.rows(alternative, context, self.mean.shape[-2])
        prior += change.reshape(prior.shape)
        return prior

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c) − f_k(c)); what both have in common is taken out before anything is squared."""
        total = self.prior.difference_var(reference, self.mean.shape[-2])
        total += self._apart(self.level[..., None, :, :], reference)
        step = max(1, _ELEMENTS // self.mean.size)
        for start in range(0, self.n_rows, step):
            total -= self._apart(self.rows[..., start : start + step, :, :], reference)
        total = np.maximum(total, 0.0)
        total[of_each_context(reference)] = 0.0
        return total

    def _apart(self, rows: Array, reference: IntArray) -> Array:
        """Return Σ_r (w_r(b, c) − w_r(k, c))², [..., alternative, context]."""
        of_best = np.take_along_axis(rows, reference[..., None, None, :], axis=-2)
        apart: Array = np.sum((of_best - rows) ** 2, axis=-3)
        return apart

    def update(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> "AdditiveBelief":
        """Return the rank-one update: one more row, v / √(V + σ²/n) with v the decided cell's covariances."""
        column = self.cov_with(decision)
        weight = weight_of(np.asarray(n, float), at(self.var, decision), at(self.noise, decision))
        surprise = (np.asarray(value, float) - at(self.mean, decision)) * weight
        row = column * np.sqrt(weight)[..., None, None]
        return replace(
            self,
            mean=self.mean + column * surprise[..., None, None],
            var=np.maximum(self.var - row**2, 0.0),
            stack=self.stack.add(self.n_rows, row),
            n_rows=self.n_rows + 1,
        )

    def draw(self, normals: Array) -> Array:
        """Return μ + √S z over the cells, study by study; cells out of the question stay at their means."""
        draws = np.broadcast_to(self.mean, normals.shape).copy()
        marked = self._worth_drawing()
        for study in np.ndindex(self.mean.shape[:-2]):
            k, c = np.nonzero(marked[study])
            root = square_root(self._study(study).among(k, c))
            draws[(slice(None), *study, k, c)] += normals[(slice(None), *study, k, c)] @ root
        return draws

    def among(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariance of the listed cells [m] of one study, [m, m]."""
        part: Array = self.cov_rows(alternative, context)[:, alternative, context]
        return part

    def _worth_drawing(self) -> BoolArray:
        """Return all cells of a small table, of a large one those nearest to being a context's best."""
        cells = self.mean.shape[-2] * self.mean.shape[-1]
        if cells <= _WHOLE:
            return np.ones(self.mean.shape, bool)
        selected = np.argmax(self.mean, axis=-2)
        tau = np.sqrt(self.difference_var(selected))
        behind = np.divide(self._gaps(selected), tau, out=np.full(tau.shape, np.inf), where=tau > 0)
        behind[of_each_context(selected)] = -np.inf
        flat = behind.reshape(*self.mean.shape[:-2], cells)
        bar = np.partition(flat, _WHOLE - 1, axis=-1)[..., _WHOLE - 1, None, None]
        return np.asarray(behind <= bar)

    def _study(self, index: tuple[int, ...]) -> "AdditiveBelief":
        return AdditiveBelief(
            self.mean[index], self.var[index], self.noise[index], self.prior.study(index), self.level[index],
            _Stack(self.rows[index]), self.n_rows,
        )  # fmt: skip

    def _covariances_among(self, study: IntArray, context: IntArray, columns: IntArray) -> Array:
        """Return the covariances of the listed alternatives in each listed context, [row, m, m]."""
        lead = self.mean.shape[:-2]
        out = np.empty((len(study), columns.shape[1], columns.shape[1]))
        for i, (s, c) in enumerate(zip(study.tolist(), context.tolist(), strict=True)):
            own = self._study(tuple(int(j) for j in np.unravel_index(s, lead))) if lead else self
            out[i] = own.among(columns[i], np.full(columns.shape[1], c))
        return out


class Data(NamedTuple):
    """What the posterior of a study follows from; arrays [..., alternative, context], ``shift`` [...]."""

    tally: Tally
    noise: Array
    shift: Array  # near the rewards: residuals from it keep their digits


def condition(prior: AdditivePrior, data: Data) -> AdditiveBelief:
    """Return the exact belief at the contexts; the cost grows with the observed cells alone."""
    return _belief(prior, prior, data, data.noise)


def predict(prior: AdditivePrior, cross: AdditivePrior, data: Data) -> AdditiveBelief:
    """Return the belief at X new contexts, each by itself: arrays [X, ..., alternative, 1].

    ``cross`` has the tables [..., context, X] in place of [..., context, context′]. The noise at a point is
    the alternative's average.
    """
    n_points = cross.trend.shape[-1]
    average = data.noise.mean(axis=-1, keepdims=True)
    whole = _belief(prior, cross, data, np.repeat(average, n_points, axis=-1))
    mean, var, noise, level, rows = (
        np.moveaxis(each, -1, 0)[..., None]
        for each in (whole.mean, whole.var, whole.noise, whole.level, whole.rows)
    )
    return AdditiveBelief(
        mean, var, noise, prior.alone(n_points), level, _Stack(np.ascontiguousarray(rows)), whole.n_rows
    )


def _belief(prior: AdditivePrior, cross: AdditivePrior, data: Data, noise: Array) -> AdditiveBelief:
    lead, (n_alternatives, _) = data.tally.shape[:-2], data.tally.shape[-2:]
    shape = (*lead, n_alternatives, cross.trend.shape[-1])
    n_rows = int((data.tally.count > 0).sum(axis=(-2, -1)).max())
    stack = np.zeros((*lead, n_rows + _ROOM + n_rows // 8, *shape[-2:]))
    mean, var, level = np.empty(shape), np.empty(shape), np.empty(shape)
    for study in np.ndindex(lead):
        one = Data(data.tally[study], data.noise[study], data.shift[study])
        half, mean[study], level[study] = _reduced(prior.study(study), cross.study(study), one)
        var[study] = prior.study(study).variance - np.sum(half**2, axis=0) + level[study] ** 2
        stack[study][: len(half)] = half
    kept = _Stack(stack)
    kept._used = n_rows
    return AdditiveBelief(mean, np.maximum(var, 0.0), noise, prior, level, kept, n_rows)


def _reduced(prior: AdditivePrior, cross: AdditivePrior, data: Data) -> tuple[Array, Array, Array]:
    """Return w = L⁻¹ D½ K_o* [cell, alternative, context], the mean and q of one study.

    L is the Cholesky factor of I + D½ K_oo D½, whose eigenvalues are at least 1. With e = L⁻¹ D½ 1 and
    u = L⁻¹ D½ Ȳ the constant is m = eᵀu / eᵀe, the mean m + wᵀ(u − m e), and q = (1 − wᵀe) / √(eᵀe). Before
    anything is observed the constant is as good as unknown.
    """
    tally, noise, shift = data
    k, c = np.nonzero(tally.count > 0)
    if not len(k):
        table = tally.shape[-2], cross.trend.shape[-1]
        level = np.full(table, _UNKNOWN * np.sqrt(prior.variance + noise.max()))
        return np.empty((0, *table)), np.full(table, shift), level
    count = tally.count[k, c]
    rows = cross.rows(k, c, tally.shape[-2])
    root = np.sqrt(count / np.maximum(noise[k, c], len(k) * NUGGET * count * prior.variance))
    bracket = root[:, None] * prior.rows(k, c, tally.shape[-2])[:, k, c] * root
    bracket.flat[:: len(k) + 1] += 1.0
    right = np.column_stack(
        [root[:, None] * rows.reshape(len(k), -1), root, root * (tally.mean[k, c] - shift)]
    )
    solved = solve_triangular(
        cholesky(bracket, lower=True, check_finite=False), right, lower=True, check_finite=False
    )
    half, ones, values = solved[:, :-2], solved[:, -2], solved[:, -1]
    below = ones @ ones
    constant = ones @ values / below
    mean = shift + constant + half.T @ (values - constant * ones)
    level = (1.0 - half.T @ ones) / np.sqrt(below)
    table = rows.shape[1:]
    return half.reshape(-1, *table), mean.reshape(table), level.reshape(table)
