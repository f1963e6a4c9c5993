"""Noise per pair: what few values can tell of it, what they cannot, and sample variances that are never zero.

Variances are modelled as σ²(k, c) = a_k b_c u_kc: contexts that are noisy for all alternatives, alternatives
that are noisy in all contexts, and what is a pair's own; each kind of factor is shrunk in turn
(`argbest.core.shrinkage`). Rewards are often not normal, and then few values tell less than they seem to:

- *Ties.* Values of a pair that are all equal, while those of others differ, say that the values which would
  differ are rare, and not that there is no noise (`_quiet`).
- *Skewness.* Where rewards are skewed, a sample variance has fewer degrees of freedom than values less one,
  and is large just where the mean is extreme (`_divisor`).
- *Shared luck.* Alternatives that share random numbers show the same luck: together they tell little more of
  how noisy their context is than one of them (`_Crowd`).
- *What is unseen.* Rare values that some pairs have shown may be still to come in others (`_tail`).
- *Misfit.* With 30 degrees of freedom within pairs only the scatter there counts: how far means lie from a
  belief may be the belief's fault.

Rewards that are 0 or 1 have the noise of their mean (`argbest.core.binomial`).
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from argbest.core import binomial, common_noise
from argbest.core.arrays import Array, BoolArray, IntArray, gammaincinv, ndtri, stdtr
from argbest.core.binomial import Expected
from argbest.core.integration import latin
from argbest.core.shrinkage import Agreement, agreement, draw_variances
from argbest.core.tally import Tally, check_spread
from argbest.errors import TooFewDataError

_LEAST_NOISE = 1e-3  # of the average noise: replications that agree so far may still differ
_FLOOR = 1e-6  # of the largest noise, where the level is known from scatter within pairs
_SWEEPS = 2
_ROUNDS = 2  # of drawing all factors in turn
_MANY_ALTERNATIVES = 1024  # alternatives
MANY_PAIRS = 1_000  # of a table from which on a pair may be observed once: others tell its noise
LENDERS = 30  # degrees of freedom that tell it
_USUAL = 0.05  # the chance at which borrowed noise reaches as far as it may
_HALVINGS = 60
_ERROR = 0.01  # the chance that a best pair is wrongly called beaten
_NONE = 1e-12  # a variance below this share of the pooled one is taken for none
_TIED = 1e-20  # of the largest sum of squares: less is rounding
_GAMMA = 0.75  # excess kurtosis of a gamma distribution over twice its squared skewness
_BEYOND_CHANCE = 2.0  # variances of the squared skewness that chance may explain
_RARE = 0.01  # chance that normal rewards of a study show an event
_HALF = 0.5  # an event: what Jeffreys' prior of a rate is worth


class PairNoise(NamedTuple):
    """What the data say of the noise of studies [...]; tables are [..., alternative, context]."""

    variance: Array  # of one replication; over its average where the level is not known
    known: BoolArray  # [...]: whether the level is known too, so that nothing is left to learn
    unseen: Array  # the share of the variance that no replication has shown
    divisor: Array  # [...]: what skewness divides degrees of freedom by
    events: Array  # [...]: seeds that showed an event, of rates whose alternatives share seeds; else NaN


class _Scatter(NamedTuple):
    """Sums of squares by which pairs tell their noise, all [..., alternative, context] but ``divisor``."""

    squares: Array
    freedom: Array
    tied: BoolArray  # pairs whose values are all equal, while others vary: they tell nothing
    divisor: Array  # [..., 1, 1]: what squares and degrees of freedom have been divided by
    crowd: Array  # [..., 1, context]: how many alternatives tell of their context as much as one
    skewed: Array  # [..., 1, 1]: what of ``divisor`` skewness alone asks for
    tail: "_Tail"


class _Factors(NamedTuple):
    """a_k, b_c and u_kc, and what they were shrunk by."""

    by_alternative: Array  # [..., alternative, 1]
    by_context: Array  # [..., 1, context]
    own: Array  # [..., alternative, context]
    alternatives: Agreement
    contexts: Agreement
    pairs: Agreement  # of all pairs in a row

    @property
    def table(self) -> Array:
        """Their product, up to a factor."""
        return np.asarray(self.by_alternative * self.by_context * self.own)


class _Shape(NamedTuple):
    """What the single values of pairs are like, [..., alternative, context]."""

    third: Array  # Σ (r/unit)³, r being distances to the pair's mean
    farthest: Array  # max |r|, -1 where single values are not known
    unit: Array  # the largest |r| of the study, [..., 1, 1]: no power of r/unit overflows


class _Crowd(NamedTuple):
    """Alternatives whose replications are alike: n of them in a context, with the correlation ρ."""

    size: Array  # n, [..., 1, context]
    correlation: Array  # ρ, [..., 1, 1]

    def times(self, power: int) -> Array:
        """Return by how much sums over alternatives vary more than of independent ones, [..., 1, context].

        Hermite polynomials of degree p of normal variables have the correlation ρᵖ, so that the variance of
        a sum of n is 1 + (n − 1) ρᵖ times that of independent ones. Sums of squares have p = 2.
        """
        return 1.0 + np.maximum(self.size - 1.0, 0.0) * self.correlation**power


class _Tail(NamedTuple):
    """Rare events: values too far from the others of their pair for normal noise; [..., 1, 1] each."""

    rate: Array  # events over all replications
    square: Array  # their mean squared distance to the other values
    relative: Array  # the same over the variance expected there

    @property
    def divisor(self) -> Array:
        """What events divide the degrees of freedom of sample variances by, [..., 1, 1]: 1 + κ/2.

        Noise of variance 1 with events of rate q and size √R has the excess kurtosis
        κ = w (1 − 6w) R²/(1 + w R)², w = q(1 − q). Whether a pair has shown an event is then luck, and says
        little about its noise: otherwise those that have shown none would look precise and outweigh others.
        """
        w = self.rate * (1.0 - self.rate)
        kurtosis = w * (1.0 - 6.0 * w) * (self.relative / (1.0 + w * self.relative)) ** 2
        return 1.0 + 0.5 * np.maximum(kurtosis, 0.0)

    def unseen(self, count: IntArray, table: Array) -> Array:
        """Return the variance that pairs have beyond ``table`` if events are still to come there.

        After n replications without one the rate is ½ / (n + ½/q), q being that of all pairs: a prior worth
        half an event. Events are as large as those seen, and no larger beside the usual noise.
        """
        rate = _HALF / (count + _HALF / np.maximum(self.rate, 1e-300))
        return np.maximum(rate * np.minimum(self.square, self.relative * table) - table, 0.0)


def pair_noise(
    tally: Tally, *, squared_misses: Array | None = None, expected: Expected | None = None
) -> PairNoise:
    """Return what the data say of the noise of every pair.

    ``squared_misses`` is E(Ȳ − f)² under a belief, [..., alternative, context]; it serves studies with fewer
    than 30 degrees of freedom within pairs (`relative_noise`). ``expected`` is the belief itself: rewards of
    which only 0 and 1 were seen have the noise p(1 − p) of its p.
    """
    rates, within = taken_for_rate(tally), enough_within(tally)
    if tally.count.ndim == 2:
        return _of_studies(
            tally, rate=bool(rates), within=bool(within), squared_misses=squared_misses, expected=expected
        )
    lead = tally.shape[:-2]
    tables = np.empty(tally.shape), rates | within, np.zeros(tally.shape)
    found = PairNoise(*tables, np.ones(lead), np.full(lead, np.nan))
    for rate, tells in ((True, True), (True, False), (False, True), (False, False)):
        some = (rates == rate) & (within == tells)
        if some.any():
            about = None if squared_misses is None else squared_misses[some]
            shown = None if expected is None else Expected(*(each[some] for each in expected))
            own = _of_studies(tally[some], rate=rate, within=tells, squared_misses=about, expected=shown)
            for whole, part in zip(found, own, strict=True):
                whole[some] = part
    return found


def _of_studies(
    tally: Tally, *, rate: bool, within: bool, squared_misses: Array | None, expected: Expected | None
) -> PairNoise:
    """Return the noise of studies that all are a rate, or not, and all tell it within pairs, or not."""
    lead, none = tally.shape[:-2], np.zeros(tally.shape)
    once, unknown = np.ones(lead), np.full(lead, np.nan)
    if rate:
        variance = binomial.noise(tally, expected)
        return PairNoise(variance, np.ones(lead, bool), none, once, shown_events(tally))
    if not within:
        return PairNoise(
            relative_noise(tally, squared_misses=squared_misses), np.zeros(lead, bool), none, once, unknown
        )
    table, unseen, divisor = _within_pairs(tally)
    return PairNoise(table, np.ones(lead, bool), unseen, divisor[..., 0, 0], unknown)


def shown_events(tally: Tally) -> Array:
    """Return [...] how many seeds have shown an event, of rates whose alternatives share seeds; else NaN."""
    seeds = binomial.different_seeds(tally)
    none = np.full(tally.shape[:-2], np.nan)
    return none if seeds is None else np.where(taken_for_rate(tally), seeds.events, none)


def taken_for_rate(tally: Tally) -> BoolArray:
    """Return [...] whether the noise of a study is taken for that of a rate.

    So it is where all values are 0, or all are 1: that nothing differs may say that no event has come yet,
    and not that there is no noise.
    """
    return np.asarray(binomial.is_rate(tally) | binomial.without_events(tally))


def enough_within(tally: Tally) -> BoolArray:
    """Return [...] whether the scatter within pairs tells a study's noise by itself."""
    freedom = np.maximum(tally.count - 1, 0).sum(axis=(-2, -1))
    return np.asarray((freedom >= LENDERS) & (tally.m2.sum(axis=(-2, -1)) > 0))


