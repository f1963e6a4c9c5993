"""Simulators of the registered problems under importable names: `queue_staffing` is that of "queue-staffing".

So a stored study of a registered problem names its simulator as it would name any Python function.
"""

from typing import Any

from argbest import registry
from argbest.errors import InputError
from argbest.simulators.function import Function


def simulator(problem: str) -> Function | None:
    """Return the simulator of a registered problem, sent and stored by name; None if it has none."""
    if registry.problem(problem).simulate is None:
        return None
    return Function(f"{__name__}:{problem.replace('-', '_')}")


def __getattr__(name: str) -> Any:
    try:
        return registry.problem(name.replace("_", "-")).simulate
    except InputError:
        raise AttributeError(name) from None
