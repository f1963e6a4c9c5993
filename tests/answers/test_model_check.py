"""The model check against removal, against dense linear algebra, and on data that the model made."""

from dataclasses import replace
from typing import Any

import common_cases
import misfits
import numpy as np
import oracles
import pandas as pd
import pytest
import small_problems
from scipy import stats

from argbest import GP, AdditiveGP, Independent, InputError, Linear, Problem, Study, registry, report
from argbest.answers import discrepancies, left_out, model_check
from argbest.answers.model_check import ModelCheck
from argbest.core import landmarks, seen_cells
from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.focused_belief import FocusedBelief
from argbest.core.tally import Tally
from argbest.models.gp import GPParams

X = np.array([0.0, 0.1, 0.35, 0.5, 0.8, 1.0])
K, C = 3, len(X)
LENGTHS, SCALES, CONSTANTS = np.array([0.4, 0.2, 0.7]), np.array([1.0, 2.0, 0.5]), np.array([0.0, 1.0, -1.0])
NOISE = 0.3 * np.exp(np.random.default_rng(0).normal(0, 0.5, (K, C)))
PROBLEM = Problem(list("ABC"), X.tolist())
PARAMS = GPParams(
    lengthscale=LENGTHS[:, None],
    scale=SCALES,
    noise=NOISE,
    constant=CONSTANTS,
    theta=np.zeros((K, 3)),
    shift=np.zeros(K),
    spread=np.ones(K),
    fitted=np.zeros(K, np.int64),
    searched=np.zeros(K, np.int64),
    status=np.zeros(K, np.int64),
    changed=np.ones(K, bool),
)


def prior(k: int) -> Array:
    return oracles.kernel("matern52", X[:, None], X[:, None], LENGTHS[k : k + 1], SCALES[k])


def made_by_the_model(rng: np.random.Generator, *, all_pairs: bool = True) -> Tally:
    count = rng.integers(1 if all_pairs else 0, 5, (K, C))
    truth = np.stack([rng.multivariate_normal(np.full(C, CONSTANTS[k]), prior(k)) for k in range(K)])
    mean = truth + rng.normal(size=(K, C)) * np.sqrt(NOISE / np.maximum(count, 1))
    return Tally(count, np.where(count > 0, mean, 0.0), np.zeros((K, C)))


def checked(tally: Tally, problem: Problem = PROBLEM) -> model_check.ModelCheck:
    return model_check.check(problem, GP(), problem.setting, tally, PARAMS)


def without(tally: Tally, k: int, c: int) -> Tally:
    count, mean, m2 = tally.count.copy(), tally.mean.copy(), tally.m2.copy()
    count[k, c], mean[k, c], m2[k, c] = 0, 0.0, 0.0
    return Tally(count, mean, m2)


def assert_same_as_removal(study: Study, tolerance: float) -> None:
    params, setting = study._learned().params, study.problem.setting
    belief = study.model.posterior(study._tally, setting, params)
    everywhere = np.ones(study.problem.shape, bool)
    mean, var, _ = left_out.left_out(study.model, setting, study._tally, params, belief, everywhere)
    for k, c in np.ndindex(study.problem.shape):
        removed = study.model.posterior(without(study._tally, k, c), setting, params)
        unit = float(np.sqrt(removed.var[k, c]) + np.ptp(study._tally.mean))
        assert mean[k, c] == pytest.approx(removed.mean[k, c], abs=tolerance * unit)
        assert var[k, c] == pytest.approx(removed.var[k, c], rel=100 * tolerance, abs=tolerance * unit**2)


@pytest.mark.parametrize(
    "model", ["gp", "additive-gp", "linear", GP(noise="pair"), AdditiveGP(parts=("own",))], ids=str
)
def test_the_closed_form_is_the_posterior_without_the_pair(model: str | GP | AdditiveGP) -> None:
    study = Study(small_problems.numbered(), model=model, initial=3, seed=1).run(70)
    assert_same_as_removal(study, 1e-8)


