"""Noise per pair: sample variances, never zero, and estimates that borrow strength where data are few."""

from typing import NamedTuple

import numpy as np

from argbest.core.arrays import Array, BoolArray, IntArray, gammaincinv, gammaln, ndtri, stdtr
from argbest.core.integration import latin
from argbest.core.tally import Tally, check_spread
from argbest.errors import TooFewDataError

# How firmly variances may agree, in degrees of freedom: from hardly at all to the same everywhere.
_FIRMNESS: Array = np.exp2(np.arange(0.0, 15.0))
_LEAST = 1e-3  # replications that agree so far may still differ: rare events look like no noise at all
_SWEEPS = 2
_ROUNDS = 2  # of drawing all factors in turn
_STEPS = 8
_MANY = 1024  # alternatives
MANY_PAIRS = 1_000  # of a table from which on a pair may be observed once: others tell its noise
_LENDERS = 30  # degrees of freedom that tell it
_USUAL = 0.05  # the chance at which borrowed noise reaches as far as it may
_HALVINGS = 60
_ERROR = 0.01  # the chance that a best pair is wrongly out


def relative_noise(tally: Tally, *, missed: Array | None = None, per_alternative: bool = False) -> Array:
    """Return the noise variance of every pair over the average, [..., alternative, context].

    The variances are modelled as σ²(k, c) = a_k b_c u_kc: contexts that are noisy for all alternatives,
    alternatives that are noisy in all contexts, and what is a pair's own. Each kind of factor is shrunk in
    turn (`shrunk`). A pair of which nothing is known inherits a_k b_c; where that is all pairs all are 1. The
    average over all observations of the study, or over those of each alternative, is 1 (but for the floor).

    ``missed`` is E(Ȳ − f)² under a belief, [..., alternative, context]. Without it a pair's N replications
    tell by their scatter about their own mean, N − 1 degrees of freedom. With it they tell by their scatter
    about what all pairs together say, N degrees: the variational posterior of σ² given a belief about f. That
    halves what chance does to the variances of two replications. NaN stands for what tells nothing.
    """
    if (few := _without_the_unobserved(tally, missed)) is not None:
        return relative_noise(few.tally, missed=few.missed, per_alternative=per_alternative)[few.row]
    squares, freedom = _scatter(tally, missed)
    by_alternative = np.ones(tally.shape)
    for _ in range(_SWEEPS):
        by_context = _factor(squares / by_alternative, freedom, axis=-2)
        by_alternative = _factor(squares / by_context, freedom, axis=-1)
    expected = by_context * by_alternative
    flat = (*tally.shape[:-2], -1)
    own = shrunk((squares / expected).reshape(flat), freedom.reshape(flat)).reshape(tally.shape)
    table = expected * own
    axes = (-1,) if per_alternative else (-2, -1)
    weight = np.where(tally.count.sum(axis=axes, keepdims=True) > 0, tally.count, 1)
    average = (weight * table).sum(axis=axes, keepdims=True) / weight.sum(axis=axes, keepdims=True)
    return np.asarray(np.maximum(table / average, _LEAST))


def plausible_noise(
    tally: Tally,
    n: int,
    generator: np.random.Generator,
    *,
    missed: Array | None = None,
    per_alternative: bool = False,
) -> Array:
    """Return n tables [n, alternative, context] as likely as the data leave them, about `relative_noise`.

    The factors a_k, b_c and u_kc are drawn in turn, each given the others (Gibbs), with their firmness drawn
    first (`drawn`). The squares over the variances sum up to what they do over the estimates: the level
    common to all is another parameter's business.
    """
    if (few := _without_the_unobserved(tally, missed)) is not None:
        own = few.missed
        return plausible_noise(few.tally, n, generator, missed=own, per_alternative=per_alternative)[
            :, few.row
        ]
    squares, freedom = _scatter(tally, missed)
    own, by_alternative = np.ones((n, *tally.shape)), np.ones((n, tally.shape[0], 1))
    for turn in range(_ROUNDS):
        left = squares / own
        by_context = drawn((left / by_alternative).sum(axis=-2), freedom.sum(axis=-2), generator)[:, None]
        by_alternative = drawn((left / by_context).sum(axis=-1), freedom.sum(axis=-1), generator)[..., None]
        expected = by_alternative * by_context
        flat, last = (squares / expected).reshape(n, -1), turn == _ROUNDS - 1
        own = drawn(flat, freedom.ravel(), generator, everywhere=last).reshape(own.shape)
    table, estimate = expected * own, relative_noise(tally, missed=missed, per_alternative=per_alternative)
    axes = (-1,) if per_alternative else (-2, -1)
    level, usual = ((squares / each).sum(axis=axes, keepdims=True) for each in (table, estimate))
    table *= np.divide(level, usual, out=np.ones_like(level), where=usual > 0)
    return np.asarray(np.maximum(table, _LEAST))


