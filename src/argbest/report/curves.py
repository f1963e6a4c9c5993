"""The numbers behind the maps of a study, in the order in which they are drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from argbest.answers import frames
from argbest.answers.predicting import coordinate, evenly, knows_new_contexts
from argbest.core.abilities import offers
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.belief import Focused
from argbest.problems.axis import Axis, Label
from argbest.problems.base import Problem
from argbest.problems.units import of_column, titled
from argbest.report.looks import middle_cut
from argbest.study.study import Study
from argbest.study.view import View
from argbest.texts import number

if TYPE_CHECKING:
    import pandas as pd

NONE_FEASIBLE = "none feasible"  # what is chosen where no alternative keeps the limits
_LONGEST_LABEL = 28  # columns of a label
MOST_PAIRS = 10_000  # in the tables of a page
_MOST_ALTERNATIVES, _FEWEST_CONTEXTS = 500, 60  # of larger tables: so many at most, and so many at least


@dataclass(frozen=True)
class Side:
    """The alternatives or the contexts, arranged for reading."""

    order: IntArray  # positions in the problem
    labels: tuple[str, ...]  # short, distinct, in that order
    title: str
    size: int = 0  # positions in the problem, where some of them are left out: those that are retired

    @property
    def rank(self) -> IntArray:
        """The place in the picture of every position in the problem, -1 of those left out."""
        places = np.full(max(self.size, len(self.order)), -1, np.int64)
        places[self.order] = np.arange(len(self.order))
        return places


@dataclass(frozen=True)
class PolicyMap:
    """What is selected in every context, and how surely."""

    alternatives: Side
    contexts: Side
    probability: Array  # [alternative, context]: P(best)
    selected: IntArray  # [context]: place of the selected alternative, -1 where there is no answer
    p_best: Array  # [context]: P(best) of the selected alternative, NaN where there is no answer
    state: AnyArray  # [context]: sure, equal or open; None where there is no answer
    delta: float  # within this of the best counts as equal
    unit: str  # of delta, if one was given

    @property
    def answered(self) -> BoolArray:
        """[context] whether an alternative is left to select."""
        return np.asarray(self.selected >= 0)


@dataclass(frozen=True)
class PolicyCurve:
    """The policy along the one coordinate of the contexts, between the contexts too."""

    at: Array  # [context]: the coordinate of the contexts, ascending
    grid: Array  # [point]
    probability: Array  # [alternative, point]: P(best)
    selected: IntArray  # [point]: place of the selected alternative, -1 where there is no answer
    p_best: Array  # [point]: P(best) of the selected alternative


@dataclass(frozen=True)
class Grid:
    """Contexts as the cells of a map, by their two coordinates."""

    rows: Side  # the values of the second coordinate
    columns: Side  # the values of the first
    context: IntArray  # [row, column]: place of the context in reading order, -1 where there is none


@dataclass(frozen=True)
class Allocation:
    """Where the replications went."""

    alternatives: Side
    contexts: Side
    count: IntArray  # [alternative, context]

    @property
    def ticks(self) -> IntArray:
        """Whole numbers from the smallest count to the largest, even on a scale of square roots."""
        low, high = self.count.min(), max(self.count.max(), self.count.min() + 1)
        return np.unique(np.rint(low + (high - low) * np.linspace(0, 1, 6) ** 2).astype(np.int64))


@dataclass(frozen=True)
class Excerpt:
    """What the tables of a page have room for, as positions in the problem."""

    alternatives: IntArray  # with the selected one and the runner-up of all these contexts
    contexts: IntArray
    left_out: str  # what is not shown and where it is, as sentences; "" where everything is shown

    def of(self, table: AnyArray) -> AnyArray:
        """Return what is shown of a table [alternative, context]."""
        return table[np.ix_(self.alternatives, self.contexts)]


def excerpt(study: Study, selection: "pd.DataFrame") -> Excerpt:
    """Return all pairs, or of too many the likeliest to be best, in contexts at even steps."""
    problem = study.problem
    n_alternatives, n_contexts = problem.shape
    if n_alternatives * n_contexts <= MOST_PAIRS:
        return Excerpt(np.arange(n_alternatives), np.arange(n_contexts), "")
    in_order = side(problem.contexts).order
    room = min(len(in_order), max(_FEWEST_CONTEXTS, MOST_PAIRS // n_alternatives))
    contexts = np.sort(in_order[np.linspace(0, len(in_order) - 1, room).round().astype(int)])
    named = selection.iloc[contexts][["selected", "runner_up"]].to_numpy().ravel()
    first = np.zeros(n_alternatives, bool)
    first[[problem.alternatives.index(label) for label in named if label is not None]] = True
    certificate = study.certificate()
    chance = np.nan_to_num(certificate.best_probability).max(axis=1)
    rank = np.lexsort((-study.tally.count.sum(axis=1), -chance, ~first))
    alternatives = np.sort(rank[: min(_MOST_ALTERNATIVES, MOST_PAIRS // room)])
    parts = [f"{len(alternatives):,} of {n_alternatives:,} alternatives, those most likely to be the best"]
    parts += [f"{room:,} of {n_contexts:,} contexts, at even steps"] if room < n_contexts else []
    words = (
        f"There are too many pairs for a page. Tables by alternative show {' and '.join(parts)}. For all of "
        "them: argbest export STORAGE --table posterior (or allocation); in Python the study has both."
    )
    if offers(certificate.belief, Focused):
        words += (
            f" All probabilities compare the {len(certificate.belief.foremost):,} leading alternatives with "
            "each other: of so many, the others are near relatives of these and hardly ever the best."
        )
    return Excerpt(alternatives, contexts, words)


def policy_map(study: Study) -> PolicyMap:
    """Return the selection of a study and P(best) of every pair."""
    return policy_map_of(study.view())


def policy_map_of(view: View) -> PolicyMap:
    """Return the selection of a study at one moment and P(best) of every pair."""
    alternatives, contexts = options(view.problem), side(view.problem.contexts, view.problem.unit)
    zone, certificate = view.indifference(), view.certificate()
    frame = frames.selection(view, zone).iloc[contexts.order]
    chance = np.concatenate([certificate.best_probability, certificate.p_none_feasible[None]])
    return PolicyMap(
        alternatives=alternatives,
        contexts=contexts,
        probability=chance[np.ix_(alternatives.order, contexts.order)],
        selected=_choices(view.problem, alternatives, frame),
        p_best=frame["p_best"].to_numpy(float),
        state=frame["state"].to_numpy(object),
        delta=zone,
        unit=view.problem.goal_unit,
    )


def policy_curve(study: Study, *, points: int = 241) -> PolicyCurve | None:
    """Return the policy on an even grid over the bounds.

    None unless contexts have one numeric coordinate and the model can speak of contexts never simulated.
    """
    problem = study.problem
    name = coordinate(problem)
    if name is None or not knows_new_contexts(study.view()):
        return None
    alternatives = options(problem)
    rows = evenly(problem, points)
    predicted = study.predict(rows)
    return PolicyCurve(
        at=np.sort(np.array(problem.contexts.coordinates[name], float)[problem.contexts.active]),
        grid=np.linspace(*problem.bounds[name], points),
        probability=study.predict_proba(rows).to_numpy(float).T[_columns(problem, alternatives)],
        selected=_choices(problem, alternatives, predicted),
        p_best=predicted["p_best"].to_numpy(float),
    )


def _columns(problem: Problem, alternatives: Side) -> IntArray:
    """Return where `Study.predict_proba` has what can be chosen, in reading order."""
    alike = problem.alternatives
    return np.append(alike.places, np.sum(alike.active)).astype(np.int64)[alternatives.order]


def grid(problem: Problem) -> Grid | None:
    """Return the contexts arranged by the two coordinates that vary; None unless they fill half a grid."""
    varying = {n: v for n, v in problem.contexts.coordinates.items() if len(set(v)) > 1}
    if len(varying) != 2:
        return None
    (columns, column), (rows, row) = (levels(name, values) for name, values in varying.items())
    if 2 * problem.n_contexts < len(rows.labels) * len(columns.labels):
        return None
    context = np.full((len(rows.labels), len(columns.labels)), -1, np.int64)
    context[row, column] = side(problem.contexts).rank
    rows, columns = (
        replace(each, title=titled(each.title, of_column(problem.unit, problem.contexts, each.title)))
        for each in (rows, columns)
    )
    return Grid(rows, columns, context)


def allocation(study: Study) -> Allocation:
    """Return the replications of every pair."""
    alternatives, contexts = side(study.problem.alternatives), side(study.problem.contexts)
    count = study.tally.count[np.ix_(alternatives.order, contexts.order)]
    return Allocation(alternatives, contexts, count)


def side(axis: Axis, unit: Mapping[str, str] | None = None) -> Side:
    """Return an axis in reading order: by its columns, numbers by size, text as it first came.

    With the units of a problem (`Problem.unit`) its title has those of the columns.
    """
    keys = [_sort_keys(values) for values in axis.coordinates.values()]
    order = np.lexsort(keys[::-1])  # lexsort goes by its last key first
    order = order[axis.active[order]]
    labels = row_labels(axis)
    return Side(order, tuple(labels[i] for i in order), _title(axis, unit or {}), len(axis))


def options(problem: Problem) -> Side:
    """Return all that can be chosen, in reading order: the alternatives, with limits none of them last."""
    found = side(problem.alternatives, problem.unit)
    if not problem.limits:
        return found
    order = np.append(found.order, problem.n_alternatives)
    return Side(order, (*found.labels, NONE_FEASIBLE), found.title, found.size + 1)


def shorten(values: Sequence[Label]) -> list[str]:
    """Return texts that are as short as may be while values that differ look different."""
    if any(isinstance(value, str) for value in values):
        texts = [middle_cut(str(value), _LONGEST_LABEL) for value in values]
        return texts if len(set(texts)) == len(set(values)) else [str(value) for value in values]
    if all(isinstance(value, int) for value in values):
        return [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    for digits in range(3, 17):
        texts = [number(value, digits) for value in values if not isinstance(value, str)]
        if len(set(texts)) == len(set(values)):
            return texts
    return [str(value) for value in values]


def row_labels(axis: Axis) -> list[str]:
    """Return a short label per entry, in the problem's order: its own, or the values of its columns."""
    if axis.named or not axis.columns:
        return shorten(axis.labels)
    return [", ".join(parts) for parts in zip(*map(shorten, axis.columns.values()), strict=True)]


