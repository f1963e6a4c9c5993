"""Replications by their numbers, where alternatives share random numbers, and what one more tells."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.decision import Decision, at, cell, leading
from argbest.core.square_root_form import solve_in_place

PLACE = 2**31  # more than there are runs of a pair
_LEAST_ROOM = 16  # for so many more there is room at least


@dataclass(frozen=True)
class Replications:
    """Single values [..., i], and the number of each: in a context equal numbers share random numbers.

    The i-th value of the n-th run has the number n + i `PLACE`: most runs give one, at place 0. Studies side
    by side may hold different numbers of values: those with fewer are filled up with alternative −1.
    """

    alternative: IntArray
    context: IntArray
    number: IntArray
    value: Array
    room: "_Room | None" = field(default=None, kw_only=True, repr=False, compare=False)  # for the next

    def __getitem__(self, index: Any) -> "Replications":
        """Return those of the studies that an index of the leading axes picks."""
        return Replications(*(part[index] for part in self.parts))

    @property
    def parts(self) -> tuple[AnyArray, ...]:
        """Alternative, context, number and value."""
        return self.alternative, self.context, self.number, self.value

    def add(self, decision: Decision, number: AnyArray, value: AnyArray) -> "Replications":
        """Return these and one more value per leading index; a number below 0 says that it shares nothing.

        The last to have grown has room for more: a value is written there, and nothing is copied.
        """
        return self.appended(
            np.where(np.asarray(number) < 0, -1, decision.alternative), decision.context, number, value
        )

    def appended(self, *row: AnyArray | float) -> "Replications":
        """Return these and one more row of `parts`, each a number or [...]."""
        n, room = self.number.shape[-1], self.room
        if room is None or not room.follows(self):
            room = _Room.of(self)
        for part, one in zip(room.parts, row, strict=True):
            part[..., n] = one
        room.used = n + 1
        return Replications(*(part[..., : n + 1] for part in room.parts), room=room)

    def moved(self, shift: Array, spread: Array) -> "Replications":
        """Return (value − shift) / spread, both [...]."""
        return replace(self, value=(self.value - shift[..., None]) / spread[..., None])

    def of(self, context: AnyArray, number: AnyArray) -> BoolArray:
        """Return [..., i] which values are this replication of this context, both [...]."""
        there = (self.context == context[..., None]) & (self.number == number[..., None])
        return np.asarray(there & (self.alternative >= 0))


class _Room:
    """Arrays longer than what is used of them, which replications that grew out of each other share."""

    def __init__(self, parts: tuple[AnyArray, ...], used: int) -> None:
        self.parts, self.used = parts, used

    def follows(self, shown: Replications) -> bool:
        """Return whether the next row can be written here: these are all that is used, and there is room."""
        n = shown.number.shape[-1]
        ours = all(part.base is whole for part, whole in zip(shown.parts, self.parts, strict=True))
        return ours and self.used == n < self.parts[0].shape[-1]

    @classmethod
    def of(cls, shown: Replications) -> "_Room":
        """Return a copy with room for as many again."""
        n = shown.number.shape[-1]
        longer = [np.empty((*part.shape[:-1], 2 * n + _LEAST_ROOM), part.dtype) for part in shown.parts]
        for whole, part in zip(longer, shown.parts, strict=True):
            whole[..., :n] = part
        return cls(tuple(longer), n)


def none(lead: tuple[int, ...] = ()) -> Replications:
    """Return the replications of studies that have none yet."""
    index = np.zeros((*lead, 0), np.int64)
    return Replications(index, index, index, np.zeros((*lead, 0)))


def after(number: AnyArray) -> AnyArray:
    """Return the number of the next run."""
    return np.asarray(number) % PLACE + 1


def following(shown: Replications, shape: tuple[int, ...]) -> IntArray:
    """Return the number of the run after the last of every cell, [..., alternative, context]."""
    table = np.zeros(shape, np.int64)
    for study in np.ndindex(shape[:-2]):
        own = shown[study]
        kept = own.alternative >= 0
        np.maximum.at(table[study], (own.alternative[kept], own.context[kept]), after(own.number[kept]))
    return table


_LARGEST_TABLE = 1 << 22  # numbers: where that of all next contrasts would be larger it is not worked out


class Contrast(NamedTuple):
    """Σ weight · f of some cells of one context, observed with noise; leading axes [...]."""

    alternative: IntArray  # [..., m]
    weight: Array  # [..., m], 0 where there are fewer
    noise: Array  # [...]: variance
    shown: Array  # [...]: what to take from the value, s_k g Σ y_j/s_j


class NextContrasts(NamedTuple):
    """What the next replication of every cell observes: f_k − Σ_g share_gk Σ_j shown_gj f_j of its context.

    Replications of the same number are a group g; each cell has a share in one at most.
    """

    share: Array  # [..., g, alternative, context]
    shown: Array  # [..., g, alternative, context]
    noise: Array  # [..., alternative, context]: variance


class NextSamples(NamedTuple):
    """What a sample of every cell would observe, as `NextContrasts` but by context, and its variance."""

    share: Array  # [..., context, g, alternative]
    shown: Array  # [..., context, alternative, g]
    var: Array  # [..., alternative, context]: noise included

    @classmethod
    def of(cls, ahead: NextContrasts, var: Array) -> "NextSamples":
        """Return the samples in the layout that products of matrices are quick in."""
        share, shown = ahead.share.swapaxes(-1, -3).swapaxes(-1, -2), ahead.shown.swapaxes(-1, -3)
        return cls(np.ascontiguousarray(share), np.ascontiguousarray(shown), var)

    def among(self, contexts: slice) -> "NextSamples":
        """Return the samples of some contexts."""
        return NextSamples(
            self.share[..., contexts, :, :], self.shown[..., contexts, :, :], self.var[..., contexts]
        )

    def covariances(self, rows: Array) -> Array:
        """Return those with every sample, [..., c, m, k], from those with every cell, [..., m, k, c]."""
        by_context = np.ascontiguousarray(rows.swapaxes(-1, -3).swapaxes(-1, -2))
        by_context -= (by_context @ self.shown) @ self.share
        return by_context


class Coming(NamedTuple):
    """What m trials under way in one study will observe: Σ_j weight_j f_j of their contexts, with noise."""

    alternative: IntArray  # [m, j]
    context: IntArray  # [m]
    weight: Array  # [m, j]
    noise: Array  # [m, m]: covariance
    shocks: "Shocks | None"  # once they have come out as expected

    def merged(self) -> "Coming":
        """Return the best estimates of what is observed: one for all trials that observe the same sum.

        Their noise is (Aᵀ N⁻¹ A)⁻¹ with A_ig = 1 where the i-th observes the g-th: nothing told is lost.
        """
        known: dict[tuple[int, bytes, bytes], int] = {}
        sums = zip(self.context.tolist(), map(bytes, self.alternative), map(bytes, self.weight), strict=True)
        which = np.array([known.setdefault(each, len(known)) for each in sums])
        if len(known) == len(which):
            return self
        half = (which[:, None] == np.arange(len(known))).astype(float)
        solve_in_place(np.linalg.cholesky(self.noise), half)
        first = np.unique(which, return_index=True)[1]
        parts = self.alternative[first], self.context[first], self.weight[first]
        return Coming(*parts, np.linalg.inv(half.T @ half), self.shocks)

    def rows(self, belief: Any) -> Array:
        """Return L⁻¹ Cov(·, f), [m, alternative, context], LLᵀ being the variance of what they observe.

        An error of NumPy if they have none that can be factorised.
        """
        cov: Array = belief.cov_of_sums(self.alternative, self.context, self.weight)
        spread = np.einsum("imj,mj->im", cov[:, self.alternative, self.context[:, None]], self.weight)
        solve_in_place(np.linalg.cholesky(spread + self.noise), cov.reshape(len(cov), -1))
        return cov


def coming(pending: IntArray, belief: Any) -> Coming:
    """Return what the trials under way [alternative, context] will observe."""
    shared: Shocks | None = belief.shocks
    if shared is not None:
        return shared.coming(pending, belief.mean)
    there = np.nonzero(pending)
    noise = np.diag(belief.noise[there] / pending[there])
    return Coming(there[0][:, None], there[1], np.ones((len(noise), 1)), noise, None)


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
        return Shocks(self.shown.add(kept, number, value), self.noise, self.correlation, table)

    def contrast(self, decision: Decision, number: AnyArray) -> Contrast:
        """Return what the replication of this number of the decided cell observes."""
        lead, n_alternatives = self.correlation.shape[:-1], self.noise.shape[-2]
        before = self.shown.of(decision.context, np.asarray(number))
        where = np.where(before, self.shown.alternative, n_alternatives)
        there = (*leading(where.shape)[:-1], where)
        present, value = np.zeros((*lead, n_alternatives + 1), bool), np.zeros((*lead, n_alternatives + 1))
        present[there], value[there] = True, self.shown.value
        present, value = present[..., :-1], value[..., :-1]
        studies: tuple[Any, ...] = leading(lead)
        sd = np.sqrt(self.noise[(*studies, slice(None), decision.context)])
        own = np.sqrt(at(self.noise, decision))
        rho = self.correlation[(*studies, decision.context)]
        share, weight, noise = _weighed(present, own, sd, rho)
        weight[(*studies, decision.alternative)] = 1.0
        shown = own * share * (value / sd).sum(axis=-1)  # 0 where absent
        return Contrast(*_listed(weight), noise, shown)

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
        share, weight, alone = _weighed(present, own, sd, rho)
        weight[np.arange(len(k)), k] = 1.0
        alike = (c[:, None] == c) & (number[:, None] == number)
        noise = np.where(alike, own[:, None] * own * ((1.0 - rho) * share)[:, None], 0.0)
        noise[np.diag_indices(len(k))] = alone
        shown = own * share * np.nansum(value / sd, axis=1)
        expected = np.sum(weight * mean[:, c].T, axis=1) + shown
        every = zip(self.shown.parts, (k, c, number, expected), strict=True)
        grown = Replications(*(np.concatenate(both) for both in every))
        later = replace(self, shown=grown, following=self.following + pending)
        alternative, weight = _listed(weight)
        return Coming(alternative, c, weight, noise, later).merged()

    @cached_property
    def next_contrasts(self) -> NextContrasts | None:
        """What every cell's next replication observes; None where tables would be too large."""
        numbers = int(self.following.max(initial=0)) + 1
        if self.following.size * max(self.following.shape[-2], numbers) > _LARGEST_TABLE:
            return None
        present = self._presence(numbers)
        count, (*before, _, every) = present.sum(axis=-1), leading(self.following.shape)
        ahead = (*before, self.following, every)
        wanted = np.zeros(count.shape, bool)
        wanted[ahead] = True
        wanted &= count > 0
        rank = np.cumsum(wanted, axis=-2)
        n_groups, seen = int(rank.max(initial=0)), count[ahead]
        number = np.argsort(~wanted, axis=-2, kind="stable")[..., :n_groups, :]
        present = np.swapaxes(present[(*before, number, every)], -1, -2)  # [..., g, alternative, context]
        group = np.where(seen > 0, rank[ahead], 0)[..., None, :, :]
        sd, rho = np.sqrt(self.noise), self.correlation[..., None, :]
        share = rho / (1.0 - rho + seen * rho)
        return NextContrasts(
            share=(group == np.arange(1, n_groups + 1)[:, None, None]) * (sd * share)[..., None, :, :],
            shown=np.ascontiguousarray(present / sd[..., None, :, :]),
            noise=self.noise * (1.0 - rho) * (1.0 + share),
        )

    def _presence(self, numbers: int) -> BoolArray:
        """Return [..., number, context, alternative] whether the first value of that run was shown."""
        *lead, k, n_contexts = self.following.shape
        shown, table = self.shown, np.zeros((*lead, numbers, n_contexts, k), bool)
        kept = np.nonzero((shown.alternative >= 0) & (shown.number < numbers))
        table[(*kept[:-1], shown.number[kept], shown.context[kept], shown.alternative[kept])] = True
        return table


def _weighed(present: BoolArray, own: Array, sd: Array, rho: Array) -> tuple[Array, Array, Array]:
    """Return g, the weights −s_k g/s_j of those ``present`` [..., j] and s_k² (1−ρ)(1 + g), own being s_k."""
    alone = 1.0 - rho
    share = rho / (alone + present.sum(axis=-1) * rho)
    weight = np.where(present, -(own * share)[..., None] / sd, 0.0)
    return share, weight, own * own * alone * (1.0 + share)


def _listed(weight: Array) -> tuple[IntArray, Array]:
    """Return the alternatives that have a weight [..., alternative], and theirs, [..., m]; then some of 0."""
    most = int((weight != 0).sum(axis=-1).max())
    order = np.argsort(weight == 0.0, axis=-1, kind="stable")[..., :most]
    return order, weight[(*leading(order.shape)[:-1], order)]


def shocks(shown: Replications, noise: Array, correlation: Array) -> Shocks:
    """Return what later replications share with those shown."""
    return Shocks(shown, noise, correlation, following(shown, noise.shape))
