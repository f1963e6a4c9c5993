"""Simulators: external programs and Python functions, run here or elsewhere."""

from argbest.simulators.stored import plain, simulator_from

__all__ = ["plain", "simulator_from"]
