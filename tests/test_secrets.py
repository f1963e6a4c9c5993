"""No password of a database is shown: not by a command, an error, a representation or a page."""

import traceback
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from grids import mostly_slow
from postgres import Server, postgres
from robustness.commands import study_file

from argbest import Problem, Study
from argbest.cli import main
from argbest.errors import InputError, StorageError
from argbest.serve.server import LiveView
from argbest.storage.opening import concealed, hiding_secrets, open_storage
from argbest.storage.place import place
from argbest.storage.sql import SQLStorage

pytestmark = pytest.mark.usefixtures("few_draws")

__all__ = ["postgres"]

SECRETS = ("s3cr@t", "s3cr%40t")  # as it is, and as it stands in a URL
SPELLINGS = (
    "postgresql://argbest:s3cr%40t@{host}/{database}?{more}",
    "postgresql://argbest@{host}/{database}?password=s3cr%40t&{more}",
    "postgresql://argbest@{host}/{database}?password=s3cr@t&{more}",
    "postgresql://argbest@{host}/{database}?pass%77ord=s3cr%40t&{more}",
    "postgresql://argbest:s3cr%40t@{host}/{database}?sslpassword=s3cr%40t&{more}",
    "postgresql://argbest@{host}/{database}?pasword=s3cr%40t&{more}",  # a slip of the pen
)
MALFORMED = (
    "postgresql://me:s3cr@t@there/lab",
    "postgresql://there:5432/lab?password=s3cr@t",
    "postgresql://me:s3cr%40t@there:port/lab",
    "postgresql:/me:s3cr@t@there/lab",
    "postgresql:me:s3cr@t@there/lab",
    "host=there password=s3cr@t",
    "host=there password = s3cr@t",
    "mysql://me:s3cr%40t@there/lab",
    "me:s3cr@t://there/lab",
    "sqlite:///study.db?password=s3cr%40t",
    "postgresql://me:s3cr%40t@there/lab\0",
)
SHELL = ["/bin/sh", "-c", "echo $(($1 % 100)).5", "sh", "{seed}", "{alternative}", "{context}"]
STORED = tuple(
    name
    for name, command in main.commands.items()
    if any(isinstance(each, click.Argument) and each.name == "storage" for each in command.params)
)


def assert_silent(*texts: object) -> None:
    for text in map(str, texts):
        assert not any(secret in text for secret in SECRETS), text


def told(error: BaseException | None) -> str:
    """Return an exception and all it came from, as Python prints them."""
    return "" if error is None else "".join(traceback.format_exception(error))


def call(*arguments: object, given: str = "") -> Result:
    """Return what a command did; neither what it said nor what it raised holds the password."""
    result = CliRunner().invoke(main, [str(each) for each in arguments], input=given)
    assert_silent(result.stdout, result.stderr, told(result.exception))
    return result


def address(spelling: str, server: Server, database: str) -> str:
    return spelling.format(host="", database=database, more=f"host={server.folder}")


def kept_in(server: Server, spelling: str) -> str:
    """Return the address of a new study in a database of its own."""
    database = server.new_database().partition("@/")[2].partition("?")[0]
    study = Study(Problem(["a", "b"], [1, 2]), storage=server.url(database))
    study.ask()
    study.close()
    return address(spelling, server, database)


def test_every_command_for_stored_studies_is_tested_here() -> None:
    assert set(STORED) == {
        "add",
        "answer",
        "ask",
        "check",
        "export",
        "readmit",
        "report",
        "resume",
        "retire",
        "serve",
        "status",
        "tell",
        "weigh",
        "worker",
    }


# All come to one door: every command is tried with two spellings, every spelling with several commands; the
# other combinations are left to the slow tests.
@pytest.mark.parametrize(
    ("command", "spelling"),
    [
        pytest.param(command, spelling, marks=[] if (i + j) % 3 == 0 else [pytest.mark.slow])
        for i, command in enumerate(STORED)
        for j, spelling in enumerate(SPELLINGS)
    ],
)
def test_no_command_shows_the_password_when_it_fails(
    command: str, spelling: str, postgres: Server, tmp_path: Path
) -> None:
    row = ["--alternative", '"c"']
    needed = {
        "report": ["--out", str(tmp_path / "out.html")], "weigh": ["[1, 2]"], "add": row, "retire": row,
        "readmit": row,
    }  # fmt: skip
    out = needed.get(command, [])
    nobody = spelling.format(host="127.0.0.1:1", database="lab", more="connect_timeout=2")
    for where in (
        nobody,
        address(spelling, postgres, "postgres"),  # no study in it
        address(spelling, postgres, "nowhere"),
    ):
        result = call(command, where, *out, given='{"trial": 0, "value": 1.0}')
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: ")
    assert call(command, nobody, *out, nobody).exit_code == 2  # one too many: the usage is explained
    assert call(nobody, command).exit_code == 2  # in a wrong place
    assert call(command, nobody, "--name", "x" * 300).exit_code == 2


