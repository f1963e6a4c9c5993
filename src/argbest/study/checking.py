"""Snapshots of a stored study, and whether it is sound.

A snapshot holds the events so far in pages (`argbest.storage.pages`) and the state that they lead to. It is
stored beside the events, so that to open a study only later events have to be read one by one. It only saves
time: one that is missing, damaged, of another version or of another study is ignored, and all events are
read. It also shows if the row of an event was changed later: then it is ignored, too, but kept as evidence.
"""

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from argbest.core.abilities import offers
from argbest.core.arrays import AnyArray
from argbest.core.tally import LARGEST
from argbest.errors import DataNotice, StorageError
from argbest.problems.base import Problem
from argbest.storage import pages
from argbest.storage.base import (
    BACKUP,
    Asked,
    Begun,
    ChecksItself,
    Designed,
    Enqueued,
    Event,
    Failed,
    Named,
    Passed,
    Plain,
    Refit,
    Response,
    Revised,
    Storage,
    Told,
    explained,
)
from argbest.storage.pages import Page, Paged, Past, Summed
from argbest.study import definition
from argbest.study.growth import revised
from argbest.study.ledger import Ledger
from argbest.study.trial import OPEN


@dataclass(frozen=True)
class Check:
    """What a check of a study found; it is sound if nothing is wrong."""

    events: int
    replications: int
    snapshot: int  # events that the snapshot holds, 0 without one
    wrong: str  # what is wrong with the events, "" if nothing is
    stale: str  # what is wrong with the snapshot, on which no value depends; "" if nothing is
    changed: str  # which event is not as it was stored, "" if the snapshot shows none

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong and not self.stale and not self.changed

    def __str__(self) -> str:
        if self.wrong:
            return f"damaged: {self.wrong}"
        size = f"{self.events:,} events, {self.replications:,} replications"
        if self.changed:
            return f"changed by another program: {self.changed}"
        if self.stale:
            return f"all events are sound ({size}), but the snapshot does not match them: {self.stale}"
        agrees = f"; the snapshot of the first {self.snapshot:,} agrees with them" if self.snapshot else ""
        return f"sound: {size}{agrees}."


def check(storage: Storage, stored: Plain) -> Check:
    """Return whether the events of a study are sound, and whether its snapshot agrees with them.

    All events are read and applied one by one, which takes a while if there are many.
    """
    with explained("the definition of the study"):
        ledger = empty_ledger(definition.problem_from(stored["problem"], None), stored)
    events: Sequence[Event] = ()
    reached, wrong, stale, changed = 0, "", "", ""
    try:
        if offers(storage, ChecksItself):
            storage.integrity()
        events = storage.since(0)
        with explained("an event"):
            snapshot = storage.pages() if offers(storage, Paged) else []
            reached = snapshot[-1].last if snapshot else 0
            arrays, words, stale, changed = _compared(events, snapshot, stored["id"])
            for number, event in enumerate(events, start=1):
                refuse_unsound(event, ledger)
                ledger.apply(event)
                if number == reached and not stale and not changed:
                    stale = _difference(ledger, arrays, words)
    except StorageError as error:
        wrong = str(error)
    return Check(len(events), ledger.n_replications, reached, wrong, stale, changed)


def forget(storage: Storage) -> None:
    """Delete the snapshot of a study; whoever opens the study next makes another."""
    if offers(storage, Paged):
        storage.drop_pages()


def empty_ledger(problem: Problem, stored: Plain) -> Ledger:
    """Return the ledger of a study before its first event."""
    return Ledger(
        problem, definition.design(stored), study=stored["id"], common=stored["common_random_numbers"],
        numbers=definition.numbers(stored),
    )  # fmt: skip


def _compared(
    events: Sequence[Event], snapshot: Sequence[Page], study: str
) -> tuple[Mapping[str, AnyArray], Plain, str, str]:
    """Return the arrays and the words of a snapshot, what is wrong with it, and which event was changed."""
    if not snapshot:
        return {}, {}, "", ""
    try:
        with explained("a page"):
            past, arrays, words = pages.read(snapshot)
            changed = _changed(past, events)
    except StorageError as error:
        return {}, {}, str(error), ""
    if words.get("study") != study:
        return arrays, words, "it belongs to another study.", ""
    if len(events) < snapshot[-1].last:
        return arrays, words, f"it holds {snapshot[-1].last:,} events, there are {len(events):,}.", ""
    return arrays, words, "", changed


