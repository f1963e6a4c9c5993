"""Beliefs where alternatives share noise, against the joint covariance of all observations."""

from dataclasses import replace

import additive_cases
import common_cases
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag
from scipy.special import ndtri
from scipy.stats import multivariate_normal

from argbest.core import additive_belief, conditioning
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.arrays import Array
from argbest.core.belief import anticipate, best, next_replications, take_in
from argbest.core.decision import Decision
from argbest.core.knowledge_gradient import log_kg_in_own_context
from argbest.core.question import BEST
from argbest.core.seen_cells import Data
from argbest.core.setting import Setting
from argbest.models.additive_gp import AdditiveGP, AdditiveGPParams
from argbest.models.gp import GP, GPParams
from argbest.policies.dvr import log_reduction
from argbest.policies.ikg import IKG, LEVI, log_ikg
from argbest.streams import Purpose, StepDraws


class Study:
    """A study with places, replications there and parameters; the belief of our code and by definition."""

    def __init__(self, seed: int, *, names: bool = True, unnumbered: bool = True) -> None:
        rng = np.random.default_rng(seed)
        self.one = additive_cases.case(rng, names=names, most=(5, 4))
        self.runs = common_cases.runs(rng, self.one.shape, most=4, unnumbered=unnumbered)
        self.theta = additive_cases.random_theta(rng, self.one.prior(self.runs.correlation))

    @property
    def params(self) -> AdditiveGPParams:
        made = additive_cases.params(self.one, self.theta)
        noise = float(np.exp(self.theta[-1])) * self.runs.noise
        return replace(made, noise=noise, correlation=self.runs.correlation)

    def belief(self) -> AdditiveBelief:
        belief: AdditiveBelief = AdditiveGP().posterior(self.runs.tally, self.one.setting, self.params)
        return belief

    def by_definition(self, points: Array | None = None) -> tuple[Array, Array]:
        """Mean and covariance of all cells given every observation with its joint noise."""
        scales = additive_cases.Scales.of(self.theta, self.one.x.shape[1])
        prior, cells = self.one.covariance("matern52", scales), self.runs.cells
        like = scales.like * scales.noise * self.runs.noise_like()
        noisy = (prior + like)[np.ix_(cells, cells)] + scales.noise * self.runs.noise_covariance()
        if points is None:
            return additive_cases.kriged(noisy, self.runs.y, (prior + like)[:, cells], prior + like)
        # A point that was never simulated has the loadings of an average context, and no luck in common.
        there = self.one.covariance("matern52", scales, points)
        own = self.one._replace(x=points).covariance("matern52", scales)
        squares = scales.like * scales.noise * self.runs.noise * np.maximum(self.runs.correlation, 0.0)
        loadings = np.repeat(np.sqrt(squares.mean(axis=1)), len(points))
        same = np.tile(np.eye(len(points), dtype=bool), (self.one.shape[0], self.one.shape[0]))
        own = own + np.where(same, np.outer(loadings, loadings), 0.0)
        return additive_cases.kriged(noisy, self.runs.y, there[:, cells], own)

    def with_one_more(self, k: int, c: int, r: int, y: float) -> "Study":
        other, old = Study.__new__(Study), self.runs
        other.one, other.theta = self.one, self.theta
        other.runs = old._replace(
            alternative=np.append(old.alternative, k),
            context=np.append(old.context, c),
            number=np.append(old.number, r),
            y=np.append(old.y, y),
        )
        return other


def covariance(belief: AdditiveBelief) -> Array:
    k, c = (part.ravel() for part in np.indices(belief.mean.shape))
    return belief.cov_rows(k, c).reshape(len(k), len(k))


def assert_same(belief: AdditiveBelief, expected: tuple[Array, Array]) -> None:
    mean, cov = expected
    size = np.sqrt(np.abs(cov).max())
    np.testing.assert_allclose(belief.mean.ravel(), mean, atol=1e-5 * size)
    np.testing.assert_allclose(covariance(belief), cov, atol=1e-5 * size**2)
    np.testing.assert_allclose(belief.var.ravel(), np.diag(cov), atol=1e-5 * size**2)


@pytest.mark.parametrize("names", [True, False])
def test_the_posterior_is_that_of_all_observations_with_their_joint_covariance(names: bool) -> None:
    for seed in range(4):
        study = Study(seed, names=names)
        assert_same(study.belief(), study.by_definition())


