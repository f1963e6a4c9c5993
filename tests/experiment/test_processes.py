"""Several processes: what an interruption leaves, and what they need to begin."""

import os
import signal
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import small_problems
from watching import PATIENCE, eventually

from argbest import Problem
from argbest.errors import InputError
from argbest.experiment import Experiment, Results, measures, run, runner

QUICK = ["c-ocba", "equal:independent"]  # nothing compiled, which every new process would have to load


def asked(policies: list[str] = QUICK, **options: Any) -> Experiment:
    given = {"replications": 12, "macroreps": 12, "seed": 5} | options
    return Experiment(given.pop("problem", small_problems.table()), policies, **given)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argbest.experiment.runner._MOST_IN_A_PART", 4)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT as at a terminal: programs started in the background, and their children, ignore it."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "runs").iterdir())


def numbers(results: Results) -> pd.DataFrame:
    return results.runs.drop(columns=list(measures.TIMES))


@pytest.mark.slow
def test_an_interruption_keeps_what_is_finished(tmp_path: Path) -> None:
    def interrupt(*_: int) -> None:
        if any((tmp_path / "runs").glob("*.csv")):
            raise KeyboardInterrupt

    long = asked(replications=400, macroreps=40, checkpoint_every=1)
    with pytest.raises(KeyboardInterrupt, match="finished parts are kept"):
        run(long, out=tmp_path, jobs=2, progress=interrupt)
    assert 1 <= len(kept(tmp_path)) < 20
    assert all(name.endswith(".csv") for name in kept(tmp_path))


class Pool:
    """A pool whose first part is done at once, the second while it shuts down, interrupted once more."""

    def __init__(self, *_: Any) -> None:
        self.futures: list[tuple[Future[pd.DataFrame], runner.Part]] = []

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: Any) -> None:
        """Do nothing."""

    def submit(self, _: Any, part: runner.Part) -> Future[pd.DataFrame]:
        self.futures.append((Future(), part))
        if len(self.futures) == 1:
            self._finish(0)
        return self.futures[-1][0]

    def shutdown(self, **_: Any) -> None:
        self._finish(1)
        raise KeyboardInterrupt

    def _finish(self, i: int) -> None:
        future, part = self.futures[i]
        future.set_result(runner.run_part(asked(), part, lambda _: None))


def test_a_second_interruption_loses_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "ProcessPoolExecutor", Pool)
    with pytest.raises(KeyboardInterrupt, match="finished parts are kept"):
        run(asked(), out=tmp_path, jobs=2, progress=interrupt)
    assert kept(tmp_path) == ["c-ocba.000000-000003.csv", "equal+independent.000000-000003.csv"]


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals wait on POSIX systems only")
@pytest.mark.parametrize(
    "delay", [0.3, *(pytest.param(d, marks=pytest.mark.slow) for d in (0.0, 0.1, 0.5, 1.0))]
)
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_while_processes_start_prints_one_line(tmp_path: Path, delay: float) -> None:
    options = ("--policy", "c-ocba", "--replications", "100000", "--macroreps", "200", "--jobs", "2")
    command = [sys.executable, "-c", "from argbest.cli import main; main(prog_name='argbest')"]
    process = subprocess.Popen(
        [*command, "compare", "branin", *options, "--out", str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert eventually((tmp_path / "header.json").exists)
    time.sleep(delay + 0.05)
    os.killpg(process.pid, signal.SIGINT)
    try:
        said = process.communicate(timeout=PATIENCE)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "argbest: interrupted; finished parts are kept in" in said


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_waits_until_a_block_is_over() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), runner._undisturbed():  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        reached = True
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["c-ocba", "dvr:additive-gp"])
def test_one_process_apart_finds_the_same_numbers_as_several(
    monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    experiment = asked([policy], problem="branin", macroreps=5, replications=20)
    one, two = (numbers(run(experiment, jobs=jobs, apart=True)) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two, check_exact=True)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, False),
        ({"OMP_NUM_THREADS": "1"}, True),
        ({"OMP_NUM_THREADS": "2"}, False),
        ({"OPENBLAS_NUM_THREADS": "1"}, False),
        ({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "4"}, False),
        ({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}, True),
    ],
)
def test_one_job_gets_a_process_of_its_own_unless_it_has_one_thread_anyway(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], expected: bool
) -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    used: list[str] = []
    monkeypatch.setattr(runner, "_together", lambda *_: used.append("together"))
    monkeypatch.setattr(runner, "_serially", lambda *_: used.append("serially"))
    for apart in (True, False):
        with pytest.raises(ValueError, match="No objects to concatenate"):
            run(asked(), apart=apart)
    assert used == ["serially" if expected else "together", "serially"]


def test_a_script_that_is_no_file_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    script = types.ModuleType("__main__")
    script.__file__ = "<stdin>"
    monkeypatch.setitem(sys.modules, "__main__", script)
    with pytest.raises(InputError, match="'<stdin>' is not a file. Save the script as one, or use jobs=1"):
        run(asked(), jobs=2)


def test_what_a_session_has_defined_cannot_be_sent_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    session: Any = types.ModuleType("__main__")
    session.Own = type("Own", (), {"__module__": "__main__", "__call__": lambda *_: 0.0})
    monkeypatch.setitem(sys.modules, "__main__", session)
    problem = Problem(["A", "B"], [0.0, 1.0], session.Own(), truth=np.eye(2))
    with pytest.raises(InputError, match="uses what this session has defined.* or use jobs=1"):
        run(asked(problem=problem), jobs=2)
