"""Replications with their numbers, and what one more says where alternatives share random numbers."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.decision import Decision, at, cell, leading
from argbest.core.square_root_form import solve_in_place

PLACE = 2**31  # more than there are runs of a pair
_FIRST_CAPACITY = 16  # rows that a store makes room for at first


@dataclass(frozen=True)
class Replications:
    """Values [..., i] with their alternative, context and number; a frozen value.

    The i-th value of the n-th run of a pair has the number n + i `PLACE`: most runs give one, at place 0. In
    a context, replications of equal number share random numbers where ``shared`` says so. A number below 0
    says that the value is the mean of several that were not told one by one. Studies side by side may have
    different numbers of values: those with fewer are filled up with alternative −1.
    """

    alternative: IntArray
    context: IntArray
    number: IntArray
    value: Array
    shared: BoolArray | None = None  # [..., i]; None: the alternatives of this study share no random numbers

    def __getitem__(self, index: Any) -> "Replications":
        """Return those that an index picks: some studies, or some values of one study."""
        k, c, number, value = (part[index] for part in self.parts)
        return Replications(k, c, number, value, None if self.shared is None else self.shared[index])

    @property
    def parts(self) -> tuple[AnyArray, ...]:
        """Alternative, context, number and value."""
        return self.alternative, self.context, self.number, self.value

    @cached_property
    def single(self) -> "Replications":
        """Those that were told one by one."""
        return self._only(self.number >= 0)

    @cached_property
    def common(self) -> "Replications | None":
        """Those that share random numbers with others; None: the alternatives of the study share none."""
        return None if self.shared is None else self._only(self.shared & (self.number >= 0))

    def _only(self, some: BoolArray) -> "Replications":
        """Return some of these; of studies side by side the others become filling."""
        if some.all():  # by far the most common
            return self
        return (
            self[some] if some.ndim == 1 else replace(self, alternative=np.where(some, self.alternative, -1))
        )

    def add(self, decision: Decision, number: AnyArray, value: AnyArray) -> "Replications":
        """Return these and one more value per leading index, shared where this study shares any.

        A number below 0 says that a study has none more: it gets filling.
        """
        row = np.where(np.asarray(number) < 0, -1, decision.alternative), decision.context, number, value
        k, c, numbers, values = map(_lengthened, self.parts, row)
        shared = None if self.shared is None else _lengthened(self.shared, True)
        return Replications(k, c, numbers, values, shared)

    def moved(self, shift: Array, spread: Array) -> "Replications":
        """Return the replications with (value − shift) / spread as values; shift and spread are [...]."""
        return replace(self, value=(self.value - shift[..., None]) / spread[..., None])

    def of(self, context: AnyArray, number: AnyArray) -> BoolArray:
        """Return [..., i] whether a value has this context and this number, both [...]."""
        same = (self.context == context[..., None]) & (self.number == number[..., None])
        return np.asarray(same & (self.alternative >= 0))


def _lengthened(part: AnyArray, one: AnyArray | bool) -> AnyArray:
    """Return an array [..., i] and one more entry [...] at its end."""
    n = part.shape[-1]
    longer = np.empty((*part.shape[:-1], n + 1), part.dtype)
    longer[..., :n], longer[..., n] = part, one
    return longer


class ReplicationStore:
    """All values told in one study, or in studies side by side: the only place where they are kept.

    Rows [..., row] are only ever added, so that a view of the first n stays valid. A value has one number per
    response; tallies, values in order and frames are made from these rows.
    """

    def __init__(self, lead: tuple[int, ...] = (), *, common: bool = False, n_responses: int = 1) -> None:
        self._n = 0
        whole = np.zeros((*lead, 0), np.int64)
        self._alternative, self._context, self._number = whole, whole, whole
        self._values = np.zeros((n_responses, *lead, 0))
        self._shared = np.zeros((*lead, 0), bool)
        self.common = common  # whether alternatives were meant to share random numbers

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._n

    def respond(self, n_responses: int) -> None:
        """Set how many numbers a value has; there must be no value yet."""
        if self._n:
            raise ValueError("the number of responses cannot change once values are told")
        self._values = np.zeros((n_responses, *self._values.shape[1:]))

    @property
    def number(self) -> IntArray:
        """[..., row]: see `Replications`."""
        return self._number[..., : self._n]

    @property
    def shared(self) -> BoolArray:
        """[..., row]: whether other alternatives have the same random numbers."""
        return self._shared[..., : self._n]

    @property
    def values(self) -> Array:
        """[response, ..., row]: as they were told."""
        return self._values[..., : self._n]

    def append(
        self, alternative: AnyArray | int, context: AnyArray | int, number: AnyArray | int,
        value: AnyArray | float, *, shared: AnyArray | bool,
    ) -> None:  # fmt: skip
        """Add a row; each a number, or [...] for studies side by side, and ``value`` one per response."""
        n = self._n
        if n == self._number.shape[-1]:
            self._make_room(2 * n + _FIRST_CAPACITY)
        self._alternative[..., n] = alternative
        self._context[..., n] = context
        self._number[..., n] = number
        self._values[..., n] = value
        self._shared[..., n] = shared
        self._n = n + 1

    def extend(
        self, alternative: AnyArray, context: AnyArray, number: AnyArray, values: AnyArray, shared: AnyArray
    ) -> None:
        """Add many rows at once, [..., row] each and ``values`` [response, ..., row]."""
        n, end = self._n, self._n + np.shape(number)[-1]
        self._make_room(max(end, self._number.shape[-1]))
        columns = self._alternative, self._context, self._number, self._values, self._shared
        for column, more in zip(columns, (alternative, context, number, values, shared), strict=True):
            column[..., n:end] = more
        self._n = end

    def so_far(self, value: Array | None = None) -> Replications:
        """Return all rows told so far, each with its first response or with another ``value`` [..., row]."""
        n = self._n
        return Replications(
            self._alternative[..., :n], self._context[..., :n], self._number[..., :n],
            self._values[0, ..., :n] if value is None else value,
            self._shared[..., :n] if self.common else None,
        )  # fmt: skip

    def _make_room(self, rows: int) -> None:
        """Move to arrays of so many rows; views of the old ones stay what they are."""
        n = self._n

        def longer(old: AnyArray) -> Any:
            new = np.empty((*old.shape[:-1], rows), old.dtype)
            new[..., :n] = old[..., :n]
            return new

        self._alternative, self._context = longer(self._alternative), longer(self._context)
        self._number, self._shared = longer(self._number), longer(self._shared)
        self._values = longer(self._values)


class WeighedColumn:
    """Σ weight · response of every row of a store, computed once per row, when it is first needed."""

    def __init__(self, store: ReplicationStore, weights: tuple[float, ...]) -> None:
        self._store, self._weights = store, np.array(weights)
        self._is_response = weights == (1.0,)
        self._known, self._n = np.zeros(0), 0

    def at(self, rows: Any) -> Array:
        """Return the sums of some rows, or of one."""
        told = self._store.values
        return np.asarray(told[0, rows] if self._is_response else self._weights @ told[:, rows])

    @property
    def values(self) -> Array:
        """[row]; a single response with the weight 1 is the column of the store itself."""
        told = self._store.values
        if self._is_response:
            return np.asarray(told[0])
        n = told.shape[-1]
        if n > len(self._known):
            self._known = np.concatenate([self._known[: self._n], np.empty(n + _FIRST_CAPACITY)])
        if n > self._n:
            self._known[self._n : n] = self._weights @ told[:, self._n : n]
            self._n = n
        return np.asarray(self._known[:n])


def none(lead: tuple[int, ...] = (), *, common: bool = True) -> Replications:
    """Return the replications of studies that have none yet, with ``common`` random numbers or without."""
    return ReplicationStore(lead, common=common).so_far()


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


_LARGEST_TABLE = 1 << 22  # numbers: a larger table of all next contrasts is not made


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


class NextReplications(NamedTuple):
    """What the next replication of every cell observes, as `NextContrasts` by context, and its variance."""

    share: Array  # [..., context, g, alternative]
    shown: Array  # [..., context, alternative, g]
    var: Array  # [..., alternative, context]: noise included

    @classmethod
    def of(cls, ahead: NextContrasts, var: Array) -> "NextReplications":
        """Return them in the layout in which products of matrices are quick."""
        share, shown = ahead.share.swapaxes(-1, -3).swapaxes(-1, -2), ahead.shown.swapaxes(-1, -3)
        return cls(np.ascontiguousarray(share), np.ascontiguousarray(shown), var)

    def among(self, contexts: slice) -> "NextReplications":
        """Return those of some contexts."""
        return NextReplications(
            self.share[..., contexts, :, :], self.shown[..., contexts, :, :], self.var[..., contexts]
        )

    def covariances(self, rows: Array) -> Array:
        """Return covariances with them, [..., c, m, k], from those with every cell, [..., m, k, c]."""
        by_context = np.ascontiguousarray(rows.swapaxes(-1, -3).swapaxes(-1, -2))
        by_context -= (by_context @ self.shown) @ self.share
        return by_context


class PendingObservations(NamedTuple):
    """What m trials under way in one study will observe: Σ_j weight_j f_j of their contexts, with noise."""

    alternative: IntArray  # [m, j]
    context: IntArray  # [m]
    weight: Array  # [m, j]
    noise: Array  # [m, m]: covariance
    shocks: "Shocks | None"  # once they have come out as expected

    def merged(self) -> "PendingObservations":
        """Return the best estimates of what is observed: one for all trials that observe the same sum.

        Their noise is (Aᵀ N⁻¹ A)⁻¹ with A_ig = 1 where the i-th trial observes the g-th sum: no information
        is lost.
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
        return PendingObservations(*parts, np.linalg.inv(half.T @ half), self.shocks)

    def rows(self, belief: Any) -> Array:
        """Return L⁻¹ Cov(·, f), [m, alternative, context], LLᵀ being the variance of what they observe.

        An error of NumPy if they have none that can be factorised.
        """
        cov: Array = belief.cov_of_sums(self.alternative, self.context, self.weight)
        spread = np.einsum("imj,mj->im", cov[:, self.alternative, self.context[:, None]], self.weight)
        solve_in_place(np.linalg.cholesky(spread + self.noise), cov.reshape(len(cov), -1))
        return cov


