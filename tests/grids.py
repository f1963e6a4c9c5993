"""Grids of parameters of which `make test` tries some, and `make test-slow` the others."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def mostly_slow(values: Iterable[Any], *, fast: Collection[Any]) -> list[Any]:
    """Return the values; those that are not among the fast ones are left to the slow tests."""
    return [each if each in fast else pytest.param(each, marks=pytest.mark.slow) for each in values]
