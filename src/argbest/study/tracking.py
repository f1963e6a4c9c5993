"""Telling others of results: what goes wrong there costs neither a result nor the run."""

import warnings
from collections.abc import Callable

from argbest.errors import InputError, OutageNotice
from argbest.study.trial import Trial

OnResult = Callable[[Trial, float], None]


def tracker(on_result: OnResult | None) -> OnResult:
    """Return the function to call with (trial, value); of its exceptions the first becomes a warning."""
    if on_result is None:
        return lambda _trial, _value: None
    if not callable(on_result):
        raise InputError(f"on_result={on_result!r} cannot be called; give a function of (trial, value).")
    troubles = 0

    def track(trial: Trial, value: float) -> None:
        nonlocal troubles
        try:
            on_result(trial, value)
        except Exception as error:
            troubles += 1
            if troubles == 1:
                said = f"on_result raised {type(error).__name__}: {error}, for {trial}"
                words = f"{said}. The result is kept and the run goes on; this is said once."
                warnings.warn(words, OutageNotice, stacklevel=2)

    return track
