"""The lowest versions are those that pyproject.toml names, and every dependency names one."""

from pathlib import Path

import pytest
from conftest import ROOT
from lowest import constraints, lowest


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("numpy>=2.0", "numpy==2.0"),
        ("psycopg[binary]>=3.1.18", "psycopg==3.1.18"),
        ("ray>=2.40; python_version < '3.14'", "ray==2.40; python_version < '3.14'"),
        ("pandas-stubs>=2.2", None),
        ("ruff~=0.17.4", None),
        ("argbest[dask,docs]", None),
    ],
)
def test_a_lower_bound_becomes_the_one_version(requirement: str, expected: str | None) -> None:
    assert lowest(requirement) == expected


def test_extras_count_too(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text('[project]\ndependencies = ["b>=2"]\n[project.optional-dependencies]\nx = ["a>=1.5"]\n')
    assert constraints(file) == ["a==1.5", "b==2"]


def test_what_argbest_needs_has_a_lower_bound() -> None:
    named = {line.partition("==")[0] for line in constraints(ROOT / "pyproject.toml")}
    assert {"click", "numba", "numpy", "pandas", "rich", "scipy", "sqlalchemy", "matplotlib"} <= named
