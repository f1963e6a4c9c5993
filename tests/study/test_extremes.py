"""Rewards of any size give the answers of ordinary ones, or one sentence; warnings are errors here."""

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argbest import Problem, Study, registry
from argbest.core.tally import LARGEST, SMALLEST
from argbest.errors import ArgbestError, InputError, SimulationError

CONTEXTS = [0.0, 1.0, 2.0, 3.0]
MODELS = pytest.mark.parametrize("model", registry.MODELS)
POLICIES = pytest.mark.parametrize("policy", [name for name in registry.POLICIES if name != "ocba"])
NOISES = pytest.mark.parametrize("noise", [0.0, 0.1])


def study(unit: float, noise: float = 0.1, model: str | None = None, policy: str = "gp-c-ocba") -> Study:
    def simulate(alternative: float, context: float, seed: int) -> float:
        line = (0.1 * context, 1.0 - 0.2 * context, 0.5)[int(alternative)]
        return unit * (line + noise * float(np.random.default_rng(seed).standard_normal()))

    return Study(Problem([0.0, 1.0, 2.0], CONTEXTS, simulate), model=model, policy=policy, seed=1, initial=2)


@cache
def in_the_middle(noise: float, model: str) -> tuple[Study, dict[str, Any]]:
    """A study of ordinary rewards, and the answers of it that take long."""
    plain = study(1.0, noise, model).run(40)
    checked = None if model == "independent" else plain.model_check()  # it checks nothing
    return plain, {"history": plain.history(points=3), "check": checked, "certificate": plain.certificate()}


@cache
def seeds_in_the_middle(policy: str) -> list[int]:
    return list(study(1.0, policy=policy).run(40).trials()["seed"])


