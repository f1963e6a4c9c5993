"""Does the model fit? Pairs are predicted from all others; noise levels and single rewards are looked at."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtr

from argbest import streams
from argbest.answers import discrepancies, objections, shape
from argbest.answers.discrepancies import FALSE_ALARM
from argbest.answers.left_out import Relations, by_blocks, exact_at, left_out, relations
from argbest.checks import one_of
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief
from argbest.core.common_noise import blocks, likeness
from argbest.core.noise import plausible_noise, relative_noise
from argbest.core.questions.contexts import of_table
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import TooFewDataError
from argbest.models.base import Model, is_told_noise, learns_noise_of, noise_correlation, troubles
from argbest.problems.base import Problem
from argbest.texts import Sentences

if TYPE_CHECKING:
    from argbest.study.view import View

_HARDLY_TESTED = 0.5  # root mean square of z-scores below which hardly any prediction could have failed
_PERHAPS_COMMON = 0.2  # P(noise as alike, if independent) below which some of it may be common
_MOST_PAIRS = 1000  # pairs that are predicted; of more, so many spread evenly stand for all
# On larger tables fewer pairs are predicted, because covariances take up to 1 GB there.
_LARGE_TABLE, _FEWEST_PAIRS, _MOST_NUMBERS = 2**16, 100, 2**27
_ENOUGH_FREEDOM = 30  # degrees of freedom within pairs that tell the noise without the model's help
_MOST_LENDERS = 2**10  # pairs that tell how firmly noise is known
_DRAWN, _DRAWS = 2**14, (8, 32)  # noise levels drawn for that in all, and tables of them
_NO_VARIANCE = 1e-9  # a variance below is none
_PREDICTED = ("observed", "predicted", "sd", "residual", "z", "influence", "turned")  # columns of `pairs`
_GOLDEN_SECTION = 0.5 * (5.0**0.5 - 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class ModelCheck(Sentences):
    """How well pairs are predicted by the others, and whether noise and rewards are as the model takes them.

    A model that holds is doubted with probability 0.05 at most: a seventh of it each for a pair beyond the
    limit, for z-scores too large as a whole, for a region (an alternative or a context) that is off as a
    whole, for a jump of the means along the contexts, for alternatives that behave alike where the model has
    them unrelated, for variances that differ where the model has one, and for rewards with heavier tails than
    normal ones. Ties, and too few successes or failures for a rate, are no matter of chance. `str` says in
    words what is affected.
    """

    pairs: pd.DataFrame  # a row per pair: n, observed, predicted, sd, residual, z, influence, turned, flagged
    rms: float  # root mean square of the z-scores: 1 is expected; NaN if no pair can be predicted
    p_value: float  # P(a larger one, if the model holds); NaN if it cannot be told
    limit: float  # pairs whose z-score is beyond it are flagged
    alternatives: pd.DataFrame  # a row each: n, rms, shift, p_value, noise, noise_p_value, off, unequal
    contexts: pd.DataFrame  # likewise
    alike_p_value: float  # P(alternatives are off as much alike); NaN where the model relates them itself
    noise_p_value: float  # P(variances as unequal, where the model has one); NaN where it has none in common
    steps: pd.DataFrame = field(default_factory=pd.DataFrame)  # a row per jump: alternative, column, z, ...
    rewards: shape.Shape = field(default_factory=shape.Shape)  # single rewards beside normal ones
    scarce: BoolArray = field(default_factory=lambda: np.zeros(0, bool))  # [context]: see `shape.scarce`
    doubted: BoolArray = field(default_factory=lambda: np.zeros(0, bool))  # [context]: see `_doubted`
    objections: tuple[str, ...] = ()  # what is affected, the most important first
    remarks: tuple[str, ...] = ()  # how many pairs were checked, and how hyper-parameters were found
    fitted: bool = True  # False where there are too few values for the model: then only rewards are looked at
    of: str = ""  # the response, or sum of responses, that is looked at, where several are learned

    @property
    def n_flagged(self) -> int:
        """The number of pairs beyond the limit."""
        return int(self.pairs["flagged"].sum())

    @property
    def fits(self) -> bool:
        """Whether nothing is flagged, and nothing too unlikely as a whole."""
        return not (self.everywhere or self.n_flagged or self.contexts["off"].any() or self.scarce.any())

    @property
    def everywhere(self) -> bool:
        """Whether something is objected to that concerns all contexts."""
        return self.predicts_badly or self.rewards.tails_p_value < FALSE_ALARM or bool(self.rewards.tied)

    @property
    def predicts_badly(self) -> bool:
        """Whether means or noise levels are objected to in all contexts."""
        tests = self.p_value, self.alike_p_value, self.noise_p_value
        unlikely = any(p < FALSE_ALARM for p in tests)
        return unlikely or bool(self.alternatives["off"].any()) or len(self.steps) > 0

    @property
    def verdict(self) -> str:
        """What the tests say, in a few words; where z-scores are all small, little was put to the test."""
        model = f"the model of {self.of!r}" if self.of else "the model"
        if not self.fits:
            return f"{model} does not fit"
        return f"{model} fits" if self.rms >= _HARDLY_TESTED else f"no evidence against {model}"

    def __str__(self) -> str:
        beyond = f"{self.n_flagged} of {len(self.pairs)} pairs beyond ±{self.limit:.1f}"
        head = f"{self.verdict}: z-scores have a root mean square of {self.rms:.2f} (1 expected), {beyond}."
        if not len(self.pairs):
            untold = np.isnan(self.rewards.tails_p_value) and self.fits
            tested = "nothing could be tested" if untold else "only the shape of the rewards was tested"
            if self.rewards.rate and self.fitted:
                tested = "only whether enough successes and failures were seen was tested"
            why = "this model cannot predict a pair from the others"
            head = f"{self.verdict}: {why if self.fitted else 'it cannot be fitted yet'}, so {tested}."
        return " ".join([head, *self.objections, *self.remarks])


def of_study(view: "View", of: str | None = None) -> ModelCheck:
    """Return the check of a study's model on all that it was told, hyper-parameters kept.

    Where several sums of responses are learned, as with limits, each has a model of its own. The check is
    that ``of`` one of them; by default of the first that does not fit, else of the goal.
    """
    found = of_sums(view)
    if of is not None:
        known = {each.problem.subject: check for each, check in zip(view.sums, found, strict=True)}
        return known[one_of("of", of, tuple(known))]
    return next((check for check in found if not check.fits), found[0])


def of_sums(view: "View") -> tuple[ModelCheck, ...]:
    """Return the checks of all sums of responses that are learned, the goal's first."""
    return view.inference.once("model checks", lambda: tuple(_of_sum(view, i) for i in range(len(view.sums))))


