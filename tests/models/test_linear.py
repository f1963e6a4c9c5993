import numpy as np
import pytest

from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.belief import BlockBelief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.models.base import Model
from argbest.models.frequentist import Linear, LinearParams

MODEL = Linear()
LINE = np.linspace(0.2, 0.9, 5)[:, None]
PLANE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.9, 1.0], [0.5, 0.4], [0.3, 0.8]])


def setting(contexts: Array) -> Setting:
    n = len(contexts)
    return Setting(np.full(n, 1 / n), apart(contexts, contexts), np.ones(n, bool))


def apart(rows: Array, contexts: Array) -> Array:
    return np.moveaxis((rows[:, None] - contexts) ** 2, -1, 0)


def ragged(shape: tuple[int, ...], seed: int = 0) -> Tally:
    rng = np.random.default_rng(seed)
    count = rng.integers(2, 9, shape)
    return Tally(count, rng.normal(size=shape), rng.chisquare(count - 1))


def learned(tally: Tally, contexts: Array) -> tuple[LinearParams, BlockBelief]:
    model: Model[LinearParams] = MODEL
    model.check((tally.shape[-2], tally.shape[-1]), setting(contexts))
    params = MODEL.fit(tally, setting(contexts))
    return params, MODEL.posterior(tally, setting(contexts), params)


def test_two_ends_by_eye() -> None:
    """Means 0 and 2 at the ends, variance 1 each from 4 and 8 observations; the middle is their average."""
    x = np.array([[0.0], [0.5], [1.0]])
    tally = Tally(np.array([[4, 0, 8]]), np.array([[0.0, 0.0, 2.0]]), np.array([[3.0, 0.0, 7.0]]))
    params, belief = learned(tally, x)
    np.testing.assert_allclose(params.noise, [1.0])  # 10 squares, 12 − 2 degrees of freedom
    np.testing.assert_allclose(belief.mean, [[0.0, 1.0, 2.0]], atol=1e-15)
    np.testing.assert_allclose(belief.var, [[1 / 4, 1 / 16 + 1 / 32, 1 / 8]])
    np.testing.assert_allclose(belief.cov[0, 0], [1 / 4, 1 / 8, 0.0], atol=1e-15)
    np.testing.assert_allclose(belief.noise, np.ones((1, 3)))


@pytest.mark.parametrize("contexts", [LINE, PLANE])
def test_mean_covariance_and_noise_are_those_of_the_formulas(contexts: Array) -> None:
    tally = ragged((2, 3, len(contexts)))
    params, belief = learned(tally, contexts)
    z = np.column_stack([np.ones(len(contexts)), contexts])
    hat = z @ np.linalg.inv(z.T @ z) @ z.T
    for i in np.ndindex(2, 3):
        fitted = hat @ tally.mean[i]
        squares = tally.m2[i].sum() + tally.count[i] @ (tally.mean[i] - fitted) ** 2
        v = squares / (tally.count[i].sum() - z.shape[1])
        assert params.noise[i] == pytest.approx(v)
        np.testing.assert_allclose(belief.mean[i], fitted)
        np.testing.assert_allclose(belief.cov[i], hat @ np.diag(v / tally.count[i]) @ hat.T, atol=1e-12)


def test_alternatives_observed_at_different_contexts_have_their_own_lines() -> None:
    tally = ragged((2, 5))
    tally.count[0, [0, 2]] = tally.count[1, [1, 2, 4]] = 0
    _, belief = learned(tally, LINE)
    for k in range(2):
        seen = tally.count[k] > 0
        slope, start = np.polyfit(LINE[seen, 0], tally.mean[k, seen], 1)
        np.testing.assert_allclose(belief.mean[k], start + slope * LINE[:, 0])


@pytest.mark.parametrize("contexts", [LINE[[0, 4]], PLANE[:3]])
def test_with_as_many_contexts_as_coefficients_an_update_is_exact(contexts: Array) -> None:
    tally = ragged((4, 3, len(contexts)))
    params, belief = learned(tally, contexts)
    where, value = Decision(np.array([0, 1, 2, 0]), np.array([1, 0, 1, 0])), np.array([3.0, -1.0, 0.0, 9.0])
    after = MODEL.posterior(tallies.add(tally, where, value), setting(contexts), params)
    updated = belief.update(where, value)
    np.testing.assert_allclose(updated.mean, after.mean, atol=1e-12)
    np.testing.assert_allclose(updated.cov, after.cov, atol=1e-12)


