"""The answer of a study in sentences: how sure, what is open, what it would take, what failed."""

from collections.abc import Sequence
from itertools import islice

import numpy as np
import pandas as pd

from argbest.answers import forecasting, guarantee
from argbest.core.certificate import Certificate
from argbest.core.states import EQUAL, LEVEL, OPEN, SURE
from argbest.report.wording import count, names
from argbest.study.study import Study
from argbest.texts import chance

MOST_SET_ASIDE = 100  # pairs named in the page
_MOST_NAMED = 5  # contexts in a sentence
_LEVEL = f"{100 * LEVEL:.0f} %"


def answer(
    study: Study, selection: pd.DataFrame, certificate: Certificate, *, ahead: bool = False
) -> list[str]:
    """Return the answer in sentences, beside the choices: how surely, where that is open, what is missing.

    ``ahead`` adds what it would take to close what is open, where that can be worked out in a second or two.
    """
    said = [
        _standing(study, selection),
        _certainty(certificate) if len(selection) > 1 else "",
        _ahead(study, selection) if ahead else "",
        _unanswered(study, selection),
        _guaranteed(study),
        _design(study),
        _impossible(study),
    ]
    return [sentence for sentence in said if sentence]


def _standing(study: Study, selection: pd.DataFrame) -> str:
    """Return a sentence on how many contexts are sure, equal and open."""
    number = {name: int((selection["state"] == name).sum()) for name in (SURE, EQUAL, OPEN)}
    n, zone = sum(number.values()), f"{study.indifference():.2g}"
    after = f"After {count(study.n_observations, 'replication')}"
    if len(selection) == 1:
        state = next((name for name, some in number.items() if some), "without an answer")
        meaning = {SURE: "", EQUAL: f": within {zone} of the best", OPEN: f": below {_LEVEL} sure"}
        return f"{after} the choice is {state}{meaning.get(state, '')}."
    if number[SURE] == n:
        which = "" if n == len(selection) else " that have an answer"
        return f"{after} the choice is sure in all {n} contexts{which}: {_LEVEL} or more each."
    parts = [f"{number[SURE] or 'none'} of {count(n, 'context')} sure ({_LEVEL} or more)"]
    parts += [f"{number[EQUAL]} equal (within {zone} of the best)"] if number[EQUAL] else []
    parts += [f"{number[OPEN]} open"] if number[OPEN] else []
    return f"{after}: {', '.join(parts)}."


def _certainty(certificate: Certificate) -> str:
    average, worst = float(certificate.pcs_e), float(certificate.pcs_m)
    return (
        f"A choice is the best with probability {chance(average)} on average over contexts, and "
        f"{chance(worst)} in the worst."
    )


def _ahead(study: Study, selection: pd.DataFrame) -> str:
    """Return a sentence on how many more replications close what is open; nothing where that takes long."""
    if not (selection["state"] == OPEN).any():
        return ""
    found = forecasting.foreseen(study, LEVEL, worst=True, delta=study.indifference())
    if found is None or not found.samples:
        return ""
    goal = "to make every context sure or equal"
    if np.isinf(found.samples):
        return f"It may take more than {found.horizon:,} more replications {goal}."
    high = _round(found.high) if np.isfinite(found.high) else f"more than {found.horizon:,}"
    return (
        f"About {_round(found.samples)} more replications would be enough {goal} "
        f"(90 %: {_round(found.low)} to {high})."
    )


def _round(n: float) -> str:
    """Return a number with two digits that count."""
    return f"{float(f'{n:.2g}'):,.0f}"


def set_aside(study: Study) -> str:
    """Return a sentence on the pairs that are not asked for any more; nothing where there are none."""
    places = _places_aside(study)
    total = sum(map(len, places.values()))
    if not total:
        return ""
    called, where, left, parts = (
        names(study.problem.alternatives),
        names(study.problem.contexts),
        MOST_SET_ASIDE,
        [],
    )
    for k, contexts in places.items():
        if left > 0:
            named = [where[c] for c in contexts[:left]]
            parts.append(f"{called[k]} in {_listed(named, most=len(named))}")
        left -= len(contexts)
    more = f"; and {-left:,} more" if left < 0 else ""
    are = "is" if total == 1 else "are"
    return f"{count(total, 'pair')} {are} set aside after repeated failures: {'; '.join(parts)}{more}."


def _unanswered(study: Study, selection: pd.DataFrame) -> str:
    """Return a sentence on the contexts without an answer; nothing where there are none."""
    words = names(study.problem.contexts)
    where = [words[c] for c in np.flatnonzero(selection["selected"].isna())]
    if not where:
        return ""
    have = "has" if len(where) == 1 else "have"
    return (
        f"{len(where)} of {count(len(words), 'context')} {have} no answer, because every alternative failed "
        f"there: {_listed(where)}."
    )


def _guaranteed(study: Study) -> str:
    """Return a sentence on what holds whatever the model believes; nothing where that is nothing yet."""
    found = guarantee.planned(study)
    return f"Without a model, from the data alone: {found}." if found.n_certified else ""


def _design(study: Study) -> str:
    """Return a sentence on an initial design that is not finished."""
    if not study.n_queued:
        return ""
    return f"The initial design is not finished: {count(study.n_queued, 'simulation')} still to come."


def _impossible(study: Study) -> str:
    """Return a sentence on the alternatives that could not be simulated somewhere."""
    places, told = _places_aside(study), study.tally.count
    if not places:
        return ""
    called, where = names(study.problem.alternatives), names(study.problem.contexts)
    parts = []
    for k, contexts in islice(places.items(), _MOST_NAMED):
        some = [where[c] for c in contexts if told[k, c]]
        never = [where[c] for c in contexts if not told[k, c]]
        said = [f"kept failing in {_listed(some)}"] if some else []
        if never:
            said.append(f"could not be simulated in {_listed(never)} and is not selected there")
        parts.append(f"{called[k]} {', and '.join(said)}")
    more = len(places) - len(parts)
    return "; ".join(parts) + (f"; the same applies to {count(more, 'other alternative')}." if more else ".")


def _places_aside(study: Study) -> dict[int, list[int]]:
    """Return the contexts in which each alternative is set aside."""
    problem, places = study.problem, dict[int, list[int]]()
    for alternative, context in study.set_aside:
        places.setdefault(problem.alternatives.index(alternative), []).append(problem.contexts.index(context))
    return places


def _listed(where: Sequence[str], *, most: int = _MOST_NAMED) -> str:
    """Return contexts one after the other, the first ones of many."""
    between = "; " if any(", " in each for each in where) else ", "
    return between.join(where[:most]) + (" and others" if len(where) > most else "")
