"""The ledger: what the events of a study add up to. Only `Study` keeps one, and only events change it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from argbest import streams
from argbest.core import tally as tallies
from argbest.core.arrays import AnyArray, Array, BoolArray
from argbest.core.replications import Replications, ReplicationStore, WeighedColumn
from argbest.core.tally import Tally
from argbest.errors import StorageError
from argbest.problems.base import Problem
from argbest.storage.base import (
    Asked,
    Designed,
    Enqueued,
    Event,
    Failed,
    Named,
    Parted,
    Passed,
    Plain,
    Readmitted,
    Revised,
    Told,
)
from argbest.storage.pages import Past
from argbest.study.growth import Generations, retired_pairs, revised
from argbest.study.rewards import RewardKind, RewardsSoFar, is_rate
from argbest.study.separations import InOrder, Separations
from argbest.study.trial import ELSEWHERE, OPEN, Records, Trials
from argbest.study.trial import FAILED as FAILED_END

PENDING, GIVEN_BACK, TOLD, FAILED = "pending", "given back", "told", "failed"
SET_ASIDE_AFTER = 6  # failures in a row; by chance 1 in 15,000 cases of a pair that fails once in five
_TABLES = ("replications", "pending", "failures", "failed_in_all", "timed", "seconds")
_TALLY = ("count", "mean", "m2")
_PAIRS = ("queue", "_dropped")
_LATER_PAIRS = ("enqueued", "_shelved")  # states without any do not have them
_NO_PAIRS = np.zeros((0, 2), np.int64)


def status(trial: int, trials: Trials, held: Collection[int]) -> str:
    """Return whether a trial is told, pending, given back (to be asked for again), or failed."""
    end = trials.columns["end"][trial]
    if end != OPEN:
        return FAILED if end == FAILED_END else TOLD
    return PENDING if trial in held else GIVEN_BACK


def _m2_of_sum(weights: tuple[float, ...], m2: Sequence[float]) -> float:
    """Return the squared deviations of a sum of responses of which only summaries were told.

    How the responses of a replication are correlated is not known then: they are taken for independent.
    """
    return float(sum(factor * factor * each for factor, each in zip(weights, m2, strict=True)))


def enlarged(table: AnyArray, shape: tuple[int, int]) -> AnyArray:
    """Return a table [alternative, context] with zeros for rows and columns that are new at its ends."""
    larger = np.zeros(shape, table.dtype)
    larger[: table.shape[0], : table.shape[1]] = table
    return larger


class OutcomeTally:
    """The tally of one outcome: a weighted sum of the responses, larger being better.

    Its tables change with every value told, and its replications are those of the store.
    """

    def __init__(self, store: ReplicationStore, problem: Problem, weights: tuple[float, ...]) -> None:
        self._store, self._values, self._weights = store, WeighedColumn(store, weights), weights
        self._tables, self._earlier = tallies.empty(problem.shape).statistics_alone, problem.earlier(weights)
        self._live: Tally | None = None  # the tally as it is now; None: to be made, as values have come
        self._handed_out = False  # whether somebody may keep the tables, and relies on them not to change

    @property
    def live(self) -> Tally:
        """The tally, to be used before the next value comes, which may change its tables."""
        if self._live is None:
            self._live = replace(self._tables, replications=self.replications, earlier=self._earlier)
        return self._live

    @property
    def replications(self) -> Replications:
        """All values told so far, whatever comes later."""
        return self._store.so_far(self._values.values)

    @property
    def tally(self) -> Tally:
        """The tally as it is now, whatever comes later."""
        self._handed_out = True
        return self.live

    def put(self, pair: tuple[int, int], mean: float, *, n: int, m2: float) -> None:
        """Add n more replications of a pair to the tables; the store has them already."""
        if self._handed_out:
            self._tables, self._handed_out = self._tables.copy(), False
        tallies.put(self._tables, pair, mean, n=n, m2=m2)
        self._live = None

    def enlarge(self, problem: Problem) -> None:
        """Make room for further alternatives and contexts, of which nothing was told."""
        self._earlier, shape = problem.earlier(self._weights), problem.shape
        tables = (enlarged(part, shape) for part in (self._tables.count, self._tables.mean, self._tables.m2))
        self._tables, self._live, self._handed_out = Tally(*tables), None, False

    def restore(self, count: AnyArray, mean: AnyArray, m2: AnyArray) -> None:
        """Take over tables that were stored."""
        self._tables = Tally(count.astype(np.int64), mean.astype(float), m2.astype(float))
        self._live, self._handed_out = None, False


class Ledger:
    """Trials and what became of them, all values told, and what is left of the initial design."""

    def __init__(
        self,
        problem: Problem,
        design: Sequence[tuple[int, int]] | None,
        *,
        study: str,
        common: bool = False,
        numbers: Sequence[int] | None = None,
    ) -> None:
        self.problem = problem
        self.study = study
        self.design = design  # None until it is fixed
        self.design_reason = ""  # why this one, where argbest chose it
        self.queue = list(design or ())  # what is left of it
        self.numbers = numbers  # its replications, where these were made elsewhere
        self.first_free = 0 if numbers is None else 1 + max(numbers)  # later ones share nothing with those
        self._dropped: list[tuple[int, int]] = []  # of the queue, when a pair was set aside
        self._shelved: list[tuple[int, int]] = []  # of the queue, when its row was retired
        self.shares: Array = problem.weights  # how much every context counts beside the others
        self.cost: Array | None = None  # of every pair, where the table has changed since the beginning
        self.generations = Generations(problem.shape)  # when rows came
        self.enqueued: list[tuple[int, int]] = []  # the user's own choices that were not asked for yet
        self.trials = Trials(problem, study)
        self.held: dict[int, str] = {}  # trials under way, and the worker that has each
        self.failed: dict[int, Failed] = {}
        self.given_back: list[int] = []  # trials to be asked for again
        self.store = ReplicationStore(common=common)  # every value told, once
        self.records = Records(self.trials, self.store)
        self.sums: tuple[OutcomeTally, ...] = ()  # of responses that are learned about, the goal's first
        self.n_replications = 0  # replications told so far
        self.rewards_of: list[RewardsSoFar] = []  # of every response: which kind of values came so far
        self.in_order = InOrder(problem.shape, self.store)
        self._make_room_for_responses()
        self.parted: int | None = None  # first number with seeds of its own, where they were shared before
        self.n_shared = 0  # trials asked until then
        self.replications = np.zeros(problem.shape, np.int64)  # the number that the next trial will have
        self.pending = np.zeros(problem.shape, np.int64)
        self.failures = np.zeros(problem.shape, np.int64)  # in a row
        self.failed_in_all = np.zeros(problem.shape, np.int64)
        self.timed = np.zeros(problem.shape, np.int64)  # replications whose run time is known
        self.seconds = np.zeros(problem.shape)  # their run time in all
        self.spent = 0.0  # run time of everything, failures included

    def _make_room_for_responses(self) -> None:
        """Begin the tallies of the problem's responses, before any value is told."""
        basis, n = self.problem.setting.basis, len(self.problem.responses) or 1
        self.store.respond(len(basis.weights[0]))
        self.sums = tuple(OutcomeTally(self.store, self.problem, weights) for weights in basis.weights)
        self.in_order.goal = WeighedColumn(
            self.store, tuple(self.problem.sign * factor for factor in basis.weights[0])
        )
        self.separations = Separations(self.problem, self.in_order, self.generations)
        self.rewards_of = [RewardsSoFar()] * n

    @property
    def goal(self) -> OutcomeTally:
        """The tally of the goal, larger being better."""
        return self.sums[0]

    @property
    def live(self) -> Tally:
        """The tally of the goal, to be used before the next value comes, which may change its tables."""
        return self.goal.live

    @property
    def tally(self) -> Tally:
        """The tally of the goal as it is now, whatever comes later."""
        return self.goal.tally

    @property
    def all_live(self) -> tuple[Tally, ...]:
        """The tallies of all sums that are learned, to be used like `live`."""
        return tuple(each.live for each in self.sums)

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """The tallies of all sums that are learned, as they are now."""
        return tuple(each.tally for each in self.sums)

    @property
    def rewards(self) -> RewardsSoFar:
        """Which kind of values the goal had so far; a weighted sum of responses counts as numbers."""
        response = self.problem.goal_response
        if response is None:
            return RewardsSoFar(RewardKind.NUMBERS, self.n_replications)
        return self.rewards_of[response]

    @property
    def rate(self) -> bool:
        """Whether the goal is a rate: declared, or every value told so far was True or False."""
        response = self.problem.goal_response
        return response is not None and is_rate(self.problem, response, self.rewards_of[response])

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """An interval that holds every goal: (0, 1) of a rate, else as declared, None if unknown."""
        return (0.0, 1.0) if self.rate else self.problem.goal_range

    @property
    def counts(self) -> dict[str, int]:
        """How many trials were told, are pending, were given back, or failed."""
        trials = self.records, self.held, self.given_back, self.failed
        return dict(zip(("told", "pending", "given_back", "failed"), map(len, trials), strict=True))

    def status(self, trial: int) -> str:
        """Return whether a trial is told, pending, given back (to be asked for again), or failed."""
        return status(trial, self.trials, self.held)

    @property
    def set_aside(self) -> BoolArray:
        """[alternative, context] whether a pair has failed too often to be asked for again."""
        often = self.failures >= SET_ASIDE_AFTER
        return np.asarray(often & (self.failed_in_all > self.live.count))

    @property
    def out_of_use(self) -> BoolArray | None:
        """[alternative, context] whether a pair is not asked for: set aside or retired; None: all are."""
        if not self.failed and not self.any_retired:  # by far the most common
            return None
        unused = self.set_aside | self.retired
        return unused if unused.any() else None

    @property
    def ruled_out(self) -> BoolArray | None:
        """[alternative, context] whether a pair cannot be chosen; None where all can.

        It was set aside without a single value, or its alternative or its context is retired.
        """
        if not self.failed and not self.any_retired:  # by far the most common
            return None
        impossible = (self.set_aside & (self.live.count == 0)) | self.retired
        return impossible if impossible.any() else None

    def first_own_number(self) -> int:
        """Return the number from which replications of a pair share no seed with any other, if parted now."""
        return int(streams.first_own_number(self.replications))

    def apply(self, event: Event) -> None:
        """Change the ledger by what happened; refits and beginnings of policies are the journal's matter."""
        if isinstance(event, Asked):
            self._ask(event)
        elif isinstance(event, Told):
            self._tell(event)
        elif isinstance(event, Failed):
            self._fail(event)
        elif isinstance(event, Passed):
            self._pass(event)
        elif isinstance(event, Designed):
            self.design, self.design_reason, self.queue = event.pairs, event.reason, list(event.pairs)
        elif isinstance(event, Parted):
            self.parted, self.n_shared = self.first_own_number(), len(self.trials)
        elif isinstance(event, Enqueued):
            self.enqueued += event.pairs
        elif isinstance(event, Named):
            self._name(event.responses)
        elif isinstance(event, Revised):
            self._revise(event)
        elif isinstance(event, Readmitted):
            self.failures[:] = 0
            self.queue += self._dropped
            self._dropped = []
            self._shelve()

    def _revise(self, event: Revised) -> None:
        """Continue with a table to which rows were added, or from which some were retired."""
        self.problem = revised(self.problem, event)
        self.shares, shape = np.array(event.shares), self.problem.shape
        self.cost = None if event.cost is None else np.reshape(event.cost, shape)
        if self.replications.shape != shape:
            for name in _TABLES:
                setattr(self, name, enlarged(getattr(self, name), shape))
            for tally in self.sums:
                tally.enlarge(self.problem)
            self.in_order.enlarge(shape)
        self.generations = self.generations.after(event, shape)
        self.trials.problem = self.problem
        self.separations = Separations(self.problem, self.in_order, self.generations)
        if self.design is not None:
            self.design = (*self.design, *event.pairs)
            self.queue += event.pairs
        self._shelve()

    def _shelve(self) -> None:
        """Keep only pairs in the queue whose rows are not retired; drop enqueued pairs of retired rows."""
        waiting, out = self.queue + self._shelved, self.retired
        self.queue = [pair for pair in waiting if not out[pair]]
        self._shelved = [pair for pair in waiting if out[pair]]
        self.enqueued = [pair for pair in self.enqueued if not out[pair]]

    @property
    def retired(self) -> BoolArray:
        """[alternative, context] whether the alternative or the context of a pair is retired."""
        return retired_pairs(self.problem)

    @property
    def any_retired(self) -> bool:
        """Whether an alternative or a context is retired."""
        return bool(self.problem.alternatives.retired or self.problem.contexts.retired)

    def _name(self, responses: tuple[str, ...]) -> None:
        """Continue with a problem whose responses are known."""
        self.problem = self.problem.naming(responses)
        if not len(self.records):  # a single response may be named later
            self._make_room_for_responses()

    def _ask(self, event: Asked) -> None:
        """Add a trial, and take its pair off the initial design, or off what the user enqueued."""
        pair = event.alternative, event.context
        if event.trial != len(self.trials) or (event.designed and pair not in self.queue):
            raise StorageError(
                f"the stored trial {event.trial} does not follow the {len(self.trials)} before it; the study "
                "was changed by hand, or by a faulty storage. Restore a backup."
            )
        if event.designed:
            self.queue.remove(pair)
        # These come before all that a policy chooses, so it was not the policy that chose one of them.
        elif pair in self.enqueued and event.worker != ELSEWHERE:
            self.enqueued.remove(pair)
        self.trials.add(event)
        self.held[event.trial] = event.worker
        following = int(self.replications[pair])
        self.in_order.skip(pair, range(following, event.replication))
        self.replications[pair] = max(following, event.replication + 1)
        self.pending[pair] += 1

    def _tell(self, event: Told) -> None:
        """Add the result of a trial to the values, the tallies, and what a guarantee counts."""
        pair, number = self.trials.pair(event.trial), self.trials.columns["replication"][event.trial]
        self._close(event, pair, len(self.records))
        shared = self.parted is None or event.trial < self.n_shared
        first = len(self.store)
        self.records.add(event, shared=shared and not self.trials.elsewhere(event.trial))
        self._add_to_tallies(event, pair, first)
        single = range(first, len(self.store)) if event.values is not None else range(0)
        self.in_order.end(pair, number, single, summarised=0 if single else event.n)
        self.n_replications += event.n
        self.rewards_of = [
            so_far.joined_by(event.n, told)
            for so_far, told in zip(self.rewards_of, event.responses, strict=True)
        ]
        self.failures[pair] = 0
        if event.seconds is not None:
            self.timed[pair] += event.n
            self.seconds[pair] += event.seconds

    def _add_to_tallies(self, event: Told, pair: tuple[int, int], first: int) -> None:
        """Add a record to the tallies of all sums; its values are the rows of the store from ``first`` on."""
        if event.further is None:
            for tally, (factor,) in zip(self.sums, self.problem.setting.basis.weights, strict=True):
                tally.put(pair, factor * event.mean, n=event.n, m2=factor * factor * event.m2)
            return
        for tally, mean, m2 in zip(self.sums, *self._means_and_m2(event, first), strict=True):
            tally.put(pair, mean, n=event.n, m2=m2)

    def _means_and_m2(self, event: Told, first: int) -> tuple[list[float], list[float]]:
        """Return mean and sum of squared deviations of every sum of responses."""
        basis, told = self.problem.setting.basis, event.responses
        means: list[float] = basis.sums(np.array([each.mean for each in told])).tolist()
        if event.n == 1:
            return means, [0.0] * len(means)
        if event.values is not None:
            values = basis.sums(self.store.values[:, first:])
            return means, np.sum((values - np.array(means)[:, None]) ** 2, axis=1).tolist()
        return means, [_m2_of_sum(weights, [each.m2 for each in told]) for weights in basis.weights]

    def _fail(self, event: Failed) -> None:
        """Count a failure; a pair that is then set aside is dropped from the initial design."""
        pair = self.trials.pair(event.trial)
        self.in_order.end(pair, self.trials.columns["replication"][event.trial], range(0))
        self.failed[event.trial] = event
        self.failures[pair] += 1
        self.failed_in_all[pair] += 1
        self._close(event, pair, FAILED_END)
        if event.again and self.trials.designed(event.trial):
            (self._shelved if self.any_retired and self.retired[pair] else self.queue).append(pair)
        if self.set_aside[pair]:
            self._dropped += [other for other in self.queue if other == pair]
            self.queue = [other for other in self.queue if other != pair]

    def _pass(self, event: Passed) -> None:
        """Hand a trial under way to another worker, or back, to be asked for again."""
        if self.trials.columns["end"][event.trial] != OPEN:  # nothing told is ever taken back
            return
        pair = self.trials.pair(event.trial)
        self.pending[pair] -= self._release(event.trial)
        if event.worker:
            self.held[event.trial] = event.worker
            self.pending[pair] += 1
        else:
            self.given_back.append(event.trial)

    def _close(self, event: Told | Failed, pair: tuple[int, int], end: int) -> None:
        """Take a trial that ended from those under way; ``end`` is its record, or that it failed."""
        self.pending[pair] -= self._release(event.trial)
        self.trials.columns["end"][event.trial] = end
        self.spent += event.seconds or 0.0

    def _release(self, trial: int) -> bool:
        """Take a trial from those under way, or given back; return whether it was under way."""
        if trial in self.given_back:
            self.given_back.remove(trial)
        return self.held.pop(trial, None) is not None

    def state(self) -> tuple[dict[str, AnyArray], Plain]:
        """Return what the events have led to, as arrays and plain values."""
        arrays = {name: getattr(self, name) for name in _TABLES}
        arrays |= {name: getattr(self.tally, name) for name in _TALLY}
        for i, other in enumerate(self.tallies[1:], start=1):  # counts are those of the goal
            arrays |= {f"{name} {i}": getattr(other, name) for name in _TALLY[1:]}
        for name in (*_PAIRS, *(name for name in _LATER_PAIRS if getattr(self, name))):
            arrays[name] = np.array(getattr(self, name), np.int64).reshape(-1, 2)
        arrays_in_order, words = self.in_order.state()
        numbers = {"spent": self.spent, "parted": self.parted, "n_shared": self.n_shared}
        trials = {"waiting": self.given_back, "held": list(self.held.items())}
        return arrays | arrays_in_order, words | numbers | trials

    def restore(self, past: Past, arrays: Mapping[str, AnyArray], words: Plain) -> None:
        """Restore all events of pages at once, and the `state` they led to; ValueError if these disagree."""
        for event in past.rare:
            if isinstance(event, Designed):
                self.design, self.design_reason = event.pairs, event.reason
            elif isinstance(event, Failed):
                self.failed[event.trial] = event
            elif isinstance(event, Named):
                self._name(event.responses)
            elif isinstance(event, Revised):
                self._revise(event)
        end = np.full(len(past.asked["trial"]), OPEN)
        end[past.told["trial"]] = np.arange(len(past.told["trial"]))
        end[list(self.failed)] = FAILED_END
        self.trials.extend(past.asked, past.workers, end)
        for name in _TABLES:
            getattr(self, name)[...] = arrays[name]
        for name in (*_PAIRS, *_LATER_PAIRS):
            setattr(self, name, [(int(k), int(c)) for k, c in arrays.get(name, _NO_PAIRS).tolist()])
        self.held = {int(trial): str(worker) for trial, worker in words["held"]}
        self.given_back = [int(trial) for trial in words["waiting"]]
        self.spent, self.parted, self.n_shared = (
            float(words["spent"]),
            words["parted"],
            int(words["n_shared"]),
        )
        trial = past.told["trial"]
        shared = np.ones(len(trial), bool) if self.parted is None else trial < self.n_shared
        self.records.extend(past, shared & ~self.trials.all_elsewhere()[trial])
        n, means, squares = self.records.columns.numbers("n"), self.records.means(), self.records.squares()
        truths = [past.told["truths"], *past.further["truths"]]
        self.rewards_of = [
            RewardsSoFar.of(n, mean, m2, truths=bool(np.all(each)))
            for mean, m2, each in zip(means, squares, truths, strict=True)
        ]
        self.in_order.restore(arrays, words, self.trials, self.records, self.failed)
        for i, tally in enumerate(self.sums):
            end_of_name = f" {i}" if i else ""
            tally.restore(arrays["count"], *(arrays[f"{name}{end_of_name}"] for name in _TALLY[1:]))
        self.n_replications = int(self.live.count.sum())
        self._check(past)

    def _check(self, past: Past) -> None:
        """Raise a ValueError if no study can have these events, or if they do not lead to these tables."""
        n, told = np.zeros(self.problem.shape, np.int64), self.records.columns
        trial = told.numbers("trial")
        where = tuple(self.trials.columns.numbers(name)[trial] for name in ("alternative", "context"))
        np.add.at(n, where, told.numbers("n"))
        listed_once = len(set(self.given_back)) == len(self.given_back)
        complete = sum(self.counts.values()) == len(self.trials) and listed_once
        in_sequence = np.array_equal(past.asked["trial"], np.arange(len(self.trials)))
        same_counts = np.array_equal(n, self.live.count)
        if not (complete and in_sequence and same_counts and np.all(np.isfinite(past.values))):
            raise ValueError("the snapshot of a ledger is not that of its events")
