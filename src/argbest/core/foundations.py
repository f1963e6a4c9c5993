"""The covariances that an additive belief starts from, before later replications: by formula or structure."""

import threading
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array, IntArray
from argbest.core.decision import leading

_ELEMENTS = 1 << 20  # numbers in one temporary array, 8 MB
ROOM = 32  # rows made room for ahead of need


class Foundation(Protocol):
    """Covariances of the cells [..., alternative, context] that are asked for."""

    @property
    def left_out_share(self) -> float:
        """The share of what alternatives have in common that was taken for their own, for speed."""

    def sums(self, alternative: IntArray, context: IntArray, weight: Array) -> Array:
        """Return the covariances of Σ_j weight_j f_j(c) with all, [..., m, alternative, context′].

        ``context`` is [..., m], ``alternative`` and ``weight`` are [..., m, j].
        """

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c) − f_k(c)) of ``reference`` b [..., context], [..., alternative, context]."""

    def study(self, index: tuple[int, ...]) -> "Foundation":
        """Return the foundation of one of several studies."""


class RelatesListed(Foundation, Protocol):
    """A foundation that relates listed cells to each other without a row of all cells for each."""

    def among(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [m] of one study with each other, [m, m]."""


class RelatesWithin(Foundation, Protocol):
    """A foundation that has a quicker way for cells of the same context."""

    def sums_within(self, weight: Array) -> Array:
        """Return Cov(Σ_j weight_gj f_j(c), f_k(c)) from weights [..., g, alternative, context], alike."""

    def within(self, alternatives: IntArray, context: int) -> Array:
        """Return the covariances of distinct alternatives [m] of one study in one context, [m, m]."""


class HasLevel(Foundation, Protocol):
    """A foundation that is the prior, with what the unknown constant adds to it."""

    level: Array  # [..., alternative, context]


class HasFeatures(Foundation, Protocol):
    """A foundation of what an alternative has of its own, and of features that cells share."""

    own: Array  # [..., alternative, context, context′]
    features: Array  # [..., alternative, context, r]


def of_sums(values: Array, where: IntArray, weight: Array) -> Array:
    """Return Σ_j weight_j values[..., where_j], [..., r, m]; values are [..., r, n], others [..., m, j]."""
    total = np.zeros((*values.shape[:-1], where.shape[-2]))
    for j in range(where.shape[-1]):
        at = where[..., None, :, j]
        # Of one study: `take` is far quicker.
        taken = values.take(at[0], axis=1) if values.ndim == 2 else np.take_along_axis(values, at, axis=-1)
        taken *= weight[..., None, :, j]
        total += taken
    return total


def summed_rows(table: Array, where: IntArray, weight: Array) -> Array:
    """Return Σ_j weight_j table[where_j], [m, cell], of indices and weights [m, j]."""
    if len(where) == 1:
        return np.asarray(weight @ table.take(where[0], axis=0))
    out: Array = table.take(where[:, 0], axis=0)
    out *= weight[:, :1]
    for j in range(1, weight.shape[1]):
        part = table.take(where[:, j], axis=0)
        part *= weight[:, j, None]
        out += part
    return out


def rows_of(foundation: Foundation, alternative: IntArray, context: IntArray) -> Array:
    """Return the covariances of the listed cells [..., m] with all, [..., m, alternative, context]."""
    return foundation.sums(alternative[..., None], context, np.ones((*alternative.shape, 1)))


def sums_across(foundation: Foundation, alternative: IntArray, context: IntArray, weight: Array) -> Array:
    """Return the covariances of sums across contexts with all, [..., m, alternative, context′].

    All three are [..., m, j]; a cell without weight costs nothing.
    """
    total: Array | None = None
    for j in range(weight.shape[-1]):
        if total is None or weight[..., j].any():
            part = foundation.sums(alternative[..., j : j + 1], context[..., j], weight[..., j : j + 1])
            total = part if total is None else np.add(total, part, out=total)
    return np.asarray(total)


