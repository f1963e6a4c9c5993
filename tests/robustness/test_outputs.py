"""What commands write: whole or not at all on a full disk, and all of it when nobody reads what they say."""

import ast
import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import ROOT
from robustness.commands import ENVIRONMENT, argbest, study_file

from argbest.cli import main
from experiments.__main__ import main as reproduce

pytestmark = pytest.mark.usefixtures("few_draws")

Arguments = Callable[[Path], list[object]]
RUNS = "alternative,context,value\n" + "".join(
    f"{k},{c},{k * c + i}\n" for k in (1, 2) for c in (1, 2) for i in (0, 1)
)
COMPARE = ("compare", "classical", "--policy", "equal", "--replications", 2, "--macroreps", 2)

# Commands, and the files that each of them writes.
WRITING: dict[str, tuple[Arguments, list[str]]] = {
    "init": (lambda out: ["init", "--force", out / "new.toml"], ["new.toml", "simulate.py"]),
    "report": (lambda out: ["report", out / "study.db", "--out", out / "r.html"], ["r.html"]),
    "export-csv": (lambda out: ["export", out / "study.db", "--out", out / "o.csv"], ["o.csv"]),
    "export-json": (lambda out: ["export", out / "study.db", "--out", out / "o.json"], ["o.json"]),
    "export-parquet": (lambda out: ["export", out / "study.db", "--out", out / "o.parquet"], ["o.parquet"]),
    "analyze": (
        lambda out: ["analyze", out / "runs.csv", "--out", out],
        ["selection.csv", "allocation.csv", "next.csv", "policy_map.png", "allocation.png"],
    ),
    "demo": (
        lambda out: ["demo", "--budget", 80, "--out", out],
        ["observations.csv", "report.html", "policy_map.png"],
    ),
    "compare": (
        lambda out: [*COMPARE, "--out", out],
        ["summary.csv", "index.html", "curves.png", "header.json", "runs/equal.000000-000001.csv"],
    ),
    "experiments": (
        lambda out: ["experiments", "fig1", "--out", out, "--docs", out],
        ["fig1.csv", "fig1.png", "fig1.svg", "fig1.html", "reproduction.md", "images/reproduction/fig1.png"],
    ),
}


DEAR = ("demo", "experiments", "analyze")  # run by the slow tests


def call(*arguments: object) -> Result:
    words = [str(each) for each in arguments]
    if words[0] == "experiments":
        return CliRunner().invoke(reproduce, words[1:])
    return CliRunner().invoke(main, words)


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stored study, and a table of runs."""
    folder = tmp_path_factory.mktemp("studied")
    assert call("run", study_file(folder, budget=12), "--quiet").exit_code == 0
    (folder / "runs.csv").write_text(RUNS)
    return folder


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.slow] * (each in DEAR)) for each in WRITING]
)
def test_a_full_disk_leaves_every_output_as_it_was(
    name: str, studied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    shutil.copytree(studied, out)
    arguments, names = WRITING[name]
    usual = os.replace
    full = ""

    def replace(beside: Any, target: Any) -> None:
        if str(target).endswith(f"/{full}"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        usual(beside, target)

    monkeypatch.setattr(os, "replace", replace)
    for full in names:
        if name == "compare" and full.startswith("runs/"):
            shutil.rmtree(out / "runs", ignore_errors=True)  # a finished part is not written again
            (out / "header.json").unlink()
        elif full != "header.json":
            (out / full).parent.mkdir(parents=True, exist_ok=True)
            (out / full).write_text("old")
        before = (out / full).read_bytes() if (out / full).exists() else None
        result = call(*arguments(out))
        assert result.exit_code == 1, (full, result.output)
        line = result.stderr.splitlines()[-1]
        assert line.startswith(f"Error: cannot write '{out / full}': No space left on device. ")
        assert ((out / full).read_bytes() if (out / full).exists() else None) == before
        assert not list(out.rglob("*.part"))
    full = "nothing"
    assert call(*arguments(out)).exit_code == 0
    assert all((out / each).stat().st_size > 3 for each in names)


@pytest.mark.slow
def test_a_disk_that_is_really_full_leaves_the_old_page(studied: Path, tmp_path: Path) -> None:
    """The limit of a file's size stands for the disk; Python then sees what a full disk would show."""
    page = tmp_path / "report.html"
    page.write_text("old")
    done = subprocess.run(
        argbest("report", studied / "study.db", "--out", page),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=ENVIRONMENT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
    )
    assert done.returncode == 1, done.stderr
    line = done.stderr.splitlines()[-1]
    assert line.startswith(f"Error: cannot write '{page}': File too large. ")
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert page.read_text() == "old"


WRITERS = {
    "files.py",  # for all, and to the null device
    "experiment/results.py",  # a lock, which holds nothing
    "report/style.py",  # in memory
    "compilation.py",  # into a folder that then gets its name
    "storage/place.py",  # a copy to read, in a folder of its own
    "study/workers.py",  # new, and its owner's alone
    "studyfile/starts/sumo/simulate.py",  # a user's to start from: for SUMO to read, in a temporary folder
}


