"""Damage: what is read makes no sense, because a file was damaged or another program wrote into it."""

from collections.abc import Iterator
from contextlib import contextmanager

from argbest.errors import ArgbestError, StorageError

BACKUP = "Another program changed the database, or it is damaged: restore a backup."
_SENSELESS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn what senseless data make of code that trusts them into a StorageError."""
    try:
        yield
    except ArgbestError:
        raise
    except _SENSELESS as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise StorageError(f"{what} holds data that argbest never wrote ({reason}). {BACKUP}") from error
