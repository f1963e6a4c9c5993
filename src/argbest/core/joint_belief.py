"""The belief of the joint GP: any covariance between all cells, held as the whole matrix."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from argbest.core import conditioning
from argbest.core.arrays import AnyArray, Array, IntArray
from argbest.core.belief import of_selected
from argbest.core.correlated import CorrelatedAlternatives, gathered, weight_of
from argbest.core.decision import Decision, at, cell, of_each_context
from argbest.core.tally import Tally

_ELEMENTS = 1 << 22  # numbers in one temporary array, 32 MB; conditioning holds a handful of them


@dataclass(frozen=True)
class JointBelief(CorrelatedAlternatives):
    """Alternatives and contexts that covary; probabilities from fixed Sobol points, within bounds."""

    mean: Array  # [..., alternative, context]
    cov: Array  # [..., alternative, context, alternative, context]
    noise: Array  # [..., alternative, context]

    @cached_property
    def var(self) -> Array:
        """Posterior variance, the diagonal of the covariance."""
        diagonal: Array = np.einsum("...kckc->...kc", self.cov)
        return np.maximum(diagonal, 0.0)

    def cov_with(self, decision: Decision) -> Array:
        """Return the decided row of the covariance."""
        row: Array = self.cov[cell(decision, self.mean.shape)]
        return row

    def difference_var(self, reference: IntArray) -> Array:
        """Return V_b + V_k − 2 Cov(f_b, f_k) at each context, 0 for the reference itself."""
        among = np.einsum("...kcjc->...cjk", self.cov)
        shared = np.take_along_axis(among, reference[..., None, None], axis=-2)[..., 0, :]
        total = self.var + of_selected(self.var, reference)[..., None, :] - 2.0 * np.swapaxes(shared, -1, -2)
        total = np.maximum(total, 0.0)
        total[of_each_context(reference)] = 0.0
        return np.asarray(total)

    def update(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> "JointBelief":
        """Return the rank-one update v(y − μ)/s, vvᵀ/s, v the decided column, s = V + σ²/n; O(K² C²)."""
        column = self.cov_with(decision)
        weight = weight_of(np.asarray(n, float), at(self.var, decision), at(self.noise, decision))
        surprise = (np.asarray(value, float) - at(self.mean, decision)) * weight
        mean = self.mean + column * surprise[..., None, None]
        flat = column.reshape(*column.shape[:-2], -1)
        cov = (flat * -weight[..., None])[..., :, None] * flat[..., None, :]  # in this order no overflow
        cov = cov.reshape(self.cov.shape)
        cov += self.cov
        return JointBelief(mean, cov, self.noise)

    def draw(self, normals: Array) -> Array:
        """Return μ + √S z over all cells, with the symmetric root: singular covariances are welcome."""
        lead, n = self.mean.shape[:-2], self.mean.shape[-2] * self.mean.shape[-1]
        values, vectors = np.linalg.eigh(self.cov.reshape(*lead, n, n))
        flat = np.moveaxis(normals.reshape(len(normals), *lead, n), 0, -1)
        inner = np.swapaxes(vectors, -1, -2) @ flat
        deviation = vectors @ (np.sqrt(np.maximum(values, 0.0))[..., None] * inner)
        draws: Array = self.mean + np.moveaxis(deviation, -1, 0).reshape(normals.shape)
        return draws

    def _covariances_among(self, study: IntArray, context: IntArray, columns: IntArray) -> Array:
        """Return the covariance of the listed alternatives in each listed context, [row, m, m]."""
        k, c = self.mean.shape[-2:]
        rows: Array = self.cov.reshape(-1, k, c, k, c)[study, :, context, :, context]
        return gathered(rows, columns)


def condition(relation: Array, nearness: Array, constant: Array, noise: Array, tally: Tally) -> JointBelief:
    """Return the exact belief at the contexts, in chunks of studies so that memory stays bounded.

    The prior covariance is ``relation`` [..., K, K] × ``nearness`` [..., C, C], the scale in either;
    ``constant`` is [...], ``noise`` [..., K, C].
    """
    k, c = tally.shape[-2:]
    studies = _Studies.of(relation, nearness, constant, noise, tally)
    mean, cov = np.empty((len(studies.constant), k * c)), np.empty((len(studies.constant), k * c, k * c))
    for some in _chunks(len(mean), (k * c) ** 2):
        part = studies.some(some)
        mean[some], cov[some] = conditioning.posterior(part.prior(), part.constant, part.noise, part.tally)
    return JointBelief(mean.reshape(tally.shape), cov.reshape(*tally.shape, k, c), noise)


def predict(
    relation: Array, nearness: Array, cross: Array, constant: Array, noise: Array, tally: Tally
) -> JointBelief:
    """Return the belief at X new contexts, each by itself: arrays [X, ..., alternative, 1].

    ``cross`` [X, ..., C] is the points' factor of the prior covariance with the contexts; a point's own is
    ``nearness[..., 0, 0]``. The noise at a point is the alternative's average.
    """
    lead, (k, c), n_points = tally.shape[:-2], tally.shape[-2:], len(cross)
    studies = _Studies.of(relation, nearness, constant, noise, tally)
    cross = cross.reshape(n_points, -1, c)
    mean, cov = (
        np.empty((n_points, len(studies.constant), k)),
        np.empty((n_points, len(studies.constant), k, k)),
    )
    for some in _chunks(len(studies.constant), (k * c) ** 2):
        part = studies.some(some)
        for points in _chunks(n_points, len(part.constant) * k * k * c):
            mean[points, some], cov[points, some] = part.at(cross[points, some])
    every = np.broadcast_to(noise.mean(axis=-1), (n_points, *lead, k))[..., None].copy()
    return JointBelief(mean.reshape(every.shape), cov.reshape(*every.shape, k, 1), every)


class _Studies(NamedTuple):
    """What the posterior of several studies follows from; all cells of a study on one axis."""

    relation: Array  # [study, K, K]
    nearness: Array  # [study, C, C]
    constant: Array  # [study]
    noise: Array  # [study, K C]
    tally: Tally  # [study, K C]

    @classmethod
    def of(cls, relation: Array, nearness: Array, constant: Array, noise: Array, tally: Tally) -> "_Studies":
        k, c = tally.shape[-2:]
        cells = (-1, k * c)
        flat = Tally(tally.count.reshape(cells), tally.mean.reshape(cells), tally.m2.reshape(cells))
        return cls(
            relation.reshape(-1, k, k), nearness.reshape(-1, c, c), constant.reshape(-1),
            noise.reshape(-1, k * c), flat,
        )  # fmt: skip

    def some(self, which: slice) -> "_Studies":
        relation, nearness, constant, noise, tally = self
        return _Studies(relation[which], nearness[which], constant[which], noise[which], tally[which])

    def prior(self) -> Array:
        """Return the prior covariance of all cells, [study, K C, K C]."""
        return _product(self.relation, self.nearness)

    def at(self, cross: Array) -> tuple[Array, Array]:
        """Return mean [X, study, K] and covariance [X, study, K, K] from ``cross`` [X, study, C]."""
        n_points, n_studies = cross.shape[:2]
        k = self.relation.shape[-1]
        toward = _product(self.relation, np.moveaxis(cross, 0, -1))  # [study, K C, K X]
        half, weighted = conditioning.reduce(self.prior(), self.constant, self.noise, self.tally, toward)
        half = np.moveaxis(half.reshape(n_studies, -1, k, n_points), -1, 0)  # [X, study, K C, K]
        mean = self.constant[:, None] + np.einsum("xsik,si->xsk", half, weighted)
        return mean, self.relation * self.nearness[:, :1, :1] - np.swapaxes(half, -1, -2) @ half


def _product(relation: Array, nearness: Array) -> Array:
    """Return the Kronecker product [..., K C, K′ C′] of [..., K, K′] and [..., C, C′]."""
    whole = relation[..., :, None, :, None] * nearness[..., None, :, None, :]
    (k, c, kk, cc), lead = whole.shape[-4:], whole.shape[:-4]
    return whole.reshape(*lead, k * c, kk * cc)


def _chunks(n: int, size: int) -> Iterator[slice]:
    """Return slices that cover n items, each of few enough for arrays of ``size`` numbers per item."""
    step = max(1, _ELEMENTS // size)
    return (slice(i, i + step) for i in range(0, n, step))
