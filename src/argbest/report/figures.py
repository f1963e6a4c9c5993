"""The pictures of a study, written into a folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from argbest.report.policy_map import plot_policy_map
from argbest.report.style import DPI
from argbest.report.style import save as save_figure
from argbest.report.tables import plot_allocation
from argbest.study.study import Study


def save(study: Study, folder: str | Path, *, dpi: int = DPI, theme: str | None = None) -> list[Path]:
    """Return the paths of `policy_map.png` and `allocation.png`, written into an existing folder.

    Args:
        study: The study to draw.
        folder: The folder to write into.
        dpi: Dots per inch.
        theme: "light" or "dark".
    """
    return write(draw(study, theme=theme), folder, dpi=dpi)


def draw(study: Study, *, theme: str | None = None) -> dict[str, Any]:
    """Return the figures by the names of their files."""
    return {
        "policy_map.png": plot_policy_map(study, theme=theme).figure,
        "allocation.png": plot_allocation(study, theme=theme).figure,
    }


def write(drawn: Mapping[str, Any], folder: str | Path, *, dpi: int = DPI) -> list[Path]:
    """Return the paths of figures, written into an existing folder."""
    return [save_figure(figure, Path(folder) / name, dpi=dpi) for name, figure in drawn.items()]
