"""Names of everything that ships, one literal table per kind, and of what other packages add."""

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from argbest import options, plugins
from argbest.checks import one_of
from argbest.core.arrays import BoolArray
from argbest.defaults import MODEL
from argbest.errors import InputError
from argbest.models import retired
from argbest.models.additive_gp import AdditiveGP
from argbest.models.base import Model
from argbest.models.gp import GP
from argbest.models.independent import Independent
from argbest.models.linear import Linear
from argbest.policies.base import Policy
from argbest.policies.c_ocba import COCBA
from argbest.policies.confirm import Confirm
from argbest.policies.dsco import DSCO
from argbest.policies.dvr import DVR, DVRM, DVRLoss
from argbest.policies.equal import Equal
from argbest.policies.gp_c_ocba import GPCOCBA
from argbest.policies.ikg import IKG
from argbest.policies.levi import LEVI
from argbest.policies.ocba import OCBA
from argbest.policies.random import Random
from argbest.policies.separate import Separate
from argbest.policies.top_two import TopTwo
from argbest.policies.two_stage import TS, TSPlus
from argbest.problems.base import Problem
from argbest.problems.classical import classical
from argbest.problems.covid.editions import covid, covid_paper, covid_regional
from argbest.problems.design import Design, EveryPair, RandomContexts, extremes_alike
from argbest.problems.flow_line import flow_line
from argbest.problems.newsvendor import newsvendor
from argbest.problems.queue_staffing import queue_staffing
from argbest.problems.random_draws import gp_draws, metric_draws, trend_draws
from argbest.problems.serial_inventory import serial_inventory
from argbest.problems.space_filling import SpaceFilling
from argbest.problems.synthetic import (
    branin,
    branin_separated,
    branin_text,
    cosine8,
    cosine8_separated,
    griewank,
    griewank_separated,
    griewank_text,
    hartmann3,
    hartmann3_separated,
)


class Family(Protocol):
    """Problems of one shape that differ in their truth: every macro-replication draws its own."""

    @property
    def name(self) -> str:
        """What the family is called."""

    @property
    def description(self) -> str:
        """What its problems have in common."""

    def draw(self, seed: int) -> Problem:
        """Return the problem of this seed; axes, weights and bounds do not depend on it."""


class PolicyEntry(NamedTuple):
    """How to make a policy, the model it is used with unless another is named, and its own initial design.

    The paper's GP-C-OCBA keeps the paper's model.

    ``initial`` maps a problem and a number of replications to a design of about that number.
    """

    make: Callable[[], Policy]
    model: str
    initial: Callable[[Problem, int], Design] | None = None


class ProblemEntry(NamedTuple):
    """How to make a problem or a family, and the initial design experiments on it use unless told."""

    make: Callable[[], Problem | Family]
    initial: Design = EveryPair(2)


MODELS: dict[str, Callable[[], Model[Any]]] = {
    "additive-gp": AdditiveGP,
    "gp": GP,
    "independent": Independent,
    "linear": Linear,
}

POLICIES: dict[str, PolicyEntry] = {
    "gp-c-ocba": PolicyEntry(GPCOCBA, "gp"),
    "ikg": PolicyEntry(IKG, MODEL),
    "ikg-noise-free": PolicyEntry(lambda: IKG(lookahead=math.inf), MODEL),
    "levi": PolicyEntry(LEVI, MODEL),
    "dvr": PolicyEntry(DVR, MODEL),
    "dvr-loss": PolicyEntry(DVRLoss, MODEL),
    "dvr-m": PolicyEntry(DVRM, MODEL),
    "top-two": PolicyEntry(TopTwo, MODEL),
    "c-ocba": PolicyEntry(COCBA, "independent"),
    "dsco": PolicyEntry(DSCO, "independent"),
    "ts": PolicyEntry(TS, "linear", extremes_alike),
    "ts-plus": PolicyEntry(TSPlus, "linear", extremes_alike),
    "ocba": PolicyEntry(OCBA, "independent"),
    "equal": PolicyEntry(Equal, MODEL),
    "random": PolicyEntry(Random, MODEL),
}

PROBLEMS: dict[str, ProblemEntry] = {
    "branin": ProblemEntry(branin),
    "branin-text": ProblemEntry(branin_text),
    "branin-separated": ProblemEntry(branin_separated),
    "griewank": ProblemEntry(griewank),
    "griewank-text": ProblemEntry(griewank_text),
    "griewank-separated": ProblemEntry(griewank_separated),
    "hartmann3": ProblemEntry(hartmann3, RandomContexts(6, replace=True)),
    "hartmann3-separated": ProblemEntry(hartmann3_separated),
    "cosine8": ProblemEntry(cosine8, RandomContexts(16, replace=True)),
    "cosine8-separated": ProblemEntry(cosine8_separated, RandomContexts(16, replace=True)),
    "gp-draws": ProblemEntry(gp_draws),
    "trend-draws": ProblemEntry(trend_draws),
    "metric-draws": ProblemEntry(metric_draws),
    "queue-staffing": ProblemEntry(queue_staffing),
    "newsvendor": ProblemEntry(newsvendor),
    "flow-line": ProblemEntry(flow_line, SpaceFilling(150)),
    "serial-inventory": ProblemEntry(serial_inventory, SpaceFilling(150)),
    "classical": ProblemEntry(classical),
    "covid": ProblemEntry(covid),
    "covid-paper": ProblemEntry(covid_paper),
    "covid-regional": ProblemEntry(covid_regional),
}

