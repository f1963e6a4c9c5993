"""The colours and marks of pictures: themes whose lines colour-blind readers and grey printers tell apart."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.colors import Colormap

DASHES: tuple[Any, ...] = (
    "-",
    (0, (4, 1.8)),
    (0, (5, 1.3, 1.2, 1.3, 1.2, 1.3)),
    (0, (10, 2.5)),
    (0, (7, 1.8, 1.5, 1.8)),
    (0, (2.4, 1.4)),
    (0, (1.3, 1.1)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


@dataclass(frozen=True)
class Theme:
    """The colours of a picture; those of lines are hues of Okabe and Ito that stand out from the paper."""

    name: str
    paper: str
    ink: str
    faint: str  # grids and what is out of the running
    alarm: str
    shades: tuple[str, ...]  # from nothing to all, ever further from the paper
    colours: tuple[str, ...]


LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#1a1a1a",
    faint="#c8c8c8",
    alarm="#d55e00",
    shades=("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"),
    colours=(
        "#0366ad", "#a43308", "#0d9261", "#9b4279", "#b78300", "#3b9bc5", "#1a1a1a", "#7d7d2e",
    ),
)  # fmt: skip
DARK = Theme(
    name="dark",
    paper="#14181d",
    ink="#ececec",
    faint="#4a5058",
    alarm="#ff8c42",
    shades=("#1b2129", "#1f4b73", "#2f83c0", "#86c5ee", "#e8f5ff"),
    colours=(
        "#56a8e0", "#ff8c42", "#2cc295", "#e79ac3", "#f0b429", "#9ad4f7", "#ececec", "#c9c96a",
    ),
)  # fmt: skip
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def look(theme: Theme, i: int) -> dict[str, Any]:
    """Return colour, dashes and marker of the i-th line; 56 differ, and the first 7 without any colour."""
    return {
        "color": theme.colours[i % len(theme.colours)],
        "linestyle": DASHES[i % len(DASHES)],
        "marker": MARKERS[i % len(MARKERS)],
    }


def shades(theme: Theme) -> "Colormap":
    """Return the colours from nothing to all."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(f"argbest-{theme.name}", theme.shades)


def blend(colour: str, paper: str, share: float) -> tuple[float, float, float]:
    """Return a colour that is the less saturated the more of the paper it has; ``share`` is the colour's."""
    from matplotlib.colors import to_rgb

    pairs = zip(to_rgb(colour), to_rgb(paper), strict=True)
    red, green, blue = (share * own + (1.0 - share) * other for own, other in pairs)
    return red, green, blue


def readable(background: Any) -> str:
    """Return black or white, whichever stands out from a background."""
    bright = luminance(background)
    return "#000000" if (bright + 0.05) ** 2 > 1.05 * 0.05 else "#ffffff"


def luminance(colour: Any) -> float:
    """Return the relative luminance of a colour, 0 for black and 1 for white."""
    from matplotlib.colors import to_rgb

    parts = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(colour))
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))
