"""What goes wrong with databases, in words that say what to do."""

from sqlalchemy.exc import OperationalError, ProgrammingError

from argbest.errors import ArgbestError, StorageError
from argbest.storage.address import without_secrets
from argbest.storage.place import WAIT, Place

_FULL = "has no room left", "Make room on the disk, then go on with the study."
_READ_ONLY = (
    "cannot be written",
    "Make it and its folder writable for you, or copy it to where you may write.",
)
_LOCKED = (
    f"is held by another process for more than {WAIT:g} seconds",
    "Try again; if it lasts, look for a process or a database browser that holds a transaction open.",
)
_DAMAGED = (
    "is not an SQLite database, or a damaged one",
    "Name the file of a study, or restore a backup; `sqlite3 FILE .recover` saves what can be read.",
)
_UNREACHABLE = (
    "cannot be reached",
    "Check that the server runs, and host, port, user, password and database name in the URL; try again.",
)
_REFUSED = "refuses access", "Check user, password, database name and permissions."
_CONFLICT = (
    "refuses what contradicts what it holds",
    "A trial is asked once, and told or failed once, after it was asked. Nothing was added.",
)
_STRANGE = "cannot do what is needed", "If another program changed its tables, restore a backup."

_MISSPELT = "has an address that cannot be used", "Check the options in the URL."
_CROWDED = "has too many connections already", "Use fewer workers, or raise the server's limit."
_PASSING = (_LOCKED[0], _UNREACHABLE[0], _CROWDED[0])

# By SQLite's names of errors and PostgreSQL's codes; the first that begins the same is taken.
_KNOWN = {
    "SQLITE_FULL": _FULL,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_NOTADB": _DAMAGED,
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_CANTOPEN": ("cannot be opened", "Check that its folder exists and that you may write in it."),
    "SQLITE_PERM": _READ_ONLY,
    "SQLITE_IOERR": ("cannot be read or written", "The disk may be full, gone or broken: check it."),
    "SQLITE_CONSTRAINT": _CONFLICT,
    "53100": _FULL,
    "53300": _CROWDED,
    "25006": ("is read-only", "Use the primary server."),
    "55P03": _LOCKED,
    "40": _LOCKED,
    "25P03": _UNREACHABLE,
    "28": _REFUSED,
    "3D000": _REFUSED,
    "42501": _REFUSED,
    "23": _CONFLICT,
    "08": _UNREACHABLE,
    "57P": _UNREACHABLE,
}


def trouble(error: BaseException, place: Place) -> ArgbestError:
    """Return the error to raise in place of one that a database or its driver raised."""
    origin = getattr(error, "orig", None) or error
    if isinstance(origin, ArgbestError):  # a value that cannot be stored, or text that cannot be read
        return origin
    what, do = _sort(error, origin, place)
    detail = without_secrets(" ".join(str(origin).split()), place.url)
    found = StorageError(f"{place} {what} ({detail}). {do} What was acknowledged before is safe.")
    found.transient, found.brief = what in _PASSING, f"{place} {what}"
    return found


def _sort(error: BaseException, origin: BaseException, place: Place) -> tuple[str, str]:
    sign = getattr(origin, "sqlite_errorname", None) or getattr(origin, "sqlstate", None)
    if sign is not None:
        return next((known for start, known in _KNOWN.items() if sign.startswith(start)), _STRANGE)
    if place.path is not None:  # text that is no UTF-8, say
        return _DAMAGED
    if isinstance(error, OperationalError):
        return _UNREACHABLE
    return _MISSPELT if isinstance(error, ProgrammingError) else _STRANGE
