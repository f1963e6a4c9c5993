"""Simulators: external programs and Python functions, run here or elsewhere, stored as plain values."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from argbest.errors import InputError
from argbest.simulators.function import Function
from argbest.simulators.program import Program

_Simulator = TypeVar("_Simulator")


def reading(simulator: _Simulator, responses: Sequence[str]) -> _Simulator | Program:
    """Return the simulator; a program that reads one number is made to read these responses instead."""
    return simulator.naming(responses) if responses and isinstance(simulator, Program) else simulator


def plain(simulator: object) -> dict[str, Any] | None:
    """Return a program as {"program": {...}}, a named function as {"python": ..., "folder": ...}, else None.

    None means that the simulator cannot be stored and must be given again when the study is loaded.
    """
    if isinstance(simulator, Program):
        return {"program": simulator.plain()}
    return simulator.plain() if isinstance(simulator, Function) else None


def simulator_from(stored: Mapping[str, Any]) -> Program | Function:
    """Return the simulator that `plain` described."""
    if set(stored) == {"program"} and isinstance(stored["program"], Mapping):
        return Program.from_plain(stored["program"])
    if "python" in stored:
        return Function.from_plain(stored)
    raise InputError(
        f"got a simulator with the keys {sorted(stored)}; expected {{'program': {{...}}}} or "
        "{'python': 'module:function'}."
    )
