"""The definition of a study as plain values: all that is fixed before its first trial, and back."""

import json
import uuid
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, TypeAlias

import numpy as np

from argbest import jsonable, registry, streams
from argbest import simulators as stored_simulators
from argbest.checks import flag, table, whole, within
from argbest.core import schedule
from argbest.core.abilities import offers
from argbest.core.question import BEST
from argbest.engine.step import shown_to_policies
from argbest.errors import InputError, StorageError, VersionNotice, unknown_name
from argbest.models.base import LearnsFromEarlier, Model
from argbest.options import POLICY, Given
from argbest.policies.base import Policy, refuse_other_questions
from argbest.problems import design as designs
from argbest.problems.axis import Axis, Kind
from argbest.problems.base import Problem, Simulate
from argbest.problems.design import AUTO, for_model, is_auto
from argbest.problems.population import People
from argbest.problems.prior_runs import PriorRuns
from argbest.questions import title
from argbest.storage.base import Plain


@dataclass(frozen=True, eq=False)
class Options:
    """What a study is told besides its problem, read and checked: for `Study` and for study files."""

    problem: Problem
    policy: Policy
    model: Model[Any]
    seed: int
    refit_every: int | str
    common_random_numbers: bool
    initial: list[list[int]] | str  # positions, and numbers of replications where given; or "auto"
    cost: Any  # a table, "measured" or None

    @classmethod
    def read(
        cls,
        problem: Problem,
        *,
        question: object = None,
        policy: Given | Policy = POLICY,
        model: Given | Model[Any] | None = None,
        initial: object = AUTO,
        seed: object = 0,
        refit_every: object = "auto",
        common_random_numbers: object = None,
        cost: object = None,
        where: str = "",
    ) -> "Options":
        """Return the options of `Study`; ``where`` is put before names in errors: "[study] " of a file."""
        if question is not None:
            with within(where and f"{where}question"):
                problem = problem.asking(question)
        chosen_policy, chosen_model = registry.choose(policy, model, where=where)
        refuse_other_questions(chosen_policy, shown_to_policies(problem.setting).question)
        with within(where and f"{where}model"):
            chosen_model.check(problem.shape, problem.setting)
            check_prior_runs(chosen_model, problem)
        root = whole(f"{where}seed", seed, at_least=0, below=2**64)
        every = schedule.checked(f"{where}refit_every", refit_every)
        common = problem.common_random_numbers
        if common_random_numbers is not None:
            common = flag(f"{where}common_random_numbers", common_random_numbers)
        with within(where and f"{where}initial"):
            design = _initial(initial, problem, root)
        table = _cost(cost, problem.shape)
        return cls(problem, chosen_policy, chosen_model, root, every, common, design, table)

    def n_designed(self, budget: int | None) -> int:
        """Return the number of replications of the initial design, for a budget where argbest chooses it."""
        if not isinstance(self.initial, str):
            return len(self.initial)
        return for_model(self.model, self.problem, budget).size(self.problem)

    def plain(self, plan: Mapping[str, Any] | None = None) -> Plain:
        """Return the definition of a study with these options: all that is fixed before its first trial."""
        return {
            "id": uuid.uuid4().hex,
            "problem": of_problem(self.problem),
            "simulator": stored_simulators.plain(self.problem.simulate),
            "policy": of_object(self.policy),
            "model": of_object(self.model),
            "initial": self.initial,
            "seed": self.seed,
            "seeds": streams.NEW_STUDIES,
            "refit_every": self.refit_every,
            "common_random_numbers": self.common_random_numbers,
            "cost": jsonable.encode(self.cost),
            "plan": _plan(plan),
        }


def check_prior_runs(model: Model[Any], problem: Problem) -> None:
    """Raise an InputError if there are prior runs that the model cannot learn from."""
    if (runs := problem.prior_runs) is None:
        return
    if not offers(model, LearnsFromEarlier):
        raise InputError(
            f"the study has prior runs, and its model {type(model).__name__} cannot learn from other "
            'sources. Choose model="additive-gp", or leave out prior_runs.'
        )
    model.check_earlier((problem.n_alternatives, problem.n_contexts + len(runs.contexts)))


