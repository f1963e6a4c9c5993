"""The command killed while a program runs for it: nothing is lost, and the program does not live on."""

import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from robustness.commands import ENVIRONMENT, argbest, study_file
from watching import eventually, is_running

from argbest import Study
from argbest.cli import main

BUDGET = 24
PROGRAM = """#!/bin/sh
echo "$1 $(($1 % 1000)).25 $$" >> log
sleep 0.05
echo "the answer is $(($1 % 1000)).25"
"""


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


def lines(folder: Path) -> list[list[str]]:
    log = folder / "log"
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def killed(folder: Path, command: list[str], after: int) -> None:
    """Start a command and kill it when so many programs more have started for it."""
    wanted = len(lines(folder)) + after
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, env=ENVIRONMENT
    )
    try:
        assert eventually(lambda: len(lines(folder)) >= wanted)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize("kills", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_a_command_killed_again_and_again_loses_nothing_and_leaves_no_programs(
    kills: int, tmp_path: Path
) -> None:
    (tmp_path / "simulate").write_text(PROGRAM)
    (tmp_path / "simulate").chmod(0o755)
    command = ["./simulate", "{seed}", "{alternative}", "{context}"]
    file, place = study_file(tmp_path, command=command, budget=BUDGET), tmp_path / "study.db"
    moments = np.random.default_rng(7).integers(1, 4, kills)
    killed(tmp_path, argbest("run", file, "--quiet"), int(moments[0]))
    for after in moments[1:]:
        killed(tmp_path, argbest("resume", place, "--quiet"), int(after))
        seeds, kept = [seed for seed, *_ in lines(tmp_path)], set(Study.load(place).observations()["seed"])
        assert {int(seed) for seed in seeds if seed != seeds[-1]} <= kept
    programs = [int(number) for *_, number in lines(tmp_path)]
    assert eventually(lambda: not any(map(is_running, programs)))
    assert call("resume", place, "--quiet").exit_code == 0
    observations = Study.load(place).observations()
    logged = {int(seed): float(value) for seed, value, _ in lines(tmp_path)}
    assert len(observations) == BUDGET
    assert dict(zip(observations["seed"], observations["value"], strict=True)) == logged
    assert call("run", file, "--storage", tmp_path / "whole.db", "--quiet").exit_code == 0
    assert Study.load(tmp_path / "whole.db").observations().equals(observations)
