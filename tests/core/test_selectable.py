"""Pairs that are ruled out leave no trace: everything is as if they were not there."""

from dataclasses import fields

import numpy as np
import pytest

from argbest.core import additive_conditioning, priors
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array, BoolArray
from argbest.core.belief import Belief, BlockBelief, CellBelief, best
from argbest.core.certificate import Certificate
from argbest.core.seen_cells import Data
from argbest.core.setting import among_the_rest
from argbest.core.tally import Tally

K, C = 4, 3
WEIGHTS = np.array([0.5, 0.3, 0.2])
MEASURES = ("pcs", "pcs_e", "pcs_m", "p_all", "eoc", "expected_loss", "lower_bound")


def covariance(rng: np.random.Generator, n: int, lead: tuple[int, ...]) -> Array:
    root = rng.normal(size=(*lead, n, n))
    cov: Array = root @ np.swapaxes(root, -1, -2)
    return cov


def beliefs(lead: tuple[int, ...] = ()) -> dict[str, Belief]:
    rng = np.random.default_rng(3)
    mean, noise = rng.normal(size=(*lead, K, C)), np.ones((*lead, K, C))
    return {
        "cell": CellBelief(mean, rng.random((*lead, K, C)) + 0.1, noise),
        "block": BlockBelief(mean, covariance(rng, C, (*lead, K)), noise),
        "additive": additive(rng, lead),
    }


def additive(rng: np.random.Generator, lead: tuple[int, ...]) -> AdditiveBelief:
    """Alternatives that covary through a trend."""
    x, one = np.linspace(0.0, 1.0, C), np.ones(lead)
    near = priors.covariance("matern52", ((x[:, None] - x) ** 2)[None], one[..., None], one)
    prior = AdditivePrior("matern52", None, one[..., None], 2.0 * near, near, 0.5 * one, 0.0 * one, one)
    shape = (*lead, K, C)
    tally = Tally(rng.integers(0, 3, shape), rng.normal(size=shape), np.zeros(shape))
    return additive_conditioning.condition(prior, Data(tally, np.ones(shape), 0.0 * one))


def without(belief: Belief, k: int) -> Belief:
    """The belief of a problem that never had this alternative."""
    mean, noise = (np.delete(each, k, -2) for each in (belief.mean, belief.noise))
    if isinstance(belief, CellBelief):
        return CellBelief(mean, np.delete(belief.var, k, -2), noise)
    assert isinstance(belief, BlockBelief)
    return BlockBelief(mean, np.delete(belief.cov, k, -3), noise)


@pytest.mark.parametrize("kind", ["cell", "block"])
@pytest.mark.parametrize("k", range(K))
def test_a_certificate_is_that_of_the_problem_without_the_alternative(kind: str, k: int) -> None:
    belief, normals = beliefs()[kind], np.random.default_rng(5).normal(size=(500, K, C))
    out = np.arange(K)[:, None] == np.full((K, C), k)
    ours = Certificate(among_the_rest(belief, out), WEIGHTS, normals)
    theirs = Certificate(without(belief, k), WEIGHTS, np.delete(normals, k, 1))
    for name in MEASURES:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=0, atol=1e-10)
    chance = np.insert(theirs.best_probability, k, 0.0, axis=0)
    np.testing.assert_allclose(ours.best_probability, chance, rtol=0, atol=1e-10)
    kept = np.delete(np.arange(K), k)
    assert ours.selected.tolist() == kept[theirs.selected].tolist()


@pytest.mark.parametrize("kind", ["cell", "block", "additive"])
def test_each_context_is_answered_among_what_is_left_there(kind: str) -> None:
    belief = beliefs()[kind]
    out = np.zeros((K, C), bool)
    out[[0, 2], 0], out[[0, 1, 3], 1] = True, True
    lowered = among_the_rest(belief, out)
    chance = lowered.best_probability()
    np.testing.assert_allclose(chance.sum(axis=0), 1.0, atol=1e-9)
    assert (chance[out] == 0).all()
    assert chance[2, 1] == pytest.approx(1.0, abs=1e-12)
    assert not out[best(lowered), np.arange(C)].any()
    np.testing.assert_array_equal(lowered.mean[~out], belief.mean[~out])
    np.testing.assert_array_equal(chance[:, 2], belief.best_probability()[:, 2])
    alone = lowered.expected_loss(best(lowered))[1], lowered.good_probability(best(lowered))[1]
    assert alone == (pytest.approx(0.0, abs=1e-300), pytest.approx(1.0, abs=1e-12))


