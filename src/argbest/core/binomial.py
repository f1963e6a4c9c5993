"""Rates: rewards that are 0 or 1 have the noise p(1 − p) of their mean p, and nothing else to learn of it.

Where alternatives share random numbers, the pairs of a context meet the same few seeds: what they say of its
rates is said by as many replications as there are different seeds, and not by as many as there are values.
"""

from typing import NamedTuple

import numpy as np

from argbest.core.arrays import Array, BoolArray, betaincinv
from argbest.core.integration import latin
from argbest.core.tally import Tally

_ROUNDING = 1e-9  # per replication, of sums
_HALF = 0.5  # a success and a failure more: Jeffreys' prior of a rate
_NEAREST = 1e-3  # to 0 and 1 that a rate is drawn


class Expected(NamedTuple):
    """A belief about the mean rewards, and the noise it rests on; [..., alternative, context] each."""

    mean: Array
    var: Array
    noise: Array


def is_rate(tally: Tally) -> BoolArray:
    """Return [...] whether a study has seen zeros and ones alone, some of each (or 0 and −1, turned round).

    Of k ones among n values Σ(y − ȳ)² = k(n − k)/n: no other values that anybody simulates have whole sums
    and these squares everywhere. The tally of a study that minimises holds −1 for 1.
    """
    n, ones = tally.count, np.abs(np.rint(tally.mean * tally.count))
    off = np.abs(np.abs(tally.mean) * n - ones)
    off = np.maximum(off, np.abs(tally.m2 - ones * (n - ones) / np.maximum(n, 1)))
    axes = (-2, -1)
    fits = np.all((off <= _ROUNDING * n) & (ones <= n), axis=axes)
    one_sided = np.all(tally.mean >= 0, axis=axes) | np.all(tally.mean <= 0, axis=axes)
    found = ones.sum(axis=axes)
    return np.asarray(fits & one_sided & (found > 0) & (found < n.sum(axis=axes)))


def without_events(tally: Tally) -> BoolArray:
    """Return [...] whether all values of a study are 0, or all are 1: a rate whose event may be to come."""
    axes, none = (-2, -1), tally.count == 0
    equal = [np.all(none | (tally.mean == value), axis=axes) for value in (-1.0, 0.0, 1.0)]
    constant = np.all(tally.m2 == 0.0, axis=axes) & ~none.all(axis=axes)
    return np.asarray(np.any(equal, axis=0) & constant)


class SeedsMet(NamedTuple):
    """What the different seeds of studies [...] tell, where alternatives share them."""

    values_per_seed: Array  # [..., 1, context]
    events: Array  # [...]: shared seeds that have shown an event, at most their degrees of freedom


def different_seeds(tally: Tally) -> SeedsMet | None:
    """Return what the seeds of rates tell; None where no alternatives share any.

    A value of its own counts as a seed. An event is a value that is the rarer one of its pair, or of its
    study where both are as frequent in the pair. Seeds that several alternatives have met and that have shown
    one count, of every context no more than such seeds less one: one of them tells the average. What a single
    alternative has met tells nothing of what is shared.
    """
    if tally.common is None:
        return None
    lead = tally.shape[:-2]
    per_seed, events = np.ones((*lead, 1, tally.shape[-1])), np.zeros(lead)
    for study in np.ndindex(lead):
        per_seed[study], events[study] = _seeds_of_study(tally[study])
    return SeedsMet(per_seed, events)


