"""Nothing outlives a simulation: not after time-out, interruption, or the death of argbest itself."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from watching import PATIENCE, announced, eventually, is_running

import argbest
from argbest import SimulationError
from argbest.simulators import process
from argbest.simulators.program import Program

fcntl = pytest.importorskip("fcntl", reason="process groups are a matter of POSIX")

# A family of three, each of which holds a lock as long as it lives; the parent goes on as told.
FAMILY = """
import fcntl, os, sys, time
def hold(name):
    lock = open(name, "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    lock.write("held")
    lock.flush()
    return lock
parent = hold("parent.lock")
if os.fork() == 0:
    parent.close()
    child = hold("child.lock")
    if os.fork() == 0:
        child.close()
        grandchild = hold("grandchild.lock")
    time.sleep(600)
def holds(name):
    return os.path.exists(name) and os.path.getsize(name)
while not (holds("child.lock") and holds("grandchild.lock")):
    time.sleep(0.01)
print(3.5, flush=True)
"""
NAMES = ("parent", "child", "grandchild")

# A process that knows the rooms of argbest but does not load all of them first.
LIGHT = f"""
import signal, sys, types
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.modules["argbest"] = types.ModuleType("argbest")
sys.modules["argbest"].__path__ = {list(argbest.__path__)!r}
"""
ANNOUNCING = """
from argbest.simulators import process
usual = process.watch
def watch(group):
    usual(group)
    open("announced", "w").close()
process.watch = watch
"""


def family(folder: Path, then: str, **options: float) -> Program:
    (folder / "family.py").write_text(FAMILY + then)
    return Program(["{python}", "-I", "-S", "family.py"], folder=str(folder), **options)  # type: ignore[arg-type]


def alive(folder: Path) -> list[str]:
    """Who still holds a lock; a zombie holds none."""
    held = []
    for name in NAMES:
        with (folder / f"{name}.lock").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(name)
    return held


def has_started(folder: Path) -> bool:
    files = [folder / f"{name}.lock" for name in NAMES]
    return all(file.exists() and file.stat().st_size for file in files)


def assert_all_die(folder: Path) -> None:
    assert has_started(folder)
    assert eventually(lambda: not alive(folder))


def test_a_program_out_of_time_dies_with_its_children(tmp_path: Path) -> None:
    limit = 1
    while not has_started(tmp_path):  # on a busy machine three processes may need longer
        limit *= 2
        program = family(tmp_path, "time.sleep(600)", timeout=float(limit))
        with pytest.raises(SimulationError, match=f"killed after its time-out of {limit} s"):
            program("a", "c", 1)
    assert_all_die(tmp_path)


def test_children_left_behind_neither_delay_the_reward_nor_survive(tmp_path: Path) -> None:
    began = time.monotonic()
    assert family(tmp_path, "")("a", "c", 1) == 3.5
    assert time.monotonic() - began < 300  # they would have slept for longer
    assert_all_die(tmp_path)


def test_a_failing_program_takes_its_children_along(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="exit code 9"):
        family(tmp_path, "sys.exit(9)")("a", "c", 1)
    assert_all_die(tmp_path)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_whatever_ends_argbest_ends_the_program_and_its_children(name: str, tmp_path: Path) -> None:
    program = family(tmp_path, "time.sleep(600)")
    code = f"{LIGHT}{ANNOUNCING}\nfrom argbest.simulators.program import Program\n{program!r}('a', 'c', 1)"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, cwd=tmp_path) as running:
        assert eventually(lambda: has_started(tmp_path) and (tmp_path / "announced").exists())
        assert alive(tmp_path) == list(NAMES)
        running.send_signal(signal.Signals[name])
        _, stderr = running.communicate(timeout=PATIENCE)
    assert running.returncode in (-signal.Signals[name], 130)
    assert (b"KeyboardInterrupt" in stderr) == (name == "SIGINT")
    assert_all_die(tmp_path)


SLEEPER = ["sh", "-c", "touch $$.pid; exec sleep 600"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let Ctrl-C reach this process even where the shell of the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    ended = signal.signal(signal.SIGTERM, signal.default_int_handler)  # handled, as a task of an array does
    yield
    signal.signal(signal.SIGINT, before)
    signal.signal(signal.SIGTERM, ended)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interruption_before_the_program_is_known_to_run_ends_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    usual = subprocess.Popen.__init__

    def interrupted(self: "subprocess.Popen[bytes]", *given: Any, **options: Any) -> None:
        usual(self, *given, **options)
        if options.get("cwd") == tmp_path:
            announced(tmp_path)
            signal.raise_signal(signal.Signals[name])

    monkeypatch.setattr(subprocess.Popen, "__init__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Program(SLEEPER, folder=str(tmp_path))("a", "c", 1)
    [number] = announced(tmp_path)
    assert eventually(lambda: not is_running(number))


@pytest.mark.parametrize("moment", ["while it runs", "before it is known to run"])
def test_a_thread_that_is_abandoned_starts_no_other_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    program = Program(SLEEPER, folder=str(tmp_path), retries=3, backoff=0.0)
    raised: list[BaseException] = []

    def work() -> None:
        try:
            program("a", "c", 1)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work, daemon=True)
    if moment == "while it runs":
        thread.start()
        announced(tmp_path)
        assert eventually(lambda: thread in process._RUNNING)
        process.abandon([thread])
    else:
        usual = process._started

        def started(*given: Any) -> "subprocess.Popen[bytes]":
            found = usual(*given)
            announced(tmp_path)
            process.abandon([thread])
            return found

        monkeypatch.setattr(process, "_started", started)
        thread.start()
    thread.join(PATIENCE)
    assert [type(each) for each in raised] == [process.Abandoned]
    [number] = announced(tmp_path)
    assert eventually(lambda: not is_running(number))


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_while_the_guard_is_told_waits_until_it_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process.ready()
    usual, finished = subprocess.Popen.poll, []

    def poll(asked: "subprocess.Popen[bytes]") -> int | None:
        os.kill(os.getpid(), signal.SIGINT)
        found = usual(asked)
        finished.append(found)
        return found

    monkeypatch.setattr(subprocess.Popen, "poll", poll)
    with pytest.raises(KeyboardInterrupt):
        process.ready()
    assert finished == [None]


def test_the_end_does_not_wait_for_a_lock_that_is_never_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_SECONDS_TO_END", 0.2)
    process.ready()
    told = process._GUARD._process
    assert told is not None
    told._waitpid_lock.acquire()  # type: ignore[attr-defined]  # as an interruption in `poll` would leave it
    process._GUARD.close()
    told._waitpid_lock.release()  # type: ignore[attr-defined]
    assert told.wait(PATIENCE) == 0


def test_a_guard_that_was_killed_is_replaced() -> None:
    program = Program(["echo", "{alternative}"])
    assert program(1, 0, 0) == 1
    first = process._GUARD._process
    assert first is not None
    first.kill()
    first.wait()
    assert program(2, 0, 0) == 2
    second = process._GUARD._process
    assert second is not None
    assert second.pid != first.pid
    assert second.poll() is None


def test_a_fork_has_a_guard_of_its_own() -> None:
    code = LIGHT + (
        "import os\n"
        "from argbest.simulators import process\n"
        "process.watch(2**22 + 12345)\n"
        "first = process._GUARD._process.pid\n"
        "if (child := os.fork()) == 0:\n"
        "    own = process._GUARD._process is None\n"
        "    process.release(2**22 + 12345)\n"
        "    os._exit(0 if own and process._GUARD._process.pid != first else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False).returncode == 0


def test_a_program_runs_where_no_guard_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = process._Guard()
    monkeypatch.setattr(process, "_GUARD", fresh)
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert Program(["echo", "{alternative}"])(3, 0, 0) == 3
    assert fresh._process is None


def test_no_zombie_is_left() -> None:
    for number in range(3):
        assert Program(["echo", "{alternative}"])(number, 0, 0) == number
    try:
        ended, _ = os.waitpid(-1, os.WNOHANG)  # 0: only living children, such as the guard
    except ChildProcessError:
        ended = 0
    assert ended == 0
