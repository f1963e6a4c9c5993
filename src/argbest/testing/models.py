"""The conformance suite for models."""

import copy
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from argbest.checks import is_whole
from argbest.core import tally as tallies
from argbest.core.abilities import LearnsFromOthers, LendsNoise, RefitsByGrowth, offers
from argbest.core.arrays import Array
from argbest.core.belief import Absorbs, Anticipates, Belief, HasBlocks, RelatesSums, Shifts
from argbest.core.decision import Decision, at
from argbest.core.findings import Findings
from argbest.core.setting import Coordinates, Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.models.base import (
    Explains,
    Integrates,
    KnowsNewContexts,
    Model,
    SortsStudies,
    TellsTroubles,
    WeighsCommonNoise,
    WeighsReplications,
    knows_new_contexts,
    params_type,
)


def assert_valid_model(model: Model[Any], *, shape: tuple[int, int] = (3, 5)) -> None:
    """Check a model: a usable belief, R studies at once, exact conditioning, any unit and zero of rewards.

    Predictions at the known contexts must agree with the belief there, and `fit` must say what it returns:
    studies that are stored rebuild their parameters from that. What model and belief offer besides
    (`argbest.models.base.ABILITIES`, `argbest.core.belief.ABILITIES`) must be what it says.

    Args:
        model: The model to check.
        shape: The size of the table, (alternatives, contexts).
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
    _check_own_arrays(belief, tally)
    for run in range(3):
        single = tally[run]
        alone = model.posterior(single, setting, model.fit(single, setting))
        _assert_close(belief.mean[run], alone.mean, "a study among others must learn what it learns alone")
    _check_predictions(model, tally, setting, params)
    _check_abilities(model, tally, setting, params)
    for run in (None, 0):  # of several studies, and of one
        few, own = (tally, params) if run is None else (tally[run], model.fit(tally[run], setting))
        _check_belief(model.posterior(few, setting, own), np.random.default_rng(2))
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


def _check_own_arrays(belief: Belief, tally: Tally) -> None:
    """Check that a belief stays what it is when values are added to the tally of a live study."""
    for name, values in (("mean", belief.mean), ("var", belief.var), ("noise", belief.noise)):
        for table, told in (("count", tally.count), ("mean", tally.mean), ("m2", tally.m2)):
            assert not np.shares_memory(values, told), (
                f"belief.{name} is the tally's {table} itself, which a study changes when values come in; "
                "return a copy"
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


def _check_abilities(model: Model[Any], tally: Tally, setting: Setting, params: Any) -> None:
    """Check what the model offers beyond its four methods."""
    one = tally[0]
    own = model.fit(one, setting)
    for ability, name in _FLAGS.items():
        if offers(model, ability):
            said = getattr(model, name)
            assert isinstance(said, bool), f"{name} is {said!r}; expected True or False"
    if offers(model, RefitsByGrowth):
        growth = model.refit_growth
        assert growth > 0, f"refit_growth is {growth!r}; expected a share above 0, as 0.1"
    if offers(model, LearnsFromOthers):
        number = model.n_parameters(tally.shape[-2:], setting)  # type: ignore[arg-type]
        counted = is_whole(number) and number >= 0
        assert counted, f"n_parameters returned {number!r}; expected 0, 1, 2, ..."
    if offers(model, Explains):
        found = model.findings(setting, own)
        assert isinstance(found, Findings), f"findings returned {found!r}; expected argbest's Findings"
    if offers(model, TellsTroubles):
        said = model.troubles(setting, own)
        sentences = not isinstance(said, str) and all(isinstance(each, str) for each in said)
        assert sentences, f"troubles returned {said!r}; expected a list of sentences"
    if offers(model, SortsStudies):
        kinds = model.kinds(tally, setting, params)
        assert kinds.shape == tally.shape[:-2], f"kinds has shape {kinds.shape}; expected a number per study"
        assert kinds.dtype.kind == "i", f"kinds are {kinds.dtype}; expected whole numbers"
    if offers(model, Integrates):
        points = model.plausible(one, setting, own, np.random.default_rng(3))
        for name, array in vars(points.params).items():
            assert array is None or len(array) == points.n, (
                f"plausible says n={points.n}, but its {name} has shape {np.shape(array)}; expected every "
                "array to have the points on its first axis"
            )
        again = one[None][np.zeros(points.n, int)]
        mean = model.posterior(again, setting, points.params).mean
        assert np.all(np.isfinite(mean)), "plausible parameters give means that are not finite"


_FLAGS: dict[type, str] = {
    LendsNoise: "lends_noise",
    WeighsCommonNoise: "weighs_common_noise",
    KnowsNewContexts: "knows_new_contexts",
    WeighsReplications: "weighs_replications",
}


def _check_belief(belief: Belief, rng: np.random.Generator) -> None:
    """Check what the belief offers beyond its protocol: quicker ways must lead to the same numbers."""
    mean, var = belief.mean, belief.var
    *lead, k, c = mean.shape
    cells = Decision(rng.integers(0, k, lead), rng.integers(0, c, lead))
    if offers(belief, Anticipates):
        expected = belief.update(cells, at(belief.mean, cells), 2)
        _assert_close(belief.anticipated(cells, 2).var, expected.var, "anticipated must equal update")
        pending = rng.integers(0, 2, belief.mean.shape)
        slowly: Belief = belief
        for i, j in np.ndindex(k, c):
            here = Decision(np.full(lead, i), np.full(lead, j))
            slowly = slowly.update(here, at(slowly.mean, here), pending[..., i, j])
        _assert_close(belief.expecting(pending).var, slowly.var, "expecting must equal update, cell by cell")
    if offers(belief, RelatesSums):
        first, second = rng.integers(0, k, (2, *lead, 4))
        there = rng.integers(0, c, (*lead, 4))
        weight = np.ones((*lead, 4, 2)) * [1.0, -2.0]
        found = belief.cov_of_sums(np.stack([first, second], -1), there, weight)
        rows = belief.cov_rows(first, there) - 2.0 * belief.cov_rows(second, there)
        _assert_close(found, rows, "cov_of_sums must be the sum of cov_rows")
    if offers(belief, Shifts):
        means = mean + 1.0
        _assert_close(belief.with_mean(means).mean, means, "with_mean must take the means")
        _assert_close(belief.with_mean(means).var, var, "with_mean must leave variances alone")
    if offers(belief, HasBlocks) and belief.own_cov is not None:
        every = np.arange(mean.size // c)
        _assert_close(belief.blocks(every), belief.own_cov.reshape(-1, c, c), "blocks must be own_cov's")
    if offers(belief, Absorbs):
        value = rng.normal(size=lead)
        written = copy.deepcopy(belief).absorb(cells, value)
        _assert_close(written.mean, belief.update(cells, value).mean, "absorb must equal update")


def _assert_close(ours: Array, theirs: Array, message: str, tolerance: float = 1e-8) -> None:
    worst = float(np.max(np.abs(ours - theirs) / (np.abs(theirs) + np.std(theirs) + 1e-300)))
    assert worst <= tolerance, f"{message} (off by {worst:.2g})"
