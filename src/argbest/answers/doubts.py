"""Why a choice is not called sure although its probability is high: the data do not allow such a claim yet.

A probability follows from a model. However high it is, a choice is not called sure

- where the model check objects to means or noise levels, unless the replications of the pairs by themselves
  say the same;
- where rewards are skewed and the two foremost alternatives have too few replications for that, or where no
  pair has three replications, so that nobody can see whether rewards are skewed;
- where rare events, seen in other pairs, could change the answer and may have been missed by chance; or,
  where rewards repeat values, others than the single value that a pair has shown;
- where no two replications of any pair differ: then nothing is known of the noise, unless the user has said
  what it is, or contexts of runs never repeat and enough neighbours show it.

Heavy tails without skewness and events are no reason. An excess kurtosis κ adds κ z (3 − z²) φ(z)/(12 n) to
the error of Student's t at z (Hall, 1992): at most 0.004 κ/n where a choice becomes sure, and less than
nothing beyond. An event that was seen nowhere cannot be foreseen.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, ndtri, stdtr

from argbest.answers import model_check
from argbest.core import limits as within_limits
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.belief import Belief, of_selected
from argbest.core.binomial import is_rate
from argbest.core.noise import LENDERS, Rarities, enough_within, rarities, repeats, sample_variance
from argbest.core.outcomes import standardised
from argbest.core.states import EQUAL, LEVEL, NO_FEASIBLE, OPEN, SURE
from argbest.core.tally import Tally
from argbest.models.base import is_told_noise
from argbest.problems.labels import place
from argbest.problems.population import RUNS
from argbest.texts import Sentences, number

if TYPE_CHECKING:
    from argbest.study.view import View

_ERROR_OF_SURE = 1.0 - LEVEL  # of a choice that is called sure
_MOST_BY_SKEWNESS = 0.5  # of that error: so much of it skewness may add at most
_CHANCE_OF_MISSING = 0.05  # chance of not having seen an event that is more probable than it is taken to be
_RARE = 0.01  # chance that normal rewards look like an event
_SKEWNESS_CANNOT_SHOW = "no pair has three replications, so nothing shows whether rewards are skewed"


@dataclass(frozen=True, eq=False, repr=False)
class Doubts(Sentences):
    """What speaks against calling choices sure; arrays are [context]."""

    check: model_check.ModelCheck
    own: Array  # a lower bound of P(the selected alternative is best) from the pairs' replications alone
    misfit: BoolArray  # the model check objects, and the replications alone do not make the choice sure
    few: BoolArray  # too few replications for rewards so skewed, or for so few successes or failures
    rare: BoolArray  # rare events may have been missed that would change the choice
    silent: BoolArray  # no replications differ anywhere, and they are too few to say that none ever will
    reasons: tuple[str, ...]  # why, in a few words; "" where nothing speaks against the choice

    def __str__(self) -> str:
        n = int(self.some.sum())
        if not n:
            return "nothing speaks against calling choices sure"
        first = next(filter(None, self.reasons))
        return f"{n} of {len(self.some)} contexts {'is' if n == 1 else 'are'} in doubt. The first: {first}."

    @property
    def some(self) -> BoolArray:
        """Whether anything speaks against the choice."""
        return self.misfit | self.few | self.rare | self.silent

    def granted(self, probability: Array, own: Array | None = None) -> Array:
        """Return the probabilities that a stop rule may count on, [context].

        Where only the model is in doubt, no more than what the replications alone say: ``own``, by default
        their P(best). Where the replications are too few, 0.
        """
        alone = self.own if own is None else own
        trusted = np.where(self.misfit, np.minimum(probability, alone), probability)
        return np.where(self.few | self.rare | self.silent, 0.0, trusted)

    def waiting(self, view: "View", rule: object) -> str:
        """Return why a run continues although the model's probabilities meet its stop rule.

        "" where it only waits for a third replication of any pair, which comes soon.
        """
        if set(self.reasons) <= {"", _SKEWNESS_CANNOT_SHOW}:
            return ""
        return (
            f"{rule} is met by the model's word, but not by what can be counted on, so the run goes on: "
            f"{self.first(view)}."
        )

    def first(self, view: "View") -> str:
        """Return the first reason with its context, and in how many contexts there are others."""
        where = np.flatnonzero(self.some)
        if not len(where):
            return ""
        others = "1 more context is" if len(where) == 2 else f"{len(where) - 1} more contexts are"
        more = f" ({others} in doubt)" if len(where) > 1 else ""
        return f"{place(view.problem.contexts, int(where[0]))} {self.reasons[where[0]]}{more}"


def of_study(view: "View") -> Doubts:
    """Return what speaks against calling the choices of a study sure, computed once for what it knows."""
    return view.inference.once("doubts", lambda: _doubts(view))


def granted(view: "View", delta: float) -> Array:
    """Return the probabilities of losing no more than ``delta`` that a stop rule may count on, [part].

    A choice for all contexts together depends on each of them, so a doubt about one context counts for it.
    """
    found, certificate = of_study(view), view.answer_certificate(delta)
    if not view.asks_about_table:
        several = len(certificate.counted) > 1
        in_doubt = found.some if several else np.any(found.some & (view.problem.weights > 0))
        return np.where(in_doubt, 0.0, certificate.pcs)
    alone = kept_by_replications if view.problem.limits else by_replications
    own = alone(view, view.choice, delta) if delta else None
    return found.granted(certificate.pcs, own)


def states(view: "View", delta: float) -> AnyArray:
    """Return the state of every context: sure, equal (within ``delta``) or open; open if it is in doubt."""
    names = view.certificate().states(delta)
    claimed = (names == SURE) | (names == EQUAL) | (names == NO_FEASIBLE)
    if claimed.any():
        names = np.where(claimed & of_study(view).some, OPEN, names)
    return names


def _doubts(view: "View") -> Doubts:
    """Return the doubts about the goal and about every limit: any of them speaks against a choice."""
    checks = model_check.of_sums(view)
    if not view.problem.limits:
        belief, foremost = view.belief, _foremost(view.belief, view.choice)
        lead = np.subtract(*_of_both(belief.mean, foremost))
        return _doubts_of(view, checks[0], foremost, lead, by_replications(view, view.choice))
    standing = within_limits.Standing.of(view.belief, view.problem.price)
    own = kept_by_replications(view, view.choice)
    parts = [_doubts_of(view.sums[0], checks[0], *_in_goal(standing, view.choice), own)]
    followed = zip(view.problem.limits, standing.belief.slacks, view.setting.basis.outcomes[1:], strict=True)
    for limit, slack, outcome in followed:
        foremost = _near_the_bound(standing, slack, view.choice)
        lead = np.min(np.abs(_of_both(slack.mean, foremost)), axis=0)
        of_sum, of_limit = view.sums[outcome.sum], f"(limit {limit}) "
        scarce = np.zeros(len(own), bool)
        if of_sum.rate or is_rate(of_sum.tally):
            share = min(abs(outcome.constant), 1.0)
            scarce = _scarce_at(share, of_sum.belief, of_sum.tally, foremost)
        parts.append(_doubts_of(of_sum, checks[outcome.sum], foremost, lead, own, of_limit, scarce))
    reasons = tuple(next(filter(None, each), "") for each in zip(*(p.reasons for p in parts), strict=True))
    misfit, few, rare, silent = (
        np.any([getattr(part, name) for part in parts], axis=0)
        for name in ("misfit", "few", "rare", "silent")
    )
    return Doubts(model_check.of_study(view), own, misfit, few, rare, silent, reasons)


def _doubts_of(
    view: "View",
    check: model_check.ModelCheck,
    foremost: IntArray,
    lead: Array,
    own: Array,
    of: str = "",
    scarce: BoolArray | None = None,
) -> Doubts:
    """Return the doubts about one outcome, from the two ``foremost`` alternatives [2, context].

    The answer would change if their means changed by ``lead`` [context]; ``of`` is put before reasons.
    ``scarce`` says where there are too few successes or failures; None: as the model check says.
    """
    belief, tally, shown = view.belief, view.tally, rarities(view.tally)
    scarce = check.scarce if scarce is None else scarce
    misfit = check.doubted & ~scarce & (own < LEVEL)
    by_neighbours = _shown_by_neighbours(view)
    shown = shown if by_neighbours is None else by_neighbours
    behind = _replications_behind(belief, tally)
    worth = np.min(_of_both(behind, foremost), axis=0)
    hidden = by_neighbours is None and _shape_is_hidden(tally)
    few = scarce | (worth < _needed(shown.skewness)) | hidden
    rare, silent = _could_change(belief, behind, foremost, lead, shown), np.zeros(len(own), bool)
    repeated = _may_differ(tally, behind, foremost, lead) if check.rewards.tied else silent
    if _noise_is_told(view):
        few, rare, repeated = scarce, silent, silent
    elif by_neighbours is None and not tally.m2.any():
        silent = np.max(_of_both(_most_missed(tally.count), foremost), axis=0) > _CHANCE_OF_MISSING
    found = misfit, few, rare | repeated, silent
    reasons = _reasons(view, check, found, scarce, repeated, foremost, shown, worth)
    return Doubts(check, own, *found, tuple(f"{of}{each}" if each else "" for each in reasons))


def _scarce_at(share: float, belief: Belief, tally: Tally, foremost: IntArray) -> BoolArray:
    """Return in which contexts a rate may be on the other side of its bound, the ``share`` t, by its counts.

    Of the two foremost alternatives. Their beliefs are worth n replications, of which k were successes. With
    a rate of t, so few successes (or so many, if the rate seems to be above t) must have a chance of at most
    0.05: P(Bin(n, t) ≤ k) = I_{1−t}(n − k, k + 1), exact however few events there were.
    """
    n = _replications_behind(belief, tally)
    k = n * np.clip(np.abs(belief.mean), 0.0, 1.0)
    above = np.abs(belief.mean) > share
    with np.errstate(invalid="ignore"):
        at_most = np.where(n - k > 0, betainc(np.maximum(n - k, 1e-300), k + 1.0, 1.0 - share), 1.0)
        at_least = np.where(k > 0, betainc(np.maximum(k, 1e-300), n - k + 1.0, share), 1.0)
    chance = np.where(above, at_least, at_most)
    return np.asarray(np.any(_of_both(chance, foremost) > _ERROR_OF_SURE, axis=0))


def _in_goal(standing: within_limits.Standing, selected: IntArray) -> tuple[IntArray, Array]:
    """Return the selected alternative, its closest rival that may keep the limits, and their distance."""
    mean, kept = standing.belief.mean, standing.kept
    first = np.where(selected == within_limits.NONE, standing.leader, selected)
    contexts = np.arange(len(first))
    others = np.where(kept >= _ERROR_OF_SURE, mean, -np.inf)
    others[first, contexts] = -np.inf
    second = np.where(np.isfinite(others.max(axis=0)), others.argmax(axis=0), first)
    return np.stack([first, second]), np.abs(mean[first, contexts] - mean[second, contexts])


def _near_the_bound(standing: within_limits.Standing, slack: Belief, selected: IntArray) -> IntArray:
    """Return the selected alternative, and of the better ones that nearest to the bound of a limit."""
    mean, contexts = standing.belief.mean, np.arange(len(selected))
    none = selected == within_limits.NONE
    first = np.where(none, standing.leader, selected)
    better = none | (mean > mean[first, contexts])
    distance = np.where(better, np.abs(standardised(slack)), np.inf)
    second = np.where(np.isfinite(distance.min(axis=0)), distance.argmin(axis=0), first)
    return np.stack([first, second])


def _shape_is_hidden(tally: Tally) -> bool:
    """Return whether no pair has three replications: two are symmetric about their mean, however skewed."""
    return bool(tally.count.max() < 3 and tally.m2.any() and not is_rate(tally))


def _shown_by_neighbours(view: "View") -> Rarities | None:
    """Return the skewness and the events that runs which never repeat show by their neighbours; or None.

    Neighbours show the noise where Σ (1 − h) over the observed pairs, the degrees of freedom that are left,
    is at least 30; h = V N/σ² is the weight of a pair's own replications in its mean. Residuals over √(1 − h)
    have the variance of the noise. From their squared skewness twice its variance by chance is subtracted:
    6/n, or what the residuals show if that is more. An event is a residual larger than the largest of n
    normal ones is with a chance of 0.01, scaled by the median of their sizes. A rate has neither.
    """
    people, tally = view.problem.population, view.tally
    if people is None or people.source != RUNS or enough_within(tally):
        return None
    belief, seen = view.knowledge.belief, tally.count > 0
    noise = belief.noise[seen] / tally.count[seen]
    left = np.clip(1.0 - belief.var[seen] / noise, 1e-6, 1.0)
    residual = (tally.mean - belief.mean)[seen] / np.sqrt(left)
    n, square = len(residual), float(np.mean(residual**2))
    if not (left.sum() >= LENDERS and square > 0):
        return None
    if is_rate(tally):
        return Rarities(0, 0.0, 0.0, 0.0, 0.0)
    skewness = np.mean(residual**3) / square**1.5
    chance = 2.0 * max(6.0, float(np.mean((residual**2 / square) ** 3))) / n
    usual = np.median(np.abs(residual)) / float(ndtri(0.75))
    event = np.abs(residual) > -float(ndtri(0.5 * _RARE / n)) * usual
    size = float(np.sqrt(np.mean(residual[event] ** 2))) if event.any() else 0.0
    relative = size / max(float(usual), 1e-12 * np.sqrt(square))
    beyond = float(np.sqrt(max(skewness**2 - chance, 0.0)))
    return Rarities(int(event.sum()), float(event.mean()), size, relative, beyond)


def _silent(view: "View") -> str:
    """Return what to give as ``noise_sd`` where the goal has no noise."""
    goal = view.problem.aim.sum
    return "0" if goal is None else str(dict.fromkeys(goal.names, 0))


def _noise_is_told(view: "View") -> bool:
    """Return whether the user has said what the noise is: to the model, or that there is none."""
    known = view.problem.goal_noise_sd
    return is_told_noise(view.model) or (known is not None and not known.any())


def _foremost(belief: Belief, selected: IntArray) -> IntArray:
    """Return the selected alternative and its closest rival, [2, context]; if there is only one, it twice."""
    if belief.mean.shape[0] == 1:
        return np.stack([selected, selected])
    others = belief.mean.copy()
    others[selected, np.arange(len(selected))] = -np.inf
    return np.stack([selected, np.argmax(others, axis=0)])


def by_replications(view: "View", selected: IntArray, delta: float = 0.0) -> Array:
    """Return a lower bound of P(selected is best) by sample means and variances: Welch's t over all rivals.

    Within ``delta`` of the best counts as best. 0 where an alternative that could be selected has fewer than
    two replications.
    """
    tally, ruled_out = view.tally, view.ruled_out
    excluded = tally.count < 2
    if excluded.all():
        return np.zeros(len(selected))
    error = _errors_of_lead(tally, selected, delta)
    rivals = np.ones(tally.shape, bool) if ruled_out is None else ~ruled_out
    told = np.all(~excluded | ~rivals, axis=0)
    return np.where(told, np.maximum(1.0 - np.where(rivals, error, 0.0).sum(axis=0), 0.0), 0.0)


def kept_by_replications(view: "View", selected: IntArray, delta: float = 0.0) -> Array:
    """Return a lower bound of P(selected is right within limits) by sample means and variances, [context].

    It is wrong if it breaks a limit, or if another alternative keeps all limits and is better: the
    probability of the latter is at most the smallest of those of its parts. To choose none, -1, is wrong if
    an alternative keeps the limits. The probabilities of being wrong, by Welch's and Student's t, add up.
    """
    tally, ruled_out, none = view.tally, view.ruled_out, selected == within_limits.NONE
    excluded = tally.count < 2
    if excluded.all():
        return np.zeros(len(selected))
    first, contexts = np.where(none, 0, selected), np.arange(len(selected))
    kept, broken = np.ones(tally.shape), np.zeros(tally.shape)
    for each in view.setting.basis.outcomes[1:]:
        own = view.tallies[each.sum]
        sd = np.sqrt(sample_variance(own, excluded) / np.maximum(own.count, 1))
        t = np.divide(each.sign * own.mean + each.constant, sd, out=np.zeros(sd.shape), where=sd > 0)
        likely = stdtr(np.maximum(own.count - 1, 1), t)
        kept, broken = np.minimum(kept, likely), broken + 1.0 - likely
    wrong = np.where(none, kept, np.minimum(kept, _errors_of_lead(tally, first, delta)))
    wrong[first, contexts] = np.where(none, wrong[first, contexts], np.minimum(broken[first, contexts], 1.0))
    rivals = np.ones(tally.shape, bool) if ruled_out is None else ~ruled_out
    told = np.all(~excluded | ~rivals, axis=0)
    return np.where(told, np.maximum(1.0 - np.where(rivals, wrong, 0.0).sum(axis=0), 0.0), 0.0)


def _errors_of_lead(tally: Tally, selected: IntArray, delta: float) -> Array:
    """Return P(each alternative is better than the selected by more than delta), by Welch's t."""
    contexts, excluded = np.arange(len(selected)), tally.count < 2
    var = sample_variance(tally, excluded) / np.maximum(tally.count, 1)
    freedom = np.maximum(tally.count - 1, 1)
    own = var[selected, contexts]
    total = var + own
    share = var / total  # not squares of variances, which may be too large or too small
    welch = 1.0 / (share**2 / freedom + (1.0 - share) ** 2 / freedom[selected, contexts])
    with np.errstate(over="ignore"):  # a delta beyond all rewards leaves no error
        error = stdtr(welch, -(tally.mean[selected, contexts] - tally.mean + delta) / np.sqrt(total))
    error[selected, contexts] = 0.0
    return np.asarray(error)