def test_pairs_without_noise_are_taken_out_one_by_one() -> None:
    exact = Problem([1, 2, 3], X.tolist(), lambda a, x, _seed: float(np.sin(3 * a * x)))
    study = Study(exact, model=GP(noise_sd=1e-7), initial=1).run(18)
    known = study._learned()
    *_, closed = left_out.left_out(
        study.model, exact.setting, study._tally, known.params, known.belief, np.ones(exact.shape, bool)
    )
    assert not closed.any()
    assert_same_as_removal(study, 1e-12)
    check = model_check.of_study(study.view())
    assert np.isfinite(check.pairs["z"]).all()
    assert np.isnan(check.p_value)
    assert check.fits == (check.n_flagged == 0)


def test_pairs_of_very_many_alternatives_are_predicted_in_closed_form_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, rng = np.linspace(0.0, 1.0, 70), np.random.default_rng(1)
    problem, model = Problem(x.tolist(), [0.0, 0.5, 1.0]), AdditiveGP()
    count = np.zeros(problem.shape, np.int64)
    count[::3, ::2] = 2
    count[-1, 0] = 8  # of an alternative that is out
    mean = np.where(
        count > 0, np.sin(4 * x[:, None] + np.arange(3)) + 0.2 * rng.normal(size=count.shape), 0.0
    )
    tally = Tally(count, mean, 0.1 * np.maximum(count - 1.0, 0.0))
    params = model.fit(tally, problem.setting)
    usual = model_check.check(problem, model, problem.setting, tally, params)
    monkeypatch.setattr(landmarks, "_CELLS", 96)  # 32 alternatives are followed
    monkeypatch.setattr(seen_cells, "_WORK", 0.0)
    monkeypatch.setattr(seen_cells, "_FEWEST_CELLS", 4)  # and few cells tell the variances of the others
    assert isinstance(model.posterior(tally, problem.setting, params), FocusedBelief)
    calls, posterior = [0], AdditiveGP.posterior

    def counted(*given: Any) -> Any:
        calls[0] += 1
        return posterior(*given)

    monkeypatch.setattr(AdditiveGP, "posterior", counted)
    focused = model_check.check(problem, model, problem.setting, tally, params)
    same = ["n", "observed", "predicted", "sd", "residual", "z"]
    pd.testing.assert_frame_equal(focused.pairs[same], usual.pairs[same], rtol=1e-6)
    assert calls == [2]


def test_z_scores_and_p_value_are_those_of_the_dense_inverse() -> None:
    """Rasmussen and Williams, (5.12): with A the inverse covariance of the data, z = A r / √diag(A)."""
    tally = made_by_the_model(np.random.default_rng(1), all_pairs=False)
    check = checked(tally)
    z, blocks = [], []
    for k in range(K):
        seen = np.flatnonzero(tally.count[k])
        cov = prior(k)[np.ix_(seen, seen)] + np.diag(NOISE[k, seen] / tally.count[k, seen])
        inverse = np.linalg.inv(cov)
        root = np.sqrt(np.diag(inverse))
        z += list(inverse @ (tally.mean[k, seen] - CONSTANTS[k]) / root)
        blocks.append(np.sum((inverse / np.outer(root, root)) ** 2))
    assert len(check.pairs) == np.count_nonzero(tally.count) < K * C
    np.testing.assert_allclose(check.pairs["z"], z, rtol=1e-9)
    np.testing.assert_allclose(check.pairs["residual"] / check.pairs["sd"], z, rtol=1e-9)
    assert check.rms == pytest.approx(np.sqrt(np.mean(np.square(z))))
    n, variance = len(z), 2 * np.sum(blocks)
    expected = stats.chi2.sf(np.sum(np.square(z)) / (variance / (2 * n)), 2 * n**2 / variance)
    assert check.p_value == pytest.approx(expected, rel=1e-9)
    assert check.limit == pytest.approx(stats.norm.isf(0.05 / 7 / 2 / n))


def test_a_model_that_holds_is_doubted_in_one_study_of_twenty_at_most() -> None:
    """100 studies; at the promised 5 % more than 17 doubts have a probability below 1e-6."""
    rng = np.random.default_rng(2)
    checks = [checked(made_by_the_model(rng)) for _ in range(100)]
    doubts = sum(not check.fits for check in checks)
    assert doubts <= stats.binom.isf(1e-6, 100, 0.05)
    assert doubts > 0  # the check can fail at all
    scores = np.concatenate([check.pairs["z"] for check in checks])
    assert np.std(scores) == pytest.approx(1.0, abs=0.07)


