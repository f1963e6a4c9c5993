"""Presence: how workers of a stored study know which of them are alive."""

import math
import os
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from argbest.errors import StorageError
from argbest.storage.base import Worker
from argbest.study.patience import Patience

try:
    import fcntl
except ImportError:  # Windows: there only silence tells
    fcntl = None  # type: ignore[assignment]

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_KEPT = 86400.0  # seconds for which the file of a worker that ended is kept
_SELDOM = 64  # so many workers begin for each that looks for old files: there may be thousands of them


class Lifeline:
    """What a process holds while it lives; if it cannot be held, others go by its silence.

    It is a lock on a file named after the worker's random identity: the system lets go of it when the process
    ends, however it ends, and whoever finds the file and gets the lock knows. Host names and process numbers
    prove nothing: containers and cloned machines share them. The file's name also has the number of this boot
    of this machine, lest a folder on a network drive, where locks may not reach, makes two machines look like
    one.
    """

    def __init__(self, identity: str) -> None:
        self._number: int | None = None
        if fcntl is None:
            return
        with suppress(OSError):
            _folder().mkdir(mode=0o700, exist_ok=True)
            if secrets.randbelow(_SELDOM) == 0:
                _prune()
            self._number = _locked(_path(identity), os.O_CREAT | os.O_EXCL)

    def let_go(self) -> None:
        """Tell that this worker has ended."""
        if self._number is not None:
            os.close(self._number)
            self._number = None


def ended(identity: str) -> bool:
    """Return whether a worker has ended for certain; False where nothing is known about it."""
    if fcntl is None:
        return False
    try:
        number = _locked(_path(identity))
    except OSError:  # no such file here, or somebody holds it
        return False
    if number is not None:
        os.close(number)
    return number is not None


def _locked(path: Path, flags: int = 0) -> int | None:
    """Return the number of the open and locked file, None if the folder is not ours alone."""
    if not _private(path.parent):
        return None
    number = os.open(path, os.O_RDWR | os.O_NOFOLLOW | flags, mode=0o600)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        raise
    return number


def _path(identity: str) -> Path:
    try:
        boot = _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        boot = "boot"
    return _folder() / f"{boot}-{''.join(filter(str.isalnum, identity.rpartition('-')[2]))}"


def _folder() -> Path:
    return Path(tempfile.gettempdir()) / f"argbest-{os.getuid()}"


def _private(folder: Path) -> bool:
    """Return whether a folder is ours alone: in one that others can write to they could feign our death."""
    found = folder.lstat()
    return (
        folder.is_dir()
        and not folder.is_symlink()
        and found.st_uid == os.getuid()
        and not found.st_mode & 0o077
    )


def _prune() -> None:
    """Remove files of workers that ended long ago."""
    for path in _folder().iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _KEPT and (number := _locked(path)) is not None:
                path.unlink()
                os.close(number)


BEAT = 5.0  # seconds between signs of life
_FAREWELL = 1.0  # seconds for a sign of life that is under way when a run ends
SILENCE = 60.0  # seconds without one after which a worker counts as dead


class Register(Protocol):
    """Where signs of life are kept, a storage for example."""

    def greet(self, worker: Worker) -> None:
        """Keep what a worker says of itself, in place of what it said before."""


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
    def shown(self, storage: Register, patience: Patience) -> Iterator[None]:
        """Give a sign of life now, every BEAT seconds, and at the end."""
        lifeline, over = Lifeline(self.name), threading.Event()

        def greet() -> None:
            try:
                storage.greet(self.greeting())
            except StorageError as error:  # the next one may get through
                patience.note(error)

        def go_on() -> None:
            while not over.wait(BEAT):
                greet()

        thread = threading.Thread(target=go_on, name="argbest presence", daemon=True)
        try:
            patience(lambda: storage.greet(self.greeting()))
            thread.start()
            yield
        finally:
            over.set()
            if thread.ident is not None:
                thread.join(_FAREWELL)
            if not patience.in_vain:
                greet()
            lifeline.let_go()


class Watch:
    """Who has given no sign of life for too long, by the watcher's own clock: others' clocks may differ."""

    def __init__(self, silence: float | None = None) -> None:
        self._silence = SILENCE if silence is None else silence
        self._last: dict[str, tuple[float, float]] = {}  # what was seen, and since when

    def dead(self, worker: Worker, *, deaf: float = -math.inf) -> bool:
        """Return whether a worker is gone: its process has ended, or it has been silent since we look.

        What was silent while we were ``deaf``, up to that moment, may have called in vain.
        """
        if ended(worker.name):
            return True
        now = time.monotonic()
        seen, since = self._last.get(worker.name, (worker.seen, now))
        if seen != worker.seen:
            seen, since = worker.seen, now
        self._last[worker.name] = seen, max(since, deaf)
        return now - max(since, deaf) >= self._silence


def alive(worker: Worker, now: float | None = None) -> bool:
    """Return whether a worker seems to be there, as far as clocks agree."""
    return not ended(worker.name) and (time.time() if now is None else now) - worker.seen < SILENCE
