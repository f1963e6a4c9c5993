"""The journal of a study: what it writes to its storage, and what follows from all that is written there.

Every change is one exclusive transaction: first what others have added is taken in, then the events are
written, and only once they are safe does the study in memory change.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from argbest.core.setting import Setting
from argbest.errors import InputError, SimulationError, TrialError
from argbest.models.base import Model
from argbest.policies.base import Policy
from argbest.problems.base import Problem
from argbest.storage import damage, plain
from argbest.storage.base import (
    Asked,
    Begun,
    Event,
    Failed,
    Passed,
    Plain,
    Readmitted,
    Refit,
    Storage,
    Told,
    Worker,
)
from argbest.storage.memory import MemoryStorage
from argbest.study import asking, costs, soundness
from argbest.study.definition import params_type
from argbest.study.learning import Knowledge, learn
from argbest.study.ledger import PENDING, WAITING, Ledger
from argbest.study.patience import Tries, at_once
from argbest.study.trial import Record, Trial
from argbest.texts import capped

Room = Callable[[Ledger], int]
BY_HAND = "by hand"  # the worker of trials asked for outside `run`


class _Decided(NamedTuple):
    """What the policy decided: on which knowledge, what it becomes if it changes, both as events, pairs."""

    knowledge: Knowledge | None
    policy: Policy | None
    events: list[Event]
    pairs: list[tuple[int, int]]


class Journal:
    """The ledger of a study, the knowledge gained, and the storage that both are rebuilt from."""

    ledger: Ledger
    knowledge: Knowledge | None
    _view: Knowledge | None
    _begun: bool
    _revision: int  # events taken in
    _torn: bool  # an interruption came in between: what is in memory may be half of it

    def __init__(
        self, storage: Storage, stored: Plain, problem: Problem, policy: Policy, model: Model[Any]
    ) -> None:
        self.storage = storage
        self.patience: Tries = at_once
        self.problem, self.policy, self.model = problem, policy, model
        self._stored, self._first_policy = stored, policy
        self.refit_every = stored["refit_every"]
        self.seeds = asking.Seeds(stored["seed"], stored["common_random_numbers"])
        self.cost = plain.decode(stored["cost"])  # a table, "measured" or None
        self._read_anew()

    def catch_up(self) -> None:
        """Take in what others have added to the storage."""
        self.patience(self._catch_up)

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

    def ask(
        self,
        n: int,
        *,
        worker: str,
        only: int | None = None,
        room: Room | None = None,
        policy: Callable[[Ledger], Policy | None] | None = None,
    ) -> list[Trial]:
        """Return up to n trials for a worker; fewer, or none, where ``room`` says so.

        ``policy`` may name another one to decide in the place of the study's own.
        """
        decided = _Decided(None, None, [], [])

        def decide() -> list[Event]:
            nonlocal decided
            some = n if room is None else min(n, room(self.ledger))
            decided = _Decided(self.knowledge, None, [], [])
            if some < 1:
                return []
            again = asking.given_back(self.ledger, some, only)
            designed = asking.of_design(self.ledger, some - len(again), only)
            due = designed + [self.ledger.trials[i].pair for i in again]
            if len(due) < some:
                decided = self._decide(due, some - len(due), only, policy, patient=room is not None)
            issued = asking.issued(
                self.ledger, self.seeds, worker, again=again, designed=designed, chosen=decided.pairs
            )
            return decided.events + issued

        def know() -> None:
            self.knowledge = decided.knowledge
            if decided.policy is not None:
                self.policy, self._begun = decided.policy, True

        self._learn_ahead(n)
        events = self._write(decide, know)
        return [self.ledger.trials[event.trial] for event in events if isinstance(event, Asked | Passed)]

    def tell(self, entry: Record, *, seconds: float | None) -> None:
        """Keep what was told about a trial."""
        told = Told(entry.trial.id, entry.n, entry.mean, entry.m2, entry.values, seconds, time.time())
        self._close(told)

    def fail(self, trial: Trial, reason: str, *, again: bool, seconds: float | None) -> None:
        """Keep that a trial gave no value; ``again``: its pair goes back to the initial design."""
        self._close(Failed(trial.id, capped(reason), again, seconds, time.time()))

    def give_back(self, trials: Sequence[int], *, of: Collection[str] | None = None) -> None:
        """Let trials that are under way be asked for again; ``of``: only what these workers still have."""

        def decide() -> list[Event]:
            now, held = time.time(), self.ledger.held
            return [Passed(i, "", now) for i in trials if i in held and (of is None or held[i] in of)]

        self._write(decide)

    def readmit(self) -> None:
        """Try the pairs set aside once more."""
        self._write(lambda: [Readmitted(time.time())])

    def open(self, trial: Trial | int) -> Trial:
        """Return the open trial meant, or say why there is none."""
        trials = self.ledger.trials
        if isinstance(trial, Trial) and trial.study != self.ledger.study:
            raise TrialError(
                f"{trial} was asked by another study; tell it to the study whose `ask` returned it."
            )
        number = trial.id if isinstance(trial, Trial) else trial
        known = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if known and number >= len(trials):
            self.catch_up()  # another process may have asked for it
        if not known or not 0 <= number < len(trials):
            raise TrialError(
                f"unknown trial {trial!r}; this study has asked {len(trials)} trials. "
                "Pass a trial that `ask` returned, or its id."
            )
        if self.ledger.status[number] not in (PENDING, WAITING):
            raise TrialError(
                f"{trials[number]} is {self.ledger.status[number]} already; "
                "each trial is told once. Ask for a new one to add a replication."
            )
        return trials[number]

    def learned(self) -> Knowledge:
        """Return the knowledge that takes in all records; looking at it changes nothing."""
        records = self.ledger.records
        if self._view is None or self._view.n_records != len(records):
            self._view = learn(
                self.model,
                self.open_setting(),
                self.knowledge,
                self.ledger.tally,
                records,
                refit_every=self.refit_every,
                sign=self.problem.sign,
            )
        return self._view

    def costs(self) -> "np.ndarray[Any, Any] | None":
        """Return the cost of a replication per pair as it is known now, None where all cost alike."""
        if isinstance(self.cost, str):
            return costs.learned(self.ledger.timed, self.ledger.seconds)
        return self.cost  # type: ignore[no-any-return]

    def expected_seconds(self, trials: Sequence[int]) -> float:
        """Return how long the simulations of these trials will take, 0 where none was timed yet."""
        if not trials or not self.ledger.timed.any():
            return 0.0
        table = costs.learned(self.ledger.timed, self.ledger.seconds)
        return float(sum(table[self.ledger.trials[i].pair] for i in trials))

    def _setting(self) -> Setting:
        """Return what the policy may know: costs, and the pairs set aside."""
        setting = self.open_setting()
        if setting.excluded is not None and setting.excluded.all():
            raise SimulationError(
                "every pair has failed again and again and was set aside; see `trials()` for the reasons. "
                "Fix the simulator, then call `readmit()` and go on."
            )
        if self.cost is not None:
            setting = replace(setting, cost=self.costs())
        return setting

    def open_setting(self) -> Setting:
        """Return the problem's setting, and which pairs were set aside."""
        if not self.ledger.reasons:  # by far the most common
            return self.problem.setting
        excluded = self.ledger.set_aside
        return replace(self.problem.setting, excluded=excluded) if excluded.any() else self.problem.setting

    def _learn_ahead(self, n: int) -> None:
        """Learn before others are locked out: fitting, let alone compiling for the first time, takes long."""
        if isinstance(self.storage, MemoryStorage):
            return
        self.catch_up()
        if n > len(self.ledger.waiting) + len(self.ledger.queue):
            with suppress(InputError):  # too few data for this model: whoever decides will say so
                self.learned()

    def _decide(
        self,
        due: list[tuple[int, int]],
        n: int,
        only: int | None,
        policy: Callable[[Ledger], Policy | None] | None,
        *,
        patient: bool,
    ) -> "_Decided":
        """Return the policy's n pairs; none if it needs more of the initial design, and that is coming."""
        try:
            knowledge, following, events = self._prepare()
            deciding = (policy and policy(self.ledger)) or following or self.policy
            pairs = asking.choose(
                self.ledger, knowledge, deciding, self._setting(), self.seeds, due, n=n, only=only
            )
        except InputError:
            coming = bool(due) or any(
                self.ledger.asked[i].designed for i, who in self.ledger.held.items() if who != BY_HAND
            )
            if not patient or not coming:
                raise
            return _Decided(self.knowledge, None, [], [])
        return _Decided(knowledge, following, events, pairs)

    def _prepare(self) -> tuple[Knowledge, Policy | None, list[Event]]:
        """Return the knowledge to decide on, the policy to go on with if it changes, and both as events."""
        knowledge = self.learned()
        events: list[Event] = []
        n_records = len(self.ledger.records)
        if self.knowledge is None or knowledge.n_fitted != self.knowledge.n_fitted:
            events.append(Refit(n_records, knowledge.n_fitted, self._plain(knowledge.params)))
        following = None if self._begun else asking.begun(self.policy, self.ledger, self.open_setting())
        if following is not None:
            events.append(Begun(n_records))
        return knowledge, following, events

    def _plain(self, params: Any) -> Mapping[str, Any] | None:
        """Return parameters as plain values; in memory nobody may ever look, and any object will do."""
        if not isinstance(self.storage, MemoryStorage):
            return plain.encode_fields(params)
        return plain.Later(params) if is_dataclass(params) else None

    def _close(self, event: Told | Failed) -> None:
        def decide() -> list[Event]:
            self.open(event.trial)  # somebody may have told it in the meantime
            return [event]

        self._write(decide)

    def _write(
        self, decide: Callable[[], list[Event]], then: Callable[[], None] | None = None
    ) -> list[Event]:
        """Return the events that were decided on, given all that is known, once they are safe."""
        sent: list[Event] = []
        landed = False

        def attempt() -> list[Event]:
            nonlocal sent, landed
            with self._in_one_piece():
                with self.storage.exclusive() as log:
                    news = log.since(self._revision)
                    self._take_in(news)
                    landed = landed or _among(sent, news)
                    if landed:  # the last time already; only the acknowledgement was lost
                        return sent
                    sent = decide()
                    log.append(sent)
                if then is not None:
                    then()
                self._add(sent)
            return sent

        return self.patience(attempt)

    def _catch_up(self) -> None:
        with self._in_one_piece():
            self._take_in(self.storage.since(self._revision))

    @contextmanager
    def _in_one_piece(self) -> Iterator[None]:
        """Have everything read anew next time if this is interrupted: by Ctrl-C, between any two steps."""
        if self._torn:
            self._read_anew()
        try:
            yield
        except Exception:
            raise
        except BaseException:
            self._torn = True
            raise

    def _read_anew(self) -> None:
        """Forget all that was taken in, and take it in again."""
        self._torn = True
        queue = [(int(k), int(c)) for k, c in self._stored["initial"]]
        self.ledger = Ledger(self.problem, queue, study=self._stored["id"])
        self.policy, self._begun = self._first_policy, False
        self.knowledge = self._view = None
        self._revision = 0
        self._take_in(self.storage.since(0))
        self._torn = False

    def _add(self, events: Sequence[Event]) -> None:
        """Take in events of our own, now that they are safe."""
        torn, self._torn = self._torn, True  # until all of them are in, whatever comes in between
        for event in events:
            self.ledger.apply(event)
        self._revision += len(events)
        self._torn = torn

    def _take_in(self, events: Sequence[Event]) -> None:
        """Take in events that others wrote, or that we wrote in an earlier life."""
        torn, self._torn = self._torn, True
        with damage.explained("an event"):
            for event in events:
                self._take(event)
        self._revision += len(events)
        self._torn = torn

    def _take(self, event: Event) -> None:
        soundness.check(event, self.ledger)
        if isinstance(event, Refit) and event.params is not None:
            self._restore(event)
        elif isinstance(event, Begun):
            begin: Any = self.policy
            self.policy, self._begun = begin.begin(self.open_setting(), self.ledger.tally), True
        self.ledger.apply(event)

    def _restore(self, event: Refit) -> None:
        params = plain.decode_fields(params_type(self.model), event.params or {})
        belief = self.model.posterior(self.ledger.tally, self.open_setting(), params)
        self.knowledge = Knowledge(params, belief, event.n_observations, event.n_records)
        self._view = None


def _among(sent: Sequence[Event], found: Sequence[Event]) -> bool:
    """Return whether what was sent, all or nothing, has arrived: its last event is among those found."""
    mark = _mark(sent[-1]) if sent else None
    return mark is not None and any(_mark(event) == mark for event in reversed(found))


def _mark(event: Event) -> tuple[object, ...] | None:
    """Return what tells an event from all others: its kind, its moment, its trial."""
    moment = getattr(event, "time", None)
    return None if moment is None else (type(event), moment, getattr(event, "trial", None))