def _needed(skewness: float) -> float:
    """Return the replications with which skewness adds at most half to the error of a sure choice.

    By the first term of Edgeworth's expansion it adds γ (z² − 1) φ(z)/(6 √n) to P(error) = 1 − Φ(z).
    """
    z = -float(ndtri(_ERROR_OF_SURE))
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return float((skewness * (z * z - 1.0) * density / (6.0 * _MOST_BY_SKEWNESS * _ERROR_OF_SURE)) ** 2)


def _of_both(table: AnyArray, foremost: IntArray) -> AnyArray:
    """Return the entries of the two foremost alternatives, [2, context]."""
    return np.stack([of_selected(table, each) for each in foremost])


def _replications_behind(belief: Belief, tally: Tally) -> Array:
    """Return how many replications every mean is worth: its own, or σ²/V if neighbours add to them."""
    worth = belief.noise / np.maximum(belief.var, np.finfo(float).tiny)
    return np.asarray(np.maximum(tally.count, worth))


def _could_change(
    belief: Belief, behind: Array, foremost: IntArray, lead: Array, shown: Rarities
) -> BoolArray:
    """Return the contexts whose choice could change if rare events, seen in other pairs, were missed here.

    A missed event would move a mean by its size times its probability. It is taken to be as large as those
    seen, but relative to the noise of its pair no larger than they are.
    """
    if not shown.events:
        return np.zeros(belief.mean.shape[1], bool)
    size = np.minimum(shown.size, shown.relative * np.sqrt(belief.noise))
    return np.asarray(lead < np.max(_of_both(size * _most_missed(behind), foremost), axis=0))


