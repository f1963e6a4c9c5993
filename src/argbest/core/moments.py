"""Sample variances per pair, never zero: what the independent normal model and its policies rest on."""

import numpy as np

from argbest.core.arrays import Array, BoolArray
from argbest.core.tally import Tally, check_spread
from argbest.errors import TooFewDataError

_NONE = 1e-12  # a variance below this share of the pooled one is taken for none
_STAND_IN = 1e-2  # the share of the pooled variance that stands in for none
_LEAST = 1e-290  # what lies below has underflowed: a quotient by it would overflow


def sample_variance(tally: Tally, excluded: BoolArray | None = None) -> Array:
    """Return v = W / (N − 1) of every pair, always positive, [..., alternative, context].

    A pair whose observations agree gets a hundredth of the pooled variance ΣW / Σ(N − 1) of the study. Next
    to nothing in its place would not do: C-OCBA's N²/v of that pair would be so large that the best
    alternative beside it took all further samples. Where no pair varies, v is (1e-12 times the range of the
    sample means)², and 1 where these are all equal, too. It moves with the unit and not with a shift. Every
    pair must have two observations, but for those ``excluded``, which get a stand-in.
    """
    few = tally.count < 2 if excluded is None else (tally.count < 2) & ~excluded
    if np.any(few):
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
    stand_in = np.where(stand_in > _LEAST, stand_in, 1.0)
    own = tally.m2 / np.maximum(freedom, 1)
    return np.where(own > np.maximum(_NONE * pooled, _LEAST), own, stand_in)