def plausible_pair_noise(
    tally: Tally,
    n: int,
    generator: np.random.Generator,
    *,
    squared_misses: Array | None = None,
    expected: Expected | None = None,
) -> Array:
    """Return n tables [n, alternative, context] as likely as the data of one study leave them.

    About what `pair_noise` returns, level included where it is known.
    """
    if taken_for_rate(tally):
        return binomial.plausible(tally, expected, n, generator)
    if not enough_within(tally):
        return plausible_noise(tally, n, generator, squared_misses=squared_misses)
    if (few := _without_the_unobserved(tally)) is not None:
        return plausible_pair_noise(few.tally, n, generator)[:, few.row]
    scatter = _scatter(tally)
    freedom, alone = scatter.freedom.sum(), (scatter.freedom / scatter.crowd).sum()
    level = 2.0 * gammaincinv(0.5 * alone, latin(generator, (n, 1, 1))) * freedom / alone
    table = _drawn_factors(scatter, n, generator)
    table *= (scatter.squares / table).sum(axis=(-2, -1), keepdims=True) / level
    chance = generator.gamma(_HALF, 1.0 / _HALF, table.shape)
    hidden = scatter.tail.unseen(tally.count, table)
    quiet = np.where(scatter.tied, np.minimum(1.0, _quiet(tally, scatter.tied) * chance), 1.0)
    drawn = table * quiet + hidden * chance
    return np.asarray(np.maximum(drawn, _FLOOR * drawn.max(axis=(-2, -1), keepdims=True)))