def _of_sum(view: "View", place: int) -> ModelCheck:
    """Return the check of one sum of responses; of single rewards alone where none can be fitted yet."""
    own = view.sums[place]
    rewards = own.replicates()
    try:
        params = own.knowledge.params
    except TooFewDataError as few:
        found = _of_rewards_alone(own.problem, own.tally, rewards, str(few))
    else:
        found = check(
            own.problem, own.model, own.setting, own.tally, params, rewards=rewards, compared=not place
        )
    return replace(found, of=own.problem.subject if len(view.sums) > 1 else "")


def _of_rewards_alone(problem: Problem, tally: Tally, rewards: shape.Rewards, why: str) -> ModelCheck:
    """Return the check of single rewards, where a model needs more of them before it can be fitted."""
    nothing, unknown = np.empty(0, np.int64), np.full(tally.shape, np.nan)
    related = Relations(np.zeros(tally.shape, bool), nothing, nothing, np.empty((0, 0)), unknown, unknown)
    noise = discrepancies.Comparison(np.nan, unknown, np.zeros(tally.shape))
    frame = pd.concat([problem.alternatives.frame(nothing), problem.contexts.frame(nothing)], axis=1)
    frame = frame.assign(n=nothing, **dict.fromkeys(_PREDICTED, np.empty(0)), flagged=np.empty(0, bool))
    axes = discrepancies.of_axes(problem, np.empty(0), related, noise, FALSE_ALARM)
    single, few = shape.of_rewards(rewards, tally), np.zeros(tally.shape[1], bool)
    found = ModelCheck(
        frame, np.nan, np.nan, np.nan, *axes, np.nan, np.nan, rewards=single, scarce=few, fitted=False
    )
    return replace(
        found,
        doubted=_doubted(found, nothing),
        objections=tuple(objections.of_rewards(found, problem)),
        remarks=(why[:1].upper() + why[1:],),
    )


