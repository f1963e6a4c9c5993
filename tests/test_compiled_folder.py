"""Compiled code is run, so it is loaded only from the user's own folder, whole; else it is compiled anew."""

import errno
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numba
import pytest
from numba import config, njit
from numba.core.caching import IndexDataCacheFile

from argbest import compilation
from argbest.compilation import compile_ufunc, one_notice
from argbest.study import run_options
from argbest.trust import distrust

COMPILED = "compiling numerical code"
AGAIN = "compiling numerical code again"
ANEW = "so every process compiles again. Set NUMBA_CACHE_DIR to a folder that only you can write to"


def _twice(x: float) -> float:
    return 2.0 * x


twice = njit(_twice)


def double(x, out):  # type: ignore[no-untyped-def]
    out[0] = twice(x)


def triple(x, out):  # type: ignore[no-untyped-def]
    out[0] = 3.0 * x


def notices() -> list[str]:
    """How what is said begins while a process that has compiled nothing makes the ufunc."""
    return [words.split(":")[0] if COMPILED in words else words for words in said()]


def said() -> list[str]:
    """What is said while a process that has compiled nothing makes the ufunc; it must always be right."""
    globals()["twice"] = njit(_twice)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ufunc = compile_ufunc(double, "void(float64, float64[:])", "()->()")
    assert ufunc(21.0) == 42.0
    return [str(warning.message) for warning in caught]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for compiled code, private to the user."""
    place = tmp_path / "cache"
    place.mkdir(mode=0o700)
    monkeypatch.setattr(config, "CACHE_DIR", str(place))
    return place


def kept(folder: Path) -> Path:
    [found] = folder.glob("*/argbest-*.double")
    return found


def test_compiled_code_is_loaded_the_second_time(folder: Path) -> None:
    assert notices() == [COMPILED]
    assert notices() == []
    assert [path.name for path in kept(folder).parent.iterdir()] == [kept(folder).name]


def test_the_notice_says_how_long_it_takes_and_that_it_is_the_first_time(folder: Path) -> None:
    assert said() == ["compiling numerical code: about 5 s, only the first time."]


def test_what_is_compiled_together_is_announced_once(folder: Path) -> None:
    with warnings.catch_warnings(record=True) as caught, one_notice(11.6):
        warnings.simplefilter("always")
        for body in (double, triple):
            compile_ufunc(body, "void(float64, float64[:])", "()->()")
    words = "compiling numerical code: about 12 s, only the first time."
    assert [str(warning.message) for warning in caught] == [words]


CHANGES = {
    "numba": ("0.1", f"Numba was 0.1 and is {numba.__version__}"),
    "python": ("cpython-38", f"Python was cpython-38 and is {sys.implementation.cache_tag}"),
    "processor": ("another", "it is for another kind of processor"),
    "sources": ("others", "argbest has changed since then"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_compiled_code_that_cannot_be_used_any_more_says_why(
    folder: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, reason = CHANGES[what]
    usual = compilation._made_for
    monkeypatch.setattr(compilation, "_made_for", lambda place: usual(place) | {what: before})
    assert notices() == [COMPILED]
    monkeypatch.setattr(compilation, "_made_for", usual)
    words = f"compiling numerical code again: about 5 s. What is there cannot be used: {reason}."
    assert said() == [words]
    assert said() == []


def test_damaged_files_are_told(folder: Path) -> None:
    assert notices() == [COMPILED]
    next(kept(folder).rglob("*.nbc")).write_bytes(b"")
    [words] = said()
    assert words.endswith(f"What is there cannot be used: its files in {kept(folder).resolve()} are damaged.")


def test_code_that_is_not_kept_does_not_promise_that_it_was_the_only_time(folder: Path) -> None:
    folder.chmod(0o777)
    _, words = said()
    assert words == "compiling numerical code: about 5 s."


def test_while_code_is_compiled_a_run_says_so(folder: Path) -> None:
    phases = [run_options.phase()]

    def seen(*_: object, **__: object) -> None:
        phases.append(run_options.phase())

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = seen
        compile_ufunc(double, "void(float64, float64[:])", "()->()")
    assert [*phases, run_options.phase()] == ["simulating", "compiling, about 5 s", "simulating"]


def test_a_bar_may_be_drawn_while_another_thread_is_importing_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "argbest.compilation", ModuleType("argbest.compilation"))
    assert run_options.phase() == "simulating"
    monkeypatch.delitem(sys.modules, "argbest.compilation")
    assert run_options.phase() == "simulating"


def assert_refused(folder: Path, reason: str) -> None:
    [refusal, compiled] = notices()
    assert refusal.startswith(f"compiled code in {folder.resolve()}")
    assert reason in refusal
    assert ANEW in refusal
    assert compiled == COMPILED


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
class TestStrangers:
    def test_a_folder_that_others_can_write_to_is_not_used(self, folder: Path) -> None:
        assert notices() == [COMPILED]
        kept(folder).parent.chmod(0o777)
        assert_refused(folder, f"other users may write to {kept(folder).parent.resolve()}")

    def test_nor_is_one_whose_parent_they_can_write_to(self, folder: Path) -> None:
        folder.chmod(0o777)
        assert_refused(folder, f"other users may write to {folder.resolve()}")

    def test_but_a_sticky_parent_does_no_harm(self, folder: Path) -> None:
        folder.chmod(0o1777)
        assert notices() == [COMPILED]
        assert notices() == []

    def test_a_folder_of_another_user_is_not_used(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if os.geteuid() == 0:
            os.chown(folder, 54321, -1)
            owner = 54321
        else:
            owner = os.geteuid()
            monkeypatch.setattr(os, "geteuid", lambda: 54321)
        assert_refused(folder, f"belongs to another user (number {owner})")

    def test_kept_code_of_another_user_is_compiled_anew(self, folder: Path) -> None:
        assert notices() == [COMPILED]
        kept(folder).chmod(0o777)
        assert notices() == [AGAIN]
        assert notices() == []

    def test_a_group_of_others_counts_as_others(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import grp
        import pwd

        folder.chmod(0o770)
        me = pwd.getpwuid(os.geteuid()).pw_name
        group = grp.struct_group((me, "x", os.getegid(), [me]))
        monkeypatch.setattr(grp, "getgrgid", lambda _: group)
        assert distrust(folder.resolve()) == ""
        for other in ((me, "x", 7, [me, "eve"]), ("staff", "x", 7, [])):
            monkeypatch.setattr(grp, "getgrgid", lambda _, other=other: grp.struct_group(other))
            assert distrust(folder.resolve()) == f"other users may write to {folder.resolve()}"

    def test_links_are_followed_before_the_folder_is_judged(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        link = tmp_path / "link"
        link.symlink_to(folder)
        monkeypatch.setattr(config, "CACHE_DIR", str(link))
        assert notices() == [COMPILED]
        assert notices() == []
        folder.chmod(0o777)
        assert_refused(folder, f"other users may write to {folder.resolve()}")


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-7]),
    "one bit": lambda path: path.write_bytes(path.read_bytes()[:-40] + b"!" + path.read_bytes()[-39:]),
    "garbage": lambda path: path.write_bytes(b"\x00\xff garbage"),
    "empty": lambda path: path.write_bytes(b""),
    "a directory": a_directory,
    "missing": Path.unlink,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", ["nbi", "nbc", "json"])
@pytest.mark.fast_cases("nbi-truncated", "nbc-garbage", "json-empty", "nbc-missing", "json-a directory")
def test_damaged_files_are_compiled_anew_and_healed(folder: Path, kind: str, damage: str) -> None:
    assert notices() == [COMPILED]
    files = list(kept(folder).rglob(f"*.{kind}"))
    assert files
    for path in files:
        DAMAGES[damage](path)
    assert notices() == [AGAIN]
    assert notices() == []
    assert [path.name for path in kept(folder).parent.iterdir()] == [kept(folder).name]


def test_a_file_where_the_folder_should_be_is_replaced(folder: Path) -> None:
    assert notices() == [COMPILED]
    place = kept(folder)
    shutil.rmtree(place)
    place.write_text("not a folder")
    assert notices() == [AGAIN]
    assert notices() == []


def test_no_foreign_file_is_unpickled(folder: Path, tmp_path: Path) -> None:
    class Touch:
        def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
            return os.mkdir, (str(tmp_path / "run"),)

    assert notices() == [COMPILED]
    for path in kept(folder).rglob("*.nb?"):
        path.write_bytes(pickle.dumps(Touch()))
    assert notices() == [AGAIN]
    assert not (tmp_path / "run").exists()


def test_files_that_vanish_while_they_are_loaded_are_compiled_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert notices() == [COMPILED]
    monkeypatch.setattr(compilation, "_is_whole", lambda _: True)
    for path in kept(folder).rglob("*.nbi"):
        path.write_bytes(b"")
    assert notices() == [AGAIN]


def test_a_full_disk_is_told_and_does_no_harm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(IndexDataCacheFile, "_save_data", full)
    compiled, refusal = notices()
    assert compiled == COMPILED
    assert refusal.startswith("compiled code cannot be kept in ")
    assert os.strerror(errno.ENOSPC) in refusal
    assert ANEW in refusal
    assert not list(folder.glob("*/argbest-*"))


def test_a_folder_that_turns_read_only_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(tempfile, "mkdtemp", closed)
    refusal, compiled = notices()
    assert os.strerror(errno.EROFS) in refusal
    assert str(folder.resolve()) in refusal
    assert compiled == COMPILED


PROGRAM = """
import warnings
import numba
from argbest.compilation import compile_ufunc
@numba.njit
def twice(x):
    return 2.0 * x
