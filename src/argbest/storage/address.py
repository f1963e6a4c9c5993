"""Addresses of databases: what they say, and how they are shown. No password is ever shown."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

HIDDEN = "***"
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


def shown(where: object) -> str:
    """Return a path, a URL or a storage as it may be shown: with *** in the place of what is secret."""
    text = str(where)
    if "://" not in text:
        return "the address of a database" if meant(text) else text
    url, kind = understood(text), text.partition("://")[0]
    if url is None:
        return f"{kind}://..." if re.fullmatch(r"[\w+.-]+", kind) else "the address of a database"
    query = {name: value if _HARMLESS.fullmatch(name) else HIDDEN for name, value in url.query.items()}
    return url.set(query=query).render_as_string(hide_password=True).replace(quote_plus(HIDDEN), HIDDEN)


def concealed(text: str) -> str:
    """Return a text with every address in it as it may be shown."""
    return _IN_TEXT.sub(lambda found: shown(found[0]), text)


def without_secrets(text: str, url: "URL") -> str:
    """Return what somebody said about an address with *** in the place of its secrets, however spelt."""
    spelt = {
        form for secret in _secrets(url) for form in (secret, quote(secret, safe=""), quote_plus(secret))
    }
    for form in sorted(spelt, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def _secrets(url: "URL") -> Iterator[str]:
    if url.password:
        yield str(url.password)
    for name, value in url.query.items():
        if not _HARMLESS.fullmatch(name):
            yield from filter(None, [value] if isinstance(value, str) else value)
