"""The policy protocol, and what all policies share: choosing among ties and deciding in batches."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief, anticipate, expecting, independent_cells
from argbest.core.decision import Decision, cell, of_each_context
from argbest.core.noise import MANY_PAIRS, clearly_beaten
from argbest.core.question import BEST, HasLimits, Question
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError


class Draws(Protocol):
    """Random numbers of one step: the same lane always gives the same number."""

    def uniform(self, lane: int | IntArray = 0) -> Array:
        """Return one uniform number in [0, 1) per leading index, [...]; for an array of lanes [lane, ...].

        Args:
            lane: Which number, or which ones.
        """


class Policy(Protocol):
    """A frozen description of a rule that says which pairs to simulate next.

    What a policy may offer besides: `ABILITIES`.
    """

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        """Return n decisions [..., n], all among ``setting.candidates``.

        Args:
            belief: What is known of all mean rewards; it does not know of the trials under way.
            tally: The data: counts, means and squared deviations of every pair.
            pending: The trials under way, counted by pair, [..., alternative, context].
            setting: What is known of the problem.
            draws: The random numbers of this step.
            n: How many decisions.
        """


class Begins(Policy, Protocol):
    """A policy that fixes something once the initial design is in, as two-stage procedures do.

    What it fixes for many studies at once are fields [..., alternative, context], the shape of the tally.
    """

    def begin(self, setting: Setting, tally: Tally) -> Policy:
        """Return the policy to go on with.

        Args:
            setting: What is known of the problem.
            tally: The data of the initial design.
        """


class Finishes(Policy, Protocol):
    """A policy that knows when it has all it wants; a run then ends."""

    def finished(self, tally: Tally) -> bool:
        """Return whether no further replication is wanted.

        Args:
            tally: The data so far.
        """


class WeighsCost(Policy, Protocol):
    """A policy that takes ``setting.cost`` into account; others take all replications for alike."""

    weighs_cost: bool


class FollowsTheForemost(Policy, Protocol):
    """A policy that, of very many alternatives, is shown those that may be the best.

    They are numbered among themselves, in tables, belief and setting alike.
    """

    follows_the_foremost: bool


class NeedsAll(Policy, Protocol):
    """A policy that needs all pairs of a large table, also those that are `clearly_beaten`: for a guarantee.

    Other policies are shown such pairs as if they were set aside.
    """

    needs_all: bool


class TakesQuestions(Policy, Protocol):
    """A policy that decides for whatever ``setting.question`` asks for.

    Others are offered the usual one only, the best alternative of every context.
    """

    takes_questions: bool


class TakesLimits(Policy, Protocol):
    """A policy that decides for the best alternative within limits, too: beliefs are `SeveralOutcomes`."""

    takes_limits: bool


class HasUsualModel(Policy, Protocol):
    """A policy that is used with a model of its own choice unless another is named."""

    usual_model: str  # its name in the registry


ABILITIES = (
    Begins,
    Finishes,
    WeighsCost,
    FollowsTheForemost,
    NeedsAll,
    TakesQuestions,
    TakesLimits,
    HasUsualModel,
)


def finished(policy: Policy, tally: Tally) -> bool:
    """Return whether the policy has all that it wants to simulate."""
    return offers(policy, Finishes) and bool(policy.finished(tally))


def weighs_cost(policy: Policy) -> bool:
    """Return whether the policy prefers, other things equal, replications that cost less."""
    return offers(policy, WeighsCost) and bool(policy.weighs_cost)


def follows_the_foremost(policy: Policy) -> bool:
    """Return whether the policy is shown only the foremost of very many alternatives."""
    return offers(policy, FollowsTheForemost) and bool(policy.follows_the_foremost)


def needs_all(policy: Policy) -> bool:
    """Return whether the policy needs pairs that are `clearly_beaten`, too."""
    return offers(policy, NeedsAll) and bool(policy.needs_all)


def takes_question(policy: Policy, question: Question) -> bool:
    """Return whether the policy can decide for this question: all can for the usual one."""
    if offers(question, HasLimits):
        return offers(policy, TakesLimits) and bool(policy.takes_limits)
    return question == BEST or (offers(policy, TakesQuestions) and bool(policy.takes_questions))


def refuse_other_questions(policy: Policy, question: Question) -> None:
    """Refuse a question that the policy does not know how to decide for."""
    if takes_question(policy, question):
        return
    if offers(question, HasLimits):
        raise InputError(
            f"the policy {type(policy).__name__} knows of no limits. Use dvr-loss, which keeps them in mind, "
            "or equal."
        )
    raise InputError(
        f"the policy {type(policy).__name__} decides only for the question {BEST.name!r}, not for "
        f"{question.name!r}. Use dvr-loss, which takes other questions."
    )


def of_studies(policy: Policy, studies: Any, shape: tuple[int, ...]) -> Policy:
    """Return the policy of some of the studies that it was begun with, of a tally of this shape."""
    held = vars(policy).items()
    fixed = {
        name: kept[studies] for name, kept in held if isinstance(kept, np.ndarray) and kept.shape == shape
    }
    return replace(policy, **fixed) if fixed else policy  # type: ignore[type-var]


def screened(policy: Policy, belief: Belief, tally: Tally, setting: Setting) -> Setting:
    """Return the setting in which `clearly_beaten` pairs of a large table are set aside, if not selected.

    Only where no pair tells of another: with independent beliefs, or of names in a single context. Elsewhere
    a pair may be beaten by its own replications, and yet worth another one for what that tells of others.
    """
    question = setting.question
    if (
        tally.shape[-2] * tally.shape[-1] < MANY_PAIRS
        or needs_all(policy)
        or not question.only_the_best_matter
    ):
        return setting
    if not independent_cells(belief) and (setting.alternatives is not None or tally.shape[-1] > 1):
        return setting
    beaten = clearly_beaten(tally, setting.excluded)
    beaten[of_each_context(question.choice(belief))] = False
    if not beaten.any():
        return setting
    return replace(setting, excluded=beaten if setting.excluded is None else beaten | setting.excluded)


@dataclass(frozen=True)
class Moment:
    """What one decision is taken from; arrays [..., alternative, context]."""

    belief: Belief  # what is known of all mean rewards, as if trials under way had come out as expected
    count: IntArray  # replications, with those under way and those of earlier decisions of the batch
    setting: Setting  # what is known of the problem
    draws: Draws  # the random numbers of this step
    lane: int  # the place in the batch

    @property
    def candidates(self) -> BoolArray:
        """Which pairs may be simulated now."""
        return self.setting.candidates(self.count.shape)

    @property
    def choice(self) -> IntArray:
        """What the belief would choose now, as ``setting.question`` asks; [..., context] of `Best`."""
        return self.setting.question.choice(self.belief)

    def pick(self, marked: BoolArray) -> Decision:
        """Return one of the marked pairs, at random.

        Args:
            marked: The pairs to pick from, [..., alternative, context].
        """
        return pick(marked, self.draws, self.lane)


class OneByOne:
    """A policy whose batches consist of single decisions: define `decide`, and `propose` follows."""

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        """Return n decisions, each as if trials under way and those before it had come out as expected."""
        seen, under_way = self._seen(belief, tally, pending, setting)

        def decide(belief: Belief, count: IntArray, lane: int) -> Decision:
            return self.decide(Moment(belief, count, setting, draws, lane))

        return in_sequence(decide, seen, tally.count, under_way, n)

    def _seen(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting
    ) -> tuple[Belief, IntArray]:
        """Return the belief that decisions rest on, and the trials under way that count in it."""
        return belief, pending

    def decide(self, now: Moment) -> Decision:
        """Return one decision [...].

        Args:
            now: What the decision is taken from.
        """
        raise NotImplementedError


Decide = Callable[[Belief, IntArray, int], Decision]


def in_sequence(decide: Decide, belief: Belief, count: IntArray, pending: IntArray, n: int) -> Decision:
    """Return n decisions, each taken as if all pending trials and earlier decisions had come out as expected.

    ``decide`` maps (belief, counts including those, position in the batch) to one decision.
    """
    belief, count = with_pending(belief, count, pending)
    decisions = []
    for i in range(n):
        decision = decide(belief, count, i)
        decisions.append(decision)
        if i + 1 < n:
            belief = anticipate(belief, decision)
            count = count.copy()
            count[cell(decision, count.shape)] += 1
    return stacked(decisions)


def with_pending(belief: Belief, count: IntArray, pending: IntArray) -> tuple[Belief, IntArray]:
    """Return belief and counts as if the pending trials had come out as expected."""
    if not np.count_nonzero(pending):  # quicker than `any`
        return belief, count
    return expecting(belief, pending), count + pending


def stacked(decisions: list[Decision]) -> Decision:
    """Return a batch [..., n] from its decisions in order, each [...]."""
    if len(decisions) == 1:  # by far the most common
        alternative, context = decisions[0]
        return Decision(np.asarray(alternative)[..., None], np.asarray(context)[..., None])
    return Decision(
        np.stack([d.alternative for d in decisions], axis=-1),
        np.stack([d.context for d in decisions], axis=-1),
    )


def pick(candidates: BoolArray, draws: Draws, lane: int) -> Decision:
    """Return one of the marked cells [..., alternative, context], uniformly at random."""
    n_contexts = candidates.shape[-1]
    flat = candidates.reshape(*candidates.shape[:-2], -1)
    index = flat.argmax(axis=-1)
    # The draw is a function of the step and lane, so leaving it out where nothing ties changes no other.
    if np.count_nonzero(flat) > index.size:
        number = flat.sum(axis=-1)
        rank = np.minimum((draws.uniform(lane) * number).astype(np.int64), number - 1)
        index = np.argmax(np.cumsum(flat, axis=-1) > rank[..., None], axis=-1)
    return Decision(index // n_contexts, index % n_contexts)


def evenly(marked: BoolArray, count: IntArray, draws: Draws, n: int) -> Decision:
    """Return n decisions [..., n], each a marked pair with the fewest replications so far; ties at random."""
    count, decisions = count.copy(), []
    for lane in range(n):
        decisions.append(pick(fewest(count, marked), draws, lane))
        count[cell(decisions[-1], count.shape)] += 1
    return stacked(decisions)


def fewest(count: IntArray, candidates: BoolArray) -> BoolArray:
    """Return which candidates have the fewest replications, [..., alternative, context]."""
    most = np.iinfo(np.int64).max
    least = np.min(count, axis=(-2, -1), keepdims=True, where=candidates, initial=most)
    marked: BoolArray = candidates & (count == least)
    return marked


def largest(score: Array, candidates: BoolArray) -> BoolArray:
    """Return which candidates have the largest score, [..., alternative, context].

    Args:
        score: What is to be large, [..., alternative, context].
        candidates: The pairs that may be chosen, [..., alternative, context].
    """
    top = np.max(score, axis=(-2, -1), keepdims=True, where=candidates, initial=-np.inf)
    marked: BoolArray = candidates & (score == top)
    return marked
