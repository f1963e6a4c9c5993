"""The examples run from the command line, with a budget of little more than the initial design."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"


def test_the_covid_example_prints_a_decision_for_every_situation_and_its_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(EXAMPLES / "covid_testing.py"))["main"]
    main(["--budget", "200", "--seed", "3", "--out", str(tmp_path / "covid")])
    head, *rows = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert head.startswith("cases in 1")
    cells = [row.replace(", ", ",").split() for row in rows]
    assert [(int(row[0]), int(row[1])) for row in cells] == [
        (a, b) for a in (100, 300, 500, 700) for b in (200, 500, 800, 1100)
    ]
    for _, _, split, p_best, infections, avoidable in cells:
        assert sum(int(share) for share in split.replace("%", "").split(",")) == 100
        assert 1 / 12 <= float(p_best) <= 1.0
        assert 2_000 < float(infections.replace(",", "")) < 11_000
        assert 0.0 <= float(avoidable) < 500.0


def test_the_covid_example_states_its_certificate_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(EXAMPLES / "covid_testing.py"))["main"]
    main(["--budget", "193", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "193 simulations, selections right: PCS_E" in printed
    assert "within 30 infections of the best" in printed
    assert (tmp_path / "policy_map.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert (tmp_path / "allocation.png").exists()


def test_the_problem_shown_on_the_covid_page_can_be_simulated() -> None:
    [block] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "covid.md").read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102 (our own page)
    problem = names["problem"]
    assert problem.shape == (7, 6)
    infected = problem.simulate(problem.alternatives.item(3), problem.contexts.item(5), 1)
    assert 85 <= infected <= 25_000
