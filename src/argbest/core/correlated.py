"""Certainty when alternatives covary: probabilities and losses from their covariances, by Sobol points."""

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, Self

import numpy as np

from argbest.core import certainty, sobol
from argbest.core.arrays import Array, BoolArray, IntArray, ndtr, ndtri
from argbest.core.belief import OneCellAtATime, of_selected
from argbest.core.blocks import drawing_root
from argbest.core.certainty import by_rows
from argbest.core.decision import of_each_context
from argbest.core.normal import kept_first
from argbest.core.normal import loss as normal_loss

SOBOL_POINTS = 4096
_ELEMENTS = 1 << 20  # numbers in one temporary array, 8 MB
_CROWD = 512  # alternatives of a context that are drawn together; of more, the likeliest to be the best
_SMALL_CROWD = 256  # of each of many beliefs about more contexts than these
_FEW_CONTEXTS = 8
_LARGE_TABLE = 2**16  # cells; of larger tables fewer alternatives are drawn in every context ...
_SMALLEST_CROWD = 128  # ... but not fewer than these
_MOST_KEPT_NUMBERS = 2**21  # numbers of drawn regrets that are kept, 16 MB
_TOO_FAR_BEHIND = 6.0  # a rival that many standard deviations behind matters less than the points can tell


class CorrelatedAlternatives(OneCellAtATime, ABC):
    """Probabilities and losses of alternatives that covary; a belief adds its means and covariances."""

    mean: Array  # [..., alternative, context]
    n_draws: int = SOBOL_POINTS  # a power of 2: points behind a probability, for each study its own

    @abstractmethod
    def difference_var(self, reference: IntArray) -> Array:
        """Return Var(f_reference(c)(c) − f_k(c)) for all k and c; ``reference`` is [..., context]."""

    @abstractmethod
    def _covariances_among(self, study: IntArray, context: IntArray, columns: IntArray) -> Array:
        """Return Cov(f_k(c), f_j(c)) of the listed alternatives [row, m] in the listed contexts, [row, m, m].

        Studies are counted flat.
        """

    def with_draws(self, n_draws: int) -> Self:
        """Return the belief that uses so many points, a power of 2, for each study."""
        return replace(self, n_draws=n_draws)  # type: ignore[type-var]

    @property
    def own_cov(self) -> None:
        """None: alternatives covary."""
        return

    def best_probability(self) -> Array:
        """Return the share of the Sobol points at which each is best; standard error below 0.008.

        With one or two contenders it is exact. Of very many alternatives the least likely count as never the
        best. The result does not depend on what was asked before.
        """
        if "share" not in self._answered:
            self._mean_of_regret(self._leader, None)
        share: Array = self._answered["share"]
        return np.moveaxis(share.reshape(*self._leader.shape, -1), -1, -2)

    def good_probability(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return P(selected within delta of the best) from Sobol points, kept between closed-form bounds.

        These are Bonferroni's bound below and the least pairwise probability above: right in the tails, where
        points fail, and equal if there is one rival. Of very many rivals the likeliest to be the best are
        drawn. The others are neighbours of these, so that their maximum hardly exceeds that of the drawn
        ones; if they counted as independent, every choice would look hopeless.
        """
        ratio = ratio_of(self._gaps(selected) + delta, self._difference_std(selected))
        average = self._mean_of_regret(selected, delta)
        bounded = np.maximum(average, self.lower_bound(selected, delta))
        return np.asarray(np.minimum(bounded, ndtr(ratio.min(axis=-2))))

    def expected_loss(self, selected: IntArray) -> Array:
        """Return E[best − selected] from Sobol points, between the largest and the sum of pairwise losses.

        Where rivals are very many, the likeliest to be the best are drawn, as in `good_probability`.
        """
        pair = _pairwise_loss(self._gaps(selected), self._difference_std(selected))
        estimate = np.maximum(self._mean_of_regret(selected, None), pair.max(axis=-2))
        return np.asarray(np.minimum(estimate, pair.sum(axis=-2)))

    def lower_bound(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return Bonferroni's bound, the one that holds however alternatives covary."""
        return certainty.bonferroni_bound(
            self._gaps(selected) + delta, self._difference_std(selected), selected
        )

    @property
    def _crowd(self) -> int:
        """How many alternatives of a context are drawn together: fewer where that is done often."""
        n_alternatives, n_contexts = self.mean.shape[-2:]
        if n_contexts <= _FEW_CONTEXTS:
            return _CROWD
        if n_alternatives * n_contexts > _LARGE_TABLE:
            return _SMALLEST_CROWD
        return _CROWD if self.n_draws == SOBOL_POINTS else _SMALL_CROWD

    def _gaps(self, selected: IntArray) -> Array:
        """Return how far each alternative's mean lies below the selected one's."""
        return of_selected(self.mean, selected)[..., None, :] - self.mean

    def _difference_std(self, selected: IntArray) -> Array:
        key = "difference", selected.tobytes()
        if key not in self._answered:
            self._answered[key] = np.sqrt(self.difference_var(selected))
        return self._answered[key]  # type: ignore[no-any-return]

    @cached_property
    def _answered(self) -> dict[Hashable, Any]:
        """Results that the next question about the same selection needs again."""
        return {}

    @cached_property
    def _leader(self) -> IntArray:
        """The alternative with the largest mean, [..., context], whichever is selected."""
        return np.asarray(np.argmax(self.mean, axis=-2))

    @cached_property
    def _behind_leader(self) -> Array:
        """How many standard deviations each alternative is behind the leader; 0 where known to be equal."""
        gap, tau = self._gaps(self._leader), self._difference_std(self._leader)
        with np.errstate(over="ignore"):
            return np.divide(gap, tau, out=np.where(gap > 0, np.inf, 0.0), where=tau > 0)

    @cached_property
    def _contenders(self) -> BoolArray:
        """Which alternatives may be the best, [..., alternative, context]; of very many the likeliest."""
        contenders = np.asarray(self._behind_leader < _TOO_FAR_BEHIND)
        if contenders.sum(axis=-2).max() <= self._crowd:
            return contenders
        promise = _pairwise_loss(self._gaps(self._leader), self._difference_std(self._leader))
        promise[of_each_context(self._leader)] = np.inf
        return _foremost(contenders, promise, self._crowd)

    def _mean_of_regret(self, selected: IntArray, delta: float | None) -> Array:
        """Return the mean of 1{regret ≤ delta} over the points, or of the regret itself, [..., context].

        With at most one rival the bounds are exact, and no regret is computed.
        """
        chosen = selected.reshape(-1)
        average, key = np.full(chosen.size, float(delta is not None)), ("regret", chosen.tobytes())
        known: Iterable[tuple[IntArray, Array]] = self._answered.get(key) or self._regrets(chosen)
        if chosen.size * self.n_draws <= _MOST_KEPT_NUMBERS:
            known = self._answered[key] = list(known)
        for rows, regret in known:
            average[rows] = np.mean(regret if delta is None else regret <= delta, axis=-1)
        return average.reshape(selected.shape)

    def _regrets(self, chosen: IntArray) -> Iterator[tuple[IntArray, Array]]:
        """Yield rows and the best minus the chosen reward at every point, [row, point].

        P(each is best), [row, alternative], follows from the same draws and is kept, unless an alternative
        was chosen that is no contender: then others are drawn than the contenders.
        """
        k = self.mean.shape[-2]
        contenders, standing = (by_rows(each) for each in (self._contenders, self._behind_leader))
        keep = contenders | (np.arange(k) == chosen[:, None])
        usual = np.array_equal(keep, contenders)
        share, leader = np.where(keep, ndtr(-standing), 0.0), self._leader.reshape(-1, 1)
        np.put_along_axis(share, leader, 0.0, axis=1)
        np.put_along_axis(share, leader, 1.0 - share.sum(axis=1, keepdims=True), axis=1)
        keep[keep.sum(axis=1) < 3] = False
        for rows, columns, draws in self._draws(keep):
            winner = draws.argmax(axis=-1)
            largest = np.take_along_axis(draws, winner[..., None], axis=-1)[..., 0]
            share[rows[:, None], columns] = _shares(draws, winner)
            own = np.argmax(columns == chosen[rows, None], axis=1)
            yield rows, largest - draws[np.arange(len(rows)), :, own]
        if usual:
            self._answered["share"] = share

    def _draws(self, keep: BoolArray) -> Iterator[tuple[IntArray, IntArray, Array]]:
        """Yield (rows, the alternatives kept there [row, m], draws of those [row, point, m]), memory bounded.

        A row is a context of a study; ``keep`` [row, alternative] says which alternatives are drawn, rows
        without any are left out. Rewards are counted from the largest mean of their context, so that large
        rewards lose no digits.
        """
        c = self.mean.shape[-1]
        mean = by_rows(self.mean - self.mean.max(axis=-2, keepdims=True))
        crowd = keep.sum(axis=1)
        for size in np.unique(crowd[crowd > 0]):
            alike = np.flatnonzero(crowd == size)
            step = max(1, _ELEMENTS // (self.n_draws * int(size)))
            for start in range(0, alike.size, step):
                rows = alike[start : start + step]
                columns = kept_first(keep[rows])
                root = drawing_root(self._covariances_among(*np.divmod(rows, c), columns))
                centre = np.take_along_axis(mean[rows], columns, axis=1)
                points = self._points(int(size), rows // c)
                yield rows, columns, centre[:, None, :] + points @ np.swapaxes(root, -1, -2)

    def _points(self, size: int, study: IntArray) -> Array:
        """Return the points of every row, [row or 1, point, m]: studies that have fewer take turns.

        They do so along the last axis of studies, so that nothing depends on how many there are before it.
        """
        parts = _normals(size).reshape(-1, self.n_draws, size)
        if len(parts) == 1:
            return parts
        return parts[study % math.prod(self.mean.shape[-3:-2]) % len(parts)]


def _shares(draws: Array, winner: IntArray) -> Array:
    """Return the share of the points that each alternative wins, [row, m] from [row, point, m].

    Alternatives that nothing tells apart are equal at every point, and each wins a part.
    """
    n_rows, n, m = draws.shape
    if np.all(np.diff(np.sort(draws[:, 0], axis=-1), axis=-1) > 0):
        places = winner + m * np.arange(n_rows)[:, None]
        wins = np.bincount(places.ravel(), minlength=n_rows * m)
        return np.asarray(wins.reshape(n_rows, m) / n)
    winners = draws == draws.max(axis=-1, keepdims=True)
    return np.asarray(np.mean(winners / winners.sum(axis=-1, keepdims=True), axis=1))


def ratio_of(gap: Array, tau: Array) -> Array:
    """Return gap/τ, infinite where τ = 0."""
    with np.errstate(over="ignore"):  # a ratio that large is infinite
        return np.asarray(np.divide(gap, tau, out=np.where(gap >= 0, np.inf, -np.inf), where=tau > 0))


def _pairwise_loss(gap: Array, tau: Array) -> Array:
    """Return E[(f_k − f_b)⁺] = τ h(gap/τ), h(v) = φ(v) − v Φ(−v)."""
    ratio = np.divide(gap, tau, out=np.zeros_like(gap), where=tau > 0)
    return np.where(tau > 0, tau * normal_loss(ratio), np.maximum(-gap, 0.0))


def _foremost(rivals: BoolArray, score: Array, crowd: int) -> BoolArray:
    """Return the rivals [..., alternative, context]; of a larger crowd in a context the best scorers."""
    order = np.argsort(np.where(rivals, -score, np.inf), axis=-2, kind="stable")[..., :crowd, :]
    kept = np.zeros(rivals.shape, bool)
    np.put_along_axis(kept, order, True, axis=-2)
    return kept & rivals


def sobol_points(k: int) -> Array:
    """Return fixed scrambled Sobol points, multiples of 2⁻³⁰, [point, k]; see `dimensions`."""
    return sobol.points(int(np.log2(SOBOL_POINTS)), k, seed=0)


def _normals(k: int) -> Array:
    """Return the normal quantiles of Sobol points, [point, k]: their first coordinates."""
    return _all_normals(dimensions(k))[:, :k]


def dimensions(k: int) -> int:
    """Return how many coordinates the points have of which k are used, a power of 2: few sets serve all."""
    return 1 << (k - 1).bit_length()


@cache
def _all_normals(k: int) -> Array:
    normals: Array = ndtri(sobol_points(k) + 2.0**-31)  # a point may be 0
    normals.flags.writeable = False
    return normals