def _may_differ(tally: Tally, behind: Array, foremost: IntArray, lead: Array) -> BoolArray:
    """Return the contexts whose choice could change if values that differ were missed, where values repeat.

    A pair that has shown a single value may have missed others, as far away as in other pairs.
    """
    single, distance = repeats(tally)
    missed = np.where(single, distance * _most_missed(behind), 0.0)
    return np.asarray(lead < np.max(_of_both(missed, foremost), axis=0))


def _most_missed(n: AnyArray) -> Array:
    """Return the probability of an event that n replications miss with a chance of 0.05: 1 − 0.05^(1/n)."""
    return np.asarray(1.0 - _CHANCE_OF_MISSING ** (1.0 / np.maximum(n, 1.0)))


def _reasons(
    view: "View",
    check: model_check.ModelCheck,
    found: tuple[BoolArray, ...],
    scarce: BoolArray,
    repeated: BoolArray,
    foremost: IntArray,
    shown: Rarities,
    worth: Array,
) -> Iterator[str]:
    """Yield the first reason of every context, "" where there is none."""
    labels, count = view.problem.alternatives.labels, view.tally.count
    for c, (misfit, few, rare, silent) in enumerate(zip(*found, strict=True)):
        least = min(foremost[:, c].tolist(), key=lambda k: int(count[k, c]))
        n = int(count[least, c])
        if silent and not view.tally.count.max() > 1:
            yield "no pair has two replications yet, so nothing is known of the noise"
        elif silent:
            yield (
                f"no replications of any pair differ, and the {n} of alternative {labels[least]!r} do not "
                f"show that none will; if there is no noise, say so: noise_sd={_silent(view)}"
            )
        elif repeated[c]:
            yield (
                f"rewards repeat values, and the {n} of alternative {labels[least]!r} may have missed one "
                "that differs, which could change the answer"
            )
        elif rare:
            yield (
                f"a rare event could change the answer: {shown.events} of all replications differ by about "
                f"{number(shown.size)} from the others of their pair, and the {n} of alternative "
                f"{labels[least]!r} may have missed one"
            )
        elif few and scarce[c]:
            yield "there are too few successes or failures"
        elif few and _shape_is_hidden(view.tally):
            yield _SKEWNESS_CANNOT_SHOW
        elif few:
            needed = int(np.ceil(_needed(shown.skewness)))
            yield (
                f"rewards are skewed (skewness about {shown.skewness:.1f}), and alternative "
                f"{labels[least]!r} rests on {number(float(worth[c]))} replications where {needed} are needed"
            )
        elif misfit:
            objection = (check.objections or (check.verdict,))[0]
            yield f"the model is in doubt: {objection[:1].lower()}{objection[1:].split('. ')[0].rstrip('.')}"
        else:
            yield ""


def sentences(view: "View") -> list[str]:
    """Return sentences: what the model check objects to, and where choices are not called sure."""
    check = of_study(view).check
    objected = [] if check.fits else [" ".join([f"model check: {check.verdict}.", *check.objections[:2]])]
    return [*objected, *filter(None, [sentence(view)])]


def sentence(view: "View") -> str:
    """Return where choices are not called sure, and the first reason; "" if nothing speaks against them."""
    found = of_study(view)
    if not found.some.any():
        return ""
    claimed = found.some & (view.certificate().pcs >= LEVEL)
    n = int(claimed.sum())
    where = f"{n} of {len(claimed)} choices {'is' if n == 1 else 'are'} not called sure: " if n else ""
    return where + found.first(view) + "."