def pending_observations(pending: IntArray, belief: Any) -> PendingObservations:
    """Return what the trials under way [alternative, context] will observe."""
    shared: Shocks | None = belief.shocks
    if shared is not None:
        return shared.pending_observations(pending, belief.mean)
    pairs = np.nonzero(pending)
    noise = np.diag(belief.noise[pairs] / pending[pairs])
    return PendingObservations(pairs[0][:, None], pairs[1], np.ones((len(noise), 1)), noise, None)


@dataclass(frozen=True)
class Shocks:
    """The replications told, by number, and the noise they share."""

    told: Replications  # when the belief was made: many, and never copied
    since: Replications  # those that the belief was updated with later: few
    noise: Array  # [..., alternative, context]: s²
    correlation: Array  # [..., context]: ρ
    following: IntArray  # [..., alternative, context]: the next number of every cell

    def study(self, index: tuple[int, ...]) -> "Shocks":
        """Return that of one of several studies."""
        parts = self.told, self.since, self.noise, self.correlation, self.following
        return Shocks(*(part[index] for part in parts))  # type: ignore[arg-type]

    def add(
        self, decision: Decision, number: AnyArray, value: AnyArray, told: AnyArray | bool = True
    ) -> "Shocks":
        """Return these with one more replication, in the studies [...] where one was ``told``."""
        table, where = self.following.copy(), cell(decision, self.following.shape)
        table[where] = np.maximum(table[where], np.where(told, after(number), 0))
        since = self.since.add(decision, np.where(told, number, -1), value)
        return replace(self, since=since, following=table)

    def contrast(self, decision: Decision, number: AnyArray) -> Contrast:
        """Return what the replication of this number of the decided cell observes."""
        lead, n_alternatives = self.correlation.shape[:-1], self.noise.shape[-2]
        present, value = np.zeros((*lead, n_alternatives), bool), np.zeros((*lead, n_alternatives))
        for shown in (self.told, self.since):
            *studies_of, place = np.nonzero(shown.of(decision.context, np.asarray(number)))
            seen = (*studies_of, shown.alternative[(*studies_of, place)])
            present[seen], value[seen] = True, shown.value[(*studies_of, place)]
        studies: tuple[Any, ...] = leading(lead)
        sd = np.sqrt(self.noise[(*studies, slice(None), decision.context)])
        own = np.sqrt(at(self.noise, decision))
        rho = self.correlation[(*studies, decision.context)]
        share, weight, noise = _weighed(present, own, sd, rho)
        weight[(*studies, decision.alternative)] = 1.0
        shown = own * share * (value / sd).sum(axis=-1)  # 0 where absent
        return Contrast(*_listed(weight), noise, shown)

    def pending_observations(self, pending: IntArray, mean: Array) -> PendingObservations:
        """Return the contrasts of trials under way in one study with what is shown, all at once.

        Given what is shown, pending replications of equal number share the noise s_i s_j (1−ρ) g.
        """
        n = pending[pending > 0]
        k, c = (np.repeat(part, n) for part in np.nonzero(pending))
        number = self.following[k, c] + np.arange(len(k)) - np.repeat(np.cumsum(n) - n, n)
        value = np.full((len(k), len(mean)), np.nan)
        for shown in (self.told, self.since):
            row, place = np.nonzero(shown.of(c, number))
            value[row, shown.alternative[place]] = shown.value[place]
        present = ~np.isnan(value)
        sd, own, rho = np.sqrt(self.noise[:, c]).T, np.sqrt(self.noise[k, c]), self.correlation[c]
        share, weight, alone = _weighed(present, own, sd, rho)
        weight[np.arange(len(k)), k] = 1.0
        alike = (c[:, None] == c) & (number[:, None] == number)
        noise = np.where(alike, own[:, None] * own * ((1.0 - rho) * share)[:, None], 0.0)
        noise[np.diag_indices(len(k))] = alone
        known = own * share * np.nansum(value / sd, axis=1)
        expected = np.sum(weight * mean[:, c].T, axis=1) + known
        every = zip(self.since.parts, (k, c, number, expected), strict=True)
        since = Replications(*(np.concatenate(both) for both in every))
        later = replace(self, since=since, following=self.following + pending)
        alternative, weight = _listed(weight)
        return PendingObservations(alternative, c, weight, noise, later).merged()

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
        table = np.zeros((*lead, numbers, n_contexts, k), bool)
        for shown in (self.told, self.since):
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
    since = none(noise.shape[:-2], common=False)
    return Shocks(shown, since, noise, correlation, following(shown, noise.shape))