def check(
    problem: Problem,
    model: Model[Any],
    setting: Setting,
    tally: Tally,
    params: Any,
    *,
    rewards: shape.Rewards | None = None,
    compared: bool = True,
) -> ModelCheck:
    """Return the residual ȳ − μ₋ and z = (ȳ − μ₋)/√(V₋ + σ²/N) of every pair observed, in the user's sign.

    A pair is flagged where |z| is beyond the limit for the largest of all of them (Bonferroni). Σz² of all
    and of every region is compared with g χ²_h of the same mean and variance, the latter from the
    correlations of the z-scores; Σz of every region with its normal distribution, and z-scores of different
    alternatives with each other (`discrepancies.of_axes`). Jumps along the contexts are looked for at every
    cut (`discrepancies.steps`). Variances within pairs are compared by Bartlett's test
    (`discrepancies.compared`), and single ``rewards`` with normal ones (`shape`). Of more than 1,000 pairs
    observed, 1,000 spread evenly are predicted.

    Where alternatives share noise, ȳ are the means by generalised least squares, and predictions know what
    the noise of others tells. Where they may share some, but none is clearly seen, alternatives may be off
    together by noise alone, and nothing is made of it. Where the model has a noise level per pair, σ² is
    that of the scatter within pairs, and z is a normal score (`_scored`).

    Rewards by which alternatives are not ``compared`` with each other, but with a bound, are not looked at
    for too few successes or failures among the best.
    """
    wanted, single = _spread(tally.count > 0), shape.of_rewards(rewards or {}, tally)
    own = _noise_per_pair(model)
    judged = _with_scatter(params, tally) if own and not single.rate else params
    found = _predicted(model, setting, tally, judged, wanted)
    if single.rate:
        found = _as_rates(found, tally)
    related, together, alike = found.related, found.together, found.together or found.shared
    frame, told = _frame(problem, tally, found, wanted, _firmness(tally) if own else None)
    limit = float(-ndtri(FALSE_ALARM / (2 * told.sum()))) if told.any() else np.nan
    z, table = frame["z"].to_numpy(), np.zeros(tally.shape)
    frame["flagged"], table[wanted] = told & (np.abs(z) > limit), z
    scores = table[related.alternative, related.context]
    known = is_told_noise(model)
    levels = np.arange(float(tally.count.size)).reshape(tally.shape) if own else found.belief.noise
    noise = discrepancies.compared(levels, tally, together=known, shared=alike)
    sd = np.sqrt(found.var)[related.alternative, related.context]
    checked = ModelCheck(
        frame[told].reset_index(drop=True),
        float(np.sqrt(np.mean(z[told] ** 2))) if told.any() else np.nan,
        discrepancies.whole(scores, related, shared=together),
        limit,
        *discrepancies.of_axes(problem, scores, related, noise, FALSE_ALARM, shared=together, alike=alike),
        np.nan if found.relates or together else discrepancies.alike(setting, scores, related),
        noise.p_value,
        discrepancies.steps(problem, scores, sd, related, FALSE_ALARM, shared=together),
        single,
        shape.scarce(found.belief, tally) if single.rate and compared else np.zeros(tally.shape[1], bool),
    )
    return replace(
        checked,
        doubted=_doubted(checked, np.nonzero(wanted)[1][frame["flagged"]]),
        objections=tuple(objections.of_check(checked, problem, model)),
        remarks=(*_remarks(checked, tally.count), *troubles(model, setting, params)),
    )


