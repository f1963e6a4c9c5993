"""Answers from fewer draws: for tests of what is done with answers, whatever the figures are."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from argbest.answers import forecasting
from argbest.core import integration
from argbest.study import view

FINE = bool(os.environ.get("ARGBEST_FINE_TESTS"))  # `make test-slow` sets it, and tries what users get
_FEW = [
    (view, "DRAWS", 512),  # joint draws behind a certificate
    (integration, "_MOST_POINTS", 12),  # plausible hyper-parameters
    (forecasting, "_DECISIONS_PER_GROWTH", 8),  # steps of a look ahead
]


@contextmanager
def few_draws() -> Iterator[None]:
    """Let certificates, predictions and forecasts rest on few draws, unless the tests are to be fine."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, number in [] if FINE else _FEW:
            patch.setattr(module, name, number)
        yield
