"""Names of version 0.1 that are gone are answered with the new spelling; policies have their usual models."""

import importlib
import re

import pytest
from click.testing import CliRunner

import argbest
from argbest import GP, AdditiveGP, InputError, Problem, Study, registry
from argbest.cli import main
from argbest.experiment import Contender, Experiment
from argbest.models import retired
from argbest.policies.dvr import DVR
from argbest.policies.ocba import COCBA, GPCOCBA

OLD = (
    *("shared-gp", "shared-gp-pair-noise", "joint-gp", "joint-gp-pair-noise"),
    *("pooled-gp", "latent-gp", "gp-pair-noise"),
)
PROBLEM = Problem([{"size": 1.0}, {"size": 2.0}, {"size": 4.0}], [0.0, 0.5, 1.0])


def test_four_models_are_left() -> None:
    assert set(registry.MODELS) == {"additive-gp", "gp", "independent", "linear"}
    assert set(retired.NAMES) == set(OLD)


@pytest.mark.parametrize("name", OLD)
def test_an_old_name_is_answered_with_the_new_spelling_wherever_it_is_given(name: str) -> None:
    message = f"the model '{name}' of version 0.1 no longer exists. Use model='additive-gp', which learns"
    with pytest.raises(InputError, match=message):
        Study(PROBLEM, model=name)
    with pytest.raises(InputError, match=message):
        Contender("dvr", name)
    with pytest.raises(InputError, match=message):
        Experiment("branin", f"dvr:{name}", replications=1)
    result = CliRunner().invoke(
        main, ["compare", "branin", "--policy", f"equal:{name}", "--replications", "1", "--macroreps", "1"]
    )
    assert result.exit_code == 2
    assert re.search(message, " ".join(result.stderr.split()))


@pytest.mark.parametrize("name", [name for name in OLD if retired.NAMES[name]])
def test_the_spelling_given_is_a_model_that_serves(name: str) -> None:
    common = ("trend", "offset", "own")
    meant = {
        "shared-gp": AdditiveGP(parts=common, noise="pooled"),
        "shared-gp-pair-noise": AdditiveGP(parts=common),
        "joint-gp": AdditiveGP(parts=("joint",), noise="pooled"),
        "joint-gp-pair-noise": AdditiveGP(parts=("joint",)),
        "pooled-gp": AdditiveGP(parts=("own",), noise="pooled"),
        "gp-pair-noise": GP(noise="pair"),
    }
    assert repr(Study(PROBLEM, model=retired.NAMES[name]).model) == repr(meant[name])
    with pytest.raises(InputError, match=re.escape(f"is the model {retired.NAMES[name]!r}.")):
        registry.model(name)


@pytest.mark.parametrize("name", ["SharedGP", "JointGP", "LatentGP"])
def test_an_old_class_is_answered_with_the_new_one(name: str) -> None:
    with pytest.raises(
        InputError, match=f"the class '{name}' of version 0.1 no longer exists. Use AdditiveGP, which"
    ):
        getattr(argbest, name)
    with pytest.raises(InputError, match="Use AdditiveGP"):
        exec(f"from argbest import {name}")  # noqa: S102
    assert name not in dir(argbest)


def test_other_names_are_missing_as_ever() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'sharedgp'"):
        importlib.import_module("argbest").sharedgp  # noqa: B018
    with pytest.raises(InputError, match=r"unknown model 'gp2'; known are .* Did you mean 'gp'\?"):
        registry.model("gp2")


def test_policies_have_their_usual_models() -> None:
    usual = {name: entry.model for name, entry in registry.POLICIES.items()}
    assert usual.pop("gp-c-ocba") == "gp"  # the paper's pair
    assert {usual.pop(name) for name in ("c-ocba", "dsco", "ocba")} == {"independent"}
    assert {usual.pop(name) for name in ("ts", "ts-plus")} == {"linear"}
    assert set(usual.values()) == {"additive-gp"}
    assert {"dvr", "dvr-m", "ikg", "levi", "top-two", "equal", "random"} <= set(usual)


def test_a_policy_given_as_an_object_has_the_model_of_its_name() -> None:
    class Mine(DVR):
        """Somebody's own policy."""

    models = [
        type(Study(PROBLEM, policy=policy).model).__name__ for policy in (DVR(), GPCOCBA(), COCBA(), Mine())
    ]
    assert models == ["AdditiveGP", "GP", "Independent", "AdditiveGP"]
    assert [Contender(policy).model_name for policy in (DVR(), GPCOCBA())] == ["additive-gp", "gp"]
