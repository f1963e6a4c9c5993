"""A pool whose jobs may hang, crash and die: each fails alone, and nothing is left behind."""

import functools
import importlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import misbehaving
import pytest
from watching import PATIENCE, announced, eventually, is_running

from argbest.errors import InputError, SimulationError
from argbest.simulators.calling import evaluate
from argbest.simulators.child import ProcessDied
from argbest.simulators.function import Function
from argbest.simulators.pool import SimulationPool, check_portable

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are watched in /proc"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def forked(workers: int = 1, *, timeout: float | None = None) -> SimulationPool:
    """Forked children start at once, and a pool treats them as any others."""
    return SimulationPool(workers, timeout=timeout, context="fork")


@pytest.fixture(scope="module")
def spawned() -> Iterator[SimulationPool]:
    with SimulationPool(1) as pool:
        yield pool


def test_results_come_back_from_spawned_processes(spawned: SimulationPool) -> None:
    jobs = [("a", 1, 5), ("bb", 2, 7)]
    found = spawned.submit(evaluate, misbehaving.reward, jobs).result()
    assert [outcome.value for outcome in found] == [11.005, 22.007]
    child = spawned.submit(misbehaving.pid).result()
    assert child != os.getpid()
    assert spawned.submit(misbehaving.pid).result() == child
    assert list(spawned.map(pow, [2, 3], [3, 2])) == [8, 9]


def test_errors_keep_their_type_and_tell_where_they_arose(spawned: SimulationPool) -> None:
    with pytest.raises(ValueError, match="^no servers") as caught:
        spawned.submit(misbehaving.complain, "no servers").result()
    assert "misbehaving.py" in caught.value.__notes__[0]
    with pytest.raises(SimulationError, match="^AwkwardError: awkward 1 2$"):
        spawned.submit(misbehaving.complain_awkwardly).result()
    with pytest.raises(Exception, match=r"unsendable.*lambda"):
        spawned.submit(misbehaving.unsendable).result()
    assert spawned.submit(pow, 2, 2).result() == 4


def test_what_a_process_cannot_import_is_explained(spawned: SimulationPool, tmp_path: Path) -> None:
    source = tmp_path / "elsewhere_only.py"
    source.write_text("def simulate(): return 1.0\n")
    sys.path.insert(0, str(tmp_path))
    try:
        elsewhere_only = importlib.import_module("elsewhere_only")
    finally:
        sys.path.remove(str(tmp_path))
    with pytest.raises(InputError, match=r"cannot load the simulator \(ModuleNotFoundError.*top level"):
        spawned.submit(elsewhere_only.simulate).result()


def test_ctrl_c_is_left_to_the_parent(spawned: SimulationPool) -> None:
    assert spawned.submit(misbehaving.interrupts_reach_me).result() is False


@pytest.mark.parametrize(
    ("trouble", "argument", "message"),
    [
        (misbehaving.die, (signal.SIGTERM,), "^its process died of SIGTERM$"),
        (misbehaving.die, (signal.SIGKILL,), r"^its process died of SIGKILL \(perhaps for lack of memory\)$"),
        (misbehaving.leave, (7,), "^its process ended with exit code 7$"),
        (misbehaving.leave, (0,), "^its process ended with exit code 0$"),
        (misbehaving.give_up, (5,), "^its process ended with exit code 5$"),
        (misbehaving.crash, (), "^its process died of SIGSEGV$"),
    ],
)
def test_a_process_that_dies_fails_its_own_job_only(
    trouble: Callable[..., Any], argument: tuple[int, ...], message: str
) -> None:
    with forked(2) as pool:
        before = pool.submit(misbehaving.after, 0.3, "unhurt")
        hurt = pool.submit(trouble, *argument)
        later = [pool.submit(pow, 2, i) for i in range(4)]
        with pytest.raises(ProcessDied, match=message):
            hurt.result()
        assert before.result() == "unhurt"
        assert [future.result() for future in later] == [1, 2, 4, 8]


