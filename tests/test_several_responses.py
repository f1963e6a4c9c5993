"""Every door by which several responses, goals and limits enter and leave: Python, files, commands."""

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import responding
from click.testing import CliRunner, Result

import argbest
from argbest import InputError, Problem, SimulationError, Study
from argbest.array.tasks import serve
from argbest.cli import main
from argbest.simulators.function import Function
from argbest.simulators.program import Program
from argbest.studyfile import read

pytestmark = pytest.mark.usefixtures("few_draws")

PLANS, ARRIVALS = ["cheap", "dear"], [1, 5]
WANTED: dict[str, Any] = {"goal": "min cost", "limits": ["late <= 0.1"]}
TOLD = ["trial", "alternative", "context", "seed", "cost", "late"]
CODE = """
import sys
from responding import clinic
found = clinic(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
"""
PRINTED = {
    "a JSON object": "import json; print('reading 3 plans'); print(json.dumps(found))",
    "named numbers": "print('reading: 3'); print(f'cost={found[\"cost\"]!r} late={found[\"late\"]}')",
    "lines": "print(f'late: {found[\"late\"]}, or not'); print('cost:', repr(found['cost']), 'EUR')",
}
FILE = """
goal = "min cost"
limits = ["late <= 0.1"]
alternatives = ["cheap", "dear"]
contexts = [1, 5]
[simulator]
python = "responding:clinic"
folder = "{tests}"
[run]
budget = 24
[storage]
url = "study.db"
"""


def program(printed: str) -> Program:
    code = (CODE + PRINTED[printed]).replace("{", "{{").replace("}", "}}")
    tests = str(Path(__file__).parent)
    return Program(
        [sys.executable, "-c", code, "{alternative}", "{context}", "{seed}"],
        environment={"PYTHONPATH": tests},
    )


def a_problem(simulate: Any = responding.clinic, **options: Any) -> Problem:
    return Problem(PLANS, ARRIVALS, simulate, **WANTED | options)


def a_study(simulate: Any = responding.clinic, **options: Any) -> Study:
    return Study(a_problem(simulate), initial=2, seed=1, **options)


def call(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=stdin)


def runs(n: int = 10) -> pd.DataFrame:
    """The table of n runs of every pair, made elsewhere."""
    pairs = [(plan, arrivals, seed) for plan in PLANS for arrivals in ARRIVALS for seed in range(n)]
    rows = [{"plan": p, "arrivals": a, **responding.clinic(p, a, seed)} for p, a, seed in pairs]
    return pd.DataFrame(rows)


def a_file(folder: Path) -> Path:
    path = folder / "study.toml"
    path.write_text(FILE.format(tests=Path(__file__).parent))
    return path


@contextmanager
def a_task(folder: Path) -> Iterator[None]:
    thread = threading.Thread(target=serve, args=(folder,), kwargs={"late": 30.0})
    thread.start()
    try:
        yield
    finally:
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def serial() -> pd.DataFrame:
    return a_study().run(20).observations()


def test_a_function_of_several_responses_runs_and_the_choice_keeps_the_limit(serial: pd.DataFrame) -> None:
    study = argbest.select(responding.clinic, PLANS, ARRIVALS, budget=40, seed=1, **WANTED)
    assert study.problem.responses == ("cost", "late")
    assert study.selection()["selected"].tolist() == ["cheap", "dear"]
    assert serial.columns.tolist()[-5:] == ["cost", "late", "n", "variance.cost", "variance.late"]
    for row in serial.to_dict("records"):
        given = responding.clinic(row["alternative"], row["context"], row["seed"])
        assert {"cost": row["cost"], "late": row["late"]} == given


@pytest.mark.parametrize("simulate", [responding.clinic_of_seeds, responding.clinic_of_jobs])
@pytest.mark.parametrize("batch", [1, 4])
def test_batched_and_vectorised_simulators_tell_the_same(simulate: Any, batch: int) -> None:
    found = a_study(simulate).run(20, batch=batch).observations()
    for row in found.to_dict("records"):
        given = responding.clinic(row["alternative"], row["context"], row["seed"])
        assert {"cost": row["cost"], "late": row["late"]} == given


@pytest.mark.parametrize("printed", PRINTED)
@pytest.mark.fast_cases("lines")
def test_a_program_tells_the_same(printed: str, serial: pd.DataFrame) -> None:
    found = a_study(program(printed)).run(12).observations()
    pd.testing.assert_frame_equal(found[TOLD], serial[TOLD][:12])


