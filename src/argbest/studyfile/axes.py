"""Alternatives, contexts and their costs in a study file."""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from argbest.checks import affordable, finite, one_of
from argbest.core.arrays import Array
from argbest.errors import InputError
from argbest.problems.axis import Axis, Kind
from argbest.problems.labels import declared
from argbest.studyfile.options import table, text, within
from argbest.table_files import read_table

_MOST_ROWS = 10**7  # of a grid
_FORMS = ("labels", "grid", "rows", "file")


class Given(NamedTuple):
    """An axis with what the file says of it."""

    axis: Axis
    weights: object
    bounds: object


def axis(kind: Kind, given: object, folder: Path) -> Given:
    """Return the alternatives or contexts of a study file.

    They are a list of labels or of tables, or a table with one of ``labels``, ``rows`` (a list of tables),
    ``grid`` (columns, every combination of their values, the last column changing fastest), ``file`` (CSV,
    Parquet or Excel).
    ``columns`` selects columns of rows or of a file, ``label`` names the column that holds the labels;
    ``categorical`` lists columns whose numbers are names, not amounts (of plain labels: the kind itself);
    ``weights`` are numbers in order or the name of a column, ``bounds`` pairs by column or one pair.
    """
    where = f"[{kind}s]"
    if given is None:
        raise InputError(
            f"the file has no {where}; give for example {kind}s = ['a', 'b'], or a {where} table."
        )
    if isinstance(given, list):
        given = {"labels" if not any(isinstance(entry, dict) for entry in given) else "rows": given}
    options = table(where, given)
    forms = [form for form in _FORMS if form in options]
    if len(forms) != 1:
        raise InputError(f"{where} has {' and '.join(forms) or 'none of them'}; expected one of {_FORMS}.")
    with within(where):
        entries, weights = _entries(kind, forms[0], options, folder)
        (found,) = declared([Axis.of(kind, entries)], options.get("categorical", []))
        return Given(found, weights, options.get("bounds"))


def cost(given: object, alternatives: int, contexts: int) -> Array | str | None:
    """Return "measured", or the cost of a replication [alternative, context]; None without a word on it.

    [cost] has ``measured = true``, or a ``table``, or numbers per alternative, per context or both, which
    are multiplied then.
    """
    if given is None or given == "measured":
        return "measured" if given else None
    options = table("[cost]", given)
    exclusive = [key for key in ("measured", "table") if key in options]
    if not options or (exclusive and len(options) > 1):
        raise InputError(
            f"[cost] has {' and '.join(options) or 'no key'}; expected measured = true, a table, or numbers "
            "for alternatives, contexts or both."
        )
    if "measured" in options:
        if options["measured"] is not True:
            raise InputError(f"[cost] measured must be true, got {options['measured']!r}; or leave it out.")
        return "measured"
    if "table" in options:
        rows = _list("[cost] table", options["table"], alternatives)
        return np.array(
            [_positive(f"[cost] table, row {i + 1},", row, contexts) for i, row in enumerate(rows)]
        )
    sizes = {"alternatives": alternatives, "contexts": contexts}
    factors = [
        _positive(f"[cost] {key}", options[key], size) if key in options else np.ones(size)
        for key, size in sizes.items()
    ]
    return np.multiply.outer(*factors)


def _entries(kind: Kind, form: str, options: Mapping[str, Any], folder: Path) -> tuple[object, object]:
    """Return what `Axis.of` takes, and the weights."""
    weights = options.get("weights")
    extra = [key for key in ("columns", "label") if key in options and form not in ("rows", "file")]
    if extra or (isinstance(weights, str) and form not in ("rows", "file")):
        raise InputError(f"{(extra or ['weights'])[0]} names columns of rows or of a file; there are none.")
    if form == "labels":
        return options[form], weights
    if form == "grid":
        return _crossed(options[form]), weights
    if form == "rows":
        frame = pd.DataFrame(Axis.of(kind, options[form]).columns, dtype=object)
    else:
        frame = _file(folder / text("file", options[form]))
    return _selected(frame, options)


def _crossed(given: object) -> list[dict[str, Any]]:
    """Return every combination of the columns' values."""
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"grid must be a table of columns, such as grid.servers = [3, 4, 5]; got {given!r}.")
    for name, values in given.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"grid.{name} must be a list of values, got {values!r}.")
    affordable("the grid has rows", math.prod(map(len, given.values())), _MOST_ROWS)
    return [dict(zip(given, row, strict=True)) for row in itertools.product(*given.values())]


def _file(path: Path) -> pd.DataFrame:
    """Return the table in a file, which has something in every cell."""
    frame = read_table(path)
    names = list(frame.columns)
    if len(set(names)) < len(names):
        raise InputError(f"the file {str(path)!r} has the columns {names}; give each its own name.")
    gaps = np.argwhere(frame.isna().to_numpy())
    if len(gaps):
        row, column = gaps[0]
        raise InputError(f"row {row + 1} of the file {str(path)!r} has no {names[column]}. Complete it.")
    return frame.astype(object)


def _selected(frame: pd.DataFrame, options: Mapping[str, Any]) -> tuple[object, object]:
    """Return the columns asked for, indexed by the labels if there are any, and the weights."""
    weights = options.get("weights")
    label = options.get("label")
    roles = [name for name in (weights, label) if isinstance(name, str)]
    names = options.get("columns", [name for name in frame.columns if name not in roles])
    if not isinstance(names, list):
        raise InputError(f"columns must be a list of names, got {names!r}.")
    for name in (*names, *roles, *([] if label is None else [label])):
        one_of("column", name, frame.columns)
    if isinstance(weights, str):
        weights = frame[weights].tolist()
    if not names and label is not None:
        return frame[label].tolist(), weights
    chosen = frame[names]
    return (chosen if label is None else chosen.set_index(pd.Index(frame[label]))), weights


def _list(where: str, given: object, size: int) -> Sequence[Any]:
    if not isinstance(given, list) or len(given) != size:
        got = f"{len(given)} entries" if isinstance(given, list) else repr(given)
        raise InputError(f"{where} must be a list of {size} entries, got {got}.")
    return given


def _positive(where: str, given: object, size: int) -> Array:
    return np.array([finite(f"every entry of {where}", each, above=0) for each in _list(where, given, size)])
