"""The storage protocol: a study is its definition and the events that followed, in one order for everybody.

A study's state is a function of both, so that a process which has read all events knows the whole state:
processes share a study by reading what the others have added before they add to it. No value is ever changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from argbest.core.abilities import offers
from argbest.errors import ArgbestError, StorageError

Plain: TypeAlias = dict[str, Any]  # what JSON can hold, all numbers finite


@dataclass(frozen=True)
class Designed:
    """The initial design was fixed, where the study left it open until its first trial."""

    pairs: tuple[tuple[int, int], ...]  # positions, in the order of simulation
    reason: str  # why this design, for people
    time: float  # seconds since 1970


@dataclass(frozen=True)
class Asked:
    """A trial was decided on and given to a worker; ids count from 0."""

    trial: int  # its id
    alternative: int  # position of the alternative
    context: int  # position of the context
    replication: int  # how many trials of this pair were asked before
    seed: int  # of its random numbers
    designed: bool  # taken from the initial design, not decided by the policy
    worker: str  # who has it
    time: float  # seconds since 1970


@dataclass(frozen=True)
class Named:
    """The responses were named by the first result, where the problem did not name them."""

    responses: tuple[str, ...]  # their names, in the order of the result
    time: float  # seconds since 1970


class Response(NamedTuple):
    """What was told of one response of a trial."""

    mean: float  # of all values told
    m2: float  # sum of squared deviations from the mean
    values: tuple[float, ...] | None  # truth values as they came; None where only a summary was told


@dataclass(frozen=True)
class Told:
    """The result of a trial arrived; the user's units and sign. All responses have as many values."""

    trial: int  # its id
    n: int  # replications
    mean: float  # of the first response, by far most often the only one
    m2: float  # sum of squared deviations from the mean
    values: tuple[float, ...] | None  # truth values as they came; None where only a summary was told
    seconds: float | None  # how long the simulation took, where known
    time: float  # seconds since 1970
    further: tuple[Response, ...] | None = None  # of the second response and all after it, if there are any

    @property
    def responses(self) -> tuple[Response, ...]:
        """What was told of every response, in the order of the study's responses."""
        return Response(self.mean, self.m2, self.values), *(self.further or ())


def are_truths(values: tuple[float, ...] | None) -> bool:
    """Return whether there are values, and all are True or False."""
    return bool(values) and all(isinstance(each, bool) for each in values or ())


@dataclass(frozen=True)
class Failed:
    """A trial failed: it gave no value and never will."""

    trial: int  # its id
    reason: str  # why, for people
    again: bool  # its pair goes back to the initial design, if it came from there
    seconds: float | None  # how long the simulation took, where known
    time: float  # seconds since 1970


@dataclass(frozen=True)
class Passed:
    """A pending trial changed hands: back to the study (worker ""), or from there to a worker."""

    trial: int  # its id
    worker: str  # who has it
    time: float  # seconds since 1970


@dataclass(frozen=True)
class Refit:
    """Hyper-parameters were learned from the first ``n_records`` results told."""

    n_records: int  # trials whose values they rest on
    n_observations: int  # replications in them
    params: Mapping[str, Any] | None  # plain values; None once a later refit has taken its place


@dataclass(frozen=True)
class Begun:
    """The policy fixed what it fixes once, from the first ``n_records`` results told."""

    n_records: int  # trials whose values it rests on


@dataclass(frozen=True)
class Readmitted:
    """Pairs set aside for their failures are tried again: what failed before no longer counts."""

    time: float  # seconds since 1970


@dataclass(frozen=True)
class Parted:
    """Every pair has seeds of its own from here on: shared ones made differences less certain."""

    time: float  # seconds since 1970


@dataclass(frozen=True)
class Enqueued:
    """The user chose pairs that are to be asked for next, before the initial design and the policy's."""

    pairs: tuple[tuple[int, int], ...]  # positions, in the order of simulation
    time: float  # seconds since 1970


