"""Names of everything that ships, one literal table per kind, and of what other packages add."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from argbest import models as models_that_ship
from argbest import named, options, plugins
from argbest import policies as shipped
from argbest.core.abilities import offers
from argbest.core.arrays import BoolArray
from argbest.errors import InputError
from argbest.models import retired
from argbest.models.base import Model
from argbest.options import MODEL
from argbest.policies.base import HasUsualModel, Policy
from argbest.problems.base import Problem
from argbest.problems.catalogue import PROBLEMS as PROBLEMS
from argbest.problems.catalogue import Family as Family
from argbest.problems.catalogue import ProblemEntry as ProblemEntry
from argbest.problems.catalogue import problem as problem
from argbest.problems.catalogue import problem_entry as problem_entry
from argbest.problems.catalogue import problems as problems
from argbest.problems.design import Design, extremes_alike


class PolicyEntry(NamedTuple):
    """How to make a policy, the model it is used with unless another is named, and its own initial design.

    The paper's GP-C-OCBA keeps the paper's model.

    ``initial`` maps a problem and a number of replications to a design of about that number.
    """

    make: Callable[[], Policy]
    model: str
    initial: Callable[[Problem, int], Design] | None = None


MODELS: dict[str, Callable[[], Model[Any]]] = {
    "additive-gp": lambda: models_that_ship.AdditiveGP(),
    "gp": lambda: models_that_ship.GP(),
    "independent": lambda: models_that_ship.Independent(),
    "linear": lambda: models_that_ship.Linear(),
}

POLICIES: dict[str, PolicyEntry] = {
    "gp-c-ocba": PolicyEntry(lambda: shipped.GPCOCBA(), "gp"),
    "ikg": PolicyEntry(lambda: shipped.IKG(), MODEL),
    "ikg-noise-free": PolicyEntry(lambda: shipped.IKG(lookahead=math.inf), MODEL),
    "levi": PolicyEntry(lambda: shipped.LEVI(), MODEL),
    "dvr": PolicyEntry(lambda: shipped.DVR(), MODEL),
    "dvr-loss": PolicyEntry(lambda: shipped.DVRLoss(), MODEL),
    "dvr-m": PolicyEntry(lambda: shipped.DVRM(), MODEL),
    "top-two": PolicyEntry(lambda: shipped.TopTwo(), MODEL),
    "c-ocba": PolicyEntry(lambda: shipped.COCBA(), "independent"),
    "dsco": PolicyEntry(lambda: shipped.DSCO(), "independent"),
    "ts": PolicyEntry(lambda: shipped.TS(), "linear", extremes_alike),
    "ts-plus": PolicyEntry(lambda: shipped.TSPlus(), "linear", extremes_alike),
    "ocba": PolicyEntry(lambda: shipped.OCBA(), "independent"),
    "equal": PolicyEntry(lambda: shipped.Equal(), MODEL),
    "random": PolicyEntry(lambda: shipped.Random(), MODEL),
}

# The classes by whose names a stored study knows its policy and its model, and where they are.
_CLASSES = {name: room for room in (models_that_ship, shipped) for name in room.__all__}


def policies() -> dict[str, PolicyEntry]:
    """Return all policies by name: those that ship, and those of other packages."""
    return named.everything("policies", POLICIES, _policy_entry)


def models() -> dict[str, Callable[[], Model[Any]]]:
    """Return what makes each model, by name: those that ship, and those of other packages."""
    return named.everything("models", MODELS, lambda made: made)


def _policy_entry(made: Any) -> PolicyEntry:
    if isinstance(made, PolicyEntry):
        return made
    return PolicyEntry(made, made.usual_model if offers(made, HasUsualModel) else MODEL)


def stored_class(name: str) -> type:
    """Return the class that a stored study means; one that never was is a KeyError."""
    if ":" not in name:
        found: type = getattr(_CLASSES[name], name)
        return found
    for group, entry in _added(name):
        added: type = plugins.load(group, entry)
        return added
    raise InputError(
        f"this study uses {name}, which no installed package adds to argbest. Install the package that does, "
        "or load the study in Python with the object itself."
    )


def class_name(kind: type) -> str | None:
    """Return the name by which a stored study knows a class, None if it does not."""
    if kind.__name__ in _CLASSES and stored_class(kind.__name__) is kind:
        return kind.__name__
    name = f"{kind.__module__}:{kind.__qualname__}"
    return name if _added(name) else None


def _added(value: str) -> list[tuple[plugins.Group, str]]:
    groups: tuple[plugins.Group, ...] = ("policies", "models")
    return [
        (group, name)
        for group in groups
        for name, entry in plugins.found(group).items()
        if entry.value == value
    ]


def policy(name: options.Given) -> PolicyEntry:
    """Return the entry of a policy by its registry name; options after the name make no difference.

    Args:
        name: The name, with or without options.
    """
    return named.one("policy", "policies", options.parsed("policy", name)[0], POLICIES, _policy_entry)


def confirmation() -> Policy:
    """Return the policy of a last stage that is reserved for the leaders of undecided contexts."""
    from argbest.policies.confirm import Confirm

    return Confirm()


def separation(open_pairs: BoolArray) -> Policy:
    """Return the policy of a stage that collects what a guarantee still needs."""
    from argbest.policies.confirm import Separate

    return Separate(open_pairs)


def model(given: options.Given, *, kind: str = "model") -> Model[Any]:
    """Return a model by its registry name, with the options given.

    Args:
        given: The name, with or without options.
        kind: What errors call it.
    """
    name, chosen = options.parsed(kind, given)
    retired.check(name)
    made: Model[Any] = options.configured(
        kind, name, named.one(kind, "models", name, MODELS, lambda made: made)(), chosen
    )
    return made


def configured_policy(given: options.Given, *, kind: str = "policy") -> Policy:
    """Return a policy by its registry name, with the options given; ``kind`` is what errors call it."""
    name, chosen = options.parsed(kind, given)
    entry = named.one(kind, "policies", name, POLICIES, _policy_entry)
    made: Policy = options.configured(kind, name, entry.make(), chosen)
    return made


def stored_model(kind: str, stored: Mapping[str, Any]) -> tuple[Model[Any], str]:
    """Return the model of a stored class with stored options, and the name of one that is gone, or "".

    An unknown class is a KeyError, options that do not fit are a TypeError.
    """
    kind, chosen, gone = retired.in_todays_words(kind, stored)
    return stored_class(kind)(**chosen), gone


def usual_model(given: options.Given | Policy) -> str:
    """Return the name of the model that a policy is used with unless another is named."""
    if isinstance(given, str | Mapping):
        return policy(given).model
    own = (entry.model for entry in POLICIES.values() if type(entry.make()) is type(given))
    return next(own, given.usual_model if offers(given, HasUsualModel) else MODEL)


def choose(
    policy_given: options.Given | Policy, model_given: options.Given | Model[Any] | None, *, where: str = ""
) -> tuple[Policy, Model[Any]]:
    """Return the policy and the model meant; without a model, the one the policy is usually used with.

    Args:
        policy_given: A name, with or without options, or a policy.
        model_given: A name, with or without options, a model, or None.
        where: What stands before "policy" and "model" in errors: "[study] " of a study file.
    """
    policy_asked, in_file = policy_given, bool(where)  # where nothing but names can stand
    if in_file or isinstance(policy_given, str | Mapping):
        policy_given = configured_policy(policy_given, kind=f"{where}policy")  # type: ignore[arg-type]
    usual = usual_model(policy_asked)
    if isinstance(policy_given, type) or not offers(policy_given, Policy):
        raise InputError(
            f"policy={policy_given!r} is neither a registered name nor an object that can `propose`."
        )
    model_given = usual if model_given is None else model_given
    chosen: Any = model_given
    if in_file or isinstance(model_given, str | Mapping):
        chosen = model(model_given, kind=f"{where}model")  # type: ignore[arg-type]
    if isinstance(chosen, type) or not offers(chosen, Model):
        raise InputError(
            f"model={chosen!r} is neither a registered name nor an object with check, fit, posterior, "
            "predict."
        )
    return policy_given, chosen
