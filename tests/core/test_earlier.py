"""Earlier runs as cells of a source coordinate, against a Gaussian process written out cell by cell."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import oracles
import pytest
from additive_cases import Case, Scales, kriged, log_density, params, random_theta, squares

from argbest.core import additive, structured_evidence
from argbest.core.additive_conditioning import by_features, by_features_at
from argbest.core.arrays import Array, IntArray
from argbest.core.decision import Decision
from argbest.core.earlier import Earlier, widened
from argbest.core.priors import FLAT, Hyperprior
from argbest.core.seen_cells import Data
from argbest.core.setting import Coordinates, Setting
from argbest.core.tally import Tally, from_observations
from argbest.models.additive_gp import AdditiveGP

MODEL = AdditiveGP()


class Sourced(NamedTuple):
    """A study with C contexts and runs of two earlier sources: ``whole`` has all of them as contexts."""

    whole: Case  # its last two coordinates are 1 for runs of the first source, and of the second
    n_contexts: int

    @property
    def setting(self) -> Setting:
        c, whole = self.n_contexts, self.whole.setting
        return replace(whole, weights=np.full(c, 1 / c), separation=whole.separation[:-2, :c, :c])

    @property
    def earlier(self) -> Earlier:
        c, tally = self.n_contexts, self.whole.tally
        tables = tally.count[:, c:], tally.mean[:, c:], tally.m2[:, c:]
        source = np.argmax(self.whole.x[c:, -2:], axis=1)
        return Earlier(*tables, source, 2, squares(self.whole.x[:, :-2]))

    @property
    def tally(self) -> Tally:
        c, tally = self.n_contexts, self.whole.tally
        tables = tally.count[:, :c], tally.mean[:, :c], tally.m2[:, :c]
        return Tally(*tables, earlier=self.earlier)

    @property
    def inputs(self) -> additive.Inputs:
        return additive.Inputs("matern52", self.whole.setting.alternatives, self.whole.setting.separation, 2)

    @property
    def prior(self) -> Hyperprior:
        return MODEL._hyperprior(self.whole.shape, replace(self.whole.setting, n_sources=2))

    def covariance(self, scales: Scales, points: Array | None = None) -> Array:
        """By the definition: an alternative's level is another in every source, as far as they are apart."""
        x, points = self.whole.x, self.whole.x if points is None else points
        level = oracles.kernel("matern52", points[:, -2:], x[:, -2:], scales.lengths[-2:], 1.0)
        related = np.eye(self.whole.shape[0])
        if self.whole.z is not None:
            related = self.whole._related("matern52", scales.alternative_lengths)
        added: Array = self.whole.covariance("matern52", scales, points)
        return added + scales.offset * np.kron(related, level - 1.0)

    def kriged(self, theta: Array, points: Array) -> tuple[Array, Array]:
        """Mean [alternative, point] and covariance of the rewards at points of the source asked about."""
        scales, tally = Scales.of(theta, self.whole.x.shape[1]), self.whole.tally
        seen = np.flatnonzero(tally.count.ravel())
        noise = (scales.noise * self.whole.noise / np.maximum(tally.count, 1)).ravel()[seen]
        noisy = self.covariance(scales)[np.ix_(seen, seen)] + np.diag(noise)
        there = Sourced(self.whole._replace(x=points), len(points))
        cross = self.covariance(scales, points)[:, seen]
        mean, cov = kriged(noisy, tally.mean.ravel()[seen], cross, there.covariance(scales))
        return mean.reshape(-1, len(points)), cov


def sourced(seed: int, *, names: bool) -> Sourced:
    rng = np.random.default_rng(seed)
    k, c, old = int(rng.integers(3, 6)), int(rng.integers(2, 5)), int(rng.integers(3, 6))
    context = np.append(rng.random((c, 1)), rng.random((old, 1)), axis=0)
    context[c] = context[0]  # an old run of a context of the study
    source = np.zeros((c + old, 2))
    source[c + np.arange(old), np.arange(old) % 2] = 1.0
    z = np.column_stack([rng.random(k), rng.integers(0, 3, k).astype(float)])
    shape = k, c + old
    where = np.append(np.repeat(np.arange(k * shape[1]), rng.integers(0, 4, k * shape[1])), [0, c, 1])
    whole = Case(
        None if names else z, np.append(context, source, axis=1), shape, where, rng.normal(size=len(where)),
        np.exp(rng.normal(0, 0.5, shape)),
    )  # fmt: skip
    return Sourced(whole, c)