@pytest.mark.parametrize("kind", ["cell", "block", "additive"])
def test_nothing_changes_where_nothing_is_ruled_out(kind: str) -> None:
    belief = beliefs()[kind]
    assert among_the_rest(belief, None) is belief
    assert among_the_rest(belief, np.zeros((K, C), bool)) is belief


def single(belief: Belief, i: int) -> Belief:
    if isinstance(belief, AdditiveBelief):
        return belief.study((i,))
    arrays = {each.name: getattr(belief, each.name)[i] for each in fields(belief)}  # type: ignore[arg-type]
    return type(belief)(**arrays)


@pytest.mark.parametrize("kind", ["cell", "block", "additive"])
def test_studies_side_by_side_are_answered_as_each_alone(kind: str) -> None:
    belief, out = beliefs((2,))[kind], np.random.default_rng(1).random((2, K, C)) < 0.4
    together = among_the_rest(belief, out)
    for i in range(2):
        alone = among_the_rest(single(belief, i), out[i])
        np.testing.assert_array_equal(together.mean[i], alone.mean)
        np.testing.assert_allclose(together.best_probability()[i], alone.best_probability(), atol=1e-12)


def scaled(belief: CellBelief, unit: float, origin: float) -> CellBelief:
    return CellBelief(unit * belief.mean + origin, unit**2 * belief.var, unit**2 * belief.noise)


@pytest.mark.parametrize(
    ("unit", "origin"), [(1e140, 0.0), (1e-140, 0.0), (1.0, 1e8), (0.0, 0.0), (0.0, 7.0)]
)
def test_the_unit_and_the_origin_do_not_matter(unit: float, origin: float) -> None:
    belief = beliefs()["cell"]
    assert isinstance(belief, CellBelief)
    out: BoolArray = np.zeros((K, C), bool)
    out[0] = True
    lowered = among_the_rest(scaled(belief, unit, origin), out)
    assert np.isfinite(lowered.mean).all()
    assert (lowered.mean[0] < lowered.mean[1:].min(axis=0)).all()
    assert (lowered.best_probability()[0] == 0).all()


def test_contexts_without_an_answer_leave_averages_and_minima() -> None:
    belief, normals = beliefs()["block"], np.random.default_rng(5).normal(size=(500, K, C))
    answered = np.array([True, False, True])
    ours = Certificate(belief, WEIGHTS, normals, 0.1, answered)
    whole = Certificate(belief, WEIGHTS, normals, 0.1)
    assert ours.selected.tolist() == [whole.selected[0], -1, whole.selected[2]]
    assert ours.n_unanswered == 1
    for name in ("pcs", "lower_bound", "expected_loss"):
        expected = np.where(answered, getattr(whole, name), np.nan)
        np.testing.assert_array_equal(getattr(ours, name), expected)
    assert np.isnan(ours.best_probability[:, 1]).all()
    share = np.array([0.5, 0.2]) / 0.7
    assert float(ours.pcs_e) == pytest.approx(float(whole.pcs[[0, 2]] @ share))
    assert float(ours.eoc) == pytest.approx(float(whole.expected_loss[[0, 2]] @ share))
    assert float(ours.pcs_m) == whole.pcs[[0, 2]].min()
    right = (whole.drawn_losses[:, [0, 2]] <= 0.1).all(axis=1)
    assert float(ours.p_all) == right.mean() > float(whole.p_all)
    assert str(ours).endswith("; 1 of 3 contexts has no answer: every alternative failed there")
    assert "no answer" not in str(whole)


def test_if_only_contexts_of_weight_zero_have_an_answer_they_count_alike() -> None:
    belief, normals = beliefs()["cell"], np.zeros((1, K, C))
    ours = Certificate(belief, np.array([1.0, 0.0, 0.0]), normals, answered=np.array([False, True, True]))
    assert ours.counted.tolist() == [0.0, 0.5, 0.5]
    assert float(ours.pcs_e) == pytest.approx(float(np.nanmean(ours.pcs)))
