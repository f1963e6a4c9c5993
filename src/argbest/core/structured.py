"""Structure for tables with many observed cells: features that alternatives share, and a block for each.

With features Φ_i of every cell, Cov(f_i, f_j) = Φ_i Φ_jᵀ for two alternatives; within one it is exact: then
B = K − ΦΦᵀ + noise has a block for every alternative. Features are products: Φ_k = Ψ S_k, Ψ [context, q] of
the contexts alone, S_k = diag(I, I ⊗ F_A(k)ᵀ), the first columns of Ψ being the trend's. All sums over cells
are then sums of q × q matrices, and the cost is Σ n_k³ + n q n_k + K r² + r³ for r features.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array, IntArray, dpotri, dtrtri
from argbest.core.landmarks import Landmarks, Root, features_of, root_of
from argbest.core.square_root_form import bracket, cholesky_factor, solve_lower

_SMALL_MATRIX = 16  # matrices below this size are inverted many at once, larger ones one by one


class EquallyObserved(NamedTuple):
    """Alternatives that were observed in equally many contexts."""

    alternatives: IntArray  # [g]
    contexts: IntArray  # [g, n]

    def pick(self, table: Array) -> Array:
        """Return the entries of the observed cells, [g, n], from [alternative, context]."""
        return table[self.alternatives[:, None], self.contexts]

    def pairs(self, table: Array) -> Array:
        """Return the entries of all pairs of observed contexts, [g, n, n]; [1, n, n] if all are alike."""
        one = self._common if self._common is not None else self.contexts
        return table[one[:, :, None], one[:, None, :]]

    def summed(self, values: Array, n_contexts: int) -> Array:
        """Return the sums of values [g, n, m] by context, [context, m]."""
        m = values.shape[2]
        if self._common is not None:
            out = np.zeros((n_contexts, m))
            out[self._common[0]] = values.sum(axis=0)
            return out
        where = self.contexts[..., None] * m + np.arange(m)
        return np.bincount(where.ravel(), values.ravel(), n_contexts * m).astype(float).reshape(n_contexts, m)

    def summed_pairs(self, values: Array, n_contexts: int) -> Array:
        """Return the sums of values [g, n, n] by pairs of contexts, [context, context]."""
        if self._common is not None:
            out = np.zeros((n_contexts, n_contexts))
            out[np.ix_(self._common[0], self._common[0])] = values.sum(axis=0)
            return out
        where = self.contexts[:, :, None] * n_contexts + self.contexts[:, None, :]
        shape = (n_contexts, n_contexts)
        return np.bincount(where.ravel(), values.ravel(), n_contexts**2).astype(float).reshape(shape)

    @property
    def _common(self) -> IntArray | None:
        """The contexts of all, [1, n], where these are the same."""
        first = self.contexts[:1]
        return first if bool(np.all(self.contexts == first)) else None


def blocks_of(count: IntArray) -> list[EquallyObserved]:
    """Return the alternatives [alternative, context] by the number of contexts observed."""
    seen = count > 0
    sizes = seen.sum(axis=1)
    found = []
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        found.append(EquallyObserved(alike, np.nonzero(seen[alike])[1].reshape(len(alike), size)))
    return found


@dataclass(frozen=True)
class Features:
    """Ψ and F_A, and the covariance within an alternative: own − |F_A(k)|² Ψ_t Ψ_tᵀ, Ψ_t beyond the trend."""

    marks: Landmarks
    trend: Root  # of the trend's correlation
    nearness: Root  # of κ_C
    relation: Root  # of κ_A
    level: Root | None  # of κ_S; None where all runs are from one source
    by_context: Array  # Ψ, [context, q]
    own: Array  # [context, context]: what the trend's features leave, offset, joint and own part
    common: float  # the variance alternatives share: trend, and with coordinates offset and joint

    @property
    def n_trend(self) -> int:
        """The number of the trend's features."""
        return len(self.trend.landmarks)

    @property
    def n_levels(self) -> int:
        """The number of the offset's features, which follow the trend's, for each one of κ_A."""
        return 1 if self.level is None else len(self.level.landmarks)

    @cached_property
    def shared(self) -> Array:
        """|F_A(k)|²: the share of its relatives' covariance that an alternative's features carry."""
        return np.asarray(np.sum(self.relation.features**2, axis=1))

    @cached_property
    def carried(self) -> Array:
        """Ψ_t Ψ_tᵀ, [context, context]."""
        related = self.by_context[:, self.n_trend :]
        return related @ related.T

    @property
    def left_out_share(self) -> float:
        """The share of what alternatives have in common that features do not carry from one to another."""
        trend, related = self.by_context[:, : self.n_trend], self.by_context[:, self.n_trend :]
        carried = np.sum(trend**2, axis=1).mean() + self.shared.mean() * np.sum(related**2, axis=1).mean()
        return max(0.0, 1.0 - float(carried) / self.common) if self.common > 0 else 0.0

    def expand(self, vectors: Array) -> Array:
        """Return S_k v of vectors [r, m] for every alternative, [alternative, q, m]."""
        g, a = self.n_trend, self.relation.features
        trend = np.broadcast_to(vectors[:g], (len(a), g, vectors.shape[1]))
        joint = vectors[g:].reshape(self.by_context.shape[1] - g, a.shape[1], vectors.shape[1])
        return np.concatenate([trend, np.moveaxis(a @ joint, 0, 1)], axis=1)

    def contract(self, rows: Array) -> Array:
        """Return x S_kᵀ of rows x [alternative, m, r], [alternative, m, q]."""
        g, a = self.n_trend, self.relation.features
        shape = (*rows.shape[:2], self.by_context.shape[1] - g)
        joint = rows[..., g:].reshape(*shape, a.shape[1]) @ a[:, None, :, None]
        return np.concatenate([rows[..., :g], joint.reshape(shape)], axis=2)

    def gather(self, moments: Array) -> Array:
        """Return Σ_k S_kᵀ x_k of vectors x [alternative, q, m], [r, m]."""
        g, a = self.n_trend, self.relation.features
        joint = np.moveaxis(moments[:, g:], 0, 1)  # [t, alternative, m]
        summed = (a.T @ joint).reshape(len(joint) * a.shape[1], moments.shape[2])
        return np.concatenate([moments[:, :g].sum(axis=0), summed])

    def precision(self, gram: Array) -> Array:
        """Return I + Σ_k S_kᵀ Λ_k S_k from Λ [alternative, q, q], [r, r]."""
        g, a = self.n_trend, self.relation.features
        t, r = gram.shape[1] - g, a.shape[1]
        out = np.empty((g + t * r, g + t * r))
        out[:g, :g] = gram[:, :g, :g].sum(axis=0)
        across = a.T @ np.moveaxis(gram[:, g:, :g], 0, 1)  # [t, r, g]
        out[g:, :g] = across.reshape(t * r, g)
        out[:g, g:] = out[g:, :g].T
        inner = a.T @ (np.moveaxis(gram[:, g:, g:], 0, 2)[..., None] * a)  # [t, t′, r, r′]
        out[g:, g:] = np.swapaxes(inner, 1, 2).reshape(t * r, t * r)
        out.flat[:: len(out) + 1] += 1.0
        return out


