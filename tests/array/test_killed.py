"""Tasks and coordinators that are killed at random: no replication is lost, none counts twice."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from argbest import Problem, Study
from argbest.simulators.program import Program

NURSERY = Path(__file__).with_name("nursery.py")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
# The value of a replication is known beforehand, and every simulation that began and ended has left marks.
CODE = """
touch "begun/$PPID-$1-$2-$3"; sleep PAUSE; touch "ended/$PPID-$1-$2-$3" "values/$1-$2-$3"
echo "$1.$((1000 + $3 % 1000))"
"""
EQUAL = {"policy": "equal", "model": "independent", "initial": 2}
COLUMNS = ["alternative", "context", "replication", "seed", "value"]


def value(alternative: int, context: int, seed: int) -> float:
    """Return what the program prints."""
    return float(f"{alternative}.{1000 + seed % 1000}")


def the_study(simulate: Any, options: dict[str, Any], budget: int, home: Path | None = None) -> Study:
    problem = Problem([1, 2, 3], [10, 20], simulate)
    return Study(problem, **options, storage=home, plan={"budget": budget})


def killed_at_random(
    tmp_path: Path, options: dict[str, Any], *, budget: int, kills: int, pause: float = 0.5, **numbers: int
) -> Study:
    """Return the study that was left, after seeing that nothing was lost, nor counted twice."""
    marks, home = tmp_path / "marks", tmp_path / "study.db"
    for name in ("begun", "ended", "values"):
        (marks / name).mkdir(parents=True)
    code = CODE.replace("PAUSE", str(pause))
    command = ["sh", "-c", code, "simulate", "{alternative}", "{context}", "{seed}"]
    the_study(Program(command, folder=str(marks)), options, budget, home).close()
    places = {"home": str(home), "folder": str(tmp_path / "study.array"), "marks": str(marks)}
    given = json.dumps(places | {"budget": budget, "kills": kills} | numbers)
    (tmp_path / "temporary").mkdir()
    ended = subprocess.run(
        [sys.executable, str(NURSERY), given],
        env=os.environ | {"TMPDIR": str(tmp_path / "temporary")},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert not ended.stderr, ended.stderr
    said = json.loads(ended.stdout)
    print(said)
    hits = said.pop("simulations killed")
    assert said.pop("kills") >= 0.8 * kills  # on a busy machine the study may be quicker
    assert said == {"coordinator": 0, "state": "finished", "tasks": [0]}
    assert hits >= 0.75 * kills
    found = Study.load(home)
    trials = found.trials(details=True)
    assert len(trials) == budget  # none was given up for another
    assert set(trials["status"]) == {"told"}
    observed = found.observations()
    assert sorted(observed["trial"]) == list(range(budget))
    told = list(zip(observed["alternative"], observed["context"], observed["seed"], strict=True))
    assert observed["value"].tolist() == [value(*each) for each in told]
    simulated = {mark.name for mark in (marks / "values").iterdir()}
    assert simulated == {f"{a}-{c}-{seed}" for a, c, seed in told}  # what was given to anybody, counts
    assert not list((tmp_path / "study.array" / "results").glob("*.json"))
    assert not (tmp_path / "study.array" / "unreadable").exists()
    assert len(list((tmp_path / "temporary").glob("argbest-array-*"))) <= 1  # of the last one that was killed
    return found


def assert_the_same_replications(found: Study, whole: Study) -> None:
    tables = [study.observations()[COLUMNS].sort_values(COLUMNS) for study in (found, whole)]
    assert tables[0].to_dict("list") == tables[1].to_dict("list")


@pytest.mark.slow
def test_ten_tasks_and_a_coordinator_killed_at_random_lose_nothing(tmp_path: Path) -> None:
    found = killed_at_random(tmp_path, EQUAL, budget=60, first=6, tasks=10, kills=10, coordinators=1)
    assert_the_same_replications(found, the_study(value, EQUAL, 60).run(60))


@pytest.mark.slow
def test_seventy_simulations_killed_lose_nothing_and_the_study_is_the_same(tmp_path: Path) -> None:
    found = killed_at_random(tmp_path, EQUAL, budget=240, first=12, tasks=10, kills=70, coordinators=3)
    assert_the_same_replications(found, the_study(value, EQUAL, 240).run(240))


@pytest.mark.slow
def test_one_task_killed_at_random_leaves_the_decisions_of_a_serial_run(tmp_path: Path) -> None:
    options = {"policy": "gp-c-ocba", "initial": 2}
    # The first decision compiles: kills before it would hit nobody at work.
    found = killed_at_random(tmp_path, options, budget=60, first=16, tasks=1, kills=30, coordinators=2)
    whole = the_study(value, options, 60).run(60)
    assert found.observations()[COLUMNS].to_dict("list") == whole.observations()[COLUMNS].to_dict("list")


@pytest.mark.slow
def test_a_hundred_tasks_killed_at_random_lose_nothing(tmp_path: Path) -> None:
    killed_at_random(tmp_path, EQUAL, budget=1000, first=50, tasks=100, kills=200, coordinators=3, pause=3)