def test_studies_at_once_learn_what_they_learn_alone() -> None:
    tally = ragged((3, 2, 4, 6))
    _, belief = learned(tally, PLANE)
    for i in np.ndindex(3, 2):
        _, alone = learned(Tally(tally.count[i], tally.mean[i], tally.m2[i]), PLANE)
        np.testing.assert_allclose(belief.mean[i], alone.mean, rtol=1e-10)
        np.testing.assert_allclose(belief.cov[i], alone.cov, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(("unit", "origin"), [(1e-6, 0.0), (1e6, 3.0), (1.0, 1e6)])
def test_unit_and_origin_move_the_belief_with_them(unit: float, origin: float) -> None:
    tally = ragged((3, 5))
    _, belief = learned(tally, LINE)
    _, moved = learned(Tally(tally.count, unit * tally.mean + origin, unit**2 * tally.m2), LINE)
    np.testing.assert_allclose(moved.mean, unit * belief.mean + origin, rtol=1e-9)
    np.testing.assert_allclose(moved.cov, unit**2 * belief.cov, rtol=1e-8, atol=1e-14 * unit**2)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_prediction_at_known_contexts_is_the_posterior_and_beyond_them_goes_on(lead: tuple[int, ...]) -> None:
    tally = ragged((*lead, 3, 6))
    params, belief = learned(tally, PLANE)
    new = np.concatenate([PLANE, [[2.0, 0.0], [-1.0, 3.0]]])
    found = MODEL.predict(tally, setting(PLANE), params, apart(new, PLANE))
    assert found.mean.shape == found.noise.shape == (8, *lead, 3, 1)
    assert found.cov.shape == (8, *lead, 3, 1, 1)
    for values, known in ((found.mean, belief.mean), (found.var, belief.var), (found.noise, belief.noise)):
        np.testing.assert_allclose(np.moveaxis(values[:6, ..., 0], 0, -1), known, rtol=1e-10)
    beta = np.linalg.solve(
        np.column_stack([np.ones(3), PLANE[:3]]), np.moveaxis(belief.mean, -1, 0)[:3].reshape(3, -1)
    )
    for i, x in ((6, [1.0, 2.0, 0.0]), (7, [1.0, -1.0, 3.0])):
        np.testing.assert_allclose(found.mean[i, ..., 0].ravel(), np.array(x) @ beta, rtol=1e-9)


def test_variances_stay_positive_where_observations_agree() -> None:
    count, mean = np.full((3, 2), 3), np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]])
    m2 = np.array([[1.0, 2.0], [0.0, 0.0], [2.0, 4.0]])
    params, _ = learned(Tally(count, mean, m2), LINE[[0, 4]])
    np.testing.assert_allclose(params.noise, [3 / 4, 0.01 * 9 / 12, 6 / 4])
    params, _ = learned(Tally(count, mean, np.zeros((3, 2))), LINE[[0, 4]])
    np.testing.assert_allclose(params.noise, np.full(3, 4e-24))
    params, _ = learned(Tally(count, np.full((3, 2), 5.0), np.zeros((3, 2))), LINE[[0, 4]])
    np.testing.assert_allclose(params.noise, np.ones(3))
    count[0] = 1  # no degree of freedom left: the pooled variance of the others
    params, _ = learned(Tally(count, mean, m2 * (count > 1)), LINE[[0, 4]])
    assert params.noise[0] == pytest.approx(6 / 8)


def test_too_few_observations_are_refused() -> None:
    tally = ragged((2, 5))
    with pytest.raises(InputError, match="no more replications than coefficients"):
        learned(Tally(np.ones((2, 2), int), tally.mean[:, :2], np.zeros((2, 2))), LINE[[0, 4]])
    tally.count[1, 1:] = 0
    with pytest.raises(InputError, match=r"position \[1\] was observed at contexts \[0\] only"):
        learned(tally, LINE)


def test_a_single_context_leaves_a_constant() -> None:
    tally = ragged((3, 1))
    params, belief = learned(tally, LINE[:1])
    np.testing.assert_allclose(belief.mean, tally.mean)
    np.testing.assert_allclose(params.noise, (tally.m2 / (tally.count - 1))[:, 0])
