"""Runs in trouble: pairs that never work, slots that hang, storages out of reach, clocks that differ."""

import itertools
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from grids import mostly_slow
from study.conftest import assert_same_frames, problem, simulate
from watching import PATIENCE, eventually, is_running

from argbest import GP, InputError, Program, SimulationError, StorageError, Study, compilation, registry
from argbest.answers.overview import overview
from argbest.errors import SlowNotice
from argbest.storage.base import Worker
from argbest.study import runner, workers
from argbest.study.journal import Journal


@pytest.mark.parametrize(
    "policy",
    mostly_slow(
        (name for name in registry.POLICIES if name not in ("ts", "ts-plus", "ocba")),
        fast=["gp-c-ocba", "ikg", "top-two", "dvr-loss", "equal", "c-ocba"],
    ),
)
def test_a_pair_that_never_works_stops_no_policy(policy: str, tmp_path: Path) -> None:
    def hole(alternative: str, context: int, seed: int) -> float:
        if (alternative, context) == ("c", 0):
            raise RuntimeError("singular")
        return simulate(alternative, context, seed)

    study = Study(problem(hole), policy=policy, storage=tmp_path / "s.db").run(60, on_failure="record")
    assert study.n_replications == 60
    assert study.set_aside == [("c", 0)]
    assert np.isfinite(study.selection()["mean"]).all()
    resumed = Study.load(tmp_path / "s.db", simulate=simulate)
    resumed.readmit()
    assert resumed.n_queued == 2  # of the initial design, dropped when the pair was set aside
    resumed.run(70)
    assert resumed.tally.count[2, 0] >= 2


def test_an_error_while_restoring_what_others_learned_leaves_no_half_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Study(problem(), policy="gp-c-ocba", initial=1, storage=tmp_path / "s.db").run(14)
    two = Study.load(tmp_path / "s.db", simulate=simulate)
    one.run(40)
    usual = GP.posterior

    def broken(*given: Any) -> Any:
        monkeypatch.setattr(GP, "posterior", usual)
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr(GP, "posterior", broken)
    with pytest.raises(StorageError, match=r"an event holds data that argbest never wrote \(LinAlgError"):
        two.refresh().ask()
    assert (two.refresh().n_replications, two.pending()) == (40, [])
    assert_same_frames(two.run(50), Study(problem(), policy="gp-c-ocba", initial=1).run(50))
    assert_same_frames(Study.load(tmp_path / "s.db", simulate=simulate), two)


def test_a_program_keeps_the_time_limit_of_a_run() -> None:
    sleeper = Program([sys.executable, "-c", "import time; time.sleep(600)", "{alternative}", "{context}"])
    study = Study(problem(sleeper), initial=1)
    began = time.monotonic()
    with pytest.raises(SimulationError, match="0.5 s"):
        study.run(12, timeout=0.5)
    assert time.monotonic() - began < 300


def test_a_hung_slot_stays_taken_and_other_pairs_are_not_blamed_for_it() -> None:
    release = threading.Event()

    def hang(alternative: str, context: int, seed: int) -> float:
        if (alternative, context) == ("a", 0):
            release.wait(PATIENCE)
        return simulate(alternative, context, seed)

    study = Study(problem(hang), initial=1)
    with ThreadPoolExecutor(2) as executor:
        with pytest.raises(SimulationError, match="all 2 slots of the executor are stuck"):
            study.run(40, executor=executor, timeout=2.0, on_failure="record")
        release.set()
    failed = study.trials().query("status == 'failed'")
    assert set(zip(failed["alternative"], failed["context"], strict=True)) == {("a", 0)}
    assert overview(study)["seconds_spent"] >= 4.0


def test_every_trial_of_a_batch_has_the_whole_time_limit() -> None:
    def slow(alternative: str, context: int, seed: int) -> float:
        time.sleep(0.3)
        return simulate(alternative, context, seed)

    with ThreadPoolExecutor(1) as executor:
        study = Study(problem(slow), initial=1).run(12, executor=executor, batch=8, timeout=2.0)
    assert study.n_replications == 12