# The classes behind the names, by which a stored study knows its policy and its model.
CLASSES: dict[str, type] = {
    type(thing).__name__: type(thing)
    for thing in (*(make() for make in MODELS.values()), *(entry.make() for entry in POLICIES.values()))
}


_Entry = TypeVar("_Entry")


def policies() -> dict[str, PolicyEntry]:
    """Return all policies by name: those that ship, and those of other packages."""
    return _all("policies", POLICIES, _policy_entry)


def models() -> dict[str, Callable[[], Model[Any]]]:
    """Return what makes each model, by name: those that ship, and those of other packages."""
    return _all("models", MODELS, lambda made: made)


def problems() -> dict[str, ProblemEntry]:
    """Return all problems by name: those that ship, and those of other packages."""
    return _all("problems", PROBLEMS, _problem_entry)


def _all(
    group: plugins.Group, ours: Mapping[str, _Entry], entry: Callable[[Any], _Entry]
) -> dict[str, _Entry]:
    found = dict(ours)
    for name in plugins.found(group):
        try:
            found.setdefault(name, entry(plugins.load(group, name)))
        except InputError as error:  # the others are there all the same
            warnings.warn(str(error), stacklevel=3)
    return found


def _one(
    kind: str, group: plugins.Group, name: object, ours: Mapping[str, _Entry], entry: Callable[[Any], _Entry]
) -> _Entry:
    known = one_of(kind, name, {**dict.fromkeys(ours), **dict.fromkeys(plugins.found(group))})
    return ours[known] if known in ours else entry(plugins.load(group, known))


def _policy_entry(made: Any) -> PolicyEntry:
    return made if isinstance(made, PolicyEntry) else PolicyEntry(made, getattr(made, "usual_model", MODEL))


def _problem_entry(made: Any) -> ProblemEntry:
    return made if isinstance(made, ProblemEntry) else ProblemEntry(made)


def stored_class(name: str) -> type:
    """Return the class that a stored study means; one that never was is a KeyError."""
    if ":" not in name:
        return CLASSES[name]
    for group, entry in _added(name):
        added: type = plugins.load(group, entry)
        return added
    raise InputError(
        f"this study uses {name}, which no installed package adds to argbest. Install the package that does, "
        "or give the object itself to Study.load."
    )


def class_name(kind: type) -> str | None:
    """Return the name by which a stored study knows a class, None if it does not."""
    if CLASSES.get(kind.__name__) is kind:
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
    """Return the entry of a policy by its registry name; options after the name make no difference."""
    return _one("policy", "policies", options.parsed("policy", name)[0], POLICIES, _policy_entry)


def confirmation() -> Policy:
    """Return the policy of a last stage that is reserved for the leaders of undecided contexts."""
    return Confirm()


def separation(open_pairs: BoolArray) -> Policy:
    """Return the policy of a stage that collects what a guarantee still needs."""
    return Separate(open_pairs)


def model(given: options.Given, *, kind: str = "model") -> Model[Any]:
    """Return a model by its registry name, with the options given; ``kind`` is what errors call it."""
    name, chosen = options.parsed(kind, given)
    retired.check(name)
    made: Model[Any] = options.configured(
        kind, name, _one(kind, "models", name, MODELS, lambda made: made)(), chosen
    )
    return made


def configured_policy(given: options.Given, *, kind: str = "policy") -> Policy:
    """Return a policy by its registry name, with the options given; ``kind`` is what errors call it."""
    name, chosen = options.parsed(kind, given)
    entry = _one(kind, "policies", name, POLICIES, _policy_entry)
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
    return next(own, getattr(given, "usual_model", MODEL))


def problem_entry(name: str) -> ProblemEntry:
    """Return the entry of a problem or a family by its registry name."""
    return _one("problem", "problems", name, PROBLEMS, _problem_entry)


def problem(name: str) -> Problem:
    """Return a shipped problem by its registry name; of a family, the draw of seed 0."""
    made = problem_entry(name).make()
    return made if isinstance(made, Problem) else made.draw(0)


def choose(
    policy_given: options.Given | Policy, model_given: options.Given | Model[Any] | None
) -> tuple[Policy, Model[Any]]:
    """Return the policy and the model meant; without a model, the one the policy is usually used with."""
    usual = usual_model(policy_given)
    if isinstance(policy_given, str | Mapping):
        policy_given = configured_policy(policy_given)
    if isinstance(policy_given, type) or not hasattr(policy_given, "propose"):
        raise InputError(
            f"policy={policy_given!r} is neither a registered name nor an object that can `propose`."
        )
    model_given = usual if model_given is None else model_given
    chosen = model(model_given) if isinstance(model_given, str | Mapping) else model_given
    needed = ("check", "fit", "posterior", "predict")
    if isinstance(chosen, type) or not all(hasattr(chosen, name) for name in needed):
        raise InputError(
            f"model={chosen!r} is neither a registered name nor an object with {', '.join(needed)}."
        )
    return policy_given, chosen