def _doubted(check: ModelCheck, flagged: IntArray) -> BoolArray:
    """Return the contexts whose means or noise levels are objected to, given those of the flagged pairs.

    Heavy tails and ties of single rewards are not among these objections: how much they matter depends on
    the replications behind a choice (`argbest.answers.doubts`).
    """
    found = check.scarce | check.contexts["off"].to_numpy(bool) | check.predicts_badly
    found[flagged] = True
    return np.asarray(found)


def _noise_per_pair(model: Model[Any]) -> bool:
    """Return whether the model learns a noise level of every pair."""
    return learns_noise_of(model) == "pair"


def _with_scatter(params: Any, tally: Tally) -> Any:
    """Return the parameters with the noise that replications show about the mean of their own pair.

    A model may count as noise what its means miss: then a pair that is off hides itself. With few
    replications in all there is no other way, and the noise is left as it is. No pair has less than is usual
    for its alternative and its context (means of the logarithms): where a few replications agree by chance,
    their mean would count as nearly exact, and its neighbours would seem to be off.
    """
    freedom = np.maximum(tally.count - 1, 0)
    if freedom.sum() < _ENOUGH_FREEDOM or not tally.m2.any():
        return params
    relative = relative_noise(tally.statistics_alone)
    log = np.log(relative * (np.sum(tally.m2 / relative) / freedom.sum()))
    usual = log.mean(axis=0) + log.mean(axis=1, keepdims=True) - log.mean()
    noise = np.exp(np.maximum(log, usual))
    if tally.earlier is not None:  # whose noise is not judged
        noise = np.concatenate([noise, params.noise[:, tally.shape[1] :]], axis=1)
    return replace(params, noise=noise)


