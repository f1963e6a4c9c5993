"""What pages of experiments say of how they were computed."""

import json
import re
from pathlib import Path

import click
from click.testing import CliRunner

from argbest.cli import main
from argbest.report.page import versions
from experiments.__main__ import main as reproduce


def how(path: Path) -> dict[str, str]:
    found = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', path.read_text("utf-8"))
    assert found
    return dict(json.loads(found[1])["how"])


def run(command: click.Command, *arguments: str) -> None:
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output


def test_a_comparison_tells_all_that_is_needed_to_do_it_again(tmp_path: Path) -> None:
    out = tmp_path / "with space"
    options = [
        "--policy",
        "equal",
        "--policy",
        "gp-c-ocba:independent",
        "--replications",
        "20",
        "--macroreps",
        "2",
    ]
    run(
        main,
        "compare",
        "branin",
        *options,
        "--initial",
        "3",
        "--seed",
        "7",
        "--model",
        "gp",
        "--out",
        str(out),
    )
    said = how(out / "index.html")
    assert said == {
        "problem": "branin",
        "contenders": "equal (model gp), gp-c-ocba:independent (model independent)",
        "replications": "20 after the initial design",
        "initial design": "3 of every pair: 300 replications",
        "refits": "every 10 replications",
        "macro-replications": "2",
        "weights of contexts": "problem",
        "good within": "0 of the best",
        "seed": "7",
        "versions": versions(),
        "command": f"argbest compare branin --policy equal --policy gp-c-ocba:independent --model gp "
        f"--replications 20 --macroreps 2 --seed 7 --initial 3 --out '{out}'",
    }


def test_a_part_of_the_paper_tells_what_is_needed_to_do_it_again(tmp_path: Path) -> None:
    run(reproduce, "covid-epidemic", "--macroreps", "2", "--seed", "3", "--out", str(tmp_path))
    assert how(tmp_path / "covid-epidemic.html") == {
        "part": "covid-epidemic",
        "macro-replications": "2",
        "seed": "3",
        "versions": versions(),
        "command": f"python -m experiments covid-epidemic --macroreps 2 --seed 3 --out {tmp_path}",
    }
