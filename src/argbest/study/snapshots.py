"""Snapshots: what a study has become, kept beside its events so that opening it costs by what is new.

A snapshot is pages (`argbest.storage.pages`) and the state that they add up to. It is an aid and no more: one
that is missing, damaged, of another version or of other events is passed over, and all events are read.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from argbest.core.arrays import AnyArray
from argbest.errors import StorageError
from argbest.storage import pages
from argbest.storage.base import Event, Plain, Refit, Storage, explained
from argbest.storage.pages import Paged, Past

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
            if words["study"] == self._study and past.last() == without_params(last):
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


def without_params(event: Event) -> Event:
    """Return an event without what is forgotten once a later one has taken its place."""
    return replace(event, params=None) if isinstance(event, Refit) else event
