"""Conformance suites: run them on your own policy, model, question or storage.

Each check raises an AssertionError that says what was expected. Nothing here needs pytest.
"""

from argbest.testing.models import assert_valid_model
from argbest.testing.policies import (
    EVERY_INVARIANCE,
    PERMUTATION,
    SCALE,
    SHIFT,
    Situation,
    assert_valid_policy,
    situation,
)
from argbest.testing.questions import assert_valid_question
from argbest.testing.storages import assert_valid_storage, example_events

__all__ = [
    "EVERY_INVARIANCE", "PERMUTATION", "SCALE", "SHIFT", "Situation", "assert_valid_model",
    "assert_valid_policy", "assert_valid_question", "assert_valid_storage", "example_events", "situation",
]  # fmt: skip
