"""The storage that the user means by ``storage``; and addresses as they may be shown, without passwords."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from argbest import plugins
from argbest.core.abilities import offers
from argbest.errors import InputError, StorageError
from argbest.storage.base import ListsStudies, Storage

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

    from argbest.storage.base import Plain


def open_storage(
    where: "str | os.PathLike[str] | Storage | None" = None, *, name: str = "study"
) -> "Storage":
    """Return the storage that is meant; nothing is made and nobody is called before it is used.

    Args:
        where: None is the memory of this process, a path or a text without :// an SQLite file, a URL a
            database (postgresql://user:password@host/database), and a storage is itself. A URL whose scheme
            an installed package declares in ``argbest.storages`` is that package's.
        name: What tells several studies in one database apart.
    """
    if where is None:
        from argbest.storage.memory import MemoryStorage

        return MemoryStorage()
    scheme = where.partition("://")[0] if isinstance(where, str) and "://" in where else ""
    if scheme and scheme in plugins.found("storages"):
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
    if offers(where, Storage):
        return where
    methods = [name for name in vars(Storage) if not name.startswith("_")]
    raise InputError(
        f"storage={where!r} is not a storage. Give None (memory), a file name, a database URL, or an object "
        f"with the methods {', '.join(methods)}."
    )


@contextmanager
def opened(where: "str | os.PathLike[str] | Storage | None", *, name: str) -> "Iterator[Storage]":
    """Yield the storage that ``where`` means; it stays open after the block, but not after an exception."""
    storage = open_storage(where, name=name)
    try:
        yield storage
    except BaseException:
        storage.close()
        raise


def defined(storage: "Storage", name: str, where: object) -> "Plain":
    """Return the definition of the study in a storage; if there is none, an error that names the others."""
    found = storage.definition()
    if found is None:
        others = storage.names() if offers(storage, ListsStudies) else []
        listed = ", ".join(map(repr, others[:_MOST_NAMES])) + (", ..." if len(others) > _MOST_NAMES else "")
        hint = f"It holds {listed}: give one of these names." if others else "Check the place and the name."
        raise StorageError(f"there is no study {name!r} in {hiding_secrets(where)}. {hint}")
    return found


_MOST_NAMES = 10  # in a message
_HIDDEN = "***"
# What libpq takes besides passwords and keys. Whatever else stands there may be a secret, or one misspelt.
_HARMLESS = re.compile(
    r"host|hostaddr|load_balance_hosts|port|user|requirepeer|dbname|service|options|replication|\w*name|"
    r"\w*timeout|client_encoding|keepalives\w*|target_session_attrs|channel_binding|require_auth|gss\w+|"
    r"ssl(mode|negotiation|compression|cert|key|rootcert|crl|crldir|sni)|\w+_protocol_version"
)
_IN_TEXT = re.compile(r"""(?:[^\s"'(]*:/|\bpostgres[\w+]*:|password\s*=\s*)\S*[^\s"').,;:]""", re.IGNORECASE)
_MEANT = re.compile(r"\s*postgres[\w+]*:|.*password\s*=", re.IGNORECASE | re.DOTALL)


def understood(text: str) -> "URL | None":
    """Return what a URL says; None if it cannot be told for sure where its password begins and ends."""
    from sqlalchemy.engine import make_url  # here, since studies in memory do without it
    from sqlalchemy.exc import SQLAlchemyError

    try:
        url = make_url(text)
    except (SQLAlchemyError, ValueError):  # their words may hold the password
        return None
    if "@" in (url.database or "") + (url.host or ""):
        return None
    return None if url.password is not None and "?" in text.partition("@")[0] else url


def meant(text: str) -> bool:
    """Return whether a text that is no URL was meant for the address of a server, not for a file's name."""
    return _MEANT.match(text) is not None


def hiding_secrets(where: object) -> str:
    """Return a path, a URL or a storage as text, with *** in the place of what is secret."""
    text = str(where)
    if "://" not in text:
        return "the address of a database" if meant(text) else text
    url, kind = understood(text), text.partition("://")[0]
    if url is None:
        return f"{kind}://..." if re.fullmatch(r"[\w+.-]+", kind) else "the address of a database"
    query = {name: value if _HARMLESS.fullmatch(name) else _HIDDEN for name, value in url.query.items()}
    return url.set(query=query).render_as_string(hide_password=True).replace(quote_plus(_HIDDEN), _HIDDEN)


def concealed(text: str) -> str:
    """Return a text with every address in it as it may be shown."""
    return _IN_TEXT.sub(lambda found: hiding_secrets(found[0]), text)


def without_secrets(text: str, url: "URL") -> str:
    """Return a text about an address with *** in the place of its secrets, however they are spelt."""
    spelt = {
        form for secret in _secrets(url) for form in (secret, quote(secret, safe=""), quote_plus(secret))
    }
    for form in sorted(spelt, key=len, reverse=True):
        text = text.replace(form, _HIDDEN)
    return text


def _secrets(url: "URL") -> Iterator[str]:
    if url.password:
        yield str(url.password)
    for name, value in url.query.items():
        if not _HARMLESS.fullmatch(name):
            yield from filter(None, [value] if isinstance(value, str) else value)
