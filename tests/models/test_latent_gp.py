from typing import Any

import numpy as np
import oracles
import pytest

from argbest.core import joint
from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.decision import Decision
from argbest.core.scaling import standardisation_of_study, standardise
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.models.latent_gp import LatentGP
from argbest.testing import assert_valid_model

CONTEXTS = np.linspace(0.0, 1.0, 8)[:, None]
GROUP = np.array([0, 1, 0, 0, 1, 1])
CURVES = np.stack([np.sin(6 * CONTEXTS[:, 0]), 1.5 * np.cos(5 * CONTEXTS[:, 0])])
TRUTH = 4.0 + 2.0 * CURVES[GROUP]
K, C = TRUTH.shape


def setting(x: Array = CONTEXTS) -> Setting:
    c = len(x)
    return Setting(np.full(c, 1 / c), np.moveaxis((x[:, None] - x) ** 2, -1, 0).copy(), np.ones(c, bool))


def observe(seed: int, per_cell: int = 3, noise: float = 0.3, truth: Array = TRUTH) -> Tally:
    rng = np.random.default_rng(seed)
    k, c = np.indices(truth.shape).reshape(2, -1).repeat(per_cell, axis=1)
    return tallies.from_observations((k, c), truth[k, c] + noise * rng.standard_normal(len(k)), truth.shape)


def taken(tally: Tally, index: Any) -> Tally:
    return Tally(tally.count[index], tally.mean[index], tally.m2[index])


def stack(*single: Tally) -> Tally:
    return Tally(*(np.stack(v) for v in zip(*((t.count, t.mean, t.m2) for t in single), strict=True)))


def test_it_is_a_valid_model() -> None:
    assert_valid_model(LatentGP())
    assert_valid_model(LatentGP(dimensions=2, kernel="rbf"), shape=(4, 4))
    assert_valid_model(LatentGP(noise="pair"))


def test_a_planted_grouping_is_found() -> None:
    for seed in range(5):
        params = LatentGP().fit(observe(seed), setting())
        same = GROUP[:, None] == GROUP
        assert params.relation[same].min() > 0.95
        assert params.relation[~same].max() < 0.75
        place = params.embedding[:, 0]
        assert np.ptp(place[GROUP == 0]) + np.ptp(place[GROUP == 1]) < 0.2 * np.ptp(place)


def test_two_dimensions_hold_three_groups() -> None:
    group = np.array([0, 1, 2, 2, 0, 1])
    x = CONTEXTS[:, 0]
    truth = np.stack([np.sin(6 * x), np.cos(6 * x), -1.5 * np.sin(9 * x)])[group]
    params = LatentGP(dimensions=2).fit(observe(3, truth=truth, noise=0.1), setting())
    assert params.embedding.shape == (K, 2)
    same = group[:, None] == group
    assert params.relation[same].min() > params.relation[~same].max() + 0.2


def test_the_posterior_is_at_least_that_of_every_start() -> None:
    tally = observe(1)
    data = taken(standardise(tally, standardisation_of_study(tally)), None)
    model = LatentGP()
    prior = model._hyperprior(K, setting())
    starts = model._placed(prior.starts[None], data)
    product = joint.Product("rbf", np.zeros((1, K, K)), "matern52", setting().separation, 1)
    params = model.fit(tally, setting())
    reached, _, _ = joint.log_evidence(product, data, np.ones(data.shape), prior, params.theta)
    each, _, _ = joint.log_evidence(product, data, np.ones(data.shape), prior, np.moveaxis(starts, 1, 0))
    assert np.all(reached >= each)
    independent = joint.fit_map(product, data, np.ones(data.shape), prior, starts[:, -1:])
    assert reached >= independent.value - 1e-9
    # The last start, alternatives far apart, keeps them unrelated at first; sharing is worth many nats here.
    relation = model._relation(starts[0, -1, :K, None], np.exp(starts[0, -1, K : K + 1]), setting())
    assert np.max(relation - np.eye(K)) < 1e-3
    apart, _, _ = joint.log_evidence(product, data, np.ones(data.shape), prior, starts[0, -1])
    assert reached > apart + 10