def _changed(past: Past, events: Sequence[Event]) -> str:
    """Return which event is not as it was when pages were made of it, "" if all are.

    A page has a fingerprint of itself, so where both differ it is the row of the event that was changed.
    """
    both = zip(past.events(), map(pages.without_params, events), strict=False)
    for number, (before, now) in enumerate(both, start=1):
        if before != now:
            return f"event {number:,} was stored as {_shortened(before)}, and is {_shortened(now)} now."
    return ""


def _shortened(event: Event) -> str:
    """Return an event as text that fits into a message."""
    return str(event)[:_LONGEST]


def _difference(ledger: Ledger, arrays: Mapping[str, AnyArray], words: Plain) -> str:
    """Return how a state differs from that of a ledger, "" if it does not."""
    ledger_arrays, values = ledger.state()
    ledger_words = json.loads(json.dumps(values))
    names = [
        name for name, own in ledger_arrays.items() if not np.array_equal(own, arrays.get(name, np.empty(0)))
    ]
    names += [name for name, own in ledger_words.items() if own != words.get(name)]
    if words.get("study") != ledger.study:
        names.append("study")
    return f"they add up to another {', '.join(names)}." if names else ""


_ROUNDED = 1e-9  # of a number: two ways to add up the same values agree so far
_LONGEST = 300  # characters of an event in a message
_LATEST = 9e9  # seconds since 1970: the year 2255


def refuse_unsound(event: Event, ledger: Ledger) -> None:
    """Refuse an event that this study can never have written: applied, it would give wrong results."""
    if not _event_is_sound(event, ledger):
        raise StorageError(
            f"the stored events contain one that argbest never wrote: {_shortened(event)}. {BACKUP}"
        )


def _event_is_sound(event: Event, ledger: Ledger) -> bool:
    """Return whether a study whose ledger this is can have written the event next."""
    if isinstance(event, Refit | Begun):
        return 0 <= event.n_records <= len(ledger.records)
    if not 0 <= event.time < _LATEST:
        return False
    if isinstance(event, Designed):
        return ledger.design is None and all(_in_table(pair, ledger) for pair in event.pairs)
    if isinstance(event, Named):
        return not ledger.problem.responses and bool(event.responses)
    if isinstance(event, Enqueued):
        return all(_in_table(pair, ledger) for pair in event.pairs)
    if isinstance(event, Revised):
        return _revision_is_sound(event, ledger)
    if isinstance(event, Asked):
        inside = ledger.design is not None and _in_table((event.alternative, event.context), ledger)
        largest = len(ledger.trials) + ledger.first_free  # number that the next replication may have
        return inside and event.seed >= 0 and 0 <= event.replication <= largest
    if isinstance(event, Told | Failed | Passed) and not 0 <= event.trial < len(ledger.trials):
        return False
    if isinstance(event, Told | Failed) and (
        ledger.trials.columns["end"][event.trial] != OPEN or (event.seconds or 0.0) < 0
    ):
        return False
    return not isinstance(event, Told) or _result_is_sound(event, ledger)


def _in_table(pair: tuple[int, int], ledger: Ledger) -> bool:
    """Return whether positions are those of a pair of the table as it is now."""
    return _within(pair, ledger.problem.shape)


def _within(pair: tuple[int, int], shape: tuple[int, int]) -> bool:
    return 0 <= pair[0] < shape[0] and 0 <= pair[1] < shape[1]


def _revision_is_sound(event: Revised, ledger: Ledger) -> bool:
    """Return whether all that a change of the table says fits the table that it leads to."""
    rows, columns = shape = revised(ledger.problem, event).shape
    return (
        len(event.shares) == columns
        and all(0 <= each < math.inf for each in event.shares)
        and all(0 <= k < rows for k in event.retired_alternatives)
        and all(0 <= c < columns for c in event.retired_contexts)
        and all(_within(pair, shape) for pair in event.pairs)
        and (not event.pairs or ledger.design is not None)
        and (event.cost is None or (len(event.cost) == rows * columns and min(event.cost) > 0))
        and len(event.seen) in (0, ledger.problem.n_contexts)
    )


