"""Snapshots of a stored study, and whether it is sound.

A snapshot is what a study has become, kept beside its events so that opening it costs by what is new: pages
(`argbest.storage.pages`) and the state that they add up to. It is an aid and no more: one that is missing,
damaged, of another version or of another study is passed over, and all events are read. What it alone can
tell is that the row of an event was changed since: then it is passed over too, but kept as a witness.
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
    observations: int
    snapshot: int  # events that the snapshot holds, 0 without one
    wrong: str  # with the events, "" if nothing is
    stale: str  # with the snapshot, "" if nothing is: no value depends on it
    changed: str  # which event is not as it was stored, "" if the snapshot knows of none

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong and not self.stale and not self.changed

    def __str__(self) -> str:
        if self.wrong:
            return f"damaged: {self.wrong}"
        held = f"{self.events:,} events, {self.observations:,} replications"
        if self.changed:
            return f"changed by another program: {self.changed}"
        if self.stale:
            return f"all events are sound ({held}), but the snapshot does not match them: {self.stale}"
        kept = f"; the snapshot of the first {self.snapshot:,} agrees with them" if self.snapshot else ""
        return f"sound: {held}{kept}."


def check(storage: Storage, stored: Plain) -> Check:
    """Return whether the events of a study are sound, and whether its snapshot is what they add up to.

    All events are read and followed one by one, which takes a while where they are many.
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
            kept = storage.pages() if offers(storage, Paged) else []
            reached = kept[-1].last if kept else 0
            arrays, words, stale, changed = _held_against(events, kept, stored["id"])
            for number, event in enumerate(events, start=1):
                refuse_unsound(event, ledger)
                ledger.apply(event)
                if number == reached and not stale and not changed:
                    stale = _difference(ledger, arrays, words)
    except StorageError as error:
        wrong = str(error)
    return Check(len(events), ledger.n_replications, reached, wrong, stale, changed)


def forget(storage: Storage) -> None:
    """Let go of the snapshot of a study; whoever opens it next makes another."""
    if offers(storage, Paged):
        storage.drop_pages()


def empty_ledger(problem: Problem, stored: Plain) -> Ledger:
    """Return the ledger of a study before its first event."""
    return Ledger(
        problem, definition.design(stored), study=stored["id"], common=stored["common_random_numbers"],
        numbers=definition.numbers(stored),
    )  # fmt: skip


def _held_against(
    events: Sequence[Event], kept: Sequence[Page], study: str
) -> tuple[Mapping[str, AnyArray], Plain, str, str]:
    """Return the state that pages lead to, what is wrong with them, and which event they have otherwise."""
    if not kept:
        return {}, {}, "", ""
    try:
        with explained("a page"):
            past, arrays, words = pages.read(kept)
            changed = _changed(past, events)
    except StorageError as error:
        return {}, {}, str(error), ""
    if words.get("study") != study:
        return arrays, words, "it belongs to another study.", ""
    if len(events) < kept[-1].last:
        return arrays, words, f"it holds {kept[-1].last:,} events, there are {len(events):,}.", ""
    return arrays, words, "", changed


def _changed(past: Past, events: Sequence[Event]) -> str:
    """Return which event is not as it was when pages were made of it, "" if all are.

    A page has a fingerprint of itself, so where both differ it is the row of the event that was changed.
    """
    theirs = zip(past.events(), map(pages.without_params, events), strict=False)
    for number, (first, now) in enumerate(theirs, start=1):
        if first != now:
            return f"event {number:,} was stored as {_words(first)}, and is {_words(now)} now."
    return ""


def _words(event: Event) -> str:
    return str(event)[:_LONGEST]


def _difference(ledger: Ledger, arrays: Mapping[str, AnyArray], words: Plain) -> str:
    """Return how a state differs from that of a ledger, "" if it does not."""
    own, said = ledger.state()
    told = json.loads(json.dumps(said))
    names = [name for name in own if not np.array_equal(own[name], arrays.get(name, np.empty(0)))]
    names += [name for name in told if told[name] != words.get(name)]
    if words.get("study") != ledger.study:
        names.append("study")
    return f"they add up to another {', '.join(names)}." if names else ""


_ROUNDED = 1e-9  # of a number: two ways to add up the same values agree so far
_LONGEST = 300  # characters of an event in a message
_LATEST = 9e9  # seconds since 1970: the year 2255


def refuse_unsound(event: Event, ledger: Ledger) -> None:
    """Refuse an event that this study can never have written: it would be taken for something else."""
    if not _sound(event, ledger):
        raise StorageError(
            f"the stored events contain one that argbest never wrote: {_words(event)}. {BACKUP}"
        )


