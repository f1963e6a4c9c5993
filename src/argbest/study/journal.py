"""The journal of a study: what is asked, told and learned, written to its storage and taken in from there.

Every change is one exclusive transaction: first what others have added is taken in, then the events are
written, and only once they are safe does the study in memory change.
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

SlotsLeft = Callable[["Journal"], int]
_FURTHER = "further sums"  # of stored parameters
BY_HAND = "by hand"  # the worker of trials asked for outside `run`


class Change(NamedTuple):
    """What was decided on: the events to write, and what the study goes on with once they are safe."""

    events: list[Event]
    knowledge: Knowledge | None = None  # that the policy decided on; None: it decided nothing
    policy: Policy | None = None  # None: it stays


class Journal:
    """The ledger of a study, the knowledge gained, and the storage that both are rebuilt from."""

    ledger: Ledger
    _knowledge: Known  # a stored one is restored when it is first needed: telling does without
    _learning: Learning | None  # from the records up to now, or up to some time ago
    _begun: bool
    _refit: Refit | None  # the last one that was learned from
    _revision: int  # events taken in
    _torn: bool  # an interruption came in between: what is in memory may be half of it

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
        self._whole = _InOnePiece(self)
        self._snapshots = Snapshots(storage, stored["id"], problem.n_alternatives * problem.n_contexts)
        self._read_anew()

    @property
    def problem(self) -> Problem:
        """The problem, with its responses once these are known."""
        return self.ledger.problem

    @property
    def first_problem(self) -> Problem:
        """The problem as it was before its table changed."""
        return self._first_problem

    def ask(
        self,
        n: int,
        *,
        worker: str,
        only: int | None = None,
        room: SlotsLeft | None = None,
        policy: Callable[[Ledger], Policy | None] | None = None,
    ) -> list[Trial]:
        """Return up to n trials for a worker; fewer, or none, where ``room`` says so.

        ``policy`` may name another one to decide in the place of the study's own.
        """
        self.begin()
        self._learn_ahead(n)
        events = self._write(lambda: self._next_trials(n, worker, only, room, policy))
        return [self.ledger.trials[event.trial] for event in events if isinstance(event, (Asked, Passed))]

    def begin(self, budget: int | None = None) -> None:
        """Fix the initial design for a budget, or for the planned one, where nobody has fixed it yet."""
        if self.ledger.design is None:
            self._write(lambda: Change(self._design(budget)))

    def tell(self, told: Told) -> None:
        """Keep what was told about a trial."""
        if wrong := impossible(self.problem, told):
            share = " Tell k successes of n as mean=k/n, n=n." if self.problem.rate else ""
            raise InputError(
                f"`tell` got an impossible reward for {self.ledger.trials[told.trial]}: {wrong}. "
                f"Correct the value, or the definition of the problem.{share}"
            )
        self._write(lambda: self._ending(told))

    @property
    def responses(self) -> tuple[str, ...] | None:
        """The names of the responses; None where nobody has named any yet."""
        return self.problem.responses or None

    def name_by(self, value: object) -> None:
        """Take the names of the responses from a result, where they are not known yet.

        A number is the only response that the goal and the limits name.
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
        """Return the trials whose values were kept, in one transaction; others were told in the meantime."""
        open_ = PENDING, GIVEN_BACK
        kept = self._write(lambda: Change([each for each in told if self.ledger.status(each.trial) in open_]))
        return [event.trial for event in kept if isinstance(event, Told)]

    def tell_elsewhere(self, pairs: Sequence[tuple[int, int]], told: Sequence[Told]) -> None:
        """Keep runs that nobody asked for: a trial each, asked and told at once, whatever its number says."""
        self.begin()

        def decide() -> Change:
            first = len(self.ledger.trials)
            asked = asking.issued(
                self.ledger, self.seeds, ELSEWHERE, again=[], enqueued=[], designed=[], chosen=list(pairs),
                parted=self.ledger.parted,
            )  # fmt: skip
            return Change([*asked, *(replace(each, trial=first + i) for i, each in enumerate(told))])

        self._write(decide)

    def fail(self, trial: Trial, reason: str, *, again: bool, seconds: float | None) -> None:
        """Keep that a trial gave no value; ``again``: its pair goes back to the initial design."""
        failed = Failed(trial.id, capped(reason), again, seconds, time.time())
        self._write(lambda: self._ending(failed))

    def give_back(self, trials: Sequence[int], *, of: Collection[str] | None = None) -> None:
        """Let trials that are under way be asked for again; ``of``: only what these workers still have."""

        def decide() -> Change:
            now, held = time.time(), self.ledger.held
            return Change([Passed(i, "", now) for i in trials if i in held and (of is None or held[i] in of)])

        self._write(decide)

    def enqueue(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Keep pairs that the user wants to be asked for next."""
        self._write(lambda: Change([Enqueued(tuple(pairs), time.time())]))

    def readmit(self) -> None:
        """Try the pairs set aside once more."""
        self._write(lambda: Change([Readmitted(time.time())]))

    def revise(self, change: Callable[["Journal"], Revised | None]) -> bool:
        """Return whether the table was changed, as decided on when nobody else can change it."""

        def decide() -> Change:
            event = change(self)
            return Change([] if event is None else [event])

        return bool(self._write(decide))

    def _write(self, decide: Callable[[], Change]) -> Sequence[Event]:
        """Return the events that were decided on, given all that is known, once they are safe.

        A storage that is out of reach is tried again, as far as `patience` goes. A try may have got through
        although its acknowledgement was lost: then the next one finds its events, and decides nothing.
        """
        change, arrived = Change([]), False

        def attempt() -> Sequence[Event]:
            nonlocal change, arrived
            with self._whole:
                with self.storage.exclusive() as log:  # locks, and lets go
                    news = log.since(self._revision)
                    self._take_in(news)
                    arrived = arrived or _among(change.events, news)
                    if arrived:
                        return change.events
                    change = decide()
                    log.append(change.events)
                self._apply(change)
            return change.events

        return self.patience(attempt)

    def _apply(self, change: Change) -> None:
        """Go on as was decided, now that it is safe."""
        self._knowledge = change.knowledge or self._knowledge
        if change.policy is not None:
            self.policy, self._begun = change.policy, True
        self._add(change.events)
        self._keep()

    def _next_trials(
        self,
        n: int,
        worker: str,
        only: int | None,
        room: SlotsLeft | None,
        policy: Callable[[Ledger], Policy | None] | None,
    ) -> Change:
        """Return what gives a worker its next trials.

        Those given back come first, then pairs that the user enqueued, the initial design, the policy's.
        """
        some = n if room is None else min(n, room(self))
        if some < 1:
            return Change([])
        again = asking.given_back(self.ledger, some, only)
        enqueued = asking.of_user(self.ledger, some - len(again), only)
        designed = asking.of_design(self.ledger, some - len(again) - len(enqueued), only)
        due = enqueued + designed + [self.ledger.trials.pair(i) for i in again]
        change, chosen = Change([]), list[tuple[int, int]]()
        if len(due) < some:
            change, chosen = self._decide(due, some - len(due), only, policy, patient=room is not None)
        parting = any(isinstance(event, Parted) for event in change.events)
        issued = asking.issued(
            self.ledger, self.seeds, worker, again=again, enqueued=enqueued, designed=designed, chosen=chosen,
            parted=self.ledger.first_own_number() if parting else self.ledger.parted,
        )  # fmt: skip
        return change._replace(events=change.events + issued)

    def _decide(
        self,
        due: list[tuple[int, int]],
        n: int,
        only: int | None,
        policy: Callable[[Ledger], Policy | None] | None,
        *,
        patient: bool,
    ) -> tuple[Change, list[tuple[int, int]]]:
        """Return the policy's n pairs; none if it needs more of the initial design, and that is coming."""
        try:
            knowledge = self.learned()
            change = self._learned_now(knowledge)
            deciding = (policy and policy(self.ledger)) or change.policy or self.policy
            pairs = asking.choose(
                self.ledger, knowledge, deciding, self._setting(), self.seeds, due, n=n, only=only
            )
        except TooFewDataError:
            coming = bool(due) or any(
                self.ledger.trials.designed(i) for i, who in self.ledger.held.items() if who != BY_HAND
            )
            if not patient or not coming:
                raise
            return Change([]), []
        return change, pairs

    def _learned_now(self, knowledge: Knowledge) -> Change:
        """Return what follows from knowledge that is decided on: a refit, parted seeds, another policy."""
        events: list[Event] = []
        n_records = len(self.ledger.records)
        if self.knowledge is None or knowledge.n_fitted != self.knowledge.n_fitted:
            events.append(Refit(n_records, knowledge.n_fitted, self._plain(knowledge.learned.params)))
            shared = self.ledger.parted is None and self.ledger.live.common is not None
            if shared and step.leave_shared_seeds(knowledge.learned, self.ledger.live):
                events.append(Parted(time.time()))
        following = None if self._begun else asking.begun(self.policy, self.ledger, self.open_setting())
        if following is not None:
            events.append(Begun(n_records))
        return Change(events, knowledge, following)

    def _design(self, budget: int | None) -> list[Event]:
        """Return the initial design as an event; none if somebody else was quicker."""
        if self.ledger.design is not None:
            return []
        planned = self._stored["plan"].get("budget") if budget is None else budget
        best = for_model(self.model, self.problem, planned)
        pairs = best.pairs(self.problem, streams.generator(self.seeds.root, streams.Purpose.DESIGN))
        return [Designed(tuple(pairs), best.reason(self.problem), time.time())]

    def _ending(self, event: Told | Failed) -> Change:
        """Return the end of a trial, or say that somebody has told it in the meantime."""
        self._open(event.trial)
        return Change([event])

    def open(self, trial: Trial | int) -> Trial:
        """Return the open trial meant, or say why there is none."""
        number = self._open(trial)
        return trial if isinstance(trial, Trial) else self.ledger.trials[number]

    def _open(self, trial: Trial | int) -> int:
        """Return the number of the open trial meant, or say why there is none."""
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
        """Return the knowledge that takes in all records; looking at it changes nothing."""
        learning = self._known_learning() or self._new_learning(self.ledger.all_live)  # read at once: no copy
        found = learning.knowledge
        self._learning = learning
        return found

    def learning(self) -> Learning:
        """Return what will be learned from all records of now if somebody asks, whatever comes later."""
        if (learning := self._known_learning()) is None:
            learning = self._learning = self._new_learning(self.ledger.tallies)
        return learning

    def _known_learning(self) -> Learning | None:
        """Return the last one if it is that of all records, None if it is not."""
        last = self._learning
        if last is None or last.n_records != len(self.ledger.records):
            return None
        return last if last.done or last.setting is self.open_setting() else None

    def _new_learning(self, tallies: tuple[Tally, ...]) -> Learning:
        ledger = self.ledger
        return Learning(
            self.model, self.open_setting(), self._knowledge, tallies, ledger.trials, ledger.records,
            n=ledger.n_replications, refit_every=self.refit_every,
        )  # fmt: skip

    @property
    def revision(self) -> int:
        """How many events the ledger has taken in."""
        return self._revision

    @property
    def knowledge(self) -> Knowledge | None:
        """What was learned last."""
        return resolved(self._knowledge)

    def open_setting(self) -> Setting:
        """Return the problem's setting, and which pairs were set aside."""
        excluded, setting = self.ledger.out_of_use, self.problem.setting
        return setting if excluded is None else replace(setting, excluded=excluded)

    def _setting(self) -> Setting:
        """Return what the policy may know: costs, and the pairs set aside."""
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
        """Return the cost of a replication per pair as it is known now, None where all cost alike."""
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
        """Reach the storage with patience meanwhile."""
        self.patience, before = patience, self.patience
        try:
            yield
        finally:
            self.patience = before

    def workers(self) -> Sequence[Worker]:
        """Return what every worker said last."""
        return self.patience(self.storage.workers)

    def catch_up(self) -> None:
        """Take in what others have added to the storage."""
        self.patience(self._catch_up)

    def _catch_up(self) -> None:
        with self._whole:
            self._take_in(self.storage.since(self._revision))

    def _learn_ahead(self, n: int) -> None:
        """Learn before others are locked out: fitting, let alone compiling for the first time, takes long."""
        if not is_shared(self.storage):
            return
        self.catch_up()
        ledger = self.ledger
        if n > len(ledger.given_back) + len(ledger.enqueued) + len(ledger.queue):
            with suppress(TooFewDataError):  # whoever decides will say so
                self.learned()

    def _plain(self, params: tuple[Any, ...]) -> Mapping[str, Any] | None:
        """Return parameters as plain values; a study in memory makes them only when somebody reads them.

        Those of the goal, and in `_FURTHER` those of all other sums that are learned.
        """
        if is_shared(self.storage):
            first, *others = map(jsonable.encode_fields, params)
            return {**first, _FURTHER: others} if others else first
        return jsonable.Later(params[0]) if is_dataclass(params[0]) else None

    def _read_anew(self) -> None:
        """Forget all that was taken in, and take it in again."""
        self._torn = True
        news = self._restored()
        if news is None:
            self._forget()
            news = self.storage.since(0)
        self._take_in(news)
        self._torn = False
        self._keep()

    def _forget(self) -> None:
        self.ledger = checking.empty_ledger(self._first_problem, self._stored)
        self.policy, self._begun = self._first_policy, False
        self._knowledge = self._learning = self._refit = None
        self._revision = 0

    def _restored(self) -> Sequence[Event] | None:
        """Return the events after the last snapshot, which is taken in; None where there is none to use."""
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
                    self._restore(Refit(**words["refit"]))
                return snapshot.news
        self._snapshots.refuse()
        return None

    def _keep(self) -> None:
        """Keep a snapshot when it is due; to have none does no harm."""
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
                self._restore(self._refit)  # as whoever opens the study will: both decide alike

    def _add(self, events: Sequence[Event]) -> None:
        """Take in events of our own, now that they are safe."""
        torn, self._torn = self._torn, True  # until all of them are in, whatever comes in between
        for event in events:
            self.ledger.apply(event)
            if isinstance(event, Refit) and event.params is not None:
                self._refit = event
            elif isinstance(event, Revised):
                self._begin_anew()
        self._revision += len(events)
        self._torn = torn

    def _take_in(self, events: Sequence[Event]) -> None:
        """Take in events that other processes wrote, or this one before the study was opened again."""
        if not events:
            return
        torn, self._torn = self._torn, True
        with explained("an event"):
            for event in events:
                self._take(event)
        self._revision += len(events)
        self._torn = torn

    def _take(self, event: Event) -> None:
        checking.refuse_unsound(event, self.ledger)
        if isinstance(event, Refit) and event.params is not None:
            self._restore(event)
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

    def _restore(self, event: Refit) -> None:
        self._refit, kind, found = event, params_type(self.model), dict(event.params or {})
        each = [found, *found.pop(_FURTHER, [])]
        if self._stored.get("succeeded") and set(found) != {field.name for field in fields(kind)}:
            return  # of a model that is gone
        params = [jsonable.decode_fields(kind, own) for own in each]
        told, setting, n_records = self.ledger.tallies, self.open_setting(), len(self.ledger.records)

        @cache
        def restored() -> Knowledge:
            with explained("an event"):
                learned = step.condition(self.model, setting, told, params)
            return Knowledge(learned, event.n_observations, n_records)

        self._knowledge, self._learning = restored, None


class _InOnePiece:
    """Makes the journal read all events again if its block was interrupted halfway, for example by Ctrl-C."""

    def __init__(self, journal: Journal) -> None:
        self._of = journal

    def __enter__(self) -> None:
        if self._of._torn:
            self._of._read_anew()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not issubclass(kind, Exception):
            self._of._torn = True


def _among(sent: Sequence[Event], found: Sequence[Event]) -> bool:
    """Return whether what was sent, all or nothing, has arrived: its last event is among those found."""
    mark = _mark(sent[-1]) if sent else None
    return mark is not None and any(_mark(event) == mark for event in reversed(found))


def _mark(event: Event) -> tuple[object, ...] | None:
    """Return what tells an event from all others: its kind, its moment, its trial."""
    moment = getattr(event, "time", None)
    return None if moment is None else (type(event), moment, getattr(event, "trial", None))
