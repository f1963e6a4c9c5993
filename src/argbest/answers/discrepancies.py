"""Whether a model is off: in its noise levels (Bartlett's comparison), in a region, or by a jump."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import chdtr, chdtrc, gammainc, gammaincc, ndtr, polygamma, psi

from argbest.answers.left_out import Relations
from argbest.core import priors
from argbest.core.arrays import Array, IntArray
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.problems.axis import Axis
from argbest.problems.base import Problem

FALSE_ALARM = 0.05 / 7  # of each of the seven tests of a model check, if the model holds
_LEAST_VARIANCE = 1e-6  # of the common variance: replications that agree so far may be rounded
_LEAST_SPREAD = 0.05  # of the number of pairs: where Var(Σ z) is less, Σ z is mostly rounding error
_TREND_LENGTH = 0.5  # of the range of contexts: z-scores of different alternatives are compared up to there


class Comparison(NamedTuple):
    """Sample variances beside those of the pairs they are pooled with."""

    p_value: float  # P(variances as unequal, if they are equal); NaN where nothing is pooled
    ratio: Array  # [alternative, context]: variance over the pooled one, NaN where nothing is compared
    freedom: Array  # [alternative, context]: degrees of freedom, 0 where nothing is compared


def compared(noise: Array, tally: Tally, *, together: bool = False, shared: bool = False) -> Comparison:
    """Return how the variances within pairs compare where the model's ``noise`` is the same.

    Pooled variances are those of the replications themselves, so what the model made of them plays no part.
    ``together`` takes the noise as known up to one factor: all pairs are compared, each in its own unit.
    Where alternatives have ``shared`` random numbers only the pairs of each alternative are compared, and the
    least likely alternative, times their number, speaks for all: that holds however much noise is shared.
    """
    group = np.zeros(noise.shape, np.int64)
    squares, freedom = tally.m2, np.maximum(tally.count - 1, 0).astype(float)
    if together:
        squares = squares / noise
    else:
        group = np.unique(noise, return_inverse=True)[1].reshape(noise.shape)
    if shared:
        group = np.unique(group * len(noise) + np.arange(len(noise))[:, None], return_inverse=True)[1]
        group = group.reshape(noise.shape)
    several = np.bincount(group.ravel(), (freedom > 0).ravel()) > 1
    varies = np.bincount(group.ravel(), squares.ravel()) > 0
    freedom = np.where((several & varies)[group], freedom, 0.0)
    ratio = np.full(noise.shape, np.nan)
    used = freedom > 0
    if not used.any():
        return Comparison(np.nan, ratio, freedom)
    _, kept = np.unique(group[used], return_inverse=True)
    ratio[used], p_value = bartlett(squares[used], freedom[used], kept)
    if shared:
        alone = [np.flatnonzero(kept == g) for g in range(kept.max() + 1)]
        each = [bartlett(squares[used][i], freedom[used][i], np.zeros(len(i), np.int64))[1] for i in alone]
        p_value = min(1.0, len(each) * min(each))
    return Comparison(p_value, ratio, freedom)


def bartlett(squares: Array, freedom: Array, group: IntArray) -> tuple[Array, float]:
    """Return each variance over that of its group, and P(as unequal ones, if groups have one variance each).

    T = Σ_g ν_g log s_g² − Σ_i ν_i log s_i² (Bartlett, 1937). The shares of a group's sum of squares are
    independent of that sum, so the cumulants of T are exact differences: those of −ν_i log(χ²/ν_i) summed
    over i, less those of the groups. A gamma distribution with the first three of them gives the tail, also
    where variances rest on two replications each, for which Bartlett's χ² is too rough.
    """
    total, pooled = (np.asarray(np.bincount(group, each), float) for each in (freedom, squares))
    ratio = squares / freedom / (pooled / total)[group]
    statistic = -float(freedom @ np.log(np.maximum(ratio, _LEAST_VARIANCE)))
    mean, var, third = (_cumulant(order, freedom) - _cumulant(order, total) for order in (1, 2, 3))
    shape = 4.0 * var**3 / third**2
    tail = shape + np.sqrt(shape / var) * (statistic - mean)
    return ratio, float(gammaincc(shape, max(tail, 0.0)))


def _cumulant(order: int, freedom: Array) -> float:
    """Return a cumulant of Σ −ν log(χ²_ν/ν) over independent χ²."""
    if order == 1:
        return float(freedom @ (np.log(freedom / 2) - psi(freedom / 2)))
    return float(np.sum((-freedom) ** order * polygamma(order - 1, freedom / 2)))


def of_axes(
    problem: Problem,
    z: Array,
    related: Relations,
    noise: Comparison,
    level: float,
    *,
    shared: bool = False,
    alike: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a frame of the alternatives and one of the contexts; ``z`` [i] are the scores of related pairs.

    A row has the number of pairs ``n``, the root mean square ``rms`` and the mean ``shift`` of their z-scores
    and the ``p_value`` of the less likely of both, doubled; ``noise``, the standard deviation within pairs
    over that of the pairs they are pooled with. It is ``off`` where its z-scores, and ``unequal`` where its
    noise, are less likely than the level divided by the number of regions; the latter only where the noise is
    unequal as a whole. Where alternatives may have ``shared`` noise, those of a context are off together by
    noise alone, and contexts are not judged. Where their noise is ``alike``, that of contexts is not.
    """
    sides = (problem.alternatives, related.alternative, 1), (problem.contexts, related.context, 0)
    several = sum(int(np.sum(np.bincount(where) > 1)) for _, where, _ in sides)

    def judged(axis: Axis, where: IntArray, along: int) -> pd.DataFrame:
        frame = pd.concat([axis.frame(), _scores(z, related.correlation, where, len(axis))], axis=1)
        frame = frame.assign(**_spreads(noise, along))
        if axis is problem.contexts:
            frame["p_value"] = np.nan if shared else frame["p_value"]
            frame["noise_p_value"] = np.nan if alike else frame["noise_p_value"]
        unequal = (frame["noise_p_value"] * several < level) & bool(noise.p_value < level)
        return frame.assign(off=frame["p_value"] * several < level, unequal=unequal)

    alternatives, contexts = (judged(*side) for side in sides)
    return alternatives, contexts


