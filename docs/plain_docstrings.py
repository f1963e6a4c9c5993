"""An extension of Griffe: docstrings are plain text with `code`, and their parameters become tables."""

import ast
import html
import inspect
import re
import textwrap
from functools import cache
from importlib import import_module
from typing import Any

import griffe

from docs import parameters

_CODE = re.compile(r"(``.+?``|`.+?`)", re.DOTALL)
_MARKS = re.compile(r"([*_\[\]$#])")
_Signature = dict[str, tuple[str, str | None]]  # annotation and default by parameter


class PlainDocstrings(griffe.Extension):
    """Escapes what Markdown takes for marks outside of code, and shows parameters in tables."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Escape the docstring of one object, without what it says of parameters."""
        if obj.docstring is not None:
            obj.docstring.value = _escaped(parameters.without_section(obj.docstring.value))

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Add a table of what a class is made from."""
        made = _thing(cls.path)
        if (
            inspect.isclass(made)
            and not made.__name__.startswith("_")
            and (said := parameters.of_class(made))
        ):
            init = cls.members.get("__init__")
            own = isinstance(init, griffe.Function)
            _tabulate(cls, _of_function(init, made) if own else _of_fields(made), said)

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Add a table of the parameters of a function."""
        made, owner = _thing(func.path), _thing(func.path.rpartition(".")[0])
        if func.name != "__init__" and inspect.isroutine(made):
            said = parameters.of_function(made, owner if inspect.isclass(owner) else None)
            _tabulate(func, _of_function(func, made), said)


@cache
def _thing(path: str) -> Any:
    """Return what a dotted path leads to; None if it leads nowhere."""
    module, found = path, None
    while module and found is None:
        try:
            found = import_module(module)
        except ModuleNotFoundError:
            module = module.rpartition(".")[0]
    for name in filter(None, path[len(module) :].split(".")):
        found = getattr(found, name, None)
    return found


def _of_function(function: Any, made: Any) -> _Signature:
    """Return the parameters of a function as they are written, but defaults that are constants by value."""
    values = {name: repr(each.default) for name, each in inspect.signature(made).parameters.items()}
    written = {
        each.name: (str(each.annotation or ""), each.default and str(each.default))
        for each in function.parameters
    }
    return {
        name: (kind, values[name] if default and default.isupper() else default)
        for name, (kind, default) in written.items()
        if name not in ("self", "cls")
    }


def _of_fields(made: type) -> _Signature:
    """Return the fields of a dataclass, those of its bases too."""
    kinds: dict[str, str] = {}
    for base in made.__mro__:
        if base.__module__.startswith("argbest"):
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
            found = (each for each in ast.walk(tree) if isinstance(each, ast.AnnAssign))
            kinds = {ast.unparse(each.target): ast.unparse(each.annotation) for each in found} | kinds
    return {
        name: (kinds.get(name, ""), None if each.default is each.empty else repr(each.default))
        for name, each in inspect.signature(made).parameters.items()
        if not name.startswith("_")
    }


def _tabulate(thing: griffe.Object, signature: _Signature, said: dict[str, parameters.Description]) -> None:
    """Append a row per parameter to a docstring: name, default and type, and what it is."""
    rows = ["", "", "| parameter | what it is |", "|---|---|"]
    for name, (annotation, default) in signature.items():
        kind, text = said.get(name, parameters.Description("", ""))
        given = f"`{name}`" if default is None else f"`{name}` = `{default}`"
        cells = f"{given}<br>{_escaped(kind or parameters.readable(annotation))}", _escaped(text)
        rows.append(" | ".join(["", *(cell.replace("|", "\\|") for cell in cells), ""]).strip())
    if thing.docstring is not None and signature:
        thing.docstring.value += "\n".join(rows)


def _escaped(text: str) -> str:
    parts = _CODE.split(text)
    return "".join(part if i % 2 else _plain(part) for i, part in enumerate(parts))


def _plain(text: str) -> str:
    """Return text with its marks escaped, but for indented lines, which are shown as they are."""
    lines = text.split("\n")
    escaped = [html.escape(_MARKS.sub(r"\\\1", line), quote=False) for line in lines]
    return "\n".join(old if old.startswith("    ") else new for old, new in zip(lines, escaped, strict=True))
