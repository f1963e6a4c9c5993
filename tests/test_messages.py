"""What people read in a shell names no call of Python."""

import ast
import re
from pathlib import Path

import argbest

SOURCE = Path(argbest.__file__).parent
CALL = re.compile(
    r"\b(?:study|Study|problem|Problem)\.[a-z_]+\b|\b(?!P\()[A-Za-z_][\w.]*\((?!s\))[^()\s]*(?:\([^()]*\))?[^()\s]*\)"
)
# Messages that no command can cause: they are about arguments of Python functions.
IN_PYTHON_ALONE: dict[str, set[str]] = {}


def messages(path: Path) -> list[str]:
    """The sentences of a file, but for docstrings; what is filled in is left out."""
    tree = ast.parse(path.read_text("utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {ast.get_docstring(each, clean=False) for each in ast.walk(tree) if isinstance(each, kinds)}
    texts = [each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)]
    return [text for text in texts if isinstance(text, str) and " " in text and text not in docs]


def test_no_message_of_a_command_names_a_call_of_python() -> None:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(("testing/", "studyfile/")):  # for authors of policies; and what `init` writes
            continue
        if calls := {call for text in messages(path) for call in CALL.findall(text)}:
            found[name] = calls
    assert found == IN_PYTHON_ALONE
