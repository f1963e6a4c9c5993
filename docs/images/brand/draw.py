"""The logo and the badges, written here and fetched from nowhere: python docs/images/brand/draw.py.

The mark is what the library makes: in every context, a column of dots, the best alternative is marked, and
the line joins the choices.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
_BEST = (2, 2, 1, 0)  # the marked dot of every column, from the top
_COLOURS = {"light": ("#b8c0cc", "#1f2933"), "dark": ("#5b6472", "#e8ebf0")}  # other dots, text
_MARK, _STEP = "#e08a00", 14


def mark(dots: str) -> Iterator[str]:
    """Return the elements of the mark, 64 by 64."""
    at = [11 + _STEP * i for i in range(4)]
    for i, best in enumerate(_BEST):
        for j in range(4):
            if j != best:
                yield f'<circle cx="{at[i]}" cy="{at[j]}" r="3.4" fill="{dots}"/>'
    points = " ".join(f"{at[i]},{at[best]}" for i, best in enumerate(_BEST))
    yield f'<polyline points="{points}" fill="none" stroke="{_MARK}" stroke-width="3"/>'
    yield from (
        f'<circle cx="{at[i]}" cy="{at[best]}" r="6" fill="{_MARK}"/>' for i, best in enumerate(_BEST)
    )


def svg(width: int, height: int, title: str, parts: Iterator[str]) -> str:
    """Return a picture."""
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    return "\n".join([head, f"<title>{title}</title>", *parts, "</svg>\n"])


def logo(theme: str) -> str:
    """Return mark and name, for a light or a dark page."""
    dots, text = _COLOURS[theme]
    font = 'font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif" font-size="38" font-weight="600"'
    fit = 'textLength="146" lengthAdjust="spacingAndGlyphs"'
    name = f'<text x="76" y="46" fill="{text}" {font} {fit}>argbest</text>'
    return svg(230, 64, "argbest", iter([*mark(dots), name]))


def badge(label: str, value: str) -> str:
    """Return a badge: what is spoken of, and what it is."""
    left, right = (14 + 7 * len(text) for text in (label, value))
    font = 'font-family="Verdana, DejaVu Sans, sans-serif" font-size="11" text-anchor="middle" fill="#fff"'
    parts = [
        f'<rect width="{left + right}" height="20" rx="3" fill="#2f6f4f"/>',
        f'<path d="M3 0h{left - 3}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#444c56"/>',
        f'<text x="{left / 2}" y="14" {font}>{label}</text>',
        f'<text x="{left + right / 2}" y="14" {font}>{value}</text>',
    ]
    return svg(left + right, 20, f"{label}: {value}", iter(parts))


def pictures() -> dict[str, str]:
    """Return all files by name; what badges say is read from pyproject.toml."""
    project = tomllib.loads((HERE.parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    named = "Programming Language :: Python :: 3."
    pythons = [each.removeprefix(named) for each in project["classifiers"] if each.startswith(named)]
    return {
        "logo_light.svg": logo("light"),
        "logo_dark.svg": logo("dark"),
        "mark.svg": svg(64, 64, "argbest", mark("#dfe4ea")),
        "python.svg": badge("python", f"3.{pythons[0]} to 3.{pythons[-1]}"),
        "licence.svg": badge("licence", project["license"]),
        "version.svg": badge("version", project["version"]),
    }


if __name__ == "__main__":
    for name, text in pictures().items():
        (HERE / name).write_text(text, encoding="utf-8")
