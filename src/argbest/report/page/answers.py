"""The answer of a study in sentences: what to choose, how surely, what is open, what could not be done."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby, islice
from typing import Any

import numpy as np
import pandas as pd

from argbest.core.certificate import Certificate
from argbest.core.states import EQUAL, LEVEL, OPEN, SURE
from argbest.problems.axis import Axis, Label
from argbest.report import curves
from argbest.study import guarantee
from argbest.study.study import Study

MOST_SET_ASIDE = 100  # pairs named in the page
_MOST_NAMED = 5  # contexts in a sentence
_MOST_OUTRIGHT = 8  # contexts whose choices are said one by one


def answer(study: Study, selection: pd.DataFrame, certificate: Certificate) -> list[str]:
    """Return the answer in sentences: what to choose, how surely, where that is open, what is missing."""
    one, found = len(selection) == 1, selection[selection["selected"].notna()]
    average, worst = float(certificate.pcs_e), float(certificate.pcs_m)
    this = "this is" if one else "these choices are"
    over = "" if one else f" on average over contexts and {_chance(worst)} in the worst"
    sure = (
        f"After {count(study.n_observations, 'replication')} {this} best with probability "
        f"{_chance(average)}{over}."
    )
    said = [
        _choice(study, found),
        _unanswered(study, selection),
        sure,
        _open(study, selection),
        _guaranteed(study),
        _design(study),
        _impossible(study),
    ]
    return [sentence for sentence in said if sentence]


def names(axis: Axis) -> dict[Any, str]:
    """Return what to call each entry of an axis in a sentence: numbers need a word before them."""
    word = f"{axis.kind} " if _worded(axis) else ""
    return {label: f"{word}{name}" for label, name in zip(axis.labels, _in_words(axis), strict=True)}


def short(axis: Axis) -> list[str]:
    """Return a short label per entry, as `curves.row_labels`, with booleans as the page writes them."""
    if axis.named or not axis.columns:
        return _shorten(axis.labels)
    return [", ".join(parts) for parts in zip(*map(_shorten, axis.columns.values()), strict=True)]


def count(n: int, noun: str) -> str:
    """Return texts such as "1 context" and "2,000 contexts"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def set_aside(study: Study) -> str:
    """Return a sentence on the pairs that are not asked for any more; nothing where there are none."""
    places = _places_aside(study)
    total = sum(map(len, places.values()))
    if not total:
        return ""
    called, where, left, parts = _called(study), _in_words(study.problem.contexts), MOST_SET_ASIDE, []
    for k, contexts in places.items():
        if left > 0:
            named = [where[c] for c in contexts[:left]]
            parts.append(f"{called[k]} in {_contexts(study, named, most=len(named))}")
        left -= len(contexts)
    more = f"; and {-left:,} more" if left < 0 else ""
    are = "is" if total == 1 else "are"
    return f"{count(total, 'pair')} {are} set aside after failing again and again: {'; '.join(parts)}{more}."


def _choice(study: Study, selection: pd.DataFrame) -> str:
    """Return what to choose: outright along a line of few contexts, otherwise how often.

    ``selection`` holds the contexts that have an answer.
    """
    called = names(study.problem.alternatives)
    chosen = Counter(called[label] for label in selection["selected"])
    (first, most), n = chosen.most_common(1)[0], len(selection)
    if n == 1:
        return f"Choose {first}."
    if len(chosen) == 1:
        those = "" if n == study.problem.n_contexts else " that have an answer"
        return f"Choose {first} in every one of the {n} contexts{those}."
    if n <= _MOST_OUTRIGHT and _ordered(study.problem.contexts):
        return _outright(study, selection)
    if len(chosen) <= 3:
        parts = [f"{label} in {number}" for label, number in chosen.most_common()]
        return f"Of {n} contexts choose " + ", ".join(parts[:-1]) + f" and {parts[-1]}."
    often = f", {first} most often, in {most} of {n} contexts" if most > 1 else ""
    return (
        f"The best choice depends on the context: {len(chosen)} of {study.problem.n_alternatives} "
        f"alternatives are chosen somewhere{often}."
    )


def _ordered(axis: Axis) -> bool:
    """Return whether the entries are known by one number each, and numbers have an order here."""
    if len(axis.coordinates) > 1 or (axis.named and axis.columns):
        return False
    return any(not isinstance(values[0], bool) for values in axis.metric.values())


def _outright(study: Study, selection: pd.DataFrame) -> str:
    """Return the choice at every context, in order; what all have in common is said with the first.

    Neighbours with the same choice are told together: "2 at rate 10 to 20 and 3 at 30".
    """
    contexts, alternatives = study.problem.contexts, study.problem.alternatives
    (coordinate,) = contexts.coordinates
    called, where, selected = names(alternatives), short(contexts), selection["selected"].to_dict()
    order = [c for c in curves.side(contexts).order.tolist() if c in selected]
    parts: list[str] = []
    for label, run in groupby(order, key=lambda c: selected[c]):
        ends = [where[c] for c in run]
        at = ends[0] if len(ends) == 1 else f"{ends[0]} to {ends[-1]}"
        name = called[label]
        if parts and _worded(alternatives):
            name = name.removeprefix(f"{alternatives.kind} ")
        parts.append(f"{name} at {at}" if parts else f"{name} at {coordinate} {at}")
    return f"Choose {', '.join(parts[:-1])} and {parts[-1]}."


