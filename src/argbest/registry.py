"""Names of everything that ships: one literal table per kind."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from argbest.errors import InputError, unknown_name
from argbest.models.base import Model
from argbest.models.gp import GP
from argbest.models.independent import Independent
from argbest.models.linear import Linear
from argbest.models.shared_gp import SharedGP
from argbest.policies.base import Policy
from argbest.policies.c_ocba import COCBA
from argbest.policies.dsco import DSCO
from argbest.policies.dvr import DVR, DVRM
from argbest.policies.equal import Equal
from argbest.policies.gp_c_ocba import GPCOCBA
from argbest.policies.ikg import IKG
from argbest.policies.levi import LEVI
from argbest.policies.ocba import OCBA
from argbest.policies.random import Random
from argbest.policies.top_two import TopTwo
from argbest.policies.two_stage import TS, TSPlus
from argbest.problems.base import Problem
from argbest.problems.synthetic import branin


class PolicyEntry(NamedTuple):
    """How to make a policy, and the model it is used with unless another is named."""

    make: Callable[[], Policy]
    model: str


MODELS: dict[str, Callable[[], Model[Any]]] = {
    "gp": GP,
    "shared-gp": SharedGP,
    "independent": Independent,
    "linear": Linear,
}

POLICIES: dict[str, PolicyEntry] = {
    "gp-c-ocba": PolicyEntry(GPCOCBA, "gp"),
    "ikg": PolicyEntry(IKG, "gp"),
    "ikg-noise-free": PolicyEntry(lambda: IKG(lookahead=math.inf), "gp"),
    "levi": PolicyEntry(LEVI, "gp"),
    "dvr": PolicyEntry(DVR, "gp"),
    "dvr-m": PolicyEntry(DVRM, "gp"),
    "top-two": PolicyEntry(TopTwo, "gp"),
    "c-ocba": PolicyEntry(COCBA, "independent"),
    "dsco": PolicyEntry(DSCO, "independent"),
    "ts": PolicyEntry(TS, "linear"),
    "ts-plus": PolicyEntry(TSPlus, "linear"),
    "ocba": PolicyEntry(OCBA, "independent"),
    "equal": PolicyEntry(Equal, "gp"),
    "random": PolicyEntry(Random, "gp"),
}

PROBLEMS: dict[str, Callable[[], Problem]] = {"branin": branin}


def policy(name: str) -> PolicyEntry:
    """Return the entry of a policy by its registry name."""
    if name not in POLICIES:
        raise unknown_name("policy", name, POLICIES)
    return POLICIES[name]


def model(name: str) -> Model[Any]:
    """Return a model by its registry name, with default options."""
    if name not in MODELS:
        raise unknown_name("model", name, MODELS)
    return MODELS[name]()


def problem(name: str) -> Problem:
    """Return a shipped problem by its registry name."""
    if name not in PROBLEMS:
        raise unknown_name("problem", name, PROBLEMS)
    return PROBLEMS[name]()


def choose(policy_given: str | Policy, model_given: str | Model[Any] | None) -> tuple[Policy, Model[Any]]:
    """Return the policy and the model meant; without a model, the one the policy is usually used with."""
    usual = "gp"
    if isinstance(policy_given, str):
        entry = policy(policy_given)
        policy_given, usual = entry.make(), entry.model
    if isinstance(policy_given, type) or not hasattr(policy_given, "propose"):
        raise InputError(
            f"policy={policy_given!r} is neither a registered name nor an object that can `propose`."
        )
    model_given = usual if model_given is None else model_given
    chosen = model(model_given) if isinstance(model_given, str) else model_given
    needed = ("check", "fit", "posterior", "predict")
    if isinstance(chosen, type) or not all(hasattr(chosen, name) for name in needed):
        raise InputError(
            f"model={chosen!r} is neither a registered name nor an object with {', '.join(needed)}."
        )
    return policy_given, chosen