@dataclass(frozen=True)
class ByFormula:
    """k(i, j) + q(i) q(j): the prior, and what the unknown constant adds."""

    left_out_share: ClassVar[float] = 0.0

    prior: AdditivePrior
    level: Array  # [..., alternative, context]: q

    def sums(self, alternative: IntArray, context: IntArray, weight: Array) -> Array:
        """Return the covariances of Σ_j weight_j f_j(c) with all, [..., m, alternative, context′]."""
        *lead, k, c = self.level.shape
        out = self.prior.sums(alternative, context, weight, k)
        flat = self.level.reshape(*lead, 1, k * c)
        own = of_sums(flat, alternative * c + context[..., None], weight)
        out += np.swapaxes(own, -1, -2)[..., None] * self.level[..., None, :, :]
        return out

    def sums_within(self, weight: Array) -> Array:
        """Return Cov(Σ_j weight_gj f_j(c), f_k(c)) from weights [..., g, alternative, context], alike."""
        every = np.broadcast_to(np.arange(weight.shape[-2]), (*weight.shape[:-3], weight.shape[-2]))
        prior = self.prior
        related = prior.relation(every, weight.shape[-2])[..., None, :, :] @ weight
        shared, own = (each[..., None, None, None] for each in (prior.offset + prior.joint, prior.own))
        trend = np.einsum("...cc->...c", prior.trend)[..., None, None, :] * weight.sum(axis=-2, keepdims=True)
        total = shared * related + own * weight + trend
        for loadings in (self.level, prior.noise_like):
            if loadings is not None:
                each = loadings[..., None, :, :]
                total += each * np.sum(each * weight, axis=-2, keepdims=True)
        return np.asarray(total)

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
        """Return Var(f_b(c) − f_k(c)); what both have in common is subtracted before squaring."""
        total = self.prior.difference_var(reference, self.level.shape[-2])
        total += squared_differences(self.level[..., None, :, :], reference)
        return total

    def study(self, index: tuple[int, ...]) -> "ByFormula":
        """Return the foundation of one of several studies."""
        return ByFormula(self.prior.study(index), self.level[index])


@dataclass(frozen=True)
class ByStructure:
    """1{k = j} E_k(c, c′) + R_i R_jᵀ: what an alternative has of its own, and a row of features per cell."""

    prior: AdditivePrior
    own: Array  # E, [..., alternative, context, context′]
    features: Array  # R, [..., alternative, context, r]
    left_out_share: float  # share of what alternatives have in common that features do not carry

    def sums(self, alternative: IntArray, context: IntArray, weight: Array) -> Array:
        """Return the covariances of Σ_j weight_j f_j(c) with all, [..., m, alternative, context′]."""
        *lead, k, c, r = self.features.shape
        flat = self.features.reshape(*lead, k * c, r)
        before = tuple(axis[..., None] for axis in leading(tuple(lead)))
        picked = sum(
            weight[..., j, None] * flat[(*before, alternative[..., j] * c + context)]
            for j in range(weight.shape[-1])
        )
        out = np.asarray(picked @ np.swapaxes(flat, -1, -2)).reshape(*context.shape, k, c)
        _add_own(out, self.own, alternative, context, weight)
        return out

    def among(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the listed cells [m] of one study with each other, [m, m]."""
        picked = self.features[alternative, context]
        out = picked @ picked.T
        i, j = np.nonzero(alternative[:, None] == alternative)
        out[i, j] += self.own[alternative[i], context[i], context[j]]
        return out

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c) − f_k(c)); what both have in common is subtracted before squaring."""
        total: Array = np.einsum("...cc->...c", self.own).copy()
        total += np.take_along_axis(total, reference[..., None, :], axis=-2)
        of_best = np.take_along_axis(self.features, reference[..., None, :, None], axis=-3)
        step = max(1, _ELEMENTS // (self.features.size // self.features.shape[-3]))
        for start in range(0, self.features.shape[-3], step):
            some = slice(start, start + step)
            total[..., some, :] += np.sum((of_best - self.features[..., some, :, :]) ** 2, axis=-1)
        return total

    def study(self, index: tuple[int, ...]) -> "ByStructure":
        """Return the foundation of one of several studies."""
        return ByStructure(
            self.prior.study(index), self.own[index], self.features[index], self.left_out_share
        )


@dataclass(frozen=True)
class SideBySide:
    """Foundations of several studies, each of its own kind."""

    left_out_share: ClassVar[float] = 0.0  # said of single studies

    prior: AdditivePrior
    each: dict[tuple[int, ...], Foundation]

    def sums(self, alternative: IntArray, context: IntArray, weight: Array) -> Array:
        """Return the covariances of Σ_j weight_j f_j(c) with all, [..., m, alternative, context′]."""
        return self._stacked(
            [one.sums(alternative[i], context[i], weight[i]) for i, one in self.each.items()]
        )

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c) − f_k(c)), study by study."""
        return self._stacked([one.difference_var(reference[i]) for i, one in self.each.items()])

    def study(self, index: tuple[int, ...]) -> Foundation:
        """Return the foundation of one of several studies."""
        return self.each[tuple(int(i) for i in index)]

    def _stacked(self, parts: list[Any]) -> Array:
        return np.stack(parts).reshape(*self.prior.own.shape, *parts[0].shape)


def _add_own(out: Array, own: Array, alternative: IntArray, context: IntArray, weight: Array) -> None:
    """Add weight_j Cov(f_j(c), f_j(·)), by ``own`` [..., alternative, context, context′], in its place."""
    before = tuple(axis[..., None] for axis in leading(own.shape[:-3]))
    for j in range(weight.shape[-1]):
        row = own[(*before, alternative[..., j], context)]
        out[(*leading(context.shape), alternative[..., j])] += weight[..., j, None] * row


def squared_differences(rows: Array, reference: IntArray) -> Array:
    """Return Σ_r (w_r(b, c) − w_r(k, c))² of rows [..., row, alternative, context]."""
    if rows.ndim == 3:  # of one study: plain indexing is far quicker
        of_best = rows[:, None, reference, np.arange(rows.shape[2])]
    else:
        of_best = np.take_along_axis(rows, reference[..., None, None, :], axis=-2)
    difference: Array = of_best - rows
    difference *= difference
    return np.asarray(difference.sum(axis=-3))


class Stack:
    """A buffer to which rows are only ever added, so that the first rows never change.

    Beliefs that follow from each other by updates share it: an update copies no rows.
    """

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
        """Return a stack of the first n rows and these: this one, if it has no further rows and has room."""
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

    left_out_share: ClassVar[float] = 0.0

    cov: Array  # [..., context, alternative, alternative′]

    def sums(self, alternative: IntArray, context: IntArray, weight: Array) -> Array:
        """Return the covariances of Σ_j weight_j f_j(c) with all, [..., m, alternative, context′]."""
        *lead, n_contexts, k, _ = self.cov.shape
        out = np.zeros((*context.shape, k, n_contexts))
        before = tuple(axis[..., None, None] for axis in leading(tuple(lead)))
        own = np.einsum("...mj,...mjk->...mk", weight, self.cov[(*before, context[..., None], alternative)])
        np.put_along_axis(out, context[..., None, None], own[..., None], axis=-1)
        return out

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c) − f_k(c)), context by context."""
        var = np.einsum("...ckk->...ck", self.cov)
        of_best = np.take_along_axis(self.cov, reference[..., None, None], axis=-2)[..., 0, :]
        own = np.take_along_axis(var, reference[..., None], axis=-1)
        return np.swapaxes(var + own - 2.0 * of_best, -1, -2)

    def study(self, index: tuple[int, ...]) -> "ByContext":
        """Return the foundation of one of several studies."""
        return ByContext(self.cov[index])


