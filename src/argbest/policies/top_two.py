"""Top-two Thompson sampling: let two draws from the belief disagree, and simulate one side of the dispute."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argbest.checks import finite
from argbest.core import false_selection
from argbest.core.arrays import Array, BoolArray, IntArray, ndtri
from argbest.core.belief import Belief, gaps
from argbest.core.decision import Decision, at, leading, of_each_context
from argbest.core.question import Question
from argbest.core.setting import Setting
from argbest.policies.base import Draws, Moment, OneByOne, pick

_REDRAWS = 8
_TINIEST = 2.0**-54  # half of the smallest uniform number that is not 0


@dataclass(frozen=True, kw_only=True)
class TopTwo(OneByOne):
    """Simulate one of two alternatives whose order is in doubt.

    The leader or the challenger of a context over which two draws of all rewards disagree.

    One joint draw from the belief gives the leader of every context. The rewards are drawn again, up to
    eight times, until in some context another alternative leads; of those contexts one is chosen in
    proportion to the weights, its leader is simulated with probability ``beta`` and else its new leader,
    the challenger: the rule of Russo (2020), where an answer is the best alternative of every context. If
    no redraw disagrees, leader I and challenger are the pair with the smallest (μ_I − μ_k)₊² / Var(f_I −
    f_k), as in T3C (Shang et al. 2020). Only contexts that are allowed and have weight count; if none has,
    all allowed ones.

    Where replications differ in cost κ, the leader is simulated with odds β/√κ_I to (1 − β)/√κ_k: of all ways
    to reach some variance σ²/N_I + σ²/N_k of their difference, N in proportion to 1/√κ costs least. Pairs set
    aside are drawn at their means; of a dispute with one of them the other side is simulated.

    Args:
        beta: The probability with which the leader is simulated, and not the challenger.
    """

    beta: float = 0.5
    weighs_cost: ClassVar[bool] = True
    follows_the_foremost: ClassVar[bool] = True

    def __post_init__(self) -> None:
        finite("beta", self.beta, above=0.0, below=1.0)

    def decide(self, now: Moment) -> Decision:
        """Return the leader or the challenger of a dispute."""
        belief, setting, draws, candidates = now.belief, now.setting, now.draws, now.candidates
        weights = _counted(candidates, setting.weights)
        open_ = candidates & (weights > 0)[..., None, :]
        size = belief.mean.shape[-2] * belief.mean.shape[-1]
        lane = now.lane * (2 + (1 + _REDRAWS) * size)  # every decision of a batch has its own lanes
        leader, challenger, disputed = _dispute(setting, belief, open_, draws, lane + 2)
        context = _in_proportion(np.where(disputed, weights, 0.0), draws.uniform(lane + 1))
        rival = _selected_in(context, challenger)
        settled = disputed.any(axis=-1)
        if not np.all(settled):
            closest = _closest(belief, leader, open_, setting.excluded, draws, lane + 1)
            context = np.where(settled, context, closest.context)
            rival = np.where(settled, rival, closest.alternative)
        sides = Decision(_selected_in(context, leader), context), Decision(rival, context)
        prefer_leader = draws.uniform(lane) < self._chance(setting, *sides)
        prefer_leader = (prefer_leader & at(open_, sides[0])) | ~at(open_, sides[1])
        return Decision(np.where(prefer_leader, sides[0].alternative, rival), context)

    def _chance(self, setting: Setting, leader: Decision, rival: Decision) -> Array | float:
        """Return the probability of sampling the leader, beta unless costs differ, [...]."""
        if setting.cost is None:
            return self.beta
        mine, theirs = np.sqrt(setting.cost[leader]), np.sqrt(setting.cost[rival])
        return self.beta * theirs / (self.beta * theirs + (1.0 - self.beta) * mine)


def _counted(candidates: BoolArray, weights: Array) -> Array:
    """Return the weights of the contexts that may be chosen, equal if all are 0, [..., context]."""
    allowed = np.any(candidates, axis=-2)
    own = np.where(allowed, weights, 0.0)
    return np.where(own.any(axis=-1, keepdims=True), own, allowed)


def _dispute(
    setting: Setting, belief: Belief, open_: BoolArray, draws: Draws, lane: int
) -> tuple[IntArray, IntArray, BoolArray]:
    """Return the leaders, those of the first redraw that differs, and where they do, each [..., context].

    Only disputes with a side in ``open_`` [..., alternative, context] count. The redraws after the first are
    made only if some run needs them; a run's answer is the same either way.
    """
    known = setting.question, belief, setting.excluded
    leader, challenger = _leaders(*known, draws, lane, 0, 2)
    mine = open_[of_each_context(leader)]

    def differs(other: IntArray) -> BoolArray:
        return np.asarray((leader != other) & (mine | open_[of_each_context(other)]))

    disputed = differs(challenger)
    if not np.all(disputed.any(axis=-1)):
        for again in _leaders(*known, draws, lane, 2, 1 + _REDRAWS):
            waiting = ~disputed.any(axis=-1, keepdims=True)
            challenger = np.where(waiting, again, challenger)
            disputed = np.where(waiting, differs(again), disputed)
    return leader, challenger, disputed


def _leaders(
    question: Question,
    belief: Belief,
    closed: BoolArray | None,
    draws: Draws,
    lane: int,
    start: int,
    stop: int,
) -> IntArray:
    """Return the best alternatives in draws ``start`` to ``stop`` of all rewards, [draw, ..., context]."""
    shape = belief.mean.shape[-2:]
    size = shape[0] * shape[1]
    uniform = draws.uniform(lane + np.arange(start * size, stop * size))
    normals: Array = np.asarray(ndtri(np.maximum(uniform, _TINIEST)), float)
    normals = normals.reshape(stop - start, size, *belief.mean.shape[:-2])
    rewards = belief.draw(np.moveaxis(normals, 1, -1).reshape(stop - start, *belief.mean.shape))
    if closed is not None:
        rewards = np.where(closed, belief.mean, rewards)
    return question.right_choice(rewards)


def _closest(
    belief: Belief, leader: IntArray, open_: BoolArray, closed: BoolArray | None, draws: Draws, lane: int
) -> Decision:
    """Return the rival that is easiest to mistake for the leader of its context; ties at random."""
    rate = false_selection.zeta(belief, leader, closed)
    rate[(gaps(belief, leader) <= 0) & np.isfinite(rate)] = 0.0
    rivals = open_ | open_[of_each_context(leader)][..., None, :]
    rivals[of_each_context(leader)] = False
    lowest = np.min(rate, axis=(-2, -1), keepdims=True, where=rivals, initial=np.inf)
    return pick(rivals & (rate == lowest), draws, lane)


def _selected_in(context: IntArray, selected: IntArray) -> IntArray:
    """Return the alternative selected in the context, [...] from [..., context]."""
    alternative: IntArray = selected[(*leading(context.shape), context)]
    return alternative


def _in_proportion(share: Array, uniform: Array) -> IntArray:
    """Return a context with probability proportional to its share, [...]; any if all shares are 0."""
    cumulated = np.cumsum(share, axis=-1)
    total = cumulated[..., -1]
    threshold = np.minimum(uniform * total, np.nextafter(total, 0.0))
    context: IntArray = np.argmax(cumulated > threshold[..., None], axis=-1)
    return context
