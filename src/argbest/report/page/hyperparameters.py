"""Hyper-parameters of every alternative as a table; what holds for all of them the model summary says."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from argbest.jsonable import values
from argbest.report.page.document import Plain


def hyperparameters(kit: Plain, labels: Sequence[object]) -> Plain | None:
    """Return columns and rows; None for a kit that has none.

    Prior means are in the user's sign, scales and noise are standard deviations, and lengthscales are in the
    units of their coordinate (of a text: 1 is the distance of two different ones).
    """
    table = _TABLES.get(kit["family"])
    return None if table is None else {**table(kit, labels)}


def _gp(kit: Plain, labels: Sequence[object]) -> Plain:
    noise = _noise(kit)
    rows = [
        [str(label), kit["sign"] * mean, np.sqrt(scale), sd, *_lengths(kit, own)]
        for label, mean, scale, sd, own in zip(
            labels, kit["constant"], kit["scale"], noise, kit["lengthscale"], strict=True
        )
    ]
    return _table(["alternative", "prior mean", "prior sd", "noise sd", *_names(kit)], rows)


def _linear(kit: Plain, labels: Sequence[object]) -> Plain:
    """Return the coefficients as they are: of 1 and of coordinates that run from 0 to 1 between two ends."""
    rows = [
        [str(label), *(kit["sign"] * np.array(beta)).tolist()]
        for label, beta in zip(labels, kit["coefficients"], strict=True)
    ]
    slopes = []
    for end in kit["ends"]:
        column = kit["coordinates"][end["coordinate"]]
        start, stop = column["values"][end["from"]], column["values"][end["to"]]
        slopes.append(f"{column['name']} from {start} to {stop}")
    return _table(["alternative", "intercept", *slopes], rows)


_TABLES = {"gp": _gp, "linear": _linear}


def _names(kit: Plain) -> list[str]:
    return [f"lengthscale of {column['name']}" for column in kit["coordinates"]]


def _lengths(kit: Plain, scaled: Sequence[float]) -> list[float]:
    widths = [column.get("high", 1.0) - column.get("low", 0.0) for column in kit["coordinates"]]
    return [length * width for length, width in zip(scaled, widths, strict=True)]


def _noise(kit: Plain) -> list[float]:
    """Return the standard deviation of an observation of every alternative, averaged over contexts."""
    averages: list[float] = np.sqrt(np.mean(np.array(kit["noise"], float), axis=1)).tolist()
    return averages


def _table(columns: list[str], rows: list[list[Any]]) -> Plain:
    return {"columns": columns, "rows": values(rows)}
