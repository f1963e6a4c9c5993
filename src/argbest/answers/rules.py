"""A rule in words, as Python and as a table; and what it says of contexts never simulated."""

import keyword
import math
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from argbest.core.questions.trees import Condition, Leaf, Split, Tree, Value
from argbest.errors import InputError
from argbest.problems.axis import Axis, Item
from argbest.problems.labels import Label, called
from argbest.table_files import in_cell, to_csv
from argbest.texts import Sentences


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
        for column in sorted(asked & self._numbers):
            if not _is_number(row[column]):
                raise InputError(
                    f"got {column}={row[column]!r}; the rule compares it with a number. Give one."
                )
        return self.alternatives.item(self.tree.choose(row))

    def _row(self, context: object) -> Mapping[str, Any]:
        """Return a context by its columns, whether it is given as a dict or by its label."""
        if isinstance(context, Mapping):
            return context
        if len(self.contexts.coordinates) == 1:
            return {self._word(name): context for name in self.contexts.coordinates}
        item = self.contexts.item(self.contexts.index(context))
        return item if isinstance(item, Mapping) else {}

    def _word(self, name: str) -> str:
        """Return what users call a column; contexts that are bare values have one, with a name of its own."""
        return name if self.contexts.columns else self.contexts.word or name

    @cached_property
    def _numbers(self) -> set[str]:
        return {each.column for each in self.conditions if each.below is not None}

    @property
    def conditions(self) -> list[Condition]:
        """The conditions, in the order in which they are asked."""
        return list(_conditions(self.tree))

    @property
    def ends(self) -> list[tuple[tuple[tuple[Condition, bool], ...], Label]]:
        """The conditions, each held or not, that lead to every end, and the label of its alternative."""
        labels = self.alternatives.labels
        return [(path, labels[leaf.alternative]) for path, leaf in _paths(self.tree)]

    def sentences(self) -> list[str]:
        """Return the rule in words, one sentence per end."""
        return [f"{where(path)}: {named}" for path, named in self.said_ends]

    @property
    def said_ends(self) -> list[tuple[tuple[tuple[Condition, bool], ...], str]]:
        """The same ends with what alternatives are called: "servers 2" where the label is a bare number."""
        return [
            (path, called(self.alternatives, self.alternatives.index(label))) for path, label in self.ends
        ]

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def python(self, name: str = "choose") -> str:
        """Return the rule as the text of a Python function of the columns that it asks for."""
        if not name.isidentifier() or keyword.iskeyword(name):
            raise InputError(f"got name={name!r}; expected the name of a Python function.")
        arguments = _arguments(list(dict.fromkeys(each.column for each in self.conditions)))
        renamed = [f"{word}: {column!r}" for column, word in arguments.items() if word != column]
        lines = [f"def {name}({', '.join(arguments.values())}):", *(f"    # {each}" for each in renamed)]
        return "\n".join([*lines, *_body(self.tree, arguments, self.alternatives, 1)]) + "\n"

    def frame(self) -> pd.DataFrame:
        """Return a row per end: its conditions in words and column by column, and its alternative.

        A number is at least "from" and less than "below", a name is one of "is" or none of "is not"; empty
        says nothing. Names in a cell are separated by semicolons, those that have one or a quotation mark, or
        begin or end with a space, stand in quotation marks, as in CSV.
        """
        rows = []
        for path, label in self.ends:
            row: dict[str, object] = {"where": where(path)}
            for column in dict.fromkeys(each.column for each in self.conditions):
                if column in self._numbers:
                    row[f"{column} from"], row[f"{column} below"] = _range(path, column)
                else:
                    names, held = _names(path, column)
                    cell = in_cell(names, ";") or None
                    row[f"{column} is"], row[f"{column} is not"] = (cell, None) if held else (None, cell)
            rows.append(row | {"alternative": label})
        return pd.DataFrame(rows)

    def csv(self) -> str:
        """Return `frame` as the text of a CSV file."""
        return to_csv(self.frame())