def _unanswered(study: Study, selection: pd.DataFrame) -> str:
    """Return a sentence on the contexts without an answer; nothing where there are none."""
    words = _in_words(study.problem.contexts)
    where = [words[c] for c in np.flatnonzero(selection["selected"].isna())]
    if not where:
        return ""
    have = "has" if len(where) == 1 else "have"
    return (
        f"{len(where)} of {count(len(words), 'context')} {have} no answer, for every alternative failed "
        f"there: {_listed(study, where)}."
    )


def _open(study: Study, selection: pd.DataFrame) -> str:
    """Return sentences on the contexts that are sure, equal and open."""
    words, zone = _in_words(study.problem.contexts), f"{study.indifference():.3g}"
    where = {
        name: [words[c] for c in np.flatnonzero(selection["state"] == name)] for name in (SURE, EQUAL, OPEN)
    }
    n = sum(map(len, where.values()))
    if len(words) == 1 and where[EQUAL]:
        return f"It is not sure, but within {zone} of the best with probability {LEVEL:g} or more."
    if len(words) == 1:
        return f"It is open: the probability is below {LEVEL:g}." if where[OPEN] else ""
    if len(where[SURE]) == n:
        which = "All" if n == len(words) else "All other"
        return f"{which} contexts are sure: the probability is {LEVEL:g} or more."
    said = [f"Of {n} contexts {len(where[SURE])} {_are(where[SURE])} sure (probability {LEVEL:g} or more)"]
    if where[EQUAL]:
        said.append(
            f"{len(where[EQUAL])} equal (within {zone} of the best with that probability): "
            f"{_listed(study, where[EQUAL])}"
        )
    if where[OPEN]:
        said.append(f"{len(where[OPEN])} open: {_listed(study, where[OPEN])}")
    return "; ".join(said) + "."


def _are(some: Sequence[str]) -> str:
    return "is" if len(some) == 1 else "are"


def _guaranteed(study: Study) -> str:
    """Return a sentence on what holds whatever the model believes; nothing where that is nothing yet."""
    found = guarantee.planned(study)
    return f"Without a model, from the data alone: {found}." if found.n_certified else ""


def _design(study: Study) -> str:
    """Return a sentence on an initial design that is not finished."""
    if not study.n_waiting:
        return ""
    return f"The initial design is not finished: {count(study.n_waiting, 'simulation')} of it to come."


def _impossible(study: Study) -> str:
    """Return a sentence on the alternatives that could not be simulated somewhere."""
    places, told = _places_aside(study), study.tally.count
    called, where = _called(study), _in_words(study.problem.contexts)
    parts = []
    for k, contexts in islice(places.items(), _MOST_NAMED):
        some = [where[c] for c in contexts if told[k, c]]
        never = [where[c] for c in contexts if not told[k, c]]
        said = [f"kept failing in {_contexts(study, some)}"] if some else []
        if never:
            said.append(f"could not be simulated in {_contexts(study, never)} and is not selected there")
        parts.append(f"{called[k]} {', and '.join(said)}")
    if not parts:
        return ""
    more = len(places) - len(parts)
    text = "; ".join(parts) + (f"; so it went with {count(more, 'other alternative')}" if more else "")
    return f"{text[0].upper() if _worded(study.problem.alternatives) else text[0]}{text[1:]}."


def _places_aside(study: Study) -> dict[int, list[int]]:
    """Return the contexts in which each alternative is set aside."""
    problem, places = study.problem, dict[int, list[int]]()
    for alternative, context in study.set_aside:
        places.setdefault(problem.alternatives.index(alternative), []).append(problem.contexts.index(context))
    return places


def _called(study: Study) -> list[str]:
    return list(names(study.problem.alternatives).values())


def _contexts(study: Study, where: Sequence[str], *, most: int = _MOST_NAMED) -> str:
    return f"context{'' if len(where) == 1 else 's'} {_listed(study, where, most=most)}"


def _listed(study: Study, where: Sequence[str], *, most: int = _MOST_NAMED) -> str:
    """Return contexts one after the other, the first ones of many."""
    between = "; " if len(study.problem.contexts.columns) > 1 else ", "
    return between.join(where[:most]) + (" and others" if len(where) > most else "")


def _worded(axis: Axis) -> bool:
    """Return whether names of this axis begin with its kind."""
    return not (axis.named and isinstance(axis.labels[0], str))


def _in_words(axis: Axis) -> list[str]:
    """Return the short labels; several coordinates with their names, in brackets."""
    if axis.named or len(axis.columns) < 2:
        return short(axis)
    columns = [[f"{name} {each}" for each in _shorten(values)] for name, values in axis.columns.items()]
    return [f"({', '.join(parts)})" for parts in zip(*columns, strict=True)]


def _shorten(values: Sequence[Label]) -> list[str]:
    if isinstance(values[0], bool):
        return [str(value).lower() for value in values]
    return curves.shorten(values)


def _chance(p: float) -> str:
    """Return a probability with three digits; what data tell is never written as certain."""
    return "above 0.999" if p >= 0.9995 else f"{p:.3f}"
