"""Draw the pictures of this folder, each on a light and on a dark background.

    python docs/images/plots/draw.py

The studies and the experiment take about half a minute.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from argbest import Study, registry, report
from argbest.experiment import Contender, Experiment, run

HERE = Path(__file__).parent


def pictures() -> dict[str, Callable[..., Any]]:
    """Return what draws each picture, by its name."""
    line = Study(registry.problem("branin"), seed=0).run(400)
    regional = registry.problem("covid-regional")
    grid = Study(regional, policy="dvr", initial=1, seed=0).run(1_000)
    policies = ("gp-c-ocba", "ikg", "dvr", "equal")
    experiment = Experiment(
        "branin", [Contender.named(name) for name in policies], samples=200, macroreps=50, checkpoint_every=10
    )
    results = run(experiment, progress=False)
    return {
        "policy_map": partial(report.plot_policy_map, line),
        "policy_map_grid": partial(report.plot_policy_map, grid),
        "profiles": partial(report.plot_profiles, line),
        "profiles_grid": partial(report.plot_profiles, grid),
        "allocation": partial(report.plot_allocation, line),
        "contention": partial(report.plot_contention, line),
        "contention_grid": partial(report.plot_contention, grid),
        "progress": partial(report.plot_progress, line),
        "progress_cost": partial(report.plot_progress, grid, measure="eoc"),
        "model_check": partial(report.plot_model_check, grid),
        "comparison": partial(report.plot_comparison, results, measure="eoc"),
        "calibration": partial(report.plot_calibration, results),
    }


def main() -> None:
    """Write every picture twice."""
    for name, draw in pictures().items():
        for theme in ("light", "dark"):
            draw(theme=theme).figure.savefig(HERE / f"{name}_{theme}.png", dpi=110)


if __name__ == "__main__":
    main()
