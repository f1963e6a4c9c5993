"""Whether rewards look far from normal, judged within pairs and pooled over them.

Where earlier replications decide whether there are later ones, those of a pair are no plain sample: normal
rewards may look skewed within pairs. So an alarm needs a second score, of each replication beside those
before it. Both are exact where the numbers of replications are fixed; policies tend to push them apart.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtr

from argbest.core.arrays import Array

if TYPE_CHECKING:
    from argbest.study.view import View

SKEWNESS = 1.0  # beyond: strongly skewed
KURTOSIS = 4.0  # excess; beyond: heavy tails, heavier than the Laplace distribution's 3
# Both count only if chance explains them this badly, in standard normal units.
_SIGMAS_WITHIN_PAIRS = 4.0
_SIGMAS_IN_ORDER = 2.0  # of each replication beside those before it
_TWO_VALUES = 0.9  # of the replications
_FEWEST_REPLICATIONS = 20  # replications, before two values can be a pattern
_ROUNDING = 1e-12  # relative differences below are no noise of the simulation
_LEAST_PROBABILITY = 1e-300  # probabilities below would have no normal score
_ADVICE = (
    "Few such values tell little, so certificates are cautious, and nothing can foresee what has not been "
    "seen. It helps to let each trial return the mean of a batch of runs"
)


class _Pooled(NamedTuple):
    """An estimate, and how many sigmas it lies from that of normal rewards."""

    value: float
    sigmas: float


def of_study(view: "View") -> str | None:
    """Return a sentence on how the rewards of a study depart from normal ones, or None.

    With common random numbers the pairs of a context share their noise, so only one of them counts:
    the one with the most replications. Rewards that are 0 or 1 have a noise model of their own; if they
    are not declared, the sentence says how to.
    """
    if view.rate:
        return None
    seen = view.rewards
    if seen.both and seen.n >= _FEWEST_REPLICATIONS:
        return (
            f"all {seen.n} rewards are 0 or 1, so they are treated as a rate. If they can have no other "
            "value, declare rate=True, or return True and False: means are then reported within 0 and 1, and "
            "the guarantee needs no normal rewards."
        )
    groups = view.replicates()
    if view.common_random_numbers:
        longest: dict[int, list[float]] = {}
        for (_, context), values in groups.items():
            longest[context] = max(longest.get(context, []), values, key=len)
        return departure(list(longest.values()))
    return departure(list(groups.values()))


def departure(groups: Sequence[object]) -> str | None:
    """Return a sentence on how the rewards depart from normal ones, or None if nothing speaks for it.

    ``groups`` holds the replications of each pair in their order; pairs share neither mean nor variance. The
    departure must be large (two values only, skewness beyond ±1, or excess kurtosis above 4) and beyond
    chance, within pairs as well as of each replication beside those before it (`_sequential`): for normal
    rewards a false alarm has a probability below 1e-3, however many replications pairs have.
    """
    rows = [row for row in (np.asarray(group, dtype=float) for group in groups) if row.size > 1]
    if not rows:
        return None
    extent = f"{sum(row.size for row in rows)} replications of {len(rows)} pair{'s' * (len(rows) > 1)}"
    if _takes_two_values(rows):
        return (
            f"rewards look far from normal: nearly all of {extent} are one of two values. {_ADVICE}: "
            "a share of many runs is much nearer to normal."
        )
    n, third, fourth = _standardised(rows)
    skew, tails = _skewness(n, third), _kurtosis(n, fourth)
    n, third, fourth = _standardised([_sequential(rows)])
    skew_later, tails_later = _skewness(n, third), _kurtosis(n, fourth)
    if skew is not None and abs(skew.value) > SKEWNESS and _confirmed(skew, skew_later):
        side = "right" if skew.value > 0 else "left"
        return (
            f"rewards look far from normal: strongly skewed to the {side} (skewness about {skew.value:.1f}, "
            f"from {extent}). {_ADVICE}, or, if that is what you want to compare, its logarithm."
        )
    if tails is not None and tails.value > KURTOSIS and _confirmed(tails, tails_later):
        return (
            f"rewards look far from normal: some are extreme (excess kurtosis about {tails.value:.0f}, from "
            f"{extent}). {_ADVICE}, and look at the extreme runs: they may be failures of the simulator."
        )
    return None


def _confirmed(within: _Pooled, later: _Pooled | None) -> bool:
    """Return whether both scores are beyond chance, on the same side."""
    side = np.sign(within.sigmas)
    return (
        later is not None
        and side * within.sigmas > _SIGMAS_WITHIN_PAIRS
        and bool(side * later.sigmas > _SIGMAS_IN_ORDER)
    )


def _sequential(rows: list[Array]) -> Array:
    """Return the normal score of each replication beside those before it in its pair, from the third on.

    t_j = (y_j − ȳ_{j−1}) √((j − 1)/j)/s_{j−1} is Student's with j − 2 degrees of freedom, all of them
    independent: for normal rewards and given numbers of replications, or with flat priors of mean and
    log variance and any policy.
    """
    t, freedom = np.concatenate([np.empty((2, 0)), *_innovations(rows)], axis=1)
    tail = np.maximum(stdtr(freedom, -np.abs(t)), _LEAST_PROBABILITY)
    return np.asarray(-np.sign(t) * ndtri(tail))


def _innovations(rows: list[Array]) -> Iterator[Array]:
    """Yield t and its degrees of freedom, pair by pair, where the replications before differ."""
    for row in rows:
        deviation = row - row[0]
        largest = np.abs(deviation).max()
        if len(row) < 3 or largest <= _ROUNDING * np.abs(row).max():
            continue
        y, n = deviation / largest, np.arange(1, len(row))
        new = (y[1:] - np.cumsum(y)[:-1] / n) * np.sqrt(n / (n + 1))
        before = np.cumsum(new**2)[:-1]
        known = before > _ROUNDING
        freedom = n[:-1].astype(float)
        yield np.stack([new[1:] / np.sqrt(np.where(known, before, 1.0) / freedom), freedom])[:, known]


def _takes_two_values(rows: list[Array]) -> bool:
    """Return whether two values make up nearly all replications, both within some pair."""
    values, counts = np.unique(np.concatenate(rows), return_counts=True)
    top = np.argsort(counts)[-2:]
    if len(top) < 2 or counts.sum() < _FEWEST_REPLICATIONS or counts[top].sum() < _TWO_VALUES * counts.sum():
        return False
    differ = np.ptp(values[top]) > _ROUNDING * np.abs(values[top]).max()
    return bool(differ) and any(np.isin(values[top], row).all() for row in rows)


def _standardised(rows: list[Array]) -> tuple[Array, Array, Array]:
    """Return size, standardised third and standardised fourth moment of every pair that varies."""
    values, sizes = np.concatenate(rows), np.array([row.size for row in rows])
    if not values.size:
        return np.empty(0), np.empty(0), np.empty(0)
    starts = np.cumsum(sizes) - sizes
    deviation = values - np.repeat(np.add.reduceat(values / np.repeat(sizes, sizes), starts), sizes)
    largest = np.maximum.reduceat(np.abs(deviation), starts)
    varies = largest > _ROUNDING * np.maximum.reduceat(np.abs(values), starts)
    deviation /= np.repeat(np.where(varies, largest, np.inf), sizes)  # so that no power overflows
    second, third, fourth = (np.add.reduceat(deviation**power, starts)[varies] for power in (2, 3, 4))
    n = sizes[varies].astype(float)
    return n, np.sqrt(n) * third / second**1.5, n * fourth / second**2


def _skewness(n: Array, g: Array) -> _Pooled | None:
    """Return the pooled skewness from each pair's g₁; None without three replications of any pair.

    Each pair has G₁ = g₁ √(n(n−1)) / (n−2), whose variance and kurtosis are known for normal rewards (Fisher,
    1930). Those of the pooled sum then follow, and D'Agostino's (1970) transformation makes it normal.
    """
    n, g = n[n > 2], g[n > 2]
    if not n.size:
        return None
    corrected = np.sqrt(n * (n - 1)) / (n - 2)
    var = corrected**2 * 6 * (n - 2) / ((n + 1) * (n + 3))
    excess = 36 * (n - 7) * (n**2 + 2 * n - 5) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    seen = (n - 1.5) / (n + 4)  # the share of a skewness near 1 that so few replications show on average
    weight = seen / var / np.sum(seen**2 / var)
    value, sd = weight @ (corrected * g), np.sqrt(np.sum(weight**2 * var))
    kurtosis = 3 + np.sum((weight**2 * var) ** 2 * excess) / sd**4
    return _Pooled(float(value), _of_symmetric(value / sd, float(kurtosis)))


def _kurtosis(n: Array, b: Array) -> _Pooled | None:
    """Return the pooled excess kurtosis from each pair's b₂; None without four replications of any pair.

    Each pair has G₂ = (n−1)/((n−2)(n−3)) ((n+1) (b₂−3) + 6), whose variance and skewness are known for normal
    rewards. Those of the pooled sum follow, and Anscombe and Glynn's (1983) transformation makes it normal.
    """
    n, b = n[n > 3], b[n > 3]
    if not n.size:
        return None
    factor = (n - 1) * (n + 1) / ((n - 2) * (n - 3))
    var = factor**2 * 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    root = np.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    skew = 6 * (n**2 - 5 * n + 2) / ((n + 7) * (n + 9)) * root
    seen = (n - 1) / (n + 16)  # as above, for tails like the Laplace distribution's
    weight = seen / var / np.sum(seen**2 / var)
    value, sd = weight @ (factor * (b - 3 + 6 / (n + 1))), np.sqrt(np.sum(weight**2 * var))
    skewness = np.sum((weight * np.sqrt(var)) ** 3 * skew) / sd**3
    return _Pooled(float(value), of_skewed(value / sd, float(skewness)))


def _of_symmetric(z: float, kurtosis: float) -> float:
    """Return the normal score of a standardised symmetric variable (Johnson's S_U by its kurtosis)."""
    if kurtosis <= 3 + 1e-9:  # lighter tails than normal: z itself overstates no significance
        return z
    w2 = np.sqrt(2 * kurtosis - 2) - 1
    alpha = np.sqrt(2 / (w2 - 1))
    return float(np.arcsinh(z / alpha) / np.sqrt(np.log(w2) / 2))


def of_skewed(z: float, skewness: float) -> float:
    """Return the normal score of a standardised variable with a long right tail (Wilson and Hilferty)."""
    if skewness <= 1e-9:
        return z
    twice = 2 / skewness
    shape = 6 + 4 * twice * (twice + np.sqrt(1 + twice**2))
    root = np.cbrt((1 - 2 / shape) / np.maximum(1 + z * np.sqrt(2 / (shape - 4)), 1e-9))
    return float((1 - 2 / (9 * shape) - root) / np.sqrt(2 / (9 * shape)))