def _firmness(tally: Tally) -> Array:
    """Return in how many degrees of freedom f the noise of every pair is known, [alternative, context].

    Plausible tables of it are drawn. The logarithm of σ² f/χ²_f has the variance ψ′(f/2) ≈ 2/f + 2/f², from
    which f follows. Pairs with as many replications are taken to be known alike; of a large table some
    alternatives tell it for all.
    """
    rows = np.flatnonzero(tally.count.any(axis=1))
    some = tally.statistics_alone[rows[:: 1 + len(rows) * tally.shape[1] // _MOST_LENDERS]]
    n = int(np.clip(_DRAWN // some.count.size, *_DRAWS))
    log = np.log(plausible_noise(some, n, streams.generator(0, streams.Purpose.CERTIFICATE)))
    sizes, which = np.unique(some.count, return_inverse=True)
    var = np.bincount(which.ravel(), log.var(axis=0).ravel()) / np.bincount(which.ravel())
    known = (1.0 + np.sqrt(1.0 + 2.0 * var)) / np.maximum(var, _NO_VARIANCE)
    return np.interp(tally.count, sizes, known)


def _scored(z: Array, share: Array, freedom: Array) -> Array:
    """Return the normal scores of z-scores whose noise is estimated with some degrees of freedom.

    The noise is but a ``share`` of their variance: by Satterthwaite's rule z has Student's distribution with
    freedom/share² degrees.
    """
    tail = stdtr(freedom / np.clip(share, _NO_VARIANCE, 1.0) ** 2, -np.abs(z))
    return np.where(tail > 0, -np.sign(z) * ndtri(np.maximum(tail, np.finfo(float).tiny)), z)


def _as_rates(found: "_Predicted", tally: Tally) -> "_Predicted":
    """Return predictions of shares, which vary by p(1 − p)/N at least if p is what the others predict."""
    n = np.maximum(tally.count, 1)
    p = np.clip(np.abs(found.mean), 0.5 / n, 1.0 - 0.5 / n)
    return found._replace(var=np.maximum(found.var, p * (1.0 - p) / n))


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
    """Return the pairs ``wanted`` as all others predict them, with shared noise if the model knows of any."""
    plain = tally.statistics_alone
    belief = exact_at(model.posterior(plain, setting, params), np.nonzero(wanted)[0])  # once for all pairs
    relates = belief.own_cov is None
    shared = noise_correlation(params) if tally.common is not None else None
    if shared is not None and np.any(shared):
        belief = exact_at(model.posterior(tally, setting, params), np.nonzero(wanted)[0])
        shared = shared[..., : tally.shape[1]]
        found = blocks(tally, belief.noise, shared)
        off, var, observed, related = by_blocks(belief, tally, found, wanted, of_table(setting.question))
        any_shared = bool(np.any(shared))
        return _Predicted(belief, observed - off, var, observed, related, relates, False, any_shared)
    mean, var, closed = left_out(model, setting, plain, params, belief, wanted)
    related = relations(belief, plain, wanted, closed, of_table(setting.question))
    together = bool(likeness(tally, belief.noise) < _PERHAPS_COMMON)
    var = var + belief.noise / np.maximum(plain.count, 1)
    return _Predicted(belief, mean, var, plain.mean, related, relates, together, False)


def _frame(
    problem: Problem, tally: Tally, found: _Predicted, wanted: BoolArray, freedom: Array | None
) -> tuple[pd.DataFrame, BoolArray]:
    """Return a row per pair wanted, and [row] whether the others predict it.

    ``freedom`` says how firmly the noise of every pair is known; None: firmly.
    """
    k, c = np.nonzero(wanted)
    observed, predicted, sd = found.observed[k, c], found.mean[k, c], np.sqrt(found.var[k, c])
    residual = observed - predicted
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(residual == 0, 0.0, residual / sd)
        if freedom is not None:
            share = found.belief.noise[k, c] / tally.count[k, c] / found.var[k, c]
            z = _scored(z, share, freedom[k, c])
    frame = pd.concat([problem.alternatives.frame(k), problem.contexts.frame(c)], axis=1)
    frame["n"] = tally.count[k, c]
    frame["observed"], frame["predicted"] = problem.sign * observed, problem.sign * predicted
    frame["sd"], frame["residual"], frame["z"] = sd, problem.sign * residual, problem.sign * z
    frame["influence"], frame["turned"] = found.related.influence[k, c], found.related.turned[k, c]
    return frame, np.isfinite(predicted) & np.isfinite(sd) & found.related.informed[k, c]


def _spread(observed: BoolArray) -> BoolArray:
    """Return which pairs are predicted: all, or of very many an even spread.

    Steps of the golden section never fall into the rhythm of a grid's columns.
    """
    cells = np.flatnonzero(observed)
    room = (
        _MOST_NUMBERS // max(len(cells) * observed.shape[1], 1)
        if observed.size > _LARGE_TABLE
        else _MOST_PAIRS
    )
    most = int(np.clip(room, _FEWEST_PAIRS, _MOST_PAIRS))
    if len(cells) <= most:
        return observed
    wanted = np.zeros(observed.size, bool)
    wanted[cells[(np.arange(1, most + 1) * _GOLDEN_SECTION % 1.0 * len(cells)).astype(np.int64)]] = True
    return wanted.reshape(observed.shape)


def _remarks(check: ModelCheck, count: IntArray) -> Iterator[str]:
    """Yield how many pairs were checked, where that matters, and what a check of rewards needs."""
    seen = int((count > 0).sum())
    if not check.fits and 0 < len(check.pairs) < seen // 2:
        yield f"{len(check.pairs):,} of {seen:,} observed pairs, spread evenly, were checked."
    if not len(check.pairs) and count.max() < shape.FEWEST and not check.rewards.rate:
        yield f"With {shape.FEWEST} or more replications of a pair, the shape of its rewards is tested."
