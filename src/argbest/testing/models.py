"""The conformance suite for models."""

from dataclasses import is_dataclass
from typing import Any

import numpy as np

from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.decision import Decision
from argbest.core.setting import Coordinates, Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.models.base import Model, knows_new_contexts, params_type


def assert_valid_model(model: Model[Any], *, shape: tuple[int, int] = (3, 5)) -> None:
    """Check a model: a usable belief, R studies at once, exact conditioning, freedom of unit and origin.

    Predictions at the known contexts must agree with the belief there, and `fit` must say what it returns:
    studies that are stored rebuild their parameters from that.
    """
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
    try:
        params_type(model)
    except InputError as error:
        raise AssertionError(f"`fit` must be annotated: {error}") from error
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
    _check_predictions(model, tally, setting, params)
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


def _check_predictions(model: Model[Any], tally: Tally, setting: Setting, params: Any) -> None:
    belief = model.posterior(tally, setting, params)
    there = model.predict(tally, setting, params, setting.separation)
    expected = (tally.shape[-1], *tally.shape[:-1], 1)
    for name in ("mean", "var"):
        values = getattr(there, name)
        assert values.shape == expected, f"predict gave {name} of shape {values.shape}, expected {expected}"
        what = f"predict at the known contexts must give the belief's {name} there"
        _assert_close(np.moveaxis(values[..., 0], 0, -1), getattr(belief, name), what, 1e-6)
    if not knows_new_contexts(model):
        return
    new = model.predict(tally, setting, params, setting.separation[:, :2] + 0.01)
    for name, least in (("mean", -np.inf), ("var", 0.0), ("noise", 0.0)):
        values = getattr(new, name)
        sound = np.all(np.isfinite(values)) and np.all(values >= least)
        assert sound, (
            f"predict at new contexts gave {name} {values}; expected finite numbers, no variance < 0"
        )


def _assert_close(ours: Array, theirs: Array, message: str, tolerance: float = 1e-8) -> None:
    worst = float(np.max(np.abs(ours - theirs) / (np.abs(theirs) + np.std(theirs) + 1e-300)))
    assert worst <= tolerance, f"{message} (off by {worst:.2g})"
