"""Sheets that pictures are drawn on: their text, their keys, the strips beside them, and their files.

Nothing global of matplotlib is touched, and it is imported only when something is drawn.
"""

import io
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from argbest import files
from argbest.checks import one_of
from argbest.errors import ArgbestError, InputError
from argbest.report import looks
from argbest.report.looks import DARK, LIGHT, THEMES, Theme, luminance, middle_cut
from argbest.study.study import Study
from argbest.texts import harmless

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SCREEN = 110  # dots per inch of a picture in a notebook
BAND = 1.96  # standard errors: 95 %
TITLE, LABEL, TICK = 9.5, 9.0, 8.0  # points
_LETTER_WIDTH = 0.56  # of a letter, in units of its size
_LONGEST_NAME = 60  # letters of a problem's name that a title shows
_TITLE_WIDTH = 0.7  # of the figure's width: a title stands above the axes, which are narrower


class Sheet(NamedTuple):
    """Where a picture is drawn, and whether its surroundings are to be coloured too."""

    ax: "Axes"
    theme: Theme
    figure: bool  # it is a figure of its own
    painted: bool  # all its text and lines take the colours of the theme


def require_study(given: object) -> None:
    """Refuse what a picture of a study cannot be drawn of."""
    if not isinstance(given, Study):
        raise InputError(
            f"got {type(given).__name__}; expected a study: argbest.Study(...), or argbest.Study.load(...) "
            "of a stored one."
        )


def sheet(ax: "Axes | None", theme: str | None, width: float, height: float) -> Sheet:
    """Return the axes given, or those of a figure of its own with so many inches.

    Without a ``theme`` the brightness of the given axes tells it; a figure of its own is light.
    """
    if theme is not None:
        one_of("theme", theme, THEMES)
    if ax is None:
        return Sheet(canvas(width, height).add_subplot(), THEMES[theme or "light"], True, True)
    if not hasattr(ax, "figure"):
        raise InputError(f"got ax={ax!r}; expected the axes of a matplotlib figure, or none.")
    return Sheet(ax, THEMES[theme] if theme else _theme_of(ax), False, theme is not None)


def canvas(width: float, height: float) -> "Figure":
    """Return an empty figure that belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise ArgbestError("pictures need matplotlib: pip install 'argbest[plot]'") from missing

    class Picture(Figure):
        """A figure that notebooks show by themselves, whatever backend there is."""

        _waits = False  # it is shown when the running cell ends

        def draw(self, renderer: Any) -> None:
            with looks.told_already():
                super().draw(renderer)

        def _ipython_display_(self) -> None:
            if _kernel() is None:
                raise NotImplementedError  # a terminal shows its name
            if not self._waits:
                self._show()

        def _show(self) -> None:
            from IPython.display import Image, display

            # Twice as many pixels as it is large: sharp on screens of high density.
            display(Image(content(self, "png", dpi=2 * _SCREEN), format="png", retina=True))

        def show_after_this_cell(self) -> None:
            """Have a notebook show it once, even if its line ends in a semicolon or others follow."""
            shell = _kernel()
            if shell is None:
                return

            def show() -> None:
                shell.events.unregister("post_execute", show)
                self._waits = False
                self._show()

            self._waits = True
            shell.events.register("post_execute", show)

    return Picture(figsize=(width, height), layout="constrained")


def _kernel() -> Any:
    """Return the shell of the notebook that this runs in, None where it is none."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if hasattr(shell, "kernel") else None


def finish(made: Sheet) -> "Axes":
    """Return the axes with the fonts it needs, and the colours of the theme where that is ours to do."""
    from matplotlib.text import Text

    looks.dress(text for ax in _family(made.ax) for text in ax.findobj(Text))
    if made.figure:
        made.ax.figure.set_facecolor(made.theme.paper)
    if made.painted:
        for ax in _family(made.ax):
            _paint(ax, made.theme)
    return made.ax


def bare(ax: "Axes") -> None:
    """Take away the upper and the right edge, and set the size of the numbers."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=TICK)


def headline(ax: "Axes", text: str) -> None:
    """Write the title above the axes, in as many lines as it needs."""
    ax.set_title(wrapped(ax, text), fontsize=TITLE)


def name_axes(ax: "Axes", *, x: str = "", y: str = "") -> None:
    """Write what the axes mean, in as many lines as that needs."""
    wide, high, _ = points(ax)
    if x:
        ax.set_xlabel(wrapped(ax, x, LABEL, wide), fontsize=LABEL)
    if y:
        lines = (wrapped(ax, line, LABEL, high) for line in y.split("\n"))
        ax.set_ylabel("\n".join(lines), fontsize=LABEL)


def wrapped(ax: "Axes", text: str, size: float = TITLE, room: float | None = None) -> str:
    """Return text in as few lines as fit, measured in its font, and about as long.

    The room is in points, by default that above the axes.
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    text = harmless(text)
    room = _TITLE_WIDTH * points(ax)[2] if room is None else room
    font = FontProperties(size=size, family=looks.families([text]))
    letters = max(int(room / (0.4 * size)), 12)
    lines = textwrap.wrap(text, letters)
    with looks.told_already():
        while letters > 5 and any(
            text_to_path.get_text_width_height_descent(line, font, False)[0] > room for line in lines
        ):
            lines = textwrap.wrap(text, letters := letters - 1)
    while letters > 5 and len(shorter := textwrap.wrap(text, letters := letters - 1)) == len(lines):
        lines = shorter  # no last line of one word
    return plain("\n".join(lines))


