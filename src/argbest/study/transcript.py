"""The transcript of a study: what is stored, taken in event by event, and added to in transactions.

Every change is one exclusive transaction: first what others have added is taken in, then the events are
written, and only once they are safe does the study in memory change.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from functools import cache
from typing import Any

from argbest import jsonable
from argbest.core.setting import Setting
from argbest.errors import StorageError
from argbest.models.base import Model, params_type
from argbest.policies.base import Policy
from argbest.problems.base import Problem
from argbest.storage.base import Begun, Event, Plain, Refit, Storage, Worker, explained
from argbest.study import checking, definition
from argbest.study.checking import Snapshots
from argbest.study.learning import Knowledge, Learning
from argbest.study.ledger import Ledger
from argbest.study.workers import Tries, at_once


class Transcript:
    """The ledger of a study, the knowledge gained, and the storage that both are rebuilt from."""

    ledger: Ledger
    _knowledge: Callable[[], Knowledge] | None  # restored when it is first needed: telling does without
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
        self.problem, self.policy, self.model = problem, policy, model
        self._stored, self._first_policy = stored, policy
        self._whole = _InOnePiece(self)
        self._snapshots = Snapshots(storage, stored["id"], problem.n_alternatives * problem.n_contexts)
        self._read_anew()

    @property
    def revision(self) -> int:
        """How many events the ledger has taken in."""
        return self._revision

    @property
    def knowledge(self) -> Knowledge | None:
        """What was learned last."""
        return None if self._knowledge is None else self._knowledge()

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

    def open_setting(self) -> Setting:
        """Return the problem's setting, and which pairs were set aside."""
        if not self.ledger.failed:  # by far the most common
            return self.problem.setting
        excluded = self.ledger.set_aside
        return replace(self.problem.setting, excluded=excluded) if excluded.any() else self.problem.setting

    def _write(
        self, decide: Callable[[], list[Event]], then: Callable[[], None] | None = None
    ) -> list[Event]:
        """Return the events that were decided on, given all that is known, once they are safe."""
        sent: list[Event] = []
        landed = False

        def attempt() -> list[Event]:
            nonlocal sent, landed
            with self._whole:
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
                self._keep()
            return sent

        return self.patience(attempt)

    def _catch_up(self) -> None:
        with self._whole:
            self._take_in(self.storage.since(self._revision))

    def _read_anew(self) -> None:
        """Forget all that was taken in, and take it in again."""
        self._torn = True
        self._forget()
        news = self._restored()
        if news is None:
            self._forget()
            news = self.storage.since(0)
        self._take_in(news)
        self._torn = False
        self._keep()

    def _forget(self) -> None:
        self.ledger = checking.empty_ledger(self.problem, self._stored)
        self.policy, self._begun = self._first_policy, False
        self._knowledge = self._learning = self._refit = None
        self._revision = 0

    def _restored(self) -> Sequence[Event] | None:
        """Return the events after the last snapshot, which is taken in; None where there is none to use."""
        snapshot = self._snapshots.read()
        if snapshot is None:
            return None
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
        self._revision += len(events)
        self._torn = torn

    def _take_in(self, events: Sequence[Event]) -> None:
        """Take in events that others wrote, or that we wrote in an earlier life."""
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
            begin: Any = self.policy
            self.policy, self._begun = begin.begin(self.open_setting(), self.ledger.tally), True
        self.ledger.apply(event)

    def _restore(self, event: Refit) -> None:
        self._refit, kind, found = event, params_type(self.model), event.params or {}
        if self._stored.get("succeeded") and set(found) != {field.name for field in fields(kind)}:
            return  # of a model that is gone
        params, n_records = jsonable.decode_fields(kind, found), len(self.ledger.records)
        told, setting = self.ledger.tally, self.open_setting()

        @cache
        def restored() -> Knowledge:
            with explained("an event"):
                belief = self.model.posterior(told, setting, params)
            return Knowledge(params, belief, event.n_observations, n_records)

        self._knowledge, self._learning = restored, None


class _InOnePiece:
    """Has everything read anew next time if a block is interrupted: by Ctrl-C, between any two steps."""

    def __init__(self, transcript: Transcript) -> None:
        self._of = transcript

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
