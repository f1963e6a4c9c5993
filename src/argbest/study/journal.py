"""The journal of a study: writes what is asked, told and learned to the storage, and reads it from there.

Every change is one transaction: lock the storage, read what others have added, decide, append the events,
release the lock, and only then, when the events are safe, apply them to the study in memory.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from argbest import jsonable, streams
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.engine import step
from argbest.errors import InputError, SimulationError, StorageError, TooFewDataError, TrialError
from argbest.models.base import Model, params_type
from argbest.policies.base import Policy
from argbest.problems.base import Problem
from argbest.problems.design import for_model
from argbest.storage.base import (
    Asked,
    Begun,
    Designed,
    Enqueued,
    Event,
    Failed,
    Named,
    Parted,
    Passed,
    Plain,
    Readmitted,
    Refit,
    Revised,
    Storage,
    Told,
    Worker,
    explained,
    is_shared,
)
from argbest.study import asking, checking, definition
from argbest.study.checking import Snapshots
from argbest.study.learning import Knowledge, Known, Learning, learned_costs, resolved
from argbest.study.ledger import GIVEN_BACK, PENDING, Ledger
from argbest.study.rewards import impossible
from argbest.study.trial import ELSEWHERE, Trial
from argbest.study.workers import Tries, at_once
from argbest.texts import capped

_FURTHER = "further sums"  # the key of stored parameters that are not the goal's
BY_HAND = "by hand"  # the worker of trials asked for outside `run`


class Change(NamedTuple):
    """The events to write, and what the study knows and follows once they are written."""

    events: list[Event]
    knowledge: Knowledge | None = None  # what the policy decided from; None: it decided nothing
    policy: Policy | None = None  # the policy from now on; None: as before


class Request(NamedTuple):
    """What a worker asks for: up to n trials."""

    n: int
    worker: str
    context: int | None = None  # the position of the context that all must be in; None: any
    trials_left: Callable[["Journal"], int] | None = None  # that a run may still begin; None: not in a run
    policy: Callable[[Ledger], Policy | None] | None = None  # may name one to decide instead of the study's


class Journal:
    """The ledger of a study, what was learned from it, and the storage that both are rebuilt from."""

    ledger: Ledger
    _knowledge: Known  # what was learned last; a stored one is restored when first needed, never by `tell`
    _learning: Learning | None  # of the records told so far, or of the first of them
    _begun: bool  # whether the policy has fixed what it fixes after the initial design
    _refit: Refit | None  # the last one that was learned from
    _revision: int  # how many events the ledger has applied
    _interrupted: bool  # Ctrl-C, say, came in the middle: some events may be applied only in part

    def __init__(
        self, storage: Storage, stored: Plain, problem: Problem, policy: Policy, model: Model[Any]
    ) -> None:
        self.storage = storage
        self.patience: Tries = at_once
        self._first_problem, self.policy, self.model = problem, policy, model
        self.refit_every = stored["refit_every"]
        rule = definition.seed_rule(stored, problem.shape)
        self.seeds = asking.Seeds(stored["seed"], stored["common_random_numbers"], rule)
        self.cost = jsonable.decode(stored["cost"])  # a table, "measured" or None
        self._stored, self._first_policy = stored, policy
        self._whole_or_reread = _WholeOrReread(self)
        self._snapshots = Snapshots(storage, stored["id"], problem.n_alternatives * problem.n_contexts)
        self._read_all_again()

    @property
    def problem(self) -> Problem:
        """The problem, with its responses once these are known."""
        return self.ledger.problem

    @property
    def first_problem(self) -> Problem:
        """The problem as it was before its table changed."""
        return self._first_problem

    def ask(self, request: Request) -> list[Trial]:
        """Return the trials that a worker gets: as many as requested, or fewer at the end of a run."""
        self.begin()
        self._learn_before_locking(request.n)
        events = self._write(lambda: self._next_trials(request))
        return [self.ledger.trials[event.trial] for event in events if isinstance(event, (Asked, Passed))]

    def begin(self, budget: int | None = None) -> None:
        """Fix the initial design for a budget, by default the planned one, unless it is fixed already."""
        if self.ledger.design is None:
            self._write(lambda: Change(self._design(budget)))

    def tell(self, told: Told) -> None:
        """Store the result of a trial."""
        if wrong := impossible(self.problem, told):
            share = " Tell k successes of n as mean=k/n, n=n." if self.problem.rate else ""
            raise InputError(
                f"`tell` got an impossible reward for {self.ledger.trials[told.trial]}: {wrong}. "
                f"Correct the value, or the definition of the problem.{share}"
            )
        self._write(lambda: self._end_of_trial(told))

    @property
    def responses(self) -> tuple[str, ...] | None:
        """The names of the responses; None while they are not known."""
        return self.problem.responses or None

    def name_responses(self, value: object) -> None:
        """Take the names of the responses from a first result, where the problem does not declare them.

        A dict names them by its keys; a number is the one response that the goal and the limits mention.
        """
        problem = self.problem
        if problem.responses or (problem.is_named and not isinstance(value, Mapping)):
            return
        names = tuple(value) if isinstance(value, Mapping) else problem.mentioned
        if len(names) > 1 and not isinstance(value, Mapping):
            raise InputError(
                f"the goal '{problem.goal}' and the limits name the responses {', '.join(names)}, and the "
                f"result is one number. Give a dict: {{{', '.join(f'{name!r}: ...' for name in names)}}}."
            )
        names = problem.naming(names).responses
        self._write(lambda: Change([] if self.problem.responses else [Named(names, time.time())]))

    def tell_all(self, told: Sequence[Told]) -> list[int]:
        """Store the results of several trials in one transaction, and return which trials these were.

        A trial that somebody else has told in the meantime is left out.
        """
        open_ = PENDING, GIVEN_BACK
        stored = self._write(
            lambda: Change([each for each in told if self.ledger.status(each.trial) in open_])
        )
        return [event.trial for event in stored if isinstance(event, Told)]

    def tell_elsewhere(self, pairs: Sequence[tuple[int, int]], told: Sequence[Told]) -> None:
        """Store runs made elsewhere: each gets a trial of its own, instead of the one that ``told`` names."""
        self.begin()

        def decide() -> Change:
            first = len(self.ledger.trials)
            asked = asking.issued(
                self.ledger, self.seeds, ELSEWHERE, given_back=[], enqueued=[], designed=[],
                chosen=list(pairs), parted=self.ledger.parted,
            )  # fmt: skip
            return Change([*asked, *(replace(each, trial=first + i) for i, each in enumerate(told))])

        self._write(decide)

    def fail(self, trial: Trial, reason: str, *, again: bool, seconds: float | None) -> None:
        """Store that a trial gave no value; with ``again`` its pair goes back to the initial design."""
        failed = Failed(trial.id, capped(reason), again, seconds, time.time())
        self._write(lambda: self._end_of_trial(failed))

    def give_back(self, trials: Sequence[int], *, workers: Collection[str] | None = None) -> None:
        """Store that trials under way are to be asked for again; with ``workers`` only those of these."""

        def decide() -> Change:
            now, held = time.time(), self.ledger.held
            left = [i for i in trials if i in held and (workers is None or held[i] in workers)]
            return Change([Passed(i, "", now) for i in left])

        self._write(decide)

    def enqueue(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Store pairs that the user wants to be asked for next."""
        self._write(lambda: Change([Enqueued(tuple(pairs), time.time())]))

    def readmit(self) -> None:
        """Store that the pairs set aside may be asked for again."""
        self._write(lambda: Change([Readmitted(time.time())]))

    def revise(self, change: Callable[["Journal"], Revised | None]) -> bool:
        """Store the change of the table that ``change`` decides on, and return whether there was one.

        It decides while the storage is locked, so that nobody else changes the table meanwhile.
        """

        def decide() -> Change:
            event = change(self)
            return Change([] if event is None else [event])

        return bool(self._write(decide))

    def _write(self, decide: Callable[[], Change]) -> Sequence[Event]:
        """Return the events that ``decide`` made of all that is stored, once they are safe.

        A storage that is out of reach is tried again, as long as `patience` says. An attempt may have stored
        its events although the reply was lost: then the next attempt finds them, and does not decide again.
        """
        change, arrived = Change([]), False

        def attempt() -> Sequence[Event]:
            nonlocal change, arrived
            with self._whole_or_reread:
                with self.storage.exclusive() as log:  # locks, and releases at the end of the block
                    news = log.since(self._revision)
                    self._apply_from_storage(news)
                    arrived = arrived or _arrived(change.events, news)
                    if arrived:
                        return change.events
                    change = decide()
                    log.append(change.events)
                self._apply(change)
            return change.events

        return self.patience(attempt)

    def _apply(self, change: Change) -> None:
        """Change the study in memory as was decided, now that the events are safe."""
        self._knowledge = change.knowledge or self._knowledge
        if change.policy is not None:
            self.policy, self._begun = change.policy, True
        self._apply_own(change.events)
        self._keep_snapshot()

    def _next_trials(self, request: Request) -> Change:
        """Return the change that gives a worker its next trials.

        Trials given back come first, then pairs that the user enqueued, the initial design, the policy's
        choice.
        """
        n = request.n
        if request.trials_left is not None:
            n = min(n, request.trials_left(self))
        if n < 1:
            return Change([])
        ledger, context = self.ledger, request.context
        given_back = asking.given_back(ledger, n, context)
        enqueued = asking.of_user(ledger, n - len(given_back), context)
        designed = asking.of_design(ledger, n - len(given_back) - len(enqueued), context)
        due = enqueued + designed + [ledger.trials.pair(i) for i in given_back]
        change, chosen = Change([]), list[tuple[int, int]]()
        if len(due) < n:
            change, chosen = self._decide(due, n - len(due), request)
        parting = any(isinstance(event, Parted) for event in change.events)
        issued = asking.issued(
            ledger, self.seeds, request.worker, given_back=given_back, enqueued=enqueued, designed=designed,
            chosen=chosen, parted=ledger.first_own_number() if parting else ledger.parted,
        )  # fmt: skip
        return change._replace(events=change.events + issued)

    def _decide(
        self, due: list[tuple[int, int]], n: int, request: Request
    ) -> tuple[Change, list[tuple[int, int]]]:
        """Return what follows from learning, and the n pairs that the policy chooses.

        If the policy needs more values of the initial design, a run gets none while these are on their way.
        """
        try:
            knowledge = self.learned()
            change = self._consequences(knowledge)
            instead = None if request.policy is None else request.policy(self.ledger)
            policy = instead or change.policy or self.policy
            pairs = asking.choose(
                self.ledger, knowledge, policy, self._setting(), self.seeds, due, n=n, context=request.context
            )
        except TooFewDataError:
            on_their_way = bool(due) or any(
                self.ledger.trials.designed(i) for i, worker in self.ledger.held.items() if worker != BY_HAND
            )
            if request.trials_left is None or not on_their_way:
                raise
            return Change([]), []
        return change, pairs

    def _consequences(self, knowledge: Knowledge) -> Change:
        """Return what follows from knowledge: a refit, seeds that part, a policy that begins."""
        events: list[Event] = []
        n_records = len(self.ledger.records)
        if self.knowledge is None or knowledge.n_fitted != self.knowledge.n_fitted:
            events.append(Refit(n_records, knowledge.n_fitted, self._plain_params(knowledge.learned.params)))
            shared = self.ledger.parted is None and self.ledger.live.common is not None
            if shared and step.leave_shared_seeds(knowledge.learned, self.ledger.live):
                events.append(Parted(time.time()))
        begun = None if self._begun else asking.begun(self.policy, self.ledger, self.open_setting())
        if begun is not None:
            events.append(Begun(n_records))
        return Change(events, knowledge, begun)

    def _design(self, budget: int | None) -> list[Event]:
        """Return the event that fixes the initial design, in a list; empty if it is fixed already."""
        if self.ledger.design is not None:
            return []
        planned = self._stored["plan"].get("budget") if budget is None else budget
        design = for_model(self.model, self.problem, planned)
        pairs = design.pairs(self.problem, streams.generator(self.seeds.root, streams.Purpose.DESIGN))
        return [Designed(tuple(pairs), design.reason(self.problem), time.time())]

    def _end_of_trial(self, event: Told | Failed) -> Change:
        """Return the change that ends a trial; a TrialError if somebody has ended it in the meantime."""
        self._open(event.trial)
        return Change([event])

    def open(self, trial: Trial | int) -> Trial:
        """Return a trial, given as such or by its id; a TrialError if it is not open."""
        number = self._open(trial)
        return trial if isinstance(trial, Trial) else self.ledger.trials[number]

    def _open(self, trial: Trial | int) -> int:
        """Return the id of a trial, given as such or by its id; a TrialError if it is not open."""
        trials = self.ledger.trials
        if isinstance(trial, Trial) and trial.study != self.ledger.study:
            raise TrialError(
                f"{trial} belongs to another study; tell it to the study whose `ask` returned it."
            )
        number = trial.id if isinstance(trial, Trial) else trial
        known = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if known and number >= len(trials):
            self.catch_up()  # another process may have asked for it
        if not known or not 0 <= number < len(trials):
            raise TrialError(
                f"unknown trial {trial!r}; this study has asked {len(trials)} trials. "
                "Pass one of the trials that `ask` returned, as `ask_one` does, or its id."
            )
        if (status := self.ledger.status(number)) not in (PENDING, GIVEN_BACK):
            raise TrialError(
                f"{trials[number]} is {status} already; "
                "each trial is told once. Ask for a new one to add a replication."
            )
        return int(number)

    def learned(self) -> Knowledge:
        """Return what all records say, learned now if it was not; the study stays as it is."""
        # The tallies are read before the next value comes, so they need not be copied.
        learning = self._current_learning() or self._new_learning(self.ledger.all_live)
        knowledge = learning.knowledge
        self._learning = learning
        return knowledge

    def learning(self) -> Learning:
        """Return what the records told so far say, learned when somebody asks, and without later records."""
        if (learning := self._current_learning()) is None:
            learning = self._learning = self._new_learning(self.ledger.tallies)
        return learning

    def _current_learning(self) -> Learning | None:
        """Return the last learning if it is about all records, None if it is not."""
        last = self._learning
        if last is None or last.n_records != len(self.ledger.records):
            return None
        return last if last.done or last.setting is self.open_setting() else None

    def _new_learning(self, tallies: tuple[Tally, ...]) -> Learning:
        """Return what learns from all records told so far, when somebody asks."""
        ledger = self.ledger
        return Learning(
            self.model, self.open_setting(), self._knowledge, tallies, ledger.trials, ledger.records,
            n=ledger.n_replications, refit_every=self.refit_every,
        )  # fmt: skip

    @property
    def revision(self) -> int:
        """How many events the ledger has applied."""
        return self._revision

    @property
    def knowledge(self) -> Knowledge | None:
        """What was learned last."""
        return resolved(self._knowledge)

    def open_setting(self) -> Setting:
        """Return the problem's setting without the pairs that are set aside or retired."""
        excluded, setting = self.ledger.out_of_use, self.problem.setting
        return setting if excluded is None else replace(setting, excluded=excluded)

    def _setting(self) -> Setting:
        """Return what the policy may know: the open setting, with costs; an error if no pair is left."""
        setting = self.open_setting()
        if setting.excluded is not None and setting.excluded.all():
            raise SimulationError(
                "every pair failed repeatedly and was set aside; the trials hold the reasons. Fix the "
                "simulator, readmit the pairs, and continue."
            )
        if self.cost is not None:
            setting = replace(setting, cost=self.costs())
        return setting

    def costs(self) -> "np.ndarray[Any, Any] | None":
        """Return the cost of a replication of every pair, as known now; None where all cost the same."""
        if isinstance(self.cost, str):
            return learned_costs(self.ledger.timed, self.ledger.seconds)
        return self.cost if self.ledger.cost is None else self.ledger.cost

    def expected_seconds(self, trials: Sequence[int]) -> float:
        """Return how long the simulations of these trials will take, 0 where none was timed yet."""
        if not trials or not self.ledger.timed.any():
            return 0.0
        table = learned_costs(self.ledger.timed, self.ledger.seconds)
        return float(sum(table[self.ledger.trials.pair(i)] for i in trials))

    @contextmanager
    def patient(self, patience: Tries) -> Iterator[None]:
        """Try again, inside the block, when the storage is out of reach."""
        self.patience, before = patience, self.patience
        try:
            yield
        finally:
            self.patience = before

    def workers(self) -> Sequence[Worker]:
        """Return the last sign of life of every worker."""
        return self.patience(self.storage.workers)

    def catch_up(self) -> None:
        """Apply the events that others have added to the storage."""
        self.patience(self._catch_up)

    def _catch_up(self) -> None:
        with self._whole_or_reread:
            self._apply_from_storage(self.storage.since(self._revision))

    def _learn_before_locking(self, n: int) -> None:
        """Learn before the storage is locked: fitting takes long, and the first time it is compiled, too."""
        if not is_shared(self.storage):
            return
        self.catch_up()
        ledger = self.ledger
        if n > len(ledger.given_back) + len(ledger.enqueued) + len(ledger.queue):
            with suppress(TooFewDataError):  # `_decide` reports it
                self.learned()

    def _plain_params(self, params: tuple[Any, ...]) -> Mapping[str, Any] | None:
        """Return hyper-parameters as plain values: the goal's, and under `_FURTHER` those of the other sums.

        A study in memory makes them only when somebody reads them.
        """
        if is_shared(self.storage):
            first, *others = map(jsonable.encode_fields, params)
            return {**first, _FURTHER: others} if others else first
        return jsonable.Later(params[0]) if is_dataclass(params[0]) else None

    def _read_all_again(self) -> None:
        """Forget what is in memory, and read the study from its storage."""
        self._interrupted = True  # until all of it is read
        news = self._after_snapshot()
        if news is None:
            self._forget()
            news = self.storage.since(0)
        self._apply_from_storage(news)
        self._interrupted = False
        self._keep_snapshot()

    def _forget(self) -> None:
        """Begin with the ledger of a study without events."""
        self.ledger = checking.empty_ledger(self._first_problem, self._stored)
        self.policy, self._begun = self._first_policy, False
        self._knowledge = self._learning = self._refit = None
        self._revision = 0

    def _after_snapshot(self) -> Sequence[Event] | None:
        """Restore the last snapshot and return the events after it; None where none can be used."""
        snapshot = self._snapshots.read()
        if snapshot is None:
            return None
        self._forget()
        with suppress(StorageError), explained("a snapshot"):
            words = snapshot.words
            if words["policy"] == definition.of_object(self._first_policy):
                self.ledger.restore(snapshot.past, snapshot.arrays, words)
                self._revision = len(snapshot.past.kind)
                if words["begun"] is not None:
                    self.policy, self._begun = definition.policy_from(words["begun"]), True
                if words["refit"] is not None:
                    self._restore_refit(Refit(**words["refit"]))
                return snapshot.news
        self._snapshots.refuse()
        return None

    def _keep_snapshot(self) -> None:
        """Store a snapshot when one is due; a study without one is only slower to open."""
        if not self._snapshots.due(self._revision):
            return
        begun = definition.of_object(self.policy) if self._begun else None
        if begun is not None and "foreign" in begun:
            return
        with suppress(StorageError), explained("a snapshot"):
            arrays, words = self.ledger.state()
            words |= {"policy": definition.of_object(self._first_policy), "begun": begun, "refit": None}
            if self._refit is not None:
                words["refit"] = {**vars(self._refit), "params": dict(self._refit.params or {})}
            if self._snapshots.keep(self._revision, arrays, words) and self._refit is not None:
                self._restore_refit(self._refit)  # as whoever opens the study will, so that both decide alike

    def _apply_own(self, events: Sequence[Event]) -> None:
        """Apply events that this process has just stored."""
        before, self._interrupted = self._interrupted, True  # until all of them are applied
        for event in events:
            self.ledger.apply(event)
            if isinstance(event, Refit) and event.params is not None:
                self._refit = event
            elif isinstance(event, Revised):
                self._begin_anew()
        self._revision += len(events)
        self._interrupted = before

    def _apply_from_storage(self, events: Sequence[Event]) -> None:
        """Apply events that other processes wrote, or this one before the study was opened again."""
        if not events:
            return
        before, self._interrupted = self._interrupted, True
        with explained("an event"):
            for event in events:
                self._apply_stored(event)
        self._revision += len(events)
        self._interrupted = before

    def _apply_stored(self, event: Event) -> None:
        """Apply an event from the storage: to the ledger, and to what was learned or fixed by then."""
        checking.refuse_unsound(event, self.ledger)
        if isinstance(event, Refit) and event.params is not None:
            self._restore_refit(event)
        elif isinstance(event, Begun):
            self.policy = step.begin(self.policy, self.open_setting(), self.ledger.tally)
            self._begun = True
        self.ledger.apply(event)
        if isinstance(event, Revised):
            self._begin_anew()

    def _begin_anew(self) -> None:
        """Learn from all values again, as a study that had this table from the start would."""
        self._knowledge = self._learning = self._refit = None
        self.policy, self._begun = self._first_policy, False

    def _restore_refit(self, event: Refit) -> None:
        """Set the knowledge to what a stored refit found, computed when it is first needed."""
        self._refit, kind, stored = event, params_type(self.model), dict(event.params or {})
        params_of_sums = [stored, *stored.pop(_FURTHER, [])]
        if self._stored.get("succeeded") and set(stored) != {field.name for field in fields(kind)}:
            return  # the refit of a model that is gone
        params = [jsonable.decode_fields(kind, plain) for plain in params_of_sums]
        tallies, setting, n_records = self.ledger.tallies, self.open_setting(), len(self.ledger.records)

        @cache
        def restored() -> Knowledge:
            with explained("an event"):
                learned = step.condition(self.model, setting, tallies, params)
            return Knowledge(learned, event.n_observations, n_records)

        self._knowledge, self._learning = restored, None


class _WholeOrReread:
    """Makes the journal read all events again if its block was interrupted halfway, for example by Ctrl-C."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __enter__(self) -> None:
        if self._journal._interrupted:
            self._journal._read_all_again()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not issubclass(kind, Exception):
            self._journal._interrupted = True


def _arrived(sent: Sequence[Event], stored: Sequence[Event]) -> bool:
    """Return whether events that were sent are stored: all are if the last one is."""
    last = _identity(sent[-1]) if sent else None
    return last is not None and any(_identity(event) == last for event in reversed(stored))


def _identity(event: Event) -> tuple[object, ...] | None:
    """Return what distinguishes an event from all others: its kind, its time and its trial."""
    moment = getattr(event, "time", None)
    return None if moment is None else (type(event), moment, getattr(event, "trial", None))