@pytest.mark.parametrize(
    ("unit", "noise"),
    [(2.0**-430, 0.1), (2.0**430, 0.0)]
    + [pytest.param(*each, marks=pytest.mark.slow) for each in ((2.0**-430, 0.0), (2.0**430, 0.1))],
)
@MODELS
@pytest.mark.fast_cases("gp-3*", "linear-2*", "additive-gp-2*")
def test_every_model_answers_near_the_ends_of_the_range_as_it_does_in_the_middle(
    model: str, noise: float, unit: float, tmp_path: Path
) -> None:
    (plain, found), other = in_the_middle(noise, model), study(unit, noise, model).run(40)
    one, two = plain.selection(), other.selection()
    for name in ("selected", "runner_up"):
        assert one[name].tolist() == two[name].tolist()
    for name in ("mean", "gap", "gap_sd", "expected_loss"):
        np.testing.assert_allclose(two[name] / unit, one[name], rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(two["p_best"], one["p_best"], rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(
        other.predict(CONTEXTS)["mean"] / unit, plain.predict(CONTEXTS)["mean"], rtol=1e-4
    )
    sure, usual = other.certificate(), found["certificate"]
    assert float(sure.pcs_e) == pytest.approx(float(usual.pcs_e), rel=1e-3)
    assert float(sure.eoc) / unit == pytest.approx(float(usual.eoc), rel=1e-3)
    np.testing.assert_allclose(other.history(points=3)["pcs_m"], found["history"]["pcs_m"], rtol=1e-3)
    if (expected := found["check"]) is not None:
        check = other.model_check()
        np.testing.assert_allclose(check.pairs["z"], expected.pairs["z"], rtol=1e-3, atol=1e-6)
        assert check.p_value == pytest.approx(expected.p_value, rel=1e-3, nan_ok=True)
    other.report(tmp_path / "report.html")


@pytest.mark.parametrize("unit", [2.0**-430, pytest.param(2.0**430, marks=pytest.mark.slow)])
@POLICIES
@pytest.mark.fast_cases("gp-c-ocba*", "ikg-[!n]*", "top-two*", "dvr-loss*")
def test_every_policy_decides_near_the_ends_of_the_range_as_it_does_in_the_middle(
    policy: str, unit: float
) -> None:
    other = study(unit, policy=policy).run(40)
    assert other.trials()["seed"].tolist() == seeds_in_the_middle(policy)


@pytest.mark.parametrize("unit", [2.0**-430, pytest.param(2.0**430, marks=pytest.mark.slow)])
@POLICIES
@pytest.mark.fast_cases("gp-c-ocba*", "c-ocba*", "ts-[!p]*", "dvr-loss*")
def test_every_policy_finds_the_best_near_the_ends_of_the_range_without_noise(
    policy: str, unit: float
) -> None:
    """Nothing is left to learn then, and rounding may choose among scores that are all but equal."""
    found = study(unit, 0.0, policy=policy).run(40).selection()
    assert found["selected"].tolist() == [1.0, 1.0, 1.0, 2.0]


@NOISES
@pytest.mark.parametrize("unit", [1e-300, 1e-160])
@MODELS
def test_differences_too_small_to_be_squared_are_refused_in_one_sentence(
    model: str, unit: float, noise: float
) -> None:
    with pytest.raises(
        InputError, match=r"the rewards differ by at most 1\.\de-.*Give rewards in a smaller unit"
    ):
        study(unit, noise, model).run(40)


@pytest.mark.parametrize("unit", [1e160, 1e300])
def test_rewards_too_large_to_be_squared_are_refused_with_the_limit(unit: float) -> None:
    with pytest.raises(SimulationError, match=r"not one finite number of at most 1e\+130"):
        study(unit).run(40)
    told = study(1.0)
    [trial] = told.ask()
    with pytest.raises(InputError, match=r"at most 1e\+130"):
        told.tell(trial, unit)
    with pytest.raises(InputError, match=r"a mean is at most 1e\+130"):
        told.tell(trial, mean=unit, variance=1.0, n=3)


def test_equal_rewards_of_any_size_are_no_trouble() -> None:
    for value in (0.0, 5e-324, 1e-300, SMALLEST, 1.0, LARGEST, -LARGEST):
        constant = Study(Problem(["a", "b"], CONTEXTS, lambda *_, value=value: value), seed=1).run(20)
        np.testing.assert_allclose(constant.selection()["mean"], value, rtol=1e-9)


@MODELS
def test_an_alternative_with_tiny_rewards_lives_beside_ordinary_ones(model: str) -> None:
    def simulate(alternative: float, context: float, seed: int) -> float:
        noise = float(np.random.default_rng(seed).standard_normal())
        return (1e-160 if alternative == 0.0 else 1.0) * (alternative + 0.1 * context + 0.1 * noise)

    mixed = Study(Problem([0.0, 1.0, 2.0], CONTEXTS, simulate), model=model, seed=1, initial=4).run(64)
    assert mixed.selection()["selected"].tolist() == [2.0] * 4
    assert (mixed.selection()["p_best"] > 0.99).all()


@pytest.mark.parametrize("context", [1e300, -1e308, 1e10])
@MODELS
def test_contexts_beyond_all_bounds_are_refused_in_one_sentence(model: str, context: float) -> None:
    with pytest.raises(
        InputError, match=r"times the width of the bounds of .* at most 1e\+09 times can be handled"
    ):
        study(1.0, model=model).run(40).predict([context])


@pytest.mark.parametrize("model", [name for name in registry.MODELS if name != "independent"])
def test_contexts_far_away_are_answered(model: str) -> None:
    answer = study(2.0**430, model=model).run(40).predict([1e9])
    assert np.isfinite(answer.select_dtypes("number").to_numpy(float)).all()


def test_contexts_too_far_apart_to_subtract_are_refused() -> None:
    with pytest.raises(ArgbestError, match=r"goes from -1e\+308 to 1e\+308, which is too far apart"):
        Study(Problem([0, 1], [-1e308, 0.0, 1e308], lambda *_: 0.0)).run(4)
    assert math.isfinite(Study(Problem([0, 1], [0.0, 5e-324], lambda a, *_: a)).run(8).selection()["mean"][0])
