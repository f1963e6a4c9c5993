"""The executor on a real local Ray; skipped where Ray is not installed."""

import os
import queue
import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from typing import Any, NoReturn

import pytest

from argbest.errors import InputError
from argbest.simulators.calling import Outcome, evaluate
from argbest.simulators.ray import RayExecutor

pytestmark = [  # Ray opens its log files and sockets for the life of the process
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"  # else a FutureWarning on machines without GPUs
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    module = pytest.importorskip("ray", reason="the extra `ray` is not installed")
    module.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield module
    module.shutdown()


def test_jobs_run_and_each_is_told_once(ray: Any) -> None:
    def simulate(alternative: float, context: str, seed: int) -> float:
        time.sleep(alternative)
        if context == "bad":
            raise ZeroDivisionError("no servers")
        return alternative + seed

    with RayExecutor(ray, num_cpus=1) as executor:
        jobs = [(0.5, "good", 1), (0.0, "good", 2), (0.0, "bad", 3)]
        futures = [executor.submit(evaluate, simulate, [job]) for job in jobs]
        ended: queue.SimpleQueue[Future[list[Outcome]]] = queue.SimpleQueue()
        for future in futures:
            future.add_done_callback(ended.put)
        order = [futures.index(ended.get(timeout=180)) for _ in jobs]
        outcomes = [future.result()[0] for future in futures]
    assert sorted(order) == [0, 1, 2]
    assert [outcome.value for outcome in outcomes] == [1.5, 2.0, None]
    assert outcomes[2].reason == "ZeroDivisionError: no servers"
    assert outcomes[0].seconds >= 0.5
    assert ray.is_initialized()


def test_a_worker_that_dies_fails_its_job_and_a_kill_ends_the_others(ray: Any) -> None:
    def leave() -> NoReturn:  # it travels whole: another package may hide the modules of tests from workers
        os._exit(3)

    executor = RayExecutor(ray)
    with pytest.raises(ray.exceptions.WorkerCrashedError, match="died unexpectedly"):
        executor.submit(leave).result(timeout=180)
    futures = [executor.submit(time.sleep, 900) for _ in range(3)]
    begun = time.monotonic()
    executor.shutdown(cancel_futures=True)
    assert time.monotonic() - begun < 600  # they would have slept for longer
    assert all(future.cancelled() for future in futures)
    assert wait(futures, timeout=0).not_done == set()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(pow, 1, 1)


def test_what_is_not_a_running_ray_is_refused() -> None:
    class Idle:
        remote = cancel = None

        @staticmethod
        def is_initialized() -> bool:
            return False

    with pytest.raises(InputError, match="not the module `ray`; import ray, and give it"):
        RayExecutor(os)
    with pytest.raises(InputError, match=r"Ray has not been started; call ray\.init"):
        RayExecutor(Idle)
