"""The benchmarks run; what they measure is for `make bench` to say."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argbest import Problem, Study, registry
from argbest.problems.inventory import serial_inventory
from argbest.study import executors, runner
from argbest.study import learning as learning_from
from argbest.study.journal import Request
from argbest.study.learning import learn


def load(name: str) -> Any:
    path = Path(__file__).resolve().parent.parent / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_policy_benchmark_prints_a_row_per_policy(capsys: pytest.CaptureFixture[str]) -> None:
    load("policies").main(["--seconds", "0", "--sizes", "1", "--runs", "3"])
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == list(registry.POLICIES)


@pytest.mark.slow
def test_the_benchmark_of_answers_prints_a_row_of_each_kind(capsys: pytest.CaptureFixture[str]) -> None:
    load("answers").main(["--side", "6", "--table", "4"])
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == [*["certificate,"] * 3, "top-two,", *["report,"] * 2, "6²:"]


def test_the_decision_benchmark_prints_a_row_per_size(capsys: pytest.CaptureFixture[str]) -> None:
    load("decision").main(["--rounds", "1", "--sizes", "2"])
    header, *rows = capsys.readouterr().out.splitlines()
    assert "n=100,000" in header
    assert [row.split()[:3] for row in rows] == [["10", "x", "10"], ["20", "x", "40"]]


def test_decisions_are_those_of_version_0_1() -> None:
    stored = json.loads((Path(__file__).parent / "decisions_0_1.json").read_text())
    module = load("decision")
    for policy, sizes in stored.items():
        for size, pairs in sizes.items():
            k, c = map(int, size.split(" x "))
            assert [list(pair) for pair in module.decisions(policy, (k, c), len(pairs))] == pairs, policy


def test_rivals_that_ignore_coordinates_find_good_alternatives_of_few() -> None:
    module = load("large")
    problem = serial_inventory((range(8, 12), range(9, 13), range(11, 14)))
    for rule in (module.sequential_halving, module.ocba):
        assert module.loss(problem, [rule(problem, 0, np.random.default_rng(1))]) < 25.0


def test_the_cost_of_names_is_told_for_both_models(capsys: pytest.CaptureFixture[str]) -> None:
    load("large").main(["--names", "20"])
    for row, model in zip(capsys.readouterr().out.splitlines(), ("independent", "additive-gp"), strict=True):
        assert re.fullmatch(rf"20 names, {model}: \d+ µs per replication .*, \d+ ms per decision", row)


@pytest.mark.slow
def test_the_benchmark_of_large_problems_says_how_near_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    load("large").main(
        ["--problems", "serial-inventory", "--seeds", "1", "--budget", "60", "--without-rivals"]
    )
    header, row = capsys.readouterr().out.splitlines()
    assert header == "serial-inventory: 3,136 alternatives, 1 contexts"
    assert "60 replications: within 1 % in" in row


def test_the_covid_benchmark_prints_a_row_per_way_and_pair(capsys: pytest.CaptureFixture[str]) -> None:
    load("covid").main(["--seconds", "0", "--batch", "10"])
    _, *rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 9


def busy(
    monkeypatch: pytest.MonkeyPatch, workers: int, seconds: float, per_decision: float, learning: float = 0.0
) -> float:
    """Return how busy workers are if a decision takes so long, and a tenth of it per trial under way."""
    module, counted = load("workers"), [0.0]
    problem = Problem(range(4), range(4), module.Sleeper(0.0))
    study = Study(problem, policy="equal", model="independent", refit_every=64)
    ask = study._journal.ask

    def slow_learn(model: Any, setting: Any, known: Any, *data: Any, **options: Any) -> Any:
        found = learn(model, setting, known, *data, **options)
        again = known is None or found.n_fitted != known.n_fitted
        counted[0] += learning if again else 0.0
        return found._replace(seconds=learning)

    monkeypatch.setattr(learning_from, "learn", slow_learn)

    def slow_ask(request: Request) -> Any:
        counted[0] += per_decision * (request.n + 0.1 * len(study.pending()))
        return ask(request)

    monkeypatch.setattr(study._journal, "ask", slow_ask)
    clock = module.Clock(lambda: counted[0])
    found: float = module.share(study, clock, workers, seconds, first=32 + 2 * workers, then=20 * workers)
    assert study.n_replications == 32 + 22 * workers
    return found


@pytest.mark.parametrize(("workers", "seconds"), [pytest.param(64, 0.25, marks=pytest.mark.slow), (16, 0.05)])
def test_workers_are_busy_while_decisions_take_two_thirds_of_the_time(
    workers: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    per_decision = seconds / workers / 2
    assert busy(monkeypatch, workers, seconds, per_decision) > 0.95
    monkeypatch.setattr(executors.Jobs, "_ahead", lambda *_: 0)
    assert busy(monkeypatch, workers, seconds, per_decision) < 0.85


def test_workers_are_busy_while_the_study_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learning takes as long as a simulation does, a fifth of all time; decisions take none."""
    assert busy(monkeypatch, 16, 0.05, per_decision=0.0, learning=0.05) > 0.95
    monkeypatch.setattr(runner._Run, "_ask_before_learning", lambda _: None)
    assert busy(monkeypatch, 16, 0.05, per_decision=0.0, learning=0.05) < 0.9


def test_nothing_is_asked_for_ahead_where_simulations_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead: set[int] = set()
    usual = executors.Jobs._ahead

    def noted(jobs: executors.Jobs, learning: bool) -> int:
        ahead.add(usual(jobs, learning))
        return usual(jobs, learning)

    monkeypatch.setattr(executors.Jobs, "_ahead", noted)
    assert busy(monkeypatch, 8, 10.0, per_decision=0.001) > 0.99
    assert ahead == {0}


def test_the_benchmark_of_workers_prints_a_row_each(capsys: pytest.CaptureFixture[str]) -> None:
    load("workers").main(
        [
            "--size",
            "3",
            "--rounds",
            "2",
            "--workers",
            "3",
            "--ms",
            "5",
            "--models",
            "gp",
            "--policies",
            "equal",
        ]
    )
    assert capsys.readouterr().out.startswith("gp          equal          3 workers, 5 ms: busy ")


@pytest.mark.slow
def test_the_paper_benchmark_adds_up_the_figure(capsys: pytest.CaptureFixture[str]) -> None:
    load("paper").main(["--macroreps", "2", "--replications", "10"])
    assert capsys.readouterr().out.splitlines()[-1].startswith("whole figure:")


def test_the_benchmark_of_the_additive_model_prints_a_row_per_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    load("additive").main(["--sizes", "4", "--cycles", "2", "--shrink", "5"])
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split()[:4] for row in rows] == [
        ["2", "x", "2", "places"],
        ["6", "x", "4", "places"],
        ["4", "x", "8", "places"],
        ["4", "x", "8", "names"],
    ]


@pytest.mark.slow
def test_the_benchmark_of_the_first_answer_prints_a_row_of_each_kind(
    capsys: pytest.CaptureFixture[str],
) -> None:
    load("first_answer").main([])
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["CPU", "seconds", "now"]
    first, other, later = (float(row.split()[-1]) for row in rows)
    assert later < first / 3
    assert other - first < first / 3  # noise of another kind needs no other code
