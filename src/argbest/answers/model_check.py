"""Does the model fit? Pairs are predicted from all others, alone and by region; noise levels are compared."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import ndtri

from argbest.answers import discrepancies
from argbest.answers.left_out import Relations, by_blocks, exact_at, left_out, relations
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief
from argbest.core.common_noise import blocks, counted, likeness
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import TooFewDataError
from argbest.models.base import Model, troubles
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.texts import Sentences, first_of

if TYPE_CHECKING:
    from argbest.study.study import Study

_PUT_TO_THE_TEST = 0.5  # root mean square of z-scores below which predictions were never in danger
_PERHAPS = 0.2  # P(noise as alike, if independent) below which some may be common, though it is not clear
FALSE_ALARM = 0.01  # of each of the five tests, if the model holds
_MOST = 1000  # pairs that are predicted; of more, so many spread evenly stand for all
_LARGE, _FEWEST, _NUMBERS = 2**16, 100, 2**27  # fewer on larger tables: covariances take up to 1 GB there
_GOLDEN = 0.5 * (5.0**0.5 - 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class ModelCheck(Sentences):
    """How well pairs are predicted by the others, and whether noise levels are as the model takes them.

    A model that holds is doubted with probability 0.05 at most: 0.01 each for a pair beyond the limit, for
    z-scores too large as a whole, for a region (an alternative or a context) that is off as a whole, for
    alternatives that behave alike where the model has them unrelated, and for variances that differ where the
    model has one. `str` says in words what is affected.
    """

    pairs: pd.DataFrame  # a row per pair: n, observed, predicted, sd, residual, z, influence, turned, flagged
    rms: float  # root mean square of the z-scores: 1 is expected
    p_value: float  # P(a larger one, if the model holds); NaN if it cannot be told
    limit: float  # pairs whose z-score is beyond it are flagged
    alternatives: pd.DataFrame  # a row each: n, rms, shift, p_value, noise, noise_p_value, off, unequal
    contexts: pd.DataFrame  # likewise
    alike_p_value: float  # P(alternatives are off as much alike); NaN where the model relates them itself
    noise_p_value: float  # P(variances as unequal, where the model has one); NaN where it has none in common
    sentences: tuple[str, ...] = ()  # what is affected, and how the search for hyper-parameters ended

    @property
    def n_flagged(self) -> int:
        """The number of pairs beyond the limit."""
        return int(self.pairs["flagged"].sum())

    @property
    def fits(self) -> bool:
        """Whether nothing is flagged, and nothing too unlikely as a whole."""
        flagged = self.n_flagged or self.alternatives["off"].any() or self.contexts["off"].any()
        tests = self.p_value, self.alike_p_value, self.noise_p_value
        return not flagged and not any(p < FALSE_ALARM for p in tests)

    @property
    def verdict(self) -> str:
        """What the tests say, in a few words; where z-scores are all small, little was put to the test."""
        if not self.fits:
            return "the model does not fit"
        return "the model fits" if self.rms >= _PUT_TO_THE_TEST else "no evidence against the model"

    def __str__(self) -> str:
        beyond = f"{self.n_flagged} of {len(self.pairs)} pairs beyond ±{self.limit:.1f}"
        head = f"{self.verdict}: z-scores have a root mean square of {self.rms:.2f} (1 expected), {beyond}."
        return " ".join([head, *self.sentences])


def of_study(study: "Study") -> ModelCheck:
    """Return the check of a study's model on all that it was told, hyper-parameters kept."""
    params = study._learned().params
    return check(study.problem, study.model, study._journal.open_setting(), study._tally, params)


