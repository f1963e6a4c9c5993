"""Ctrl-C ends a long fit within a second or two, whichever way it is searched."""

import _thread
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from models.test_additive_large import observed, setting, stack

from argbest.core.arrays import Array
from argbest.models.additive_gp import AdditiveGP
from argbest.models.gp import GP

LIMIT = 2.0  # seconds of CPU between the signal and its effect


def small() -> Callable[[], object]:
    """Many runs at once, each of them quick."""
    tally = stack(*(observed(12, 12, seed) for seed in range(150)))
    return lambda: AdditiveGP().fit(tally, setting(12, 12, names=False))


def dense() -> Callable[[], object]:
    """One study as large as dense algebra goes."""
    tally = observed(36, 36, 1, skipped=0.1)
    return lambda: AdditiveGP().fit(tally, setting(36, 36, names=False))


def by_structure() -> Callable[[], object]:
    """A full table of thousands of pairs."""
    tally = observed(80, 70, 1)
    return lambda: AdditiveGP().fit(tally, setting(80, 70, names=False))


def each_alone() -> Callable[[], object]:
    """The paper's model: one search per alternative, each of many contexts."""
    tally = observed(120, 110, 1)
    return lambda: GP().fit(tally, setting(120, 110, names=True))


def warm_up() -> None:
    """Compile, or load what was compiled: that is not what is measured."""
    for model in (AdditiveGP(), GP()):
        model.fit(observed(3, 4, 1), setting(3, 4, names=True))


@pytest.mark.parametrize("make", [small, dense, by_structure, each_alone])
def test_a_long_fit_heeds_an_interruption(make: Callable[[], Callable[[], object]]) -> None:
    warm_up()
    fit, sent = make(), []

    def interrupt() -> None:
        sent.append(time.process_time())
        _thread.interrupt_main()

    timer = threading.Timer(0.3, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt, match="^$"):
            fit()
    finally:
        timer.cancel()
    assert time.process_time() - sent[0] < LIMIT


def test_portions_of_a_search_give_what_a_search_of_all_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    tally, where = observed(5, 6, 2), setting(5, 6, names=True)
    many = stack(*(observed(5, 6, seed) for seed in range(4)))
    whole: list[Array] = [GP().fit(tally, where).theta, AdditiveGP().fit(many, where).theta]
    monkeypatch.setattr("argbest.core.search.AT_ONCE", 500.0)
    parts: list[Array] = [GP().fit(tally, where).theta, AdditiveGP().fit(many, where).theta]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)