def test_a_forked_process_does_not_take_over_how_its_parent_handles_sigterm() -> None:
    """Ray, for one, leaves such a handler behind."""
    usual = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(number))
    try:
        with forked(1) as pool, pytest.raises(ProcessDied, match="^its process died of SIGTERM$"):
            pool.submit(misbehaving.die, signal.SIGTERM).result()
    finally:
        signal.signal(signal.SIGTERM, usual)


@pytest.mark.slow
def test_a_spawned_process_is_replaced_too() -> None:
    with SimulationPool(1) as pool:
        first = pool.submit(misbehaving.pid).result()
        with pytest.raises(ProcessDied, match="exit code 3"):
            pool.submit(misbehaving.leave, 3).result()
        assert pool.submit(misbehaving.pid).result() != first


def test_a_job_out_of_time_is_killed_with_what_it_started(tmp_path: Path) -> None:
    limit = 1
    while not list(tmp_path.glob("*.pid")):  # on a busy machine it may need longer to start another
        limit *= 2
        with forked(timeout=limit) as pool:
            begun = time.monotonic()
            with pytest.raises(TimeoutError, match=rf"^it ran longer than {limit} s and was killed$"):
                pool.submit(misbehaving.start_another_and_hang, str(tmp_path)).result()
            assert limit <= time.monotonic() - begun < 300  # it would have hung for longer
            assert pool.submit(pow, 2, 2).result() == 4
    [other] = announced(tmp_path)
    assert eventually(lambda: not is_running(other))


def test_time_is_counted_from_the_start_of_the_job() -> None:
    with forked(timeout=4.0) as pool:
        futures = [pool.submit(misbehaving.after, 0.8, i) for i in range(6)]
        assert [future.result() for future in futures] == [0, 1, 2, 3, 4, 5]


def test_a_survivor_that_holds_the_pipe_does_not_hold_the_job() -> None:
    with forked() as pool:
        with pytest.raises(ProcessDied, match="exit code 4"):
            pool.submit(os_system_and_leave).result(timeout=PATIENCE)
        assert pool.submit(pow, 2, 2).result() == 4


def os_system_and_leave() -> None:
    os.system("sleep 600 &")  # noqa: S605, S607
    os._exit(4)


def test_all_workers_work_at_once_and_no_more_are_started_than_needed(tmp_path: Path) -> None:
    with forked(3) as pool:
        others = len(multiprocessing.active_children())
        assert pool.submit(pow, 1, 1).result() == 1
        assert pool.submit(pow, 1, 1).result() == 1
        assert len(multiprocessing.active_children()) == others + 1
        meetings = [pool.submit(misbehaving.meet, str(tmp_path), 3) for _ in range(3)]
        assert len({future.result(timeout=PATIENCE) for future in meetings}) == 3
        assert len(multiprocessing.active_children()) == others + 3


