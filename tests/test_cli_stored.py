"""Stored studies on the command line: run, resume, worker, status, ask, tell and export."""

import json
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from robustness.commands import ENVIRONMENT, argbest, study_file
from robustness.mortal import observed
from watching import PATIENCE, announced, eventually, is_running

from argbest import Problem, Study
from argbest.answers import forecasting
from argbest.cli import main
from argbest.models.additive_gp import AdditiveGP
from argbest.models.gp import GP
from argbest.study import learning
from argbest.studyfile import read

pytestmark = pytest.mark.usefixtures("few_draws")

SHELL = ["/bin/sh", "-c", "echo $(($1 % 100)).5", "sh", "{seed}", "{alternative}", "{context}"]


def call(*arguments: object, given: str | bytes = "") -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments], input=given)


def rows(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A study file whose simulator is a program."""
    return study_file(tmp_path, command=SHELL, budget=8)


@pytest.fixture
def place(file: Path) -> Path:
    """A stored study, not run yet."""
    described = read(file)
    place = file.with_suffix(".db")
    Study(described.problem, **described.options, storage=place, plan=described.plain())
    return place


def test_run_keeps_the_study_and_prints_its_answer(file: Path) -> None:
    result = call("run", file, "--quiet")
    assert result.exit_code == 0, result.output
    study = Study.load(file.with_suffix(".db"))
    assert study.n_replications == 8
    for row in study.observations().to_dict("records"):
        assert row["value"] == row["seed"] % 100 + 0.5
    lines = result.stdout.splitlines()
    assert lines[0] == f"small: 2 alternatives x 2 contexts, kept in {file.with_suffix('.db')}"
    for label in study.selection()["selected"]:
        assert any(label in line.split() for line in lines[1:])
    assert "certificate:" in result.stdout
    assert result.stderr == ""


def test_run_prints_paths_as_they_were_given(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent.parent)
    given = Path(file.parent.name) / file.name
    file.write_text(f"storage = 'kept.db'\n{file.read_text('utf-8')}", "utf-8")
    first, second = (call("run", given, "--quiet") for _ in range(2))
    kept = given.with_name("kept.db")
    assert f"kept in {kept}\n" in first.stdout
    assert f"in the file '{kept}' already" in second.stderr
    assert str(file.parent.parent) not in first.output + second.output


def test_run_does_not_begin_a_second_time_but_says_how_to_go_on(file: Path) -> None:
    call("run", file, "--quiet")
    result = call("run", file, "--quiet")
    assert result.exit_code == 1
    again = shlex.join(["argbest", "resume", str(file.with_suffix(".db"))])
    assert "already; load it, or give another name. To start again, remove it" in result.stderr
    assert result.stderr.rstrip().endswith(f"To continue it: {again}")
    assert Study.load(file.with_suffix(".db")).n_replications == 8


def test_resume_goes_on_to_a_larger_budget_as_one_run_would(file: Path, tmp_path: Path) -> None:
    call("run", file, "--quiet")
    assert call("resume", file.with_suffix(".db"), "--budget", 15, "--quiet").exit_code == 0
    assert call("run", file, "--budget", 15, "--storage", tmp_path / "whole.db", "--quiet").exit_code == 0
    halves, whole = (Study.load(tmp_path / name) for name in ("study.db", "whole.db"))
    pd.testing.assert_frame_equal(halves.observations(), whole.observations())


def test_options_of_the_command_are_stored_for_those_who_go_on(tmp_path: Path) -> None:
    file = study_file(tmp_path, command=SHELL, budget=None)
    result = call("run", file, "--quiet")
    assert result.exit_code == 2
    assert "the study names no budget; give --budget or --seconds" in result.stderr
    result = call("run", file, "--budget", 3, "--quiet")
    assert result.exit_code == 2
    assert "a budget of 3 is below the 4 replications of the initial design" in result.stderr
    assert not file.with_suffix(".db").exists()
    assert call("run", file, "--budget", 9, "--quiet").exit_code == 0
    assert Study.load(file.with_suffix(".db")).plan == {"budget": 9}
    assert call("resume", file.with_suffix(".db"), "--quiet").exit_code == 0
    assert Study.load(file.with_suffix(".db")).n_replications == 9


def test_a_worker_finishes_the_study_and_says_so(place: Path) -> None:
    result = call("worker", place, "--quiet")
    assert result.exit_code == 0, result.output
    assert "finished: 8 replications, 8 of them since this worker began" in result.stdout
    assert "finished: 8 replications, 0 of them" in call("worker", place, "--quiet").stdout


def test_a_study_of_another_name_is_found_by_it(tmp_path: Path) -> None:
    file = study_file(tmp_path, command=SHELL, budget=8, storage='[storage]\nurl = "all.db"\nname = "it\'s"')
    assert call("run", file, "--quiet").exit_code == 0
    result = call("run", file, "--quiet")
    assert result.exit_code == 1
    command = result.stderr.partition("To continue it: argbest ")[2]
    assert call(*shlex.split(command), "--budget", "10", "--quiet").exit_code == 0
    assert Study.load(tmp_path / "all.db", name="it's").n_replications == 10
    for name in ("status", "resume", "worker", "ask", "tell", "export", "check"):
        missing = call(name, tmp_path / "all.db")
        assert missing.exit_code == 1
        assert "there is no study 'study' in" in missing.stderr
        assert 'It holds "it\'s": give one of these names.' in " ".join(missing.stderr.split())


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for name in ("status", "resume", "worker", "ask", "tell", "export", "report", "serve", "check"):
        missing = call(name, tmp_path / "none.db")
        assert missing.exit_code == 1
        assert f"there is no file '{tmp_path / 'none.db'}'" in missing.stderr
    alone = call("task", tmp_path / "typo", "--patience", "0.1")
    assert alone.exit_code == 1
    assert "no coordinator came to" in alone.stderr


def test_run_stops_with_a_guarantee_and_status_tells_of_it(tmp_path: Path) -> None:
    source = "import random\ndef simulate(a, c, s): return 3.0 * (a == 'x') + random.Random(s).gauss(0, 1)\n"
    file = study_file(tmp_path, python=source, budget=400, study="common_random_numbers = false")
    result = call("run", file, "--guarantee", "0.1,0.5", "--quiet")
    assert result.exit_code == 0, result.output
    said = (
        "2 of 2 contexts certified within 0.5 of the best, confidence 0.9 in each, for normal rewards; "
        "all of them at once"
    )
    assert f"without a model: {said}" in " ".join(result.stdout.split())
    place = file.with_suffix(".db")
    study = Study.load(place)
    assert study.n_replications < 200
    assert study.plan["stop"] == {"rule": "guaranteed", "alpha": 0.1, "delta": 0.5}
    [now] = rows(call("status", place, "--json"))
    assert now["guarantee"]["certified"]
    assert now["guarantee"]["sentence"] == said
    assert said in " ".join(call("status", place).stdout.split())
    assert (
        f"Without a model, from the data alone: {said}." in study.report(tmp_path / "page.html").read_text()
    )
    before = study.n_replications
    assert call("resume", place, "--guarantee", "1e-9", "--quiet").exit_code == 0
    assert Study.load(place).n_replications > before


@pytest.mark.parametrize(
    ("given", "message"),
    [("much", "--guarantee much is not understood"), ("1,2,3", "lists 3 numbers"), ("2", "alpha must be a")],
)
def test_a_guarantee_that_means_nothing_is_refused(file: Path, given: str, message: str) -> None:
    result = call("run", file, "--guarantee", given)
    assert result.exit_code
    assert message in " ".join(result.stderr.split())
    assert not file.with_suffix(".db").exists()


def test_a_study_file_and_a_stored_study_are_told_apart(place: Path) -> None:
    file = place.with_suffix(".toml")
    for command in ("status", "resume", "check"):
        result = call(command, file)
        assert result.exit_code == 1
        assert f"'{file}' is a study file. Name the file in which its study is kept" in result.stderr
    result = call("run", place)
    assert result.exit_code == 2
    assert (
        f"study.db is a stored study, not a study file. To continue it: argbest resume {place}"
        in result.stderr
    )


def test_a_simulator_without_noise_can_be_declared_in_a_study_file(tmp_path: Path) -> None:
    source = "def simulate(a, c, s): return 3.0 * (a == 'x')\n"
    file = study_file(tmp_path, python=source, budget=20)
    assert "say so: noise_sd=0" in " ".join(call("run", file, "--quiet").stdout.split())
    file.with_suffix(".db").unlink()
    file.write_text("noise_sd = 0\n" + file.read_text())
    result = call("run", file, "--quiet")
    assert result.exit_code == 0, result.output
    assert "contexts: 2 sure" in result.stdout
    assert "noise_sd" not in result.stdout
    assert Study.load(file.with_suffix(".db")).problem.noise_sd is not None


def test_after_failures_alone_the_command_to_continue_is_named(tmp_path: Path) -> None:
    file = study_file(tmp_path, python="def simulate(a, c, s): raise ValueError('no licence')\n", budget=40)
    result = call("run", file, "--quiet")
    assert result.exit_code == 1
    again = f"argbest resume {file.with_suffix('.db')} --readmit"
    assert f"Fix the simulator and run again. Once it is fixed, continue with: {again}" in result.stderr


def test_status_shows_progress_certainty_workers_and_failures(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = call("status", place)
    assert empty.exit_code == 0, empty.output
    assert "replications: 0 of 8" in empty.stdout
    assert "nothing is known yet" in empty.stdout
    assert f"next: argbest resume {place} --budget 8" in empty.stdout.replace("\n", " ")
    for command in ("report", "answer"):
        refused = call(command, place)
        assert refused.exit_code == 2
        assert f"Next: argbest resume {place} --budget 8" in refused.output
    call("worker", place, "--quiet")
    study = Study.load(place)
    study.fail(study.ask()[0], "no <licence> [bold]left[/bold]")
    shown = call("status", place).stdout
    assert "replications: 8 of 8" in shown
    assert "trials: 8 told, 0 under way, 0 given back, 1 failed" in shown
    assert "PCS so far:" in shown
    told = " ".join(shown.split())
    assert "initial design: 4 replications, as given" in told
    assert "what the model found: The mean rewards of the pairs have standard deviation" in told
    assert "The noise of one replication has standard deviation" in told
    assert "forecast: PCS_E 0.95" in told
    assert "failures: 1 of 9 trials\n  once, in trial 8: no <licence> [bold]left[/bold]" in shown
    assert "gone" in shown  # its command has ended
    monkeypatch.setattr(forecasting, "_QUICK_SIZE", 0)
    told = call("status", place).stdout
    command = f"argbest status {place} --forecast"
    assert f"forecast: left out, because it would take long. To make it:\n  {command}\n" in told
    assert "forecast: PCS_E 0.95" in call(*command.split()[1:]).stdout
    monkeypatch.setattr(forecasting, "_MOST_NUMBERS", 0)
    assert "forecast: left out, because the table is too large for one.\n" in call("status", place).stdout


def test_status_says_whether_the_study_is_finished(place: Path) -> None:
    assert call("status", place).stdout.startswith("small: 2 alternatives x 2 contexts, not finished\n")
    call("worker", place, "--quiet", "--budget", "6")
    assert "contexts, nobody works on it\n" in call("status", place).stdout
    call("worker", place, "--quiet")
    assert "contexts, finished\n" in call("status", place).stdout


def test_a_study_whose_stop_rule_is_met_is_finished_before_its_budget(tmp_path: Path) -> None:
    source = "def simulate(a, c, s): return 3.0 * (a == 'x') + s % 7 / 10\n"
    stop = 'stop = { rule = "expected-pcs", target = 0.6 }'
    file = study_file(tmp_path, python=source, budget=400, run=stop)
    assert call("run", file, "--quiet").exit_code == 0
    shown = call("status", file.with_suffix(".db")).stdout
    assert Study.load(file.with_suffix(".db")).n_replications < 400
    assert "contexts, finished\n" in shown


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A stored study whose stop rule is met long before its budget is spent."""
    source = "def simulate(a, c, s): return 3.0 * (a == 'x') + s % 7 / 10\n"
    stop = 'stop = { rule = "expected-pcs", target = 0.6 }'
    file = study_file(tmp_path, python=source, budget=400, run=stop)
    result = call("run", file, "--quiet")
    n = Study.load(file.with_suffix(".db")).n_replications
    assert n < 100
    said = f"the stop rule expected-pcs:target=0.6 is met, with {n} of at most 400 replications."
    assert said in " ".join(result.stdout.split())
    return file.with_suffix(".db")


@pytest.mark.parametrize("command", ["resume", "worker"])
def test_a_stop_rule_that_is_met_already_is_named_with_the_way_to_go_on(command: str, stopped: Path) -> None:
    n = Study.load(stopped).n_replications
    result = call(command, stopped, "--budget", 300, "--quiet")
    assert result.exit_code == 0, result.output
    assert Study.load(stopped).n_replications == n
    assert (
        "nothing was simulated: the stop rule expected-pcs:target=0.6 is met, with "
        f"{n} of at most 300 replications." in " ".join(result.stdout.split())
    )
    assert f"to go on: argbest resume {stopped} --budget 300 --stop none\n" in result.stdout


def test_another_stop_rule_or_none_takes_the_place_of_the_stored_one(stopped: Path) -> None:
    n = Study.load(stopped).n_replications
    stricter = call("resume", stopped, "--stop", "guaranteed:alpha=0.01", "--budget", n + 3, "--quiet")
    assert stricter.exit_code == 0, stricter.output
    assert Study.load(stopped).n_replications == n + 3
    none = call("resume", stopped, "--stop", "none", "--budget", n + 6, "--quiet")
    assert none.exit_code == 0, none.output
    assert Study.load(stopped).n_replications == n + 6


def test_a_budget_that_is_spent_already_is_named_with_the_way_to_go_on(place: Path) -> None:
    call("worker", place, "--quiet")
    result = call("resume", place, "--quiet")
    assert "nothing was simulated: the budget of 8 replications is spent.\n" in result.stdout
    assert f"to go on: argbest resume {place} --budget 16\n" in result.stdout


def test_where_the_simulation_time_is_spent_the_way_to_go_on_is_more_time(tmp_path: Path) -> None:
    source = "import time\ndef simulate(a, c, s): time.sleep(0.01); return s % 7 + 0.5\n"
    file = study_file(tmp_path, python=source, budget=None, run="seconds = 0.05")
    first = call("run", file, "--quiet")
    place = file.with_suffix(".db")
    n = Study.load(place).n_replications
    assert f"argbest resume {place} --seconds 0." in first.stdout
    again = call("resume", place, "--quiet")
    assert "nothing was simulated: the simulation time is spent.\n" in again.stdout
    [line] = [line for line in again.stdout.splitlines() if line.startswith("to go on: argbest resume")]
    assert call(*line.removeprefix("to go on: argbest ").split(), "--quiet").exit_code == 0
    assert Study.load(place).n_replications > n


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--stop", "expected"), "unknown [run] stop rule 'expected'"),
        (("--stop", "expected-pcs"), "needs a target"),
        (("--stop", "expected-pcs:target=high"), "the target probability must be a number"),
        (("--stop", "expected-pcs:0.9"), "expected NAME:OPTION=VALUE"),
        (("--stop", "none", "--guarantee", "0.1"), "--guarantee is a stop rule, so it cannot stand beside"),
        (("--assume", "normal"), "--assume normal is about a guarantee; give --guarantee ALPHA too."),
        (("--guarantee", "0.1", "--assume", "much"), "unknown assume 'much'"),
        (("--guarantee", "0.1", "--assume", "range"), "assume='range' needs the range of the rewards"),
    ],
)
def test_a_stop_rule_that_means_nothing_is_refused(file: Path, given: tuple[str, ...], message: str) -> None:
    result = call("run", file, *given, "--quiet")
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.stderr.split())
    assert not file.with_suffix(".db").exists()


