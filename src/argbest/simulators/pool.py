"""A pool of processes for simulators that may hang, crash or eat all memory: each job fails alone."""

import atexit
import multiprocessing
import os
import pickle
import queue
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

from argbest.checks import finite, one_of, whole
from argbest.errors import InputError
from argbest.simulators.child import NAME, UNGUARDED, Child, ProcessDied, StartError

_P = ParamSpec("_P")
_T = TypeVar("_T")

_GUARD = (
    "each of several processes imports the script that starts it, so the code that runs must be below\n\n"
    '    if __name__ == "__main__":\n\n'
    "Put the call of the study there; problem and simulator stay at the top level."
)


class SimulationPool(Executor):
    """An executor of processes, each of which can be killed and replaced without the others.

    A job whose process dies raises `ProcessDied`. Processes start when they are needed, and end with this
    one, however it ends. Leaving a `with` block by an exception kills what runs.

    Args:
        workers: How many processes.
        timeout: After how many seconds a job is killed; it raises TimeoutError.
        context: The start method of `multiprocessing`.
    """

    def __init__(self, workers: int, *, timeout: float | None = None, context: str = "spawn") -> None:
        self.workers = whole("workers", workers, at_least=1, at_most=10**4)
        limit = None if timeout is None else finite("timeout", timeout, above=0.0)
        one_of("start method", context, multiprocessing.get_all_start_methods())
        check_guarded()
        self._shared = _Shared(partial(Child, multiprocessing.get_context(context)), limit)
        self._slots: list[threading.Thread] = []
        # Slots hold what is shared, not the pool: a pool nobody holds any more is closed.
        self._end = weakref.finalize(self, self._shared.close, kill=True)
        self._end.atexit = False  # but after it, so before multiprocessing waits for its children
        atexit.register(self._end)

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Return the future of ``fn(*args, **kwargs)``; InputError if that cannot be sent to a process.

        Args:
            fn: What to call.
            args: What it is called with.
            kwargs: What it is called with, by name.
        """
        payload = _packed((fn, args, kwargs))
        shared = self._shared
        with shared.lock:
            if shared.closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            future: Future[_T] = Future()
            shared.waiting.put(_Job(future, payload))
            shared.unfinished += 1
            if shared.unfinished > len(self._slots) < self.workers:
                slot = threading.Thread(target=_serve, args=(shared,), name=NAME, daemon=True)
                self._slots.append(slot)
                slot.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes once all jobs are done; with ``cancel_futures`` at once, killing what runs."""
        self._shared.close(kill=cancel_futures)
        if wait:
            for slot in self._slots:
                slot.join()
            atexit.unregister(self._end)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        self.shutdown(cancel_futures=kind is not None)
        return False


def check_portable(simulate: Callable[..., Any], *, context: str = "spawn") -> None:
    """Raise an InputError if a process started by ``context`` could not be given the simulator."""
    payload = _packed(simulate)
    main = sys.modules.get("__main__")
    if context != "fork" and b"__main__" in payload and not hasattr(main, "__file__"):
        raise InputError(
            f"{_named(simulate)} was defined in an interactive session, where other processes cannot find "
            "it; define it at the top level of a module (a file) and import it."
        )
    check_guarded()


def check_guarded() -> None:
    """Raise an InputError if the main module is only being imported by a process that just starts.

    A process of our own ends quietly instead: the pool that started it then gives the explanation, once.
    """
    process = multiprocessing.current_process()
    if getattr(process, "_inheriting", False):
        if process.name == NAME:
            sys.exit(UNGUARDED)
        raise InputError(_GUARD)


class _Job(NamedTuple):
    future: "Future[Any]"
    payload: bytes


