"""Every pair as all others predict it, and how such predictions are correlated."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief, Focused
from argbest.core.common_noise import Block
from argbest.core.question import BEST, Question
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.models.base import Model, weighs_replications

_NO_CORRELATION = 1e-10  # posterior correlations below count as 0
_LEAST_NOISE_LEFT = 1e-6  # s − V over s: where it is less, the closed form would be mere rounding error
_SAME = 1e-5  # standard deviations by which two ways to compute a prediction may differ
_MOST_NUMBERS = 1 << 20  # numbers in one temporary array, 8 MB


@dataclass(frozen=True)
class Relations:
    """How the predictions of pairs, each from all others, are correlated."""

    informed: BoolArray  # [alternative, context]: pairs that covary with another one that was observed
    alternative: IntArray  # [i]: of the pairs with a closed form
    context: IntArray  # [i]
    correlation: Array  # [i, i]: of their z-scores
    influence: Array  # [alternative, context]: see `relations`
    turned: Array  # [alternative, context]: see `relations`


def left_out(
    model: Model[Any], setting: Setting, tally: Tally, params: Any, belief: Belief, wanted: BoolArray
) -> tuple[Array, Array, BoolArray]:
    """Return mean and variance of every pair's reward given the data of all others, and where in closed form.

    With s = σ²/N the pair's own data have precision 1/s: V₋ = V s/(s − V), μ₋ = (s μ − V ȳ)/(s − V), exact
    for any belief by Bayes' rule. Where s − V is nearly 0, the model is conditioned again on the data of the
    other pairs. That is done for all pairs if the formula fails for the one that is tried, or if the model
    says that it does not weigh pairs by their replications. NaN where the other pairs say nothing. All are
    [alternative, context]; only observed pairs that are ``wanted`` are predicted.
    """
    observed = wanted & (tally.count > 0)
    spread = np.where(observed, belief.noise / np.maximum(tally.count, 1), np.inf)
    rest = spread - belief.var
    exact = weighs_replications(model)
    closed = np.asarray(observed & (rest > _LEAST_NOISE_LEFT * spread) & exact)
    share = np.divide(belief.var, rest, out=np.zeros_like(rest), where=closed)
    mean = belief.mean + share * (belief.mean - np.where(observed, tally.mean, 0.0))
    var = belief.var * (1.0 + share)
    if closed.any():
        # Where a pair stands out among those of its alternative, weights by replications matter most.
        usual = tally.count.sum(axis=-1, keepdims=True) / np.maximum(observed.sum(axis=-1, keepdims=True), 1)
        unlike = np.where(closed, tally.count / np.maximum(usual, 1), -1.0)
        k, c = (int(i) for i in np.unravel_index(np.argmax(unlike), unlike.shape))
        other, other_var = _predicted_by_others(model, setting, tally, params, k, c)
        unit = np.sqrt(var[k, c] + spread[k, c])
        if not (abs(other - mean[k, c]) <= _SAME * unit and abs(other_var - var[k, c]) <= _SAME * unit**2):
            closed = np.zeros_like(closed)
    for k, c in np.argwhere(observed & ~closed).tolist():
        mean[k, c], var[k, c] = _predicted_by_others(model, setting, tally, params, k, c)
    return mean, var, closed


def _predicted_by_others(
    model: Model[Any], setting: Setting, tally: Tally, params: Any, k: int, c: int
) -> tuple[float, float]:
    """Return mean and variance of one pair given the data of all others."""
    count, mean, m2 = tally.count.copy(), tally.mean.copy(), tally.m2.copy()
    count[k, c], mean[k, c], m2[k, c] = 0, 0.0, 0.0
    rest = Tally(count, mean, m2, earlier=tally.earlier)
    try:
        with np.errstate(all="ignore"):
            belief = exact_at(model.posterior(rest, setting, params), np.array([k]))
            predicted = float(belief.mean[k, c]), float(belief.var[k, c])
    except (InputError, np.linalg.LinAlgError):
        return np.nan, np.nan
    return predicted if np.isfinite(predicted).all() else (np.nan, np.nan)


def exact_at(belief: Belief, alternatives: IntArray) -> Belief:
    """Return the belief with these alternatives kept exactly, where most of very many are only summarised."""
    return belief.including(alternatives) if offers(belief, Focused) else belief


def relations(
    belief: Belief, tally: Tally, wanted: BoolArray, closed: BoolArray, question: Question = BEST
) -> Relations:
    """Return Corr(z_i, z_j) = −S_ij/√((s_i − V_i)(s_j − V_j)) of the pairs with a ``closed`` form.

    S is the posterior covariance. Without the data of pair i the means of all pairs j are
    μ_j − S_ij (ȳ_i − μ_i)/(s_i − V_i): ``influence`` is the largest such change of another pair's mean, in
    its posterior standard deviations, and ``turned`` the number of other contexts where another alternative
    would be selected. Both are NaN without a closed form.
    """
    scale, chosen, observed = np.sqrt(belief.var), question.choice(belief), tally.count > 0
    rest = np.where(closed, belief.noise / np.maximum(tally.count, 1) - belief.var, np.inf)
    root, surprise = np.sqrt(rest), np.where(closed, tally.mean - belief.mean, 0.0) / rest
    informed, (rows_of, columns_of) = np.zeros(tally.shape, bool), np.nonzero(closed)
    influence, turned = np.full((2, *tally.shape), np.nan)
    parts = [np.empty((0, len(rows_of)))]
    for k, c, rows in _covariances(belief, wanted):
        each = np.arange(len(k))
        related = np.abs(rows) > _NO_CORRELATION * scale * scale[k, c, None, None]
        related[each, k, c] = False
        informed[k, c] = np.any(related & observed, axis=(-2, -1))
        moved = rows * surprise[k, c, None, None]
        other = question.right_choice(belief.mean - moved) != chosen
        other[each, c] = False
        shift = np.divide(np.abs(moved), scale, out=np.zeros_like(moved), where=scale > 0)
        shift[each, k, c] = 0.0
        turned[k, c] = np.where(closed[k, c], other.sum(axis=-1), np.nan)
        influence[k, c] = np.where(closed[k, c], shift.max(axis=(-2, -1)), np.nan)
        parts.append((-(rows / root[k, c, None, None]) / root)[closed[k, c]][:, rows_of, columns_of])
    correlation = np.concatenate(parts)
    np.fill_diagonal(correlation, 1.0)
    return Relations(informed, rows_of, columns_of, correlation, influence, turned)


def by_blocks(
    belief: Belief, tally: Tally, blocks: list[Block], wanted: BoolArray, question: Question = BEST
) -> tuple[Array, Array, Array, Relations]:
    """Return residuals, their variances, means and relations of pairs where alternatives share noise.

    The data give estimates f̂ with precision Λ, block by block. With the posterior covariance S,
    G = Λ − Λ S Λ is the precision of f̂ under the model. Predicted from all other entries, entry i has the
    residual [Λ(f̂ − μ)]_i / G_ii with variance 1/G_ii; z-scores have the correlations of G; and without entry
    i the means of all pairs are lower by (S Λ)_·i times its residual. All tables are [alternative, context].
    """
    k, c = np.nonzero(tally.count > 0)
    rank = np.full(tally.shape, -1)
    rank[k, c] = np.arange(len(k))
    precision, means = np.zeros((len(k), len(k))), tally.mean.copy()
    for block in blocks:
        at = rank[block.alternative, block.context]
        precision[at[:, :, None], at[:, None]] = block.precision
        means[block.alternative, block.context] = block.mean
    rows = belief.cov_rows(k, c)  # [pair, alternative, context]
    gain = precision @ rows.reshape(len(k), -1)
    moves = gain.reshape(rows.shape)  # by how much a unit of the residual moves every pair
    inner = precision - gain[:, k * tally.shape[1] + c] @ precision
    diagonal = np.maximum(np.diag(inner), 0.0)
    informed = diagonal > _LEAST_NOISE_LEFT * np.diag(precision)
    var = np.divide(1.0, diagonal, out=np.full(len(k), np.inf), where=informed)
    residual = np.where(informed, var, 0.0) * (precision @ (means - belief.mean)[k, c])
    shift, other = moves * residual[:, None, None], np.zeros((len(k), tally.shape[1]), bool)
    other[...] = question.right_choice(belief.mean - shift) != question.choice(belief)
    other[np.arange(len(k)), c] = False
    scale = np.sqrt(belief.var)
    shift = np.divide(np.abs(shift), scale, out=np.zeros_like(shift), where=scale > 0)
    shift[np.arange(len(k)), k, c] = 0.0
    tables = np.full((4, *tally.shape), np.nan)
    tables[:, k, c] = residual, var, np.where(informed, shift.max(axis=(-2, -1)), np.nan), other.sum(axis=-1)
    kept = np.flatnonzero(informed & wanted[k, c])
    root = np.sqrt(diagonal[kept])
    correlation = inner[np.ix_(kept, kept)] / (root[:, None] * root)
    np.fill_diagonal(correlation, 1.0)
    known = np.zeros(tally.shape, bool)
    known[k, c] = informed
    related = Relations(known, k[kept], c[kept], correlation, tables[2], tables[3])
    return tables[0], tables[1], means, related


def _covariances(belief: Belief, wanted: BoolArray) -> Iterator[tuple[IntArray, IntArray, Array]]:
    """Yield some of the pairs and their posterior covariances with all, [pair, alternative, context]."""
    k, c = np.nonzero(wanted)
    step = max(1, _MOST_NUMBERS // wanted.size)
    for start in range(0, len(k), step):
        some = slice(start, start + step)
        yield k[some], c[some], belief.cov_rows(k[some], c[some])
