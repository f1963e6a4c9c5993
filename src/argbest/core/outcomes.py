"""Several outcomes of one replication: the goal, and how far every limit is kept (its slack).

Each outcome has a belief of its own, learned apart. What ties them is that one replication shows all of them:
the noise of its outcomes is correlated, and so are the errors of the posterior means. With Σ_i the posterior
covariance of outcome i, N the counts, σ_i² the noise and ρ_ij the correlation of the noise of two outcomes,

    Cov(f_i, f_j) = Σ_i diag(ρ_ij N / (σ_i σ_j)) Σ_j,

which is exact in the first order of ρ, keeps every belief as it is, and never fails to be a covariance. Where
alternatives share random numbers, the precision of what was told in a context takes the place of N/σ².

Of a response without noise, such as the staff of a plan, every pair is known once it was simulated
(`known_exactly`). No belief can say so exactly, and a limit that is just met would be kept with a probability
of one half.

What is learned are sums of responses (`Basis`); a slack is one of them, turned and moved by the bound. Tables
of outcomes are [..., outcome, alternative, context], the goal first, then the slacks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from argbest.core.abilities import offers
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray, ndtr
from argbest.core.belief import (
    Belief,
    DrawsWholeTables,
    Focused,
    SeveralOutcomes,
    quick_draw,
    shocks_of,
    with_mean,
)
from argbest.core.blocks import square_root
from argbest.core.decision import Decision
from argbest.core.goals import LinearForm
from argbest.core.noise import taken_for_rate
from argbest.core.replications import Shocks
from argbest.core.tally import Tally

_MOST_TIED = 600  # observed pairs whose errors are tied: what that takes grows with the cube of their number
_ROWS_AT_ONCE = 1 << 22  # numbers of their covariances with all pairs; of more some are made at a time
_FAR = 100.0  # in standard deviations: no draw reaches so far
_ROUNDING = 1e-14  # of the largest mean: values that differ by no more are equal
_MET = 1e-12  # of a bound: a slack of no more is 0


class Follows(NamedTuple):
    """How an outcome follows from one of the sums that are learned: sign · sum + constant."""

    sum: int  # its place
    sign: float  # 1 or −1
    constant: float


@dataclass(frozen=True)
class Basis:
    """The sums of responses that are learned about, and how the goal and the slacks follow from them.

    A bound is no part of what is learned: a rate stays one, and another bound needs no new fit. Limits on the
    same sum, or on the sum that is the goal, follow from one belief.
    """

    weights: tuple[tuple[float, ...], ...]  # of every sum: a factor per response
    outcomes: tuple[Follows, ...]  # the goal first, then the slack of every limit

    @classmethod
    def of(cls, forms: Sequence[LinearForm]) -> "Basis":
        """Return the basis of the goal and the slacks as linear forms of the responses."""
        weights: list[tuple[float, ...]] = []
        outcomes = []
        for form in forms:
            own = tuple(form.coefficients.tolist())
            opposite = tuple((-form.coefficients).tolist())
            if opposite in weights:
                outcomes.append(Follows(weights.index(opposite), -1.0, form.constant))
                continue
            if own not in weights:
                weights.append(own)
            outcomes.append(Follows(weights.index(own), 1.0, form.constant))
        return cls(tuple(weights), tuple(outcomes))

    @property
    def n_sums(self) -> int:
        """How many sums are learned about."""
        return len(self.weights)

    def sums(self, responses: Array) -> Array:
        """Return the sums, the first axis, from the responses, the first axis: [sum, ...]."""
        return np.asarray(
            np.tensordot(self._matrix, responses, 1) if responses.ndim > 2 else self._matrix @ responses
        )

    @cached_property
    def _matrix(self) -> Array:
        return np.array(self.weights)

    def sums_of_outcomes(self, outcomes: Array) -> Array:
        """Return the sums [..., sum, alternative, context] from all outcomes, of which they follow."""
        if len(self.outcomes) == 1:
            return outcomes[..., None, :, :]
        places = [each.sum for each in self.outcomes]
        found = [(i, self.outcomes[i]) for i in map(places.index, range(self.n_sums))]
        return np.stack([how.sign * (outcomes[..., i, :, :] - how.constant) for i, how in found], axis=-3)

    def belief(self, sums: Sequence[Belief], exact: Array | None = None) -> Belief:
        """Return the belief that questions are asked of: that of the only sum, or `Outcomes` with limits."""
        return sums[0] if len(self.outcomes) == 1 else Outcomes(tuple(sums), self, exact=exact)


ONE = Basis(((1.0,),), (Follows(0, 1.0, 0.0),))


def only_response(weights: Sequence[float]) -> int | None:
    """Return the place of the response that a sum is, whatever its sign; None if it is more than one.

    A multiple of a response is another number: it may be no rate where the response is one.
    """
    used = [i for i, factor in enumerate(weights) if factor]
    return used[0] if len(used) == 1 and abs(weights[used[0]]) == 1.0 else None


def sums_of(belief: Belief) -> tuple[Belief, ...]:
    """Return the beliefs about all sums that are learned; without limits there is one."""
    return belief.sums if offers(belief, SeveralOutcomes) else (belief,)


def of_each_sum(belief: Belief, change: Callable[[int, Belief], Belief]) -> Belief:
    """Return the belief with that about every sum changed; ``change`` gets its place and the belief."""
    return belief.each(change) if offers(belief, SeveralOutcomes) else change(0, belief)


@dataclass(frozen=True, eq=False)
class SharedNoise:
    """What the noise of the sums of one replication has in common."""

    correlation: Array  # [..., sum, sum]
    count: IntArray  # [..., alternative, context]: replications told of every pair


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Beliefs about the goal, larger being better, and about the slack of every limit, 0 or more keeping it.

    They follow from beliefs about the ``sums`` of responses that are learned, as ``basis`` says. Where one
    belief is asked for, that about the goal answers; `draw` is joint. The values of `update` are [..., sum].
    """

    sums: tuple[Belief, ...]
    basis: Basis
    shared: SharedNoise | None = None  # None: the sums are drawn as if they had nothing in common
    lowered: Array | None = None  # [..., alternative, context]: taken from the slack of the first limit
    exact: Array | None = None  # [..., sum, alternative, context]: see `known_exactly`

    @classmethod
    def of(cls, goal: Belief, slacks: Sequence[Belief], shared: SharedNoise | None = None) -> "Outcomes":
        """Return the outcomes whose beliefs are these, each a sum of its own."""
        n = 1 + len(slacks)
        weights = tuple(tuple(float(i == j) for j in range(n)) for i in range(n))
        return cls((goal, *slacks), Basis(weights, tuple(Follows(i, 1.0, 0.0) for i in range(n))), shared)

    @cached_property
    def goal(self) -> Belief:
        """The belief about the goal."""
        return self._outcome(self.basis.outcomes[0])

    @cached_property
    def slacks(self) -> tuple[Belief, ...]:
        """The beliefs about the slack of every limit."""
        first, *others = (self._slack(i) for i in range(1, len(self.basis.outcomes)))
        if self.lowered is not None:
            first = with_mean(first, first.mean - self.lowered)
        return first, *others

    def _slack(self, place: int) -> Belief:
        """Return the belief about a slack, surely on its side of 0 where it is known."""
        slack = self._outcome(self.basis.outcomes[place])
        if self._exact_outcomes is None:
            return slack
        exact, far = self._exact_outcomes[..., place, :, :], _FAR * np.sqrt(slack.var)
        sure = np.where(exact >= 0, np.maximum(exact, far), np.minimum(exact, -far))
        return with_mean(slack, np.where(np.isnan(exact), slack.mean, sure))

    @cached_property
    def _exact_outcomes(self) -> Array | None:
        """What outcomes are known to be, [..., outcome, alternative, context]; a bound that is met is 0."""
        if self.exact is None:
            return None
        found = []
        for of_sum, sign, bound in self.basis.outcomes:
            value = self.exact[..., of_sum, :, :]
            outcome = sign * value + bound
            met = np.abs(outcome) <= _MET * np.maximum(np.abs(value), np.abs(bound))
            found.append(np.where(met, 0.0, outcome))
        return np.stack(found, axis=-3)

    def _outcome(self, how: Follows) -> Belief:
        """Return the belief about an outcome: covariances have no sign, and a constant none at all."""
        of_sum = self.sums[how.sum]
        if how.sign > 0 and not how.constant:
            return of_sum
        return with_mean(of_sum, how.sign * of_sum.mean + how.constant)

    @property
    def outcomes(self) -> tuple[Belief, ...]:
        """The beliefs about all of them, the goal's first."""
        return self.goal, *self.slacks

    def each(self, change: Callable[[int, Belief], Belief]) -> "Outcomes":
        """Return these with the belief about every sum changed; ``change`` gets its place and the belief."""
        return replace(self, sums=tuple(change(i, belief) for i, belief in enumerate(self.sums)))

    @property
    def mean(self) -> Array:
        """Posterior mean of the goal."""
        return self.goal.mean

    @property
    def var(self) -> Array:
        """Posterior variance of the goal's mean."""
        return self.goal.var

    @property
    def noise(self) -> Array:
        """Variance of the goal in one replication."""
        return self.goal.noise

    @property
    def own_cov(self) -> Array | None:
        """Covariances of the goal, as `Belief.own_cov`."""
        return self.goal.own_cov

    def cov_with(self, decision: Decision) -> Array:
        """Return the covariances of the goal, as `Belief.cov_with`."""
        return self.goal.cov_with(decision)

    def cov_rows(self, alternative: IntArray, context: IntArray) -> Array:
        """Return the covariances of the goal, as `Belief.cov_rows`."""
        return self.goal.cov_rows(alternative, context)

    def difference_var(self, reference: IntArray) -> Array:
        """Return the variances of differences of the goal, as `Belief.difference_var`."""
        return self.goal.difference_var(reference)

    def update(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> "Outcomes":
        """Return the beliefs after n more replications with means ``value`` [..., sum]."""
        return self.each(lambda i, belief: belief.update(decision, np.asarray(value)[..., i], n))

    def best_probability(self) -> Array:
        """Return P(each alternative has the largest goal), whether or not it keeps the limits."""
        return self.goal.best_probability()

    def good_probability(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return P(the selected is within delta of the largest goal), whether or not limits are kept."""
        return self.goal.good_probability(selected, delta)

    def expected_loss(self, selected: IntArray) -> Array:
        """Return E[largest goal − selected goal], whether or not limits are kept."""
        return self.goal.expected_loss(selected)

    def lower_bound(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return a lower bound of `good_probability`."""
        return self.goal.lower_bound(selected, delta)

    @property
    def layers(self) -> int:
        """How many tables of normals one joint draw takes."""
        return len(self.sums) * (1 if self.shared is None else 2)

    def draw(self, normals: Array) -> Array:
        """Return joint draws [s, ..., outcome, alternative, context].

        ``normals`` are [s, ..., layer, alternative, context], with as many `layers`.
        """
        return self._joint(lambda i, one: one.draw(normals[..., i, :, :]), normals)

    def quick_draw(self, normals: Array) -> Array:
        """Return joint draws, as `draw` but for rounding."""
        return self._joint(lambda i, one: quick_draw(one, normals[..., i, :, :]), normals)

    def draw_tables(self, n: int, numbers: Callable[[], np.random.Generator]) -> Array:
        """Return n joint draws of all pairs, however many there are, [s, ..., outcome, alternative, context].

        ``numbers`` returns the random numbers of one study: it is called once for each of them.
        """
        generator = numbers()
        shape = (n, *self.mean.shape[:-2], self.layers, *self.mean.shape[-2:])
        normals = np.zeros(shape) if self._ties is None else generator.standard_normal(shape)

        def drawn(_: int, one: Belief) -> Array:
            if offers(one, DrawsWholeTables):
                return one.draw_tables(n, lambda: generator)
            return one.draw(generator.standard_normal((n, *one.mean.shape)))

        return self._joint(drawn, normals)

    def _joint(self, drawn: Callable[[int, Belief], Array], normals: Array) -> Array:
        """Return draws of all outcomes from those that were made of every sum by itself."""
        n = len(self.sums)
        sums = np.stack([drawn(i, one) for i, one in enumerate(self.sums)], axis=-3)
        if self._ties is not None:
            sums = self._ties.applied(sums, normals[..., n:, :, :])
        found = np.stack([sign * sums[..., i, :, :] + c for i, sign, c in self.basis.outcomes], axis=-3)
        if self._exact_outcomes is not None:
            found = np.where(np.isnan(self._exact_outcomes), found, self._exact_outcomes)
        if self.lowered is not None:
            found[..., 1, :, :] -= self.lowered
        return found

    def sharing(self, noise: SharedNoise) -> "Outcomes":
        """Return these with what the noise of one replication has in common."""
        return replace(self, shared=noise)

    def without(self, ruled_out: BoolArray) -> "Outcomes":
        """Return these with pairs [..., alternative, context] that surely do not keep the first limit.

        A context of which nothing would be left stays as it is, as in `argbest.core.setting.among_the_rest`.
        """
        first = self.slacks[0]
        broken = ruled_out & ~ruled_out.all(axis=-2, keepdims=True)
        width = np.sqrt(first.var.max(axis=(-2, -1), keepdims=True))
        width = np.where(width > 0, width, 1.0)
        lowest = np.minimum(first.mean.min(axis=(-2, -1), keepdims=True), 0.0)
        return replace(self, lowered=np.where(broken, first.mean - lowest + _FAR * width, 0.0))

    @cached_property
    def _ties(self) -> "_Ties | None":
        if self.shared is None or len(self.sums) == 1:
            return None
        return _Ties.of(self.sums, self.shared)


@dataclass(frozen=True, eq=False)
class _Ties:
    """How the errors of several outcomes are tied to each other by the noise they share.

    A draw e of outcome i, minus its mean, is the error Σ_i A_i z + r with z standard normal, one number for
    every observed pair, A_i A_iᵀ the precision of what was told and r what has nothing to do with it. Given
    e, z is A_iᵀ e plus normal numbers of covariance I − A_iᵀ Σ_i A_i. So z is found for every outcome, and
    then replaced by one that is correlated with those of the others.
    """

    pairs: tuple[IntArray, IntArray]  # observed ones, [m] each
    mean: tuple[Array, ...]  # of every outcome there, [..., m]
    rows: tuple["_Rows", ...]  # Cov(observed pair, every pair) of every outcome
    precise: tuple[Array, ...]  # A_i, [..., m, m]
    left: tuple[Array, ...]  # the root of I − A_iᵀ Σ_i A_i, [..., m, m]
    root: Array  # of the correlation, lower triangular, [..., outcome, outcome]

    @classmethod
    def of(cls, outcomes: tuple[Belief, ...], shared: SharedNoise) -> "_Ties | None":
        """Return the ties between some beliefs; None as long as nothing was told."""
        k, c = _followed(outcomes, shared.count)
        if not len(k):
            return None
        mean, rows, precise, left = [], [], [], []
        for belief in outcomes:
            rows.append(_Rows(belief, (k, c)))
            precise.append(precision_root(belief.noise, shared.count, shocks_of(belief), (k, c)))
            inside = _transposed(precise[-1]) @ rows[-1].among @ precise[-1]
            left.append(square_root(_eye_minus(inside)))
            mean.append(belief.mean[..., k, c])
        root = _root_of_correlation(shared.correlation)
        return cls((k, c), tuple(mean), tuple(rows), tuple(precise), tuple(left), root)

    def applied(self, untied: Array, normals: Array) -> Array:
        """Return ``untied`` draws [s, ..., outcome, alternative, context] with the noise that they share."""
        k, c = self.pairs
        shocks = []
        for i, mean in enumerate(self.mean):
            error, own = untied[..., i, k, c] - mean, normals[..., i, k, c]
            shocks.append(_times(error, self.precise[i]) + _times(own, self.left[i]))
        tied = untied.copy()
        for i in range(1, len(shocks)):
            change = sum(self.root[..., i, j, None] * shocks[j] for j in range(i + 1)) - shocks[i]
            weight = _times(change, _transposed(self.precise[i]))
            for some, rows in self.rows[i].blocks():
                tied[..., i, :, :] += np.einsum(
                    "s...m,...mkc->s...kc", weight[..., some], rows, optimize=True
                )
        return tied


@dataclass(frozen=True, eq=False)
class _Rows:
    """The covariances of some pairs with all, [..., m, alternative, context]; of many only some at a time."""

    belief: Belief
    pairs: tuple[IntArray, IntArray]  # [m] each

    @cached_property
    def among(self) -> Array:
        """The covariances of these pairs with each other, [..., m, m]."""
        k, c = self.pairs
        return np.concatenate([rows[..., k, c] for _, rows in self.blocks()], axis=-2)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the covariances block by block, and which of the pairs each is about."""
        if self._step >= len(self.pairs[0]):
            yield slice(None), self._all
            return
        for start in range(0, len(self.pairs[0]), self._step):
            some = slice(start, start + self._step)
            yield some, self._of(some)

    @property
    def _step(self) -> int:
        return max(1, _ROWS_AT_ONCE // self.belief.mean.size)

    @cached_property
    def _all(self) -> Array:
        return self._of(slice(None))

    def _of(self, some: slice) -> Array:
        k, c = (each[some] for each in self.pairs)
        lead = (*self.belief.mean.shape[:-2], len(k))
        return self.belief.cov_rows(np.broadcast_to(k, lead), np.broadcast_to(c, lead))


def _followed(outcomes: tuple[Belief, ...], count: IntArray) -> tuple[IntArray, IntArray]:
    """Return the observed pairs whose errors are tied: all, or those nearest to being the best choice."""
    goal, *slacks = outcomes
    seen = (count > 0) & (goal.var > 0)
    for each in outcomes:
        if offers(each, Focused):  # others have no covariances
            summarised = np.ones(seen.shape[-2], bool)
            summarised[each.foremost] = False
            seen = seen & ~summarised[:, None]
    k, c = np.nonzero(seen.any(axis=tuple(range(seen.ndim - 2))))
    if len(k) <= _MOST_TIED:
        return k, c
    behind = goal.mean.max(axis=-2, keepdims=True) - goal.mean
    tiny = np.finfo(float).tiny
    distance = behind / np.sqrt(np.maximum(goal.var, tiny))
    for slack in slacks:
        distance = distance + np.maximum(-slack.mean / np.sqrt(np.maximum(slack.var, tiny)), 0.0)
    near = distance.min(axis=tuple(range(distance.ndim - 2)))
    first = np.sort(np.argsort(near[k, c], kind="stable")[:_MOST_TIED])
    return k[first], c[first]


def precision_root(
    noise: Array, count: IntArray, shocks: Shocks | None, pairs: tuple[IntArray, IntArray]
) -> Array:
    """Return A with A Aᵀ the precision of what was told of some pairs, [..., m, m].

    It is √N/σ on the diagonal where replications share nothing. Where they share random numbers (`Shocks`),
    the r-th replication of a context, told of n alternatives, adds (I − ρ/(1 − ρ + nρ) 11ᵀ)/(1 − ρ) between
    these, in units of their noise; A is the symmetric root of the sum over r, over σ.
    """
    k, c = pairs
    sd = np.sqrt(noise[..., k, c])
    inverse = np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 0)
    told = np.broadcast_to(count, noise.shape)[..., k, c].astype(float)
    if shocks is None:
        return np.asarray((inverse * np.sqrt(told))[..., None] * np.eye(len(k)))
    lead = noise.shape[:-2]
    root = np.zeros((*lead, len(k), len(k)))
    for study in np.ndindex(lead):
        root[study] = square_root(_common_precision(shocks.study(study), told[study], (k, c)))
    return np.asarray(inverse[..., None] * root)


def _common_precision(shocks: Shocks, told: Array, pairs: tuple[IntArray, IntArray]) -> Array:
    """Return the precision of what was told of some pairs of one study, in units of their noise, [m, m]."""
    k, c = pairs
    place = {pair: i for i, pair in enumerate(zip(k.tolist(), c.tolist(), strict=True))}
    precision, alone = np.zeros((len(k), len(k))), told.copy()
    groups: dict[tuple[int, int], list[int]] = {}
    for shown in (shocks.told, shocks.since):
        for i in np.flatnonzero(shown.alternative >= 0).tolist():
            which = int(shown.context[i]), int(shown.number[i])
            groups.setdefault(which, []).append(int(shown.alternative[i]))
    for (context, _), alternatives in groups.items():
        rho = float(shocks.correlation[context])
        places = [place[pair] for pair in ((each, context) for each in alternatives) if pair in place]
        share = rho / (1.0 - rho + len(alternatives) * rho)
        precision[np.ix_(places, places)] += (np.eye(len(places)) - share) / (1.0 - rho)
        alone[places] -= 1.0
    return np.asarray(precision + np.diag(np.maximum(alone, 0.0)))


def noise_correlation(products: Array, noise: Array) -> Array:
    """Return the correlation of the noise of the outcomes, pooled over all pairs, [..., outcome, outcome].

    ``products`` [..., outcome, outcome, alternative, context] are sums over the replications of a pair of
    products of two outcomes, each minus its mean there; ``noise`` [..., outcome, alternative, context] is the
    variance that every outcome has there. ρ_ij = Σ S_ij/(σ_i σ_j) / √(Σ S_ii/σ_i² · Σ S_jj/σ_j²). An outcome
    without any noise is correlated with none.
    """
    sd = np.sqrt(noise)
    inverse = np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 0)
    scaled = products * inverse[..., :, None, :, :] * inverse[..., None, :, :, :]
    total = scaled.sum(axis=(-2, -1))
    size = np.sqrt(np.maximum(np.einsum("...ii->...i", total), 0.0))
    both = size[..., :, None] * size[..., None, :]
    found = np.divide(total, both, out=np.zeros_like(total), where=both > 0)
    np.einsum("...ii->...i", found)[...] = 1.0
    return np.asarray(np.clip(found, -1.0, 1.0))


def shared_noise(tallies: Sequence[Tally], belief: Belief) -> SharedNoise | None:
    """Return what the noise of the sums of one study has in common, from values told one by one.

    ``tallies`` are those of all sums, from the same replications; None where there is one sum alone.
    """
    single = [tally.single for tally in tallies]
    if len(tallies) < 2 or single[0] is None:
        return None
    where = single[0].alternative, single[0].context
    away = [
        told.value - tally.mean[where]
        for told, tally in zip(single, tallies, strict=True)
        if told is not None
    ]
    products = np.zeros((len(away), len(away), *tallies[0].shape))
    for i, one in enumerate(away):
        for j, other in enumerate(away):
            np.add.at(products[i, j], where, one * other)
    noise = np.stack([one.noise for one in sums_of(belief)])
    return SharedNoise(noise_correlation(products, noise), tallies[0].count)


def known_exactly(tallies: Sequence[Tally]) -> Array | None:
    """Return what sums without noise are, [..., sum, alternative, context]; NaN where it is not known.

    A sum has no noise if all values of every pair are equal, and some pair has several. One that may be a
    rate has noise. None where nothing is known.
    """
    found = [_values_without_noise(tally) for tally in tallies]
    return None if all(np.isnan(each).all() for each in found) else np.stack(found, axis=-3)


def _values_without_noise(tally: Tally) -> Array:
    """Return the means of a sum without noise where it was simulated, [..., alternative, context]."""
    axes, seen = (-2, -1), tally.count > 0
    size = np.max(np.abs(tally.mean), axis=axes, where=seen, initial=0.0)[..., None, None]
    differ = tally.m2 > tally.count * (_ROUNDING * size) ** 2
    several = np.any(tally.count > 1, axis=axes)
    silent = several & ~np.any(differ, axis=axes) & ~taken_for_rate(tally)
    return np.where(silent[..., None, None] & seen, tally.mean, np.nan)


def with_shared_noise(belief: Belief, shared: SharedNoise | None) -> Belief:
    """Return the belief with what the noise of its sums has in common."""
    if shared is None or not offers(belief, SeveralOutcomes):
        return belief
    return belief.sharing(shared)


def means_of(belief: Belief) -> Array:
    """Return the means as a question takes tables: [..., alternative, context], or with outcomes before."""
    if not offers(belief, SeveralOutcomes):
        return belief.mean
    return np.stack([belief.goal.mean, *(slack.mean for slack in belief.slacks)], axis=-3)


def kept_probability(belief: SeveralOutcomes) -> Array:
    """Return P_k = Π_i Φ(ζ_ik), that of keeping all limits, [..., alternative, context]."""
    found = np.ones_like(belief.mean)
    for slack in belief.slacks:
        found = found * ndtr(standardised(slack))
    return found


def standardised(slack: Belief) -> Array:
    """Return ζ = mean / standard deviation, ±∞ where the slack is known; a slack of 0 keeps the limit."""
    sd = np.sqrt(slack.var)
    with np.errstate(over="ignore"):
        known = np.where(slack.mean >= 0, np.inf, -np.inf)
        return np.asarray(np.divide(slack.mean, sd, out=known, where=sd > 0))


def _root_of_correlation(correlation: Array) -> Array:
    """Return a lower triangular root: the goal stays as drawn, every slack is tied to those before it."""
    n = correlation.shape[-1]
    root = np.zeros_like(correlation)
    for i in range(n):
        for j in range(i + 1):
            rest = correlation[..., i, j] - np.sum(root[..., i, :j] * root[..., j, :j], axis=-1)
            if i == j:
                root[..., i, i] = np.sqrt(np.maximum(rest, 0.0))
            else:
                below = root[..., j, j]
                root[..., i, j] = np.divide(rest, below, out=np.zeros_like(rest), where=below > 1e-8)
    return root


def _eye_minus(inside: Array) -> Array:
    """Return I − M for a matrix between 0 and I, eigenvalues beyond them by rounding brought back."""
    value, vector = np.linalg.eigh(0.5 * (inside + _transposed(inside)))
    left = np.clip(1.0 - value, 0.0, 1.0)
    return np.asarray((vector * left[..., None, :]) @ _transposed(vector))


def _times(rows: Array, matrix: Array) -> Array:
    """Return Σ_m rows_m matrix_ml of [s, ..., m] and [..., m, l]."""
    return np.asarray(np.einsum("s...m,...ml->s...l", rows, matrix, optimize=True))


def _transposed(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)
