"""Tasks and coordinators that are killed at random: no replication is lost, none counts twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from argbest import Problem, Study
from argbest.simulators.program import Program

NURSERY = Path(__file__).with_name("nursery.py")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
# The value of a replication is known beforehand, and every simulation that ended has left a mark.
CODE = 'sleep 0.1; touch "$1-$2-$3"; echo "$1.$((1000 + $3 % 1000))"'


def expected(alternative: int, seed: int) -> float:
    return float(f"{alternative}.{1000 + seed % 1000}")


def killed_at_random(tmp_path: Path, *, budget: int, tasks: int, kills: int, coordinators: int) -> None:
    marks, home = tmp_path / "marks", tmp_path / "study.db"
    marks.mkdir()
    command = ["sh", "-c", CODE, "simulate", "{alternative}", "{context}", "{seed}"]
    problem = Problem([1, 2, 3], [10, 20], Program(command, folder=str(marks)))
    options = {"policy": "equal", "model": "independent", "initial": 2, "storage": home}
    Study(problem, **options, plan={"budget": budget}).close()  # type: ignore[arg-type]
    numbers = {"budget": budget, "tasks": tasks, "kills": kills, "coordinators": coordinators}
    given = json.dumps(
        {"home": str(home), "folder": str(tmp_path / "study.array"), "marks": str(marks), **numbers}
    )
    ended = subprocess.run(
        [sys.executable, str(NURSERY), given],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.stderr == ""
    assert json.loads(ended.stdout) == {"coordinator": 0, "state": "finished", "tasks": [0]}
    trials = Study.load(home).trials(details=True)
    assert len(trials) == budget  # none was given up for another
    assert set(trials["status"]) == {"told"}
    observed = Study.load(home).observations()
    assert sorted(observed["trial"]) == list(range(budget))
    told = list(zip(observed["alternative"], observed["context"], observed["seed"], strict=True))
    assert observed["value"].tolist() == [expected(a, seed) for a, _, seed in told]
    simulated = {mark.name for mark in marks.iterdir()}
    assert simulated == {f"{a}-{c}-{seed}" for a, c, seed in told}  # what was given to anybody, counts
    assert not list((tmp_path / "study.array" / "results").glob("*.json"))


def test_ten_tasks_and_a_coordinator_killed_at_random_lose_nothing(tmp_path: Path) -> None:
    killed_at_random(tmp_path, budget=60, tasks=10, kills=10, coordinators=1)


@pytest.mark.slow
def test_a_hundred_tasks_killed_at_random_lose_nothing(tmp_path: Path) -> None:
    killed_at_random(tmp_path, budget=1000, tasks=100, kills=200, coordinators=3)
