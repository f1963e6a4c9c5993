"""Compiled code is kept between processes, never stale, never mixed, and not needed to be kept at all."""

import os
import subprocess
import sys
from pathlib import Path

from compile_all import ALL
from conftest import ROOT

EVALUATE = """
import sys, warnings
import numpy as np
from argbest.core import fitting, priors
from argbest.core.tally import Tally
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    prior = priors.hyperprior("paper", 1)
    tally = Tally(np.array([2, 1]), np.array([0.3, -0.4]), np.array([0.1, 0.0]))
    separation = np.array([[[0.0, 0.25], [0.25, 0.0]]])
    for _ in range(2):
        value = fitting.log_evidence("rbf", separation, tally, np.ones(2), prior, prior.starts[0])[0]
print(f"{float(value):.12f}", *[str(w.message)[:9] for w in caught], sep="|")
"""
OTHER_FIRST = """
import numba
numba.njit(lambda x: x + 1)(1)  # shifts the numbers by which Numba tells functions apart
"""
NOWHERE = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
"""


def start(code: str, cache: Path) -> "subprocess.Popen[str]":
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def finish(process: "subprocess.Popen[str]") -> list[str]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out.strip().split("|")


def test_processes_that_compile_at_the_same_time_do_not_mix_their_files(tmp_path: Path) -> None:
    first, second = start(EVALUATE, tmp_path), start(OTHER_FIRST + EVALUATE, tmp_path)
    value, *notices = finish(first)
    assert finish(second) == [value, *notices]
    assert notices == ["compiling"]
    assert finish(start(EVALUATE, tmp_path)) == [value]  # loaded, so nothing to announce
    [kept] = tmp_path.glob("*/argbest-*-argbest.core.fitting._evaluate_body")
    assert kept.is_dir()


def test_where_nothing_is_writable_it_compiles_uncached_with_one_notice(tmp_path: Path) -> None:
    _, *notices = finish(start(NOWHERE + EVALUATE, tmp_path))
    assert notices == ["no folder", "compiling"]
    assert list(tmp_path.iterdir()) == []


def test_all_that_is_compiled_is_compiled_before_the_tests() -> None:
    sources = (ROOT / "src").rglob("*.py")
    found = sum(path.read_text(encoding="utf-8").count("return compile_ufunc(") for path in sources)
    assert found == len(ALL)
