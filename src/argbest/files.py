"""Files written as a whole: beside what is there, and then put in its place."""

import contextlib
import errno
import os
import secrets
import stat
import sys
from pathlib import Path

from argbest.errors import ArgbestError, InputError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # the place is right, and yet it fails


def write(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Return the path of the file, written: all of it is there, or the file is as it was before.

    A file that exists keeps its mode, a link still leads where it did; pipes and devices are written to.
    """
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    place = Path(path)
    try:
        there = _status(place)
        own = None if there is None else _own(there)
        if own is None and (there is None or stat.S_ISREG(there.st_mode)):
            _put(Path(os.path.realpath(place)), data, there)
        else:
            _pour(place if own is None else os.dup(own), data)
    except (OSError, ValueError) as error:  # ValueError: a name with the character NUL
        raise _failure(place, error) from error
    return place


def _status(place: Path) -> os.stat_result | None:
    """Return what is at the path, None for nothing."""
    try:
        return place.stat()
    except FileNotFoundError:
        return None


def _put(target: Path, data: bytes, there: os.stat_result | None) -> None:
    """Write a file beside the target and let it take its place."""
    if there is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # renaming would not ask
    beside = target.with_name(f".argbest-{secrets.token_hex(6)}.part")
    descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        if there is not None:
            if hasattr(os, "chown"):
                with contextlib.suppress(PermissionError):  # a file of somebody else becomes ours
                    os.chown(beside, there.st_uid, there.st_gid)
            beside.chmod(stat.S_IMODE(there.st_mode))
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _own(there: os.stat_result) -> int | None:
    """Return 1 or 2 if this is where standard output or standard error goes, as with /dev/stdout."""
    for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or nothing that can be found
            if os.path.samestat(there, os.fstat(descriptor)):
                stream.flush()  # what was said before comes first
                return descriptor
    return None


def _pour(place: Path | int, data: bytes) -> None:
    """Write to a pipe, a terminal or a device; a reader that is gone has read enough."""
    with contextlib.suppress(BrokenPipeError), open(place, "wb", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]


def _failure(place: Path, error: OSError | ValueError) -> ArgbestError:
    reason = getattr(error, "strerror", None) or str(error)
    said = f"cannot write {str(place)!r}: {reason}."
    if getattr(error, "errno", None) not in _FULL:
        return InputError(f"{said} Name another file, in a folder that exists and that you may write to.")
    return ArgbestError(
        f"{said} The old file is unchanged. Free some space or name another place, and try again."
    )
