"""Draws of whole tables: linear in their random numbers, so that their covariance is known exactly."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from additive_cases import case, params, random_theta

import argbest
from argbest.core import additive_belief, additive_conditioning
from argbest.core import tally as tallies
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.arrays import Array
from argbest.core.decision import Decision
from argbest.models.additive_gp import AdditiveGP
from argbest.models.base import Model
from argbest.problems.axis import Axis
from argbest.problems.design import SpaceFilling
from argbest.problems.noisy_table import table_problem

MODEL: Model[Any] = AdditiveGP()


class OneAtATime:
    """Stands for random numbers of which the i-th draw has one, the i-th of all that are asked for, at 1.

    Draws that are linear in the numbers then have the covariance Σ_i d_i d_iᵀ, without any error of chance.
    """

    def __init__(self, n: int) -> None:
        self.n, self.used = n, 0

    def standard_normal(self, shape: tuple[int, ...] | int) -> Array:
        shape = (shape,) if isinstance(shape, int) else shape
        axis = shape.index(self.n)
        others = int(np.prod(shape)) // self.n
        found = np.zeros((others, self.n))
        found[np.arange(others), self.used + np.arange(others)] = 1.0
        self.used += others
        return np.moveaxis(found.reshape(*(s for i, s in enumerate(shape) if i != axis), self.n), -1, axis)


def covariance_of_draws(belief: AdditiveBelief, n: int = 997) -> Array:
    numbers = OneAtATime(n)
    draws = belief.draw_tables(n, lambda: numbers)  # type: ignore[arg-type,return-value]
    assert numbers.used < n  # all numbers had a draw of their own
    away = (draws - belief.mean).reshape(n, -1)
    return np.asarray(away.T @ away)


def covariance(belief: AdditiveBelief) -> Array:
    k, c = np.indices(belief.mean.shape).reshape(2, -1)
    return belief.cov_rows(k, c).reshape(belief.mean.size, -1)


def made(seed: int, *, names: bool = False, common: bool = False) -> AdditiveBelief:
    rng = np.random.default_rng(seed)
    one = case(rng, names=names)
    known = params(one, random_theta(rng, one.prior()))
    belief = MODEL.posterior(one.tally, one.setting, known)
    assert isinstance(belief, AdditiveBelief)
    return belief


def assert_drawn(belief: AdditiveBelief) -> None:
    expected = covariance(belief)
    # A billionth of the variances is added to those that are drawn from.
    atol = 1e-6 * np.abs(expected).max() + 1e-7 * float(belief.foundation.prior.variance)  # type: ignore[attr-defined]
    np.testing.assert_allclose(covariance_of_draws(belief), expected, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("whole", [1000, 0])
def test_draws_of_whole_tables_have_the_covariances_of_the_belief(
    names: bool, whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(additive_belief, "DRAWN_JOINTLY", whole)
    for seed in range(6):
        belief, rng = made(seed, names=names), np.random.default_rng(seed)
        assert_drawn(belief)
        for _ in range(3):
            where = Decision(*(np.array(int(rng.integers(n))) for n in belief.mean.shape))
            belief = belief.update(where, np.array(rng.normal()), int(rng.integers(1, 4)))
        assert_drawn(belief)


def test_draws_of_structured_tables_have_the_covariances_of_the_belief(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(additive_belief, "DRAWN_JOINTLY", 0)
    rng = np.random.default_rng(4)
    one = case(rng)
    known = params(one, random_theta(rng, one.prior()))
    plain = MODEL.posterior(one.tally, one.setting, known)
    assert isinstance(plain, AdditiveBelief)
    assert plain.past is not None
    belief = additive_conditioning.by_features(plain.past.prior, plain.past.data)
    assert_drawn(belief)
    assert_drawn(belief.update(Decision(np.array(1), np.array(0)), np.array(0.3)))


def test_draws_know_the_noise_that_alternatives_share(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = argbest.registry.problem("newsvendor")
    study = argbest.Study(problem, seed=2).run(60)
    belief = study.view().knowledge.belief
    assert isinstance(belief, AdditiveBelief)
    assert belief.shocks is not None
    monkeypatch.setattr(additive_belief, "DRAWN_JOINTLY", 0)
    assert_drawn(replace(belief, before=None))
    number = belief.shocks.following[1, 2]
    later = belief.update_common(Decision(np.array(1), np.array(2)), number, np.array(3.0))
    assert_drawn(replace(later, before=None))


def test_studies_side_by_side_draw_as_each_would_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additive_belief, "DRAWN_JOINTLY", 0)
    rng = np.random.default_rng(5)
    one = case(rng)
    known = params(one, random_theta(rng, one.prior()))
    alone = MODEL.posterior(one.tally, one.setting, known)
    assert isinstance(alone, AdditiveBelief)
    assert alone.past is not None
    prior, data = alone.past.prior, alone.past.data
    both = additive_conditioning.condition(
        _twice(prior), data._replace(tally=_twice(data.tally), noise=_two(data.noise), shift=_two(data.shift))
    )
    decision = Decision(np.array([1, 0]), np.array([0, 1]))
    both = both.update(decision, np.array([0.1, 0.2]))
    found = both.draw_tables(5, lambda: np.random.default_rng(6))
    for i in range(2):
        own = alone.update(Decision(decision.alternative[i], decision.context[i]), np.array([0.1, 0.2][i]))
        expected = own.draw_tables(5, lambda: np.random.default_rng(6))
        np.testing.assert_allclose(found[:, i], expected, rtol=1e-8, atol=1e-8)


def _two(array: Any) -> Array:
    return np.stack([np.asarray(array)] * 2)


def _twice(thing: Any) -> Any:
    """Return a prior or a tally of two studies that are the same."""
    if isinstance(thing, tallies.Tally):
        return tallies.Tally(np.stack([thing.count] * 2), _two(thing.mean), _two(thing.m2))
    names = ["alternative_lengthscale", "trend", "nearness", "offset", "joint", "own"]
    assert {each.name for each in fields(thing)} >= set(names)
    return replace(thing, **{name: _two(getattr(thing, name)) for name in names})


def test_where_it_is_not_known_what_is_observed_draws_follow_contenders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Trials under way are taken in all at once: their table is drawn as `draw` does."""
    monkeypatch.setattr(additive_belief, "DRAWN_JOINTLY", 3)
    belief = made(1)
    pending = np.zeros(belief.mean.shape, np.int64)
    pending[0, 0] = 2
    later = belief.expecting(pending)
    assert later.later is None
    draws = later.draw_tables(4, lambda: np.random.default_rng(3))
    normals = np.random.default_rng(3).standard_normal((4, *belief.mean.shape))
    np.testing.assert_allclose(draws, later.draw(normals))


