"""Workers of a stored study: which of them are alive, and what they do while its storage is out of reach.

They wait for the storage, and keep values that they cannot deliver in a file for `argbest tell`.
"""

import json
import math
import os
import secrets
import shlex
import socket
import stat
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from argbest.core.abilities import offers
from argbest.errors import OutageNotice, StorageError
from argbest.storage.base import Addressed, Storage, Told, Worker

try:
    import fcntl
except ImportError:  # Windows: there a worker is known to be dead only by its silence
    fcntl = None  # type: ignore[assignment]

BEAT = 5.0  # seconds between signs of life
_LAST_SIGN = 1.0  # seconds for a sign of life that is under way when a run ends
SILENCE = 60.0  # seconds without one after which a worker counts as dead
PAUSES = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 60.0)  # seconds between attempts: three minutes in all
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_SECONDS_KEPT = 86400.0  # seconds for which the file of a worker that ended is kept
_SELDOM = 64  # one worker in so many looks for old files when it begins: there may be thousands of workers


class Lifeline:
    """A lock that a process holds while it lives; without one, others can only go by its silence.

    The lock is on a file named after the worker's random identity. The system releases it when the process
    ends, however it ends; whoever finds the file and gets the lock knows that the worker is gone. Host names
    and process numbers prove nothing: containers and cloned machines share them. The name of the file also
    has the number of this boot of this machine: on a network drive, where locks may not work across machines,
    two machines would look like one otherwise.
    """

    def __init__(self, identity: str) -> None:
        self._number: int | None = None
        if fcntl is None:
            return
        with suppress(OSError):
            _folder().mkdir(mode=0o700, exist_ok=True)
            if secrets.randbelow(_SELDOM) == 0:
                _prune()
            self._number = locked(_path(identity), os.O_CREAT | os.O_EXCL)

    def release(self) -> None:
        """Release the lock, which tells others that this worker has ended."""
        if self._number is not None:
            os.close(self._number)
            self._number = None


def ended(identity: str) -> bool:
    """Return whether a worker has ended for certain; False where nothing is known about it."""
    if fcntl is None:
        return False
    try:
        number = locked(_path(identity))
    except OSError:  # no such file here, or somebody holds it
        return False
    if number is not None:
        os.close(number)
    return number is not None


def locked(path: Path, flags: int = 0) -> int | None:
    """Return the number of the open and locked file, None if the folder is not ours alone.

    An OSError says that somebody holds the lock. It is released when the file is closed or the process ends.
    """
    if fcntl is None or not _private(path.parent):
        return None
    number = os.open(path, os.O_RDWR | os.O_NOFOLLOW | flags, mode=0o600)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        raise
    return number


def boot() -> str:
    """Return the number of this boot of this machine; "boot" if the system has none."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return "boot"


def _path(identity: str) -> Path:
    return _folder() / f"{boot()}-{''.join(filter(str.isalnum, identity.rpartition('-')[2]))}"


def _folder() -> Path:
    return Path(tempfile.gettempdir()) / f"argbest-{os.getuid()}"


def _private(folder: Path) -> bool:
    """Return whether only we can write to a folder; elsewhere others could make this worker look dead."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _prune() -> None:
    """Remove files of workers that ended long ago."""
    for path in _folder().iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _SECONDS_KEPT and (number := locked(path)) is not None:
                path.unlink()
                os.close(number)