class _Few(NamedTuple):
    """A table without all but one of the alternatives of which nothing is known: they are all alike."""

    tally: Tally
    missed: Array | None
    row: IntArray  # where each alternative is found, [alternative]


def _without_the_unobserved(tally: Tally, missed: Array | None) -> _Few | None:
    """Return the shorter table of one study; None where it would not be much shorter."""
    observed: BoolArray = np.any(tally.count > 0, axis=-1)
    if tally.count.ndim > 2 or len(observed) < _MANY or 2 * observed.sum() > len(observed):
        return None
    kept = np.append(np.flatnonzero(observed), np.argmin(observed))
    row = np.where(observed, np.cumsum(observed) - 1, len(kept) - 1)
    return _Few(tally.apart[kept], None if missed is None else missed[kept], row)


def _scatter(tally: Tally, missed: Array | None) -> tuple[Array, Array]:
    """Return the sums of squares by which pairs tell their noise, and their degrees of freedom."""
    if missed is None:
        return tally.m2, np.maximum(tally.count - 1, 0).astype(float)
    idle = np.isnan(missed)
    return tally.m2 + tally.count * np.where(idle, 0.0, missed), (tally.count - idle).astype(float)


def _factor(squares: Array, freedom: Array, *, axis: int) -> Array:
    """Return what the cells along an axis have in common, shrunk, with that axis kept."""
    common = shrunk(squares.sum(axis=axis), freedom.sum(axis=axis))
    return np.asarray(np.expand_dims(common, axis))


def shrunk(squares: Array, freedom: Array) -> Array:
    """Return variance estimates [..., i] from sums of squares and their degrees of freedom, up to a factor.

    σ_i² ~ d s² / χ²_d and W_i ~ σ_i² χ²_ν, so that W_i/(ν s²) ~ F(ν, d) (Smyth, "Linear models and empirical
    Bayes methods", 2004). For every d on a grid s² is the most likely, by a few Newton steps; the estimate
    (d s² + W)/(d + ν), one over the posterior mean of 1/σ², is averaged over d by the marginal likelihood.
    Unlike a single best d the average does not jump, nor does it trust a chance agreement of few variances.
    """
    known, ratio, firm, prior, weight = _firmness(squares, freedom)
    estimate = (prior + ratio) / (firm + freedom)
    averaged = (weight * estimate).sum(axis=0) / weight.sum(axis=0)
    return np.where(known, averaged, 1.0)


def drawn(
    squares: Array, freedom: Array, generator: np.random.Generator, *, everywhere: bool = True
) -> Array:
    """Return variances [n, i] from their posterior given sums of squares [n, i], up to a factor per n.

    Not ``everywhere``: only those of which something was observed; the others are 1.

    Where `shrunk` averages over d, here d is drawn with its probability, and then
    σ_i² = (d s² + W_i) / χ²_{d + ν_i}, so that 1/E[1/σ²] is the estimate.
    """
    known, ratio, _, prior, weight = _firmness(squares, freedom)
    reached = np.cumsum(weight, axis=0) / weight.sum(axis=0)  # [d, n, 1]
    pick = np.sum(reached[:-1] <= latin(generator, (len(squares), 1)), axis=0)
    firm = _FIRMNESS[pick]
    scale = np.take_along_axis(prior, pick[None], axis=0)[0]
    half = 0.5 * (firm + freedom)
    uniform, found = latin(generator, squares.shape), np.ones(squares.shape)
    some = np.flatnonzero(freedom > 0) if not everywhere else slice(None)
    found[:, some] = (scale + ratio[:, some]) / (2.0 * gammaincinv(half[:, some], uniform[:, some]))
    return np.where(known, found, 1.0)


