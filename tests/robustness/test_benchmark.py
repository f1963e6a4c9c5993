"""The benchmark of whole studies runs; what it measures is for `make bench` to say."""

import subprocess
import sys

import pytest
from conftest import ROOT
from postgres import Server
from robustness.commands import ENVIRONMENT
from watching import PATIENCE


@pytest.mark.slow
def test_the_benchmark_of_whole_studies_prints_a_row_per_storage(postgres: Server) -> None:
    options = [
        "--seconds",
        "0.05",
        "--workers",
        "2",
        "--policies",
        "equal",
        "--postgres",
        postgres.new_database(),
    ]
    command = [sys.executable, str(ROOT / "benchmarks" / "storage.py"), *options]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=True, env=ENVIRONMENT
    )
    _, *rows = done.stdout.splitlines()
    assert [row.split()[:3] for row in rows] == [
        ["equal", name, "2"] for name in ("memory", "sqlite", "postgresql")
    ]
