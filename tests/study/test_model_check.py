"""The model check against removal, against dense linear algebra, and on data that the model made."""

import numpy as np
import oracles
import pandas as pd
import pytest
import small_problems
from scipy import stats

from argbest import GP, AdditiveGP, InputError, Problem, Study, registry
from argbest.core.arrays import Array
from argbest.core.tally import Tally
from argbest.models.gp import GPParams
from argbest.study import model_check
from argbest.study.model_check import ModelCheck

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
    mean, var, _ = model_check.left_out(study.model, setting, study._tally, params, belief)
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
    *_, closed = model_check.left_out(study.model, exact.setting, study._tally, known.params, known.belief)
    assert not closed.any()
    assert_same_as_removal(study, 1e-12)
    check = model_check.of_study(study)
    assert np.isfinite(check.pairs["z"]).all()
    assert np.isnan(check.p_value)
    assert check.fits == (check.n_flagged == 0)


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
    assert check.limit == pytest.approx(stats.norm.isf(0.0125 / n))


def test_a_model_that_holds_is_doubted_in_one_study_of_twenty_at_most() -> None:
    """200 studies; at the promised 5 % more than 27 doubts have a probability below 1e-6."""
    rng = np.random.default_rng(2)
    checks = [checked(made_by_the_model(rng)) for _ in range(200)]
    doubts = sum(not check.fits for check in checks)
    assert doubts <= stats.binom.isf(1e-6, 200, 0.05)
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
    assert f"{check.n_flagged} of 18 pairs beyond ±3.2" in str(check)


def test_many_small_misfits_are_noticed_together() -> None:
    tally = made_by_the_model(np.random.default_rng(4))
    mean = CONSTANTS[:, None] + 2.0 * (tally.mean - CONSTANTS[:, None])
    check = checked(Tally(tally.count, mean, tally.m2))
    assert check.n_flagged == 0
    assert check.p_value < 0.025
    assert not check.fits


def test_smaller_is_better_turns_the_signs_only() -> None:
    tally = made_by_the_model(np.random.default_rng(4))
    larger = checked(tally).pairs
    smaller = checked(tally, Problem(list("ABC"), X.tolist(), goal="min")).pairs
    for name in ("observed", "predicted", "residual", "z"):
        np.testing.assert_array_equal(larger[name], -smaller[name])
    np.testing.assert_array_equal(larger["sd"], smaller["sd"])


@pytest.mark.parametrize("model", sorted(set(registry.MODELS) - {"independent"}))
def test_every_model_that_joins_contexts_can_be_checked(model: str) -> None:
    check = model_check.of_study(Study(small_problems.numbered(), model=model, initial=2).run(45))
    assert len(check.pairs) == 20
    assert np.isfinite(check.pairs[["predicted", "sd", "residual", "z"]]).all().all()


def test_independent_pairs_cannot_check_each_other() -> None:
    study = Study(small_problems.table(), policy="c-ocba", model="independent").run(40)
    with pytest.raises(InputError, match="predicts no pair from the others"):
        model_check.of_study(study)


def test_nothing_is_checked_before_anything_is_told() -> None:
    with pytest.raises(InputError, match="nothing is known yet"):
        model_check.of_study(Study(PROBLEM))


def test_pairs_that_nothing_else_speaks_of_are_not_checked() -> None:
    def noise(alternative: str, context: int, seed: int) -> float:
        return ord(alternative) + seed % 1000 / 1000 + context

    study = Study(Problem(["a", "b", "c"], [0], noise), policy="gp-c-ocba").run(30)
    with pytest.raises(InputError, match="predicts no pair from the others"):
        study.model_check()


def test_small_z_scores_are_no_proof_that_the_model_fits() -> None:
    pairs = pd.DataFrame({"flagged": [False, False]})
    assert ModelCheck(pairs, 0.1, 0.99, 2.5).verdict == "nothing speaks against the model"
    assert ModelCheck(pairs, 0.9, 0.6, 2.5).verdict == "the model fits"
    assert ModelCheck(pairs, 1.9, 0.001, 2.5).verdict == "the model does not fit"
