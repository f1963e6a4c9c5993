"""Whether single rewards are distributed as models assume: normal, without ties; and what rates need."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr

from argbest.answers.normality import of_skewed
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief
from argbest.core.replications import Replications
from argbest.core.tally import EQUAL, Tally

Rewards: TypeAlias = Mapping[tuple[int, int], Sequence[float]]  # of each pair, in their order

# Mean, standard deviation and skewness of `_outlying` for 3 to 15 normal rewards, from 2,000,000 draws each.
FEWEST, _LONGEST_ROW, _SHORTEST_PART = 3, 15, 8
_MEAN = np.array(
    [4.0385, 2.4530, 1.9308, 1.6825, 1.5373, 1.4429, 1.3766, 1.3275, 1.2897, 1.2596, 1.2354, 1.2151, 1.1982]
)
_SD = np.array(
    [1.4108, 0.8057, 0.4841, 0.3274, 0.2373, 0.1818, 0.1445, 0.1182, 0.0988, 0.0841, 0.0728, 0.0637, 0.0563]
)
_SKEWNESS = np.array([1.22, 2.33, 2.80, 3.01, 3.13, 3.18, 3.23, 3.25, 3.23, 3.22, 3.20, 3.15, 3.10])
_LEAST_LEFT = 1e-3  # of the squares: where all replications but one agree, what is left is rounding error
_ALTERNATIVES, _COLUMNS = 512, 4096  # the most that are correlated, where random numbers are common
_TIED_SHARE = 0.2  # of two replications of a pair: about what rounding to 0.7 standard deviations does
_FEWEST_TIES = 5  # at least, before they are a pattern
_FEWEST_EXPECTED = 1.4  # successes, and failures, from which a share is about normal: see `scarce`


class Shape(NamedTuple):
    """How single rewards compare with normal ones."""

    tails_p_value: float = np.nan  # P(rewards as far from the others of their pair, if normal); NaN: too few
    tied: float = 0.0  # the share of equal values among two replications of a pair, where that is a pattern
    rate: bool = False  # whether only 0 and 1 were seen, and both of them


def of_rewards(rewards: Rewards, tally: Tally) -> Shape:
    """Return the shape of the single rewards of a study; values told as summaries have none."""
    if is_rate(rewards.values()):
        return Shape(rate=True)
    share = tied(rewards)
    return Shape(np.nan if share else tails(rewards, tally), share)


def is_rate(values: Iterable[Sequence[float]]) -> bool:
    """Return whether rewards are 0 and 1, and nothing else; a goal of "min" may have turned their sign."""
    seen = {abs(value) for some in values for value in some}
    return seen == {0.0, 1.0}


def tails(rewards: Rewards, tally: Tally) -> float:
    """Return P(single rewards lie as far from the others of their pair, if they are normal); NaN: too few.

    The statistics T of all pairs (`_outlying`) are summed with the weights s/Var T, s the standard deviation
    of the pair's rewards. T has no unit, hence it is independent of s for normal rewards (Basu, 1955), and
    weights may follow s: heavy tails show in the pairs that scatter most. The sum becomes a normal score by
    its variance and skewness. Long rows are cut into parts of 8 to 15 rewards.

    Common random numbers: rewards of two alternatives that have the correlation r give values of T with the
    correlation r⁴ at most. For T is even and without unit, so its expansion in Hermite polynomials begins
    with the fourth degree, and r to that power is what is left of it (Mehler, 1866).
    """
    total, scale, third = _scores(rewards, tally.shape)
    if tally.common is not None:
        some = np.argsort(-tally.count.sum(axis=1), kind="stable")[:_ALTERNATIVES]
        total, scale, third = total[some], scale[some], third[some]
    alone = np.sum(scale**2)
    if not alone > 0:
        return np.nan
    var = alone
    if tally.common is not None:
        var = np.sum(scale * (_correlation(tally.common, tally.shape, some) ** 4 @ scale))
    # The skewness is that of fewer independent pairs, so few that their sum varies as much.
    skewness = np.sum(third) / alone**1.5 * np.sqrt(var / alone)
    return float(ndtr(-of_skewed(float(np.sum(total) / np.sqrt(var)), float(skewness))))


def _scores(rewards: Rewards, shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Return weighted T less its mean, its standard deviation and its third cumulant, of every pair."""
    parts: dict[tuple[int, int, int], Sequence[float]] = {}
    for (k, c), values in rewards.items():
        n = len(values) // _SHORTEST_PART if len(values) > _LONGEST_ROW else 1
        ends = [len(values) * i // n for i in range(n + 1)]
        parts |= {(k, c, i): values[ends[i] : ends[i + 1]] for i in range(n)}
    total, scale, third = np.zeros((3, *shape))
    largest = max((float(np.ptp(rows, axis=1).max()) for _, rows in _by_length(rewards)), default=0.0)
    for where, rows in _by_length(parts):
        n = rows.shape[1]
        varies = np.ptp(rows, axis=1) > EQUAL * np.abs(rows).max(axis=1)
        if n < FEWEST or not varies.any():
            continue
        at = where[varies, 0], where[varies, 1]
        value, spread = _outlying(rows[varies])
        mean, sd, skewness = (table[n - FEWEST] for table in (_MEAN, _SD, _SKEWNESS))
        weight = spread / largest / sd
        np.add.at(total, at, weight * (value - mean) / sd)
        np.add.at(third, at, weight**3 * skewness)
        np.add.at(scale, at, weight**2)
    return total, np.sqrt(scale), third


def _by_length(rewards: Mapping[Any, Sequence[float]]) -> Iterator[tuple[IntArray, Array]]:
    """Yield keys [row, ...] and values [row, replication] of all that have the same number of values."""
    keys: dict[int, list[Any]] = {}
    for key, values in rewards.items():
        if len(values):
            keys.setdefault(len(values), []).append(key)
    for some in keys.values():
        yield np.array(some), np.array([rewards[key] for key in some], float)


def _outlying(rows: Array) -> tuple[Array, Array]:
    """Return T = −Σ_j log(1 − h_j) and the standard deviation of every row [row, replication].

    1 − h_j = 1 − n r_j²/((n − 1) W) is the share of the sum of squares W that is left without the j-th
    replication, whose residual is r_j (Grubbs, 1950).
    """
    n = rows.shape[1]
    deviation = rows - rows.mean(axis=1, keepdims=True)
    largest = np.abs(deviation).max(axis=1, keepdims=True)
    squares = (deviation / largest) ** 2  # so that nothing overflows
    total = squares.sum(axis=1, keepdims=True)
    left = np.maximum(1.0 - n / (n - 1) * squares / total, _LEAST_LEFT)
    return -np.log(left).sum(axis=1), (largest * np.sqrt(total / (n - 1)))[:, 0]


def _correlation(common: Replications, shape: tuple[int, ...], some: IntArray) -> Array:
    """Return the correlations of rewards with common random numbers between some of the alternatives."""
    rank = np.full(shape[0], -1)
    rank[some] = np.arange(len(some))
    kept = (common.alternative >= 0) & (rank[common.alternative] >= 0)
    k, c, number, value = (part[kept] for part in common.parts)
    k, pair = rank[k], k * shape[1] + c
    count = np.bincount(pair, minlength=shape[0] * shape[1])
    deviation = value - (np.bincount(pair, value, len(count)) / np.maximum(count, 1))[pair]
    deviation /= np.abs(deviation).max(initial=0.0) or 1.0
    spread = np.sqrt(np.bincount(pair, deviation**2, len(count)) / np.maximum(count - 1, 1))[pair]
    deviation = np.divide(deviation, spread, out=np.zeros_like(deviation), where=spread > 0)
    column = np.unique(np.stack([number, c]), axis=1, return_inverse=True)[1].ravel()
    early = column < _COLUMNS
    table, seen = np.zeros((2, len(some), min(len(k), _COLUMNS)))
    table[k[early], column[early]], seen[k[early], column[early]] = deviation[early], 1.0
    size = np.sqrt((table**2 @ seen.T) * (seen @ (table**2).T))
    found = np.divide(table @ table.T, size, out=np.zeros_like(size), where=size > 0)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def tied(rewards: Rewards) -> float:
    """Return the share of equal values among two replications of a pair; 0 where it is no pattern.

    Normal rewards never tie. A share below 0.2, as rounding to half a standard deviation gives, does no harm.
    Alternatives and contexts that never vary are left out: they may have no noise at all.
    """
    found = list(_by_length(rewards))
    varies = [np.ptp(rows, axis=1) > EQUAL * np.abs(rows).max(axis=1) for _, rows in found]
    noisy = np.concatenate(
        [np.empty((0, 2), np.int64), *(w[v] for (w, _), v in zip(found, varies, strict=True))]
    )
    equal = possible = 0.0
    for where, rows in found:
        kept = np.isin(where[:, 0], noisy[:, 0]) & np.isin(where[:, 1], noisy[:, 1])
        ordered, n = np.sort(rows[kept], axis=1), rows.shape[1]
        close = EQUAL * np.abs(ordered).max(axis=1, initial=0.0, keepdims=True)
        possible += len(ordered) * n * (n - 1) / 2
        for gap in range(1, n):
            ties = np.sum(ordered[:, gap:] - ordered[:, :-gap] <= close)
            if not ties:  # nor are there any farther deviation
                break
            equal += ties
    return float(equal / possible) if equal >= max(_FEWEST_TIES, _TIED_SHARE * possible) else 0.0


def scarce(belief: Belief, tally: Tally) -> BoolArray:
    """Return the contexts whose choice rests on too few successes, or on too few failures, [context].

    Of the selected alternative and its closest rival. A share of n is about normal if the rarer of both
    values is expected at least 1.4 times, n min(p, 1 − p) ≥ 1.4: then the first term of Edgeworth's expansion
    moves no probability by more than 0.05. Information from neighbours counts: n is the number of
    replications, or σ²/V, the number that the belief is worth, if that is larger.
    """
    worth = np.maximum(tally.count, belief.noise / np.maximum(belief.var, np.finfo(float).tiny))
    p = (worth * np.clip(np.abs(belief.mean), 0.0, 1.0) + 0.5) / (worth + 1.0)
    few = worth * np.minimum(p, 1.0 - p) < _FEWEST_EXPECTED
    close = np.argsort(-belief.mean, axis=0, kind="stable")[:2]
    return np.asarray(np.take_along_axis(few, close, axis=0).any(axis=0))