def test_processes_threads_and_functions_by_name_tell_the_same() -> None:
    def same(simulate: Any, **options: Any) -> None:
        found = a_study(simulate).run(12, **options).observations()
        assert len(found) == 12
        for row in found.to_dict("records"):
            given = responding.clinic(row["alternative"], row["context"], row["seed"])
            assert {"cost": row["cost"], "late": row["late"]} == given

    same(Function("responding:clinic", str(Path(__file__).parent)), workers=2)
    with ThreadPoolExecutor(2) as threads:
        same(responding.clinic, executor=threads)


def test_results_are_reported_as_dicts() -> None:
    seen: list[Any] = []
    a_study().run(8, on_result=lambda trial, value: seen.append(value))
    assert len(seen) == 8
    assert all(set(value) == {"cost", "late"} and type(value["late"]) is bool for value in seen)


def test_a_dict_of_one_response_is_that_response() -> None:
    def simulate(plan: str, arrivals: int, seed: int) -> dict[str, float]:
        return {"cost": responding.clinic(plan, arrivals, seed)["cost"]}

    for goal in ("min", "min cost"):
        study = argbest.select(simulate, PLANS, ARRIVALS, budget=20, goal=goal)
        assert study.selection()["selected"].tolist() == ["cheap", "cheap"]


def test_a_dict_without_a_goal_is_refused_with_its_names() -> None:
    with pytest.raises(InputError, match=r"2 responses \(cost, late\), and the goal 'max' names none"):
        argbest.select(responding.clinic, PLANS, ARRIVALS, budget=20)


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ({"cost": 1.0}, "late"),
        ({"cost": 1.0, "late": 0, "wait": 3.0}, "wait"),
        ({"cost": 1.0, "late": float("nan")}, "the response 'late' as nan, which is not one finite number"),
        ({"cost": "cheap", "late": 0}, "the response 'cost' as 'cheap', which is not one finite number"),
        ({"cost": {"mean": 1.0}, "late": 0}, "the response 'cost' as {'mean': 1.0}, which is not one finite"),
        ({"cost": None, "late": 0}, "the response 'cost' as None, which is not one finite number"),
        ({}, "it returned {}; expected a number for every response"),
        (7.0, "cost"),
        (None, "it returned None, which is not one finite number"),
    ],
    ids=str,
)
@pytest.mark.parametrize("declared", [None, ["cost", "late"]])
def test_an_odd_result_is_a_failure_of_its_trial_and_the_reason_names_the_response(
    odd: Any, reason: str, declared: Any
) -> None:
    def simulate(plan: str, arrivals: int, seed: int) -> Any:
        calls.append(seed)
        return odd if len(calls) in (3, 6) else responding.clinic(plan, arrivals, seed)

    calls: list[int] = []
    study = Study(a_problem(simulate, responses=declared), initial=2, seed=1)
    study.run(12, on_failure="record")
    failed = study.trials().query("status == 'failed'")
    assert len(failed) == 2
    assert study.n_replications == 12
    assert all(reason in each for each in failed["reason"])
    calls.clear()
    with pytest.raises(SimulationError, match="the simulator failed on trial 2"):
        Study(a_problem(simulate, responses=declared), initial=2, seed=1).run(12)


def test_numbers_of_numpy_and_truth_values_are_taken() -> None:
    def simulate(plan: str, arrivals: int, seed: int) -> Any:
        given = responding.clinic(plan, arrivals, seed)
        return {"cost": np.float32(given["cost"]), "late": np.bool_(given["late"])}

    found = a_study(simulate).run(12).observations()
    assert set(found["late"]) <= {0.0, 1.0}
    assert found["cost"].dtype == float


def test_names_with_spaces_and_names_of_other_columns_come_back_from_exports(tmp_path: Path) -> None:
    names = ["late calls", "value", "n", "variance", "seed", "context"]

    def simulate(plan: str, arrivals: int, seed: int) -> Any:
        return {
            name: seed % 7 + i + responding.clinic(plan, arrivals, seed)["cost"]
            for i, name in enumerate(names)
        }

    wanted = {"goal": "min value", "limits": ["`late calls` + n <= 90", "seed <= 99"]}
    problem = Problem(PLANS, ARRIVALS, simulate, **wanted)  # type: ignore[arg-type]
    study = Study(problem, initial=2, seed=1, storage=tmp_path / "study.db").run(12)
    frame = study.observations()
    assert len(set(frame.columns)) == len(frame.columns)
    for name in names:
        column = f"response.{name}" if f"response.{name}" in frame else name
        given = [
            simulate(*row)[name]
            for row in frame[["alternative", "context", "seed"]].itertuples(index=False, name=None)
        ]
        assert frame[column].tolist() == given, name
    for form in ("csv", "json", "parquet"):
        pytest.importorskip("pyarrow") if form == "parquet" else None
        out = tmp_path / f"runs.{form}"
        assert call("export", str(tmp_path / "study.db"), "--out", str(out)).exit_code == 0
    read_back = pd.read_csv(tmp_path / "runs.csv")
    values = [f"response.{name}" if f"response.{name}" in frame else name for name in names]
    again = Study.from_observations(read_back, value=values, **wanted)  # type: ignore[arg-type]
    assert again.problem.responses == tuple(names)
    np.testing.assert_allclose(
        again.observations()[values].sort_values(values), frame[values].sort_values(values), rtol=1e-12
    )
    json_rows = json.loads((tmp_path / "runs.json").read_text())
    assert [row["late calls"] for row in json_rows] == frame["late calls"].tolist()


