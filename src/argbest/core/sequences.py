"""Lower bounds on a mean that hold at every sample size at once, so under any policy and any stopping rule.

A row holds independent values of one law in the order of their replications, [..., n], filled up with NaN at
the end. What is returned, [...], is the highest bound along the row: with probability 1 − alpha none of them
ever exceeds the mean.
"""

from functools import lru_cache

import numpy as np

from argbest.core.arrays import Array, BoolArray, IntArray, stdtr

PRIOR = 1.0  # prior replications behind the mixture over mean / std; tightest near n = 10 to 100
_HALVINGS = 50
_ROUNDING = 1e-10  # of squares
_MOST_STAKED = 0.75  # of the capital, on one value of a known range


def normal_lower(
    values: Array, alpha: float, *, resolution: float = 0.0, exact: BoolArray | bool = False
) -> Array:
    """Return the bound for normal values of unknown variance: mean − s √q(n), −inf while there is none.

    s² = Σ(x − mean)²/n. Values that are all equal, up to the ``resolution`` of their arithmetic, have no
    bound: normal noise is never equal, so they tell nothing of it. Unless they are ``exact`` [...]: known to
    be free of noise rather than rare events; then s is the resolution.
    """
    counts, mean, var = _running(values)
    longest = values.shape[-1]
    radius = np.concatenate([[np.inf], radii(_roomy(longest), alpha)])[np.minimum(counts, longest)]
    varies = (var > resolution**2) | np.asarray(exact)[..., None]
    known = np.isfinite(values) & varies & np.isfinite(radius)
    spread = np.maximum(np.sqrt(var), resolution)
    bounds = np.where(known, mean - spread * np.where(known, radius, 0.0), -np.inf)
    return np.asarray(bounds.max(axis=-1, initial=-np.inf))


@lru_cache(maxsize=64)
def radii(most: int, alpha: float, prior: float = PRIOR) -> Array:
    """Return √q(n) for n = 1 to ``most``: by how many s the mean may lie above the true one.

    The right side of G(q) = 1/alpha, where with D = √q s the distance to a mean in question
    G = 2 T_n(n √(q / (n + c² + c² q))) √(c²/(n + c²)) [(n + c²)(1 + q) / (n + c² + c² q)]^(n/2),
    T_n the distribution function of Student's t with n degrees of freedom and c² = ``prior``. G is the
    average, over means that are larger by a half-normal(1/c) number of standard deviations, of the likelihood
    ratios of what does not depend on the unit of the values: a martingale with expectation 1 (Lai 1976; Wang
    and Ramdas 2023 for the two-sided mixture, of which this is the half that a lower bound needs).
    """
    n = np.arange(1, most + 1)
    low, high = np.zeros(most), np.ones(most)
    wanted = -np.log(alpha)
    for _ in range(_HALVINGS):  # p = q/(1 + q)
        middle = 0.5 * (low + high)
        short = log_evidence(n, middle, prior) < wanted
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    reached = log_evidence(n, np.ones(most), prior) >= wanted
    with np.errstate(divide="ignore"):
        found = np.where(reached, np.sqrt(high / (1.0 - high)), np.inf)
    found.flags.writeable = False
    return found


def log_evidence(n: IntArray, p: Array, prior: float = PRIOR) -> Array:
    """Return log G of `radii` for n values at the squared distance p = q/(1 + q)."""
    half = np.asarray(stdtr(n, n * np.sqrt(p / (prior + n * (1.0 - p)))), np.float64)
    whole = 0.5 * np.log(prior / (n + prior)) - 0.5 * n * np.log1p(-p * n / (n + prior))
    return np.asarray(np.log(2.0 * half) + whole)


def bounded_lower(values: Array, alpha: float, low: float, high: float) -> Array:
    """Return the bound for values of any law between ``low`` and ``high``, by bets on a larger mean.

    With values scaled to 0..1 the capital Π(1 + λ_t (x_t − m)) is a martingale if m is the mean, and reaches
    1/alpha with probability alpha at most; λ_t depends on earlier values alone, and is capped to keep the
    capital positive. The bound is the largest m at which it did: capital falls in m (Waudby-Smith and Ramdas
    2024, predictable plug-in).
    """
    x = (values - low) / (high - low)
    seen = np.isfinite(x)
    x = np.where(seen, x, 0.0)
    stake = np.where(seen, _stakes(x, alpha), 0.0)
    below, above = np.zeros(x.shape[:-1]), np.ones(x.shape[:-1])
    wanted = -np.log(alpha)
    for _ in range(_HALVINGS):
        m = 0.5 * (below + above)[..., None]
        capital = np.cumsum(np.log1p(np.minimum(stake, _MOST_STAKED / m) * (x - m)), axis=-1)
        reached = capital.max(axis=-1, initial=-np.inf) >= wanted
        below, above = np.where(reached, m[..., 0], below), np.where(reached, above, m[..., 0])
    return np.asarray(low + (high - low) * below)


def _stakes(x: Array, alpha: float) -> Array:
    """Return λ_t = √(2 log(1/alpha) / (v t log(1 + t))), v the variance of the values before the t-th."""
    t = np.arange(1, x.shape[-1] + 1)
    mean = (0.5 + np.cumsum(x, axis=-1)) / (t + 1)
    var = (0.25 + np.cumsum((x - mean) ** 2, axis=-1)) / (t + 1)
    before = np.concatenate([np.full((*x.shape[:-1], 1), 0.25), var[..., :-1]], axis=-1)
    return np.asarray(np.sqrt(-2.0 * np.log(alpha) / (before * t * np.log1p(t))))


def _running(values: Array) -> tuple[IntArray, Array, Array]:
    """Return count, mean and variance (divisor n) of the values up to each, [..., n]."""
    seen = np.isfinite(values)
    counts = np.cumsum(seen, axis=-1)
    number = np.maximum(counts, 1)
    # Around the mean of all, so that large values that lie close together keep their differences.
    centre = np.where(seen, values, 0.0).sum(axis=-1, keepdims=True) / np.maximum(counts[..., -1:], 1)
    offset = np.where(seen, values - centre, 0.0)
    mean = np.cumsum(offset, axis=-1) / number
    var = np.cumsum(offset**2, axis=-1) / number - mean**2
    # Beside values that lie farther off, what is left of equal ones is rounding.
    rounding = _ROUNDING * np.square(offset).max(axis=-1, keepdims=True, initial=0.0)
    return counts, mean + centre, np.where(var > rounding, var, 0.0)


def _roomy(n: int) -> int:
    """Return the next power of 2, so that few tables of radii are ever made."""
    return 1 << max(n - 1, 15).bit_length()
