"""Whatever is in a label, it is text: from the study file to the program, the database and exported files."""

import ast
import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import ROOT

from argbest import Problem, Study
from argbest.cli import main
from argbest.table_files import unguarded

LABELS = [
    "'; DROP TABLE argbest_trials; --",
    "\"double\" and 'single'",
    "<script>alert(1)</script> & <b>",
    "$(touch owned) `touch owned` ; touch owned | touch owned",
    "two\nlines\tand a tab",
    "a\rreturn and \r\n both",
    "{seed} {alternative} {python} {{x}}",
    "%s %(name)s %d",
    "../../../etc/passwd",
    "-rf",
    "--help",
    "=1+1",
    "[bold]not bold[/bold] [link=x]y",
    "\u202ereversed \u00e9\u6f22\U0001f600",
    "NA",
    " leading and trailing ",
    "\x1b[31mred\x07",
]
CONTEXTS = ["*", "?'"]
PROGRAM = '#!/bin/sh\nprintf "%s\\0" "$@" >> log\nprintf "%s\\0" "$LABEL" >> log\necho "1.$1"\n'


def call(*arguments: object, given: str = "") -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments], input=given)


def text(label: str) -> str:
    """Return a label as TOML, which knows the escapes of JSON but no surrogate pairs."""
    return json.dumps(label, ensure_ascii=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a study with such labels was run."""
    folder = tmp_path_factory.mktemp("labels")
    (folder / "simulate").write_text(PROGRAM)
    (folder / "simulate").chmod(0o755)
    (folder / "study.toml").write_text(
        f"""
name = "it's <b>[red]{{seed}}"
alternatives = [{", ".join(map(text, LABELS))}]
contexts = [{", ".join(map(text, CONTEXTS))}]
[simulator]
command = ["./simulate", "{{seed}}", "{{alternative}}", "{{context}}"]
environment = {{ LABEL = "{{alternative}}" }}
[study]
policy = "equal"
initial = 1
[run]
budget = {len(LABELS) * len(CONTEXTS)}
workers = 1  # two programs at once would write into each other's lines of the log
""",
        encoding="utf-8",
    )
    result = call("run", folder / "study.toml", "--quiet")
    assert result.exit_code == 0, result.output
    return folder


def test_a_program_receives_labels_as_they_are(folder: Path) -> None:
    parts = (folder / "log").read_bytes().decode().split("\0")[:-1]
    assert len(parts) == 4 * len(LABELS) * len(CONTEXTS)
    received = {(parts[i + 1], parts[i + 2], parts[i + 3]) for i in range(0, len(parts), 4)}
    assert received == {(label, context, label) for label in LABELS for context in CONTEXTS}
    assert sorted(path.name for path in folder.iterdir() if "db" not in path.name) == [
        "log",
        "simulate",
        "study.toml",
    ]


def test_a_database_gives_labels_back_as_they_were(folder: Path) -> None:
    study = Study.load(folder / "study.db")
    assert list(study.problem.alternatives.labels) == LABELS
    assert list(study.problem.contexts.labels) == CONTEXTS
    assert study.problem.name == "it's <b>[red]{seed}"
    assert set(study.observations()["alternative"]) == set(LABELS)


def test_exported_files_hold_labels_as_they_are(folder: Path, tmp_path: Path) -> None:
    expected = Study.load(folder / "study.db").observations()["alternative"].tolist()
    assert call("export", folder / "study.db", "--out", tmp_path / "out.csv").exit_code == 0
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        assert [unguarded(row["alternative"]) for row in csv.DictReader(file)] == expected
    assert call("export", folder / "study.db", "--out", tmp_path / "out.json").exit_code == 0
    assert [row["alternative"] for row in json.loads((tmp_path / "out.json").read_text())] == expected


def test_labels_are_asked_for_and_printed_as_they_are(folder: Path) -> None:
    for context in CONTEXTS:
        result = call("ask", folder / "study.db", "--context", context)
        row = json.loads(result.stdout)
        assert row["context"] == context
        assert row["alternative"] in LABELS
        assert (
            call(
                "tell", folder / "study.db", given=json.dumps({"trial": row["trial"], "value": 1.0})
            ).exit_code
            == 0
        )
    shown = call("status", folder / "study.db")
    assert shown.exit_code == 0
    assert "it's <b>[red]{seed}" in shown.stdout


def test_a_name_of_a_study_is_text_as_well(tmp_path: Path) -> None:
    for name in ("'; DELETE FROM argbest_studies; --", '"', "%", "a\nb"):
        study = Study(Problem(["a", "b"], [0, 1]), storage=tmp_path / "s.db", name=name)
        study.tell(study.ask()[0], 1.0)
    for name in ("'; DELETE FROM argbest_studies; --", '"', "%", "a\nb"):
        assert Study.load(tmp_path / "s.db", name=name).n_replications == 1


ROOMS = ("storage", "study", "studyfile", "simulators", "cli")
MODULES = {"pickle", "_pickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "jsonpickle"}
NAMES = {"eval", "exec", "compile", "system", "popen", "read_pickle", "to_pickle", "getoutput"}
# Jobs go to processes that we started ourselves, and come back from them; nothing else is ever pickled.
ALLOWED = {("simulators/child.py", "pickle"), ("simulators/pool.py", "pickle")}


def dangers(source: str) -> set[str]:
    """Return what a source uses of what could run text or data as code."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {each.name.split(".")[0] for each in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom):
            found |= {(node.module or "").split(".")[0]} & MODULES
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            owner = getattr(getattr(node.func, "value", None), "id", "")
            found |= {name} & NAMES if (owner, name) != ("re", "compile") else set()
            for keyword in node.keywords:
                off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
                if keyword.arg in ("shell", "allow_pickle") and not off:
                    found.add(keyword.arg)
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import pickle", {"pickle"}),
        ("from pickle import loads", {"pickle"}),
        ("eval('1')", {"eval"}),
        ("import builtins\nbuiltins.exec('1')", {"exec"}),
        ("import subprocess\nsubprocess.run('ls', shell=True)", {"shell"}),
        ("import os\nos.system('ls')", {"system"}),
        ("import numpy as np\nnp.load('x', allow_pickle=True)", {"allow_pickle"}),
        ("import re\nre.compile('x')\nnp.load('x', allow_pickle=False)", set()),
    ],
)
def test_the_scan_finds_what_it_looks_for(source: str, expected: set[str]) -> None:
    assert dangers(source) == expected


def test_no_shell_no_pickle_and_no_eval() -> None:
    package = ROOT / "src" / "argbest"
    files = [path for room in ROOMS for path in (package / room).rglob("*.py")]
    assert len(files) > 40
    found = {
        (path.relative_to(package).as_posix(), danger)
        for path in files
        for danger in dangers(path.read_text(encoding="utf-8"))
    }
    assert found == ALLOWED
