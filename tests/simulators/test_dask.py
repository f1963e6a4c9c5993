"""Jobs on a real local Dask cluster, by the executor of its client; skipped where there is no Dask."""

import queue
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import Any

import misbehaving
import pytest
from watching import PATIENCE

from argbest.simulators.calling import Outcome, evaluate


@pytest.fixture(scope="module")
def distributed() -> Any:
    return pytest.importorskip("distributed", reason="the extra `dask` is not installed")


def cluster(distributed: Any, *, processes: bool) -> Iterator[Executor]:
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(processes=processes, **options) as local,
        distributed.Client(local) as client,
        client.get_executor() as executor,
    ):
        yield executor


@pytest.fixture
def threads(distributed: Any) -> Iterator[Executor]:
    """Two workers in this process: up in a second."""
    yield from cluster(distributed, processes=False)


@pytest.fixture
def processes(distributed: Any) -> Iterator[Executor]:
    yield from cluster(distributed, processes=True)


def test_the_first_to_end_is_the_first_to_be_told(threads: Executor, tmp_path: Path) -> None:
    gate = tmp_path / "open"

    def simulate(alternative: str, context: int, seed: int) -> float:
        while alternative == "slow" and not gate.exists():
            time.sleep(0.01)
        if context < 0:
            raise ZeroDivisionError("no servers")
        return float(seed)

    jobs = [("slow", 1, 1), ("quick", 1, 2), ("quick", -1, 3), ("quick", 1, 2)]
    futures = [threads.submit(evaluate, simulate, [job]) for job in jobs]
    ended: queue.SimpleQueue[Future[list[Outcome]]] = queue.SimpleQueue()
    for future in futures:
        future.add_done_callback(ended.put)
    order = [futures.index(ended.get(timeout=PATIENCE)) for _ in range(3)]
    assert sorted(order) == [1, 2, 3]
    assert wait(futures, return_when=FIRST_COMPLETED).not_done == {futures[0]}
    gate.touch()
    assert ended.get(timeout=PATIENCE) is futures[0]
    outcomes = [future.result()[0] for future in futures]
    assert [outcome.value for outcome in outcomes] == [1.0, 2.0, None, 2.0]
    assert outcomes[2].reason == "ZeroDivisionError: no servers"


@pytest.mark.slow
def test_jobs_run_in_other_processes(processes: Executor) -> None:
    jobs = [("a", 1, 5), ("bb", 2, 7)]
    futures = [processes.submit(evaluate, misbehaving.reward, [job]) for job in jobs]
    assert [future.result(timeout=PATIENCE)[0].value for future in futures] == [11.005, 22.007]
