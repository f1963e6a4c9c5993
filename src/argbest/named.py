"""Things by their names: those that ship, and those that other packages add by entry points."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from argbest import plugins
from argbest.checks import one_of
from argbest.errors import InputError

_Entry = TypeVar("_Entry")


def everything(
    group: plugins.Group, ours: Mapping[str, _Entry], entry: Callable[[Any], _Entry]
) -> dict[str, _Entry]:
    """Return the entries of all names; ``entry`` makes one of what a package declares."""
    found = dict(ours)
    for name in plugins.found(group):
        try:
            found.setdefault(name, entry(plugins.load(group, name)))
        except InputError as error:  # the others are there all the same
            warnings.warn(str(error), stacklevel=3)
    return found


def known(group: plugins.Group, name: object, ours: Mapping[str, Any]) -> bool:
    """Return whether something has this name."""
    return isinstance(name, str) and (name in ours or name in plugins.found(group))


def one(
    kind: str, group: plugins.Group, name: object, ours: Mapping[str, _Entry], entry: Callable[[Any], _Entry]
) -> _Entry:
    """Return the entry of one name; ``kind`` is what errors call it."""
    if isinstance(name, str) and name in ours:
        return ours[name]
    return entry(plugins.load(group, one_of(kind, name, {**ours, **plugins.found(group)})))
