"""Answers of studies with limits: tables, predictions, doubts, guarantee, forecast, words and pictures."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from argbest import ExpectedPCS, GuaranteedPCS, InputError, Problem, Study
from argbest.answers import doubts, overview
from argbest.core.belief import CellBelief
from argbest.core.limits import NONE, BestWithinLimits
from argbest.core.outcomes import Outcomes
from argbest.core.states import contenders
from argbest.core.tally import empty
from argbest.report import curves
from argbest.report.page.studies import payload
from argbest.report.profiles import profiles
from argbest.report.wording import answer, choices, one_by_one
from argbest.study.assumptions import Assumption
from argbest.study.ledger import Ledger

# Few replications of skewed or binary responses are noticed; what follows from them is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::argbest.errors.DataNotice")
#                    calm  busy  rush
COST = np.array([[1.0, 1.2, 1.4], [2.0, 2.2, 2.4], [3.0, 3.2, 3.4]])
WAIT = np.array([[1.0, 9.0, 19.0], [1.0, 2.0, 12.0], [1.0, 1.0, 8.0]])  # at most 5: plan a, b, none
PLANS, HOURS = ["a", "b", "c"], [0, 1, 2]
RESPONSES = ["cost", "wait", "staff"]
LIMITED: dict[str, Any] = {"goal": "min cost", "limits": ["wait <= 5"], "responses": RESPONSES}


def clinic(plan: str, hour: int, seed: int) -> dict[str, float]:
    k, noise = PLANS.index(plan), np.random.default_rng(seed).normal(size=3)
    means = COST[k, hour], WAIT[k, hour], k + 1.0
    return dict(zip(RESPONSES, np.array(means) + noise * [0.2, 1.0, 0.1], strict=True))


def clinic_problem(**options: Any) -> Problem:
    return Problem(PLANS, HOURS, clinic, **(LIMITED | options))


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(clinic_problem(), seed=3, initial=4, common_random_numbers=False).run(60)


def test_the_cheapest_that_keeps_the_limit_is_selected_and_none_where_nothing_does(study: Study) -> None:
    frame = study.selection()
    assert frame["selected"].tolist() == ["a", "b", None]
    assert (frame["p_best"] > 0.95).all()
    assert (frame["p_feasible"][:2] > 0.95).all()
    assert np.isnan(frame["p_feasible"][2])
    assert frame["state"].tolist() == ["sure", "sure", "no feasible alternative"]
    assert frame["note"][2] == "nearest to keeping the limits: c (P(feasible) 0.000)"


def test_means_of_all_responses_have_intervals_also_of_those_that_nothing_depends_on(study: Study) -> None:
    frame = study.selection()
    staff = np.arange(1.0, 4.0)[:, None] + np.zeros(3)
    for name, table in (("cost", COST), ("wait", WAIT), ("staff", staff)):
        truth = [table[0, 0], table[1, 1]]
        low, mean, high = (frame[f"{end}.{name}"][:2].tolist() for end in ("low", "mean", "high"))
        assert mean == pytest.approx(truth, abs=0.8 if name == "wait" else 0.2)
        assert all(below < middle < above for below, middle, above in zip(low, mean, high, strict=True))
        assert frame[[f"mean.{name}", f"low.{name}", f"high.{name}"]].loc[2].isna().all()
    assert frame["mean"][:2].tolist() == frame["mean.cost"][:2].tolist()


def test_a_study_of_one_response_has_no_columns_of_responses() -> None:
    single = Study(Problem(PLANS, HOURS, lambda *job: clinic(*job)["cost"], goal="min"), initial=3).run(27)
    assert not [name for name in single.selection().columns if "." in name or name == "p_feasible"]


def test_predictions_at_contexts_of_the_study_are_its_selections(study: Study) -> None:
    frame, predicted = study.selection(), study.predict([0, 1, 2, 0.5])
    assert predicted["selected"].tolist()[:3] == frame["selected"].tolist()
    for name in ("p_best", "p_feasible", "expected_loss", "mean.wait", "high.staff"):
        assert predicted[name].tolist()[:3] == pytest.approx(frame[name].tolist(), rel=1e-6, nan_ok=True)
    chances = study.predict_proba([0, 1, 2, 0.5])
    assert chances.sum(axis=1).tolist() == pytest.approx([1.0] * 4)
    assert chances["no feasible alternative"].tolist()[2] == pytest.approx(frame["p_best"][2])


def test_predictions_between_contexts_know_the_limit(study: Study) -> None:
    """At 1.9 every plan waits for about 7 or more, so none is chosen; at 0.05 the cheapest still is."""
    found = study.predict([0.05, 1.9])
    assert found["selected"].tolist() == ["a", None]
    posterior = study.posterior([0.05])
    assert posterior["p_feasible"].between(0, 1).all()
    assert posterior["p_feasible"][0] > 0.9


def test_history_ends_with_the_certificate_of_today(study: Study) -> None:
    frame, certificate = overview.history(study.view(), points=2), study.certificate()
    assert frame["pcs_e"].iloc[-1] == pytest.approx(float(certificate.pcs_e))
    assert frame["eoc"].iloc[-1] == pytest.approx(float(certificate.eoc))
    assert frame["replications"].tolist()[-1] == 60


def test_checks_and_summaries_are_of_every_response_that_is_learned(study: Study) -> None:
    assert study.model_check(of="wait").of == "wait"
    assert study.model_check(of="cost").of == "cost"
    assert "the model of 'wait'" in str(study.model_check(of="wait"))
    with pytest.raises(InputError, match="unknown of 'staff'"):
        study.model_check(of="staff")
    summary = study.model_summary()
    assert summary.effects["of"].unique().tolist() == ["cost", "wait"]
    assert str(summary).startswith("Of cost: ")


def test_words_name_the_limit(study: Study) -> None:
    lines = one_by_one(study)
    assert lines[0].startswith("hour 0: a (")
    assert lines[2].startswith("hour 2: no alternative keeps wait <= 5 (")
    assert [line.what for line in choices(study)] == ["a", "b", "no alternative keeps wait <= 5"]
    said = answer(study, study.selection(), study.certificate())
    assert "1 surely without a feasible alternative" in said[0]
    assert "no alternative keeps wait" in study._repr_html_()


def test_pages_and_pictures_show_where_none_is_feasible(study: Study) -> None:
    page = payload(study)
    assert page["limits"] == ["wait <= 5"]
    assert page["goal"] == "min"
    assert page["reward"] == "cost"
    assert page["selected"] == [0, 1, -1]
    assert page["certainty"]["none"][2] > 0.95
    kit = page["prediction"]
    own = kit["stops"][0].index(2.0)
    assert kit["selected"][own] == -1
    assert kit["none"][own] == pytest.approx(page["certainty"]["none"][2], rel=1e-4)
    assert kit["feasible"][own][0] < 0.05
    drawn = curves.policy_map(study)
    assert drawn.alternatives.labels == ("a", "b", "c", "none feasible")
    assert drawn.selected.tolist() == [0, 1, 3]
    assert drawn.probability.sum(axis=0).tolist() == pytest.approx([1.0] * 3)


def test_profiles_of_a_response_have_its_limit() -> None:
    study = Study(clinic_problem(), initial=3, model="gp").run(27)
    found = profiles(study, response="wait", points=3)
    assert found.bounds == {"wait <= 5": 5.0}
    assert found.subject == "wait"
    tally = study.view().responses[1].tally
    rows = found.data[found.data["leader"] == 0]
    assert rows["mean"].tolist() == pytest.approx((-tally.mean)[found.leaders[0]].tolist())
    assert profiles(study, points=3).bounds == {}
    with pytest.raises(InputError, match=r"unknown response 'late'"):
        profiles(study, response="late")


def test_a_forecast_counts_what_keeps_the_limits(study: Study) -> None:
    assert study.forecast(0.5).replications == 0
    found = Study(clinic_problem(), seed=1, initial=2).run(18).forecast(0.999999)
    assert found.now < 0.999999
    assert found.replications > 0


def test_a_run_stops_when_it_is_sure_that_nothing_is_feasible() -> None:
    hopeless = clinic_problem(limits=["wait <= -5"])
    study = Study(hopeless, seed=2, initial=4).run(400, stop=ExpectedPCS(0.95))
    assert study.selection()["selected"].isna().all()
    assert study.n_replications < 400


def test_a_bound_of_being_right_is_close_to_draws_of_independent_outcomes() -> None:
    """10,000 draws: the standard error is below .005, and limits of alternatives are independent here."""
    rng = np.random.default_rng(5)
    goal = CellBelief(rng.normal(size=(4, 3)), np.full((4, 3), 0.3), np.ones((4, 3)))
    slack = CellBelief(rng.normal(size=(4, 3)), np.full((4, 3), 0.5), np.ones((4, 3)))
    both = Outcomes.of(goal, (slack,))
    question = BestWithinLimits(price=1.0)
    draws = both.draw(rng.standard_normal((10_000, both.layers, 4, 3)))
    for choice in (np.array([0, 1, 2]), np.array([NONE, NONE, NONE])):
        kept = draws[:, 1] >= 0
        best = np.where(kept, draws[:, 0], -np.inf).argmax(axis=1)
        right = np.where(kept.any(axis=1), best, NONE) == choice
        bound = question.contrasts(both, choice).bound()
        # A product over rivals is a lower bound of what they share through the chosen one.
        assert (bound <= right.mean(axis=0) + 0.02).all()
        assert bound == pytest.approx(right.mean(axis=0), abs=0.12 if choice[0] >= 0 else 0.02)


def test_contenders_count_that_nobody_keeps_the_limits() -> None:
    chance = np.array([[0.6, 0.02], [0.1, 0.01], [0.0, 0.0]])
    order, size = contenders(chance, none=np.array([0.3, 0.97]))
    assert order[:, 0].tolist() == [0, 1, 2]
    assert size.tolist() == [2, 0]
    assert contenders(np.array([[0.96], [0.04]]), none=np.zeros(1))[1].tolist() == [1]


@pytest.mark.parametrize(
    ("n", "events", "wanted"), [(58, 0, True), (59, 0, False), (200, 5, True), (200, 3, False)]
)
def test_a_rate_below_its_bound_is_doubted_until_so_few_events_are_no_chance(
    n: int, events: int, wanted: bool
) -> None:
    share = np.full((1, 1), events / n)
    belief = CellBelief(-share, share * (1 - share) / n, share * (1 - share))
    tally = empty((1, 1))
    tally.count[...] = n
    found = doubts._scarce_at(0.05, belief, tally, np.zeros((2, 1), int))
    assert found.tolist() == [wanted]
    assert (binom.cdf(events, n, 0.05) > 0.05) == wanted


def test_a_rate_above_its_bound_is_doubted_until_so_many_events_are_no_chance() -> None:
    for events, n in ((3, 20), (4, 20), (9, 100), (10, 100)):
        share = np.full((1, 1), events / n)
        tally = empty((1, 1))
        tally.count[...] = n
        belief = CellBelief(-share, share * (1 - share) / n, share * (1 - share))
        found = doubts._scarce_at(0.05, belief, tally, np.zeros((2, 1), int))
        assert found.tolist() == [bool(binom.sf(events - 1, n, 0.05) > 0.05)]


def test_no_event_anywhere_is_no_proof_that_a_limit_is_kept() -> None:
    def quiet(plan: str, hour: int, seed: int) -> dict[str, Any]:
        return {"cost": clinic(plan, hour, seed)["cost"], "late": False}

    problem = Problem(PLANS, HOURS, quiet, goal="min cost", limits=["late <= 0.05"])
    study = Study(problem, seed=1, initial=6).run(60)
    assert set(study.selection()["state"]) == {"open"}
    assert all("late" in reason for reason in study.doubts().reasons)


class Falsely:
    """How often any choice is certified wrongly at any time, by simulation of one context."""

    def __init__(self, problem: Problem, assumed: Assumption, slack: Assumption, alpha: float) -> None:
        self._problem, self._assumed, self._slack, self._alpha = problem, assumed, slack, alpha

    def __call__(self, values: np.ndarray[Any, Any], right: int) -> bool:
        """Values are [response, alternative, replication]; ``right`` is the choice that would be right."""
        ledger = Ledger(self._problem, (), study="s")
        n, k = values.shape[2], values.shape[1]
        store, counted = ledger.store, ledger.in_order
        alternative, number = np.repeat(np.arange(k), n), np.tile(np.arange(n), k)
        zeros = np.zeros(n * k, int)
        store.extend(alternative, zeros, number, values.reshape(len(values), -1), np.zeros(n * k, bool))
        for own in range(k):
            for r in range(n):
                counted.end((own, 0), r, range(own * n + r, own * n + r + 1))
        bounds = ledger.separations
        broken = bounds.kept(0, self._alpha, self._slack, broken=True)[:, 0] > 0
        kept = bounds.kept(0, self._alpha, self._slack)[:, 0] >= 0
        wrong = right != NONE and bool(broken.all())
        for chosen in range(k):
            ahead = bounds.lower(np.array([chosen]), self._alpha, self._assumed)[:, 0] > 0
            wrong |= chosen != right and bool(kept[chosen] and (ahead | broken).all())
        return wrong


LAWS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "skewed": lambda rng, size: rng.exponential(size=size) - 1.0,
    "rare": lambda rng, size: np.where(rng.random(size) < 0.02, -7.0, 0.142857) + 0.1 * rng.normal(size=size),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.fast_cases("rare")
def test_normal_sequences_rarely_certify_what_breaks_a_limit(law: str) -> None:
    """The hardest truth: all tie at the bound but one that just breaks it. 120 runs of 150 at alpha 0.2.

    More than 39 false alarms have a chance below 0.001 if each has probability 0.2.
    """
    problem = Problem(PLANS, [0], goal="min cost", limits=["wait <= 5"], responses=["cost", "wait"])
    falsely, rng = Falsely(problem, Assumption("normal"), Assumption("normal"), 0.2), np.random.default_rng(7)
    alarms = 0
    for _ in range(120):
        noise = LAWS[law](rng, (2, 3, 150))
        noise[1] = -noise[1]  # long waits are rare: the side that hurts
        cost, wait = np.array([1.0, 1.02, 1.04]), np.array([5.02, 4.98, 4.98])
        alarms += falsely(np.stack([cost, wait])[..., None] + noise, right=1)
    assert alarms <= 39


@pytest.mark.slow
def test_betting_sequences_rarely_certify_a_rate_beyond_its_bound() -> None:
    """Rates just above 5 %: none keeps the limit; 120 runs of 300 at alpha 0.2, as above."""
    problem = Problem(
        PLANS, [0], goal="min cost", limits=["late <= 0.05"], responses=["cost", "late"], rate=["late"]
    )
    ends = Assumption("range", (-0.95, 0.05))
    falsely, rng = Falsely(problem, Assumption("normal"), ends, 0.2), np.random.default_rng(8)
    alarms = 0
    for _ in range(120):
        late = rng.random((3, 300)) < 0.055
        alarms += falsely(np.stack([rng.normal(size=(3, 300)), late]), right=NONE)
    assert alarms <= 39


def test_the_share_of_alpha_counts_rivals_and_limits() -> None:
    one, two = ({"limits": limits} for limits in (["wait <= 5"], ["wait <= 5", "cost <= 9"]))
    for options, share in ((one, 0.05 / 3), (two, 0.05 / 4)):
        ledger = Ledger(clinic_problem(**options), (), study="s")
        found = ledger.separations.generations.of_context(0, len(options["limits"]))
        assert 0.05 * found.part == pytest.approx([share])


def test_a_guarantee_certifies_the_limit_and_the_lead() -> None:
    study = Study(clinic_problem(), seed=3, initial=120, common_random_numbers=False).run(1080)
    found = study.guarantee(alpha=0.1)
    assert found.frame["selected"].tolist() == ["a", "b", None]
    assert found.frame["certified"].tolist() == [True, True, True]
    assert found.frame["feasible"].tolist() == [True, True, False]
    assert found.certified
    assert str(found).startswith("3 of 3 contexts certified best of those that keep the limits, ")
    assert "for normal cost and normal wait" in str(found)
    looser = study.guarantee(alpha=1e-12)
    assert looser.frame["certified"].sum() <= found.frame["certified"].sum()


def test_rates_and_ranges_are_certified_by_bets() -> None:
    def late(plan: str, hour: int, seed: int) -> dict[str, Any]:
        often = 0.9 if plan == "a" else 0.0
        return {**clinic(plan, hour, seed), "late": bool(np.random.default_rng([seed, 9]).random() < often)}

    problem = Problem(PLANS, [0], late, goal="min cost", limits=["late <= 0.3", "wait <= 5"])
    study = Study(problem, seed=4, initial=60, common_random_numbers=False).run(180)
    found = study.guarantee(alpha=0.1)
    assert "late between 0 and 1" in found.assumption
    assert found.frame["selected"].tolist() == ["b"]
    assert found.frame["feasible"].tolist() == [True]
    assert found.frame["certified"].tolist() == [True]
    with pytest.raises(InputError, match="needs the range of 'cost'"):
        study.guarantee(assume="range")


def test_zeros_and_ones_that_nobody_declared_have_no_bound_and_a_note_says_why() -> None:
    def late(plan: str, hour: int, seed: int) -> dict[str, float]:
        return {**clinic(plan, hour, seed), "late": float(np.random.default_rng([seed, 9]).random() < 0.2)}

    problem = Problem(PLANS, [0], late, goal="min cost", limits=["late <= 0.5"])
    found = Study(problem, seed=4, initial=30, common_random_numbers=False).run(90).guarantee()
    assert found.frame["feasible"].tolist() == [False]
    assert any("declare rate=['late']" in note for note in found.notes)


@pytest.mark.slow
def test_a_limit_that_is_met_exactly_without_noise_is_kept_and_takes_no_replications() -> None:
    def simulate(plan: str, hour: int, seed: int) -> dict[str, float]:
        return {
            "cost": PLANS.index(plan) + np.random.default_rng(seed).normal(),
            "staff": 6 - PLANS.index(plan),
        }

    studies = [
        Study(Problem(PLANS, HOURS, simulate, goal="min cost", limits=[limit])).run(36)
        for limit in ("staff <= 5", "staff <= 5.5")
    ]
    exact, loose = (each.selection() for each in studies)
    assert (exact["p_feasible"] == 1.0).all()
    assert exact["selected"].tolist() == loose["selected"].tolist()
    np.testing.assert_array_equal(studies[0].tally.count, studies[1].tally.count)
    assert "if there is no noise, say so: noise_sd={'staff': 0}" in exact["note"][0]
    told: dict[str, Any] = {"responses": ["cost", "staff"], "noise_sd": {"staff": 0}}
    said = Study(Problem(PLANS, HOURS, simulate, goal="min cost", limits=["staff <= 5"], **told)).run(36)
    assert said.doubts().some.sum() < studies[0].doubts().some.sum()


def test_a_limit_on_a_response_without_noise_is_certified_by_a_few_values() -> None:
    def simulate(plan: str, hour: int, seed: int) -> dict[str, float]:
        k = PLANS.index(plan)
        return {"cost": k + np.random.default_rng(seed).normal(0, 0.05), "staff": 6 - k}

    for limit in ("staff <= 5", "staff <= 5.5"):
        problem = Problem(
            PLANS,
            [0],
            simulate,
            goal="min cost",
            limits=[limit],
            responses=["cost", "staff"],
            noise_sd={"staff": 0},
        )
        found = Study(problem, initial=20, common_random_numbers=False, policy="equal").run(60).guarantee()
        assert found.frame["selected"].tolist() == ["b"]
        assert found.frame["certified"].all(), limit


def test_contexts_that_were_never_simulated_have_no_guarantee_yet() -> None:
    study = Study(clinic_problem(), initial=[("a", 0), ("b", 0)], policy="equal")
    for trial in study.ask(2):
        study.tell(trial, dict.fromkeys(RESPONSES, 1.0))
    found = study.guarantee()
    assert found.frame["replications"].tolist() == [2, 0, 0]
    assert not found.frame["certified"].any()


def test_a_run_ends_with_the_guarantee() -> None:
    study = Study(clinic_problem(), seed=5, initial=6, common_random_numbers=False)
    study.run(900, stop=GuaranteedPCS(0.2, contexts="each"))
    assert study.n_replications < 900
    assert study.guarantee(0.2).frame["certified"].all()


def test_the_end_of_a_run_confirms_what_may_be_the_best_that_keeps_the_limit() -> None:
    study = Study(clinic_problem(limits=["wait <= 1.9"]), seed=5, initial=3).run(60, confirm=0.3)
    last = study.observations().tail(18)
    assert set(last[last["context"] == 1]["alternative"]) <= {"b", "c"}  # a waits far too long
    assert study.n_replications == 60


UGLY: dict[str, dict[str, Any]] = {
    "everything is feasible": {"limits": ["wait <= 1000"]},
    "nothing is feasible": {"limits": ["wait <= -1000"]},
    "a limit on the goal itself": {"limits": ["cost <= 2.1"]},
    "a limit on a sum": {"limits": ["wait + 2 * staff <= 8"]},
    "limits on both sides": {"limits": ["wait <= 5", "wait >= 0.5"]},
    "a goal that is a sum": {"goal": "max wait - 2 * cost"},
    "a goal that ties": {"goal": "min zero"},
    "a price of its own": {"price": 0.5},
}


@pytest.mark.parametrize("case", UGLY)
@pytest.mark.fast_cases("nothing is feasible", "a limit on a sum", "a goal that ties")
def test_odd_limits_are_answered_everywhere(case: str) -> None:
    def simulate(plan: str, hour: int, seed: int) -> dict[str, float]:
        return {**clinic(plan, hour, seed), "zero": 0.0}

    options = LIMITED | {"responses": ["cost", "wait", "staff", "zero"]} | UGLY[case]
    study = Study(Problem(PLANS, HOURS, simulate, **options), seed=3, initial=2).run(24)
    frame = study.selection()
    assert frame["p_best"].between(0, 1).all()
    assert (frame["expected_loss"] >= 0).all()
    if case == "everything is feasible":
        assert frame["selected"].tolist() == ["a"] * 3
    if case == "nothing is feasible":
        assert frame["selected"].isna().all()
    assert study.guarantee().frame["certified"].dtype == bool
    assert payload(study, anywhere=False)["answer"]


def test_failures_and_overloads_leave_an_answer() -> None:
    def shaky(plan: str, hour: int, seed: int) -> dict[str, float]:
        if plan == "b":
            raise ValueError("no such plan")
        found = clinic(plan, hour, seed)
        return {**found, "wait": found["wait"] * (100.0 if hour == 2 else 1.0)}

    problem = Problem(PLANS, HOURS, shaky, **LIMITED)
    study = Study(problem, seed=3, initial=3)
    study.run(80, on_failure="record")
    frame = study.selection()
    assert frame["selected"].tolist() == ["a", "c", None]
    assert "b" not in frame["selected"].tolist()
