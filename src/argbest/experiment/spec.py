"""What an experiment is: a problem, contenders, budgets and a seed; frozen, and checked before it runs."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from argbest import options, registry, streams
from argbest.checks import entries, flag, indifference_zone, one_of, whole
from argbest.core import schedule
from argbest.core.arrays import IntArray
from argbest.core.question import BEST
from argbest.errors import InputError, warn_of_old_name
from argbest.experiment.fingerprint import digest, text
from argbest.models.base import Model
from argbest.policies.base import Policy
from argbest.problems import labels
from argbest.problems.base import Problem
from argbest.problems.catalogue import lasting
from argbest.problems.design import AUTO, Design, EveryPair, design, for_model, is_auto
from argbest.questions import question as question_of
from argbest.questions import title
from argbest.registry import Family

WEIGHTS = ("problem", "uniform")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+=,-]*")  # labels are names of files, too


@dataclass(frozen=True, eq=False)
class Contender:
    """A policy, its model and its initial design; what is left out takes its default.

    Args:
        policy: A registry name, with options if you like, or an object.
        model: A registry name, with options if you like, or an object; by default the one that the policy is
            usually used with.
        initial (number, design or list of pairs): The initial design, as in `Study`.
        label: What results call the contender.
    """

    policy: str | Policy
    model: str | Model[Any] | None = None
    initial: object = None
    label: str = ""

    def __post_init__(self) -> None:
        registry.choose(self.policy, self.model)
        _check_initial(self.initial)
        label = _name(self.policy) if isinstance(self.label, str) and not self.label else self.label
        if not isinstance(label, str) or not _LABEL.fullmatch(label):
            raise InputError(
                f"label={label!r} is not a label. Use letters, digits and . _ : + = , -, and begin with a "
                "letter or a digit."
            )
        object.__setattr__(self, "label", label)

    @classmethod
    def named(cls, name: str, *, model: str | None = None, initial: object = None) -> "Contender":
        """Return the contender called POLICY or POLICY:MODEL.

        Options follow the name they belong to, as in ``top-two:beta=0.3:additive-gp:noise=pooled``.

        Args:
            name: The name.
            model: The model where none is in the name.
            initial (number, design or list of pairs): The initial design, as in `Study`.
        """
        if not isinstance(name, str):
            raise InputError(
                f"{name!r} is not a contender: expected POLICY, POLICY:MODEL or a Contender. Put a policy "
                "of your own into Contender(policy, model)."
            )
        policy, *own = options.segments(name)
        if own == [""]:
            raise InputError(f"{name!r} names no model after the colon. Name one, or leave out the colon.")
        return cls(policy, ":".join(own) or model, initial, name)

    @property
    def model_name(self) -> str:
        """The registry name of the model, or the name of its class."""
        if self.model is not None:
            return _name(self.model)
        return registry.usual_model(self.policy)

    def make(self) -> tuple[Policy, Model[Any]]:
        """Return the policy and the model."""
        return registry.choose(self.policy, self.model)

    def plain(self) -> dict[str, Any]:
        """Return the contender as JSON-ready values."""
        return {
            "policy": text(self.policy),
            "model": text(self.model) if self.model is not None else self.model_name,
            "initial": _initial_text(self.initial),
        }


@dataclass(frozen=True, eq=False)
class Experiment:
    """R macro-replications of every contender, each of so many ``replications`` after its initial design.

    Macro-replication r is the live study with the seed ``streams.roots(seed, r)``: contenders meet the same
    noise in the n-th replication of a pair.

    Args:
        problem: A registry name, a `Problem` with known truth and a simulator, or a family of problems, of
            which every macro-replication draws its own.
        contenders: What is compared: names such as "ikg" or "ikg:gp", or `Contender`.
        replications: How many replications follow the initial design.
        macroreps: How many macro-replications.
        initial (number, design or list of pairs): The initial design of all contenders without one of their
            own: None is the problem's, "auto" what a study with a budget of twice the ``replications``
            chooses.
        refit_every: After how many replications hyper-parameters are learned again; "auto": as the model
            asks.
        seed: The root of all random numbers.
        checkpoint_every: After how many replications the selections are scored.
        weights: How much each context counts: "problem" as the problem says, or "uniform".
        delta: How far from the best a selection may be and still count as good.
        integrate: Whether claims average over what the data leave possible, as `Study.certificate` does; that
            takes many times as long.
        certify: Whether every checkpoint has the claims of a certificate that takes the hyper-parameters for
            known; that can take longer than the decisions.
        common_random_numbers: Whether the n-th replication of every alternative in a context has the same
            seed; None: yes, unless there are limits.
        question (name or question): What is to be chosen (`argbest.questions`), by default what the problem
            asks.
        samples: The old name of ``replications``.
    """

    problem: str | Problem | Family
    contenders: tuple[Contender, ...]
    replications: int
    macroreps: int = 100
    initial: object = None
    refit_every: int | str = "auto"
    seed: int = 0
    checkpoint_every: int = 10
    weights: str = "problem"
    delta: float = 0.0
    integrate: bool = False
    certify: bool = False
    common_random_numbers: bool = True
    question: Any = None

    def __init__(
        self,
        problem: str | Problem | Family,
        contenders: str | Contender | Iterable[str | Contender],
        *,
        replications: int | None = None,
        macroreps: int = 100,
        initial: object = None,
        refit_every: int | str = "auto",
        seed: int = 0,
        checkpoint_every: int = 10,
        weights: str = "problem",
        delta: float = 0.0,
        integrate: bool = False,
        certify: bool = False,
        common_random_numbers: bool | None = None,
        question: object = None,
        samples: int | None = None,
    ) -> None:
        if samples is not None:
            warn_of_old_name("Experiment(samples=...)", "Experiment(replications=...)")
        one_of("weights", weights, WEIGHTS)
        _check_initial(initial)
        self.__dict__.update(  # the one way to set a field of a frozen instance
            problem=_source(problem),
            contenders=_contenders(contenders),
            replications=_length(replications, samples),
            macroreps=whole("macroreps", macroreps, at_least=1, at_most=10**6),
            initial=initial,
            refit_every=schedule.checked("refit_every", refit_every),
            seed=whole("seed", seed, at_least=0, below=2**64),
            checkpoint_every=whole("checkpoint_every", checkpoint_every, at_least=1),
            weights=weights,
            delta=indifference_zone(delta),
            integrate=flag("integrate", integrate),
            certify=flag("certify", certify) or integrate,
            question=None if question is None else question_of(question),
        )
        if common_random_numbers is None:
            common_random_numbers = self.first_problem().common_random_numbers
        self.__dict__["common_random_numbers"] = flag("common_random_numbers", common_random_numbers)

    @property
    def samples(self) -> int:
        """Deprecated: the name of `replications` in version 0.2."""
        warn_of_old_name("samples", "replications")
        return self.replications

    @property
    def checkpoints(self) -> IntArray:
        """The numbers of replications after which selections are scored, 0 and the last included."""
        return checkpoints(self.replications, self.checkpoint_every)

    @property
    def name(self) -> str:
        """The name of the problem."""
        return self.problem if isinstance(self.problem, str) else self.problem.name

    def problems(self, roots: Sequence[int]) -> list[Problem]:
        """Return the problem of each macro-replication; the same object where it is one for all.

        Args:
            roots: The root of each macro-replication.
        """
        source = (
            registry.problem_entry(self.problem).make() if isinstance(self.problem, str) else self.problem
        )
        if isinstance(source, Problem):
            return [self._asked(source)] * len(roots)
        return [self._asked(source.draw(int(root))) for root in roots]

    def first_problem(self) -> Problem:
        """Return the problem of macro-replication 0."""
        return self.problems(streams.roots(self.seed, np.arange(1)).tolist())[0]

    def design(self, contender: Contender, problem: Problem) -> Design:
        """Return the contender's initial design: its own, or one as large as that of all contenders.

        Args:
            contender: Whose design.
            problem: What is simulated.
        """
        if contender.initial is not None:
            return self._meant(contender.initial, contender, problem)
        usual: Design = EveryPair(2)
        if self.initial is not None:
            usual = self._meant(self.initial, contender, problem)
        elif isinstance(self.problem, str):
            usual = registry.problem_entry(self.problem).initial
        special = registry.policy(contender.policy).initial if isinstance(contender.policy, str) else None
        if special is None:
            return usual
        return special(problem, len(usual.pairs(problem, np.random.default_rng(0))))

    def _meant(self, given: object, contender: Contender, problem: Problem) -> Design:
        """Return the design given; "auto" is half of a budget whose other half are the ``replications``."""
        if is_auto(given):
            return for_model(contender.make()[1], problem, 2 * self.replications)
        return design(given)

    def plain(self) -> dict[str, Any]:
        """Return what decides the numbers, apart from contenders and macro-replications, JSON-ready."""
        shared = {"common_random_numbers": True} if self.common_random_numbers else {}  # 0.1 knows none
        return {
            **shared,
            "seeds": streams.NEW_STUDIES,  # earlier versions derived others
            "problem": lasting(self.problem) if isinstance(self.problem, str) else _described(self.problem),
            "initial": _initial_text(self.initial),
            **{
                name: getattr(self, name)
                for name in ("replications", "refit_every", "seed", "checkpoint_every", "weights", "delta")
            },
            # What was stored before there was a choice stays.
            **({} if self.question is None else {"question": title(self.question)}),
            **({"integrate": True} if self.integrate else {}),
            **({} if self.certify else {"certify": False}),
        }

    def _asked(self, problem: Problem) -> Problem:
        weighted = self._weighted(problem)
        return weighted if self.question is None else weighted.asking(self.question)

    def _weighted(self, problem: Problem) -> Problem:
        if self.weights == "problem":
            return problem
        same = (
            *("goal", "limits", "price", "responses", "truth", "truth_se", "noise_sd"),
            *("name", "description", "reward", "unit", "reward_range", "rate", "question"),
        )
        return Problem(
            problem.alternatives,
            problem.contexts,
            problem.simulate,
            bounds=problem.bounds,
            **{name: getattr(problem, name) for name in same},
        )


def _length(replications: int | None, samples: int | None) -> int:
    """Return the replications after the initial design, whichever of the two names they were given by."""
    if replications is not None and samples is not None:
        raise InputError(
            f"got replications={replications!r} and samples={samples!r}, two names of one number. Leave out "
            "samples."
        )
    given = samples if replications is None else replications
    if given is None:
        raise InputError(
            "got no replications. Say how many follow the initial design, as Experiment(..., "
            "replications=200)."
        )
    return whole("replications", given, at_least=0, at_most=10**8)


def _check_initial(given: object) -> None:
    if given is not None and not is_auto(given):
        design(given)


def _initial_text(given: object) -> str | None:
    return None if given is None else AUTO if is_auto(given) else text(design(given))


def checkpoints(replications: int, every: int) -> IntArray:
    """Return 0, every, 2 every, ... up to the number of replications, and that number itself."""
    return np.union1d(np.arange(0, replications + 1, every), [replications])


def _source(problem: object) -> object:
    """Return the problem, after checking that it can be run and scored."""
    if isinstance(problem, str):
        registry.problem_entry(problem)
    elif isinstance(problem, Problem):
        _check_known(problem, f"problem {problem.name!r}")
    elif not hasattr(problem, "draw"):
        raise InputError(
            f"problem={problem!r} is neither a registered name, nor an argbest.Problem, nor a family of "
            "problems with the method draw(seed)."
        )
    elif isinstance(problem, type):
        raise InputError(
            f"problem={problem!r} is a class of families. Give one of them, as {problem.__name__}()."
        )
    else:
        _check_family(problem)
    return problem


def _check_known(problem: Problem, what: str) -> None:
    missing = [name for name in ("simulate", "truth") if getattr(problem, name) is None]
    if missing:
        raise InputError(
            f"{what} has no {' and no '.join(missing)}; an experiment simulates and scores against the "
            "truth. Give the problem both."
        )


def _check_family(family: Any) -> None:
    """Raise an InputError unless two draws are problems that can be run side by side."""
    name = getattr(family, "name", None)
    if not isinstance(name, str) or not name:
        raise InputError(f"the family {family!r} has the name {name!r}. Give it the attribute name, a text.")
    drawn = [family.draw(seed) for seed in (0, 1)]
    for seed, problem in enumerate(drawn):
        if not isinstance(problem, Problem):
            raise InputError(
                f"draw({seed}) of the family {name!r} returned {type(problem).__name__}; expected an "
                "argbest.Problem."
            )
        _check_known(problem, f"draw({seed}) of the family {name!r}")
    first, second = ((each.shape, each.goal, each.weights.tolist()) for each in drawn)
    for what, one, other in zip(("shape", "goal", "weights"), first, second, strict=True):
        if one != other:
            raise InputError(
                f"the family {name!r} has the {what} {one} for seed 0 and {other} for seed 1; problems that "
                f"run side by side share their {what}. Let the truth alone depend on the seed."
            )


def _contenders(given: object) -> tuple[Contender, ...]:
    listed = [given] if isinstance(given, str | Contender) else entries(given)
    if listed is None:
        raise InputError(
            f"contenders={given!r} is not a list of contenders. Name policies, as ['gp-c-ocba']."
        )
    contenders = tuple(each if isinstance(each, Contender) else Contender.named(each) for each in listed)
    if not contenders:
        raise InputError("got no contenders. Name at least one policy.")
    labels = [each.label for each in contenders]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(
                f"{labels.count(label)} contenders are labelled {label!r}; results need distinct names. "
                "Name a policy once per model, as POLICY:MODEL, or label them yourself."
            )
    return contenders


def _name(thing: object) -> str:
    return thing if isinstance(thing, str) else type(thing).__name__


def _described(problem: Problem | Family) -> str:
    """Return the name, and a digest of all that the problem is made of."""
    if not isinstance(problem, Problem):
        return f"{problem.name} {digest(text(problem))}"
    parts = {each.name: getattr(problem, each.name) for each in fields(problem) if each.name != "description"}
    # Results that were stored before there were rates and titles are still found.
    if not problem.rate:
        del parts["rate"]
    if problem.question == BEST:
        del parts["question"]
    if problem.name == labels.title(problem.simulate, problem.alternatives, problem.contexts):
        parts["name"] = labels.UNNAMED
    return f"{parts['name']} {digest(text(parts))}"
