"""The conformance suite for models."""

from dataclasses import is_dataclass
from typing import Any

import numpy as np

from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.coordinates import Coordinates
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.models.base import Model


def assert_valid_model(model: Model[Any], *, shape: tuple[int, int] = (3, 5)) -> None:
    """Check a model: a usable belief, R studies at once, exact conditioning, freedom of unit and origin."""
    rng = np.random.default_rng(1)
    full = (3, *shape)
    tally = Tally(rng.integers(2, 9, full), rng.normal(0, 2, full), rng.random(full) + 0.5)
    x = np.linspace(0, 1, shape[1])
    weights = np.full(shape[1], 1 / shape[1])
    place = np.linspace(0.0, 1.0, shape[0])
    between = (place[:, None] - place)[None] ** 2
    located = Coordinates(place[:, None], np.zeros(1, bool))
    setting = Setting(
        weights, (x[:, None] - x)[None] ** 2, np.ones(shape[1], bool), between, alternatives=located
    )
    model.check(shape, setting)
    params = model.fit(tally, setting)
    belief = model.posterior(tally, setting, params)
    assert is_dataclass(belief), "a belief must be a dataclass with the field mean, for pairs to be ruled out"
    for name in ("mean", "var", "noise"):
        values = getattr(belief, name)
        assert values.shape == full, f"belief.{name} has shape {values.shape}, expected {full}"
        assert np.all(np.isfinite(values)), f"belief.{name} holds numbers that are not finite"
    assert np.all(belief.var >= 0), "belief.var holds negative variances"
    for run in range(3):
        single = tally[run]
        alone = model.posterior(single, setting, model.fit(single, setting))
        _assert_close(belief.mean[run], alone.mean, "a study among others must learn what it learns alone")
    where, value = Decision(np.zeros(3, np.int64), np.ones(3, np.int64)), rng.normal(size=3)
    after = model.posterior(tallies.add(tally, where, value), setting, params)
    updated = belief.update(where, value)
    _assert_close(updated.mean, after.mean, "update must equal the posterior under the same parameters")
    _assert_close(updated.var, after.var, "update must equal the posterior under the same parameters")
    moved = Tally(tally.count, 1e3 * tally.mean + 7.0, 1e6 * tally.m2)
    other = model.posterior(moved, setting, model.fit(moved, setting))
    _assert_close(
        other.mean, 1e3 * belief.mean + 7.0, "another unit and origin must give the same belief", 1e-3
    )


def _assert_close(ours: Array, theirs: Array, message: str, tolerance: float = 1e-8) -> None:
    worst = float(np.max(np.abs(ours - theirs) / (np.abs(theirs) + np.std(theirs) + 1e-300)))
    assert worst <= tolerance, f"{message} (off by {worst:.2g})"
