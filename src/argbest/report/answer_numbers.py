"""The numbers behind pictures of answers, in the order in which they are drawn."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from argbest.answers.answering import Answer, surely_wrong
from argbest.answers.rules import condition_in_words
from argbest.answers.tailoring import Tailoring
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.questions.trees import Leaf, Tree
from argbest.problems.axis import Axis
from argbest.report import curves
from argbest.report.curves import Grid, Side
from argbest.texts import number

MOST_ROWS = 20  # alternatives in one picture, the best first
CHOSEN, EQUAL = "chosen", "equal"


@dataclass(frozen=True)
class Values:
    """What alternatives are worth for all contexts together, the chosen one first."""

    labels: tuple[str, ...]
    value: Array  # [alternative]
    low: Array
    high: Array
    mark: tuple[str, ...]  # chosen, equal (as good, but for delta), or ""
    worst: tuple[str, ...]  # the context that settles it; empty where it takes all contexts
    title: str  # what an alternative is called
    meaning: str  # what the value is
    worst_title: str
    from_zero: bool  # whether 0 is the least: shares and losses
    total: int  # alternatives, shown or not


@dataclass(frozen=True)
class Shortlist:
    """Which alternatives are named in which context, in which place."""

    alternatives: Side  # those that are named somewhere
    contexts: Side
    place: IntArray  # [alternative, context]: 1 for the first, 0 where it is not named
    state: AnyArray  # [context]: sure, equal or open; None where there is no answer


class Node(NamedTuple):
    """A condition or an end of a tree; places go from 0 to 1."""

    across: float
    down: int
    words: str
    parent: int  # its place in the list, -1 of the first
    branch: str  # yes or no; "" of the first
    leader: int  # at an end, its alternative among the leaders; -1 otherwise


@dataclass(frozen=True)
class RuleMap:
    """What a rule names in every context, and the tree that it is."""

    leaders: tuple[str, ...]  # the alternatives that it names, as they come in the tree
    alternatives: str  # what these are called
    contexts: Side
    named: IntArray  # [context]: which of the leaders
    wrong: BoolArray  # [context]: whether another alternative is surely better
    at: Array | None  # [context]: the only coordinate, where it is a number
    grid: Grid | None
    tree: tuple[Node, ...]
    depth: int


@dataclass(frozen=True)
class Curve:
    """What choosing per context gains with 1, 2, 3, … alternatives."""

    labels: tuple[str, ...]  # the alternative that is added
    gain: Array  # [number of alternatives]
    low: Array
    high: Array
    share: Array  # of the whole value
    whole: float
    title: str


def values(answer: Answer) -> Values:
    """Return what alternatives are worth, of an answer with one for all contexts."""
    problem, table = answer.view.problem, answer.table.iloc[:MOST_ROWS]
    axis, labels = problem.alternatives, curves.row_labels(problem.alternatives)
    position = axis.locate(table).tolist()
    ties = {axis.index(label) for label in answer.ties}
    contexts = curves.row_labels(problem.contexts)
    where = [problem.contexts.index(c) for c in table.get("worst_context", ())]
    return Values(
        labels=tuple(labels[k] for k in position),
        **{name: table[name].to_numpy(float) for name in ("value", "low", "high")},
        mark=tuple(CHOSEN if i == 0 else EQUAL if k in ties else "" for i, k in enumerate(position)),
        worst=tuple(contexts[c] for c in where),
        title=curves.side(axis).title,
        meaning=answer.meaning,
        worst_title=f"worst {curves.side(problem.contexts).title}",
        from_zero=answer.question in ("regret", "most-probable-best"),
        total=int(axis.active.sum()),
    )


def shortlist(answer: Answer) -> Shortlist:
    """Return the places of alternatives, of an answer with several per context."""
    problem = answer.view.problem
    alternatives, contexts = curves.side(problem.alternatives), curves.side(problem.contexts)
    place = np.zeros(problem.shape, np.int64)
    for c, named in zip(np.flatnonzero(problem.contexts.active).tolist(), answer.choice, strict=True):
        for i, label in enumerate(named, start=1):
            place[problem.alternatives.index(label), c] = i
    place = place[np.ix_(alternatives.order, contexts.order)]
    kept = np.flatnonzero(place.any(axis=1))
    order, labels = alternatives.order[kept], tuple(alternatives.labels[i] for i in kept)
    some = Side(order, labels, alternatives.title, alternatives.size)
    states = answer.table["state"].to_numpy(object)[problem.contexts.places[contexts.order]]
    return Shortlist(some, contexts, place[kept], states)


def rule_map(answer: Answer) -> RuleMap:
    """Return the rule at every context, and its tree, of an answer that is a rule."""
    problem, rule = answer.view.problem, answer.choice
    bound: Any = answer.bound
    contexts, labels = curves.side(problem.contexts), curves.row_labels(problem.alternatives)
    leaders = list(dict.fromkeys(leaf.alternative for leaf in rule.tree.leaves()))
    named = bound.conditions.choices(rule.tree)
    wrong = np.zeros(len(named), bool)
    wrong[list(surely_wrong(answer.view, named))] = True
    metric = problem.contexts.metric
    only = next(iter(metric.values())) if len(problem.contexts.coordinates) == len(metric) == 1 else None
    nodes: list[Node] = []
    _laid_out(rule.tree, leaders, labels, nodes, [0.0], -1, "", sum(1 for _ in rule.tree.leaves()))
    return RuleMap(
        leaders=tuple(labels[k] for k in leaders),
        alternatives=curves.side(problem.alternatives).title,
        contexts=contexts,
        named=np.array([leaders.index(k) for k in named[contexts.order].tolist()]),
        wrong=wrong[contexts.order],
        at=None if only is None else np.asarray(only, float)[contexts.order],
        grid=curves.grid(problem),
        tree=tuple(nodes),
        depth=rule.tree.depth,
    )


def _laid_out(
    tree: Tree, leaders: list[int], labels: list[str], nodes: list[Node], taken: list[float], parent: int,
    branch: str, n_leaves: int,
) -> int:  # fmt: skip
    """Return the place in ``nodes`` of a part of a tree: ends side by side, conditions above their middle."""
    down = 0 if parent < 0 else nodes[parent].down + 1
    here = len(nodes)
    if isinstance(tree, Leaf):
        across = (taken[0] + 0.5) / n_leaves
        taken[0] += 1
        leader = leaders.index(tree.alternative)
        nodes.append(Node(across, down, labels[tree.alternative], parent, branch, leader))
        return here
    nodes.append(Node(0.5, down, condition_in_words(tree.condition), parent, branch, -1))
    below = [
        _laid_out(side, leaders, labels, nodes, taken, here, word, n_leaves)
        for side, word in ((tree.yes, "yes"), (tree.no, "no"))
    ]
    nodes[here] = nodes[here]._replace(across=sum(nodes[i].across for i in below) / 2)
    return here


def curve(found: Tailoring, alternatives: Axis) -> Curve:
    """Return what tailoring gains with each number of alternatives."""
    frame, labels = found.curve, curves.row_labels(alternatives)
    return Curve(
        labels=tuple(labels[alternatives.index(label)] for label in frame["added"]),
        **{name: frame[name].to_numpy(float) for name in ("gain", "low", "high", "share")},
        whole=found.value.mean,
        title=curves.side(alternatives).title,
    )


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers from low to high, at most so many and, of five, two at the least."""
    span = high - low
    if not np.isfinite(span) or span <= 0:
        return [low]
    unit = 10.0 ** np.floor(np.log10(span / most))
    for step in unit * np.array([1, 2, 5, 10, 20]):
        places = range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)
        if len(places) <= most:
            break
    return [float(i * step) for i in places]


def percent(share: float) -> str:
    """Return a share as "96 %"; what is not all of it is never written as such."""
    return f"{min(round(100 * share), 99) if share < 1 else 100} %"


def tick_text(value: float) -> str:
    """Return a tick as a short text."""
    return number(0.0 if value == 0 else value, 4)
