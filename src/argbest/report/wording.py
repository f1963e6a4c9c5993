"""Alternatives, contexts, choices and the answer in plain words, with the user's own names."""

import math
from collections.abc import Sequence
from itertools import groupby, islice
from typing import NamedTuple

import numpy as np
import pandas as pd

from argbest.answers import doubts, frames, guarantee, people
from argbest.core.certificate import Certificate
from argbest.core.goals import Limit
from argbest.core.question import BEST
from argbest.core.states import EQUAL, LEVEL, NO_FEASIBLE, OPEN, SURE, contenders
from argbest.problems.axis import Axis, Label
from argbest.problems.labels import word
from argbest.report import curves
from argbest.report.grouped import grouped
from argbest.report.looks import middle_cut
from argbest.study.study import Study
from argbest.texts import chance, with_unit

_MOST_LINES = 12
_MOST_NAMED = 3  # in a line
_MOST_RUNNING = 6  # alternatives still in the running, by name
MOST_SET_ASIDE = 100  # pairs named in the page
_WORTH_A_WORD = 0.05  # probability of what is named beside a choice, with limits
_MOST_LISTED = 5  # contexts in a sentence
_LONGEST_NAME = 48  # columns of a name in a sentence
_LEVEL = f"{100 * LEVEL:.0f} %"


class Choice(NamedTuple):
    """A line of the answer: where, what to choose there, and how surely."""

    where: str  # "" where there is one context alone
    what: str
    how: str

    def __str__(self) -> str:
        return f"{self.where}{': ' if self.where else ''}{self.what}{self.how}"


def names(axis: Axis) -> list[str]:
    """Return what to call each entry in a sentence: "order 40", "rate 2, shift night", or its own name."""
    if axis.columns and not axis.named:
        columns = [[f"{name} {each}" for each in _whole(values)] for name, values in axis.columns.items()]
        return [", ".join(parts) for parts in zip(*columns, strict=True)]
    bare = _whole(axis.labels)
    return bare if isinstance(axis.labels[0], str) else [f"{word(axis)} {each}" for each in bare]


