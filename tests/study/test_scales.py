"""Units: the scale and the origin of the rewards change no decision, only the numbers shown."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from study.conftest import TRUTH, assert_close, noise, pairs, problem, simulate

from argbest import ExpectedPCS, Problem, Study, options

SCALES = pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e9, 2.0**-40, 2.0**40])
POLICY = pytest.mark.parametrize("policy", ["gp-c-ocba", "equal", "random"])


def scaled(scale: float, offset: float = 0.0) -> Problem:
    return problem(lambda a, c, s: offset + scale * simulate(a, c, s))


@cache
def of_unit_scale(budget: int, policy: str = options.POLICY, stop: ExpectedPCS | None = None) -> Study:
    return Study(problem(), policy=policy, seed=3).run(budget, stop=stop)


@pytest.mark.parametrize(
    ("policy", "scale"),
    [
        *(("gp-c-ocba", scale) for scale in (1e-9, 2.0**40)),
        ("equal", 1e9),
        *(pytest.param("gp-c-ocba", scale, marks=pytest.mark.slow) for scale in (1e-3, 1e9)),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("equal", 1e-9), ("random", 1e9))),
    ],
)
def test_the_scale_of_the_rewards_changes_no_decision(policy: str, scale: float) -> None:
    unit = of_unit_scale(80, policy)
    other = Study(scaled(scale), policy=policy, seed=3).run(80)
    pd.testing.assert_frame_equal(other.trials(), unit.trials())
    one, two = other.selection(), unit.selection()
    assert one["selected"].tolist() == two["selected"].tolist()
    assert one["runner_up"].tolist() == two["runner_up"].tolist()
    for name in ("mean", "gap", "gap_sd", "expected_loss"):
        assert_close(one[name], scale * two[name], 1e-5)
    assert_close(one["p_best"], two["p_best"], 1e-5)
    assert_close(other._belief().noise, scale**2 * unit._belief().noise, 1e-5)


@SCALES
def test_decisions_from_the_prior_do_not_depend_on_the_scale(scale: float) -> None:
    unit, other = (Study(each, initial=0, seed=3).run(40) for each in (problem(), scaled(scale)))
    # The very first decisions rest on a prior without units; from then on the data set the scale.
    assert pairs(other) == pairs(unit)


@pytest.mark.parametrize("offset", [1e3, -1e6, 2.0**20])
def test_the_origin_of_the_rewards_changes_no_decision(offset: float) -> None:
    unit, other = of_unit_scale(80), Study(scaled(1.0, offset), seed=3).run(80)
    assert pairs(other) == pairs(unit)
    assert_close(other.selection()["mean"] - offset, unit.selection()["mean"], 1e-5)
    assert_close(other.selection()["p_best"], unit.selection()["p_best"], 1e-5)


@pytest.mark.parametrize("goal", ["max", "min"])
def test_a_huge_origin_with_unit_noise_is_resolved(goal: str) -> None:
    study = Study(problem(lambda a, c, s: 1e9 + simulate(a, c, s), goal=goal), initial=20, seed=3).run(300)
    unit = Study(problem(goal=goal), initial=20, seed=3).run(300)
    best = TRUTH.argmax(axis=0) if goal == "max" else TRUTH.argmin(axis=0)
    selection = study.selection()
    assert selection["selected"].tolist() == [list("abc")[k] for k in best]
    # Numbers near 1e9 are kept to 1e-7.
    np.testing.assert_allclose(selection["mean"] - 1e9, unit.selection()["mean"], atol=1e-4)
    np.testing.assert_allclose(selection["p_best"], unit.selection()["p_best"], atol=1e-4)
    np.testing.assert_allclose(study.allocation()["sd"], unit.allocation()["sd"], atol=0.2)
    assert (study.allocation()["sd"] > 0.3).all()


@SCALES
def test_stopping_by_probability_does_not_depend_on_the_scale(scale: float) -> None:
    unit = of_unit_scale(300, stop=ExpectedPCS(0.97, delta=0.1))
    other = Study(scaled(scale), seed=3).run(300, stop=ExpectedPCS(0.97, delta=0.1 * scale))
    assert unit.n_replications == other.n_replications < 300


@pytest.mark.parametrize("width", [1e-9, 1e9])
def test_the_scale_of_the_contexts_changes_no_decision(width: float) -> None:
    def wide(alternative: str, context: float, seed: int) -> float:
        return simulate(alternative, round(context / width), seed)

    unit = Study(problem(), seed=3).run(60)
    other = Study(Problem(list("abc"), [width * c for c in range(4)], wide), seed=3).run(60)
    assert other.trials()["seed"].tolist() == unit.trials()["seed"].tolist()
    assert_close(other.selection()["mean"], unit.selection()["mean"], 1e-6)
    assert_close(other.predict([1.5 * width])["mean"], unit.predict([1.5])["mean"], 1e-6)


def test_alternatives_of_very_different_scale_live_together() -> None:
    def mixed(alternative: str, context: int, seed: int) -> float:
        return {"a": 1e-6, "b": 1.0, "c": 1e6}[alternative] * (1.0 + 0.1 * context + 0.05 * noise(seed))

    study = Study(problem(mixed), policy="gp-c-ocba").run(80)
    assert study.selection()["selected"].tolist() == ["c"] * 4
    assert (study.selection()["p_best"] > 0.999).all()
    means = study._belief().mean
    truth = np.multiply.outer([1e-6, 1.0, 1e6], 1.0 + 0.1 * np.arange(4))
    np.testing.assert_allclose(means, truth, rtol=0.1)


@pytest.mark.parametrize(("policy", "tolerance"), [("gp-c-ocba", 1e-9), (options.POLICY, 1e-7)])
def test_permuting_the_alternatives_of_a_noise_free_study_permutes_the_answers(
    policy: str, tolerance: float
) -> None:
    def exact(alternative: str, context: int, _: int) -> float:
        return float(TRUTH["abc".index(alternative), context])

    one = Study(Problem(list("abc"), [0, 1, 2, 3], exact), policy=policy, initial=2).run(24)
    two = Study(Problem(list("cab"), [0, 1, 2, 3], exact), policy=policy, initial=2).run(24)
    names = ["selected", "runner_up"]
    assert one.selection()[names].equals(two.selection()[names])
    means = [each.certificate(integrate=False).belief.mean for each in (one, two)]
    assert_close(means[0], means[1][[1, 2, 0]], tolerance)
    # Averages are over points drawn by the position of an alternative: alike, not the same.
    assert_close(one.selection()["mean"], two.selection()["mean"], 1e-3)