def inside(one: Sourced, seed: int) -> Array:
    """A point of the parameter space away from its ends, where slopes are those of one side."""
    rules = one.prior.rules
    theta = random_theta(np.random.default_rng(seed), one.prior)
    return np.clip(
        theta,
        rules[:, 3] + 0.01 * (rules[:, 4] > rules[:, 3]),
        rules[:, 4] - 0.01 * (rules[:, 4] > rules[:, 3]),
    )


def flat(prior: Hyperprior) -> Hyperprior:
    return Hyperprior(np.where(np.arange(5) == 0, FLAT, prior.rules), prior.starts)


CASES = [(seed, names) for seed in range(4) for names in (False, True)]


@pytest.mark.parametrize(("seed", "names"), CASES)
def test_the_evidence_is_that_of_all_runs_with_a_coordinate_for_every_source(seed: int, names: bool) -> None:
    one = sourced(seed, names=names)
    theta = random_theta(np.random.default_rng(seed), one.prior)
    scales, where = Scales.of(theta, one.whole.x.shape[1]), one.whole.where
    noisy = one.covariance(scales)[np.ix_(where, where)]
    expected, _ = log_density(noisy + np.diag(scales.noise * one.whole.noise.ravel()[where]), one.whole.y)
    given = one.inputs, one.whole.tally, one.whole.noise, flat(one.prior)
    assert float(additive.log_evidence(*given, theta)[0]) == pytest.approx(expected, rel=1e-9)
    data = structured_evidence.prepare(*one.inputs[1:3], one.whole.tally, one.whole.noise, 2)
    data = structured_evidence.with_landmarks("matern52", data, theta, None)
    found = structured_evidence.log_value(theta, "matern52", data, flat(one.prior).rules)
    assert found == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(("seed", "names"), CASES)
def test_the_gradients_are_those_of_differences(seed: int, names: bool) -> None:
    one = sourced(seed, names=names)
    theta = inside(one, seed)
    jumps, n = 1e-5 * np.eye(len(theta)), len(theta)
    steps = np.concatenate([theta[None], theta + jumps, theta - jumps])
    given = one.inputs, one.whole.tally, one.whole.noise, one.prior
    values, gradients, _ = additive.log_evidence(*given, steps)
    numeric = (values[1 : n + 1] - values[n + 1 :]) / 2e-5
    np.testing.assert_allclose(gradients[0], numeric, rtol=2e-6, atol=2e-5)
    data = structured_evidence.prepare(*one.inputs[1:3], one.whole.tally, one.whole.noise, 2)
    data, own = structured_evidence.with_landmarks("matern52", data, theta, 6), np.empty(n)
    rules = one.prior.rules
    structured_evidence.log_posterior(theta, "matern52", data, rules, own)
    values = np.array([structured_evidence.log_value(step, "matern52", data, rules) for step in steps])
    np.testing.assert_allclose(own, (values[1 : n + 1] - values[n + 1 :]) / 2e-5, rtol=3e-5, atol=1e-4)


