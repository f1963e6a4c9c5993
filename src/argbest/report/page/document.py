"""A payload as one HTML file: style, scripts and data inside, and a policy that lets nothing else in."""

import base64
import hashlib
import html
import json
import platform
import re
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

from argbest import files
from argbest.errors import InputError
from argbest.texts import harmless

Plain: TypeAlias = dict[str, Any]

_OWN = (  # scripts, in the order in which they need each other
    *(
        "text",
        "predictor",
        "table",
        "chart",
        "sections",
        "heat",
        "map",
        "questions",
        "profile",
        "explorer",
        "slider",
        "study",
    ),
    *("experiment", "main"),
)
SCRIPTS = ("vendor/uplot/uPlot.iife.min.js", *(f"js/{name}.js" for name in _OWN))
STYLES = ("vendor/uplot/uPlot.min.css", "style.css")


def document(payload: Plain) -> str:
    """Return the page of a payload, which has at least ``kind``, ``title`` and ``answer`` (sentences)."""
    code = script()
    parts = {
        "title": html.escape(harmless(payload["title"])),
        "asked": html.escape(harmless("".join(text for text, _ in payload.get("asked", ())))),
        "answer": html.escape(harmless(_said(payload))),
        "next": html.escape(harmless(" ".join(payload.get("next", ())))),
        "version": html.escape(version("argbest")),
        "policy": html.escape(content_policy(code)),
        "styles": styles(),
        "payload": embedded(payload),
        "script": code,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _read("template.html"))


def _said(payload: Plain) -> str:
    """Return the answer as text, for those who run no scripts."""
    lines = (f"{where}{': ' if where else ''}{what}{how}." for where, what, how in payload.get("choices", ()))
    return " ".join([*lines, *payload["answer"]])


def destination(path: str | Path) -> Path:
    """Return the path of a page to be; its folder must be there before anything is worked out."""
    place = Path(path)
    if place.is_dir() or not place.parent.is_dir():
        raise InputError(
            f"cannot write a page to {str(path)!r}; expected the name of a file in a folder that exists. "
            "Create the folder, or give another name, such as 'report.html'."
        )
    return place


def write(payload: Plain, path: Path) -> Path:
    """Return the path of the page, written."""
    return files.write(path, document(payload))


def embedded(payload: Plain) -> str:
    """Return the payload as JSON that cannot end the script element it stands in."""
    plain = json.dumps(payload, allow_nan=False, separators=(",", ":"))  # ASCII alone
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", plain)


def versions() -> str:
    """Return the versions of what a page was computed with."""
    named = ", ".join(f"{name} {version(name)}" for name in ("argbest", "numpy", "scipy"))
    return f"{named}, Python {platform.python_version()}"


def content_policy(code: str) -> str:
    """Return the policy of a page whose only script is this one: no network, no script from labels."""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode("ascii")
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"


def script() -> str:
    """Return all scripts as one."""
    return "\n".join(_brief(_read(name)) for name in SCRIPTS)


def styles() -> str:
    """Return all style sheets as one."""
    return "\n".join(_brief(_read(name)) for name in STYLES)


def _brief(code: str) -> str:
    """Return a script or a style sheet without indentation and without lines of comment alone.

    A comment of a licence, "/*!", stays. No text of ours goes over several lines.
    """
    without = re.sub(r"^\s*/\*[^!](?:.|\n)*?\*/\s*$", "", code, flags=re.MULTILINE)
    lines = (line.strip() for line in without.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _read(name: str) -> str:
    return resources.files("argbest.report.page").joinpath(name).read_text(encoding="utf-8")
