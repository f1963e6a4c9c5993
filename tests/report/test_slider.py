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
    draws = np.stack([read(found["goal"], shape), *(read(each, shape) for each in found["slacks"])], axis=1)
    at = np.array(limits[0]["prices"][limits[0]["own"]])
    right, kept, lost = AtPrices(at).option_sums(draws)[0] / len(draws)
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


@pytest.fixture(scope="module")
def free() -> Study:
    """The same study without limits: the wait may be tried as one."""
    return clinic(limits=())


@pytest.fixture(scope="module")
def tried(free: Study) -> Any:
    return slider(free.view())


def test_without_limits_every_other_response_may_get_one_and_has_none_at_first(tried: Any) -> None:
    """The goal, cost, gets none."""
    most, least = tried["limits"]
    assert [most["text"], least["text"]] == ["wait at most", "wait at least"]
    assert len(tried["slacks"]) == 1
    assert most["stops"][-1] is most["shift"][-1] is most["prices"][-1] is None
    assert most["own"] == len(most["stops"]) - 1
    assert least["stops"][0] is None
    assert least["own"] == 0
    assert most["stops"][:-1] == least["stops"][1:]
    assert len(most["stops"]) > 20


def said_at(tried: Any, limit: Any, stop: int) -> Array:
    """What the listed draws say at a stop: of all options whether they are right, feasible, and the loss."""
    shape = (tried["draws"], 3, 3)
    slack = limit["sign"] * read(tried["slacks"][limit["slack"]], shape) + limit["shift"][stop]
    draws = np.stack([read(tried["goal"], shape), slack], axis=1)
    return np.asarray(AtPrices(np.array(limit["prices"][stop])).option_sums(draws)[0] / len(draws))


@pytest.mark.parametrize("side", [0, 1])
def test_a_limit_that_is_tried_says_what_the_study_answers_with_it(
    free: Study, tried: Any, side: int
) -> None:
    """Of 256 draws and 4,096 others: four standard errors of a probability, at most 0.13."""
    limit = tried["limits"][side]
    inner = [i for i, stop in enumerate(limit["stops"]) if stop is not None]
    decided = set()
    for stop in (inner[len(inner) // 4], inner[len(inner) // 2], inner[-len(inner) // 4]):
        answer = free.answer(limits=[f"wait {limit['sense']} {limit['stops'][stop]}"])
        options = answer.view.certificate(0.0).options
        assert options is not None
        at = np.array(limit["prices"][stop])
        settled = BestWithinLimits().settled(answer.view.certificate(0.0).belief)
        assert at == pytest.approx(settled.prices, rel=1e-5)
        right, kept, lost = said_at(tried, limit, stop)
        assert right == pytest.approx(options.right, abs=0.13)
        assert kept == pytest.approx(options.feasible, abs=0.13)
        assert lost == pytest.approx(options.loss, abs=0.13 * at.max())
        decided.add(tuple(options.loss.argmin(axis=0).tolist()))
    assert len(decided) == 3  # else the bounds would not matter


def test_of_several_other_responses_one_is_limited_at_a_time() -> None:
    """The prices of a bound on the wait are those of a study with that limit alone."""
    problem = Problem(PLANS, HOURS, name="three", goal="min cost", responses=["cost", "wait", "late"])
    study = Study(problem, initial=1, policy="equal", model="gp", common_random_numbers=False)
    noise = np.random.default_rng(3).normal(size=(4, 3, 3))
    for trial in study.ask(9):
        cost, wait, more = COST[trial.pair], WAIT[trial.pair], noise[:, *trial.pair]
        late = (more + wait > 8).tolist()  # of some pairs always the same
        study.tell(trial, {"cost": (cost + more).tolist(), "wait": (wait - more).tolist(), "late": late})
    found: Any = slider(study.view())
    texts = ["wait at most", "wait at least", "late at most", "late at least"]
    assert [each["text"] for each in found["limits"]] == texts
    rates = [stop for stop in found["limits"][2]["stops"] if stop is not None]
    assert min(rates) >= 0.0
    assert max(rates) <= 1.0
    stop = len(found["limits"][0]["stops"]) // 2
    asked = study.view().asking(limits=[f"wait <= {found['limits'][0]['stops'][stop]}"])
    settled = BestWithinLimits().settled(asked.certificate(0.0).belief)
    assert found["limits"][0]["prices"][stop] == pytest.approx(settled.prices, rel=1e-5)


def test_of_a_weighted_sum_every_response_may_be_limited() -> None:
    found: Any = slider(clinic(goal="min cost + 0.1 * wait", limits=()).view())
    assert [each["sum"] for each in found["limits"][::2]] == ["cost", "wait"]


def test_with_one_response_there_is_none() -> None:
    problem = Problem(PLANS, HOURS)
    study = Study(problem, initial=1, policy="equal", model="gp")
    for trial in study.ask(9):
        study.tell(trial, [float(COST[trial.pair]), float(COST[trial.pair]) + 1.0])
    assert slider(study.view()) is None


def test_large_tables_leave_it_out_and_say_so(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_NUMBERS", 1500)
    found: Any = slider(study.view())
    assert "3 alternatives in 3 contexts are too many to list draws of" in found["left_out"]
    assert '--limit "wait <= 5"' in found["left_out"]
    without: Any = slider(clinic(limits=()).view())
    assert '--limit "wait <= BOUND"' in without["left_out"]
    assert "draws" not in without
    monkeypatch.setattr(room, "MOST_NUMBERS", 27 * 120)
    assert slider(study.view())["draws"] == 120  # type: ignore[index]


def test_a_live_view_without_limits_makes_draws_for_small_tables_alone(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MOST_TRIED_LIVE", 1500)
    without = clinic(limits=()).view()
    seldom: Any = slider(without, live=True)
    assert "too many to list draws of" in seldom["left_out"]
    assert not slider(without)["left_out"]  # type: ignore[index]
    assert not slider(study.view(), live=True)["left_out"]  # type: ignore[index]