@pytest.mark.parametrize(("seed", "names"), CASES)
def test_the_belief_about_the_study_takes_in_the_runs_of_other_sources(seed: int, names: bool) -> None:
    one = sourced(seed, names=names)
    theta = random_theta(np.random.default_rng(seed), one.prior)
    mean, cov = one.kriged(theta, one.whole.x[: one.n_contexts])
    known = params(one.whole, theta)
    ours = MODEL.posterior(one.tally, one.setting, known)
    wide, setting = widened(one.tally, one.setting)
    prior = MODEL._prior(setting, known, setting.separation)
    data = Data(wide, known.noise, known.shift, wanted=one.n_contexts)
    cells = np.divmod(np.arange(mean.size), mean.shape[1])
    for belief in (ours, by_features(prior, data, None)):
        assert belief.noise.shape == mean.shape
        np.testing.assert_allclose(belief.mean, mean, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(belief.var.ravel(), np.diag(cov), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(belief.cov_rows(*cells).reshape(cov.shape), cov, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(belief.among(*cells), cov, rtol=1e-6, atol=1e-7)
        leader = np.argmax(mean, axis=0)
        apart = np.diag(cov).reshape(mean.shape)
        best = leader * mean.shape[1] + np.arange(mean.shape[1])
        across = cov[best].reshape(mean.shape[1], *mean.shape)[
            np.arange(mean.shape[1]), :, np.arange(mean.shape[1])
        ]
        expected = apart + apart[leader, np.arange(mean.shape[1])] - 2 * across.T
        np.testing.assert_allclose(belief.difference_var(leader), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("seed", "names"), CASES)
def test_new_contexts_are_told_of_by_all_sources(seed: int, names: bool) -> None:
    one = sourced(seed, names=names)
    theta = random_theta(np.random.default_rng(seed), one.prior)
    points = np.append(np.random.default_rng(seed).random((3, 1)), np.zeros((3, 2)), axis=1)
    mean, cov = one.kriged(theta, points)
    known = params(one.whole, theta)
    separation = np.moveaxis((points[:, None, :1] - one.whole.x[:, :1]) ** 2, -1, 0)
    wide, setting = widened(one.tally, one.setting)
    across = np.swapaxes(one.earlier.from_points(separation), -1, -2)
    prior, cross = (MODEL._prior(setting, known, each) for each in (setting.separation, across))
    data = Data(wide, known.noise, known.shift, wanted=one.n_contexts)
    for belief in (
        MODEL.predict(one.tally, one.setting, known, separation),
        by_features_at(prior, cross, data, None),
    ):
        np.testing.assert_allclose(belief.mean[..., 0].T, mean, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(belief.var[..., 0].T.ravel(), np.diag(cov), rtol=1e-6, atol=1e-7)
    own = known.noise[:, : one.n_contexts].mean(axis=1)
    np.testing.assert_allclose(belief.noise[0, :, 0], own)


@pytest.mark.parametrize("names", [False, True])
def test_large_tables_are_drawn_with_the_covariances_of_the_belief(
    names: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draws of whole tables come from the prior of all cells, those of earlier runs included."""
    from argbest.core import additive_belief

    one = sourced(3, names=names)
    known = params(one.whole, random_theta(np.random.default_rng(3), one.prior))
    belief = MODEL.posterior(one.tally, one.setting, known)
    belief = belief.update(Decision(np.array(1), np.array(0)), np.array(0.3), 2)
    cells = np.divmod(np.arange(belief.mean.size), belief.mean.shape[1])
    expected, n = belief.among(*cells), 40_000
    monkeypatch.setattr(additive_belief, "DRAWN_JOINTLY", 0)
    again = replace(belief, before=None)
    draws = again.draw_tables(n, lambda: np.random.default_rng(0)).reshape(n, -1) - belief.mean.ravel()
    spread = np.sqrt(np.diag(expected))
    # Five standard errors of 40,000 draws: less than one false alarm in 10,000 tables of 100 entries.
    np.testing.assert_allclose(draws.T @ draws / n / np.outer(spread, spread),
                               expected / np.outer(spread, spread), atol=5 * np.sqrt(2 / n))  # fmt: skip


def test_a_level_that_is_far_off_is_taken_out_and_a_near_one_is_left_to_the_model() -> None:
    rng = np.random.default_rng(5)
    place: tuple[IntArray, IntArray] = np.divmod(np.arange(12).repeat(3), 4)
    shape, truth = (3, 4), rng.normal(size=(3, 4))
    now = from_observations(place, truth[place] + 0.1 * rng.normal(size=36), shape)
    separation = squares(np.tile(np.linspace(0, 1, 4), 2)[:, None])
    for shift, rest in ((0.5, 0.5), (100.0, 0.0)):
        old = from_observations(place, truth[place] + shift + 0.1 * rng.normal(size=36), shape)
        earlier = Earlier(old.count, old.mean, old.m2, np.zeros(4, np.int64), 1, separation)
        setting = Setting(np.full(4, 0.25), separation[:, :4, :4], np.ones(4, bool))
        wide, _ = widened(replace(now, earlier=earlier), setting)
        assert np.mean(wide.mean[:, 4:] - now.mean) == pytest.approx(rest, abs=0.1)
        np.testing.assert_array_equal(wide.mean[:, :4], now.mean)


def test_rates_stay_rates_beside_earlier_runs() -> None:
    one = Coordinates(np.zeros((2, 1)), np.zeros(1, bool))
    setting = Setting(np.ones(1), np.zeros((1, 1, 1)), np.ones(1, bool), alternatives=one)
    old = Tally(np.array([[50], [50]]), np.zeros((2, 1)), np.zeros((2, 1)))
    earlier = Earlier(old.count, old.mean, old.m2, np.zeros(1, np.int64), 1, np.zeros((1, 2, 2)))
    wide, _ = widened(
        Tally(np.array([[9], [9]]), np.ones((2, 1)), np.zeros((2, 1)), earlier=earlier), setting
    )
    np.testing.assert_array_equal(wide.mean, [[1.0, 0.0], [1.0, 0.0]])
