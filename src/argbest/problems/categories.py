"""Categories: columns without distances, declared by name where they hold numbers, and values never seen."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from argbest.checks import entries, shown
from argbest.errors import InputError, unknown_name
from argbest.problems.axis import Axis, Kind
from argbest.texts import first_of

_NAMED = 5  # values in a sentence


def declared(axes: Sequence[Axis], given: object) -> tuple[Axis, ...]:
    """Return the axes with the named columns taken for categories: two values are the same or not.

    A name stands for that column of every axis that has it, "context.zone" for that of the contexts alone;
    plain labels are the column "alternative" or "context". A single column of categories merely names the
    entries.
    """
    names = _names(given)
    known = {form for axis in axes for name in axis.coordinates for form in (name, f"{axis.kind}.{name}")}
    for name in names:
        if name not in known:
            raise unknown_name(
                "categorical column", name, {name for axis in axes for name in axis.coordinates}
            )
    return tuple(
        replace(axis, categorical=axis.categorical | meant(axis.kind, axis.coordinates, given))
        for axis in axes
    )


def meant(kind: Kind, columns: Iterable[str], given: object) -> frozenset[str]:
    """Return which columns of one kind are declared, as `declared` understands names."""
    names = _names(given)
    return frozenset(name for name in columns if name in names or f"{kind}.{name}" in names)


def never_seen(axis: Axis, rows: Axis) -> str:
    """Return a sentence on the categories in rows that no entry of the axis has, empty without such.

    It names the columns, their new values and those known.
    """
    parts = []
    for name in set(axis.coordinates).difference(axis.metric):
        known = dict.fromkeys(axis.coordinates[name])
        new = [value for value in dict.fromkeys(rows.coordinates[name]) if value not in known]
        if new:
            told, others = (first_of([repr(value) for value in some], _NAMED) for some in (new, known))
            parts.append(f"{name} {told} (known: {others})")
    if not parts:
        return ""
    return (
        f"never simulated: {'; '.join(sorted(parts))}. The answer takes it as unlike all known ones. "
        "It is a guess from what these have in common. Correct the value, or simulate it."
    )


def _names(given: object) -> set[str]:
    names = [given] if isinstance(given, str) else entries(given)
    if names is None or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"got categorical={shown(given)}; expected names of columns. Give a list such as ['plan_id']."
        )
    return set(names)