def test_a_pair_that_does_not_belong_is_flagged_by_name() -> None:
    tally = made_by_the_model(np.random.default_rng(3))
    assert checked(tally).fits
    mean = tally.mean.copy()
    mean[1, 2] += 15.0
    check = checked(Tally(tally.count, mean, tally.m2))
    assert not check.fits
    worst = check.pairs.iloc[int(check.pairs["z"].abs().argmax())]
    assert (worst["alternative"], worst["context"], worst["flagged"]) == ("B", X[2], True)
    assert str(check).startswith("the model does not fit: z-scores have a root mean square of ")
    assert f"{check.n_flagged} of 18 pairs beyond ±3.5." in str(check)
    assert f"Alternative 'B' in context {X[2]}: z = {worst['z']:+.1f}" in str(check)
    assert check.doubted[2]


def test_many_small_misfits_are_noticed_together() -> None:
    tally = made_by_the_model(np.random.default_rng(4))
    mean = CONSTANTS[:, None] + 2.0 * (tally.mean - CONSTANTS[:, None])
    check = checked(Tally(tally.count, mean, tally.m2))
    assert check.n_flagged == 0
    assert check.p_value < 0.05 / 7
    assert check.doubted.all()
    assert any(said.startswith("Z-scores are too large as a whole (p = ") for said in check.objections)


def test_smaller_is_better_turns_the_signs_only() -> None:
    tally = made_by_the_model(np.random.default_rng(4))
    larger = checked(tally).pairs
    smaller = checked(tally, Problem(list("ABC"), X.tolist(), goal="min")).pairs
    for name in ("observed", "predicted", "residual", "z"):
        np.testing.assert_array_equal(larger[name], -smaller[name])
    np.testing.assert_array_equal(larger["sd"], smaller["sd"])


@pytest.mark.parametrize("model", sorted(set(registry.MODELS) - {"independent"}))
def test_every_model_that_joins_contexts_can_be_checked(model: str) -> None:
    check = model_check.of_study(Study(small_problems.numbered(), model=model, initial=2).run(45).view())
    assert len(check.pairs) == 20
    assert np.isfinite(check.pairs[["predicted", "sd", "residual", "z"]]).all().all()


def test_of_independent_pairs_only_the_rewards_are_tested() -> None:
    study = Study(small_problems.table(), policy="c-ocba", model="independent", initial=4).run(80)
    check = model_check.of_study(study.view())
    assert check.fits
    assert len(check.pairs) == check.n_flagged == 0
    assert np.isnan([check.rms, check.p_value, check.limit]).all()
    assert str(check) == (
        "no evidence against the model: this model cannot predict a pair from the others, so only the shape "
        "of the rewards was tested."
    )
    with pytest.raises(InputError, match="so there is nothing to draw"):
        report.plot_model_check(study)


def test_of_independent_pairs_with_two_replications_nothing_is_tested() -> None:
    check = (
        Study(small_problems.table(), policy="c-ocba", model="independent", initial=2).run(40).model_check()
    )
    assert str(check).endswith(
        "cannot predict a pair from the others, so nothing could be tested. With 3 or more replications of a "
        "pair, the shape of its rewards is tested."
    )


def test_before_the_model_can_be_fitted_single_rewards_are_tested() -> None:
    study = Study(small_problems.table(), model="independent", initial=2)
    few = study.ask(1)[0]
    study.tell(few, 1.0)
    check = study.model_check()
    assert str(check).startswith(
        "no evidence against the model: it cannot be fitted yet, so nothing could be tested. The pair of "
    )
    assert "a sample variance needs 2 of every pair" in str(check)
    assert (check.fits, len(check.pairs), len(check.contexts)) == (True, 0, study.problem.n_contexts)
    trial = study.ask(1)[0]
    study.tell(trial, [0.0, 0.001, -0.001, 0.002, -0.002, 0.0015, -0.0015, 0.0005, 100.0])
    check = study.model_check()
    assert str(check).startswith(
        "the model does not fit: it cannot be fitted yet, so only the shape of the rewards was tested. "
        "Single rewards are farther from the others of their pair than normal ones would be"
    )
    assert check.everywhere


