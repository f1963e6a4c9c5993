"""What our docstrings say of parameters: for the tables of the API pages, and for a test of them.

A docstring may end with a section `Args:` (or `Attributes:` of what nobody makes by hand), an entry per
parameter: `name: what it is` or, where the annotation says nothing, `name (what may be given): what it is`.
What a method does not say is said by the method of that name in a base class, or in the protocol that it
serves; what a class does not say of a field, by the comment behind the field.
"""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from argbest.core.belief import Belief
from argbest.core.question import HasLimits, InClosedForm, Question
from argbest.core.questions.contexts import AsksAboutContexts
from argbest.models import base as models
from argbest.policies.base import Begins, Finishes, OneByOne, Policy
from argbest.problems.design import Design
from argbest.registry import Family

PROTOCOLS: tuple[type, ...] = (
    models.Model, *models.ABILITIES, Policy, OneByOne, Begins, Finishes, Question, InClosedForm, HasLimits,
    AsksAboutContexts, Belief, Design, Family,
)  # fmt: skip
_SECTION = re.compile(r"\n(?:Args|Attributes):\n((?:[ ]{4}.*\n?|\n)+)\Z")
_ENTRY = re.compile(r"^ {4}\*{0,2}(\w+)(?: \((.+?)\))?: ", re.MULTILINE)
_FIELD = re.compile(r"^ {4}(\w+): [^#\n]+#(?! type:| fmt:) (.+)$", re.MULTILINE)
_WORDS = {  # names of types that readers of the reference need not know
    "pd.DataFrame": "DataFrame", "Array": "array", "BoolArray": "array of bool", "IntArray": "array of int",
    "AnyArray": "array", "np.random.Generator": "Generator", "PathLike[str]": "path", "Path": "path",
    "os.PathLike[str]": "path", "Model[Any]": "Model", "Given": "str or dict", "Item": "label or dict",
    "options.Given": "str or dict", "Simulate": "function or Program", "Plain": "dict", "Axes": "axes",
    "Executor": "executor", "Stop": "rule or function", "Progress": "function", "OnResult": "function",
    "Opener": "function", "_Function": "function",
}  # fmt: skip


class Description(NamedTuple):
    """What is said of one parameter."""

    kind: str  # what may be given, in words; "" where the annotation says it
    text: str


def section(docstring: str) -> dict[str, Description]:
    """Return what the last section of a docstring says, by parameter."""
    found = _SECTION.search(inspect.cleandoc(docstring))
    if found is None:
        return {}
    starts = [*_ENTRY.finditer(found[1])]
    ends = [*(each.start() for each in starts[1:]), len(found[1])]
    return {
        each[1]: Description(each[2] or "", " ".join(found[1][each.end() : end].split()))
        for each, end in zip(starts, ends, strict=True)
    }


def without_section(docstring: str) -> str:
    """Return a docstring, its indentation removed, without its last section."""
    return _SECTION.sub("", inspect.cleandoc(docstring))


def of_function(function: Any, owner: type | None = None) -> dict[str, Description]:
    """Return what is said of the parameters of a function, or of a method of the class that owns it."""
    said: dict[str, Description] = {}
    for each in (function, *_alike(function.__name__, owner)):
        said = section(each.__doc__ or "") | said
    return said


def of_class(made: type) -> dict[str, Description]:
    """Return what is said of that which a class is made from."""
    said: dict[str, Description] = {}
    for base in made.__mro__:
        if base.__module__.startswith("argbest"):
            said = _comments(base) | section(base.__dict__.get("__doc__") or "") | said
    return said


def names(function: Any) -> list[str]:
    """Return the names of the parameters of a function or a class, without those that Python fills in."""
    found = inspect.signature(function).parameters
    return [name for name in found if name not in ("self", "cls")]


def readable(annotation: str) -> str:
    """Return a type in words: alternatives joined by "or", names of ours for arrays and frames resolved."""
    parts = [each.strip().strip("'\"") for each in re.split(r"\|(?![^\[]*\])", annotation.strip("'\""))]
    return " or ".join(_WORDS.get(each, each) for each in parts)


def _alike(name: str, owner: type | None) -> Iterator[Any]:
    for base in (*(owner.__mro__[1:] if owner else ()), *(PROTOCOLS if owner else ())):
        if inspect.isfunction(found := inspect.unwrap(base.__dict__.get(name, base))):
            yield found


def _comments(made: type) -> dict[str, Description]:
    """Return the comments behind the fields of a class."""
    if not (dataclasses.is_dataclass(made) or issubclass(made, tuple)):
        return {}
    source = inspect.cleandoc("\n" + inspect.getsource(made))
    return {name: Description("", text) for name, text in _FIELD.findall(source)}
