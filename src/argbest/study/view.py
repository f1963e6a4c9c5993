"""A study at one moment, as a value: what answers, reports, pictures and exports are made from."""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from argbest import streams
from argbest.checks import indifference_zone
from argbest.core import tally as tallies
from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief, SeveralOutcomes
from argbest.core.certificate import Certificate, Mixture, averaged
from argbest.core.goals import Goal, Sum, goal_of
from argbest.core.outcomes import SharedNoise, means_of, only_response, shared_noise, with_shared_noise
from argbest.core.question import HasLimits, Question
from argbest.core.questions.contexts import of_table
from argbest.core.questions.within_limits import seen_by
from argbest.core.replications import Replications
from argbest.core.setting import Setting, among_the_rest, not_lowered
from argbest.core.states import usual_delta
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.models.base import Integrated, Model, together
from argbest.policies.base import Policy
from argbest.problems.base import Problem
from argbest.problems.design import for_model
from argbest.storage.base import Addressed, Failed, Plain
from argbest.study import assumptions
from argbest.study.assumptions import Assumed
from argbest.study.journal import Journal
from argbest.study.learning import (
    Knowledge,
    LearningAnew,
    LearningOfOtherSums,
    Learns,
    integrated_by_seed,
)
from argbest.study.ledger import Ledger, status
from argbest.study.rewards import RewardKind, RewardsSoFar, is_rate
from argbest.study.separations import InOrder, Separations
from argbest.study.trial import Records, Trials

DRAWS = 4096
NUMBERS = 2**22  # no more random numbers than this, so large problems get fewer draws ...
_DRAWN_BY_EIGENVALUES = 256  # pairs: joint draws of so few take no time, whatever root is used
FEWEST = 64  # ... but not fewer than these; then no more numbers than that at a time

T = TypeVar("T")


