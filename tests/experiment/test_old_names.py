"""What version 0.2 called samples is accepted for one more version, and what it stored is read."""

import json
from pathlib import Path

import pandas as pd
import pytest
import small_problems
from click.testing import CliRunner

from argbest import InputError, Study, theory
from argbest.cli import main
from argbest.experiment import Contender, Experiment, Results, run
from argbest.report import comparison

CONTENDER = Contender("equal", "independent")


def asked(macroreps: int = 2) -> Experiment:
    return Experiment(small_problems.table(), CONTENDER, replications=20, macroreps=macroreps)


def test_an_experiment_takes_samples_for_replications() -> None:
    with pytest.warns(DeprecationWarning, match=r"samples=\.\.\.\) is now called .*replications="):
        old = Experiment(small_problems.table(), CONTENDER, samples=20, macroreps=2)
    assert old.plain() == asked().plain()
    with pytest.warns(DeprecationWarning, match="samples is now called replications"):
        assert old.samples == 20


def test_an_experiment_needs_one_number_of_replications() -> None:
    with pytest.raises(InputError, match="got no replications"):
        Experiment(small_problems.table(), CONTENDER)
    with (
        pytest.warns(DeprecationWarning, match="samples"),
        pytest.raises(InputError, match="replications=3 and samples=4, two names of one number"),
    ):
        Experiment(small_problems.table(), CONTENDER, replications=3, samples=4)


def in_words_of_0_2(folder: Path) -> None:
    """Rewrite a folder as version 0.2 would have written it."""
    header = json.loads((folder / "header.json").read_text())
    header["experiment"]["samples"] = header["experiment"].pop("replications")
    (folder / "header.json").write_text(json.dumps(header))
    for path in (folder / "runs").glob("*.csv"):
        table = pd.read_csv(path, dtype=str, keep_default_na=False).rename(
            columns={"replications": "samples"}
        )
        table.insert(2, "samples_taken", table["samples"])
        table.to_csv(path, index=False)


def test_a_folder_of_version_0_2_is_read_and_goes_on(tmp_path: Path) -> None:
    first = run(asked(2), out=tmp_path)
    in_words_of_0_2(tmp_path)
    pd.testing.assert_frame_equal(Results.load(tmp_path).runs, first.runs)
    more = run(asked(3), out=tmp_path)
    pd.testing.assert_frame_equal(more.runs[more.runs["macroreplication"] < 2], first.runs)
    pd.testing.assert_frame_equal(Results.load(tmp_path).runs, more.runs)
    assert json.loads((tmp_path / "header.json").read_text())["experiment"]["replications"] == 20
    with pytest.raises(InputError, match="replications is 20, asked for 21"):
        run(Experiment(small_problems.table(), CONTENDER, replications=21), out=tmp_path)


def test_a_picture_is_drawn_of_a_summary_of_version_0_2() -> None:
    summary = run(asked()).summary()
    with pytest.warns(DeprecationWarning, match="the column samples is now called replications"):
        old = comparison.summary_of(summary.rename(columns={"replications": "samples"}))
    pd.testing.assert_frame_equal(old, summary)


def test_a_forecast_takes_samples_for_replications() -> None:
    study = Study(small_problems.table(), seed=1).run(30)
    with pytest.warns(DeprecationWarning, match=r"forecast\(samples=...\) is now called"):
        old = theory.forecast(study, samples=[0, 3], draws=4)
    pd.testing.assert_frame_equal(old, theory.forecast(study, [0, 3], draws=4))
    assert old["replications"].tolist() == [0, 3]
    with pytest.raises(InputError, match="got no number of further replications"):
        theory.forecast(study)
    found = study.forecast(0.5)
    with pytest.warns(DeprecationWarning, match="samples is now called replications"):
        assert found.samples == found.replications


def test_the_command_takes_samples_for_replications() -> None:
    rest = ("--macroreps", "2", "--json")
    words = ("compare", "classical", "--policy", "equal:independent", *rest)
    old, new = (CliRunner().invoke(main, [*words, name, "3"]) for name in ("--samples", "--replications"))
    assert old.exit_code == new.exit_code == 0
    assert "'samples' is deprecated. It is now called --replications." in old.stderr
    assert json.loads(old.stdout)["policies"]["equal:independent"]["replications"] == [0, 3]
    assert "--samples" not in CliRunner().invoke(main, ["compare", "--help"]).stdout
