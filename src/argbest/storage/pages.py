"""Pages: copies of the events as plain arrays, many in one piece, read a hundred times as fast as rows.

The events remain what counts. Pages follow each other without a gap, each with a fingerprint of itself and
all before it, and the last one holds the state that all events lead to. Pages that do not fit are ignored,
and the events are read instead. A piece is a line of JSON that names arrays, and then these arrays: nothing
is pickled.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain, repeat
from typing import Any, Protocol, get_args

import numpy as np

from argbest.core.arrays import AnyArray
from argbest.errors import StorageError
from argbest.storage.base import Asked, Event, Plain, Refit, Response, Storage, Told, are_truths

VERSION = 1  # of what pages and states hold; pages of other versions are ignored
_RARE = {kind.__name__: kind for kind in get_args(Event) if kind not in (Asked, Told)}
_DIGEST = 16  # bytes
_ROUNDING = 2e-15  # of a sum, times the root of the number of terms: some ten times what is usual
_RARELY, _ASKED, _TOLD = range(3)
_ASKED_COLUMNS = tuple(field.name for field in fields(Asked))
_REALS = {"values", "time", "mean", "m2", "seconds"}
_WHOLE = (np.int8, np.int16, np.int32, np.int64)


@dataclass(frozen=True)
class Page:
    """Some events in one piece: all but the first ``first``, up to number ``last``."""

    first: int
    last: int
    fingerprint: str  # of this page and all before it
    content: bytes
    state: bytes | None  # the state after all events up to ``last``; None once a later page has one


class Paged(Storage, Protocol):
    """A storage that can keep pages; one that cannot goes without, and studies are read event by event."""

    def paged(self) -> tuple[int, str]:
        """Return how many events the pages hold, and the fingerprint of the last: 0 and "" without any."""

    def pages(self) -> Sequence[Page]:
        """Return the pages in their order."""

    def keep_page(self, page: Page) -> None:
        """Store a page in place of all that reach beyond its first event, and delete all other states.

        Nothing happens if the other pages do not end where it begins: somebody else was faster.
        """

    def drop_pages(self) -> None:
        """Delete all pages."""


class Summed(Storage, Protocol):
    """A storage that can add up the rows of its events by itself, far faster than they are read."""

    def sums(self, last: int) -> Mapping[str, float]:
        """Return the `SUMS` of the events up to number ``last``."""


# Sums that show whether a row was changed, by the names of the columns that are multiplied: of trials and of
# replications. The last one shows whether two values have changed places.
SUMS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "asked": ((), ("alternative",), ("context",), ("replication",)),
    "told": ((), ("n",), ("m2",), ("mean",), ("trial", "mean")),
}


@dataclass(frozen=True)
class Past:
    """Events as columns: numbers of all `Asked` and `Told`, and the other events themselves."""

    kind: AnyArray  # of every event, in their order
    asked: Mapping[str, AnyArray]  # ``worker`` is a position in ``workers``
    # ``size`` counts single values, -1 for a summary; ``truths``: they are True and False; no seconds are NaN
    told: Mapping[str, AnyArray]
    values: AnyArray  # all single values of the first response, one after the other
    workers: tuple[str, ...]
    rare: tuple[Event, ...]
    # Of every response but the first, [response, record]: mean, m2, truths; [response, value]: values
    further: Mapping[str, AnyArray]

    @property
    def n_responses(self) -> int:
        """The number of responses of what was told."""
        return 1 + len(self.further["mean"])

    def adds_up_to(self, sums: Mapping[str, float]) -> bool:
        """Return whether these events have the `SUMS` that a database found, up to rounding."""
        for kind, columns in (("asked", self.asked), ("told", self.told)):
            for names in SUMS[kind]:
                terms = np.ones(len(columns["trial"]))
                for name in names:
                    terms = terms * columns[name]
                rounding = _ROUNDING * np.sqrt(len(terms)) * float(np.abs(terms).sum())
                if not abs(sums[" ".join((kind, *names))] - float(terms.sum())) <= rounding:
                    return False
        return True

    def last(self) -> Event:
        """Return the last event."""
        asked, told = self.kind[-1] == _ASKED, self.kind[-1] == _TOLD
        size = max(int(self.told["size"][-1]), 0) if told else 0
        ends = {"values": slice(self.values.shape[-1] - size, None)}
        record = slice(-1, None) if told else slice(0)
        return Past(
            self.kind[-1:],
            {name: column[-1:] if asked else column[:0] for name, column in self.asked.items()},
            {name: column[record] for name, column in self.told.items()},
            self.values[ends["values"]],
            self.workers,
            self.rare[-1:],
            {name: column[:, ends.get(name, record)] for name, column in self.further.items()},
        ).events()[0]

    def events(self) -> list[Event]:
        """Return the events; parameters are not among them."""
        asked = (
            Asked(trial, k, c, number, seed, bool(designed), self.workers[who], time)
            for trial, k, c, number, seed, designed, who, time in _rows(self.asked, _ASKED_COLUMNS)
        )
        first = _responses(self.told, self.values, self.told["size"])
        others = [
            _responses({name: column[i] for name, column in self.further.items()}, values, self.told["size"])
            for i, values in enumerate(self.further["values"])
        ]
        further: Iterable[Any] = zip(*others, strict=True) if others else repeat(None)
        told = (
            Told(trial, n, *own, _seconds(seconds), time, more)
            for own, more, (trial, n, seconds, time) in zip(
                first, further, _rows(self.told, ("trial", "n", "seconds", "time")), strict=False
            )
        )
        sources: list[Any] = [iter(self.rare), asked, told]
        return [next(sources[kind]) for kind in self.kind.tolist()]


def _responses(told: Mapping[str, AnyArray], values: AnyArray, size: AnyArray) -> Iterator[Response]:
    """Yield what was told of one response by every record."""
    single = iter(values.tolist())
    columns = (told["mean"], told["m2"], size, told["truths"])
    for mean, m2, n, truths in zip(*(column.tolist() for column in columns), strict=True):
        yield Response(mean, m2, _taken(single, n, truths))


def page(
    events: Sequence[Event], first: int, before: str, arrays: Mapping[str, AnyArray], words: Plain
) -> Page:
    """Return the page of events that follow the first ``first``, with the state they lead to.

    ``before`` is the fingerprint of the last page.
    """
    content = _content(events)
    own, state = _fingerprint(before, content), pack(arrays, words)
    return Page(first, first + len(events), own, content, _fingerprint(own, state).encode() + state)


def read(pages: Sequence[Page]) -> tuple[Past, dict[str, AnyArray], Plain]:
    """Return the events of all pages and the last state; a StorageError if they are not as written."""
    reached, before, found = 0, "", []
    for each in pages:
        found.append(_past(*unpack(each.content)))
        sound = each.fingerprint == _fingerprint(before, each.content)
        if not sound or each.first != reached or len(found[-1].kind) != each.last - each.first:
            raise StorageError(
                f"the page of events {each.first + 1} to {each.last} is not as it was written."
            )
        reached, before = each.last, each.fingerprint
    sealed = pages[-1].state or b""
    seal, state = sealed[: 2 * _DIGEST], sealed[2 * _DIGEST :]
    if seal != _fingerprint(before, state).encode():
        raise StorageError("the state after the last page is not as it was written.")
    return _joined(found), *unpack(state)


def _fingerprint(before: str, content: bytes) -> str:
    """Return the fingerprint of a piece, which depends on all pieces before it."""
    return hashlib.blake2b(content, key=before.encode(), digest_size=_DIGEST).hexdigest()


def pack(arrays: Mapping[str, AnyArray], words: Plain) -> bytes:
    """Return arrays and plain values in one piece."""
    small = {name: _small(np.asarray(each)) for name, each in arrays.items()}
    layout = [[name, each.dtype.str, list(each.shape)] for name, each in small.items()]
    head = json.dumps({"version": VERSION, "arrays": layout, "words": words}, allow_nan=False)
    return head.encode("ascii") + b"\n" + b"".join(each.tobytes() for each in small.values())


def unpack(content: bytes) -> tuple[dict[str, AnyArray], Plain]:
    """Return what was packed; whole numbers may have become smaller ones."""
    end = content.index(b"\n") + 1
    head = json.loads(content[:end])
    if head["version"] != VERSION:
        raise StorageError(f"pages of version {head['version']} are not read.")
    arrays = {}
    for name, kind, shape in head["arrays"]:
        dtype, size = np.dtype(kind), int(np.prod(shape))
        arrays[name] = np.frombuffer(content, dtype, size, end).reshape(shape)
        end += size * dtype.itemsize
    return arrays, head["words"]


def _small(array: AnyArray) -> AnyArray:
    """Return whole numbers in as few bytes as hold them."""
    if array.dtype.kind not in "iub" or not array.size:
        return array
    low, high = int(array.min()), int(array.max())
    return array.astype(
        next(kind for kind in _WHOLE if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    )


def _content(events: Sequence[Event]) -> bytes:
    asked = [event for event in events if isinstance(event, Asked)]
    told = [event for event in events if isinstance(event, Told)]
    rare = [event for event in events if not isinstance(event, Asked | Told)]
    workers = sorted({event.worker for event in asked})
    place = {name: i for i, name in enumerate(workers)}
    arrays: dict[str, Any] = {
        "kind": [
            _ASKED if isinstance(e, Asked) else _TOLD if isinstance(e, Told) else _RARELY for e in events
        ],
        "values": list(chain.from_iterable(event.values or () for event in told)),
    }
    for name in _ASKED_COLUMNS:
        column = [getattr(event, name) for event in asked]
        arrays[f"asked {name}"] = [place[name] for name in column] if name == "worker" else column
    for name in ("trial", "n", "mean", "m2", "time"):
        arrays[f"told {name}"] = [getattr(event, name) for event in told]
    arrays["told size"] = [-1 if event.values is None else len(event.values) for event in told]
    arrays["told truths"] = [are_truths(event.values) for event in told]
    arrays["told seconds"] = [np.nan if event.seconds is None else event.seconds for event in told]
    if told and told[0].further:
        others = list(zip(*(event.further or () for event in told), strict=True))  # by response
        arrays["further mean"] = [[each.mean for each in own] for own in others]
        arrays["further m2"] = [[each.m2 for each in own] for own in others]
        arrays["further truths"] = [[are_truths(each.values) for each in own] for own in others]
        arrays["further values"] = [list(chain.from_iterable(e.values or () for e in own)) for own in others]
    for name, column in arrays.items():
        arrays[name] = np.array(column, float if name.split()[-1] in _REALS else np.int64)
    return pack(
        arrays, {"workers": workers, "rare": [[type(e).__name__, asdict(without_params(e))] for e in rare]}
    )


def without_params(event: Event) -> Event:
    """Return an event without the parameters of a refit, which are deleted once a later refit is stored."""
    return replace(event, params=None) if isinstance(event, Refit) else event


def _past(arrays: Mapping[str, AnyArray], words: Plain) -> Past:
    none = np.zeros((0, 0))
    parts: dict[str, dict[str, AnyArray]] = {
        "asked": {},
        "told": {},
        "further": {"mean": none, "m2": none, "truths": none, "values": none},
    }
    for name, array in arrays.items():
        kind, _, column = name.partition(" ")
        if column:
            parts[kind][column] = array
    no_truths = np.zeros(len(parts["told"]["trial"]), np.int8)
    parts["told"].setdefault("truths", no_truths)  # older pages have no such column
    rare = tuple(_event(name, plain) for name, plain in words["rare"])
    return Past(
        kind=arrays["kind"], **parts, values=arrays["values"], workers=tuple(words["workers"]), rare=rare
    )


def _event(name: str, plain: Plain) -> Event:
    if "pairs" in plain:
        plain = {**plain, "pairs": tuple((int(k), int(c)) for k, c in plain["pairs"])}
    if "responses" in plain:
        plain = {**plain, "responses": tuple(map(str, plain["responses"]))}
    for column in ("retired_alternatives", "retired_contexts", "shares", "cost", "seen"):
        if plain.get(column) is not None:
            plain = {**plain, column: tuple(plain[column])}
    event: Event = _RARE[name](**plain)
    return event


def _joined(found: Sequence[Past]) -> Past:
    names = tuple(dict.fromkeys(chain.from_iterable(each.workers for each in found)))
    place = {name: i for i, name in enumerate(names)}
    workers = [np.array([place[name] for name in p.workers], np.int64)[p.asked["worker"]] for p in found]
    asked, told = (
        {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        for parts in ([each.asked for each in found], [each.told for each in found])
    )
    return Past(
        np.concatenate([each.kind for each in found]), {**asked, "worker": np.concatenate(workers)}, told,
        np.concatenate([each.values for each in found]), names,
        tuple(chain.from_iterable(each.rare for each in found)), _joined_further(found),
    )  # fmt: skip


def _joined_further(found: Sequence[Past]) -> dict[str, AnyArray]:
    """Return the further responses of all pages; pages without a record do not know how many there are."""
    some = [each.further for each in found if len(each.told["trial"])] or [found[0].further]
    return {name: np.concatenate([part[name] for part in some], axis=1) for name in some[0]}


def _rows(columns: Mapping[str, AnyArray], names: Sequence[str]) -> Iterable[Any]:
    return zip(*(columns[name].tolist() for name in names), strict=True)


def _seconds(stored: float) -> float | None:
    return None if math.isnan(stored) else stored


def _taken(values: Iterator[float], size: int, truths: int) -> tuple[float, ...] | None:
    kind = bool if truths else float
    return None if size < 0 else tuple(kind(next(values)) for _ in range(size))
