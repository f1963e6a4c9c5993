"""Executors: the caller's own thread, threads that wait for programs, and which of them a run uses."""

import threading
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from dataclasses import replace
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Literal, TypeAlias

from argbest.errors import InputError
from argbest.problems.base import Simulate
from argbest.simulators import process
from argbest.simulators.program import Program
from argbest.study.limits import Resources

_Job: TypeAlias = tuple["Future[Any]", Any, tuple[Any, ...], dict[str, Any]]


class Here(Executor):
    """Simulates at once, in the caller's thread."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Return a future that has its result already."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Threads(Executor):
    """A number of threads that wait for programs; left by an exception, Ctrl-C say, it kills these."""

    def __init__(self, number: int) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(number)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Return the future of a call."""
        future: Future[Any] = Future()
        self._jobs.put((future, fn, args, kwargs))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """End the threads, each after what it does."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        if kind is not None:
            process.abandon(self._threads)
        self.shutdown(wait=kind is None)
        return False

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, fn, args, kwargs = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)


def chosen(stack: ExitStack, simulate: Simulate, resources: Resources) -> tuple[Executor, int]:
    """Return what simulates, and how many trials it is given at once."""
    if resources.executor is not None:
        slots = resources.workers or getattr(resources.executor, "_max_workers", None)
        if not slots:
            raise InputError("this executor does not say how many run at once; give workers=... beside it.")
        return resources.executor, int(slots)
    if resources.workers is None and resources.timeout is None:
        return Here(), 1
    slots = resources.workers or 1
    if isinstance(simulate, Program):  # has processes of its own, and keeps its time; threads wait for them
        return stack.enter_context(Threads(slots)), slots
    from argbest.simulators.pool import SimulationPool, check_portable

    check_portable(simulate)
    return stack.enter_context(SimulationPool(slots, timeout=resources.whole_timeout)), slots


def in_time(simulate: Simulate, timeout: float | None) -> Simulate:
    """Return the simulator; a program keeps its time itself, so it is told the limit."""
    if timeout is None or not isinstance(simulate, Program):
        return simulate
    return replace(simulate, timeout=min(timeout, simulate.timeout or timeout))
