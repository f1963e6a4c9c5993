"""Every pair by its own replications, where alternatives share noise: contexts alone, N(f̂_c, Λ_c⁻¹)."""

import numpy as np

from argbest.core.additive_belief import AdditiveBelief, Stack
from argbest.core.arrays import Array, IntArray
from argbest.core.common_noise import blocks
from argbest.core.foundations import ByContext
from argbest.core.next_replication import shocks
from argbest.core.replications import Replications
from argbest.core.tally import Tally


def context_by_context(tally: Tally, shown: Replications, noise: Array, correlation: Array) -> AdditiveBelief:
    """Return the belief that follows from the data alone; what was never observed has mean and variance 0.

    Means are generalised least squares: a replication tells of others of its number, too. ``shown`` are the
    replications of the tally.
    """
    *lead, k, c = tally.shape
    mean, cov = np.zeros(tally.shape), np.zeros((*lead, c, k, k))
    for study in np.ndindex(*lead):
        for block in blocks(tally[study], noise[study], correlation[study]):
            mean[study][block.alternative, block.context] = block.mean
            inverse = np.linalg.inv(block.precision)
            cov[study][block.context][np.ix_(block.alternative, block.alternative)] = inverse
    return _belief(mean, cov, noise, shown, correlation)


def _belief(
    mean: Array, cov: Array, noise: Array, shown: Replications | None, correlation: Array
) -> AdditiveBelief:
    var = np.swapaxes(np.einsum("...ckk->...ck", cov), -1, -2).copy()
    stack = Stack(np.zeros((*mean.shape[:-2], 0, *mean.shape[-2:])))
    ahead = np.maximum(correlation, 0.0)  # what goes against each other is not shared any more
    shared = None if shown is None or not ahead.any() else shocks(shown, noise, ahead)
    return AdditiveBelief(mean, var, noise, ByContext(cov), stack, 0, shocks=shared)


def at_contexts(belief: AdditiveBelief, which: IntArray) -> AdditiveBelief:
    """Return the belief at some of the contexts, each by itself: arrays [X, ..., alternative, 1]."""
    cov = belief.within_contexts()[..., which, :, :]
    mean, noise = (
        np.moveaxis(values[..., which], -1, 0)[..., None] for values in (belief.mean, belief.noise)
    )
    return _belief(mean, np.moveaxis(cov, -3, 0)[..., None, :, :], noise, None, np.zeros(1))
