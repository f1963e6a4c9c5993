"""Studies whose rows are kept in a folder, a file each: what is interrupted goes on from there."""

import multiprocessing
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from argbest.cli.terminal import note
from argbest.table_files import write_csv


def all_rows(watch: Callable[..., pd.DataFrame], jobs: Iterable[Any], folder: Path, n: int) -> pd.DataFrame:
    """Return the rows of all jobs, run by n processes; a job is the arguments of ``watch``."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = partial(_kept, watch=watch, folder=folder)
    if n == 1:
        return pd.concat(map(kept, jobs), ignore_index=True)
    with multiprocessing.get_context("spawn").Pool(n) as pool:
        return pd.concat(pool.map(kept, jobs, chunksize=1), ignore_index=True)


def _kept(job: tuple[Any, ...], watch: Callable[..., pd.DataFrame], folder: Path) -> pd.DataFrame:
    file = folder / f"{'-'.join(map(str, job)).replace(':', '-')}.csv"
    if not file.exists():
        write_csv(file, watch(*job))
        note(file.name)
    return pd.read_csv(file)
