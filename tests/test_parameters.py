"""Every parameter of the public API is described, in its docstring or beside its field."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pages
import public_names
import pytest

import argbest
from docs import parameters


def shown(block: str) -> Iterator[Any]:
    """Return what one `::: name` of an API page shows; of a module all that its options do not leave out."""
    path, _, options = block.partition("\n")
    module, _, name = path.strip().rpartition(".")
    try:
        thing: Any = getattr(import_module(module), name)
    except AttributeError:
        thing = import_module(path.strip())
    if not inspect.ismodule(thing):
        yield thing
        return
    listed = re.search(r"members: \[(.+?)\]", options)
    names = listed[1].split(", ") if listed else re.findall(r"^ +- (\w+)$", options, re.MULTILINE)
    left_out = re.findall(r'"!(.+?)"', options)
    for each in names or [name for name, value in vars(thing).items() if own(value, thing)]:
        if not any(re.search(pattern, each) for pattern in left_out):
            yield getattr(thing, each)


def own(value: Any, module: Any) -> bool:
    return bool(getattr(value, "__module__", None) == module.__name__)


def public() -> dict[str, Any]:
    """Return all public functions and classes, by where they are."""
    found = [
        getattr(module, name)
        for module in (import_module(f"argbest.{name}".rstrip(".")) for name in public_names.MODULES)
        for name in getattr(module, "__all__", None) or [n for n, v in vars(module).items() if own(v, module)]
    ]
    for page in sorted((pages.ROOT / "docs" / "api").glob("*.md")):
        for block in re.split(r"^::: ", page.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            found += shown(block)
    return {
        f"{each.__module__}.{each.__qualname__}": each
        for each in found
        if (inspect.isclass(each) or inspect.isfunction(each)) and not each.__name__.startswith("_")
    }


def described() -> Iterator[tuple[str, Any, dict[str, parameters.Description]]]:
    """Return every public function, constructor and method, with what is said of its parameters."""
    for where, thing in public().items():
        if inspect.isfunction(thing):
            yield where, thing, parameters.of_function(thing)
        elif inspect.isclass(thing) and not issubclass(thing, BaseException):
            if not getattr(thing, "_is_protocol", False):
                yield where, thing, parameters.of_class(thing)
            for name, member in vars(thing).items():
                method = inspect.unwrap(getattr(member, "__func__", member))
                if inspect.isfunction(method) and not name.startswith("_"):
                    yield f"{where}.{name}", method, parameters.of_function(method, thing)


# Made by the library alone, from what users do not see.
INTERNAL = {"argbest.study.view.View.of", "argbest.study.view.View.shows"}


def test_every_public_parameter_is_described() -> None:
    missing = {
        where: names
        for where, made, said in described()
        if where not in INTERNAL
        and (names := [name for name in parameters.names(made) if name not in said and name[0] != "_"])
    }
    assert missing == {}
    assert len(public()) > 100  # they were found


def test_what_may_be_given_is_said_in_words_where_the_annotation_says_nothing() -> None:
    silent = (object, Any, "object", "Any")
    missing = [
        f"{where}: {name}"
        for where, made, said in described()
        for name, each in inspect.signature(made).parameters.items()
        if name in said and each.annotation in silent and not said[name].kind
    ]
    assert missing == []


def test_nothing_is_described_that_cannot_be_given() -> None:
    for where, made, _ in described():
        known = [*parameters.names(made), *getattr(made, "__annotations__", {})]
        assert [name for name in parameters.section(made.__doc__ or "") if name not in known] == [], where


@pytest.mark.parametrize("short", [argbest.select, argbest.Study.from_observations])
def test_options_that_are_passed_on_are_described_as_where_they_go(short: Any) -> None:
    there = {
        **parameters.section(argbest.Study.run.__doc__ or ""),
        **parameters.section(argbest.Problem.__doc__ or ""),
        **parameters.section(argbest.Study.__doc__ or ""),
    }
    here = parameters.section(short.__doc__ or "")
    # the same name for something else: columns and runs that exist, whether seeds are known to be shared
    other = {"contexts", "simulate", "common_random_numbers"} if short != argbest.select else set()
    assert {name: said for name, said in here.items() if name in there and name not in other} == {
        name: said for name, said in there.items() if name in here and name not in other
    }


def test_a_section_is_read_with_its_kinds_and_its_long_lines() -> None:
    said = parameters.section(
        'Return it.\n\nArgs:\n    a (list, or None): One: "x".\n    b: Two\n        lines.\n'
    )
    assert said == {"a": ("list, or None", 'One: "x".'), "b": ("", "Two lines.")}
    assert parameters.section("Return it.\n\nArgs are below.") == {}


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        ("BoolArray | None", "array of bool or None"),
        ("'pd.DataFrame'", "DataFrame"),
        ("str | PathLike[str] | Storage | None", "str or path or Storage or None"),
        ("Callable[[int | str], Array] | None", "Callable[[int | str], Array] or None"),
    ],
)
def test_types_are_told_in_words(annotation: str, words: str) -> None:
    assert parameters.readable(annotation) == words
