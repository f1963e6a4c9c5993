"""A guard that outlives this process, to kill the programs it was running when it was killed itself.

Whoever is ended by SIGKILL cannot tidy up. So a small process listens at the other end of a pipe to which
process groups are announced; when the pipe closes, for whatever reason, it kills the groups still announced.
"""

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

_FAREWELL = 10.0  # seconds for the guard to end

_SOURCE = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    number = int(line)
    groups.add(number) if number > 0 else groups.discard(-number)
for number in groups:
    try:
        os.killpg(number, signal.SIGKILL)
    except OSError:
        pass
"""


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Let an interruption wait until the block is over, so that nothing in it is left half done."""
    if threading.current_thread() is not threading.main_thread():  # no other is ever interrupted
        yield
        return
    waiting: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual or signal.SIG_DFL)
        if waiting and callable(usual):
            usual(waiting[0], None)


class _Guard:
    """The guard of this process, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def tell(self, number: int) -> None:
        """Announce a group, or by its negative that it is gone; without a guard nothing happens.

        An interruption waits: in the midst of `poll` it would leave a lock behind, and `close` would wait for
        that for ever.
        """
        with postponed(), self._lock, contextlib.suppress(OSError):
            if self._process is None or self._process.poll() is not None:
                self.close()
                self._process = subprocess.Popen(  # noqa: S603 our own source
                    [sys.executable, "-I", "-S", "-c", _SOURCE],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=os.sep,
                    bufsize=0,
                    start_new_session=True,
                )
            if self._process.stdin is not None:
                self._process.stdin.write(b"%d\n" % number)

    def close(self) -> None:
        """Let the guard end."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_FAREWELL)

    def forget(self) -> None:
        """Leave the guard to the process that this one is a fork of."""
        process, self._process, self._lock = self._process, None, threading.Lock()
        if process is not None and process.stdin is not None:
            process.stdin.close()
            process.returncode = 0  # not ours to wait for


_GUARD = _Guard()
_POSSIBLE = os.name == "posix" and bool(sys.executable)
if _POSSIBLE:
    atexit.register(_GUARD.close)
    os.register_at_fork(after_in_child=_GUARD.forget)


def ready() -> None:
    """Start the guard if it does not run: starting takes longer than a kill may leave time for."""
    if _POSSIBLE:
        _GUARD.tell(0)


def watch(group: int) -> None:
    """Have the group killed if this process dies before it says `release`."""
    if _POSSIBLE:
        _GUARD.tell(group)


def release(group: int) -> None:
    """Say that the group is gone."""
    if _POSSIBLE:
        _GUARD.tell(-group)
