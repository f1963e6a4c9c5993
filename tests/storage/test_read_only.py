"""Studies where nothing can be written: read as they are, whatever was left beside them."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from grids import mostly_slow

from argbest import Problem, StorageError, Study
from argbest.cli import main
from argbest.serve.watch import StudyWatch
from argbest.storage.sql import SQLStorage

Mount = Callable[[Path], Path]


@pytest.fixture
def mounted() -> Iterator[Mount]:
    """What shows a folder on a mount that is read-only even for root."""
    folders: list[str] = []

    def mount(folder: Path) -> Path:
        target = tempfile.mkdtemp(prefix="argbest-mount-")
        done = [
            subprocess.run(["mount", *words, target], check=False, capture_output=True).returncode  # noqa: S607
            for words in (["--bind", str(folder)], ["-o", "remount,ro,bind"])
        ]
        if os.getuid() != 0 or any(done):
            os.rmdir(target)
            pytest.skip("only root can mount")
        folders.append(target)
        return Path(target)

    yield mount
    for target in folders:
        subprocess.run(["umount", target], check=True)  # noqa: S607
        os.rmdir(target)


def finished(path: Path) -> Study:
    study = Study(Problem(["a", "b"], [1, 2], lambda a, c, s: c * len(a) + s % 7), storage=path, initial=2)
    return study.run(20)


def with_log(path: Path, copy: Path, *, ends: tuple[str, ...]) -> None:
    """Copy a study as a crash would leave it: the file, and what SQLite keeps beside it."""
    for end in ("", *ends):
        shutil.copyfile(f"{path}{end}", f"{copy}{end}")


@pytest.mark.parametrize("ends", mostly_slow([(), ("-wal",), ("-wal", "-shm")], fast=[("-wal", "-shm")]))
@pytest.mark.slow
def test_a_finished_study_on_a_read_only_mount_is_read(
    ends: tuple[str, ...], tmp_path: Path, mounted: Mount
) -> None:
    study = finished(tmp_path / "made.db")
    (tmp_path / "archive").mkdir()
    if not ends:
        study.close()  # takes all into the one file
    with_log(tmp_path / "made.db", tmp_path / "archive" / "study.db", ends=ends)
    path = mounted(tmp_path / "archive") / "study.db"
    before = sorted(os.listdir(path.parent))
    kept = Study.load(path)
    assert kept.selection().equals(study.selection())
    assert kept.refresh().n_replications == 20
    kept.close()
    for words in (
        ["status"],
        ["export", "--out", tmp_path / "o.csv"],
        ["report", "--out", tmp_path / "r.html"],
    ):
        done = CliRunner().invoke(main, [str(each) for each in (words[0], path, *words[1:])])
        assert done.exit_code == 0, done.output
    watch = StudyWatch(str(path))
    watch._look()
    assert watch.state()["standing"]["replications"] == 20
    watch._storage.close()
    for words in (["ask"], ["tell"]):
        done = CliRunner().invoke(main, [*words, str(path)], input='{"trial": 3, "value": 1.0}')
        assert done.exit_code == 1, done.output
    assert "cannot be written" in CliRunner().invoke(main, ["ask", str(path)]).stderr
    with pytest.raises(StorageError, match="cannot be written"):
        SQLStorage(path, name="another").create({})
    assert sorted(os.listdir(path.parent)) == before


def test_reading_leaves_no_copy_behind(
    tmp_path: Path, mounted: Mount, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished(tmp_path / "made.db")
    for name in ("archive", "tmp"):
        (tmp_path / name).mkdir()
    with_log(tmp_path / "made.db", tmp_path / "archive" / "study.db", ends=("-wal",))
    path = mounted(tmp_path / "archive") / "study.db"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    assert Study.load(path).n_replications == 20
    assert os.listdir(tmp_path / "tmp") == []


def test_what_is_added_on_the_other_side_of_the_mount_is_seen(tmp_path: Path, mounted: Mount) -> None:
    (tmp_path / "shared").mkdir()
    study = finished(tmp_path / "shared" / "study.db")
    study.close()
    kept = Study.load(mounted(tmp_path / "shared") / "study.db")
    assert kept.n_replications == 20
    study.run(24)
    assert kept.refresh().n_replications == 24
    study.close()
    assert kept.refresh().n_replications == 24
