"""When hyper-parameters are learned again: every so many replications, or as they grow."""

import math
from typing import TypeAlias

from argbest.checks import whole
from argbest.core.abilities import RefitsByGrowth, offers
from argbest.errors import InputError

Schedule: TypeAlias = int | str
AUTO = "auto"
_FEWEST_NEW_REPLICATIONS = 10  # for which it pays to learn again


def growth_of(model: object) -> float:
    """Return the share by which replications grow until a model learns again; 0: by a number of them."""
    return model.refit_growth if offers(model, RefitsByGrowth) else 0.0


def checked(name: str, given: object) -> Schedule:
    """Return a schedule: a number of replications, or "auto" for the model's own."""
    if isinstance(given, str) and given == AUTO:
        return AUTO
    try:
        return whole(name, given, at_least=1)
    except InputError as error:
        raise InputError(f'{error} Or "auto", which leaves it to the model.') from None


def due(model: object, every: Schedule, n: int, fitted: int) -> bool:
    """Return whether a model fitted to so many replications should learn again now that there are n.

    "auto" is every 10; for a model with ``refit_growth``, when they have grown by that share and by 10 at
    least: the number of fits then grows with log n. Fewer than 10 replications have only to double.
    """
    return n - fitted >= _step(model, every, fitted)


def fits(model: object, every: Schedule, first: int, n: int) -> int:
    """Return how often a model fitted to the first replications has learned again when there are n."""
    times = 0
    while n - first >= (step := _step(model, every, first)):
        first, times = first + step, times + 1
    return times


def words(model: object, every: Schedule) -> str:
    """Return a schedule in words."""
    growth = growth_of(model)
    if every == AUTO and growth:
        return f"when replications have grown by {growth:.0%}, and by {_FEWEST_NEW_REPLICATIONS} at least"
    return f"every {_FEWEST_NEW_REPLICATIONS if isinstance(every, str) else every} replications"


def _step(model: object, every: Schedule, fitted: int) -> int:
    """Return after how many more replications a model learns again."""
    if isinstance(every, int):
        return every
    growth = growth_of(model)
    if not growth:
        return _FEWEST_NEW_REPLICATIONS
    # Where little was known, as much again changes everything.
    few = min(_FEWEST_NEW_REPLICATIONS, max(1, fitted))
    return max(few, math.ceil(growth * fitted))
