"""Corner cases: the smallest problems, no noise, no data, zero weights, odd labels and exact ties."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from grids import mostly_slow
from study.conftest import TRUTH, answer, noise, pairs, problem, simulate, started

from argbest import GP, Problem, RandomContexts, Study

NUMBERS = ["mean", "gap", "gap_sd", "p_best", "expected_loss"]
POLICY = pytest.mark.parametrize(
    "policy", mostly_slow(["gp-c-ocba", "equal", "random"], fast=["gp-c-ocba", "equal"])
)


def assert_sound(study: Study) -> None:
    """Every answer is finite and every probability one."""
    selection = study.selection()
    assert np.isfinite(selection[NUMBERS].to_numpy(float)).all()
    assert (selection[["gap", "gap_sd", "expected_loss"]] >= 0).all(axis=None)
    assert selection["p_best"].between(0, 1).all()
    assert (selection["selected"] != selection["runner_up"]).all()
    certificate = study.certificate()
    np.testing.assert_allclose(certificate.best_probability.sum(axis=0), 1.0, rtol=1e-6)
    assert 0 <= float(certificate.p_all) <= 1
    assert 0 <= float(certificate.pcs_m) <= float(certificate.pcs_e) + 1e-12 <= 1 + 2e-12
    assert float(certificate.eoc) >= 0
    predicted = study.predict(study.problem.contexts)
    assert np.isfinite(predicted[NUMBERS].to_numpy(float)).all()


@POLICY
def test_one_context_is_an_ordinary_selection(policy: str) -> None:
    one = Problem(list("abc"), [0], lambda a, _, s: float("abc".index(a)) + noise(s))
    study = Study(one, policy=policy).run(150)
    assert_sound(study)
    assert study.selection()["selected"].tolist() == ["c"]
    elsewhere = study.predict([5])
    assert elsewhere["extrapolated"].tolist() == [True]
    assert elsewhere["selected"].tolist() == ["c"]


@POLICY
def test_two_alternatives_are_enough(policy: str) -> None:
    two = Problem(["a", "b"], [0, 1, 2], lambda a, c, s: (c - 1.5) * (a == "a") + noise(s))
    study = Study(two, policy=policy, seed=2).run(150)
    assert_sound(study)
    assert study.selection()["selected"].tolist()[0] == "b"
    assert set(study.selection()["runner_up"]) <= {"a", "b"}


def test_the_smallest_problem_of_all_runs() -> None:
    study = Study(Problem(["a", "b"], ["only"], lambda a, _, s: (a == "b") + noise(s)), initial=0).run(60)
    assert_sound(study)
    assert study.selection()["selected"].tolist() == ["b"]


@POLICY
@pytest.mark.parametrize("value", [0.0, -1e6, 1e-12])
def test_equal_observations_leave_everything_open(policy: str, value: float) -> None:
    study = Study(problem(lambda _a, _c, _s: value), policy=policy).run(40)
    assert_sound(study)
    np.testing.assert_allclose(study.selection()["mean"], value, rtol=1e-9, atol=1e-9)
    assert (study.tally.m2 == 0).all()


@POLICY
def test_a_simulator_without_noise_is_understood(policy: str) -> None:
    study = Study(problem(lambda a, c, _: float(TRUTH["abc".index(a), c])), policy=policy).run(80)
    assert_sound(study)
    assert study.selection()["selected"].tolist() == ["c", "c", "a", "a"]
    np.testing.assert_allclose(study.selection()["mean"], [4, 3, 3, 4], atol=0.05)


def test_one_noiseless_alternative_among_noisy_ones_is_fine() -> None:
    study = Study(problem(lambda a, c, s: 5.0 if a == "b" else simulate(a, c, s))).run(80)
    assert_sound(study)
    assert study.selection()["selected"].tolist() == ["b"] * 4


@POLICY
def test_one_observation_per_alternative_is_enough_to_go_on(policy: str) -> None:
    study = Study(problem(), initial=[("a", 0), ("b", 1), ("c", 3)], policy=policy)
    answer(study, study.ask(3))
    assert_sound(study)
    answer(study, study.ask(5))
    assert_sound(study)
    assert study.run(60).n_replications == 60


def test_a_single_observation_gives_an_answer() -> None:
    study = Study(problem(), initial=[("b", 2)])
    study.tell(study.ask()[0], 3.0)
    assert_sound(study)
    assert np.isfinite(study.ask(20)[-1].seed)


def test_alternatives_never_sampled_borrow_from_the_others() -> None:
    study = Study(problem(), policy="gp-c-ocba", initial=[("a", c) for c in range(4)] * 3)
    answer(study, study.ask(12))
    assert_sound(study)
    belief = study._belief()
    np.testing.assert_array_equal(belief.mean[1], belief.mean[2])
    assert belief.var[1].min() > belief.var[0].max()


def test_contexts_never_sampled_are_less_certain() -> None:
    study = Study(problem(), initial=[(a, c) for a in "abc" for c in (0, 1)] * 10)
    answer(study, study.ask(60))
    assert_sound(study)
    var = study._belief().var
    assert (var[:, 3] > var[:, 0]).all()
    assert study.allocation().query("context == 3")["n"].sum() == 0


@POLICY
def test_weights_may_be_zero(policy: str) -> None:
    study = Study(problem(weights=[0, 0, 3, 1]), policy=policy).run(60)
    assert_sound(study)
    assert study.certificate().weights.tolist() == [0.0, 0.0, 0.75, 0.25]
    pcs = study.certificate().pcs
    assert float(study.certificate().pcs_e) == pytest.approx(0.75 * pcs[2] + 0.25 * pcs[3], rel=1e-12)


def test_weights_do_not_enter_the_decisions_of_gp_c_ocba() -> None:
    weighted = (problem(weights=weights) for weights in (None, [0, 0, 3, 1]))
    one, two = (Study(each, policy="gp-c-ocba").run(60) for each in weighted)
    assert pairs(one) == pairs(two)


def test_contexts_may_be_text() -> None:
    text = Problem(["x", "y"], ["rain", "sun", "snow"], lambda a, c, s: (a == "x") * len(c) + noise(s))
    study = Study(text).run(80)
    assert_sound(study)
    assert study.selection()["context"].tolist() == ["rain", "sun", "snow"]
    assert {trial.context for trial in study.ask(3, context="snow")} == {"snow"}


def test_contexts_may_be_booleans() -> None:
    study = Study(Problem([1, 2], [False, True], lambda a, c, s: a * (1 if c else -1) + noise(s))).run(80)
    assert_sound(study)
    assert study.selection()["context"].tolist() == [False, True]
    assert study.selection()["selected"].tolist() == [1, 2]
    assert study.predict([True])["extrapolated"].tolist() == [False]


def test_columns_may_be_mixed() -> None:
    contexts = pd.DataFrame(
        {"rate": [1, 2, 3, 4], "peak": [True, False, True, False], "site": ["n", "n", "s", "s"], "fixed": 7.0}
    )

    def mixed(alternative: dict[str, Any], context: dict[str, Any], seed: int) -> float:
        assert isinstance(context["peak"], bool)
        assert isinstance(context["rate"], int)
        assert isinstance(alternative["lean"], bool)
        return context["rate"] * (1 if alternative["lean"] == context["peak"] else -1) + noise(seed)

    study = Study(Problem([{"lean": True}, {"lean": False}], contexts, mixed)).run(100)
    assert_sound(study)
    assert study.selection()["selected"].tolist() == [True, False, True, False]
    assert len(study.predict(contexts)) == 4


@POLICY
def test_exact_ties_are_broken_at_random_but_reproducibly(policy: str) -> None:
    def first(seed: int) -> list[tuple[object, object]]:
        study = Study(problem(lambda _a, _c, _s: 1.0), policy=policy, seed=seed).run(34)
        return pairs(study)[24:]

    assert first(1) == first(1)
    drawn = [tuple(first(seed)) for seed in range(12)]
    assert len(set(drawn)) > 8
    # Were ties broken by order, the same pair would always come first.
    assert len({sequence[0] for sequence in drawn}) > 3


def test_the_first_of_tied_alternatives_is_selected() -> None:
    study = Study(problem(None))
    for trial in study.ask(24):
        study.tell(trial, 1.0)
    assert study.selection()["selected"].tolist() == ["a"] * 4
    assert study.selection()["gap"].tolist() == [0.0] * 4
    np.testing.assert_allclose(study.certificate().best_probability, 1 / 3, atol=0.02)  # by random draws


@pytest.mark.parametrize(
    "model",
    [
        GP(kernel="rbf", prior="modern"),
        GP(prior="none"),
        GP(kernel="matern12"),
        GP(noise_sd=1.0),
        GP(noise_sd=np.full((3, 4), 1.0)),
    ],
    ids=["modern", "none", "matern12", "known", "table"],
)
@pytest.mark.parametrize("initial", [0, 1, 2, RandomContexts(2)], ids=str)
@pytest.mark.fast_cases("0-modern", "1-table", "2-known", "Random*-none", "0-matern12")
def test_every_model_runs_from_every_start(model: GP, initial: Any) -> None:
    assert_sound(Study(problem(), model=model, initial=initial, seed=1).run(45))


def test_many_replications_at_once_settle_a_context() -> None:
    study = started("equal")
    for alternative, mean in zip("abc", (1.0, 1.1, 0.9), strict=True):
        trial = next(t for t in study.ask(40, context=2) if t.alternative == alternative)
        study.tell(trial, mean=mean, variance=1.0, n=10**7)
    assert_sound(study)
    row = study.selection().iloc[2]
    assert row["selected"] == "b"
    assert row["mean"] == pytest.approx(1.1, abs=1e-3)
    assert row["p_best"] > 0.999


@pytest.mark.parametrize("policy", ["gp-c-ocba", "ikg", "levi", "dvr", "dvr-m", "top-two"])
@pytest.mark.fast_cases("gp-c-ocba", "levi", "ikg")
def test_policies_run_on_a_belief_with_correlated_alternatives(policy: str) -> None:
    study = Study(problem(), policy=policy, model="additive-gp", initial=1, seed=4).run(30)
    assert study.n_replications == 30
    assert study.selection()["p_best"].between(0, 1).all()
    np.testing.assert_allclose(study.predict_proba([0, 1.5]).sum(axis=1), 1.0, atol=1e-9)
    assert len({trial.pair for trial in study.ask(6)}) > 1
