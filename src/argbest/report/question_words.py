"""The question of a study as one would ask a colleague: with the user's own names and units."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from argbest.core.goals import Limit
from argbest.core.question import BEST
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.labels import word
from argbest.problems.units import of_column, of_sum, titled
from argbest.questions import asks
from argbest.questions import question as question_of
from argbest.texts import as_html, with_unit

Words: TypeAlias = list[tuple[str, bool]]  # text, and whether it is a name of the user's
_MOST_COLUMNS = 4  # named one by one
_LISTED_OF_MANY = 2


def asked(problem: Problem, question: object = None) -> Words:
    """Return "Which servers minimise cost per hour (dollars), for each rate (calls per hour)?" in parts.

    ``question`` is another one than that of the problem. One without words of its own here says what it asks
    in those of its documentation.
    """
    meant = problem.question if question is None else question_of(question)
    make = _BY_NAME.get(meant.name)
    if make is None or (problem.n_contexts == 1 and meant.name not in (BEST.name, "top")):
        return [(asks(meant), False)]
    said = make(_Parts(problem), meant)
    return [(text, name) for text, name in (*said, ("?", False)) if text]


def asked_pareto(problem: Problem, goals: str) -> Words:
    """Return "Which servers are non-dominated by min cost and min wait, for each rate?" in parts."""
    it = _Parts(problem)
    verb = " is" if it.ending else " are"
    by = [(f"{verb} non-dominated by ", False), (goals, True)]
    return [("Which ", False), (it.alternatives, True), *by, *it.where(f", {it.each}"), ("?", False)]


def plain(words: Words) -> str:
    """Return the question as text."""
    return "".join(text for text, _ in words)


def html(words: Words) -> str:
    """Return the question with the user's names emphasised."""
    return "".join(f"<em>{as_html(text)}</em>" if name else as_html(text) for text, name in words)


class _Parts:
    """The parts of all sentences: who is chosen, what for, and where."""

    def __init__(self, problem: Problem) -> None:
        self.alternatives = columns_in_words(problem, problem.alternatives)
        self.subject = titled(problem.subject, problem.goal_unit)
        several = len(_columns(problem.alternatives)) > 1 or _is_plural(word(problem.alternatives))
        self.ending = "" if several else "s"
        self.verb = f"{'max' if problem.sign > 0 else 'min'}imise"
        self.kept = _kept(problem, problem.limits)
        self.contexts = columns_in_words(problem, problem.contexts)
        self.alone = problem.n_contexts == 1
        self.each = "for each person, by " if problem.population is not None else "for each "

    def start(self, between: str = "") -> Words:
        """Return "Which servers minimise cost per hour and keep late <= 0.05"."""
        verb = f"{between} {self.verb}{self.ending} "
        return [("Which ", False), (self.alternatives, True), (verb, False), (self.subject, True), *self.keep]

    @property
    def keep(self) -> Words:
        return [(f" and keep{self.ending} ", False), (self.kept, True)] if self.kept else []

    def where(self, before: str) -> Words:
        """Return "for each rate"; nothing of one context alone."""
        return [] if self.alone else [(before, False), (self.contexts, True)]


_BY_NAME: dict[str, Callable[[_Parts, object], Words]] = {
    "best": lambda it, _: [*it.start(), *it.where(f", {it.each}")],
    "overall": lambda it, _: [*it.start(), *it.where(", averaged over every ")],
    "worst-case": lambda it, _: [*it.start(), *it.where(", in the worst ")],
    "regret": lambda it, _: [
        *[("Which ", False), (it.alternatives, True), (f" stay{it.ending} nearest to the best ", False)],
        *[(it.subject, True), *it.keep],
        *it.where(", in the worst "),
    ],
    "top": lambda it, asked: [
        *[(f"Which are the {asked.m} best ", False), (it.alternatives, True), (" by ", False)],  # type: ignore[attr-defined]
        *[(it.subject, True), *([(" that keep ", False), (it.kept, True)] if it.kept else [])],
        *it.where(f", {it.each}"),
    ],
    "most-probable-best": lambda it, _: [*it.start(" most often"), *it.where(", over every ")],
    "rule": lambda it, _: [
        *[("Which simple rule of ", False), (it.contexts, True), (" chooses the ", False)],
        *[(it.alternatives, True), (f" that {it.verb}{it.ending} ", False), (it.subject, True), *it.keep],
    ],
}


def columns_in_words(problem: Problem, axis: Axis) -> str:
    """Return what entries are known by: "rate (calls per hour) and site", or the word for one of them."""
    names = _columns(axis)
    if not names:
        return titled(word(axis), of_column(problem.unit, axis, axis.kind))
    said = [titled(name, of_column(problem.unit, axis, name)) for name in names]
    if len(said) > _MOST_COLUMNS:
        said = [*said[:_LISTED_OF_MANY], f"{len(said) - _LISTED_OF_MANY} more columns"]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def _columns(axis: Axis) -> Sequence[str]:
    return [] if axis.named else list(axis.columns)


def _kept(problem: Problem, limits: Sequence[Limit]) -> str:
    said = [with_unit(str(limit), of_sum(problem.unit, limit.sum)) for limit in limits]
    return " and ".join(said)


def _is_plural(noun: str) -> bool:
    return noun.endswith("s") and not noun.endswith(("ss", "us", "is"))
