"""Names of everything that ships, one literal table per kind, and of what other packages add."""

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from argbest import models as models_that_ship
from argbest import options, plugins
from argbest import policies as shipped
from argbest.checks import one_of
from argbest.core.abilities import offers
from argbest.core.arrays import BoolArray
from argbest.errors import InputError
from argbest.lazy import later
from argbest.models import retired
from argbest.models.base import Model
from argbest.options import MODEL
from argbest.policies.base import HasUsualModel, Policy
from argbest.problems.base import Problem
from argbest.problems.design import Design, EveryPair, RandomContexts, SpaceFilling, extremes_alike

# Each is imported when it is made: commands that need one shall not wait for all.
_synthetic, _covid, _queues, _call_centres, _facilities, _inventory, _prevention, _table, _votes = (
    later(f"argbest.problems.{name}")
    for name in (
        "synthetic", "covid.editions", "queues", "call_centres", "facilities", "inventory", "prevention",
        "noisy_table", "most_probable_best",
    )
)  # fmt: skip


class Family(Protocol):
    """Problems of one shape that differ in their truth: every macro-replication draws its own."""

    @property
    def name(self) -> str:
        """What the family is called."""

    @property
    def description(self) -> str:
        """What its problems have in common."""

    def draw(self, seed: int) -> Problem:
        """Return the problem of this seed; axes, weights and bounds do not depend on it.

        Args:
            seed: Which of the problems.
        """


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

PROBLEMS: dict[str, ProblemEntry] = {
    "branin": ProblemEntry(lambda: _synthetic.branin()),
    "branin-text": ProblemEntry(lambda: _synthetic.branin_text()),
    "branin-separated": ProblemEntry(lambda: _synthetic.branin_separated()),
    "griewank": ProblemEntry(lambda: _synthetic.griewank()),
    "griewank-text": ProblemEntry(lambda: _synthetic.griewank_text()),
    "griewank-separated": ProblemEntry(lambda: _synthetic.griewank_separated()),
    "hartmann3": ProblemEntry(lambda: _synthetic.hartmann3(), RandomContexts(6, replace=True)),
    "hartmann3-separated": ProblemEntry(lambda: _synthetic.hartmann3_separated()),
    "cosine8": ProblemEntry(lambda: _synthetic.cosine8(), RandomContexts(16, replace=True)),
    "cosine8-separated": ProblemEntry(
        lambda: _synthetic.cosine8_separated(), RandomContexts(16, replace=True)
    ),
    "gp-draws": ProblemEntry(lambda: _table.gp_draws()),
    "trend-draws": ProblemEntry(lambda: _table.trend_draws()),
    "metric-draws": ProblemEntry(lambda: _table.metric_draws()),
    "queue-staffing": ProblemEntry(lambda: _queues.queue_staffing()),
    "call-centre": ProblemEntry(lambda: _call_centres.call_centre()),
    "call-rush": ProblemEntry(lambda: _call_centres.call_rush()),
    "call-lines": ProblemEntry(lambda: _call_centres.call_lines()),
    "facility-sizing": ProblemEntry(lambda: _facilities.facility_sizing(), SpaceFilling(150)),
    "newsvendor": ProblemEntry(lambda: _inventory.newsvendor()),
    "flow-line": ProblemEntry(lambda: _queues.flow_line(), SpaceFilling(150)),
    "barrett-prevention": ProblemEntry(lambda: _prevention.barrett_prevention(), SpaceFilling(100)),
    "serial-inventory": ProblemEntry(lambda: _inventory.serial_inventory(), SpaceFilling(150)),
    "classical": ProblemEntry(lambda: _table.classical()),
    "most-probable-best": ProblemEntry(lambda: _votes.most_probable_best(), EveryPair(5)),
    "most-probable-noisy": ProblemEntry(lambda: _votes.most_probable_best_noisy(), EveryPair(5)),
    "covid": ProblemEntry(lambda: _covid.covid()),
    "covid-paper": ProblemEntry(lambda: _covid.covid_paper()),
    "covid-regional": ProblemEntry(lambda: _covid.covid_regional()),
}

# The classes by whose names a stored study knows its policy and its model, and where they are.
_CLASSES = {name: room for room in (models_that_ship, shipped) for name in room.__all__}
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
    if isinstance(name, str) and name in ours:
        return ours[name]
    return entry(plugins.load(group, one_of(kind, name, {**ours, **plugins.found(group)})))


def _policy_entry(made: Any) -> PolicyEntry:
    if isinstance(made, PolicyEntry):
        return made
    return PolicyEntry(made, made.usual_model if offers(made, HasUsualModel) else MODEL)


def _problem_entry(made: Any) -> ProblemEntry:
    return made if isinstance(made, ProblemEntry) else ProblemEntry(made)


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
    return _one("policy", "policies", options.parsed("policy", name)[0], POLICIES, _policy_entry)


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
    return next(own, given.usual_model if offers(given, HasUsualModel) else MODEL)


def problem_entry(name: str) -> ProblemEntry:
    """Return the entry of a problem or a family by its registry name.

    Args:
        name: The name, as `argbest problems` lists it.
    """
    return _one("problem", "problems", name, PROBLEMS, _problem_entry)


def problem(name: str) -> Problem:
    """Return a shipped problem by its registry name; of a family, the draw of seed 0.

    Args:
        name: The name, as `argbest problems` lists it.
    """
    made = problem_entry(name).make()
    return made if isinstance(made, Problem) else made.draw(0)


def choose(
    policy_given: options.Given | Policy, model_given: options.Given | Model[Any] | None, *, where: str = ""
) -> tuple[Policy, Model[Any]]:
    """Return the policy and the model meant; without a model, the one the policy is usually used with.

    Args:
        policy_given: A name, with or without options, or a policy.
        model_given: A name, with or without options, a model, or None.
        where: What stands before "policy" and "model" in errors: "[study] " of a study file.
    """
    named, in_file = policy_given, bool(where)  # where nothing but names can stand
    if in_file or isinstance(policy_given, str | Mapping):
        policy_given = configured_policy(policy_given, kind=f"{where}policy")  # type: ignore[arg-type]
    usual = usual_model(named)
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
