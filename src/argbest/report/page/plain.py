"""Frames and arrays as JSON-ready values; what is not a finite number is None."""

import math
from typing import Any

import numpy as np
import pandas as pd


def value(given: Any) -> Any:
    """Return a plain Python value: a text, a boolean, a finite number, or None."""
    if isinstance(given, np.generic):
        given = given.item()
    if isinstance(given, float) and not math.isfinite(given):
        return None
    return given if given is None or isinstance(given, bool | int | float | str) else str(given)


def values(array: Any) -> Any:
    """Return nested lists of plain values."""
    return [values(row) for row in array] if isinstance(array, np.ndarray | list | tuple) else value(array)


def table(frame: pd.DataFrame) -> dict[str, Any]:
    """Return a frame as its columns' names and its rows."""
    columns = [frame[name].tolist() for name in frame.columns]
    return {
        "columns": [str(name) for name in frame.columns],
        "rows": [[value(cell) for cell in row] for row in zip(*columns, strict=True)],
    }