def test_predictions_are_those_of_all_observations_with_their_joint_covariance() -> None:
    study = Study(11)
    points = np.random.default_rng(0).random((3, study.one.x.shape[1]))
    separation = np.moveaxis((points[:, None] - study.one.x) ** 2, -1, 0)
    found = AdditiveGP().predict(study.runs.tally, study.one.setting, study.params, separation)
    mean, cov = study.by_definition(points)
    np.testing.assert_allclose(found.mean[..., 0].T.ravel(), mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.var[..., 0].T.ravel(), np.diag(cov), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_updates_by_single_replications_lead_to_the_posterior_of_all(seed: int) -> None:
    study, rng = Study(seed, unnumbered=seed % 2 == 0), np.random.default_rng(seed)
    belief = study.belief()
    for step in range(6):  # numbers that others have shown, and ones that nobody has; in any order
        k, c = (int(rng.integers(n)) for n in study.one.shape)
        own = (study.runs.alternative == k) & (study.runs.context == c)
        number = int(rng.choice(np.setdiff1d(np.arange(8), study.runs.number[own])))
        value = float(rng.normal())
        study = study.with_one_more(k, c, number, value)
        belief = take_in(belief, Decision(np.array(k), np.array(c)), np.array(value), np.array(number))  # type: ignore[assignment]
        assert_same(belief, study.by_definition())
        assert step == 5 or belief.shocks is not None


def test_studies_side_by_side_learn_as_each_would_alone() -> None:
    several = [Study(seed) for seed in (3, 3)]
    several[1].runs = common_cases.runs(np.random.default_rng(50), several[0].one.shape, most=4)
    stack = common_cases.side_by_side([each.runs.tally for each in several])
    made = [each.params for each in several]
    names = [name for name in AdditiveGPParams.__dataclass_fields__ if name != "uneven"]
    params = AdditiveGPParams(**{name: np.stack([getattr(one, name) for one in made]) for name in names})
    together = AdditiveGP().posterior(stack, several[0].one.setting, params)
    decision, number = Decision(np.array([0, 1]), np.array([1, 0])), np.array([6, 2])
    later = together.update_common(decision, number, np.array([0.3, -0.8]))
    ahead = anticipate(later, decision, np.array([2, 0]))
    weights, every = np.full(later.mean.shape[-1], 1 / later.mean.shape[-1]), np.ones(later.mean.shape, bool)
    integrated, here = log_ikg(later, weights, every), log_kg_in_own_context(later)
    selected = best(ahead)
    for i, each in enumerate(several):
        own = Decision(decision.alternative[i], decision.context[i])
        alone = each.belief().update_common(own, number[i], np.array([0.3, -0.8])[i])
        np.testing.assert_allclose(later.mean[i], alone.mean, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(integrated[i], log_ikg(alone, weights, every[i]), rtol=1e-6)
        np.testing.assert_allclose(here[i], log_kg_in_own_context(alone), rtol=1e-6)
        waited = anticipate(alone, own, 2 if i == 0 else 0)
        np.testing.assert_allclose(ahead.var[i], waited.var, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            ahead.difference_var(selected)[i], waited.difference_var(selected[i]), rtol=1e-8, atol=1e-12
        )


def test_what_the_next_replications_observe_is_the_contrast_of_each_one() -> None:
    belief, rng = Study(5, unnumbered=False).belief(), np.random.default_rng(0)
    for _ in range(12):
        k, c = (np.asarray(rng.integers(n)) for n in belief.mean.shape)
        assert belief.shocks is not None
        number = belief.shocks.following[k, c] + rng.integers(2)
        belief = take_in(belief, Decision(k, c), np.asarray(0.3), number)  # type: ignore[assignment]
        assert belief.shocks is not None
        ahead, samples = belief.shocks.next_contrasts, next_replications(belief)
        assert ahead is not None
        assert samples is not None
        rows = rng.normal(size=(3, *belief.mean.shape))
        across = samples.covariances(rows)
        for k, c in np.ndindex(belief.mean.shape):
            one = belief.shocks.contrast(Decision(np.array(k), np.array(c)), belief.shocks.following[k, c])
            by_alternative = np.bincount(one.alternative, one.weight, len(belief.mean))
            found = np.eye(len(belief.mean))[k] - ahead.share[:, k, c] @ ahead.shown[:, :, c]
            np.testing.assert_allclose(found, by_alternative, atol=1e-12)
            np.testing.assert_allclose(across[c, :, k], rows[:, :, c] @ by_alternative, atol=1e-12)
            np.testing.assert_allclose(ahead.noise[k, c], one.noise)
            spread = by_alternative @ belief.within_contexts()[c] @ by_alternative
            np.testing.assert_allclose(samples.var[k, c], spread + one.noise)


def test_a_large_table_says_of_next_samples_what_a_small_one_says(monkeypatch: pytest.MonkeyPatch) -> None:
    belief = Study(6, names=False).belief()
    small = next_replications(belief)
    monkeypatch.setattr(additive_belief, "DRAWN_JOINTLY", 0)
    large = next_replications(replace(belief, before=None))
    assert small is not None
    assert large is not None
    np.testing.assert_allclose(large.var, small.var, rtol=1e-9)


def test_what_goes_as_expected_moves_no_mean() -> None:
    study = Study(5)
    belief = study.belief()
    later = anticipate(belief, Decision(np.array(0), np.array(1)), 3)
    np.testing.assert_allclose(later.mean, belief.mean, atol=1e-10)
    assert np.all(later.var <= belief.var + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_trials_under_way_take_what_they_will_once_they_are_told(seed: int) -> None:
    """Several per cell, and of equal number in several alternatives; all at once, against the definition."""
    study = Study(seed)
    belief = study.belief()
    assert belief.shocks is not None
    pending = np.random.default_rng(seed).poisson(0.6, belief.mean.shape)
    found, one_by_one = belief.expecting(pending), belief
    for k, c in np.argwhere(pending):
        one_by_one = one_by_one.anticipated(Decision(np.array(k), np.array(c)), pending[k, c])
        for i in range(pending[k, c]):
            study = study.with_one_more(k, c, int(belief.shocks.following[k, c]) + i, 0.0)
    _, cov = study.by_definition()
    assert_same(found, (belief.mean.ravel(), cov))
    assert belief.expecting(np.zeros_like(pending)) is belief
    for each, other in zip(found.shocks.since.parts, one_by_one.shocks.since.parts, strict=True):  # type: ignore[union-attr]
        np.testing.assert_allclose(each, other, atol=1e-9)
    np.testing.assert_array_equal(found.shocks.following, one_by_one.shocks.following)  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(4))
def test_trials_that_observe_the_same_count_as_one_that_knows_it_better(seed: int) -> None:
    study = Study(seed)
    belief = study.belief()
    assert belief.shocks is not None
    pending = np.full(belief.mean.shape, 3)
    found = belief.expecting(pending)
    assert found.n_rows - belief.n_rows < pending.sum()
    for k, c in np.argwhere(pending):
        for i in range(3):
            study = study.with_one_more(k, c, int(belief.shocks.following[k, c]) + i, 0.0)
    assert_same(found, (belief.mean.ravel(), study.by_definition()[1]))


@pytest.mark.parametrize("seed", range(3))
def test_the_value_of_a_sample_is_the_variance_that_its_replication_takes_from_differences(seed: int) -> None:
    study = Study(seed)
    belief = study.belief()
    selected = best(belief)
    density = np.random.default_rng(seed).normal(size=belief.mean.shape)
    density[selected, np.arange(belief.mean.shape[1])] = -np.inf
    score = np.exp(log_reduction(BEST.contrasts(belief, selected), density))
    assert next_replications(belief) is not None
    before = belief.difference_var(selected)
    for k, c in np.ndindex(belief.mean.shape):
        after = anticipate(belief, Decision(np.array(k), np.array(c))).difference_var(selected)
        taken = np.sum(np.where(np.isfinite(density), np.exp(density), 0.0) * (before - after))
        np.testing.assert_allclose(score[k, c], taken, rtol=1e-5, atol=1e-8)


def gains(study: Study, k: int, c: int) -> Array:
    """E[best mean] − best mean now per context if the next replication of a cell is told, by definition.

    The value's distribution and the means that follow it are those of all observations with their joint
    covariance; the expectation is a sum over a fine grid of quantiles.
    """
    belief = study.belief()
    assert belief.shocks is not None
    number, shape = int(belief.shocks.following[k, c]), belief.mean.shape
    more = [study.with_one_more(k, c, number, y) for y in (0.0, 1.0)]
    at_0, at_1 = (each.by_definition()[0] for each in more)
    scales = additive_cases.Scales.of(study.theta, study.one.x.shape[1])
    cells = more[0].runs.cells
    prior = study.one.covariance("matern52", scales) + scales.like * scales.noise * study.runs.noise_like()
    joint = prior[np.ix_(cells, cells)] + scales.noise * more[0].runs.noise_covariance()
    expected, var = additive_cases.kriged(joint[:-1, :-1], study.runs.y, joint[-1:, :-1], joint[-1:, -1:])
    z = ndtri((np.arange(20_000) + 0.5) / 20_000)
    later = at_0[:, None] + (at_1 - at_0)[:, None] * (expected[0] + np.sqrt(var[0, 0]) * z)
    table, leader = later.reshape(*shape, -1), (best(belief), np.arange(shape[1]))
    return np.asarray((table.max(axis=0) - table[leader]).mean(axis=-1))  # the leader's mean stays on average


def open_study(seed: int) -> Study:
    """A study whose means are about as far apart as they are known."""
    study = Study(seed, unnumbered=False)
    belief = study.belief()
    gap = belief.mean.max(axis=0) - np.median(belief.mean, axis=0)
    study.runs = study.runs._replace(y=study.runs.y * float(np.median(np.sqrt(belief.var)) / np.median(gap)))
    return study


@pytest.mark.parametrize("seed", range(6))
def test_policies_that_look_one_sample_ahead_see_what_its_replication_will_do(seed: int) -> None:
    study = open_study(seed)
    belief = study.belief()
    assert next_replications(belief) is not None
    shape = belief.mean.shape
    weights = np.random.default_rng(seed).dirichlet(np.ones(shape[1]))
    gained = np.array([[gains(study, k, c) for c in range(shape[1])] for k in range(shape[0])])
    integrated = np.exp(log_ikg(belief, weights, np.ones(shape, bool)))
    size = gained.max()
    np.testing.assert_allclose(integrated, gained @ weights, rtol=2e-3, atol=1e-3 * size)
    here = np.exp(log_kg_in_own_context(belief))
    np.testing.assert_allclose(here, np.einsum("kcc->kc", gained), rtol=2e-3, atol=1e-3 * size)
    setting = replace(study.one.setting, weights=weights)
    for policy, score in ((IKG(), gained @ weights), (LEVI(), np.einsum("kcc->kc", gained) * weights)):
        found = policy.propose(
            belief, study.runs.tally, np.zeros(shape, int), setting, StepDraws(1, Purpose.POLICY, step=0)
        )
        assert score[found.alternative[0], found.context[0]] >= (1 - 1e-2) * score.max()


def test_a_look_far_ahead_counts_noise_as_if_it_were_not_shared() -> None:
    belief = open_study(2).belief()
    weights = np.full(belief.mean.shape[1], 1 / belief.mean.shape[1])
    every = np.ones(belief.mean.shape, bool)
    plain = replace(belief, shocks=None)
    for ahead in (3.0, np.inf):
        found, expected = (log_ikg(each, weights, every, lookahead=ahead) for each in (belief, plain))
        np.testing.assert_array_equal(found, expected)
    assert not np.allclose(log_ikg(belief, weights, every), log_ikg(plain, weights, every))


@given(seed=st.integers(0, 10**6), number=st.integers(0, 5), cell=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_one_more_replication_never_makes_a_difference_less_certain(
    seed: int, number: int, cell: int
) -> None:
    study = Study(seed % 1000)
    n_alternatives, n_contexts = study.one.shape
    k, c = cell % n_alternatives, cell // n_alternatives % n_contexts
    own = (study.runs.alternative == k) & (study.runs.context == c)
    if number in study.runs.number[own]:
        number = 9
    before, after = study.belief(), study.with_one_more(k, c, number, 0.7).belief()
    for reference in range(n_alternatives):
        chosen = np.full(n_contexts, reference)
        wider = after.difference_var(chosen) - before.difference_var(chosen)
        assert np.all(wider <= 1e-7 * before.var.max())


def gp_params(study: Study) -> GPParams:
    """Parameters that differ between alternatives."""
    k, d = study.one.shape[0], study.one.x.shape[1]
    rng = np.random.default_rng(1)
    none = np.zeros(k, np.int64)
    return GPParams(
        lengthscale=rng.uniform(0.3, 0.8, (k, d)),
        scale=rng.uniform(0.5, 2.0, k),
        noise=study.runs.noise,
        constant=rng.normal(size=k),
        theta=np.zeros((k, d + 2)),
        shift=np.zeros(k),
        spread=np.ones(k),
        fitted=none,
        searched=none,
        status=none,
        changed=np.ones(k, bool),
        correlation=study.runs.correlation,
        noise_like=np.array(0.7),
    )


def gp_by_definition(study: Study, points: Array) -> tuple[Array, Array]:
    """Mean and covariance at points [alternative, x] given all observations of all alternatives."""
    params, (k, c) = gp_params(study), study.one.shape
    prior, cross = np.zeros((k * c, k * c)), np.zeros((k * len(points), k * c))
    own = np.zeros((k * len(points), k * len(points)))
    for i in range(k):
        shape = params.lengthscale[i], float(params.scale[i])
        here, there = slice(i * c, (i + 1) * c), slice(i * len(points), (i + 1) * len(points))
        prior[here, here] = oracles.kernel("matern52", study.one.x, study.one.x, *shape)
        cross[there, here] = oracles.kernel("matern52", points, study.one.x, *shape)
        own[there, there] = oracles.kernel("matern52", points, points, *shape)
    like, cells = 0.7 * study.runs.noise_like(), study.runs.cells
    prior += like
    if points is study.one.x:
        cross += like
        own += like
    else:  # never simulated: the loadings of an average context, and no luck in common
        squares = 0.7 * study.runs.noise * study.runs.correlation
        loadings = np.repeat(np.sqrt(squares.mean(axis=1)), len(points))
        same = np.tile(np.eye(len(points), dtype=bool), (k, k))
        own += np.where(same, np.outer(loadings, loadings), 0.0)
    noisy = prior[np.ix_(cells, cells)] + study.runs.noise_covariance()
    gain = np.linalg.solve(noisy, cross[:, cells].T).T
    constant = np.repeat(params.constant, len(points))
    mean = constant + gain @ (study.runs.y - params.constant[study.runs.alternative])
    return mean, own - gain @ cross[:, cells].T


def test_processes_of_their_own_are_joined_by_the_noise_they_share() -> None:
    for seed in range(3):
        study = Study(seed)
        belief = GP().posterior(study.runs.tally, study.one.setting, gp_params(study))
        assert_same(belief, gp_by_definition(study, study.one.x))
        later = study.with_one_more(1, 0, 7, 0.4)
        taken = take_in(belief, Decision(np.array(1), np.array(0)), np.array(0.4), np.array(7))
        assert_same(taken, gp_by_definition(later, study.one.x))  # type: ignore[arg-type]
        points = np.random.default_rng(99).random((3, study.one.x.shape[1]))
        separation = np.moveaxis((points[:, None] - study.one.x) ** 2, -1, 0)
        found = GP().predict(study.runs.tally, study.one.setting, gp_params(study), separation)
        mean, cov = gp_by_definition(study, points)
        np.testing.assert_allclose(found.mean[..., 0].T.ravel(), mean, atol=1e-6)
        np.testing.assert_allclose(found.var[..., 0].T.ravel(), np.diag(cov), atol=1e-6)
        first = found.difference_var(np.zeros((3, 1), np.int64))[:, 1, 0]
        pairs = [cov[x, x] + cov[3 + x, 3 + x] - 2 * cov[x, 3 + x] for x in range(3)]
        np.testing.assert_allclose(first, pairs, atol=1e-6)
        again = GP().predict(
            study.runs.tally, study.one.setting, gp_params(study), study.one.setting.separation
        )
        mean, cov = gp_by_definition(study, study.one.x)
        np.testing.assert_allclose(again.mean[..., 0].T.ravel(), mean, atol=1e-6)
        np.testing.assert_allclose(again.var[..., 0].T.ravel(), np.diag(cov), atol=1e-6)


def test_processes_of_their_own_weigh_what_is_like_the_noise_by_the_evidence_of_all_observations() -> None:
    study, scales = Study(4), np.array([1e-4, 0.1, 0.7, 30.0])
    params, (k, c) = gp_params(study), study.one.shape
    prior = np.zeros((k, c, c))
    for i in range(k):
        x = study.one.x
        prior[i] = oracles.kernel("matern52", x, x, params.lengthscale[i], float(params.scale[i]))
    data = Data(study.runs.tally, params.noise, np.zeros(()), params.correlation)
    loadings = np.sqrt(params.noise * study.runs.correlation)
    found = conditioning.evidence_of_noise_like(prior, params.constant, data, loadings, scales)
    whole, cells = block_diag(*prior), study.runs.cells
    residual = study.runs.y - params.constant[study.runs.alternative]

    def evidence(scale: float) -> float:
        cov = (whole + scale * study.runs.noise_like())[np.ix_(cells, cells)] + study.runs.noise_covariance()
        return float(multivariate_normal.logpdf(residual, cov=cov, allow_singular=True))

    expected = [evidence(scale) - evidence(0.0) for scale in scales]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def saturating(rng: np.random.Generator, like: float) -> common_cases.Runs:
    """Six alternatives at eight contexts, where what is like the noise moves rewards beside smooth curves."""
    case = common_cases.balanced(rng, (6, 8), 6, 0.8)
    moved = np.sqrt(like) * rng.normal(size=8)
    smooth = np.sin(np.arange(6)[:, None] + np.linspace(0, 3, 8))
    noise = case.y - case.tally.mean[case.alternative, case.context]
    return case._replace(y=noise + (smooth + moved)[case.alternative, case.context])


def test_the_papers_model_learns_what_is_like_the_noise_side_by_side_as_alone() -> None:
    x = np.linspace(0, 1, 8)
    setting = Setting(np.full(8, 1 / 8), (x[:, None] - x)[None] ** 2, np.ones(8, bool))
    tallies = [saturating(np.random.default_rng(3), like).tally for like in (4.0, 0.5)]
    both = common_cases.side_by_side(tallies)
    together = GP().fit(both, setting)
    belief = GP().posterior(both, setting, together)
    assert together.noise_like is not None
    for i, tally in enumerate(tallies):
        alone = GP().fit(tally, setting)
        assert alone.noise_like is not None
        np.testing.assert_allclose(together.noise_like[i], alone.noise_like, rtol=1e-9)
        np.testing.assert_allclose(belief.mean[i], GP().posterior(tally, setting, alone).mean, rtol=1e-6)


def test_the_papers_model_finds_what_is_like_the_noise_and_draws_how_much_is_shared() -> None:
    x = np.linspace(0, 1, 8)
    setting = Setting(np.full(8, 1 / 8), (x[:, None] - x)[None] ** 2, np.ones(8, bool))
    there, absent = (saturating(np.random.default_rng(3), like).tally for like in (4.0, 0.0))
    found, none = GP().fit(there, setting), GP().fit(absent, setting)
    assert found.noise_like is not None
    assert none.noise_like is not None
    assert found.noise_like > 10 * none.noise_like
    assert "as the noise that they share does (standard deviation " in GP().findings(setting, found).outline
    assert GP().findings(setting, none).outline.endswith("nothing is shared between them.")
    points = GP().plausible(there, setting, found, np.random.default_rng(0))
    shared, like = points.params.correlation, points.params.noise_like
    assert shared is not None
    assert like is not None
    assert np.all(shared.std(axis=0) > 0.005)
    assert np.all(np.abs(shared.mean(axis=0) - found.correlation) < 0.15)
    assert like.min() < found.noise_like < like.max()


def test_the_papers_model_learns_each_alternative_by_itself_and_conditions_on_all() -> None:
    case = common_cases.balanced(np.random.default_rng(2), (4, 5), 4, 0.8)
    x = np.linspace(0, 1, 5)
    setting = Setting(np.full(5, 0.2), (x[:, None] - x)[None] ** 2, np.ones(5, bool))
    params, alone = GP().fit(case.tally, setting), GP().fit(case.tally.statistics_alone, setting)
    np.testing.assert_array_equal(params.theta, alone.theta)
    assert params.correlation is not None
    assert np.all(params.correlation > 0.4)
    again = GP().fit(case.tally, setting, params)
    np.testing.assert_array_equal(again.theta, params.theta)
    belief = GP().posterior(case.tally, setting, params)
    chosen = best(belief)
    plain = GP().posterior(case.tally.statistics_alone, setting, alone)
    assert belief.difference_var(chosen).sum() < 0.6 * plain.difference_var(chosen).sum()
