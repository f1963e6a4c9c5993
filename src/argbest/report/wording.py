"""Alternatives, contexts and choices in plain words, with the user's own names."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from argbest.core.states import EQUAL, SURE, contenders
from argbest.problems.axis import Axis, Label
from argbest.report import curves
from argbest.study.study import Study

_MOST_LINES = 12
_MOST_NAMED = 3  # in a line


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


def word(axis: Axis) -> str:
    """Return what one entry is called: its only column, the simulator's word for it, or its kind."""
    if len(axis.columns) == 1 and not axis.named:
        return next(iter(axis.columns))
    return axis.word or axis.kind


def short(axis: Axis) -> list[str]:
    """Return a short label per entry, as `curves.row_labels`, with booleans as the page writes them."""
    if axis.named or not axis.columns:
        return _shorten(axis.labels)
    return [", ".join(parts) for parts in zip(*map(_shorten, axis.columns.values()), strict=True)]


def count(n: int, noun: str) -> str:
    """Return texts such as "1 context" and "2,000 contexts"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def sure(p: float, *, at_least: bool = False) -> str:
    """Return texts such as "72 % sure", rounded down; what data tell is never written as certain."""
    if p >= 0.99:
        return "over 99 % sure"
    return f"{'at least ' if at_least else ''}{math.floor(100 * p + 1e-9)} % sure"


def choices(study: Study, *, most: int = _MOST_LINES) -> list[Choice]:
    """Return lines such as "demand 45: order 40 (99 % sure)"; contexts that agree share one."""
    known, contexts = _Known(study), study.problem.contexts
    order = [c for c in curves.side(contexts).order.tolist() if known.selected[c] is not None]
    alike = dict(enumerate(zip(known.selected, known.state, strict=True)))
    if ordered(contexts):  # neighbours
        groups = [list(run) for _, run in groupby(order, key=lambda c: alike[c])]
    else:
        together: dict[object, list[int]] = {}
        for c in order:
            together.setdefault(alike[c], []).append(c)
        groups = sorted(together.values(), key=len, reverse=True)
    alone = len(contexts) == 1
    lines = [
        Choice("" if alone else _where(contexts, group), *known.choice(group)) for group in groups[:most]
    ]
    more = sum(map(len, groups[most:]))
    return lines + ([Choice(count(more, "more context"), "see the table", "")] if more else [])


def one_by_one(study: Study) -> list[str]:
    """Return the line of every context by itself."""
    known = _Known(study)
    return [
        f"{name}: no answer" if known.selected[c] is None else str(Choice(name, *known.choice([c])))
        for c, name in enumerate(names(study.problem.contexts))
    ]


def ordered(axis: Axis) -> bool:
    """Return whether the entries are known by one number each, and numbers have an order here."""
    if len(axis.coordinates) > 1 or (axis.named and axis.columns):
        return False
    return any(not isinstance(values[0], bool) for values in axis.metric.values())


def listed(parts: Sequence[str], last: str = "and") -> str:
    """Return "a", "a and b" or "a, b and c"."""
    between = "; " if any(", " in part for part in parts) else ", "
    return parts[0] if len(parts) == 1 else f"{between.join(parts[:-1])} {last} {parts[-1]}"


class _Known:
    """What the lines of an answer are made of, looked up once for all of them."""

    def __init__(self, study: Study) -> None:
        selection, self.axis = study.selection(), study.problem.alternatives
        self.selected, self.state = selection["selected"].tolist(), selection["state"].tolist()
        self.p_best, self.zone = selection["p_best"].tolist(), f"{study.indifference():.2g}"
        self.said, self.bare = names(self.axis), short(self.axis)
        self.probability = study.certificate().best_probability

    def choice(self, group: Sequence[int]) -> tuple[str, str]:
        """Return what to choose in contexts that agree, and how surely."""
        chosen, state = self.axis.index(self.selected[group[0]]), self.state[group[0]]
        p = sure(min(self.p_best[c] for c in group), at_least=len(group) > 1)
        if state == SURE:
            return self.said[chosen], f" ({p})"
        rivals = [k for k in self._contenders(group) if k != chosen]
        if state == EQUAL:
            return self._either([chosen, *rivals]), f", equal within {self.zone}"
        return self.said[chosen], f", open ({p}; or {self._either(rivals[:2])})"

    def _contenders(self, group: Sequence[int]) -> list[int]:
        """Return who is likely to be best in these contexts, likeliest first."""
        probability, found = self.probability[:, list(group)], dict[int, float]()
        for column, order, size in zip(
            probability.T, *(each.T for each in contenders(probability)), strict=True
        ):
            for k in order[: max(size, 2)].tolist():
                found[k] = max(found.get(k, 0.0), float(column[k]))
        return sorted(found, key=lambda k: -found[k])

    def _either(self, some: Sequence[int]) -> str:
        """Return "order 70, 80 or 90": the word once, the first ones of many."""
        before = f"{word(self.axis)} "
        kept = [
            self.said[some[0]],
            *(
                self.bare[k] if self.said[k] == before + self.bare[k] else self.said[k]
                for k in some[1:_MOST_NAMED]
            ),
        ]
        if len(some) > _MOST_NAMED:
            kept.append(f"{len(some) - _MOST_NAMED} others" if len(some) > _MOST_NAMED + 1 else "another")
        return listed(kept, "or")


def _where(axis: Axis, group: Sequence[int]) -> str:
    """Return "demand 30 to 60", or the first names of several contexts."""
    said, bare = names(axis), short(axis)
    if len(group) == len(axis) > 1:
        return f"every {word(axis)}"
    if ordered(axis) and len(group) > 1:
        return f"{said[group[0]]} to {bare[group[-1]]}"
    if len(group) <= _MOST_NAMED:
        return listed([said[c] for c in group])
    return f"{len(group)} contexts ({'; '.join(said[c] for c in group[: _MOST_NAMED - 1])}; …)"


def _shorten(values: Sequence[Label]) -> list[str]:
    if isinstance(values[0], bool):
        return [str(value).lower() for value in values]
    return curves.shorten(values)


def _whole(values: Sequence[Label]) -> list[str]:
    """Return texts as `_shorten` does, but of a text all of it."""
    return list(map(str, values)) if isinstance(values[0], str) else _shorten(values)
