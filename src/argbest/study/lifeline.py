"""Lifelines: how processes of one machine know for certain that another one has ended.

A worker holds a lock on a file named after its random identity; the system lets go of it when the process
ends, however it ends. Whoever finds the file and gets the lock knows. Host names and process numbers prove
nothing: containers and cloned machines share them. The file's name also has the number of this boot of this
machine, lest a folder on a network drive, where locks may not reach, makes two machines look like one.
"""

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: there only silence tells
    fcntl = None  # type: ignore[assignment]

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_KEPT = 86400.0  # seconds for which the file of a worker that ended is kept


class Lifeline:
    """What a process holds while it lives; if it cannot be held, others go by its silence."""

    def __init__(self, identity: str) -> None:
        self._number: int | None = None
        if fcntl is None:
            return
        with suppress(OSError):
            _folder().mkdir(mode=0o700, exist_ok=True)
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
