"""What strangers say reaches the terminal as text: no command to it, no forged line, no broken pipe."""

import ast
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import ROOT

from argbest import Problem, Study
from argbest.cli import main
from argbest.report.page import write_report
from argbest.studyfile import read
from argbest.texts import harmless

pytestmark = pytest.mark.usefixtures("few_draws")

EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\r\u202egnp.exe\u2066\x7f"
NAMES = [f"plan{EVIL}", "other"]


def call(*arguments: object, given: str = "") -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments], input=given)


def simulate(alternative: str, context: str, seed: int) -> float:
    if seed % 3 == 0:
        raise ValueError(f"cannot {EVIL}")
    return len(alternative) + seed % 10


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The file of a study whose labels, name and failures hold commands to a terminal."""
    problem = Problem(NAMES, [f"day{EVIL}", "night"], simulate, name=f"study{EVIL}", description=EVIL)
    path = tmp_path / "study.db"
    study = Study(problem, policy="equal", storage=path, plan={"budget": 14}).run(12, on_failure="record")
    for trial in [trial for trial in study.ask(6) if trial.pair == (0, 0)]:
        study.fail(trial, f"again {EVIL}")
    return path


def assert_harmless(result: Result) -> None:
    for shown in (result.stdout, result.stderr):
        assert harmless(shown) == shown


def test_no_command_passes_on_what_commands_a_terminal(place: Path, tmp_path: Path) -> None:
    runs = tmp_path / f"runs{EVIL}.csv"
    done = call("export", place, "--out", runs)
    evil = tmp_path / f"{EVIL}.toml"
    evil.write_text(f"name = {json.dumps(EVIL)}\nalternatives = 3\n{json.dumps(EVIL)} = 1\n")
    function = ["--python", f"{__name__}:simulate"]
    calls = [
        call("status", place),
        call("status", place, "--json"),
        call("resume", place, *function, "--quiet"),
        call("worker", place, *function, "--quiet"),
        call("ask", place),
        call("ask", place, "--context", EVIL),
        call("tell", place, given=json.dumps({"trial": EVIL, "value": 1}) + "\n" + EVIL + "\n"),
        call("report", place, "--out", tmp_path / f"{EVIL}.html"),
        call("report", place, "--name", EVIL),
        call("analyze", runs, "--out", tmp_path / EVIL),
        call("analyze", runs, "--alternative", EVIL),
        call("run", evil),
        call("run", tmp_path / EVIL),
        call("init", tmp_path / EVIL / "a.toml"),
        call("compare", EVIL, "--policy", EVIL, "--replications", "1", "--macroreps", "1"),
        call("problems", EVIL),
        call(f"--{EVIL}"),
        call(EVIL),
        call("status", place, f"--{EVIL}"),
        call("status", place, "--every", EVIL),
    ]
    for result in [done, *calls]:
        assert not isinstance(result.exception, Exception), result.exception
        assert_harmless(result)
    assert "\\x1b[2J\\x1b]0;owned\\x07\\x9b31m\\r\\u202egnp.exe\\u2066\\x7f" in calls[0].stdout
    assert json.loads(calls[1].stdout)["problem"] == f"study{EVIL}"
    assert {json.loads(each.stdout)["context"] for each in calls[4:5]} <= {f"day{EVIL}", "night"}


def test_what_is_stored_stays_as_it_came(place: Path) -> None:
    study = Study.load(place, simulate=simulate)
    assert study.problem.name == f"study{EVIL}"
    assert f"ValueError: cannot {EVIL}" in set(study.trials()["reason"])


def test_the_page_shows_its_title_and_answer_harmlessly(place: Path, tmp_path: Path) -> None:
    page = write_report(Study.load(place, simulate=simulate), tmp_path / "report.html").read_text("utf-8")
    head = page.partition("<script")[0]
    assert harmless(head) == head
    assert f"<title>{harmless(f'study{EVIL}')}</title>" in head
    payload = page.partition('id="payload">')[2].partition("</script>")[0]
    assert json.loads(payload)["title"] == f"study{EVIL}"
    assert harmless(payload.replace("\x7f", "")) == payload.replace("\x7f", "")


def test_only_one_room_speaks_to_the_terminal() -> None:
    """Whatever is printed elsewhere would pass by the escapes."""
    for path in (*(ROOT / "src" / "argbest" / "cli").glob("*.py"), *(ROOT / "experiments").glob("*.py")):
        names = [
            ast.unparse(node.func)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call)
        ]
        spoken = {"print", "click.echo", "click.secho", "Console", "sys.stdout.write", "sys.stderr.write"}
        assert path.name == "terminal.py" or not spoken & set(names), path.name


def test_a_study_file_is_quoted_harmlessly_by_the_library_as_well(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(f"goal = {json.dumps(EVIL)}\n")
    with pytest.raises(ValueError, match="expected max or min") as refused:
        read(file)
    assert harmless(str(refused.value)) == str(refused.value)
