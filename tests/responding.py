"""Simulators with several responses at the top level of a module, for other processes to call."""

import random
from typing import Any

from argbest.simulators.calling import batched, vectorised


def clinic(plan: str, arrivals: int, seed: int) -> dict[str, float]:
    """Return cost and whether somebody is late: the cheap plan is late half of the time where many arrive."""
    draw = random.Random(seed)  # noqa: S311
    late = plan == "cheap" and arrivals > 3 and draw.random() < 0.5
    return {"cost": {"cheap": 1.0, "dear": 2.0}[plan] + draw.gauss(0, 0.1), "late": late}


@batched
def clinic_of_seeds(plan: str, arrivals: int, seeds: list[int]) -> dict[str, Any]:
    return columns([clinic(plan, arrivals, seed) for seed in seeds])


@vectorised
def clinic_of_jobs(plans: list[str], arrivals: list[int], seeds: list[int]) -> dict[str, Any]:
    return columns([clinic(*job) for job in zip(plans, arrivals, seeds, strict=True)])


def columns(rows: list[dict[str, float]]) -> dict[str, list[float]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def clinic_with_odd_results(plan: str, arrivals: int, seed: int) -> dict[str, Any]:
    """Return what `clinic` does, but for some seeds something that is no result."""
    given = clinic(plan, arrivals, seed)
    odd: list[dict[str, Any]] = [
        {"cost": 1.0},
        given | {"wait": 3.0},
        given | {"late": float("nan")},
        given | {"cost": "cheap"},
    ]
    return odd[seed % 4] if seed % 5 == 0 else given