def features(prior: AdditivePrior, marks: Landmarks, n_alternatives: int) -> Features:
    """Return the features of one study's prior."""
    scale = prior.trend[0, 0]
    trend = root_of(prior.trend[:, marks.trend] / scale, marks.trend)
    nearness = root_of(prior.nearness[:, marks.contexts], marks.contexts)
    relation = root_of(prior.relation(marks.alternatives, n_alternatives).T, marks.alternatives)
    level = None if prior.level is None else root_of(prior.level[:, marks.levels], marks.levels)
    levels = np.ones((len(nearness.features), 1)) if level is None else level.features
    by_context = _by_context(prior, marks, np.sqrt(scale) * trend.features, levels, nearness.features)
    own = _own(prior, by_context, by_context, len(marks.trend))
    common = float(scale + (0.0 if prior.alternatives is None else prior.offset + prior.joint))
    return Features(marks, trend, nearness, relation, level, by_context, own, common)


def features_elsewhere(prior: AdditivePrior, cross: AdditivePrior, known: Features) -> tuple[Array, Array]:
    """Return Ψ [X, q] and ``own`` [context, X] at new contexts; ``cross`` has the tables [context, X]."""
    marks = known.marks
    scale = prior.trend[0, 0]
    trend = features_of(cross.trend[marks.trend].T / scale, known.trend.lower)
    nearness = features_of(cross.nearness[marks.contexts].T, known.nearness.lower)
    levels = np.ones((len(nearness), 1))
    if known.level is not None and cross.level is not None:
        levels = features_of(cross.level[marks.levels].T, known.level.lower)
    by_context = _by_context(cross, marks, np.sqrt(scale) * trend, levels, nearness)
    return by_context, _own(cross, known.by_context, by_context, known.n_trend)


def _by_context(
    prior: AdditivePrior, marks: Landmarks, trend: Array, levels: Array, nearness: Array
) -> Array:
    """Return Ψ from the features of the three kernels, [context, q]."""
    if not len(marks.alternatives):
        return trend
    return np.concatenate([trend, np.sqrt(prior.offset) * levels, np.sqrt(prior.joint) * nearness], axis=1)


def _own(prior: AdditivePrior, left: Array, right: Array, n_trend: int) -> Array:
    """Return the covariance of an alternative with itself that the features of the trend leave."""
    rest = prior.trend - left[:, :n_trend] @ right[:, :n_trend].T
    levels = prior.offset if prior.level is None else prior.offset * prior.level
    return np.asarray(rest + levels + (prior.joint + prior.own) * prior.nearness)


