"""Answers for a population: what is chosen in its groups, and how well that serves people never seen."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from argbest.answers import answering, frames, rules
from argbest.answers.predicting import Prediction, model_at, predicted
from argbest.checks import whole
from argbest.core.arrays import Array, BoolArray
from argbest.core.limits import NONE
from argbest.errors import InputError, unknown_name
from argbest.problems.axis import Axis
from argbest.problems.population import people_of, with_entries
from argbest.texts import Sentences, chance, number, with_unit

if TYPE_CHECKING:
    from argbest.study.view import View

N_CHECKED = 1_000  # people never seen, where nobody says how many
N_GROUPS = 3  # of a column of numbers
_MOST_NAMES = 8  # categories of a column; the others are one group
_MOST_LINES = 14  # of groups
RULE = "rule"  # the question that sums up a population


@dataclass(frozen=True)
class Average:
    """An average over people, and its standard error: by how much other people would change it."""

    mean: float
    se: float

    @classmethod
    def of(cls, values: Array, weights: Array) -> "Average":
        """Return the average of values [person] by weights that sum to 1: Σ w x, se² = Σ w² (x − Σ w x)²."""
        mean = float(np.clip(values @ weights, values.min(), values.max()))  # rounding may leave the range
        return cls(mean, float(np.sqrt(np.sum((weights * (values - mean)) ** 2))))


@dataclass(frozen=True, eq=False, repr=False)
class PopulationCheck(Sentences):
    """What the model expects of its choices for people never seen, and for those of the study.

    ``p_right`` is the probability that a person's choice is the right one, ``expected_loss`` what it falls
    short of it on average. ``source`` says where these people come from. ``table`` has a row for each, with
    its ``weight``: selected (None where no alternative is likely enough to keep the limits), p_right,
    expected_loss, and whether it is ``extrapolated`` (outside the range of the study's people, or of a
    category that none of them has).
    """

    n: int
    source: str
    p_right: Average
    expected_loss: Average
    own_p_right: float
    own_expected_loss: float
    table: pd.DataFrame

    @property
    def n_extrapolated(self) -> int:
        """How many have in some column a value that is outside the range of the people of the study."""
        return int(self.table["extrapolated"].sum())

    def __str__(self) -> str:
        right, loss = self.p_right, self.expected_loss
        sentences = [
            f"{self.n:,} people never seen ({self.source}): P(right) {chance(right.mean)} ± {right.se:.3f}, "
            f"expected loss {number(loss.mean, 2)} ± {number(loss.se, 1)}",
            f"the people of the study: P(right) {chance(self.own_p_right)}, expected loss "
            f"{number(self.own_expected_loss, 2)}",
            "Both are what the model says, without a simulation. ± is one standard error of drawing people.",
        ]
        if self.n_extrapolated:
            sentences.append(
                f"{self.n_extrapolated:,} of them are outside the range of the study's people in some column."
            )
        return "\n".join(sentences)


def check(view: "View", n: object, people: object = None) -> PopulationCheck:
    """Return how well the answers serve up to n people never seen, from the model alone."""
    problem, many = view.problem, whole("n", n, at_least=1, at_most=10**5)
    if people is not None:
        drawn = people_of(people, many, view.seed, problem.contexts)
    elif problem.population is None:
        raise InputError(
            "the contexts of this study are no population, so nobody can be drawn. Give "
            "Problem(..., contexts=argbest.Population(...)), or people: check_population(people=...)."
        )
    else:
        drawn = problem.population.fresh(many)
    table = predicted(view, drawn.people, lambda some: _certainties(view, some), integrate=True)
    table = table.reset_index(drop=True)
    table.insert(len(table.columns) - 4, "weight", drawn.weights)
    right, loss = (
        Average.of(table[name].to_numpy(float), drawn.weights) for name in ("p_right", "expected_loss")
    )
    of_study = view.certificate(0.0)
    return PopulationCheck(
        len(table), drawn.source, right, loss, float(of_study.pcs_e), float(of_study.eoc), table
    )  # fmt: skip


def _certainties(view: "View", found: Prediction) -> pd.DataFrame:
    """Return what is chosen for some people, and how sure that is."""
    problem, certificate = view.problem, found.certificate
    frame = found.rows.frame()
    frame["selected"] = frames.entries_of_chosen(problem.alternatives.labels, certificate.choice[:, 0])
    frame["p_right"], frame["expected_loss"] = certificate.pcs[:, 0], certificate.expected_loss[:, 0]
    frame["extrapolated"] = problem.contexts.outside(found.rows, problem.bounds)
    return frame


def groups(view: "View", by: str | Sequence[str] | None = None, n: object = N_GROUPS) -> pd.DataFrame:
    """Return one row per group of contexts: what is chosen there most, for which share, and how surely.

    Of numbers n groups of about equal weight each, otherwise a group per value. With limits ``selected`` is
    None where most of a group has no alternative that is chosen.
    """
    problem, certificate = view.problem, view.certificate(0.0)
    counted, axis, labels = certificate.counted, problem.contexts, problem.alternatives.labels
    chosen = np.where(certificate.choice == NONE, len(labels), certificate.choice)
    number_of = whole("n", n, at_least=2, at_most=100)
    rows = []
    for name in _columns(axis, by):
        for words, inside in _groups(axis, problem.column_word(name), name, counted, number_of):
            weight = np.where(inside, counted, 0.0)
            total = weight.sum()
            if not total > 0:
                continue
            shares = np.bincount(chosen, weight, len(labels) + 1) / total
            top = int(np.argmax(shares))
            right, loss = (
                float(np.where(weight > 0, each, 0.0) @ weight / total)
                for each in (certificate.pcs, certificate.expected_loss)
            )
            row = (problem.column_word(name), words, int(np.sum(weight > 0)), float(total))
            rows.append((*row, NONE if top == len(labels) else top, float(shares[top]), right, loss))
    names = ["column", "group", "n_contexts", "weight", "selected", "share", "p_right", "expected_loss"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.assign(selected=frames.entries_of_chosen(labels, frame["selected"].to_numpy(int)))


def _columns(axis: Axis, by: str | Sequence[str] | None) -> list[str]:
    """Return the columns to group by, all that contexts have if none are named."""
    asked = list(axis.coordinates) if by is None else [by] if isinstance(by, str) else list(by)
    for name in asked:
        if name not in axis.coordinates:
            raise unknown_name("context column", name, axis.coordinates)
    return asked


def _groups(axis: Axis, word: str, name: str, weights: Array, n: int) -> Iterator[tuple[str, BoolArray]]:
    """Yield groups of the values of a column in words, and which contexts are in each."""
    values: tuple[Any, ...] = axis.coordinates[name]
    distinct = list(dict.fromkeys(values))
    if name in axis.metric and len(distinct) > n and not isinstance(values[0], bool):
        x = np.array(values, float)
        order = np.argsort(x, kind="stable")
        reached = np.cumsum(weights[order])
        at = [int(np.searchsorted(reached, i / n)) for i in range(1, n)]
        edges = np.unique(x[order][np.minimum(np.add(at, 1), len(x) - 1)])
        place = np.searchsorted(edges, x, side="right")
        for i in range(len(edges) + 1):
            low, high = (number(edges[j], 3) if 0 <= j < len(edges) else "" for j in (i - 1, i))
            words = (
                f"{low} ≤ {word} < {high}"
                if low and high
                else f"{word} < {high}"
                if high
                else f"{word} ≥ {low}"
            )
            yield words, place == i
        return
    held = {value: np.array([other == value for other in values]) for value in distinct}
    distinct.sort(key=lambda value: -float(weights[held[value]].sum()))
    if name in axis.metric:
        distinct.sort()
    for value in distinct[:_MOST_NAMES]:
        yield f"{word} = {value}", held[value]
    if rest := distinct[_MOST_NAMES:]:
        yield f"{word}: {len(rest)} others", np.any([held[value] for value in rest], axis=0)


def left_within_groups(view: "View") -> Iterator[str]:
    """Yield how much mean rewards vary within groups of contexts, where one context stands for each group.

    By the posterior means at some contexts of the groups, and at those that stand for them.
    """
    people = view.problem.population
    groups = None if people is None else people.represented
    if groups is None:
        return
    axis, belief = view.problem.contexts, view.knowledge.belief
    of_group = belief.mean[:, np.array(groups.group)]
    itself = model_at(view, with_entries(axis, groups.sample)).mean[..., 0].T
    within, total = float(np.mean((itself - of_group) ** 2)), float(np.mean(itself.var(axis=1)))
    noise = float(np.mean(belief.noise))
    shares = [f"{100 * within / max(each, 1e-300):.2g} %" for each in (total, noise)]
    yield (
        f"{groups.n:,} contexts are represented by groups: within these mean rewards vary by "
        f"{number(np.sqrt(within))} (standard deviation). That is {shares[0]} of their variance over "
        f"contexts, and counts as noise, of which it is {shares[1]}."
    )


def in_words(view: "View") -> list[str]:
    """Return the answer for a population in lines: the rule, its price, and what is chosen in each group."""
    choices = [f"{where}: {what}{how}" for where, what, how in lines(view)]
    n = len(_rule(view).choice.ends)
    by_row, unit = view.certificate(0.0), view.problem.goal_unit
    certain = (
        f"Choosing for each is right with probability {chance(float(by_row.pcs_e))}, and expected to lose "
        f"{with_unit(number(float(by_row.eoc), 2), unit)}."
    )
    return [*choices[:n], f"{price(view)} {certain}", *choices[n:]]


def lines(view: "View") -> list[tuple[str, str, str]]:
    """Return where, what is chosen there, and how surely: for each end of the rule, then for each group."""
    ends = [(rules.where(path), named) for path, named in _rule(view).choice.said_ends]
    return [
        *((where, what, "") for where, what in ends),
        *(
            (
                f"{row['group']} ({row['n_contexts']:,} people)",
                "none keeps the limits" if row["selected"] is None else str(row["selected"]),
                f" for {100 * row['share']:.0f} % of them, right with probability {chance(row['p_right'])}",
            )
            for row in groups(view).head(_MOST_LINES).to_dict("records")
        ),
    ]


def price(view: "View") -> str:
    """Return a sentence on what the rule costs compared with choosing for each person by its own row."""
    cost = _rule(view).price
    costs = "nothing" if cost is None else cost.said(view.problem.goal_unit)
    return f"The rule costs {costs}, compared with choosing for each person by their own row."


def _rule(view: "View") -> answering.Answer:
    return answering.of_study(view, RULE)
