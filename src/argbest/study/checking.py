"""Snapshots of a stored study, and whether it is sound.

A snapshot is what a study has become, kept beside its events so that opening it costs by what is new: pages
(`argbest.storage.pages`) and the state that they add up to. It is an aid and no more: one that is missing,
damaged, of another version or of other events is passed over, and all events are read.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from argbest.core.arrays import AnyArray
from argbest.core.tally import LARGEST
from argbest.errors import StorageError
from argbest.problems.base import Problem
from argbest.storage import pages
from argbest.storage.base import (
    BACKUP,
    Asked,
    Begun,
    Designed,
    Event,
    Failed,
    Passed,
    Plain,
    Refit,
    Storage,
    Told,
    explained,
)
from argbest.storage.pages import Page, Paged, Past
from argbest.study import definition
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

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong and not self.stale

    def __str__(self) -> str:
        if self.wrong:
            return f"damaged: {self.wrong}"
        held = f"{self.events:,} events, {self.observations:,} replications"
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
    reached, wrong, stale = 0, "", ""
    try:
        integrity = getattr(storage, "integrity", None)  # databases that know of their own damage
        if integrity is not None:
            integrity()
        events = storage.since(0)
        with explained("an event"):
            kept = storage.pages() if isinstance(storage, Paged) else []
            reached = kept[-1].last if kept else 0
            arrays, words, stale = _held_against(events, kept)
            for number, event in enumerate(events, start=1):
                refuse_unsound(event, ledger)
                ledger.apply(event)
                if number == reached and not stale:
                    stale = _difference(ledger, arrays, words)
    except StorageError as error:
        wrong = str(error)
    return Check(len(events), ledger.n_observations, reached, wrong, stale)


def forget(storage: Storage) -> None:
    """Let go of the snapshot of a study; whoever opens it next makes another."""
    if isinstance(storage, Paged):
        storage.drop_pages()


def empty_ledger(problem: Problem, stored: Plain) -> Ledger:
    """Return the ledger of a study before its first event."""
    return Ledger(
        problem, definition.design(stored), study=stored["id"], common=stored["common_random_numbers"],
        numbers=definition.numbers(stored),
    )  # fmt: skip


def _held_against(events: Sequence[Event], kept: Sequence[Page]) -> tuple[Mapping[str, AnyArray], Plain, str]:
    """Return the state that pages lead to, and how their events are not those given, "" if they are."""
    if not kept:
        return {}, {}, ""
    try:
        with explained("a page"):
            past, arrays, words = pages.read(kept)
            found = past.events()
    except StorageError as error:
        return {}, {}, str(error)
    theirs = zip(found, map(pages.without_params, events), strict=False)
    other = next((i for i, (one, two) in enumerate(theirs, start=1) if one != two), None)
    if len(events) < kept[-1].last:
        return arrays, words, f"it holds {kept[-1].last:,} events, there are {len(events):,}."
    return arrays, words, "" if other is None else f"event {other:,} is another one there."


def _difference(ledger: Ledger, arrays: Mapping[str, AnyArray], words: Plain) -> str:
    """Return how a state differs from that of a ledger, "" if it does not."""
    own, said = ledger.state()
    told = json.loads(json.dumps(said))
    names = [name for name in own if not np.array_equal(own[name], arrays.get(name, np.empty(0)))]
    names += [name for name in told if told[name] != words.get(name)]
    if words.get("study") != ledger.study:
        names.append("study")
    return f"they add up to another {', '.join(names)}." if names else ""


_LATEST = 9e9  # seconds since 1970: the year 2255


def refuse_unsound(event: Event, ledger: Ledger) -> None:
    """Refuse an event that this study can never have written: it would be taken for something else."""
    if not _sound(event, ledger):
        said = str(event)[:200]
        raise StorageError(f"the stored events contain one that argbest never wrote: {said}. {BACKUP}")


def _sound(event: Event, ledger: Ledger) -> bool:
    if isinstance(event, Refit | Begun):
        return 0 <= event.n_records <= len(ledger.records)
    if not 0 <= event.time < _LATEST:
        return False
    if isinstance(event, Designed):
        return ledger.design is None and all(_inside(pair, ledger) for pair in event.pairs)
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
    return not isinstance(event, Told) or _value_is_sound(event)


def _inside(pair: tuple[int, int], ledger: Ledger) -> bool:
    rows, columns = ledger.problem.shape
    return 0 <= pair[0] < rows and 0 <= pair[1] < columns


def _value_is_sound(told: Told) -> bool:
    values = told.values
    if values is not None and (len(values) != told.n or not all(abs(each) <= LARGEST for each in values)):
        return False
    return told.n >= 1 and abs(told.mean) <= LARGEST and 0 <= told.m2 <= LARGEST**2


EVERY = 1000  # events at least: to read so many one by one takes some hundredths of a second
_SHARE = 10  # and as many as a tenth of the pairs, whose tables are written each time


class Snapshot(NamedTuple):
    """The events up to one of them, what they add up to, and those that followed."""

    past: Past
    arrays: Mapping[str, AnyArray]
    words: Plain
    news: Sequence[Event]


class Snapshots:
    """The snapshots of one study, where its storage can keep any."""

    def __init__(self, storage: Storage, study: str, cells: int) -> None:
        self._storage = storage if isinstance(storage, Paged) else None  # None: it can keep no pages
        self._study = study
        self._every = max(EVERY, cells // _SHARE)
        self._reached = 0  # events in the last one, as far as is known
        self._anew = False  # what is there cannot be used

    def read(self) -> Snapshot | None:
        """Return the last one; None where there is none that can be relied on."""
        self._reached, self._anew = 0, False
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
            if words["study"] == self._study and past.last() == pages.without_params(last):
                self._reached, self._anew = kept[-1].last, False
                return Snapshot(past, arrays, words, news)
        return None

    def refuse(self) -> None:
        """Let the next one take the place of all that are there: the last could not be used."""
        self._reached, self._anew = 0, True

    def due(self, revision: int) -> bool:
        """Return whether one should be kept, now that there are so many events."""
        return self._storage is not None and revision - self._reached >= self._every

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
