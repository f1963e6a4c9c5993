"""Does the model fit? Every pair is predicted from all others and held against its own replications."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import gammaincc, ndtri

from argbest.core.arrays import Array, BoolArray
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.models.base import Model
from argbest.problems.base import Problem

if TYPE_CHECKING:
    from argbest.study.study import Study

_PUT_TO_THE_TEST = 0.5  # root mean square of z-scores below which predictions were never in danger
_RELATED = 1e-10  # posterior correlations below are none
FALSE_ALARM = 0.025  # of each of the two tests, if the model holds
_CLOSED = 1e-6  # of the noise: where less of it is left, the closed form would lose its digits
_SAME = 1e-5  # of a standard deviation: two ways to the same prediction agree so far


@dataclass(frozen=True, eq=False)
class ModelCheck:
    """How well pairs are predicted by the others; a model that fits has z-scores like standard normals."""

    pairs: pd.DataFrame  # a row per pair observed: n, observed, predicted, sd, residual, z, flagged
    rms: float  # root mean square of the z-scores: 1 is expected
    p_value: float  # P(a larger one, if the model holds); NaN if it cannot be told
    limit: float  # pairs whose z-score is beyond it are flagged

    @property
    def n_flagged(self) -> int:
        """The number of pairs beyond the limit."""
        return int(self.pairs["flagged"].sum())

    @property
    def fits(self) -> bool:
        """Whether no pair is flagged and the z-scores are not too large as a whole."""
        return not self.n_flagged and not self.p_value < FALSE_ALARM

    @property
    def verdict(self) -> str:
        """What the z-scores say, in a few words; where they are all small, little was put to the test."""
        if not self.fits:
            return "the model does not fit"
        return "the model fits" if self.rms >= _PUT_TO_THE_TEST else "nothing speaks against the model"

    def __str__(self) -> str:
        beyond = f"{self.n_flagged} of {len(self.pairs)} pairs beyond ±{self.limit:.1f}"
        return f"{self.verdict}: z-scores have a root mean square of {self.rms:.2f} (1 expected), {beyond}"


def of_study(study: "Study") -> ModelCheck:
    """Return the check of a study's model on all that it was told, hyper-parameters kept."""
    params = study._learned().params
    return check(study.problem, study.model, study._journal.open_setting(), study._tally, params)


def check(problem: Problem, model: Model[Any], setting: Setting, tally: Tally, params: Any) -> ModelCheck:
    """Return the residual ȳ − μ₋ and z = (ȳ − μ₋)/√(V₋ + σ²/N) of every pair observed, in the user's sign.

    A pair is flagged where |z| is beyond the 2.5 % limit for the largest of all of them (Bonferroni), so that
    a model that holds has no flag with probability 0.975 or more. Σz² is compared with g χ²_h of the same
    mean and variance, the latter from the correlations of the z-scores.
    """
    belief = model.posterior(tally, setting, params)
    mean, var, stable = left_out(model, setting, tally, params, belief)
    k, c = np.nonzero(tally.count)
    n = tally.count[k, c]
    predicted, sd = mean[k, c], np.sqrt(var[k, c] + belief.noise[k, c] / n)
    residual = tally.mean[k, c] - predicted
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(residual == 0, 0.0, residual / sd)
    told = np.isfinite(predicted) & np.isfinite(sd) & _informed(belief, tally)[k, c]
    if not told.any():
        raise InputError(
            "this model predicts no pair from the others, so they cannot check it. Use a model that joins "
            "contexts, such as 'gp', or simulate more pairs."
        )
    limit = float(-ndtri(FALSE_ALARM / (2 * told.sum())))
    frame = pd.concat([problem.alternatives.frame(k), problem.contexts.frame(c)], axis=1)
    frame["n"] = n
    frame["observed"], frame["predicted"] = problem.sign * tally.mean[k, c], problem.sign * predicted
    frame["sd"], frame["residual"], frame["z"] = sd, problem.sign * residual, problem.sign * z
    frame["flagged"] = np.abs(z) > limit
    table = np.full(tally.shape, np.nan)
    table[k, c] = z
    rms = float(np.sqrt(np.mean(z[told] ** 2)))
    return ModelCheck(frame[told].reset_index(drop=True), rms, _p_value(belief, tally, table, stable), limit)