def test_many_jobs_by_many_threads_are_each_done_once() -> None:
    found: list[int] = []
    with forked(2) as pool:

        def ask(first: int) -> None:
            found.extend(pool.map(pow, range(first, first + 50), [1] * 50))

        threads = [threading.Thread(target=ask, args=(50 * i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == list(range(300))


def test_leaving_the_block_waits_for_the_jobs_and_leaves_no_process() -> None:
    with forked(2) as pool:
        futures = [pool.submit(misbehaving.after, 0.05, i) for i in range(6)]
        children = {pool.submit(misbehaving.pid).result() for _ in range(4)}
    assert [future.result(timeout=0) for future in futures] == list(range(6))
    assert all(not Path(f"/proc/{child}").exists() for child in children)  # nor a zombie
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(pow, 1, 1)
    pool.shutdown()


def test_a_kill_leaves_no_process_and_cancels_what_waits(tmp_path: Path) -> None:
    pool = forked()
    running = pool.submit(misbehaving.compute, str(tmp_path), "")
    waiting = pool.submit(pow, 1, 1)
    [child] = announced(tmp_path)
    pool.shutdown(cancel_futures=True)
    assert not Path(f"/proc/{child}").exists()
    with pytest.raises(ProcessDied, match="^it was killed, because the pool was shut down$"):
        running.result(timeout=0)
    with pytest.raises(CancelledError):
        waiting.result(timeout=0)


def test_an_exception_in_the_block_kills_at_once(tmp_path: Path) -> None:
    futures: list[Future[None]] = []
    with pytest.raises(KeyboardInterrupt, match="stop"), forked() as pool:  # noqa: PT012
        futures.append(pool.submit(misbehaving.compute, str(tmp_path), ""))
        announced(tmp_path)
        raise KeyboardInterrupt("stop")
    with pytest.raises(ProcessDied, match="shut down"):
        futures[0].result(timeout=0)


def test_a_forgotten_pool_ends_its_processes(tmp_path: Path) -> None:
    pool = forked()
    pool.submit(misbehaving.compute, str(tmp_path), "")
    [child] = announced(tmp_path)
    del pool
    assert eventually(lambda: not Path(f"/proc/{child}").exists())


def test_a_job_that_waits_can_be_cancelled(tmp_path: Path) -> None:
    with forked() as pool:
        running = pool.submit(misbehaving.meet, str(tmp_path), 2)
        waiting = pool.submit(pow, 1, 1)
        assert waiting.cancel()
        (tmp_path / "another.pid").touch()
        assert running.result() != os.getpid()
        assert pool.submit(pow, 2, 1).result() == 2


class Holder:
    def __init__(self, held: object) -> None:
        self.held = held

    def __call__(self, alternative: object, context: object, seed: int) -> float:
        return 0.0


def test_what_can_be_sent_is_accepted() -> None:
    check_portable(misbehaving.reward)
    check_portable(functools.partial(misbehaving.reward, context=3))
    check_portable(Holder(3.0))


def test_what_cannot_be_sent_is_refused_before_anything_runs() -> None:
    def inner(alternative: object, context: object, seed: int) -> float:
        return 0.0

    top = "cannot be sent to other processes; define it at the top level of a module"
    with pytest.raises(InputError, match=f"^a lambda {top}"):
        check_portable(lambda a, c, s: 0.0)
    with pytest.raises(InputError, match=rf"^'.*<locals>.inner', a function defined inside another, {top}"):
        check_portable(inner)
    with pytest.raises(InputError, match=f"^a lambda {top}"):
        check_portable(functools.partial(lambda a, c, s: 0.0, c=1))
    with pytest.raises(InputError, match=r"^Holder cannot be sent to other processes \(.*lock"):
        check_portable(Holder(threading.Lock()))
    others = len(multiprocessing.active_children())
    with forked() as pool:
        with pytest.raises(InputError, match=f"^a lambda {top}"):
            pool.submit(evaluate, lambda a, c, s: 0.0, [])
        assert len(multiprocessing.active_children()) == others


def test_a_function_of_an_interactive_session_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    main = sys.modules["__main__"]
    monkeypatch.delattr(main, "__file__", raising=False)
    monkeypatch.setattr(main, "typed_in", misbehaving.reward, raising=False)
    monkeypatch.setattr(misbehaving.reward, "__module__", "__main__")
    monkeypatch.setattr(misbehaving.reward, "__qualname__", "typed_in")
    with pytest.raises(
        InputError, match="typed_in was defined in an interactive session.*in a module|a file"
    ):
        check_portable(misbehaving.reward)
    check_portable(misbehaving.reward, context="fork")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers must be a whole number ≥ 1, got 0"),
        ({"workers": 1, "timeout": 0.0}, "timeout must be a number finite and above 0, got 0"),
        ({"workers": 1, "context": "thread"}, "unknown start method 'thread'; known are .*spawn"),
    ],
)
def test_impossible_pools_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SimulationPool(**options)


def test_importing_a_simulator_is_not_on_the_clock(tmp_path: Path) -> None:
    (tmp_path / "slow_to_import.py").write_text(
        "import time\ntime.sleep(4)\ndef simulate(alternative, context, seed):\n    return float(seed)\n"
    )
    simulate = Function("slow_to_import:simulate", str(tmp_path))
    with SimulationPool(1, timeout=3.0) as pool:
        assert pool.submit(evaluate, simulate, [("a", 1, 7)]).result()[0].value == 7.0
