"""Means and intervals of a rate are reported within 0 and 1; choices are made with beliefs as they are."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from argbest import Problem, Study
from argbest.answers.intervals import Estimate
from argbest.answers.predicting import posterior, prediction_kit
from argbest.answers.reported import reported_interval, reported_mean
from argbest.report import plot_profiles
from argbest.report.profiles import profiles


def of_rate(mean: float, sd: float) -> float:
    return float(reported_mean(np.array(mean), np.array(sd), rate=True))


@pytest.mark.parametrize("mean", [-2.0, -0.1, 0.0, 0.02, 0.4, 0.5, 0.97, 1.0, 1.3, 4.0])
@pytest.mark.parametrize("sd", [1e-3, 0.05, 0.6, 8.0])
def test_the_mean_of_clipped_draws_is_their_integral(mean: float, sd: float) -> None:
    inside = quad(lambda x: x * norm.pdf(x, mean, sd), 0, 1, points=[np.clip(mean, 0, 1)], epsabs=1e-13)[0]
    assert of_rate(mean, sd) == pytest.approx(inside + norm.sf(1, mean, sd), abs=1e-10)


def test_clipped_draws_have_this_mean() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal(0.93, 0.1, 10**6).clip(0, 1)
    assert abs(draws.mean() - of_rate(0.93, 0.1)) < 4 * draws.std() / 1000  # false alarm: 6e-5


@pytest.mark.parametrize(
    ("mean", "sd", "expected"),
    [
        *((0.3, 0.0, 0.3), (1.2, 0.0, 1.0), (-3.0, 0.0, 0.0)),
        *((0.3, 1e-300, 0.3), (-1e9, 1e-6, 0.0), (1e9, 1e-6, 1.0), (0.5, 1e9, 0.5)),
    ],
)
def test_extremes_have_a_mean_too(mean: float, sd: float, expected: float) -> None:
    assert of_rate(mean, sd) == pytest.approx(expected, abs=1e-6)
    assert 0 <= of_rate(mean, sd) <= 1


def test_success_and_failure_are_mirror_images() -> None:
    mean, sd = np.linspace(-1, 2, 31), np.full(31, 0.3)
    failing = reported_mean(1 - mean, sd, rate=True)
    np.testing.assert_allclose(reported_mean(mean, sd, rate=True), 1 - failing, atol=1e-14)


def test_other_rewards_are_reported_as_they_are() -> None:
    mean, sd = np.array([-3.0, 0.5, 7.0]), np.ones(3)
    np.testing.assert_array_equal(reported_mean(mean, sd, rate=False), mean)
    low, high = reported_interval(mean, sd, 0.95, rate=False)
    np.testing.assert_allclose(high - low, 2 * norm.isf(0.025))
    low, high = reported_interval(mean, sd, 0.95, rate=True)
    assert (low.tolist(), high.tolist()) == ([0, 0, 1], [0, 1, 1])


def successes(goal: str = "max", model: str = "gp", **options: Any) -> Study:
    """Runs that nearly always succeed with b and nearly never with a, along a line of contexts."""
    problem = Problem(["a", "b"], [{"x": x} for x in (0.0, 1.0, 2.0, 3.0)], goal=goal, **options)
    study = Study(problem, initial=1, model=model, policy="equal")
    for trial in study.ask(8):
        ones = [*[trial.pair[0] == 1] * 11, trial.pair == (1, 3), trial.pair == (0, 2)]
        study.tell(trial, ones if not options else [float(one) for one in ones])
    return study


@pytest.mark.parametrize("goal", ["max", "min"])
@pytest.mark.parametrize("options", [{}, {"rate": True}], ids=str)
@pytest.mark.parametrize("model", ["gp", "linear", "independent"])
@pytest.mark.fast_cases("gp-{}-max", "linear*True*min", "independent-{}-min")
def test_means_of_a_rate_are_reported_within_0_and_1(goal: str, model: str, options: dict[str, Any]) -> None:
    study, free = successes(goal, model, **options), successes(goal, model, reward_range=(-9, 9))
    assert study.rate
    assert not free.rate
    frames = [(each.posterior(), each.selection()) for each in (study, free)]
    anywhere = [{"x": x} for x in (-3.0, 0.5, 3.0, 9.0)]
    if model != "independent":
        frames += [(each.posterior(anywhere), each.predict(anywhere)) for each in (study, free)]
    for (told, chosen), (raw, unclipped) in zip(frames[::2], frames[1::2], strict=True):
        mean, sd = (raw[name].to_numpy(float) for name in ("mean", "sd"))
        np.testing.assert_allclose(
            told["mean"].to_numpy(float), reported_mean(mean, sd, rate=True), atol=1e-12
        )
        assert told["mean"].between(0, 1).all()
        assert chosen["mean"].between(0, 1).all()
        same = ["selected", "runner_up", "gap", "gap_sd", "p_best", "expected_loss", "state"]
        assert chosen[same].equals(unclipped[same])


def test_pictures_of_a_rate_stay_within_0_and_1() -> None:
    study, free = successes(), successes(reward_range=(-9, 9))
    found, raw = profiles(study, points=7), profiles(free, points=7)
    assert min(raw.low.min(), 1 - raw.high.max()) < 0
    for table in (found.mean, found.low, found.high):
        assert table.min() >= 0
        assert table.max() <= 1
    np.testing.assert_array_equal(found.low, np.clip(raw.low, 0, 1))
    np.testing.assert_array_equal(found.high, np.clip(raw.high, 0, 1))
    plot_profiles(study)
    plot_profiles(successes(model="independent"))  # bars, of which some have no height on one side


def test_the_posterior_has_intervals_on_request() -> None:
    frame = posterior(successes().view(), level=0.9)
    assert frame[["low", "high"]].apply(lambda each: each.between(0, 1)).all(axis=None)
    assert (frame["low"] < frame["high"]).any()
    assert "low" not in successes().posterior()


def test_the_prediction_kit_says_that_it_is_of_a_rate() -> None:
    kit = prediction_kit(successes().view())
    assert kit["rate"] is True
    assert all(0.0 <= mean <= 1.0 for row in kit["reported"] for mean in row)
    other = prediction_kit(successes(reward_range=(0, 1)).view())
    assert other["rate"] is False
    assert "reported" not in other


@pytest.mark.parametrize(
    ("estimate", "said"),
    [
        (Estimate(517.3, 508.2, 527.4), "517 (90 %: 508 to 527)"),
        (Estimate(1e9 + 0.2, 1e9, 1e9 + 0.5), "1000000000.2 (90 %: 1000000000 to 1000000000.5)"),
        (Estimate(3e-9, 3e-9, 3e-9), "3e-09 (90 %: 3e-09 to 3e-09)"),
        (Estimate.of(np.zeros(5), -1), "0 (90 %: 0 to 0)"),
    ],
)
def test_an_estimate_has_as_many_digits_as_tell_its_ends_apart(estimate: Estimate, said: str) -> None:
    assert str(estimate) == said


def test_what_is_zero_is_reported_without_a_sign() -> None:
    study = Study(Problem(["a", "b"], [1, 2], lambda *_: 0.0, goal="min"), model="independent").run(12)
    for table, column in ((study.selection(), "mean"), (study.allocation(), "mean")):
        assert not np.signbit(table[column].to_numpy(float)).any()
