"""Simulators that fail one time in five, in every way: the budget is reached, and only good values count."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from robustness.commands import study_file
from robustness.shaky import ALTERNATIVES, CONTEXTS, WAYS, faulty, hole, shaky, value

from argbest import Problem, Study
from argbest.answers.overview import overview
from argbest.cli import main
from argbest.simulators.program import Program

LIMIT = 8.0  # seconds: those that answer do so long before, however busy the machine is
APART: dict[str, Any] = {"common_random_numbers": False}  # how one fails depends on the seed: many are needed
MANNERS = {
    "raise": "ValueError: no convergence",
    "hang": "it ran longer than",
    "nan": "it returned nan, which is not one finite number",
    "garbage": "it returned 'Segmentation",
    "die": "its process died of SIGSEGV",
}


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


def assert_only_good_values_count(study: Study) -> None:
    """Check the study against one that was told the good values, and nothing of failures."""
    observations = study.observations()
    assert not any(faulty(seed) for seed in observations["seed"])
    for row in observations.to_dict("records"):
        assert row["value"] == value(row["alternative"], row["context"], row["seed"])
    good = Study(Problem(ALTERNATIVES, CONTEXTS), model="independent", initial=1, **APART)
    for trial in good.ask(len(ALTERNATIVES) * len(CONTEXTS)):
        here = (observations["alternative"] == trial.alternative) & (observations["context"] == trial.context)
        good.tell(trial, observations["value"][here].tolist())
    np.testing.assert_array_equal(good.tally.count, study.tally.count)
    pd.testing.assert_frame_equal(study.selection(), good.selection(), rtol=1e-9)
    assert study.certificate().pcs_e == pytest.approx(good.certificate().pcs_e, rel=1e-9)


def assert_failures_are_listed(study: Study, manners: dict[str, str]) -> None:
    """Check that what should have failed did, in every way there is, and for the right reason."""
    trials = study.trials()
    assert set(trials["status"]) == {"told", "failed"}
    for row in trials.to_dict("records"):
        how = faulty(row["seed"])
        assert (row["status"] == "failed") == (how is not None)
        assert manners[how] in row["reason"] if how else row["reason"] == ""
    assert {faulty(seed) for seed in trials["seed"]} == {None, *WAYS}
    assert 0.1 < (trials["status"] == "failed").mean() < 0.35
    told = overview(study)["failures"]
    assert [cause["reason"] for cause in told] == [trials["reason"][cause["trial"]] for cause in told]
    assert sum(cause["count"] for cause in told) <= (trials["status"] == "failed").sum()


def test_functions_that_fail_in_every_way_cost_no_good_value(tmp_path: Path) -> None:
    problem = Problem(ALTERNATIVES, CONTEXTS, shaky)
    study = Study(problem, policy="c-ocba", refit_every=1, storage=tmp_path / "s.db", **APART)
    study.run(100, workers=4, timeout=LIMIT, on_failure="record")
    assert study.n_replications == 100
    assert_failures_are_listed(study, MANNERS)
    assert_only_good_values_count(study)
    assert_only_good_values_count(Study.load(tmp_path / "s.db"))


PROGRAM = """#!/bin/sh
echo "trace of seed $1" >&2
number=$(($1 * 2654435761 % 2147483648))
if [ $((number / 5 % 5)) -ne 0 ]; then
  exec awk -v l=${#2} -v c=$3 -v s=$1 'BEGIN {printf "value: %.17g\\n", (l - 2) * (c - 1) + (s % 1000) / 500}'
fi
case $((number % 5)) in
  0) echo "no convergence" >&2; exit 3;;
  1) sleep 600;;
  2) echo nan;;
  3) echo "Segmentation fault";;
  4) kill -SEGV $$;;
esac
"""
MANNERS_OF_PROGRAMS = {
    "raise": "the program ended with exit code 3",
    "hang": "the program was killed after its time-out of",
    "nan": "the program printed the reward nan; expected a finite number",
    "garbage": "'Segmentation fault'; its last number cannot be read",
    "die": "the program was killed by signal 11 (SIGSEGV)",
}


def test_programs_that_fail_in_every_way_cost_no_good_value(tmp_path: Path) -> None:
    (tmp_path / "simulate").write_text(PROGRAM)
    (tmp_path / "simulate").chmod(0o755)
    command = ["./simulate", "{seed}", "{alternative}", "{context}"]
    program = Program(command, folder=str(tmp_path), timeout=LIMIT)
    study = Study(
        Problem(ALTERNATIVES, CONTEXTS, program),
        policy="c-ocba",
        refit_every=1,
        storage=tmp_path / "s.db",
        **APART,
    )
    study.run(100, workers=4, on_failure="record")
    assert study.n_replications == 100
    assert_failures_are_listed(study, MANNERS_OF_PROGRAMS)
    assert_only_good_values_count(study)
    for row in study.trials().query("status == 'failed'").to_dict("records"):
        assert f"trace of seed {row['seed']}" in row["reason"]  # what the program itself said is kept
        assert f"command: ./simulate {row['seed']}" in row["reason"]


@pytest.mark.parametrize("workers", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_a_pair_that_never_works_is_reported_and_set_aside(workers: int | None, tmp_path: Path) -> None:
    problem = Problem(ALTERNATIVES, CONTEXTS, hole)
    study = Study(problem, storage=tmp_path / "s.db").run(60, workers=workers, on_failure="record")
    assert study.n_replications == 60
    assert study.set_aside == [("yy", 2)]
    failed = study.trials().query("status == 'failed'")
    assert set(failed["reason"]) == {"ArithmeticError: singular"}
    assert 6 <= len(failed) <= 6 + (workers or 1)  # those under way when it was set aside
    assert set(zip(failed["alternative"], failed["context"], strict=True)) == {("yy", 2)}
    assert overview(Study.load(tmp_path / "s.db"))["set_aside"] == [["yy", 2]]


HOLE = """
if [ "$2 $3" = "yy 2" ] && [ ! -e mended ]; then echo singular >&2; exit 1; fi
echo $(($1 % 10))
"""


def test_the_command_reports_failures_and_pairs_set_aside(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", HOLE, "sh", "{seed}", "{alternative}", "{context}"]
    place = tmp_path / "study.db"
    done = call("run", study_file(tmp_path, command=command, budget=30), "--quiet")
    assert done.exit_code == 0, done.stderr
    words = " ".join(done.stdout.split())  # lines are wrapped to the terminal
    assert "failures: 6 of 36 trials 6 times, last in trial" in words
    assert "last lines on standard error: singular" in words
    assert "set aside after repeated failures: alternative 'yy' in context 2" in words
    shown = call("status", place).stdout
    assert "set aside: alternative 'yy' in context 2" in shown
    assert "6 failed" in shown
    (tmp_path / "mended").touch()
    again = call("resume", place, "--budget", "40", "--readmit", "--quiet")
    assert again.exit_code == 0, again.stderr
    assert "set aside" not in again.stdout
    assert Study.load(place).tally.count[1, 1] > 0