def test_of_independent_rates_the_number_of_successes_and_failures_is_tested() -> None:
    def success(alternative: str, context: int, seed: int) -> bool:
        return np.random.default_rng(seed).random() < 0.5

    study = Study(Problem(["a", "b"], [0, 1], success), model="independent", policy="equal", initial=2)
    assert str(study.run(80).model_check()) == (
        "no evidence against the model: this model cannot predict a pair from the others, so only whether "
        "enough successes and failures were seen was tested."
    )


def test_rewards_of_independent_pairs_that_are_not_normal_are_told() -> None:
    study = misfits.study_of(misfits.rarely_a_loss, 1)
    params = Independent().fit(study._tally, study.problem.setting)
    check = model_check.check(
        study.problem, Independent(), study.problem.setting, study._tally, params,
        rewards=study.view().replicates(),
    )  # fmt: skip
    assert str(check).startswith(
        "the model does not fit: this model cannot predict a pair from the others, so only the shape of the "
        "rewards was tested. Single rewards are farther from the others of their pair than normal ones would"
    )


def test_nothing_is_checked_before_anything_is_told() -> None:
    with pytest.raises(InputError, match="nothing is known yet"):
        model_check.of_study(Study(PROBLEM).view())


def test_pairs_that_nothing_else_speaks_of_are_not_checked() -> None:
    def noise(alternative: str, context: int, seed: int) -> float:
        return ord(alternative) + seed % 1000 / 1000 + context

    study = Study(Problem(["a", "b", "c"], [0], noise), policy="gp-c-ocba", common_random_numbers=False).run(
        30
    )
    assert len(study.model_check().pairs) == 0
    assert study.model_check().verdict == "no evidence against the model"


def test_small_z_scores_are_no_proof_that_the_model_fits() -> None:
    pairs, none = pd.DataFrame({"flagged": [False, False]}), pd.DataFrame({"off": [False]})

    def verdict(rms: float, p_value: float, alike: float = np.nan, noise: float = np.nan) -> str:
        return ModelCheck(pairs, rms, p_value, 2.5, none, none, alike, noise).verdict

    assert verdict(0.1, 0.99) == "no evidence against the model"
    assert verdict(0.9, 0.6, 0.3, 0.4) == "the model fits"
    assert verdict(1.9, 0.001) == verdict(0.9, 0.6, 0.001) == verdict(0.9, 0.6, 0.3, 0.001)
    assert verdict(1.9, 0.001) == "the model does not fit"


def test_regions_are_judged_by_the_correlations_of_their_own_z_scores() -> None:
    """Against the dense inverse of each alternative's covariance; contexts join independent alternatives."""
    tally = made_by_the_model(np.random.default_rng(5))
    check = checked(tally)
    for k in range(K):
        inverse = np.linalg.inv(prior(k) + np.diag(NOISE[k] / tally.count[k]))
        root = np.sqrt(np.diag(inverse))
        z, related = inverse @ (tally.mean[k] - CONSTANTS[k]) / root, inverse / np.outer(root, root)
        row = check.alternatives.iloc[k]
        assert (row["n"], row["rms"]) == (C, pytest.approx(np.sqrt(np.mean(z**2))))
        assert row["shift"] == pytest.approx(np.mean(z))
        scale = np.sum(related**2) / C
        large = stats.chi2.sf(np.sum(z**2) / scale, C / scale)
        aside = 2 * stats.norm.sf(abs(np.sum(z)) / np.sqrt(related.sum()))
        assert row["p_value"] == pytest.approx(min(1.0, 2 * min(large, aside)), rel=1e-8)
    z = check.pairs["z"].to_numpy().reshape(K, C)
    for c in range(C):
        large = stats.chi2.sf(np.sum(z[:, c] ** 2), K)
        aside = 2 * stats.norm.sf(abs(z[:, c].sum()) / np.sqrt(K))
        assert check.contexts["p_value"][c] == pytest.approx(min(1.0, 2 * min(large, aside)), rel=1e-8)


def test_a_context_where_all_alternatives_are_off_is_named() -> None:
    tally = made_by_the_model(np.random.default_rng(3))
    mean = tally.mean.copy()
    mean[:, 3] += 2.2
    check = checked(Tally(tally.count, mean, tally.m2))
    assert check.contexts["off"].tolist() == [False, False, False, True, False, False]
    assert not check.fits
    assert f"Off as a whole: context {X[3]} (z-scores with a root mean square of 2." in str(check)
    assert check.doubted.tolist() == check.contexts["off"].tolist()


