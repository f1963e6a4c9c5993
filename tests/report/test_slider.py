"""The bound of a limit that readers of a page move: listed draws, stops, prices, and what is left out."""

import base64
from typing import Any

import numpy as np
import pytest

from argbest import Problem, Study
from argbest.core.arrays import Array
from argbest.core.limits import AtPrices, BestWithinLimits
from argbest.report.page import slider as room
from argbest.report.page.slider import listed, slider, stops

# Few replications are noticed; what follows from them is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::argbest.errors.DataNotice")
PLANS, HOURS = ["a", "b", "c"], [0, 1, 2]
COST = np.array([[1.0, 1.2, 1.4], [2.0, 2.2, 2.4], [3.0, 3.2, 3.4]])
WAIT = np.array([[1.0, 9.0, 19.0], [1.0, 2.0, 12.0], [1.0, 1.0, 8.0]])  # at most 5: a, b, none


def clinic(**options: Any) -> Study:
    """A study told eight values of every pair; at most 5 minutes and at most 3.5 in cost."""
    wanted = {
        "goal": "min cost",
        "limits": ["wait <= 5", "cost <= 3.5"],
        "responses": ["cost", "wait"],
    } | options
    problem = Problem(PLANS, HOURS, name="clinic", **wanted)
    study = Study(problem, initial=1, policy="equal", model="gp", common_random_numbers=False)
    noise = np.random.default_rng(2).normal(size=(8, 2, 3, 3)) * np.array([0.3, 3.0])[:, None, None]
    for trial in study.ask(9):
        cost, wait = (table[trial.pair] + noise[:, i, *trial.pair] for i, table in enumerate((COST, WAIT)))
        study.tell(trial, {"cost": cost.tolist(), "wait": wait.tolist()})
    return study


@pytest.fixture(scope="module")
def study() -> Study:
    return clinic()


@pytest.fixture(scope="module")
def found(study: Study) -> Any:
    return slider(study.view())


def read(given: Any, shape: tuple[int, ...]) -> Array:
    whole = np.frombuffer(base64.b64decode(given["data"]), "<u2").reshape(shape)
    return np.asarray(np.array(given["low"]) + np.array(given["step"]) * whole)


def test_draws_are_listed_in_two_bytes_each_and_read_to_half_a_step() -> None:
    drawn = np.random.default_rng(1).normal(size=(50, 3, 2)) * np.array([1.0, 1e6])
    drawn[:, 2, 0] = 7.25  # known exactly
    given = listed(drawn)
    assert len(base64.b64decode(given["data"])) == 2 * drawn.size
    assert np.all(np.abs(read(given, drawn.shape) - drawn) <= 0.501 * np.array(given["step"]))
    assert np.all(read(given, drawn.shape)[:, 2, 0] == 7.25)


def test_stops_are_round_and_hold_the_bound_of_the_study() -> None:
    found = stops(np.random.default_rng(1).normal(10.0, 3.0, 4000), 9.5, rate=False)
    assert found == sorted(set(found))
    assert 20 < len(found) <= 41
    assert 9.5 in found
    assert all(abs(10 * each - round(10 * each)) < 1e-9 for each in found)
    assert stops(np.full(10, 4.0), 3.0, rate=False) == [3.0, 4.0]


def test_stops_of_a_rate_stay_within_0_and_1() -> None:
    found = stops(np.random.default_rng(1).normal(0.02, 0.03, 4000), 0.05, rate=True)
    assert found[0] == 0.0
    assert found[-1] <= 1.0


def test_hopeless_alternatives_do_not_take_all_stops() -> None:
    drawn = np.concatenate([np.random.default_rng(1).normal(10.0, 3.0, 4000), np.full(400, 1e6)])
    assert sum(5.0 < each < 15.0 for each in stops(drawn, 9.0, rate=False)) > 20


def test_listed_draws_say_what_the_certificate_says_to_their_error(study: Study, found: Any) -> None:
    """256 draws of 4,096: three standard errors of a probability, at most 0.1."""
    limits, shape = found["limits"], (found["draws"], 3, 3)
    draws = np.stack([read(found["goal"], shape), *(read(each["slack"], shape) for each in limits)], axis=1)
    at = np.array(limits[0]["prices"][limits[0]["own"]])
    right, kept, lost = AtPrices(at).said(draws)[0] / len(draws)
    options = study.certificate().options
    assert options is not None
    assert right == pytest.approx(options.right, abs=0.1)
    assert kept == pytest.approx(options.feasible, abs=0.1)
    assert lost == pytest.approx(options.loss, abs=0.1 * at.max())
    assert np.array(found["feasible"]) == pytest.approx(options.feasible[:-1])


def test_prices_at_every_stop_are_those_of_a_study_with_that_bound(study: Study, found: Any) -> None:
    for place, other in ((0, "cost <= 3.5"), (1, "wait <= 5")):
        limit = found["limits"][place]
        for stop in (0, limit["own"], len(limit["stops"]) // 2):
            asked = study.view().asking(limits=[f"{limit['sum']} <= {limit['stops'][stop]}", other])
            settled = BestWithinLimits().settled(asked.certificate(0.0).belief)
            assert limit["prices"][stop] == pytest.approx(settled.prices, rel=1e-5)


def test_a_lower_bound_that_is_moved_up_leaves_less_slack() -> None:
    found: Any = slider(clinic(goal="max cost", limits=["wait >= 5"]).view())
    (limit,) = found["limits"]
    own = limit["own"]
    assert limit["shift"][own] == 0.0
    assert limit["shift"][own + 1] == pytest.approx(limit["stops"][own] - limit["stops"][own + 1])


def test_without_limits_there_is_none() -> None:
    assert slider(clinic(limits=()).view()) is None


def test_large_tables_leave_it_out_and_say_so(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_NUMBERS", 2000)
    found: Any = slider(study.view())
    assert list(found) == ["left_out"]
    assert "3 alternatives in 3 contexts are too many to list draws of" in found["left_out"]
    monkeypatch.setattr(room, "MOST_NUMBERS", 27 * 120)
    assert slider(study.view())["draws"] == 120  # type: ignore[index]
