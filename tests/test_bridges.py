"""Every kind of starting point that `argbest init` writes runs as it is, with the real package or program."""

import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from argbest import Study
from argbest.cli import main
from argbest.studyfile import example

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"ciw": "ciw", "fmu": "fmpy", "mesa": "mesa", "simopt": "simopt", "simpy": "simpy", "sumo": "sumo"}
PROGRAMS = {"c": "cc", "fmu": "cc", "r": "Rscript"}
# What is best in the last context, by the alternative's own column: the kinds have clear answers there.
BEST: dict[str, set[Any]] = {
    "c": {3, 4},
    "ciw": {3, 4},
    "fmu": {1.0, 1.5},
    "mesa": {160},
    "r": {100, 120},
    "simopt": {3.0, 4.0},
}
BEST |= {"csv": {"near"}, "program": {5, 6}, "simpy": {3, 4}, "sumo": {20, 40}}
LIMITED = dict.fromkeys(("c", "ciw", "csv", "simpy"), ("cost", "late"))
LIMITED |= {"fmu": ("cost", "discomfort"), "mesa": ("cost", "ill")}
BUDGET = {"program": 50, "r": 30, "sumo": 18}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("kind", example.kinds())
@pytest.mark.fast_cases("c", "csv", "simpy", "r")
def test_a_starting_point_runs_as_it_is_to_a_certificate(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, program = PACKAGES.get(kind), PROGRAMS.get(kind)
    if package and find_spec(package) is None:
        pytest.skip(f"the package {package} is not installed")
    if program and shutil.which(program) is None:
        pytest.skip(f"there is no program {program}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    said = CliRunner().invoke(main, ["init", "--kind", kind])
    assert said.exit_code == 0, said.output
    for line in said.stdout.splitlines():
        if line.startswith("first: "):
            first = shlex.split(line.removeprefix("first: ").replace("python", sys.executable))
            subprocess.run(first, check=True)
    assert said.stdout.endswith("next: argbest run study.toml\n")
    result = CliRunner().invoke(main, ["run", "study.toml", "--quiet", "--budget", str(BUDGET.get(kind, 60))])
    assert result.exit_code == 0, result.output
    assert "failures" not in result.stdout
    study = Study.load("study.db", simulate=lambda *_: 0.0)
    assert study.n_replications == BUDGET.get(kind, 60)
    frame = study.selection()
    assert frame["selected"].iloc[-1] in BEST[kind]
    if kind in LIMITED:
        assert study.problem.responses == LIMITED[kind]
        assert len(study.problem.limits) == 1
        assert frame["p_feasible"].iloc[-1] > 0.5


def test_every_kind_has_a_section_on_the_page_that_shows_its_simulator() -> None:
    page = (ROOT / "docs" / "bridges.md").read_text("utf-8")
    for kind in example.kinds():
        assert f"argbest init --kind {kind}\n" in page
        for file in sorted((example._STARTS / kind).glob("simulate.*")):
            assert f'--8<-- "{file.relative_to(ROOT)}"' in page


@pytest.mark.parametrize(
    "file", sorted(example._STARTS.glob("*/simulate.*")), ids=lambda file: file.parent.name
)
def test_a_simulator_fits_in_thirty_lines(file: Path) -> None:
    lines = file.read_text("utf-8").splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 30
