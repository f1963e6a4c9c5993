"""The benchmark of storages runs; what it measures is for `make bench` to say."""

import subprocess
import sys

import pytest
from conftest import ROOT
from postgres import Server
from watching import PATIENCE


@pytest.mark.slow
def test_the_storage_benchmark_prints_a_row_per_storage_and_number_of_workers(postgres: Server) -> None:
    options = ["--seconds", "0.1", "--workers", "1", "3", "--postgres", postgres.new_database()]
    command = [sys.executable, str(ROOT / "benchmarks" / "storage.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    _, *rows = done.stdout.splitlines()
    expected = [[name, n] for name in ("memory", "sqlite", "postgresql") for n in ("1", "3")]
    assert [row.split()[:2] for row in rows] == expected
