"""The benchmarks run; what they measure is for `make bench` to say."""

import importlib.util
from pathlib import Path

import pytest


def test_the_decision_benchmark_prints_a_row_per_size(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).resolve().parent.parent / "benchmarks" / "decision.py"
    spec = importlib.util.spec_from_file_location("decision", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(["--rounds", "1", "--sizes", "2"])
    header, *rows = capsys.readouterr().out.splitlines()
    assert "n=100,000" in header
    assert [row.split()[:3] for row in rows] == [["10", "x", "10"], ["20", "x", "40"]]