def _sort_keys(values: Sequence[Label]) -> Array:
    if isinstance(values[0], str):
        first = {value: i for i, value in reversed(list(enumerate(values)))}
        return np.array([first[value] for value in values], float)
    return np.array(values, float)


def levels(name: str, values: Sequence[Label]) -> tuple[Side, IntArray]:
    """Return the distinct values of a coordinate in reading order, and where each of the values stands."""
    _, first, which = np.unique(_sort_keys(values), return_index=True, return_inverse=True)
    labels = shorten([values[i] for i in first])
    return Side(np.arange(len(labels)), tuple(labels), name), which


def _title(axis: Axis, unit: Mapping[str, str]) -> str:
    if axis.named or not axis.columns:
        return titled(axis.word or axis.kind, of_column(unit, axis, axis.kind))
    names = [(name, of_column(unit, axis, name)) for name in axis.columns]
    if len(names) == 1:
        return titled(*names[0])
    return f"{axis.kind} ({', '.join(f'{name} in {each}' if each else name for name, each in names)})"


def _choices(problem: Problem, side: Side, selection: "pd.DataFrame") -> IntArray:
    """Return the place of what is chosen, with limits also that none is; -1 where there is no answer."""
    found = _places(problem, side, selection["selected"].tolist())
    if not problem.limits:
        return found
    return np.where((found < 0) & selection["state"].notna().to_numpy(), len(side.labels) - 1, found)


def _places(problem: Problem, alternatives: Side, labels: Sequence[Label | None]) -> IntArray:
    places = (-1 if x is None else alternatives.rank[problem.alternatives.index(x)] for x in labels)
    return np.fromiter(places, np.int64, len(labels))
