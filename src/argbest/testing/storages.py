"""The conformance suite for storages."""

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from argbest.core.abilities import offers
from argbest.errors import StorageError
from argbest.storage import pages
from argbest.storage.base import (
    Asked,
    Begun,
    ChecksItself,
    Designed,
    Enqueued,
    Event,
    Failed,
    ListsStudies,
    Named,
    Parted,
    Passed,
    Plain,
    Readmitted,
    Refit,
    Response,
    Revised,
    SaysWhoSeesIt,
    Storage,
    Told,
    Worker,
)
from argbest.storage.pages import Page, Paged, Summed

NASTY = 'Robert\'); DROP TABLE argbest_trials;-- <b>"&amp;"</b> %s :name {0} \\ \n\t naïve 试验 🎲'
_NUMBERS = (0.1, 1 / 3, -math.pi, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e22, 2.0**53 + 2)
_WAIT = 60.0  # seconds until a check of several threads gives up

Opener = Callable[[], Storage]


class _DiscardError(Exception):
    """What a check raises inside `exclusive`."""


def assert_valid_storage(new: Opener, *, again: Callable[[Storage], Storage] | None = None) -> None:
    """Check a storage: what goes in comes out, all or nothing, one at a time, nothing lost between threads.

    Args:
        new: What returns a storage without a study each time it is called.
        again: What returns another object for the same study, as another process would open it; without it,
            the same object is used.
    """
    other = again or (lambda storage: storage)
    for check in (_check_definition, _check_events, _check_responses, _check_refits, _check_discarding):
        _run(check, new, other)
    for check in (
        _check_workers,
        _check_visibility,
        _check_exclusion,
        _check_readers,
        _check_pages,
        _check_sums,
        _check_abilities,
    ):
        _run(check, new, other)


def example_events(n: int = 3, n_responses: int = 1) -> list[Event]:
    """Return events of every kind about n trials, with numbers and texts that are easily spoilt.

    With several responses whatever was told has as many.

    Args:
        n: How many trials.
        n_responses: How many responses each has.
    """
    if n_responses > 1:
        names = tuple(f"{i} {NASTY}" for i in range(n_responses))
        return [Named(names, 1.7e9), *(_with_responses(each, n_responses) for each in example_events(n))]
    found: list[Event] = []
    for i in range(n):
        number = _NUMBERS[i % len(_NUMBERS)]
        found += [
            Asked(3 * i, i, 2 * i, 0, 2**31 - 1 - i, i % 2 == 0, NASTY, 1.7e9 + number % 1),
            Asked(3 * i + 1, i, 2 * i, 1, i, i % 2 == 1, "", 1.7e9),
            Told(3 * i, len(_NUMBERS), number, abs(number), _NUMBERS, 0.1 * i, 1.7e9 + 0.1),
            Asked(3 * i + 2, i, 0, 0, 1, False, "w", 1.7e9),
            Passed(3 * i + 1, "", 1.7e9 + 0.2),
            Passed(3 * i + 1, NASTY, 1.7e9 + 0.3),
            Failed(3 * i + 1, NASTY, i % 2 == 0, None, 1.7e9 + 0.4),
            Told(3 * i + 2, 2**53, -number, 0.0, None, None, 1.7e9 + 0.5),
            Readmitted(1.7e9 + number % 1),
            Parted(1.7e9 + number % 1),
            Enqueued(((i, 2 * i), (0, 1), (i, 2 * i)), 1.7e9 + number % 1),
            Revised(
                {"labels": [NASTY, i, True], "columns": {NASTY: [number % 1, 2, False]}} if i else None, None,
                (i, 7), (), (number % 1, 1.0 / 3.0), ((2, 1),), (0.1, number % 1) if i else None, (i,), 1.7e9,
            ),
        ]  # fmt: skip
    last = 3 * n
    found += [
        Asked(last, 0, 0, 0, 1, False, "w", 1.7e9),
        Told(last, 3, 1 / 3, 2 / 3, (False, True, False), None, 1.7e9),  # truth values are no numbers
    ]
    designed = Designed(((0, 1), (2, 0), (0, 1)), NASTY, 1.7e9)
    return [designed, *found, Begun(2), Refit(2, 9, _definition())]


def _with_responses(event: Event, n: int) -> Event:
    """Return an event with so many responses, if it tells of any."""
    if not isinstance(event, Told):
        return event
    values = None if event.values is None else tuple(map(float, reversed(event.values)))
    truths = None if event.values is None else tuple(each > 0 for each in event.values)
    others = Response(-event.mean, event.m2, values), Response(event.mean / 3, 0.0, truths)
    return replace(event, further=tuple(others[i % 2] for i in range(n - 1)))