# Tables


def test_a_table_of_runs_is_a_study_of_several_responses() -> None:
    names: dict[str, Any] = {"alternative": "plan", "context": "arrivals"}
    study = Study.from_observations(runs(), value=["cost", "late"], **names, **WANTED)
    assert study.problem.responses == ("cost", "late")
    assert study.selection()["selected"].tolist() == ["cheap", "dear"]
    by_goal = Study.from_observations(runs(), **names, **WANTED)
    assert by_goal.problem.responses == ("cost", "late")
    pd.testing.assert_frame_equal(by_goal.observations(), study.observations())
    assert study.observations()["cost"].tolist() == runs()["cost"].tolist()
    careful = Study.from_observations(runs(), price=30, **names, **WANTED)
    assert careful.selection()["selected"].tolist() == ["dear", "dear"]  # ten runs do not prove the limit
    study.tell_frame(runs(3).rename(columns={"plan": "p"}), alternative="p", context="arrivals")
    assert study.n_replications == 52
    trials = study.ask(2)
    results = pd.DataFrame({"id": [t.id for t in trials], "late": [False, True], "cost": [1.5, 2.5]})
    study.tell_frame(results, trial="id")
    assert study.observations()[["cost", "late"]][-2:].to_numpy().tolist() == [[1.5, 0.0], [2.5, 1.0]]


def test_a_table_of_summaries_has_a_variance_for_every_response() -> None:
    rows = runs().groupby(["plan", "arrivals"])
    means = rows.mean().reset_index().assign(n=10)
    for name in ("cost", "late"):
        means[f"variance.{name}"] = [np.var(x.astype(float), ddof=1) for _, x in rows[name]]
    names: dict[str, Any] = {"alternative": "plan", "context": "arrivals"}
    study = Study.from_observations(means, **names, **WANTED)
    assert study.n_replications == 40
    shown = study.observations()
    for name in ("cost", "late", "variance.cost", "variance.late"):
        np.testing.assert_allclose(shown[name], means[name], rtol=1e-12)
    again = Study.from_observations(shown, **WANTED)
    pd.testing.assert_frame_equal(again.observations(), shown)
    with pytest.raises(InputError, match="sample variance in a column 'variance.late'.*rate="):
        Study.from_observations(means.drop(columns="variance.late"), **names, **WANTED)
    rate = Study.from_observations(means.drop(columns="variance.late"), rate=["late"], **names, **WANTED)
    pd.testing.assert_frame_equal(rate.observations(), shown)
    with pytest.raises(InputError, match="data row 2 has variance.late -1; expected 0 or more"):
        Study.from_observations(means.assign(**{"variance.late": [1.0, -1.0, 1.0, 1.0]}), **names, **WANTED)


