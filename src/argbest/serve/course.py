"""The course of certainty: what the certificate said after so many observations."""

from collections.abc import Sequence
from typing import TypeAlias

from argbest.report.page.plain import value
from argbest.study.study import Study

# Observations, PCS_E, PCS_M, P(all) and EOC; what was not worked out is None.
Point: TypeAlias = tuple[int, float | None, float | None, float | None, float | None]

MEASURES = ("pcs_e", "pcs_m", "p_all", "eoc")
MOST = 240  # points; a screen shows no more


def past(study: Study, points: int) -> list[Point]:
    """Return the course before the view was opened, by fitting the model to what was known then."""
    rows = study.history(points).iloc[:-1].to_dict("records")
    return [(int(row["observations"]), *(value(row.get(name)) for name in MEASURES)) for row in rows]


def extended(course: Sequence[Point], point: Point) -> list[Point]:
    """Return the course with a newer point at its end; of too many, half of them stay, evenly spread."""
    kept = [each for each in course if each[0] < point[0]]
    if len(kept) >= MOST:
        width = 2 * (point[0] - kept[0][0]) / MOST
        kept = list({int((each[0] - kept[0][0]) / width): each for each in reversed(kept)}.values())[::-1]
    return [*kept, point]
