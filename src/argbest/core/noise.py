"""Noise per pair: empirical-Bayes estimates that borrow strength where replications are few."""

import numpy as np
from scipy.special import gammaln

from argbest.core.arrays import Array
from argbest.core.tally import Tally

# How firmly variances may agree, in degrees of freedom: from hardly at all to the same everywhere.
_FIRMNESS: Array = np.exp2(np.arange(0.0, 15.0))
_LEAST = 1e-3  # replications that agree so far may still differ: rare events look like no noise at all
_SWEEPS = 2
_STEPS = 8


def relative_noise(tally: Tally, *, missed: Array | None = None, per_alternative: bool = False) -> Array:
    """Return the noise variance of every pair over the average, [..., alternative, context].

    The variances are modelled as σ²(k, c) = a_k b_c u_kc: contexts that are noisy for all alternatives,
    alternatives that are noisy in all contexts, and what is a pair's own. Each kind of factor is shrunk in
    turn (`shrunk`). A pair of which nothing is known inherits a_k b_c; where that is all pairs all are 1. The
    average over all observations of the study, or over those of each alternative, is 1 (but for the floor).

    ``missed`` is E(Ȳ − f)² under a belief, [..., alternative, context]. Without it a pair's N replications
    tell by their scatter about their own mean, N − 1 degrees of freedom. With it they tell by their scatter
    about what all pairs together say, N degrees: the variational posterior of σ² given a belief about f. That
    halves what chance does to the variances of two replications.
    """
    squares, freedom = tally.m2, np.maximum(tally.count - 1, 0).astype(float)
    if missed is not None:
        squares, freedom = squares + tally.count * missed, tally.count.astype(float)
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
    total = freedom.sum(axis=-1, keepdims=True)
    pooled = squares.sum(axis=-1, keepdims=True) / np.maximum(total, 1.0)
    known = (total > 0) & (pooled > 0)
    ratio = np.where(known, squares / np.where(known, pooled, 1.0), 0.0)  # scale-free
    firm = _FIRMNESS.reshape(-1, *(1,) * squares.ndim)
    prior = firm * _likeliest_scale(ratio, freedom, firm)
    part = gammaln((freedom + firm) / 2) - gammaln(firm / 2) + firm / 2 * np.log(prior)
    evidence = np.sum(part - (freedom + firm) / 2 * np.log(prior + ratio), axis=-1, keepdims=True)
    weight = np.exp(evidence - evidence.max(axis=0))
    estimate = (prior + ratio) / (firm + freedom)
    averaged = (weight * estimate).sum(axis=0) / weight.sum(axis=0)
    return np.where(known, averaged, 1.0)


def _likeliest_scale(ratio: Array, freedom: Array, firm: Array) -> Array:
    """Return s² [d, ..., 1]: the root of Σ (ν + d) d s²/(d s² + W) = n d, by Newton steps in log s²."""
    log_scale = np.zeros(np.broadcast_shapes(firm.shape, (*ratio.shape[:-1], 1)))
    for _ in range(_STEPS):
        prior = firm * np.exp(log_scale)
        share = prior / (prior + ratio)
        surplus = np.sum(firm - (freedom + firm) * share, axis=-1, keepdims=True)
        slope = np.sum((freedom + firm) * share * (1.0 - share), axis=-1, keepdims=True)
        step = surplus / np.maximum(slope, 1e-12)
        log_scale = np.clip(log_scale + np.clip(step, -2.0, 2.0), -14.0, 14.0)
    return np.exp(log_scale)
