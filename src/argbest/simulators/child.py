"""One process that does jobs for another, can be killed at any time, and never outlives it."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from typing import Any

from argbest.errors import InputError, SimulationError
from argbest.files import lasting_streams
from argbest.simulators.function import Function

NAME = "argbest-simulator"
UNGUARDED = 83  # exit code of a child whose main module would start a pool in turn
_TICK = 1.0  # seconds between two looks at a child that says nothing
_LOADED = b"loaded"
_GRACE = 2.0  # seconds a child has to end by itself
_REAPING = 10.0  # seconds the system has to end one that was killed
_STARTING = threading.RLock()  # multiprocessing's own book-keeping is not safe between threads
_RUNNING, _DEAD, _REAPED = "running", "dead", "reaped"


class ProcessDied(SimulationError):  # noqa: N818  # what happened, not a mistake
    """The process of a job ended before the job did."""


class StartError(Exception):
    """A child ended before it was ready, with exit code ``code``."""

    def __init__(self, code: int | None) -> None:
        self.code = code
        super().__init__(
            f"a process for simulations {_manner(code)} before it was ready; what it wrote on standard error "
            "says why. Perhaps the main script cannot be imported again, or memory is short."
        )


class Child:
    """A process that waits for jobs."""

    def __init__(self, context: BaseContext) -> None:
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_live, args=(theirs,), name=NAME)  # type: ignore[attr-defined]
        self.alive = True
        try:
            with _STARTING:
                self._process.start()
        finally:
            theirs.close()

    def ready(self) -> None:
        """Return when the child can take a job; StartError if it ends before."""
        try:
            self._wait(None)
            self._pipe.recv_bytes()
        except (EOFError, OSError):
            raise StartError(self._death(grace=_GRACE)) from None

    def do(self, payload: bytes, timeout: float | None) -> Any:
        """Return what the call in the payload returns, or raise what it raises."""
        try:
            self._pipe.send_bytes(payload)
            self._wait(None)
            answer = self._pipe.recv_bytes()
            in_time = answer != _LOADED or self._wait(timeout)  # importing a simulator is not on the clock
            if answer == _LOADED and in_time:
                answer = self._pipe.recv_bytes()
        except (EOFError, OSError):
            raise ProcessDied(f"its process {_manner(self._death(grace=_GRACE))}") from None
        if not in_time:
            self._death(grace=0.0)
            raise TimeoutError(f"it ran longer than {timeout:g} s and was killed")
        well, result = pickle.loads(answer)  # noqa: S301  # from our own child
        if not well:
            raise result
        return result

    def kill(self) -> None:
        """Kill the child and what it started, at once; safe from any thread."""
        with _STARTING:
            with contextlib.suppress(OSError, ValueError):
                if hasattr(os, "killpg") and self._state() != _REAPED:
                    os.killpg(self._process.pid, signal.SIGKILL)
            with contextlib.suppress(OSError, ValueError):
                self._process.kill()  # before it led a group, or where there are none

    def end(self, *, at_once: bool) -> None:
        """Let the child end, kill it if it does not, and leave no zombie."""
        with contextlib.suppress(OSError):
            if self.alive and not at_once:
                self._pipe.send_bytes(b"")
        self._death(grace=0.0 if at_once else _GRACE)
        self._pipe.close()  # the process object is left to the collector: multiprocessing may be joining it

    def _wait(self, timeout: float | None) -> bool:
        """Return whether there is something to read in time; EOFError if the child has ended."""
        limit = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _TICK if limit is None else min(_TICK, limit - time.monotonic())
            # What the child started may hold these open after its end, so a look at the child is needed too.
            if wait([self._pipe, self._process.sentinel], max(left, 0.0)) or self._state() != _RUNNING:
                if not self._pipe.poll():
                    raise EOFError
                return True
            if limit is not None and time.monotonic() >= limit:
                return False

    def _death(self, *, grace: float) -> int | None:
        """Return the exit code of the child, reaped; killed if it still lives after ``grace`` seconds."""
        self.alive = False
        wait([self._process.sentinel], grace)
        self.kill()
        limit = time.monotonic() + _REAPING
        while True:
            with _STARTING:
                code: int | None = self._process.exitcode
            if code is not None or time.monotonic() > limit:
                return code
            time.sleep(0.001)  # its files are closed a moment before it can be reaped

    def _state(self) -> str:
        """Return the state of the process; asking does not reap it, where the system has such a question."""
        with _STARTING:
            if hasattr(os, "waitid"):
                with contextlib.suppress(ChildProcessError):  # reaped, or a fork server's child
                    look = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                    return _RUNNING if look is None else _DEAD
            return _RUNNING if self._process.is_alive() else _REAPED


def _manner(code: int | None) -> str:
    """Return how a process ended, in words."""
    if code is None:
        return "was lost"
    if code >= 0:
        return f"ended with exit code {code}"
    with contextlib.suppress(ValueError):
        hint = " (perhaps for lack of memory)" if -code == getattr(signal, "SIGKILL", None) else ""
        return f"died of {signal.Signals(-code).name}{hint}"
    return f"died of signal {-code}"


def _live(pipe: "Connection[Any, Any]") -> None:
    """Do the jobs that come, until the pipe or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # whatever the parent does then, a simulation ends
    _follow_parent()
    pipe.send_bytes(b"ready")
    while True:
        try:
            payload = pipe.recv_bytes()
        except (EOFError, OSError):
            payload = b""
        if not payload:
            return
        answer = _answer(payload, lambda: pipe.send_bytes(_LOADED))
        del payload
        try:
            pipe.send_bytes(answer)
        except OSError:
            return


def _answer(payload: bytes, loaded: Callable[[], None]) -> bytes:
    """Return the pickled (True, result) or (False, error) of a call, after saying that it is loaded."""
    try:
        fn, args, kwargs = pickle.loads(payload)  # noqa: S301  # from our own parent
        for part in args:
            if isinstance(part, Function):
                _ = part.target
    except Exception as error:
        text = f"a worker process cannot load the simulator ({type(error).__name__}: {error}); "
        hint = "define it at the top level of a module that the process can import"
        return pickle.dumps((False, InputError(f"{text}{hint}.")))
    loaded()
    try:
        with lasting_streams():  # what simulators print is out before a kill could swallow it
            return pickle.dumps((True, fn(*args, **kwargs)), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        error.add_note("in a process for simulations:\n" + traceback.format_exc())
        with contextlib.suppress(Exception):
            answer = pickle.dumps((False, error))
            pickle.loads(answer)  # noqa: S301  # many exceptions can be written but not read
            return answer
        return pickle.dumps((False, SimulationError(f"{type(error).__name__}: {error}")))


def _follow_parent() -> None:
    """Die with the parent, even if a computation never lets another Python thread run.

    The child leads a process group of its own, so that whatever it starts dies with it. The kernel signals
    the group when the parent's end of a pipe closes (SIGIO); where it cannot, a thread waits for the same.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    if os.name == "posix":
        import fcntl

        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
            fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, -os.getpgrp())
            flags = fcntl.fcntl(parent.sentinel, fcntl.F_GETFL)
            fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, flags | os.O_ASYNC)

    def follow() -> None:
        parent.join()
        if os.name == "posix" and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=follow, name=f"{NAME}-watch", daemon=True).start()
