"""Studies that version 0.1 has stored: what is gone has a successor, all else goes on as it was."""

import sqlite3
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from argbest import GP, AdditiveGP, ExpectedPCS, Study
from argbest.cli import main
from argbest.errors import StorageError, VersionNotice
from argbest.posthoc.analysis import notes
from argbest.studyfile import read

# Written by version 0.1: one study per model, 3 x 3 pairs, 21 observations, a refit after 18.
DUMP = Path(__file__).parent / "version_0_1.sql"
FILE = DUMP.with_suffix(".toml")  # as `argbest init` of version 0.1 wrote it, with more of its options in use
GONE = ("shared-gp", "joint-gp", "pooled-gp", "latent-gp")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript(DUMP.read_text())
    connection.close()
    return path


def opened(database: Path, name: str) -> Study:
    with pytest.warns(VersionNotice, match=f"the model {name} of version 0.1, which is gone; additive-gp"):
        return Study.load(database, name=name)


@pytest.mark.parametrize("name", GONE)
def test_a_model_that_is_gone_has_a_successor_that_learns_from_all_observations(
    database: Path, name: str
) -> None:
    study = opened(database, name)
    assert isinstance(study.model, AdditiveGP)
    assert (study.n_replications, study.refit_every) == (21, 10)
    belief = study.certificate(integrate=False).belief
    fit = study.model.fit(study._tally, study.problem.setting)
    expected = study.model.posterior(study._tally, study.problem.setting, fit)
    np.testing.assert_allclose(belief.mean, expected.mean, rtol=1e-12)
    study.close()


def test_the_successor_goes_on_and_is_resumed_from_its_own_refits(database: Path) -> None:
    study = opened(database, "shared-gp")
    decided = []
    for _ in range(12):
        [trial] = study.ask()
        decided.append(trial.pair)
        study.tell(trial, 0.25 * trial.pair[0])
    selected = study.selection()
    study.close()
    again = opened(database, "shared-gp")
    assert again._journal.knowledge is not None
    assert again._journal.knowledge.n_fitted == study._journal.knowledge.n_fitted  # type: ignore[union-attr]
    assert again.selection().equals(selected)
    assert [trial.pair for trial in again._journal.ledger.trials[21:]] == decided
    again.close()


def test_what_was_known_of_the_noise_is_kept(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute(
            "UPDATE argbest_studies SET definition = replace(definition, '\"noise_sd\":null', "
            "'\"noise_sd\":0.2') WHERE name = 'joint-gp'"
        )
    connection.close()
    study = opened(database, "joint-gp")
    assert isinstance(study.model, AdditiveGP)
    assert study.model.noise_sd == 0.2
    study.close()


@pytest.mark.parametrize(("name", "noise"), [("gp", "alternative"), ("gp-pair-noise", "pair")])
def test_the_papers_model_goes_on_without_a_word(database: Path, name: str, noise: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", VersionNotice)
        study = Study.load(database, name=name)
    assert isinstance(study.model, GP)
    assert study.model.noise == noise
    assert study._journal.knowledge is not None  # as of the stored refit
    assert study._journal.knowledge.n_fitted == 18
    study.close()


def test_a_model_given_takes_the_place_without_a_word(database: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", VersionNotice)
        study = Study.load(database, name="shared-gp", model=AdditiveGP(parts=("trend", "offset", "own")))
    assert study.model.parts == ("trend", "offset", "own")  # type: ignore[attr-defined]
    assert len(study.selection()) == 3
    study.close()


def test_the_command_line_says_it_in_one_line(database: Path) -> None:
    result = CliRunner().invoke(main, ["status", str(database), "--name", "joint-gp"])
    assert result.exit_code == 0, result.output
    assert result.stderr.count("\n") == 1
    assert "the model joint-gp of version 0.1, which is gone; additive-gp takes its place" in result.stderr


def test_parameters_that_fit_no_version_are_damage(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE argbest_refits SET params = '{\"scale\":1.0}' WHERE study = 6")
    connection.close()
    with pytest.raises(StorageError, match="what was stored of GPParams does not fit this version"):
        Study.load(database, name="gp")


def test_a_study_file_opens_with_a_successor_for_a_model_that_is_gone() -> None:
    with pytest.warns(VersionNotice, match="the model shared-gp of version 0.1 is gone; additive-gp takes"):
        file = read(FILE)
    np.testing.assert_allclose(file.problem.weights, np.array([1, 2, 3, 2, 1]) / 9)
    study = Study(file.problem, **file.options)
    assert isinstance(study.model, AdditiveGP)
    assert (study.problem.shape, study.n_queued, study.refit_every, study.seed) == ((5, 5), 50, 10, 1)
    assert (file.run["budget"], file.run["confirm"]) == (200, 0.1)
    assert file.run["stop"] == ExpectedPCS(0.95, 0.0)


@pytest.mark.parametrize(("old", "kind"), [("gp-pair-noise", GP), ("latent-gp", AdditiveGP)])
def test_other_models_of_old_files_have_successors_too(old: str, kind: type, tmp_path: Path) -> None:
    (tmp_path / "old.toml").write_text(FILE.read_text().replace('"shared-gp"', f'"{old}"'))
    with pytest.warns(VersionNotice, match=f"the model {old} of version 0.1 is gone"):
        file = read(tmp_path / "old.toml")
    assert isinstance(Study(file.problem, **file.options).model, kind)


def test_names_of_version_0_1_still_work_and_tell_the_new_ones(database: Path) -> None:
    study = Study.load(database, name="gp")
    with pytest.warns(DeprecationWarning, match="n_waiting is now called n_queued"):
        assert study.n_waiting == study.n_queued
    study.close()
    with pytest.warns(DeprecationWarning, match=r"argbest.study.posthoc is now argbest.posthoc.analysis"):
        from argbest.study import posthoc
    assert posthoc.notes is notes
