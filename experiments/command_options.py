"""Options that several of these programs take."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

jobs = click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes.")


def out(folder: str, what: str) -> Callable[[Any], Any]:
    """Return the option --out: the folder for ``what``, by default one of this name below the present one."""
    return click.option(
        "--out",
        type=click.Path(path_type=Path),
        default=Path(folder),
        show_default=True,
        help=f"Folder that keeps {what}.",
    )
