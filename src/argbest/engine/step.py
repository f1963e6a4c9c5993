"""One step of a study, or of many side by side: learn, leave shared seeds, decide.

`Study` calls these functions for itself, with arrays [alternative, context]; an experiment calls them for all
its macro-replications at once, [run, alternative, context]. Each run then does what it would do alone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from argbest import streams
from argbest.core.abilities import offers
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.belief import Belief, Focused
from argbest.core.belief import take_in as taken_in
from argbest.core.common_noise import goes_against
from argbest.core.decision import Decision
from argbest.core.focused_outcomes import belief_about
from argbest.core.outcomes import sums_of
from argbest.core.question import HasLimits, Question
from argbest.core.questions.one_for_all import DecidesAs
from argbest.core.setting import Setting, among_the_rest
from argbest.core.tally import Tally
from argbest.models.base import ALONE, Model, SortsStudies, entries
from argbest.policies.base import (
    Begins,
    Policy,
    follows_the_foremost,
    of_studies,
    refuse_other_questions,
    screened,
)

Studies: TypeAlias = int | IntArray | None  # one by itself, some of those side by side, or all there are


class Group(NamedTuple):
    """Studies whose beliefs are held in the same arrays."""

    studies: Studies
    belief: Belief

    @property
    def alone(self) -> bool:
        """Whether it is one study by itself, whose arrays have no axis of studies."""
        return isinstance(self.studies, int)

    def among(self, values: Any) -> Any:
        """Return what belongs to these studies, of a tally or an array [...] of all."""
        return values if self.studies is None else values[self.studies]


class Learned(NamedTuple):
    """What one study, or each of many side by side, has learned."""

    params: tuple[Any, ...]  # of every sum that is learned: hyper-parameters of all studies
    groups: tuple[Group, ...]

    @classmethod
    def of_one(cls, params: tuple[Any, ...], belief: Belief) -> "Learned":
        """Return what a single study has learned."""
        return cls(params, (Group(None, belief),))

    @property
    def belief(self) -> Belief:
        """The belief of a single study, or of many whose beliefs are all held in the same arrays."""
        [(_, belief)] = self.groups
        return belief

    def choice(self, question: Question) -> IntArray:
        """Return what each study would choose now if it were asked; [..., context] of `Best`."""
        found: IntArray = self.of_all(lambda group: question.choice(group.belief))
        return found

    def belief_of(self, studies: Studies) -> Belief | None:
        """Return the belief of just these studies, as they are grouped; None where they are not."""
        for group in self.groups:
            if type(group.studies) is type(studies) and np.array_equal(group.studies, studies):  # type: ignore[arg-type]
                return group.belief
        return None

    def of_all(self, answer: Callable[[Group], AnyArray]) -> Any:
        """Return the answers about every group in one array, in the order of the studies, [...]."""
        if self.groups[0].studies is None:
            return answer(self.groups[0])
        found = [np.asarray(answer(group))[None] if group.alone else answer(group) for group in self.groups]
        places: list[Any] = [group.studies for group in self.groups]
        order = np.argsort(np.concatenate(list(map(np.atleast_1d, places))))
        return np.concatenate(found)[order]


def learn(
    model: Model[Any],
    setting: Setting,
    tallies: Sequence[Tally],
    known: Learned | None = None,
    *,
    before: Sequence[Any] | None = None,
) -> Learned:
    """Return what follows from the tallies: hyper-parameters fitted to each, and beliefs given both.

    There is a tally for every sum of responses that ``setting.basis`` names; each is learned by itself.
    ``known`` is what was known before, all data taken in: searches start from its hyper-parameters, or from
    those ``before`` where nothing else is known.
    """
    first: Iterable[Any] = (before or repeat(None)) if known is None else known.params
    params = tuple(model.fit(tally, setting, own) for tally, own in zip(tallies, first, strict=False))
    return condition(model, setting, tallies, params, known)


def condition(
    model: Model[Any],
    setting: Setting,
    tallies: Sequence[Tally],
    params: Sequence[Any],
    known: Learned | None = None,
) -> Learned:
    """Return the beliefs given hyper-parameters and data, each in the arrays it would have alone."""
    groups = []
    for studies in _sorted(model, setting, tallies, params):
        before = None if known is None else known.belief_of(studies)
        held = repeat(None) if before is None else sums_of(before)
        given = [_own(studies, *each) for each in zip(tallies, repeat(setting), params, strict=False)]
        sums = [model.posterior(*own, belief) for own, belief in zip(given, held, strict=False)]
        groups.append(Group(studies, belief_about(setting.basis, sums, [tally for tally, *_ in given])))
    return Learned(tuple(params), tuple(groups))


def _own(studies: Studies, tally: Tally, setting: Setting, params: Any) -> tuple[Tally, Setting, Any]:
    """Return what some studies are conditioned on."""
    if studies is None:
        return tally, setting, params
    return tally[studies], setting, entries(params, studies)


def _sorted(
    model: Model[Any], setting: Setting, tallies: Sequence[Tally], params: Sequence[Any]
) -> list[Studies]:
    """Return the studies in groups whose beliefs, about every sum, can be held in the same arrays."""
    if tallies[0].count.ndim == 2 or not offers(model, SortsStudies):
        return [None]
    kinds = np.stack(
        [model.kinds(tally, setting, own) for tally, own in zip(tallies, params, strict=True)], axis=-1
    )
    by_itself = np.any(kinds == ALONE, axis=-1)
    alone = np.flatnonzero(by_itself).tolist()
    together = [
        np.flatnonzero(~by_itself & np.all(kinds == kind, axis=-1))
        for kind in np.unique(kinds[~by_itself], axis=0)
    ]
    return [None] if not alone and len(together) == 1 else [*together, *alone]


def take_in(learned: Learned, decision: Decision, value: Array, number: IntArray) -> Learned:
    """Return what is known after one more replication of every study, [...] each.

    Where several sums are learned ``value`` is [..., sum]. ``number`` says which replication of its pair it
    is where seeds are shared, and is -1 elsewhere. The beliefs may be written to: nobody else may hold them.
    """

    def later(group: Group) -> Group:
        pair, mean, numbers = Decision(*map(group.among, decision)), group.among(value), group.among(number)
        return Group(group.studies, taken_in(group.belief, pair, mean, numbers, in_place=True))

    return Learned(learned.params, tuple(map(later, learned.groups)))


def leave_shared_seeds(learned: Learned, tally: Tally) -> BoolArray:
    """Return [...] whether a study goes on with seeds of each pair's own: shared ones do harm there.

    They do where they set alternatives against each other (`argbest.core.common_noise.goes_against`), which
    makes differences of the goal less certain: the ``tally`` is the goal's. A limit is kept or broken by each
    alternative alone, so that its slack gains and loses nothing by shared seeds.
    """
    if tally.common is None:
        return np.zeros(tally.shape[:-2], bool)
    return goes_against(tally, learned.of_all(lambda group: group.belief.noise))


def begin(policy: Policy, setting: Setting, tally: Tally) -> Policy:
    """Return the policy to go on with once the initial design is in: most go on as they are."""
    return policy.begin(setting, tally) if offers(policy, Begins) else policy


def decide(
    policy: Policy,
    learned: Learned,
    tally: Tally,
    pending: IntArray,
    setting: Setting,
    *,
    roots: Any,
    step: int,
    n: int = 1,
    ruled_out: BoolArray | None = None,
) -> Decision:
    """Return the policy's next n pairs of every study, [..., n].

    ``pending`` [..., alternative, context] counts trials under way; pairs ``ruled_out``, of that shape,
    cannot be selected. Random numbers are those of this ``step`` of the studies, by their ``roots`` [...].
    """

    def decided(group: Group) -> Decision:
        root = int(group.among(roots)) if group.alone else group.among(roots)
        draws = streams.StepDraws(root, streams.Purpose.POLICY, step)
        rule = policy if group.studies is None else of_studies(policy, group.studies, tally.shape)
        belief = among_the_rest(group.belief, None if ruled_out is None else group.among(ruled_out))
        return _proposed(rule, belief, group.among(tally), group.among(pending), setting, draws, n)

    if learned.groups[0].studies is None:  # one study, or many that are treated alike
        return decided(learned.groups[0])
    found = learned.of_all(lambda group: np.stack(decided(group), axis=-1))
    return Decision(found[..., 0], found[..., 1])


def shown_to_policies(setting: Setting) -> Setting:
    """Return the setting with the question that policies decide for; it may be another than what is asked."""
    if not offers(setting.question, DecidesAs):
        return setting
    return replace(setting, question=setting.question.decides_as)


def _proposed(
    policy: Policy,
    belief: Belief,
    tally: Tally,
    pending: IntArray,
    setting: Setting,
    draws: streams.StepDraws,
    n: int,
) -> Decision:
    """Return the policy's n pairs; of very many alternatives it may see only those that may be the best."""
    setting = shown_to_policies(setting)
    question = setting.question
    refuse_other_questions(policy, question)
    setting = screened(policy, belief, tally, setting)
    leaves_out = question.only_the_best_matter or offers(question, HasLimits)
    if not (offers(belief, Focused) and follows_the_foremost(policy) and leaves_out):
        return policy.propose(belief, tally, pending, setting, draws, n)
    if offers(question, HasLimits):
        setting = replace(setting, question=question.of_some(belief))
    front = belief.foremost
    seen = tally.statistics_alone[front], pending[front], setting.among(front)
    chosen = policy.propose(belief.inner, *seen, draws, n)
    return Decision(front[chosen.alternative], chosen.context)