def check(problem: Problem, model: Model[Any], setting: Setting, tally: Tally, params: Any) -> ModelCheck:
    """Return the residual ȳ − μ₋ and z = (ȳ − μ₋)/√(V₋ + σ²/N) of every pair observed, in the user's sign.

    A pair is flagged where |z| is beyond the limit for the largest of all of them (Bonferroni). Σz² of all
    and of every region is compared with g χ²_h of the same mean and variance, the latter from the
    correlations of the z-scores; Σz of every region with its normal distribution, and z-scores of different
    alternatives with each other (`discrepancies.of_axes`). Variances within pairs are compared by Bartlett's
    test (`discrepancies.compared`). Of more than 1,000 pairs observed, 1,000 spread evenly are predicted.
    Where alternatives share noise, ȳ are the means by generalised least squares, and predictions know what
    the noise of others tells. Where they may share some, but none is clearly seen, alternatives may be off
    together by noise alone, and nothing is made of it.
    """
    wanted = _spread(tally.count > 0)
    found = _predicted(model, setting, tally, params, wanted)
    related, together, alike = found.related, found.together, found.together or found.shared
    frame, told = _frame(problem, tally, found, wanted)
    if not told.any():
        raise TooFewDataError(
            "this model cannot predict a pair from the others, so it cannot be checked. Use a model that "
            "joins contexts, such as 'gp', or simulate more pairs."
        )
    limit = float(-ndtri(FALSE_ALARM / (2 * told.sum())))
    z, table = frame["z"].to_numpy(), np.zeros(tally.shape)
    frame["flagged"], table[wanted] = np.abs(z) > limit, z
    scores = table[related.alternative, related.context]
    known = getattr(model, "noise_sd", None) is not None
    noise = discrepancies.compared(found.belief.noise, tally, together=known, shared=alike)
    checked = ModelCheck(
        frame[told].reset_index(drop=True),
        float(np.sqrt(np.mean(z[told] ** 2))),
        discrepancies.whole(scores, related, shared=together),
        limit,
        *discrepancies.of_axes(problem, scores, related, noise, FALSE_ALARM, shared=together, alike=alike),
        np.nan if found.relates or together else discrepancies.alike(setting, scores, related),
        noise.p_value,
    )
    said = _sentences(checked, problem, tally.count, FALSE_ALARM)
    return replace(checked, sentences=(*said, *troubles(model, setting, params)))


class _Predicted(NamedTuple):
    """Pairs as all others predict them; tables are [alternative, context]."""

    belief: Belief
    mean: Array
    var: Array  # of what is observed about the mean
    observed: Array
    related: Relations
    relates: bool  # whether the model relates alternatives
    together: bool  # whether their noise may, though it is not clearly seen
    shared: bool  # whether it does


def _predicted(
    model: Model[Any], setting: Setting, tally: Tally, params: Any, wanted: BoolArray
) -> _Predicted:
    plain = tally.apart
    belief = exact_at(model.posterior(plain, setting, params), np.nonzero(wanted)[0])  # once for all pairs
    relates = belief.own_cov is None
    shared = getattr(params, "correlation", None) if tally.common is not None else None
    if shared is not None and np.any(shared):
        belief = model.posterior(tally, setting, params)
        _, shared = counted(shared, getattr(params, "uneven", None))
        off, var, observed, related = by_blocks(belief, tally, blocks(tally, belief.noise, shared), wanted)
        any_shared = bool(np.any(shared))
        return _Predicted(belief, observed - off, var, observed, related, relates, False, any_shared)
    mean, var, closed = left_out(model, setting, plain, params, belief, wanted)
    related = relations(belief, plain, wanted, closed)
    together = bool(likeness(tally, belief.noise) < _PERHAPS)
    var = var + belief.noise / np.maximum(plain.count, 1)
    return _Predicted(belief, mean, var, plain.mean, related, relates, together, False)


def _frame(
    problem: Problem, tally: Tally, found: _Predicted, wanted: BoolArray
) -> tuple[pd.DataFrame, BoolArray]:
    """Return a row per pair wanted, and [row] whether the others predict it."""
    k, c = np.nonzero(wanted)
    observed, predicted, sd = found.observed[k, c], found.mean[k, c], np.sqrt(found.var[k, c])
    residual = observed - predicted
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(residual == 0, 0.0, residual / sd)
    frame = pd.concat([problem.alternatives.frame(k), problem.contexts.frame(c)], axis=1)
    frame["n"] = tally.count[k, c]
    frame["observed"], frame["predicted"] = problem.sign * observed, problem.sign * predicted
    frame["sd"], frame["residual"], frame["z"] = sd, problem.sign * residual, problem.sign * z
    frame["influence"], frame["turned"] = found.related.influence[k, c], found.related.turned[k, c]
    return frame, np.isfinite(predicted) & np.isfinite(sd) & found.related.informed[k, c]


