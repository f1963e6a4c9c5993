"""A hook of mkdocs: formulas in $...$ become MathML, which browsers draw by themselves."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.+?)\\\)</span>', re.DOTALL)
_DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.+?)\\\]</div>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Return the page with its formulas converted."""
    content = _DISPLAY.sub(lambda found: _formula(found[1], "block"), content)
    return _INLINE.sub(lambda found: _formula(found[1], "inline"), content)


def _formula(text: str, display: str) -> str:
    formula = convert(html.unescape(text.strip()), display=display)
    return f'<div style="overflow-x:auto">{formula}</div>' if display == "block" else formula
