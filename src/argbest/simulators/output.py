"""Reading the reward from what a program printed."""

import json
import math
import re
from typing import Any

from argbest.errors import SimulationError

_NUMBER = re.compile(r"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[ed][+-]?\d+)?|nan|inf(?:inity)?)", re.I | re.A)
_DIGIT = re.compile(r"\d")
_CLOSING = ",;:)]."  # punctuation that may follow a number, the point being part of it too
_LONGEST = 400  # characters of a number; every double has a shorter text
_SHOWN = 200  # characters of a line in an error


def reward(output: bytes, field: str | None, *, whole: bool = True) -> float:
    """Return the last number of the output, or the JSON field named; SimulationError if there is none.

    Without a field: the last word with a digit in it must be a number, alone or behind an equals sign
    ("3.2", "mean wait: 3.2 min", "wait=3.2e-1"; Fortran's 3.2D-1 counts); words without digits may follow.
    What is glued to something else ("1,234.5", "12:30", "0.5s") is refused rather than guessed at.

    With a field: the output, or else its last line that is not blank, is a JSON document; "a.b" is field b
    of field a, or the field "a.b" itself, and in a list the entry of that number, from 0. ``whole`` tells
    that the output is complete, not merely its end.
    """
    text = output.decode("utf-8", "replace").lstrip("\ufeff").strip()
    if not text:
        raise SimulationError("the program printed nothing on standard output")
    last = text.splitlines()[-1].strip()
    value = _number(text, last) if field is None else _field(_document(text, last, whole), field)
    if not math.isfinite(value):
        raise SimulationError(f"the program printed the reward {value}; expected a finite number")
    return value


def _number(text: str, last: str) -> float:
    for word in reversed(text.split()):
        token = word.rpartition("=")[2].rstrip(_CLOSING)
        if len(token) <= _LONGEST and _NUMBER.fullmatch(token):
            return float(token if "n" in token.lower() else token.lower().replace("d", "e"))
        if _DIGIT.search(word):
            break
    raise SimulationError(
        f"standard output ends with {_shown(last)}; its last number cannot be read. Expected the reward "
        "there, or the name of a JSON field"
    )


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


def _field(document: Any, path: str) -> float:
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
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SimulationError(f"the JSON field {path!r} is {_shown(value)}; expected a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
