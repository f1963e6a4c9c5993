"""The pictures of a study, written into a folder."""

from pathlib import Path

from argbest.report.allocation import plot_allocation
from argbest.report.policy_map import plot_policy_map
from argbest.study.study import Study


def save(study: Study, folder: str | Path, *, dpi: int = 150, theme: str | None = None) -> list[Path]:
    """Return the paths of `policy_map.png` and `allocation.png`, written into an existing folder."""
    drawn = {
        "policy_map.png": plot_policy_map(study, theme=theme),
        "allocation.png": plot_allocation(study, theme=theme),
    }
    paths = [Path(folder) / name for name in drawn]
    for path, ax in zip(paths, drawn.values(), strict=True):
        ax.figure.canvas.print_figure(path, dpi=dpi)
    return paths