def _is_number(value: object) -> bool:
    try:
        return not isinstance(value, str) and math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def _conditions(tree: Tree) -> Iterator[Condition]:
    """Yield the conditions of a tree in the order in which they are asked."""
    if isinstance(tree, Split):
        yield tree.condition
        yield from _conditions(tree.yes)
        yield from _conditions(tree.no)


def _paths(tree: Tree) -> Iterator[tuple[tuple[tuple[Condition, bool], ...], Leaf]]:
    """Yield every end of a tree with the conditions, each held or not, that lead to it."""
    if isinstance(tree, Leaf):
        yield (), tree
        return
    for held, side in ((True, tree.yes), (False, tree.no)):
        for path, leaf in _paths(side):
            yield ((tree.condition, held), *path), leaf


def condition_in_words(condition: Condition, *, held: bool = True) -> str:
    """Return a condition as "arrivals < 45", or what is so where it does not hold: "arrivals ≥ 45"."""
    if condition.below is not None:
        return f"{condition.column} {'<' if held else '≥'} {_exactly(condition.below)}"
    if len(condition.names) == 1:
        return f"{condition.column} is {'' if held else 'not '}{condition.names[0]}"
    several = "one" if held else "none"
    return f"{condition.column} is {several} of {', '.join(map(str, condition.names))}"


def where(path: tuple[tuple[Condition, bool], ...]) -> str:
    """Return the conditions on the way to an end in words; those on one column in one: "16 ≤ rate < 24"."""
    parts = {}
    for column, number in {each.column: each.below is not None for each, _ in path}.items():
        if not number:
            names, held = _names(path, column)
            parts[column] = condition_in_words(Condition(column, names=names), held=held)
            continue
        low, high = _range(path, column)
        if low is not None and high is not None:
            parts[column] = f"{_exactly(low)} ≤ {column} < {_exactly(high)}"
        else:
            ends = Condition(column, below=high if low is None else low)
            parts[column] = condition_in_words(ends, held=low is None)
    return " and ".join(parts.values()) or "always"


def _range(path: tuple[tuple[Condition, bool], ...], column: str) -> tuple[float | None, float | None]:
    """Return the least value of a column and the first that is too large on the way to an end."""
    own = [(each.below, held) for each, held in path if each.column == column and each.below is not None]
    low = max((below for below, held in own if not held), default=None)
    return low, min((below for below, held in own if held), default=None)


def _names(path: tuple[tuple[Condition, bool], ...], column: str) -> tuple[tuple[Value, ...], bool]:
    """Return the names of a column that lead to an end and True, or those that do not and False.

    What several conditions in a row leave of a column is what all of them leave.
    """
    own = [(each.names, held) for each, held in path if each.column == column]
    barred = tuple(dict.fromkeys(name for names, held in own if not held for name in names))
    open_to = [names for names, held in own if held]
    if not open_to:
        return barred, False
    return tuple(n for n in open_to[0] if n not in barred and all(n in names for names in open_to)), True


def _exactly(threshold: float) -> str:
    """Return a threshold with all digits that it has: fewer might put a context on the other side."""
    return f"{threshold:.0f}" if threshold.is_integer() and abs(threshold) < 1e15 else repr(threshold)


def _arguments(columns: list[str]) -> dict[str, str]:
    """Return names of arguments for columns, which may be called anything."""
    found: dict[str, str] = {}
    for column in columns:
        # Python takes identifiers of the same compatible form for one.
        word = "".join(c if f"_{c}".isidentifier() else "_" for c in unicodedata.normalize("NFKC", column))
        word = word if word.isidentifier() and not keyword.iskeyword(word) else f"_{word}"
        while word in found.values():
            word += "_"
        found[column] = word
    return found


def _body(tree: Tree, arguments: Mapping[str, str], alternatives: Axis, level: int) -> list[str]:
    """Return the lines of a Python function that follow a tree."""
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
