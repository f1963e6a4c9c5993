"""The additive belief against literal algebra over all cells and raw observations."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from additive_cases import Scales, case, params, posterior, random_theta
from grids import mostly_slow
from oracles import DenseBelief
from scipy.stats import norm

from argbest.core import additive_belief, additive_conditioning, additive_prior
from argbest.core import belief as beliefs
from argbest.core import tally as tallies
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array
from argbest.core.belief import Belief
from argbest.core.blocks import drawing_root
from argbest.core.decision import Decision
from argbest.core.foundations import ByContext, ByFormula, Stack
from argbest.core.question import cov_of_differences
from argbest.core.seen_cells import Data
from argbest.models.additive_gp import AdditiveGP
from argbest.policies.base import Policy
from argbest.policies.dvr import DVR, DVRM
from argbest.policies.ikg import IKG, LEVI
from argbest.policies.ocba import GPCOCBA
from argbest.streams import Purpose, StepDraws

MODEL = AdditiveGP()


def pair(k: int, c: int) -> Decision:
    return Decision(np.array(k), np.array(c))


def random_belief(seed: int, *, names: bool = False) -> tuple[AdditiveBelief, DenseBelief]:
    rng = np.random.default_rng(seed)
    one = case(rng, names=names)
    theta = random_theta(rng, one.prior())
    known = params(one, theta)
    mean, cov = posterior(one, theta, one.tally)
    ours = MODEL.posterior(one.tally, one.setting, known)
    return ours, DenseBelief(mean.reshape(one.shape), cov, known.noise)


def whole(belief: AdditiveBelief) -> Array:
    k, c = np.indices(belief.mean.shape).reshape(2, -1)
    return belief.cov_rows(k, c).reshape(belief.mean.size, -1)


def assert_same(ours: AdditiveBelief, theirs: DenseBelief, tolerance: float = 1e-9) -> None:
    size = np.abs(theirs.cov).max()
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.var, theirs.var, rtol=tolerance, atol=tolerance * size)
    np.testing.assert_allclose(whole(ours), theirs.cov, rtol=tolerance, atol=tolerance * size)


@pytest.mark.parametrize("names", [False, True])
def test_the_posterior_is_that_of_the_observations(names: bool) -> None:
    for seed in range(10):
        ours, theirs = random_belief(seed, names=names)
        belief: Belief = ours
        assert belief.own_cov is None
        assert_same(ours, theirs)
        chosen = beliefs.best(ours)
        found = ours.difference_var(chosen)
        np.testing.assert_allclose(found, theirs.difference_var(chosen), rtol=1e-7, atol=1e-10)
        assert np.all(found[chosen, np.arange(len(chosen))] == 0)
        where = pair(1, 0)
        np.testing.assert_allclose(ours.cov_with(where), theirs.cov_with(where), rtol=1e-8, atol=1e-10)


def test_nothing_observed_leaves_the_prior_and_a_constant_that_the_first_observation_tells() -> None:
    rng = np.random.default_rng(12)
    one = case(rng)
    known = params(one, random_theta(rng, one.prior()))
    belief = MODEL.posterior(tallies.empty(one.shape), one.setting, known)
    np.testing.assert_array_equal(belief.mean, np.full(one.shape, known.shift))
    prior = one.covariance("matern52", Scales.of(known.theta, one.x.shape[1]))
    reference = np.zeros(one.shape[1], np.int64)
    expected = DenseBelief(belief.mean, prior, known.noise).difference_var(reference)
    np.testing.assert_allclose(belief.difference_var(reference), expected, rtol=1e-10, atol=1e-12)
    told = belief.update(pair(1, 1), np.array(known.shift + 7.0))
    size = np.sqrt(prior[0, 0] + known.noise.max())
    np.testing.assert_allclose(told.mean, known.shift + 7.0, atol=1e-3 * max(size, 7.0))


def test_a_trend_that_dwarfs_all_differences_costs_them_no_digits() -> None:
    rng = np.random.default_rng(3)
    one = case(rng, names=True)
    theta = random_theta(rng, one.prior())
    theta[-6] = np.log(1e8)
    small = theta.copy()
    small[-6] = np.log(1e5)
    chosen = np.zeros(one.shape[1], np.int64)
    huge, large = (
        MODEL.posterior(one.tally, one.setting, params(one, t)).difference_var(chosen) for t in (theta, small)
    )
    np.testing.assert_allclose(huge, large, rtol=1e-3)


@pytest.mark.parametrize("n", [1, 3])
def test_updates_equal_dense_rank_one_updates(n: int) -> None:
    rng = np.random.default_rng(3)
    ours, theirs = random_belief(3)
    k, c = ours.mean.shape
    for _ in range(60):  # beyond the room made ahead
        where, value = pair(int(rng.integers(k)), int(rng.integers(c))), np.array(rng.normal())
        ours, theirs = ours.update(where, value, n), theirs.update(where, value, n)
    assert_same(ours, theirs, 1e-8)


def test_variances_of_differences_are_exact_whatever_was_asked_before() -> None:
    first, theirs = random_belief(8)
    rng, (k, c) = np.random.default_rng(8), first.mean.shape
    chosen = rng.integers(0, k, (7, c))
    before, ours = first.difference_var(chosen[0]), first
    for reference in chosen[1:]:
        where, value = pair(int(rng.integers(k)), int(rng.integers(c))), rng.normal()
        ours, theirs = ours.update(where, np.asarray(value)), theirs.update(where, np.asarray(value))
        found = ours.difference_var(reference)
        np.testing.assert_allclose(found, theirs.difference_var(reference), rtol=1e-7, atol=1e-10)
    np.testing.assert_array_equal(first.difference_var(chosen[0]), before)


@pytest.mark.parametrize("whole_table", [True, False])
def test_many_rows_of_covariances_are_those_asked_for_one_by_one(
    whole_table: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many come from a table of the first belief unless it is large, single ones from the formula."""
    monkeypatch.setattr(additive_belief, "DRAWN_JOINTLY", 1000 if whole_table else 0)
    rng = np.random.default_rng(33)
    belief, _ = random_belief(3)
    k, c = (part.ravel() for part in np.indices(belief.mean.shape))
    for _ in range(40):
        at_once, within = belief.cov_rows(k, c), belief.within_contexts()
        single = np.stack([belief.cov_with(pair(*cell)) for cell in np.ndindex(*belief.mean.shape)])
        np.testing.assert_allclose(at_once, single, rtol=1e-9, atol=1e-9)
        table = single.reshape(*belief.mean.shape, *belief.mean.shape)
        np.testing.assert_allclose(within, np.einsum("kcjc->ckj", table), rtol=1e-9, atol=1e-9)
        where = pair(int(rng.integers(belief.mean.shape[0])), int(rng.integers(belief.mean.shape[1])))
        belief = belief.update(where, np.array(rng.normal()))


