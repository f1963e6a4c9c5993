"""What other installed packages add: policies, models, problems, questions, storages, by their entry points.

A package that declares, in its pyproject.toml,

    [project.entry-points."argbest.policies"]
    my-rule = "my_package:MyRule"

makes ``policy="my-rule"`` work everywhere; the groups are those of `Group`.
"""

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from argbest.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal["policies", "models", "problems", "questions", "storages"]


@cache
def found(group: Group) -> "dict[str, EntryPoint]":
    """Return what installed packages declare, by name; nothing of it is imported. It reads many files."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in sorted(entry_points(group=f"argbest.{group}"))}


def load(group: Group, name: str) -> Any:
    """Return what a package declares under a name that was `found`."""
    entry = found(group)[name]
    try:
        return entry.load()
    except Exception as error:
        source = f" of the package {entry.dist.name}" if entry.dist else ""
        raise InputError(
            f"{name!r}{source} does not load ({entry.value}): {type(error).__name__}: {error}. "
            "Correct or remove that package."
        ) from error