def seed_rule(stored: Plain, shape: tuple[int, int]) -> streams.SeedRule:
    """Return how the study of a definition derives the seeds of its trials."""
    name = stored.get("seeds", streams.POSITION)  # studies up to version 0.2 do not say
    try:
        return streams.seed_rule(name, shape)
    except KeyError:
        raise StorageError(
            f"the study derives its seeds by the rule {name!r}, which this version of argbest does not know. "
            "Open it with the version that made it, or a newer one."
        ) from None


def design(stored: Plain) -> list[tuple[int, int]] | None:
    """Return the initial design of a definition as positions of pairs, None if it is fixed later."""
    return None if is_auto(stored["initial"]) else [(int(k), int(c)) for k, c, *_ in stored["initial"]]


def numbers(stored: Plain) -> list[int] | None:
    """Return the replication number of each pair of the initial design if they are stored; None: 0, 1, ..."""
    given = [] if is_auto(stored["initial"]) else stored["initial"]
    return [int(number) for _, _, number in given] if given and len(given[0]) > 2 else None


def _initial(given: object, problem: Problem, seed: int) -> list[list[int]] | str:
    """Return the initial design as positions, with a replication number where it says one; or "auto"."""
    if is_auto(given):
        return AUTO
    chosen = designs.design(given)
    pairs = chosen.pairs(problem, streams.generator(seed, streams.Purpose.DESIGN))
    numbers = chosen.numbers if offers(chosen, designs.NumbersReplications) else None
    if numbers is None:
        return [list(pair) for pair in pairs]
    return [[*pair, number] for pair, number in zip(pairs, numbers, strict=True)]


def _plan(given: object) -> Plain:
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"plan={given!r}; expected options of `run` by name, such as {{'budget': 200}}.")
    return dict(given or {})


def restored(
    stored: Plain, simulate: Simulate | None, policy: Policy | None, model: Model[Any] | None
) -> tuple[Problem, Policy, Model[Any]]:
    """Return the problem, the policy and the model of a definition; those given replace those stored."""
    if simulate is None and stored["simulator"] is not None:
        simulate = stored_simulators.simulator_from(stored["simulator"])
    problem = problem_from(stored["problem"], simulate)
    return problem, _object("policy", stored["policy"], policy), _object("model", stored["model"], model)


def policy_from(stored: Plain) -> Policy:
    """Return a policy of argbest that was stored in the course of a study."""
    policy: Policy = _object("policy", stored, None)
    return policy


def modern(stored: Plain, *, notify: bool) -> Plain:
    """Return a definition, stored by any version, as this version would store it.

    A model that no longer exists is replaced by its successor, with a notice, and ``succeeded`` holds the
    name of the old one.
    """
    if "class" not in stored["model"]:
        return stored
    options = {name: jsonable.decode(value) for name, value in stored["model"]["options"].items()}
    try:
        model, gone = registry.stored_model(stored["model"]["class"], options)
    except TypeError as error:
        raise jsonable.misfit(stored["model"]["class"], error) from error
    if not gone:
        return {**stored, "model": of_object(model)}
    if notify:
        words = (
            f"this study was made with the model {gone} of version 0.1, which is gone; additive-gp takes its "
            "place and learns from all replications again."
        )
        warnings.warn(words, VersionNotice, stacklevel=3)
    return {**stored, "model": of_object(model), "succeeded": gone}


def of_problem(problem: Problem) -> Plain:
    """Return a problem without its simulator."""
    return {
        **{name: getattr(problem, name) for name in ("name", "description", "reward")},
        "reward_range": _plain_range(problem.reward_range),
        # What was stored before there were units, rates, questions and several responses stays the same.
        **({"unit": problem.unit} if problem.unit else {}),
        **({"rate": jsonable.values(problem.rate)} if problem.rate else {}),
        **({"responses": list(problem.responses)} if problem.responses else {}),
        **({"limits": [str(limit) for limit in problem.limits]} if problem.limits else {}),
        **({} if problem.price is None else {"price": problem.price}),
        **({} if problem.question == BEST else {"question": title(problem.question)}),
        "goal": problem.goal,
        "alternatives": _of_axis(problem.alternatives),
        "contexts": _of_axis(problem.contexts),
        "weights": problem.weights.tolist(),
        "bounds": {name: list(pair) for name, pair in problem.bounds.items()},
        **{name: jsonable.encode(getattr(problem, name)) for name in ("truth", "truth_se", "noise_sd")},
        **({} if problem.prior_runs is None else {"prior_runs": _of_prior_runs(problem.prior_runs)}),
    }