def double(x, out):
    out[0] = twice(x)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert compile_ufunc(double, "void(float64, float64[:])", "()->()")(21.0) == 42.0
print(*[str(warning.message)[:24] for warning in caught], sep="|")
"""
SMALL_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
"""


def run(tmp_path: Path, folder: Path, program: str, **environment: str) -> list[str]:
    script = tmp_path / "program.py"
    if not script.exists() or script.read_text() != program:  # what is written anew is compiled anew
        script.write_text(program)
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True, text=True, check=False, timeout=300,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)} | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().split("|")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_files_that_the_system_does_not_let_grow_do_no_harm(tmp_path: Path, folder: Path) -> None:
    said = run(tmp_path, folder, SMALL_FILES + PROGRAM)
    assert said == [COMPILED, "compiled code cannot be"]
    assert not list(folder.glob("*/argbest-*"))


@pytest.mark.slow
def test_two_kinds_of_processors_share_a_folder(tmp_path: Path, folder: Path) -> None:
    kinds: tuple[dict[str, str], ...] = ({}, {"NUMBA_CPU_NAME": "generic"})
    for kind in kinds:
        assert run(tmp_path, folder, PROGRAM, **kind) == [COMPILED]
    for kind in kinds:
        assert run(tmp_path, folder, PROGRAM, **kind) == [""]
    assert len(list(folder.glob("*/argbest-*"))) == 2
