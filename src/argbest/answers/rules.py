"""A rule in words, as a diagram, as Python and as a table; and what it says of contexts never simulated."""

import csv
import io
import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from argbest.core.questions.trees import Condition, Leaf, Split, Tree, Value
from argbest.errors import InputError
from argbest.problems.axis import Axis, Item
from argbest.texts import Sentences, number


@dataclass(frozen=True, eq=False, repr=False)
class ChosenRule(Sentences):
    """A few conditions on the columns of a context that say which alternative to take."""

    tree: Tree
    alternatives: Axis
    contexts: Axis

    def choose(self, context: object) -> Item:
        """Return the alternative for a context, simulated or not, as the simulator would receive it.

        The context is a label, or a dict of columns, of which those that the rule asks for are enough. A
        name that the rule does not know counts as one of "otherwise".
        """
        row = self._row(context)
        asked = {each.column for each in self.conditions}
        if missing := sorted(asked - row.keys()):
            raise InputError(
                f"got the context {context!r} without {missing[0]!r}, which the rule asks for. Add it."
            )
        for column in asked:
            if column in self._numbers and (isinstance(row[column], str) or row[column] is None):
                raise InputError(
                    f"got {column}={row[column]!r}; the rule compares it with a number. Give one."
                )
        return self.alternatives.item(self.tree.choose(row))

    def _row(self, context: object) -> Mapping[str, Any]:
        if isinstance(context, Mapping):
            return context
        if len(self.contexts.coordinates) == 1:
            return {self._word(name): context for name in self.contexts.coordinates}
        item = self.contexts.item(self.contexts.index(context))
        return item if isinstance(item, Mapping) else {}

    def _word(self, name: str) -> str:
        return name if self.contexts.columns else self.contexts.word or name

    @cached_property
    def _numbers(self) -> set[str]:
        return {each.column for each in self.conditions if each.below is not None}

    @property
    def conditions(self) -> list[Condition]:
        """The conditions, in the order in which they are asked."""
        return list(_conditions(self.tree))

    @property
    def ends(self) -> list[tuple[tuple[tuple[Condition, bool], ...], object]]:
        """The conditions, each held or not, that lead to every end, and the label of its alternative."""
        labels = self.alternatives.labels
        return [(path, labels[leaf.alternative]) for path, leaf in _paths(self.tree)]

    def sentences(self) -> list[str]:
        """Return the rule in words, one sentence per end."""
        return [f"{' and '.join(clauses(path)) or 'always'}: {label}" for path, label in self.ends]

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def python(self, name: str = "choose") -> str:
        """Return the rule as the text of a Python function of the columns that it asks for."""
        if not name.isidentifier() or keyword.iskeyword(name):
            raise InputError(f"got name={name!r}; expected the name of a Python function.")
        columns = {each.column: None for each in self.conditions}
        arguments = _arguments(list(columns))
        body = _body(self.tree, arguments, self.alternatives, 1)
        return "\n".join([f"def {name}({', '.join(arguments.values())}):", *body]) + "\n"

    def csv(self) -> str:
        """Return the rule as a table: a row per end, its conditions in words and its alternative."""
        file = io.StringIO()
        depth = max(self.tree.depth, 1)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*(f"condition_{i + 1}" for i in range(depth)), "alternative"])
        for path, label in self.ends:
            said = clauses(path)
            writer.writerow([*said, *[""] * (depth - len(said)), label])
        return file.getvalue()


def _conditions(tree: Tree) -> Iterator[Condition]:
    if isinstance(tree, Split):
        yield tree.condition
        yield from _conditions(tree.yes)
        yield from _conditions(tree.no)


def _paths(tree: Tree) -> Iterator[tuple[tuple[tuple[Condition, bool], ...], Leaf]]:
    if isinstance(tree, Leaf):
        yield (), tree
        return
    for held, side in ((True, tree.yes), (False, tree.no)):
        for path, leaf in _paths(side):
            yield ((tree.condition, held), *path), leaf


def condition_in_words(condition: Condition, *, held: bool = True) -> str:
    """Return a condition as "arrivals < 45", or what is so where it does not hold: "arrivals ≥ 45"."""
    if condition.below is not None:
        return f"{condition.column} {'<' if held else '≥'} {number(condition.below, 4)}"
    if len(condition.names) == 1:
        return f"{condition.column} is {'' if held else 'not '}{condition.names[0]}"
    return f"{condition.column} is {'' if held else 'not '}one of {', '.join(map(str, condition.names))}"


def clauses(path: tuple[tuple[Condition, bool], ...]) -> list[str]:
    """Return the conditions on the way to an end, those on the same number in one: "16 ≤ rate < 24"."""
    said: dict[object, str] = {}
    for condition, held in path:
        if condition.below is None:
            said[condition] = condition_in_words(condition, held=held)
            continue
        own = [
            (each.below, it)
            for each, it in path
            if each.column == condition.column and each.below is not None
        ]
        high = min((below for below, it in own if it), default=None)
        low = max((below for below, it in own if not it), default=None)
        if low is None or high is None:
            ends = Condition(condition.column, below=high if low is None else low)
            said[condition.column] = condition_in_words(ends, held=low is None)
        else:
            said[condition.column] = f"{number(low, 4)} ≤ {condition.column} < {number(high, 4)}"
    return list(said.values())


def _arguments(columns: list[str]) -> dict[str, str]:
    """Return names of arguments for columns, which may be called anything."""
    found: dict[str, str] = {}
    for column in columns:
        word = re.sub(r"\W", "_", column)
        word = f"_{word}" if not word or word[0].isdigit() or keyword.iskeyword(word) else word
        while word in found.values():
            word += "_"
        found[column] = word
    return found


def _body(tree: Tree, arguments: Mapping[str, str], alternatives: Axis, level: int) -> list[str]:
    indent = "    " * level
    if isinstance(tree, Leaf):
        return [f"{indent}return {alternatives.item(tree.alternative)!r}"]
    word = arguments[tree.condition.column]
    asked = (
        f"{word} < {tree.condition.below!r}"
        if tree.condition.below is not None
        else f"{word} in {_tuple(tree.condition.names)}"
    )
    yes, no = (_body(side, arguments, alternatives, level + 1) for side in (tree.yes, tree.no))
    return [f"{indent}if {asked}:", *yes, f"{indent}else:", *no]


def _tuple(values: tuple[Value, ...]) -> str:
    return f"({', '.join(map(repr, values))},)"
