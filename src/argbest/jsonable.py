"""Values as JSON: for people, what is not finite being None; and for storages, every number exactly."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from argbest.errors import InputError, StorageError

if TYPE_CHECKING:
    import pandas as pd

_SPECIAL = "special"  # the key that marks what JSON has no word for


def value(given: Any) -> Any:
    """Return a plain Python value: a text, a boolean, a finite number, or None."""
    if isinstance(given, np.generic):
        given = given.item()
    if isinstance(given, float) and not math.isfinite(given):
        return None
    return given if given is None or isinstance(given, bool | int | float | str) else str(given)


def values(given: Any) -> Any:
    """Return nested lists, and dicts by name, of plain values."""
    if isinstance(given, Mapping):
        return {str(name): values(each) for name, each in given.items()}
    if isinstance(given, np.ndarray) and given.dtype.kind in "biuf" and np.isfinite(given).all():
        return given.tolist()
    return [values(row) for row in given] if isinstance(given, np.ndarray | list | tuple) else value(given)


def rounded(given: Any) -> Any:
    """Return an array with six digits that count: so many are read."""
    if given.dtype.kind != "f":
        return given
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = 10.0 ** (5 - np.floor(np.log10(np.abs(given))))
        return np.where(np.isfinite(unit), np.rint(given * unit) / unit, given)


def table(frame: "pd.DataFrame") -> dict[str, Any]:
    """Return a frame as its columns' names and its rows."""
    columns = [frame[name].tolist() for name in frame.columns]
    return {
        "columns": [str(name) for name in frame.columns],
        "rows": [[value(cell) for cell in row] for row in zip(*columns, strict=True)],
    }


def records(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows of a frame as dicts."""
    return [{str(name): values(cell) for name, cell in row.items()} for row in frame.to_dict("records")]


def encode(value: Any) -> Any:
    """Return the value as JSON-ready lists, dicts, texts and finite numbers."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float | np.generic):
        return _number(value)
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, tuple):
        return {_SPECIAL: "tuple", "items": [encode(each) for each in value]}
    if isinstance(value, list):
        return [encode(each) for each in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) and key != _SPECIAL for key in value):
        return {key: encode(each) for key, each in value.items()}
    raise InputError(
        f"{value!r} ({type(value).__name__}) cannot be stored; expected numbers, texts, arrays, or lists, "
        "tuples and dicts of them. Use storage=None, or keep such things out of options and parameters."
    )


def decode(plain: Any) -> Any:
    """Return what `encode` was given; lists stay lists."""
    if isinstance(plain, list):
        return [decode(each) for each in plain]
    if not isinstance(plain, dict):
        return plain
    kind = plain.get(_SPECIAL)
    if kind is None:
        return {key: decode(each) for key, each in plain.items()}
    if kind == "number":
        return float(plain["value"])
    if kind == "tuple":
        return tuple(decode(each) for each in plain["items"])
    if kind == "array":
        return np.array(plain["data"], dtype=plain["dtype"]).reshape(plain["shape"])
    raise StorageError(
        f"a stored value is of the unknown kind {kind!r}; a newer argbest may have written it."
    )


def encode_fields(thing: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, as plain values."""
    if not is_dataclass(thing) or isinstance(thing, type):
        raise InputError(
            f"{type(thing).__name__} cannot be stored; expected a dataclass of numbers, texts and arrays. "
            "Use storage=None, or make it one."
        )
    return {field.name: encode(getattr(thing, field.name)) for field in fields(thing)}


class Later(Mapping[str, Any]):
    """The fields of a dataclass as plain values, worked out when somebody looks."""

    def __init__(self, thing: Any) -> None:
        self._thing = thing

    @cached_property
    def _plain(self) -> dict[str, Any]:
        return encode_fields(self._thing)

    def __getitem__(self, name: str) -> Any:
        return self._plain[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plain)

    def __len__(self) -> int:
        return len(self._plain)

    def __repr__(self) -> str:
        return repr(self._plain)


def decode_fields(kind: type, plain: Mapping[str, Any]) -> Any:
    """Return the dataclass whose fields these are."""
    try:
        return kind(**{name: decode(value) for name, value in plain.items()})
    except TypeError as error:
        raise misfit(kind.__name__, error) from error


def misfit(kind: str, error: TypeError) -> StorageError:
    """Return the error for options or parameters that a class does not know."""
    return StorageError(
        f"what was stored of {kind} does not fit this version of it ({error}); "
        "use the version of argbest, or of your own class, that wrote it."
    )


def _number(value: Any) -> Any:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float) and not math.isfinite(number):
        return {_SPECIAL: "number", "value": repr(number)}
    return number


def _array(value: Any) -> dict[str, Any]:
    if value.dtype.kind not in "biuf":
        raise InputError(f"an array of {value.dtype} cannot be stored; expected numbers or booleans.")
    data = value.ravel().tolist()
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        data = [number if math.isfinite(number) else repr(number) for number in data]
    return {_SPECIAL: "array", "dtype": str(value.dtype), "shape": list(value.shape), "data": data}
