"""Measure how busy the workers of a run are whose simulations are short.

Simulations only sleep. The clock counts the time that the deciding process computes, and skips its waits, so
that other work of the machine hardly counts. With --slept processes really sleep, by the wall clock.
Busy is the share of the workers' time in which they simulate, from the second replication of each after the
initial design until the last one begins. With --dask a Dask LocalCluster is measured instead: replications
per second if simulations take no time.
"""

import argparse
import heapq
import math
import random
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from functools import partial
from queue import Empty
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

from argbest import Problem, Study
from argbest.study import executors, learning


@dataclass
class Clock:
    """A clock that runs as ``running`` does, and is put forward while one would wait."""

    running: Callable[[], float] = time.thread_time
    skipped: float = 0.0

    def now(self) -> float:
        """Return the time."""
        return self.running() + self.skipped


@dataclass
class Sleepers(Executor):
    """An executor of workers that sleep by a clock; also the queue of those that have woken up."""

    clock: Clock
    number: int
    seconds: float
    free: list[float] = field(default_factory=list)  # when each worker will be free
    asleep: list[tuple[float, int, "Future[Any]", Any]] = field(default_factory=list)
    spans: list[tuple[float, float]] = field(default_factory=list)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Return a future that ends when the first free worker has slept."""
        free = heapq.heappop(self.free) if len(self.free) == self.number else 0.0
        start = max(self.clock.now(), free)
        outcomes = [replace(each, seconds=self.seconds) for each in fn(*args, **kwargs)]
        end = start + self.seconds * len(outcomes)
        future: Future[Any] = Future()
        heapq.heappush(self.free, end)
        heapq.heappush(self.asleep, (end, len(self.spans), future, outcomes))
        self.spans.append((start, end))
        return future

    def put(self, _: object) -> None:
        """Hear that a future has ended: it is returned at once."""

    def get(self, timeout: float) -> "Future[Any]":
        """Return the future that ends first, when it has ended."""
        end, _, future, outcomes = heapq.heappop(self.asleep)
        self.clock.skipped += max(0.0, end - self.clock.now())
        future.set_result(outcomes)
        return future

    def get_nowait(self) -> "Future[Any]":
        """Return a future that has ended."""
        if not self.asleep or self.asleep[0][0] > self.clock.now():
            raise Empty
        return self.get(0.0)

    def busy(self, since: float) -> float:
        """Return the share of the workers' time that was slept between then and the last start."""
        until = max(start for start, _ in self.spans)
        slept = sum(max(0.0, min(end, until) - max(start, since)) for start, end in self.spans)
        return slept / (self.number * (until - since))


@dataclass(frozen=True)
class Sleeper:
    """A simulation that takes its time."""

    seconds: float

    def __call__(self, alternative: int, context: int, seed: int) -> float:
        """Return a reward, after a while."""
        time.sleep(self.seconds)
        return math.sin(alternative + context) + random.Random(seed).gauss(0.0, 1.0)  # noqa: S311


def share(study: Study, clock: Clock, workers: int, seconds: float, *, first: int, then: int) -> float:
    """Return how busy workers are by a clock while a study goes from so many replications to so many more."""
    sleepers = Sleepers(clock, workers, seconds)
    marks: list[float] = []
    jobs: Any = partial(executors.Jobs, finished=cast(Any, sleepers), last_look=clock.now())
    with (
        mock.patch.object(executors, "Jobs", jobs),
        mock.patch.object(executors, "time", SimpleNamespace(monotonic=clock.now)),
        mock.patch.object(learning, "time", SimpleNamespace(monotonic=clock.now)),
    ):
        means: dict[str, Any] = {"executor": sleepers, "workers": workers}
        study.run(first + then, on_result=lambda *_: marks.append(clock.now()), **means)
    return sleepers.busy(marks[first])


def slept(study: Study, workers: int, seconds: float, *, first: int, then: int) -> float:
    """Return how busy processes that sleep are by the wall clock."""
    marks: list[float] = []
    study.run(first + then, workers=workers, on_result=lambda *_: marks.append(time.perf_counter()))
    marks = marks[first:]
    return (len(marks) - 1) * seconds / workers / (marks[-1] - marks[0])


def simulated(alternative: int, context: int, seed: int) -> float:
    """Return a reward at once: what is measured is the way to the worker and the decision."""
    return float((seed + alternative * context) % 1000)


def dask(workers: int, seconds: float, policy: str) -> float:
    """Return observations per second of a study in memory whose simulations run on a Dask LocalCluster."""
    from dask.distributed import Client, LocalCluster

    study = Study(Problem(range(10), range(10), simulated), policy=policy, model="gp", initial=1)
    sizes: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    cluster = LocalCluster(**sizes)  # type: ignore[no-untyped-call]
    client: Any = Client(cluster)  # type: ignore[no-untyped-call]
    with cluster, client:
        means: dict[str, Any] = {"executor": client.get_executor(), "workers": workers}
        study.run(150, **means)
        begun = time.perf_counter()
        study.run(10**6, stop=lambda _: time.perf_counter() > begun + seconds, **means)
        return (study.n_replications - 150) / (time.perf_counter() - begun)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10, help="alternatives, and contexts")
    parser.add_argument("--workers", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--ms", type=float, nargs="+", default=[50.0, 250.0], help="that a simulation takes")
    parser.add_argument("--models", nargs="+", default=["additive-gp", "gp"])
    parser.add_argument("--policies", nargs="+", default=["dvr-loss", "gp-c-ocba"])
    parser.add_argument("--rounds", type=int, default=40, help="simulations of each worker")
    parser.add_argument("--slept", action="store_true")
    parser.add_argument("--dask", type=float, help="seconds for which to measure a Dask LocalCluster instead")
    options = parser.parse_args(arguments)
    if options.dask:
        for workers in options.workers:
            print(
                f"dask{workers:8d}{dask(workers, options.dask, 'gp-c-ocba'):12.0f} replications/s", flush=True
            )
        return
    for model, policy in zip(options.models, options.policies, strict=True):
        described: dict[str, Any] = {"model": model, "policy": policy, "seed": 1}

        def study(ms: float, described: dict[str, Any] = described) -> Study:
            axis = range(options.size)
            return Study(Problem(axis, axis, Sleeper(ms / 1000)), **described)

        warm = study(0.0)
        warm.run(warm.n_queued + 40)
        for workers, ms in zip(options.workers, options.ms, strict=True):
            made, size = study(ms if options.slept else 0.0), {"then": options.rounds * workers}
            size["first"] = made.n_queued + 2 * workers
            found = (
                slept(made, workers, ms / 1000, **size)
                if options.slept
                else share(made, Clock(), workers, ms / 1000, **size)
            )
            print(f"{model:12s}{policy:12s}{workers:4d} workers, {ms:g} ms: busy {found:.1%}", flush=True)


if __name__ == "__main__":
    main()