@dataclass(frozen=True)
class Revised:
    """The table changed: rows were added, retired or readmitted, or contexts count otherwise."""

    alternatives: Mapping[str, Any] | None  # those added, plain: labels and columns; None: none
    contexts: Mapping[str, Any] | None
    retired_alternatives: tuple[int, ...]  # positions of all that are retired from here on
    retired_contexts: tuple[int, ...]
    shares: tuple[float, ...]  # the relative weight of every context, also of retired ones
    pairs: tuple[tuple[int, int], ...]  # new pairs that are simulated before the policy decides
    cost: tuple[float, ...] | None  # of every pair, row by row, where the study has a table of costs
    # How many numbers of replications were in use in every context: what these showed may have decided what
    # is added; (): no value was told yet.
    seen: tuple[int, ...]
    time: float  # seconds since 1970


Event: TypeAlias = (
    Designed
    | Asked
    | Told
    | Failed
    | Passed
    | Refit
    | Begun
    | Readmitted
    | Parted
    | Enqueued
    | Named
    | Revised
)


@dataclass(frozen=True)
class Worker:
    """Somebody who simulates trials of a study; alive while ``seen`` is recent."""

    name: str  # what it calls itself
    host: str  # its machine
    process: int  # its process there
    started: float  # seconds since 1970
    seen: float  # when it was heard of last, seconds since 1970
    slots: int  # simulations it runs at once
    busy: float  # seconds spent simulating, of all slots


class Log(Protocol):
    """The events of a study, while nobody else can add to them."""

    def since(self, revision: int) -> Sequence[Event]:
        """Return all events but the first ``revision``, in their order.

        Args:
            revision: How many events are known already.
        """

    def append(self, events: Sequence[Event]) -> None:
        """Add events; all that one `exclusive` adds becomes visible at once when it ends.

        Args:
            events: The new events, in their order.
        """


class Storage(Protocol):
    """Where one study is kept. Every failure is a StorageError; what was acknowledged stays."""

    def create(self, definition: Plain) -> None:
        """Keep the definition of a new study; a StorageError if there is one already.

        Args:
            definition: What was fixed before the first trial, as JSON can hold it.
        """

    def definition(self) -> Plain | None:
        """Return the definition, None if no study was created here."""

    def since(self, revision: int) -> Sequence[Event]:
        """Return all events but the first ``revision``; others may be adding more at this moment.

        Args:
            revision: How many events are known already.
        """

    def exclusive(self) -> AbstractContextManager[Log]:
        """Return a context in which nobody else can add events; an exception inside it discards its own."""

    def greet(self, worker: Worker) -> None:
        """Store a worker's sign of life in place of the one before.

        Args:
            worker: What it says of itself.
        """

    def workers(self) -> Sequence[Worker]:
        """Return the last sign of life of every worker, by name."""

    def close(self) -> None:
        """Close files and connections."""


# What a storage may offer beyond that, each by having the member (`argbest.core.abilities.offers`); two more
# are in `argbest.storage.pages`.


class SaysWhoSeesIt(Storage, Protocol):
    """A storage that knows whether other processes can see it; others are taken to be shared."""

    private: bool


class ListsStudies(Storage, Protocol):
    """A storage that keeps several studies; others are taken to hold their own study alone."""

    def names(self) -> Sequence[str]:
        """Return the names of all studies in it."""


class ChecksItself(Storage, Protocol):
    """A storage that can find damage of its own; others are checked by reading their events alone."""

    def integrity(self) -> None:
        """Raise a StorageError if it is damaged."""


class Addressed(Protocol):
    """A storage that says where a command finds its study."""

    name: str  # of the study

    @property
    def called(self) -> str:
        """What the user calls the place, without a password."""

    @property
    def address(self) -> str:
        """The path or URL that a command takes, without a password."""

    @property
    def path(self) -> Path | None:
        """The file, None for a database on a server."""


def is_shared(storage: Storage) -> bool:
    """Return whether other processes may see a storage."""
    return not (offers(storage, SaysWhoSeesIt) and storage.private)


BACKUP = "Another program changed the database, or it is damaged: restore a backup."
_ERRORS_OF_DAMAGED_DATA = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError,
)  # fmt: skip


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn errors that damaged data cause in the block into a StorageError about ``what``."""
    try:
        yield
    except ArgbestError:
        raise
    except _ERRORS_OF_DAMAGED_DATA as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise StorageError(f"{what} holds data that argbest never wrote ({reason}). {BACKUP}") from error
