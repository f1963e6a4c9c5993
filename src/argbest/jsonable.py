"""Numbers, arrays and frames as JSON-ready values; what is not a finite number is None."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def value(given: Any) -> Any:
    """Return a plain Python value: a text, a boolean, a finite number, or None."""
    if isinstance(given, np.generic):
        given = given.item()
    if isinstance(given, float) and not math.isfinite(given):
        return None
    return given if given is None or isinstance(given, bool | int | float | str) else str(given)


def values(given: Any) -> Any:
    """Return nested lists of plain values."""
    if isinstance(given, np.ndarray) and given.dtype.kind in "biuf" and np.isfinite(given).all():
        return given.tolist()
    return [values(row) for row in given] if isinstance(given, np.ndarray | list | tuple) else value(given)


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
