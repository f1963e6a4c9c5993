"""The page of all public names, generated: `python tests/public_names.py` writes docs/names.md."""

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import argbest

PAGE = Path(__file__).parents[1] / "docs" / "names.md"
MODULES = ("", "models", "policies", "problems", "questions", "experiment", "report", "theory", "testing")
_HEAD = """\
# All public names

What `import argbest` offers, and the modules below it, which are loaded when they are first used.
The other pages of the reference say more.
"""


def page() -> str:
    """Return the page: a table per module, a row per name with the first sentence of its docstring."""
    return _HEAD + "".join(f"\n{_table(module)}" for module in MODULES)


def _table(module: str) -> str:
    full = f"argbest.{module}".rstrip(".")
    where = import_module(full)
    found = getattr(where, "__all__", None) or [
        name for name, value in vars(where).items() if _own(name, value, full)
    ]
    names = [name for name in sorted(found, key=str.lower) if not name.startswith("_")]
    rows = [f"| `{name}` | {_meaning(getattr(where, name))} |" for name in names]
    return "\n".join([f"## `{full}`", "", "| name | what it is |", "|---|---|", *rows]) + "\n"


def _own(name: str, value: Any, module: str) -> bool:
    return not name.startswith("_") and getattr(value, "__module__", None) == module


def _meaning(value: object) -> str:
    text = inspect.getdoc(value) or ""
    if isinstance(value, frozenset | str):
        text = f"{sorted(value)}" if isinstance(value, frozenset) else repr(value)
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


if __name__ == "__main__":
    assert argbest.__doc__
    PAGE.write_text(page(), encoding="utf-8")
