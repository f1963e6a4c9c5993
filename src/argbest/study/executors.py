"""Executors that a run uses: the caller's own thread, or threads that wait for programs; and their jobs."""

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Literal, Protocol, TypeAlias

from argbest.core.abilities import offers
from argbest.errors import InputError, SimulationError
from argbest.problems.base import Problem, Simulate
from argbest.simulators import process
from argbest.simulators.calling import KeepsTime, Outcome, checked, evaluate, reason
from argbest.study.rewards import impossible_value
from argbest.study.run_options import Resources
from argbest.study.trial import Trial
from argbest.texts import harmless

Job: TypeAlias = "Future[list[Outcome]]"
_Call: TypeAlias = tuple["Future[Any]", Any, tuple[Any, ...], dict[str, Any]]

_POLL = 0.2  # seconds between looks at what other processes do
_NEGLIGIBLE = 0.02  # part of a job's time that a worker may wait for its next job


class ComesAndGoes(Protocol):
    """An executor whose workers come and go."""

    @property
    def present(self) -> int:
        """How many workers there are now."""


class CallersThread(Executor):
    """Simulates at once, in the caller's thread."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Return a future that has its result already."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Threads(Executor):
    """Threads that wait for programs; an exception in its block, such as Ctrl-C, ends the programs."""

    def __init__(self, number: int) -> None:
        self._jobs: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(number)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Return the future of a call."""
        future: Future[Any] = Future()
        self._jobs.put((future, fn, args, kwargs))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads, each after its present call."""
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
        """Make the calls that come, one after the other, until None comes."""
        while (job := self._jobs.get()) is not None:
            future, fn, args, kwargs = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)


def chosen(stack: ExitStack, simulate: Simulate, resources: Resources) -> tuple[Executor, int]:
    """Return the executor of a run, and how many jobs it runs at once."""
    if resources.executor is not None:
        slots = resources.workers or getattr(resources.executor, "_max_workers", None)
        if not slots:
            raise InputError("this executor does not say how many run at once; give workers=... too.")
        return resources.executor, int(slots)
    if resources.workers is None and resources.timeout is None:
        return CallersThread(), 1
    slots = resources.workers or 1
    if offers(simulate, KeepsTime):
        return stack.enter_context(Threads(slots)), slots
    from argbest.simulators.pool import SimulationPool, check_portable

    check_portable(simulate)
    timeout = None if resources.timeout is None else resources.timeout * resources.batch  # of all its trials
    return stack.enter_context(SimulationPool(slots, timeout=timeout)), slots


@dataclass
class Jobs:
    """Jobs in an executor, one for each slot; where deciding takes long, some more that wait for a slot."""

    executor: Executor
    slots: int
    simulate: Simulate
    resources: Resources
    under_way: dict[Job, tuple[list[Trial], float]] = field(default_factory=dict)
    stuck: list[Job] = field(default_factory=list)  # out of time, and still running
    finished: "SimpleQueue[Job]" = field(default_factory=SimpleQueue)
    n_ended: int = 0  # trials that have ended
    seconds: float = 0.0  # that these took
    most_ended: tuple[int, int] = 0, 0  # jobs found ended at a time, at most: since learning, and before it
    last_look: float = field(default_factory=time.monotonic)  # when ended jobs were last collected
    learning: float = 0.0  # seconds since then in which the study learned
    longest_learning: float = 0.0  # in seconds; without the first, which includes compiling

    def wanted(self, learning: bool = False) -> int:
        """Return how many more jobs to give to the executor; ``learning``: the study learns next."""
        self.stuck = [job for job in self.stuck if not job.done()]
        if len(self.stuck) >= self.slots:
            raise SimulationError(
                f"all {self.slots} slots of the executor are stuck in simulations that ran out of time; what "
                "was told is kept. Restart its workers, then run again."
            )
        return self.open_slots + self._ahead(learning) - len(self.under_way) - len(self.stuck)

    @property
    def open_slots(self) -> int:
        """How many may simulate now: an executor whose workers come and go says how many are present."""
        present = self.executor.present if offers(self.executor, ComesAndGoes) else self.slots
        return min(self.slots, max(1, present))

    @property
    def at_a_time(self) -> int:
        """How many jobs to decide on at a time, so that no worker waits long for the first of them."""
        return max(1, abs(self.open_slots - len(self.under_way) - len(self.stuck)))

    def _ahead(self, learning: bool) -> int:
        """Return how many jobs should wait in the executor, so that workers need not wait for decisions.

        As many as end before the run looks again: the most that lately did, or that will end while the study
        learns. At most as many as there are slots, or a tenth of all trials so far: after more than that the
        study would have learned again.
        """
        # Where a timeout is measured here, the time in which a job waits for a worker would count.
        timed_here = self.resources.timeout is not None and self.resources.executor is not None
        if self.open_slots == 1 or timed_here or not self.seconds:
            return 0
        seconds = self.longest_learning
        meanwhile = self._ending(seconds) if learning and self._costs_time(seconds) else 0.0
        return math.ceil(min(max(*self.most_ended, meanwhile), max(self.open_slots, self.n_ended / 10)))

    def learned(self, seconds: float, *, first: bool) -> None:
        """Note that the study has learned for so long; jobs that ended meanwhile count apart from others."""
        self.most_ended, self.learning = (0, self.most_ended[0]), seconds
        self.longest_learning = 0.0 if first else max(self.longest_learning, seconds)

    def _ending(self, seconds: float) -> float:
        """Return how many jobs end in so many seconds, on average; 0 where none has ended yet."""
        job = self.resources.batch * self.seconds / max(self.n_ended, 1)
        return self.open_slots * seconds / job if job else 0.0

    def _costs_time(self, seconds: float) -> bool:
        """Return whether workers lose much if no job is collected for so many seconds."""
        return self._ending(seconds) > _NEGLIGIBLE * self.open_slots

    def submit(self, trials: list[Trial]) -> None:
        """Give trials to the executor as one job."""
        jobs = [(trial.alternative, trial.context, trial.seed) for trial in trials]
        job = self.executor.submit(evaluate, self.simulate, jobs)
        self.under_way[job] = trials, time.monotonic()
        job.add_done_callback(self.finished.put)

    def ended(self, fill: Callable[[], None] | None = None) -> list[Job]:
        """Return the jobs that have ended, or one that is out of time.

        While it waits, ``fill`` is called if workers of the executor may come and go.
        """
        since_last_look = time.monotonic() - self.last_look - self.learning
        while_learning = self._ending(self.learning)
        found: list[Job] = []
        while not found:
            try:
                found.append(self.finished.get(timeout=_POLL))
            except Empty:
                found += self._out_of_time()
                if not found and fill is not None and offers(self.executor, ComesAndGoes):
                    fill()
        self.last_look, self.learning = time.monotonic(), 0.0
        with suppress(Empty):
            while True:
                found.append(self.finished.get_nowait())
        if self._costs_time(since_last_look):
            most, before = self.most_ended
            self.most_ended = max(most, math.ceil(len(found) - while_learning)), before
        return [job for job in dict.fromkeys(found) if job in self.under_way]  # others ended out of time

    def _out_of_time(self) -> list[Job]:
        """Return the first job that has run longer than its trials may, in a list; empty if none has."""
        limit, now = self.resources.timeout, time.monotonic()
        if limit is None or self.resources.executor is None:
            return []
        return [job for job, (trials, since) in self.under_way.items() if now - since > limit * len(trials)][
            :1
        ]

    def results(self, job: Job) -> list[tuple[Trial, Outcome]]:
        """Return the trials of a job, which has ended or is out of time, and what became of them."""
        trials, since = self.under_way[job]
        took = (time.monotonic() - since) / len(trials)
        if job.done():
            found = outcomes(job, len(trials), took)
        else:
            if not job.cancel():
                self.stuck.append(job)
            found = [Outcome(None, f"no value after {self.resources.timeout:g} s", took)] * len(trials)
        self.n_ended += len(trials)
        self.seconds += sum(each.seconds for each in found)
        return list(zip(trials, found, strict=True))

    def recall(self) -> list[int]:
        """Cancel the jobs that still wait for a worker, and return their trials."""
        waiting = list(self.under_way)[self.open_slots :]
        cancelled = [self.under_way.pop(job)[0] for job in waiting if job.cancel()]
        return [trial.id for trials in cancelled for trial in trials]


def in_time(simulate: Simulate, timeout: float | None) -> Simulate:
    """Return the simulator; one that keeps its time, as a program does, is given the time limit."""
    return simulate.within(timeout) if timeout is not None and offers(simulate, KeepsTime) else simulate


def outcomes(future: Job, n: int, seconds: float) -> Sequence[Outcome]:
    """Return the outcomes of n trials whose future has ended; an error if nothing can be run there."""
    error = future.exception() if not future.cancelled() else None
    if isinstance(error, InputError):  # a simulator that can run nowhere is no failure of this trial
        raise error
    if isinstance(error, BrokenExecutor):
        raise SimulationError(
            f"the executor broke: {error}. The trials are kept for the next run."
        ) from error
    if error is None and not future.cancelled():
        return [_sound(each, seconds) for each in future.result()]
    why = "cancelled" if error is None else f"{type(error).__name__}: {error}"
    return [Outcome(None, why, seconds)] * n


def _sound(outcome: Outcome, seconds: float) -> Outcome:
    """Return the outcome; a failure that took so long if it is nothing that `tell` could take."""
    try:
        return checked(outcome)
    except (InputError, SimulationError) as error:
        return Outcome(None, reason(error), seconds, error)


def possible(outcome: Outcome, problem: Problem) -> Outcome:
    """Return the outcome; a failure if the problem rules out its value."""
    value = outcome.value
    if value is None:
        return outcome
    wrong = _impossible(value if isinstance(value, Mapping) else {"": value}, problem)
    return Outcome(None, f"it returned {wrong}", outcome.seconds) if wrong else outcome


def _impossible(given: Mapping[str, float], problem: Problem) -> str:
    """Return what is wrong with a result, given by response, "" if nothing is; the name of a number is ""."""
    names = problem.responses if len(problem.responses) > 1 or "" not in given else ("",)
    wrong = [name for name in (*names, *given) if name not in given or (names and name not in names)]
    if wrong:
        known = ", ".join(map(repr, names))
        what = (
            "something else than a dict"
            if "" in given
            else f"a dict {'with' if wrong[0] in given else 'without'} {wrong[0]!r}"
        )
        return f"{what}; the study has the responses {known}, and every result has all of them and no others"
    for i, name in enumerate(names or given):
        if found := impossible_value(problem, i, given[name]):
            return f"an impossible reward: {found}"
    return ""


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