class Rarities(NamedTuple):
    """What the single values of one study show of rare events, and of skewness."""

    events: int  # values too far from the others of their pair for normal noise, one of a pair at most
    rate: float  # their share of all replications
    size: float  # root mean squared distance to the other values
    relative: float  # the same over the standard deviation expected in their pairs
    skewness: float  # beyond chance, without sign


def rarities(tally: Tally) -> Rarities:
    """Return what the single values of one study show; nothing for a rate, whose shape is known."""
    if binomial.is_rate(tally) or not tally.m2.any():
        return Rarities(0, 0.0, 0.0, 0.0, 0.0)
    few = _without_the_unobserved(tally)
    short = tally if few is None else few.tally
    scatter = _scatter(short)
    tail = scatter.tail
    rate, size, relative = (float(each.item()) for each in (tail.rate, *map(np.sqrt, tail[1:])))
    skewness = float(np.sqrt(np.maximum(scatter.skewed.item() - 1.0, 0.0) / _GAMMA))
    return Rarities(round(rate * int(tally.count.sum())), rate, size, relative, skewness)


class Repeats(NamedTuple):
    """Where one study has seen nothing but equal values, while those of other pairs differ."""

    alone: BoolArray  # pairs of which all values are equal, [alternative, context]
    distance: float  # root mean squared distance of the farthest value of other pairs to the rest of its pair


def repeats(tally: Tally) -> Repeats:
    """Return which pairs repeat a single value, and how far a value may lie from the others of its pair."""
    shape = _shape(tally)
    vary = (tally.count > 1) & (tally.m2 > _TIED * tally.m2.max(initial=0.0))
    n = tally.count[vary]
    # A summary does not tell its farthest value: its standard deviation stands for it.
    far = np.where(shape.farthest[vary] >= 0, shape.farthest[vary] * n, np.sqrt(tally.m2[vary] * (n - 1)))
    distance = float(np.sqrt(np.mean((far / (n - 1)) ** 2))) if vary.any() else 0.0
    return Repeats((tally.count > 0) & ~vary, distance)


def relative_noise(
    tally: Tally, *, squared_misses: Array | None = None, per_alternative: bool = False
) -> Array:
    """Return the noise variance of every pair over the average, [..., alternative, context].

    A pair of which nothing is known inherits a_k b_c; where that is all pairs all are 1. The average over all
    replications of the study, or over those of each alternative, is 1 (but for the floor).

    ``squared_misses`` is E(Ȳ − f)² under a belief, [..., alternative, context]. Without it a pair's N
    replications tell by their scatter about their own mean, N − 1 degrees of freedom. With it they tell by
    their scatter about what all pairs together say, N degrees: the variational posterior of σ² given a belief
    about f. That halves what chance does to the variances of two replications. NaN stands for what tells
    nothing.
    """
    if (few := _without_the_unobserved(tally, squared_misses)) is not None:
        return relative_noise(few.tally, squared_misses=few.squared_misses, per_alternative=per_alternative)[
            few.row
        ]
    scatter = _scatter(tally, squared_misses)
    table = _factors(scatter.squares, scatter.freedom, scatter.crowd).table * _quiet(tally, scatter.tied)
    axes = (-1,) if per_alternative else (-2, -1)
    weight = np.where(tally.count.sum(axis=axes, keepdims=True) > 0, tally.count, 1)
    average = (weight * table).sum(axis=axes, keepdims=True) / weight.sum(axis=axes, keepdims=True)
    return np.asarray(np.maximum(table / average, _LEAST_NOISE))


