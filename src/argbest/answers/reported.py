"""Means as they are reported: those of a rate stay within 0 and 1.

Beliefs are normal, so near 0 and 1 a belief about a rate reaches beyond. What is reported is the mean of
draws from it, each clipped to 0 and 1, and clipped intervals. Selections, gaps and probabilities use the
belief as it is.
"""

import numpy as np
from scipy.special import ndtri

from argbest.core.arrays import Array
from argbest.core.normal import loss

_NO_SPREAD = 1e-12  # standard deviations below change no digit that anybody is shown


def reported_mean(mean: Array, sd: Array, *, rate: bool) -> Array:
    """Return the mean to report of a belief N(mean, sd²) in the user's sign; of a rate E[min(max(X, 0), 1)].

    min(max(X, 0), 1) = X⁺ − (X − 1)⁺, and E[(X − a)⁺] = s h((a − m)/s) with the normal loss function h.
    """
    if not rate:
        return mean + 0.0  # never -0.0, which the sign of a goal makes of 0
    exact = sd < _NO_SPREAD
    width = np.where(exact, 1.0, sd)
    clipped = width * (loss(-mean / width) - loss((1.0 - mean) / width))
    return np.clip(np.where(exact, mean, clipped), 0.0, 1.0)


def reported_interval(mean: Array, sd: Array, level: float, *, rate: bool) -> tuple[Array, Array]:
    """Return the ends of the interval that holds the mean reward with probability ``level``."""
    half_width = ndtri((1 + level) / 2) * sd
    low, high = mean - half_width, mean + half_width
    return (np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)) if rate else (low, high)
