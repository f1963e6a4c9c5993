"""Figures of matplotlib as files."""

import io
from pathlib import Path
from typing import Any

from argbest import files

DPI = 150


def save(figure: Any, path: str | Path, *, dpi: int = DPI) -> Path:
    """Return the path of a picture, written; the end of its name tells the format."""
    return files.write(path, content(figure, Path(path).suffix[1:] or None, dpi=dpi))


def content(figure: Any, kind: str | None, *, dpi: int = DPI) -> bytes:
    """Return a picture as what its file holds."""
    picture = io.BytesIO()
    figure.canvas.print_figure(picture, dpi=dpi, format=kind)
    return picture.getvalue()