def plausible_noise(
    tally: Tally,
    n: int,
    generator: np.random.Generator,
    *,
    squared_misses: Array | None = None,
    per_alternative: bool = False,
) -> Array:
    """Return n tables [n, alternative, context] as likely as the data leave them, about `relative_noise`.

    The squares over the variances sum up to what they do over the estimates: the level common to all is
    another parameter's business.
    """
    if (few := _without_the_unobserved(tally, squared_misses)) is not None:
        own = few.squared_misses
        return plausible_noise(few.tally, n, generator, squared_misses=own, per_alternative=per_alternative)[
            :, few.row
        ]
    scatter = _scatter(tally, squared_misses)
    table = _drawn_factors(scatter, n, generator) * _quiet(tally, scatter.tied)
    estimate = relative_noise(tally, squared_misses=squared_misses, per_alternative=per_alternative)
    axes = (-1,) if per_alternative else (-2, -1)
    level, usual = ((scatter.squares / each).sum(axis=axes, keepdims=True) for each in (table, estimate))
    table *= np.divide(level, usual, out=np.ones_like(level), where=usual > 0)
    return np.asarray(np.maximum(table, _LEAST_NOISE))


def _within_pairs(tally: Tally) -> tuple[Array, Array, Array]:
    """Return the variances from scatter within pairs, the share of them that is unseen, and `_divisor`."""
    if (few := _without_the_unobserved(tally)) is not None:
        table, unseen, divisor = _within_pairs(few.tally)
        return table[few.row], unseen[few.row], divisor
    axes = (-2, -1)
    scatter = _scatter(tally)
    table = _with_its_level(scatter.squares, scatter.freedom, scatter.crowd)
    shown, events = table, scatter.divisor / scatter.skewed
    if np.any(events > 1.0):  # as it would be if whether a pair has shown an event were no luck
        own = _with_its_level(events * scatter.squares, events * scatter.freedom, scatter.crowd)
        shown = np.minimum(own, table)
    quiet = _quiet(tally, scatter.tied)
    whole = table * quiet + scatter.tail.unseen(tally.count, table)
    unseen = np.where(scatter.tied, 1.0, 1.0 - shown / whole)
    return np.maximum(whole, _FLOOR * whole.max(axis=axes, keepdims=True)), unseen, scatter.divisor


def _with_its_level(squares: Array, freedom: Array, crowd: Array) -> Array:
    """Return the variances a_k b_c u_kc whose squares are as large as those of the data."""
    axes = (-2, -1)
    table = _factors(squares, freedom, crowd).table
    level = (squares / table).sum(axis=axes, keepdims=True) / freedom.sum(axis=axes, keepdims=True)
    return np.asarray(level * table)


def _scatter(tally: Tally, squared_misses: Array | None = None) -> _Scatter:
    """Return the squares that tell the noise: about the pairs' own means, or as in `relative_noise`."""
    axes = (-2, -1)
    squares, freedom = tally.m2, np.maximum(tally.count - 1, 0).astype(float)
    tied = (tally.count > 1) & (squares <= _TIED * squares.max(axis=axes, keepdims=True, initial=0.0))
    tied &= np.any((tally.count > 1) & ~tied, axis=axes, keepdims=True)
    shape = _shape(tally)
    usual, crowd = _usual(tally, *(np.where(tied, 0.0, each) for each in (squares, freedom)))
    skewed = _divisor(tally, shape, tied, usual, crowd)
    tail = _tail(tally, shape, tied, *(np.where(tied, 0.0, each) for each in (squares, freedom)))
    # Where very many pairs are seen once or twice, one that is far noisier than others looks like an event.
    many = observed_once(tally).any(axis=axes, keepdims=True)
    divisor = np.where(many, skewed, np.maximum(skewed, tail.divisor))
    if squared_misses is not None:
        idle = np.isnan(squared_misses)
        squares = squares + tally.count * np.where(idle, 0.0, squared_misses)
        freedom, tied = (tally.count - idle).astype(float), np.zeros(tally.shape, bool)
    squares, freedom = (np.where(tied, 0.0, each) / divisor for each in (squares, freedom))
    return _Scatter(squares, freedom, tied, divisor, crowd.times(2), skewed, tail)


