"""Many processes at one study: the budget is reached exactly, each trial is told once, nobody is stuck."""

import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from postgres import Server
from robustness.commands import argbest, study_file
from robustness.conftest import assert_nothing_lost, mortal
from robustness.mortal import CELLS, keys, problem, value
from watching import PATIENCE

from argbest import Study
from argbest.answers.overview import overview
from argbest.storage.sql import SQLStorage
from argbest.study.journal import Request
from argbest.studyfile import read

BUDGET = 150


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "study.db")
    server: Server = request.getfixturevalue("postgres")
    return server.new_database()


@contextmanager
def loaded(place: str) -> Iterator[Study]:
    storage = SQLStorage(place)
    yield Study.load(storage)
    storage.close()


@pytest.mark.parametrize(
    "place", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True
)
@pytest.mark.parametrize("policy", ["gp-c-ocba", pytest.param("equal", marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_workers", [12, pytest.param(32, marks=pytest.mark.slow)])
def test_a_crowd_of_workers_loses_and_repeats_nothing(
    n_workers: int, policy: str, place: str, tmp_path: Path
) -> None:
    found = mortal("crowd", place, tmp_path, n_workers, BUDGET, policy)
    assert found["exits"] == [0] * n_workers, found["said"]
    with loaded(place) as study:
        assert_nothing_lost(study, tmp_path / "log", BUDGET)
        workers = overview(study)["workers"]
    log = (tmp_path / "log").read_text().splitlines()
    assert len(log) == len(set(log)) == BUDGET  # nothing was simulated in vain
    assert len(workers) == n_workers
    shares = [study._journal.ledger.trials.workers().count(w["name"]) for w in workers]
    assert sum(shares) == BUDGET
    assert sum(share > 0 for share in shares) >= CELLS  # so many were simulating at the same time


@pytest.mark.parametrize("policy", ["c-ocba", "dsco", "ts-plus"])
def test_policies_that_need_the_whole_initial_design_wait_for_the_last_of_it(policy: str) -> None:
    def uneven(alternative: str, context: int, seed: int) -> float:
        time.sleep(0.02 if seed % 3 == 0 else 0.001)
        return value(alternative, context, seed)

    with ThreadPoolExecutor(5) as executor:
        study = Study(problem(uneven), policy=policy).run(50, executor=executor)
    assert study.n_replications == 50
    assert set(study.trials()["status"]) == {"told"}


def test_what_one_worker_took_over_from_the_dead_no_other_takes_from_it(tmp_path: Path) -> None:
    one = Study(problem(value), storage=tmp_path / "s.db")
    [left] = one._journal.ask(Request(1, "dead"))
    two = Study.load(tmp_path / "s.db")
    one._journal.give_back([left.id], workers=["dead"])
    [taken] = one._journal.ask(Request(1, "alive"))
    two._journal.give_back([left.id], workers=["dead"])  # it looked before the first had the trial
    assert (taken.id, taken.seed) == (left.id, left.seed)
    assert one.refresh()._journal.ledger.held == two._journal.ledger.held == {left.id: "alive"}


@pytest.mark.parametrize(
    "place", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True
)
def test_a_worker_that_was_suspended_finds_its_trial_told(place: str, tmp_path: Path) -> None:
    found = mortal("suspend", place, tmp_path)
    assert found["other"] == found["slow"] == 0, found["said"]
    assert found["replications"] == 30
    with loaded(place) as study:
        assert_nothing_lost(study, tmp_path / "log", 30)
    simulated = keys(tmp_path / "log")
    assert (
        len(simulated) == len(set(simulated)) + 1
    )  # the trial that changed hands was simulated twice, told once


@pytest.mark.slow
def test_three_commands_work_at_one_study(tmp_path: Path) -> None:
    source = "import time\n\ndef simulate(*given):\n    time.sleep(0.03)\n    return 1.0 + given[2] % 7\n"
    file = study_file(tmp_path, python=source, budget=90)
    described = read(file)
    place = tmp_path / "study.db"
    study = Study(described.problem, **described.options, storage=place, plan=described.plain())
    workers = [
        subprocess.Popen(
            argbest("worker", place, "--quiet"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for worker in workers:
        said, complained = worker.communicate(timeout=PATIENCE)
        assert worker.returncode == 0, complained
        assert "finished: 90 replications" in said
    study.refresh()
    assert study.n_replications == 90
    assert study.trials()["status"].tolist() == ["told"] * 90
    assert not study.trials().duplicated(["alternative", "context", "seed"]).any()
    assert [worker["alive"] for worker in overview(study)["workers"]] == [False] * 3
