"""Texts to and from programs: commands with fields like {context.rate}, the responses in what they print."""

import difflib
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from argbest.errors import InputError, SimulationError

AXES = ("alternative", "context")
_ROOTS = (*AXES, "seed", "python")
_PIECE = re.compile(r"(?P<brace>\{\{|\}\})|\{(?P<field>[^{}]*)\}|(?P<lone>[{}])|(?P<text>[^{}]+)")
_NUMBER = re.compile(r"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[ed][+-]?\d+)?|nan|inf(?:inity)?)", re.I | re.A)
_DIGIT = re.compile(r"\d")
_PARTS = re.compile(r"[;|\t]|,(?=\s|[^\W\d]|[\"'`])")  # between named numbers; not the comma in 1,5
_NAMED = re.compile(r"(?P<name>[^=:]+?)\s*[=:]\s*(?P<value>[^\s=:]+)(?=\s|$)")
_TRUTHS = {"true": True, "false": False}
_CLOSING = ",;:)]."  # punctuation that may follow a number, the point being part of it too
_LONGEST = 400  # characters of a number; every double has a shorter text
_SHOWN = 200  # characters of a line in an error


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

    Args:
        text: The template.
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


def reward(output: bytes, field: str | None, *, whole: bool = True) -> float:
    """Return the last number of the output, or the JSON field named; SimulationError if there is none.

    Without a field: the last word with a digit in it must be a number, alone or behind an equals sign
    ("3.2", "mean wait: 3.2 min", "wait=3.2e-1"; Fortran's 3.2D-1 counts); words without digits may follow.
    What is glued to something else ("1,234.5", "12:30", "0.5s") is refused rather than guessed at.

    With a field: the output, or else its last line that is not blank, is a JSON document; "a.b" is field b
    of field a, or the field "a.b" itself, and in a list the entry of that number, from 0. ``whole`` tells
    that the output is complete, not merely its end.

    Args:
        output: What the program printed.
        field: The JSON field that holds the reward; None: the last number.
        whole: Whether the output is complete, not merely its end.
    """
    text, last = _read(output)
    if field is None:
        return _finite("reward", _number(text, last))
    return _finite("reward", _json_field(_document(text, last, whole), field))


def responses(output: bytes, names: Sequence[str], *, whole: bool = True) -> dict[str, float]:
    """Return these responses from the output; SimulationError if one is missing or no finite number.

    The output, or else its last line that is not blank, is a JSON document with these fields (see `reward`).
    Or it has named numbers, "cost=1.2 late=0" or lines like "cost: 1.2"; of those that come twice the last
    ones count, as the last number does. What else is printed is ignored. A single response may have no name.
    """
    text, last = _read(output)
    if last.startswith("{") or last.endswith("}"):
        document = _document(text, last, whole)
        return {name: _finite(f"response {name!r}", _json_field(document, name)) for name in names}
    found = dict(_named(text))
    if len(names) == 1 and names[0] not in found:
        return {names[0]: _finite(f"response {names[0]!r}", _number(text, last))}
    return {name: _response(name, found, last) for name in names}


def _read(output: bytes) -> tuple[str, str]:
    """Return what a program printed, and its last line."""
    text = output.decode("utf-8", "replace").lstrip("\ufeff").strip()
    if not text:
        raise SimulationError("the program printed nothing on standard output")
    return text, text.splitlines()[-1].strip()


def _finite(what: str, value: float) -> float:
    if not math.isfinite(value):
        raise SimulationError(f"the program printed the {what} {value}; expected a finite number")
    return value


def _number(text: str, last: str) -> float:
    for word in reversed(text.split()):
        found = _plain_number(word.rpartition("=")[2])
        if found is not None:
            return found
        if _DIGIT.search(word):
            break
    if fields := _json_names(text, last):
        raise SimulationError(
            f"the program printed a JSON object with {_shown(', '.join(fields))}, and nothing says which is "
            f"the reward. Name a field, field = {fields[0]!r}, or responses in the goal, 'min {fields[0]}'"
        )
    raise SimulationError(
        f"standard output ends with {_shown(last)}; its last number cannot be read. Expected the reward "
        "there, or the name of a JSON field"
    )


def _plain_number(word: str) -> float | None:
    """Return the number that a word is, None if it is none; Fortran's 3.2D-1 is one."""
    token = word.rstrip(_CLOSING)
    if len(token) > _LONGEST or not _NUMBER.fullmatch(token):
        return None
    return float(token if "n" in token.lower() else token.lower().replace("d", "e"))


def _named(text: str) -> Iterator[tuple[str, str]]:
    """Yield what is printed as name=value or name: value, in the order of printing."""
    for line in text.splitlines():
        for part in _PARTS.split(line):
            for found in _NAMED.finditer(part):
                yield found["name"].strip(" \"'`"), found["value"]


def _response(name: str, found: Mapping[str, str], last: str) -> float:
    """Return one of the named values that a program printed, if it is a finite number or a truth value."""
    if name not in found:
        there = f"; there are {_shown(', '.join(found))}" if found else f", which ends with {_shown(last)}"
        raise SimulationError(
            f"standard output has no response {name!r}{there}. Expected {name}=NUMBER, a line "
            f"{name}: NUMBER, or a JSON object"
        )
    word = found[name].rstrip(_CLOSING)
    if word.lower() in _TRUTHS:
        return _TRUTHS[word.lower()]
    number = _plain_number(word)
    if number is None:
        raise SimulationError(
            f"standard output has the response {name!r} as {_shown(found[name])}; expected a number"
        )
    return _finite(f"response {name!r}", number)


def _document(text: str, last: str, whole: bool) -> Any:
    for candidate in (text, last):
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    cut = "" if whole else " (only the end of this much output was kept)"
    raise SimulationError(
        f"neither standard output nor its last line, {_shown(last)}, is a JSON document{cut}"
    )


def _json_names(text: str, last: str) -> list[str]:
    """Return the names of the fields of a JSON object, none where there is no such object."""
    try:
        document = _document(text, last, whole=True)
    except SimulationError:
        return []
    return list(document) if isinstance(document, dict) else []


def _json_field(document: Any, path: str) -> float:
    value, rest = document, path
    while rest:
        if isinstance(value, dict) and rest in value:
            value, rest = value[rest], ""
            break
        name, _, rest = rest.partition(".")
        try:
            value = value[int(name)] if isinstance(value, list) and name.isdecimal() else value[name]
        except (KeyError, IndexError, TypeError):
            there = f"; there are {_shown(', '.join(value))}" if isinstance(value, dict) and value else ""
            raise SimulationError(f"the JSON on standard output has no field {path!r}{there}") from None
    if isinstance(value, bool):
        return value  # the rewards are a rate
    if not isinstance(value, int | float):
        raise SimulationError(f"the JSON field {path!r} is {_shown(value)}; expected a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
