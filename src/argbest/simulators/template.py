"""Templates of commands: texts with fields such as {alternative.servers}, and nothing cleverer than that."""

import difflib
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from argbest.errors import InputError

AXES = ("alternative", "context")
_ROOTS = (*AXES, "seed", "python")
_PIECE = re.compile(r"(?P<brace>\{\{|\}\})|\{(?P<field>[^{}]*)\}|(?P<lone>[{}])|(?P<text>[^{}]+)")


class Field(NamedTuple):
    """{root} or {root.column}."""

    root: str
    column: str | None

    def __str__(self) -> str:
        return "{" + (self.root if self.column is None else f"{self.root}.{self.column}") + "}"


Template: TypeAlias = tuple[str | Field, ...]


@lru_cache(maxsize=1024)
def parse(text: str) -> Template:
    """Return the literal texts and the fields of a template; {{ and }} stand for braces.

    Fields are {alternative}, {context}, {alternative.COLUMN}, {context.COLUMN}, {seed} and {python}; COLUMN
    is the name of a column, any text without braces. There are no formats, no attributes and no indices.
    """
    parts: list[str | Field] = []
    for piece in _PIECE.finditer(text):
        if piece["lone"]:
            raise InputError(
                f"the template {text!r} has a lone {piece['lone']!r} at position {piece.start()}. Close the "
                "field, or write {{ or }} for a brace."
            )
        if piece["field"] is not None:
            parts.append(_field(piece["field"], text))
        else:
            parts.append(piece["brace"][0] if piece["brace"] else piece["text"])
    return tuple(parts)


def fields(templates: Iterable[str]) -> set[Field]:
    """Return all fields of some templates."""
    return {part for text in templates for part in parse(text) if isinstance(part, Field)}


def render(text: str, alternative: Any, context: Any, seed: int) -> str:
    """Return the template with its fields filled in; see `written` for how values are written."""
    values = {"alternative": alternative, "context": context, "seed": seed, "python": sys.executable}
    return "".join(part if isinstance(part, str) else _value(part, values[part.root]) for part in parse(text))


def written(value: Any) -> str:
    """Return a value as text: numbers so that they read back exactly, true and false, rows as JSON objects.

    A row is what an alternative or context with named columns is; text is passed on as it is.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        if "\0" in value:
            raise InputError(f"{value!r} holds the character NUL, which no program can be given. Remove it.")
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False)
    raise InputError(f"got {value!r} ({type(value).__name__}); a program is given text, numbers or rows.")


def check(templates: Sequence[str], items: Mapping[str, Sequence[Any]]) -> None:
    """Raise an InputError unless the templates fit the items and tell them apart.

    ``items`` are all that the simulator may receive as "alternative" and as "context": labels, or rows.
    """
    used = fields(templates)
    for axis in AXES:
        own = sorted((field for field in used if field.root == axis), key=str)
        known = _known(axis, items[axis])
        for field in own:
            if str(field) not in known:
                raise _unknown(str(field), known)
        if len(items[axis]) < 2:
            continue
        if not own:
            raise InputError(f"the command is the same for every {axis}. Use {' or '.join(known)} in it.")
        seen: dict[tuple[str, ...], Any] = {}
        for item in items[axis]:
            first = seen.setdefault(tuple(_value(field, item) for field in own), item)
            if first is not item:
                missing = [name for name in known if name not in set(map(str, own))]
                raise InputError(
                    f"the command is the same for the {axis}s {first!r} and {item!r}. "
                    f"Use {' or '.join(missing)} in it too."
                )


def _field(name: str, text: str) -> Field:
    root, dot, column = name.partition(".")
    if root in AXES and (column or not dot):
        return Field(root, column or None)
    if root in _ROOTS and not dot:
        return Field(root, None)
    known = ["{alternative}", "{alternative.COLUMN}", "{context}", "{context.COLUMN}", "{seed}", "{python}"]
    error = _unknown("{" + name + "}", known)
    raise InputError(f"the template {text!r}: {error} Write {{{{ and }}}} for braces.")


def _known(axis: str, items: Sequence[Any]) -> list[str]:
    """Return the fields that the items of an axis can fill."""
    columns = list(items[0]) if items and isinstance(items[0], Mapping) else []
    return [*(str(Field(axis, name)) for name in columns), str(Field(axis, None))]


def _unknown(name: str, known: Sequence[str]) -> InputError:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]}?" if near else ""
    return InputError(f"unknown field {name}; known are {', '.join(known)}.{hint}")


def _value(field: Field, value: Any) -> str:
    if field.column is None:
        return written(value)
    if not isinstance(value, Mapping) or field.column not in value:
        raise _unknown(str(field), _known(field.root, [value]))
    return written(value[field.column])