def _usual(tally: Tally, squares: Array, freedom: Array) -> tuple[Array, _Crowd]:
    """Return the variances a_k b_c as of normal rewards, and how alike the luck of alternatives is.

    Each follows from the other: at first alternatives are taken to have luck of their own.
    """
    usual = _by_row_and_column(squares, freedom, 1.0)
    crowd = _crowd(tally, usual, freedom)
    if crowd.correlation.any():
        usual = _by_row_and_column(squares, freedom, crowd.times(2))
        crowd = _crowd(tally, usual, freedom)
    return usual, crowd


def _by_row_and_column(squares: Array, freedom: Array, crowd: Array | float) -> Array:
    """Return a_k b_c, with the level of the squares; 1 where these say nothing."""
    found = _factors(squares, freedom, crowd)
    table = np.broadcast_to(found.by_alternative * found.by_context, squares.shape)
    total = freedom.sum(axis=(-2, -1), keepdims=True)
    level = (squares / table).sum(axis=(-2, -1), keepdims=True) / np.maximum(total, 1.0)
    table = table * np.where(level > 0, level, 1.0)
    return np.asarray(np.maximum(table, _NONE * table.max(axis=(-2, -1), keepdims=True)))


def _crowd(tally: Tally, usual: Array, freedom: Array) -> _Crowd:
    """Return how alike the replications of alternatives are that share random numbers."""
    size = (freedom > 0).sum(axis=-2, keepdims=True).astype(float)
    if tally.common is None:
        return _Crowd(size, np.zeros((*tally.shape[:-2], 1, 1)))
    return _Crowd(size, common_noise.pooled(tally, usual)[..., None, None])


def _shape(tally: Tally) -> _Shape:
    """Return what the single values of pairs are like."""
    values = tally.single
    if values is None or not (kept := values.alternative >= 0).any():
        unit = np.ones((*tally.shape[:-2], 1, 1))
        return _Shape(np.zeros(tally.shape), np.full(tally.shape, -1.0), unit)
    *lead, n_alternatives, n_contexts = tally.shape
    study = np.flatnonzero(kept) // kept.shape[-1] if lead else 0
    k, c = values.alternative[kept], values.context[kept]
    cell = (study * n_alternatives + k) * n_contexts + c
    deviation = values.value[kept] - tally.mean.ravel()[cell]
    farthest = np.zeros(tally.count.size)
    np.maximum.at(farthest, cell, np.abs(deviation))
    farthest = farthest.reshape(tally.shape)
    unit = farthest.max(axis=(-2, -1), keepdims=True)
    unit = np.where(unit > 0, unit, 1.0)
    cubes = (deviation / np.broadcast_to(unit, tally.shape).ravel()[cell]) ** 3
    third = np.bincount(cell, cubes, tally.count.size).reshape(tally.shape)
    number = np.bincount(cell, minlength=tally.count.size).reshape(tally.shape)
    whole = number == tally.count  # of summaries the shape is not known
    return _Shape(np.where(whole, third, 0.0), np.where(whole, farthest, -1.0), unit)


def _divisor(tally: Tally, shape: _Shape, tied: BoolArray, usual: Array, crowd: _Crowd) -> Array:
    """Return by how much skewness divides the degrees of freedom of sample variances, [..., 1, 1].

    Var(s²) = σ⁴ (2/(n − 1) + κ/n), so that a variance is worth (n − 1)/(1 + κ/2) degrees of freedom. The
    excess kurtosis κ shows only in long samples, and where noise differs from pair to pair it seems to be
    there. The skewness γ shows in three values, pooled over pairs as Σ n k₃ / Σ n (Fisher's statistic k₃ of
    values in units of the ``usual`` noise), and differing noise alone has none. As in gamma distributions
    κ = 1.5 γ². What chance does to γ² is taken off twice: its variance by the pairs themselves, or if larger
    that of normal rewards, more where alternatives share their luck.
    """
    axes = (-2, -1)
    some = (tally.count > 2) & (shape.farthest >= 0) & ~tied
    n = np.where(some, tally.count, 3).astype(float)
    factor = np.where(some, n / ((n - 1) * (n - 2)), 0.0)
    unit = np.where(some, shape.unit / np.sqrt(usual), 0.0)  # where nothing is known it may be anything
    third, weight = n * factor * shape.third * unit**3, np.where(some, n, 0.0)
    total = weight.sum(axis=axes, keepdims=True)
    freedom = np.where(some, n - 1, 0.0).sum(axis=axes, keepdims=True)
    squares = np.where(some, tally.m2 / usual, 0.0)
    var = squares.sum(axis=axes, keepdims=True) / np.maximum(freedom, 1.0)
    usable = (total > 0) & (var > _TIED)
    scale = np.where(usable, total * var**1.5, 1.0)
    skewness = third.sum(axis=axes, keepdims=True) / scale
    alike = crowd.times(3)
    by_pairs = np.sum(alike * (third / scale) ** 2, axis=axes, keepdims=True)
    of_normal = 6.0 * np.sum(alike * weight**2 * factor, axis=axes, keepdims=True)
    of_normal /= np.where(usable, total, 1.0) ** 2
    chance = _BEYOND_CHANCE * np.maximum(by_pairs, of_normal)
    return np.where(usable, 1.0 + _GAMMA * np.maximum(skewness**2 - chance, 0.0), 1.0)


