"""Random replications with common random numbers, and their noise straight from the definition."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from argbest.core import replications, tally
from argbest.core.arrays import Array, IntArray
from argbest.core.decision import Decision
from argbest.core.replications import Replications
from argbest.core.tally import Tally


class Runs(NamedTuple):
    """Observations one by one; number −1: known without a number."""

    shape: tuple[int, int]
    alternative: IntArray
    context: IntArray
    number: IntArray
    y: Array
    noise: Array  # [alternative, context]
    correlation: Array  # [context]

    @property
    def tally(self) -> Tally:
        def summed(weight: Array) -> Array:
            return np.bincount(self.cells, weight, self.noise.size).reshape(self.shape).astype(float)

        count = summed(np.ones(len(self.y))).astype(np.int64)
        mean = summed(self.y) / np.maximum(count, 1)
        m2 = summed((self.y - mean[self.alternative, self.context]) ** 2)
        store, known = replications.ReplicationStore(common=True), self.number >= 0
        store.extend(
            self.alternative[known],
            self.context[known],
            self.number[known],
            self.y[known],
            np.ones(known.sum(), bool),
        )
        return Tally(count, mean, m2, replications=store.so_far())

    @property
    def cells(self) -> IntArray:
        """[observation]: flat."""
        return self.alternative * self.shape[1] + self.context

    def noise_like(self) -> Array:
        """ρ_c s_k s_j within contexts, over all cells: the noise that alternatives share, as a prior."""
        context = np.arange(self.noise.size) % self.shape[1]
        loadings = np.sqrt(self.noise * np.maximum(self.correlation, 0.0)).ravel()
        return np.where(context[:, None] == context, np.outer(loadings, loadings), 0.0)

    def noise_covariance(self) -> Array:
        """Cov of all observations' noise, pair by pair."""
        n = len(self.y)
        sd = np.sqrt(self.noise[self.alternative, self.context])
        out = np.empty((n, n))
        for i in range(n):
            for j in range(n):
                shared = self.context[i] == self.context[j] and self.number[i] == self.number[j] >= 0
                rho = 1.0 if i == j else self.correlation[self.context[i]] if shared else 0.0
                out[i, j] = rho * sd[i] * sd[j]
        return out


def numbered(found: Tally, where: Decision, value: Array, number: IntArray | int) -> Tally:
    """One more value of every study, shown by its number."""
    kept = found.replications
    return tally.add(found, where, value, replications=kept and kept.add(where, np.asarray(number), value))


def replace_common(plain: Tally) -> Tally:
    """A tally that is ready to keep replications."""
    return Tally(plain.count, plain.mean, plain.m2, replications=replications.none(plain.shape[:-2]))


def runs(
    rng: np.random.Generator,
    shape: tuple[int, int] = (4, 3),
    *,
    most: int = 5,
    correlation: Array | None = None,
    unnumbered: bool = True,
) -> Runs:
    """Draw which replications are there, gaps and cells without any included, and their values."""
    rho = rng.uniform(0.0, 0.95, shape[1]) if correlation is None else correlation
    noise = np.exp(rng.normal(0, 0.7, shape))
    truth = rng.normal(0, 2, shape)
    rows: list[tuple[int, int, int, float]] = []
    for c in range(shape[1]):
        shock = rng.standard_normal(most)
        for k in range(shape[0]):
            for r in np.flatnonzero(rng.random(most) < rng.random()):
                own = np.sqrt(rho[c]) * shock[r] + np.sqrt(1 - rho[c]) * rng.standard_normal()
                rows.append((k, c, int(r), truth[k, c] + np.sqrt(noise[k, c]) * own))
            if unnumbered and rng.random() < 0.3:
                rows += [(k, c, -1, truth[k, c] + np.sqrt(noise[k, c]) * rng.standard_normal())] * 2
    rows.append((0, 0, -1 if unnumbered else most, float(truth[0, 0])))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Runs(shape, columns[0], columns[1], columns[2], columns[3], noise, rho)


def balanced(
    rng: np.random.Generator, shape: tuple[int, int], n: int, rho: float, sd: Array | float = 1.0
) -> Runs:
    """Draw n replications of every pair with exchangeable noise of any correlation that exists."""
    covariance = np.full((shape[0], shape[0]), rho) + (1 - rho) * np.eye(shape[0])
    z = np.linalg.cholesky(covariance) @ rng.standard_normal((shape[1], shape[0], n))
    c, k, r = (part.ravel() for part in np.indices(z.shape))
    table = np.broadcast_to(np.asarray(sd, float), shape)
    y = rng.normal(0, 2, shape)[k, c] + table[k, c] * z.ravel()
    return Runs(shape, k, c, r, y, table**2, np.full(shape[1], max(rho, 0.0)))


def side_by_side(tallies: list[Tally]) -> Tally:
    """Several studies as one stack, filled up to the longest."""
    kept = [each.common for each in tallies if each.common is not None]
    most = max(len(each.number) for each in kept)

    def filled(name: str) -> Array:
        short = (getattr(each, name) for each in kept)
        return np.stack([np.pad(part, (0, most - len(part)), constant_values=-1) for part in short])

    together = Replications(*(filled(name) for name in ("alternative", "context", "number", "value")))  # type: ignore[arg-type]
    together = replace(together, shared=together.alternative >= 0)
    tables = (np.stack([getattr(each, name) for each in tallies]) for name in ("count", "mean", "m2"))
    return Tally(*tables, replications=together)