def large_study() -> argbest.Study:
    """A study of 1,200 pairs, of which most were never simulated, asked for one alternative for all."""
    rng, level, x = np.random.default_rng(1), np.linspace(0.0, 1.0, 60), np.linspace(0.0, 1.0, 20)
    problem = table_problem(
        Axis.of("alternative", [{"level": each} for each in level]),
        Axis.of("context", [{"x": each} for each in x]),
        truth=np.sin(3 * level)[:, None] * np.cos(2 * x) + 0.05 * rng.normal(size=(60, 1)),
        noise_sd=np.full((60, 20), 0.5),
        weights=1.0 + np.arange(20) / 10,
        question="overall",
    )
    return argbest.Study(problem, seed=1, initial=SpaceFilling(150), common_random_numbers=False).run(330)


def dense_posterior(belief: AdditiveBelief, tally: tallies.Tally) -> tuple[Array, Array]:
    """Mean and covariance of all cells by universal kriging, from the prior's parts and observed means."""
    assert belief.past is not None
    prior, data = belief.past.prior, belief.past.data
    assert prior.alternatives is not None
    n, m = belief.mean.shape
    apart = np.sqrt(5.0) * np.abs(np.subtract.outer(*[prior.alternatives.points[:, 0]] * 2))
    apart = apart / prior.alternative_lengthscale[0]
    related = (1 + apart + apart**2 / 3) * np.exp(-apart)
    shared = prior.offset * np.ones((m, m)) + prior.joint * prior.nearness
    total = np.kron(np.ones((n, n)), prior.trend) + np.kron(related, shared)
    total += np.kron(np.eye(n), prior.own * prior.nearness)
    seen = np.flatnonzero(tally.count.ravel())
    noise = (data.noise / np.maximum(tally.count, 1)).ravel()[seen]
    observed = total[np.ix_(seen, seen)] + np.diag(noise)
    gain, ones = np.linalg.solve(observed, total[seen]).T, np.ones(len(seen))
    information = float(ones @ np.linalg.solve(observed, ones))  # of the constant, of which nothing is known
    constant = float(ones @ np.linalg.solve(observed, tally.mean.ravel()[seen])) / information
    left = 1.0 - gain @ ones
    mean = constant + gain @ (tally.mean.ravel()[seen] - constant)
    return mean, total - gain @ total[seen] + np.outer(left, left) / information


def test_one_alternative_for_all_contexts_of_a_large_table_is_certified_as_dense_algebra_would() -> None:
    """1,200 pairs are beyond what is drawn jointly by a root; sums across contexts still have their law.

    P(right) by 3,495 draws against 200,000 of the exact law: 4.5 standard errors, false-alarm rate 1e-5.
    """
    study = large_study()
    view, weights = study.view(), study.problem.weights
    belief = view.knowledge.belief
    assert isinstance(belief, AdditiveBelief)
    assert belief.mean.size > additive_belief.DRAWN_JOINTLY
    mean, cov = dense_posterior(belief, view.tally)
    np.testing.assert_allclose(belief.mean.ravel(), mean, atol=1e-6 * np.ptp(mean))
    sums = np.kron(np.eye(60), weights)  # [alternative, cell]
    value, spread = sums @ mean, sums @ cov @ sums.T
    best = int(np.argmax(value))
    bound = study.problem.asked
    z, var = bound.contrasts(belief, bound.choice(belief)).standardised()
    expected = spread[best, best] + np.diag(spread) - 2 * spread[best]
    np.testing.assert_allclose(var[:, 0], expected, rtol=1e-5, atol=1e-8 * expected.max())
    others = np.arange(60) != best
    ahead = (value[best] - value)[others] / np.sqrt(expected[others])
    np.testing.assert_allclose(z[others, 0], ahead, rtol=1e-4)
    certificate = view.inference.certificate_of(bound, 0.0)
    plain = replace(certificate, mixture=None, tables=None)  # given the hyper-parameters
    assert plain.choice == best
    tables = np.random.default_rng(2).multivariate_normal(value, spread, size=200_000, method="eigh")
    lost = tables.max(axis=1) - tables[:, best]
    n = len(plain.drawn_values)
    assert n > 3_000
    right = np.mean(lost <= 0)
    assert plain.pcs[0] == pytest.approx(right, abs=4.5 * np.sqrt(right * (1 - right) / n + 1 / n**2))
    assert plain.eoc == pytest.approx(lost.mean(), abs=4.5 * lost.std() / np.sqrt(n))
    drawn = np.cov(plain.drawn_values.T)
    assert np.abs(np.diag(drawn) / np.diag(spread) - 1).max() < 4.5 * np.sqrt(2 / n)
