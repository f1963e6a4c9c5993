"""Simulators of the registered problems under importable names: `queue_staffing` is "queue-staffing@1".

So a stored study of a registered problem names its simulator as it would name any Python function. Of a later
version it names `queue_staffing__2`, and a name without a number is always that of the first.
"""

from typing import Any

from argbest import registry
from argbest.errors import InputError
from argbest.problems import catalogue
from argbest.simulators.function import Function

_VERSION = "__"


def simulator(problem: str) -> Function | None:
    """Return the simulator of a registered problem, sent and stored by name; None if it has none."""
    if registry.problem(problem).simulate is None:
        return None
    return Function(f"{__name__}:{catalogue.lasting(problem).replace('-', '_').replace('@', _VERSION)}")


def __getattr__(name: str) -> Any:
    meant = catalogue.meant_by_lasting(name.replace(_VERSION, "@").replace("_", "-"))
    try:
        return registry.problem(meant).simulate
    except InputError:
        raise AttributeError(name) from None
