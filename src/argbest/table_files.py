"""Tables in files: CSV, Parquet and Excel as frames, and frames as CSV.

In CSV no text is taken for a formula by a spreadsheet, and each is read back as it was: a text that begins
with one of = + - @, a tab or a line end gets an apostrophe in front, and so does one that begins so behind
apostrophes of its own; `unguarded` takes one away again. Numbers stay as they are.
"""

import csv
import os
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from argbest import files
from argbest.checks import one_of
from argbest.errors import ArgbestError, InputError

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 50  # lines from which the delimiter is guessed
_PARQUET, _EXCEL = (".parquet", ".pq"), (".xlsx", ".xlsm")
_NAME = re.compile(r"[^-+.0-9eE\n]|^[-+]?0[0-9]", re.M)  # 007 and postal codes are names
_BROKEN = re.compile(r"[.eE]")
_COMMA = str.maketrans({",": ".", ".": "_"})
_BOOLEANS = {"true": True, "false": False}
_MISSING = {"na", "n/a", "nan", "null", "none"}  # in a column of numbers; in a column of names they are names
_FORMULA = re.compile("'*[-=+@\t\r\n\uff0d\uff1d\uff0b\uff20]")  # the last four: the same, full width
_GUARDED = re.compile(f"'(?={_FORMULA.pattern})")

_Cell = TypeVar("_Cell")


def read_table(path: str | os.PathLike[str], *, decimal: str = ".", sheet: str | int = 0) -> pd.DataFrame:
    """Return the table in a file as a frame: Parquet or Excel by the end of its name, else delimited text.

    Text is UTF-8 with names in its first line; the delimiter (comma, semicolon, tab or bar) is found out,
    ``decimal`` is the decimal point. ``sheet`` is the name or the position of a sheet of an Excel file.
    """
    file = Path(path)
    one_of("decimal point", decimal, (".", ","))
    if not file.is_file():
        wrong = "is a folder; name a file in it" if file.is_dir() else "is not there: no such file"
        raise InputError(f"{str(file)!r} {wrong}.")
    kind = file.suffix.lower()
    if kind in _PARQUET:
        frame = _foreign(
            file, "Parquet", "parquet", "pyarrow", lambda: pd.read_parquet(file, engine="pyarrow")
        )
        return frame.reset_index() if any(name is not None for name in frame.index.names) else frame
    if kind in _EXCEL:
        return _foreign(file, "Excel", "excel", "openpyxl", lambda: _excel(file, sheet))
    if kind == ".xls":
        raise InputError(
            f"{str(file)!r} is an old Excel file, which argbest cannot read. Save it as .xlsx or as CSV."
        )
    return _delimited(file, decimal)


def _foreign(file: Path, kind: str, extra: str, package: str, read: Any) -> pd.DataFrame:
    """Return what another library reads; all its failures become ours."""
    try:
        __import__(package)
    except ImportError as missing:
        raise ArgbestError(f"{kind} files need {package}: pip install 'argbest[{extra}]'") from missing
    try:
        frame: pd.DataFrame = read()
    except OSError as error:
        raise InputError(f"cannot read {str(file)!r}: {error.strerror or error}.") from error
    except Exception as error:  # damaged files raise what they like
        raise InputError(f"{str(file)!r} cannot be read as a table of {kind}: {error}") from error
    return frame


def _excel(file: Path, sheet: str | int) -> pd.DataFrame:
    """Return a sheet; names in its first row, as they stand there, twice where they come twice."""
    options: dict[str, Any] = {"sheet_name": sheet, "engine": "openpyxl"}
    frame = pd.read_excel(file, keep_default_na=False, na_values=[""], **options)
    names = pd.read_excel(file, header=None, nrows=1, dtype=object, keep_default_na=False, **options)
    if len(names):
        frame.columns = pd.Index([str(name).strip() for name in names.iloc[0]])
    table: pd.DataFrame = frame.dropna(how="all").reset_index(drop=True)
    return table


def _delimited(file: Path, decimal: str) -> pd.DataFrame:
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            delimiter = _delimiter(list(islice(lines, _SAMPLE)))
            lines.seek(0)
            reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
            names, rows = _split(file, reader)
    except OSError as error:
        raise InputError(f"cannot read {str(file)!r}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{str(file)!r} is not UTF-8 text ({error}). Save it as UTF-8.") from error
    except csv.Error as error:
        raise InputError(f"{str(file)!r} is not a table of text: {error}.") from error
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    frame = pd.DataFrame({i: _typed(column, decimal) for i, column in enumerate(columns)})
    frame.columns = pd.Index([unguarded(name) for name in names], dtype=object)
    return frame


def _delimiter(lines: list[str]) -> str:
    """Return the delimiter that splits the first lines into the most fields, as many in each if possible."""

    def order(delimiter: str) -> tuple[bool, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        return len(set(counts)) == 1 and counts[0] > 1, counts[0] if counts else 0

    return max(_DELIMITERS, key=order)  # the first of equals


def _split(file: Path, reader: Any) -> tuple[list[str], list[list[str]]]:
    """Return the names and the rows, all of one length; rows without any text are left out."""
    names: list[str] = []
    rows: list[list[str]] = []
    for row in reader:
        fields = [field.strip() for field in row]
        if not any(fields):
            continue
        if not names:
            names = fields
            continue
        if len(fields) != len(names) and any(fields[len(names) :] or [len(fields) < len(names)]):
            raise InputError(
                f"line {reader.line_num} of {str(file)!r} has {len(fields)} fields, its first line names "
                f"{len(names)}: {', '.join(names)}. Correct it."
            )
        rows.append(fields[: len(names)])
    if not names:
        raise InputError(f"{str(file)!r} is empty; expected a line of names, then a line for every run.")
    return names, rows


def _typed(texts: Sequence[str], decimal: str) -> "pd.Series[Any]":
    """Return a column as numbers or booleans where all of it is that, else as text; empty is missing."""
    given = [text for text in texts if text]
    if given and all(text.lower() in _BOOLEANS for text in given):
        kind = object if len(given) < len(texts) else bool
        return pd.Series([_BOOLEANS.get(text.lower()) for text in texts], dtype=kind)
    # Where the comma is the decimal point, a point separates thousands at best: no number of ours.
    pointed = [text.translate(_COMMA) for text in texts] if decimal == "," else texts
    present = [bool(text) and text.lower() not in _MISSING for text in texts]
    numbers = [text for text, there in zip(pointed, present, strict=True) if there]
    everything = "\n".join(numbers)
    try:
        values = [] if _NAME.search(everything) else [float(text) for text in numbers]
    except ValueError:
        values = []
    if not values or not all(map(np.isfinite, values)):  # endless digits are no number
        return pd.Series([unguarded(text) or None for text in texts], dtype=object)
    if len(numbers) == len(texts) and not _BROKEN.search(everything):
        return pd.Series([int(text) for text in numbers])
    column = np.full(len(texts), np.nan)
    column[np.array(present)] = values
    return pd.Series(column)


def write_csv(path: str | os.PathLike[str], frame: pd.DataFrame) -> Path:
    """Return the path of the table, written."""
    return files.write(path, to_csv(frame))


def in_cell(values: Iterable[object], separator: str) -> str:
    """Return several values as the text of one cell, separated as in a line of CSV with that separator.

    Those that could be taken for several, or for others, stand in quotation marks.
    """
    return f"{separator} ".join(_quoted(str(each), separator) for each in values)


def _quoted(text: str, separator: str) -> str:
    plain = text == text.strip() != "" and separator not in text and '"' not in text
    return text if plain else '"' + text.replace('"', '""') + '"'


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