def test_influence_is_what_removal_changes() -> None:
    study = Study(small_problems.numbered(), policy="gp-c-ocba", initial=3, seed=1).run(70)
    params, setting, tally = study._learned().params, study.problem.setting, study._tally
    belief = study.model.posterior(tally, setting, params)
    check = study.model_check()
    shape = study.problem.shape
    for i, (k, c) in enumerate(np.ndindex(shape)):
        removed = study.model.posterior(without(tally, k, c), setting, params)
        change = np.abs(removed.mean - belief.mean) / np.sqrt(belief.var)
        change[k, c] = 0.0
        turned = np.argmax(removed.mean, axis=0) != np.argmax(belief.mean, axis=0)
        turned[c] = False
        assert check.pairs["influence"][i] == pytest.approx(change.max(), abs=1e-7)
        assert check.pairs["turned"][i] == turned.sum()


def test_alternatives_that_share_a_trend_are_noticed_where_the_model_has_none() -> None:
    trend = np.sin(4 * X)
    rng = np.random.default_rng(6)
    count = np.full((8, C), 3)
    problem = Problem(list("ABCDEFGH"), X.tolist())
    each = np.zeros(8, np.int64)
    params = GPParams(
        np.full((8, 1), 0.4), np.ones(8), np.full((8, C), 0.3), np.zeros(8), np.zeros((8, 3)), np.zeros(8),
        np.ones(8), each, each, each, np.ones(8, bool),
    )  # fmt: skip

    def p_value(common: Array) -> float:
        draws = rng.multivariate_normal(np.zeros(C), prior(0), 8)
        mean = common + 0.5 * draws + rng.normal(size=(8, C)) * np.sqrt(0.1)
        tally = Tally(count, mean, np.full((8, C), 0.6))
        return model_check.check(problem, GP(), problem.setting, tally, params).alike_p_value

    assert np.max([p_value(trend) for _ in range(10)]) < 0.01
    assert np.min([p_value(np.zeros(C)) for _ in range(10)]) > 0.01


def drawn_scores() -> tuple[Tally, Belief, left_out.Relations, Array]:
    """Return a study that the model made, what relates its z-scores, and 2,000 draws of these."""
    tally = made_by_the_model(np.random.default_rng(7))
    belief = GP().posterior(tally, PROBLEM.setting, PARAMS)
    every = np.ones((K, C), bool)
    related = left_out.relations(belief, tally, every, every)
    root = np.linalg.cholesky(related.correlation + 1e-12 * np.eye(K * C))
    draws = (root @ np.random.default_rng(8).standard_normal((K * C, 2000))).T
    return tally, belief, related, draws


def test_the_likeness_of_alternatives_has_its_level_by_simulation() -> None:
    """Z-scores of the model's own correlation: 2,000 draws put 5 % to within 1.6 % at three sigmas."""
    _, _, related, draws = drawn_scores()
    found = np.array([discrepancies.alike(PROBLEM.setting, z, related) for z in draws])
    assert np.mean(found < 0.05) == pytest.approx(0.05, abs=0.016)


def with_common_noise(rng: np.random.Generator) -> Tally:
    """Four replications of every pair, nine tenths of whose noise is common to all alternatives."""
    truth = np.stack([rng.multivariate_normal(np.full(C, CONSTANTS[k]), prior(k)) for k in range(K)])
    shock = np.sqrt(0.9) * rng.normal(size=(C, 4)) + np.sqrt(0.1) * rng.normal(size=(K, C, 4))
    values = truth[..., None] + np.sqrt(NOISE)[..., None] * shock
    tally = tallies.empty((K, C), common=True)
    for k, c, r in np.ndindex(values.shape):
        tally = common_cases.numbered(tally, Decision(np.asarray(k), np.asarray(c)), values[k, c, r], r)
    return tally


KNOWN = replace(PARAMS, correlation=np.full(C, 0.9))


