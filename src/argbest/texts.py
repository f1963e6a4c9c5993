"""Texts of strangers, such as labels and what simulators say, shown and kept without harm; and numbers."""

import re
from collections.abc import Sequence
from html import escape

LONGEST = 2**14  # bytes kept of what is said about a failure
_CUT = "\n[... {} bytes are cut here ...]\n"

# Controls but for line feed and tab, marks that turn the direction of writing, halves of surrogate pairs.
_COMMANDS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    r"""Return the text with what commands a terminal, or misleads its reader, written as an escape: \x1b."""
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def as_html(text: str) -> str:
    """Return the text for a page: harmless, and nothing in it taken for markup."""
    return escape(harmless(text))


def capped(text: str) -> str:
    """Return the text; of a very long one its beginning and end, with a mark that says how much is cut."""
    content = text.encode("utf-8", "surrogatepass")
    if len(content) <= LONGEST:
        return text
    half = (LONGEST - len(_CUT) - len(str(len(content)))) // 2
    start, end = (part.decode("utf-8", "ignore") for part in (content[:half], content[-half:]))
    missing = len(content) - len(start.encode()) - len(end.encode())
    return start + _CUT.format(missing) + end


def first_of(names: Sequence[str], most: int = 3) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits, but no digit before the point lost below a million."""
    whole = len(str(round(abs(value)))) if 1 <= abs(value) < 1e6 else 0
    return f"{value + 0.0:.{max(digits, whole)}g}"  # + 0.0: never -0


def with_unit(text: str, unit: str) -> str:
    """Return a number with its unit behind it, if it has one: "2.8 minutes"."""
    return f"{text} {unit}" if unit else text


def chance(p: float) -> str:
    """Return a probability with three digits; what data tell is never written as certain."""
    if p >= 0.9995:
        return ">0.999"
    return "<0.001" if 1e-12 < p < 0.0005 else f"{p:.3f}"


class Sentences:
    """What says itself in sentences by `str`: with a short `repr`, and as HTML in notebooks."""

    def __repr__(self) -> str:
        first = str(self).partition("\n")[0]
        return f"<{type(self).__name__}: {first if len(first) <= 100 else first[:99] + '…'}>"

    def _repr_html_(self) -> str:
        return "".join(f"<p>{as_html(line)}</p>" for line in str(self).splitlines())
