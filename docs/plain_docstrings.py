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


def _escaped(text: str) -> str:
    parts = _CODE.split(text)
    return "".join(part if i % 2 else _plain(part) for i, part in enumerate(parts))


def _plain(text: str) -> str:
    """Return text with its marks escaped, but for indented lines, which are shown as they are."""
    lines = text.split("\n")
    return "\n".join(line if line.startswith("    ") else _MARKS.sub(r"\\\1", line) for line in lines)
