"""Pareto: which goals count, and which alternatives no other one beats in all of them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argbest.core.arrays import Array, BoolArray
from argbest.core.goals import Goal, Limit, Sum, quoted, read_goal
from argbest.errors import InputError

_SEPARATOR = re.compile(r",(?=(?:[^`]*`[^`]*`)*[^`]*$)")  # a comma that is not between backquotes


@dataclass(frozen=True)
class Pareto:
    """Which alternatives are non-dominated: no other is at least as good in every goal and better in one.

    Studies answer it; no policy decides for it.

    Args:
        of: The goals, such as ("min cost", "min wait"); without any, those that the goal and the limits of
            the study say.
    """

    name: ClassVar[str] = "pareto"
    of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.of, str) or not all(isinstance(each, str) for each in self.of):
            raise InputError(f"got of={self.of!r}; expected goals such as ('min cost', 'min wait').")
        object.__setattr__(self, "of", tuple(each.strip() for each in self.of))

    def __str__(self) -> str:
        return f"{self.name}:{','.join(self.of)}" if self.of else self.name

    def goals(self, aim: Goal, limits: Iterable[Limit], responses: tuple[str, ...]) -> tuple[Goal, ...]:
        """Return what is to be large or small, at least two; refused where that would have to be guessed.

        Args:
            aim: The goal of the study.
            limits: The limits of the study.
            responses: The names of the responses.
        """
        if len(responses) < 2:
            raise InputError(
                "'pareto' compares several responses, and this study has "
                + (f"one, {quoted(responses[0])!r}. " if responses else "one number without a name. ")
                + "Let the simulator return a dict of several, such as {'cost': ..., 'wait': ...}."
            )
        found = tuple(read_goal(each, responses) for each in self.of) or _goals_of_study(
            aim, limits, responses
        )
        missing = next((each for each in found if each.sum is None), None)
        if missing is not None:
            raise InputError(f"'{self}': the goal '{missing}' names no response. {_example(responses)}")
        sums = [each.sum for each in found]
        if len(found) < 2 or len(set(sums)) < len(sums):
            raise InputError(
                f"'{self}' has {len(set(sums))} different "
                f"goal{'s' if len(set(sums)) > 1 else ''} of {len(sums)}; expected at least two, each once. "
                f"{_example(responses)}"
            )
        return found


def read_pareto(given: object) -> Pareto | None:
    """Return what a text ("pareto", "pareto:min cost,min wait"), a table or an object means.

    None if it names something else.
    """
    if isinstance(given, Pareto):
        return given
    if isinstance(given, Mapping) and given.get("name") == Pareto.name:
        if more := [str(name) for name in given if name not in ("name", "of")]:
            raise InputError(f"'pareto' has no option {more[0]!r}; expected of = ['min cost', 'min wait'].")
        return Pareto(tuple(given.get("of", ())))
    if not isinstance(given, str):
        return None
    name, _, rest = given.partition(":")
    if name.strip() != Pareto.name:
        return None
    return Pareto(tuple(_SEPARATOR.split(rest)) if rest.strip() else ())


def refuse_pareto(given: object) -> None:
    """Refuse "pareto" where a question is expected that policies can decide for."""
    found = read_pareto(given)
    if found is not None:
        raise InputError(
            f"'{found}' names no single choice, so no policy can decide for it. Run the study with a "
            "question such as 'best', and ask this one of what it then knows."
        )


def non_dominated(outcomes: Array, ruled_out: BoolArray | None = None) -> BoolArray:
    """Return which alternatives are non-dominated, [..., alternative, context].

    ``outcomes`` [..., outcome, alternative, context] count so that larger is better. Equal alternatives do
    not dominate each other. Those ``ruled_out`` [alternative, context] neither dominate nor count as
    non-dominated.
    """
    stays = np.ones((*outcomes.shape[:-3], *outcomes.shape[-2:]), bool)
    if ruled_out is not None:
        stays &= ~ruled_out
    # An alternative that dominates another also dominates all that the other one does. So those that are
    # dominated already can be skipped, and good ones come first, so that many are skipped.
    lead = tuple(range(outcomes.ndim - 3))
    middle = outcomes.mean(axis=lead)  # [outcome, alternative, context]
    rank = np.argsort(np.argsort(-middle, axis=-2), axis=-2).sum(axis=(0, 2))
    for k in np.argsort(rank, kind="stable").tolist():
        own = stays[..., k, :]
        if not own.any():
            continue
        ahead = outcomes[..., k, None, :]  # [..., outcome, 1, context]
        beaten = np.all(ahead >= outcomes, axis=-3) & np.any(ahead > outcomes, axis=-3)
        stays &= ~(beaten & own[..., None, :])
    return stays


def senses_of(aim: Goal, limits: Iterable[Limit], responses: tuple[str, ...]) -> dict[str, set[str]]:
    """Return "max", "min", both or none by response, from the signs in the goal and the limits of a study."""
    senses: dict[str, set[str]] = {name: set() for name in responses}
    for total, upwards in [
        (aim.sum, aim.sense == "max"),
        *((limit.sum, limit.sense == ">=") for limit in limits),
    ]:
        for name, factor in () if total is None else total.terms:
            senses[name].add("max" if (factor > 0) == upwards else "min")
    return senses


def _goals_of_study(aim: Goal, limits: Iterable[Limit], responses: tuple[str, ...]) -> tuple[Goal, ...]:
    """Return a goal for every response, with the only sense that the study gives it."""
    senses = senses_of(aim, limits, responses)
    for name, found in senses.items():
        if len(found) != 1:
            what = "do not say" if not found else "disagree on"
            raise InputError(
                f"'pareto' needs to know of every response whether it is to be large or small; the goal "
                f"and the limits {what} that of {quoted(name)!r}. {_example(responses)}"
            )
    return tuple(Goal(found.pop(), Sum(((name, 1.0),))) for name, found in senses.items())


def _example(responses: tuple[str, ...]) -> str:
    """Return how to ask it, with the responses that there are."""
    goals = ",".join(f"min {quoted(name)}" for name in responses[:2])
    known = ", ".join(map(quoted, responses))
    return f"Say it with min or max, as in 'pareto:{goals}'; the responses are {known}."