def _scores(z: Array, correlation: Array, where: IntArray, size: int) -> pd.DataFrame:
    """Return how large z-scores are in each of the regions, and how far to one side."""
    member = (where == np.arange(size)[:, None]).astype(float)
    n, total, squares = member.sum(axis=1), member @ z, member @ z**2
    spread = np.sum(member @ correlation * member, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        large = np.where(n > 1, _too_large(member, z, correlation), np.nan)
        firm = (n > 1) & (spread > _LEAST_SPREAD * n)
        aside = np.where(firm, 2 * ndtr(-np.abs(total) / np.sqrt(np.where(firm, spread, 1.0))), np.nan)
        p_value = np.minimum(2 * np.fmin(large, aside), 1.0)
        rms, shift = np.sqrt(squares / n), total / n
    return pd.DataFrame({"n": n.astype(np.int64), "rms": rms, "shift": shift, "p_value": p_value})


def _spreads(noise: Comparison, along: int) -> dict[str, Array]:
    """Return how noisy each of the regions is beside the pairs that its own are pooled with."""
    freedom, squares = noise.freedom.sum(axis=along), np.nansum(noise.ratio * noise.freedom, axis=along)
    known = freedom > 0
    safe = np.where(known, freedom, 1.0)
    tail = np.minimum(chdtr(safe, squares), chdtrc(safe, squares))
    return {
        "noise": np.where(known, np.sqrt(squares / safe), np.nan),
        "noise_p_value": np.where(known, np.minimum(2 * tail, 1.0), np.nan),
    }


def whole(z: Array, related: Relations, *, shared: bool = False) -> float:
    """Return P(Σz² of all is larger); NaN where there are none.

    Where alternatives have ``shared`` random numbers their sums depend on each other, in an unknown
    way: then it is that of the least likely of them, times their number.
    """
    if not shared or not len(z):
        return float(_too_large(np.ones((1, len(z))), z, related.correlation)[0])
    member = (related.alternative == np.unique(related.alternative)[:, None]).astype(float)
    return float(min(1.0, len(member) * _too_large(member, z, related.correlation).min()))


def _too_large(member: Array, z: Array, correlation: Array) -> Array:
    """Return P(Σz² of each set of ``member`` [set, i] is larger), by g χ²_h of mean n, variance 2 ΣΣ R²."""
    n, spread = member.sum(axis=1), np.sum(member @ correlation**2 * member, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = n**2 / spread
        return np.asarray(gammaincc(freedom / 2, member @ z**2 * freedom / n / 2))


def alike(setting: Setting, z: Array, related: Relations) -> float:
    """Return P(z-scores of different alternatives agree more in the same and in neighbouring contexts).

    Q = Σ z_i z_j κ(c_i, c_j) over pairs i, j of different alternatives, κ a Matérn 5/2 correlation over half
    the range: the score test for a trend that the model does not know of. With B for κ and R the correlation
    of the z-scores, Q has the cumulants tr BR, 2 tr (BR)², 8 tr (BR)³; a gamma distribution has the same.
    """
    k, c = related.alternative, related.context
    correlation, _ = priors.KERNELS["matern52"]
    near = correlation(setting.separation.sum(axis=0) / _TREND_LENGTH**2)[np.ix_(c, c)] * (k[:, None] != k)
    product = near @ related.correlation
    square = product @ product
    mean, var, third = np.trace(product), 2 * np.trace(square), 8 * np.sum(square * product.T)
    if not var > 0:
        return np.nan
    shape = 4 * var**3 / max(third**2, 1e-12 * var**3)
    away = np.sqrt(shape / var) * (float(z @ near @ z) - mean)
    return float(
        gammaincc(shape, max(shape + away, 0.0)) if third > 0 else gammainc(shape, max(shape - away, 0.0))
    )


class _Step(NamedTuple):
    """A jump of the mean rewards along a column of the contexts, as the test at one cut has it."""

    alternative: int | None  # None: all alternatives together
    column: str
    below: float  # the jump lies between these two values
    above: float
    z: float  # above 0: up


def steps(
    problem: Problem, z: Array, sd: Array, related: Relations, level: float, *, shared: bool = False
) -> pd.DataFrame:
    """Return a row per jump that is too unlikely: alternative, column, below, above, z; the largest first.

    With w = 1/sd and R the correlation of the z-scores, t = Σ w z/√(wᵀ R w) over all pairs beyond a cut is
    the score test for a mean that is higher by a constant there: a standard normal variable if the model
    holds. Every cut of every alternative is looked at, and of all alternatives together (None), unless they
    may have ``shared`` noise; the level is divided by their number. An alternative has one row at most.
    """
    sets: list[tuple[int | None, IntArray]] = [
        (k, np.flatnonzero(related.alternative == k)) for k in np.unique(related.alternative).tolist()
    ]
    if not shared:
        sets.append((None, np.arange(len(z))))
    weight, found = sd.min(initial=np.inf) / sd, []
    for name, values in problem.contexts.metric.items():
        place = np.asarray(values, float)[related.context]
        for k, some in sets:
            covariance = related.correlation[np.ix_(some, some)] * np.outer(weight[some], weight[some])
            found += _cuts(k, name, place[some], weight[some] * z[some], covariance)
    largest: dict[int | None, _Step] = {}
    for step in sorted(found, key=lambda each: -abs(each.z)):
        if 2 * ndtr(-abs(step.z)) * len(found) < level:
            largest.setdefault(step.alternative, step)
    frame = pd.DataFrame(list(largest.values()), columns=list(_Step._fields))
    labels = [None if k is None else problem.alternatives.labels[k] for k in largest]
    return frame.assign(alternative=pd.Series(labels, dtype=object))


def _cuts(k: int | None, column: str, place: Array, score: Array, covariance: Array) -> list[_Step]:
    """Return the test at every cut where its result is not mere rounding error."""
    order = np.argsort(-place, kind="stable")
    place, total, own = place[order], np.cumsum(score[order]), np.cumsum(np.diag(covariance)[order])
    var = np.diag(np.cumsum(np.cumsum(covariance[np.ix_(order, order)], axis=0), axis=1))
    last = np.flatnonzero((np.diff(place) < 0) & (var > _LEAST_SPREAD * own)[:-1])
    t = total[last] / np.sqrt(var[last])
    ends = zip(place[last + 1].tolist(), place[last].tolist(), t.tolist(), strict=True)
    return [_Step(k, column, *each) for each in ends]