@dataclass(frozen=True)
class Solved:
    """Blocks of one size, solved: A⁰ = ρ (I + ρ B ρ)⁻¹ ρ with ρ² = N/σ²."""

    blocks: EquallyObserved
    root: Array  # ρ, [g, n]
    inverse_root: Array  # L⁻¹, L Lᵀ = I + ρ B ρ, [g, n, n]
    half: Array  # L⁻¹ ρ (Ψ, 1, Ȳ), [g, n, q + 2]

    @cached_property
    def inverse(self) -> Array:
        """(I + ρ B ρ)⁻¹, [g, n, n]."""
        return np.swapaxes(self.inverse_root, 1, 2) @ self.inverse_root

    @cached_property
    def weighed(self) -> Array:
        """A⁰ (Ψ, 1, Ȳ), [g, n, q + 2]."""
        return self.root[..., None] * (np.swapaxes(self.inverse_root, 1, 2) @ self.half)


@dataclass(frozen=True)
class Solution:
    """All that follows from the data at once: M = I + Φᵀ A⁰ Φ, M⁻¹ Φᵀ A⁰ (1, Ȳ), the constant.

    A = A⁰ − A⁰ Φ M⁻¹ Φᵀ A⁰ is the inverse covariance of the observed cells.
    """

    features: Features
    solved: list[Solved]
    gram: Array  # (Ψ, 1, Ȳ)ᵀ A⁰ (Ψ, 1, Ȳ), [alternative, q + 2, q + 2]
    lower: Array  # L, L Lᵀ = M
    coefficients: Array  # M⁻¹ Φᵀ A⁰ (1, Ȳ), [r, 2]
    log_determinant: float  # of I + ρ K ρ, all cells together
    below: float  # 1ᵀ A 1
    constant: float  # 1ᵀ A Ȳ / 1ᵀ A 1


def solve(
    features: Features, blocks: list[EquallyObserved], root: Array, value: Array, nugget: float
) -> Solution:
    """Return the solution for values and ρ [alternative, context]; ``nugget`` adds to every variance."""
    width = features.by_context.shape[1] + 2
    gram, solved, log_determinant = np.zeros((len(root), width, width)), [], 0.0
    for group in blocks:
        if group.contexts.shape[1]:
            one, of_blocks, size = _solve_blocks(features, group, group.pick(root), group.pick(value), nugget)
            gram[group.alternatives] = of_blocks
            log_determinant += size
            solved.append(one)
    q = width - 2
    lower = cholesky_factor(features.precision(gram[:, :q, :q]))
    targets = features.gather(gram[:, :q, q:])
    half = solve_lower(lower, targets)
    coefficients = solve_lower(lower, half, transposed=True)
    inner = gram[:, q:, q:].sum(axis=0) - half.T @ half
    log_determinant += 2.0 * float(np.log(np.diag(lower)).sum())
    below = float(inner[0, 0])
    constant = float(inner[0, 1]) / below
    return Solution(features, solved, gram, lower, coefficients, log_determinant, below, constant)


def within(features: Features, group: EquallyObserved) -> Array:
    """Return the covariance of an alternative's observed cells that features do not carry, [g, n, n]."""
    share = features.shared[group.alternatives, None, None]
    return np.asarray(group.pairs(features.own) - share * group.pairs(features.carried))


def _inverse_roots(blocks: Array) -> tuple[Array, float]:
    """Return L⁻¹ of matrices L Lᵀ = I + (a covariance) [g, n, n] and the sum of their log determinants."""
    lower = cholesky_factor(blocks)
    size = 2.0 * float(np.log(np.einsum("gii->gi", lower)).sum())
    if blocks.shape[1] < _SMALL_MATRIX:
        return np.asarray(np.linalg.inv(lower), float), size
    for factor in lower:
        dtrtri(factor.T, lower=0, overwrite_c=1)  # in place: LAPACK's columns are rows here
    return lower, size


def inverse_of(factor: Array) -> Array:
    """Return (L Lᵀ)⁻¹."""
    half = np.tril(dpotri(factor, lower=1)[0]) if len(factor) else factor  # LAPACK refuses empty matrices
    return half + np.tril(half, -1).T


def _solve_blocks(
    features: Features, group: EquallyObserved, root: Array, value: Array, nugget: float
) -> tuple[Solved, Array, float]:
    """Return blocks of one size solved, their Gram matrices, and the sum of their log determinants."""
    cov = within(features, group)
    np.einsum("gii->gi", cov)[...] += nugget
    inverse_root, size = _inverse_roots(bracket(cov, root))
    ones = np.ones((*root.shape, 1))
    right = np.concatenate([features.by_context[group.contexts], ones, value[..., None]], axis=2)
    half = inverse_root @ (root[..., None] * right)
    # A product with itself: no rounding can make it other than a Gram matrix.
    return Solved(group, root, inverse_root, half), np.swapaxes(half, 1, 2) @ half, size
