"""Modules and names that are imported when they are first used: commands shall start at once."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attributes(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package; ``modules`` maps each module to the names it has.

    Names without a module, under "", are themselves modules of the package.
    """
    where = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{where[name] or name}")
        value = getattr(module, name) if where[name] else module
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*where, *(name for name in vars(sys.modules[package]) if name.startswith("__"))})

    return get, names


class later:  # noqa: N801 (it reads as what it does)
    """A module that is imported when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


def functions(module: str, names: str) -> list[Callable[..., Any]]:
    """Return functions of a module that is imported when one of them is first called."""

    def late(name: str) -> Callable[..., Any]:
        found: Callable[..., Any] | None = None

        def call(*given: Any, **options: Any) -> Any:
            nonlocal found
            if found is None:
                found = getattr(import_module(module), name)
            return found(*given, **options)

        return call

    return [late(name) for name in names.split()]
