"""Whether pairs that a model gives one noise level have one: Bartlett's comparison of their variances."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, polygamma, psi

from argbest.core.arrays import Array, IntArray
from argbest.core.tally import Tally

_LEAST = 1e-6  # of the common variance: replications that agree so far may be rounded


class Comparison(NamedTuple):
    """Sample variances beside those of the pairs they are pooled with."""

    p_value: float  # P(variances as unequal, if they are equal); NaN where nothing is pooled
    ratio: Array  # [alternative, context]: variance over the pooled one, NaN where nothing is compared
    freedom: Array  # [alternative, context]: degrees of freedom, 0 where nothing is compared


def compared(noise: Array, tally: Tally, *, together: bool = False, shared: bool = False) -> Comparison:
    """Return how the variances within pairs compare where the model's ``noise`` is the same.

    Pooled variances are those of the replications themselves, so what the model made of them plays no part.
    ``together`` takes the noise as known up to one factor: all pairs are compared, each in its own unit.
    Where alternatives have ``shared`` random numbers only the pairs of each alternative are compared, and the
    least likely alternative, times their number, speaks for all: that holds however much noise is shared.
    """
    group = np.zeros(noise.shape, np.int64)
    squares, freedom = tally.m2, np.maximum(tally.count - 1, 0).astype(float)
    if together:
        squares = squares / noise
    else:
        group = np.unique(noise, return_inverse=True)[1].reshape(noise.shape)
    if shared:
        group = np.unique(group * len(noise) + np.arange(len(noise))[:, None], return_inverse=True)[1]
        group = group.reshape(noise.shape)
    several = np.bincount(group.ravel(), (freedom > 0).ravel()) > 1
    varies = np.bincount(group.ravel(), squares.ravel()) > 0
    freedom = np.where((several & varies)[group], freedom, 0.0)
    ratio = np.full(noise.shape, np.nan)
    used = freedom > 0
    if not used.any():
        return Comparison(np.nan, ratio, freedom)
    _, kept = np.unique(group[used], return_inverse=True)
    ratio[used], p_value = bartlett(squares[used], freedom[used], kept)
    if shared:
        alone = [np.flatnonzero(kept == g) for g in range(kept.max() + 1)]
        each = [bartlett(squares[used][i], freedom[used][i], np.zeros(len(i), np.int64))[1] for i in alone]
        p_value = min(1.0, len(each) * min(each))
    return Comparison(p_value, ratio, freedom)


def bartlett(squares: Array, freedom: Array, group: IntArray) -> tuple[Array, float]:
    """Return each variance over that of its group, and P(as unequal ones, if groups have one variance each).

    T = Σ_g ν_g log s_g² − Σ_i ν_i log s_i² (Bartlett, 1937). The shares of a group's sum of squares are
    independent of that sum, so the cumulants of T are exact differences: those of −ν_i log(χ²/ν_i) summed
    over i, less those of the groups. A gamma distribution with the first three of them gives the tail, also
    where variances rest on two replications each, for which Bartlett's χ² is too rough.
    """
    total, pooled = (np.asarray(np.bincount(group, each), float) for each in (freedom, squares))
    ratio = squares / freedom / (pooled / total)[group]
    statistic = -float(freedom @ np.log(np.maximum(ratio, _LEAST)))
    mean, var, third = (_cumulant(order, freedom) - _cumulant(order, total) for order in (1, 2, 3))
    shape = 4.0 * var**3 / third**2
    tail = shape + np.sqrt(shape / var) * (statistic - mean)
    return ratio, float(gammaincc(shape, max(tail, 0.0)))


def _cumulant(order: int, freedom: Array) -> float:
    """Return a cumulant of Σ −ν log(χ²_ν/ν) over independent χ²."""
    if order == 1:
        return float(freedom @ (np.log(freedom / 2) - psi(freedom / 2)))
    return float(np.sum((-freedom) ** order * polygamma(order - 1, freedom / 2)))