def _quiet(tally: Tally, tied: BoolArray) -> Array:
    """Return what a_k b_c is multiplied by where the values of a pair are ``tied``, 1 elsewhere.

    A replication differs from the usual value of its pair with a chance q: the share of pairs that are tied
    tells it, Σ (1 − q)^(n − 1) = number of tied pairs. After n equal values of one pair that chance is
    ½/(n + 1) there (Jeffreys), so its variance is that share of q's, and never more than usual.
    """
    if not tied.any():
        return np.ones(tally.shape)
    axes, several = (-2, -1), tally.count > 1
    number = tied.sum(axis=axes, keepdims=True)
    low, high = np.zeros(number.shape), np.ones(number.shape)
    for _ in range(_HALVINGS):
        q = 0.5 * (low + high)
        alike = np.where(several, (1.0 - q) ** np.maximum(tally.count - 1, 0), 0.0)
        more = alike.sum(axis=axes, keepdims=True) > number
        low, high = np.where(more, q, low), np.where(more, high, q)
    return np.where(tied, np.minimum(1.0, _HALF / (tally.count + 1) / np.maximum(high, 1e-300)), 1.0)


def _factors(squares: Array, freedom: Array, crowd: Array | float = 1.0) -> _Factors:
    """Return a_k, b_c and u_kc, each kind shrunk in turn; ``crowd`` is how often a context tells the same."""
    by_alternative = np.ones(squares.shape)
    for _ in range(_SWEEPS):
        of_context, degrees = ((each / crowd).sum(axis=-2) for each in (squares / by_alternative, freedom))
        contexts = agreement(of_context, degrees)
        by_context = contexts.estimate(of_context, degrees)[..., None, :]
        of_alternative, degrees = (squares / by_context).sum(axis=-1), freedom.sum(axis=-1)
        alternatives = agreement(of_alternative, degrees)
        by_alternative = alternatives.estimate(of_alternative, degrees)[..., None]
    flat = (*squares.shape[:-2], -1)
    each, degrees = (squares / (by_context * by_alternative)).reshape(flat), freedom.reshape(flat)
    pairs = agreement(each, degrees)
    own = pairs.estimate(each, degrees).reshape(squares.shape)
    return _Factors(by_alternative, by_context, own, alternatives, contexts, pairs)


def _drawn_factors(scatter: _Scatter, n: int, generator: np.random.Generator) -> Array:
    """Return n products a_k b_c u_kc of one study, [n, alternative, context], up to a factor each.

    The factors are drawn in turn, each given the others (Gibbs), and before them how firmly they agree
    (`draw_variances`).
    """
    squares, freedom, crowd = scatter.squares, scatter.freedom, scatter.crowd
    own, by_alternative = np.ones((n, *squares.shape)), np.ones((n, squares.shape[0], 1))
    for turn in range(_ROUNDS):
        left = squares / own
        of_context, degrees = ((each / crowd).sum(axis=-2) for each in (left / by_alternative, freedom))
        by_context = draw_variances(of_context, degrees, generator)[:, None]
        by_alternative = draw_variances((left / by_context).sum(axis=-1), freedom.sum(axis=-1), generator)[
            ..., None
        ]
        expected = by_alternative * by_context
        flat, last = (squares / expected).reshape(n, -1), turn == _ROUNDS - 1
        own = draw_variances(flat, freedom.ravel(), generator, everywhere=last).reshape(own.shape)
    return np.asarray(expected * own)


