"""An extension of Griffe: docstrings are plain text with `code`; what Markdown takes for marks is escaped."""

import re
from typing import Any

import griffe

_CODE = re.compile(r"(``.+?``|`.+?`)", re.DOTALL)
_MARKS = re.compile(r"([*_\[\]<>$#])")


class PlainDocstrings(griffe.Extension):
    """Escapes asterisks, underscores, brackets and the like outside of code."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Escape the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = _escaped(obj.docstring.value)

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Add a table of what a class is made from."""
        if isinstance(cls.members.get("__init__"), griffe.Function):
            _tabulate(cls, cls.members["__init__"].parameters)

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Add a table of parameters."""
        if func.name != "__init__":
            _tabulate(func, func.parameters)


def _tabulate(thing: griffe.Object, parameters: Any) -> None:
    """Append a row per parameter to a docstring: name, type and default."""
    rows = [
        f"| `{each.name}` | {_cell(each.annotation)} | {_cell(each.default)} |"
        for each in parameters
        if each.name not in ("self", "cls")
    ]
    if thing.docstring is not None and rows:
        head = ["", "", "| parameter | type | default |", "|---|---|---|"]
        thing.docstring.value += "\n".join([*head, *rows])


def _cell(value: object) -> str:
    text = "" if value is None else str(value).replace("|", "\\|")
    return f"`{text}`" if text else ""


def _escaped(text: str) -> str:
    parts = _CODE.split(text)
    return "".join(part if i % 2 else _plain(part) for i, part in enumerate(parts))


def _plain(text: str) -> str:
    """Return text with its marks escaped, but for indented lines, which are shown as they are."""
    lines = text.split("\n")
    return "\n".join(line if line.startswith("    ") else _MARKS.sub(r"\\\1", line) for line in lines)