def with_entry(column: str, row: int, value: object) -> pd.DataFrame:
    frame = runs().astype({"late": float}).astype({column: object})
    frame.at[row, column] = value  # type: ignore[assignment]
    return frame


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (with_entry("late", 4, None), {}, "data row 5 has no late"),
        (with_entry("cost", 4, np.nan), {}, "data row 5 has no cost"),
        (with_entry("cost", 4, "much"), {}, r"data row 5 has cost 'much' \(str\); expected a finite number"),
        (with_entry("late", 4, np.inf), {}, "data row 5 has late inf"),
        (with_entry("late", 4, {"a": 1}), {}, "data row 5 has late {'a': 1}"),
        (with_entry("cost", 4, 1e200), {}, r"data row 5 has cost 1e\+200; expected at most"),
        (runs().drop(columns="late"), {}, "limit 'late <= 0.1': there is no response 'late'; known are cost"),
        (runs(), {"value": ["cost", "lat"]}, "unknown value column 'lat'.* Did you mean 'late'"),
        (runs(), {"value": ["cost"]}, "limit 'late <= 0.1': there is no response 'late'; known are cost"),
        (runs(), {"value": ["cost", "cost"]}, "two responses are called 'cost'"),
        (runs(), {"value": []}, "names no value columns"),
        (runs(), {"value": ["cost", "arrivals", "late"]}, "'arrivals' is named for two purposes"),
        (runs(), {"goal": "min"}, "got the limit 'late <= 0.1' and the goal 'min', which names no response"),
        (
            runs(),
            {"goal": "min", "limits": None, "value": ["cost", "late"]},
            r"returns 2 responses \(cost, late\), and the goal 'min' names none",
        ),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_by_row_or_column(
    frame: pd.DataFrame, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Study.from_observations(frame, alternative="plan", context="arrivals", **WANTED | options)


def test_rows_with_missing_responses_are_left_out_if_asked() -> None:
    frame = with_entry("late", 4, None)
    frame.loc[7, "cost"] = np.nan
    study = Study.from_observations(frame, alternative="plan", context="arrivals", dropna=True, **WANTED)
    assert study.n_replications == 38


# Commands


def test_runs_are_analysed_within_limits(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    with_entry("late", 4, None).to_csv(path, index=False)
    options = [
        "--alternative",
        "plan",
        "--context",
        "arrivals",
        "--goal",
        "min cost",
        "--limit",
        "late <= 0.1",
    ]
    refused = call("analyze", str(path), *options)
    assert refused.exit_code == 2
    assert "data row 5 has no late" in refused.stderr
    options += ["--dropna", "--next", "4"]
    found = call("analyze", str(path), *options, "--price", "2", "--json", "--out", str(tmp_path / "out"))
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert [row["selected"] for row in said["selection"]] == ["cheap", "dear"]
    assert (said["goal"], said["replications"]) == ("min cost", 39)
    assert (said["limits"], said["price"]) == (["late <= 0.1"], 2)
    shown = call("analyze", str(path), *options, "--value", "cost", "--value", "late")
    assert shown.exit_code == 0, shown.output
    assert re.search(r"^ *5 +dear", shown.stdout, re.M), shown.stdout


def test_a_study_file_is_run_resumed_told_and_exported_by_commands(tmp_path: Path) -> None:
    file, home = a_file(tmp_path), str(tmp_path / "study.db")
    ran = call("run", str(file), "--quiet")
    assert ran.exit_code == 0, ran.output
    study = Study.load(home)
    assert (study.problem.goal, study.n_replications) == ("min cost", 24)
    assert [str(limit) for limit in study.problem.limits] == ["late <= 0.1"]
    assert call("resume", home, "--file", str(file), "--budget", "26", "--quiet").exit_code == 0
    assert call("worker", home, "--budget", "28", "--quiet").exit_code == 0
    trials = [json.loads(line)["trial"] for line in call("ask", home, "-n", "6").stdout.splitlines()]
    lines = [
        {"trial": trials[0], "value": {"cost": 1.5, "late": False}},
        {"trial": trials[1], "values": {"cost": [1.5, 1.25], "late": [0, 1]}},
        {
            "trial": trials[2],
            "summary": {"mean": {"cost": 1, "late": 0.5}, "variance": {"cost": 1, "late": 0.3}, "n": 4},
        },
        {"trial": trials[3], "value": {"cost": 1.5}},
        {"trial": trials[4], "value": {"cost": 1.5, "late": "no"}},
        {"trial": trials[5], "value": 1.5},
    ]
    told = call("tell", home, stdin="".join(json.dumps(line) + "\n" for line in lines))
    assert told.exit_code == 1
    assert [json.loads(line)["status"] for line in told.stdout.splitlines()] == ["told"] * 3
    assert [f"line {i}" in told.stderr for i in range(1, 7)] == [False] * 3 + [True] * 3
    assert told.stderr.count("late") >= 3
    assert Study.load(home).n_replications == 28 + 1 + 2 + 4
    out = tmp_path / "runs.csv"
    assert call("export", home, "--out", str(out)).exit_code == 0
    frame = pd.read_csv(out)
    assert {"cost", "late", "variance.cost", "variance.late"} <= set(frame.columns)
    assert "value" not in frame.columns
    assert call("check", home).exit_code == 0
    other = file.read_text().replace("late <= 0.1", "late <= 0.2")
    (tmp_path / "other.toml").write_text(other)
    differs = call("resume", home, "--file", str(tmp_path / "other.toml"), "--budget", "90", "--quiet")
    assert differs.exit_code != 0
    assert "limits" in differs.stderr


def test_an_array_carries_several_responses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argbest.array.coordinator.POLL", 0.02)
    monkeypatch.setattr("argbest.array.tasks.POLL", 0.02)
    file, home = a_file(tmp_path), str(tmp_path / "study.db")
    file.write_text(file.read_text().replace("budget = 24", "budget = 10"))
    assert call("submit", str(file), "--plain", "--tasks", "1").exit_code == 0
    with a_task(tmp_path / "study.array"):
        found = call(
            "resume", home, "--file", str(file), "--folder", str(tmp_path / "study.array"), "--quiet"
        )
    assert found.exit_code == 0, found.output
    frame = Study.load(home).observations()
    assert len(frame) == 10
    for row in frame.to_dict("records"):
        given = responding.clinic(row["alternative"], row["context"], row["seed"])
        assert {"cost": row["cost"], "late": row["late"]} == given


# The same words behind every door


def by_problem(goal: Any, limits: Any, folder: Path) -> None:
    Problem(PLANS, ARRIVALS, goal=goal, limits=limits, responses=["cost", "late calls"])


def by_select(goal: Any, limits: Any, folder: Path) -> None:
    argbest.select(
        responding.clinic,
        PLANS,
        ARRIVALS,
        budget=20,
        goal=goal,
        limits=limits,
        responses=["cost", "late calls"],
    )


def by_first_result(goal: Any, limits: Any, folder: Path) -> None:
    def simulate(*_: Any) -> dict[str, float]:
        return {"cost": 1.0, "late calls": 0.0}

    argbest.select(simulate, PLANS, ARRIVALS, budget=20, goal=goal, limits=limits)


def by_table(goal: Any, limits: Any, folder: Path) -> None:
    frame = runs().rename(columns={"late": "late calls"})
    Study.from_observations(frame, alternative="plan", context="arrivals", goal=goal, limits=limits)


def by_value_columns(goal: Any, limits: Any, folder: Path) -> None:
    frame = runs().rename(columns={"late": "late calls"})
    Study.from_observations(
        frame, alternative="plan", context="arrivals", value=["cost", "late calls"], goal=goal, limits=limits
    )


def by_file(goal: Any, limits: Any, folder: Path) -> None:
    path = folder / "study.toml"
    path.write_text(
        f"goal = {json.dumps(goal)}\nlimits = {json.dumps(limits)}\nresponses = ['cost', 'late calls']\n"
        "alternatives = ['cheap', 'dear']\ncontexts = [1, 5]\n"
    )
    read(path)


def by_command(goal: Any, limits: Any, folder: Path) -> None:
    runs().rename(columns={"late": "late calls"}).to_csv(folder / "runs.csv", index=False)
    options = [part for limit in limits for part in ("--limit", limit)]
    columns = ["--alternative", "plan", "--context", "arrivals"]
    found = call("analyze", str(folder / "runs.csv"), *columns, "--goal", goal, *options)
    assert found.exit_code == 2, found.output
    raise InputError(" ".join(found.stderr.split()))


DOORS = [by_problem, by_select, by_first_result, by_table, by_value_columns, by_file, by_command]
TYPING_ERRORS = [
    (
        "min cst",
        [],
        "goal 'min cst': there is no response 'cst'; known are cost, `late calls`. Did you mean cost?",
    ),
    (
        "min cost",
        ["late <= 1"],
        "limit 'late <= 1': there is no response 'late'; known are cost, `late calls`.",
    ),
    ("min cost", ["late <= 1"], "Did you mean `late calls`?"),
    (
        "min cost",
        ["`late calls` < 1"],
        "< and <= are the same for a mean that is never known exactly. Write <=:",
    ),
    (
        "min cost",
        ["`late calls` > 1"],
        "> and >= are the same for a mean that is never known exactly. Write >=:",
    ),
    (
        "min cost",
        ["late calls <= 1"],
        "two names stand side by side: 'late calls'. If it is one, write `late calls`",
    ),
    ("min cost", ["`late calls` = 1"], "a mean cannot be held at one value exactly. Write <= or >="),
    ("min (cost)", [], "parentheses are not understood"),
    ("minimise cost", [], "expected max or min"),
    ("min cost", ["cost <= 1", "cost <= 1"], "the limit 'cost <= 1' is given twice"),
]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize(("goal", "limits", "words"), TYPING_ERRORS)
def test_a_typing_error_gets_the_same_words_behind_every_door(
    door: Callable[[Any, Any, Path], None], goal: str, limits: list[str], words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        door(goal, limits, tmp_path)
