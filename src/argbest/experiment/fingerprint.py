"""Descriptions of objects that are the same in every session, and differ where the objects do."""

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property, partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd

_OWN = "argbest."  # its classes are known by their names alone
_Path = tuple[int, ...]  # the objects on the way to the one described, by identity


def text(thing: object) -> str:
    """Return a description of the object and of all that it is made of; a text is its own description.

    Arrays are named by a digest of their bytes, functions by module and qualified name with what they have
    captured, other objects by their class and attributes. Attributes that are a cached property's are left
    out, for they come and go.
    """
    return thing if isinstance(thing, str) else _text(thing, ())


def digest(content: str | bytes) -> str:
    """Return a short digest of a description."""
    raw = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()[:16]


def _text(thing: Any, path: _Path) -> str:
    if thing is None or isinstance(thing, bool | int | float | complex | str | bytes | range | slice):
        return repr(thing)
    if id(thing) in path:
        return f"<{len(path) - path.index(id(thing))} up>"
    path = (*path, id(thing))
    if isinstance(thing, type | FunctionType | BuiltinFunctionType | MethodType | partial | ModuleType):
        return _code(thing, path)
    if isinstance(thing, np.ndarray | np.generic | pd.DataFrame | pd.Series | pd.Index):
        return _table(thing, path)
    if isinstance(thing, Enum):
        return f"{_class(thing)}.{thing.name}"
    if is_dataclass(thing):
        return _class(thing) + _named({each.name: getattr(thing, each.name) for each in fields(thing)}, path)
    if isinstance(thing, Mapping):
        pairs = sorted((_text(key, path), _text(value, path)) for key, value in thing.items())
        return _kind(thing, dict) + "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
    if isinstance(thing, set | frozenset):
        return _kind(thing, set) + "{" + ", ".join(sorted(_text(each, path) for each in thing)) + "}"
    if isinstance(thing, list | tuple):
        return _kind(thing, list, tuple) + _listed(thing, path)
    return _object(thing, path)


def _code(thing: Any, path: _Path) -> str:
    """Return the name of a class, a function or a module, with all that a function has captured."""
    if isinstance(thing, ModuleType):
        return thing.__name__
    if isinstance(thing, partial):
        return f"partial{_listed((thing.func, thing.args, thing.keywords), path)}"
    if isinstance(thing, MethodType):
        return f"{_text(thing.__self__, path)}.{thing.__name__}"
    captured = [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
    defaults = getattr(thing, "__defaults__", None) or ()
    name = f"{thing.__module__}.{thing.__qualname__}"
    return name + (_listed((*captured, *defaults), path) if captured or defaults else "")


def _table(thing: Any, path: _Path) -> str:
    """Return the type and shape of an array or a frame, and a digest of what it holds."""
    if isinstance(thing, np.generic):
        return _text(thing.item(), path)
    if not isinstance(thing, np.ndarray):
        return _class(thing) + _text(
            thing.reset_index().to_dict("list") if hasattr(thing, "reset_index") else thing.tolist(), path
        )
    if thing.dtype.hasobject:
        return f"array{thing.shape}{_text(thing.tolist(), path)}"
    return f"array({thing.dtype.str}, {thing.shape}, {digest(np.ascontiguousarray(thing).tobytes())})"


def _object(thing: Any, path: _Path) -> str:
    """Return the class of an object and its attributes; of one without any, what its class shows or keeps."""
    slots = [name for each in type(thing).__mro__ for name in _slots(each) if hasattr(thing, name)]
    if hasattr(thing, "__dict__") or slots:
        known = getattr(thing, "__dict__", {}) | {name: getattr(thing, name) for name in slots}
        cached = [name for name in known if isinstance(getattr(type(thing), name, None), cached_property)]
        return _class(thing) + _named(
            {name: known[name] for name in sorted(known) if name not in cached}, path
        )
    shown = repr(thing)
    if " at 0x" not in shown:  # where in memory it lies says nothing of what it is
        return shown
    try:
        return f"{_class(thing)}({digest(pickle.dumps(thing, protocol=4))})"
    except Exception:  # what cannot be sent elsewhere is known by its class alone
        return _class(thing)


def _slots(kind: type) -> tuple[str, ...]:
    given = kind.__dict__.get("__slots__", ())
    listed = (given,) if isinstance(given, str) else tuple(given)
    return tuple(name for name in listed if name not in ("__dict__", "__weakref__"))


def _class(thing: object) -> str:
    kind = type(thing)
    return kind.__qualname__ if kind.__module__.startswith(_OWN) else f"{kind.__module__}.{kind.__qualname__}"


def _kind(thing: object, *usual: type) -> str:
    """Return the class of a container unless it is one of the usual ones."""
    return "" if type(thing) in usual else _class(thing)


def _named(values: dict[str, Any], path: _Path) -> str:
    return "(" + ", ".join(f"{name}={_text(value, path)}" for name, value in values.items()) + ")"


def _listed(values: Sequence[Any], path: _Path) -> str:
    """Return the values of a tuple or, in brackets, of a list."""
    inside = ", ".join(_text(each, path) for each in values)
    return f"[{inside}]" if isinstance(values, list) else f"({inside})"
