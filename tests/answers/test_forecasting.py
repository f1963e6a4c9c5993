"""Forecasts of how many replications it takes: identities, order, and against a study that went on."""

import itertools
import time
from pathlib import Path

import numpy as np
import pytest
import small_problems
from scipy import stats

from argbest import InputError, Problem, Study
from argbest.answers import forecasting
from argbest.answers.forecasting import Forecast
from argbest.texts import chance

pytestmark = pytest.mark.usefixtures("few_draws")


def begun(budget: int = 60, **options: object) -> Study:
    return Study(small_problems.table(), seed=1, initial=2, **options).run(budget)  # type: ignore[arg-type]


def test_what_is_reached_takes_nothing_more() -> None:
    study = begun()
    found = study.forecast(0.2)
    assert (found.replications, found.low, found.high) == (0.0, 0.0, 0.0)
    assert str(found) == f"PCS_E 0.2 is reached: it is {chance(float(study.certificate().pcs_e))}"


@pytest.mark.parametrize("policy", ["dvr-loss", "gp-c-ocba", "equal"])
@pytest.mark.fast_cases("gp-c-ocba", "equal")
def test_a_forecast_begins_at_the_certificate_and_rises(policy: str) -> None:
    study = begun(policy=policy, model="gp")
    found = study.forecast(0.99)
    first = found.curve.iloc[0]
    assert first["replications"] == 0
    assert first[["low", "median", "high"]].tolist() == pytest.approx([float(study.certificate().pcs_e)] * 3)
    assert found.curve["median"].iloc[-1] > first["median"]
    assert 0 < found.low <= found.replications <= found.high
    assert (found.curve["low"] <= found.curve["high"]).all()


@pytest.mark.slow
def test_more_takes_longer_and_the_same_study_says_the_same() -> None:
    study = begun()
    low, high = study.forecast(0.98), study.forecast(0.995)
    assert low.replications < high.replications
    assert low.low <= high.low
    again = begun().forecast(0.995)
    assert (again.low, again.replications, again.high) == (high.low, high.replications, high.high)


@pytest.mark.slow
def test_the_worst_context_takes_longer_and_an_indifference_zone_less() -> None:
    study = begun()
    usual = study.forecast(0.99).replications
    assert study.forecast(0.99, contexts="worst").replications >= usual
    assert study.forecast(0.99, delta=0.5).replications < usual


def test_two_known_alternatives_take_what_the_normal_distribution_says() -> None:
    """Gap d, noise s² known, equal counts n: Φ(d/√(2 s²/n)) = 0.99 fixes n; the first ones are behind."""

    def simulate(alternative: str, _context: int, seed: int) -> float:
        return (alternative == "b") + float(np.random.default_rng(seed).normal(0, 2.0))

    study = Study(
        Problem(["a", "b"], [0], simulate),
        policy="equal",
        model="gp",
        initial=50,
        seed=3,
        common_random_numbers=False,
    ).run(100)
    belief = study._learned().belief
    gap, noise = float(np.ptp(belief.mean)), float(belief.noise.mean())
    expected = 2 * 2 * noise * (stats.norm.ppf(0.99) / gap) ** 2 - 100
    found = study.forecast(0.99)
    assert found.low < expected < found.high
    assert expected / 3 < found.replications < 3 * expected


def test_beyond_the_horizon_it_says_so() -> None:
    curve = begun().forecast(0.2).curve
    far = Forecast(0.95, False, 0.7, np.inf, np.inf, np.inf, 1000, curve)
    assert str(far) == "PCS_E 0.95 takes more than 1,000 more replications (now 0.700)"
    some = Forecast(0.95, True, 0.7, 420.0, 153.0, np.inf, 1000, curve)
    assert str(some).startswith("PCS of the worst context 0.95 takes about 420 more replications (now 0.700;")
    assert str(some).endswith("; 90 %: 150 to more than 1,000)")
    assert (some.plain()["replications"], some.plain()["low"], some.plain()["high"]) == (420, 153, None)