def test_with_common_noise_z_scores_are_those_of_the_dense_inverse() -> None:
    """The means by generalised least squares are normal with the covariance K + (Dᵀ N⁻¹ D)⁻¹."""
    tally = with_common_noise(np.random.default_rng(11))
    check = model_check.check(PROBLEM, GP(), PROBLEM.setting, tally, KNOWN)
    assert tally.common is not None
    cells = tally.common.alternative * C + tally.common.context
    design = (cells[:, None] == np.arange(K * C)).astype(float)
    same = (tally.common.context[:, None] == tally.common.context) & (
        tally.common.number[:, None] == tally.common.number
    )
    sd = np.sqrt(NOISE.ravel()[cells])
    noise = np.where(same, np.where(cells[:, None] == cells, 1.0, 0.9), 0.0) * sd[:, None] * sd
    within = np.linalg.inv(design.T @ np.linalg.solve(noise, design))
    means = within @ design.T @ np.linalg.solve(noise, tally.common.value)
    total = within.copy()
    for k in range(K):
        total[k * C : (k + 1) * C, k * C : (k + 1) * C] += prior(k)
    off = means - np.repeat(CONSTANTS, C)
    for i in range(K * C):
        rest = np.arange(K * C) != i
        weight = np.linalg.solve(total[np.ix_(rest, rest)], total[rest, i])
        sd_i = np.sqrt(total[i, i] - weight @ total[rest, i])
        np.testing.assert_allclose(check.pairs["z"][i], (off[i] - weight @ off[rest]) / sd_i, rtol=1e-7)
        np.testing.assert_allclose(check.pairs["sd"][i], sd_i, rtol=1e-7)
    belief = GP().posterior(tally, PROBLEM.setting, KNOWN)
    first = np.linalg.solve(total[1:, 1:], off[1:])
    cross = np.zeros((K * C, K * C - 1))
    for k in range(K):
        cross[k * C : (k + 1) * C, np.maximum(k * C - 1, 0) : (k + 1) * C - 1] = prior(k)[
            :, 1 if k == 0 else 0 :
        ]
    moved = np.abs(np.repeat(CONSTANTS, C) + cross @ first - belief.mean.ravel()) / np.sqrt(
        belief.var.ravel()
    )
    assert check.pairs["influence"][0] == pytest.approx(moved[1:].max(), rel=1e-6)


@pytest.mark.slow
def test_with_common_noise_that_is_known_a_model_that_holds_is_seldom_doubted() -> None:
    """60 studies; at the promised 5 % more than 14 doubts have a probability below 1e-6."""
    rng = np.random.default_rng(12)
    checks = [
        model_check.check(PROBLEM, GP(), PROBLEM.setting, with_common_noise(rng), KNOWN) for _ in range(60)
    ]
    assert sum(not check.fits for check in checks) <= stats.binom.isf(1e-6, 60, 0.05)
    assert np.isfinite([check.alike_p_value for check in checks]).all()
    assert all(check.contexts["p_value"].notna().all() for check in checks)


def test_noise_that_alternatives_share_is_no_misfit() -> None:
    """40 studies; at the promised 5 % more than 12 doubts have a probability below 1e-6."""
    rng = np.random.default_rng(9)
    together = [with_common_noise(rng) for _ in range(40)]
    checks = [checked(each) for each in together]
    assert sum(not check.fits for check in checks) <= stats.binom.isf(1e-6, 40, 0.05)
    assert np.isnan([check.alike_p_value for check in checks]).all()
    assert all(check.contexts["p_value"].isna().all() for check in checks)
    blind = [checked(each.statistics_alone) for each in together]  # the same numbers, taken as independent
    assert min(check.contexts["p_value"].min() for check in blind) < 1e-3


def test_where_noise_is_shared_each_alternative_speaks_for_itself() -> None:
    check = checked(with_common_noise(np.random.default_rng(10)))
    large = []
    for k in range(K):
        z = check.pairs["z"].to_numpy().reshape(K, C)[k]
        inverse = np.linalg.inv(prior(k) + np.diag(NOISE[k] / 4))
        root = np.sqrt(np.diag(inverse))
        scale = np.sum((inverse / np.outer(root, root)) ** 2) / C
        large.append(stats.chi2.sf(np.sum(z**2) / scale, C / scale))
    assert check.p_value == pytest.approx(min(1.0, K * min(large)), rel=1e-8)


