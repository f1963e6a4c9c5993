"""The additive GP on large tables: fits and beliefs by structure, side by side, and their memory."""

import tracemalloc
from dataclasses import fields

import numpy as np
import pytest
from additive_cases import squares
from grids import mostly_slow
from models.test_rounding import BOWLS, PRECISIONS, WAVES, rounded_otherwise
from models.test_rounding import setting as smooth_setting

from argbest.core import additive, additive_conditioning, search
from argbest.core.additive_conditioning import by_features
from argbest.core.arrays import Array, IntArray
from argbest.core.belief import best
from argbest.core.conditioning import dense
from argbest.core.decision import Decision
from argbest.core.foundations import ByFormula, ByStructure, SideBySide
from argbest.core.landmarks import MOST_FEATURES
from argbest.core.priors import with_known_noise
from argbest.core.search import CONVERGED
from argbest.core.seen_cells import Data
from argbest.core.setting import Coordinates, Setting
from argbest.core.tally import Scaling, Tally, standardise
from argbest.models.additive_gp import PARTS, AdditiveGP, AdditiveGPParams

MODEL = AdditiveGP()


def setting(k: int, c: int, *, names: bool) -> Setting:
    x, z = np.linspace(0, 1, c)[:, None], np.linspace(0, 1, k)[:, None]
    located = None if names else Coordinates(z, np.zeros(1, bool))
    return Setting(np.full(c, 1 / c), squares(x), np.ones(c, bool), alternatives=located)


def observed(k: int, c: int, seed: int, *, skipped: float = 0.0, noise: float = 0.5) -> Tally:
    """Two or three replications of most cells of a table with all four parts in it."""
    rng = np.random.default_rng(seed)
    x, z = np.linspace(0, 1, c), np.linspace(0, 1, k)[:, None]
    truth = 2 * np.cos(3 * x) + np.sin(4 * z + 3 * x) + 0.3 * rng.normal(size=(k, 1))
    truth = truth + 0.2 * np.sin(5 * x + 6 * rng.random((k, 1)))
    count: IntArray = np.where(rng.random((k, c)) < skipped, 0, rng.integers(2, 4, (k, c)))
    mean = truth + noise * rng.normal(size=(k, c)) / np.sqrt(np.maximum(count, 1))
    m2 = noise**2 * rng.chisquare(1, (k, c)) * np.maximum(count - 1, 0)
    return Tally(count, np.where(count > 0, mean, 0.0), np.where(count > 0, m2, 0.0))


def stack(*single: Tally) -> Tally:
    return Tally(*(np.stack(v) for v in zip(*((t.count, t.mean, t.m2) for t in single), strict=True)))


def rows(k: int) -> IntArray:
    return np.arange(0, k, 3)


@pytest.mark.parametrize("names", [True, False])
def test_a_fit_by_structure_ends_where_the_dense_one_does(
    monkeypatch: pytest.MonkeyPatch, names: bool
) -> None:
    where, tally = setting(24, 14, names=names), observed(24, 14, 1, skipped=0.2)
    found = []
    for by_structure in (True, False):
        monkeypatch.setattr(additive, "structured", lambda *_, by=by_structure, **__: by)
        monkeypatch.setattr(additive, "structure_helps_search", lambda *_, **__: False)
        found.append(MODEL.fit(tally, where))
    ours, theirs = found
    assert ours.status == theirs.status == CONVERGED
    prior = with_known_noise(MODEL._hyperprior(tally.shape, where))
    data = standardise(tally, Scaling(ours.shift[..., None], ours.spread[..., None]))
    inputs = additive.Inputs("matern52", where.alternatives, where.separation)
    values = [additive.log_evidence(inputs, data, p.noise / p.spread**2, prior, p.theta)[0] for p in found]
    assert abs(float(values[0] - values[1])) < (1e-6 if names else 0.05)
    own = Data(tally, ours.noise, ours.shift), Data(tally, theirs.noise, theirs.shift)
    beliefs = [
        dense(MODEL._prior(where, p, where.separation), data) for p, data in zip(found, own, strict=True)
    ]
    np.testing.assert_allclose(
        beliefs[0].mean,
        beliefs[1].mean,
        atol=(1e-4 if names else 0.02) * float(np.sqrt(beliefs[1].var.max())),
    )


def test_a_search_that_structure_begins_ends_at_the_dense_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    where, tally = setting(24, 14, names=False), observed(24, 14, 2)
    quick = MODEL.fit(tally, where)
    monkeypatch.setattr(additive, "structure_helps_search", lambda *_, **__: False)
    plain = MODEL.fit(tally, where)
    assert quick.status == plain.status == CONVERGED
    np.testing.assert_allclose(quick.theta, plain.theta, atol=0.01)


