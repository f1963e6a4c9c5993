"""What tells two studies apart: their definitions, compared part by part."""

import json
from collections.abc import Iterator
from typing import Any

from argbest.storage.base import Plain

_OF_PROBLEM = ("goal", "weights", "bounds", "reward_range")
_OPTIONS = ("policy", "model", "seed", "refit_every", "common_random_numbers", "cost")
_LONGEST = 200  # characters of a value


def differences(stored: Plain, described: Plain) -> list[str]:
    """Return how a described study differs from the stored one; names, simulators and plans may differ."""
    there, here = (json.loads(json.dumps(each)) for each in (stored, described))
    return [
        *_differing(there["problem"], here["problem"], _OF_PROBLEM),
        *_of_axes(there["problem"], here["problem"]),
        *_differing(there, here, _OPTIONS),
        *_of_designs(there["initial"], here["initial"]),
    ]


def _differing(there: Plain, here: Plain, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if there.get(name) != here.get(name):
            yield _said(name, _value(there.get(name)), _value(here.get(name)))


def _of_axes(there: Plain, here: Plain) -> Iterator[str]:
    """Yield how alternatives and contexts differ: in their number, their columns, or at the first place."""
    for name in ("alternatives", "contexts"):
        one, other = there[name], here[name]
        rows, others = _rows(one), _rows(other)
        if len(rows) != len(others):
            yield _said(f"the number of {name}", len(rows), len(others))
        elif list(one["columns"]) != list(other["columns"]):
            columns = [", ".join(each["columns"]) or "none" for each in (one, other)]
            yield _said(f"columns of {name}", *columns)
        elif one.get("categorical", []) != other.get("categorical", []):
            declared = [", ".join(each.get("categorical", [])) or "none" for each in (one, other)]
            yield _said(f"categorical columns of {name}", *declared)
        elif rows != others:
            at = next(i for i, row in enumerate(rows) if row != others[i])
            yield _said(f"number {at + 1} of the {name}", _value(rows[at]), _value(others[at]))


def _rows(axis: Plain) -> list[Any]:
    """Return every label, with its row where there are columns."""
    if not axis["columns"]:
        return list(axis["labels"])
    values = zip(*axis["columns"].values(), strict=True)
    rows = [dict(zip(axis["columns"], row, strict=True)) for row in values]
    if not axis["named"]:
        return rows
    return [{"label": label, **row} for label, row in zip(axis["labels"], rows, strict=True)]


def _of_designs(there: list[Any] | str, here: list[Any] | str) -> Iterator[str]:
    if isinstance(there, str) or isinstance(here, str):
        if there != here:
            texts = (each if isinstance(each, str) else f"{len(each)} replications" for each in (there, here))
            yield _said("the initial design", *texts)
    elif len(there) != len(here):
        yield _said("the initial design", f"{len(there)} replications", f"{len(here)}")
    elif there != here:
        yield _said("the initial design", "other pairs", "these")


def _said(what: str, there: object, here: object) -> str:
    return f"{what}: stored is {there}, the file says {here}"


def _value(given: Any) -> str:
    """Return a value as one would write it; of a policy or a model the class, and options if it has some."""
    if isinstance(given, dict) and "class" in given:
        options = ", ".join(f"{name}={_value(value)}" for name, value in given["options"].items())
        text = f"{given['class']}({options})"
    else:
        text = json.dumps(given, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
