"""Files of studies in folders that cannot be written: an archive, a read-only mount, somebody else's folder.

SQLite keeps an index of the file FILE-wal in a file FILE-shm that it must be able to make. Where it cannot,
there is another way: a file without FILE-wal is complete, and read as one that nobody changes; one with
FILE-wal is copied, both parts of it.
"""

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any


def is_read_only(path: Path) -> bool:
    """Return whether nothing can be written beside a file."""
    effective = os.access in os.supports_effective_ids
    return path.exists() and not os.access(path.parent, os.W_OK, effective_ids=effective)


def connect(path: Path, **options: Any) -> sqlite3.Connection:
    """Return a connection that reads what is there now."""
    log, index = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    if not log.exists() or not log.stat().st_size:
        return _open(path, "mode=ro&immutable=1", **options)
    if index.exists():
        return _open(path, "mode=ro", **options)
    folder = tempfile.mkdtemp(prefix="argbest-reading-")
    try:
        for each in (path, log):
            shutil.copyfile(each, Path(folder, each.name))
        found = _open(Path(folder, path.name), "mode=rw", **options)
        found.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens all files
        found.execute("PRAGMA query_only = ON")
        return found
    finally:
        shutil.rmtree(folder)  # what is open stays readable


def _open(path: Path, how: str, **options: Any) -> sqlite3.Connection:
    found: sqlite3.Connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, **options)
    return found
