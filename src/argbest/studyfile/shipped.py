"""Simulators of the registered problems under importable names: `queue_staffing` is that of "queue-staffing".

So a stored study of a registered problem names its simulator as it would name any Python function.
"""

from typing import Any

from argbest import plugins, registry
from argbest.simulators.function import Function


def simulator(problem: str) -> Function | None:
    """Return the simulator of a registered problem, sent and stored by name; None if it has none."""
    if registry.problem(problem).simulate is None:
        return None
    return Function(f"{__name__}:{problem.replace('-', '_')}")


def __getattr__(name: str) -> Any:
    known = name.replace("_", "-")
    if known not in registry.PROBLEMS and known not in plugins.found("problems"):
        raise AttributeError(name)
    return registry.problem(known).simulate