def test_a_table_that_is_too_large_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    study = begun()
    monkeypatch.setattr(forecasting, "_MOST_NUMBERS", 1000)
    assert forecasting.quick_forecast(study.view(), 0.99) is None
    with pytest.raises(InputError, match="4 alternatives and 5 contexts is too large for a forecast"):
        study.forecast(0.99)


@pytest.mark.parametrize(("limit", "value"), [("_QUICK_SIZE", 100), ("_MOST_WORK", 100)])
def test_what_nobody_asked_for_by_name_is_left_out_where_it_takes_long(
    limit: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = begun()
    assert forecasting.quick_forecast(study.view(), 0.99) is not None
    monkeypatch.setattr(forecasting, limit, value)
    assert forecasting.quick_forecast(study.view(), 0.99) is None
    assert study.forecast(0.99).replications > 0


@pytest.mark.parametrize("target", [0.0, 1.0, 1.5, np.nan])
def test_a_target_that_is_no_probability_is_refused(target: float) -> None:
    with pytest.raises(InputError, match="target"):
        begun().forecast(target)


def test_nothing_is_foreseen_before_anything_is_told(tmp_path: Path) -> None:
    study = Study(small_problems.table(), storage=tmp_path / "s.db")
    assert forecasting.quick_forecast(study.view(), 0.95) is None
    with pytest.raises(InputError, match="nothing is known yet"):
        study.forecast()


@pytest.mark.parametrize("model", ["independent", "additive-gp", "gp"])
@pytest.mark.parametrize(("rho", "target"), [(0.9, 1 - 1e-6), (0.6, 0.999)])
def test_with_common_random_numbers_noise_in_common_is_foreseen_to_cancel(
    rho: float, target: float, model: str
) -> None:
    def simulate(alternative: str, context: int, seed: int) -> float:
        shared, *own = np.random.default_rng(seed).standard_normal(3)
        noise = np.sqrt(rho) * shared + np.sqrt(1 - rho) * own["ab".index(alternative)]
        return float(0.2 * (alternative == "b") + noise)

    problem = Problem(["a", "b"], [0], simulate)
    study = Study(problem, policy="equal", model=model, initial=50, seed=3).run(100)
    knowledge = study._learned()
    gap, noise = float(np.ptp(knowledge.belief.mean)), float(knowledge.belief.noise.mean())
    left = 1 - float(knowledge.params.correlation[0])
    expected = 2 * 2 * noise * left * (stats.norm.ppf(target) / gap) ** 2 - 100
    found = study.forecast(target)
    assert found.curve["median"].iloc[0] == pytest.approx(float(study.certificate().pcs_e))
    assert found.low < expected < found.high
    assert expected / 3 < found.replications < 3 * expected


def test_whether_a_forecast_is_made_depends_on_no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = begun()
    expected = forecasting.quick_forecast(usual.view(), 0.95), usual.answer().halving
    assert None not in expected
    slow = begun()  # before the clock goes wrong: workers have one, too
    hours = itertools.count(0, 3600)
    for name in ("monotonic", "perf_counter", "process_time"):
        monkeypatch.setattr(time, name, lambda: float(next(hours)))
    found = forecasting.quick_forecast(slow.view(), 0.95), slow.answer().halving
    assert [str(each) for each in found] == [str(each) for each in expected]


def test_what_takes_long_is_left_out_by_its_size_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    view = begun().view()

    def quick(question: str, paths: int, draws: int) -> bool:
        return forecasting.is_quick(view, view.problem.put(question), paths=paths, draws=draws)

    observed, size = int((view.tally.count > 0).sum()), view.tally.count.size
    most = 20 * size * (observed + 0.5 * 64)  # by hand, for 20 paths with 64 draws
    monkeypatch.setattr(forecasting, "_MOST_WORK", most)
    assert quick("best", 20, 64)
    assert not quick("best", 21, 64)
    assert not quick("best", 20, 65)
    assert not quick("worst-case", 20, 64)  # 64 more draws name its contrasts
    assert not quick("rule", 20, 0)
