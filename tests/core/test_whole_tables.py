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