class _Firmness(NamedTuple):
    """What is known of how firmly variances agree, for every d of the grid on a first axis."""

    known: BoolArray  # [..., 1]: whether there is anything to learn from
    ratio: Array  # W over the pooled variance, [..., i]: free of scale
    firm: Array  # d
    prior: Array  # d s², [d, ..., 1]
    weight: Array  # the marginal likelihood of d over the largest, [d, ..., 1]


def _firmness(squares: Array, freedom: Array) -> _Firmness:
    """Return the likelihood of every d, with the most likely s² of each."""
    total = freedom.sum(axis=-1, keepdims=True)
    pooled = squares.sum(axis=-1, keepdims=True) / np.maximum(total, 1.0)
    known = (total > 0) & (pooled > 0)
    ratio = np.where(known, squares / np.where(known, pooled, 1.0), 0.0)
    firm, seen, own = _FIRMNESS.reshape(-1, *(1,) * squares.ndim), ratio, freedom
    if freedom.ndim == 1 and len(freedom) > _MANY:  # what was not observed tells nothing
        seen, own = ratio[..., freedom > 0], freedom[freedom > 0]
    prior = firm * _likeliest_scale(seen, own, firm)
    half = (own + firm) / 2
    fixed = np.sum(gammaln(half) - gammaln(firm / 2), axis=-1, keepdims=True)
    evidence = fixed + np.sum(firm / 2 * np.log(prior) - half * np.log(prior + seen), axis=-1, keepdims=True)
    return _Firmness(known, ratio, firm, prior, np.exp(evidence - evidence.max(axis=0)))


def _likeliest_scale(ratio: Array, freedom: Array, firm: Array) -> Array:
    """Return s² [d, ..., 1]: the root of Σ (ν + d) d s²/(d s² + W) = n d, by Newton steps in log s²."""
    log_scale = np.zeros(np.broadcast_shapes(firm.shape, (*ratio.shape[:-1], 1)))
    total = freedom + firm
    for _ in range(_STEPS):
        prior = firm * np.exp(log_scale)
        share = prior / (prior + ratio)
        weighed = total * share
        surplus = (firm - weighed).sum(axis=-1, keepdims=True)
        slope = (weighed * (1.0 - share)).sum(axis=-1, keepdims=True)
        step = _between(-2.0, surplus / np.maximum(slope, 1e-12), 2.0)
        log_scale = _between(-14.0, log_scale + step, 14.0)
    return np.exp(log_scale)


def _between(low: float, values: Array, high: float) -> Array:
    """Return the values, cut off: `np.clip` takes five times as long where they are few."""
    return np.minimum(np.maximum(values, low), high)


def lone(tally: Tally) -> BoolArray:
    """Return which pairs have one observation where others tell its noise, [..., alternative, context].

    There are none in tables of fewer than a thousand pairs, nor where fewer than 30 degrees of freedom tell.
    """
    if tally.shape[-2] * tally.shape[-1] < MANY_PAIRS:
        return np.zeros(tally.shape, bool)
    freedom = np.maximum(tally.count - 1, 0).sum(axis=(-2, -1), keepdims=True)
    return np.asarray((tally.count == 1) & (freedom >= _LENDERS))


def reach(tally: Tally, chance: float) -> Array:
    """Return how far the observation of a `lone` pair may be above its mean, [..., 1, 1]; 0: not known.

    It is farther with this ``chance``, at most 0.1. As in `shrunk` σ² ~ d s²/χ²_d, so that the distance is s
    times a Student-t of d degrees of freedom, averaged over d. Where noise differs from pair to pair d is
    small, and what is known of it reaches far.
    """
    squares, freedom = _flat(tally)
    pooled = squares.sum(axis=-1, keepdims=True) / np.maximum(freedom.sum(axis=-1, keepdims=True), 1.0)
    known, _, firm, prior, weight = _firmness(squares, freedom)
    scale = np.sqrt(prior / firm * np.where(known, pooled, 1.0))
    # Between the normal distribution with the least s and Cauchy's with the largest.
    low, high = np.log(scale.min(axis=0)), np.log(scale.max(axis=0) / (np.pi * chance))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = np.sum(weight * stdtr(firm, -np.exp(middle) / scale), axis=0) / weight.sum(axis=0)
        low, high = np.where(beyond > chance, middle, low), np.where(beyond > chance, high, middle)
    return np.where(known, np.exp(high), 0.0)[..., None]