def _run(check: Callable[[Storage, Storage], None], new: Opener, other: Callable[[Storage], Storage]) -> None:
    storage = new()
    assert storage.definition() is None, "a new storage has a definition already"
    storage.create(_definition())
    second = other(storage)
    try:
        check(storage, second)
    finally:
        second.close()
        storage.close()
        storage.close()  # once more does no harm


def _definition() -> Plain:
    nested: dict[str, Any] = {NASTY: [NASTY, None, True, 2**53 + 1, *_NUMBERS], "empty": [{}, [], ""]}
    return {"version": 1, "deep": {"deeper": nested}}


def _add(storage: Storage, events: Sequence[Event]) -> None:
    with storage.exclusive() as log:
        log.append(events)


def _asked(trial: int, worker: str = "w") -> Asked:
    return Asked(trial, 0, 0, trial, 7, False, worker, 0.5)


def _same(found: Sequence[Event], expected: Sequence[Event], what: str) -> None:
    # repr tells 1 from 1.0 and shows every digit of a double
    assert list(map(repr, found)) == list(map(repr, expected)), (
        f"{what}: expected {len(expected)} events {list(expected)!r}, got {len(found)}: {list(found)!r}"
    )


def _check_pages(storage: Storage, second: Storage) -> None:
    """Check what a storage may do besides: keep pages, one after the other without a gap."""
    if not offers(storage, Paged) or not offers(second, Paged):
        return
    nothing = b"\x00\xff\n"
    one, two = Page(0, 3, "one", nothing, b"state"), Page(3, 9, NASTY, nothing * 2, nothing)
    longer = Page(3, 12, "longer", b"", b"last")
    steps: list[tuple[Page, list[Page]]] = [
        (two, []),  # follows on nothing
        (one, [one]),
        (two, [replace(one, state=None), two]),
        (longer, [replace(one, state=None), longer]),
        (replace(one, fingerprint="anew"), [replace(one, fingerprint="anew")]),
    ]
    for page, expected in steps:
        storage.keep_page(page)
        found = list(second.pages())
        assert found == expected, f"after {page!r} there are the pages {found!r}; expected {expected!r}"
        reached = (expected[-1].last, expected[-1].fingerprint) if expected else (0, "")
        assert second.paged() == reached, f"the pages reach to {second.paged()!r}; expected {reached!r}"
    storage.drop_pages()
    assert list(second.pages()) == [], "pages that were dropped are still there"


def _check_sums(storage: Storage, second: Storage) -> None:
    """Check the sums of a storage that adds up its events itself: they tell whether one was changed."""
    if not offers(second, Summed):
        return
    for trial in range(20):
        told = Told(trial, 2, 0.1 * trial - 0.7, 1e9 + trial, None, None, 1.0)
        _add(storage, [_asked(trial), Refit(trial, trial, None), told])
    events = list(second.since(0))
    for n in (0, 30, 60):
        past, _, _ = pages.read([pages.page(events[:n], 0, "", {}, {})])
        assert past.adds_up_to(second.sums(n)), f"the sums of the first {n} events are {second.sums(n)!r}"
    events[2] = replace(told, trial=0, mean=0.25)
    past, _, _ = pages.read([pages.page(events, 0, "", {}, {})])
    assert not past.adds_up_to(second.sums(len(events))), "the sums are also those of a changed event"


def _check_abilities(storage: Storage, second: Storage) -> None:
    """Check what else a storage says of itself: who sees it, which studies it holds, that it is sound."""
    if offers(second, SaysWhoSeesIt):
        assert isinstance(second.private, bool), f"private is {second.private!r}; expected True or False"
    if offers(second, ListsStudies):
        found = second.names()
        assert [name for name in found if isinstance(name, str)], (
            f"names() returned {found!r} of a storage with a study; expected a list of names"
        )
    if offers(second, ChecksItself):
        _add(storage, example_events())
        try:
            second.integrity()
        except StorageError as error:
            raise AssertionError(f"integrity() finds damage in a sound storage: {error}") from error


def _check_definition(storage: Storage, second: Storage) -> None:
    for each in (storage, second):
        found = each.definition()
        assert repr(found) == repr(_definition()), f"the definition came back as {found!r}"
    try:
        second.create({"another": 1})
    except StorageError:
        pass
    else:
        raise AssertionError("a second study was created in place of the first; expected a StorageError")
    assert storage.definition() == _definition(), "the definition changed when a second one was refused"
    _same(storage.since(0), [], "a study that has just been created")


def _check_events(storage: Storage, second: Storage) -> None:
    _check_kept(storage, second, example_events(8))


def _check_responses(storage: Storage, second: Storage) -> None:
    _check_kept(storage, second, example_events(8, n_responses=3))


