"""Studies: asking for trials, being told their values, running simulators."""

import warnings
from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name != "posthoc":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    words = "argbest.study.posthoc is now argbest.posthoc.analysis; Study.from_observations makes studies."
    warnings.warn(words, DeprecationWarning, stacklevel=2)
    return import_module("argbest.posthoc.analysis")