class Inference:
    """The conclusions from the records of a study; each is computed when it is first asked for, and kept.

    To ask for trials changes none of them, so the views before and after share one object.
    """

    def __init__(
        self, problem: Problem, model: Model[Any], seed: int, setting: Setting, tallies: Sequence[Tally],
        ruled_out: BoolArray | None, learning: Learns,
    ) -> None:  # fmt: skip
        self._problem, self._model, self._seed = problem, model, seed
        self._setting, self.tallies, self._ruled_out = setting, tuple(tallies), ruled_out
        self._learning = learning
        self._certificates: dict[tuple[float, bool], Certificate] = {}
        self._answers: dict[Hashable, Any] = {}

    def holds(self, learning: Learns, setting: Setting) -> bool:
        """Return whether the same conclusions follow from these."""
        own, other = self._setting.excluded, setting.excluded
        same = own is other or (own is not None and other is not None and np.array_equal(own, other))
        return learning is self._learning and same  # what changes the table begins to learn anew

    def asking(self, problem: Problem, setting: Setting, tallies: Sequence[Tally]) -> "Inference":
        """Return the conclusions from the same records for another goal, or other limits.

        Sums of responses that were learned already are not learned again.
        """
        own, wanted = self._setting.basis.weights, setting.basis.weights
        places = tuple(own.index(each) if each in own else None for each in wanted)
        learning = LearningOfOtherSums(self._model, setting, tuple(tallies), self._learning, places)
        known = problem, self._model, self._seed, setting
        return Inference(*known, tallies, self._ruled_out, learning)

    @property
    def knowledge(self) -> Knowledge:
        """The belief of the model, and the refit that it rests on."""
        if not self._learning.n_records:
            raise InputError(
                "nothing is known yet: tell the value of at least one trial first. `study.run(budget)` or "
                "`argbest resume` simulates; `study.tell` or `argbest tell` takes values from elsewhere."
            )
        return self._learning.knowledge

    @cached_property
    def fitted(self) -> Belief:
        """The belief of the fitted hyper-parameters, larger being better, with what is ruled out far below.

        With limits it is one about the goal and all slacks, which knows what noise these share.
        """
        known = with_shared_noise(self.knowledge.belief, self.shared_noise)
        return among_the_rest(known, self._ruled_out)

    @cached_property
    def belief(self) -> Belief:
        """The belief that selects: the fitted one, with the means that all plausible ones have on average."""
        return averaged(self.fitted, self.mixture)

    @cached_property
    def shared_noise(self) -> SharedNoise | None:
        """What the noise of all sums that are learned has in common; None where there is one."""
        return shared_noise(self.tallies, self.knowledge.belief)

    @cached_property
    def choice(self) -> IntArray:
        """What is chosen for every context, [context]; with limits by joint draws, -1 where that is none."""
        return self.certificate(0.0, integrate=True).choice

    @property
    def fitted_choice(self) -> IntArray:
        """What the fitted hyper-parameters choose: nearly always the same, and much quicker to compute."""
        if offers(self._of_table, HasLimits):
            return self.choice
        return self._of_table.choice(self.fitted)

    @property
    def _of_table(self) -> Question:
        """The question that tables of contexts answer, whatever else is asked of the study."""
        return of_table(self._setting.question)

    @cached_property
    def integrated(self) -> Integrated | None:
        """The hyper-parameters of the goal that probabilities average over."""
        return None if self.integrated_sums is None else self.integrated_sums[0]

    @cached_property
    def integrated_sums(self) -> tuple[Integrated, ...] | None:
        """The hyper-parameters of all sums that are learned."""
        return integrated_by_seed(
            self._model, self.tallies, self._setting, self.knowledge.learned, self._seed, self._ruled_out
        )

    @cached_property
    def mixture(self) -> Mixture | None:
        """The beliefs of these hyper-parameters at the contexts of the study."""
        if self.integrated_sums is None:
            return None
        return together(self.integrated_sums, self.shared_noise, self._ruled_out)

    def certificate(self, delta: float, *, integrate: bool) -> Certificate:
        """Return how sure the selections are."""
        if (delta, integrate) not in self._certificates:
            self._certificates[delta, integrate] = Certificate(
                self.belief if integrate else self.fitted, self._problem.weights, self.normals, delta,
                self.answered, self.mixture if integrate else None,
                question=self._of_table, numbers=self._numbers,
                unit=self._problem.goal_unit,
                left_out=len(self._problem.contexts.retired),
            )  # fmt: skip
        return self._certificates[delta, integrate]

    @property
    def answered(self) -> BoolArray | None:
        """Which contexts have an alternative that can be chosen, [context]; None: all."""
        ruled_out = self._ruled_out
        return None if ruled_out is None or not ruled_out.all(axis=0).any() else np.any(~ruled_out, axis=0)

    def certificate_of(self, question: Question, delta: float) -> Certificate:
        """Return how sure the answer to a question is that was put to the contexts of this study."""
        answered = self.answered if len(question.parts(self._problem.weights)) > 1 else None
        asked, seen = seen_by(question, self.belief, self._ruled_out)
        made = Certificate(
            self.belief, self._problem.weights, self.normals, delta, answered, self.mixture,
            question=asked, numbers=self._numbers, seen=seen, unit=self._problem.goal_unit,
            left_out=0 if answered is None else len(self._problem.contexts.retired),
        )  # fmt: skip
        if self._numbers is None or question.only_the_best_matter:
            return made
        # Draws of large tables take long, and all questions share the same ones: no more than `NUMBERS`.
        return replace(
            made, tables=lambda: self.once("tables", lambda: made.of_outcomes(lambda draws: draws))
        )

    @property
    def _numbers(self) -> Callable[[], np.random.Generator] | None:
        """What makes draws of whole tables, where these are large; None where they are not."""
        if self.tallies[0].count.size <= _DRAWN_BY_EIGENVALUES:
            return None
        return lambda: streams.generator(self._seed, streams.Purpose.CERTIFICATE)

    def normals(self, multiple: int) -> Iterator[Array]:
        """Yield the draws behind every certificate's joint probability, always the same, some at a time.

        Of a million pairs all of them would take 512 MB, and draws made from them several times that.
        """
        belief, shape = self.fitted, self._problem.shape
        table = (belief.layers, *shape) if offers(belief, SeveralOutcomes) else shape
        size = math.prod(table)
        draws = max(FEWEST, min(DRAWS, NUMBERS // size))
        some = multiple * max(1, NUMBERS // size // multiple)
        generator = streams.generator(self._seed, streams.Purpose.CERTIFICATE)
        for start in range(0, draws, some):
            yield generator.standard_normal((min(some, draws - start), *table))

    def once(self, name: Hashable, work: Callable[[], T]) -> T:
        """Return what ``work`` returns; it is called the first time that this name is asked for."""
        if name not in self._answers:
            self._answers[name] = work()
        answer: T = self._answers[name]
        return answer


@dataclass(frozen=True, eq=False)
class View:
    """A study at one moment (`Study.view`): later trials and values change nothing of it.

    Tables are [alternative, context], and rewards count so that larger is better: with the goal "min" the
    tally and the belief have the opposite sign of the user's values. What takes long (the knowledge, the
    beliefs and the certificates) is computed when it is first asked for, and kept.
    """

    definition: Plain  # what was fixed before the first trial
    stored_in: tuple[str, str] | None  # what the user calls the storage, and the study there; None in memory
    problem: Problem  # what is simulated
    policy: Policy  # what decides
    model: Model[Any]  # what learns
    setting: Setting  # the problem's, and which pairs were set aside
    tallies: tuple[Tally, ...]  # of all sums of responses that are learned about, the goal's first
    rewards_of: tuple[RewardsSoFar, ...]  # what the values of every response are
    set_aside: BoolArray  # pairs that failed too often to be asked for again
    ruled_out: BoolArray | None  # those of them without a value, and retired ones; None: there are none
    pending: IntArray  # trials under way
    held: Mapping[int, str]  # these trials, and who has them
    given_back: tuple[int, ...]  # trials to be asked for again
    n_trials: int  # trials asked for
    n_records: int  # trials whose value was told
    n_failed: int  # trials that gave none
    n_replications: int  # replications told
    spent: float  # seconds of simulation time, those of failures included
    design: tuple[tuple[int, int], ...] | None  # the initial design; None until it is fixed
    design_reason: str  # why this one, where argbest chose it
    parted: int | None  # first replication with seeds of its own, where alternatives shared them before
    n_shared: int  # trials asked for until then
    replications: Replications  # all values told, in the order of telling
    in_order: InOrder  # which of them count for a guarantee, in the order of their numbers
    separations: Separations  # how far these put one alternative ahead of another
    inference: Inference = field(repr=False)  # the conclusions
    _queued: int | None  # pairs of the initial design not yet asked for; None where it is still open
    _ledger: Ledger = field(repr=False)  # of the living study; it only ever grows
    _revision: int  # the number of events that it had applied

    @classmethod
    def of(cls, journal: Journal, definition: Plain, before: "View | None" = None) -> "View":
        """Return the study of a journal as it is now, with the conclusions of ``before`` that still hold."""
        ledger, setting, learning = journal.ledger, journal.open_setting(), journal.learning()
        tallies, out = ledger.tallies, ledger.ruled_out
        inference = None if before is None else before.inference
        if inference is None or not inference.holds(learning, setting):
            known = journal.problem, journal.model, journal.seeds.root, setting
            inference = Inference(*known, tallies, out, learning)
        in_order = ledger.in_order.as_of_now()
        storage = journal.storage
        return cls(
            definition=definition,
            stored_in=(storage.called, storage.name) if offers(storage, Addressed) else None,
            problem=journal.problem,
            policy=journal.policy,
            model=journal.model,
            setting=setting,
            tallies=tallies,
            rewards_of=tuple(ledger.rewards_of),
            set_aside=ledger.set_aside,
            ruled_out=out,
            pending=ledger.pending.copy(),
            held=dict(ledger.held),
            given_back=tuple(ledger.given_back),
            n_trials=len(ledger.trials),
            n_records=len(ledger.records),
            n_failed=len(ledger.failed),
            n_replications=ledger.n_replications,
            spent=ledger.spent,
            design=None if ledger.design is None else tuple(ledger.design),
            design_reason=ledger.design_reason,
            parted=ledger.parted,
            n_shared=ledger.n_shared,
            replications=ledger.goal.replications,
            in_order=in_order,
            separations=ledger.separations.of(in_order),
            inference=inference,
            _queued=None if ledger.design is None else len(ledger.queue),
            _ledger=ledger,
            _revision=journal.revision,
        )

    def shows(self, journal: Journal) -> bool:
        """Return whether nothing has happened in the study since."""
        return journal.ledger is self._ledger and journal.revision == self._revision

    @property
    def tally(self) -> Tally:
        """The tally of the goal."""
        return self.tallies[0]

    @property
    def rewards(self) -> RewardsSoFar:
        """What the values of the goal are: True and False, 0 and 1, numbers; a sum is just a number."""
        response = only_response(self.setting.basis.weights[0])
        if response is None:
            return RewardsSoFar(RewardKind.NUMBERS, self.n_replications)
        return self.rewards_of[response]

    @property
    def rate(self) -> bool:
        """Whether the goal is a rate: declared so, or every value told was True or False."""
        response = only_response(self.setting.basis.weights[0])
        return response is not None and self.is_rate(response)

    def is_rate(self, response: int) -> bool:
        """Return whether all values of a response, by its place, are 0 or 1, as `rate`.

        Args:
            response: The place of the response, from 0.
        """
        return is_rate(self.problem, response, self.rewards_of[response])

    @cached_property
    def sums(self) -> "tuple[View, ...]":
        """The study as if one of the sums of responses that are learned were its goal, without limits."""
        if not self.problem.limits:
            return (self,)
        names = self.problem.responses
        return tuple(self.asking(goal=goal_of(own, names), limits=()) for own in self.setting.basis.weights)

    @cached_property
    def responses(self) -> "tuple[View, ...]":
        """The study as if one response were its goal, without limits, of each; none of a single number.

        A response that neither the goal nor a limit is by itself is learned about when somebody asks.
        """
        return tuple(map(self._of_response, range(len(self.problem.responses))))

    def _of_response(self, response: int) -> "View":
        """Return the study as if this response were its goal; one that is learned already is not again."""
        own = tuple(float(i == response) for i in range(len(self.problem.responses)))
        opposite = tuple(-factor for factor in own)
        for weights, of_sum in zip(self.setting.basis.weights, self.sums, strict=False):
            if weights in (own, opposite):
                return of_sum
        goal = Goal("max", Sum(((self.problem.responses[response], 1.0),)))
        return self.asking(goal=goal, limits=())

    def asking(self, *, goal: object = None, limits: object = None, price: object = None) -> "View":
        """Return the same records with another goal, other limits or another price; None: as before.

        Nothing is simulated. Only sums of responses that were not learned before are learned now; another
        bound or price needs nothing new.

        Args:
            goal (text): What is to be large or small.
            limits (text or list of texts): What a choice must keep; an empty list stands for none.
            price (number): What it costs to break a limit.
        """
        problem = self.problem.asking(goal=goal, limits=limits, price=price)
        key = problem.goal, problem.limits, problem.price
        if key == (self.problem.goal, self.problem.limits, self.problem.price):
            return self
        return self.inference.once(("asking", *key), lambda: self._asking(problem))

    def _asking(self, problem: Problem) -> "View":
        """Return the same records for a problem that differs in its goal, limits or price."""
        asked, own = problem.setting, self.setting.basis.weights
        setting = replace(self.setting, question=asked.question, basis=asked.basis)
        tallies = tuple(
            self.tallies[own.index(each)] if each in own else self._tally_of(each, self.n_records)
            for each in asked.basis.weights
        )
        shown = tallies[0].replications
        in_order = self.in_order.asking(tuple(problem.sign * each for each in asked.basis.weights[0]))
        return replace(
            self,
            problem=problem,
            setting=setting,
            tallies=tallies,
            replications=self.replications if shown is None else shown,
            in_order=in_order,
            separations=Separations(problem, in_order, self.separations.generations),
            inference=self.inference.asking(problem, setting, tallies),
        )

    @property
    def seed(self) -> int:
        """The root of all random numbers of the study."""
        seed: int = self.definition["seed"]
        return seed

    @property
    def refit_every(self) -> int | str:
        """How often hyper-parameters are refitted."""
        every: int | str = self.definition["refit_every"]
        return every

    @property
    def common_random_numbers(self) -> bool:
        """Whether alternatives were meant to share random numbers; see also `parted`."""
        common: bool = self.definition["common_random_numbers"]
        return common

    @property
    def plan(self) -> Mapping[str, Any]:
        """The options of `Study.run` that were stored with the study, as plain values."""
        stored: Mapping[str, Any] = self.definition["plan"]
        return stored

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """The interval that holds every single reward: (0, 1) of a rate, else that of the problem."""
        return (0.0, 1.0) if self.rate else self.problem.goal_range

    def assumed(self, assume: str | None = None) -> Assumed:
        """Return what a guarantee takes as given of the goal and of every limit, by name or as declared.

        Args:
            assume: As in `Study.guarantee`.
        """
        if not self.problem.limits:
            return Assumed(assumptions.of_rewards(self.reward_range, assume))
        goal = assumptions.of_rewards(self.reward_range, assume, self.problem.subject)
        slacks, sentences = [], [goal.of(self.problem.subject)]
        for limit in self.problem.limits:
            subject, ends = str(limit.sum), self._range_of(limit.sum)
            silent = self.problem.is_silent(limit.sum.names)
            own = assumptions.of_rewards(ends, assumptions.DETERMINISTIC if silent else assume, subject)
            sentences.append(own.of(subject))
            if own.reward_range is not None:
                slack = limit.slack(self.problem.responses)
                side = 1.0 if limit.sense == ">=" else -1.0
                low, high = sorted(side * end + slack.constant for end in own.reward_range)
                own = replace(own, reward_range=(low, high))
            slacks.append(own)
        return Assumed(goal, tuple(slacks), " and ".join(dict.fromkeys(sentences)))

    def _range_of(self, total: Sum) -> tuple[float, float] | None:
        """Return the interval that holds a sum of responses in every replication; None if none is known."""
        low = high = 0.0
        for name, factor in total.terms:
            place = self.problem.responses.index(name)
            ends = (0.0, 1.0) if self.is_rate(place) else self.problem.range_of(place)
            if ends is None:
                return None
            first, last = sorted(factor * end for end in ends)
            low, high = low + first, high + last
        return low, high

    @property
    def initial_design(self) -> str:
        """What the study simulates before its policy decides, and why, in words; "" until that is fixed."""
        given = "" if self.design is None else f"{len(self.design):,} replications, as given"
        return self.design_reason or given

    @cached_property
    def n_queued(self) -> int:
        """Pairs of the initial design not yet asked for; where it is still open, as `ask` would fix it."""
        if self._queued is not None:
            return self._queued
        return for_model(self.model, self.problem, self.plan.get("budget")).size(self.problem)

    @cached_property
    def failed(self) -> Mapping[int, Failed]:
        """The trials that failed, in the order in which they did, and why."""
        return dict(islice(self._ledger.failed.items(), self.n_failed))

    @cached_property
    def reasons(self) -> dict[int, str]:
        """Why trials failed."""
        return {trial: event.reason for trial, event in self.failed.items()}

    @property
    def counts(self) -> dict[str, int]:
        """How many trials were told, are pending, were given back, or failed."""
        found = self.n_records, len(self.held), len(self.given_back), self.n_failed
        return dict(zip(("told", "pending", "given_back", "failed"), found, strict=True))

    @cached_property
    def trials(self) -> Trials:
        """All trials asked for, by their ids."""
        return self._ledger.trials.first(self.n_trials, self.n_records, self.failed)

    @cached_property
    def records(self) -> Records:
        """All that was told, in the order of telling."""
        return self._ledger.records.first(self.n_records)

    def status(self, trial: int) -> str:
        """Return whether a trial is told, pending, given back (to be asked for again), or failed.

        Args:
            trial: The id of the trial.
        """
        return status(trial, self.trials, self.held)

    def replicates(self) -> dict[tuple[int, int], list[float]]:
        """Return the single values told of each pair, in their order; summaries hold none."""
        values: dict[tuple[int, int], list[float]] = {}
        for k, c, number, value in zip(*(part.tolist() for part in self.replications.parts), strict=True):
            own = values.setdefault((k, c), [])
            if number >= 0:
                own.append(self.problem.sign * value)
        return values

    def inference_after(self, n_records: int, before: tuple[Any, ...] | None = None) -> Inference:
        """Return the conclusions as they were when the values of so many trials had been told.

        The model is fitted anew, from the hyper-parameters ``before``; pairs ruled out today are out.

        Args:
            n_records: How many trials had been told.
            before: The hyper-parameters to start from.
        """
        tallies = self.tallies_after(n_records)
        learning = LearningAnew(self.model, self.setting, tallies, n_records, before)
        known = self.problem, self.model, self.seed, self.setting
        return Inference(*known, tallies, self.ruled_out, learning)

    def tallies_after(self, n_records: int) -> tuple[Tally, ...]:
        """Return the tallies of all sums when the values of so many trials had been told.

        Args:
            n_records: How many trials had been told.
        """
        return tuple(self._tally_of(own, n_records) for own in self.setting.basis.weights)

    def _tally_of(self, weights: tuple[float, ...], n_records: int) -> Tally:
        """Return the tally of a weighted sum of responses when so many trials had been told."""
        records, own = self.records, np.array(weights)
        trial, n = (records.columns.numbers(name)[:n_records] for name in ("trial", "n"))
        where = tuple(self.trials.columns.numbers(name)[trial] for name in ("alternative", "context"))
        mean, m2 = own @ records.means()[:, :n_records], records.squares_of(weights)[:n_records]
        made = tallies.from_observations(where, mean, self.problem.shape, n=n, m2=m2)
        rows = records.rows_until(n_records)
        value = own @ self._ledger.store.values[:, :rows]
        shown = replace(self.replications[:rows], value=value)
        return replace(made, replications=shown, earlier=self.problem.earlier(weights))

    @property
    def knowledge(self) -> Knowledge:
        """What the model has learned; an InputError as long as no value was told."""
        return self.inference.knowledge

    @property
    def belief(self) -> Belief:
        """The belief that selects, with what is ruled out far below."""
        return self.inference.belief

    @property
    def believed(self) -> Belief:
        """The belief that selects, with what the model says of pairs that are ruled out."""
        return not_lowered(self.belief, self.knowledge.belief, self.ruled_out)

    @property
    def question(self) -> Question:
        """What is to be chosen; tables of contexts show the best of each, whatever it is."""
        return self.setting.question

    @property
    def choice(self) -> IntArray:
        """What is chosen: of `Best` the largest posterior mean of every context, [context]."""
        return self.inference.choice

    @property
    def fitted_choice(self) -> IntArray:
        """What the fitted hyper-parameters choose, [context]: nearly always the same as ``choice``."""
        return self.inference.fitted_choice

    def certificate(self, delta: float = 0.0, *, integrate: bool = True) -> Certificate:
        """Return how sure the selections are; see `Study.certificate`.

        Args:
            delta: How far from the best a selection may be and still count as right.
            integrate: Whether to average over what the data leave possible.
        """
        return self.inference.certificate(delta, integrate=integrate)

    @property
    def asks_about_table(self) -> bool:
        """Whether the study asks for the best of every context, which tables of contexts show."""
        return of_table(self.question) is self.question

    def answer_certificate(self, delta: float = 0.0) -> Certificate:
        """Return how sure the answer to the study's own question is: of `Best` the `certificate`.

        Args:
            delta: How far from the right answer counts as right.
        """
        if self.asks_about_table:
            return self.certificate(delta)
        return self.inference.once(
            ("answer certificate", delta),
            lambda: self.inference.certificate_of(
                self.problem.limiting(self.problem.put(self.problem.question, self.inference.answered)), delta
            ),
        )

    def indifference(self, delta: float | None = None) -> float:
        """Return the difference that does not matter: as given, or see `Study.indifference`.

        Args:
            delta: A difference of your own, which is then returned as it is.
        """
        if delta is not None:
            return indifference_zone(delta)
        belief = self.knowledge.belief
        return usual_delta(means_of(belief), self.ruled_out, of_table(self.question))
