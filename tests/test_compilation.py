"""Compiled code is kept between processes, never stale, never mixed, and not needed to be kept at all."""

import gc
import os
import subprocess
import sys
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from compile_all import ALL
from conftest import ROOT

from argbest import compilation

EVALUATE = """
import numpy as np
from argbest.core import fitting, priors
from argbest.core.tally import Tally
def value():
    prior = priors.hyperprior("paper", 1)
    tally = Tally(np.array([2, 1]), np.array([0.3, -0.4]), np.array([0.1, 0.0]))
    separation = np.array([[[0.0, 0.25], [0.25, 0.0]]])
    return fitting.log_evidence("rbf", separation, tally, np.ones(2), prior, prior.starts[0])[0]
"""
SMALL = """
from functools import cache
import numba
from argbest.compilation import compile_ufunc
@numba.njit
def twice(x):
    return 2.0 * x
def double(x, out):
    out[0] = twice(x)
@cache
def ufunc():
    return compile_ufunc(double, "void(float64, float64[:])", "()->()")
def value():
    return ufunc()(21.0)
"""
SAID = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import code_of_the_test as code
    found = [code.value(), code.value()]
print(f"{float(found[1]):.12f}", *[str(w.message)[:9] for w in caught], sep="|")
"""
OTHER_FIRST = """
import numba
numba.njit(lambda x: x + 1)(1)  # shifts the numbers by which Numba tells functions apart
"""
TOGETHER = """
import os, time
from argbest import compilation
build = compilation._build_kept
def meet(*given):
    open(f"begun-{os.getpid()}", "w").close()
    while sum(name.startswith("begun") for name in os.listdir()) < 2:
        time.sleep(0.01)
    return build(*given)
compilation._build_kept = meet
"""
NOWHERE = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
"""
CODES = pytest.mark.parametrize(
    "code", [SMALL, pytest.param(EVALUATE, marks=pytest.mark.slow)], ids=["small", "evidence"]
)


@pytest.fixture
def folder(code: str, tmp_path: Path) -> Path:
    """A folder with the code to compile, and with another one where it is kept."""
    (tmp_path / "code_of_the_test.py").write_text(code)
    (tmp_path / "cache").mkdir(mode=0o700)
    return tmp_path


def start(program: str, folder: Path) -> "subprocess.Popen[str]":
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment,
    )


def finish(process: "subprocess.Popen[str]") -> list[str]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out.strip().split("|")


@CODES
def test_processes_that_compile_at_the_same_time_do_not_mix_their_files(folder: Path) -> None:
    first, second = start(TOGETHER + SAID, folder), start(OTHER_FIRST + TOGETHER + SAID, folder)
    value, *notices = finish(first)
    assert finish(second) == [value, *notices]
    assert notices == ["compiling"]
    assert finish(start(SAID, folder)) == [value]  # loaded, so nothing to announce
    kept = list((folder / "cache").glob("*/*"))
    assert all(path.is_dir() for path in kept)
    assert len({path.name.partition("-")[2].partition("-")[2] for path in kept}) == len(kept)  # each once


class Made:
    """What stands for compiled code, and can be watched."""


def test_threads_that_compile_take_turns_and_nothing_compiled_is_ever_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compiled code is called by its address: a segmentation fault where it had been let go."""
    inside, most, made = 0, 0, weakref.WeakSet[Made]()

    def build(body: object, make: object) -> Made:
        nonlocal inside, most
        inside, most = inside + 1, max(most, inside + 1)
        time.sleep(0.05)
        inside -= 1
        found = Made()
        made.add(found)
        return found

    monkeypatch.setattr(compilation, "_loaded_or_compiled", build)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: compilation.compile_function(print, "void()") and None, range(4)))
    gc.collect()
    assert most == 1
    assert len(made) == 4


@CODES
def test_where_nothing_is_writable_it_compiles_uncached_with_one_notice(folder: Path) -> None:
    _, *notices = finish(start(NOWHERE + SAID, folder))
    assert notices == ["no folder", "compiling"]
    assert list((folder / "cache").iterdir()) == []


def test_all_that_is_compiled_is_compiled_before_the_tests() -> None:
    sources = (ROOT / "src").rglob("*.py")
    texts = [path.read_text(encoding="utf-8") for path in sources]
    found = sum(
        text.count("return compile_ufunc(") + text.count("return compile_function(") for text in texts
    )
    assert found == len(ALL)


BOTH_KINDS = """
import random, warnings
import argbest
from argbest.errors import CompilationNotice
def shared(alternative, context, seed):
    return alternative * context + random.Random(seed).gauss(0.0, 1.0)
def apart(alternative, context, seed):
    return alternative * context + random.Random(f"{alternative} {context} {seed}").gauss(0.0, 1.0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", CompilationNotice)
    for simulate in (apart, shared):
        study = argbest.select(simulate, [0.0, 1.0, 2.0], [0.0, 1.0], budget=30)
        study.selection()
        print(study._learned().params.correlation.any(), end="|")
print(*[str(w.message) for w in caught if "compil" in str(w.message)], sep="|")
"""


@pytest.mark.slow
def test_a_study_whose_noise_is_common_needs_no_more_code_than_one_whose_noise_is_not(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o700)
    apart, shared, *notices = finish(start(BOTH_KINDS, tmp_path))
    assert (apart, shared) == ("False", "True")
    assert notices == ["compiling numerical code: about 10 s, only the first time."]
