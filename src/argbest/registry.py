"""Names of everything that ships: one literal table per kind."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

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


def policy(name: str) -> PolicyEntry:
    """Return the entry of a policy by its registry name."""
    return POLICIES[one_of("policy", name, POLICIES)]


def confirmation() -> Policy:
    """Return the policy of a last stage that is reserved for the leaders of undecided contexts."""
    return Confirm()


def separation(open_pairs: BoolArray) -> Policy:
    """Return the policy of a stage that collects what a guarantee still needs."""
    return Separate(open_pairs)


def model(name: str, *, kind: str = "model") -> Model[Any]:
    """Return a model by its registry name, with default options; ``kind`` is what errors call it."""
    retired.check(name)
    return MODELS[one_of(kind, name, MODELS)]()


def stored_model(kind: str, options: Mapping[str, Any]) -> tuple[Model[Any], str]:
    """Return the model of a stored class with stored options, and the name of one that is gone, or "".

    An unknown class is a KeyError, options that do not fit are a TypeError.
    """
    kind, options, gone = retired.in_todays_words(kind, options)
    return CLASSES[kind](**options), gone


def usual_model(given: str | Policy) -> str:
    """Return the name of the model that a policy is used with unless another is named."""
    if isinstance(given, str):
        return policy(given).model
    own = (entry.model for entry in POLICIES.values() if type(entry.make()) is type(given))
    return next(own, MODEL)


def problem_entry(name: str) -> ProblemEntry:
    """Return the entry of a problem or a family by its registry name."""
    return PROBLEMS[one_of("problem", name, PROBLEMS)]


def problem(name: str) -> Problem:
    """Return a shipped problem by its registry name; of a family, the draw of seed 0."""
    made = problem_entry(name).make()
    return made if isinstance(made, Problem) else made.draw(0)


def choose(policy_given: str | Policy, model_given: str | Model[Any] | None) -> tuple[Policy, Model[Any]]:
    """Return the policy and the model meant; without a model, the one the policy is usually used with."""
    usual = usual_model(policy_given)
    if isinstance(policy_given, str):
        policy_given = policy(policy_given).make()
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