def writes(call: ast.Call) -> bool:
    """Return whether a call would write a file: by its name, or as it opens one."""
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    if name in ("to_csv", "to_parquet"):
        return isinstance(call.func, ast.Attribute) and bool(call.args)  # else they return the content
    modes = [each.value for each in call.args if isinstance(each, ast.Constant)]
    opens = name == "open" and any(str(mode)[:1] in "wax" for mode in modes)
    return opens or name in ("write_text", "write_bytes", "savefig", "print_figure", "copyfile", "to_excel")


def test_all_files_are_written_by_one_function() -> None:
    package, experiments = ROOT / "src" / "argbest", ROOT / "experiments"
    found = {
        path.relative_to(package if path.is_relative_to(package) else ROOT).as_posix()
        for path in (*package.rglob("*.py"), *experiments.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and writes(node)
    }
    assert found == WRITERS


UNREAD = """
import json, os, sys
from argbest.cli import main
codes = []
for arguments in json.load(sys.stdin):
    heard, said = os.pipe()
    os.close(heard)
    os.dup2(said, 1)
    os.close(said)
    try:
        if arguments[0] == "experiments":
            from experiments.__main__ import main as reproduce

            reproduce(arguments[1:])
        else:
            main(arguments)
    except SystemExit as end:
        codes.append(end.code)
print(json.dumps(codes), file=sys.stderr)
"""


@pytest.mark.parametrize("dear", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_commands_do_their_work_when_nobody_reads_what_they_say(
    dear: bool, studied: Path, tmp_path: Path
) -> None:
    writing = [WRITING[name] for name in WRITING if dear or name not in DEAR]
    out = tmp_path / "out"
    shutil.copytree(studied, out)
    (out / "study.db").unlink()
    place = out / "study.db"
    calls: list[list[object]] = [
        ["run", out / "study.toml", "--quiet"],
        ["status", place],
        ["status", place, "--watch", "--every", 60],
        ["status", place, "--json"],
        ["resume", place, "--budget", 14],
        ["worker", place, "--budget", 16, "--quiet"],
        ["ask", place, "-n", 3],
        *([*arguments(out)] for arguments, _ in writing),
        ["problems"],
        ["problems", "branin", "--json"],
        ["policies"],
        ["models"],
        ["--help"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", UNREAD],
        cwd=ROOT,
        input=json.dumps([[str(word) for word in each] for each in calls]),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=ENVIRONMENT,
    )
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stderr.splitlines()[-1]) == [0] * len(calls)
    for _, names in writing:
        assert all((out / each).stat().st_size > 3 for each in names)
    assert json.loads(call("status", place, "--json").stdout)["replications"] == 16


@pytest.mark.slow
def test_analyze_writes_its_tables_behind_head(studied: Path, tmp_path: Path) -> None:
    words = argbest("analyze", studied / "runs.csv", "--out", tmp_path)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        assert command.stdout.readline().startswith(b"runs: 8 replications")
        command.stdout.close()
        said = command.stderr.read().decode()
    assert command.returncode == 0, said
    assert "Traceback" not in said
    assert "Broken" not in said
    assert {"selection.csv", "allocation.csv", "next.csv"} <= {path.name for path in tmp_path.iterdir()}


def unheard(*words: object, given: str = "") -> tuple[int, str]:
    """Return the exit code of a command whose standard output has no reader, and its complaints."""
    heard, said = os.pipe()
    os.close(heard)
    done = subprocess.run(
        argbest(*words),
        input=given,
        stdout=said,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
        env=ENVIRONMENT,
    )
    os.close(said)
    complaints = [line for line in done.stderr.splitlines() if "compiling numerical code" not in line]
    return done.returncode, "".join(complaints)


def trials(place: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads(call("status", place, "--json").stdout)["trials"]
    return found


def test_tell_keeps_every_line_though_nobody_hears_that(studied: Path, tmp_path: Path) -> None:
    place = shutil.copytree(studied, tmp_path / "copy") / "study.db"
    assert call("ask", place, "-n", 40).exit_code == 0
    lines = "".join(f'{{"trial": {trial}, "value": 1.5}}\n' for trial in range(12, 52))
    assert unheard("tell", place, given=lines) == (0, "")
    assert trials(place) == {"told": 52, "pending": 0, "given_back": 0, "failed": 0}


def test_standard_output_on_a_full_disk_is_a_sentence() -> None:
    words = argbest("policies")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, timeout=120, check=False
        )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: cannot write to standard output: No space left on device. ")


PRINTING = "def simulate(alternative, context, seed):\n    print('x' * 10000)\n    return seed % 7\n"


@pytest.mark.parametrize("run", ["workers = 1", ""])
@pytest.mark.fast_cases("workers*")
def test_a_simulator_may_print_though_nobody_listens(run: str, tmp_path: Path) -> None:
    file = study_file(tmp_path, python=PRINTING, budget=6, run=run)
    assert unheard("run", file, "--quiet") == (0, "")
    assert trials(tmp_path / "study.db") == {"told": 6, "pending": 0, "given_back": 0, "failed": 0}