def curved(k: int, c: int, seed: int) -> tuple[Setting, Tally]:
    """Alternatives of three coordinates in contexts of two, with hardly anything of their own."""
    rng = np.random.default_rng(seed)
    z, x = rng.random((k, 3)), rng.random((c, 2))
    truth = np.sin(3 * z[:, :1] + 2 * x[:, 0]) + np.cos(6 * z[:, 1:2] + x[:, 1]) + z[:, 2:] * x[:, 0]
    mean, m2 = truth + 0.3 * rng.normal(size=(k, c)), 0.18 * rng.chisquare(1, (k, c))
    located = Coordinates(z, np.zeros(3, bool))
    where = Setting(np.full(c, 1 / c), squares(x), np.ones(c, bool), alternatives=located)
    return where, Tally(np.full((k, c), 2), mean, m2)


@pytest.mark.parametrize(("dimensions", "shape", "most", "means", "sds"), [
    (2, (24, 20), 64, 0.2, 0.05), pytest.param(2, (40, 30), 64, 0.2, 0.03, marks=pytest.mark.slow),
    pytest.param(2, (40, 30), MOST_FEATURES, 0.01, 0.001, marks=pytest.mark.slow),
    pytest.param(5, (40, 30), 512, 0.5, 0.1, marks=pytest.mark.slow),
    pytest.param(5, (40, 30), MOST_FEATURES, 0.1, 0.01, marks=pytest.mark.slow),
])  # fmt: skip
def test_with_few_features_predictions_stay_close(
    dimensions: int, shape: tuple[int, int], most: int, means: float, sds: float
) -> None:
    """Means within a share of the posterior standard deviation, which is right to a share of itself."""
    flat = setting(*shape, names=False), observed(*shape, 3)
    where, tally = flat if dimensions == 2 else curved(*shape, 0)
    params = MODEL.fit(tally, where)
    prior = MODEL._prior(where, params, where.separation)
    data = Data(tally, params.noise, params.shift)
    ours, exact = by_features(prior, data, most), dense(prior, data)
    sd = np.sqrt(exact.var)
    assert np.abs((ours.mean - exact.mean) / sd).max() < means
    assert np.abs(np.sqrt(ours.var) / sd - 1.0).max() < sds
    chosen = best(exact)
    tau = np.sqrt(exact.difference_var(chosen))
    apart = np.abs(np.sqrt(ours.difference_var(chosen)) - tau)
    assert np.all(apart <= 3 * sds * np.maximum(tau, sd.min()))
    assert isinstance(ours.foundation, ByStructure)
    assert 0.0 < ours.foundation.left_out_share < sds


@pytest.mark.parametrize("names", mostly_slow([True, False], fast=[True]))
def test_studies_side_by_side_are_believed_as_each_alone(
    monkeypatch: pytest.MonkeyPatch, names: bool
) -> None:
    """Two by structure and a dense one, of which half the cells were never observed."""
    where = setting(12, 10, names=names)
    single = [observed(12, 10, 4), observed(12, 10, 5, skipped=0.5), observed(12, 10, 6, skipped=0.1)]
    for module in (additive, additive_conditioning):
        monkeypatch.setattr(module, "structured", lambda count, **_: int((count > 0).sum()) > 80)
    for module in (additive, search):
        monkeypatch.setattr(module, "SMALL", 80)
    tally = stack(*single)
    learned = MODEL.fit(tally, where)
    together = MODEL.posterior(tally, where, learned)
    assert isinstance(together.foundation, SideBySide)
    points = where.separation[:, :3]
    there = MODEL.predict(tally, where, learned, points)
    decision, value = Decision(np.array([0, 1, 2]), np.array([3, 4, 5])), np.array([9.0, 10.0, 11.0])
    after = together.update(decision, value)
    kinds = set()
    for run, alone in enumerate(single):
        # Rounding may differ in other places of memory: searches end within their tolerance of each other.
        np.testing.assert_allclose(MODEL.fit(alone, where).theta, learned.theta[run], rtol=1e-4, atol=1e-5)
        params = AdditiveGPParams(**{each.name: getattr(learned, each.name)[run] for each in fields(learned)})
        belief = MODEL.posterior(alone, where, params)
        kinds.add(type(belief.foundation))
        own = Decision(decision.alternative[run], decision.context[run])
        grown = belief.update(own, value[run])
        predicted = MODEL.predict(alone, where, params, points)
        for ours, theirs in ((together, belief), (after, grown)):
            np.testing.assert_allclose(ours.mean[run], theirs.mean, rtol=1e-10)
            np.testing.assert_allclose(ours.var[run], theirs.var, rtol=1e-10)
            np.testing.assert_allclose(
                ours.cov_with(decision)[run], theirs.cov_with(own), rtol=1e-8, atol=1e-12
            )
            np.testing.assert_allclose(
                ours.difference_var(best(ours))[run],
                theirs.difference_var(best(theirs)),
                rtol=1e-9,
                atol=1e-12,
            )
        np.testing.assert_allclose(there.mean[:, run], predicted.mean, rtol=1e-10)
        np.testing.assert_allclose(there.var[:, run], predicted.var, rtol=1e-10)
        chance = belief.best_probability()
        np.testing.assert_allclose(together.best_probability()[run], chance, atol=1e-9)
        first = predicted.best_probability()
        np.testing.assert_allclose(there.best_probability()[:, run], first, atol=1e-9)
    assert kinds == {ByFormula, ByStructure}