def out(tally: Tally, excluded: BoolArray | None = None) -> BoolArray:
    """Return which `lone` pairs are out, [..., alternative, context]: they need no second observation.

    With r the `reach` of an observation, (k, c) is out if Ȳ_k + r < Ȳ_j − r/√N_j for a j that is not
    ``excluded``. F_k is above Ȳ_k + r, and F_j below Ȳ_j − r/√N_j, with the same small chance. Bonferroni
    adds them up: with a chance of at most 0.01 the best pair of any context is wrongly out.
    """
    alone = lone(tally)
    if not alone.any():
        return alone
    r = reach(tally, _ERROR / (tally.shape[-2] * tally.shape[-1]))
    open_ = (tally.count > 0) if excluded is None else (tally.count > 0) & ~excluded
    low = np.where(open_, tally.mean - r / np.sqrt(np.maximum(tally.count, 1)), -np.inf)
    return np.asarray(alone & (r > 0) & (tally.mean + r < low.max(axis=-2, keepdims=True)))


def lent_variances(tally: Tally, n: int, generator: np.random.Generator) -> Array:
    """Return n tables [n, alternative, context] of variances that a `lone` pair of one study may have."""
    squares, freedom = _flat(tally)
    found = drawn(np.broadcast_to(squares, (n, squares.size)), freedom, generator)
    return np.asarray(found * squares.sum() / freedom.sum()).reshape(n, *tally.shape)


def _flat(tally: Tally) -> tuple[Array, Array]:
    """Return sums of squares and degrees of freedom, [..., pair]."""
    squares, freedom = _scatter(tally, None)
    flat = (*tally.shape[:-2], -1)
    return squares.reshape(flat), freedom.reshape(flat)


_NONE = 1e-12  # a variance below this share of the pooled one is taken for none
_STAND_IN = 1e-2  # the share of the pooled variance that stands in for none
_UNDERFLOW = 1e-290  # what lies below has underflowed: a quotient by it would overflow


def sample_variance(tally: Tally, excluded: BoolArray | None = None) -> Array:
    """Return v = W / (N − 1) of every pair, always positive, [..., alternative, context].

    A pair whose observations agree gets a hundredth of the pooled variance ΣW / Σ(N − 1) of the study. Next
    to nothing in its place would not do: C-OCBA's N²/v of that pair would be so large that the best
    alternative beside it took all further samples. Where no pair varies, v is (1e-12 times the range of the
    sample means)², and 1 where these are all equal, too. It moves with the unit and not with a shift. Every
    pair must have two observations, but for those ``excluded``, which get a stand-in, and those `lone`: their
    variance is what the normal distribution needs to reach as far as they do with a chance of 0.05.
    """
    few = tally.count < 2
    alone = lone(tally) if few.any() else few
    few = few & ~alone if excluded is None else few & ~alone & ~excluded
    if few.any():
        *run, k, c = np.argwhere(few)[0].tolist()
        where = f" of run {tuple(run)}" if run else ""
        raise TooFewDataError(
            f"the pair of alternative {k} and context {c} (by position){where} has {tally.count[*run, k, c]} "
            "observation(s); a sample variance needs 2 of every pair. "
            "Start with initial=2 or more, and tell those values first."
        )
    check_spread(tally)
    axes = (-2, -1)
    freedom = np.maximum(tally.count - 1, 0)
    pooled = tally.m2.sum(axis=axes, keepdims=True) / np.maximum(freedom.sum(axis=axes, keepdims=True), 1)
    span = np.ptp(tally.mean, axis=axes, keepdims=True)
    stand_in = np.where(pooled > 0, _STAND_IN * pooled, (_NONE * span) ** 2)
    stand_in = np.where(stand_in > _UNDERFLOW, stand_in, 1.0)
    own = tally.m2 / np.maximum(freedom, 1)
    if alone.any():
        own = np.where(alone, (reach(tally, _USUAL) / ndtri(_USUAL)) ** 2, own)
    return np.where(own > np.maximum(_NONE * pooled, _UNDERFLOW), own, stand_in)