@dataclass(frozen=True)
class ByAlternative:
    """Alternatives by themselves: contexts covary within each alone.

    Where noise is shared, 1{c = c′} v_k(c) v_j(c) is added (`argbest.core.additive_prior`).
    """

    left_out_share: ClassVar[float] = 0.0

    cov: Array  # [..., alternative, context, context′]
    noise_like: Array | None = None  # [..., alternative, context]: v; None where there is no such part

    def sums(self, alternative: IntArray, context: IntArray, weight: Array) -> Array:
        """Return the covariances of Σ_j weight_j f_j(c) with all, [..., m, alternative, context′]."""
        out = np.zeros((*context.shape, *self.cov.shape[-3:-1]))
        _add_own(out, self.cov, alternative, context, weight)
        if self.noise_like is not None:
            loadings = np.take_along_axis(self.noise_like, context[..., None, :], axis=-1)
            loadings = np.swapaxes(loadings, -1, -2)  # [..., m, alternative]
            total = np.sum(
                weight * np.take_along_axis(loadings, alternative, axis=-1), axis=-1, keepdims=True
            )
            where: tuple[Any, ...] = (*leading(context.shape), slice(None), context)
            out[where] += total * loadings
        return out

    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_b(c)) + Var(f_k(c)), and (v_b(c) − v_k(c))² of what is like the noise."""
        var = np.einsum("...cc->...c", self.cov)
        total = var + np.take_along_axis(var, reference[..., None, :], axis=-2)
        if self.noise_like is not None:
            of_best = np.take_along_axis(self.noise_like, reference[..., None, :], axis=-2)
            total = total + (of_best - self.noise_like) ** 2
        return np.asarray(total)

    def study(self, index: tuple[int, ...]) -> "ByAlternative":
        """Return the foundation of one of several studies."""
        return ByAlternative(self.cov[index], None if self.noise_like is None else self.noise_like[index])
