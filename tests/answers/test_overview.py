"""Reasons of failures: capped when they are recorded, grouped by cause when they are told."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from misbehaving import ENDLESS, shout

from argbest import Problem, Study
from argbest.answers.overview import Cause, causes, overview
from argbest.cli import main
from argbest.errors import SimulationError
from argbest.texts import LONGEST


def call(*arguments: object, given: str = "") -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments], input=given)


def test_causes_are_counted_whatever_their_numbers_and_addresses() -> None:
    reasons = {
        0: "ValueError: 17 is not below 3.5e-2",
        1: "KeyError: 'x'",
        2: "ValueError: -4 is not below 12",
        5: "<Model at 0x7f8dbc> of run 5f0c3b1e-aa12-4c7d-9e01-0123456789ab is singular",
        6: "<Model at 0x11> of run deadbeef01-aa12-4c7d-9e01-0123456789ab is singular",
        9: "ValueError: 1,000 is not below 0",
    }
    assert causes(reasons) == [
        Cause(3, 9, reasons[9]),
        Cause(2, 6, reasons[6]),
        Cause(1, 1, reasons[1]),
    ]


def test_what_a_program_was_given_does_not_tell_causes_apart() -> None:
    text = "the program ended with exit code 1.\ncommand: ./run {}\nlast lines on standard error:\n  {}"
    reasons = {0: text.format("plan-a", "singular"), 1: text.format("plan-b", "singular")}
    assert causes(reasons) == [Cause(2, 1, reasons[1])]
    assert len(causes(reasons | {2: text.format("plan-b", "no licence")})) == 2


def test_status_tells_the_most_frequent_causes_and_how_many_others(tmp_path: Path) -> None:
    study = Study(Problem(["a", "b"], [0, 1]), initial=20, storage=tmp_path / "s.db")
    kinds = "".join(kind * (8 - k) for k, kind in enumerate("abcdefg"))
    for trial, kind in zip(study.ask(35), kinds, strict=True):
        study.fail(trial, f"{kind * 3}: no value after {trial.id} s")
    now = overview(study)
    assert [each["count"] for each in now["failures"]] == [8, 7, 6, 5, 4]
    assert now["failures"][0] == {"count": 8, "trial": 7, "reason": "aaa: no value after 7 s"}
    assert now["other_causes"] == 2
    assert json.loads(call("status", tmp_path / "s.db", "--json").stdout)["other_causes"] == 2
    shown = call("status", tmp_path / "s.db").stdout
    assert "failures: 35 of 35 trials\n  8 times, last in trial 7: aaa: no value after 7 s\n" in shown
    assert "  and 2 other causes; " in shown
    assert "fff" not in shown


def assert_capped(reason: str) -> None:
    assert LONGEST - 200 < len(reason.encode()) <= LONGEST
    assert "bytes are cut here" in reason


def test_a_reason_is_capped_when_it_is_recorded(tmp_path: Path) -> None:
    study = Study(Problem(["a", "b"], [0, 1], shout), storage=tmp_path / "s.db")
    study.fail(study.ask()[0], ENDLESS)
    line = json.dumps({"trial": study.ask()[0].id, "failed": ENDLESS})
    assert call("tell", tmp_path / "s.db", given=line).exit_code == 0
    with pytest.raises(SimulationError, match="all failed, the last one with: ValueError: é") as hopeless:
        study.run(100, on_failure="record")
    assert len(str(hopeless.value).encode()) < LONGEST + 200
    with pytest.raises(SimulationError, match="the simulator failed on trial") as first:
        study.run(100)
    assert len(str(first.value).encode()) < LONGEST + 1000
    reasons = Study.load(tmp_path / "s.db", simulate=shout).trials().query("status == 'failed'")["reason"]
    assert len(reasons) == 22
    for reason in reasons:
        assert_capped(reason)


def test_a_reason_from_a_worker_is_capped_too() -> None:
    study = Study(Problem(["a", "b"], [0, 1], shout))
    with pytest.raises(SimulationError, match="all failed"):
        study.run(100, workers=1, on_failure="record")
    assert_capped(study.trials().query("status == 'failed'")["reason"].iloc[0])


def test_a_long_reason_is_shortened_in_the_terminal(tmp_path: Path) -> None:
    study = Study(Problem(["a", "b"], [0, 1]), storage=tmp_path / "s.db")
    study.fail(study.ask()[0], "begin\n" + "x" * 10**5 + "\nend")
    shown = call("status", tmp_path / "s.db").stdout
    assert len(shown) < 2000
    assert "in trial 0: begin\n" in shown
    assert "\n    end\n" in shown
