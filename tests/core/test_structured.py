"""Algebra by structure against literal algebra over all cells: evidence, gradient, belief."""

import numpy as np
import pytest
from additive_cases import Case, Scales, case, log_density, log_prior, params, posterior, random_theta
from oracles import DenseBelief

from argbest.core import structured_evidence
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_conditioning import by_features, by_features_at
from argbest.core.arrays import Array, IntArray
from argbest.core.belief import best
from argbest.core.decision import Decision
from argbest.core.landmarks import Landmarks, landmarks_of
from argbest.core.priors import Hyperprior
from argbest.core.seen_cells import Data
from argbest.core.structured import features
from argbest.models.additive_gp import PARTS, AdditiveGP

MODEL = AdditiveGP()
KINDS = ("names", "numbers", "categories", "mixed")


def study(kind: str, seed: int, most: tuple[int, int] = (8, 11)) -> Case:
    """A study some of whose cells, and one of whose alternatives, were never observed."""
    rng = np.random.default_rng(seed)
    one = case(rng, names=kind == "names", most=most)
    if one.z is not None and kind != "mixed":
        still = 1 if kind == "numbers" else 0
        one = one._replace(z=np.where(np.arange(2) == still, 0.0, one.z))
    kept = one.where // one.shape[1] != 1
    return one._replace(where=one.where[kept], y=one.y[kept])


def evidence(
    one: Case, prior: Hyperprior, theta: Array, most: int | None, marks: Landmarks | None = None
) -> tuple[float, float, Array, Landmarks]:
    data = structured_evidence.prepare(one.setting.alternatives, one.setting.separation, one.tally, one.noise)
    data = structured_evidence.with_landmarks("matern52", data, theta, most)
    data = data if marks is None else data._replace(marks=marks)
    gradient = np.empty(len(theta))
    value, constant, doubt = structured_evidence.log_posterior(theta, "matern52", data, prior.rules, gradient)
    assert 0 <= doubt < 1e-6
    alone = structured_evidence.log_value(theta, "matern52", data, prior.rules)
    assert alone == pytest.approx(value, rel=1e-12, abs=1e-12)
    return value, constant, gradient, data.marks


def exact(one: Case, theta: Array) -> Array:
    scales = Scales.of(theta, one.x.shape[1])
    noise = np.diag(scales.noise * one.noise.ravel()[one.where])
    return one.covariance("matern52", scales)[np.ix_(one.where, one.where)] + noise


def by_definition(one: Case, theta: Array, marks: Landmarks) -> Array:
    """The covariance of the raw observations: exact within an alternative, by landmarks between two."""
    scales, (k, c) = Scales.of(theta, one.x.shape[1]), one.shape
    seen = one.tally.count > 0
    rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))

    def low_rank(whole: Array, at: IntArray) -> Array:
        corner = whole[np.ix_(at, at)] + 1e-12 * np.eye(len(at))
        return np.asarray(whole[:, at] @ np.linalg.solve(corner, whole[at]))

    none = scales._replace(trend=0.0, offset=0.0, joint=0.0, own=0.0)
    trend = one.covariance("matern52", none._replace(trend=1.0))[:c, :c]
    near = one.covariance("matern52", none._replace(own=1.0))[:c, :c]
    related = one.covariance("matern52", none._replace(offset=1.0))[::c, ::c]
    shared = low_rank(related, rows[marks.alternatives])
    total: Array = scales.trend * np.tile(low_rank(trend, columns[marks.trend]), (k, k))
    total = total + scales.offset * np.kron(shared, np.ones((c, c)))
    total = total + scales.joint * np.kron(shared, low_rank(near, columns[marks.contexts]))
    alike = np.kron(np.eye(k), np.ones((c, c))) > 0
    whole = np.where(alike, one.covariance("matern52", scales), total)[np.ix_(one.where, one.where)]
    return whole + np.diag(scales.noise * one.noise.ravel()[one.where])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parts", [PARTS, ("trend", "own"), ("offset", "joint"), ("own",)])
