"""Rates: rewards that are 0 or 1 have the noise p(1 − p) of their mean p, and nothing else to learn of it."""

from typing import NamedTuple

import numpy as np

from argbest.core.arrays import Array, BoolArray
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


def noise(tally: Tally, expected: Expected | None) -> Array:
    """Return p(1 − p) of every pair, [..., alternative, context], always positive."""
    rate, _ = _rates(tally, expected)
    return rate * (1.0 - rate)


def by_itself(tally: Tally) -> Array:
    """Return p(1 − p) of every pair from its own successes alone, p = (k + ½)/(n + 1)."""
    rate = (np.abs(tally.mean) * tally.count + _HALF) / (tally.count + 1.0)
    return np.asarray(rate * (1.0 - rate))


def plausible(tally: Tally, expected: Expected | None, n: int, generator: np.random.Generator) -> Array:
    """Return n tables [n, alternative, context] of p(1 − p) for rates that the data of one study allow."""
    rate, weight = _rates(tally, expected)
    found = generator.beta(rate * weight, (1.0 - rate) * weight, (n, *tally.shape))
    found = np.clip(found, _NEAREST, 1.0 - _NEAREST)
    return np.asarray(found * (1.0 - found))


def _rates(tally: Tally, expected: Expected | None) -> tuple[Array, Array]:
    """Return an estimate of every pair's rate, and how many replications it is worth, one more included.

    With a belief it is (m p̂ + ½)/(m + 1), p̂ being the expected rate and m = σ²/V the replications that it is
    worth: neighbours count. A pair's own successes alone would make the lucky ones look exact. Without a
    belief the pair's alternative and context count as one replication.
    """
    n, ones = tally.count, np.abs(tally.mean) * tally.count
    if expected is not None:
        side = np.where(np.any(tally.mean < 0, axis=(-2, -1), keepdims=True), -1.0, 1.0)
        worth = np.maximum(n, expected.noise / np.maximum(expected.var, 1e-300))
        rate = np.clip(side * expected.mean, 0.0, 1.0)
        return np.asarray((rate * worth + _HALF) / (worth + 1.0)), worth + 1.0
    axes = (-2, -1)
    whole = (ones.sum(axis=axes, keepdims=True) + _HALF) / (n.sum(axis=axes, keepdims=True) + 1.0)
    by_side = [
        (ones.sum(axis=axis, keepdims=True) + whole) / (n.sum(axis=axis, keepdims=True) + 1.0)
        for axis in axes
    ]
    usual = np.clip(by_side[0] + by_side[1] - whole, whole / 10.0, 1.0 - (1.0 - whole) / 10.0)
    return np.asarray((ones + usual) / (n + 1.0)), np.asarray(n + 1.0)