def count(n: int, noun: str) -> str:
    """Return texts such as "1 context" and "2,000 contexts"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def sure(p: float, *, at_least: bool = False) -> str:
    """Return texts such as "72 % sure", rounded down; what data tell is never written as certain."""
    if p >= 0.99:
        return "over 99 % sure"
    return f"{'at least ' if at_least else ''}{math.floor(100 * p + 1e-9)} % sure"


def zone_in_words(study: Study) -> str:
    """Return what does not matter, with its unit: "2.8 dollars"."""
    return with_unit(f"{study.indifference():.2g}", study.problem.goal_unit)


def choices(study: Study, *, most: int = _MOST_LINES) -> list[Choice]:
    """Return lines such as "demand 45: order 40 (99 % sure)"; contexts that agree share one.

    Of a population the rule that sums it up, then what is chosen in each of its groups.
    """
    if study.problem.population is not None:
        return [Choice(*line) for line in people.lines(study.view())]
    known, contexts = _Known(study), study.problem.contexts
    order = [c for c in curves.side(contexts).order.tolist() if known.state[c] is not None]
    alike = dict(enumerate(zip(known.selected, known.state, strict=True)))
    if ordered(contexts):  # neighbours
        groups = [list(run) for _, run in groupby(order, key=lambda c: alike[c])]
    else:
        together: dict[object, list[int]] = {}
        for c in order:
            together.setdefault(alike[c], []).append(c)
        groups = sorted(together.values(), key=len, reverse=True)
    alone = contexts.active.sum() == 1
    lines = [
        Choice("" if alone else _where(contexts, group), *known.choice(group)) for group in groups[:most]
    ]
    more = sum(map(len, groups[most:]))
    return lines + ([Choice(count(more, "more context"), "see the table", "")] if more else [])


def one_by_one(study: Study) -> list[str]:
    """Return the line of every context by itself."""
    known = _Known(study)
    return [
        f"{name}: no answer" if known.state[c] is None else str(Choice(name, *known.choice([c])))
        for c, name in enumerate(names(study.problem.contexts))
    ]


def in_the_running(study: Study) -> list[str]:
    """Return for every context the fewest alternatives that hold the best with probability 0.95.

    They come likeliest first, as one text; with limits that none keeps them counts, too.
    """
    certificate, labels = study.certificate(), [*curves.row_labels(study.problem.alternatives), "none"]
    chance_of = certificate.best_probability
    if study.problem.limits:
        chance_of = np.concatenate([chance_of, certificate.p_none_feasible[None]])
    order, sizes = contenders(chance_of, LEVEL)
    return [_few([labels[k] for k in order[:n, c].tolist()]) for c, n in enumerate(sizes.tolist())]


def _few(parts: Sequence[str]) -> str:
    more, between = len(parts) - _MOST_RUNNING, _between(parts)
    return between.join(parts) if more <= 1 else f"{between.join(parts[:_MOST_RUNNING])} and {more} more"


def kept(limits: Sequence[Limit]) -> str:
    """Return the limits in a sentence: "late <= 0.05 and wait <= 12"."""
    return listed([str(limit) for limit in limits])


def ordered(axis: Axis) -> bool:
    """Return whether the entries are known by one number each, and numbers have an order here."""
    if len(axis.coordinates) > 1 or (axis.named and axis.columns):
        return False
    return any(not isinstance(values[0], bool) for values in axis.metric.values())


def listed(parts: Sequence[str], last: str = "and") -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return parts[0] if len(parts) == 1 else f"{_between(parts).join(parts[:-1])} {last} {parts[-1]}"


def _between(parts: Sequence[str]) -> str:
    """Return what stands between parts: a semicolon where there are commas in them."""
    return "; " if any(", " in part for part in parts) else ", "


class _Known:
    """What the lines of an answer are made of, looked up once for all of them."""

    def __init__(self, study: Study) -> None:
        selection = frames.selection(study.view(), study.indifference())
        self.axis = study.problem.alternatives
        self.selected = selection["selected"].tolist()
        self.state = [each if isinstance(each, str) else None for each in selection["state"].tolist()]
        self.p_best, self.zone = selection["p_best"].tolist(), zone_in_words(study)
        self.said, self.bare = names(self.axis), curves.row_labels(self.axis)
        certificate = study.certificate()
        self.probability, self.likeliest = certificate.best_probability, certificate.likeliest
        self.ranked, self.sizes = certificate.contenders()
        self.limits, self.none = study.problem.limits, certificate.p_none_feasible
        self.why = "loses less on average" if self.limits else "has the better mean"

    def choice(self, group: Sequence[int]) -> tuple[str, str]:
        """Return what to choose in contexts that agree, and how surely."""
        first, state = self.selected[group[0]], self.state[group[0]]
        p = sure(min(self.p_best[c] for c in group), at_least=len(group) > 1)
        if first is None:
            return f"no alternative keeps {kept(self.limits)}", self._none_chosen(group, p)
        chosen = self.axis.index(first)
        if state == SURE:
            return self.said[chosen], f" ({p})"
        rivals = [k for k in self._contenders(group) if k != chosen]
        if state == EQUAL:
            return self._either([chosen, *rivals]), f", equal within {self.zone}"
        others = [f"or {self._either(rivals[:2])}{self._likelier(group, chosen)}"] if rivals else []
        if (none := max(float(self.none[c]) for c in group)) >= _WORTH_A_WORD:
            others.append(f"or none keeps {kept(self.limits)} ({chance(none)})")
        return self.said[chosen], f", open ({'; '.join([p, *others])})"

    def _none_chosen(self, group: Sequence[int], p: str) -> str:
        """Return how sure it is that nothing can be chosen, and which alternative might be."""
        if self.state[group[0]] == NO_FEASIBLE:
            return f" ({p})"
        rivals = self._contenders(group)
        return f", open ({p}; or {self._either(rivals[:2])})" if rivals else f", open ({p})"

    def _contenders(self, group: Sequence[int]) -> list[int]:
        """Return who is likely to be best in these contexts, likeliest first: as the certificate ranks."""
        found = dict[int, float]()
        for c in group:
            for k in self.ranked[: max(self.sizes[c], 2), c].tolist():
                found[k] = max(found.get(k, 0.0), float(self.probability[k, c]))
        if self.limits:  # others need not keep them at all
            found = {k: p for k, p in found.items() if p >= _WORTH_A_WORD}
        return sorted(found, key=lambda k: -found[k])  # of equal ones the first found

    def _likelier(self, group: Sequence[int], chosen: int) -> str:
        """Return that another is more likely the best, and why it is not chosen; "" where that is not so."""
        others = {int(self.likeliest[c]) for c in group} - {chosen}
        if not others:
            return ""
        first = next((k for k in self._contenders(group) if k in others), None)
        if first is None:
            return ""
        return f"; {self.said[first]} is more likely the best, but {self.said[chosen]} {self.why}"

    def _either(self, some: Sequence[int]) -> str:
        """Return "order 70, 80 or 90": the word once, the first ones of many."""
        before = f"{word(self.axis)} "
        kept = [self.said[k] for k in some[:_MOST_NAMED]]
        for i, k in enumerate(some[1:_MOST_NAMED], start=1):
            kept[i] = self.bare[k] if kept[i] == before + self.bare[k] else kept[i]
        if len(some) > _MOST_NAMED:
            kept.append(f"{len(some) - _MOST_NAMED} others" if len(some) > _MOST_NAMED + 1 else "another")
        return listed(kept, "or")


def _where(axis: Axis, group: Sequence[int]) -> str:
    """Return "demand 30 to 60", or the first names of several contexts."""
    said, bare = names(axis), curves.row_labels(axis)
    if len(group) == len(axis) > 1:
        return f"every {word(axis)}"
    if ordered(axis) and len(group) > 1:
        return f"{said[group[0]]} to {bare[group[-1]]}"
    several = len(group) > 1 and len(axis.columns) > 1 and not axis.named
    parts = grouped(axis, group) if several else [said[c] for c in group]
    if len(parts) <= _MOST_NAMED:
        return "; ".join(parts) if several else listed(parts)
    return f"{len(group)} contexts ({'; '.join(parts[: _MOST_NAMED - 1])}; …)"


def _whole(values: Sequence[Label]) -> list[str]:
    """Return short texts that differ where values do; of a text all of it, unless it is very long."""
    if not isinstance(values[0], str):
        return curves.shorten(values)
    short = [middle_cut(str(value), _LONGEST_NAME) for value in values]
    return short if len(set(short)) == len(set(values)) else list(map(str, values))


def answer(study: Study, selection: pd.DataFrame, certificate: Certificate) -> list[str]:
    """Return the answer in sentences, beside the choices: how surely, where that is open, what is missing."""
    certain = guarantee.planned(study.view())
    said = [
        _standing(study, selection),
        "" if study.problem.population is None else people.price(study.view()),
        _certainty(certificate) if len(selection) > 1 else "",
        _in_doubt(study),
        _unanswered(study, selection),
        f"Without a model, from the data alone: {certain}." if certain.n_certified else "",
        _impossible(study),
    ]
    return [sentence for sentence in said if sentence]


def _standing(study: Study, selection: pd.DataFrame) -> str:
    """Return a sentence on how many contexts are sure, equal and open, or on the answer to the question."""
    states = (SURE, EQUAL, OPEN, NO_FEASIBLE)
    number = {name: int((selection["state"] == name).sum()) for name in states}
    n, zone = sum(number.values()), zone_in_words(study)
    after = f"After {count(study.n_replications, 'replication')}"
    if study.problem.question.name != BEST.name:
        found = study.answer()
        lost = with_unit(f"{found.expected_loss:.2g}", found.value_unit)
        right = f"right with probability {chance(found.p_right)}, expected loss {lost}"
        return f"{after} the answer is {found.state}: {right}."
    if len(selection) == 1:
        state = next((name for name, some in number.items() if some), "without an answer")
        if state == NO_FEASIBLE:
            return f"{after} it is sure that no alternative keeps the limits."
        meaning = {SURE: "", EQUAL: f": within {zone} of the best", OPEN: f": below {_LEVEL} sure"}
        return f"{after} the choice is {state}{meaning.get(state, '')}."
    if number[SURE] == n:
        which = "" if n == len(selection) else " that have an answer"
        return f"{after} the choice is sure in all {n} contexts{which}: {_LEVEL} or more each."
    parts = [f"{number[SURE] or 'none'} of {count(n, 'context')} sure ({_LEVEL} or more)"]
    parts += [f"{number[EQUAL]} equal (within {zone} of the best)"] if number[EQUAL] else []
    parts += [f"{number[NO_FEASIBLE]} surely without a feasible alternative"] if number[NO_FEASIBLE] else []
    parts += [f"{number[OPEN]} open"] if number[OPEN] else []
    return f"{after}: {', '.join(parts)}."


def _in_doubt(study: Study) -> str:
    """Return why choices are not called sure, and that the model check objects; nothing if neither is so."""
    check = study.doubts().check
    words = doubts.sentence(study.view()) or ("" if check.fits else f"{check.verdict}; see the model check.")
    return f"{words[:1].upper()}{words[1:]}"


def _certainty(certificate: Certificate) -> str:
    average, worst = float(certificate.pcs_e), float(certificate.pcs_m)
    best = "the best" if certificate.options is None else "right"
    return (
        f"A choice is {best} with probability {chance(average)} on average over contexts, and "
        f"{chance(worst)} in the worst."
    )


def set_aside(study: Study) -> str:
    """Return a sentence on the pairs that are not asked for any more; nothing where there are none."""
    places = _places_aside(study)
    total = sum(map(len, places.values()))
    if not total:
        return ""
    called = names(study.problem.alternatives)
    left, parts = MOST_SET_ASIDE, []
    for k, contexts in places.items():
        if left > 0:
            parts.append(f"{called[k]} {_in(study, contexts[:left], most=left)}")
        left -= len(contexts)
    more = f"; and {-left:,} more" if left < 0 else ""
    are = "is" if total == 1 else "are"
    return f"{count(total, 'pair')} {are} set aside after repeated failures: {'; '.join(parts)}{more}."


def _unanswered(study: Study, selection: pd.DataFrame) -> str:
    """Return a sentence on the contexts without an answer; nothing where there are none."""
    contexts = study.problem.contexts
    words = [name for name, there in zip(names(contexts), contexts.active, strict=True) if there]
    where = [words[c] for c in np.flatnonzero(selection["state"].isna())]
    if not where:
        return ""
    have = "has" if len(where) == 1 else "have"
    return (
        f"{len(where)} of {count(len(words), 'context')} {have} no answer, because every alternative failed "
        f"there: {_listed(where)}."
    )


def _impossible(study: Study) -> str:
    """Return a sentence on the alternatives that could not be simulated somewhere."""
    places, told = _places_aside(study), study.tally.count
    if not places:
        return ""
    called, contexts_in_use = names(study.problem.alternatives), study.problem.contexts.active.sum()
    parts = []
    for k, contexts in islice(places.items(), _MOST_LISTED):
        some = [c for c in contexts if told[k, c]]
        never = [c for c in contexts if not told[k, c]]
        said = [f"kept failing {_in(study, some)}"] if some else []
        if len(never) == contexts_in_use > 1:
            said.append("could not be simulated anywhere and is not selected")
        elif never:
            said.append(f"could not be simulated {_in(study, never)} and is not selected there")
        parts.append(f"{called[k]} {', and '.join(said)}")
    more = len(places) - len(parts)
    return "; ".join(parts) + (f"; the same applies to {count(more, 'other alternative')}." if more else ".")


def _places_aside(study: Study) -> dict[int, list[int]]:
    """Return the contexts in which each alternative is set aside."""
    problem, places = study.problem, dict[int, list[int]]()
    for alternative, context in study.set_aside:
        places.setdefault(problem.alternatives.index(alternative), []).append(problem.contexts.index(context))
    return places


def _in(study: Study, contexts: Sequence[int], *, most: int = _MOST_LISTED) -> str:
    """Return "in every context" or "in" these, the first ones of many."""
    axis = study.problem.contexts
    if len(contexts) == axis.active.sum() > 1:
        return f"in every {word(axis)}"
    called = names(axis)
    return f"in {_listed([called[c] for c in contexts], most=most)}"


def _listed(where: Sequence[str], *, most: int = _MOST_LISTED) -> str:
    """Return contexts one after the other, the first ones of many."""
    return _between(where).join(where[:most]) + (" and others" if len(where) > most else "")
