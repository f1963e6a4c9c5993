"""What covariances of an additive belief rest on, before later observations: by formula, or by structure."""

import threading
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array, IntArray
from argbest.core.decision import leading

_ELEMENTS = 1 << 20  # numbers in one temporary array, 8 MB
ROOM = 32  # rows made room for ahead of need


class Foundation(Protocol):
    """Covariances of the cells [..., alternative, context] that are asked for."""

    def rows(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context]."""

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c) − f_k(c)) of ``reference`` b [..., context], [..., alternative, context]."""

    def study(self, index: tuple[int, ...]) -> "Foundation":
        """Return that of one of several studies."""


@dataclass(frozen=True)
class ByFormula:
    """k(i, j) + q(i) q(j): the prior, and what the unknown constant adds."""

    prior: AdditivePrior
    level: Array  # [..., alternative, context]: q

    def rows(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context]."""
        shape = self.level.shape
        out = self.prior.rows(alternative, context, shape[-2])
        flat = self.level.reshape(*shape[:-2], shape[-2] * shape[-1])
        own = np.take_along_axis(flat, alternative * shape[-1] + context, axis=-1)
        out += own[..., None, None] * self.level[..., None, :, :]
        return out

    def within(self, alternatives: IntArray, context: int) -> Array:
        """Return the covariances of distinct alternatives [m] of one study in one context, [m, m]."""
        own = self.level[alternatives, context]
        return np.asarray(self.prior.within(alternatives, context, len(self.level)) + own[:, None] * own)

    def among(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [m] of one study with each other, [m, m]."""
        own = self.level[alternative, context]
        out = self.prior.between((alternative, context), (alternative, context))
        out += own[:, None] * own
        return out

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c) − f_k(c)); what both have in common is taken out before anything is squared."""
        total = self.prior.difference_var(reference, self.level.shape[-2])
        total += apart(self.level[..., None, :, :], reference)
        return total

    def study(self, index: tuple[int, ...]) -> "ByFormula":
        """Return that of one of several studies."""
        return ByFormula(self.prior.study(index), self.level[index])


@dataclass(frozen=True)
class ByStructure:
    """1{k = j} E_k(c, c′) + R_i R_jᵀ: what an alternative has of its own, and a row of features per cell."""

    prior: AdditivePrior
    own: Array  # E, [..., alternative, context, context′]
    features: Array  # R, [..., alternative, context, r]
    missed: float  # share of what alternatives have in common that features do not carry

    def rows(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context]."""
        *lead, k, c, r = self.features.shape
        flat = self.features.reshape(*lead, k * c, r)
        picked = np.take_along_axis(flat, (alternative * c + context)[..., None], axis=-2)
        out = (picked @ np.swapaxes(flat, -1, -2)).reshape(*alternative.shape, k, c)
        before = tuple(axis[..., None] for axis in leading(tuple(lead)))
        out[(*leading(alternative.shape), alternative)] += self.own[(*before, alternative, context)]
        return out

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c) − f_k(c)); what both have in common is taken out before anything is squared."""
        total: Array = np.einsum("...cc->...c", self.own).copy()
        total += np.take_along_axis(total, reference[..., None, :], axis=-2)
        of_best = np.take_along_axis(self.features, reference[..., None, :, None], axis=-3)
        step = max(1, _ELEMENTS // (self.features.size // self.features.shape[-3]))
        for start in range(0, self.features.shape[-3], step):
            some = slice(start, start + step)
            total[..., some, :] += np.sum((of_best - self.features[..., some, :, :]) ** 2, axis=-1)
        return total

    def study(self, index: tuple[int, ...]) -> "ByStructure":
        """Return that of one of several studies."""
        return ByStructure(self.prior.study(index), self.own[index], self.features[index], self.missed)


@dataclass(frozen=True)
class SideBySide:
    """Foundations of several studies, each of its own kind."""

    prior: AdditivePrior
    each: dict[tuple[int, ...], Foundation]

    def rows(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context]."""
        return self._stacked([one.rows(alternative[i], context[i]) for i, one in self.each.items()])

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c) − f_k(c)), study by study."""
        return self._stacked([one.difference_var(reference[i]) for i, one in self.each.items()])

    def study(self, index: tuple[int, ...]) -> Foundation:
        """Return that of one of several studies."""
        return self.each[tuple(int(i) for i in index)]

    def _stacked(self, parts: list[Any]) -> Array:
        return np.stack(parts).reshape(*self.prior.own.shape, *parts[0].shape)


def apart(rows: Array, reference: IntArray) -> Array:
    """Return Σ_r (w_r(b, c) − w_r(k, c))² of rows [..., row, alternative, context]."""
    if rows.ndim == 3:  # of one study: plain indexing is far quicker
        of_best = rows[:, None, reference, np.arange(rows.shape[2])]
    else:
        of_best = np.take_along_axis(rows, reference[..., None, None, :], axis=-2)
    difference: Array = of_best - rows
    difference *= difference
    return np.asarray(difference.sum(axis=-3))


class Stack:
    """Rows that are only ever added to: who holds the first few sees them unchanged, whoever adds more."""

    def __init__(self, rows: Array, used: int | None = None) -> None:
        """Hold rows [..., row, alternative, context], of which the first ``used`` count, by default all."""
        self._rows, self._lock = rows, threading.Lock()
        self._used = rows.shape[-3] if used is None else used

    def __reduce__(self) -> tuple[type["Stack"], tuple[Array]]:
        return Stack, (self.first(self._used),)

    def first(self, n: int) -> Array:
        """Return the first n rows, [..., n, alternative, context]."""
        return self._rows[..., :n, :, :]

    def add(self, n: int, rows: Array) -> "Stack":
        """Return a stack of the first n rows and more: this one, if it has no others and has room."""
        used = n + rows.shape[-3]
        with self._lock:
            if n == self._used and used <= self._rows.shape[-3]:
                self._rows[..., n:used, :, :] = rows
                self._used = used
                return self
        *lead, _, k, c = self._rows.shape
        roomy = np.empty((*lead, used + ROOM + n // 4, k, c))
        roomy[..., :n, :, :], roomy[..., n:used, :, :] = self.first(n), rows
        return Stack(roomy, used)


@dataclass(frozen=True)
class ByContext:
    """Contexts by themselves: alternatives covary within each alone."""

    cov: Array  # [..., context, alternative, alternative′]

    def rows(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context]."""
        *lead, n_contexts, k, _ = self.cov.shape
        out = np.zeros((*alternative.shape, k, n_contexts))
        before = tuple(axis[..., None] for axis in leading(tuple(lead)))
        own = self.cov[(*before, context, alternative)]
        np.put_along_axis(out, context[..., None, None], own[..., None], axis=-1)
        return out

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c) − f_k(c)), context by context."""
        var = np.einsum("...ckk->...ck", self.cov)
        of_best = np.take_along_axis(self.cov, reference[..., None, None], axis=-2)[..., 0, :]
        own = np.take_along_axis(var, reference[..., None], axis=-1)
        return np.swapaxes(var + own - 2.0 * of_best, -1, -2)

    def study(self, index: tuple[int, ...]) -> "ByContext":
        """Return that of one of several studies."""
        return ByContext(self.cov[index])


@dataclass(frozen=True)
class ByAlternative:
    """Alternatives by themselves: contexts covary within each alone."""

    cov: Array  # [..., alternative, context, context′]

    def rows(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context]."""
        *lead, k, n_contexts, _ = self.cov.shape
        out = np.zeros((*alternative.shape, k, n_contexts))
        before = tuple(axis[..., None] for axis in leading(tuple(lead)))
        out[(*leading(alternative.shape), alternative)] = self.cov[(*before, alternative, context)]
        return out

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c)) + Var(f_k(c))."""
        var = np.einsum("...cc->...c", self.cov)
        return np.asarray(var + np.take_along_axis(var, reference[..., None, :], axis=-2))

    def study(self, index: tuple[int, ...]) -> "ByAlternative":
        """Return that of one of several studies."""
        return ByAlternative(self.cov[index])