def test_the_posterior_is_the_dense_one() -> None:
    tally = observe(2, per_cell=2)
    params = LatentGP().fit(tally, setting())
    relation = oracles.kernel("rbf", params.embedding, params.embedding, params.alternative_lengthscale, 1.0)
    np.testing.assert_allclose(params.relation, relation, rtol=1e-12)
    near = oracles.kernel("matern52", CONTEXTS, CONTEXTS, params.lengthscale, float(params.scale))
    prior = np.kron(relation, near)
    gain = prior @ np.linalg.inv(prior + np.diag(params.noise.ravel() / 2))
    constant = float(params.constant)
    belief = LatentGP().posterior(tally, setting(), params)
    np.testing.assert_allclose(
        belief.mean.ravel(), constant + gain @ (tally.mean.ravel() - constant), rtol=1e-8
    )
    np.testing.assert_allclose(belief.cov.reshape(K * C, -1), prior - gain @ prior, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dimensions", [1, 2])
def test_the_order_of_the_alternatives_does_not_matter(dimensions: int) -> None:
    order = np.array([3, 5, 0, 1, 4, 2])
    model = LatentGP(dimensions=dimensions)
    for seed in range(3):
        tally = observe(seed, noise=0.8)
        plain, mixed = (model.fit(t, setting()) for t in (tally, taken(tally, order)))
        np.testing.assert_allclose(mixed.relation, plain.relation[np.ix_(order, order)], atol=1e-4)
        here, there = (
            model.posterior(t, setting(), p) for t, p in ((tally, plain), (taken(tally, order), mixed))
        )
        np.testing.assert_allclose(there.mean, here.mean[order], atol=1e-4)


def test_many_studies_at_once_equal_single_ones() -> None:
    single = [observe(seed, per_cell=2) for seed in range(3)]
    model, many = LatentGP(), stack(*single)
    params = model.fit(many, setting())
    grown = [tallies.add(t, Decision(np.array(0), np.array(1)), np.array(4.3)) for t in single]
    later = model.fit(stack(*grown), setting(), params)
    for i, tally in enumerate(single):
        alone = model.fit(tally, setting())
        np.testing.assert_allclose(params.theta[i], alone.theta, atol=1e-10)
        warm = model.fit(grown[i], setting(), alone)
        np.testing.assert_allclose(later.theta[i], warm.theta, atol=1e-6)
        belief = model.posterior(taken(many, i), setting(), alone)
        np.testing.assert_allclose(model.posterior(many, setting(), params).mean[i], belief.mean, rtol=1e-8)


def test_a_warm_fit_goes_on_from_the_last_one() -> None:
    tally = observe(4)
    cold = LatentGP().fit(tally, setting())
    grown = tallies.add(tally, Decision(np.array(2), np.array(3)), np.array(5.0))
    warm = LatentGP().fit(grown, setting(), cold)
    assert warm.searched == cold.searched  # no full search yet
    assert np.max(np.abs(warm.relation - cold.relation)) < 0.1
    assert not LatentGP().fit(grown, setting(), warm).changed


def test_the_smallest_data_give_a_usable_belief() -> None:
    one = tallies.add(tallies.empty((K, C)), Decision(np.array(2), np.array(3)), np.array(5.0))
    for tally in (tallies.empty((K, C)), one):
        belief = LatentGP().posterior(tally, setting(), LatentGP().fit(tally, setting()))
        assert np.all(np.isfinite(belief.mean))
        assert np.all(belief.var > 0)


def test_options_and_sizes_are_checked() -> None:
    for wrong in (0, 1.5, True):
        with pytest.raises(InputError, match="dimensions must be a whole number ≥ 1, got"):
            LatentGP(dimensions=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="restarts must be a whole number ≥ 0, got -1"):
        LatentGP(restarts=-1)
    with pytest.raises(InputError, match="unknown kernel 'matern5'.*Did you mean 'matern52'"):
        LatentGP(kernel="matern5")
    with pytest.raises(InputError, match="latent-gp got 13 alternatives and 77 contexts, 1,001 pairs"):
        LatentGP().check((13, 77), setting())
    with pytest.raises(InputError, match="latent-gp got 2 studies at once.*201 pairs"):
        LatentGP().fit(tallies.empty((2, 3, 67)), setting())