def test_without_a_limit_to_features_the_evidence_is_that_of_the_raw_observations(
    kind: str, parts: tuple[str, ...]
) -> None:
    for seed in range(4):
        one = study(kind, seed)
        prior = one.prior(parts=parts)
        theta = random_theta(np.random.default_rng(seed), prior)
        value, constant, _, _ = evidence(one, prior, theta, None)
        expected, mean = log_density(exact(one, theta), one.y)
        assert value == pytest.approx(expected + log_prior(prior.rules, theta), rel=1e-8, abs=1e-7)
        assert constant == pytest.approx(mean, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("kind", ["numbers", "mixed"])
def test_with_few_features_the_evidence_is_that_of_the_covariance_they_define(kind: str) -> None:
    for seed in range(6):
        one = study(kind, seed)
        prior = one.prior()
        theta = random_theta(np.random.default_rng(seed), prior)
        value, constant, _, marks = evidence(one, prior, theta, 6)
        assert 0 < len(marks.alternatives) * len(marks.contexts) <= 6
        expected, mean = log_density(by_definition(one, theta, marks), one.y)
        assert value == pytest.approx(expected + log_prior(prior.rules, theta), rel=1e-8, abs=1e-7)
        assert constant == pytest.approx(mean, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("most", [None, 6])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.fast_cases("mixed-6", "names-None", "numbers-6")
def test_the_gradient_is_that_of_differences_with_landmarks_held_fixed(kind: str, most: int | None) -> None:
    for seed in range(3):
        one = study(kind, 10 + seed)
        prior = one.prior()
        theta = random_theta(np.random.default_rng(seed), prior)
        _, _, gradient, marks = evidence(one, prior, theta, most)
        for i in range(len(theta)):
            jump = np.where(np.arange(len(theta)) == i, 1e-5, 0.0)
            up, down = (evidence(one, prior, theta + step, most, marks)[0] for step in (jump, -jump))
            assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=3e-6, abs=3e-5)


@pytest.mark.parametrize("most", [None, 12, 3])
def test_features_and_blocks_add_up_to_the_exact_covariance_within_an_alternative(most: int | None) -> None:
    """So the prior variance of every cell is right, however few the features."""
    for kind in KINDS:
        one = study(kind, 20)
        known = params(one, random_theta(np.random.default_rng(20), one.prior()))
        prior = MODEL._prior(one.setting, known, one.setting.separation)
        found = features(prior, landmarks_of(prior, one.shape[0], most), one.shape[0])
        g = found.n_trend
        trend, related = found.by_context[:, :g], found.by_context[:, g:]
        scales = Scales.of(known.theta, one.x.shape[1])
        whole = one.covariance("matern52", scales)
        c = one.shape[1]
        for k in range(one.shape[0]):
            share = float(np.sum(found.relation.features[k] ** 2))
            carried = trend @ trend.T + share * (related @ related.T)
            rest = found.own - found.shared[k] * found.carried
            block = whole[k * c : (k + 1) * c, k * c : (k + 1) * c]
            np.testing.assert_allclose(carried + rest, block, rtol=1e-12, atol=1e-13)
            assert np.linalg.eigvalsh(rest).min() > -1e-11


def beliefs(kind: str, seed: int, most: int | None = None) -> tuple[AdditiveBelief, DenseBelief, Case, Array]:
    one = study(kind, seed)
    theta = random_theta(np.random.default_rng(seed), one.prior())
    known = params(one, theta)
    prior = MODEL._prior(one.setting, known, one.setting.separation)
    ours = by_features(prior, Data(one.tally, known.noise, known.shift), most)
    mean, cov = posterior(one, theta, one.tally)
    return ours, DenseBelief(mean.reshape(one.shape), cov, known.noise), one, theta


def whole(belief: AdditiveBelief) -> Array:
    k, c = np.indices(belief.mean.shape).reshape(2, -1)
    return belief.cov_rows(k, c).reshape(belief.mean.size, -1)


def assert_same(ours: AdditiveBelief, theirs: DenseBelief) -> None:
    size = np.abs(theirs.cov).max()
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.var, theirs.var, rtol=1e-8, atol=1e-8 * size)
    np.testing.assert_allclose(whole(ours), theirs.cov, rtol=1e-8, atol=1e-8 * size)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_limit_to_features_the_belief_is_that_of_the_observations(kind: str) -> None:
    for seed in range(5):
        ours, theirs, _, _ = beliefs(kind, seed)
        assert_same(ours, theirs)
        chosen = best(ours)
        found = ours.difference_var(chosen)
        np.testing.assert_allclose(found, theirs.difference_var(chosen), rtol=1e-7, atol=1e-9)
        assert np.all(found[chosen, np.arange(len(chosen))] == 0)


@pytest.mark.parametrize("kind", KINDS)
def test_later_observations_are_conditioned_on_exactly(kind: str) -> None:
    rng = np.random.default_rng(30)
    ours, theirs, one, _ = beliefs(kind, 30)
    for i in range(40):  # beyond the room made ahead
        where = Decision(np.array(rng.integers(one.shape[0])), np.array(rng.integers(one.shape[1])))
        value, n = np.array(rng.normal()), 1 + i % 3
        ours, theirs = ours.update(where, value, n), theirs.update(where, value, n)
    assert_same(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_new_contexts_are_believed_as_by_literal_algebra(kind: str) -> None:
    for seed in range(3):
        one = study(kind, 40 + seed)
        theta = random_theta(np.random.default_rng(seed), one.prior())
        known = params(one, theta)
        points = np.random.default_rng(seed).random((4, one.x.shape[1]))
        points[0] = one.x[0]
        apart = np.moveaxis((one.x[:, None] - points) ** 2, -1, 0)
        prior, cross = (MODEL._prior(one.setting, known, s) for s in (one.setting.separation, apart))
        found = by_features_at(prior, cross, Data(one.tally, known.noise, known.shift), None)
        mean, cov = posterior(one, theta, one.tally, points)
        k, n = one.shape[0], len(points)
        np.testing.assert_allclose(found.mean[..., 0], mean.reshape(k, n).T, rtol=1e-8, atol=1e-8)
        every = np.arange(k)
        for i in range(n):
            here = found.study((i,)).among(every, np.zeros(k, int))
            np.testing.assert_allclose(here, cov[i::n, i::n], rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(found.var[i, :, 0], np.diag(cov)[i::n], rtol=1e-8, atol=1e-8)


def test_a_trend_that_dwarfs_all_differences_costs_them_no_digits() -> None:
    one = study("names", 3)
    theta = random_theta(np.random.default_rng(3), one.prior())
    found = []
    for size in (1e5, 1e8):
        theta[-6] = np.log(size)
        known = params(one, theta)
        prior = MODEL._prior(one.setting, known, one.setting.separation)
        belief = by_features(prior, Data(one.tally, known.noise, known.shift))
        found.append(belief.difference_var(np.zeros(one.shape[1], np.int64)))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3)