def test_a_guarantee_takes_an_assumption_on_the_command_line(tmp_path: Path) -> None:
    source = "def simulate(a, c, s): return 3.0 * (a == 'x') + s % 7 / 10\n"
    file = study_file(tmp_path, python=source, budget=60)
    result = call("run", file, "--guarantee", "0.1,0.5", "--assume", "deterministic", "--quiet")
    assert result.exit_code == 0, result.output
    assert "for normal rewards, equal differences taken as exact" in " ".join(result.stdout.split())
    stop = Study.load(file.with_suffix(".db")).plan["stop"]
    assert stop == {"rule": "guaranteed", "alpha": 0.1, "delta": 0.5, "assume": "deterministic"}


def test_report_writes_a_page_and_opens_it_where_asked(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    call("worker", place, "--quiet")
    page = place.with_name("page.html")
    result = call("report", place, "--out", page)
    assert (result.exit_code, result.stdout, opened) == (0, f"written: {page}\n", [])
    assert call("report", place, "--out", page, "--open").exit_code == 0
    assert opened == [page.resolve().as_uri()]


def test_a_study_without_a_simulator_says_how_a_command_is_given_one(tmp_path: Path) -> None:
    Study(Problem(["x", "y"], [1, 2]), storage=tmp_path / "study.db")
    for name in ("resume", "worker"):
        result = call(name, tmp_path / "study.db", "--budget", "8")
        assert result.exit_code == 2
        assert "Name one: --python MODULE:FUNCTION, or --file" in result.stderr


def test_when_every_pair_is_set_aside_the_command_to_readmit_them_is_told(tmp_path: Path) -> None:
    file = study_file(tmp_path, command=["/bin/sh", "-c", "exit 3", *SHELL[3:]], budget=40)
    result = call("run", file, "--quiet")
    assert result.exit_code == 1
    assert "failures:" in result.stdout
    assert f"argbest resume {shlex.quote(str(file.with_suffix('.db')))} --readmit" in result.stderr


def test_status_as_json_is_one_object_per_look(place: Path) -> None:
    [now] = rows(call("status", place, "--json"))
    assert now["replications"] == 0
    assert now["certainty"] is None
    assert now["model"] is None
    study = Study.load(place)
    study.tell(study.ask()[0], 1.0)  # one value alone must be enough for a look
    [now] = rows(call("status", place, "--json"))
    assert now["trials"] == {"told": 1, "pending": 0, "given_back": 0, "failed": 0}
    call("worker", place, "--quiet")
    [now] = rows(call("status", place, "--json", "--watch"))  # finished, so one look is enough
    assert now["replications"] == now["budget"] == 8
    assert 0 <= now["certainty"]["pcs_m"] <= now["certainty"]["pcs_e"] <= 1
    noise, shared = now["model"]["sentences"][-2:]
    assert noise.startswith("The noise of one replication")
    assert shared.startswith("Alternatives share random numbers")
    assert now["model"]["effects"]["columns"] == ["effect", "share", "sd"]
    assert [worker["slots"] for worker in now["workers"]] == [1]


def test_status_watches_until_the_study_is_finished(place: Path) -> None:
    command = argbest("status", place, "--watch", "--json", "--every", "0.1")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as watcher:
        assert watcher.stdout is not None
        first = json.loads(watcher.stdout.readline())
        study = Study.load(place)
        while study.n_replications < 8:
            study.tell(study.ask()[0], float(study.n_replications))
        seen = [first, *map(json.loads, watcher.stdout)]
    assert watcher.returncode == 0
    counts = [now["replications"] for now in seen]
    assert counts[0] == 0
    assert counts[-1] == 8
    assert counts == sorted(counts)


def test_what_ask_prints_can_be_told(place: Path) -> None:
    asked = rows(call("ask", place, "-n", 3))
    assert [row["trial"] for row in asked] == [0, 1, 2]
    assert set(asked[0]) == {"trial", "alternative", "context", "replication", "seed"}
    lines = "".join(json.dumps({"trial": row["trial"], "value": row["seed"] / 7}) + "\n" for row in asked)
    told = call("tell", place, given=lines)
    assert told.exit_code == 0, told.output
    assert rows(told) == [{"trial": i, "status": "told"} for i in range(3)]
    assert Study.load(place).observations()["value"].tolist() == [row["seed"] / 7 for row in asked]


@pytest.mark.parametrize(("given", "context"), [("1", 1), ("2", 2), (" 2", 2)])
def test_ask_can_be_limited_to_a_context(place: Path, given: str, context: int) -> None:
    asked = rows(call("ask", place, "--context", given, "-n", 2))
    assert [row["context"] for row in asked] == [context, context]


@pytest.mark.parametrize("given", ["3", "true", "x", "NaN", '{"rate": 1}', "[1]", "9" * 5000, "[" * 9999])
def test_a_context_that_there_is_not_is_refused(place: Path, given: str) -> None:
    result = call("ask", place, "--context", given)
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage") or "Error: " in result.stderr
    assert Study.load(place).pending() == []


def test_contexts_that_are_rows_or_look_like_numbers_can_be_named(tmp_path: Path) -> None:
    Study(
        Problem(["a", "b"], [{"rate": 1.5, "day": "mo"}, {"rate": 2.5, "day": "tu"}]),
        storage=tmp_path / "r.db",
    )
    [row] = rows(call("ask", tmp_path / "r.db", "--context", '{"rate": 2.5, "day": "tu"}'))
    assert row["context"] == {"rate": 2.5, "day": "tu"}
    Study(Problem(["a", "b"], ["1", "2"]), storage=tmp_path / "t.db")
    [row] = rows(call("ask", tmp_path / "t.db", "--context", "2"))
    assert row["context"] == "2"


def test_tell_takes_every_kind_of_line(place: Path) -> None:
    call("ask", place, "-n", 6)
    lines = [
        {"trial": 0, "value": 1.5, "seconds": 2.0},
        {"trial": 1, "values": [1.0, 2.0, 4.5]},
        {"trial": 2, "summary": {"mean": 1.5, "variance": 0.25, "n": 30}},
        {"trial": 3, "failed": "out of\nmemory \u2028 \ud800"},
        {"trial": 4, "given_back": True},
    ]
    result = call("tell", place, given="\n\n".join(json.dumps(line) for line in lines))
    assert result.exit_code == 0, result.output
    assert [row["status"] for row in rows(result)] == ["told", "told", "told", "failed", "given back"]
    study = Study.load(place)
    assert study.trials()["status"].tolist() == ["told", "told", "told", "failed", "given back", "pending"]
    assert study.n_replications == 1 + 3 + 30
    assert study.trials()["reason"][3] == "out of\nmemory \u2028 \ufffd"
    assert study._journal.ledger.spent == 2.0


def test_tell_takes_truth_values(place: Path) -> None:
    call("ask", place, "-n", 2)
    lines = ['{"trial": 0, "value": true}', '{"trial": 1, "values": [false, true]}']
    assert call("tell", place, given="\n".join(lines)).exit_code == 0
    study = Study.load(place)
    assert study.rate
    assert study.observations()["value"].tolist() == [1.0, 0.0, 1.0]


def test_tell_takes_k_of_n_of_a_rate(tmp_path: Path) -> None:
    problem = Problem(["a", "b"], [0], rate=True)
    Study(problem, storage=tmp_path / "study.db", model="independent", policy="equal")
    call("ask", tmp_path / "study.db", "-n", 1)
    line = '{"trial": 0, "summary": {"mean": 0.75, "n": 4}}'
    assert call("tell", tmp_path / "study.db", given=line).exit_code == 0
    assert Study.load(tmp_path / "study.db").observations()["variance"].tolist() == [0.25]


def test_a_program_may_print_truth_values(tmp_path: Path) -> None:
    script = "[ $(($1 % 3)) -eq 0 ] && echo '[true]' || echo '[false]'"
    command = ["/bin/sh", "-c", script, "sh", "{seed}", "{alternative}", "{context}"]
    path = study_file(tmp_path, command=command, budget=8, simulator='field = "0"')
    result = call("run", path)
    assert result.exit_code == 0, result.output
    assert Study.load(path.with_suffix(".db")).rate


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"trial": ' + "1" * 5000 + ', "value": 1}', "not JSON"),
        ("[]", "expected an object such as"),
        ('{"value": 1}', "expected an object such as"),
        ('{"trial": 0, "valeu": 1}', "expected an object such as"),
        ('{"trial": 0}', "expected exactly one of"),
        ('{"trial": 0, "value": 1, "failed": "x"}', "expected exactly one of"),
        ('{"trial": 0, "given_back": false}', "given_back true"),
        ('{"trial": 99, "value": 1}', "unknown trial 99; this study has asked 2 trials"),
        ('{"trial": -1, "value": 1}', "unknown trial -1"),
        ('{"trial": true, "value": 1}', "unknown trial True"),
        ('{"trial": "0", "value": 1}', "unknown trial '0'"),
        ('{"trial": {}, "value": 1}', "unknown trial {}"),
        ('{"trial": 0, "value": NaN}', "a reward must be finite"),
        ('{"trial": 0, "value": 1e999}', "a reward must be finite"),
        ('{"trial": 0, "value": null}', "Expected a number, a list"),
        ('{"trial": 0, "value": "1"}', "Expected a number, a list"),
        ('{"trial": 0, "values": [true, 1]}', "entry 0 is True"),
        ('{"trial": 0, "value": {"a": "x"}}', "Expected a number, a list"),
        ('{"trial": 0, "values": []}', "replications form one row"),
        ('{"trial": 0, "values": [1, [2]]}', "some entries are numbers and some are lists"),
        ('{"trial": 0, "summary": {"mean": 1}}', "expected an object with mean, variance and n"),
        ('{"trial": 0, "summary": 3}', "expected an object with mean, variance and n"),
        ('{"trial": 0, "summary": {"mean": 1, "variance": -1, "n": 3}}', "a variance is 0 or more"),
        ('{"trial": 0, "summary": {"mean": 1, "n": 3}}', "needs their variance"),
        (
            '{"trial": 0, "summary": {"mean": 1, "n": 1, "sd": 2}}',
            "expected an object with mean, variance and n",
        ),
        ('{"trial": 0, "value": 1, "seconds": -1}', "seconds must be"),
        ('{"trial": 0, "value": 1, "seconds": "long"}', "seconds must be"),
        (b'{"trial": 0, "value": \xff}', "not JSON"),
    ],
)
def test_a_line_that_cannot_be_taken_is_named_and_the_others_are_kept(
    place: Path, line: str | bytes, message: str
) -> None:
    call("ask", place, "-n", 2)
    bad = line.encode() if isinstance(line, str) else line
    result = call("tell", place, given=b"\n" + bad + b'\n{"trial": 1, "value": 2.5}\n')
    assert result.exit_code == 1
    assert rows(result) == [{"trial": 1, "status": "told"}]
    [complaint] = result.stderr.splitlines()
    assert complaint.startswith("argbest: line 2: ")
    assert message in complaint
    assert Study.load(place).trials()["status"].tolist() == ["pending", "told"]