def _spread(observed: BoolArray) -> BoolArray:
    """Return which pairs are predicted: steps of the golden section do not keep time with the columns."""
    cells = np.flatnonzero(observed)
    room = _NUMBERS // max(len(cells) * observed.shape[1], 1) if observed.size > _LARGE else _MOST
    most = int(np.clip(room, _FEWEST, _MOST))
    if len(cells) <= most:
        return observed
    wanted = np.zeros(observed.size, bool)
    wanted[cells[(np.arange(1, most + 1) * _GOLDEN % 1.0 * len(cells)).astype(np.int64)]] = True
    return wanted.reshape(observed.shape)


Axes: TypeAlias = tuple[tuple[Axis, pd.DataFrame], ...]

_NAMED = 3  # entries of a list; of more their number is told


def _sentences(check: ModelCheck, problem: Problem, count: IntArray, level: float) -> Iterator[str]:
    """Yield what is affected, the most important first; nothing where the model fits."""
    if check.fits:
        return
    axes = (problem.alternatives, check.alternatives), (problem.contexts, check.contexts)
    yield from _of_noise(check, axes, level)
    yield from _of_likeness(check, level)
    yield from _of_regions(axes)
    yield from _of_pairs(check, problem)
    seen = int((count > 0).sum())
    if len(check.pairs) < seen // 2:
        yield f"{len(check.pairs):,} of {seen:,} observed pairs, spread evenly, were checked."


def _of_noise(check: ModelCheck, axes: Axes, level: float) -> Iterator[str]:
    if not check.noise_p_value < level:
        return
    said = ""
    for axis, frame in axes:
        apart = frame.loc[frame["unequal"], "noise"]
        for word, some in (("Noisier", apart[apart > 1]), ("Quieter", apart[apart < 1])):
            if len(some):
                order = some.sort_values(ascending=word == "Quieter").index
                said += f" {word}: {_names(axis, order)} (the first {some[order[0]]:.2g} times the usual sd)."
    yield (
        "The model assumes one noise level for pairs whose noise differs by more than chance "
        f"(p = {check.noise_p_value:.1g}): its claims are too high where noise is larger, and too low where "
        f"it is smaller.{said} Use a noise level per pair: additive-gp, or gp with noise='pair'."
    )


def _of_likeness(check: ModelCheck, level: float) -> Iterator[str]:
    if check.alike_p_value < level:
        yield (
            "Different alternatives deviate in the same way in the same contexts "
            f"(p = {check.alike_p_value:.1g}): they have something in common that the model ignores. Do not "
            "rely on its claims. Use additive-gp."
        )


def _of_regions(axes: Axes) -> Iterator[str]:
    for axis, frame in axes:
        off = frame[frame["off"]].sort_values("p_value", kind="stable")
        if len(off):
            worst = off.iloc[0]
            yield (
                f"Off as a whole: {_names(axis, off.index)} (the first has z-scores with a root mean square "
                f"of {worst['rms']:.2f} and a mean of {worst['shift']:+.2f}). Do not rely on claims there."
            )


def _of_pairs(check: ModelCheck, problem: Problem) -> Iterator[str]:
    flagged = check.pairs[check.pairs["flagged"]]
    order = flagged["z"].abs().sort_values(ascending=False).index
    some = flagged.loc[order[:_NAMED]]
    where = problem.alternatives.locate(some), problem.contexts.locate(some)
    labels = problem.alternatives.labels, problem.contexts.labels
    for row, k, c in zip(some.to_dict("records"), *(each.tolist() for each in where), strict=True):
        turned = "" if np.isnan(row["turned"]) else _turned(int(row["turned"]))
        yield f"Alternative {labels[0][k]!r} in context {labels[1][c]!r}: z = {row['z']:+.1f}{turned}."
    if len(flagged) > _NAMED:
        yield f"{len(flagged) - _NAMED} more pairs are beyond the limit."


def _turned(n: int) -> str:
    contexts = "another context" if n == 1 else f"{n} other contexts"
    return f"; without it the answer in {contexts} would be different" if n else ""


def _names(axis: Axis, order: "pd.Index[int]") -> str:
    """Return the kind and the labels of some entries of an axis."""
    labels = first_of([repr(axis.labels[i]) for i in order], _NAMED)
    return f"{axis.kind}{'s' * (len(order) > 1)} {labels}"
