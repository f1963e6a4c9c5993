"""`argbest export`: the tables of a stored study as files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from argbest.cli.stored import load, of_stored_study
from argbest.cli.terminal import echo
from argbest.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_TABLES = ("observations", "trials", "selection", "allocation")
_FORMATS = (".csv", ".parquet", ".json")


@click.command()
@of_stored_study
@click.option(
    "--table", type=click.Choice(_TABLES), default="observations", show_default=True, help="Which table."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write: .csv, .parquet or .json.  [default: the table's name, .csv]",
)
def export(storage: str, name: str, table: str, out: Path | None) -> None:
    """Write a table of the study in STORAGE."""
    path = out or Path(f"{table}.csv")
    if path.suffix not in _FORMATS:
        raise InputError(f"cannot write {path.name!r}; give a name that ends in {', '.join(_FORMATS)}.")
    study = load(storage, name)
    frame = study.trials(details=True) if table == "trials" else getattr(study, table)()
    try:
        if path.suffix == ".csv":
            frame.to_csv(path, index=False)
        elif path.suffix == ".json":
            path.write_text(json.dumps(_rows(frame), indent=1, allow_nan=False) + "\n", encoding="utf-8")
        else:
            frame.to_parquet(path, index=False)
    except ImportError as error:
        raise InputError("Parquet files need pyarrow: pip install 'argbest[parquet]'") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot write {str(path)!r} ({reason}); name another file.") from error
    echo(f"written: {path} ({len(frame)} rows)")


def _rows(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows with every number exact; what is missing, not equal to itself, is null."""
    return [
        {str(name): _plain(value) if value == value else None for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
