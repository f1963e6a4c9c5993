"""What pages of experiments say of how they were computed."""

import json
import re
from pathlib import Path

from click.testing import CliRunner

from argbest.cli import main
from argbest.cli.paper import _USUAL
from argbest.paper import covid_models, covid_runs, models, plan, table1
from argbest.paper.parts import PARTS
from argbest.report.page import versions


def how(path: Path) -> dict[str, str]:
    found = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', path.read_text("utf-8"))
    assert found
    return dict(json.loads(found[1])["how"])


def run(*arguments: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output


def test_a_comparison_tells_all_that_is_needed_to_do_it_again(tmp_path: Path) -> None:
    out = tmp_path / "with space"
    options = [
        "--policy",
        "equal",
        "--policy",
        "gp-c-ocba:independent",
        "--samples",
        "20",
        "--macroreps",
        "2",
    ]
    run("compare", "branin", *options, "--initial", "3", "--seed", "7", "--model", "gp", "--out", str(out))
    said = how(out / "index.html")
    assert said == {
        "problem": "branin",
        "contenders": "equal (model gp), gp-c-ocba:independent (model independent)",
        "samples": "20 after the initial design",
        "initial design": "3 of every pair: 300 replications",
        "refit every": "10 samples",
        "macro-replications": "2",
        "weights of contexts": "problem",
        "good within": "0 of the best",
        "seed": "7",
        "versions": versions(),
        "command": f"argbest compare branin --policy equal --policy gp-c-ocba:independent --model gp "
        f"--samples 20 --macroreps 2 --seed 7 --initial 3 --out '{out}'",
    }


def test_a_part_of_the_paper_tells_what_is_needed_to_do_it_again(tmp_path: Path) -> None:
    run("paper", "covid-epidemic", "--macroreps", "2", "--seed", "3", "--out", str(tmp_path))
    assert how(tmp_path / "covid-epidemic.html") == {
        "part": "covid-epidemic",
        "macro-replications": "2",
        "seed": "3",
        "versions": versions(),
        "command": f"argbest paper covid-epidemic --macroreps 2 --seed 3 --out {tmp_path}",
    }


def test_the_usual_numbers_are_those_of_the_parts() -> None:
    assert set(_USUAL) == set(PARTS)
    usual = (plan.MACROREPS, plan.SAMPLES)
    assert _USUAL["fig2"] == _USUAL["convergence"] == usual
    assert _USUAL["models"] == (plan.MACROREPS, models.SAMPLES)
    assert _USUAL["covid-models"] == (covid_runs.MACROREPS, covid_models.SAMPLES)
    assert _USUAL["table1"] == (table1._TOGETHER, table1._ITERATIONS)
    assert _USUAL["covid-epidemic"][0] == plan.MACROREPS
    samples = {
        covid_runs.experiment(plan.Plan(Path()), name, covid_runs.EVERYWHERE).samples
        for name in covid_runs.PROBLEMS
    }
    assert _USUAL["fig3"] == _USUAL["fig4"] == (covid_runs.MACROREPS, *samples)
