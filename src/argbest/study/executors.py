"""Executors: the caller's own thread, threads that wait for programs, which a run uses, what comes back."""

import threading
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import ExitStack
from dataclasses import replace
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Literal, TypeAlias

from argbest.errors import InputError, SimulationError
from argbest.problems.base import Simulate
from argbest.simulators import process
from argbest.simulators.calling import Outcome
from argbest.simulators.program import Program
from argbest.study.limits import Resources
from argbest.study.trial import Trial, outside
from argbest.texts import harmless

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


def outcomes(future: "Future[list[Outcome]]", n: int, seconds: float) -> Sequence[Outcome]:
    """Return what became of n trials whose future has ended; an error if none of them can be run."""
    error = future.exception() if not future.cancelled() else None
    if isinstance(error, InputError):  # what cannot be run anywhere is no failure of this trial
        raise error
    if isinstance(error, BrokenExecutor):
        raise SimulationError(
            f"the executor broke: {error}. The trials are kept for the next run."
        ) from error
    if error is None and not future.cancelled():
        return future.result()
    reason = "cancelled" if error is None else f"{type(error).__name__}: {error}"
    return [Outcome(None, reason, seconds)] * n


def possible(outcome: Outcome, allowed: tuple[float, float] | None) -> Outcome:
    """Return the outcome, as a failure if its value is not in the range of rewards."""
    wrong = "" if outcome.value is None else outside(allowed, outcome.value)
    return Outcome(None, f"it returned an impossible reward: {wrong}", outcome.seconds) if wrong else outcome


def failure(trial: Trial, outcome: Outcome) -> SimulationError:
    """Return the error that ends a run at a failure."""
    return SimulationError(
        f"the simulator failed on {trial} with seed {trial.seed}: {quoted(str(outcome.reason))}. "
        "The replications so far are kept; fix the simulator and call `run` again. "
        "To skip this trial: study.fail(study.ask()[0], reason)."
    )


def quoted(reason: str) -> str:
    """Return the reason of a failure as it may stand in a sentence."""
    return harmless(reason).rstrip(".")
