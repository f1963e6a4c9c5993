"""Policies and models by name with options: on a command line, in a table, in a contender's name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import argbest
from argbest import options, registry
from argbest.errors import InputError
from argbest.experiment import Contender, Experiment
from argbest.studyfile.reading import read


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("top-two:beta=0.3", argbest.policies.TopTwo(beta=0.3)),
        ({"name": "top-two", "beta": 0.3}, argbest.policies.TopTwo(beta=0.3)),
        ("ikg:lookahead=inf", argbest.policies.IKG(lookahead=np.inf)),
        ("ts:confidence=0.9, delta=2", argbest.TS(confidence=0.9, delta=2)),
    ],
)
def test_a_policy_takes_its_options_from_text_or_a_table(given: Any, expected: object) -> None:
    assert registry.configured_policy(given) == expected


def test_a_model_takes_texts_numbers_and_lists() -> None:
    wanted = argbest.AdditiveGP(parts=("trend", "own"), noise="pooled")
    assert repr(registry.model("additive-gp:noise=pooled,parts=trend+own")) == repr(wanted)
    given = {"name": "additive-gp", "noise": "pooled", "parts": ["trend", "own"]}
    assert repr(registry.model(given)) == repr(wanted)
    assert registry.model("gp:noise_sd=0.5").noise_sd == 0.5  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("top-two:bta=3", "unknown option of the policy 'top-two' 'bta'.*Did you mean 'beta'"),
        ("top-two:beta=x", "beta must be a number between 0 and 1, got 'x'"),
        ("top-two:beta", "expected NAME:OPTION=VALUE,OPTION=VALUE, got 'beta'"),
        ("dvr:x=1", "the policy 'dvr' has no options; leave x out"),
        ({"beta": 0.3}, "needs a name"),
    ],
)
def test_wrong_options_are_named(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        registry.configured_policy(given)


def test_a_contender_names_options_of_its_policy_and_of_its_model() -> None:
    contender = Contender.named("top-two:beta=0.3:additive-gp:noise=pooled,parts=trend+own")
    policy, model = contender.make()
    assert policy == argbest.policies.TopTwo(beta=0.3)
    assert repr(model) == repr(argbest.AdditiveGP(parts=("trend", "own"), noise="pooled"))
    assert Contender.named("top-two:beta=0.3").model_name == "additive-gp"
    assert options.segments("a:x=1,y=2:b:z=3") == ["a:x=1,y=2", "b:z=3"]


def test_a_study_file_sets_options_in_tables(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'problem = "newsvendor"\n[study]\npolicy = "top-two:beta=0.3"\n'
        '[study.model]\nname = "additive-gp"\nparts = ["trend", "own"]\n'
    )
    found = read(tmp_path / "study.toml")
    study = argbest.Study(found.problem, **found.options)
    assert study.policy == argbest.policies.TopTwo(beta=0.3)
    assert repr(study.model) == repr(argbest.AdditiveGP(parts=("trend", "own")))


def test_uniform_weights_keep_what_the_reward_is_called() -> None:
    problem = argbest.Problem(
        ["a", "b"], ["x"], lambda k, c, s: 0.0, truth=[[0.0], [1.0]], reward="profit", reward_range=(0, 1)
    )
    run = Experiment(problem, "equal", replications=1, weights="uniform").first_problem()
    assert (run.reward, run.reward_range) == ("profit", (0.0, 1.0))


def test_weights_may_be_given_by_label() -> None:
    named = argbest.Problem(["a", "b"], [10, 20], weights={20: 3, 10: 1})
    assert named.weights.tolist() == [0.25, 0.75]
    with pytest.raises(InputError, match="the weights leave out 20"):
        argbest.Problem(["a", "b"], [10, 20], weights={10: 1})
    with pytest.raises(InputError, match="unknown context 30"):
        argbest.Problem(["a", "b"], [10, 20], weights={10: 1, 30: 2})


def test_public_modules_come_with_the_package() -> None:
    for name in ("experiment", "models", "policies", "problems", "report", "testing", "theory"):
        module = getattr(argbest, name)
        assert name in dir(argbest)
        for each in getattr(module, "__all__", ()):
            assert getattr(module, each) is not None
