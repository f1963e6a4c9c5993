"""Prior runs: those of earlier sources (old data, another version of the simulator) that a study begins with.

Sufficient statistics of them are stored, from which any weighted sum of responses can be learned: count, mean
and sums of products per alternative and context of a source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.core.earlier import Earlier
from argbest.problems.axis import Axis, Bounds


@dataclass(frozen=True, eq=False)
class PriorRuns:
    """Runs of earlier sources, by pairs of an alternative and a column; a column is a context of a source."""

    sources: tuple[str, ...]
    responses: tuple[str, ...]  # () if the values are single numbers without a name
    contexts: Axis  # [column]: not only those of the problem; one may come again in another source
    source: IntArray  # [column]: its place among the sources
    alternative: IntArray  # [pair]: its place in the problem
    column: IntArray  # [pair]
    count: IntArray  # [pair]
    mean: Array  # [response, pair]
    products: Array  # [response, response, pair]: sums of products of deviations from the means

    @property
    def n(self) -> int:
        """The number of replications."""
        return int(self.count.sum())

    @property
    def words(self) -> str:
        """How many there are and where they come from, in words."""
        by_source = np.bincount(self.source[self.column], self.count, len(self.sources)).astype(int)
        named = [f"{n:,} of {name!r}" for name, n in zip(self.sources, by_source.tolist(), strict=True)]
        return f"{self.n:,} prior runs ({', '.join(named)})"

    def separation(self, contexts: Axis, bounds: Bounds) -> Array:
        """Return squared distances of the contexts of a problem and these, [coordinate, all, all]."""
        n, across = len(contexts), contexts.separation(bounds, self.contexts)
        d, size = len(across), len(contexts) + len(self.contexts)
        whole = np.empty((d, size, size))
        whole[:, :n, :n] = contexts.separation(bounds)
        whole[:, n:, :n], whole[:, :n, n:] = across, np.swapaxes(across, 1, 2)
        whole[:, n:, n:] = self.contexts.separation(bounds, self.contexts)
        return whole

    def of_sum(
        self, weights: Sequence[float], names: Sequence[str], n_alternatives: int, separation: Array
    ) -> Earlier | None:
        """Return the runs of Σ weight · response; None where they do not have all responses of that sum."""
        if self.responses:
            factors = dict(zip(names, weights, strict=True))
            if any(weight and name not in self.responses for name, weight in factors.items()):
                return None
            factor = np.array([factors.get(name, 0.0) for name in self.responses])
        else:
            if len(weights) != 1:
                return None
            factor = np.array(weights)
        shape = n_alternatives, len(self.source)
        count, mean, m2 = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape)
        where = self.alternative, self.column
        count[where], mean[where] = self.count, factor @ self.mean
        m2[where] = np.maximum(np.einsum("i,ijp,j->p", factor, self.products, factor), 0.0)
        return Earlier(count, mean, m2, self.source, len(self.sources), separation)

    def plain(self) -> dict[str, Any]:
        """Return the runs as plain values, without the contexts."""
        arrays = ("source", "alternative", "column", "count", "mean", "products")
        return {
            "sources": list(self.sources),
            "responses": list(self.responses),
            **{name: getattr(self, name).tolist() for name in arrays},
        }

    @classmethod
    def from_plain(cls, stored: Mapping[str, Any], contexts: Axis) -> "PriorRuns":
        """Return the runs of which `plain` returned the plain values."""
        n = max(len(stored["responses"]), 1)
        return cls(
            tuple(stored["sources"]),
            tuple(stored["responses"]),
            contexts,
            source=np.array(stored["source"], np.int64),
            alternative=np.array(stored["alternative"], np.int64),
            column=np.array(stored["column"], np.int64),
            count=np.array(stored["count"], np.int64),
            mean=np.array(stored["mean"], float).reshape(n, -1),
            products=np.array(stored["products"], float).reshape(n, n, -1),
        )


def summed(
    pair: IntArray, n_pairs: int, count: IntArray, mean: Array, variance: Array
) -> tuple[IntArray, Array, Array]:
    """Return count [pair], mean [response, pair] and sums of products [response, response, pair] of rows.

    A row of the pair ``pair`` [row] is the ``mean`` [response, row] of ``count`` [row] replications of the
    sample ``variance`` [response, row]. Within a row, responses are taken as independent: summaries do not
    say how they go together.
    """
    weight = count.astype(float)
    total = np.bincount(pair, weight, n_pairs)
    origin = np.zeros((len(mean), n_pairs))  # keeps the sums small where values are large and close
    origin[:, pair[::-1]] = mean[:, ::-1]
    step = mean - origin[:, pair]
    average = origin + np.array([np.bincount(pair, weight * each, n_pairs) for each in step]) / total
    left = mean - average[:, pair]
    products = np.array([[np.bincount(pair, weight * a * b, n_pairs) for b in left] for a in left])
    within = np.array([np.bincount(pair, (weight - 1.0) * each, n_pairs) for each in variance])
    places = np.arange(len(mean))
    products[places, places] += within
    return total.astype(np.int64), average, products
