"""Running one program to its end, with its children, in bounded memory, even if this process is killed.

A process that is ended by SIGKILL cannot clean up. So a small process, the guard, listens at the other end
of a pipe on which process groups are announced; when the pipe closes, it kills the groups that are still
announced.
"""

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from argbest import texts

_SECONDS_TO_END = 10.0  # for the guard
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
_CHUNK = 2**16
_STDOUT = 2**20  # bytes kept of standard output: room for a JSON document
_TICK = 0.2  # seconds; on Windows a longer wait would not notice Ctrl-C
_DRAIN = 5.0  # seconds for what is left in the pipes once all writers are dead
_RUNNING: dict[threading.Thread, "subprocess.Popen[bytes]"] = {}  # by the thread that waits for it
_ABANDONED: "weakref.WeakSet[threading.Thread]" = weakref.WeakSet()


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Let an interruption wait until the block is over, so that nothing in it is left half done.

    That is Ctrl-C, and SIGTERM where somebody handles it: the system's own way with it cannot be postponed.
    """
    if threading.current_thread() is not threading.main_thread():  # no other is ever interrupted
        yield
        return
    waiting: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    usual = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in usual:
        signal.signal(number, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for came in waiting[:1]:
            usual[signal.Signals(came)](came, None)


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
                process.wait(_SECONDS_TO_END)

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


class Abandoned(Exception):  # noqa: N818  # what happened, not a mistake
    """Raised in a thread that would start a program after its run was given up."""


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code (None: out of time) and the ends of what it wrote."""

    code: int | None
    stdout: bytes
    stderr: bytes
    written: int  # bytes on standard output, of which `stdout` may be the end only


def run(
    arguments: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Ended:
    """Return how the program ended; no shell, nothing on its standard input, OSError if it cannot start.

    The program leads a process group of its own, and the whole group is killed when the program has ended,
    is out of time or is interrupted: what it started does not outlive it. (Only a child that leaves the group
    on purpose, as daemons do, escapes.)
    """
    ready()
    me = threading.current_thread()
    _refuse_if_abandoned(me)
    try:
        with postponed():  # an interruption in the midst of starting would leave a program nobody knows of
            process = _started(arguments, folder, environment)
            watch(process.pid)  # at once: until then a kill of ours would leave it behind
            _RUNNING[me] = process
            out, err = _LastBytes(process.stdout, _STDOUT), _LastBytes(process.stderr, texts.LONGEST)
        _refuse_if_abandoned(me)  # whoever abandons this thread from now on finds the program
        in_time = _wait(process, timeout)
    finally:
        if left := _RUNNING.pop(me, None):
            _kill(left)
            left.wait()
            release(left.pid)
    stdout, stderr = out.end(), err.end()
    return Ended(process.returncode if in_time else None, stdout, stderr, out.total)


def abandon(threads: Iterable[threading.Thread]) -> None:
    """Kill the programs that these threads are waiting for, and let them start no other."""
    for thread in threads:
        _ABANDONED.add(thread)
        process = _RUNNING.get(thread)
        if process is not None:
            _kill(process)


def _refuse_if_abandoned(thread: threading.Thread) -> None:
    if thread in _ABANDONED:
        raise Abandoned


def _started(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str] | None
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 the user's own program, without a shell
        list(arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=None if environment is None else {**os.environ, **environment},
        start_new_session=os.name == "posix",
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


def _wait(process: "subprocess.Popen[bytes]", timeout: float | None) -> bool:
    """Return whether the program ended in time; a thread waits, because `wait(timeout)` would poll."""
    waiter = threading.Thread(target=process.wait, daemon=True)
    waiter.start()
    limit = None if timeout is None else time.monotonic() + timeout
    while waiter.is_alive():
        left = _TICK if limit is None else limit - time.monotonic()
        if left <= 0:
            return process.returncode is not None
        waiter.join(min(left, _TICK))
    return True


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill the program if it is alive, and all of its group that is."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: a group of zombies may not be hit
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:  # Windows: with all it started
            system = Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "taskkill.exe")
            command = [str(system), "/F", "/T", "/PID", str(process.pid)]
            subprocess.run(command, capture_output=True, check=False)  # noqa: S603
            process.kill()


class _LastBytes:
    """The last bytes of a pipe, read by a thread so that the writer never waits."""

    def __init__(self, pipe: IO[bytes] | None, most: int) -> None:
        if pipe is None:
            raise RuntimeError("the program was started without a pipe")
        self.total = 0
        self._pipe, self._most, self._kept = pipe, most, bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def end(self) -> bytes:
        """Return the last bytes; a process that left the group and keeps the pipe open is not waited for."""
        self._reader.join(_DRAIN)
        return bytes(self._kept[-self._most :])

    def _read(self) -> None:
        with self._pipe:
            while chunk := os.read(self._pipe.fileno(), _CHUNK):
                self.total += len(chunk)
                self._kept += chunk
                if len(self._kept) > 2 * self._most:
                    del self._kept[: -self._most]
