"""What can be asked of a table of alternatives and contexts, by name, such as ``overall`` or ``top:m=3``.

`Best`, the best alternative of every context, is asked unless another question is named. Other packages add
questions by the entry point ``argbest.questions``; `OneForAll` and `WeighsContexts` are there to derive from.
"""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from argbest import named, options, plugins
from argbest.core.abilities import offers
from argbest.core.pareto import Pareto, refuse_pareto
from argbest.core.question import BEST, Best, Question
from argbest.core.questions.contexts import AsksAboutContexts, Contexts
from argbest.core.questions.one_for_all import (
    MostProbableBest,
    OneForAll,
    Overall,
    Regret,
    WeighsContexts,
    WorstCase,
)
from argbest.core.questions.rule import Rule
from argbest.core.questions.top import Top
from argbest.errors import InputError, unknown_name

__all__ = [
    "Best", "Contexts", "MostProbableBest", "OneForAll", "Overall", "Pareto", "Regret", "Rule", "Top",
    "WeighsContexts", "WorstCase",
]  # fmt: skip

Asked = Question | AsksAboutContexts  # what a user names, before it is put to the contexts of a problem

QUESTIONS: dict[str, Callable[[], Asked]] = {
    kind.name: kind for kind in (Best, Overall, WorstCase, Regret, Top, MostProbableBest, Rule)
}


def questions() -> dict[str, Callable[[], Asked]]:
    """Return what makes each question, by name: those that ship, and those of other packages."""
    return named.everything("questions", QUESTIONS, lambda made: made)


def question(given: object) -> Any:
    """Return the question meant by a name, with options if it has some, or by an object; None: `Best`."""
    if given is None:
        return BEST
    refuse_pareto(given)
    if isinstance(given, type) or offers(given, AsksAboutContexts) or offers(given, Question):
        if isinstance(given, type):
            raise InputError(f"question={given.__name__} is a class. Give an object, {given.__name__}().")
        return given
    name, chosen = options.parsed("question", given)
    if not named.known("questions", name, QUESTIONS):
        raise unknown_name("question", name, {*QUESTIONS, *plugins.found("questions"), Pareto.name})
    make = named.one("question", "questions", name, QUESTIONS, lambda made: made)
    return options.configured("question", name, make(), chosen)


def asks(given: object) -> str:
    """Return what a question asks, in the words of its documentation."""
    first = (inspect.getdoc(type(question(given))) or "").partition("\n\n")[0]
    return " ".join(first.split())


def title(asked: Any) -> str:
    """Return a question as one would name it, with those of its options that are not the usual ones."""
    options = (
        [(each.name, getattr(asked, each.name), each.default) for each in fields(asked)]
        if is_dataclass(asked)
        else []
    )
    chosen = ",".join(f"{name}={value}" for name, value, usual in options if value != usual)
    return f"{asked.name}:{chosen}" if chosen else str(asked.name)
