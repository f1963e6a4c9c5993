import builtins
import json
import subprocess
import sys
import warnings
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import argbest
from argbest import FitError, Problem, Study, __version__, registry
from argbest.cli import main
from argbest.errors import CompilationNotice
from argbest.table_files import read_table
from argbest.texts import chance

pytestmark = pytest.mark.usefixtures("few_draws")

KEYS = [
    *("name", "goal", "alternatives", "contexts", "weights", "noise_sd", "truth", "truth_se"),
    *("best", "ties", "pcs_ceiling", "gap_over_noise"),
]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture(scope="module")
def demo(few_draws: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """The outcome of a small demo, and its folder, which did not exist before."""
    out = tmp_path_factory.mktemp("demo") / "deep" / "folder"
    return call("demo", "--out", str(out), "--budget", "160", "--seed", "3"), out


def test_the_demo_writes_two_frames_a_page_and_two_pictures(demo: tuple[Result, Path]) -> None:
    result, out = demo
    assert result.exit_code == 0, result.output
    observations, selection = (pd.read_csv(out / f"{name}.csv") for name in ("observations", "selection"))
    assert len(observations) == 160
    assert {"alternative.servers", "context.rate", "replication", "seed", "value"} <= set(
        observations.columns
    )
    assert selection.columns.tolist()[:3] == ["context.rate", "selected", "runner_up"]
    study = Study(registry.problem("queue-staffing"), seed=3).run(160)
    np.testing.assert_allclose(observations["value"], study.observations()["value"], rtol=1e-12)
    np.testing.assert_allclose(selection["selected"], study.selection()["selected"], rtol=1e-12)
    for name in ("policy_map.png", "allocation.png"):
        assert (out / name).read_bytes().startswith(b"\x89PNG\r\n")
        assert str(out / name) in result.stdout
    assert sorted(path.name for path in out.iterdir()) == [
        "allocation.png",
        "observations.csv",
        "policy_map.png",
        "report.html",
        "selection.csv",
    ]


def test_the_demo_prints_a_row_per_context_and_what_equal_allocation_needs(demo: tuple[Result, Path]) -> None:
    result, out = demo
    selection = pd.read_csv(out / "selection.csv").sort_values("context.rate")
    lines = result.stdout.splitlines()
    head = next(i for i, line in enumerate(lines) if "runner-up" in line)
    assert lines[head].split() == ["rate", "selected", "runner-up", "gap", "P(best)", "state"]
    rows = [line.split() for line in lines[head + 2 : head + 12]]
    assert [" ".join(row[4:-1]) for row in rows] == [chance(p) for p in selection["p_best"]]
    assert [row[1] for row in rows] == [str(x) for x in selection["selected"]]
    problem = registry.problem("queue-staffing")
    study = Study(problem, seed=3).run(160)
    right = problem.good(study.certificate().selected).sum()
    said = " ".join(result.stdout.split())
    assert f"right in {right} of 10 with 160 simulations; equal allocation needs " in said
    trials = Study(
        problem,
        seed=3,
        policy="equal",
        model="independent",
        initial=2,
        common_random_numbers=study.common_random_numbers,
    ).run(160)
    frame = trials.selection()  # two of every pair: the first run of equal allocation after two replications
    equal = import_module("argbest.cli.shipped")._equal  # the name demo of the package is the command
    assert (
        equal(study)[0, 1]
        == problem.good(np.array([problem.alternatives.index(label) for label in frame["selected"]])).sum()
    )


def test_piped_output_is_plain_text_of_at_most_80_columns(demo: tuple[Result, Path]) -> None:
    before_paths = demo[0].stdout.split("written:")[0]
    for text in (before_paths, call("problems").stdout, call("problems", "branin").stdout):
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= 80
        assert "…" not in text


def test_the_progress_bar_is_not_on_standard_output(demo: tuple[Result, Path]) -> None:
    assert "160/160" in demo[0].stderr
    assert "160/160" not in demo[0].stdout


def test_a_folder_that_cannot_be_written_is_refused_before_simulating(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Study, "run", lambda *_, **__: pytest.fail("simulated"))
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        result = call("demo", "--out", str(out))
        assert result.exit_code == 2
        assert "Invalid value for '--out': cannot write into" in result.stderr


def test_a_budget_below_the_initial_design_is_refused_and_leaves_no_folder(tmp_path: Path) -> None:
    result = call("demo", "--out", str(tmp_path / "out"), "--budget", "79")
    assert result.exit_code == 2
    assert "79 is not in the range x>=80" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_without_matplotlib_the_frames_are_written_and_a_note_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return usual(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    result = call("demo", "--out", str(tmp_path), "--budget", "80")
    assert result.exit_code == 0
    assert "pictures need matplotlib: pip install 'argbest[plot]'" in result.stderr
    written = ["observations.csv", "report.html", "selection.csv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == written
    assert "policy_map.png" not in result.stdout


def test_problems_are_listed_with_size_goal_and_description() -> None:
    result = call("problems")
    assert result.exit_code == 0
    line = next(line for line in result.stdout.splitlines() if line.split()[:1] == ["branin"])
    assert line.split()[:5] == ["branin", "10", "x", "10", "max"]
    assert "Negated Branin function" in line


def test_json_is_the_summary_and_nothing_else() -> None:
    result = call("problems", "branin", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    shown = json.loads(result.stdout)
    assert list(shown) == KEYS
    assert shown == registry.problem("branin").summary()
    for table in ("noise_sd", "truth", "truth_se"):
        assert np.shape(shown[table]) == (10, 10)
    for row in ("alternatives", "contexts", "weights", "best", "ties", "gap_over_noise"):
        assert len(shown[row]) == 10


def test_a_problem_is_described_with_its_truth() -> None:
    result = call("problems", "branin")
    assert result.exit_code == 0
    problem = registry.problem("branin")
    rows = [line.split() for line in result.stdout.splitlines()]
    first = int(np.argmin(problem.contexts.columns["x2"]))
    best = ["2.68", f"{problem.weights[first]:.3g}", "3.33", "0.434", "0.145"]
    assert best in rows
    assert problem.truth is not None
    assert ["2.68", *(f"{value:.3g}" for value in problem.truth[:, first])] in rows
    assert "ties: in 0 contexts; PCS ceiling 1" in result.stdout
    assert "noise: standard deviation 3" in result.stdout


def test_ties_and_uneven_noise_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(
        ["[b]A[/b]", "B"],
        ["x", "y"],
        goal="min",
        truth=[[1, 1], [1, 2]],
        noise_sd=[[1, 2], [3, 4]],
        name="odd",
    )
    monkeypatch.setitem(registry.PROBLEMS, "odd", registry.ProblemEntry(lambda: problem))
    result = call("problems", "odd")
    assert "odd: 2 alternatives x 2 contexts, smaller is better" in result.stdout
    assert "[b]A[/b] = B" in result.stdout
    assert "ties: in 1 contexts; PCS ceiling 0.75" in result.stdout
    assert "standard deviation 1 to 4" in result.stdout


def test_a_large_problem_or_one_without_truth_is_described_too(monkeypatch: pytest.MonkeyPatch) -> None:
    names = list(range(11))
    large, dark = Problem(names, [1], truth=[[k] for k in names]), Problem(names, [1, 2])
    monkeypatch.setitem(registry.PROBLEMS, "large", registry.ProblemEntry(lambda: large))
    monkeypatch.setitem(registry.PROBLEMS, "dark", registry.ProblemEntry(lambda: dark))
    shown = call("problems", "large").stdout
    assert "11 alternatives are too many to show here; --truth FILE has them" in shown
    result = call("problems", "dark")
    assert result.exit_code == 0
    assert "best" not in result.stdout.split("\n", 1)[1]  # below the title
    assert json.loads(call("problems", "dark", "--json").stdout)["truth"] is None


def test_the_truth_of_a_problem_and_the_table_of_all_are_written_as_csv(tmp_path: Path) -> None:
    file = tmp_path / "truth.csv"
    result = call("problems", "gp-draws@1", "--seed", "3", "--truth", str(file))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"argbest: written: {file}\n"
    pd.testing.assert_frame_equal(
        read_table(file),
        argbest.problems.truth("gp-draws", seed=3),
        check_column_type=False,
        check_dtype=False,
    )
    assert call("problems", "--table", str(tmp_path / "all.csv")).exit_code == 0
    assert (
        read_table(tmp_path / "all.csv")["problem"].tolist() == argbest.problems.table()["problem"].tolist()
    )


def test_a_problem_is_shown_with_the_name_to_cite_and_where_it_is_from() -> None:
    for name in ("classical", "classical@1"):
        assert "cite as: classical@1; from: textbooks" in call("problems", name).stdout


def test_models_are_listed_and_policies_with_the_options_that_set_them_apart() -> None:
    result = call("models")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert all(name in text for name in registry.MODELS)
    assert "lookahead=inf" in " ".join(call("policies").stdout.split())


def test_every_problem_policy_and_model_is_one_plain_line_and_its_name_gives_the_details() -> None:
    kinds: dict[str, Mapping[str, Any]] = {
        "problems": registry.PROBLEMS,
        "policies": registry.POLICIES,
        "models": registry.MODELS,
    }
    for kind, names in kinds.items():
        lines = [line for line in call(kind).stdout.splitlines() if line.strip()]
        assert len(lines) == len(names) + 3  # heading, rule, and where to read on
        assert max(map(len, lines)) <= 80
    shown = call("policies", "ikg").stdout
    assert "model by default: additive-gp" in shown
    assert "lookahead" in shown
    assert "Did you mean 'gp-c-ocba'?" in call("policies", "gp-ocba").stderr


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("problems", "brannin"), "Did you mean 'branin'?"),
        (("problems", "brannin", "--json"), "Did you mean 'branin'?"),
        (("problem",), "Did you mean 'problems'?"),
        (("problems", "--json"), "--json needs the NAME of a problem"),
        (("problems", "--truth", "truth.csv"), "--truth needs the NAME of a problem"),
        (("problems", "branin@9"), "the latest version of 'branin' is 1, and there is no version 9"),
        (("demo", "--seed", "-1"), "-1 is not in the range 0<=x"),
    ],
)
def test_misuse_exits_with_2_and_a_hint(arguments: tuple[str, ...], hint: str) -> None:
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert hint in result.stderr


def test_an_error_of_the_library_exits_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise FitError("no fit could be found.")

    monkeypatch.setattr(Study, "run", fails)
    result = call("demo", "--out", str(tmp_path))
    assert (result.exit_code, result.stderr) == (1, "Error: no fit could be found.\n")


def test_an_interruption_exits_with_130(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Study, "run", interrupted)
    result = call("demo", "--out", str(tmp_path))
    assert (result.exit_code, result.stderr) == (130, "argbest: interrupted.\n")


def test_notices_of_compilation_are_one_plain_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiles() -> Problem:
        warnings.warn("compiling something: some seconds.", CompilationNotice, stacklevel=2)
        return Problem(["A", "B"], [1])

    monkeypatch.setitem(registry.PROBLEMS, "new", registry.ProblemEntry(compiles))
    result = call("problems", "new", "--json")
    assert (result.exit_code, result.stderr) == (0, "argbest: compiling something: some seconds.\n")


def test_other_warnings_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def warns() -> Problem:
        warnings.warn("something else", UserWarning, stacklevel=2)
        return Problem(["A", "B"], [1])

    monkeypatch.setitem(registry.PROBLEMS, "new", registry.ProblemEntry(warns))
    with pytest.warns(UserWarning, match="something else"):
        call("problems", "new", "--json")


def test_version_and_help_are_given() -> None:
    assert call("--version").stdout == f"argbest {__version__}\n"
    result = call("--help")
    assert result.exit_code == 0
    assert all(command in result.stdout for command in main.commands)
    assert [line for line in result.stdout.splitlines() if line in ("Study:", "Results:", "Research:")] != []
    assert "…" not in result.stdout
    assert "..." not in result.stdout.partition("Study:")[2]


@pytest.mark.parametrize(
    "code", ["import argbest", "from argbest.cli import main; main(['--version'], standalone_mode=False)"]
)
def test_neither_the_package_nor_its_version_imports_heavy_libraries(code: str) -> None:
    probe = f"{code}\nimport sys\nprint([m for m in ('numba', 'matplotlib', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