def titled(name: str, text: str) -> str:
    """Return a title that begins with the name of a problem, shortened where it would crowd the picture."""
    return f"{middle_cut(name, _LONGEST_NAME)}: {text}"


def points(ax: "Axes") -> tuple[float, float, float]:
    """Return width and height of the axes and the width of the whole figure, in points."""
    scale = 72.0 / ax.figure.dpi
    return ax.bbox.width * scale, ax.bbox.height * scale, ax.figure.bbox.width * scale


def length(text: str, size: float = TICK) -> float:
    """Return about how long a text is, in points."""
    return _LETTER_WIDTH * size * max(map(looks.columns, text.split("\n")))


def above(ax: "Axes", height: float) -> "Axes":
    """Return a strip of so many inches above the axes, with the same horizontal scale."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    # In inches, so that making room for it does not change its size.
    corner: Any = ax.transAxes
    upwards = ax.figure.dpi_scale_trans + ScaledTranslation(0, 1, corner)
    height = min(height, 0.18 * ax.figure.bbox.height / ax.figure.dpi)
    place = blended_transform_factory(ax.transAxes, upwards)
    return ax.inset_axes((0.0, 0.08, 1.0, height), transform=place, sharex=ax)


def beside(ax: "Axes", width: float) -> "Axes":
    """Return a strip of so many inches at the right of the axes, with the same vertical scale."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    corner: Any = ax.transAxes
    sideways = ax.figure.dpi_scale_trans + ScaledTranslation(1, 0, corner)
    width = min(width, 0.18 * ax.figure.bbox.width / ax.figure.dpi)
    place = blended_transform_factory(sideways, ax.transAxes)
    return ax.inset_axes((0.06, 0.0, width, 1.0), transform=place, sharey=ax)


def key(ax: "Axes", handles: list[Any], labels: list[str], *, title: str = "") -> None:
    """Put the meaning of the marks and a title above the axes, in as many columns as there is room for."""
    full, beside = points(ax)[2], 4.8 * TICK  # the second is what a handle and gaps take
    room = full / (max(map(length, labels), default=1.0) + beside)
    if room < 2 and len(labels) > 2:  # two columns of shorter labels rather than a tall key
        labels, room = list(cut(labels, full / 2 - beside)), 2.0
    rows = -(-len(labels) // max(1, int(room)))
    legend = ax.legend(
        handles, [plain(label) for label in labels], title=wrapped(ax, title) if title else None,
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=max(1, -(-len(labels) // max(rows, 1))),
        frameon=False, fontsize=TICK, title_fontsize=TITLE, handletextpad=0.5, columnspacing=1.0,
        handlelength=3.2, borderaxespad=0.2,
    )  # fmt: skip
    legend.get_title().set_multialignment("center")


def cut(labels: Sequence[str], room: float) -> tuple[str, ...]:
    """Return labels that fit into so many points; as they are where two would then be alike."""
    short = tuple(middle_cut(label, max(int(room / (_LETTER_WIDTH * TICK) + 1e-9), 5)) for label in labels)
    return short if len(set(short)) == len(set(labels)) else tuple(labels)


def plain(text: str) -> str:
    """Return text in which a dollar sign does not begin a formula, and controls are written as escapes."""
    return harmless(text).replace("$", r"\$")


def _theme_of(ax: "Axes") -> Theme:
    """Return the theme that suits the brightness behind the axes."""
    from matplotlib.colors import to_rgba

    face = to_rgba(ax.get_facecolor())
    behind = face if face[3] > 0.5 else to_rgba(ax.figure.get_facecolor())
    return DARK if behind[3] > 0.5 and luminance(behind) < 0.18 else LIGHT


def _family(ax: Any) -> Iterator["Axes"]:
    """Yield the axes, those inside them, and their colour bars."""
    yield ax
    for child in ax.child_axes:
        yield from _family(child)
    for drawn in (*ax.images, *ax.collections):
        if drawn.colorbar is not None:
            yield drawn.colorbar.ax


def _paint(ax: "Axes", theme: Theme) -> None:
    ax.set_facecolor(theme.paper)
    ax.tick_params(colors=theme.ink, which="both")
    for text in (ax.title, ax.xaxis.label, ax.yaxis.label, ax.xaxis.offsetText, ax.yaxis.offsetText):
        text.set_color(theme.ink)
    for spine in ax.spines.values():
        spine.set_edgecolor(theme.ink)
    legend = ax.get_legend()
    if legend is not None:
        for text in (legend.get_title(), *legend.get_texts()):
            text.set_color(theme.ink)


DPI = 150


def save(figure: Any, path: str | Path, *, dpi: int = DPI) -> Path:
    """Return the path of a picture, written; the end of its name tells the format."""
    return files.write(path, content(figure, Path(path).suffix[1:] or None, dpi=dpi))


def content(figure: Any, kind: str | None, *, dpi: int = DPI) -> bytes:
    """Return a picture as what its file holds."""
    picture = io.BytesIO()
    figure.canvas.print_figure(picture, dpi=dpi, format=kind)
    return picture.getvalue()