def _seeds_of_study(tally: Tally) -> tuple[Array, float]:
    """Return the `SeedsMet` of one study."""
    count, ones, shown = tally.count, np.abs(tally.mean) * tally.count, tally.common
    values = count.sum(axis=0).astype(float)
    if shown is None or not (kept := shown.alternative >= 0).any():
        return np.ones(len(values)), 0.0
    rarer = 2.0 * ones.sum() <= count.sum()  # whether 1 is the rarer value of the study
    event = np.where(2.0 * ones == count, rarer, 2.0 * ones < count)  # whether 1 is that of a pair
    k, c, number = shown.alternative[kept], shown.context[kept], shown.number[kept]
    hit = (np.abs(shown.value[kept]) > _HALF) == event[k, c]
    (context, _), which = np.unique(np.stack([c, number]), axis=1, return_inverse=True)
    n, which = len(values), which.ravel()
    several = np.bincount(which) > 1
    seeds = values + np.bincount(context, minlength=n) - np.bincount(c, minlength=n)
    shared, hits = (
        np.bincount(context, each, n) for each in (several, several & (np.bincount(which, hit) > 0))
    )
    events = np.minimum(hits, np.maximum(shared - 1.0, 0.0)).sum()
    return np.maximum(values / np.maximum(seeds, 1.0), 1.0), float(events)  # 1 where nothing was met


def noise(tally: Tally, expected: Expected | None) -> Array:
    """Return p(1 − p) of every pair, [..., alternative, context], always positive."""
    rate, _ = _rates(tally, expected)
    return rate * (1.0 - rate)


def by_itself(tally: Tally) -> Array:
    """Return p(1 − p) of every pair from its own successes alone, p = (k + ½)/(n + 1)."""
    rate = (np.abs(tally.mean) * tally.count + _HALF) / (tally.count + 1.0)
    return np.asarray(rate * (1.0 - rate))


def plausible(tally: Tally, expected: Expected | None, n: int, generator: np.random.Generator) -> Array:
    """Return n tables [n, alternative, context] of p(1 − p) for rates that the data of one study allow.

    Pairs that have met the same seeds are lucky or unlucky together: their rates are drawn as one.
    """
    rate, weight = _rates(tally, expected)
    ends = rate * weight, (1.0 - rate) * weight
    if tally.common is None:
        found = generator.beta(*ends, (n, *tally.shape))
    else:
        found = np.asarray(betaincinv(*ends, latin(generator, (n, 1, 1))), float)
    found = np.clip(found, _NEAREST, 1.0 - _NEAREST)
    return np.asarray(found * (1.0 - found))


def _rates(tally: Tally, expected: Expected | None) -> tuple[Array, Array]:
    """Return an estimate of every pair's rate, and how many replications it is worth, one more included.

    With a belief it is (m p̂ + ½)/(m + 1), p̂ being the expected rate and m = σ²/V the replications that it is
    worth: neighbours count. A pair's own successes alone would make the lucky ones look exact. Without a
    belief the pair's alternative and context count as one replication, and values that share a seed as one.
    """
    n, ones, seeds = tally.count, np.abs(tally.mean) * tally.count, different_seeds(tally)
    if expected is not None:
        side = np.where(np.any(tally.mean < 0, axis=(-2, -1), keepdims=True), -1.0, 1.0)
        worth = np.maximum(n, expected.noise / np.maximum(expected.var, 1e-300))
        rate = np.clip(side * expected.mean, 0.0, 1.0)
        return np.asarray((rate * worth + _HALF) / (worth + 1.0)), worth + 1.0
    axes = (-2, -1)
    crowd = np.ones(1) if seeds is None else seeds.values_per_seed
    among, told = ones / crowd, n / crowd
    whole = (among.sum(axis=axes, keepdims=True) + _HALF) / (told.sum(axis=axes, keepdims=True) + 1.0)
    of_context, of_alternative = (among, told), (ones, n)
    by_side = [
        (s.sum(axis=axis, keepdims=True) + whole) / (m.sum(axis=axis, keepdims=True) + 1.0)
        for axis, (s, m) in zip(axes, (of_context, of_alternative), strict=True)
    ]
    usual = np.clip(by_side[0] + by_side[1] - whole, whole / 10.0, 1.0 - (1.0 - whole) / 10.0)
    return np.asarray((ones + usual) / (n + 1.0)), np.asarray(n + 1.0)