def _tail(tally: Tally, shape: _Shape, tied: BoolArray, squares: Array, degrees: Array) -> _Tail:
    """Return what is known of rare events, from the farthest value of every pair.

    Left out, it is compared with the variance that its pair, alternative and context then leave (by Student's
    t), and with the other values of its pair alone. It is an event if that is less likely than 0.01 divided
    by the number of all replications, or if all the others are equal.
    """
    axes = (-2, -1)
    n, far = np.maximum(tally.count, 2).astype(float), shape.farthest
    some = (tally.count > 2) & (far > 0) & ~tied
    if not some.any():
        none = np.zeros((*tally.shape[:-2], 1, 1))
        return _Tail(none, none, none)
    taken = np.where(some, n / (n - 1) * far**2, 0.0)  # what the value adds to the squares of its pair
    left = np.maximum(tally.m2 - taken, 0.0)
    left = np.where(left > 1e-12 * tally.m2, left, 0.0)
    freedom = np.where(left > 0, n - 2, 0.0)
    several = freedom > 1
    alone = np.where(several, left, 1.0) / np.where(several, freedom, 1.0)
    in_pair = np.where(several, 2.0 * stdtr(np.where(several, freedom, 1.0), -np.sqrt(taken / alone)), 1.0)
    expected, in_table = _without_one(squares, degrees, taken, left, freedom)
    replications = np.maximum(tally.count.sum(axis=axes, keepdims=True), 1)
    unlikely = np.minimum(in_pair, in_table) < 0.5 * _RARE / replications
    event = some & (unlikely | ((left == 0) & (tally.m2 > 0)))
    square = np.where(event, (far * n / (n - 1)) ** 2, 0.0)
    usual = np.where(in_pair < in_table, alone, expected)
    relative = square / np.where(event, np.maximum(usual, _TIED * square), 1.0)
    number = event.sum(axis=axes, keepdims=True)
    return _Tail(
        np.minimum(number / replications, _HALF),
        *(each.sum(axis=axes, keepdims=True) / np.maximum(number, 1) for each in (square, relative)),
    )


def _without_one(
    squares: Array, degrees: Array, taken: Array, left: Array, freedom: Array
) -> tuple[Array, Array]:
    """Return the variance expected of every pair without one value, and P(a value as far away).

    ``taken`` are the squares that go with the value, ``left`` and ``freedom`` what the pair keeps.
    """
    found, one = _factors(squares, degrees), (degrees > 0).astype(float)
    base = np.ones(squares.shape)
    sides = (found.alternatives, found.by_context, -1), (found.contexts, found.by_alternative, -2)
    for agreed, others, axis in sides:
        whole = (squares / others).sum(axis=axis, keepdims=True) - taken / others
        rest = degrees.sum(axis=axis, keepdims=True) - one
        base = base * _for_tables(agreed).estimate(np.maximum(whole, 0.0), np.maximum(rest, 0.0))
    pairs = _for_tables(found.pairs)
    total = pairs.firm + freedom
    scale = (pairs.prior * pairs.pooled + left / base) / total
    chance = np.sum(pairs.weight * 2.0 * stdtr(total, -np.sqrt(taken / base / scale)), axis=0)
    return base * np.sum(pairs.weight * scale, axis=0), chance


def _for_tables(agreed: Agreement) -> Agreement:
    """Return the agreement of variances [..., i] with an axis more, to broadcast with [..., k, context]."""
    _, *rest = agreed
    return Agreement(agreed.known[..., None], *(each[..., None] for each in rest))


class _Few(NamedTuple):
    """A shorter table: alternatives that were never observed are all alike, so one stands for all of them."""

    tally: Tally
    squared_misses: Array | None
    row: IntArray  # where each alternative is found, [alternative]


def _without_the_unobserved(tally: Tally, squared_misses: Array | None = None) -> _Few | None:
    """Return the shorter table of one study; None where it would not be much shorter."""
    observed: BoolArray = np.any(tally.count > 0, axis=-1)
    if tally.count.ndim > 2 or len(observed) < _MANY_ALTERNATIVES or 2 * observed.sum() > len(observed):
        return None
    kept = np.append(np.flatnonzero(observed), np.argmin(observed))
    row = np.where(observed, np.cumsum(observed) - 1, len(kept) - 1)
    short = tally.statistics_alone[kept]
    if (shown := tally.replications) is not None:
        place = np.where(shown.alternative < 0, -1, row[shown.alternative])
        short = replace(short, replications=replace(shown, alternative=place))
    return _Few(short, None if squared_misses is None else squared_misses[kept], row)


def observed_once(tally: Tally) -> BoolArray:
    """Return which pairs have one replication where others tell its noise, [..., alternative, context].

    There are none in tables of fewer than a thousand pairs, nor where fewer than 30 degrees of freedom tell.
    """
    if tally.shape[-2] * tally.shape[-1] < MANY_PAIRS:
        return np.zeros(tally.shape, bool)
    freedom = np.maximum(tally.count - 1, 0).sum(axis=(-2, -1), keepdims=True)
    return np.asarray((tally.count == 1) & (freedom >= LENDERS))


def largest_excess(tally: Tally, chance: float) -> Array:
    """Return how far the value of a pair `observed_once` may be above its mean, [..., 1, 1]; 0: not known.

    It is farther with this ``chance``, at most 0.1. As in `shrunk` σ² ~ d s²/χ²_d, so that the distance is s
    times a Student-t of d degrees of freedom, averaged over d. Where noise differs from pair to pair d is
    small, and what is known of it reaches far.
    """
    known, pooled, firm, prior, weight = agreement(*_flat(tally))
    scale = np.sqrt(prior / firm * pooled)
    # Between the normal distribution with the least s and Cauchy's with the largest.
    low, high = np.log(scale.min(axis=0)), np.log(scale.max(axis=0) / (np.pi * chance))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = np.sum(weight * stdtr(firm, -np.exp(middle) / scale), axis=0)
        low, high = np.where(beyond > chance, middle, low), np.where(beyond > chance, high, middle)
    return np.where(known, np.exp(high), 0.0)[..., None]


