"""The study file: what it may say, and that every mistake is named when the file is read."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argbest import ExpectedPCS, GuaranteedPCS, OpportunityCost, RandomContexts, Study, WorstPCS, registry
from argbest.errors import InputError
from argbest.problems.design import ExtremeContexts
from argbest.simulators import plain, simulator_from
from argbest.simulators.function import Function
from argbest.simulators.program import Program
from argbest.studyfile import StudyFile, read, run_options
from argbest.studyfile.options import KEYS

FULL = """
name = "call-centre"
goal = "min"
description = "Staffing of a call centre"
reward = "cost per hour"
reward_range = [0, 500]

[alternatives]
grid.servers = [3, 4, 5]
grid.shift = ["day", "night"]

[contexts]
labels = [10.5, 20, 30]
weights = [1, 2, 1]
bounds = [0, 40]

[simulator]
command = ["./simulate", "{alternative.servers}", "{alternative.shift}", "{context}", "{seed}"]
field = "cost"
timeout = 5
retries = 2
backoff = 0.5
environment = { THREADS = "1" }

[study]
policy = "c-ocba"
model = "gp"
initial = 3
seed = 7
refit_every = 5
common_random_numbers = true

[run]
budget = 100
seconds = 60
workers = 2
batch = 3
confirm = 0.1
stop = { rule = "expected-pcs", target = 0.9, delta = 0.5 }

[cost]
alternatives = [1, 1, 2, 2, 3, 3]
contexts = [1, 2, 3]