def test_of_very_many_pairs_some_spread_over_the_table_stand_for_all() -> None:
    chosen = model_check._spread(np.ones((80, 50), bool))
    assert 950 <= chosen.sum() <= model_check._MOST_PAIRS
    assert chosen.any(axis=0).all()
    assert chosen.any(axis=1).all()
    few = np.ones((10, 10), bool)
    assert model_check._spread(few) is few


SKEWED = pytest.mark.filterwarnings("ignore:rewards look far from normal")  # as waiting times are
QUEUES = [("queue-staffing", 300), ("newsvendor", 300)]


def rejected(name: str, budget: int, seed: int) -> bool:
    problem = registry.problem_entry(name).make()
    assert isinstance(problem, Problem)
    return not Study(problem, policy="gp-c-ocba", model="gp", seed=seed).run(budget).model_check().fits


@SKEWED
@pytest.mark.parametrize(("name", "budget"), QUEUES)
def test_noise_or_likeness_that_the_model_ignores_is_found(name: str, budget: int) -> None:
    assert rejected(name, budget, 3)


@pytest.mark.slow
@SKEWED
@pytest.mark.parametrize(("name", "budget"), [*QUEUES, ("newsvendor", 700)])
def test_the_model_of_the_paper_is_rejected_where_it_does_not_hold(name: str, budget: int) -> None:
    """In nine studies of ten: then fewer than 23 of 30 have a probability below 1 %."""
    found = sum(rejected(name, budget, seed) for seed in range(200, 230))
    assert found >= stats.binom.ppf(0.01, 30, 0.9)


@pytest.mark.slow
def test_fitted_models_that_hold_are_doubted_at_the_stated_level() -> None:
    """200 adaptive studies with learned hyper-parameters: more than 21 have probability 1e-3."""
    family: Any = registry.problem_entry("gp-draws").make()
    doubts = 0
    for seed in range(200):
        study = Study(family.draw(seed), policy="gp-c-ocba", model="gp", seed=seed).run(400)
        doubts += not study.model_check().fits
    assert doubts <= stats.binom.isf(1e-3, 200, 0.05)


def stepped(goal: str = "max", alternatives: Any = slice(None)) -> ModelCheck:
    """A smooth model on means that jump up by 3 between the third and the fourth context."""
    tally = made_by_the_model(np.random.default_rng(3))
    mean = tally.mean.copy()
    mean[alternatives, 3:] += 3.0
    return checked(Tally(tally.count, mean, tally.m2), Problem(list("ABC"), X.tolist(), goal=goal))


def test_a_jump_is_found_where_it_is_by_the_score_test() -> None:
    """With Σ the covariance of the data and m the jump: t = mᵀ Σ⁻¹ r/√(mᵀ Σ⁻¹ m), by dense algebra."""
    check = stepped(alternatives=2)
    assert check.steps["alternative"].tolist()[0] == "C"
    row = check.steps.iloc[0]
    assert (row["column"], row["below"], row["above"]) == ("context", X[2], X[3])
    tally = made_by_the_model(np.random.default_rng(3))
    jump = np.array([0.0, 0, 0, 1, 1, 1])
    inverse = np.linalg.inv(prior(2) + np.diag(NOISE[2] / tally.count[2]))
    off = tally.mean[2] + 3.0 * jump - CONSTANTS[2]
    assert row["z"] == pytest.approx(jump @ inverse @ off / np.sqrt(jump @ inverse @ jump), rel=1e-8)
    assert check.doubted.all()
    said = f"Rewards of alternative 'C' jump up between context = 0.35 and 0.5 (z = {row['z']:+.1f}), and the"
    assert any(each.startswith(said) for each in check.objections)


def test_a_jump_of_all_alternatives_is_told_of_all_and_turns_with_the_goal() -> None:
    up, down = stepped(), stepped("min")
    assert up.steps["alternative"][0] is None
    assert any(each.startswith("Rewards of all alternatives jump up between") for each in up.objections)
    assert any(each.startswith("Rewards of all alternatives jump down between") for each in down.objections)
    np.testing.assert_allclose(down.steps["z"], -up.steps["z"])


@pytest.mark.slow
def test_tests_of_jumps_are_standard_normal_where_the_model_holds() -> None:
    """2,000 draws with the model's own correlation: Bonferroni's 5 % may not be exceeded by three sigmas."""
    tally, belief, related, draws = drawn_scores()
    sd = np.sqrt(belief.var + NOISE / tally.count).ravel()
    found = [len(discrepancies.steps(PROBLEM, z, sd, related, 0.05)) > 0 for z in draws]
    assert 0.02 < np.mean(found) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


