"""Earlier runs: those of another source than the one that is asked about, as further cells of its table.

Old data, or another version of a simulator, are contexts of their own: at the distance of their coordinates,
and 1 from the source that is asked about in one more coordinate for every earlier source. Its length is
learned, so that a source that misleads is moved away by the evidence, and one that is right counts. The model
alone sees these cells; beliefs, answers and policies are about the contexts of the study.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.core.binomial import is_rate
from argbest.core.setting import Setting
from argbest.core.tally import Tally, moments

# Standard deviations of a single reward: a trend carries sources whose levels differ by less.
_FAR = 3.0


@dataclass(frozen=True, eq=False)
class Earlier:
    """What earlier sources have shown, [alternative, column]; a column is a context of one of them."""

    count: IntArray
    mean: Array  # 0 where nothing was observed
    m2: Array
    source: IntArray  # [column]: 0, 1, ...
    n_sources: int
    separation: Array  # [coordinate, context + column, context + column]: squared distances of the contexts

    @cached_property
    def wide(self) -> Array:
        """The distances with those of the sources, [coordinate + source, all, all]."""
        place = self._place
        return np.concatenate([self.separation, (place[:, :, None] - place[:, None, :]) ** 2])

    def from_points(self, separation: Array) -> Array:
        """Return distances of points of the source that is asked about, [coordinate + source, X, all].

        ``separation`` [coordinate, X, all] is that of their contexts.
        """
        place = np.broadcast_to(self._place[:, None, :], (self.n_sources, *separation.shape[1:]))
        return np.concatenate([separation, place])

    @cached_property
    def _place(self) -> Array:
        """Where all contexts lie in the coordinates of the sources, [source, all]: at 0 or 1."""
        n_contexts = self.separation.shape[1] - len(self.source)
        every = np.concatenate([np.full(n_contexts, -1), self.source])
        return np.asarray(every == np.arange(self.n_sources)[:, None], float)

    @cached_property
    def context(self) -> IntArray:
        """The context of the study that each column is about, [column]; -1 where it is another."""
        n = self.separation.shape[1] - len(self.source)
        same = np.all(self.separation[:, n:, :n] == 0.0, axis=0)
        return np.where(same.any(axis=1), np.argmax(same, axis=1), -1)

    def of_source(self, source: int) -> Tally:
        """Return the tally of one source, [alternative, column]."""
        own = self.source == source
        return Tally(self.count[:, own], self.mean[:, own], self.m2[:, own])


def widened(tally: Tally, setting: Setting) -> tuple[Tally, Setting]:
    """Return what a model learns from: the contexts of the study, then those of the earlier sources."""
    earlier = tally.earlier
    if earlier is None:
        return tally, setting
    shape = (*tally.shape[:-2], *earlier.count.shape)
    count = np.concatenate([tally.count, np.broadcast_to(earlier.count, shape)], axis=-1)
    mean = np.concatenate([tally.mean, np.broadcast_to(earlier.mean, shape)], axis=-1)
    m2 = np.concatenate([tally.m2, np.broadcast_to(earlier.m2, shape)], axis=-1)
    wide = Tally(count, mean, m2, replications=tally.replications)
    moved = np.where(is_rate(wide)[..., None], 0.0, _shifts(tally, earlier))[..., earlier.source]
    if moved.any():
        n = tally.shape[-1]
        mean[..., n:] -= np.where(count[..., n:] > 0, moved[..., None, :], 0.0)
    return wide, replace(setting, separation=earlier.wide, n_sources=earlier.n_sources)


def _shifts(tally: Tally, earlier: Earlier) -> Array:
    """Return how far the level of every source is off where no trend could carry that, else 0; [..., source].

    From pairs that were run in both, or of all runs where there are none.
    """
    found = np.zeros((*tally.shape[:-2], earlier.n_sources))
    for source in range(earlier.n_sources):
        old, where = earlier.of_source(source), earlier.context[earlier.source == source]
        known = where >= 0
        count = tally.count[..., where] * known
        weight = count * old.count / np.maximum(count + old.count, 1)
        total = weight.sum(axis=(-2, -1))
        matched = np.sum(weight * (old.mean - tally.mean[..., where]), axis=(-2, -1)) / np.maximum(
            total, 1e-300
        )
        (n, mean, sd), (n_old, mean_old, sd_old) = (
            (part[..., 0, 0] for part in moments(each, (-2, -1))) for each in (tally, old)
        )
        off = np.where(total > 0, matched, mean_old - mean)
        told = (n > 0) & (n_old > 0) & (np.abs(off) > _FAR * np.maximum(sd, sd_old))
        found[..., source] = np.where(told, off, 0.0)
    return found