def _informed(belief: Belief, tally: Tally) -> BoolArray:
    """Return [alternative, context] which pairs covary with another that was observed."""
    observed, scale = tally.count > 0, np.sqrt(belief.var)
    found = np.zeros(tally.shape, bool)
    for k, c in np.argwhere(observed).tolist():
        related = np.abs(belief.cov_with(Decision(np.array(k), np.array(c)))) > _RELATED * scale * scale[k, c]
        related[k, c] = False
        found[k, c] = bool(np.any(related & observed))
    return found


def left_out(
    model: Model[Any], setting: Setting, tally: Tally, params: Any, belief: Belief
) -> tuple[Array, Array, BoolArray]:
    """Return mean and variance of every pair's reward given all data but its own, and where in closed form.

    With s = σ²/N the pair's own data have precision 1/s: V₋ = V s/(s − V), μ₋ = (s μ − V ȳ)/(s − V), exact
    for any belief by Bayes' rule. Where s − V is all but nothing, the pair's data are taken out and the rest
    is conditioned anew; so are all pairs where the formula fails for one, or where the model says that it
    does not weigh pairs by their replications. NaN where the others say nothing. All are [alternative,
    context].
    """
    observed = tally.count > 0
    spread = np.where(observed, belief.noise / np.maximum(tally.count, 1), np.inf)
    rest = spread - belief.var
    exact = getattr(model, "weighs_replications", True)
    closed = np.asarray(observed & (rest > _CLOSED * spread) & exact)
    share = np.divide(belief.var, rest, out=np.zeros_like(rest), where=closed)
    mean = belief.mean + share * (belief.mean - np.where(observed, tally.mean, 0.0))
    var = belief.var * (1.0 + share)
    if closed.any():
        # Where a pair stands out among those of its alternative, weights by replications matter most.
        usual = tally.count.sum(axis=-1, keepdims=True) / np.maximum(observed.sum(axis=-1, keepdims=True), 1)
        unlike = np.where(closed, tally.count / np.maximum(usual, 1), -1.0)
        k, c = (int(i) for i in np.unravel_index(np.argmax(unlike), unlike.shape))
        other, other_var = _without(model, setting, tally, params, k, c)
        unit = np.sqrt(var[k, c] + spread[k, c])
        if not (abs(other - mean[k, c]) <= _SAME * unit and abs(other_var - var[k, c]) <= _SAME * unit**2):
            closed = np.zeros_like(closed)
    for k, c in np.argwhere(observed & ~closed).tolist():
        mean[k, c], var[k, c] = _without(model, setting, tally, params, k, c)
    return mean, var, closed


def _without(
    model: Model[Any], setting: Setting, tally: Tally, params: Any, k: int, c: int
) -> tuple[float, float]:
    """Return mean and variance of one pair given the data of all others."""
    count, mean, m2 = tally.count.copy(), tally.mean.copy(), tally.m2.copy()
    count[k, c], mean[k, c], m2[k, c] = 0, 0.0, 0.0
    try:
        with np.errstate(all="ignore"):
            belief = model.posterior(Tally(count, mean, m2), setting, params)
            found = float(belief.mean[k, c]), float(belief.var[k, c])
    except (InputError, np.linalg.LinAlgError):
        return np.nan, np.nan
    return found if np.isfinite(found).all() else (np.nan, np.nan)


def _p_value(belief: Belief, tally: Tally, z: Array, stable: BoolArray) -> float:
    """Return P(Σz² larger than it is), over the pairs whose correlations have a closed form.

    Corr(z_i, z_j) = −S_ij/√((s_i − V_i)(s_j − V_j)), where S is the posterior covariance.
    """
    if not stable.any():
        return np.nan
    rest = np.where(stable, belief.noise / np.maximum(tally.count, 1) - belief.var, np.inf)
    n, squares = int(stable.sum()), 0.0
    for k, c in np.argwhere(stable).tolist():
        shared = belief.cov_with(Decision(np.array(k), np.array(c)))
        related = shared / rest * shared  # in this order nothing overflows
        related[k, c] = rest[k, c]  # each with itself: correlation 1
        squares += float(related.sum()) / float(rest[k, c])
    freedom = n**2 / squares
    total = float(np.sum(z[stable] ** 2))
    return float(gammaincc(freedom / 2, total * freedom / n / 2))
