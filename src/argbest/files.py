"""Where output goes: files written as a whole, and standard streams whose readers may leave (`| head`).

A file is written beside what is there, and then put in its place.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

from argbest.errors import ArgbestError, InputError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # the place is right, and yet it fails


def write(path: str | os.PathLike[str], content: str | bytes, *, mode: int = 0o666) -> Path:
    """Return the path of the file, written: all of it is there, or the file is as it was before.

    A file that exists keeps its mode, a new one gets ``mode`` less the umask. A link still leads where it
    did; pipes and devices are written to.
    """
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    place = Path(path)
    try:
        there = _status(place)
        own = None if there is None else _own(there)
        if own is None and (there is None or stat.S_ISREG(there.st_mode)):
            _put(Path(os.path.realpath(place)), data, there, mode)
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


def _put(target: Path, data: bytes, there: os.stat_result | None, mode: int) -> None:
    """Write a file beside the target and let it take its place."""
    if there is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # renaming would not ask
    beside = target.with_name(f".argbest-{os.urandom(6).hex()}.part")
    descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        if there is not None:
            if hasattr(os, "chown"):
                with suppress(PermissionError):  # a file of somebody else becomes ours
                    os.chown(beside, there.st_uid, there.st_gid)
            beside.chmod(stat.S_IMODE(there.st_mode))
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _own(there: os.stat_result) -> int | None:
    """Return 1 or 2 if this is where standard output or standard error goes, as with /dev/stdout."""
    for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
        with suppress(AttributeError, OSError, ValueError):  # closed, or nothing that can be found
            if os.path.samestat(there, os.fstat(descriptor)):
                stream.flush()  # what was said before comes first
                return descriptor
    return None


def _pour(place: Path | int, data: bytes) -> None:
    """Write to a pipe, a terminal or a device; a reader that is gone has read enough."""
    with suppress(BrokenPipeError), open(place, "wb", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]


def _failure(place: Path, error: OSError | ValueError) -> ArgbestError:
    reason = getattr(error, "strerror", None) or str(error)
    what = f"cannot write {str(place)!r}: {reason}."
    if getattr(error, "errno", None) not in _FULL:
        return InputError(f"{what} Name another file, in a folder that exists and that you may write to.")
    return ArgbestError(
        f"{what} The old file is unchanged. Free some space or name another place, and try again."
    )


@contextmanager
def lasting_streams() -> Iterator[None]:
    """Let nobody who prints in here notice that a reader has left.

    Standard output on a full disk is an `ArgbestError`; of standard error nobody could be told.
    """
    usual = sys.stdout, sys.stderr
    made = [None if stream is None else _Lasting(stream) for stream in usual]
    sys.stdout, sys.stderr = cast("list[TextIO]", made)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = usual
        for stream in filter(None, made):
            with suppress(ValueError, ArgbestError):  # it was closed, or cannot be written to
                stream.flush()


def unheard() -> bool:
    """Return whether the reader of standard output is known to have left."""
    return getattr(sys.stdout, "gone", False)


class _Lasting:
    """A stream that leads nowhere once it cannot be written to."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.gone = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Return how many characters were taken."""
        with self._surviving():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Pass on what is buffered."""
        with self._surviving():
            self._stream.flush()

    @contextmanager
    def _surviving(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.gone = True
            with open(os.devnull, "wb") as nowhere, suppress(OSError):
                os.dup2(nowhere.fileno(), self._stream.fileno())  # what is left in buffers can go there
            if self is sys.stdout and not isinstance(error, BrokenPipeError):
                raise ArgbestError(
                    f"cannot write to standard output: {error.strerror or error}. Make room, or send it "
                    "elsewhere."
                ) from error