def test_a_trial_is_told_once(place: Path) -> None:
    call("ask", place)
    line = '{"trial": 0, "value": 2.5}\n'
    result = call("tell", place, given=line + line.replace("2.5", "3.5"))
    assert result.exit_code == 1
    assert "is told already" in result.stderr
    assert Study.load(place).observations()["value"].tolist() == [2.5]


@pytest.mark.parametrize("table", ["observations", "trials", "selection", "allocation"])
@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_export_writes_every_table_exactly(file: Path, table: str, suffix: str, tmp_path: Path) -> None:
    call("run", file, "--quiet")
    out = tmp_path / f"out.{suffix}"
    result = call("export", file.with_suffix(".db"), "--table", table, "--out", out)
    assert result.exit_code == 0, result.output
    expected = getattr(Study.load(file.with_suffix(".db")), table)()
    assert result.stdout == f"written: {out} ({len(expected)} rows)\n"
    if suffix == "csv":
        back = pd.read_csv(out, dtype=str, keep_default_na=False)  # how it reads numbers is not our matter
    else:
        back = pd.DataFrame(json.loads(out.read_text()), columns=list(expected.columns))
    for name in expected.columns:
        if expected[name].dtype.kind == "f":
            numbers = [float(text or "nan") for text in back[name]] if suffix == "csv" else back[name]
            np.testing.assert_array_equal(np.asarray(numbers, float), expected[name])
        else:
            assert back[name].astype(str).tolist() == expected[name].astype(str).tolist()


