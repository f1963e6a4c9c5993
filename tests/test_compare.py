"""`argbest compare`: options in, a table or one JSON object out."""

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from argbest import experiment
from argbest.cli import main
from argbest.errors import FitError

KEYS = [
    *("model", "n_initial", "replications", "pcs_e", "pcs_e_se", "pcs_m", "p_all", "p_all_se"),
    *("eoc", "certificate", "replications_to_pcs", "replications_to_loss", "seconds"),
]
SMALL = ("--replications", "25", "--macroreps", "3", "--seed", "4")
CERTIFIED = (*SMALL, "--certify")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", *arguments])


def test_json_is_one_object_on_standard_output_and_nothing_else() -> None:
    result = call("branin", "--policy", "c-ocba", "--policy", "equal:independent", *CERTIFIED, "--json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert len(result.stdout.splitlines()) == 1
    assert list(shown) == ["problem", "macroreps", "seed", "targets", "policies", "calibration"]
    assert sum(row["looks"] for row in shown["calibration"]) == 2 * 3 * 4 * 10
    assert (shown["problem"], shown["macroreps"], shown["seed"]) == ("branin", 3, 4)
    assert list(shown["policies"]) == ["c-ocba", "equal:independent"]
    for own in shown["policies"].values():
        assert list(own) == KEYS
        assert own["model"] == "independent"
        assert own["n_initial"] == 200
        assert own["replications"] == [0, 10, 20, 25]
        assert {len(own[name]) for name in KEYS[2:-3]} == {4}
    assert "150/150" in result.stderr


def test_json_is_what_the_library_finds() -> None:
    options = ("--weights", "uniform", "--refit-every", "5", "--initial", "3")
    result = call("branin", "--policy", "equal", "--model", "independent", *options, *CERTIFIED, "--json")
    own = experiment.Contender("equal", "independent")
    asked = experiment.Experiment(
        "branin",
        own,
        replications=25,
        macroreps=3,
        seed=4,
        weights="uniform",
        refit_every=5,
        initial=3,
        certify=True,
    )
    expected, shown = experiment.run(asked).plain(), json.loads(result.stdout)
    for found in (expected, shown):
        del found["policies"]["equal"]["seconds"]
    assert shown.pop("calibration")
    assert shown == expected
    assert shown["policies"]["equal"]["n_initial"] == 300


def test_the_table_has_a_row_per_policy_in_at_most_80_columns() -> None:
    result = call("branin", "--policy", "c-ocba", "--policy", "ts", *CERTIFIED)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "branin: 3 macro-replications, scored after 25 replications"
    head = next(line.split() for line in lines if "PCS_E" in line)
    assert head == ["policy", "PCS_E", "PCS_M", "P_all", "EOC", "claim", "CPU", "s"]
    rows = {
        line.split()[0]: line.split()[1:] for line in lines[:8] if line.split()[:1] in (["c-ocba"], ["ts"])
    }
    asked = experiment.Experiment("branin", ["c-ocba", "ts"], replications=25, macroreps=3, seed=4)
    last = experiment.run(asked).plain()["policies"]
    for name, row in rows.items():
        assert row[0] == f"{last[name]['pcs_e'][-1]:.3f}±{last[name]['pcs_e_se'][-1]:.3f}"
        assert row[1] == f"{last[name]['pcs_m'][-1]:.3f}"
    assert rows.keys() == {"c-ocba", "ts"}
    assert max(map(len, lines)) <= 80


def test_the_share_of_infeasible_choices_is_shown_where_there_are_limits() -> None:
    options = ("--policy", "equal", "--replications", "10", "--macroreps", "2")
    shown = call("call-rush", *options)
    assert shown.exit_code == 0, shown.output
    assert "infeasible" in shown.stdout
    own = json.loads(call("call-rush", *options, "--json").stdout)["policies"]["equal"]
    assert f" {own['infeasible'][-1]:.3f}" in shown.stdout
    assert "infeasible" not in call("branin", *options).stdout


def test_no_initial_design_is_a_choice_too() -> None:
    result = call("branin", "--policy", "gp-c-ocba", "--initial", "0", *SMALL, "--json")
    assert result.exit_code == 0, result.output
    own = json.loads(result.stdout)["policies"]["gp-c-ocba"]
    assert own["n_initial"] == 0
    assert 0.0 < own["pcs_e"][-1] < 1.0
    refused = call("branin", "--policy", "c-ocba", "--initial", "0", *SMALL)
    assert refused.exit_code == 2
    assert "Start with initial=2 or more" in refused.stderr


def test_an_automatic_initial_design_is_what_each_model_needs_for_twice_the_replications(
    tmp_path: Path,
) -> None:
    policies = ("--policy", "dvr-loss", "--policy", "c-ocba")
    result = call("branin", *policies, "--initial", "auto", *SMALL, "--json", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)["policies"]
    # Half of 50 replications is 12 pairs twice; a model that learns each pair by itself needs all 100.
    assert {name: own["n_initial"] for name, own in shown.items()} == {"dvr-loss": 24, "c-ocba": 200}
    page = (tmp_path / "index.html").read_text()
    assert "chosen for a budget of 50: 24, 200 replications" in page


def test_one_job_runs_apart_so_that_jobs_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    def look(*_: object, **options: Any) -> None:
        seen.append(options)
        raise FitError("seen enough.")

    monkeypatch.setattr(experiment, "run", look)
    call("branin", "--policy", "equal", *SMALL)
    assert (seen[0]["jobs"], seen[0]["apart"]) == (1, True)


def test_good_selections_are_shown_when_asked_for() -> None:
    result = call("branin", "--policy", "c-ocba", *SMALL, "--delta", "1.5")
    assert "PGS(1.5)" in result.stdout


def test_nothing_is_claimed_in_table_json_and_folder_unless_asked_for(tmp_path: Path) -> None:
    asked = ("branin", "--policy", "c-ocba", *SMALL)
    result = call(*asked, "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "claim" not in result.stdout.replace(str(tmp_path), "")
    assert {path.name for path in tmp_path.iterdir()}.isdisjoint({"calibration.csv", "calibration.png"})
    assert pd.read_csv(tmp_path / "summary.csv")["certificate"].isna().all()
    assert '"claim"' not in (tmp_path / "index.html").read_text()
    shown = json.loads(call(*asked, "--json").stdout)
    assert shown["calibration"] == []
    assert set(shown["policies"]["c-ocba"]["certificate"]) == {None}


def test_a_folder_gets_runs_summary_and_curves_and_is_taken_up_again(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "folder"
    command = ("branin", "--policy", "c-ocba", *SMALL, "--out", str(out))
    result = call(*command)
    assert result.exit_code == 0, result.output
    assert (out / "curves.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert str(out / "curves.png") in result.stdout
    summary = pd.read_csv(out / "summary.csv")
    assert summary["replications"].tolist() == [0, 10, 20, 25]
    header = json.loads((out / "header.json").read_text())
    assert header["experiment"]["problem"] == "branin"
    again = call(*command, "--json")
    own = json.loads(again.stdout)["policies"]["c-ocba"]
    np.testing.assert_allclose(own["pcs_e"], summary["pcs_e"], rtol=1e-12)
    other = call(
        "branin", "--policy", "c-ocba", "--replications", "26", "--macroreps", "3", "--out", str(out)
    )
    assert other.exit_code == 2
    assert "replications is 25, asked for 26" in other.stderr


def test_without_matplotlib_the_summary_is_written_and_a_note_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return usual(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    result = call("branin", "--policy", "c-ocba", *SMALL, "--out", str(tmp_path))
    assert result.exit_code == 0
    assert "pictures need matplotlib: pip install 'argbest[plot]'" in result.stderr
    assert (tmp_path / "summary.csv").exists()
    assert not (tmp_path / "curves.png").exists()


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("brannin", "--policy", "equal", *SMALL), "Did you mean 'branin'?"),
        (("branin", "--policy", "equall", *SMALL), "Did you mean 'equal'?"),
        (("branin", "--policy", "equal:gpp", *SMALL), "Did you mean 'gp'?"),
        (("branin", "--policy", "equal", "--model", "gpp", *SMALL), "Did you mean 'gp'?"),
        (("branin", "--policy", "equal", "--policy", "equal", *SMALL), "labelled 'equal'"),
        (("branin", *SMALL), "Missing option '--policy'"),
        (("branin", "--policy", "ikg:", *SMALL), "'ikg:' names no model after the colon"),
        (("branin", "--policy", "equal", "--macroreps", "3"), "Missing option '--replications'"),
        (("branin", "--policy", "equal", "--replications", "3"), "Missing option '--macroreps'"),
        (("branin", "--policy", "equal", *SMALL, "--jobs", "0"), "0 is not in the range x>=1"),
        (
            ("branin", "--policy", "equal", *SMALL, "--initial", "two"),
            "Invalid value for '--initial': 'two' is neither a whole number from 0 nor auto.",
        ),
        (("branin", "--policy", "equal", *SMALL, "--initial", "-1"), "'-1' is neither a whole number from 0"),
        (("branin", "--policy", "equal", *SMALL, "--delta", "-1"), "-1.0 is not in the range x>=0"),
        (("branin", "--policy", "equal", *SMALL, "--weights", "even"), "'even' is not one of"),
        (
            ("branin", "--policy", "c-ocba", "--initial", "1", *SMALL),
            "c-ocba with the model independent cannot",
        ),
    ],
)
def test_misuse_exits_with_2_and_a_hint(arguments: tuple[str, ...], hint: str) -> None:
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert hint in result.stderr


def test_a_refused_experiment_leaves_no_folder(tmp_path: Path) -> None:
    result = call("branin", "--policy", "equall", *SMALL, "--out", str(tmp_path / "new"))
    assert result.exit_code == 2
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_written_is_refused_before_simulating(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment, "run", lambda *_, **__: pytest.fail("simulated"))
    (tmp_path / "file").write_text("")
    result = call("branin", "--policy", "equal", *SMALL, "--out", str(tmp_path / "file"))
    assert result.exit_code == 2
    assert "Invalid value for '--out': cannot write into" in result.stderr


def test_a_failure_exits_with_1_and_an_interruption_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise FitError("no fit could be found.")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt("interrupted; nothing is kept.")

    monkeypatch.setattr(experiment, "run", fails)
    result = call("branin", "--policy", "equal", *SMALL)
    assert (result.exit_code, result.stderr) == (1, "Error: no fit could be found.\n")
    monkeypatch.setattr(experiment, "run", interrupted)
    result = call("branin", "--policy", "equal", *SMALL)
    assert (result.exit_code, result.stderr) == (130, "argbest: interrupted; nothing is kept.\n")
