"""CSV files: no text in them is taken for a formula by a spreadsheet, and each is read back as it was.

A text that begins with one of = + - @, a tab or a line end gets an apostrophe in front, and so does one that
begins so behind apostrophes of its own; `unguarded` takes one away again. Numbers stay as they are.
"""

import csv
import os
import re
from pathlib import Path
from typing import TypeVar

import pandas as pd

from argbest import files

_FORMULA = re.compile("'*[-=+@\t\r\n\uff0d\uff1d\uff0b\uff20]")  # the last four: the same, full width
_GUARDED = re.compile(f"'(?={_FORMULA.pattern})")

_Cell = TypeVar("_Cell")


def write_csv(path: str | os.PathLike[str], frame: pd.DataFrame) -> Path:
    """Return the path of the table, written."""
    return files.write(path, to_csv(frame))


def to_csv(frame: pd.DataFrame) -> str:
    """Return the table as text, numbers in full precision."""
    shown = frame.rename(columns=guarded)
    for name, kind in shown.dtypes.items():
        if not pd.api.types.is_numeric_dtype(kind):
            shown[name] = shown[name].map(guarded)
    text = shown.to_csv(index=False, lineterminator="\n")
    if "\r" in text:  # left without quotes it would end a line
        text = shown.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return text


def guarded(cell: _Cell) -> _Cell | str:
    """Return a cell as it is written."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def unguarded(text: str) -> str:
    """Return a text as it was before it was written."""
    return _GUARDED.sub("", text, count=1) if text.startswith("'") else text