def test_contexts_without_numbers_have_no_jumps() -> None:
    problem = Problem([1.0, 2.0, 3.0], list("abcdef"), small_problems.Plain())
    tally = made_by_the_model(np.random.default_rng(3))
    check = model_check.check(
        problem, AdditiveGP(), problem.setting, tally, AdditiveGP().fit(tally, problem.setting)
    )
    assert len(check.steps) == 0


def test_scores_are_student_s_where_the_noise_is_known_from_few_replications() -> None:
    z = np.array([-3.0, 0.0, 2.0, 3.0])
    score = model_check._scored(z, np.ones(4), np.full(4, 5.0))
    np.testing.assert_allclose(stats.norm.cdf(score), stats.t.cdf(z, 5), rtol=1e-9)
    np.testing.assert_allclose(model_check._scored(z, np.full(4, 1e-3), np.full(4, 5.0)), z, rtol=1e-4)
    half = model_check._scored(z, np.full(4, 0.5), np.full(4, 5.0))
    np.testing.assert_allclose(stats.norm.cdf(half), stats.t.cdf(z, 20), rtol=1e-9)


def test_noise_is_known_in_as_many_degrees_of_freedom_as_variances_agree() -> None:
    rng, count = np.random.default_rng(0), np.full((8, 8), 5)

    def median(spread: float) -> float:
        m2 = np.exp(spread * rng.normal(size=(8, 8))) * rng.chisquare(4, (8, 8))
        return float(np.median(model_check._firmness(Tally(count, np.zeros((8, 8)), m2))))

    assert 4 < median(2.0) < 8 < 30 < median(0.0)


def test_what_means_miss_is_not_counted_as_noise() -> None:
    study = misfits.study_of(misfits.one_pair_off, 2, adaptive=True)
    params, tally = study._learned().params, study._tally
    noise = model_check._with_scatter(params, tally).noise
    assert np.sum(tally.m2 / noise) == pytest.approx(np.sum(tally.count - 1), rel=0.02)
    few = Tally(np.full((2, 3), 2), np.zeros((2, 3)), np.ones((2, 3)))
    assert model_check._with_scatter(params, few) is params


def test_replications_that_agree_by_chance_do_not_count_as_exact() -> None:
    count, m2 = np.full((4, 6), 3), np.exp(np.random.default_rng(0).normal(0, 1.5, (4, 6)))
    m2[1, 2] = 1e-9
    params = AdditiveGP().fit(Tally(count, np.zeros((4, 6)), m2), Problem(list("abcd"), range(6)).setting)
    noise = model_check._with_scatter(params, Tally(count, np.zeros((4, 6)), m2)).noise
    usual = np.exp(np.delete(np.log(noise[1]), 2).mean())
    assert noise[1, 2] > 0.3 * usual


def test_a_model_with_a_noise_level_per_pair_is_never_told_to_use_one() -> None:
    noise = misfits.SD * np.exp(np.random.default_rng(0).normal(0, 2, (misfits.K, misfits.C)))

    def uneven(_: np.random.Generator) -> misfits.Draw:
        return lambda k, c, g: noise[k, c] * g[0]

    study = misfits.study_of(uneven, 1)
    assert np.isnan(study.model_check().noise_p_value)
    given: list[tuple[Any, str, str]] = [
        (
            AdditiveGP(noise="pooled"),
            "one noise level",
            "Leave out noise='pooled': every pair then has its own.",
        ),
        (GP(), "one noise level per alternative", "Use one per pair: noise='pair'."),
        (AdditiveGP(noise_sd=0.3), "noise levels that are given", "Correct noise_sd, or leave it out."),
        (Linear(), "one noise level per alternative", "Use one per pair: additive-gp."),
    ]
    for model, assumed, advice in given:
        params = model.fit(study._tally, study.problem.setting)
        check = model_check.check(study.problem, model, study.problem.setting, study._tally, params)
        [said] = [each for each in check.objections if each.startswith("The model assumes ")]
        assert said.startswith(f"The model assumes {assumed} for pairs whose noise differs")
        assert said.endswith(advice)
