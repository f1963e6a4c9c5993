"""Standard output and standard error whose readers may leave, as behind `| head`: the work goes on."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from argbest.errors import ArgbestError


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
