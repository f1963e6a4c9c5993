"""Variances that borrow strength from each other, as firmly as they agree."""

from typing import NamedTuple

import numpy as np

from argbest.core.arrays import Array, BoolArray, gammaincinv, gammaln
from argbest.core.integration import latin

# How firmly variances may agree, in degrees of freedom: from hardly at all to the same everywhere.
FIRMNESS: Array = np.exp2(np.arange(0.0, 15.0))
_STEPS = 8
_MANY_VARIANCES = 1024  # variances
_NOTHING = 1e-300  # fewer degrees of freedom count as none


class Agreement(NamedTuple):
    """How firmly variances [..., i] agree, for every d of a grid, the first axis."""

    known: BoolArray  # [..., 1]: whether there is anything to learn from
    pooled: Array  # ΣW/Σν, [..., 1]; 1 where nothing is known
    firm: Array  # d
    prior: Array  # d s² over the pooled, [d, ..., 1]
    weight: Array  # the marginal likelihood of d, adding up to 1, [d, ..., 1]

    def estimate(self, squares: Array, freedom: Array) -> Array:
        """Return (d s² + W)/(d + ν), averaged over d, over the pooled variance; 1 where nothing is known.

        One over it is the posterior mean of 1/σ² of variances with these squares and degrees of freedom.
        """
        each = (self.prior + squares / self.pooled) / (self.firm + freedom)
        return np.where(self.known, (self.weight * each).sum(axis=0), 1.0)


def agreement(squares: Array, freedom: Array) -> Agreement:
    """Return how firmly variances agree, from their sums of squares and degrees of freedom, [..., i].

    σ_i² ~ d s² / χ²_d and W_i ~ σ_i² χ²_ν, so that W_i/(ν s²) ~ F(ν, d) (Smyth, "Linear models and empirical
    Bayes methods", 2004). For every d on a grid s² is the most likely, by a few Newton steps.
    """
    total = freedom.sum(axis=-1, keepdims=True)
    pooled = squares.sum(axis=-1, keepdims=True) / np.maximum(total, _NOTHING)
    known = (total > 0) & (pooled > 0)
    pooled = np.where(known, pooled, 1.0)
    ratio = np.where(known, squares / pooled, 0.0)
    firm, seen, own = FIRMNESS.reshape(-1, *(1,) * squares.ndim), ratio, freedom
    if freedom.ndim == 1 and len(freedom) > _MANY_VARIANCES:  # what was not observed tells nothing
        seen, own = ratio[..., freedom > 0], freedom[freedom > 0]
    prior = firm * _likeliest_scale(seen, own, firm)
    half = (own + firm) / 2
    fixed = np.sum(gammaln(half) - gammaln(firm / 2), axis=-1, keepdims=True)
    evidence = fixed + np.sum(firm / 2 * np.log(prior) - half * np.log(prior + seen), axis=-1, keepdims=True)
    weight = np.exp(evidence - evidence.max(axis=0))
    return Agreement(known, pooled, firm, prior, weight / weight.sum(axis=0))


def shrunk(squares: Array, freedom: Array) -> Array:
    """Return variance estimates [..., i] over the pooled variance (`Agreement.estimate`).

    Unlike those of a single best d, averages over d do not jump, nor do they trust a chance agreement of few
    variances.
    """
    return agreement(squares, freedom).estimate(squares, freedom)


def draw_variances(
    squares: Array, freedom: Array, generator: np.random.Generator, *, everywhere: bool = True
) -> Array:
    """Return variances [n, i] from their posterior given sums of squares [n, i], over the pooled variance.

    Not ``everywhere``: only those of which something was observed; the others are 1.

    Where `shrunk` averages over d, here d is drawn with its probability, and then
    σ_i² = (d s² + W_i) / χ²_{d + ν_i}, so that 1/E[1/σ²] is the estimate.
    """
    agreed = agreement(squares, freedom)
    reached = np.cumsum(agreed.weight, axis=0)  # [d, n, 1]
    pick = np.sum(reached[:-1] <= latin(generator, (len(squares), 1)), axis=0)
    scale = np.take_along_axis(agreed.prior, pick[None], axis=0)[0]
    half = 0.5 * (FIRMNESS[pick] + freedom)
    uniform, found = latin(generator, squares.shape), np.ones(squares.shape)
    some = slice(None) if everywhere else np.flatnonzero(freedom > 0)
    ratio = (squares / agreed.pooled)[:, some]
    found[:, some] = (scale + ratio) / (2.0 * gammaincinv(half[:, some], uniform[:, some]))
    return np.where(agreed.known, found, 1.0)


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