@pytest.mark.parametrize("whole_table", [True, False])
def test_covariances_of_sums_are_those_of_their_cells(
    whole_table: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(additive_belief, "DRAWN_JOINTLY", 1000 if whole_table else 0)
    rng = np.random.default_rng(34)
    ours, theirs = random_belief(3)
    k, c = ours.mean.shape
    for _ in range(3):
        where, value = pair(int(rng.integers(k)), int(rng.integers(c))), np.array(rng.normal())
        ours, theirs = ours.update(where, value), theirs.update(where, value)
        alternative = np.stack([rng.permutation(k)[:3] for _ in range(5)])
        context, weight = rng.integers(c, size=5), rng.normal(size=(5, 3))
        found = ours.cov_of_sums(alternative, context, weight).reshape(5, -1)
        cells = theirs.cov[alternative * c + context[:, None]]
        np.testing.assert_allclose(found, np.einsum("mj,mjn->mn", weight, cells), rtol=1e-7, atol=1e-9)
        several = cov_of_differences(ours, alternative[:, 0], alternative[:, 1], context)
        np.testing.assert_allclose(several.reshape(5, -1), cells[:, 0] - cells[:, 1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("every", [256, 0])
def test_many_updates_equal_one_recomputation(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 300 rows, of which the table has taken in all but the last few: the way of larger tables too."""
    monkeypatch.setattr(additive_belief, "_EVERY", every)
    rng = np.random.default_rng(4)
    one = case(rng)
    theta = random_theta(rng, one.prior())
    tally, known = one.tally, params(one, theta)
    belief = MODEL.posterior(tally, one.setting, known)
    for _ in range(300):
        where = pair(int(rng.integers(one.shape[0])), int(rng.integers(one.shape[1])))
        value = np.array(rng.normal())
        tally, belief = tallies.add(tally, where, value), belief.update(where, value)
    again = MODEL.posterior(tally, one.setting, known)
    np.testing.assert_allclose(belief.mean, again.mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(whole(belief), whole(again), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("many_rows", [128, 16])
def test_a_belief_is_a_value_whatever_grows_out_of_it(
    many_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beliefs share their rows, and tables that take some of them in; none may see what another has added."""
    monkeypatch.setattr(additive_belief, "_MANY_ROWS", many_rows)
    rng = np.random.default_rng(5)
    first, _ = random_belief(5)
    before = whole(first), first.mean.copy()
    k, c = first.mean.shape
    children = []
    for _ in range(6):
        grown = first
        cells = [pair(int(rng.integers(k)), int(rng.integers(c))) for _ in range(40)]
        for where in cells:
            grown = grown.update(where, np.array(1.0))
        children.append((grown, cells))
    np.testing.assert_array_equal(whole(first), before[0])
    np.testing.assert_array_equal(first.mean, before[1])
    for grown, cells in children:
        alone, _ = random_belief(5)
        for where in cells:
            alone = alone.update(where, np.array(1.0))
        np.testing.assert_array_equal(whole(grown), whole(alone))


def test_no_replication_teaches_nothing_and_anticipating_keeps_the_mean_exactly() -> None:
    belief, _ = random_belief(6)
    nothing = belief.update(pair(1, 1), np.array(9.0), 0)
    np.testing.assert_array_equal(nothing.mean, belief.mean)
    np.testing.assert_array_equal(whole(nothing), whole(belief))
    ahead = beliefs.anticipate(belief, pair(2, 1), 4)
    np.testing.assert_array_equal(ahead.mean, belief.mean)
    np.testing.assert_array_equal(ahead.var, belief.update(pair(2, 1), np.array(123.0), 4).var)


def test_trials_under_way_count_as_if_told_one_by_one() -> None:
    belief, theirs = random_belief(7)
    pending = np.random.default_rng(7).poisson(0.8, belief.mean.shape)
    found, expected = beliefs.expecting(belief, pending), theirs
    for k, c in np.argwhere(pending):
        expected = expected.update(pair(k, c), expected.mean[k, c], pending[k, c])
    np.testing.assert_array_equal(found.mean, belief.mean)
    np.testing.assert_allclose(whole(found), expected.cov, rtol=1e-7, atol=1e-9)  # type: ignore[arg-type]
    known = replace(belief, noise=np.zeros_like(belief.noise)).update(pair(1, 1), np.array(0.0))
    known = replace(known, var=np.where(np.indices(known.var.shape).sum(axis=0) == 2, 0.0, known.var))
    again = np.zeros_like(pending)
    again[1, 1] = 3  # of a cell known exactly
    np.testing.assert_allclose(beliefs.expecting(known, again).var, known.var)


def test_draws_have_the_belief_s_mean_and_covariance() -> None:
    """`draw` is affine in the normals: unit vectors give the root of the covariance itself."""
    belief, theirs = random_belief(8)
    n = belief.mean.size
    basis = np.concatenate([np.zeros((1, n)), np.eye(n)]).reshape(-1, *belief.mean.shape)
    draws = belief.draw(basis).reshape(len(basis), -1)
    np.testing.assert_allclose(draws[0], belief.mean.ravel(), rtol=1e-14)
    root = (draws[1:] - draws[0]).T
    np.testing.assert_allclose(root @ root.T, theirs.cov, rtol=1e-7, atol=1e-8)


def test_certificates_agree_with_monte_carlo() -> None:
    """4,096 Sobol points against 200,000 draws, within five standard errors of 4,096 plain draws."""
    for seed in (10, 11):
        ours, theirs = random_belief(seed)
        chosen = beliefs.best(ours)
        p = theirs.good_probability(chosen, 0.1)
        assert np.all(
            np.abs(ours.good_probability(chosen, 0.1) - p) < 5 * np.sqrt((p * (1 - p) + 1e-4) / 4096)
        )
        p, share = theirs.best_probability(), ours.best_probability()
        np.testing.assert_allclose(share.sum(axis=0), 1.0, rtol=1e-12)
        assert np.all(np.abs(share - p) < 5 * np.sqrt((p * (1 - p) + 1e-4) / 4096))


@pytest.mark.parametrize("place", mostly_slow([0, 1, 2], fast=[1]))
def test_whoever_is_selected_is_judged_against_all_who_may_be_the_best(place: int) -> None:
    """As above; the selected is the first, second or third by mean."""
    ours, theirs = random_belief(13)
    chosen = np.argsort(-ours.mean, axis=0)[place]
    p = theirs.good_probability(chosen, 0.1)
    assert np.all(np.abs(ours.good_probability(chosen, 0.1) - p) < 5 * np.sqrt((p * (1 - p) + 1e-4) / 4096))
    np.testing.assert_allclose(ours.expected_loss(chosen), theirs.expected_loss(chosen), rtol=0.05, atol=0.01)


def test_all_questions_about_a_selection_share_one_pass_of_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    belief, _ = random_belief(13)
    second = np.argsort(-belief.mean, axis=0)[1]
    alone = replace(belief).best_probability()
    draws = Mock(side_effect=belief._draws)
    monkeypatch.setitem(belief.__dict__, "_draws", draws)
    belief.good_probability(second)
    belief.good_probability(second, 0.1)
    belief.expected_loss(second)
    np.testing.assert_allclose(belief.best_probability(), alone, atol=0.008)
    assert draws.call_count == 1


def pair_of(mean: Array, trend: float, offset: float) -> AdditiveBelief:
    """Alternatives in one context that share a trend and have levels of their own; nothing observed."""
    one, shape = np.array(1.0), (len(mean), 1)
    table = np.ones((1, 1))
    prior = AdditivePrior("matern52", None, one[None], trend * table, table, offset * one, 0 * one, 0 * one)
    belief = additive_conditioning.condition(prior, Data(tallies.empty(shape), np.ones(shape), 0 * one))
    known = ByFormula(prior, np.zeros(shape))
    return replace(belief, mean=mean[:, None], foundation=known, var=np.full(shape, trend + offset))


def test_two_alternatives_have_closed_forms() -> None:
    belief, first = pair_of(np.array([0.5, 0.0]), 2.0, 0.3), np.array([0])
    tau = np.sqrt(0.6)
    np.testing.assert_allclose(belief.difference_var(first), [[0.0], [0.6]], rtol=1e-14)
    assert belief.good_probability(first)[0] == pytest.approx(norm.cdf(0.5 / tau), abs=1e-14)
    np.testing.assert_allclose(belief.best_probability()[:, 0], norm.cdf([0.5 / tau, -0.5 / tau]), atol=1e-14)
    far = pair_of(np.array([0.5, 0.0, -9.0, -9.1]), 2.0, 0.3)  # the last two are no match for the first
    assert far.good_probability(np.array([1]))[0] == pytest.approx(norm.cdf(-0.5 / tau), abs=1e-9)
    assert far.best_probability()[2:].max() < 1e-9
    expected = tau * norm.pdf(0.5 / tau) - 0.5 * norm.cdf(-0.5 / tau)
    assert belief.expected_loss(first)[0] == pytest.approx(expected, rel=1e-12)


def test_a_trend_alone_leaves_known_ties_and_orders() -> None:
    belief = pair_of(np.array([1.0, 1.0, 0.0]), 1.0, 0.0)
    assert belief.good_probability(np.array([0])).tolist() == [1.0]
    # The variance of a difference may be 1e-16 instead of 0, as a processor rounds, and its root is 1e-8.
    root_of_rounding = 2.0 * np.sqrt(np.finfo(float).eps)
    assert belief.expected_loss(np.array([2]))[0] == pytest.approx(1.0, abs=root_of_rounding)
    assert replace(belief).best_probability()[:, 0].tolist() == [0.5, 0.5, 0.0]


def test_tails_beyond_the_points_are_still_ordered() -> None:
    belief, _ = random_belief(12)
    k, c = belief.mean.shape
    chosen = np.ones(c, np.int64)
    reach = 9.0 * np.sqrt(belief.difference_var(chosen).max(axis=0))
    ahead = belief.mean.max(axis=0) + reach
    far = replace(belief, mean=np.where((np.arange(k) == 1)[:, None], ahead, belief.mean))
    assert np.all(far.expected_loss(chosen) > 0)
    assert np.all(far.good_probability(chosen) <= 1)
    np.testing.assert_array_equal(far.best_probability()[1], np.ones(c))


def test_rounding_does_not_move_the_certificate_where_alternatives_are_exchangeable() -> None:
    """Eigenvectors of equal eigenvalues are anybody's choice; probabilities must not depend on it."""
    rng = np.random.default_rng(9)
    belief = pair_of(rng.normal(0, 0.5, 10), 0.3, 1.0)
    chosen = beliefs.best(belief)
    found = []
    for _ in range(10):
        assert isinstance(belief.foundation, ByFormula)
        moved = replace(
            belief, foundation=replace(belief.foundation, level=1e-7 * rng.standard_normal((10, 1)))
        )
        found.append(float(moved.good_probability(chosen)[0]))
    assert np.ptp(found) < 1e-3


@pytest.mark.parametrize("policy", [DVR(), DVRM(), IKG(), LEVI(), GPCOCBA()])
def test_policies_decide_as_on_the_dense_belief(policy: Policy) -> None:
    for seed in range(4):
        ours, theirs = random_belief(20 + seed)
        one = case(np.random.default_rng(20 + seed))
        draws = StepDraws(7, Purpose.POLICY, step=seed)
        pending = np.zeros(one.shape, np.int64)
        pending[0, 0] = 2
        found = policy.propose(ours, one.tally, pending, one.setting, draws, 3)
        expected = policy.propose(theirs, one.tally, pending, one.setting, draws, 3)
        np.testing.assert_array_equal(found.alternative, expected.alternative)
        np.testing.assert_array_equal(found.context, expected.context)


def test_alternatives_known_to_be_equal_share_the_chance_of_being_best() -> None:
    cov = np.diag([0.0, 0.0, 0.5, 0.3])[None]
    mean = np.array([[1.0], [1.0], [0.6], [0.8]])
    nothing = Stack(np.empty((0, 4, 1)))
    belief = AdditiveBelief(
        mean, np.diagonal(cov[0])[:, None].copy(), np.ones((4, 1)), ByContext(cov), nothing, 0
    )
    best = belief.best_probability()[:, 0]
    below = norm.cdf((1.0 - mean[2:, 0]) / np.sqrt([0.5, 0.3])).prod()
    np.testing.assert_allclose(best[:2], 0.5 * below, atol=0.01)
    assert best[0] == best[1]
    assert best.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("shape", [(3, 5), (3, 80), (80,), (300,)])
def test_a_root_to_draw_by_gives_the_covariance_back_and_takes_singular_ones(shape: tuple[int, ...]) -> None:
    few = np.random.default_rng(1).normal(size=(*shape, 4))
    cov = few @ np.swapaxes(few, -1, -2)  # of rank 4
    root = drawing_root(cov)
    np.testing.assert_allclose(root @ np.swapaxes(root, -1, -2), cov, atol=1e-7 * cov.max())


@pytest.mark.parametrize("m", [80, 300])
def test_where_no_root_of_choleskys_is_found_draws_go_by_the_symmetric_one(m: int) -> None:
    broken = np.eye(m)
    broken[0, 0] = -1e-3  # by rounding, say
    np.testing.assert_allclose(drawing_root(broken), np.diag(np.r_[0.0, np.ones(m - 1)]))


@pytest.mark.parametrize("most", [0, 512])
def test_covariances_of_two_lists_of_cells_are_those_of_whole_rows(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(additive_prior, "_TABLE", most)
    belief, _ = random_belief(3)
    assert isinstance(belief.foundation, ByFormula)
    prior, (n_alternatives, n_contexts) = belief.foundation.prior, belief.mean.shape
    rng = np.random.default_rng(0)
    one, other = ((rng.integers(n_alternatives, size=m), rng.integers(n_contexts, size=m)) for m in (7, 9))
    expected = prior.rows(*one, n_alternatives)[:, other[0], other[1]]
    np.testing.assert_allclose(prior.between(one, other), expected, rtol=1e-12)