@pytest.mark.parametrize("where", MALFORMED)
@pytest.mark.parametrize("command", STORED)
def test_no_command_shows_what_it_cannot_understand(command: str, where: str) -> None:
    result = call(command, where)
    assert result.exit_code == 2, result.output


@pytest.mark.parametrize("spelling", mostly_slow(SPELLINGS[:4], fast=SPELLINGS[2:3]))
def test_no_command_shows_the_password_when_it_works(
    spelling: str, postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    where = kept_in(postgres, spelling)
    assert call("ask", where).exit_code == 0
    line = '{"trial": 0, "value": 1.0}\n'
    assert call("tell", where, given=line).exit_code == 0
    assert call("tell", where, given=line).exit_code == 1
    assert call("check", where).exit_code == 0
    assert call("status", where).exit_code == 0
    assert call("status", where, "--json").exit_code == 0
    assert call("export", where).exit_code == 0
    assert call("report", where).exit_code == 0
    page = Path("report.html").read_text()
    assert_silent(page)
    assert "argbest report" in page
    study = Study.load(where)
    study.report("own.html", command=f"argbest report {where}")
    study.close()
    assert_silent(Path("own.html").read_text(), repr(study), study.definition, study.plan)
    view = LiveView(where, port=0)
    assert_silent(view.url, view.watch.state(), view.watch.title, repr(view.watch._storage))
    view._socket.close()
    view.watch._storage.close()


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("spelling", mostly_slow(SPELLINGS[:4], fast=SPELLINGS[:2]))
def test_running_a_study_shows_where_it_is_kept_without_the_password(
    spelling: str, inside: bool, postgres: Server, tmp_path: Path
) -> None:
    database = postgres.new_database().partition("@/")[2].partition("?")[0]
    where = address(spelling, postgres, database)
    file = study_file(
        tmp_path, command=SHELL, budget=8, storage=f'[storage]\nurl = "{where}"' if inside else ""
    )
    options = [] if inside else ["--storage", where]
    done = call("run", file, "--quiet", *options)
    assert done.exit_code == 0, done.output
    assert f"kept in {hiding_secrets(where)}" in done.stdout
    again = call("run", file, "--quiet", *options)
    assert again.exit_code == 1
    assert "To continue it: argbest resume" in again.stderr
    assert call("resume", where, "--budget", "9", "--quiet").exit_code == 0
    assert call("worker", where, "--budget", "10", "--quiet").exit_code == 0
    assert call("run", where).exit_code == 2
    assert call("run", file, "--storage", "postgresql://me:s3cr@t@there/lab").exit_code == 2


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_error_of_the_library_holds_the_password(spelling: str, postgres: Server) -> None:
    problem = Problem(["a", "b"], [1, 2])
    nobody = spelling.format(host="127.0.0.1:1", database="lab", more="connect_timeout=2")
    nowhere = address(spelling, postgres, "nowhere")
    empty = address(spelling, postgres, "postgres")
    storage = SQLStorage(empty)
    actions: list[Any] = [lambda where=where: Study.load(where) for where in (nobody, nowhere, empty)]
    actions += [lambda where=where: Study(problem, storage=where) for where in (nobody, nowhere)]
    actions += [lambda: storage.since(0), storage.workers, lambda: storage.exclusive().__enter__()]
    for action in actions:
        with pytest.raises(StorageError, match="[Cc]heck|make it with") as caught:
            action()
        assert_silent(told(caught.value))
    assert_silent(repr(storage), storage, repr(place(empty)), place(empty), vars(caught.value))
    storage.close()


@pytest.mark.parametrize("where", MALFORMED)
def test_no_address_that_is_refused_is_repeated(where: str) -> None:
    for action in (lambda: open_storage(where), lambda: Study.load(where), lambda: place(where)):
        with pytest.raises(InputError, match="Give|Write") as caught:
            action()
        assert_silent(told(caught.value))
    assert_silent(hiding_secrets(where), concealed(f"there is {where}, and {where!r}."))


def test_a_url_given_as_a_path_is_refused_and_not_repeated() -> None:
    where = Path(MALFORMED[0])
    with pytest.raises(InputError, match="not as a URL") as caught:
        Study.load(where)
    assert_silent(told(caught.value))


def test_what_is_no_secret_is_shown() -> None:
    assert (
        hiding_secrets("postgresql://me:hush@host/lab?sslmode=require")
        == "postgresql://me:***@host/lab?sslmode=require"
    )
    assert hiding_secrets("postgresql://me@host:5433/lab") == "postgresql://me@host:5433/lab"
    assert (
        hiding_secrets("postgresql://host/lab?passfile=/home/me/pw") == "postgresql://host/lab?passfile=***"
    )
    assert hiding_secrets("sqlite:///study.db") == "sqlite:///study.db"
    for path in ("my study.db", "C:\\studies\\a.db", "/a/b@c:d.db"):
        assert hiding_secrets(path) == hiding_secrets(Path(path)) == concealed(path) == path
    assert concealed("see https://example.org/a.") == "see https://example.org/a."
