"""What policies that decide from the tally alone take for their belief."""

import numpy as np

from argbest.core.arrays import IntArray
from argbest.core.belief import Belief, CellBelief
from argbest.core.moments import sample_variance
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.base import OneByOne


class ByTally(OneByOne):
    """Policies that decide from sample means and variances, whatever the model believes."""

    def _seen(
        self,
        belief: Belief,  # noqa: ARG002
        tally: Tally,
        pending: IntArray,
        setting: Setting,
    ) -> tuple[Belief, IntArray]:
        return sampled(tally, pending, setting)


def sampled(tally: Tally, pending: IntArray, setting: Setting) -> tuple[CellBelief, IntArray]:
    """Return N(Ȳ, v/N) for every pair with v its sample variance, and the trials under way that matter.

    Two observations are needed of every pair that is not set aside. One that is counts as known, with
    variance 0, and its trials do not matter; if it was never observed it takes no part: its mean is −∞.
    """
    if setting.excluded is None:
        noise = sample_variance(tally)
        return CellBelief(tally.mean, noise / tally.count, noise), pending
    closed = np.broadcast_to(setting.excluded, tally.shape)
    count = np.where(closed, np.maximum(tally.count, 2), tally.count)
    noise = np.where(closed, 0.0, sample_variance(Tally(count, tally.mean, tally.m2)))
    unseen = closed & (tally.count == 0)
    # Not where a whole context was never seen: ∞ − ∞ is no number, and there is nothing to compare.
    absent = unseen & ~unseen.all(axis=-2, keepdims=True)
    mean = np.where(absent, -np.inf, tally.mean)
    return CellBelief(mean, noise / count, noise), np.where(closed, 0, pending)
