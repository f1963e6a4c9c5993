"""What other packages add by entry points works by its name, and is told apart from what is broken."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import argbest
from argbest import Study, plugins, registry
from argbest.cli import main
from argbest.errors import InputError
from argbest.testing import SCALE, SHIFT, assert_valid_policy, assert_valid_question

PACKAGE = Path(__file__).parent / "plugin"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the tiny package on the path, as if it were installed."""
    monkeypatch.syspath_prepend(str(PACKAGE))
    find = plugins.found
    find.cache_clear()
    yield
    find.cache_clear()


def test_a_policy_a_model_and_a_problem_of_another_package_are_known_by_name() -> None:
    study = Study(registry.problem("coin"), policy="patient:patience=2").run(12)
    assert (type(study.policy).__name__, study.policy.patience) == ("Patient", 2)  # type: ignore[attr-defined]
    assert type(study.model).__name__ == "Plain"
    assert_valid_policy(registry.configured_policy("patient"), invariances=(SHIFT, SCALE))


def test_a_stored_study_finds_them_again(tmp_path: Path) -> None:
    Study(registry.problem("coin"), policy="patient:patience=2", storage=tmp_path / "s.db").run(12).close()
    study = Study.load(tmp_path / "s.db", simulate=lambda k, c, seed: 0.0)
    assert repr(study.policy) == "Patient(patience=2)"
    study.close()


def test_a_stored_study_says_which_package_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Study(registry.problem("coin"), policy="patient", model="gp", storage=tmp_path / "s.db").close()
    monkeypatch.setattr(plugins, "found", lambda group: {})
    with pytest.raises(InputError, match="tiny_plugin:Patient, which no installed package adds to argbest"):
        Study.load(tmp_path / "s.db")


def test_a_question_of_another_package_is_asked_stored_and_answered(tmp_path: Path) -> None:
    study = Study(registry.problem("coin"), question="worst-half:share=0.4", storage=tmp_path / "s.db").run(
        20
    )
    assert study.answer().question == "worst-half:share=0.4"
    assert "worse half" in argbest.questions.asks("worst-half")
    assert_valid_question(study.problem.question)
    study.close()
    again = Study.load(tmp_path / "s.db", simulate=lambda k, c, seed: 0.0)
    assert again.answer().choice == study.answer().choice
    assert again.answer("worst-half").form == "one for all"
    again.close()
    result = CliRunner().invoke(main, ["answer", str(tmp_path / "s.db"), "--question", "worst-half"])
    assert result.exit_code == 0, result.output
    assert result.output.startswith(f"worst-half: {study.answer('worst-half').choice}")


def test_a_storage_of_another_package_is_known_by_its_scheme() -> None:
    study = Study(registry.problem("coin"), storage="tiny://anywhere")
    assert study.run(8).n_replications == 8


@pytest.mark.filterwarnings("ignore:'absent' of the package")
def test_the_lists_show_them_beside_one_that_does_not_load() -> None:
    for command, name in (("policies", "patient"), ("models", "plain"), ("problems", "coin")):
        result = CliRunner().invoke(main, [command])
        assert result.exit_code == 0, result.output
        assert name in result.output


def test_what_does_not_load_is_said_with_its_package() -> None:
    with pytest.raises(InputError, match="'absent' of the package tiny-plugin does not load"):
        Study(argbest.Problem(["a", "b"], ["x"]), model="absent")