def clearly_beaten(tally: Tally, excluded: BoolArray | None = None) -> BoolArray:
    """Return which pairs `observed_once` cannot be the best, [..., alternative, context].

    They need no second replication. With r the `largest_excess` of a replication, (k, c) is beaten if
    Ȳ_k + r < Ȳ_j − r/√N_j for a j that is not ``excluded``. F_k is above Ȳ_k + r, and F_j below
    Ȳ_j − r/√N_j, with the same small chance. Bonferroni adds them up: with a chance of at most 0.01 the best
    pair of any context is wrongly called beaten.
    """
    alone = observed_once(tally)
    if not alone.any():
        return alone
    r = largest_excess(tally, _ERROR / (tally.shape[-2] * tally.shape[-1]))
    open_ = (tally.count > 0) if excluded is None else (tally.count > 0) & ~excluded
    low = np.where(open_, tally.mean - r / np.sqrt(np.maximum(tally.count, 1)), -np.inf)
    return np.asarray(alone & (r > 0) & (tally.mean + r < low.max(axis=-2, keepdims=True)))


def lent_variances(tally: Tally, n: int, generator: np.random.Generator) -> Array:
    """Return n tables [n, alternative, context] of variances that pairs `observed_once` may have."""
    squares, freedom = _flat(tally)
    found = draw_variances(np.broadcast_to(squares, (n, squares.size)), freedom, generator)
    return np.asarray(found * squares.sum() / freedom.sum()).reshape(n, *tally.shape)


def _flat(tally: Tally) -> tuple[Array, Array]:
    """Return sums of squares and degrees of freedom, [..., pair]."""
    squares, freedom = tally.m2, np.maximum(tally.count - 1, 0).astype(float)
    flat = (*tally.shape[:-2], -1)
    return squares.reshape(flat), freedom.reshape(flat)


_UNDERFLOW = 1e-290  # what lies below has underflowed: a quotient by it would overflow


def sample_variance(tally: Tally, excluded: BoolArray | None = None) -> Array:
    """Return v = W / (N − 1) of every pair, always positive, [..., alternative, context].

    A pair whose replications agree gets a share of the pooled variance ΣW / Σ(N − 1) of the study, the
    smaller the longer they agree (`_quiet`): that values differ may be rare. Of a rate v is p(1 − p) with
    p = (successes + ½)/(N + 1). Where no pair varies, v is (1e-12 times the range of the sample means)², and
    1 where these are all equal, too. It moves with the unit and not with a shift. Every pair must have two
    replications, but for those ``excluded``, which get a stand-in, and those `observed_once`: their variance
    is what the normal distribution needs to reach as far as they do with a chance of 0.05.
    """
    few = tally.count < 2
    alone = observed_once(tally) if few.any() else few
    few = few & ~alone if excluded is None else few & ~alone & ~excluded
    if few.any():
        *run, k, c = np.argwhere(few)[0].tolist()
        where = f" of run {tuple(run)}" if run else ""
        raise TooFewDataError(
            f"the pair of alternative {k} and context {c} (by position){where} has {tally.count[*run, k, c]} "
            "replication(s); a sample variance needs 2 of every pair. "
            "Start with initial=2 or more, and tell those values first."
        )
    check_spread(tally)
    axes = (-2, -1)
    freedom = np.maximum(tally.count - 1, 0)
    pooled = tally.m2.sum(axis=axes, keepdims=True) / np.maximum(freedom.sum(axis=axes, keepdims=True), 1)
    span = np.ptp(tally.mean, axis=axes, keepdims=True)
    own = tally.m2 / np.maximum(freedom, 1)
    tied = (tally.count > 1) & (own <= np.maximum(_NONE * pooled, _UNDERFLOW)) & (pooled > 0)
    stand_in = np.where(pooled > 0, _quiet(tally, tied) * pooled, (_NONE * span) ** 2)
    stand_in = np.where(stand_in > _UNDERFLOW, stand_in, 1.0)
    if alone.any():
        own = np.where(alone, (largest_excess(tally, _USUAL) / ndtri(_USUAL)) ** 2, own)
    found = np.where(own > np.maximum(_NONE * pooled, _UNDERFLOW), own, stand_in)
    rates = binomial.is_rate(tally)[..., None, None]
    return np.where(rates & (tally.count > 0), binomial.by_itself(tally), found) if rates.any() else found