[storage]
url = "here.db"
name = "first"
"""
PAIR = 'alternatives = ["a", "b"]\ncontexts = [1, 2, 3]\n'


def written(folder: Path, text: str, name: str = "study.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def parsed(folder: Path, text: str) -> StudyFile:
    return read(written(folder, text))


def test_a_file_with_everything_in_it(tmp_path: Path) -> None:
    file = parsed(tmp_path, FULL)
    problem = file.problem
    assert (problem.name, problem.goal) == ("call-centre", "min")
    assert problem.reward_range == (0.0, 500.0)
    assert problem.description == "Staffing of a call centre"
    assert problem.reward == "cost per hour"
    assert problem.alternatives.columns == {
        "servers": (3, 3, 4, 4, 5, 5),
        "shift": ("day", "night", "day", "night", "day", "night"),
    }
    assert problem.contexts.labels == (10.5, 20, 30)
    assert problem.weights.tolist() == [0.25, 0.5, 0.25]
    assert problem.bounds == {"context": (0.0, 40.0)}
    assert problem.simulate == Program(
        ["./simulate", "{alternative.servers}", "{alternative.shift}", "{context}", "{seed}"],
        field="cost",
        timeout=5,
        retries=2,
        backoff=0.5,
        folder=str(tmp_path.resolve()),
        environment={"THREADS": "1"},
    )
    cost = file.options.pop("cost")
    np.testing.assert_array_equal(cost, np.outer([1, 1, 2, 2, 3, 3], [1, 2, 3]))
    assert file.options == {
        "policy": "c-ocba",
        "model": "gp",
        "initial": 3,
        "seed": 7,
        "refit_every": 5,
        "common_random_numbers": True,
    }
    stop = ExpectedPCS(0.9, 0.5)
    assert file.run == {
        "budget": 100,
        "seconds": 60.0,
        "workers": 2,
        "batch": 3,
        "confirm": 0.1,
        "stop": stop,
    }
    assert (file.storage, file.name) == (str(tmp_path.resolve() / "here.db"), "first")
    assert file.remarks == ()
    assert Study(problem, **file.options).seed == 7


def test_the_smallest_file_is_a_problem_without_a_simulator(tmp_path: Path) -> None:
    file = parsed(tmp_path, PAIR)
    assert (file.problem.name, file.problem.goal, file.problem.simulate) == ("study", "max", None)
    assert (file.options, file.run, file.storage, file.name) == ({}, {}, None, "study")
    assert file.plain() == {}


def test_the_run_is_stored_as_plain_values(tmp_path: Path) -> None:
    file = parsed(tmp_path, FULL)
    stored = json.loads(json.dumps(file.plain()))
    assert stored["stop"] == {"rule": "expected-pcs", "target": 0.9, "delta": 0.5}
    assert run_options(stored) == file.run
    file.plain()["stop"].clear()
    assert file.plain() == stored


@pytest.mark.parametrize(
    "alternatives",
    [
        'alternatives = [{ servers = 2, plan = "x" }, { servers = 3, plan = "y" }]',
        '[[alternatives]]\nservers = 2\nplan = "x"\n[[alternatives]]\nservers = 3\nplan = "y"\n',
        '[alternatives]\nrows = [{ servers = 2, plan = "x" }, { servers = 3, plan = "y" }]',
        '[alternatives]\nfile = "plans.csv"',
        '[alternatives]\nfile = "more.csv"\ncolumns = ["servers", "plan"]',
    ],
)
def test_rows_can_be_given_in_several_forms(alternatives: str, tmp_path: Path) -> None:
    written(tmp_path, "servers,plan\n2,x\n3,y\n", "plans.csv")
    written(tmp_path, "note, plan, servers\nN/A, x, 2\nNA, y, 3\n", "more.csv")
    axis = parsed(tmp_path, "contexts = [1]\n" + alternatives).problem.alternatives
    assert axis.columns == {"servers": (2, 3), "plan": ("x", "y")}
    assert not axis.named


def test_a_file_of_contexts_can_hold_labels_and_weights(tmp_path: Path) -> None:
    written(tmp_path, "day,share,rate\nMo,0.3,1e-1\nNA,0.5,0.2\nWe,0.2,0.30000000000000004\n", "days.csv")
    text = 'alternatives = ["a", "b"]\n[contexts]\nfile = "days.csv"\nlabel = "day"\nweights = "share"'
    problem = parsed(tmp_path, text).problem
    assert problem.contexts.labels == ("Mo", "NA", "We")
    assert problem.contexts.columns == {"rate": (0.1, 0.2, 0.30000000000000004)}
    np.testing.assert_allclose(problem.weights, [0.3, 0.5, 0.2], rtol=1e-15)


def test_cells_of_a_file_are_numbers_or_booleans_only_all_together(tmp_path: Path) -> None:
    text = "a,b,c,d,e,f\n1,1,true,1_0,1e999,007\n-2,0.1,False,2,2,8\n"
    written(tmp_path, "\ufeff" + text.replace("\n", "\r\n\r\n"), "rows.csv")
    columns = parsed(
        tmp_path, 'contexts = [1]\n[alternatives]\nfile = "rows.csv"'
    ).problem.alternatives.columns
    assert columns == {
        "a": (1, -2),
        "b": (1.0, 0.1),
        "c": (True, False),
        "d": ("1_0", "2"),
        "e": ("1e999", "2"),
        "f": ("007", "8"),
    }
    assert [type(values[0]) for values in columns.values()] == [int, float, bool, str, str, str]


def test_a_file_of_names_alone_gives_labels(tmp_path: Path) -> None:
    written(tmp_path, "plan\nx\ny\n", "plans.csv")
    text = 'contexts = [1]\n[alternatives]\nfile = "plans.csv"\nlabel = "plan"'
    axis = parsed(tmp_path, text).problem.alternatives
    assert (axis.labels, axis.columns) == (("x", "y"), {})


def test_labels_of_any_kind_come_through(tmp_path: Path) -> None:
    labels = [
        "it's",
        'say "hi"',
        "$(rm)",
        "a;b",
        "two\nlines",
        "{seed}",
        "<b>",
        "'; DROP TABLE x; --",
        "-h",
        "☃",
    ]
    command = json.dumps(["x{alternative}", "{context}"])
    text = f"alternatives = {json.dumps(labels)}\ncontexts = [1, 2]\n[simulator]\ncommand = {command}"
    file = parsed(tmp_path, text)
    assert file.problem.alternatives.labels == tuple(labels)
    [remark] = file.remarks
    assert remark.startswith("the command does not use {seed}")


def test_a_python_function_is_found_beside_the_file(tmp_path: Path) -> None:
    written(
        tmp_path, "def run(alternative, context, seed):\n    return seed % 5 + context\n", "my_model_file.py"
    )
    text = PAIR + '[simulator]\npython = "my_model_file:run"\ntimeout = 3\n[run]\nbudget = 12'
    file = parsed(tmp_path, text)
    assert file.problem.simulate == Function("my_model_file:run", str(tmp_path.resolve()))
    assert file.run == {"budget": 12, "timeout": 3.0}
    assert run_options(file.plain()) == file.run
    study = Study(file.problem, policy="equal", model="independent").run(12)
    assert study.n_replications == 12
    stored = plain(file.problem.simulate)
    assert stored is not None
    assert simulator_from(stored)("a", 1, 7) == 3


def test_a_folder_of_the_simulator_starts_at_the_file(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    text = PAIR + '[simulator]\ncommand = ["x", "{alternative}", "{context}", "{seed}"]\nfolder = "model"'
    simulate = parsed(tmp_path, text).problem.simulate
    assert isinstance(simulate, Program)
    assert simulate.folder == str((tmp_path / "model").resolve())


@pytest.mark.parametrize("name", ["queue-staffing", "branin"])
def test_a_registered_problem_by_name(name: str, tmp_path: Path) -> None:
    file = parsed(tmp_path, f'problem = "{name}"\n[study]\ninitial = 1')
    known = registry.problem(name)
    assert file.problem.summary() == known.summary()
    np.testing.assert_array_equal(file.problem.weights, known.weights)
    stored = plain(file.problem.simulate)
    assert stored is not None
    assert known.simulate is not None
    again = simulator_from(json.loads(json.dumps(stored)))
    sent = pickle.loads(pickle.dumps(file.problem.simulate))  # noqa: S301
    pair = known.alternatives.item(1), known.contexts.item(2)
    assert again(*pair, 11) == sent(*pair, 11) == known.simulate(*pair, 11)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("3", 3),
        ('[["a", 1], ["b", 3]]', [["a", 1], ["b", 3]]),
        ("{ random_contexts = 2 }", RandomContexts(2)),
        ("{ random_contexts = 5, replace = true }", RandomContexts(5, replace=True)),
        ("{ extreme_contexts = 4 }", ExtremeContexts(4)),
    ],
)
def test_initial_designs(given: str, expected: object, tmp_path: Path) -> None:
    file = parsed(tmp_path, f"{PAIR}[study]\ninitial = {given}")
    assert file.options == {"initial": expected}
    Study(file.problem, **file.options)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('{ rule = "expected-pcs", target = 0.9 }', ExpectedPCS(0.9)),
        ('{ rule = "worst-pcs", target = 0.8, delta = 1 }', WorstPCS(0.8, 1)),
        ('{ rule = "opportunity-cost", target = 0.05 }', OpportunityCost(0.05)),
        ('{ rule = "guaranteed" }', GuaranteedPCS()),
        ('{ rule = "guaranteed", alpha = 0.1, delta = 2, contexts = "each" }', GuaranteedPCS(0.1, 2, "each")),
        ('{ rule = "guaranteed", assume = "deterministic" }', GuaranteedPCS(assume="deterministic")),
    ],
)
def test_stop_rules(given: str, expected: object, tmp_path: Path) -> None:
    run = parsed(tmp_path, f"{PAIR}[run]\nstop = {given}").run
    assert run == {"stop": expected}
    assert type(run["stop"]) is type(expected)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("[cost]\nmeasured = true", "measured"),
        ('cost = "measured"', "measured"),
        ("[cost]\ntable = [[1, 2, 3], [4, 5, 6.5]]", [[1, 2, 3], [4, 5, 6.5]]),
        ("[cost]\nalternatives = [1, 2]", [[1, 1, 1], [2, 2, 2]]),
        ("[cost]\ncontexts = [1, 2, 3]", [[1, 2, 3], [1, 2, 3]]),
    ],
)
def test_costs(given: str, expected: Any, tmp_path: Path) -> None:
    np.testing.assert_array_equal(parsed(tmp_path, PAIR + given).options["cost"], expected)


@pytest.mark.parametrize(
    ("given", "storage"),
    [
        ('storage = "x/study.db"', "{}/x/study.db"),
        ('[storage]\nurl = "study.db"', "{}/study.db"),
        ('[storage]\nurl = "/elsewhere/study.db"', "/elsewhere/study.db"),
        ('[storage]\nurl = "postgresql://me@host/studies"', "postgresql://me@host/studies"),
    ],
)
def test_storages(given: str, storage: str, tmp_path: Path) -> None:
    assert parsed(tmp_path, PAIR + given).storage == storage.format(tmp_path.resolve())


def test_a_file_may_declare_a_rate(tmp_path: Path) -> None:
    problem = parsed(tmp_path, PAIR + "rate = true").problem
    assert problem.rate
    assert problem.reward_range == (0.0, 1.0)
    assert parsed(tmp_path, PAIR + "rate = true\nreward_range = [0, 1]").problem.rate
    assert not parsed(tmp_path, PAIR + "rate = false").problem.rate
    assert not parsed(tmp_path, PAIR).problem.rate


def test_a_file_may_say_how_much_noise_there_is(tmp_path: Path) -> None:
    problem = parsed(tmp_path, PAIR + "noise_sd = 0").problem
    assert problem.noise_sd is not None
    assert not problem.noise_sd.any()
    assert parsed(tmp_path, PAIR).problem.noise_sd is None
    with pytest.raises(InputError, match="noise_sd must be a number from 0 up, got -1"):
        parsed(tmp_path, PAIR + "noise_sd = -1")


def test_every_key_of_every_table_is_known_to_these_tests() -> None:
    assert {key for keys in KEYS.values() for key in keys} == {
        *(
            "name",
            "description",
            "goal",
            "reward",
            "problem",
            "alternatives",
            "contexts",
            "simulator",
            "study",
            "run",
        ),
        *("cost", "storage", "labels", "grid", "rows", "file", "columns", "label", "weights", "bounds"),
        *("command", "python", "field", "timeout", "retries", "backoff", "folder", "environment", "policy"),
        *("model", "initial", "seed", "refit_every", "common_random_numbers", "random_contexts", "replace"),
        *("extreme_contexts", "budget", "seconds", "workers", "batch", "confirm", "stop", "rule", "target"),
        *("delta", "alpha", "assume", "reward_range", "rate", "measured", "table", "url", "categorical"),
        *("noise_sd", "question", "limits", "price", "responses", "unit"),
        *("population", "n", "prior_runs", "source"),
    }


def test_a_file_names_goal_limits_price_and_responses(tmp_path: Path) -> None:
    said = "goal = 'min cost + 0.2 * wait'\nlimits = ['`late calls` <= 0.05', 'wait <= 12']\nprice = 30\n"
    problem = parsed(tmp_path, PAIR + said).problem
    assert problem.goal == "min cost + 0.2 * wait"
    assert [str(limit) for limit in problem.limits] == ["`late calls` <= 0.05", "wait <= 12"]
    assert (problem.price, problem.responses) == (30.0, ())
    declared = parsed(tmp_path, PAIR + said + "responses = ['cost', 'wait', 'late calls', 'idle']").problem
    assert declared.responses == ("cost", "wait", "late calls", "idle")


def test_a_program_of_a_file_reads_the_responses_that_are_declared_or_named(tmp_path: Path) -> None:
    command = "[simulator]\ncommand = ['x', '{alternative}', '{context}', '{seed}']\n"
    named = "goal = 'min cost'\nlimits = ['late <= 0.05']\n"
    for said, expected in (
        ("goal = 'min'\n", None),
        (named, ("cost", "late")),
        (named + "responses = ['wait', 'cost', 'late']\n", ("wait", "cost", "late")),
    ):
        program = parsed(tmp_path, PAIR + said + command).problem.simulate
        assert isinstance(program, Program)
        assert program.responses == expected


def test_an_axis_may_declare_columns_that_are_mere_names(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        "[alternatives]\nlabels = [4, 8]\ncategorical = ['alternative']\n"
        "[contexts]\ngrid.zone = [1, 5]\ngrid.rate = [1, 2]\ncategorical = ['zone']\n"
    )
    problem = read(file).problem
    assert problem.setting.alternatives is None
    assert problem.bounds == {"rate": (1.0, 2.0)}
