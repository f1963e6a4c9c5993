"""From what the user gives as ``storage`` to a storage."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from argbest import plugins
from argbest.errors import InputError, StorageError
from argbest.storage.base import Storage
from argbest.storage.memory import MemoryStorage

_METHODS = ("create", "definition", "since", "exclusive", "greet", "workers", "close")


def open_storage(where: str | os.PathLike[str] | Storage | None = None, *, name: str = "study") -> Storage:
    """Return the storage that ``where`` means.

    None is the memory of this process, a path or a text without :// an SQLite file, a URL a database
    (postgresql://user:password@host/database), and a storage is itself. ``name`` tells several studies in
    one database apart. A URL whose scheme an installed package declares in ``argbest.storages`` is that
    package's. Nothing is made and nobody is called before the storage is used.
    """
    if where is None:
        return MemoryStorage()
    scheme = where.partition("://")[0] if isinstance(where, str) and "://" in where else ""
    if scheme in plugins.found("storages"):
        made: Storage = plugins.load("storages", scheme)(where, name=name)
        return made
    if isinstance(where, str | os.PathLike):
        try:
            from argbest.storage.sql import SQLStorage
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("sqlalchemy"):
                raise
            raise StorageError("databases need SQLAlchemy 2: pip install 'sqlalchemy>=2.0.30'") from error
        return SQLStorage(where, name=name)
    if all(callable(getattr(where, method, None)) for method in _METHODS):
        return where
    raise InputError(
        f"storage={where!r} is not a storage. Give None (memory), a file name, a database URL, or an object "
        f"with the methods {', '.join(_METHODS)}."
    )


@contextmanager
def opened(where: str | os.PathLike[str] | Storage | None, *, name: str) -> Iterator[Storage]:
    """Yield the storage that ``where`` means; it stays open, but lets go of everything after an exception."""
    storage = open_storage(where, name=name)
    try:
        yield storage
    except BaseException:
        storage.close()
        raise