ROUNDED = [(count, sd, truth) for count, sd in PRECISIONS for truth in ("waves", "bowls")]
QUICK = [(1, 1e-8, "waves"), (10**5, 1e-6, "bowls"), (10**8, None, "waves")]


SOME_PARTS = (PARTS, ("joint",), ("trend", "offset", "own"))
QUICK_PARTS = list(zip(QUICK, SOME_PARTS, strict=True))  # each precision, and each choice of parts, once


@pytest.mark.parametrize(
    ("count", "noise_sd", "truth", "parts"),
    [
        pytest.param(*each, parts, marks=[] if (each, parts) in QUICK_PARTS else [pytest.mark.slow])
        for each in ROUNDED
        for parts in SOME_PARTS
    ],
)
def test_by_structure_too_every_search_converges_however_the_data_are_rounded(
    monkeypatch: pytest.MonkeyPatch, parts: tuple[str, ...], count: int, noise_sd: float | None, truth: str
) -> None:
    for module in (additive, additive_conditioning):
        monkeypatch.setattr(module, "structured", lambda *_, **__: True)
    for module in (additive, search):
        monkeypatch.setattr(module, "SMALL", 0)
    model = AdditiveGP(parts=parts, kernel="rbf", noise_sd=noise_sd)
    shape = {"waves": WAVES, "bowls": BOWLS}[truth]
    tally = rounded_otherwise(shape, count, 3)
    params = model.fit(tally, smooth_setting())
    belief = model.posterior(tally, smooth_setting(), params)
    np.testing.assert_array_equal(params.status, CONVERGED)
    np.testing.assert_allclose(belief.mean, tally.mean, atol=0.02 * np.ptp(shape))
    assert np.all(np.isfinite(belief.var))


@pytest.mark.parametrize(("kernel", "precision"), [
    ("rbf", 1e-8), ("matern52", 1e-3),
    pytest.param("rbf", 1e-3, marks=pytest.mark.slow), pytest.param("matern52", 1e-8, marks=pytest.mark.slow),
])  # fmt: skip
def test_precise_data_on_smooth_tables_need_no_jitter(kernel: str, precision: float) -> None:
    """Beyond 1,500 cells, every one known almost exactly."""
    k, c = 50, 34
    x, z = np.linspace(0, 1, c), np.linspace(0, 1, k)[:, None]
    tally = Tally(np.full((k, c), 10), np.sin(3 * x + z), np.zeros((k, c)))
    model, where = AdditiveGP(kernel=kernel, noise_sd=precision), setting(k, c, names=False)
    params = model.fit(tally, where)
    belief = model.posterior(tally, where, params)
    assert isinstance(belief.foundation, ByStructure)
    np.testing.assert_allclose(belief.mean, tally.mean, atol=0.02)
    assert np.all(np.isfinite(belief.var))


@pytest.mark.parametrize(("k", "c"), [(45, 40), pytest.param(70, 60, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_full_table_of_thousands_of_pairs_is_fitted_in_little_memory(k: int, c: int) -> None:
    tally, where = observed(k, c, 7), setting(k, c, names=False)
    tracemalloc.start()
    try:
        params = MODEL.fit(tally, where)
        belief = MODEL.posterior(tally, where, params)
        belief.difference_var(best(belief))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(belief.foundation, ByStructure)
    assert params.status == CONVERGED
    assert peak < 8 * (k * c) ** 2  # what a number for every pair of cells would take
    noise: Array = np.sqrt(belief.noise)
    assert 0.4 < float(np.median(noise)) < 0.6