def _check_kept(storage: Storage, second: Storage, events: Sequence[Event]) -> None:
    for part in (events[:1], events[1:1], events[1:20], events[20:]):
        with storage.exclusive() as log:
            log.append(part[:2])
            log.append(part[2:])
            _same(log.since(0)[-len(part) or len(events) :], part, "what was just added, seen from inside")
    for revision in (0, 1, 19, 20, 21, len(events) - 1, len(events)):
        _same(second.since(revision), events[revision:], f"since({revision})")
        with second.exclusive() as log:
            _same(log.since(revision), events[revision:], f"since({revision}) inside `exclusive`")


def _check_refits(storage: Storage, second: Storage) -> None:
    refits: list[Event] = [Refit(n, 2 * n, {"scale": [n / 3]}) for n in range(4)]
    _add(storage, refits[:1])
    _same(second.since(0), refits[:1], "one refit")
    _add(storage, [_asked(0), *refits[1:3]])
    _add(storage, refits[3:])
    expected = _without_old([*refits[:1], _asked(0), *refits[1:]])
    _same(_without_old(second.since(0)), expected, "several refits, of which the last keeps its parameters")


def _without_old(events: Sequence[Event]) -> list[Event]:
    """Return the events without the parameters of all refits but the last, which a storage may forget."""
    last = max(i for i, each in enumerate(events) if isinstance(each, Refit))
    return [
        replace(each, params=None) if isinstance(each, Refit) and i < last else each
        for i, each in enumerate(events)
    ]


def _check_discarding(storage: Storage, second: Storage) -> None:
    _add(storage, [_asked(0)])
    for late in (False, True):
        try:
            with storage.exclusive() as log:
                log.append([_asked(1)])
                if late:
                    log.append([_asked(2), Told(1, 1, 1.0, 0.0, None, None, 1.0)])
                raise _DiscardError
        except _DiscardError:
            pass
        _same(second.since(0), [_asked(0)], "after an exception inside `exclusive`")
    _add(second, [_asked(1)])
    _same(storage.since(0), [_asked(0), _asked(1)], "what is added after an exception")


def _check_workers(storage: Storage, second: Storage) -> None:
    one = Worker("b", NASTY, 2**31, 0.1, 0.2, 4, 0.3)
    two = Worker("B " + NASTY, "host", 1, 1.5, 2.5, 1, 0.0)
    assert list(storage.workers()) == [], "a new study has workers already"
    for worker in (one, two, replace(one, seen=1e9 + 0.1, busy=7.0)):
        storage.greet(worker)
    found, expected = list(second.workers()), [two, replace(one, seen=1e9 + 0.1, busy=7.0)]
    assert found == expected, f"the workers, by name, are {expected!r}; got {found!r}"


def _check_visibility(storage: Storage, second: Storage) -> None:
    seen: list[Sequence[Event]] = []
    with storage.exclusive() as log:
        log.append([_asked(0), _asked(1)])
        _in_threads([lambda: seen.append(second.since(0))])
    _same(seen[0], [], "seen by others before `exclusive` ends")
    _same(second.since(0), [_asked(0), _asked(1)], "seen by others after `exclusive` ended")


def _check_exclusion(storage: Storage, second: Storage) -> None:
    """Each adds the trial after the last it sees: two that see the same would add the same."""

    def work(each: Storage) -> None:
        for _ in range(10):
            with each.exclusive() as log:
                there = len(log.since(0))
                time.sleep(0.001)  # long enough for the others to come in, if they are let in
                log.append([_asked(there)])
                log.append([_asked(there + 1)])

    _in_threads([lambda each=each: work(each) for each in (storage, second) * 3])  # type: ignore[misc]
    _same(storage.since(0), [_asked(trial) for trial in range(120)], "added by six threads in turn")


def _check_readers(storage: Storage, second: Storage) -> None:
    """Readers see whole transactions, in the order in which all see them."""
    looks: list[Sequence[Event]] = []

    def write() -> None:
        for i in range(30):
            _add(storage, [_asked(2 * i), _asked(2 * i + 1), Refit(i, i, {"at": i})])

    def look() -> None:
        while not looks or len(looks[-1]) < 90:
            looks.append(second.since(0))

    _in_threads([write, look])
    final = storage.since(0)
    for found in looks:
        trials = [event.trial for event in found if isinstance(event, Asked)]
        assert len(found) % 3 == 0, f"a reader saw a part of a transaction: {len(found)} events of 3 each"
        assert trials == list(range(len(trials))), f"a reader saw the trials {trials}"
        known = [event.params for event in found if isinstance(event, Refit)][-1:]
        assert None not in known, "a reader saw the last refit without its parameters"
    assert len(final) == 90, f"90 events were added, {len(final)} are there"


def _in_threads(tasks: Sequence[Callable[[], None]]) -> None:
    """Run the tasks at once; what one raises is raised here."""
    raised: list[BaseException] = []

    def run(task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_WAIT)
    if raised:
        raise raised[0]
    assert not any(thread.is_alive() for thread in threads), f"threads still wait after {_WAIT:g} seconds"