def _of_prior_runs(runs: PriorRuns) -> Plain:
    return {**runs.plain(), "contexts": _of_axis(runs.contexts)}


def problem_from(stored: Plain, simulate: Any) -> Problem:
    """Return the problem stored, with a simulator."""
    problem = Problem(
        _axis("alternative", stored["alternatives"]),
        _axis("context", stored["contexts"]),
        simulate,
        goal=stored["goal"],
        bounds={name: tuple(pair) for name, pair in stored["bounds"].items()},
        name=stored["name"],
        description=stored["description"],
        reward=stored["reward"],
        unit=stored.get("unit"),
        reward_range=stored.get("reward_range"),  # version 0.1 knows none
        rate=stored.get("rate", False),
        responses=stored.get("responses"),
        limits=stored.get("limits"),
        price=stored.get("price"),
        question=stored.get("question"),
        **{name: jsonable.decode(stored[name]) for name in ("truth", "truth_se", "noise_sd")},
    )
    # Divided by their sum once more, weights could move in the last digit.
    weights = np.array(stored["weights"])
    weights.flags.writeable = False
    problem.__dict__["weights"] = weights
    if (runs := stored.get("prior_runs")) is not None:
        problem = problem.beginning_with(PriorRuns.from_plain(runs, _axis("context", runs["contexts"])))
    return problem


def _plain_range(given: Any) -> Any:
    """Return the range of rewards, or those of several responses by name, with lists for tuples."""
    if isinstance(given, dict):
        return {name: list(each) for name, each in given.items()}
    return None if given is None else list(given)


def of_object(thing: object) -> Plain:
    """Return a policy or a model: its class and its options, or for one that is not ours its name alone."""
    kind = type(thing)
    name = registry.class_name(kind) if is_dataclass(thing) else None
    if name is None:
        return {"foreign": f"{kind.__module__}.{kind.__qualname__}"}
    return {"class": name, "options": jsonable.encode_fields(thing)}


def _cost(given: object, shape: tuple[int, int]) -> Any:
    """Return a table of positive costs, "measured", or None where all cost alike."""
    if given is None or (isinstance(given, str) and given == "measured"):
        return given
    if isinstance(given, str):
        raise unknown_name("cost", given, ("measured", "a table [alternative, context]"))
    return table("cost", given, shape, above=0)


def _object(what: str, stored: Plain, given: Any) -> Any:
    """Return the policy or the model that was stored, or the one given in its place."""
    if given is not None:
        return given
    if "foreign" in stored:
        raise InputError(
            f"the {what} of this study, {stored['foreign']}, is not one of argbest's, so no command "
            f"can open it. Load it in Python, with the {what} given again."
        )
    return jsonable.decode_fields(registry.stored_class(stored["class"]), stored["options"])


def _of_axis(axis: Axis) -> Plain:
    """Return the alternatives or the contexts as plain values."""
    columns = {name: list(values) for name, values in axis.columns.items()}
    return {
        "labels": list(axis.labels),
        "columns": columns,
        "named": axis.named,
        "categorical": sorted(axis.categorical),
        "word": axis.word,
        **({} if axis.people is None else {"people": axis.people.plain()}),
    }


def _axis(kind: Kind, stored: Plain) -> Axis:
    """Return the alternatives or the contexts that `_of_axis` described."""
    columns = {name: tuple(values) for name, values in stored["columns"].items()}
    declared = frozenset(stored.get("categorical", ()))  # studies of version 0.1 know none
    people = People.from_plain(stored["people"]) if "people" in stored else None
    labels, word = tuple(stored["labels"]), stored.get("word", "")
    return Axis(kind, labels, columns, stored["named"], declared, word, people)


_COMPARED_OF_PROBLEM = (
    *("goal", "limits", "price", "responses", "weights", "bounds", "reward_range", "rate", "question"),
)
_COMPARED = ("policy", "model", "seed", "refit_every", "common_random_numbers", "cost")
_LONGEST = 200  # characters of a value


_Difference: TypeAlias = tuple[str, object, object]  # what differs, as it is stored, as it is described


def grown(stored: Plain, problem: Problem, described: Plain) -> Plain:
    """Return the definition that a study would have if it had begun with the table that it has now.

    Its initial design and its costs are taken from the one ``described``: both depend on the table.
    """
    return {**stored, "problem": of_problem(problem), **{n: described[n] for n in ("initial", "cost")}}


