"""Trouble with the file of a study, seen from the command line: a line that says it, and the data intact."""

import os
import pwd
import resource
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from robustness.commands import ENVIRONMENT, argbest, study_file
from watching import PATIENCE

from argbest import Study
from argbest.cli import main
from argbest.storage import place as places
from argbest.storage import schema
from argbest.study import workers
from argbest.studyfile import read

SHELL = ["/bin/sh", "-c", "echo $(($1 % 100)).5", "sh", "{seed}", "{alternative}", "{context}"]
COMMANDS = ("resume", "worker", "status", "ask", "tell", "export")
LINE = '{"trial": 8, "value": 2.5}\n'


def call(*arguments: object, given: str = "") -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments], input=given)


@pytest.fixture
def powerless() -> Iterator[Path]:
    """A folder in which this process has no more rights than its owner; they do not bind root."""
    folder = Path(tempfile.mkdtemp(prefix="argbest-rights-"))
    root = os.getuid() == 0
    if root:
        owner = pwd.getpwnam("nobody").pw_uid
        os.chown(folder, owner, -1)
        os.seteuid(owner)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        shutil.rmtree(folder)


def complaint(result: Result) -> str:
    """Return the one line in which a command says why it failed."""
    assert result.exit_code == 1, result.output
    [line] = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


def stored(folder: Path) -> Path:
    """Return the file of a study with 8 of 12 observations and one trial under way."""
    described = read(study_file(folder, command=SHELL, budget=12))
    path = folder / "study.db"
    study = Study(described.problem, **described.options, storage=path, plan=described.plain()).run(8)
    study.ask()
    study._journal.storage.close()
    return path


def intact(path: Path) -> bool:
    study = Study.load(path)
    done = study.observations()
    study._journal.storage.close()
    return len(done) == 8 and bool((done["value"] == done["seed"] % 100 + 0.5).all())


@pytest.mark.slow
def test_a_disk_that_fills_up_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    """The limit of a file's size stands for the disk; Python then sees what a full disk would show."""
    source = "def simulate(alternative, context, seed):\n    return seed / 7\n"
    file = study_file(tmp_path, python=source, budget=600)
    done = subprocess.run(
        argbest("run", file, "--quiet"),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=ENVIRONMENT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000)),
    )
    assert done.returncode == 1, done.stderr
    [line] = [line for line in done.stderr.splitlines() if "compil" not in line]  # a notice, the first time
    assert "disk" in line
    assert "Everything acknowledged before is safe" in line
    kept = Study.load(tmp_path / "study.db")
    before = kept.observations()
    assert 0 < len(before) < 600
    assert (before["value"] == before["seed"] / 7).all()
    assert call("resume", tmp_path / "study.db", "--quiet").exit_code == 0
    whole = Study(read(file).problem, **read(file).options).run(600)
    pd.testing.assert_frame_equal(kept.refresh().observations(), whole.observations())
    assert set(kept.trials()["status"]) == {"told"}


def test_a_read_only_file_can_be_looked_at_but_not_added_to(powerless: Path) -> None:
    path = stored(powerless)
    path.chmod(0o400)
    for command in ("resume", "worker", "ask", "tell"):
        assert "cannot be written" in complaint(call(command, path, given=LINE))
    assert call("status", path).exit_code == 0
    assert call("export", path, "--out", powerless / "out.csv").exit_code == 0
    path.chmod(0o600)
    assert intact(path)


def test_a_locked_file_is_waited_for_and_then_complained_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "WAIT", 0.2)
    monkeypatch.setattr(workers, "PAUSES", ())
    path = stored(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for command in ("resume", "worker", "ask", "tell"):
            assert "is held by another process" in complaint(call(command, path, given=LINE))
        assert call("status", path).exit_code == 0
        other.execute("ROLLBACK")
    assert intact(path)
    assert call("resume", path, "--quiet").exit_code == 0


def test_tables_of_a_newer_version_are_left_alone(tmp_path: Path) -> None:
    path = stored(tmp_path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE argbest_studies SET schema_version = 99")
    for command in COMMANDS:
        line = complaint(call(command, path, given=LINE))
        assert "was written by a newer argbest: its tables have version 99" in line
    assert "newer argbest" in complaint(call("run", tmp_path / "study.toml"))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE argbest_studies SET schema_version = ?", (schema.version(),))
    assert intact(path)


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("alternative,context,value\n" + "a,b,3\n" * 1000)
    before = path.read_bytes()
    for command in COMMANDS:
        assert "is not an SQLite database, or a damaged one" in complaint(call(command, path, given=LINE))
    file = study_file(tmp_path, command=SHELL)
    assert "is not an SQLite database" in complaint(call("run", file, "--storage", path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.fast_cases("4", "7")
def test_a_damaged_file_is_complained_about_or_complete(seed: int, tmp_path: Path) -> None:
    path, copy = stored(tmp_path), tmp_path / "copy.db"
    shutil.copy(path, copy)
    content = bytearray(path.read_bytes())
    at = 4096 * (1 + seed % (len(content) // 4096 - 1))
    content[at : at + 4096] = np.random.default_rng(seed).bytes(4096)
    path.write_bytes(content)
    for command in ("status", "export"):
        result = call(command, path, *(["--out", tmp_path / "out.csv"] if command == "export" else []))
        assert result.exit_code in (0, 1), result.output
        if result.exit_code == 1:
            complaint(result)
        elif command == "export":
            assert len(pd.read_csv(tmp_path / "out.csv")) == 8
    assert intact(copy)