def test_costs_may_come_as_an_array() -> None:
    cost = np.ones((3, 4))
    assert Study(problem(), cost=cost)._journal.costs() is not None
    with pytest.raises(InputError, match=r"cost at \(0, 0\) is 0.0; expected finite numbers above 0"):
        Study(problem(), cost=np.zeros((3, 4)))


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ("mesured", "unknown cost 'mesured'; .*Did you mean 'measured'"),
        (np.ones((2, 4)), r"got cost of shape \(2, 4\); expected numbers of shape \(3, 4\)"),
        (np.ma.masked_equal(np.eye(3, 4), 1.0), r"got cost: entry \(0, 0\) is masked, not a number"),
        ([[1.0, 1.0, True, 1.0]] * 3, r"got cost: entry \(0, 2\) is True \(bool\), not a number"),
        ([[1.0, 1.0, "2", 1.0]] * 3, r"got cost: entry \(0, 2\) is '2' \(str\), not a number"),
    ],
    ids=str,
)
def test_what_is_no_table_of_costs_is_refused(cost: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Study(problem(), cost=cost)


def test_workers_are_judged_by_the_watcher_s_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    watch, far = workers.Watch(), Worker("w", "elsewhere", 1, 0.0, 1.0, 1, 0.0)  # its clock is years slow
    assert not watch.dead(far)
    now[0] = 59.0
    assert not watch.dead(far)
    assert not watch.dead(replace(far, seen=2.0))
    now[0] = 118.0
    assert not watch.dead(replace(far, seen=2.0))
    now[0] = 119.0
    assert watch.dead(replace(far, seen=2.0))
    assert not watch.dead(replace(far, seen=2.0), unreached=100.0)  # we could not have heard it
    now[0] = 160.0
    assert watch.dead(replace(far, seen=2.0), unreached=100.0)


def test_when_a_run_is_left_the_programs_of_other_slots_are_killed(tmp_path: Path) -> None:
    """Two slots: one program fails, the other would go on for a minute."""
    source = (
        "import os, sys, time\n"
        "open(os.path.join(sys.argv[3], str(os.getpid())), 'w').close()\n"
        "sys.exit(3) if sys.argv[1] == 'b' else time.sleep(600)\n"
    )
    program = Program([sys.executable, "-c", source, "{alternative}", "{context}", str(tmp_path), "{seed}"])
    with pytest.raises(SimulationError, match="exit code 3"):
        Study(problem(program), initial=1).run(12, workers=5)
    assert eventually(lambda: not any(is_running(int(path.name)) for path in tmp_path.iterdir()))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that a run sees on its clock: one per simulation, two per call of `ask`."""
    now = [time.monotonic() + 1e9]  # no code is compiled then
    usual = Journal.ask

    def ask(*given: Any, **options: Any) -> Any:
        now[0] += 2.0
        return usual(*given, **options)

    monkeypatch.setattr(Journal, "ask", ask)
    monkeypatch.setattr(runner, "_clock", lambda: now[0])
    return now


def test_a_long_run_whose_workers_wait_for_decisions_is_advised_to_batch(
    tmp_path: Path, clock: list[float]
) -> None:
    number = itertools.count()

    def taking(seconds: float) -> Study:
        def simulator(alternative: str, context: int, seed: int) -> float:
            clock[0] += seconds
            return simulate(alternative, context, seed)

        path = tmp_path / f"{next(number)}.db"
        return Study(problem(simulator), policy="equal", model="independent", initial=2, storage=path)

    advice = r"waited for decisions: each took 2e\+03 ms, 67% of the time.*batch = 8 under \[run\]"
    with pytest.warns(SlowNotice, match=advice):
        taking(1.0).run(36)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SlowNotice)
        taking(3.0).run(36)  # simulations take most of the time
        taking(0.0).run(24)  # short
        taking(1.0).run(100, batch=4)  # follows it already
        Study(taking(1.0).problem, policy="equal", model="independent", initial=2).run(36)  # nobody waits


def test_compilation_is_no_reason_to_advise_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred seconds sixty went into decisions, but fifty-five of these into compiling code."""
    now = time.monotonic()
    parts: dict[str, Any] = dict.fromkeys(("study", "journal", "end", "patience", "report", "track"))
    parts |= {"resources": SimpleNamespace(batch=1), "total": 0, "asked": 10}
    parts |= {"jobs": SimpleNamespace(slots=2), "presence": SimpleNamespace(busy=80.0)}
    run = runner._Run(**parts, begun=now - 100.0, asking=60.0)
    monkeypatch.setattr(runner, "_WORTH_ADVICE", 30.0)
    monkeypatch.setattr(compilation, "_preparing", compilation._Preparation())
    assert "each took 6e+03 ms, 60% of the time" in run.advice()
    compilation._preparing.spans += [(now - 150.0, now - 90.0), (now - 85.0, now - 40.0)]
    assert compilation.seconds_since(now - 100.0) == pytest.approx(55.0)
    assert run.advice() == ""
    with compilation._preparing.one_more():
        compilation._preparing.begun -= 7.0
        assert compilation.seconds_since(now - 20.0) == pytest.approx(7.0, abs=5.0)
    assert compilation.seconds_since(now - 100.0) == pytest.approx(62.0, abs=5.0)
