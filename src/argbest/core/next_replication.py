"""What one more replication tells where its noise is in part known: other alternatives have shown it.

Given all data, replication r of (k, c) is an observation of the contrast
x = f_k − s_k g Σ_{j∈A} f_j/s_j, g = ρ/(1−ρ+n_A ρ), where A are the alternatives that have shown number r: y_k
less s_k g Σ_{j∈A} y_j/s_j, with noise variance s_k² (1−ρ)(1 + g).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.decision import Decision, at, cell, leading
from argbest.core.replications import PLACE, Replications, after, following
from argbest.core.scipys import solve_triangular

_MOST = 1 << 22  # numbers in a table; that of all next contrasts is not worked out where it would be larger


class Contrast(NamedTuple):
    """Σ weight · f of some cells of one context, observed with noise; leading axes [...]."""

    alternative: IntArray  # [..., m]
    weight: Array  # [..., m], 0 where there are fewer
    noise: Array  # [...]: variance
    shown: Array  # [...]: what to take from the value, s_k g Σ y_j/s_j


class NextSamples(NamedTuple):
    """What a sample of every cell would observe: the sum of cells of its context by these weights."""

    weight: Array  # [..., context, alternative, alternative′]
    var: Array  # [..., alternative, context]: variance of the sample, noise included

    def covariances(self, rows: Array) -> Array:
        """Return those with every sample, from those with every cell, [..., m, alternative, context]."""
        by_context = np.moveaxis(rows, -1, -3) @ np.swapaxes(self.weight, -1, -2)
        return np.moveaxis(by_context, -3, -1)


class Coming(NamedTuple):
    """What m trials under way in one study will observe: weight @ f of the cells, with noise."""

    cells: IntArray  # [u]
    weight: Array  # [m, u]
    noise: Array  # [m, m]: covariance
    shocks: "Shocks | None"  # once they have come out as expected

    def rows(self, belief: Any) -> Array:
        """Return L⁻¹ Cov(·, f), [m, alternative, context], LLᵀ being the variance of what they observe.

        An error of NumPy if they have none that can be factorised.
        """
        shape = belief.mean.shape
        cov, step = np.zeros((len(self.weight), shape[0] * shape[1])), max(1, _MOST // belief.mean.size)
        for some in (slice(i, i + step) for i in range(0, len(self.cells), step)):
            there = belief.cov_rows(*np.divmod(self.cells[some], shape[1]))
            cov += self.weight[:, some] @ there.reshape(len(there), -1)
        root = np.linalg.cholesky(cov[:, self.cells] @ self.weight.T + self.noise)
        solved: Array = solve_triangular(root, cov, lower=True, check_finite=False)
        return solved.reshape(-1, *shape)


def coming(pending: IntArray, belief: Any) -> Coming:
    """Return what the trials under way [alternative, context] will observe."""
    shared: Shocks | None = belief.shocks
    if shared is not None:
        return shared.coming(pending, belief.mean)
    there = np.nonzero(pending)
    noise = np.diag(belief.noise[there] / pending[there])
    return Coming(np.flatnonzero(pending), np.eye(len(noise)), noise, None)


@dataclass(frozen=True)
class Shocks:
    """The replications told, by number, and the noise they share."""

    shown: Replications
    noise: Array  # [..., alternative, context]: s²
    correlation: Array  # [..., context]: ρ
    following: IntArray  # [..., alternative, context]: the next number of every cell

    def study(self, index: tuple[int, ...]) -> "Shocks":
        """Return that of one of several studies."""
        return Shocks(self.shown[index], self.noise[index], self.correlation[index], self.following[index])

    def taken(
        self, decision: Decision, number: AnyArray, value: AnyArray, told: AnyArray | bool = True
    ) -> "Shocks":
        """Return these with one more replication shown, in the studies of which one was ``told`` [...]."""
        table, where = self.following.copy(), cell(decision, self.following.shape)
        table[where] = np.maximum(table[where], np.where(told, after(number), 0))
        kept = Decision(np.where(told, decision.alternative, -1), decision.context)
        later = replace(self, shown=self.shown.add(kept, number, value), following=table)
        known: tuple[Array, Array] | None = self.__dict__.get("next_contrasts")
        if known is not None and table.ndim == 2 and not later._too_many:
            here = slice(int(decision.context), int(decision.context) + 1)
            weight, noise = (each.copy() for each in known)
            weight[here], noise[:, here] = later._contrasts(here)
            later.__dict__["next_contrasts"] = weight, noise
        return later

    def contrast(self, decision: Decision, number: AnyArray) -> Contrast:
        """Return what the replication of this number of the decided cell observes."""
        lead, n_alternatives = self.correlation.shape[:-1], self.noise.shape[-2]
        number = np.broadcast_to(number, lead)
        before = self.shown.of(decision.context, number)
        where = np.where(before, self.shown.alternative, n_alternatives)
        there = (*leading(where.shape)[:-1], where)
        present, value = np.zeros((*lead, n_alternatives + 1), bool), np.zeros((*lead, n_alternatives + 1))
        present[there], value[there] = True, self.shown.value
        present, value = present[..., :-1], value[..., :-1]
        studies: tuple[Any, ...] = leading(lead)
        sd = np.sqrt(self.noise[(*studies, slice(None), decision.context)])
        own = np.sqrt(at(self.noise, decision))
        rho = self.correlation[(*studies, decision.context)]
        share = rho / (1.0 - rho + present.sum(axis=-1) * rho)
        weight = np.where(present, -(own * share)[..., None] / sd, 0.0)
        weight[(*studies, decision.alternative)] = 1.0
        most = int((weight != 0).sum(axis=-1).max())
        order = np.argsort(weight == 0.0, axis=-1, kind="stable")[..., :most]
        shown = own * share * np.sum(np.where(present, value / sd, 0.0), axis=-1)
        kept = weight[(*leading(order.shape)[:-1], order)]
        return Contrast(order, kept, own**2 * (1.0 - rho) * (1.0 + share), shown)

    def coming(self, pending: IntArray, mean: Array) -> Coming:
        """Return the contrasts of trials under way in one study with what is shown, all at once.

        Given that, replications of equal number share noise: s_i s_j (1−ρ) g.
        """
        n = pending[pending > 0]
        k, c = (np.repeat(part, n) for part in np.nonzero(pending))
        number = self.following[k, c] + np.arange(len(k)) - np.repeat(np.cumsum(n) - n, n)
        row, place = np.nonzero(self.shown.of(c, number))
        value = np.full((len(k), len(mean)), np.nan)
        value[row, self.shown.alternative[place]] = self.shown.value[place]
        present = ~np.isnan(value)
        sd, own, rho = np.sqrt(self.noise[:, c]).T, np.sqrt(self.noise[k, c]), self.correlation[c]
        share = rho / (1.0 - rho + present.sum(axis=1) * rho)
        weight = np.where(present, -(own * share)[:, None] / sd, 0.0)
        weight[np.arange(len(k)), k] = 1.0
        alike = (c[:, None] == c) & (number[:, None] == number)
        noise = np.where(alike, own[:, None] * own * ((1.0 - rho) * share)[:, None], 0.0)
        noise[np.diag_indices(len(k))] = own**2 * (1.0 - rho) * (1.0 + share)
        shown = own * share * np.nansum(value / sd, axis=1)
        expected = np.sum(weight * mean[:, c].T, axis=1) + shown
        every = zip(self.shown.parts, (k, c, number, expected), strict=True)
        later = replace(
            self,
            shown=Replications(*(np.concatenate(both) for both in every)),
            following=self.following + pending,
        )
        row, alternative = np.nonzero(weight)
        cells, column = np.unique(alternative * mean.shape[1] + c[row], return_inverse=True)
        whole = np.zeros((len(k), len(cells)))
        whole[row, column] = weight[row, alternative]
        return Coming(cells, whole, noise, later)

    @cached_property
    def next_contrasts(self) -> tuple[Array, Array] | None:
        """The weights [..., context, k, j] and noises [..., k, c] of every cell's next replication.

        None where the table would be too large. A replication changes those of its context alone.
        """
        return None if self._too_many else self._contrasts(slice(None))

    @property
    def _too_many(self) -> bool:
        *lead, k, c = self.following.shape
        return bool(int(np.prod(lead)) * c * k * max(k, int(self.following.max(initial=0)) + 1) > _MOST)

    def _contrasts(self, some: slice) -> tuple[Array, Array]:
        """Return the weights and noises of some contexts."""
        ahead = np.swapaxes(self.following[..., some], -1, -2)  # [..., c, k]
        known = self._presence(some)[(*leading(ahead.shape)[:-1], ahead)]  # [..., c, k, j]
        rho, sd = self.correlation[..., some, None], np.sqrt(np.swapaxes(self.noise[..., some], -1, -2))
        share = rho / (1.0 - rho + known.sum(axis=-1) * rho)
        weight = np.where(known, -(sd * share)[..., None] / sd[..., None, :], 0.0)
        np.einsum("...kk->...k", weight)[...] = 1.0
        return weight, np.swapaxes(sd**2 * (1.0 - rho) * (1.0 + share), -1, -2)

    def _presence(self, some: slice) -> BoolArray:
        """Return [..., context, number, alternative] whether the first value of that run was shown."""
        shown, (*lead, k, n_contexts) = self.shown, self.following.shape
        first, end, _ = some.indices(n_contexts)
        numbers = int(self.following[..., some].max(initial=0)) + 1
        table = np.zeros((*lead, end - first, numbers, k), bool)
        real = (shown.alternative >= 0) & (shown.number < PLACE)
        if end - first < n_contexts:
            real &= (shown.context >= first) & (shown.context < end)
        run = np.nonzero(real)[:-1]
        table[(*run, shown.context[real] - first, shown.number[real], shown.alternative[real])] = True
        return table


def shocks(shown: Replications, noise: Array, correlation: Array) -> Shocks:
    """Return what later replications share with those shown."""
    return Shocks(shown, noise, correlation, following(shown, noise.shape))
