"""Standardisation of outcomes per alternative or per study, from the tally alone."""

from typing import NamedTuple

import numpy as np

from argbest.core.arrays import AnyArray, Array
from argbest.core.tally import EQUAL, SMALLEST, Tally, check_spread


class Scaling(NamedTuple):
    """Standardised = (value − shift) / spread, both [..., alternative]."""

    shift: Array
    spread: Array


def standardisation(tally: Tally) -> Scaling:
    """Return each alternative's mean and standard deviation (ddof 1) of all its observations.

    With fewer than two observations, or none that differ, the standard deviation is that of the whole study;
    with none at all the mean is, too; and 1 where the whole study shows no spread.
    """
    check_spread(tally)
    axes = (-2, -1)
    n, mean, std = (v[..., 0] for v in _moments(tally, (-1,)))
    size = np.abs(tally.mean).max(axis=-1, initial=0.0)
    varied = (n > 1) & (std > EQUAL * np.maximum(size, SMALLEST))
    if varied.all():
        return Scaling(mean, std)
    pooled_n, pooled_mean, pooled_std = (v[..., 0] for v in _moments(tally, axes))
    largest = size.max(axis=-1, initial=0.0, keepdims=True)
    fallback = np.where((pooled_n > 1) & (pooled_std > EQUAL * largest), pooled_std, 1.0)
    return Scaling(np.where(n > 0, mean, pooled_mean), np.where(varied, std, fallback))


def standardisation_of_study(tally: Tally) -> Scaling:
    """Return mean and standard deviation of all observations of a study, [..., 1]: the same for everyone."""
    flat = (*tally.shape[:-2], 1, tally.shape[-2] * tally.shape[-1])
    return standardisation(Tally(tally.count.reshape(flat), tally.mean.reshape(flat), tally.m2.reshape(flat)))


def standardise(tally: Tally, scaling: Scaling) -> Tally:
    """Return the tally of the standardised outcomes."""
    shift, spread = scaling.shift[..., None], scaling.spread[..., None]
    mean = np.where(tally.count > 0, (tally.mean - shift) / spread, 0.0)
    common = tally.common
    if common is not None:  # then all alternatives have one scale
        common = common.moved(scaling.shift[..., 0], scaling.spread[..., 0])
    return Tally(tally.count, mean, tally.m2 / spread**2, common=common)


def _moments(tally: Tally, axes: tuple[int, ...]) -> tuple[AnyArray, Array, Array]:
    """Return the count, mean and standard deviation of all observations along ``axes`` (kept)."""
    n = tally.count.sum(axis=axes, keepdims=True)
    # Around a reference cell, so that large values that lie close together keep their differences.
    origin = np.where(tally.count > 0, tally.mean, -np.inf).max(axis=axes, keepdims=True)
    origin[n == 0] = 0.0
    offset = tally.mean - origin  # of empty cells too: it counts for nothing
    centre = (tally.count * offset).sum(axis=axes, keepdims=True) / np.maximum(n, 1)
    squares = (tally.m2 + tally.count * (offset - centre) ** 2).sum(axis=axes, keepdims=True)
    return n, origin + centre, np.sqrt(squares / np.maximum(n - 1, 1))