def _sound(event: Event, ledger: Ledger) -> bool:
    if isinstance(event, Refit | Begun):
        return 0 <= event.n_records <= len(ledger.records)
    if not 0 <= event.time < _LATEST:
        return False
    if isinstance(event, Designed):
        return ledger.design is None and all(_inside(pair, ledger) for pair in event.pairs)
    if isinstance(event, Named):
        return not ledger.problem.responses and bool(event.responses)
    if isinstance(event, Enqueued):
        return all(_inside(pair, ledger) for pair in event.pairs)
    if isinstance(event, Revised):
        return _revision_is_sound(event, ledger)
    if isinstance(event, Asked):
        inside = ledger.design is not None and _inside((event.alternative, event.context), ledger)
        largest = len(ledger.trials) + ledger.first_free  # number that the next replication may have
        return inside and event.seed >= 0 and 0 <= event.replication <= largest
    if isinstance(event, Told | Failed | Passed) and not 0 <= event.trial < len(ledger.trials):
        return False
    if isinstance(event, Told | Failed) and (
        ledger.trials.columns["end"][event.trial] != OPEN or (event.seconds or 0.0) < 0
    ):
        return False
    return not isinstance(event, Told) or _result_is_sound(event, ledger)


def _inside(pair: tuple[int, int], ledger: Ledger) -> bool:
    return _within(pair, ledger.problem.shape)


def _within(pair: tuple[int, int], shape: tuple[int, int]) -> bool:
    return 0 <= pair[0] < shape[0] and 0 <= pair[1] < shape[1]


def _revision_is_sound(event: Revised, ledger: Ledger) -> bool:
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
    responses = told.responses
    as_many = len({each.values is None for each in responses}) == 1
    return (
        told.n >= 1
        and as_many
        and len(responses) == len(ledger.rewards_of)
        and all(_value_is_sound(told.n, each) for each in responses)
    )


def _value_is_sound(n: int, told: Response) -> bool:
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


EVERY = 1000  # events at least: to read so many one by one takes some hundredths of a second
_SHARE = 10  # and as many as a tenth of the pairs, whose tables are written each time


_WHAT_TO_DO = (
    "Another program changed it, and the study counts it as it is now. Restore a backup; or accept the "
    "events as they are: argbest check STORAGE --renew"
)


class Snapshot(NamedTuple):
    """The events up to one of them, what they add up to, and those that followed."""

    past: Past
    arrays: Mapping[str, AnyArray]
    words: Plain
    news: Sequence[Event]


class Snapshots:
    """The snapshots of one study, where its storage can keep any."""

    def __init__(self, storage: Storage, study: str, cells: int) -> None:
        self._storage = storage if offers(storage, Paged) else None  # None: it can keep no pages
        self._study = study
        self._every = max(EVERY, cells // _SHARE)
        self._reached = 0  # events in the last one, as far as is known
        self._anew = False  # what is there cannot be used
        self._contradicted = False  # by events, so it stays: it alone shows what these were at first

    def read(self) -> Snapshot | None:
        """Return the last one; None where there is none that can be relied on."""
        self._reached, self._anew, self._contradicted = 0, False, False
        if self._storage is None:
            return None
        with suppress(StorageError), explained("a snapshot"):
            self._anew = True  # until what is there has proved useful
            kept = self._storage.pages()
            if not kept:
                self._anew = False
                return None
            past, arrays, words = pages.read(kept)
            last, *news = self._storage.since(kept[-1].last - 1)
            if words["study"] != self._study:
                return None
            if past.last() != pages.without_params(last) or not self._adds_up(past):
                changed = _changed(past, self._storage.since(0))
                if changed:
                    self._contradicted = True
                    warnings.warn(f"{changed} {_WHAT_TO_DO}", DataNotice, stacklevel=2)
                    return None
            self._reached, self._anew = kept[-1].last, False
            return Snapshot(past, arrays, words, news)
        return None

    def _adds_up(self, past: Past) -> bool:
        """Return whether the rows of events add up to what pages hold, where the storage can tell."""
        storage = self._storage
        return not offers(storage, Summed) or past.adds_up_to(storage.sums(len(past.kind)))

    def refuse(self) -> None:
        """Let the next one take the place of all that are there: the last could not be used."""
        self._reached, self._anew = 0, True

    def due(self, revision: int) -> bool:
        """Return whether one should be kept, now that there are so many events."""
        possible = self._storage is not None and not self._contradicted
        return possible and revision - self._reached >= self._every

    def keep(self, revision: int, arrays: Mapping[str, AnyArray], words: Plain) -> bool:
        """Return whether the state after so many events was kept; not if another worker was faster."""
        storage = self._storage
        if storage is None:
            return False
        self._reached, before = (0, "") if self._anew else storage.paged()
        if not self.due(revision):
            return False
        events = storage.since(self._reached)[: revision - self._reached]
        storage.keep_page(pages.page(events, self._reached, before, arrays, {**words, "study": self._study}))
        self._reached, self._anew = revision, False
        return True