def differences(
    stored: Plain, described: Plain, *, says: str = "the file says", rows: bool = True
) -> list[str]:
    """Return how a described study differs from the stored one; names, simulators and plans may differ.

    ``says`` stands before what is described. Without ``rows`` the rows and the weights may differ; if rows
    do, also what depends on them: bounds, costs and the initial design.
    """
    old, new = (json.loads(json.dumps(each)) for each in (stored, described))
    of_rows = list(_row_differences(old["problem"], new["problem"]))
    ignored = () if rows else ("weights", "bounds", "cost", "initial") if of_rows else ("weights",)
    of_problem = tuple(name for name in _COMPARED_OF_PROBLEM if name not in ignored)
    found = [
        *_value_differences(old["problem"], new["problem"], of_problem),
        *_column_differences(old["problem"], new["problem"]),
        *(of_rows if rows else ()),
        *_prior_run_differences(old["problem"].get("prior_runs"), new["problem"].get("prior_runs")),
        *_value_differences(old, new, tuple(name for name in _COMPARED if name not in ignored)),
        *(() if "initial" in ignored else _design_differences(old["initial"], new["initial"])),
    ]
    return [f"{what}: stored is {was}, {says} {now}" for what, was, now in found]


def _value_differences(old: Plain, new: Plain, names: tuple[str, ...]) -> Iterator[_Difference]:
    """Yield which of these values differ."""
    for name in names:
        if old.get(name) != new.get(name):
            yield name, _value(old.get(name)), _value(new.get(name))


def _column_differences(old: Plain, new: Plain) -> Iterator[_Difference]:
    """Yield how the columns of alternatives and contexts differ."""
    for name in ("alternatives", "contexts"):
        for key, what in (("columns", "columns"), ("categorical", "categorical columns")):
            was, now = (list(each[name].get(key, ())) for each in (old, new))
            if was != now:
                yield f"{what} of {name}", ", ".join(was) or "none", ", ".join(now) or "none"


def _row_differences(old: Plain, new: Plain) -> Iterator[_Difference]:
    """Yield how alternatives and contexts differ: in their number, or where they first do."""
    for name in ("alternatives", "contexts"):
        was, now = _rows(old[name]), _rows(new[name])
        if len(was) != len(now):
            yield f"the number of {name}", len(was), len(now)
        elif list(old[name]["columns"]) == list(new[name]["columns"]) and was != now:
            at = next(i for i, row in enumerate(was) if row != now[i])
            yield f"number {at + 1} of the {name}", _value(was[at]), _value(now[at])


def _rows(axis: Plain) -> list[Any]:
    """Return every label, with its row where there are columns."""
    if not axis["columns"]:
        return list(axis["labels"])
    values = zip(*axis["columns"].values(), strict=True)
    rows = [dict(zip(axis["columns"], row, strict=True)) for row in values]
    if not axis["named"]:
        return rows
    return [{"label": label, **row} for label, row in zip(axis["labels"], rows, strict=True)]


def _prior_run_differences(old: Plain | None, new: Plain | None) -> Iterator[_Difference]:
    """Yield whether prior runs differ."""
    if old != new:
        was, now = ("none" if each is None else f"{sum(each['count'])} runs" for each in (old, new))
        yield "the prior runs", was, "other ones" if was == now else now


def _design_differences(old: list[Any] | str, new: list[Any] | str) -> Iterator[_Difference]:
    """Yield how the initial design differs: in its number of replications, or in its pairs."""
    if isinstance(old, str) or isinstance(new, str):
        if old != new:
            was, now = (each if isinstance(each, str) else f"{len(each)} replications" for each in (old, new))
            yield "the initial design", was, now
    elif len(old) != len(new):
        yield "the initial design", f"{len(old)} replications", f"{len(new)}"
    elif old != new:
        yield "the initial design", "other pairs", "these"


def _value(given: Any) -> str:
    """Return a value as text; a policy or a model as its class, with options if it has some."""
    if isinstance(given, dict) and "class" in given:
        options = ", ".join(f"{name}={_value(value)}" for name, value in given["options"].items())
        text = f"{given['class']}({options})"
    else:
        text = json.dumps(given, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
