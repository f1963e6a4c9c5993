"""Lower bounds on a mean that hold at every sample size at once, so under any policy and any stopping rule.

A row holds independent values of one law in the order of their replications, [..., n], filled up with NaN at
the end. What is returned, [...], is the highest bound along the row: with probability 1 − alpha none of them
ever exceeds the mean.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from argbest.core.arrays import Array, BoolArray, IntArray, stdtr

PRIOR = 1.0  # prior replications behind the mixture over mean / std; tightest near n = 10 to 100
FEWEST = 12  # values from which normal ones may have a bound: fewer hardly show that they are skewed
MOST_EQUAL = 0.25  # of the values; rounding to 0.6 standard deviations makes so many of normal ones equal
MOST_CORRECTED = 0.1  # of a distance; skewness that asks for more is not dealt with by its first order
_VISIBLE = 3.0  # standard errors √(6/n): normal values are rarely so skewed
_HALVINGS = 50
_ROUNDING = 1e-10  # of squares
_MOST_STAKED = 0.75  # of the capital, on one value of a known range


def normal_lower(values: Array, alpha: float, *, resolution: float = 0.0, exact: bool = False) -> Array:
    """Return the highest of the `normal_bounds` along each row, −inf where there is none.

    A row whose values are visibly not normal has none, even where its first values had a bound.
    """
    stats = _running_statistics(values, alpha, resolution)
    visibly = stats.skewed & (stats.skewness < -_VISIBLE * np.sqrt(6.0 / np.maximum(stats.count, 1)))
    withdrawn = (stats.tied | visibly)[..., -1:] & ~(stats.constant[..., -1:] & exact)
    bounds = np.where(withdrawn, -np.inf, _bounds(stats, resolution, exact=exact))
    return np.asarray(bounds.max(axis=-1, initial=-np.inf))


def normal_bounds(values: Array, alpha: float, *, resolution: float = 0.0, exact: bool = False) -> Array:
    """Return the bound at each length for normal values of unknown variance, [..., n]: mean − s r.

    s² = Σ(x − mean)²/n, and r is √q(n) of `radii`, corrected for negative skewness γ of the values,
    r = √q − γ (2 n q + 1) / (6 n): as a mean in units of its estimated standard error has, in the first order
    of 1/√n, the quantiles z − γ (2z² + 1) / (6 √n) (Johnson 1978; Hall 1992, chapter 2). Positive skewness
    makes the bound safer and is left alone.

    It is −inf for fewer than `FEWEST` values, and where the values up to there do not look normal (`doubts`).
    Values that are all equal, up to the ``resolution`` of their arithmetic, tell nothing of the noise: normal
    noise is never equal. With ``exact`` they are known to be free of it: in rows that are equal to their end,
    s is the resolution.
    """
    return _bounds(_running_statistics(values, alpha, resolution), resolution, exact=exact)


def doubts(values: Array, alpha: float, *, resolution: float = 0.0) -> tuple[BoolArray, BoolArray]:
    """Return whether ties, and whether skewness, contradict normal values at each length, [..., n].

    Ties: more than `MOST_EQUAL` of the values are the same. Normal values never are, except by rounding.
    Skewness: the correction of `normal_bounds` exceeds `MOST_CORRECTED` of √q, so n is below a multiple of
    γ², about 120 γ² at alpha = 0.05.
    """
    stats = _running_statistics(values, alpha, resolution)
    return stats.tied, stats.skewed


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


@dataclass(frozen=True, eq=False)
class _RunningStatistics:
    """Statistics of the values up to each one, [..., n], and what they say of normality."""

    count: IntArray
    mean: Array
    var: Array  # divisor n; 0 where it is rounding
    skewness: Array  # 0 where the variance is
    constant: BoolArray
    tied: BoolArray
    skewed: BoolArray
    radius: Array  # corrected for the skewness


def _running_statistics(values: Array, alpha: float, resolution: float) -> _RunningStatistics:
    """Return the running statistics of values, for bounds of that alpha."""
    order = np.argsort(values, axis=-1, kind="stable")  # NaN come last
    count, mean, var, skewness = _running_moments(values, order)
    longest, n = values.shape[-1], np.maximum(count, 1)
    radius = np.concatenate([[np.inf], radii(_next_power_of_two(longest), alpha)])[np.minimum(count, longest)]
    finite = np.where(np.isfinite(radius), radius, 0.0)
    correction = np.maximum(-skewness, 0.0) * (2.0 * n * finite**2 + 1.0) / (6.0 * n)
    return _RunningStatistics(
        count,
        mean,
        var,
        skewness,
        constant=var <= resolution**2,
        tied=_most_equal(values, order, resolution) > np.maximum(MOST_EQUAL * n, 1),
        skewed=correction > MOST_CORRECTED * finite,
        radius=radius + correction,
    )


def _bounds(stats: _RunningStatistics, resolution: float, *, exact: bool) -> Array:
    """Return the `normal_bounds` of values with these statistics."""
    sound = ~(stats.tied | stats.skewed | stats.constant) & (stats.count >= FEWEST)
    known = (sound | (stats.constant[..., -1:] & exact)) & np.isfinite(stats.radius)
    spread = np.maximum(np.sqrt(stats.var), resolution)
    return np.where(known, stats.mean - spread * np.where(known, stats.radius, 0.0), -np.inf)


def _running_moments(values: Array, order: IntArray) -> tuple[IntArray, Array, Array, Array]:
    """Return count, mean, variance and skewness of the values up to each, [..., n]; ``order`` sorts them."""
    seen = np.isfinite(values)
    count = np.cumsum(seen, axis=-1)
    n = np.maximum(count, 1)
    # Around the median, so that neither large values that lie close together nor a few that lie far off
    # take the digits of the others.
    middle = np.take_along_axis(order, np.maximum(count[..., -1:] - 1, 0) // 2, axis=-1)
    centre = np.nan_to_num(np.take_along_axis(values, middle, axis=-1))
    offset = np.where(seen, values - centre, 0.0)
    # In a unit, a power of 2, in which cubes are neither too large nor too small.
    widest = np.abs(offset).max(axis=-1, keepdims=True, initial=0.0)
    unit = np.where(widest > 0, np.exp2(np.frexp(widest)[1]), 1.0)
    offset = offset / unit
    squared = offset * offset
    mean, square, cube = (np.cumsum(each, axis=-1) / n for each in (offset, squared, squared * offset))
    var = square - mean * mean
    # Beside values that lie farther off, what is left of equal ones is rounding.
    varies = var > _ROUNDING * squared.max(axis=-1, keepdims=True, initial=0.0)
    third = cube - mean * (3.0 * square - 2.0 * mean * mean)
    known = np.where(varies, var, 1.0)
    skewness = np.where(varies, third, 0.0) / (known * np.sqrt(known))
    return count, unit * mean + centre, unit * unit * np.where(varies, var, 0.0), skewness


def _most_equal(values: Array, order: IntArray, resolution: float) -> IntArray:
    """Return how often the most frequent of the values up to each occurs, [..., n]."""
    ranked = np.take_along_axis(values, order, axis=-1)
    another = np.ones(values.shape, bool)  # not the same as the one before it in the order
    another[..., 1:] = ~(np.diff(ranked, axis=-1) <= resolution)
    place = np.broadcast_to(np.arange(values.shape[-1]), values.shape)
    first = np.maximum.accumulate(np.where(another, place, 0), axis=-1)
    occurrence = np.empty(values.shape, np.int64)  # 1 of the first of equal values, 2 of the second, ...
    np.put_along_axis(occurrence, order, place - first + 1, axis=-1)
    return np.maximum.accumulate(occurrence, axis=-1)


def _next_power_of_two(n: int) -> int:
    """Return the next power of 2, so that few tables of radii are ever made."""
    return 1 << max(n - 1, 15).bit_length()
