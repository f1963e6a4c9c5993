"""Files are there as a whole, or as they were before, whatever happens meanwhile."""

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from argbest import files
from argbest.errors import ArgbestError, InputError


def left_over(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
        before = os.umask(mask)
        try:
            path = files.write(tmp_path / f"{mask}.csv", "a,b\n")
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert path.read_bytes() == b"a,b\n"
    assert left_over(tmp_path) == []


def test_a_file_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    for mode in (0o640, 0o755, 0o600):
        path.chmod(mode)
        files.write(path, "new é")
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert path.read_text(encoding="utf-8") == "new é"


def test_a_link_still_leads_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "page.html", tmp_path / "latest.html"
    link.symlink_to(target)
    for text in ("first", "second"):
        assert files.write(link, text) == link
        assert link.is_symlink()
        assert target.read_text() == text
    assert left_over(tmp_path) == left_over(tmp_path / "there") == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
@pytest.mark.parametrize("at", ["fsync", "replace"])
def test_what_was_there_survives_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, number: int
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, at, fail)
    with pytest.raises(
        ArgbestError, match="cannot write .*report.html.*is unchanged. Free some space"
    ) as raised:
        files.write(path, "new")
    assert not isinstance(raised.value, InputError)
    assert os.strerror(number) in str(raised.value)
    assert path.read_text() == "old"
    assert left_over(tmp_path) == []


def test_an_interruption_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write(tmp_path / "page.html", "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "missing/page.html", "file/page.html", "x" * 300, "nul\0"])
def test_a_place_that_is_none_is_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write .* Name another file, in a folder that exists"):
        files.write(tmp_path / name, "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_chain_of_links_without_an_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(InputError, match="cannot write"):
        files.write(tmp_path / "a", "new")
    assert (tmp_path / "a").is_symlink()


def test_a_file_that_may_not_be_written_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may always
    with pytest.raises(InputError, match="Permission denied"):
        files.write(path, "new")
    assert path.read_text() == "old"


def test_devices_and_pipes_are_written_to(tmp_path: Path) -> None:
    assert files.write("/dev/null", "x" * 10**6) == Path("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(ArgbestError, match="cannot write '/dev/full': No space left on device"):
        files.write("/dev/full", "x")
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    files.write(pipe, "x" * 10**6)
    reader.join(20)
    assert heard == [b"x" * 10**6]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


SAYING = (
    "from argbest import files; print('before'); files.write({!r}, 'the page\\n'); print('after', flush=True)"
)


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1"])
def test_standard_output_is_written_in_its_place(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-c", SAYING.format(name)]
    piped = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert piped.stdout == b"before\nthe page\nafter\n"
    with (tmp_path / "out.txt").open("wb") as file:
        subprocess.run(command, stdout=file, timeout=60, check=True)
    assert (tmp_path / "out.txt").read_bytes() == b"before\nthe page\nafter\n"