def _name() -> str:
    """Return a name that nobody else has: other machines may share our host name and process number."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(6)}"


@dataclass
class Presence:
    """What a worker says of itself; ``busy`` grows as simulations end."""

    slots: int = 1
    name: str = field(default_factory=_name)
    started: float = field(default_factory=time.time)
    busy: float = 0.0

    def greeting(self) -> Worker:
        """Return the sign of life of this moment."""
        host = socket.gethostname()
        return Worker(self.name, host, os.getpid(), self.started, time.time(), self.slots, self.busy)

    @contextmanager
    def announced(self, say: Callable[[Worker], None], patience: "Patience") -> Iterator[None]:
        """Give a sign of life now, every BEAT seconds, and at the end."""
        lifeline, over = Lifeline(self.name), threading.Event()

        def greet() -> None:
            try:
                say(self.greeting())
            except StorageError as error:  # the next one may get through
                patience.note(error)

        def greet_regularly() -> None:
            while not over.wait(BEAT):
                greet()

        thread = threading.Thread(target=greet_regularly, name="argbest presence", daemon=True)
        try:
            patience(lambda: say(self.greeting()))
            thread.start()
            yield
        finally:
            over.set()
            if thread.ident is not None:
                thread.join(_LAST_SIGN)
            if not patience.gave_up:
                greet()
            lifeline.release()


class Watch:
    """Finds workers that gave no sign of life for too long, by its own clock: those of others may differ."""

    def __init__(self, silence: float | None = None) -> None:
        self._silence = SILENCE if silence is None else silence
        self._last: dict[str, tuple[float, float]] = {}  # the last sign of life, and when it was first seen

    def dead(self, worker: Worker, *, unreached: float = -math.inf) -> bool:
        """Return whether a worker is gone: its process has ended, or it has been silent for too long.

        Silence up to ``unreached``, when the storage was last out of reach, does not count.
        """
        if ended(worker.name):
            return True
        now = time.monotonic()
        seen, since = self._last.get(worker.name, (worker.seen, now))
        if seen != worker.seen:
            seen, since = worker.seen, now
        self._last[worker.name] = seen, max(since, unreached)
        return now - max(since, unreached) >= self._silence


def alive(worker: Worker, now: float | None = None) -> bool:
    """Return whether a worker seems to be alive, as far as clocks agree."""
    return not ended(worker.name) and (time.time() if now is None else now) - worker.seen < SILENCE


_T = TypeVar("_T")


class Tries(Protocol):
    """A way to call something that may fail at first."""

    def __call__(self, action: Callable[[], _T]) -> _T:
        """Return what the action returns."""


def at_once(action: Callable[[], _T]) -> _T:
    """Return what the action returns, tried once."""
    return action()


class Patience:
    """Tries again while a storage may come back; after `end` everything is tried once.

    ``what`` names in words what is reached; ``wait`` sleeps between two tries, and may return earlier.
    """

    def __init__(self, what: str = "the storage", wait: Callable[[float], object] | None = None) -> None:
        self._what, self._sleep = what, wait
        self.unreached = -math.inf  # when the storage was last found out of reach, by the monotonic clock
        self.gave_up = False  # the last try failed, and there will be no other
        self._over = False

    def end(self) -> None:
        """Wait no more."""
        self._over = True

    def give_up(self) -> None:
        """Wait no more, and expect nothing of the storage."""
        self._over = self.gave_up = True

    def note(self, error: StorageError) -> None:
        """Take note that the storage could not be reached."""
        if error.transient:
            self.unreached = time.monotonic()

    def __call__(self, action: Callable[[], _T]) -> _T:
        """Return what the action returns, tried again after every trouble that may pass."""
        began: float | None = None
        for pause in (*PAUSES, None):
            try:
                found = action()
            except StorageError as error:
                self.note(error)
                if not error.transient or self._over or pause is None:
                    self.give_up()
                    raise
                if began is None:
                    began = time.monotonic()
                    _say(
                        f"{error.brief or error}; waiting for up to {sum(PAUSES):g} seconds. Nothing is lost."
                    )
                self._wait(pause)
            except Exception:
                self._say_passed(began)
                raise
            else:
                self.gave_up = False
                self._say_passed(began)
                return found
        raise AssertionError("unreachable: the last try returns or raises")

    def _wait(self, pause: float) -> None:
        try:
            (self._sleep or time.sleep)(pause)
        except BaseException:  # Ctrl-C: the user does not want to wait
            self.give_up()
            raise

    def _say_passed(self, began: float | None) -> None:
        if began is not None:
            _say(f"{self._what} can be reached again, after {time.monotonic() - began:.0f} seconds.")


def _say(words: str) -> None:
    warnings.warn(f"{time.strftime('%H:%M:%S')} {words}", OutageNotice, stacklevel=4)


def keep(storage: Storage, worker: str, values: Sequence[Told], responses: Sequence[str] = ()) -> str:
    """Return a sentence that says where the values are kept, and the command that delivers them."""
    lines = "".join(json.dumps(line(each, responses)) + "\n" for each in values)
    name = f"undelivered-{worker.rpartition('-')[2]}.jsonl"
    file = storage.path if offers(storage, Addressed) else None
    beside = None if file is None else file.parent
    return kept_beside(beside, name, lines, len(values), lambda path: _command(storage, path))


def kept_beside(folder: Path | None, name: str, text: str, n: int, command: Callable[[Path], str]) -> str:
    """Return a sentence that says where a text with n values is kept, and the command that delivers them."""
    lost = f"{n} simulated value{'s' if n > 1 else ''} could not be delivered"
    for place in _folders(folder):
        path = place / name
        with suppress(OSError):
            _write(path, text)
            return f"{lost}, so they are kept in {str(path)!r}. To deliver them later: {command(path)}"
    return f"{lost}, nor written to a file. They are: {text.strip()}"


def _folders(beside: Path | None) -> Iterable[Path]:
    """Yield where to write: beside the storage, in the working folder, in the temporary one."""
    if beside is not None:
        yield beside
    yield Path.cwd()
    yield Path(tempfile.gettempdir())


def line(told: Told, responses: Sequence[str] = ()) -> dict[str, Any]:
    """Return a result as a line that `argbest tell` reads, by the names of ``responses`` if there are any."""
    values = [list(each.values or ()) for each in told.responses]
    named = dict(zip(responses, values, strict=True)) if responses else values[0]
    return {"trial": told.trial, "values": named, "seconds": told.seconds}


def _write(path: Path, text: str) -> None:
    """Write a new file that is its owner's alone, all of it or nothing."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode=0o600)
    try:
        with open(number, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        path.unlink()
        raise


def _command(storage: Storage, path: Path) -> str:
    """Return the command that delivers the file; only a study in a database has an address."""
    address, name = (storage.address, storage.name) if offers(storage, Addressed) else ("STORAGE", "study")
    options = [] if name == "study" else ["--name", name]
    return shlex.join(["argbest", "tell", address, *options, "--file", str(path)])