def test_export_refuses_what_it_cannot_write(file: Path, tmp_path: Path) -> None:
    call("run", file, "--quiet")
    place = file.with_suffix(".db")
    for name, message in (
        ("out.xlsx", "cannot write 'out.xlsx'; give a name that ends in .csv, .parquet, .json"),
        ("no/where.csv", "Name another file"),
        ("no/where.json", "Name another file"),
    ):
        result = call("export", place, "--out", tmp_path / name)
        assert result.exit_code == 2
        assert message in result.stderr
        assert not (tmp_path / name).exists()


SLOW = ["/bin/sh", "-c", "sleep 0.02; echo $(($0 % 7)) $(($0 % 7))", "{seed}", "{alternative}", "{context}"]
SLEEPY = ["/bin/sh", "-c", "touch $$.pid; sleep 600; echo 1 $0 $1 $2", "{seed}", "{alternative}", "{context}"]


@contextmanager
def started(*arguments: object, before: str = "") -> Iterator["subprocess.Popen[str]"]:
    """Yield a command under way, which Ctrl-C reaches even where the shell of the tests ignores it."""
    python, option, code, *words = argbest(*arguments)
    process = subprocess.Popen(
        [python, option, before + code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def interrupted(process: "subprocess.Popen[str]") -> str:
    """Return what the command says after Ctrl-C, on standard error; it ends soon, with the right code."""
    process.send_signal(signal.SIGINT)
    _, complained = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, complained
    return complained


def told(place: Path) -> int:
    try:
        return len(observed(place))
    except sqlite3.OperationalError:  # not made yet
        return 0


def test_an_interruption_names_the_command_that_goes_on_and_loses_nothing(tmp_path: Path) -> None:
    file = study_file(tmp_path, command=SLOW, budget=40)
    place = file.with_suffix(".db")
    with started("run", file, "--quiet") as process:
        assert eventually(lambda: told(place) > 8)
        complained = interrupted(process)
    study = Study.load(place)
    last = complained.splitlines()[-1]
    again = f"argbest resume {shlex.quote(str(place))}"
    assert last == f"argbest: interrupted; {study.n_replications} replications are kept. To continue: {again}"
    assert set(study.trials()["status"]) <= {"told", "given back"}
    assert study.pending() == []
    assert call(*shlex.split(again)[1:], "--quiet").exit_code == 0
    study.refresh()
    assert study.trials()["status"].tolist() == ["told"] * 40
    assert not study.trials().duplicated(["alternative", "context", "seed"]).any()


@pytest.mark.parametrize("workers", [None, 2])
def test_an_interruption_ends_the_programs_under_way(tmp_path: Path, workers: int | None) -> None:
    run = "" if workers is None else f"workers = {workers}"
    file = study_file(tmp_path, command=SLEEPY, budget=60, run=run)
    with started("run", file, "--quiet") as process:
        numbers = announced(tmp_path, workers or 1)
        complained = interrupted(process)
    assert "interrupted; 0 replications are kept" in complained
    assert eventually(lambda: not any(map(is_running, numbers)))
    assert Study.load(file.with_suffix(".db")).pending() == []


TELLING = """
import sys
from argbest.simulators import process
usual = process.watch
def watch(group):
    usual(group)
    print(group, file=sys.stderr, flush=True)  # the guard has been told
process.watch = watch
"""


def test_programs_of_a_command_that_was_killed_do_not_outlive_it(tmp_path: Path) -> None:
    file = study_file(tmp_path, command=SLEEPY, budget=60, run="workers = 2")
    with started("run", file, "--quiet", before=TELLING) as process:
        numbers = announced(tmp_path, 2)
        assert process.stderr is not None
        assert sorted(int(process.stderr.readline()) for _ in numbers) == sorted(numbers)
        process.kill()
    assert eventually(lambda: not any(map(is_running, numbers)))


def test_a_program_that_is_not_there_is_refused_before_a_study_is_made(tmp_path: Path) -> None:
    file = study_file(tmp_path, command=["./no-such-program", *SHELL[1:]])
    result = call("run", file, "--quiet")
    assert result.exit_code == 2
    assert "no-such-program" in result.stderr
    assert not (tmp_path / "study.db").exists()


def test_a_mended_simulator_takes_the_place_of_the_stored_one(tmp_path: Path) -> None:
    file = study_file(tmp_path, command=["sh", "-c", "exit 3", "{alternative}", "{context}"], budget=8)
    assert call("run", file, "--quiet").exit_code == 1
    study_file(tmp_path, command=SHELL, budget=8)
    result = call("resume", str(tmp_path / "study.db"), "--file", file, "--readmit", "--quiet")
    assert result.exit_code == 0, result.stderr
    assert Study.load(tmp_path / "study.db").n_replications == 8


def test_trials_are_exported_with_who_had_them_and_how_long(tmp_path: Path) -> None:
    file = study_file(tmp_path, command=SHELL, budget=8)
    assert call("run", file, "--quiet").exit_code == 0
    out = tmp_path / "trials.json"
    assert call("export", str(tmp_path / "study.db"), "--table", "trials", "--out", str(out)).exit_code == 0
    rows = json.loads(out.read_text("utf-8"))
    assert len(rows) == 8
    assert all(row["seconds"] > 0 and row["worker"] and row["ended"] >= row["asked"] for row in rows)


def test_a_run_whose_learning_takes_long_says_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for model in (GP, AdditiveGP):

        def slow(*given: Any, known: Any = model.posterior) -> Any:
            time.sleep(0.3)
            return known(*given)

        monkeypatch.setattr(model, "posterior", slow)
    monkeypatch.setattr(learning, "SLOW", 0.05)
    result = call("run", file, "--budget", 10, "--quiet")
    assert result.exit_code == 0, result.output
    assert "argbest: learning from 4 replications of 4 pairs takes more than 0.05 s" in result.stderr
    assert "Ctrl-C stops it" in result.stderr


def test_ask_and_tell_start_without_what_only_answers_need(place: Path) -> None:
    [first] = rows(call("ask", place))
    said = json.dumps({"trial": first["trial"], "value": 1.5})
    script = f"""
import io, sys, types
from argbest.cli import main
sys.stdin = types.SimpleNamespace(buffer=io.BytesIO({said.encode()!r}))
for words in (["tell", {str(place)!r}], ["ask", {str(place)!r}]):
    try:
        main(words)
    except SystemExit as end:
        assert not end.code, end.code
    late = {{"pandas", "numba", "matplotlib", "scipy", "numpy.ma", "webbrowser", "argbest.study.runner",
             "argbest.cli.running", "argbest.cli.shipped", "argbest.cli.results", "argbest.cli.analyze"}}
    print(sorted(late & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    told, _, _, asked = done.stdout.splitlines()
    assert told == json.dumps({"trial": first["trial"], "status": "told"})
    assert done.stdout.splitlines()[1::2] == ["[]", asked] == ["[]", "[]"]


def test_tell_and_ask_do_without_scipy_where_something_was_learned(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    study = Study(Problem(["a", "b", "c"], [1.0, 2.0, 3.0]), storage=place)
    for trial in study.ask(study.n_queued):
        study.tell(trial, float(trial.id % 3))
    first, second = study.ask(2)  # now hyper-parameters are stored
    study.close()
    script = f"""
import io, sys, types
from argbest.cli import main
sys.stdin = types.SimpleNamespace(buffer=io.BytesIO(b'{{"trial": {first.id}, "value": 1.5}}'))
for words in (["tell", {str(place)!r}], ["ask", {str(place)!r}]):
    try:
        main(words)
    except SystemExit as end:
        assert not end.code, end.code
print(sorted({{"scipy", "numba", "pandas", "numpy.ma"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    study = Study.load(place)
    assert study.n_replications == study._journal.learned().n_records
    assert [trial.id for trial in study.pending()] == [second.id, second.id + 1]