@dataclass
class _Shared:
    """What the pool and its slots share."""

    start: Callable[[], Child]
    timeout: float | None
    waiting: "queue.SimpleQueue[_Job | None]" = field(default_factory=queue.SimpleQueue)
    lock: threading.RLock = field(default_factory=threading.RLock)  # a collection may close while submitting
    children: set[Child] = field(default_factory=set)
    unfinished: int = 0
    closed: bool = False
    killed: bool = False
    proven: bool = False  # a child has started, so the main module can be imported
    broken: InputError | None = None
    owner: int = field(default_factory=os.getpid)

    def close(self, *, kill: bool) -> None:
        """Take no more jobs; with ``kill`` drop those waiting and kill those running."""
        if os.getpid() != self.owner:  # in a fork at its exit: these are not its processes
            return
        with self.lock:
            self.closed, self.killed = True, self.killed or kill
            while self.killed and not self.waiting.empty():
                if (job := self.waiting.get()) is not None and job.future.cancel():
                    job.future.set_running_or_notify_cancel()
            for child in self.children if self.killed else ():
                child.kill()
        self.waiting.put(None)

    def child(self) -> Child:
        """Return a new child that is ready for jobs."""
        if self.broken is not None:
            raise self.broken
        child = self.start()
        with self.lock:
            self.children.add(child)
            if self.killed:
                child.kill()
        try:
            child.ready()
        except StartError as error:
            self.retire(child)
            if self.proven or self.killed:
                raise ProcessDied(str(error)) from None
            self.broken = InputError(_GUARD if error.code == UNGUARDED else str(error))
            raise self.broken from None
        self.proven = True
        return child

    def retire(self, child: Child) -> None:
        """End a child and forget it."""
        child.end(at_once=self.killed)
        with self.lock:
            self.children.discard(child)

    def finish(self, job: _Job, error: BaseException | None, result: object = None) -> None:
        """Tell the future; the job is counted before, so that whoever wakes up finds the slot free."""
        with self.lock:
            self.unfinished -= 1
        if error is None:
            job.future.set_result(result)
        elif self.killed and isinstance(error, ProcessDied):
            job.future.set_exception(ProcessDied("it was killed, because the pool was shut down"))
        else:
            job.future.set_exception(error)


def _serve(shared: _Shared) -> None:
    """Do jobs, one after the other, in a child of this slot's own; a slot lives as long as the pool."""
    child: Child | None = None
    while (job := shared.waiting.get()) is not None:
        if not job.future.set_running_or_notify_cancel():
            with shared.lock:
                shared.unfinished -= 1
            continue
        try:
            child = child or shared.child()
            result = child.do(job.payload, shared.timeout)
        except BaseException as error:
            if child is not None and not child.alive:
                shared.retire(child)
                child = None
            shared.finish(job, error)
        else:
            shared.finish(job, None, result)
            del result
        del job  # a waiting slot holds neither results nor arguments
    shared.waiting.put(None)  # for the next slot
    if child is not None:
        shared.retire(child)


def _packed(what: object) -> bytes:
    """Return what is to be sent to another process, or say why it cannot be."""
    try:
        return pickle.dumps(what, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    for part in _parts(what):
        name = getattr(part, "__qualname__", "")
        if "<lambda>" in name or "<locals>" in name:
            kind = "a lambda" if "<lambda>" in name else f"{name!r}, a function defined inside another,"
            raise InputError(
                f"{kind} cannot be sent to other processes; define it at the top level of a module."
            )
    raise InputError(
        f"{_named(what)} cannot be sent to other processes ({text}); define the simulator at the top level "
        "of a module, and let it open files and connections itself rather than hold them."
    )


def _parts(what: object) -> list[object]:
    """Return the functions in a call: of its arguments, of partials and of bound methods."""
    if isinstance(what, tuple | list):
        return [found for part in what for found in _parts(part)]
    if isinstance(what, dict):
        return _parts(list(what.values()))
    if isinstance(what, partial):
        return [*_parts(what.func), *_parts(what.args), *_parts(what.keywords)]
    return [what, type(what)]


def _named(what: object) -> str:
    return str(getattr(what, "__qualname__", type(what).__qualname__))