def _result_is_sound(told: Told, ledger: Ledger) -> bool:
    """Return whether every response has values, or every response a summary, that can be told."""
    responses = told.responses
    as_many = len({each.values is None for each in responses}) == 1
    return (
        told.n >= 1
        and as_many
        and len(responses) == len(ledger.rewards_of)
        and all(_value_is_sound(told.n, each) for each in responses)
    )


def _value_is_sound(n: int, told: Response) -> bool:
    """Return whether mean and squares of a response are finite, and those of its values if it has some."""
    values = told.values
    if not (abs(told.mean) <= LARGEST and 0 <= told.m2 <= LARGEST**2):
        return False
    if values is None:
        return True
    if len(values) != n or not all(abs(each) <= LARGEST for each in values):
        return False
    if n == 1:  # by far the most common
        return values[0] == told.mean and told.m2 == 0.0
    rounding = _ROUNDED * max(map(abs, values))
    squares = math.fsum((each - told.mean) ** 2 for each in values)
    same = abs(told.m2 - squares) <= _ROUNDED * squares + n * rounding**2
    return same and abs(told.mean - math.fsum(values) / n) <= rounding


EVERY = 1000  # events between snapshots, at least: so many are read in some hundredths of a second
_SHARE = 10  # and at least a tenth of the number of pairs, whose tables each snapshot contains


_WHAT_TO_DO = (
    "Another program changed it, and the study counts it as it is now. Restore a backup; or accept the "
    "events as they are: argbest check STORAGE --renew"
)


class Snapshot(NamedTuple):
    """The first events of a study, the state that they lead to, and the events after them."""

    past: Past
    arrays: Mapping[str, AnyArray]
    words: Plain
    news: Sequence[Event]  # the events after them


class Snapshots:
    """The snapshots of one study, where its storage can keep any."""

    def __init__(self, storage: Storage, study: str, cells: int) -> None:
        self._storage = storage if offers(storage, Paged) else None  # None: it can keep no pages
        self._study = study
        self._every = max(EVERY, cells // _SHARE)
        self._reached = 0  # events in the last snapshot, as far as is known
        self._unusable = False  # whether the stored snapshot cannot be used, so that the next replaces it
        self._evidence = False  # whether it shows that events were changed: then it is never replaced

    def read(self) -> Snapshot | None:
        """Return the last snapshot; None where there is none that can be relied on."""
        self._reached, self._unusable, self._evidence = 0, False, False
        if self._storage is None:
            return None
        with suppress(StorageError), explained("a snapshot"):
            self._unusable = True  # until it is known to be sound
            stored = self._storage.pages()
            if not stored:
                self._unusable = False
                return None
            past, arrays, words = pages.read(stored)
            last, *news = self._storage.since(stored[-1].last - 1)
            if words["study"] != self._study:
                return None
            if past.last() != pages.without_params(last) or not self._adds_up(past):
                changed = _changed(past, self._storage.since(0))
                if changed:
                    self._evidence = True
                    warnings.warn(f"{changed} {_WHAT_TO_DO}", DataNotice, stacklevel=2)
                    return None
            self._reached, self._unusable = stored[-1].last, False
            return Snapshot(past, arrays, words, news)
        return None

    def _adds_up(self, past: Past) -> bool:
        """Return whether sums over the rows of events equal those over the pages, if the storage has sums."""
        storage = self._storage
        return not offers(storage, Summed) or past.adds_up_to(storage.sums(len(past.kind)))

    def refuse(self) -> None:
        """Let the next snapshot replace the stored one, which could not be used."""
        self._reached, self._unusable = 0, True

    def due(self, revision: int) -> bool:
        """Return whether a snapshot should be stored now that there are so many events."""
        possible = self._storage is not None and not self._evidence
        return possible and revision - self._reached >= self._every

    def keep(self, revision: int, arrays: Mapping[str, AnyArray], words: Plain) -> bool:
        """Store the state after so many events, unless another worker was faster; return whether it did."""
        storage = self._storage
        if storage is None:
            return False
        self._reached, before = (0, "") if self._unusable else storage.paged()
        if not self.due(revision):
            return False
        events = storage.since(self._reached)[: revision - self._reached]
        storage.keep_page(pages.page(events, self._reached, before, arrays, {**words, "study": self._study}))
        self._reached, self._unusable = revision, False
        return True
